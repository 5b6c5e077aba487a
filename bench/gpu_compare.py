#!/usr/bin/env python3
"""Compares attention on a GPU with PyTorch's, in one process, interleaved.

    gpu_compare.py path/to/libfa.so [--target=sm_80] [--d=64,128,256] [--n=2048,8192,16384]
                   [--mask=full,causal] [--peers=fa2,cudnn] [--no-lse] [--repeats=15]
                   [--variant=rows=128,keys=64,warps=4,leave_out=tile-pipeline ...]

bf16, N(0,1) inputs, 16,384 tokens, hidden size 2048 (heads = 2048 / d), LSE on.
Each round times every rival once, over enough launches for 5 ms, by CUDA events;
figures are medians over rounds, in TFLOP/s as the papers count (half for
causal). Every --variant is one more rival of ours. Needs PyTorch. Outputs are compared with
PyTorch's in f32 first.
"""

import argparse
import itertools
import statistics

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from fa_ctypes import Library

PROGRAM = """
func.func @f(%q: {t} {{fa.name = "q"}}, %k: {t} {{fa.name = "k"}}, %v: {t} {{fa.name = "v"}})
    -> ({t} {{fa.name = "o"}}{lse_type}) {{
  %o{lse} = fa.attention query(%q) key(%k) value(%v) {mask} : ({t}, {t}, {t}) -> ({t}{lse_result})
  return %o{lse_value} : {t}{lse_result}
}}"""
PEERS = {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


def program(d, causal, lse):
    tensor = "tensor<?x?x?xf32>"
    return PROGRAM.format(t="tensor<?x?x?x%dxbf16>" % d, mask="with [causal]" if causal else "",
                          lse_type=", " + tensor + ' {fa.name = "lse"}' if lse else "",
                          lse_result=", " + tensor if lse else "", lse=", %lse" if lse else "",
                          lse_value=", %lse" if lse else "")


def milliseconds(run, launches):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(launches):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / launches


def parse_variant(text):
    choices = {}
    for part in filter(None, text.split(",")):
        name, value = part.split("=")
        choices[name] = int(value) if value.isdigit() else value.replace("+", ",")
    return choices


def compare(library, options, d, n, causal):
    batch, heads = 16384 // n, 2048 // d
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, n, heads, d, dtype=torch.bfloat16, device="cuda").transpose(1, 2)
               for _ in range(3))
    rivals = {}
    for peer in options.peers:
        def run(backend=PEERS[peer]):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        rivals[peer] = run
    part = slice(0, 1), slice(0, 2)
    expected = torch.nn.functional.scaled_dot_product_attention(
        *(x[part].float() for x in (q, k, v)), is_causal=causal)
    for text in options.variant or [""]:
        name = "ours" + (" " + text if text else "")
        o = torch.full_like(q, float("nan"))
        tensors = {"q": q, "k": k, "v": v, "o": o}
        if not options.no_lse:
            tensors["lse"] = torch.full((batch, heads, n), float("nan"), device="cuda")
        try:
            compiled = library.compile(program(d, causal, not options.no_lse),
                                       target=options.target, **parse_variant(text))
            run = library.launcher(compiled, tensors, torch.cuda.current_stream().cuda_stream)
            run()
            torch.cuda.synchronize()
        except RuntimeError as error:
            print("%s: %s" % (name, str(error).splitlines()[0]))
            continue
        error = (o[part].float() - expected).abs().max().item()
        if not error < 0.02:
            print("%s: WRONG, differs by %g" % (name, error))
        rivals[name] = run
    flops = 4 * batch * heads * n * n * d * (0.5 if causal else 1)
    launches, times = {}, {name: [] for name in rivals}
    for name, run in rivals.items():
        milliseconds(run, 2)
        launches[name] = max(1, int(5 / milliseconds(run, 2)))
    for _ in range(options.repeats):
        for name, run in rivals.items():
            times[name].append(milliseconds(run, launches[name]))
    speed = {name: flops / statistics.median(t) * 1e-9 for name, t in times.items()}
    base = speed[options.peers[0]] if options.peers else 1
    print("d %3d n %5d %-6s " % (d, n, "causal" if causal else "full") + "  ".join(
        "%s %.0f" % (name, s) + (" (%.2f)" % (s / base) if name.startswith("ours") else "")
        for name, s in speed.items()), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--target", default="cuda")
    numbers = lambda text: [int(part) for part in text.split(",")]
    words = lambda text: [part for part in text.split(",") if part]
    parser.add_argument("--d", type=numbers, default=[64, 128, 256])
    parser.add_argument("--n", type=numbers, default=[2048, 8192, 16384])
    parser.add_argument("--mask", type=words, default=["full", "causal"])
    parser.add_argument("--peers", type=words, default=["fa2", "cudnn"])
    parser.add_argument("--variant", action="append")
    parser.add_argument("--no-lse", action="store_true")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    library = Library(options.library)
    print("%s, torch %s, target %s; TFLOP/s (ratio to %s)" % (
        torch.cuda.get_device_name(), torch.__version__, options.target, options.peers[:1]))
    for d, n, mask in itertools.product(options.d, options.n, options.mask):
        compare(library, options, d, n, mask == "causal")


if __name__ == "__main__":
    main()
