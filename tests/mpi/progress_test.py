"""What a user sees on stderr while it measures."""
import fcntl
import os
import pty
import re
import select
import socket
import struct
import subprocess
import termios
import time

from ranks import LIMIT_SECONDS, PROGRAM, SMALL, RanksTest, environment, main


class Progress(RanksTest):
    def on_terminal(self, *more, columns=200, soak="500ms", **variables):
        """stderr of a short run whose stderr is a terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, "measure", *SMALL, "--soak", soak, "--memory", "1%", *more, "--output",
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
        self.assertEqual(text.count("\n"), 2, "the note on recovering, what was made, and no other whole line")
        self.assertRegex(text, rf"\rgpulot: made {self.output}, 1 rank, \S+ \S+ elapsed\s+\Z")

    def test_the_line_fits_the_terminal(self):
        _, *drawn = self.on_terminal(columns=20, NO_COLOR="1").split("\rgpulot: made")[0].split("\r")
        self.assertTrue(all(len(line) < 20 for line in drawn if not line.startswith("\n")), drawn)
        self.assertTrue(any(line.startswith("soak") for line in drawn), drawn)

    def test_no_color_is_respected(self):
        text = self.on_terminal(NO_COLOR="1")
        self.assertIn("\r", text)
        self.assertNotIn("\033", text)

    def test_quiet_is_silent(self):
        self.assertEqual(self.on_terminal("--quiet"), "")

    def test_elsewhere_plain_lines(self):
        _, _, err = self.alone("measure", *SMALL, "--output", self.output)
        note, *stages, made = err.splitlines()
        self.assertRegex(made, rf"^gpulot: made {self.output}, 1 rank, \S+ \S+ elapsed$")
        self.assertRegex(note, rf"^gpulot: if this run dies: {PROGRAM} recover {self.output}.spool-\S+ --output {self.output}$")
        began = [line for line in stages if re.fullmatch(r"gpulot: [a-z]+, 1 rank, \S+ \S+ elapsed", line)]
        self.assertGreaterEqual(len(began), 5)
        # Only a stage of more than two seconds says how far it is.
        self.assertTrue(all(re.match(r"gpulot: [a-z]+ \d+/\d+", line) for line in stages if line not in began), err)

    def test_how_to_recover_is_told_in_one_write(self):
        """Else the lines of ranks that say it at one time get into each other."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            subprocess.run([PROGRAM, "measure", *SMALL, "--output", str(self.folder / "a name.h5")], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=theirs, env=environment(), timeout=LIMIT_SECONDS, check=True)
            self.assertRegex(ours.recv(65536).decode(), r"(?s)^gpulot: if this run dies: [^\n]+ --output \$'[^\n]+'\n$")

    def test_a_long_soak_tells_every_ranks_rate(self):
        status, lines = self.measure(2, *SMALL, "--soak", "5s", "--memory", "1%", "--output", self.output)
        self.assertEqual(status, 0)
        self.assertRegex("\n".join(lines), r"(?m)^gpulot: soak \d/6.*, \d of 2 ranks done, \S+ s elapsed, by rank [\d.e?]+ [\d.e?]+ GFLOP/s$")

    def test_filling_a_soaks_buffers_is_not_in_its_estimate(self):
        # Call 0 fills the input of the passes, the others those of the soak: one of them takes 4 s longer.
        text = self.on_terminal(soak="4s", NO_COLOR="1", GPULOT_MODULE_DIR=self.faulty_modules(),
                                GPULOT_FAULT_CALL="fill:1:wait")
        self.assertIn("soak 0/5, fills memory first, ", text)
        rests = [float(rest) for rest in re.findall(r"soak \d/5, about ([\d.]+) s left", text)]
        self.assertTrue(rests, text)
        # Of 5 rows of a second there are at most 3 left when two are done; with the filling it would be 9 s.
        self.assertLess(max(rests), 6, text)


if __name__ == "__main__":
    main()
