#!/usr/bin/env python3
"""The archive as h5py reads it: no use of this program but to write it. Exit 77 without h5py."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}; ./run.sh test installs it into .venv")
    sys.exit(77)

SAMPLE = sys.argv.pop(1)


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(cls.folder.name) / "sample.h5"
        subprocess.run([SAMPLE, path, "3", "5"], check=True, timeout=60)
        cls.path = path
        cls.file = h5py.File(path)

    @classmethod
    def tearDownClass(cls):
        cls.file.close()
        cls.folder.cleanup()

    def test_attributes(self):
        attributes = self.file.attrs
        self.assertEqual("gpulot.archive", attributes["schema"])
        self.assertEqual(1, attributes["schema_version"])
        self.assertEqual("sample-run-0001", attributes["run_id"])
        self.assertEqual(3, attributes["ranks"])
        self.assertIs(numpy.bool_, type(attributes["complete"]))
        self.assertTrue(attributes["complete"])
        self.assertFalse(attributes["simulated"])
        self.assertEqual(1.5, attributes["elapsed_seconds"])
        self.assertNotIn("tariff_json", attributes)

    def test_phases(self):
        rows = self.file["phases"][:]
        self.assertEqual(27, len(rows))
        warm = rows[rows["phase"] == b"warm_forward"]
        self.assertEqual([0] * 5 + [1] * 5 + [2] * 5, warm["rank"].tolist())
        # 0.001 (rank + 1) + 1e-6 repeat, as tests/support/sample.h says
        expected = [0.001 * (rank + 1) + 1e-6 * repeat for rank in range(3) for repeat in range(5)]
        self.assertEqual(expected, warm["host_seconds"].tolist())
        self.assertTrue(numpy.isnan(rows["device_seconds"]).all())
        self.assertEqual({-1}, set(rows["device_used_bytes"].tolist()))
        self.assertEqual({b"00112233aabbccdd"}, set(warm["digest"].tolist()))
        self.assertEqual({-1, 1}, set(rows["finite"].tolist()))
        self.assertEqual({"FALSE": 0, "TRUE": 1, "NOT_MEASURED": -1}, h5py.check_enum_dtype(rows.dtype["finite"]))

    def test_devices(self):
        rows = self.file["devices"][:]
        self.assertEqual([0, 1, 2], rows["rank"].tolist())
        self.assertEqual(b"GPU-00000000-0000-0000-0000-000000000002", rows["device_uuid"][2])
        self.assertEqual([0, 0, 0], rows["device_simulated"].tolist())
        self.assertEqual([-1, -1, -1], rows["device_ecc_enabled"].tolist())
        self.assertEqual(b"", rows["device_serial"][0])
        self.assertEqual([85899345920] * 3, rows["device_memory_bytes"].tolist())

    def test_units_and_descriptions(self):
        for name in ("devices", "phases"):
            table = self.file[name]
            self.assertEqual(len(table.dtype.names), len(table.attrs["units"]))
            self.assertEqual(len(table.dtype.names), len(table.attrs["descriptions"]))
            for text in table.attrs["descriptions"]:
                self.assertRegex(text, r"\w+\W+\w")
                self.assertNotRegex(text, r"likewise|^--|^its |^the same")
            units = dict(zip(table.dtype.names, table.attrs["units"]))
            for column, unit in units.items():
                for ending, wanted in (("_bytes", "By"), ("_seconds", "s"), ("_watts", "W"), ("_mhz", "MHz")):
                    if column.endswith(ending) and not column.endswith("algorithm_bytes"):
                        self.assertEqual(wanted, unit, column)
            self.assertIn("NaN", table.attrs["null"])
        self.assertIn("not a language model", self.file.attrs["description"])
        self.assertIn("row i belongs to row i of /devices", self.file["records"].attrs["description"])

    def test_storage(self):
        for name in ("devices", "phases"):
            table = self.file[name]
            self.assertTrue(table.shuffle and table.fletcher32)
            self.assertEqual("gzip", table.compression)
            self.assertEqual((None,), table.maxshape)
            packed = sum(table.dtype[column].itemsize for column in table.dtype.names)
            self.assertEqual(packed, table.dtype.itemsize)

    def test_records(self):
        records = [json.loads(text) for text in self.file["records"][:]]
        self.assertEqual([0, 1, 2], [record["identity"]["rank"] for record in records])
        self.assertIsNone(records[1]["device"]["serial"])
        self.assertEqual(9, len(records[2]["phases"]))
        rows = self.file["phases"][:]
        for record in records:
            mine = rows[rows["rank"] == record["identity"]["rank"]]
            self.assertEqual([row["host_seconds"] for row in record["phases"]], mine["host_seconds"].tolist())

    def test_a_seal_that_is_taken_off(self):
        """h5py may write into a copy; what it wrote is read, and nobody calls it sealed."""
        copy = pathlib.Path(self.folder.name) / "copy.h5"
        copy.write_bytes(self.path.read_bytes())
        self.assertIn(b"\ngpulot-seal-1 ", copy.read_bytes()[-64:])
        with h5py.File(copy, "r+") as file:
            file.attrs["note"] = "added by hand"
        self.assertNotIn(b"\ngpulot-seal-1 ", copy.read_bytes()[-64:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
