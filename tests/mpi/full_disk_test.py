"""A disk that fills up while the archive is written."""
import os
import subprocess

from ranks import SMALL, RanksTest, main


class FullDisk(RanksTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(self.disk)],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(self.disk)], check=True)

    def test_the_measured_is_kept_for_recover(self):
        (self.disk / "ballast").write_bytes(b"x" * (48 << 10))
        output, spool = self.disk / "run.h5", self.folder / "spool"
        status, lines = self.measure(2, *SMALL[:-1], "500", "--quiet", "--output", output, "--spool", spool)
        self.assertEqual(status, 3, lines)
        self.assertEqual(sorted(os.listdir(self.disk)), ["ballast"])
        self.assertIn(f"gpulot recover {spool}", "\n".join(lines))
        self.assertEqual(self.alone("recover", spool, "--output", self.output)[0], 0)
        self.assertEqual([len(r["phases"]) for r in self.records()], [504, 504])

    def test_a_full_disk_below_the_progress_ends_no_other_rank(self):
        """Rank 1 alone cannot keep its progress: it fails and says why, and nobody waits for it."""
        (self.disk / "ballast").write_bytes(b"x" * (32 << 10))
        first, second = ([*SMALL[:-1], "500", "--spool", folder / "spool", "--output", self.output]
                         for folder in (self.folder, self.disk))
        status, lines = self.measure_apart(first, second)
        self.assertEqual(status, 1, lines)
        self.assertIn("1 of 2 ranks failed, rank 1: ", "\n".join(lines))
        good, bad = self.records()
        self.assertEqual((good["outcome"]["status"], len(good["phases"])), ("ok", 504))
        self.assertEqual(bad["outcome"]["status"], "io")
        self.assertIn("No space left on device", bad["outcome"]["error_text"])


if __name__ == "__main__":
    main()
