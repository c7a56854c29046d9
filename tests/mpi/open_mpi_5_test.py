"""The launch matrix: the same binary under Open MPI 5, from tests/requirements.txt. The other tests of this folder use the
machine's own MPI; srun is tested in tests/cluster."""
import os
import pathlib
import signal
import subprocess
import time

from ranks import ENDLESS, LIMIT_SECONDS, PROGRAM, SMALL, RanksTest, Started, environment, main

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FIVE = SOURCE / ".venv"


class OpenMpi5(RanksTest):
    def setUp(self):
        super().setUp()
        if not (FIVE / "bin" / "mpirun").exists():
            self.skipTest("Open MPI 5 is not in .venv: ./run.sh test puts it there")
        if os.environ.get("GPULOT_SANITIZE"):
            self.skipTest("this build of Open MPI 5 is not made for sanitizers")
        version = subprocess.run([FIVE / "bin" / "mpirun", "--version"], stdout=subprocess.PIPE, encoding="utf-8",
                                 timeout=LIMIT_SECONDS).stdout
        self.assertIn(" 5.", version)

    def launch(self, ranks, *options):
        """The command line and what its environment needs beside ours."""
        return ([str(FIVE / "bin" / "mpirun"), *options, "--map-by", ":oversubscribe", "--bind-to", "none", "-n", str(ranks),
                 PROGRAM, "measure"],
                {"LD_LIBRARY_PATH": str(FIVE / "lib"), "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})

    def test_the_same_binary_measures(self):
        command, variables = self.launch(3)
        run = subprocess.run([*command, *SMALL, "--quiet", "--output", str(self.output)], stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, encoding="utf-8", timeout=LIMIT_SECONDS, env=environment(**variables))
        self.assertEqual(run.returncode, 0, run.stderr)
        records = self.records()
        self.assertEqual([r["identity"]["rank"] for r in records], [0, 1, 2])
        self.assertEqual(sorted(r["identity"]["local_rank"] for r in records), [0, 1, 2])
        for record in records:
            self.assertEqual(record["identity"]["launcher"], "mpirun")
            self.assertTrue(record["environment"]["mpi_library"].startswith("Open MPI v5."))

    def test_a_refusal_is_said_each_time(self):
        """mpirun ends all ranks as soon as one ends with a failure: rank 0 must have spoken by then."""
        command, variables = self.launch(2)
        for attempt in range(12):
            run = subprocess.run([*command, *SMALL, "--soak", "0s", "--output", str(self.output)], stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, encoding="utf-8", timeout=LIMIT_SECONDS, env=environment(**variables))
            said = [line for line in run.stderr.splitlines() if line.startswith("gpulot")]
            self.assertEqual((run.returncode, len(said)), (2, 1), f"attempt {attempt}: {run.stderr}")

    def test_with_ulfm_the_others_go_on_and_still_hear_of_signals(self):
        """kill -9 of one rank of four, then a signal to another one alone: what is left ends with all that it has."""
        command, variables = self.launch(4, "--with-ft", "ulfm")
        with Started([*command, *ENDLESS, "--quiet", "--output", str(self.output)], **variables) as run:
            self.wait_for("the soak", lambda: all(self.rows_on_disk(rank) > 14 for rank in range(4)))
            pids = run.ranks()
            os.kill(pids[2], signal.SIGKILL)
            rows = self.rows_on_disk(0)
            self.wait_for("two more rows of another rank", lambda: self.rows_on_disk(0) > rows + 2)
            os.kill(pids[3], signal.SIGUSR1)
            signalled = time.monotonic()
            self.assertNotEqual(run.wait(), 0)
            self.assertLess(time.monotonic() - signalled, 45, "a soak of 100 s goes on")
        records = self.records()
        self.assertEqual([r["outcome"]["status"] for r in records], ["interrupted", "interrupted", "lost", "interrupted"])
        self.assertEqual(records[0]["outcome"]["error_text"], f"stopped by signal {int(signal.SIGUSR1)} to rank 3")
        for record in records:
            self.assertGreater(len(record["phases"]), 14)


if __name__ == "__main__":
    main()
