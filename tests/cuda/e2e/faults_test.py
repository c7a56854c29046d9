#!/usr/bin/env python3
"""Faults of one rank's device: typed in that rank's record, the other ranks land, exit 1."""
import unittest

from simulated import measure

FAULTS = {
    # rank: fault, status in the record, words that the error must hold
    1: ("oom:at=5", "device-memory", "cudaMallocFromPoolAsync"),
    2: ("sticky:at=9", "device-fault", "cudaErrorIllegalAddress"),
    3: ("ecc:at=9", "device-ecc", "cudaErrorECCUncorrectable"),
    4: ("lost:at=200", "device-lost", "cuda"),
    5: ("flip-gemm:at=5,byte=8,bit=6", "wrong-result", "another output"),
    6: ("nan:at=5,element=3", "wrong-result", ""),
}


class TypedFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = measure(ranks=8, devices=8,
                           faults="+".join(f"{fault},rank={rank}" for rank, (fault, _, _) in FAULTS.items()))

    def test_the_run(self):
        self.assertEqual(1, self.run_.status, self.run_.err)
        self.assertEqual(8, len(self.run_.records))
        self.assertNotIn("never fired", self.run_.err)
        self.assertEqual(1, len(self.run_.said), self.run_.err)

    def test_the_others_land(self):
        for rank in (0, 7):
            self.assertEqual("ok", self.run_.outcome(rank))
            self.assertTrue(self.run_.records[rank]["verification"]["passed"])
            self.assertEqual(3, self.run_.records[rank]["outcome"]["warm_rows"])

    def test_each_is_typed(self):
        for rank, (fault, status, words) in FAULTS.items():
            with self.subTest(fault=fault):
                record = self.run_.records[rank]
                self.assertEqual(status, record["outcome"]["status"])
                error = record["errors"][0]
                self.assertEqual(status, error["status"])
                self.assertIn(words, error["text"])
                self.assertTrue(error["call"])
                self.assertTrue(record["device"]["simulated"])

    def test_rows_before_the_fault_are_kept(self):
        self.assertGreaterEqual(len(self.run_.records[4]["phases"]), 3)
        self.assertEqual([], self.run_.records[1]["phases"])

    def test_a_nan_is_not_finite(self):
        verification = self.run_.records[6]["verification"]
        self.assertEqual((1, False), (verification["nonfinite_passes"], verification["passed"]))


class OneFault(unittest.TestCase):
    def test_flipped_weight(self):
        # The weights are wrong from the start, so all passes agree; only the reference tells. Bit 30 of a float.
        run = measure(ranks=2, faults="flip-upload:at=1,byte=3,bit=6,rank=1")
        self.assertEqual((1, "ok", "wrong-result"), (run.status, run.outcome(0), run.outcome(1)), run.err)
        verification = run.records[1]["verification"]
        self.assertEqual((0, False), (verification["digests_differing"], verification["reference_passed"]))

    def soak_row(self, fault):
        """The soak's row that deviates: its passes begin with the eleventh product."""
        run = measure("--soak", "1s", "--memory", "0.01", "--width", "64", faults=fault, MEM="1G", NOISE=0)
        self.assertEqual((1, "wrong-result"), (run.status, run.outcome(0)), run.err)
        rows = [row for row in run.records[0]["phases"] if row["phase"] == "soak"]
        deviating = [row for row in rows if row["digests_differing"] > 0]
        self.assertEqual(1, len(deviating))
        for row in run.records[0]["phases"]:
            if row not in deviating:
                self.assertEqual((None, None), (row["elements_differing"], row["first_element_differing"]))
        return deviating[0]

    def test_soak_says_where_an_output_deviates(self):
        # A bit of the output, in its byte 8: the third float alone. A bit of the activation: the row behind it.
        one = self.soak_row("flip-gemm:at=16,byte=8,bit=6")
        self.assertEqual((1, 2), (one["elements_differing"], one["first_element_differing"]))
        many = self.soak_row("flip-gemm:at=17,byte=11,bit=6")
        self.assertTrue(32 < many["elements_differing"] <= 64, many)
        self.assertLess(many["first_element_differing"], 64)

    def test_library_fails(self):
        run = measure(ranks=2, faults="gemm-status:at=3,code=13,rank=1")
        self.assertEqual((1, "ok"), (run.status, run.outcome(0)), run.err)
        error = run.records[1]["errors"][0]
        self.assertEqual("device-fault", error["status"])
        self.assertIn("cublasLtMatmul", error["text"])

    def test_hang(self):
        run = measure("--phase-timeout", "2s", ranks=2, faults="hang:at=9,rank=1")
        self.assertEqual((1, "ok", "timeout"), (run.status, run.outcome(0), run.outcome(1)), run.err)

    def test_a_driver_that_does_not_answer_on_one_rank(self):
        for symbol in ("cudaGetDeviceCount", "cudaSetDevice", "cudaStreamDestroy"):
            with self.subTest(symbol=symbol):
                run = measure("--phase-timeout", "2s", ranks=2, faults=f"stuck:symbol={symbol},rank=1")
                self.assertEqual((1, "ok", "timeout"), (run.status, run.outcome(0), run.outcome(1)), run.err)

    def test_closing_is_not_waited_for_like_a_row(self):
        run = measure(faults="stuck:symbol=cudaMemPoolDestroy") # --phase-timeout is an hour
        self.assertEqual((1, "timeout"), (run.status, run.outcome(0)), run.err)
        self.assertEqual("device_close", run.records[0]["outcome"]["failed_phase"])
        self.assertEqual(3, run.records[0]["outcome"]["warm_rows"])

    def test_a_device_that_holds_a_context_and_no_more(self):
        run = measure(device="cuda:0", devices=1, MEM="256M")
        self.assertEqual((1, "device-memory"), (run.status, run.outcome(0)), run.err)
        self.assertIn(" 0 of the device's 268435456 bytes are free", run.records[0]["outcome"]["error_text"])

    def test_busy(self):
        run = measure(ranks=2, faults="busy:rank=1")
        self.assertEqual(2, run.status, run.err)
        self.assertIn("rank 1", run.said[0])
        self.assertEqual([], run.written)

    def test_lost_at_the_start(self):
        run = measure(ranks=2, faults="lost:at=1,rank=1")
        self.assertEqual((1, "ok"), (run.status, run.outcome(0)), run.err)
        self.assertEqual("device-lost", run.outcome(1))
        self.assertEqual("device_open", run.records[1]["outcome"]["failed_phase"])
        device = run.records[1]["device"] # it is known which one did not open, and that it is simulated
        self.assertEqual(("GPU-43554441-5349-4d00-c9cc-cfd2d5d8db01", True), (device["uuid"], device["simulated"]))

    def test_another_driver_on_one_rank(self):
        run = measure(ranks=2, faults="nvml-version:text=570.1,rank=1")
        self.assertEqual(0, run.status, run.err)
        self.assertEqual(["SIMULATED", "570.1"], [record["device"]["driver_version"] for record in run.records])
        self.assertEqual([True, True], [record["device"]["simulated"] for record in run.records])


if __name__ == "__main__":
    unittest.main(verbosity=2)
