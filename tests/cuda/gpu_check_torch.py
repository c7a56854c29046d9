#!/usr/bin/env python3
"""What PyTorch makes of the same layers on the same GPU, for tests/cuda/gpu_check.sh.

    gpu_check_torch.py [--rehearsal] EXPORTED RESULTS [DRIVER...]
    gpu_check_torch.py [--rehearsal] process

EXPORTED holds the tensors and outputs that gpu_driver --export left, RESULTS its lines; DRIVER is the command that runs
a part of it, for a rate of the same minute. Prints lines of the same form: name, value, unit, target, verdict. A part
that PyTorch cannot do is named in a line that begins with #. `process` does what gpu_check.sh's one measurement does,
for the time of a whole process. --rehearsal goes the same ways on the CPU with tiny sizes, and judges nothing. Exit
status: 0 all targets met, 1 one missed, 77 no PyTorch with CUDA here.
"""
import importlib.metadata
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

# NVIDIA's containers set it: it would turn float32 into tf32, which is compared under its own name.
os.environ.pop("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", None)
try:
    import torch
except ImportError:
    print("gpu_check_torch: PyTorch is not installed here", file=sys.stderr)
    sys.exit(77)

TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
REHEARSAL = sys.argv[1:2] == ["--rehearsal"]
DEVICE = "cpu" if REHEARSAL else "cuda"
IN, OUT = (64, 64) if REHEARSAL else (1024, 1536)  # as gpu_driver exports them
LOAD_WIDTH = 64 if REHEARSAL else 8192
WARM_SECONDS = 0 if REHEARSAL else 0.5  # as gpu_driver does before it times a network
CHOICES = ("CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "TORCH_CUBLASLT_UNIFIED_WORKSPACE",
           "TORCH_CUBLAS_WORKSPACE_CACHE", "DISABLE_ADDMM_CUDA_LT", "NVIDIA_TF32_OVERRIDE")
UNIT = {"float32": 2**-24, "float16": 2**-11, "bfloat16": 2**-8}
missed = 0


def result(name, value, unit="", target="", good=None):
    global missed
    if REHEARSAL:
        good = None
    verdict = "-" if good is None else "ok" if good else "MISSED"
    missed += good is False
    print(name, f"{value:.6g}", unit, target, verdict, sep="\t", flush=True)


def read_results(path):
    """The numbers by their names; a part that failed has a word in its place."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if "\t" in line]
    return {row[0]: float(row[1]) for row in rows if re.fullmatch(r"[-+.0-9e]+|inf|nan", row[1])}


def tensor(folder, dtype, name, columns):
    data = bytearray((folder / f"{dtype}-{name}.bin").read_bytes())
    flat = torch.frombuffer(data, dtype=TYPES[dtype])
    return (flat.view(-1, columns) if columns else flat).to(DEVICE)


def compare_outputs(folder):
    for dtype in TYPES:
        if not (folder / f"{dtype}-y.bin").exists():
            continue
        x, w = tensor(folder, dtype, "x", IN), tensor(folder, dtype, "w", IN)
        b, y = tensor(folder, dtype, "b", 0), tensor(folder, dtype, "y", OUT)
        with torch.inference_mode():
            theirs = torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))
        # Both round the pre-activation to the dtype once, and may sum in another order.
        scale = float(theirs.abs().max())
        error = float((y.double() - theirs.double()).abs().max()) / scale
        bound = 4 * UNIT[dtype] + IN * 2**-24
        result(f"{dtype} linear+gelu: difference to PyTorch", error, "", f"<= {bound:.3g}", error <= bound)


def network(width, dtype):
    made = {"device": DEVICE, "dtype": dtype}
    return torch.nn.Sequential(torch.nn.Linear(width, 4 * width, **made), torch.nn.GELU(),
                               torch.nn.Linear(4 * width, width, **made)).eval()


def synchronize():
    if not REHEARSAL:
        torch.cuda.synchronize()


def warm_up(run, seconds):
    began = time.perf_counter()
    run()
    synchronize()
    while time.perf_counter() - began < seconds:
        run()
        synchronize()


def device_seconds(run, runs):
    warm_up(run, WARM_SECONDS)
    if REHEARSAL:
        return host_seconds(run, runs)
    seconds = []
    for _ in range(runs):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        stop.record()
        torch.cuda.synchronize()
        seconds.append(start.elapsed_time(stop) * 1e-3)
    return statistics.median(seconds)


def host_seconds(run, runs=256):
    warm_up(run, WARM_SECONDS)
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        run()
        synchronize()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def allow_tf32(allowed):
    matmul = torch.backends.cuda.matmul
    if hasattr(matmul, "fp32_precision"):  # since 2.9, where the other one is on its way out
        matmul.fp32_precision = "tf32" if allowed else "ieee"
    else:
        matmul.allow_tf32 = allowed


def ours_now(driver, part, row):
    """The module's number in a row of that part, measured anew; None where that cannot be. A part that misses a target
    of its own has been told of before."""
    if not driver:
        return None
    try:
        said = subprocess.run([*driver, part], stdout=subprocess.PIPE, check=False, text=True, timeout=60).stdout
        return float(re.search(rf"^{re.escape(row)}\t([^\t]+)", said, re.MULTILINE)[1])
    except (OSError, subprocess.SubprocessError, TypeError, ValueError) as error:
        print(f"# PyTorch, the part '{part}' beside it: {error}", flush=True)
        return None


def around(measure, ours):
    """PyTorch's seconds and the module's number, whose turn lies between two of PyTorch's: a GPU that grows warm, or is
    held at its power limit, becomes slower for both."""
    seconds = [measure()]
    mine = ours()
    if mine is not None:
        seconds.append(measure())
    return statistics.mean(seconds), mine


def network_rates(width, dtype, runs, driver):
    """PyTorch's rate and, with a driver, the module's."""
    with torch.inference_mode():
        model = network(width, dtype)
        x = torch.randn(width, width, device=DEVICE, dtype=dtype)
        seconds, mine = around(lambda: device_seconds(lambda: model(x), runs),
                               lambda: ours_now(driver, "rate", "bfloat16 network"))
    del model, x
    if not REHEARSAL:
        torch.cuda.empty_cache()
    return 16 * width**3 / seconds * 1e-12, mine


def measure_network(ours, driver):
    for name, dtype, tf32 in (("bfloat16", torch.bfloat16, False), ("float16", torch.float16, False),
                              ("tf32", torch.float32, True), ("float32", torch.float32, False)):
        row = next((row for row in ours if re.fullmatch(rf"{name} network, width \d+", row)), None)
        if row is None:
            continue
        judged = name == "bfloat16"
        allow_tf32(tf32)
        rate, mine = network_rates(int(row.split()[-1]), dtype, 5 if name == "float32" else 20,
                                   driver if judged else None)
        result(f"{name} network, PyTorch eager", rate, "TFLOP/s")
        if mine is None:
            mine = ours[row]
        else:
            result(f"{name} network, beside PyTorch", mine, "TFLOP/s")
        # One percent is noise between two processes.
        good = mine / rate >= 0.99 if judged else None
        result(f"{name} network / PyTorch eager", mine / rate, "", ">= 0.99" if judged else "", good)


def graph_seconds(model, x):
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        model(x)
    return host_seconds(graph.replay)


def measure_small(ours, driver):
    row = "small forward, erf (float16, 16 x 64)"
    with torch.inference_mode():
        model = network(64, torch.float16)
        x = torch.randn(1, 16, 64, device=DEVICE, dtype=torch.float16)
        eager, mine = around(lambda: host_seconds(lambda: model(x)), lambda: ours_now(driver, "small", row))
        replayed = eager if REHEARSAL else graph_seconds(model, x)
    result("small forward, PyTorch eager", eager * 1e6, "us")
    result("small forward, PyTorch CUDA graph", replayed * 1e6, "us")
    if mine is None:
        mine = ours.get(row)
    else:
        result("small forward, erf, beside PyTorch", mine, "us")
    if mine is not None:
        ratio = mine * 1e-6 / eager
        result("small forward, erf / PyTorch eager", ratio, "", "<= 0.333", ratio <= 1 / 3)
        result("small forward, erf / PyTorch CUDA graph", mine * 1e-6 / replayed)


def measure_load(ours):
    began = time.perf_counter()
    layer = torch.nn.Linear(LOAD_WIDTH, 8 * LOAD_WIDTH, dtype=torch.bfloat16).to(DEVICE)
    synchronize()
    seconds = time.perf_counter() - began
    rate = layer.weight.numel() * 2 / seconds * 1e-9
    result("model_load, PyTorch", rate, "GB/s")
    mine = ours.get("model_load, bfloat16")
    if mine is not None:
        result("model_load / PyTorch", mine / rate, "", ">= 1", mine >= rate)


def process():
    """Weights, input, a cold pass, three warm-ups and ten passes of 8 x 1024 x 1024 in bfloat16."""
    with torch.inference_mode():
        width, batch = (64, 1) if REHEARSAL else (1024, 8)
        model = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                    torch.nn.Linear(4 * width, width)).to(device=DEVICE, dtype=torch.bfloat16).eval()
        x = torch.randn(batch, width, width, device=DEVICE, dtype=torch.bfloat16)
        for _ in range(1 + 3 + 10):
            synchronize()
            model(x)
        synchronize()
    return 0


def cublas_version():
    """Of the library that PyTorch brings, for another one may choose other algorithms."""
    names = [f"nvidia-cublas{suffix}" for suffix in ("", "-cu13", "-cu12", "-cu11")]
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return "not known"


def main():
    arguments = sys.argv[1 + REHEARSAL:]
    if not REHEARSAL and not torch.cuda.is_available():
        print("gpu_check_torch: PyTorch sees no GPU", file=sys.stderr)
        return 77
    if arguments == ["process"]:
        return process()
    folder, results = pathlib.Path(arguments[0]), read_results(pathlib.Path(arguments[1]))
    print(f"# PyTorch {torch.__version__} on {'the CPU' if REHEARSAL else torch.cuda.get_device_name()}, "
          f"its cuBLAS {cublas_version()}")
    chosen = [f"{name}={os.environ[name]}" for name in CHOICES if name in os.environ]
    print(f"# chosen by the environment: {', '.join(chosen) or 'nothing'}")
    driver = arguments[2:]
    for part, *given in ((compare_outputs, folder), (measure_network, results, driver),
                         (measure_small, results, driver), (measure_load, results)):
        try:
            part(*given)
        except Exception as error:  # pylint: disable=broad-exception-caught # PyTorch raises all kinds
            print(f"# PyTorch, {part.__name__}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
