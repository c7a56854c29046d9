"""Signals, killed processes, a full disk, two runs for one name: what was measured is never lost."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from ranks import ENDLESS, LIMIT_SECONDS, PROGRAM, SMALL, RanksTest, Started, command, environment


class Signals(RanksTest):
    def stop_with(self, number, to_rank=None):
        with Started(command(2, *ENDLESS, "--quiet", "--output", self.output)) as run:
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
        self.assertEqual(statuses, [0, 2], text)
        self.assertEqual(len(self.records()), 2)
        # The loser either saw the name taken before it measured, or keeps what it measured and says so.
        kept = [path for path in self.folder.iterdir() if path != self.output]
        if kept:
            self.assertIn(str(kept[0]), text)


class FullDisk(RanksTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(self.disk)],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(self.disk)], check=True)

    def test_the_measured_is_kept_for_recover(self):
        (self.disk / "ballast").write_bytes(b"x" * (48 << 10))
        output, spool = self.disk / "run.h5", self.folder / "spool"
        status, lines = self.measure(2, *SMALL[:-1], "500", "--quiet", "--output", output, "--spool", spool)
        self.assertEqual(status, 3, lines)
        self.assertEqual(sorted(os.listdir(self.disk)), ["ballast"])
        self.assertIn(f"gpulot recover {spool}", "\n".join(lines))
        self.assertEqual(self.alone("recover", spool, "--output", self.output)[0], 0)
        self.assertEqual([len(r["phases"]) for r in self.records()], [504, 504])


class Progress(RanksTest):
    def on_terminal(self, *more, **variables):
        """stderr of a short run whose stderr is a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen([PROGRAM, "measure", *SMALL, "--soak", "500ms", "--memory", "1%", *more, "--output",
                                    str(self.output)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                                   env=environment(TERM="xterm", **variables))
        os.close(slave)
        text = b""
        until = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < until:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    piece = os.read(master, 4096)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
            elif process.poll() is not None:
                break
        os.close(master)
        self.assertEqual(process.wait(LIMIT_SECONDS), 0)
        return text.decode()

    def test_a_terminal_gets_one_line_rewritten(self):
        text = self.on_terminal()
        self.assertIn("\r", text)
        self.assertIn("soak", text)
        self.assertIn("\033[36m", text)
        self.assertEqual(text.count("\n"), 1, "the note on recovering, and no other whole line")

    def test_no_color_is_respected(self):
        text = self.on_terminal(NO_COLOR="1")
        self.assertIn("\r", text)
        self.assertNotIn("\033", text)

    def test_quiet_is_silent(self):
        self.assertEqual(self.on_terminal("--quiet"), "")

    def test_elsewhere_plain_lines(self):
        _, _, err = self.alone("measure", *SMALL, "--output", self.output)
        note, *stages = err.splitlines()
        self.assertRegex(note, rf"^gpulot: if this run dies: gpulot recover {self.output}.spool-\S+ --output {self.output}$")
        self.assertTrue(all(re.fullmatch(r"gpulot: [a-z]+, 1 rank, \S+ \S+ elapsed", line) for line in stages), err)
        self.assertGreaterEqual(len(stages), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
