#!/usr/bin/env python3
"""How long every command but `measure` takes, over an empty C program.

    tests/bench/startup_bench.py [--program build/gpulot] [--runs 101]

Each round starts every command once, in turn, so that what else the machine does falls on all of them alike; the
medians are compared. What is timed is from posix_spawn to the process's end, with its output going to /dev/null; the
CPU time of the process is shown beside it, since that does not grow when others use the machine.
Exit status 1 where a command's median is more than the target over the empty program's.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TARGET_SECONDS = 0.030
ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURE = ["measure", "--device", "host", "--batch", "1", "--context", "16", "--width", "64", "--dtype", "float32",
           "--warmup", "1", "--repeats", "5", "--quiet", "--output"]
EXAMPLE = str(ROOT / "data" / "example-tariffs-2026-08-22.csv")


def empty_program(folder):
    source = folder / "empty.c"
    source.write_text("int main(void)\n{\n    return 0;\n}\n")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", folder / "empty", source], check=True, timeout=60)
    return [str(folder / "empty")]


def calls(program, folder):
    """What is timed, by name: each command with arguments that make it do its work on a small archive."""
    for name in ("before.h5", "after.h5"):
        subprocess.run([program, *MEASURE, folder / name], check=True, timeout=120)
    before, after, results = str(folder / "before.h5"), str(folder / "after.h5"), str(folder / "results")
    (folder / "results").mkdir()
    (folder / "results" / "before.h5").write_bytes((folder / "before.h5").read_bytes())
    subprocess.run([program, "manifest", "create", results], stdout=subprocess.DEVNULL, check=True, timeout=60)
    wanted = {
        "--help": ["--help"],
        "estimate": ["estimate", "--parameters", "7000000000", "--bits", "16"],
        "environment": ["environment"],
        "show": ["show", before],
        "export json": ["export", before, "--format", "json"],
        "export csv": ["export", before, "--format", "csv"],
        "check": ["check", before],
        "compare": ["compare", before, after],
        "price": ["price", "--tariffs", EXAMPLE, "--gpu", "B200", "--days", "7", "--ranks", "3"],
        "price --archive": ["price", "--tariffs", EXAMPLE, "--gpu", "B200", "--days", "7", "--archive", before],
        "tariffs check": ["tariffs", "check", EXAMPLE],
        "manifest verify": ["manifest", "verify", results],
        "price --help": ["price", "--help"],
        "recover --help": ["recover", "--help"],
    }
    return {name: [program, *arguments] for name, arguments in wanted.items()}


def seconds(command, null):
    """Wall time, CPU time and exit status of one start."""
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ,
                           file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    _, status, usage = os.wait4(child, 0)
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status)


def main():
    parser = argparse.ArgumentParser(description="start-up time of every command")
    parser.add_argument("--program", default=ROOT / "build" / "gpulot", type=pathlib.Path)
    parser.add_argument("--runs", default=101, type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        timed = {"empty C program": empty_program(folder), **calls(str(options.program.resolve()), folder)}
        times = {label: [] for label in timed}
        cpu = {label: [] for label in timed}
        exits = {}
        with open(os.devnull, "r+") as null:
            for _ in range(options.runs):
                for label, command in timed.items():
                    took, used, exits[label] = seconds(command, null.fileno())
                    times[label].append(took)
                    cpu[label].append(used)
    empty = statistics.median(times["empty C program"])
    worst = 0.0
    print(f"{'command':<18} {'median ms':>10} {'over empty ms':>14} {'fastest ms':>11} {'CPU ms':>7} {'exit':>5}")
    for label, list_of in times.items():
        median = statistics.median(list_of)
        worst = max(worst, median - empty)
        print(f"{label:<18} {median * 1e3:10.2f} {(median - empty) * 1e3:14.2f} {min(list_of) * 1e3:11.2f} "
              f"{statistics.median(cpu[label]) * 1e3:7.2f} {exits[label]:5d}")
    print(f"target: at most {TARGET_SECONDS * 1e3:.0f} ms over the empty program; worst {worst * 1e3:.2f} ms")
    return 0 if worst <= TARGET_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
