#!/usr/bin/env python3
"""A whole small run, from start to archive on disk, against the same protocol as a PyTorch script, in one run.

    python3 -m venv .venv-bench && .venv-bench/bin/pip install torch h5py numpy
    .venv-bench/bin/python tests/bench/process_vs_pytorch.py [--program build/gpulot] [--rounds 11]

Both are timed from the start of the process to its end, in turn, on the same number of threads, each writing its
archive into the same folder. Exit status 1 below the target.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = 10
LIMIT_SECONDS = 300
BATCH, CONTEXT, WIDTH, WARMUP, REPEATS = 1, 16, 64, 1, 2


def whole_process(command, archive):
    """Seconds from start to end. The wait has no limit of its own: with one, Python looks only every 50 ms in the end."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    limit = threading.Timer(LIMIT_SECONDS, process.kill)
    limit.start()
    status = process.wait()
    took = time.perf_counter() - start
    limit.cancel()
    if status != 0:
        raise SystemExit(f"{command[0]} ended with status {status}")
    if archive.stat().st_size == 0:
        raise SystemExit(f"{archive} is empty")
    archive.unlink()
    return took


def main():
    parser = argparse.ArgumentParser(description="a whole small run against a PyTorch script")
    parser.add_argument("--program", default=HERE.parents[1] / "build" / "gpulot", type=pathlib.Path)
    parser.add_argument("--rounds", default=11, type=int)
    options = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(dir=HERE.parents[1]) as folder:
        archive = pathlib.Path(folder) / "run.h5"
        measure = [options.program.resolve(), "measure", "--device", "host", "--batch", str(BATCH), "--context",
                   str(CONTEXT), "--width", str(WIDTH), "--dtype", "float32", "--warmup", str(WARMUP), "--repeats",
                   str(REPEATS), "--threads", str(threads), "--quiet", "--output", archive]
        script = [sys.executable, HERE / "pytorch_protocol.py", *map(str, (BATCH, CONTEXT, WIDTH, WARMUP, REPEATS,
                                                                          threads)), archive]
        whole_process(script, archive)  # the first import compiles and fills the page cache
        whole_process(measure, archive)
        for _ in range(options.rounds):
            ours.append(whole_process(measure, archive))
            theirs.append(whole_process(script, archive))
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"batch {BATCH}, context {CONTEXT}, width {WIDTH}, {WARMUP} warm-up and {REPEATS} repeats, {threads} threads, "
          f"{options.rounds} rounds")
    for name, seconds in (("gpulot measure", ours), ("PyTorch script", theirs)):
        print(f"{name:<16} median {statistics.median(seconds) * 1e3:9.1f} ms   fastest {min(seconds) * 1e3:9.1f} ms   "
              f"slowest {max(seconds) * 1e3:9.1f} ms")
    print(f"ratio of medians {ratio:.1f}, target {TARGET}")
    return 0 if ratio >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
