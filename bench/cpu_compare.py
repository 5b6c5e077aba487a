#!/usr/bin/env python3
"""Compares with PyTorch's attention on the CPU, in one process, interleaved.

    cpu_compare.py path/to/libfa.so [--threads=1] [--repeats=30]

f32, N(0,1) inputs, B = 1, 8 heads; medians of GFLOP/s as the papers count (half
for causal). Needs PyTorch. Checks that both give the same output first.
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

PROGRAM = """
func.func @f(%q: {t} {{fa.name = "q"}}, %k: {t} {{fa.name = "k"}}, %v: {t} {{fa.name = "v"}}) -> {t} {{
  %o = fa.attention query(%q) key(%k) value(%v) {mask} : ({t}, {t}, {t}) -> {t}
  return %o : {t}
}}"""


def attention(library, q, k, v, causal, threads):
    """-> (output, function that launches once more)"""
    t = "tensor<?x?x?x%dxf32>" % q.shape[-1]
    program = library.compile(PROGRAM.format(t=t, mask="with [causal]" if causal else ""),
                              threads=threads)
    o = torch.full_like(q, float("nan"))
    return o, library.launcher(program, {"q": q, "k": k, "v": v, "o": o})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    library = Library(options.library)
    print("torch %s, %d thread(s), f32, 8 heads" % (torch.__version__, options.threads))
    for d in (64, 128):
        for n in (1024, 2048):
            for causal in (False, True):
                torch.manual_seed(0)
                q, k, v = (torch.randn(1, 8, n, d) for _ in range(3))
                o, ours = attention(library, q, k, v, causal, options.threads)

                def theirs():
                    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                ours()
                difference = (o - theirs()).abs().max().item()
                if not difference < 1e-4:
                    raise SystemExit("cpu_compare.py: outputs differ by %g" % difference)
                seconds = ([], [])
                for _ in range(options.repeats):
                    for run, times in zip((ours, theirs), seconds):
                        start = time.perf_counter()
                        run()
                        times.append(time.perf_counter() - start)
                flops = 4 * 8 * n * n * d * (0.5 if causal else 1)
                a, b = (flops / statistics.median(times) * 1e-9 for times in seconds)
                print("d %3d n %4d %-6s  ours %6.1f  torch %6.1f GFLOP/s  ratio %.2f  difference %.1e" % (
                    d, n, "causal" if causal else "full", a, b, a / b, difference))


main()
