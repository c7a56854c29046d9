"""Where things are, for the tests of this folder."""
import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(os.environ.get("GPULOT_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("GPULOT_BUILD_DIR", SOURCE / "build"))
PROGRAM = os.environ.get("GPULOT_PROGRAM", str(BUILD / "gpulot"))
CMAKE = os.environ.get("GPULOT_CMAKE", "cmake")
MODULES = pathlib.Path(os.environ.get("GPULOT_MODULES", BUILD / "lib" / "gpulot"))
SKIPPED = 77


def sources(*suffixes):
    """Files of the program itself, as paths relative to the source folder."""
    found = []
    for folder in ("src", "gpu", "io"):
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                found.append(path.relative_to(SOURCE))
    return found


def documents():
    """Every Markdown file that is part of the project."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "*.md"], stdout=subprocess.PIPE, encoding="utf-8",
                            timeout=60, check=True).stdout.split()
    return [SOURCE / name for name in listed]


def run(*arguments, **options):
    """Runs gpulot with a limit; text in and out."""
    return subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=60, **options)


def commands():
    """The subcommands, as `gpulot --help` lists them."""
    listed = re.findall(r"^  ([a-z]+) +\S", run("--help").stdout, re.MULTILINE)
    assert "estimate" in listed, "gpulot --help lists no command"
    return listed


def options_of(text):
    """The options in a --help text, in order: rows that begin with two blanks and two dashes."""
    return re.findall(r"^  (--[a-z0-9-]+)\b", text, re.MULTILINE)
