"""What a run gives, and what it refuses: each refusal is one line, exit status 2, and nothing is left behind."""
import hashlib
import os
import subprocess

from ranks import LIMIT_SECONDS, MPIRUN, PROGRAM, SMALL, RanksTest, environment, main


class Measured(RanksTest):
    def test_six_rows_a_rank_and_equal_results(self):
        self.assertEqual(self.measure(2, *SMALL, "--quiet", "--output", self.output), (0, []))
        self.assertEqual(os.listdir(self.folder), ["run.h5"])
        records = self.records()
        self.assertEqual([r["identity"]["rank"] for r in records], [0, 1])
        for record in records:
            self.assertEqual([row["phase"] for row in record["phases"]],
                             ["model_load", "inputs", "cold_forward", "warmup", "warm_forward", "warm_forward"])
            self.assertEqual(record["outcome"]["status"], "ok")
            self.assertTrue(record["verification"]["passed"])
            self.assertEqual(record["identity"]["launcher"], "mpirun")
            # By hand: width 16, hidden 64, 4 rows; 2 * 16 * 64 + 64 + 16 parameters of 4 bytes.
            self.assertEqual(record["synthetic_model"]["weight_bytes"], 4 * (2 * 16 * 64 + 64 + 16))
            self.assertEqual(record["synthetic_model"]["flops_per_forward"], 4 * 4 * 16 * 64)
        self.assertEqual(records[0]["verification"]["digest"], records[1]["verification"]["digest"])

    def test_the_library_is_named(self):
        self.assertEqual(self.measure(2, *SMALL, "--quiet", "--output", self.output), (0, []))
        version = subprocess.run([MPIRUN, "--version"], stdout=subprocess.PIPE, encoding="utf-8", timeout=LIMIT_SECONDS,
                                 env=environment()).stdout.split()[3]
        for record in self.records():
            self.assertEqual(record["environment"]["mpi_library"], f"Open MPI v{version}")

    def test_alone_is_one_rank_without_mpi(self):
        status, out, err = self.alone("measure", *SMALL, "--quiet", "--output", self.output)
        self.assertEqual((status, out, err), (0, "", ""))
        [record] = self.records()
        self.assertEqual(record["identity"]["launcher"], "none")
        self.assertIsNone(record["environment"]["mpi_library"])

    def bindings(self, script):
        """What two ranks that `script` starts say of their CPUs."""
        program = ["sh", "-c", script + ' "$@"', "sh", PROGRAM, "measure", *SMALL, "--quiet", "--output", str(self.output)]
        self.assertEqual(self.finish([MPIRUN, "-n", "2", *program]), (0, []))
        return [(r["device"]["binding"], r["device"]["cpu_list"], r["environment"]["cpus_bound"]) for r in self.records()]

    def test_who_bound_the_cpus(self):
        """Those that all ranks of a host have in common are the job's, as of a Slurm job that binds no task."""
        first, second, *_ = sorted(os.sched_getaffinity(0)) + [None]
        if second is None:
            self.skipTest("there is one CPU only")
        self.assertEqual(self.bindings(f"exec taskset -c {first}"), 2 * [("none", str(first), 1)])
        self.output.unlink()
        self.assertEqual(self.bindings(f"exec taskset -c $((OMPI_COMM_WORLD_RANK ? {second} : {first}))"),
                         [("launcher", str(first), 1), ("launcher", str(second), 1)])

    def test_without_proc_and_sys(self):
        """As in a bare container: modules are found, and the memory is known, all the same."""
        bare = "mount -t tmpfs none /sys && mount -t tmpfs none /proc"
        if os.environ["GPULOT_SANITIZE"]: # they need to see how the memory is laid out, and their options
            bare = ("mount -t tmpfs none /sys && mkdir /sys/self && mount --bind /proc/$$ /sys/self && mount -t tmpfs none /proc"
                    " && mkdir /proc/self && for file in maps environ; do"
                    "   : >/proc/self/$file && mount --bind /sys/self/$file /proc/self/$file || exit; done")
        unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", bare + ' && exec "$@"', "sh"]
        if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no mount namespace can be made here")
        done = subprocess.run([*unshare, PROGRAM, "measure", *SMALL, "--quiet", "--output", self.output],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=LIMIT_SECONDS,
                              env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}) # leaks are looked for in all of /proc
        said = [line for line in done.stdout.splitlines() if "reading executable name failed" not in line]
        self.assertEqual((done.returncode, said), (0, []))
        [record] = self.records()
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.assertEqual(record["device"]["memory_bytes"], pages)

    def test_the_seed_decides_the_bits_and_the_threads_do_not(self):
        digests = []
        for number, more in enumerate((["--seed", "7", "--threads", "1"], ["--seed", "7", "--threads", "2"], ["--seed", "8"])):
            output = self.folder / f"{number}.h5"
            self.assertEqual(self.alone("measure", *SMALL, "--quiet", *more, "--output", output)[0], 0)
            digests.append(self.records(output)[0]["verification"]["digest"])
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def test_solo_then_together(self):
        self.assertEqual(self.measure(3, *SMALL, "--schedule", "both", "--quiet", "--output", self.output), (0, []))
        records = self.records()
        warm = [[row for row in r["phases"] if row["phase"] == "warm_forward"] for r in records]
        for rows in warm:
            self.assertEqual([row["schedule"] for row in rows], ["solo"] * 2 + ["together"] * 2)

    def test_soak_verifies_over_many_buffers(self):
        self.assertEqual(self.measure(2, *SMALL, "--soak", "1500ms", "--memory", "1%", "--quiet", "--output",
                                      self.output), (0, []))
        for record in self.records():
            soak = [row for row in record["phases"] if row["phase"] == "soak"]
            self.assertGreaterEqual(len(soak), 2)
            passes = sum(row["passes"] for row in soak)
            self.assertEqual(record["verification"]["passes"], 1 + 1 + 2 + passes)
            self.assertGreater(record["verification"]["memory_bytes"], 1 << 20)
            self.assertEqual(sum(row["digests_differing"] for row in soak), 0)

    def test_many_ranks_on_few_cpus(self):
        self.assertEqual(self.measure(64, *SMALL, "--quiet", "--output", self.output), (0, []))
        self.assertEqual([r["identity"]["rank"] for r in self.records()], list(range(64)))

    def test_records_that_are_too_long_to_be_asked_ahead(self):
        """1.1 MB each: rank 0 asks for one only when it is its turn."""
        status, lines = self.measure(3, *SMALL[:-1], "2200", "--threads", "1", "--quiet", "--output", self.output)
        self.assertEqual((status, lines), (0, []))
        self.assertEqual([[row["row"] for row in record["phases"]] for record in self.records()], 3 * [list(range(2204))])
        self.assertGreater(self.output.stat().st_size, 3 << 20)


class Refused(RanksTest):
    def refuse(self, words, *arguments, ranks=2, output=None):
        """Refused by all ranks with one line that holds `words`; the folder stays as it was."""
        output = output or self.output
        before = sorted(os.listdir(self.folder))
        status, lines = self.measure(ranks, *arguments, "--output", output)
        self.assertEqual(status, 2, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(words, lines[0])
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_options(self):
        for words, arguments in (
                ("--device is required", ["--width", "16"]),
                ("'gpu' is not a device", ["--device", "gpu"]),
                ("--width: '99999999999'", ["--device", "host", "--width", "99999999999"]),
                ("--width: '0'", ["--device", "host", "--width", "0"]),
                ("--repeats: '0'", ["--device", "host", "--repeats", "0"]),
                ("--dtype: 'float64'", ["--device", "host", "--dtype", "float64"]),
                ("beyond 2^63", ["--device", "host", "--batch", "2147483647", "--context", "2147483647", "--width", "65536"]),
                ("the device has", ["--device", "host", "--context", "1000000", "--width", "500000"]),
                ("float32 only", ["--device", "host", "--math", "tf32", "--dtype", "float16"]),
                ("--soak: '0s'", ["--device", "host", "--soak", "0s"])):
            with self.subTest(words):
                self.refuse(words, *arguments)

    def test_ranks_that_do_not_find_one_another(self):
        """Nobody can come that fast: nothing was measured, and nothing is written."""
        status, lines = self.measure(2, *SMALL, "--rank-timeout", "1e-9", "--output", self.output)
        self.assertEqual(status, 2, lines)
        self.assertIn("within 1e-09 s", lines[0])
        self.assertEqual(os.listdir(self.folder), [])

    def test_one_process_alone_refuses_alike(self):
        status, out, err = self.alone("measure", "--device", "host", "--batch", "-1", "--output", self.output)
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, "gpulot measure: --batch: '-1' is not allowed: a whole number from 1 to 2147483647\n")

    def test_an_existing_output_stays_as_it_is(self):
        self.output.write_bytes(b"somebody's own file")
        digest = hashlib.sha256(self.output.read_bytes()).hexdigest()
        self.refuse("exists already", *SMALL)
        self.assertEqual(hashlib.sha256(self.output.read_bytes()).hexdigest(), digest)

    def test_outputs_that_cannot_be(self):
        self.refuse("missing", *SMALL, output=self.folder / "missing" / "run.h5")
        self.refuse(str(self.folder), *SMALL, output=self.folder)
        self.refuse("/proc/run.h5", *SMALL, output="/proc/run.h5")

    def refuse_second(self, words, *arguments):
        """The same where rank 1 alone has these arguments."""
        status, lines = self.measure_apart([*SMALL, "--output", self.output], [*arguments, "--output", self.output])
        self.assertEqual(status, 2, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(words, lines[0])
        self.assertEqual(os.listdir(self.folder), [])

    def test_ranks_with_different_arguments(self):
        self.refuse_second("rank 1 was started with other options than rank 0", *SMALL, "--seed", "3")

    def test_a_rank_whose_options_are_wrong_names_itself(self):
        self.refuse_second("rank 1: --width: '0'", "--device", "host", "--width", "0")


if __name__ == "__main__":
    main()
