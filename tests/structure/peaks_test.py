#!/usr/bin/env python3
"""data/gpus.csv: every row identifies a model, names its sources, and its rates fit together."""
import csv
import unittest

from project import SOURCE

# 16-bit tensor rate with float32 accumulation over the float32 rate, by compute capability and kind of board:
# FLOP per clock and SM, of which the vendor's architecture papers give both.
RATIO = {"7.5": (8,), "8.0": (16,), "8.6": (2, 4), "8.9": (2, 4), "9.0": (14.8,), "10.0": (), "12.0": (2, 4)}
CORES = {"7.5": 64, "8.0": 64}  # float32 lanes of an SM; 128 in all others


def rows():
    lines = (SOURCE / "data/gpus.csv").read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


class Peaks(unittest.TestCase):
    def test_every_row_names_its_sources(self):
        self.assertGreater(len(rows()), 15)
        for row in rows():
            with self.subTest(gpu=row["gpu"]):
                self.assertEqual(12, len(row))
                self.assertTrue(row["source"].startswith("NVIDIA "), row["source"])
                self.assertRegex(row["identification_source"], r"^[a-z0-9.-]+\.[a-z]{2,3}/\S+")

    def test_every_row_identifies(self):
        seen = set()
        for row in rows():
            with self.subTest(gpu=row["gpu"]):
                for column in ("name_end", "compute_capability", "sm_count", "memory_gb", "power_w",
                               "memory_gb_per_s"):
                    self.assertTrue(row[column], column)
                key = tuple(row[column] for column in ("name_end", "sm_count", "memory_gb", "power_w"))
                self.assertNotIn(key, seen)
                seen.add(key)

    def test_rates_fit_together(self):
        for row in rows():
            capability = row["compute_capability"]
            with self.subTest(gpu=row["gpu"]):
                half = float(row["fp16_bf16_tflops"])
                if row["tf32_tflops"]: # half the 16-bit rate everywhere
                    self.assertAlmostEqual(0.5, float(row["tf32_tflops"]) / half, delta=0.01)
                if not row["fp32_tflops"]:
                    continue
                single = float(row["fp32_tflops"])
                clock = single * 1e3 / (2 * CORES.get(capability, 128) * float(row["sm_count"]))
                self.assertTrue(1.3 < clock < 2.7, f"a boost clock of {clock:.2f} GHz")
                self.assertTrue(any(abs(half / single / ratio - 1) < 0.03 for ratio in RATIO[capability]),
                                f"{half} is {half / single:.2f} times {single}")


if __name__ == "__main__":
    unittest.main()
