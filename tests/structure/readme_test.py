#!/usr/bin/env python3
"""The documents' commands run, and print what stands below them.

A block that begins with ```sh run is run, the blocks of one document in order, in one fresh folder in which `build` is
the build folder. A ```text block right below is its output: numbers and units may differ, the words may not. A line
... in it stands for any lines.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from project import BUILD, SKIPPED, SOURCE, commands, documents, run

BLOCK = re.compile(r"^```sh run\n(.*?)^```\n(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LIMIT_SECONDS = 200


def machine_words():
    """Words that name a CPU: this one's, and that of the machine whose output the documents show."""
    model = json.loads(run("environment").stdout)["host"]["cpu_model"] or ""
    return set(re.findall(r"[A-Za-z]+", model)) | {"EPYC", "Processor"}


MACHINE_WORDS = machine_words()


def words(line):
    """What must be equal in a line: its words of at least four letters, but for those that name a machine."""
    tokens = [token.strip(".,:;()'") for token in line.split()]
    return " ".join(t for t in tokens if re.fullmatch(r"[A-Za-z_]{4,}", t) and t not in MACHINE_WORDS)


def pattern(expected):
    parts = [r"(?:[^\n]*\n)*?" if line.strip() == "..." else re.escape(words(line)) + r"\n"
             for line in expected.splitlines()]
    return "".join(parts)


def says(expected, actual):
    """Whether the text printed is the text expected, up to numbers."""
    return re.fullmatch(pattern(expected), "".join(words(line) + "\n" for line in actual.splitlines())) is not None


def environment():
    python = SOURCE / ".venv" / "bin"
    return dict(os.environ, PATH=f"{python}{os.pathsep}{os.environ['PATH']}", LC_ALL="C.UTF-8", COLUMNS="120",
                NO_COLOR="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


def has_h5py():
    return subprocess.run(["python3", "-c", "import h5py"], env=environment(), stderr=subprocess.DEVNULL,
                          timeout=60).returncode == 0


class Documents(unittest.TestCase):
    def run_blocks(self, document):
        count = 0
        with tempfile.TemporaryDirectory(prefix="gpulot-readme-") as name:
            folder = pathlib.Path(name)
            os.symlink(BUILD, folder / "build")
            for shared in ("data", "tests", "docs"):
                os.symlink(SOURCE / shared, folder / shared)
            for script, expected in BLOCK.findall(document.read_text(encoding="utf-8")):
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment(),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      encoding="utf-8", timeout=LIMIT_SECONDS)
                self.assertEqual(0, done.returncode, f"{script}{done.stdout}{done.stderr}")
                if expected:
                    self.assertTrue(says(expected, done.stdout),
                                    f"{document.name}:\n{script}\nprints\n{done.stdout}\nnot\n{expected}")
                count += 1
        return count

    def test_commands(self):
        total = 0
        for document in documents():
            with self.subTest(document=document.name):
                total += self.run_blocks(document)
        self.assertGreater(total, 0)

    def test_table_of_commands(self):
        text = (SOURCE / "README.md").read_text(encoding="utf-8")
        named = re.findall(r"^\| `gpulot ([a-z]+)", text, re.MULTILINE)
        self.assertEqual(sorted(commands()), sorted(named))

    def test_comparison_can_fail(self):
        self.assertTrue(says("median  12.5 us\n", "median  1.25 ms\n"))
        self.assertTrue(says("first\n...\n", "first\nsecond line\n"))
        for expected, actual in (("median\n", "maximum\n"), ("first line\n", "first line\nsecond\n"), ("line\n", "")):
            self.assertFalse(says(expected, actual))


if __name__ == "__main__":
    if not has_h5py():
        print("skipped: h5py is not installed (./run.sh test installs it into .venv)")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
    sys.exit(unittest.main())
