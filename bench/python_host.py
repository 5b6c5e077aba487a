#!/usr/bin/env python3
"""Times what the host does in a call from Python: microseconds a call, of launches that are shorter on the GPU.

    python_host.py [CALLS]

Needs the installed package, PyTorch and a GPU. flash-attn's own functions stand beside, where they can be imported.
"""

import statistics
import sys
import time

import torch

import fa_mlir
from fa_mlir import _ops, _program
from fa_mlir.flash_attn import flash_attn_func, flash_attn_varlen_func


def measure(call, calls, rounds=15):
    """-> the median of rounds, in microseconds a call"""
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) / calls * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times)


def make_prepared(q, k, v):
    """Calls of the same program: a prepared launch, which allocates output and lse; the C API's through ctypes, on the same
    memory each time; what PyTorch takes for that memory."""
    flash_attn_func(q, k, v, causal=True)
    launch = next(reversed(_ops._prepared.values()))
    outputs = launch.run((q, k, v), b"")
    tensors = [q, k, v] + outputs
    order = launch.order or range(len(tensors))
    addresses = launch.prepared.pack_addresses(*[tensors[i].data_ptr() for i in order])
    stream, start = torch.cuda.current_stream().cuda_stream, launch.prepared.launch
    return {"fa_mlir: a prepared launch": lambda: launch.run((q, k, v), b""),
            "the C API's prepared launch": lambda: start(stream, addresses, b"", None),
            "PyTorch's memory for output and lse": lambda: [torch.empty_like(x) for x in outputs]}


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    q, k, v = (torch.randn(1, 128, 4, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    x = torch.zeros(16, device="cuda")
    leaf = q.clone().requires_grad_()
    starts, row = torch.tensor([0, 50, 128], device="cuda", dtype=torch.int32), [x[0] for x in (q, k, v)]
    rows = {"an addition of PyTorch's": lambda: x.add(1),
            **make_prepared(q, k, v),
            "fa_mlir.flash_attn_func": lambda: flash_attn_func(q, k, v, causal=True),
            "fa_mlir.flash_attn_func, window": lambda: flash_attn_func(q, k, v, causal=True, window_size=(64, 0)),
            "fa_mlir.flash_attn_varlen_func": lambda: flash_attn_varlen_func(*row, starts, starts, 78, 78, causal=True),
            "fa_mlir.flash_attn_func, gradients kept": lambda: flash_attn_func(leaf, k, v, causal=True),
            "fa_mlir.attention": lambda: fa_mlir.attention(q, k, v, causal=True, heads_last=True)}
    for name, module in (("FlashAttention-2", "flash_attn"), ("FlashAttention-3", "flash_attn_interface")):
        try:
            function = __import__(module).flash_attn_func
            rows[name] = lambda function=function: function(q, k, v, causal=True)
        except Exception as error:
            print("%s: not here: %s" % (name, error))
    for name, call in rows.items():
        call()
        for program in list(_program._programs.values()):
            program.wait()  # so that no thread of the driver runs beside
        print("%-42s %6.1f us" % (name, measure(call, calls)))


if __name__ == "__main__":
    main()
