#!/usr/bin/env python3
"""Runs that land: each rank on its own device, what a record holds, and that it says that it was simulated."""
import json
import os
import pathlib
import tempfile
import unittest

from simulated import WITHOUT_NVML, environment, gpulot, measure


class EightRanks(unittest.TestCase):
    def test_each_on_its_own_device(self):
        def outputs(run):
            for command in (["show"], ["show", "--json"], ["export", "--format", "json"], ["export", "--format", "csv"]):
                text = gpulot(command[0], run.archive, *command[1:]).stdout
                self.assertIn("simulated", text.lower(), command)
            shown = json.loads(gpulot("show", run.archive, "--json").stdout)
            self.assertIn('"simulated": true', json.dumps(shown))

        run = measure(ranks=8, devices=8, keep=outputs)
        self.assertEqual(0, run.status, run.err)
        self.assertEqual(8, len(run.records))
        self.assertEqual(8, len({record["device"]["uuid"] for record in run.records}))
        self.assertEqual(8, len({record["device"]["pci_address"] for record in run.records}))
        self.assertEqual(list(range(8)), [record["device"]["ordinal"] for record in run.records])
        self.assertEqual({True}, {record["device"]["simulated"] for record in run.records})
        self.assertEqual({"ok"}, {record["outcome"]["status"] for record in run.records})
        self.assertEqual({True}, {record["verification"]["passed"] for record in run.records})
        self.assertEqual(1, len({record["verification"]["digest"] for record in run.records}))


class Environment(unittest.TestCase):
    def devices(self, **machine):
        done = gpulot("environment", "--device", "cuda:local", env=environment(**machine))
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_lists_simulated_devices(self):
        found = self.devices(devices=3)["devices"]
        self.assertEqual([True] * 3, [device["simulated"] for device in found])

    def test_no_device_is_an_answer(self):
        self.assertIn("driver", self.devices(devices=0)["devices_reason"])

    def test_a_driver_that_does_not_answer(self):
        """Of CUDA or of NVML, whichever call hangs: one line, all else of the answer, and an end."""
        for symbol in ("cudaGetDeviceCount", "cudaGetDeviceProperties", "nvmlInit_v2", "nvmlShutdown"):
            with self.subTest(symbol=symbol):
                done = gpulot("environment", "--device", "cuda:local", "--timeout", "1s",
                              env=environment(faults=f"stuck:symbol={symbol}"))
                said = [line for line in done.stderr.splitlines() if line.startswith("gpulot")]
                self.assertEqual((1, ["gpulot environment: the device did not answer within 1 s: given up"]),
                                 (done.returncode, said))
                answer = json.loads(done.stdout)
                self.assertEqual((None, "the device did not answer within 1 s: given up", None),
                                 (answer["devices"], answer["devices_reason"], answer["device_driver_version"]))
                self.assertTrue(answer["host"]["name"] and answer["hdf5_version"])


class TwoRanks(unittest.TestCase):
    @unittest.skipIf(len(os.sched_getaffinity(0)) < os.cpu_count(), "bound to some of the CPUs, as by a launcher")
    def test_build_with_their_part_of_the_cpus(self):
        """Both load at the same time: threads of all CPUs in each would take them from one another."""
        with tempfile.TemporaryDirectory() as folder:
            run = measure("--width", "512", ranks=2, LOG=f"{folder}/log")
            self.assertEqual(0, run.status, run.err)
            calls = [line.split() for line in pathlib.Path(folder, "log").read_text(encoding="utf-8").splitlines()]
        for rank in ("0", "1"):
            threads = {words[4] for words in calls if words[2] == rank and words[5] == "cudaMemcpyAsync"}
            self.assertIn(len(threads), range(1, max(1, os.cpu_count() // 2) + 1), rank)


class OneRank(unittest.TestCase):
    def test_named_devices(self):
        for spec, ordinal in (("cuda:1", 1), ("cuda:GPU-43554441-5349-4d00-c9cc-cfd2d5d8db01", 1)):
            with self.subTest(spec=spec):
                run = measure(device=spec)
                self.assertEqual(0, run.status, run.err)
                self.assertEqual(ordinal, run.records[0]["device"]["ordinal"])

    def test_no_context_on_any_other_device(self):
        """Whatever the run does, on whatever thread: a context on another device would fail as busy."""
        run = measure("--tune", "2", "--telemetry-hz", "50", "--cold-l2", "--localise", "--soak", "1s", "--memory", "0.02",
                      "--width", "512", device="cuda:1", devices=3, faults="busy:device=0+busy:device=2")
        self.assertEqual(0, run.status, run.err)
        self.assertEqual("ok", run.outcome(0))

    def test_a_soaks_time_begins_when_its_buffers_are_filled(self):
        """The fills keep this device busy for longer than the whole soak, or any row, may last."""
        run = measure("--soak", "1s", "--memory", "1%", "--phase-timeout", "1s", device="cuda:0", devices=1, MEM="1G",
                      BANDWIDTH="1", PACE="1")
        self.assertEqual(0, run.status, run.err)
        soak = [row for row in run.records[0]["phases"] if row["phase"] == "soak"]
        self.assertGreater(soak[0]["start_seconds"] - run.records[0]["phases"][-len(soak) - 1]["start_seconds"], 1)
        self.assertGreater(sum(row["passes"] for row in soak), 10)

    def test_visible_devices(self):
        run = measure(device="cuda:0", devices=4, CUDA_VISIBLE_DEVICES="2")
        self.assertEqual(0, run.status, run.err)
        device = run.records[0]["device"]
        self.assertEqual((0, 2, "02"), (device["ordinal"], device["nvml_index"], device["uuid"][-2:]))
        self.assertEqual("2", run.records[0]["identity"]["visible_devices"])

    def test_dtypes_and_forms(self):
        for options in (["--dtype", "float16"], ["--dtype", "bfloat16", "--gelu", "tanh"],
                        ["--math", "tf32", "--tune", "4"], ["--width", "63", "--hidden", "65"]):
            with self.subTest(options=options):
                run = measure(*options, device="cuda:0")
                self.assertEqual(0, run.status, run.err)
                self.assertTrue(run.records[0]["verification"]["passed"])

    def test_counters_are_the_pools(self):
        # float32, width 64, hidden 256, 16 rows: weights 2 * 64 KiB, biases 1 KiB + 256 B, input 4 KiB; a pool
        # that counts in steps of 512 bytes.
        run = measure(device="cuda:0")
        rows = {row["phase"]: row for row in run.records[0]["phases"]}
        weights = 2 * 64 * 256 * 4 + 1024 + 512
        self.assertEqual(weights, rows["model_load"]["allocated_end_bytes"])
        self.assertEqual(weights + 4096, rows["inputs"]["allocated_end_bytes"])
        warm = rows["warm_forward"]
        self.assertEqual(weights + 4096, warm["allocated_start_bytes"])
        self.assertEqual(weights + 2 * 4096, warm["allocated_end_bytes"])
        self.assertEqual(weights + 2 * 4096 + 16 * 256 * 4, warm["allocated_peak_bytes"])
        self.assertEqual(32 << 20, warm["reserved_peak_bytes"])
        self.assertGreater(warm["device_used_bytes"], 256 << 20)

    def test_no_pools(self):
        run = measure(device="cuda:0", faults="no-pools")
        self.assertEqual(0, run.status, run.err)
        self.assertIn("cudaMalloc", run.records[0]["device"]["allocator"])

    def test_device_clock_is_repeatable(self):
        times = []
        for _ in range(2):
            run = measure(device="cuda:0")
            times.append([row["device_seconds"] for row in run.records[0]["phases"]])
        self.assertEqual(times[0], times[1])

    def test_slow_device(self):
        run = measure("--repeats", "5", ranks=2, faults="slow:device=1,factor=1.08", NOISE=0)
        fast, slow = [record["outcome"]["warm_median_device_seconds"] for record in run.records]
        self.assertAlmostEqual(1.08, slow / fast, places=3)

    def test_shared_on_purpose(self):
        run = measure("--allow-shared", ranks=2, device="cuda:1")
        self.assertEqual(0, run.status, run.err)
        self.assertEqual(1, len({record["device"]["uuid"] for record in run.records}))


class Telemetry(unittest.TestCase):
    def test_throttle_is_counted_per_phase(self):
        run = measure(device="cuda:0", faults="throttle:reason=hw-thermal,share=0.25", NOISE=0, TFLOPS=1e-4)
        for row in run.records[0]["phases"]:
            if row["phase"] != "warm_forward":
                continue
            telemetry = row["telemetry"]
            self.assertAlmostEqual(row["device_seconds"] * 0.25, telemetry["throttle_hw_thermal_nanoseconds"] * 1e-9,
                                   delta=row["device_seconds"] * 0.05)
            self.assertEqual(0, telemetry["throttle_sw_power_cap_nanoseconds"])
            self.assertEqual(0x40, telemetry["clock_event_bits"])
            self.assertAlmostEqual(400 * row["device_seconds"], telemetry["energy_joules"],
                                   delta=20 * row["device_seconds"] + 0.002)

    def test_ledger_of_a_busy_neighbourhood(self):
        run = measure(device="cuda:0", faults="foreign:pid=4242,bytes=1000+mps")
        device = run.records[0]["device"]
        self.assertEqual((1, True), (device["foreign_processes"], device["mps_active"]))

    def absent(self, run):
        self.assertEqual(0, run.status, run.err)
        return {entry["field"]: entry["reason"] for entry in run.records[0]["absent"]}

    def test_no_library(self):
        run = measure(device="cuda:0", libraries=WITHOUT_NVML)
        reasons = " ".join(self.absent(run).values())
        self.assertIn("libnvidia-ml", reasons)
        self.assertTrue(run.records[0]["device"]["simulated"])
        self.assertIsNone(run.records[0]["device"]["power_limit_watts"])
        self.assertIsNotNone(run.records[0]["device"]["uuid"])

    def test_library_without_driver(self):
        reasons = " ".join(self.absent(measure(device="cuda:0", faults="nvml-init:code=18")).values())
        self.assertIn("nvmlInit_v2", reasons)

    def test_function_absent_or_refusing(self):
        run = measure(device="cuda:0", faults="nvml-missing:symbol=nvmlDeviceGetVbiosVersion"
                                              "+nvml-status:symbol=nvmlDeviceGetSerial,code=4")
        absent = self.absent(run)
        self.assertIn("nvmlDeviceGetVbiosVersion", absent["device.vbios_version"])
        self.assertIn("nvmlDeviceGetSerial", absent["device.serial"])
        self.assertIsNotNone(run.records[0]["device"]["power_limit_watts"])

    def test_no_memory_for_the_cache(self):
        run = measure("--cold-l2", device="cuda:0", MEM="300M")
        self.assertEqual((1, "device-memory"), (run.status, run.outcome(0)), run.err)
        self.assertIn("for overwriting the level 2 cache", run.records[0]["errors"][0]["text"])

    def test_series(self):
        run = measure("--telemetry-hz", "200", "--repeats", "20", device="cuda:0")
        self.assertEqual(0, run.status, run.err)
        self.assertTrue(run.records[0]["telemetry_series"])


class Slices(unittest.TestCase):
    def test_one_slice(self):
        run = measure(device="cuda:local", MIG="0:3,1:2", CUDA_VISIBLE_DEVICES="1")
        self.assertEqual(0, run.status, run.err)
        device = run.records[0]["device"]
        self.assertTrue(device["uuid"].startswith("MIG-43554441-"), device["uuid"])
        self.assertEqual("GPU-43554441-5349-4d00-c9cc-cfd2d5d8db01", device["mig_parent_uuid"])
        self.assertEqual((True, 1), (device["mig_enabled"], device["mig_siblings"]))

    def test_one_slice_for_two_ranks(self):
        run = measure("--allow-shared", ranks=2, MIG="0:3")
        self.assertEqual(0, run.status, run.err)
        run = measure(ranks=2, MIG="0:3", device="cuda:0")
        self.assertEqual(2, run.status)


if __name__ == "__main__":
    unittest.main(verbosity=2)
