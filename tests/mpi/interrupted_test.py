"""Signals, killed processes, two runs for one name: what was measured is never lost."""
import contextlib
import json
import os
import shutil
import signal
import time

from ranks import ENDLESS, PROGRAM, SMALL, RanksTest, Started, command, main


class Signals(RanksTest):
    def check(self, run, ranks):
        """The run ends at once with everything that its ranks measured, and the archive says why."""
        began = time.monotonic()
        self.assertEqual(run.wait(), 1, run.text())
        self.assertLess(time.monotonic() - began, 30, "what takes a minute and more goes on")
        records = self.records()
        self.assertEqual([r["identity"]["rank"] for r in records], list(range(ranks)))
        self.assertEqual({r["outcome"]["status"] for r in records}, {"interrupted"})
        self.assertEqual(self.spools(), [])
        return records

    def stop_with(self, number, **more):
        with Started(command(2, *ENDLESS, "--quiet", "--output", self.output), **more) as run:
            self.wait_for("the soak", lambda: self.rows_on_disk(0) > 14 and self.rows_on_disk(1) > 14)
            run.process.send_signal(number)
            for record in self.check(run, 2):
                self.assertGreater(len(record["phases"]), 14)

    def test_terminate_sent_to_mpirun(self):
        self.stop_with(signal.SIGTERM)

    def test_interrupt_sent_to_mpirun(self):
        self.stop_with(signal.SIGINT)

    def test_terminate_where_mpi_took_the_signal_for_itself(self):
        self.stop_with(signal.SIGTERM, GPULOT_MODULE_DIR=self.faulty_modules("mpi"))

    def test_interrupt_where_mpi_took_the_signal_for_itself(self):
        self.stop_with(signal.SIGINT, GPULOT_MODULE_DIR=self.faulty_modules("mpi"))

    def test_user_signal_sent_to_mpirun(self):
        self.stop_with(signal.SIGUSR1)

    def test_a_hangup_does_not_end_what_nohup_started(self):
        started = ["nohup", PROGRAM, "measure", *ENDLESS, "--quiet", "--output", str(self.output)]
        with Started(started) as run:
            self.wait_for("the soak", lambda: self.rows_on_disk(0) > 14)
            run.process.send_signal(signal.SIGHUP)
            run.process.send_signal(signal.SIGTERM)
            [record] = self.check(run, 1)
        self.assertEqual(record["outcome"]["error_text"], f"stopped by signal {int(signal.SIGTERM)}")

    def test_what_was_stopped_is_no_failure_to_recover_either(self):
        with Started([PROGRAM, "measure", *ENDLESS, "--quiet", "--output", str(self.output)]) as run:
            self.wait_for("the soak", lambda: self.rows_on_disk(0) > 14)
            self.output.write_text("somebody's own file")
            run.process.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(), 3)
        [spool] = self.spools()
        another = self.folder / "another.h5"
        status, _, err = self.alone("recover", spool, "--output", another)
        self.assertEqual((status, err), (1, f"gpulot recover: 1 of 1 rank ended early; {another} says how\n"))

    def test_nothing_is_promised_of_what_somebody_removed(self):
        self.output = self.folder / "there" / "run.h5"
        self.output.parent.mkdir()
        with Started([PROGRAM, "measure", *ENDLESS, "--quiet", "--output", str(self.output)]) as run:
            self.wait_for("the soak", lambda: self.rows_on_disk(0) > 14)
            [spool] = self.spools()
            shutil.rmtree(self.output.parent)
            run.process.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(), 3)
            said = run.text().splitlines()
        self.assertEqual(said[0], f"gpulot measure: what was measured was kept in {spool}, which is no longer there")
        self.assertEqual(len(said), 2, said)

    def stop_one(self, ranks, victim, *options, when):
        """A signal to one rank alone: its own record and the others' say whose it was."""
        with Started(command(ranks, *options, "--quiet", "--output", self.output)) as run:
            self.wait_for("the ranks", when)
            os.kill(run.ranks()[victim], signal.SIGUSR1)
            records = self.check(run, ranks)
        cause = f"stopped by signal {int(signal.SIGUSR1)}"
        self.assertEqual({r["outcome"]["error_text"] for r in records}, {cause + f" to rank {victim}" if victim else cause})
        return records

    def test_a_signal_accuses_no_device(self):
        """Neither what the run says nor the verdict calls it failed."""
        with Started(command(2, *ENDLESS, "--quiet", "--output", self.output)) as run:
            self.wait_for("the soak", lambda: self.rows_on_disk(0) > 14 and self.rows_on_disk(1) > 14)
            run.process.send_signal(signal.SIGUSR1)
            self.assertEqual(run.wait(), 1)
            said = run.text()
        self.assertIn("2 of 2 ranks ended early, among them rank 0: stopped by signal", said)
        verdicts = [d["verdicts"] for d in json.loads(self.alone("check", self.output, "--json")[1])["devices"]]
        self.assertEqual(len(verdicts), 2)
        for names in verdicts:
            self.assertIn("not-measured", names)
            self.assertNotIn("failed", names)

    def test_a_signal_to_one_rank_of_four_ends_all(self):
        records = self.stop_one(4, 3, *ENDLESS, when=lambda: all(self.rows_on_disk(rank) > 14 for rank in range(4)))
        for record in records:
            self.assertGreater(len(record["phases"]), 14)

    def test_a_signal_to_a_rank_that_waits_for_its_turn_ends_all(self):
        minutes = ["--device", "host", "--batch", "1", "--context", "64", "--width", "256", "--repeats", "100000",
                   "--schedule", "solo", "--threads", "1"]
        self.stop_one(3, 2, *minutes, when=lambda: self.rows_on_disk(0) > 14)


class Killed(RanksTest):
    def kill(self, victim):
        """kill -9 of one rank of three in its soak; then the one command that the documents name."""
        with Started(command(3, *ENDLESS, "--quiet", "--output", self.output)) as run:
            os.kill(self.in_their_soak(run)[victim], signal.SIGKILL)
            self.assertNotEqual(run.wait(), 0)
        if self.output.exists():
            return self.records()
        [spool] = self.spools()
        status, _, err = self.alone("recover", spool, "--output", self.output)
        self.assertEqual(status, 1, err)
        return self.records()

    def three_that_outlive_one_another(self, soak="8s"): # long enough to be met on a busy machine
        """mpirun --enable-recovery leaves the others alive."""
        arguments = [*ENDLESS[:-4], "--soak", soak, "--memory", "1%"]
        mpirun, *rest = command(3, *arguments, "--quiet", "--output", self.output)
        return Started([mpirun, "--enable-recovery", *rest])

    def in_their_soak(self, run):
        """Process ids of the three ranks, looked up before: on a busy machine that takes seconds."""
        self.wait_for("three ranks", lambda: len(run.ranks()) == 3)
        ranks = run.ranks()
        self.wait_for("the soak", lambda: all(self.rows_on_disk(rank) > 14 for rank in range(3)))
        return ranks

    def test_one_says_what_to_do_where_rank_0_cannot(self):
        with self.three_that_outlive_one_another() as run:
            os.kill(self.in_their_soak(run)[0], signal.SIGKILL)
            run.wait()
            said = run.text()
        self.assertEqual(len(self.spools()), 1, said)
        spool = self.spools()[0]
        self.assertEqual(said.count(f"gpulot recover {spool} --output {self.output}"), 1, said)
        # The others ended since it was gone: nothing is lost of them.
        self.assertEqual(self.alone("recover", spool, "--output", self.output)[0], 1)
        self.assertEqual([r["outcome"]["status"] for r in self.records()], ["lost", "interrupted", "interrupted"])

    def test_the_others_go_on_where_the_launcher_lets_them(self):
        """They make the archive by themselves."""
        with self.three_that_outlive_one_another() as run:
            os.kill(self.in_their_soak(run)[1], signal.SIGKILL)
            killed = time.monotonic()
            self.wait_for("the archive", self.output.exists, 60)
            self.assertLess(time.monotonic() - killed, 30)
            run.wait()
            said = run.text()
        self.assertIn("1 of 3 ranks failed, rank 1: ", said)
        records = self.records()
        self.assertEqual([r["outcome"]["status"] for r in records], ["ok", "lost", "ok"])
        # What the run then names makes an archive that lacks nobody's rows.
        [spool] = self.spools()
        self.assertIn(f"{PROGRAM} recover {spool} --output ANOTHER.h5", said)
        another = self.folder / "another.h5"
        self.assertEqual(self.alone("recover", spool, "--output", another)[0], 1)
        again = self.records(another)
        self.assertEqual([r["outcome"]["status"] for r in again], ["ok", "lost", "ok"])
        for one, other in zip(records, again):
            self.assertEqual(len(one["phases"]), len(other["phases"]))

    def test_those_that_were_stopped_are_not_counted_as_failed(self):
        with self.three_that_outlive_one_another("100s") as run:
            ranks = self.in_their_soak(run)
            os.kill(ranks[1], signal.SIGKILL)
            os.kill(ranks[0], signal.SIGUSR1)
            run.wait()
            said = run.text()
        self.assertIn("1 of 3 ranks failed and 2 were stopped, failed: rank 1: ", said)
        self.assertEqual([r["outcome"]["status"] for r in self.records()], ["interrupted", "lost", "interrupted"])

    def check(self, victim):
        records = self.kill(victim)
        self.assertEqual([r["identity"]["rank"] for r in records], [0, 1, 2])
        self.assertEqual(records[victim]["outcome"]["status"], "lost")
        for record in records:
            self.assertGreater(len(record["phases"]), 14)

    def test_a_rank(self):
        self.check(1)

    def test_rank_0(self):
        self.check(0)


class Silent(RanksTest):
    """Ranks that neither answer nor die, as on a host that is gone."""

    def test_all_share_one_limit(self):
        slow_to_verify = ["--device", "host", "--batch", "1", "--context", "1", "--width", "1536", "--warmup", "1",
                          "--repeats", "1", "--threads", "1"]
        limit = 5
        with Started(command(4, *slow_to_verify, "--rank-timeout", f"{limit}s", "--quiet", "--output", self.output)) as run:
            self.wait_for("the last pass", lambda: all(self.rows_on_disk(rank) == 5 for rank in range(4)))
            silent = [pid for rank, pid in run.ranks().items() if rank != 0]
            try:
                for pid in silent:
                    os.kill(pid, signal.SIGSTOP)
                self.assertNotEqual(run.wait(), 0)
            finally:
                for pid in silent:
                    with contextlib.suppress(OSError):
                        if os.path.samefile(f"/proc/{pid}/exe", PROGRAM):
                            os.kill(pid, signal.SIGKILL)
        self.assertEqual([r["outcome"]["status"] for r in self.records()], ["ok", "lost", "lost", "lost"])
        header = json.loads(self.alone("show", "--json", self.output)[1])
        self.assertLess(header["run"]["gather_seconds"], 2 * limit)


class OneName(RanksTest):
    def test_two_runs_at_once_one_wins_none_is_lost(self):
        both = [Started(command(2, *SMALL, "--quiet", "--output", self.output)) for _ in range(2)]
        with both[0], both[1]:
            statuses = sorted(run.wait() for run in both)
            text = both[0].text() + both[1].text()
        # Refused before it measured, or failed after: then what it measured is kept.
        self.assertIn(statuses, ([0, 2], [0, 3]), text)
        self.assertEqual(len(self.records()), 2)
        # The loser either saw the name taken before it measured, or keeps what it measured and says so.
        kept = [path for path in self.folder.iterdir() if path != self.output]
        if kept:
            self.assertIn(str(kept[0]), text)


if __name__ == "__main__":
    main()
