#!/usr/bin/env python3
"""gpu_driver on a device that becomes slower in the middle, as one does that meets its power limit: what is judged is a
ratio, and must not change with the run at which that happens.

    drift_test.py GPU_DRIVER MODULE.so
"""
import os
import re
import subprocess
import sys

RATIO = re.compile(r"^bfloat16 products / best algorithm\t(\S+)", re.MULTILINE)
RACES = range(150, 340, 10)  # launches of the part, from its first race to the end of the last
LEAST = 10  # of them; on a machine that is slow itself the part has fewer launches


def ratio(at):
    """None where the part has not that many launches."""
    environment = dict(os.environ, GPULOT_CUDASIM_FAULT=f"slow:factor=3,at={at},count=100000")
    ran = subprocess.run([*sys.argv[1:3], "--small", "bfloat16"], env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=True, timeout=60)
    if "never fired" in ran.stderr:
        return None
    return float(RATIO.search(ran.stdout)[1])


def main():
    ratios = {at: ratio(at) for at in RACES}
    ratios = {at: value for at, value in ratios.items() if value is not None}
    off = {at: value for at, value in ratios.items() if abs(value - 1) > 0.05}
    for at, value in off.items():
        print(f"slow from launch {at} on: module / best is {value}")
    if len(ratios) < LEAST:
        print(f"{len(ratios)} runs became slower, {LEAST} are the least")
    return 1 if off or len(ratios) < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
