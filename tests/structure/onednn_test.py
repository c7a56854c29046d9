#!/usr/bin/env python3
"""cmake/onednn.cmake takes a oneDNN that gives the same results for any number of threads, and no other."""
import pathlib
import subprocess
import tempfile
import unittest

from project import CMAKE, SOURCE

HEADER = "#define DNNL_VERSION_MAJOR {}\n\n/// Minor version\n#define DNNL_VERSION_MINOR {}\n#define DNNL_VERSION_PATCH 9\n"


class Version(unittest.TestCase):
    def configure(self, major, minor):
        with tempfile.TemporaryDirectory(prefix="gpulot-onednn-") as folder:
            header = pathlib.Path(folder, "oneapi/dnnl/dnnl_version.h")
            header.parent.mkdir(parents=True)
            header.write_text(HEADER.format(major, minor), encoding="utf-8")
            return subprocess.run([CMAKE, f"-DDNNL_INCLUDE_DIR={folder}", "-DDNNL_LIBRARY=dnnl",
                                   "-P", SOURCE / "cmake/onednn.cmake"],
                                  capture_output=True, text=True, timeout=60, check=False)

    def test_old_ones_are_refused(self):
        for major, minor in ((1, 96), (2, 0), (2, 1)):
            with self.subTest(version=f"{major}.{minor}"):
                done = self.configure(major, minor)
                self.assertNotEqual(0, done.returncode)
                self.assertIn(f"version {major}.{minor}; 2.2 or newer is needed", " ".join(done.stderr.split()))

    def test_newer_ones_are_taken(self):
        for major, minor in ((2, 2), (2, 10), (3, 0), (10, 1)):
            with self.subTest(version=f"{major}.{minor}"):
                done = self.configure(major, minor)
                self.assertEqual((0, ""), (done.returncode, done.stderr))


if __name__ == "__main__":
    unittest.main()
