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


def ratio(at):
    environment = dict(os.environ, GPULOT_CUDASIM_FAULT=f"slow:factor=3,at={at},count=100000")
    ran = subprocess.run([*sys.argv[1:3], "--small", "bfloat16"], env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=True, timeout=60)
    if "never fired" in ran.stderr:
        sys.exit(f"drift_test: the part has fewer than {at} launches")
    return float(RATIO.search(ran.stdout)[1])


def main():
    ratios = {at: ratio(at) for at in RACES}
    off = {at: value for at, value in ratios.items() if abs(value - 1) > 0.05}
    for at, value in off.items():
        print(f"slow from launch {at} on: module / best is {value}")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
