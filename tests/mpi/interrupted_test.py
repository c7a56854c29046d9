"""Signals, killed processes, two runs for one name: what was measured is never lost."""
import os
import signal
import time

from ranks import ENDLESS, SMALL, RanksTest, Started, command, main


class Signals(RanksTest):
    def stop_with(self, number, to_rank=None):
        # The other rank hears of it at the next meeting, which is at the end of its soak.
        soak = [*ENDLESS[:-4], "--soak", "100s" if to_rank is None else "15s", "--memory", "1%"]
        with Started(command(2, *soak, "--quiet", "--output", self.output)) as run:
            self.wait_for("the soak", lambda: self.rows_on_disk(0) > 14 and self.rows_on_disk(1) > 14)
            if to_rank is None:
                run.process.send_signal(number)
            else:
                os.kill(run.ranks()[to_rank], number)
            self.assertEqual(run.wait(), 1, run.text())
        records = self.records()
        self.assertEqual(len(records), 2)
        for record in records:
            self.assertEqual(record["outcome"]["status"], "interrupted")
            self.assertGreater(len(record["phases"]), 14)
        self.assertEqual(self.spools(), [])

    def test_terminate_sent_to_mpirun(self):
        self.stop_with(signal.SIGTERM)

    def test_interrupt_sent_to_mpirun(self):
        self.stop_with(signal.SIGINT)

    def test_user_signal_sent_to_mpirun(self):
        self.stop_with(signal.SIGUSR1)

    def test_terminate_sent_to_one_rank_ends_all(self):
        self.stop_with(signal.SIGTERM, to_rank=1)


class Killed(RanksTest):
    def kill(self, victim):
        """kill -9 of one rank of three in its soak; then the one command that the documents name."""
        with Started(command(3, *ENDLESS, "--quiet", "--output", self.output)) as run:
            self.wait_for("the soak", lambda: all(self.rows_on_disk(rank) > 14 for rank in range(3)))
            os.kill(run.ranks()[victim], signal.SIGKILL)
            self.assertNotEqual(run.wait(), 0)
        if self.output.exists():
            return self.records()
        [spool] = self.spools()
        status, _, err = self.alone("recover", spool, "--output", self.output)
        self.assertEqual(status, 1, err)
        return self.records()

    def test_the_others_go_on_where_the_launcher_lets_them(self):
        """mpirun --enable-recovery leaves the others alive: they make the archive by themselves."""
        short = [*ENDLESS[:-4], "--soak", "3s", "--memory", "1%"]
        with Started([*command(3, *short, "--quiet", "--output", self.output)][:1] + ["--enable-recovery"] +
                     command(3, *short, "--quiet", "--output", self.output)[1:]) as run:
            self.wait_for("the soak", lambda: all(self.rows_on_disk(rank) > 14 for rank in range(3)))
            os.kill(run.ranks()[1], signal.SIGKILL)
            killed = time.monotonic()
            self.wait_for("the archive", self.output.exists, 60)
            self.assertLess(time.monotonic() - killed, 30)
            run.wait()
            self.assertIn("the first is rank 1", run.text())
        self.assertEqual([r["outcome"]["status"] for r in self.records()], ["ok", "lost", "ok"])

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
