#!/usr/bin/env python3
"""Every code that the toolkit's headers declare is in the module's table under its name, the newest toolkit's headers
declare all of the table, and what the headers say of a code agrees with its status. NVML's codes are its documentation's
where the toolkit has no nvml.h."""
import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM, INCLUDE = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
NEWEST = 13000  # the runtime whose headers the table was made from
ENDS_CONTEXT = re.compile(r"inconsistent\s+(?:\*\s+)?state")
NVML = list(range(0, 31)) + [999]


def ask(library, codes):
    text = "".join(f"{library} {code}\n" for code in codes)
    lines = subprocess.run([PROGRAM], input=text, stdout=subprocess.PIPE, encoding="ascii", check=True,
                           timeout=30).stdout.splitlines()
    return {code: line.split(" ") for code, line in zip(codes, lines)}


def runtime():
    """(name, code, what stands above it) of each code of driver_types.h."""
    header = (INCLUDE / "driver_types.h").read_text(encoding="utf-8", errors="replace")
    return [(name, int(code), above) for above, name, code in
            re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*(cuda(?:Success|Error\w+))\s*=\s*(\d+)", header, re.S)]


class Runtime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.codes = runtime()
        cls.status = ask("runtime", [code for _, code, _ in cls.codes])

    def test_all_are_listed(self):
        self.assertGreater(len(self.codes), 110)
        for name, code, _ in self.codes:
            self.assertEqual(name if code else "cuda-", "cuda" + self.status[code][0], code)

    def test_the_newest_toolkit_declares_all(self):
        api = (INCLUDE / "cuda_runtime_api.h").read_text(encoding="utf-8", errors="replace")
        if int(re.search(r"define CUDART_VERSION +(\d+)", api)[1]) < NEWEST:
            self.skipTest("an older toolkit")
        header = (INCLUDE / "driver_types.h").read_text(encoding="utf-8", errors="replace")
        listed = {code for code, answer in ask("runtime", range(10001)).items() if answer[0] != "-"}
        self.assertEqual(set(), listed - {int(code) for code in re.findall(r"cudaError\w+\s*=\s*(\d+)", header)})

    def test_what_ends_the_context_is_the_devices(self):
        """Those of which the header says that the process must be ended before the device can be used again."""
        ending = [(name, code) for name, code, above in self.codes if ENDS_CONTEXT.search(above)]
        self.assertGreater(len(ending), 8)
        for name, code in ending:
            self.assertEqual("device-fault", self.status[code][2], name)

    def test_never_a_fault_of_the_program(self):
        """What its name says of driver, device, memory, MPS or permission is not this program's fault."""
        kind = re.compile(r"Driver|Device(?!PointerI|PointerE)|MemoryAllocation|Mps|Ecc|ECC|Nvlink|System|Licensed|Startup|"
                          r"Jit|Permitted|NotSupported|Unsupported|External|Unknown|Timeout")
        programs_own = {"cudaErrorInvalidDevicePointer", "cudaErrorMixedDeviceExecution", "cudaErrorIncompatibleDriverContext",
                        "cudaErrorStreamCaptureUnsupported"}
        for name, code, _ in self.codes:
            if kind.search(name) and name not in programs_own:
                self.assertNotIn("internal", self.status[code][1:], name)

    def test_before_and_after(self):
        for code, before, after in ((100, "no-device", "device-lost"), (101, "no-device", "device-lost"),
                                    (46, "device-busy", "device-lost"), (2, "device-memory", "device-memory"),
                                    (999, "device-fault", "device-fault"), (214, "device-ecc", "device-ecc"),
                                    (1, "internal", "internal"), (909, "timeout", "timeout")):
            self.assertEqual([before, after], self.status[code][1:], code)

    def test_a_code_of_a_newer_library(self):
        self.assertEqual(["-", "device-fault", "device-fault"], ask("runtime", [7777])[7777])


class Blas(unittest.TestCase):
    def test_all_are_listed(self):
        header = (INCLUDE / "cublas_api.h").read_text(encoding="utf-8", errors="replace")
        codes = {int(code): name for name, code in re.findall(r"CUBLAS_STATUS_(\w+)\s*=\s*(\d+)", header)}
        wanted = {1: "device-fault", 3: "device-memory", 7: "internal", 8: "unsupported", 11: "device-fault",
                  13: "device-fault", 14: "device-fault", 15: "unsupported", 16: "unsupported"}
        self.assertEqual(sorted(wanted), sorted(code for code in codes if code != 0))
        for code, answer in ask("blas", sorted(wanted)).items():
            self.assertEqual((codes[code], wanted[code]), (answer[0], answer[2]))
        self.assertEqual("no-driver", ask("blas", [1])[1][1])


class Nvml(unittest.TestCase):
    def test_only_what_says_that_the_gpu_is_gone(self):
        codes = list(NVML)
        if (INCLUDE / "nvml.h").is_file():
            header = (INCLUDE / "nvml.h").read_text(encoding="utf-8", errors="replace")
            codes = [int(code) for code in re.findall(r"NVML_(?:SUCCESS|ERROR_\w+)\s*=\s*(\d+)", header)]
        for code, answer in ask("nvml", codes).items():
            wanted = {15: "device-lost", 16: "device-fault"}.get(code, "ok")
            self.assertEqual([wanted, wanted], answer[1:], code)


if __name__ == "__main__":
    unittest.main()
