#!/usr/bin/env python3
"""Compares with PyTorch's attention on the CPU, in one process, interleaved.

    cpu_compare.py path/to/libfa.so [--backward] [--threads=1] [--repeats=30]

f32, N(0,1) inputs, B = 1, 8 heads; medians of GFLOP/s as the papers count (half
for causal; a forward has two products, a backward five). Needs PyTorch. Checks
that both give the same output, or gradients, first.
"""

import argparse
import statistics
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("cpu_compare.py: compares with PyTorch, which is not here; pip install torch")

from fa_ctypes import Library
from gpu_cases import CASES, program


def make_ours(library, text, threads, q, k, v, do):
    """A function that launches ours, once; and its output, or gradients where there is a `do`."""
    empty = lambda x: torch.full_like(x, float("nan"))
    tensors = {"q": q, "k": k, "v": v, "o": empty(q)}
    if do is None:
        return library.launcher(library.compile(text, threads=threads), tensors), [tensors["o"]]
    tensors["lse"] = torch.full(q.shape[:3], float("nan"))
    library.launcher(library.compile(text, threads=threads), tensors)()
    gradients = [empty(x) for x in (q, k, v)]
    tensors.update(zip(("do", "dq", "dk", "dv"), (do, *gradients)))
    return library.launcher(library.compile(text, threads=threads, backward=1), tensors), gradients


def make_theirs(causal, q, k, v, do):
    """A function that runs theirs, and returns its output, or gradients where there is a `do`."""
    attend = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    if do is None:
        return lambda: [attend()]
    for x in (q, k, v):
        x.requires_grad_()
    o = attend()
    return lambda: torch.autograd.grad(o, (q, k, v), do, retain_graph=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--backward", action="store_true", help="time the gradients")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    library = Library(options.library)
    print("torch %s, %d thread(s), f32, 8 heads%s" % (
        torch.__version__, options.threads, ", backward" if options.backward else ""))
    for d in (64, 128):
        for n in (1024, 2048):
            for name in ("full", "causal"):
                torch.manual_seed(0)
                q, k, v, do = (torch.randn(1, 8, n, d) for _ in range(4))
                if not options.backward:
                    do = None
                text = program(CASES[name], d, lse=options.backward, dtype="f32")
                ours, results = make_ours(library, text, options.threads, q, k, v, do)
                theirs = make_theirs(name == "causal", q, k, v, do)
                ours()
                difference = max((x - y).abs().max().item() for x, y in zip(results, theirs()))
                if not difference < 1e-4:
                    raise SystemExit("cpu_compare.py: results differ by %g" % difference)
                seconds = ([], [])
                for _ in range(options.repeats):
                    for run, times in zip((ours, theirs), seconds):
                        start = time.perf_counter()
                        run()
                        times.append(time.perf_counter() - start)
                flops = (10 if options.backward else 4) * 8 * CASES[name].visible(n) * d
                a, b = (flops / statistics.median(times) * 1e-9 for times in seconds)
                print("d %3d n %4d %-6s  ours %6.1f  torch %6.1f GFLOP/s  ratio %.2f  difference %.1e" % (
                    d, n, name, a, b, a / b, difference))


main()
