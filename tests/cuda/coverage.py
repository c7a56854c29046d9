#!/usr/bin/env python3
"""coverage.py BUILD LEAST: line coverage of gpu/cuda after `ctest -L cuda` in a build with GPULOT_COVERAGE.

Prints one line a file and ends with 1 where all files together lie under LEAST per cent. Kernels are not counted:
they run on the GPU, and over the simulator from the same bodies."""
import pathlib
import re
import subprocess
import sys

RESULT = re.compile(r"File '([^']*gpu/cuda/[^']+\.c)'\nLines executed:([0-9.]+)% of ([0-9]+)")


def files(build):
    """(name, lines that ran, lines) of every source of the module."""
    for data in sorted(build.glob("gpu/cuda/CMakeFiles/cuda.dir/*.gcda")):
        text = subprocess.run(["gcov", "-n", "-o", data.parent, data], stdout=subprocess.PIPE, check=True,
                              encoding="utf-8").stdout
        for path, share, lines in RESULT.findall(text):
            yield pathlib.Path(path).name, float(share) * int(lines) / 100, int(lines)


def main():
    found = list(files(pathlib.Path(sys.argv[1])))
    if not found:
        sys.exit("no data: build with -DGPULOT_COVERAGE=ON and run ctest -L cuda first")
    for name, ran, lines in found:
        print(f"{100 * ran / lines:6.1f} % of {lines:4} lines  {name}")
    share = 100 * sum(ran for _, ran, _ in found) / sum(lines for _, _, lines in found)
    print(f"{share:6.1f} % of {sum(lines for _, _, lines in found):4} lines  gpu/cuda")
    sys.exit(0 if share >= float(sys.argv[2]) else f"under {sys.argv[2]} %")


if __name__ == "__main__":
    main()
