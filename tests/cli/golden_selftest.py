#!/usr/bin/env python3
"""The runner of golden cases must tell right from wrong."""
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).with_name("golden.py")


class Golden(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.case = pathlib.Path(folder.name) / "case"
        self.case.mkdir()
        self.program = pathlib.Path(folder.name) / "bin" / "gpulot"
        self.program.parent.mkdir()
        self.program.write_text("#!/bin/sh\necho \"took $1 s\"\necho noise >&2\nexit 2\n")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def outcome(self, update=False, **files):
        for name, text in files.items():
            (self.case / name).write_text(text)
        command = [sys.executable, str(RUNNER), "--program", str(self.program), str(self.case)]
        return subprocess.run(command + ["--update"] * update, stdout=subprocess.PIPE, timeout=60).returncode

    def test_equal_passes(self):
        self.assertEqual(0, self.outcome(cmd="gpulot 1.5", stdout="took 1.5 s\n", stderr="noise\n", exit="2\n"))

    def test_each_difference_fails(self):
        good = {"cmd": "gpulot 1.5", "stdout": "took 1.5 s\n", "stderr": "noise\n", "exit": "2\n"}
        for name, wrong in (("stdout", "took 1x5 s\n"), ("stdout", ""), ("stdout", "took 1.5 s"),
                            ("stderr", ""), ("exit", "0\n")):
            with self.subTest(name=name, wrong=wrong):
                self.assertEqual(1, self.outcome(**{**good, name: wrong}))

    def test_placeholders(self):
        common = {"cmd": "gpulot 1.5", "stderr": "<<*>>\nnoise\n<<*>>\n", "exit": "2"}
        self.assertEqual(0, self.outcome(stdout="took <<number>> s\n", **common))
        self.assertEqual(0, self.outcome(stdout="took <<[0-9.]+>> s\n", **common))
        self.assertEqual(1, self.outcome(stdout="took <<integer>> s\n", **common))

    def test_need(self):
        self.assertEqual(77, self.outcome(cmd="gpulot 1", needs="no-such-program-anywhere"))
        self.assertEqual(77, self.outcome(cmd="gpulot 1", needs="module:nothing"))

    def test_update_writes_what_passes(self):
        self.assertEqual(0, self.outcome(update=True, cmd="gpulot 3"))
        self.assertEqual(0, self.outcome())
        self.assertEqual("took 3 s\n", (self.case / "stdout").read_text())


if __name__ == "__main__":
    unittest.main()
