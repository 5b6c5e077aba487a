#!/usr/bin/env python3
"""Compares attention on a GPU with PyTorch's and FlashAttention's, in one process, each at its own clock.

    gpu_compare.py path/to/libfa.so --preset=sm_90a --json=rows.json [--only=grid,scores] [--peers=cudnn,fa4]
                   [--seconds=540] [--plan]
    gpu_compare.py path/to/libfa.so [--target=sm_90a] [--d=64,128,256] [--n=2048,8192,16384]
                   [--case=full,causal] [--peers=cudnn,fa2,fa3,fa4,flex] [--no-lse] [--ablation] [--backward]
                   [--variant=rows=128,keys=64,warps=4,leave_out=tile-pipeline ...]
                   [--against=other/libfa.so] [--rounds=3] [--milliseconds=300] [--bursts] [--energy-seconds=2]
                   [--estimate] [--seconds=540] [--plan] [--json=rows.json]

A preset (sm_90a or sm_80) measures all that docs/performance.md shows of that target and prints its tables;
`gpu_presets.py` says what that is, --only chooses sections of it (`flash`, `flash-3` and their gradients run only so). The second form measures one table's worth.

bf16, N(0,1) inputs, 16,384 tokens (one sequence where it is longer), hidden size 2048
(heads = 2048 / d), LSE on for all or off for all. Each rival runs alone for 300 ms (--milliseconds), of which the
second half is timed by CUDA events, and rivals take turns for three rounds (--rounds): so each has its own clock
(`gpu_clock.py`). Figures are medians, in TFLOP/s of visible pairs as the papers count (half for causal), with the
SM clock as it is counted, the power and the energy for a TFLOP as NVML has them, and what lowers the clock (a part of
the readings each).
--energy-seconds=2 times as long in each round, after the first half of 300 ms, so that the energy counter has steps
enough, and adds what part of the time SMs and tensor cores are busy, where the card tells; that is some 7 seconds a
rival. --bursts adds 15 rounds of 5 ms each, in which a rival runs at the clock that the one before it left.

--backward times gradients, whose forward has no variants. Every --variant is one more rival of ours; --ablation adds
one per schedule pass that may be left out, as fa-opt lists them, and times those that make other code; --against adds
those of another build of libfa.so, named `before`. A peer that cannot be imported is left out, and the first lines
and the JSON say why. Outputs are checked against float32 first, on 256 rows of two heads.
`gpu_cases.py` has the cases, `gpu_gallery.py` those of examples/gallery, `gpu_masks.py` those whose masks are data
(sections documents, packed, limits, blocks and sinks, and backward- before each: beside causal or plain attention, by
visible pairs and by those that warpgroups, or blocks of keys in a backward, visit), `gpu_peers.py` the peers. --estimate adds
measured / estimated time of ours, as the report of fa-opt estimates it at the same shape for the same target and
device; what tiles visit is of that report too.

--seconds ends the measurement in time: a cell that would not fit is left out, the last ones first, and the output
and the JSON name it. --plan only says how long each section is expected to take. Needs PyTorch, but for --plan.
--json writes the figures, and why a rival has none; tables.py makes tables of it.
"""

import concurrent.futures
import json
import math
import os
import sys
import time

from gpu_presets import CASES, Budget, make_sections, parse_options, parse_variant, remove_peers

if __name__ == "__main__" and "--plan" in sys.argv:
    torch = None
else:
    try:
        import torch
    except ImportError:
        sys.exit("gpu_compare.py: compares with PyTorch, which is not here; pip install torch")
    import gpu_peers

from estimate import block_and_step, changes_code, estimate, find_compiler, visited
from fa_ctypes import Library
from gpu_cases import HIDDEN, TOKENS, program, reference, reference_gradients, refusal, visits
from gpu_clock import CycleCounter, Meter, open_instrument, time_bursts, time_rivals
from tables import compare_line, print_tables


def check(output, expected, rows, limit):
    """Refuse an output (B x H x S x D) that differs from some rows of its first heads, or lacks elements."""
    error = (output[0, :expected.shape[0]][:, rows].float() - expected).abs().max().item()
    if output.isnan().any():
        raise RuntimeError("WRONG, has NaN: elements were not written, or computed so")
    if not error < limit:
        raise RuntimeError("WRONG, differs by %g" % error)


def output_of(q, v):
    """A tensor of NaN for the output, B x H x S x Dv, laid out as q."""
    batch, heads, n, _ = q.shape
    return torch.full((batch, n, heads, v.shape[3]), float("nan"), dtype=q.dtype, device=q.device).transpose(1, 2)


def in_a_row(case, arguments):
    """Arguments as ours takes them: those with a batch without it, where sequences are packed."""
    return {name: x[0] if case.packed and hasattr(x, "dim") and name not in case.types else x
            for name, x in arguments.items()}


def make_ours(library, target, lse, case, d, captures, q, k, v, variant):
    """A function that launches ours, and returns its output."""
    o = output_of(q, v)
    arguments = {"q": q, "k": k, "v": v, **captures, "o": o}
    if case.dropout:
        arguments.update(p=case.dropout, seed=1, offset=0)
    if lse:
        arguments["lse"] = torch.full(q.shape[:3], float("nan"), device="cuda")
    compiled = library.compile(program(case, d, lse), target=target, **parse_variant(variant))
    launch = library.launcher(compiled, in_a_row(case, arguments), torch.cuda.current_stream().cuda_stream)

    def run():
        launch()
        return o
    return run


def is_timed(compiler, options, section, text, variant):
    """Whether a variant is a rival: in an ablation, one whose code is other than with all passes."""
    choices = parse_variant(section.choices_of(variant))
    return (not section.ablation or "leave_out" not in choices or
            changes_code(compiler, text, target_of(options), choices, section.backward))


def make_rivals(libraries, compiler, options, section, name, d, q, k, v):
    """-> ({label: a function that runs it}, {label: why there is none}, labels of what is ours again, all labels in order)"""
    rivals, missing, same, order = {}, {}, [], []
    case, text = CASES[name], program(CASES[name], d, section.lse)
    captures = case.captures(*q.shape[:3])
    rows = torch.arange(q.shape[2], device="cuda")
    rows = torch.cat([rows[:128], rows[-128:]])
    do = torch.randn_like(output_of(q, v)) if section.backward else None
    expected = (reference_gradients(case, captures, q, k, v, do) if section.backward else
                reference(case, captures, q, k, v, rows))

    def add(label, limit, make, *arguments):
        order.append(label)
        # Whatever a rival dies of, the others are timed, and the table says so.
        try:
            run = make(*arguments)
            limit = math.inf if case.dropout else limit
            if section.backward:
                check_gradients(run(), expected, limit)
            else:
                check(run(), expected, rows, limit)
            rivals[label] = run
        except Exception as error:
            missing[label] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]

    for peer in section.peers:
        reason = refusal(peer, case)
        if reason:
            order.append(peer)
            missing[peer] = reason
        elif section.backward:
            add(peer, 0.05, gpu_peers.make_backward_peer, peer, case, captures, q, k, v, do)
        else:
            add(peer, 0.05, gpu_peers.make_peer, peer, case, captures, q, k, v, section.lse)
    for whose, library in libraries.items():
        for variant in section.variant:
            if not is_timed(compiler, options, section, text, variant):
                order.append(label_of(variant, whose))
                same.append(order[-1])
            elif section.backward:
                add(label_of(variant, whose), 0.02, make_our_gradients, library, options.target, case, d, captures,
                    q, k, v, do, section.choices_of(variant))
            else:
                add(label_of(variant, whose), 0.02, make_ours, library, options.target, section.lse, case, d,
                    captures, q, k, v, section.choices_of(variant))
    return rivals, missing, same, order


def make_our_gradients(library, target, case, d, captures, q, k, v, do, variant):
    """A function that launches our backward, and returns dq, dk, dv, None for what is not asked for; our forward
    runs here, once."""
    empty = lambda x: torch.full_like(x, float("nan"))
    o, lse = output_of(q, v), torch.full(q.shape[:3], float("nan"), device="cuda")
    arguments = {"q": q, "k": k, "v": v, **captures, "o": o, "lse": lse}
    if case.dropout:
        arguments.update(p=case.dropout, seed=1, offset=0)
    stream = torch.cuda.current_stream().cuda_stream
    text, choices = program(case, d, True), parse_variant(variant)
    library.launcher(library.compile(text, target=target), in_a_row(case, arguments), stream)()
    asked = choices.get("gradients")
    gradients = {"d" + name: empty(x) for name, x in arguments.items()
                 if name not in ("o", "lse") and hasattr(x, "dtype") and x.is_floating_point()
                 and (not asked or name in asked.split(","))}
    arguments.update(do=do, **gradients)
    launch = library.launcher(library.compile(text, target=target, backward=1, **choices), in_a_row(case, arguments), stream)

    def run():
        launch()
        return gradients.get("dq"), gradients.get("dk"), gradients.get("dv")
    return run


def check_gradients(gradients, expected, limit):
    """Refuse gradients whose first head of keys, and its queries, differ by more than a part of the largest."""
    for name, x, y in zip(("dq", "dk", "dv"), gradients, expected):
        if x is None:
            continue
        x = x[0, :y.shape[0]] if name == "dq" else x[0, 0]
        error = ((x.float() - y).abs().max() / y.abs().max()).item()
        if not error < limit or x.isnan().any():
            raise RuntimeError("WRONG, %s differs by %g of the largest" % (name, error))


def label_of(variant, whose="ours"):
    return whose + (" " + variant if variant else "")


def target_of(options):
    """The target as fa-opt takes it: of "cuda", what the runtime chooses for the device; a plan has none."""
    if options.target.startswith("sm_"):
        return options.target
    return "sm_90a" if not torch or torch.cuda.get_device_capability() == (9, 0) else "sm_80"


def sizes(case, d, n):
    """-> (sequences, heads of queries, heads of keys); n tokens in a row are one."""
    heads = CASES[case].heads or HIDDEN // d
    return 1 if CASES[case].packed else max(1, TOKENS // n), heads, CASES[case].key_heads(heads)


def flops_of(section, name, d, n):
    """As the papers count: a backward has five products, a forward two."""
    batch, heads, _ = sizes(name, d, n)
    return (10 if section.backward else 4) * batch * heads * CASES[name].visible(n) * CASES[name].pair_size(d)


def ask_reports(compiler, options, section, name, d, n):
    """-> (what tiles visit, estimated seconds, why there is neither), each by label; not for each pass of an
    ablation, whose tiles are the same."""
    batch, heads, key_heads = sizes(name, d, n)
    case, text = CASES[name], program(CASES[name], d, section.lse)
    ratios, seconds, failed = {}, {}, {}
    # A report of sequences in a row is of as many of their mean.
    each = len(case.lengths(n)) if case.packed else 1
    for variant in section.variant if compiler else ():
        if section.ablation and variant:
            continue
        label = label_of(variant)
        question = (compiler, text, target_of(options), torch.cuda.get_device_name(),
                    (batch * each, heads, key_heads, n // each, n // each), parse_variant(section.choices_of(variant)))
        try:
            if section.base and (case.visits or case.lengths):
                tiles = block_and_step(*question, section.backward)
                if tiles:
                    ratios[label] = visits(case, n, *tiles, section.backward) / case.visible(n)
                continue
            if section.backward:
                # Masks by data show more than the report knows of.
                if options.estimate and not (case.visits or case.lengths):
                    seconds[label] = estimate(*question, backward=True)
                continue
            ratio = visited(*question, flops_of(section, name, d, n))
            if ratio is not None:
                ratios[label] = ratio
            seconds[label] = estimate(*question)
        except RuntimeError as error:
            failed[label] = str(error).splitlines()[0]
    return ({label: ratio for label, ratio in ratios.items() if ratio},
            {label: time for label, time in seconds.items() if time}, failed)


def prepare(libraries, compiler, options, sections):
    """Compiles what will be timed, and asks for its reports, on many threads: libfa finds programs again, and
    estimate.py answers. What fails here does so again where it is reported."""
    def compile(library, text, choices, backward, section, variant):
        try:
            if not is_timed(compiler, options, section, text, variant):
                return
            library.compile(text, target=options.target, **({} if backward else parse_variant(choices)))
            if backward:
                library.compile(text, target=options.target, backward=1, **parse_variant(choices))
        except RuntimeError:
            pass
    programs, cells = {}, []
    for section in sections:
        for d, n, name in section.cells():
            cells.append((section, name, d, n))
            for variant in section.variant:
                programs.update({(library, program(CASES[name], d, section.lse), section.choices_of(variant),
                                  section.backward): (section, variant) for library in libraries.values()})

    def each(function, items, threads):
        with concurrent.futures.ThreadPoolExecutor(max(1, threads)) as pool:
            for _ in pool.map(lambda item: function(*item), items):
                pass
    cores = os.cpu_count() or 1
    # Two threads more compile a program's other variants.
    each(compile, [(*program, *whose) for program, whose in programs.items()], cores // 3)
    each(lambda *cell: ask_reports(compiler, options, *cell), cells, cores)
    print("%d programs in %d cells" % (len(programs), len(cells)))


def compare(libraries, compiler, options, instruments, section, name, d, n):
    """Measures a cell; returns its row of the JSON."""
    batch, heads, key_heads = sizes(name, d, n)
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, n, h, size, dtype=torch.bfloat16, device="cuda").transpose(1, 2)
               for h, size in ((heads, d), (key_heads, d), (key_heads, CASES[name].value_size or d)))
    rivals, missing, same, order = make_rivals(libraries, compiler, options, section, name, d, q, k, v)
    figures = time_rivals(rivals, options.milliseconds, options.rounds, window=options.energy_seconds * 1000, **instruments)
    speed = lambda time: flops_of(section, name, d, n) / time * 1e-9
    ratios, seconds, failed = ask_reports(compiler, options, section, name, d, n)
    row = {"section": section.name, "d": d, "n": n, "case": name, "lse": section.lse, "rivals": order,
           **({"base": section.base} if section.base else {}),
           "tflops": {label: speed(figure.time()) for label, figure in figures.items()},
           "mhz": {label: figure.mhz() for label, figure in figures.items() if figure.mhz()},
           "watts": {label: figure.watts() for label, figure in figures.items() if figure.watts()},
           "reasons": {label: figure.reasons() for label, figure in figures.items() if figure.reasons()},
           "busy": {label: figure.busy() for label, figure in figures.items() if figure.busy()},
           "missing": missing, "same": same, "visited": ratios,
           "estimated_tflops": {label: speed(seconds[label] * 1e3) for label in figures
                                if options.estimate and label in seconds}}
    if options.bursts:
        row["bursts"] = {label: speed(time) for label, time in time_bursts(rivals).items()}
    print("d %d n %d %s%s" % (d, n, name, ", %.2f visited" % ratios["ours"] if "ours" in ratios else ""))
    for label in order:
        print("    " + compare_line(row, label))
    for label, reason in failed.items():
        print("    %s: no report: %s" % (label, reason))
    sys.stdout.flush()
    return row


def measure(options, libraries, compiler, instruments, sections, data, start):
    """Measures cell after cell into `data`, as long as there is time."""
    budget = Budget(options)
    elapsed = lambda: time.monotonic() - start
    for section in sections:
        print("%s, after %d s:" % (section.name, elapsed()), flush=True)
        for d, n, name in section.cells():
            if not budget.allows(section, d, name, elapsed()):
                data["left_out"].append("%s d = %d n = %d %s" % (section.name, d, n, name))
                continue
            before = elapsed()
            data["rows"].append(compare(libraries, compiler, options, instruments, section, name, d, n))
            budget.add(section, d, name, elapsed() - before)
            torch.cuda.empty_cache()
            if options.json:
                with open(options.json, "w") as out:
                    json.dump(data, out, indent=1)
    print("%d s%s" % (elapsed(), ", %d cells left out" % len(data["left_out"]) if data["left_out"] else ""))


def main(options):
    start = time.monotonic()
    try:
        compiler = find_compiler(options.library)
    except FileNotFoundError as error:
        if options.estimate or options.ablation:
            sys.exit("gpu_compare.py: %s" % error)
        compiler = None
        print("%s: not known what tiles visit" % error)
    if options.plan:
        sections = make_sections(options, target_of(options), compiler)
        print("\n".join(Budget(options).plan(sections)[0]))
        return
    torch.set_grad_enabled(False)  # FlexAttention writes LSE for gradients
    gpu_peers.compile_rivals_for(options.target)
    libraries = {"ours": Library(options.library)}
    if options.against:
        libraries["before"] = Library(options.against)
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    uuid = str(properties.uuid)
    meter, reason = open_instrument(Meter, uuid if uuid.startswith("GPU-") else "GPU-" + uuid)
    print("%s, torch %s, target %s; %g ms alone, the second half timed, %d rounds" % (
        torch.cuda.get_device_name(), torch.__version__, options.target, options.milliseconds, options.rounds))
    if not meter:
        print("no power: " + reason)
    counter, reason = open_instrument(CycleCounter)
    if not counter:
        print("no count of cycles: " + reason)
    sections = make_sections(options, target_of(options), compiler)
    wanted = dict.fromkeys(peer for section in sections for peer in section.peers)
    missing = {peer: gpu_peers.missing_peer(peer) for peer in wanted}
    missing = {peer: reason for peer, reason in missing.items() if reason}
    for peer, reason in missing.items():
        print("%s is not measured: %s" % (peer, reason))
    sections = remove_peers(sections, missing)
    prepare(libraries, compiler, options, sections)
    data = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "target": options.target, "preset": options.preset, "milliseconds": options.milliseconds,
            "rounds": options.rounds, "missing_peers": missing, "left_out": [], "rows": []}
    measure(options, libraries, compiler, {"meter": meter, "counter": counter}, sections, data, start)
    if options.preset:
        print_tables([data])


if __name__ == "__main__":
    main(parse_options(description=__doc__))
