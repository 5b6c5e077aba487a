"""The command line of gpu_compare.py, and what a preset of it measures; needs no PyTorch.

A section is a part of a table: lengths, head dimensions and attentions with the same rivals. Each row of the
JSON names its section, so that tables.py can tell them apart in one file.
"""

import argparse
import dataclasses
import itertools
from typing import List

from estimate import optional_passes

SIZES, LENGTHS = [64, 128, 256], [512, 1024, 2048, 4096, 8192, 16384]
MODIFIED = ["tanh", "alibi", "softcap", "window", "document"]


@dataclasses.dataclass
class Section:
    name: str  # grid, lse-off, scores, shares, window or ablation: tables.py has one table of each
    d: List[int]
    n: List[int]
    case: List[str]  # of gpu_cases.CASES
    peers: List[str]
    lse: bool = True
    beside: str = ""  # a case of ours that is timed in the same rounds, on the same tensors
    milliseconds: float = 5  # a rival in a round
    variant: List[str] = dataclasses.field(default_factory=lambda: [""])
    ablation: bool = False  # one more variant for each pass that may be left out

    def cells(self):
        return itertools.product(self.d, self.n, self.case)


# A preset is named after the target that it is for.
PRESETS = {
    "sm_90a": [
        Section("grid", SIZES, LENGTHS, ["full", "causal"], ["cudnn", "fa2"]),
        Section("lse-off", SIZES, [8192, 16384], ["full", "causal"], ["cudnn"], lse=False),
        # Each at its own clock: plain and causal attention are at the power limit, the others are not.
        Section("window", SIZES, [65536], ["causal", "window"], [], beside="causal", milliseconds=150),
        Section("shares", SIZES, [8192], [*MODIFIED, "dropout"], [], beside="full", milliseconds=150),
        Section("ablation", SIZES, [8192], ["full", "causal"], [], ablation=True),
        # Last, since FlexAttention takes seconds to compile each.
        Section("scores", [128], [8192], ["full", *MODIFIED], ["flex"]),
        Section("scores", [128], [8192], ["dropout"], ["flex", "fa2"]),
    ],
    "sm_80": [
        Section("grid", SIZES, [2048, 8192, 16384], ["full", "causal"], ["fa2"]),
        Section("window", SIZES, [65536], ["causal", "window"], [], beside="causal", milliseconds=150),
        Section("shares", SIZES, [8192], [*MODIFIED, "dropout"], [], beside="full", milliseconds=150),
        Section("ablation", SIZES, [8192], ["full", "causal"], [], ablation=True),
        Section("scores", SIZES, [8192], ["dropout"], ["fa2"]),
    ],
}
# What a preset says; with one, they are not for the command line.
CHOICES = {"d": SIZES, "n": [2048, 8192, 16384], "case": ["full", "causal"], "peers": ["cudnn", "fa2"],
           "variant": [], "ablation": False, "no_lse": False, "milliseconds": 5}


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
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--milliseconds", type=float)
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    given = ["--" + name.replace("_", "-") for name in CHOICES if getattr(options, name) is not None]
    if options.preset and given:
        parser.error("--preset says what %s would; leave out one or the other" % ", ".join(given))
    if options.only is not None:
        known = [section.name for section in PRESETS.get(options.preset, [])]
        unknown = [name for name in options.only if name not in known]
        if unknown or not known:
            parser.error("--only takes sections of a --preset (%s); got %s" % (
                ", ".join(dict.fromkeys(known)) or "none is given", ", ".join(unknown)))
    for name, value in CHOICES.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    options.estimate = options.estimate or options.preset is not None
    options.target = options.target or options.preset or "cuda"
    options.more_peers = []
    return options


def make_sections(options, target, compiler):
    """What the options ask for; `target` is as fa-opt takes it, which lists its passes for an ablation."""
    if options.preset:
        sections = [section for section in PRESETS[options.preset]
                    if not options.only or section.name in options.only]
    else:
        name = ("ablation" if options.ablation else "scores" if "flex" in options.peers else
                "grid" if not options.no_lse else "lse-off")
        sections = [Section(name, options.d, options.n, options.case, options.peers,
                            lse=not options.no_lse, milliseconds=options.milliseconds,
                            variant=["", *options.variant],
                            ablation=options.ablation)]
    if any(section.ablation for section in sections):
        passes = optional_passes(compiler, target)
        sections = [dataclasses.replace(section, variant=section.variant +
                                        ["leave_out=" + name for name in passes])
                    if section.ablation else section for section in sections]
    return sections


def parse_variant(text):
    choices = {}
    for part in filter(None, text.split(",")):
        name, value = part.split("=")
        choices[name] = int(value) if value.isdigit() else value.replace("+", ",")
    return choices
