#!/usr/bin/env python3
"""Faults wherever they come, alone and together, and every form of CUDA_VISIBLE_DEVICES: a typed outcome, one line, never an
internal error, and nothing half written."""
import unittest

from simulated import measure

SECOND = "GPU-43554441-5349-4d00-c9cc-cfd2d5d8db01"


class Sweep(unittest.TestCase):
    def fails(self, faults, *statuses, arguments=(), **machine):
        with self.subTest(faults=faults, **machine):
            run = measure(*arguments, device="cuda:0", faults=faults, **machine)
            self.assertEqual(1, run.status, run.err)
            self.assertEqual(1, len(run.said), run.err)
            self.assertIn(run.outcome(0), statuses)
            error = run.records[0]["errors"][0]
            self.assertNotIn("lot_", error["call"])
            self.assertTrue(error["text"])

    def test_lost_at_any_call(self):
        for at in range(1, 160, 19):
            self.fails(f"lost:at={at}", "device-lost")

    def test_broken_at_any_launch(self):
        for at in range(1, 20, 5):
            self.fails(f"sticky:at={at}", "device-fault")
            self.fails(f"ecc:at={at + 1}", "device-ecc")

    def test_out_of_memory_at_any_allocation(self):
        for at in range(1, 14, 3):
            self.fails(f"oom:at={at}", "device-memory")

    def test_a_hang_at_any_launch(self):
        for at in (1, 4, 12): # the input, the first product, a warm pass
            self.fails(f"hang:at={at}", "timeout", arguments=("--phase-timeout", "1s"))

    def test_a_call_that_never_returns(self):
        """In the driver's first call, in NVML's, in opening, in the work, in closing: the rank is given up, and the
        process ends."""
        for symbol in ("cudaGetDeviceCount", "nvmlInit_v2", "cudaSetDevice", "cublasLtMatmul", "cudaStreamDestroy"):
            self.fails(f"stuck:symbol={symbol}", "timeout", arguments=("--phase-timeout", "1s"))

    def test_a_refusal_before_a_close_that_never_returns(self):
        """NVML is closed by two lists of devices, and then by the device: the refused run ends all the same."""
        for symbol, at in (("nvmlShutdown", 3), ("cudaStreamDestroy", 1)):
            run = measure("--phase-timeout", "1s", "--spool", "/dev/null/spool", device="cuda:0",
                          faults=f"stuck:symbol={symbol},at={at}")
            self.assertEqual((2, []), (run.status, run.written), run.err)
            self.assertNotIn("never fired", run.err)
            self.assertIn("/dev/null/spool", run.said[0])

    def test_together(self):
        self.fails("no-pools+oom:at=3", "device-memory")
        self.fails("no-pools+sticky:at=5", "device-fault", arguments=("--tune", "4"))
        self.fails("nvml-init:code=9+lost:at=60", "device-fault") # nobody says that it has gone
        self.fails("no-pools+lost:at=40", "device-lost", MIG="0:2")
        self.fails("nvml-status:symbol=nvmlDeviceGetPowerUsage,code=16", "device-fault")
        self.fails("gemm-status:at=1,code=14", "device-fault")


class Visible(unittest.TestCase):
    def test_forms(self):
        """The runtime reads the list up to the first entry that names nothing."""
        for text, uuid in (("1", SECOND), (f"{SECOND}", SECOND), ("1,-1,0", SECOND), ("1,9", SECOND), ("1,", SECOND)):
            with self.subTest(visible=text):
                run = measure(device="cuda:0", CUDA_VISIBLE_DEVICES=text)
                self.assertEqual(0, run.status, run.err)
                self.assertEqual(uuid, run.records[0]["device"]["uuid"])
        for text in ("", "-1", "9", "NoDevFiles", "GPU-0", ",", "0x1"):
            with self.subTest(visible=text):
                run = measure(device="cuda:0", CUDA_VISIBLE_DEVICES=text)
                self.assertEqual((2, []), (run.status, run.written), run.err)
                self.assertIn("CUDA_VISIBLE_DEVICES", run.said[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
