#!/usr/bin/env python3
"""Compares attention on a GPU with PyTorch's, in one process, interleaved.

    gpu_compare.py path/to/libfa.so [--target=sm_90a] [--d=64,128,256] [--n=2048,8192,16384]
                   [--case=full,causal] [--peers=cudnn,fa2,flex] [--no-lse] [--repeats=15]
                   [--ablation] [--variant=rows=128,keys=64,warps=4,leave_out=tile-pipeline ...]
                   [--estimate] [--json=rows.json]

bf16, N(0,1) inputs, 16,384 tokens (one sequence where it is longer), hidden size 2048
(heads = 2048 / d), LSE on. Each round times every rival once, over enough launches for 5 ms, by CUDA
events; figures are medians over rounds, in TFLOP/s of visible pairs as the papers count
(half for causal). Every --variant is one more rival of ours; --ablation adds one per schedule pass
that may be left out. Needs PyTorch. Outputs are checked against float32 first, on 256 rows
of two heads. `gpu_cases.py` has the cases. --estimate adds measured / estimated time of ours, as
the report of fa-opt estimates it at the same shape for the same target and device. --json writes
the figures; tables.py makes tables of it.
"""

import argparse
import itertools
import json
import statistics
import sys

try:
    import torch
except ImportError:
    sys.exit("gpu_compare.py: compares with PyTorch, which is not here; pip install torch")
from torch.nn.attention import SDPBackend, sdpa_kernel

from estimate import estimate, find_compiler
from fa_ctypes import Library
from gpu_cases import CASES, program, reference

BACKENDS = {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
PASSES = ["tile-float-positions", "tile-skip-select", "tile-sum-on-tensor-core", "tile-skip-rescale", "tile-fuse-scale", "tile-schedule-grid",
          "tile-persist-grid", "tile-stage-stores",
          "tile-pipeline", "tile-specialize-warps", "tile-order-warpgroups"]
TOKENS, HIDDEN = 16384, 2048


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


def make_peer(name, case, captures, q, k, v):
    """A function that runs PyTorch's rival, or None where it cannot do the case."""
    if name == "flex":
        if case.dropout or case.causal is False:
            return None
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        blocks = case.mask and create_block_mask(case.mask(captures), q.shape[0] if captures else None,
                                                 None, q.shape[2], q.shape[2], device="cuda")
        attention = torch.compile(flex_attention, dynamic=False)
        score = case.score and case.score(captures)
        return lambda: attention(q, k, v, score_mod=score, block_mask=blocks)
    if case.causal is None or (case.dropout and name == "cudnn"):
        return None

    def run():
        with sdpa_kernel(BACKENDS[name]):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=case.causal, dropout_p=case.dropout)
    return run


def make_ours(library, options, case, d, captures, q, k, v, variant, expected, rows):
    """A launcher of ours; says so and gives None where it is refused or wrong."""
    o = torch.full_like(q, float("nan"))
    arguments = {"q": q, "k": k, "v": v, **captures, "o": o}
    if case.dropout:
        arguments.update(p=case.dropout, seed=1, offset=0)
    if not options.no_lse:
        arguments["lse"] = torch.full(q.shape[:3], float("nan"), device="cuda")
    label = "ours" + (" " + variant if variant else "")
    try:
        compiled = library.compile(program(case, d, not options.no_lse), target=options.target,
                                   **parse_variant(variant))
        run = library.launcher(compiled, arguments, torch.cuda.current_stream().cuda_stream)
        run()
        torch.cuda.synchronize()
    except RuntimeError as error:
        print("%s: %s" % (label, str(error).splitlines()[0]))
        return label, None
    got = o[0, :expected.shape[0]][:, rows].float()
    error = (got - expected).abs().max().item()
    if not case.dropout and not error < 0.02 or o.isnan().any():
        print("%s: WRONG, differs by %g" % (label, error))
        return label, None
    return label, run


def target_of(options):
    """The target as fa-opt takes it: of "cuda", what the runtime chooses for the device."""
    if options.target.startswith("sm_"):
        return options.target
    return "sm_90a" if torch.cuda.get_device_capability() == (9, 0) else "sm_80"


def compare(library, options, name, d, n):
    case, batch, heads = CASES[name], max(1, TOKENS // n), HIDDEN // d
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, n, heads, d, dtype=torch.bfloat16, device="cuda").transpose(1, 2)
               for _ in range(3))
    captures = case.captures(batch, heads, n)
    rows = torch.arange(n, device="cuda")
    rows = torch.cat([rows[:128], rows[-128:]])
    expected = reference(case, captures, q, k, v, rows)
    rivals = {}
    for peer in options.peers:
        run = make_peer(peer, case, captures, q, k, v)
        if run:
            rivals[peer] = run
    for make in options.more_peers:
        label, run = make(name, d, q, k, v, not options.no_lse)
        if run:
            rivals[label] = run
    for variant in options.variant:
        label, run = make_ours(library, options, case, d, captures, q, k, v, variant, expected, rows)
        if run:
            rivals[label] = run
    flops = 4 * batch * heads * case.visible(n) * d
    launches, times = {}, {label: [] for label in rivals}
    for label, run in rivals.items():
        milliseconds(run, 2)
        launches[label] = max(1, int(5 / milliseconds(run, 2)))
    for _ in range(options.repeats):
        for label, run in rivals.items():
            times[label].append(milliseconds(run, launches[label]))
    speed = {label: flops / statistics.median(t) * 1e-9 for label, t in times.items()}
    theirs = [label for label in speed if not label.startswith("ours")]
    estimated = {}
    for variant in options.variant if options.estimate else []:
        label = "ours" + (" " + variant if variant else "")
        seconds = label in speed and estimate(
            find_compiler(options.library), program(case, d, not options.no_lse), target_of(options),
            torch.cuda.get_device_name(), (batch, heads, heads, n, n), parse_variant(variant))
        if seconds:
            estimated[label] = flops / seconds * 1e-12
    print("d %3d n %5d %-8s " % (d, n, name) + "  ".join(
        "%s %.0f" % (label, s) +
        (" [%.2f of the estimated time]" % (estimated[label] / s) if label in estimated else "") +
        (" (%s)" % ", ".join("%.2f" % (s / speed[x]) for x in theirs) if label not in theirs else "")
        for label, s in speed.items()), flush=True)
    return {"d": d, "n": n, "case": name, "lse": not options.no_lse, "tflops": speed,
            "estimated_tflops": estimated}


def parse_options(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--target", default="cuda")
    numbers = lambda text: [int(part) for part in text.split(",")]
    words = lambda text: [part for part in text.split(",") if part]
    parser.add_argument("--d", type=numbers, default=[64, 128, 256])
    parser.add_argument("--n", type=numbers, default=[2048, 8192, 16384])
    parser.add_argument("--case", type=words, default=["full", "causal"])
    parser.add_argument("--peers", type=words, default=["cudnn", "fa2"])
    parser.add_argument("--variant", action="append", default=[""])
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--no-lse", action="store_true")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    if options.ablation:
        options.variant += ["leave_out=" + name for name in PASSES]
    options.more_peers = []
    return options


def main(options):
    library = Library(options.library)
    print("%s, torch %s, target %s; TFLOP/s (ratio to each peer in order)" % (
        torch.cuda.get_device_name(), torch.__version__, options.target))
    rows = []
    for d, n, name in itertools.product(options.d, options.n, options.case):
        rows.append(compare(library, options, name, d, n))
        if options.json:
            with open(options.json, "w") as out:
                json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                           "target": options.target, "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main(parse_options())
