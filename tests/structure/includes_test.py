#!/usr/bin/env python3
"""Who may include whom: the arrows of docs/architecture.md, and one home for every library."""
import collections
import re
import sys
import unittest

from project import SOURCE, sources

C = (".c", ".h", ".cu", ".cuh", ".cc")

# Folder, longest first, and which of the project's own headers its files may include.
DEVICE_NEEDS = ["core/status.h", "core/error.h", "core/field.h", "core/facts.h", "core/checked.h", "core/clock.h",
                "core/cgroups.h", "core/cpus.h", "core/system_file.h", "gpu/device.h", "gpu/digest.h", "gpu/generate.h",
                "gpu/generator.h", "gpu/threads.h"]
ALLOWED = [
    ("gpu/host/", ["gpu/host/"] + DEVICE_NEEDS),
    ("gpu/cuda/", ["gpu/cuda/"] + DEVICE_NEEDS),
    ("gpu/", ["core/", "gpu/device.h", "gpu/digest.h", "gpu/generate.h", "gpu/generator.h", "gpu/loader.h",
              "gpu/threads.h"]),
    ("src/core/", ["core/"]),
    ("src/measure/", ["core/", "measure/", "gpu/device.h", "gpu/digest.h", "gpu/generator.h", "gpu/loader.h"]),
    ("src/analysis/", ["core/", "analysis/"]),
    ("src/cmd/", ["core/", "measure/", "analysis/", "cmd/", "io/", "gpu/device.h", "gpu/loader.h"]),
    ("io/", ["core/", "io/"]),
]

# Header of a library (a pattern) and the only files (a pattern) that may include it.
HOMES = [
    (r"mpi\.h", r"src/measure/mpi/\w+\.[ch]"),
    (r"hdf5(_hl)?\.h|H5.*\.h", r"io/(h5|archive_\w+)\.[ch]"),
    (r"(cjson/)?cJSON\.h", r"io/\w+\.[ch]"),
    (r"csv\.h", r"io/table_csv\.c"),
    (r"(oneapi/)?dnnl.*", r"gpu/host/.*"),
    (r"omp\.h", r"gpu/(host|cuda)/.*"),
    (r"(cuda|cublas|nvml|cupti|nvrtc).*", r"gpu/cuda/.*"),
    (r"dlfcn\.h", r"gpu/(loader\.c|cuda/.*)"),
    (r"(sodium|openssl/|nettle/|gcrypt).*", r"io/\w+\.c"),
    (r"getopt\.h|argp\.h", r"nothing"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(path):
    return [name for _, name in INCLUDE.findall((SOURCE / path).read_text(encoding="utf-8"))]


def is_ours(name):
    return name.split("/")[0] in ("core", "measure", "analysis", "cmd", "io", "gpu") and "/" in name


def arrow_fault(path, name):
    """Why this file may not include this header, or None."""
    path = str(path)
    if is_ours(name):
        for folder, allowed in ALLOWED:
            if path.startswith(folder):
                return None if any(name.startswith(a) for a in allowed) else f"{path} includes {name}"
        return f"{path} lies in no known folder"
    for header, home in HOMES:
        if re.fullmatch(header, name) and not re.fullmatch(home, path):
            return f"{path} includes {name}, whose home is {home}"
    return None


class Includes(unittest.TestCase):
    def test_arrows(self):
        faults = [fault for path in sources(*C) for name in includes(path)
                  if (fault := arrow_fault(path, name)) is not None]
        self.assertEqual([], faults)

    def test_the_rules_find_faults(self):
        for path, name in (("src/core/run.c", "io/spool.h"), ("src/measure/run.c", "io/archive_h5.h"),
                           ("src/measure/run.c", "mpi.h"), ("io/spool.c", "gpu/device.h"),
                           ("gpu/host/host.c", "core/record.h"), ("src/cmd/show.c", "hdf5.h"),
                           ("src/analysis/check.c", "io/spool.h"), ("src/cmd/price.c", "cjson/cJSON.h"),
                           ("src/measure/phase.c", "cuda_runtime_api.h"), ("io/spool.c", "hdf5.h")):
            self.assertIsNotNone(arrow_fault(path, name), f"{path} {name}")

    def test_quotes_are_for_our_own(self):
        wrong = []
        for path in sources(*C):
            for mark, name in INCLUDE.findall((SOURCE / path).read_text(encoding="utf-8")):
                made_here = name.endswith(".inc")  # a table that the build makes from data/
                if (mark == '"') != (is_ours(name) or made_here):
                    wrong.append(f"{path}: {name}")
        self.assertEqual([], wrong)

    def test_file_names_are_unique(self):
        """A file's name is its module's name; a header may share it with its source only in one folder."""
        homes = collections.defaultdict(set)
        for path in sources(*C):
            homes[path.stem].add(path.parent)
        twice = {stem: sorted(map(str, where)) for stem, where in homes.items()
                 if len(where) > 1 and not is_command(where)}
        self.assertEqual({}, twice)


def is_command(where):
    """cmd/ names its files after the commands, whose work another folder's module of that name does."""
    return len(where) == 2 and any(str(folder) == "src/cmd" for folder in where)


if __name__ == "__main__":
    sys.exit(unittest.main())
