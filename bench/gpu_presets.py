"""The command line of gpu_compare.py, what a preset of it measures, and how long that takes; needs no PyTorch.

A section is a part of a table: lengths, head dimensions and attentions with the same rivals. Each row of the
JSON names its section, so that tables.py can tell them apart in one file.
"""

import argparse
import dataclasses
import itertools
from typing import List

import gpu_cases
from estimate import optional_passes
from gpu_cases import refusal
from gpu_gallery import GALLERY
from gpu_masks import MASKS

# Checks take masks, which the programs of sequences in a row have none of here.
TIMED = {name: case for name, case in GALLERY.items() if not case.packed}
CASES = {**gpu_cases.CASES, **TIMED, **MASKS}

SIZES = [64, 128, 256]
MODIFIED = ["tanh", "softcap", "alibi", "window", "document"]
FLASH = ["fa3", "fa4"]  # measured where they can be imported


@dataclasses.dataclass
class Section:
    name: str  # grid, lse-off, scores, gqa, shares, window, backward, ... or ablation: tables.py has one table of each
    d: List[int]
    n: List[int]
    case: List[str]  # of CASES
    peers: List[str]
    lse: bool = True
    variant: List[str] = dataclasses.field(default_factory=lambda: [""])
    backward: bool = False  # the gradients of that
    choices: str = ""  # of every variant, beside its own; no part of its name
    ablation: bool = False  # one more variant for each pass that may be left out of each variant
    named: bool = False  # measured only where --only names it: its cells are others' too, beside rivals that few machines have
    base: str = ""  # the case beside which others are told, a visible pair and one that warpgroups or blocks visit

    def choices_of(self, variant):
        """All that a variant compiles with, as one of the command line."""
        return ",".join(filter(None, [self.choices, variant]))

    def cells(self):
        """(d, n, case) of each cell; all of one length before the next, so that a budget that ends cuts lengths."""
        return [(d, n, case) for n, d, case in itertools.product(self.n, self.d, self.case)]


def orders(others):
    """Variants: the order of products that the compiler takes, and so many others."""
    return ["", *("order=%d" % order for order in range(1, others + 1))]


# Masks that are data, and sinks: (section, d, n, cases, peers). The first case of a section is what others are told beside.
BESIDE = [
    ("documents", 128, 16384, ["causal"], []),
    ("documents", 128, 16384, ["documents-12", "documents-long", "documents-12-equal", "documents-64"], ["flex"]),
    ("documents", 128, 8192, ["causal"], []),
    ("documents", 128, 8192, ["documents-8"], ["flex"]),
    ("packed", 128, 16384, ["causal", "packed-12", "packed-12-equal", "packed-64"], [*FLASH, "fa2"]),
    *((name + "-sizes", d, 16384, ["causal", *("%s-%s" % (name, lengths) for lengths in ("12", "12-equal", "64"))], [])
      for d in (64, 256) for name in ("documents", "packed")),
    ("holes", 128, 16384, ["causal"], []),
    ("holes", 128, 16384, ["documents-prefix", "documents-turns"], ["flex"]),
    ("limits", 128, 8192, ["causal", "limits_causal", "documents-8", "limits_documents"], []),
    ("blocks", 128, 16384, ["full", "blocks-0.50", "blocks-0.25", "blocks-0.10"], []),
    ("sinks", 64, 8192, ["window-128", "sink-window-128"], []),
]
BASES = {name: cases[0] for name, _, _, cases, _ in reversed(BESIDE)}


def beside(backward):
    return [Section("backward-" * backward + name, [d], [n], cases, peers, backward=backward, base=BASES[name])
            for name, d, n, cases, peers in BESIDE]


def beside_flash(peers, suffix):
    """Beside FlashAttention's newest, which few machines have."""
    lengths, cases = [8192, 2048, 16384], ["full", "causal"]
    return [
        Section("flash" + suffix, SIZES, lengths, cases, peers, named=True),
        Section("backward-flash" + suffix, SIZES, lengths, cases, peers, backward=True, named=True),
        Section("backward-flash" + suffix, [192], lengths, [*cases, "narrow", "narrow-causal"], peers, backward=True,
                named=True),
    ]


# A preset is named after the target that it is for. What matters most comes first.
PRESETS = {
    "sm_90a": [
        Section("grid", SIZES, [8192, 16384], ["full", "causal"], ["cudnn", *FLASH, "fa2"]),
        Section("scores", [128], [8192], ["full", *MODIFIED], ["flex", *FLASH]),
        Section("scores", [128], [8192], ["dropout"], ["fa2"]),
        Section("grid", SIZES, [2048, 4096, 1024, 512], ["full", "causal"], ["cudnn", *FLASH, "fa2"]),
        Section("shares", SIZES, [8192], ["full", *MODIFIED, "dropout"], []),
        Section("window", SIZES, [65536], ["causal", "window"], FLASH),
        Section("gqa", SIZES, [8192], ["gqa", "gqa-causal"], ["cudnn", *FLASH, "fa2"]),
        Section("energy", SIZES, [8192], ["full", "causal"], ["cudnn", *FLASH, "fa2"]),
        Section("backward-energy", SIZES, [8192], ["full", "causal"], ["cudnn", *FLASH], backward=True),
        Section("lse-off", SIZES, [8192, 16384], ["full", "causal"], ["cudnn", *FLASH], lse=False),
        Section("backward", SIZES, [8192, 2048, 16384, 512], ["full", "causal"], ["cudnn", *FLASH, "fa2"], backward=True),
        *(section for rival, suffix in (("fa4", ""), ("fa3", "-3"))
          for section in beside_flash(["cudnn", rival], suffix)),
        Section("backward-det", SIZES, [8192, 2048, 16384], ["full", "causal"], ["cudnn"], backward=True,
                choices="deterministic=1"),
        Section("backward-gqa", [128], [8192], ["gqa", "gqa-causal"], ["cudnn", *FLASH, "fa2"], backward=True),
        Section("backward-scores", [128], [8192], ["full", *MODIFIED], ["flex"], backward=True),
        Section("backward-scores", [128], [8192], ["dropout"], ["fa2"], backward=True),
        Section("backward-sizes", [96], [2048, 8192, 16384], ["full", "causal"], ["cudnn", *FLASH], backward=True),
        Section("backward-wide", [192], [2048, 8192, 16384], ["full", "causal", "narrow", "narrow-causal"],
                ["cudnn", *FLASH], backward=True),
        Section("backward-wide", [256], [2048, 8192, 16384], ["full", "causal"], ["cudnn", *FLASH], backward=True),
        Section("backward-bias", [128], [8192], ["full", "bias", "bias-of-heads"], ["flex"], backward=True),
        Section("backward-ablation", [64, 128], [8192], ["full", "causal"], [], variant=["deterministic=1", "fused=1"],
                backward=True, ablation=True),
        Section("ablation", SIZES, [8192], ["full", "causal"], [], ablation=True),
        Section("orders", SIZES, [8192], ["full"], [], variant=orders(2)),
        Section("orders-q", SIZES, [8192], ["full"], [], variant=orders(8), backward=True,
                choices="deterministic=1,gradients=q"),
        Section("orders-kv", SIZES, [8192], ["full"], [], variant=orders(4), backward=True,
                choices="deterministic=1,gradients=k+v"),
        Section("orders-fused", [64, 128], [8192], ["full"], [], variant=orders(7), backward=True, choices="fused=1"),
        Section("gallery", [128], [8192], list(TIMED), ["flex"]),
        Section("backward-gallery", [128], [8192], list(TIMED), ["flex"], backward=True),
        *beside(backward=False), *beside(backward=True),
    ],
    "sm_80": [
        Section("grid", SIZES, [8192, 16384, 2048], ["full", "causal"], ["fa2"]),
        Section("scores", SIZES, [8192], ["dropout"], ["fa2"]),
        Section("gqa", SIZES, [8192], ["gqa", "gqa-causal"], ["fa2"]),
        Section("shares", SIZES, [8192], ["full", *MODIFIED, "dropout"], []),
        Section("window", SIZES, [65536], ["causal", "window"], []),
        Section("backward", SIZES, [8192, 2048, 16384, 512], ["full", "causal"], ["fa2"], backward=True),
        Section("backward-sizes", [96], [8192, 2048, 16384], ["full", "causal"], ["fa2"], backward=True),
        Section("backward-wide", [192], [8192, 2048, 16384], ["full", "causal", "narrow", "narrow-causal"], ["fa2"],
                backward=True),
        Section("backward-scores", [128], [8192], ["full", *MODIFIED], ["flex"], backward=True),
        Section("backward-scores", [128], [8192], ["dropout"], ["fa2"], backward=True),
        Section("ablation", SIZES, [8192], ["full", "causal"], [], ablation=True),
    ],
}
# What a preset says; with one, they are not for the command line.
CHOICES = {"d": SIZES, "n": [8192, 16384, 2048], "case": ["full", "causal"], "variant": [], "ablation": False,
           "no_lse": False, "backward": False}
PEERS = ["cudnn", *FLASH, "fa2", "flex"]

# Seconds beside what rivals run, as seen on an H200: a cell's tensors, its check and its report; what is compiled
# on many threads before all cells; what peers compile for each head dimension and case.
CELL_SECONDS, PROGRAM_SECONDS, START_SECONDS = 0.8, 0.2, 10
COMPILE_SECONDS = {"flex": 8, "fa4": 12}


def parse_options(arguments=None, description=None):
    parser = argparse.ArgumentParser(prog="gpu_compare.py", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--target")
    parser.add_argument("--preset", choices=list(PRESETS))
    numbers = lambda text: [int(part) for part in text.split(",")]
    words = lambda text: [part for part in text.split(",") if part]
    parser.add_argument("--only", type=words)
    parser.add_argument("--d", type=numbers)
    parser.add_argument("--n", type=numbers)
    parser.add_argument("--case", type=words)
    parser.add_argument("--peers", type=words)
    parser.add_argument("--variant", action="append")
    parser.add_argument("--ablation", action="store_true", default=None)
    parser.add_argument("--no-lse", action="store_true", default=None)
    parser.add_argument("--backward", action="store_true", default=None)
    parser.add_argument("--against")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=float, default=300)
    parser.add_argument("--energy-seconds", type=float, default=0)
    parser.add_argument("--bursts", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    if options.backward and options.no_lse:
        parser.error("--backward takes LSE; leave out --no-lse")
    given = ["--" + name.replace("_", "-") for name in CHOICES if getattr(options, name) is not None]
    if options.preset and given:
        parser.error("--preset says what %s would; leave out one or the other" % ", ".join(given))
    if options.only is not None:
        known = [section.name for section in PRESETS.get(options.preset, [])]
        unknown = [name for name in options.only if name not in known]
        if unknown or not known:
            parser.error("--only takes sections of a --preset (%s); got %s" % (
                ", ".join(dict.fromkeys(known)) or "none is given", ", ".join(unknown)))
    for option, known in ("peers", PEERS), ("case", list(CASES)):
        unknown = [name for name in getattr(options, option) or [] if name not in known]
        if unknown:
            parser.error("--%s takes some of %s; got %s" % (option, ", ".join(known), ", ".join(unknown)))
    for name, value in CHOICES.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    options.estimate = options.estimate or options.preset is not None
    options.target = options.target or options.preset or "cuda"
    return options


def make_sections(options, target, compiler):
    """What the options ask for; `target` is as fa-opt takes it, which lists its passes for an ablation."""
    if options.preset:
        sections = [section for section in PRESETS[options.preset]
                    if (section.name in options.only if options.only else not section.named)]
    else:
        peers = ["cudnn", *FLASH, "fa2"] if options.peers is None else options.peers
        name = ("backward-ablation" if options.backward and options.ablation else
                "backward" if options.backward else "ablation" if options.ablation or options.variant else "scores" if "flex" in peers else
                "grid" if not options.no_lse else "lse-off")
        sections = [Section(name, options.d, options.n, options.case, peers,
                            lse=not options.no_lse, variant=["", *options.variant],
                            backward=options.backward, ablation=options.ablation)]
    if options.peers is not None:
        sections = [dataclasses.replace(section, peers=[peer for peer in section.peers if peer in options.peers])
                    for section in sections]
    if any(section.ablation for section in sections):
        passes = optional_passes(compiler, target)
        sections = [dataclasses.replace(section, variant=section.variant +
                                        [",".join(filter(None, [variant, "leave_out=" + name]))
                                         for variant in section.variant for name in passes])
                    if section.ablation else section for section in sections]
    return sections


def remove_peers(sections, missing):
    """The sections without the peers that cannot be measured on this machine."""
    return [dataclasses.replace(section, peers=[peer for peer in section.peers if peer not in missing])
            for section in sections]


class Budget:
    """How long sections take, and whether what is left allows one more cell."""

    def __init__(self, options):
        self.options, self.compiled = options, set()
        self.planned = self.spent = 0.0

    def start_seconds(self, sections):
        """What is compiled before the first cell."""
        programs = {(d, case, section.lse, variant) for section in sections
                    for d, _, case in section.cells() for variant in section.variant}
        return START_SECONDS + PROGRAM_SECONDS * len(programs) * (2 if self.options.against else 1)

    def cell_seconds(self, section, d, case):
        """What a cell is expected to take; peers compile each head dimension and case once."""
        peers = [peer for peer in section.peers if not refusal(peer, CASES[case])]
        rivals = len(peers) + len(section.variant) * (2 if self.options.against else 1)
        half = self.options.milliseconds / 2000
        each = self.options.rounds * (half + max(half, self.options.energy_seconds))
        if self.options.bursts:
            each += 0.1
        return CELL_SECONDS + rivals * each * 1.05 + sum(
            COMPILE_SECONDS.get(peer, 0) for peer in peers
            if peer == "flex" or (peer, d, case, section.lse) not in self.compiled)

    def add(self, section, d, case, seconds):
        """Count a cell that took `seconds`."""
        self.planned += self.cell_seconds(section, d, case)
        self.spent += seconds
        self.compiled.update((peer, d, case, section.lse) for peer in section.peers)

    def allows(self, section, d, case, elapsed):
        """Whether one more cell fits, if it takes as much longer than expected as the ones before."""
        if self.options.seconds is None:
            return True
        slower = max(1.0, self.spent / self.planned) if self.planned else 1.0
        return elapsed + slower * self.cell_seconds(section, d, case) <= self.options.seconds

    def plan(self, sections):
        """-> (lines that say how long each section takes, seconds of all)"""
        total = self.start_seconds(sections)
        lines = ["%-10s %4.0f s" % ("start", total)]
        for section in sections:
            before = self.planned
            for d, _, case in section.cells():
                self.add(section, d, case, 0)
            seconds = self.planned - before
            total += seconds
            lines.append("%-10s %4.0f s, %d cells, n = %s" % (
                section.name, seconds, len(section.cells()), ", ".join(map(str, section.n))))
        return lines + ["%-10s %4.0f s" % ("all", total)], total


def parse_variant(text):
    choices = {}
    for part in filter(None, text.split(",")):
        name, value = part.split("=")
        choices[name] = int(value) if value.isdigit() else value.replace("+", ",")
    return choices
