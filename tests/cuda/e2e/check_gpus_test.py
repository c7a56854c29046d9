#!/usr/bin/env python3
"""What only a GPU can do wrong, through measure and check: slow, throttled, another driver; the others ok."""
import json
import os
import pathlib
import re
import unittest

from simulated import gpulot, measure


def checked(faults, **machine):
    """Verdicts by rank and the whole answer for four simulated GPUs."""
    found = {}

    def look(run):
        done = gpulot("check", run.archive, "--json")
        found.update(status=done.returncode, result=json.loads(done.stdout), err=run.err)

    measure("--repeats", 5, ranks=4, devices=4, faults=faults, keep=look, **machine)
    return {d["rank"]: d["verdicts"] for d in found["result"]["devices"]}, found


class OneOfFour(unittest.TestCase):
    def expect(self, faults, rank, verdict, **machine):
        verdicts, found = checked(faults, **machine)
        self.assertNotIn("never fired", found["err"])
        self.assertEqual({r: [verdict] if r == rank else ["ok"] for r in range(4)}, verdicts, found["result"]["findings"])
        self.assertEqual(1, found["status"])
        self.assertTrue(found["result"]["simulated"])
        return next(f for f in found["result"]["findings"] if f["verdict"] == verdict)

    def test_healthy(self):
        verdicts, found = checked("")
        self.assertEqual(({r: ["ok"] for r in range(4)}, 0), (verdicts, found["status"]), found["result"]["findings"])

    def test_eight_percent_slow(self):
        finding = self.expect("slow:factor=1.087,rank=1", 1, "slow")
        self.assertEqual(("peer", "device_seconds"), (finding["evidence"], finding["measure"]))
        self.assertLess(finding["low"], 0.08)
        self.assertLess(abs(finding["number"] - 0.08), 0.01)

    def test_throttled(self):
        finding = self.expect("throttle:reason=hw-thermal,share=0.2,rank=2", 2, "throttled")
        self.assertEqual("hw_thermal", finding["measure"])

    def test_no_phase_is_throttled_longer_than_injected(self):
        """A soak of a small network checks outputs for longer than it makes them, and the counters go on meanwhile."""
        found = {}

        def look(run):
            found.update(json.loads(gpulot("check", run.archive, "--json").stdout))

        measure("--repeats", 3, "--soak", "1s", "--memory", "1%", device="cuda:0", devices=1,
                faults="throttle:reason=hw-thermal,share=0.3", keep=look)
        shares = {f["phase"]: f["number"] for f in found["findings"] if f["measure"] == "hw_thermal"}
        self.assertIn("warm_forward", shares)
        self.assertLess(max(shares.values()), 0.31, shares)

    def test_another_driver(self):
        finding = self.expect("nvml-version:text=123.45,rank=3", 3, "misconfigured")
        self.assertEqual("driver_version", finding["measure"])
        self.assertIn("123.45", finding["text"])

    def test_far_from_its_gpu(self):
        """A GPU near a NUMA node that has none of the rank's CPUs: 1023 is on no machine that runs this."""
        nodes = pathlib.Path("/sys/devices/system/node/online")
        if not nodes.exists():
            self.skipTest("this kernel names no NUMA nodes")
        if tuple(map(int, os.environ["GPULOT_CUDA_VERSION"].split(".")[:2])) < (12, 2):
            self.skipTest("this runtime does not tell a GPU's node, and the kernel knows no simulated GPU")
        node = re.match(r"\d+", nodes.read_text(encoding="ascii")).group()
        finding = self.expect("", 2, "misconfigured", NUMA=f"{node},{node},1023,{node}")
        self.assertEqual(("record", "cpu_numa_nodes"), (finding["evidence"], finding["measure"]))
        self.assertIn("the GPU at node 1023", finding["text"])


if __name__ == "__main__":
    unittest.main()
