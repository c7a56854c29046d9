#!/usr/bin/env python3
"""What a run costs beside its passes: start-up, ledger, gather and write, by number of ranks.

    tests/bench/launch_overhead.py [--program build/gpulot] [--ranks 2,16,64] [--rows 100] [--limit 300]

Runs `mpirun --oversubscribe -n N gpulot measure` on the host device with a model so small that its passes cost nothing,
once for each N, and prints where the seconds went:

    launch    from mpirun's start to the start of the last rank's program, by started_utc
    mpi       the slowest rank's setup step mpi_start
    ledger    rank 0's setup step ledger: the first meeting
    spool     the slowest rank's setup step spool_open
    phases    from the first rank's start to the gathering, less mpi, ledger and spool of rank 0
    gather    gather_seconds: rank 0 waits for records
    late      that part of gather in which a rank still had phases to end, by started_utc and elapsed_seconds
    write     from the gathering's start to the archive's last change on disk, less gather
    end       from there to mpirun's end
    r0, r1    peak resident memory (VmHWM) of ranks 0 and 1, looked at every 50 ms

Exit status 1 where a run fails, where gather and write together take more than 5 s, or where rank 0 needs 128 MiB more
than rank 1.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ["--device", "host", "--batch", "1", "--context", "4", "--width", "16", "--dtype", "float32", "--warmup", "1",
         "--threads", "1", "--quiet"]
ROWS_BESIDE_REPEATS = 4
TARGET_SECONDS = 5.0
TARGET_KIB = 128 * 1024
LOOK_SECONDS = 0.05
COLUMNS = ("launch", "mpi", "ledger", "spool", "phases", "gather", "late", "write", "end", "total")


def read(path):
    try:
        return pathlib.Path(path).read_bytes().decode(errors="replace")
    except OSError:  # the process has ended
        return ""


def find_ranks(mpirun, found):
    """Process ids of ranks 0 and 1 among mpirun's children, as they appear."""
    lists = pathlib.Path(f"/proc/{mpirun}/task").glob("*/children")  # one for each thread
    for pid in " ".join(map(read, lists)).split():
        if len(found) == 2:
            return
        if read(f"/proc/{pid}/comm").strip() != "gpulot":
            continue
        for rank in (0, 1):
            if f"OMPI_COMM_WORLD_RANK={rank}\0" in read(f"/proc/{pid}/environ"):
                found[rank] = pid


def peak_kib(pid):
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def wait_watching(child, limit):
    """Waits for mpirun and returns the peaks of ranks 0 and 1 in KiB."""
    found, peaks = {}, {0: 0, 1: 0}
    until = time.monotonic() + limit
    while child.poll() is None:
        if time.monotonic() > until:
            child.terminate()
            child.wait(30)
            raise SystemExit(f"no end within {limit:g} s")
        if len(found) < 2:
            find_ranks(child.pid, found)
        for rank, pid in found.items():
            peaks[rank] = max(peaks[rank], peak_kib(pid))
        time.sleep(LOOK_SECONDS)
    return peaks


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def ask(program, *arguments):
    run = subprocess.run([program, *arguments], stdout=subprocess.PIPE, check=True, timeout=120)
    return json.loads(run.stdout)


def step(record, name):
    return next(s["seconds"] for s in record["setup"] if s["step"] == name)


def measure(program, ranks, rows, limit, folder):
    archive = folder / f"{ranks}.h5"
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), program, "measure", *MODEL,
               "--repeats", str(rows - ROWS_BESIDE_REPEATS), "--output", str(archive)]
    began = time.time()
    child = subprocess.Popen(command)
    peaks = wait_watching(child, limit)
    ended = time.time()
    if child.returncode != 0:
        raise SystemExit(f"{ranks} ranks: status {child.returncode}")
    header = ask(program, "show", archive, "--json")["run"]
    records = ask(program, "export", archive, "--format", "json")
    starts = [seconds_of(r["environment"]["started_utc"]) for r in records]
    ends = [start + r["outcome"]["elapsed_seconds"] for start, r in zip(starts, records)]
    gathering, closed = seconds_of(header["created_utc"]), archive.stat().st_ctime
    late = min(max(0, max(ends) - gathering), header["gather_seconds"])
    took = {"launch": max(starts) - began,
            "mpi": max(step(r, "mpi_start") for r in records),
            "ledger": step(records[0], "ledger"),
            "spool": max(step(r, "spool_open") for r in records),
            "gather": header["gather_seconds"],
            "late": late,
            "write": closed - gathering - header["gather_seconds"],
            "end": ended - closed,
            "total": ended - began}
    took["phases"] = gathering - starts[0] - sum(step(records[0], s) for s in ("mpi_start", "ledger", "spool_open"))
    return took, peaks, archive.stat().st_size


def main():
    parser = argparse.ArgumentParser(description="what a run costs beside its passes, by number of ranks")
    parser.add_argument("--program", default=ROOT / "build" / "gpulot", type=pathlib.Path)
    parser.add_argument("--ranks", default="2,16,64", help="numbers of ranks, with commas between them")
    parser.add_argument("--rows", default=100, type=int, help="phase rows of each rank, at least 5")
    parser.add_argument("--limit", default=300, type=float, help="seconds for each run")
    options = parser.parse_args()
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    missed = False
    print(f"{'ranks':>5} " + " ".join(f"{c + ' s':>8}" for c in COLUMNS) + f" {'r0 MiB':>7} {'r1 MiB':>7} {'B/rank':>7}"
          "   load before")
    with tempfile.TemporaryDirectory() as name:
        for ranks in map(int, options.ranks.split(",")):
            load = os.getloadavg()[0]
            took, peaks, size = measure(str(options.program.resolve()), ranks, options.rows, options.limit,
                                        pathlib.Path(name))
            missed |= took["gather"] + took["write"] > TARGET_SECONDS or peaks[0] - peaks[1] > TARGET_KIB
            print(f"{ranks:5d} " + " ".join(f"{took[c]:8.2f}" for c in COLUMNS) +
                  f" {peaks[0] / 1024:7.1f} {peaks[1] / 1024:7.1f} {size / ranks:7.0f}   {load:.1f}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
