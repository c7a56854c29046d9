"""Runs of gpulot under mpirun for the tests of this folder: each with a limit, each ended by its process group."""
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["GPULOT_PROGRAM"]
MPIRUN = os.environ["GPULOT_MPIRUN"]
LIMIT_SECONDS = 120
SMALL = ["--device", "host", "--batch", "1", "--context", "4", "--width", "16", "--warmup", "1", "--repeats", "2"]
# Long enough to be hit by a signal or a kill, whatever the machine does beside it.
ENDLESS = ["--device", "host", "--batch", "1", "--context", "16", "--width", "64", "--repeats", "10", "--soak", "100s",
           "--memory", "1%"]


def environment(**more):
    """As inherited, with mpirun allowed to run as root and in a container with few slots, loopback only."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none",
            "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_WAIT_POLICY": "passive", **more}


def command(ranks, *arguments):
    return [MPIRUN, "-n", str(ranks), PROGRAM, "measure", *map(str, arguments)]


def command_apart(first, second):
    """Two ranks with arguments of their own. Not mpirun's own way, a colon: that of Debian's Open MPI 5.0.7 crashes."""
    first, second = (shlex.join([PROGRAM, "measure", *map(str, arguments)]) for arguments in (first, second))
    return [MPIRUN, "-n", "2", "sh", "-c", f'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then exec {first}; fi; exec {second}']


class Started:
    """A run that goes on beside the test; ended with its whole process group when the test leaves it."""

    def __init__(self, arguments, **more):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.errors, env=environment(**more), start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT_SECONDS)
        self.errors.close()

    def wait(self):
        return self.process.wait(LIMIT_SECONDS)

    def text(self):
        self.errors.seek(0)
        return self.errors.read()

    def ranks(self):
        """{rank: process id} of the program's processes of this run."""
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.getsid(int(entry.name)) != self.process.pid and self.process.pid not in ancestors(int(entry.name)):
                    continue
                if os.readlink(entry / "exe") != os.path.realpath(PROGRAM):
                    continue
                for item in (entry / "environ").read_bytes().split(b"\0"):
                    if item.startswith(b"OMPI_COMM_WORLD_RANK="):
                        found[int(item.split(b"=")[1])] = int(entry.name)
        return found


def ancestors(pid):
    """Process ids above `pid`."""
    above = set()
    while pid > 1:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        pid = int(fields[1])
        above.add(pid)
    return above


class RanksTest(unittest.TestCase):
    """A folder for each test, and what tests of runs need."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpulot-mpi-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.output = self.folder / "run.h5"

    def faulty_modules(self, faulty="host"):
        """A folder for GPULOT_MODULE_DIR in which that module, host or mpi, has the faults of tests/support/faulty_*."""
        modules = self.folder / "modules"
        modules.mkdir()
        for name in ("host", "mpi"):
            folder = f"{os.environ['GPULOT_FAULTY']}/faulty_{name}" if name == faulty else os.environ["GPULOT_MODULES"]
            (modules / f"gpulot-{name}.so").symlink_to(f"{folder}/gpulot-{name}.so")
        return str(modules)

    def finish(self, arguments, **more):
        """A run to its end: exit status and stderr. The lines of mpirun itself are left out."""
        run = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding="utf-8", timeout=LIMIT_SECONDS, env=environment(**more))
        return run.returncode, [line for line in run.stderr.splitlines() if line.startswith("gpulot")]

    def measure(self, ranks, *arguments, **more):
        return self.finish(command(ranks, *arguments), **more)

    def measure_apart(self, first, second):
        """The same with two ranks that have arguments of their own."""
        return self.finish(command_apart(first, second))

    def alone(self, *arguments, **more):
        """One process without a launcher."""
        run = subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, encoding="utf-8", timeout=LIMIT_SECONDS, env=environment(**more))
        return run.returncode, run.stdout, run.stderr

    def records(self, archive=None):
        status, out, err = self.alone("export", archive or self.output, "--format", "json")
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def wait_for(self, what, condition, seconds=60):
        until = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), until, f"{what} did not come within {seconds} s")
            time.sleep(0.02)

    def spools(self):
        return sorted(path for path in self.output.parent.iterdir() if ".spool-" in path.name)

    def rows_on_disk(self, rank):
        return sum(text.count('{"phase":') for spool in self.spools()
                   for path in spool.glob(f"rank-{rank}.jsonl") for text in [path.read_text(errors="replace")])


def main():
    """Runs the tests of the calling file. Where every one of them was skipped the file is skipped: exit status 77."""
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        raise SystemExit(1)
    if result.testsRun == len(result.skipped):
        print("skipped: " + "; ".join(sorted({reason for _, reason in result.skipped})))
        raise SystemExit(77)
