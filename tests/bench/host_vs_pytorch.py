#!/usr/bin/env python3
"""The host device against PyTorch on the same CPUs, in one run.

    python3 -m venv .venv && .venv/bin/pip install torch
    .venv/bin/python tests/bench/host_vs_pytorch.py [--build build] [--rounds 15] [--only NAME]

Both compute Linear -> GELU (erf) -> Linear in float32 with one thread: PyTorch as nn.Sequential in inference mode,
gpulot through build/bench/host_bench, which uses the product's module and network. Rounds alternate, each side's
median of the round is kept, and the ratio is that of the medians over all rounds, so that what else the machine
does falls on both alike; the smallest round of each side is shown too. model_load compares building both layers'
weights with all CPUs on both sides: nn.Linear with its default initialisation, freed between rounds. There each side
goes twice in a round and the second is kept: on a virtual machine the first touch of memory that the machine was not
yet given waits for the machine below, seconds for half a GiB, whichever side happens to come to it. Exit status 1 where
a target is missed.
"""
import argparse
import gc
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
# name, batch, context, width, passes a round, how many times faster than PyTorch
FORWARD = (("large", 2, 128, 1024, 3, 1.0), ("small", 1, 16, 64, 1000, 3.0), ("tiny", 1, 1, 16, 2000, 8.0))
LOAD_WIDTH = 4096
LOAD_TARGET = 10.0


class HostBench:
    """A running host_bench that answers questions."""

    def __init__(self, build, threads):
        environment = dict(os.environ, GPULOT_MODULE_DIR=str(build / "lib/gpulot"))
        self.process = subprocess.Popen([build / "bench/host_bench", "--serve", str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def network(width):
    return torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                               torch.nn.Linear(4 * width, width)).eval()


def torch_forward(model, inputs, passes):
    seconds = []
    with torch.inference_mode():
        for _ in range(3):
            model(inputs)
        for _ in range(passes):
            start = time.perf_counter()
            model(inputs)
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def torch_load(width):
    start = time.perf_counter()
    model = network(width)
    seconds = time.perf_counter() - start
    del model
    gc.collect()
    return seconds


def report(name, ours, theirs, target, note):
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"{name:28} {statistics.median(ours) * 1e6:12.2f} {min(ours) * 1e6:12.2f} "
          f"{statistics.median(theirs) * 1e6:12.2f} {min(theirs) * 1e6:12.2f} {ratio:8.2f} {target:7.1f}  {note}",
          flush=True)
    return ratio >= target


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=[shape[0] for shape in FORWARD] + ["load"])
    options = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    good = True

    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {cpus} CPUs, "
          f"{options.rounds} rounds")
    print(f"{'':28} {'gpulot us':>12} {'least':>12} {'PyTorch us':>12} {'least':>12} {'ratio':>8} {'target':>7}")
    torch.set_num_threads(1)
    bench = HostBench(options.build, 1)
    peak = bench.ask("peak")
    for name, batch, context, width, passes, target in FORWARD:
        if options.only not in (None, name):
            continue
        model, inputs, ours, theirs = network(width), torch.randn(batch, context, width), [], []
        for _ in range(options.rounds):
            ours.append(bench.ask(f"forward {batch} {context} {width} {passes}"))
            theirs.append(torch_forward(model, inputs, passes))
        flops = 16 * batch * context * width * width
        note = (f"{flops / statistics.median(ours) * 1e-9:.1f} GFLOP/s, best {flops / min(ours) * 1e-9:.1f} "
                f"of the core's {peak * 1e-9:.1f}")
        good &= report(f"forward {batch} x {context} x {width}", ours, theirs, target, note)
    bench.close()
    if options.only in (None, "load"):
        torch.set_num_threads(cpus)
        bench, ours, theirs = HostBench(options.build, cpus), [], []
        size = 4 * (8 * LOAD_WIDTH * LOAD_WIDTH + 5 * LOAD_WIDTH)
        for _ in range(max(3, options.rounds // 3)):
            ours.append([bench.ask(f"load {LOAD_WIDTH}") for _ in range(2)][-1])
            theirs.append([torch_load(LOAD_WIDTH) for _ in range(2)][-1])
        bench.close()
        good &= report(f"model_load {LOAD_WIDTH}", ours, theirs, LOAD_TARGET,
                       f"{size / statistics.median(ours) * 1e-9:.2f} GB/s, best {size / min(ours) * 1e-9:.2f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
