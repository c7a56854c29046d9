"""The launch matrix: the same binary under Open MPI 5, from tests/requirements.txt. Open MPI 4.1 is what the other tests
of this folder use; srun is tested in tests/cluster."""
import os
import pathlib
import subprocess

from ranks import LIMIT_SECONDS, PROGRAM, SMALL, RanksTest, environment, main

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

    def test_the_same_binary_measures(self):
        variables = environment(LD_LIBRARY_PATH=str(FIVE / "lib"), PRTE_ALLOW_RUN_AS_ROOT="1",
                                PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        run = subprocess.run([str(FIVE / "bin" / "mpirun"), "--map-by", ":oversubscribe", "--bind-to", "none", "-n", "3", PROGRAM,
                              "measure", *SMALL, "--quiet", "--output", str(self.output)], stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, encoding="utf-8", timeout=LIMIT_SECONDS, env=variables)
        self.assertEqual(run.returncode, 0, run.stderr)
        records = self.records()
        self.assertEqual([r["identity"]["rank"] for r in records], [0, 1, 2])
        self.assertEqual(sorted(r["identity"]["local_rank"] for r in records), [0, 1, 2])
        for record in records:
            self.assertEqual(record["identity"]["launcher"], "mpirun")
            self.assertTrue(record["environment"]["mpi_library"].startswith("Open MPI v5."))


if __name__ == "__main__":
    main()
