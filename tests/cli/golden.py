#!/usr/bin/env python3
"""Runs one golden case: a folder with a command and what it must print.

    tests/cli/golden.py --program build/gpulot tests/cli/estimate_plain
    tests/cli/golden.py --program build/gpulot --update tests/cli/estimate_plain

README.md in this folder says what a case holds. Exit status: 0 as expected, 1 not, 77 skipped with the reason.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
LIMIT_SECONDS = 100
PLACEHOLDER = re.compile(r"<<(.+?)>>")
ANY_LINES = "<<*>>"
NAMED = {
    "number": r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?",
    "integer": r"[0-9]+",
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z",
    "hex": r"[0-9a-f]+",
    "text": r".*",
}


def line_pattern(line):
    """The regular expression that one expected line stands for."""
    parts = PLACEHOLDER.split(line)
    for i, part in enumerate(parts):
        parts[i] = re.escape(part) if i % 2 == 0 else "(?:" + NAMED.get(part, part) + ")"
    return "".join(parts)


def text_pattern(expected):
    """The regular expression that a whole expected text stands for."""
    parts = []
    for line in expected.splitlines(keepends=True):
        if line.strip() == ANY_LINES:
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(line_pattern(line))
    return "".join(parts)


def matches(expected, actual):
    return re.fullmatch(text_pattern(expected), actual) is not None


def compare(name, expected, actual):
    """Prints the difference where there is one; says whether there is none."""
    if matches(expected, actual):
        return True
    print(f"{name} is not as expected (- expected, + printed):")
    for line in difflib.unified_diff(expected.splitlines(), actual.splitlines(), lineterm="", n=2):
        print("    " + line)
    if expected.splitlines() == actual.splitlines():
        print("    (they differ in the newline at the end)")
    return False


def read(path, fallback=""):
    return path.read_text(encoding="utf-8") if path.exists() else fallback


def missing_need(case, program):
    """What the case needs and this machine lacks, or None."""
    for need in read(case / "needs").split():
        if need.startswith("module:"):
            module = f"gpulot-{need[len('module:'):]}.so"
            folder = os.environ.get("GPULOT_MODULE_DIR", program.parent / "lib" / "gpulot")
            if not (pathlib.Path(folder) / module).exists():
                return f"the module {module} is not built"
        elif shutil.which(need) is None:
            return f"{need} is not installed"
    return None


def case_environment(program, folder):
    """A known environment: nothing of the launcher or the colours that the tests were started under."""
    keep = {k: v for k, v in os.environ.items()
            if not k.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_", "PRTE_", "CUDA_"))
            and k not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
    keep.update({
        "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": str(folder), "TMPDIR": str(folder),
        "GPULOT_SOURCE_DIR": str(pathlib.Path(__file__).resolve().parents[2]),
        "GPULOT_BUILD_DIR": str(program.parent),
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_btl_base_warn_component_unused": "0", "OMPI_MCA_btl_tcp_if_include": "lo",
    })
    return keep


def run_case(case, program):
    """Runs the case in a fresh folder; (stdout, stderr, exit status)."""
    with tempfile.TemporaryDirectory(prefix="gpulot-cli-") as folder:
        work = pathlib.Path(folder) / "work"
        if (case / "files").is_dir():
            shutil.copytree(case / "files", work)
        else:
            work.mkdir()
        with subprocess.Popen(["bash", str(case / "cmd")], cwd=work, env=case_environment(program, folder),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                err += f"\n(killed after {LIMIT_SECONDS} s)\n".encode()
        texts = [t.decode("utf-8", "backslashreplace").replace(str(work), "WORK") for t in (out, err)]
        return texts[0], texts[1], process.returncode


def update(case, out, err, status):
    for name, text in (("stdout", out), ("stderr", err), ("exit", f"{status}\n" if status else "")):
        path = case / name
        if name == "exit" and read(path, "0\n").strip() == str(status):
            continue
        if matches(read(path), text):
            continue
        if text:
            path.write_text(text, encoding="utf-8")
        else:
            path.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description="run one golden case")
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write what was printed as what is expected")
    parser.add_argument("case", type=pathlib.Path)
    options = parser.parse_args()
    program = options.program.resolve()
    case = options.case.resolve()

    missing = missing_need(case, program)
    if missing is not None:
        print(f"skipped: {missing}")
        return SKIPPED
    out, err, status = run_case(case, program)
    if options.update:
        update(case, out, err, status)
        return 0
    good = compare("stdout", read(case / "stdout"), out)
    good &= compare("stderr", read(case / "stderr"), err)
    expected_status = int(read(case / "exit", "0"))
    if status != expected_status:
        print(f"exit status {status}, expected {expected_status}")
        good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
