#!/usr/bin/env python3
"""Every header compiles alone, in C17, under the project's warnings."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

from project import SOURCE, sources

FLAGS = ["-std=c17", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion",
         "-Wstrict-prototypes", "-Wvla", "-Werror", "-fsyntax-only", "-x", "c"]
FOREIGN = re.compile(r'#\s*include\s+<(cuda|cublas|nvml)')
OURS = re.compile(r'#\s*include\s+"([^"]+)"')


def foreign(path):
    """Whether a header needs a vendor's, which is there only where its toolkit is."""
    if not (SOURCE / path).exists():  # as from src/
        path = pathlib.Path("src") / path
    text = (SOURCE / path).read_text(encoding="utf-8")
    return FOREIGN.search(text) is not None or any(foreign(included) for included in OURS.findall(text))


def compile_alone(text):
    folders = [f"-I{SOURCE / 'src'}", f"-I{SOURCE}"]
    folders += [f"-isystem{f}" for f in os.environ.get("GPULOT_INCLUDES", "").split(":") if f]
    return subprocess.run([os.environ.get("GPULOT_CC", "cc"), *FLAGS, *folders, "-"], input=text, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)


class Headers(unittest.TestCase):
    def test_each_alone(self):
        faults = []
        for path in sources(".h"):
            if foreign(path):
                continue
            # A second inclusion must change nothing, and a file must not be empty.
            done = compile_alone(f'#include "{path}"\n#include "{path}"\nextern int used;\n')
            if done.returncode != 0:
                faults.append(f"{path}:\n{done.stdout}")
        self.assertEqual("", "\n".join(faults))

    def test_a_bad_header_is_found(self):
        self.assertNotEqual(0, compile_alone("size_t count(void);\n").returncode)


if __name__ == "__main__":
    sys.exit(unittest.main())
