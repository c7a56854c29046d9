"""Runs the real program with the real module on simulated GPUs: only the search for libraries differs."""
import json
import os
import pathlib
import subprocess
import tempfile

PROGRAM = os.environ["GPULOT_PROGRAM"]
SIMULATOR = pathlib.Path(os.environ["GPULOT_SIMULATOR"])
WITHOUT_NVML = SIMULATOR.with_name(SIMULATOR.name + "-without-nvml")
LIMIT = 120
SMALL = {"--context": 16, "--width": 64, "--warmup": 1, "--repeats": 3}


class Run:
    """One finished call of gpulot; `records` are those of its archive, by rank."""

    def __init__(self, done, folder):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr
        self.archive = pathlib.Path(folder) / "run.h5"
        self.written = sorted(path.name for path in pathlib.Path(folder).iterdir())
        # What gpulot itself says, apart from the simulator and the launcher.
        self.said = [line for line in self.err.splitlines() if line.startswith("gpulot measure:")]
        self.records = json.loads(gpulot("export", self.archive, "--format", "json").stdout) \
            if self.archive.exists() else []

    def outcome(self, rank):
        return self.records[rank]["outcome"]["status"]


def environment(devices=2, faults="", libraries=SIMULATOR, **settings):
    """The environment of a machine with simulated GPUs; upper-case settings go to the simulator."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("GPULOT_CUDASIM_", "CUDA_", "OMPI_", "PMIX_", "SLURM_"))}
    kept.update(LD_LIBRARY_PATH=str(libraries), GPULOT_CUDASIM_DEVICES=str(devices), GPULOT_CUDASIM_QUIET="1",
                ASAN_OPTIONS="detect_leaks=0",  # MPI and the loader keep memory; cuda.module.* look for leaks
                GPULOT_CUDASIM_FORCE="1",  # the tests also run beside a real driver
                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe", PRTE_MCA_hwloc_default_binding_policy="none")
    if faults:
        kept["GPULOT_CUDASIM_FAULT"] = faults
    else:
        kept["GPULOT_CUDASIM_LEAKS"] = "1"  # what the program takes, it gives back, or it ends with 97
    for name, value in settings.items():
        kept[name if name.startswith("CUDA_") or name.startswith("GPULOT_") else f"GPULOT_CUDASIM_{name}"] = str(value)
    return kept


def gpulot(*arguments, env=None, cwd=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", timeout=LIMIT, env=env or environment(), cwd=cwd)


def measure(*arguments, ranks=1, device="cuda:local", keep=None, **machine):
    """gpulot measure of a small network with `ranks` ranks; `arguments` come first, so they take the place of the
    small ones. `keep`: a function that sees the Run while its files are still there."""
    work = [text for name, value in SMALL.items() if name not in arguments for text in (name, str(value))]
    with tempfile.TemporaryDirectory() as folder:
        launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
        command = [*launcher, PROGRAM, "measure", "--device", device, "--output", "run.h5", "--quiet",
                   *map(str, arguments), *work]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", timeout=LIMIT, env=environment(**machine), cwd=folder)
        run = Run(done, folder)
        if keep is not None:
            keep(run)
        return run
