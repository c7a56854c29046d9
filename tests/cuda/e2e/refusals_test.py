#!/usr/bin/env python3
"""What cannot be measured is refused: one line that says why, exit 2, nothing written."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from simulated import SIMULATOR, measure

MODULES = pathlib.Path(os.environ["GPULOT_MODULES"])
SOURCE = os.environ["GPULOT_SOURCE_DIR"]


class Refusals(unittest.TestCase):
    def refused(self, *words, arguments=(), **machine):
        run = measure(*arguments, **machine)
        self.assertEqual(2, run.status, run.err)
        self.assertEqual([], run.written)
        self.assertEqual(1, len(run.said), run.err)
        for word in words:
            self.assertIn(word, run.said[0])
        return run

    def test_two_ranks_on_one_device(self):
        uuid = "GPU-43554441-5349-4d00-c9cc-cfd2d5d8db01"
        self.refused("rank 0 and rank 1", uuid, "5349:1d:00.0", ranks=3, devices=3, device="cuda:1")
        self.refused("rank 0 and rank 1", uuid, ranks=2, devices=3, device=f"cuda:{uuid}")
        self.refused("rank 0 and rank 1", uuid, "neither sees another", ranks=2, devices=3, device="cuda:0", CUDA_VISIBLE_DEVICES="1")

    def test_two_ranks_on_one_slice(self):
        self.refused("rank 0 and rank 1", "MIG-43554441-", ranks=2, device="cuda:0", MIG="0:3")

    def test_more_ranks_than_devices(self):
        self.refused("--allow-shared", ranks=3, devices=2, device="cuda:local")

    def test_no_such_ordinal(self):
        self.refused("cuda:7", "4 devices are visible", devices=4, device="cuda:7")

    def test_no_such_uuid(self):
        self.refused("GPU-00000000-0000-0000-0000-000000000000", "GPU-43554441-5349-4d00-b8bb-bec1c4c7ca00",
                     "GPU-43554441-5349-4d00-c9cc-cfd2d5d8db01", device="cuda:GPU-00000000-0000-0000-0000-000000000000")

    def test_none_visible(self):
        self.refused("CUDA_VISIBLE_DEVICES", device="cuda:0", CUDA_VISIBLE_DEVICES="")

    def test_type_that_the_device_lacks(self):
        for arguments, capability in ((["--dtype", "float16"], "5.2"), (["--dtype", "bfloat16"], "7.5"),
                                      (["--math", "tf32"], "7.5")):
            with self.subTest(arguments=arguments):
                self.refused(capability, arguments=arguments, device="cuda:0", CC=capability)

    def test_device_without_kernels(self):
        self.refused("no kernels", "6.1", device="cuda:0", CC="6.1")

    def test_no_driver(self):
        self.refused("driver", device="cuda:0", devices=0)

    def test_driver_older_than_the_toolkit(self):
        self.refused("driver", "12.4", device="cuda:0", faults="driver:code=35", DRIVER=12040)

    def test_driver_not_ready(self):
        self.refused("cudaErrorSystemNotReady", device="cuda:0", faults="driver:code=802")

    def test_driver_mismatch(self):
        self.refused("cudaErrorSystemDriverMismatch", device="cuda:0", faults="driver:code=803")

    def test_busy_device(self):
        self.refused("cudaErrorDevicesUnavailable", device="cuda:0", faults="busy")

    def test_too_large(self):
        self.refused("the device has 1.000 GiB", arguments=["--width", "40000"], device="cuda:0", MEM="1G")


class Modules(unittest.TestCase):
    def measure_with(self, folder, **machine):
        return measure(device="cuda:0", GPULOT_MODULE_DIR=folder, **machine)

    def test_no_module(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.measure_with(folder)
        self.assertEqual((2, []), (run.status, run.written), run.err)
        self.assertIn("gpulot-cuda.so", run.said[0])

    def test_module_of_another_interface(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "other.c"
            source.write_text('#include "gpu/device.h"\n'
                              'const lot_device_module lot_device_table = {.abi = 999, .size = 16, .name = "cuda"};\n')
            subprocess.run([os.environ["GPULOT_CC"], f"-I{SOURCE}", f"-I{SOURCE}/src", "-shared", "-fPIC", "-o",
                            f"{folder}/gpulot-cuda.so", source], check=True)
            run = self.measure_with(folder)
        self.assertEqual((2, []), (run.status, run.written), run.err)
        self.assertIn("999", run.said[0])

    def test_library_absent(self):
        # A copy of the module that finds no cuBLASLt: without its run path, in a folder with the runtime alone.
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(MODULES / "gpulot-cuda.so", folder)
            libraries = pathlib.Path(folder) / "libraries"
            libraries.mkdir()
            for name in SIMULATOR.glob("libcudart.so.*"):
                (libraries / name.name).symlink_to(name)
            for name in SIMULATOR.glob("libcublasLt.so.*"):
                (libraries / name.name).write_text("not a library")
            run = self.measure_with(folder, libraries=libraries)
        self.assertEqual((2, []), (run.status, run.written), run.err)
        self.assertIn("libcublasLt", run.said[0])

    def build(self, folder, name, source, *options):
        text = pathlib.Path(folder) / f"{name}.c"
        text.write_text(source)
        subprocess.run([os.environ["GPULOT_CC"], "-shared", "-fPIC", "-o", f"{folder}/{name}", text, *options], check=True)

    def test_library_of_another_version(self):
        """A module that was built with another machine's library: this one has it under another name, or an older one."""
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "libother.so.12"
            named = "-Wl,-soname,libother.so.12"
            self.build(folder, library.name, "int newer(void) { return 0; }\n", named)
            self.build(folder, "gpulot-cuda.so", "int newer(void);\nint lot(void) { return newer(); }\n", library)
            library.unlink()
            absent = self.measure_with(folder)
            self.build(folder, library.name, "int older(void) { return 0; }\n", named)
            older = self.measure_with(folder, libraries=f"{folder}:{SIMULATOR}")
        for run, words in ((absent, ("libother.so.12", "LD_LIBRARY_PATH")), (older, ("newer", "older", "built with"))):
            self.assertEqual((2, [], 1), (run.status, run.written, len(run.said)), run.err)
            for word in words:
                self.assertIn(word, run.said[0])

    def test_program_needs_no_cuda_library(self):
        needed = subprocess.run(["ldd", os.environ["GPULOT_PROGRAM"]], stdout=subprocess.PIPE, encoding="utf-8",
                                check=True).stdout
        self.assertNotRegex(needed, "cuda|cublas|nvidia")


if __name__ == "__main__":
    unittest.main(verbosity=2)
