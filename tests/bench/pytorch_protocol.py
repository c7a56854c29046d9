#!/usr/bin/env python3
"""The protocol of `gpulot measure --device host` as a plain PyTorch script: what process_vs_pytorch.py compares with.

    pytorch_protocol.py BATCH CONTEXT WIDTH WARMUP REPEATS THREADS OUTPUT.h5

The same phases and the same rows into one HDF5 file. It is spared what gpulot does besides: no digest of each pass, no
float64 reference, no counters (PyTorch has none for a CPU), no second copy of the record as JSON.
"""
import sys
import time

import h5py
import numpy
import torch

ROW = numpy.dtype([("phase", "S16"), ("repeat", "i8"), ("passes", "i8"), ("host_seconds", "f8")])


class Rows(list):
    def time(self, phase, work, repeat=0, passes=1):
        start = time.perf_counter()
        for _ in range(passes):
            result = work()
        self.append((phase, repeat, passes, time.perf_counter() - start))
        return result


def main():
    batch, context, width, warmup, repeats, threads = map(int, sys.argv[1:7])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    rows = Rows()
    with torch.inference_mode():
        model = rows.time("model_load", lambda: torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)).eval(), passes=1)
        inputs = rows.time("inputs", lambda: torch.randn(batch, context, width))
        rows.time("cold_forward", lambda: model(inputs))
        rows.time("warmup", lambda: model(inputs), passes=warmup)
        for repeat in range(repeats):
            rows.time("warm_forward", lambda: model(inputs), repeat)
    with h5py.File(sys.argv[7], "x") as archive:
        archive.create_dataset("phases", data=numpy.array(list(rows), dtype=ROW))
        archive.attrs["torch"] = str(torch.__version__)


if __name__ == "__main__":
    main()
