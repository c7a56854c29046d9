#!/usr/bin/env python3
"""--help, the man page and the completion name the same commands, options and choices."""
import functools
import re
import shutil
import subprocess
import sys
import unittest

from project import BUILD, PROGRAM, SOURCE, commands, options_of, run

COMPLETE = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_gpulot "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


@functools.lru_cache(maxsize=None)
def help_of(command):
    return run(command, "--help").stdout


def completed(*words):
    done = subprocess.run(["bash", "-c", COMPLETE, "bash", SOURCE / "docs" / "gpulot.bash", PROGRAM, *words],
                          stdout=subprocess.PIPE, encoding="utf-8", timeout=60, check=True)
    return done.stdout.split()


def man_sections():
    """The man page's text by command."""
    page = (BUILD / "gpulot.1").read_text(encoding="utf-8").replace(r"\-", "-")
    parts = re.split(r"^\.SS gpulot ([a-z]+).*\n", page, flags=re.MULTILINE)
    return {name: text.split("\n.SH ")[0] for name, text in zip(parts[1::2], parts[2::2])}


# Arguments that are texts, and that the rows themselves explain.
TEXTS = {"DIR", "EARLIER.h5", "F", "FILE", "FILE.csv", "FILE.h5", "MAP", "MODEL", "RUN.h5", "SPEC", "TEXT"}


def unexplained(text):
    """Options of a --help text of whose values neither their own row nor a row behind the options says how they are
    written."""
    explained = set()
    for names in re.findall(r"^  ([A-Z]+(?:, [A-Z]+)*) {2,}(?:a |seconds)", text.split("\n  --help")[1], re.MULTILINE):
        explained.update(names.split(", "))
    rows = re.findall(r"^  (--[a-z0-9-]+) (\S+)( [^\n]*(?:\n {10,}[^\n]*)?|\n[^\n]*)", text, re.MULTILINE)
    return [name for name, argument, rest in rows if argument not in explained | TEXTS
            and not re.search(r": \S+\|\S+|a whole number|: \d+, \d+ or \d+", rest)]


def choices_of(text):
    """Options with a list of values, from the rows of a --help text."""
    rows = re.findall(r"^  (--[a-z0-9-]+)([^\n]*(?:\n {10,}[^\n]*)?)", text, re.MULTILINE)
    found = {}
    for name, rest in rows:
        listed = re.search(r": (\S+\|\S+)", rest)
        if listed:
            found[name] = listed.group(1).split("|")
    return found


class Documents(unittest.TestCase):
    def test_same_commands(self):
        self.assertEqual(commands(), list(man_sections()))
        self.assertEqual(commands() + ["--help", "--version"], completed(""))

    def test_same_options(self):
        for command, section in man_sections().items():
            with self.subTest(command=command):
                wanted = options_of(help_of(command))
                self.assertIn("--help", wanted)
                self.assertEqual(wanted, re.findall(r"^\.B (--[a-z0-9-]+)", section, re.MULTILINE))
                self.assertEqual(wanted, completed(command, "-"))

    def test_same_text_and_defaults(self):
        for command, section in man_sections().items():
            printed = help_of(command)
            for sentence in re.findall(r"\(default [^)]*\)|\(required\)", printed):
                self.assertEqual(printed.count(sentence), section.count(sentence), f"{command}: {sentence}")

    def test_forms_of_values(self):
        for command in commands():
            with self.subTest(command=command):
                self.assertEqual([], unexplained(help_of(command)))
        self.assertEqual(["--for"], unexplained("  --for TIME  how long\n  --help      show this and exit\n"))

    def test_files_to_write_by_hand(self):
        """An option whose file people write themselves names the document that tells what stands in it."""
        for command in commands():
            for line in help_of(command).splitlines():
                row = re.match(r"  (--[a-z-]+ FILE|FILE)  +(.*)", line)
                if row is None:
                    continue
                with self.subTest(command=command, option=row[1]):
                    named = re.search(r"as in ([a-z-]+\.md)", row[2])
                    self.assertIsNotNone(named, line)
                    self.assertTrue((SOURCE / "docs" / named[1]).is_file(), line)

    def test_choices(self):
        count = 0
        for command in commands():
            for option, values in choices_of(help_of(command)).items():
                with self.subTest(command=command, option=option):
                    self.assertEqual(values, completed(command, option, ""))
                    count += 1
        if "measure" in commands():
            self.assertGreater(count, 2)

    def test_completion_narrows(self):
        self.assertEqual(["estimate"], completed("esti"))
        self.assertEqual(["--parameters"], completed("estimate", "--par"))
        self.assertEqual([], completed("estimate", "--bits", ""))
        self.assertEqual(["check", "list"], completed("tariffs", ""))
        self.assertEqual(["verify"], completed("manifest", "v"))
        self.assertEqual([], completed("show", ""))

    def test_page_is_well_formed(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", BUILD / "gpulot.1"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stdout))

    def test_headings_of_usage_texts(self):
        """Each option that a usage line names is one that the command has."""
        for command in commands():
            usage = help_of(command).split("\n\n")[0]
            for option in re.findall(r"--[a-z0-9-]+", usage):
                self.assertIn(option, options_of(help_of(command)), command)


if __name__ == "__main__":
    sys.exit(unittest.main())
