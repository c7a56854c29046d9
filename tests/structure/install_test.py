#!/usr/bin/env python3
"""An installed gpulot, and one unpacked from a package, works from where it lies."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from project import BUILD, CMAKE, commands

SMALL = ["--device", "host", "--batch", "1", "--context", "16", "--width", "64", "--dtype", "float32", "--warmup", "1",
         "--repeats", "2", "--output", "small.h5"]


def quiet(*command, **options):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def broken_links(prefix):
    """Relative links of the Markdown files under a folder that lead nowhere."""
    found = []
    for document in sorted(prefix.rglob("*.md")):
        for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:|#", link) and not (document.parent / link.split("#")[0]).exists():
                found.append(f"{document.relative_to(prefix)}: {link}")
    return found


class Installed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpulot-install-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, prefix):
        """Runs the program under `prefix` with nothing of the build tree in reach."""
        program = prefix / "bin" / "gpulot"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPULOT_", "LD_LIBRARY"))}
        said = quiet(program, "estimate", "--parameters", 7, "--bits", 8, env=clean, cwd=self.folder)
        self.assertIn("weights   7 bytes", said)
        self.assertTrue((prefix / "share/man/man1/gpulot.1").is_file())
        self.assertTrue((prefix / "share/bash-completion/completions/gpulot").is_file())
        for document in ("README.md", "LICENSE.txt", "CHANGELOG.md"):
            self.assertTrue((prefix / "share/doc/gpulot" / document).is_file(), document)
        self.assertTrue(list((prefix / "share/doc/gpulot/docs/measurements").glob("*.md")))
        self.assertEqual([], broken_links(prefix))
        self.assertTrue(os.access(prefix / "share/gpulot/slurm/measure.sbatch", os.R_OK))
        self.assertTrue((prefix / "share/gpulot/data/gpus.csv").is_file())
        if "measure" not in commands():
            return
        quiet(program, "measure", *SMALL, env=clean, cwd=self.folder)
        self.assertIn("warm_forward", quiet(program, "show", "small.h5", env=clean, cwd=self.folder))

    def test_install(self):
        prefix = self.folder / "prefix"
        quiet(CMAKE, "--install", BUILD, "--prefix", prefix)
        built = {m.name for m in (BUILD / "lib/gpulot").glob("*.so")}
        self.assertEqual(built, {m.name for m in prefix.glob("lib*/**/gpulot-*.so")})
        self.check(prefix)

    def test_a_broken_link_is_found(self):
        (self.folder / "a.md").write_text("[there](a.md#top) [web](https://a.example/b.md) [none](docs/b.md)")
        self.assertEqual(["a.md: docs/b.md"], broken_links(self.folder))

    def pack(self, generator):
        quiet("cpack", "-G", generator, "-B", self.folder / "packages", "--config", BUILD / "CPackConfig.cmake")
        found = [p for p in (self.folder / "packages").iterdir() if p.is_file()]
        self.assertEqual(1, len(found), found)
        return found[0]

    def test_archive(self):
        package = self.pack("TGZ")
        self.assertTrue(package.name.endswith(".tar.gz"))
        quiet("tar", "-xzf", package, "-C", self.folder)
        top = self.folder / package.name[:-len(".tar.gz")]
        said = quiet(top / "bin/gpulot", "manifest", "verify", top)
        self.assertIn(" 0 findings;", said)
        self.assertGreater(int(said.split()[0]), 10)
        self.check(top)

    def test_debian_package(self):
        for tool in ("dpkg-deb", "dpkg-shlibdeps", "file"):
            if shutil.which(tool) is None:
                self.skipTest(f"{tool} is not installed")
        package = self.pack("DEB")
        needs = quiet("dpkg-deb", "--field", package, "Depends")
        self.assertIn("libc6", needs)
        self.assertIn("libopenmpi", needs)
        self.assertIn("openmpi-bin", quiet("dpkg-deb", "--field", package, "Recommends"))
        if "show" in commands():
            self.assertIn("libhdf5", needs)
        quiet("dpkg-deb", "--extract", package, self.folder / "unpacked")
        self.check(self.folder / "unpacked" / "usr")


if __name__ == "__main__":
    sys.exit(unittest.main())
