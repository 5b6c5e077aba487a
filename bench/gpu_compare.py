#!/usr/bin/env python3
"""Compares attention on a GPU with PyTorch's, in one process, interleaved.

    gpu_compare.py path/to/libfa.so --preset=sm_90a --json=rows.json [--only=grid,scores] [--repeats=15]
    gpu_compare.py path/to/libfa.so [--target=sm_90a] [--d=64,128,256] [--n=2048,8192,16384]
                   [--case=full,causal] [--peers=cudnn,fa2,flex] [--no-lse] [--repeats=15] [--milliseconds=5]
                   [--ablation] [--variant=rows=128,keys=64,warps=4,leave_out=tile-pipeline ...]
                   [--estimate] [--json=rows.json]

A preset (sm_90a or sm_80) measures all that docs/performance.md shows of that target and prints its tables;
`gpu_presets.py` says what that is, --only chooses sections of it. The second form measures one table's worth.

bf16, N(0,1) inputs, 16,384 tokens (one sequence where it is longer), hidden size 2048
(heads = 2048 / d), LSE on. Each round times every rival once, over enough launches for 5 ms
(--milliseconds), by CUDA events; figures are medians over rounds, in TFLOP/s of visible pairs as the papers
count (half for causal). In so short a time a rival runs at the clock that the one before it left, where the
power limit bounds one of them; with 50 ms and more, each runs as long untimed first, and has its own. Every --variant is one more rival of ours; --ablation adds one per schedule pass
that may be left out, as fa-opt lists them. Needs PyTorch. Outputs are checked against float32 first, on 256
rows of two heads. `gpu_cases.py` has the cases. --estimate adds measured / estimated time of ours, as
the report of fa-opt estimates it at the same shape for the same target and device; what tiles visit is of
that report too. --json writes the figures, and why a rival has none; tables.py makes tables of it.
"""

import concurrent.futures
import json
import os
import statistics
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("gpu_compare.py: compares with PyTorch, which is not here; pip install torch")
from torch.nn.attention import SDPBackend, sdpa_kernel

from estimate import estimate, find_compiler, visited
from fa_ctypes import Library
from gpu_cases import CASES, program, reference, refusal
from gpu_presets import make_sections, parse_options, parse_variant
from tables import print_tables

BACKENDS = {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
TOKENS, HIDDEN = 16384, 2048
SETTLES = 50  # milliseconds in which the clock follows the power that a rival takes


def milliseconds(run, launches):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(launches):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / launches


def make_peer(name, case, captures, q, k, v):
    """A function that runs PyTorch's rival."""
    if name == "flex":
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        # It compiles each case anew, and gives up after some that it remembers.
        torch.compiler.reset()
        blocks = case.mask and create_block_mask(case.mask(captures), q.shape[0] if captures else None,
                                                 None, q.shape[2], q.shape[2], device="cuda")
        attention = torch.compile(flex_attention, dynamic=False)
        score = case.score and case.score(captures)
        return lambda: attention(q, k, v, score_mod=score, block_mask=blocks)

    def run():
        with sdpa_kernel(BACKENDS[name]):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=case.causal, dropout_p=case.dropout)
    return run


def make_ours(library, options, lse, case, d, captures, q, k, v, variant, expected, rows):
    """A launcher of ours, whose output was right."""
    o = torch.full_like(q, float("nan"))
    arguments = {"q": q, "k": k, "v": v, **captures, "o": o}
    if case.dropout:
        arguments.update(p=case.dropout, seed=1, offset=0)
    if lse:
        arguments["lse"] = torch.full(q.shape[:3], float("nan"), device="cuda")
    compiled = library.compile(program(case, d, lse), target=options.target, **parse_variant(variant))
    run = library.launcher(compiled, arguments, torch.cuda.current_stream().cuda_stream)
    run()
    torch.cuda.synchronize()
    got = o[0, :expected.shape[0]][:, rows].float()
    error = (got - expected).abs().max().item()
    if not case.dropout and not error < 0.02 or o.isnan().any():
        raise RuntimeError("WRONG, differs by %g" % error)
    return run


def make_rivals(library, options, section, name, d, n, q, k, v):
    """-> ({label: a function that runs it}, {label: why there is none}, all labels in order)"""
    rivals, missing, order = {}, {}, []

    def add(label, make, *arguments):
        order.append(label)
        # Whatever a rival dies of, the others are timed, and the table says so.
        try:
            run = make(*arguments)
            run()
            torch.cuda.synchronize()
            rivals[label] = run
        except Exception as error:
            missing[label] = (str(error).strip().splitlines() or [type(error).__name__])[0]

    case = CASES[name]
    captures = case.captures(*q.shape[:3])
    rows = torch.arange(n, device="cuda")
    rows = torch.cat([rows[:128], rows[-128:]])
    for peer in section.peers:
        if refusal(peer, case):
            order.append(peer)
            missing[peer] = refusal(peer, case)
        else:
            add(peer, make_peer, peer, case, captures, q, k, v)
    for make in options.more_peers:
        label, run = make(name, d, q, k, v, section.lse)
        order.append(label)
        if run:
            rivals[label] = run
        else:
            missing[label] = "refused"
    expected = reference(case, captures, q, k, v, rows)
    for variant in section.variant:
        add(label_of(variant), make_ours, library, options, section.lse, case, d, captures, q, k, v,
            variant, expected, rows)
    if section.beside not in ("", name):
        beside = CASES[section.beside]
        captures = beside.captures(*q.shape[:3])
        add(label_of(section.beside), make_ours, library, options, section.lse, beside, d, captures,
            q, k, v, "", reference(beside, captures, q, k, v, rows), rows)
    return rivals, missing, order


def label_of(variant):
    return "ours" + (" " + variant if variant else "")


def target_of(options):
    """The target as fa-opt takes it: of "cuda", what the runtime chooses for the device."""
    if options.target.startswith("sm_"):
        return options.target
    return "sm_90a" if torch.cuda.get_device_capability() == (9, 0) else "sm_80"


def ours_of(section, name, d):
    """-> (label, case, text, variant) of each program of ours in a cell."""
    for variant in section.variant:
        yield label_of(variant), CASES[name], program(CASES[name], d, section.lse), variant
    if section.beside not in ("", name):
        case = CASES[section.beside]
        yield label_of(section.beside), case, program(case, d, section.lse), ""


def sizes(d, n):
    """-> (sequences, heads)"""
    return max(1, TOKENS // n), HIDDEN // d


def ask_reports(compiler, options, section, name, d, n):
    """-> (what tiles visit, estimated seconds, why there is neither), each by label; not for each pass of an
    ablation, whose tiles are the same."""
    batch, heads = sizes(d, n)
    ratios, seconds, failed = {}, {}, {}
    for label, case, text, variant in ours_of(section, name, d) if compiler else ():
        if section.ablation and variant:
            continue
        question = (compiler, text, target_of(options), torch.cuda.get_device_name(),
                    (batch, heads, heads, n, n), parse_variant(variant))
        try:
            ratios[label] = visited(*question, 4 * batch * heads * case.visible(n) * d)
            seconds[label] = estimate(*question)
        except RuntimeError as error:
            failed[label] = str(error).splitlines()[0]
    return ({label: ratio for label, ratio in ratios.items() if ratio},
            {label: time for label, time in seconds.items() if time}, failed)


def prepare(library, compiler, options, sections):
    """Compiles what will be timed, and asks for its reports, on many threads: libfa finds programs again, and
    estimate.py answers. What fails here does so again where it is reported."""
    def compile(text, variant):
        try:
            library.compile(text, target=options.target, **parse_variant(variant))
        except RuntimeError:
            pass
    programs, cells = {}, []
    for section in sections:
        for d, n, name in section.cells():
            cells.append((section, name, d, n))
            programs.update({(text, variant): None for _, _, text, variant in ours_of(section, name, d)})

    def each(function, items, threads):
        with concurrent.futures.ThreadPoolExecutor(max(1, threads)) as pool:
            for _ in pool.map(lambda item: function(*item), items):
                pass
    cores = os.cpu_count() or 1
    each(compile, programs, cores // 3)  # two threads more compile a program's other variants
    each(lambda *cell: ask_reports(compiler, options, *cell), cells, cores)
    print("%d programs in %d cells" % (len(programs), len(cells)))


def compare(library, compiler, options, section, name, d, n):
    batch, heads = sizes(d, n)
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, n, heads, d, dtype=torch.bfloat16, device="cuda").transpose(1, 2)
               for _ in range(3))
    rivals, missing, order = make_rivals(library, options, section, name, d, n, q, k, v)
    launches, times = {}, {label: [] for label in rivals}
    for label, run in rivals.items():
        milliseconds(run, 2)
        launches[label] = max(1, int(section.milliseconds / milliseconds(run, 2)))
    for _ in range(options.repeats):
        for label, run in rivals.items():
            if section.milliseconds >= SETTLES:
                milliseconds(run, launches[label])
            times[label].append(milliseconds(run, launches[label]))
    work = lambda name: 4 * batch * heads * CASES[name].visible(n) * d
    flops = {label: work(name) for label in rivals}
    beside = section.beside and label_of(section.beside)
    if beside:
        flops[beside] = work(section.beside)
    speed = {label: flops[label] / statistics.median(t) * 1e-9 for label, t in times.items()}
    ratios, seconds, failed = ask_reports(compiler, options, section, name, d, n)
    estimated = {label: flops[label] / seconds[label] * 1e-12 for label in speed
                 if options.estimate and label in seconds}
    theirs = [label for label in speed if not label.startswith("ours")]
    print("d %3d n %5d %-8s " % (d, n, name) + "  ".join(
        "%s %.0f" % (label, s) +
        (" [%.2f of the estimated time]" % (estimated[label] / s)
         if label in estimated else "") +
        (" (%s)" % ", ".join("%.2f" % (s / speed[x]) for x in theirs)
         if theirs and label not in theirs and label != beside else "")
        for label, s in speed.items()) +
        (", %.2f visited" % ratios["ours"] if "ours" in ratios else ""), flush=True)
    for label, reason in missing.items():
        print("    %s: none: %s" % (label, reason), flush=True)
    for label, reason in failed.items():
        print("    %s: no report: %s" % (label, reason), flush=True)
    return {"section": section.name, "d": d, "n": n, "case": name, "lse": section.lse,
            "beside": section.beside, "rivals": order, "tflops": speed, "missing": missing, "visited": ratios,
            "estimated_tflops": estimated}


def main(options):
    start = time.monotonic()
    library = Library(options.library)
    print("%s, torch %s, target %s; TFLOP/s (ratio to each peer in order)" % (
        torch.cuda.get_device_name(), torch.__version__, options.target))
    try:
        compiler = find_compiler(options.library)
    except FileNotFoundError as error:
        if options.estimate or options.ablation:
            sys.exit("gpu_compare.py: %s" % error)
        compiler = None
        print("%s: not known what tiles visit" % error)
    sections = make_sections(options, target_of(options), compiler)
    prepare(library, compiler, options, sections)
    data = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "target": options.target, "preset": options.preset, "repeats": options.repeats, "rows": []}
    for section in sections:
        print("%s, after %d s:" % (section.name, time.monotonic() - start), flush=True)
        for d, n, name in section.cells():
            data["rows"].append(compare(library, compiler, options, section, name, d, n))
            if options.json:
                with open(options.json, "w") as out:
                    json.dump(data, out, indent=1)
    print("%d s" % (time.monotonic() - start))
    if options.preset:
        print_tables([data])


if __name__ == "__main__":
    main(parse_options(description=__doc__))
