#!/usr/bin/env python3
"""Every null of a real record has its reason: in the record's `absent`, or in docs/archive-format.md. Exit 77 without the
host device."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from project import MODULES, PROGRAM, SKIPPED, SOURCE, run

if not (MODULES / "gpulot-host.so").is_file():
    print("skipped: the host device's module is not built")
    sys.exit(SKIPPED)

SECTIONS = ("identity", "environment", "device", "synthetic_model", "layer_1", "layer_2", "verification", "outcome")


def explained():
    """Names in the first column of the document's table."""
    text = (SOURCE / "docs/archive-format.md").read_text(encoding="utf-8")
    table = text.split("## Why a value is null", 1)[1].split("\n## ", 1)[0]
    return {name for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


def nulls(record):
    """SECTION.NAME of every null in a section, and phases.NAME of every one in a row."""
    for section in SECTIONS:
        for name, value in record[section].items():
            if value is None:
                yield section, name
    for row in record["phases"]:
        for name, value in row.items():
            if value is None:
                yield "phases", name


class Nulls(unittest.TestCase):
    def record_of(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            archive = pathlib.Path(folder) / "a.h5"
            subprocess.run([PROGRAM, "measure", "--device", "host", "--width", "32", "--quiet", "--output", archive,
                            *options], check=True, timeout=60)
            return json.loads(run("export", archive, "--format", "json", "--rank", "0").stdout)

    def test_every_null_has_a_reason(self):
        names = explained()
        self.assertGreater(len(names), 20)
        for options in ((), ("--soak", "200ms", "--memory", "0.01", "--schedule", "both", "--localise", "--telemetry-hz", "5")):
            record = self.record_of(*options)
            absent = {entry["field"] for entry in record["absent"]}
            for section, name in nulls(record):
                with self.subTest(options=options, field=f"{section}.{name}"):
                    self.assertTrue({f"{section}.{name}", section} & absent or name in names)

    def test_steps_are_described(self):
        text = (SOURCE / "docs/archive-format.md").read_text(encoding="utf-8")
        for step in self.record_of("--localise")["setup"]:
            with self.subTest(step=step["step"]):
                self.assertIn(f"`{step['step']}`", text)


if __name__ == "__main__":
    unittest.main()
