#!/usr/bin/env python3
"""What holds for every command: --help, refusals, full standard output, and that none but measure loads a module."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from project import BUILD, PROGRAM, SOURCE, commands, options_of, run

# What opens an archive or a catalogue is called with one that is not there: what is loaded is loaded before that.
HARMLESS = {
    "estimate": ["--parameters", "7", "--bits", "8"],
    "environment": [],
    "show": ["none.h5"],
    "export": ["none.h5", "--format", "json"],
    "recover": ["none", "--output", "out.h5"],
    "check": ["none.h5"],
    "compare": ["none.h5", "none2.h5"],
    "price": ["--tariffs", f"{SOURCE}/data/example-tariffs-2026-08-22.csv", "--gpu", "B200", "--days", "7", "--lots", "2"],
    "tariffs": ["list", f"{SOURCE}/data/example-tariffs-2026-08-22.csv"],
    "manifest": ["verify", f"{SOURCE}/data"],
}
# environment asks the MPI library for its version, which starts nothing.
ALLOWED = {"environment": {"gpulot-mpi.so", "libmpi.so", "libopen-rte.so"}}
HEAVY = re.compile(r"(gpulot-\w+\.so|libmpi\.so|libopen-rte\.so|libdnnl\.so|libcuda|libcublas|libnvidia-ml)")


def loaded(arguments):
    """Every file that the dynamic loader opened for one call."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LD_DEBUG="files", LD_DEBUG_OUTPUT=f"{folder}/loader")
        run(*arguments, env=environment, cwd=folder)
        return "".join(p.read_text(errors="replace") for p in pathlib.Path(folder).glob("loader.*"))


def blanks_outside_texts(json_text):
    """What stands between the texts of a JSON document and is blank or a line break."""
    return re.findall(r"\s", re.sub(r'"(?:[^"\\]|\\.)*"', "", json_text))


def members_of(value):
    """The names of all members in a JSON value."""
    if isinstance(value, dict):
        return set(value).union(*map(members_of, value.values()))
    return set().union(*map(members_of, value)) if isinstance(value, list) else set()


class EveryCommand(unittest.TestCase):
    def test_help(self):
        for command in commands():
            with self.subTest(command=command):
                done = run(command, "--help")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertTrue(done.stdout.startswith(f"usage: gpulot {command} "))
                self.assertIn("--help", options_of(done.stdout))
                self.assertEqual(done.stdout, run(command, "-h").stdout)
                long = [line for line in done.stdout.splitlines() if len(line) > 120]
                self.assertEqual([], long)

    def test_options_that_are_not_there(self):
        for command in commands():
            for wrong in (["--no-such-option"], ["-x"], ["--no-such-option=1"], ["--help-me"]):
                with self.subTest(command=command, wrong=wrong):
                    done = run(command, *wrong)
                    self.assertEqual((2, ""), (done.returncode, done.stdout))
                    self.assertRegex(done.stderr, rf"\Agpulot {command}: [^\n]+\n\Z")

    def test_numbers_below_what_makes_sense(self):
        """-1 is refused by every option of a number, 0 by each whose help does not say what 0 is."""
        zero_is_plain = {"--warmup", "--seed", "--reserve-gib", "--tolerance", "--rank"}
        before = {"show": HARMLESS["show"], "export": HARMLESS["export"], "price": HARMLESS["price"][:4]}
        seen = 0
        for command in commands():
            for option, help_text in re.findall(r"^  (--[a-z-]+) (?:N|L|R|B|G|D|S|SHARE|TIME) +(.*)$",
                                                run(command, "--help").stdout, re.MULTILINE):
                for value in ("-1", "0"):
                    if value == "0" and (option in zero_is_plain or "0 = " in help_text):
                        continue
                    seen += 1
                    with self.subTest(command=command, option=option, value=value):
                        done = run(command, *before.get(command, []), f"{option}={value}")
                        self.assertEqual((2, ""), (done.returncode, done.stdout))
                        self.assertRegex(done.stderr, rf"\Agpulot {command}: {option}: '{value}' [^\n]+\n\Z")
        self.assertGreater(seen, 40)

    def test_full_standard_output(self):
        for command in commands():
            with self.subTest(command=command), open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, command, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(3, done.returncode)
                self.assertIn(b"standard output", done.stderr)

    def test_json_is_one_line(self):
        """One layout for all: no blank and no line break but the last; export prints a record a line."""
        with tempfile.TemporaryDirectory() as folder:
            archive = f"{folder}/a.h5"
            subprocess.run([f"{BUILD}/tests/sample_archive", archive, "2", "3"], check=True, timeout=60)
            shown = {**HARMLESS, "show": [archive], "check": [archive], "compare": [archive, archive],
                     "export": [archive, "--format", "json", "--rank", "0"], "manifest": ["create", folder]}
            for command in commands():
                if command in ("measure", "recover", "baseline"):
                    continue
                with self.subTest(command=command):
                    extra = [] if command == "export" else ["--json"]
                    text = run(command, *shown[command], *extra).stdout
                    json.loads(text)
                    self.assertEqual(["\n"], blanks_outside_texts(text))
            text = run("tariffs", "check", archive, "--json").stdout
            self.assertGreater(len(json.loads(text)["faults"]), 0)
            self.assertEqual(["\n"], blanks_outside_texts(text))
            lines = run("export", archive, "--format", "json").stdout.splitlines()
            self.assertEqual(["[", "]"], [lines[0], lines[-1]])
            self.assertEqual([0, 1], [json.loads(line.rstrip(","))["identity"]["rank"] for line in lines[1:-1]])

    def test_json_is_documented(self):
        """Every member that a command prints stands in docs/json.md under the command's name."""
        text = (SOURCE / "docs/json.md").read_text(encoding="utf-8")
        fields = (SOURCE / "docs/archive-format.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            archives = [f"{folder}/a.h5", f"{folder}/b.h5"]
            for archive, kind in zip(archives, ("known,failed", "again")):
                subprocess.run([f"{BUILD}/tests/sample_archive", archive, "3", "3", kind], check=True, timeout=60)
            shown = {**HARMLESS, "show": archives[:1], "check": archives[:1], "compare": archives,
                     "environment": ["--device", "host"], "manifest": ["create", folder]}
            for command in ("estimate", "environment", "show", "check", "compare", "tariffs", "manifest"):
                part = text.split(f"\n## {command}\n", 1)[1].split("\n## ", 1)[0]
                for name in members_of(json.loads(run(command, *shown[command], "--json").stdout)):
                    with self.subTest(command=command, member=name):
                        archived = command in ("environment", "show") and re.search(rf"`(\w+_)?{name}`", fields)
                        self.assertTrue(f"`{name}`" in part or archived)

    def test_none_but_measure_loads_a_module(self):
        for command in commands():
            if command == "measure":
                continue
            for arguments in ([command, "--help"], [command, *HARMLESS.get(command, [])]):
                with self.subTest(arguments=arguments):
                    text = loaded(arguments)
                    self.assertIn("libc.so", text, "the loader's log is empty")
                    self.assertEqual(set(), set(HEAVY.findall(text)) - ALLOWED.get(command, set()))

    def test_the_loader_log_shows_a_module(self):
        """The check above can fail: a measurement does load the device's module."""
        if "measure" not in commands():
            self.skipTest("no measure command")
        text = loaded(["measure", "--device", "host", "--batch", "1", "--context", "1", "--width", "16", "--dtype",
                       "float32", "--warmup", "1", "--repeats", "1", "--output", "one.h5"])
        self.assertIn("gpulot-host.so", HEAVY.findall(text))


if __name__ == "__main__":
    sys.exit(unittest.main())
