#!/usr/bin/env python3
"""./run.sh: what it says where something is missing, and that it changes nothing then."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from project import SOURCE

# What the script itself calls, none of which is what it looks for.
TOOLS = ("bash", "cat", "cmp", "cp", "dirname", "env", "grep", "head", "id", "mkdir", "nproc", "printf", "sed", "sort",
         "tail", "timeout", "tr")


class RunScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpulot-run-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            os.symlink(shutil.which(tool), self.bin / tool)
        (self.folder / "tests").mkdir()
        for name in ("run.sh", "tests/requirements.txt"):
            shutil.copy2(SOURCE / name, self.folder / name)

    def run_script(self, *arguments):
        return subprocess.run([self.bin / "bash", self.folder / "run.sh", *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=60,
                              env={"PATH": str(self.bin), "HOME": str(self.folder)})

    def fake(self, name, text):
        # What stands there may be a link to the machine's own tool, which must not be written through.
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!{self.bin}/bash\n{text}\n")
        (self.bin / name).chmod(0o755)

    def test_nothing_to_install_with(self):
        """No apt-get: one list, exit 2, and no folder made."""
        for command in ("build", "demo", "test"):
            with self.subTest(command=command):
                done = self.run_script(command)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                for package in ("gcc", "cmake", "ninja-build", "libopenmpi-dev", "libhdf5-dev", "libcjson-dev",
                                "libdnnl-dev"):
                    self.assertIn(f"  {package} ", done.stderr)
                self.assertEqual(command == "test", "libcmocka-dev" in done.stderr)
                self.assertIn("cannot be installed from here", done.stderr)
                self.assertFalse((self.folder / "build").exists())

    def test_no_root(self):
        """apt-get, but neither root nor sudo without a password."""
        self.fake("apt-get", f"echo called >>{self.folder}/apt.log")
        self.fake("id", "echo 1000")
        self.fake("sudo", "exit 1")
        done = self.run_script("build")
        self.assertEqual(2, done.returncode)
        self.assertFalse((self.folder / "apt.log").exists())

    def test_installs_only_what_is_missing(self):
        """What is there is not asked for; nobody is asked a question."""
        self.fake("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{self.folder}/apt.log')
        self.fake("apt-cache", "echo Package: $2")
        self.fake("id", "echo 0")
        self.fake("ninja", "exit 0")
        done = self.run_script("build")
        self.assertEqual(2, done.returncode)
        self.assertIn("still missing", done.stderr)
        asked = (self.folder / "apt.log").read_text()
        self.assertIn("noninteractive", asked)
        self.assertIn(" -y ", asked)
        self.assertIn(" cmake ", asked)
        self.assertNotIn("ninja-build", asked)
        self.assertNotIn("cmocka", asked)

    def test_an_old_cmake_does_not_do(self):
        for version, missing in (("3.18.4", True), ("3.22.0", False), ("3.22.1", False), ("4.0.1", False)):
            with self.subTest(version=version):
                self.fake("cmake", f"echo cmake version {version}")
                self.assertEqual(missing, "  cmake " in self.run_script("missing", "build").stderr)

    def test_says_that_gpus_cannot_be_measured(self):
        self.fake("gcc", "cat >/dev/null")
        for tool in ("ninja", "pkg-config", "mpicc"):
            self.fake(tool, "exit 0")
        reason = "no nvcc on PATH"
        self.fake("cmake", 'case $1 in --version) echo cmake version 3.25.1 ;; --preset) '
                           f'echo "-- CUDA: {reason}; no CUDA device module is built" ;; esac')
        done = self.run_script("build")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(f"Built without the CUDA device: {reason}\n", done.stderr)
        module = self.folder / "build" / "lib" / "gpulot" / "gpulot-cuda.so"
        module.parent.mkdir(parents=True)
        module.touch()
        self.assertNotIn("CUDA", self.run_script("build").stderr)

    def test_usage(self):
        for arguments in ((), ("measure",), ("demo", "again"), ("install", "everything")):
            with self.subTest(arguments=arguments):
                done = self.run_script(*arguments)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                self.assertNotEqual("", done.stderr)
        self.assertIn("demo", self.run_script("--help").stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
