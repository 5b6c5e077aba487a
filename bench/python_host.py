#!/usr/bin/env python3
"""Times calls from Python.

    python_host.py [CALLS] [--only=host,gpu,documents] [--seconds=T]

host: what the host does, microseconds a call, of launches that are shorter on the GPU, and of parts of flash_attn_func, also
in additions of PyTorch's, for hosts differ; flash-attn's own functions stand beside, where they can be imported. gpu: time on
the GPU of flash_attn_func beside the C API's launch of the same program.
documents: flex_attention with a mask of documents beside PyTorch's, from the first call to its result, and a call.
After T seconds no further round begins, but what each line needs; parts that were not begun are left out.
Needs the installed package and PyTorch; without a GPU the first part alone runs, on the CPU.
"""

import importlib
import operator
import os
import statistics
import sys
import tempfile
import time

import torch

import fa_mlir
from fa_mlir import _flash, _ops, _program
from fa_mlir.flash_attn import flash_attn_func, flash_attn_varlen_func


END = float("inf")  # of time.monotonic(): when rounds end
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
synchronize = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None


def is_late():
    return time.monotonic() > END


def measure(lines, calls, rounds=15):
    """-> name -> (median, least) of rounds, in microseconds a call, of functions that take turns"""
    times = {name: [] for name in lines}
    for _ in range(rounds):
        for name, call in lines.items():
            if is_late() and times[name]:
                continue
            synchronize()
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            times[name].append((time.perf_counter() - begin) / calls * 1e6)
            synchronize()
    return {name: (statistics.median(found), min(found)) for name, found in times.items()}


def measure_on_gpu(*functions, calls=20, rounds=40):
    """-> for each function the time of each round, by events, in microseconds a call

    The functions take turns, of which each begins as many as others. The GPU waits until the host has put all launches of a
    round in its queue, so that no time of the host's is in between.
    """
    times = [[] for _ in functions]
    longest = 0.0
    for call in functions:
        call()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        longest = max(longest, time.perf_counter() - begin)
        torch.cuda.synchronize()
    cycles = int(2e9 * min(3 * longest + 1e-3, 0.05))
    for count in range(rounds):
        if is_late() and count >= 2:
            break
        turns = list(zip(functions, times))
        for call, found in turns[count % len(turns):] + turns[:count % len(turns)]:
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            torch.cuda._sleep(cycles)
            first.record()
            for _ in range(calls):
                call()
            last.record()
            torch.cuda.synchronize()
            found.append(first.elapsed_time(last) / calls * 1e3)
    return times


def wait_for_programs():
    """Let programs load, so that no thread of the driver runs beside."""
    for program in list(_program._programs.values()):
        program.wait()


def prepare(q, k, v):
    """Return the launch of flash_attn_func, its outputs, and all of its tensors in the program's order."""
    flash_attn_func(q, k, v, causal=True)
    launch = next(reversed(_ops._prepared.values()))
    outputs = launch.run((q, k, v), b"")
    tensors = [q, k, v] + outputs
    return launch, outputs, [tensors[i] for i in launch.order or range(len(tensors))]


def make_prepared(q, k, v):
    """Calls of the same program: a prepared launch, which allocates, with lse as a tensor and without; the C API's through
    ctypes, on the same memory each time, which the first one keeps."""
    launch, _, tensors = prepare(q, k, v)
    addresses = launch.prepared.pack_addresses(*[x.data_ptr() for x in tensors])
    stream = torch.cuda.current_stream().cuda_stream if DEVICE == "cuda" else None
    start, bytes_ = launch.prepared.launch, launch.prepared.workspace_bytes.value
    memory = torch.empty(bytes_, dtype=torch.uint8, device=DEVICE)
    return {"fa_mlir: a prepared launch": lambda kept=tensors: launch.run_first(q, k, v, b""),
            "fa_mlir: a prepared launch, with lse": lambda: launch.run((q, k, v), b""),
            "the C API's prepared launch": lambda: start(stream, addresses, b"", memory.data_ptr() if bytes_ else None)}


def make_parts(q, k, v):
    """Parts of flash_attn_func, and what PyTorch's own way to memory takes."""
    launch, outputs, tensors = prepare(q, k, v)
    index, pack = launch.index, launch.prepared.pack_addresses

    class Nothing:
        def run_first(self, query, key, value, numbers):
            return query
    # Another scale is another launch, of which this leaves the way to it.
    find = lambda: flash_attn_func(q, k, v, softmax_scale=0.25, causal=True)
    find()
    next(reversed(_flash._launches.values())).prepared = Nothing()
    return {"part: finding the launch": find,
            "part: current device and stream": lambda: index is None or _ops._get_device() == index and _ops._get_stream(index),
            "part: memory of output and scratch": lambda: (launch.make(*launch.outputs[0]), launch.make(*launch.workspace_and_second)),
            "part: addresses": lambda: pack(*[x.data_ptr() for x in tensors]),
            "beside: output and lse by torch.empty_like": lambda: [torch.empty_like(x) for x in outputs]}


def time_host(calls):
    rows, heads, size = (128, 4, 64) if DEVICE == "cuda" else (1, 1, 16)  # on a CPU a launch is computed in the call, here by its thread
    if DEVICE == "cpu":
        torch.set_num_threads(1)
    q, k, v = (torch.randn(1, rows, heads, size, device=DEVICE, dtype=torch.bfloat16 if DEVICE == "cuda" else torch.float32)
               for _ in range(3))
    x = torch.zeros(16, device=DEVICE)
    leaf = q.clone().requires_grad_()
    starts, row = torch.tensor([0, rows // 2, rows], device=DEVICE, dtype=torch.int32), [x[0] for x in (q, k, v)]
    lines = {"an addition of PyTorch's": lambda: x.add(1),
             **make_prepared(q, k, v), **make_parts(q, k, v),
             "fa_mlir.flash_attn_func": lambda: flash_attn_func(q, k, v, causal=True),
             "fa_mlir.flash_attn_func, window": lambda: flash_attn_func(q, k, v, causal=True, window_size=(64, 0)),
             "fa_mlir.flash_attn_varlen_func": lambda: flash_attn_varlen_func(*row, starts, starts, rows, rows, causal=True),
             "fa_mlir.flash_attn_func, gradients kept": lambda: flash_attn_func(leaf, k, v, causal=True),
             "fa_mlir.attention": lambda: fa_mlir.attention(q, k, v, causal=True, heads_last=True)}
    for name, module in (("FlashAttention-2", "flash_attn"), ("FlashAttention-3", "flash_attn_interface")):
        try:
            function = __import__(module).flash_attn_func
            lines[name] = lambda function=function: function(q, k, v, causal=True)
        except Exception as error:
            print("%s: not here: %s" % (name, error))
    print("host, 1 x %d x %d x %d on %s" % (rows, heads, size, DEVICE))
    for call in lines.values():
        call()
    wait_for_programs()
    found = measure(lines, calls)
    addition = next(iter(found.values()))[0]
    for name, (middle, least) in found.items():
        print("  %-46s %8.1f us, at least %.1f us; %.2f additions" % (name, middle, least, middle / addition))


def time_gpu():
    print("gpu, causal, bf16, 16 heads of 128: flash_attn_func, the C API's prepared launch on the same memory; the median of the "
          "rounds' quotients, and that of the C API's launch by itself")
    for batch, length in ((8, 1024), (2, 4096), (1, 8192)):
        q, k, v = (torch.randn(batch, length, 16, 128, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
        ours = lambda: flash_attn_func(q, k, v, causal=True)
        # Of the outputs that the launch writes no tensor is left: the allocator gives their memory to the function.
        plain = make_prepared(q, k, v)["the C API's prepared launch"]
        wait_for_programs()
        times = measure_on_gpu(ours, plain, plain)
        quotients = [statistics.median(map(operator.truediv, x, times[1])) - 1 for x in (times[0], times[2])]
        print("  %d x %-36d %8.1f us %8.1f us  %+.2f %%, %+.2f %%" % (
            batch, length, *map(statistics.median, times[:2]), *[x * 100 for x in quotients]))


def time_documents():
    """Time both from nothing: each mask closes over new ids of another code object, so that it is traced and compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    batch, heads, length = 1, 16, 8192
    q, k, v = (torch.randn(batch, heads, length, 128, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
    draw = lambda: torch.randint(0, 8, (batch, length), device=DEVICE).sort(1).values
    make = lambda ids: lambda b, h, i, j: (ids[b, i] == ids[b, j]) & (i >= j)
    compiled, compiled_mask = torch.compile(flex_attention), torch.compile(create_block_mask)

    def timed(call):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        result = call()
        torch.cuda.synchronize()
        return result, (time.perf_counter() - begin) * 1e3
    print("documents and causal, %d x %d x %d x 128, bf16" % (batch, heads, length))
    # What an earlier run left on disk would be found.
    config = importlib.import_module("torch._inductor.config")
    config.force_disable_caches = True
    for name in ("first mask", "new mask of the same code"):
        mask = make(draw())
        ours, first = timed(lambda: fa_mlir.flex_attention(q, k, v, block_mask=mask))
        block, of_block = timed(lambda: compiled_mask(mask, batch, None, length, length, device=DEVICE))
        theirs, of_call = timed(lambda: compiled(q, k, v, block_mask=block))
        print("  %-42s %8.1f ms; PyTorch: block mask %.1f ms, call %.1f ms; largest difference %.2g" % (
            name, first, of_block, of_call, (ours - theirs).abs().max().item()))
    wait_for_programs()
    one, other = map(statistics.median, measure_on_gpu(lambda: fa_mlir.flex_attention(q, k, v, block_mask=mask),
                                lambda: compiled(q, k, v, block_mask=block), calls=20, rounds=9))
    again = statistics.median(*measure_on_gpu(lambda: compiled_mask(mask, batch, None, length, length, device=DEVICE), calls=5, rounds=5))
    print("  %-42s %8.1f us; PyTorch: %.1f us, and %.1f us for a block mask" % ("a call, on the GPU", one, other, again))


def main():
    arguments = sys.argv[1:]
    only = [x.split("=", 1)[1].split(",") for x in arguments if x.startswith("--only=")]
    parts = only[0] if only else ["host", "gpu", "documents"] if DEVICE == "cuda" else ["host"]
    seconds = [float(x.split("=", 1)[1]) for x in arguments if x.startswith("--seconds=")]
    global END
    END = time.monotonic() + (seconds[0] if seconds else float("inf"))
    calls = [int(x) for x in arguments if not x.startswith("-")]
    if unknown := set(parts) - {"host", "gpu", "documents"}:
        sys.exit("python_host.py: --only takes host, gpu and documents, not %s" % ", ".join(sorted(unknown)))
    if DEVICE == "cpu" and parts != ["host"]:
        sys.exit("python_host.py: gpu and documents need a GPU; leave out --only")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FA_CACHE_DIR"] = cache  # so that what is timed as new is compiled
        for name, run in (("host", lambda: time_host(calls[0] if calls else 200)), ("gpu", time_gpu), ("documents", time_documents)):
            if name in parts and is_late():
                print("%s: not begun after %g seconds" % (name, seconds[0]))
            elif name in parts:
                run()


if __name__ == "__main__":
    main()
