#!/usr/bin/env python3
"""The program needs no device library and no MPI; a module gives one symbol and takes none of the program's."""
import re
import subprocess
import sys
import unittest

from project import MODULES, PROGRAM, SOURCE

HEAVY = re.compile(r"lib(mpi|open-rte|open-pal|pmix|dnnl|cuda|cudart|cublas|cublasLt|nvidia-ml|gomp)\b")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", timeout=60).stdout


def needed(path):
    """The libraries that a file names itself, without those that these need."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", "--wide", path))


def exported(path):
    names = [line.split()[-1] for line in output("nm", "--dynamic", "--defined-only", path).splitlines()]
    return [n for n in names if n not in ("_init", "_fini", "__bss_start", "_edata", "_end")]


class Binaries(unittest.TestCase):
    def test_program_needs_nothing_heavy(self):
        loaded = output("ldd", PROGRAM)
        self.assertIn("libc.so", loaded)
        self.assertEqual([], [line.strip() for line in loaded.splitlines() if HEAVY.search(line)])

    def test_modules(self):
        found = sorted(MODULES.glob("gpulot-*.so"))
        names = {module.name for module in found}
        wanted = {f"gpulot-{kind}.so" for kind, folder in (("host", "gpu/host"), ("mpi", "src/measure/mpi"))
                  if (SOURCE / folder / "CMakeLists.txt").exists()}
        self.assertTrue(wanted)
        self.assertLessEqual(wanted, names)
        for module in found:
            with self.subTest(module=module.name):
                self.assertEqual(1, len(exported(module)), f"{module} exports {exported(module)}")
                taken = re.findall(r"\blot_\w+", output("nm", "--dynamic", "--undefined-only", module))
                self.assertEqual([], taken, "a module takes nothing from the program")

    def test_each_library_has_one_user(self):
        users = {"libmpi.so": {"gpulot-mpi.so"}, "libdnnl.so": {"gpulot-host.so"},
                 "libcuda": {"gpulot-cuda.so"}, "libcublas": {"gpulot-cuda.so"}}
        for module in sorted(MODULES.glob("gpulot-*.so")):
            for library in needed(module):
                for start, allowed in users.items():
                    if library.startswith(start):
                        self.assertIn(module.name, allowed, f"{module.name} needs {library}")


if __name__ == "__main__":
    sys.exit(unittest.main())
