#!/usr/bin/env python3
"""Runs flash-attn's own tests, unchanged, on fa_mlir's functions.

    run_flash_attn_tests.py --tests DIR [--sample N] [--seed S] [--filter PATTERN] [--collect-only]

DIR is a checkout of flash-attn that the user has: `tests/test_flash_attn.py` and `hopper/test_flash_attn.py` are run.
Modules in test/python/shims stand for its package. N cases are drawn from all by the seed; those that exclusions.txt there
names are counted with their reason. Needs PyTorch, a GPU, pytest and einops; --collect-only needs no GPU. The last line counts.
"""

import argparse
import collections
import importlib
import os
import random
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHIMS = os.path.join(ROOT, "test", "python", "shims")
FILES = ("tests/test_flash_attn.py", "hopper/test_flash_attn.py")
# The tests' own switches for builds without a feature.
SWITCHES = {"SPLIT": "keys are never split", "PACKGQA": "programs choose their rows themselves",
            "PAGEDKV": "no caches yet", "APPENDKV": "no caches yet", "FP8": "no fp8 yet"}


def read_exclusions():
    with open(os.path.join(SHIMS, "exclusions.txt")) as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return [(re.compile(pattern), reason) for pattern, reason in (line.split("\t") for line in lines)]


class Plugin:
    """Draws the cases, and counts how they end."""

    def __init__(self, options):
        self.options, self.counts, self.reasons = options, collections.Counter(), collections.Counter()
        self.collected = self.drawn = 0

    def pytest_collection_modifyitems(self, config, items):
        exclusions, chosen = read_exclusions(), []
        for item in items:
            # The path as it is in a checkout.
            name = os.path.relpath(str(item.path), self.options.tests) + item.nodeid[item.nodeid.index("::"):]
            reason = next((reason for pattern, reason in exclusions if pattern.search(name)), None)
            if reason:
                self.reasons[reason] += 1
            elif not self.options.filter or re.search(self.options.filter, name):
                chosen.append(item)
        if self.options.sample and self.options.sample < len(chosen):
            chosen = random.Random(self.options.seed).sample(chosen, self.options.sample)
        kept = set(map(id, chosen))
        left = [item for item in items if id(item) not in kept]
        config.hook.pytest_deselected(items=left)
        self.collected, self.drawn = len(items), len(chosen)
        items[:] = chosen

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1


def find_device(collect_only):
    """End with a clear word where there is no GPU; to collect cases alone, have the tests' questions answered."""
    import torch
    if torch.cuda.is_available():
        return
    if not collect_only:
        print("run_flash_attn_tests.py: flash-attn's tests need a CUDA device, and there is none; --collect-only lists "
              "what would run")
        print("0 passed, 0 failed, 0 skipped")
        sys.exit(2)
    print("no CUDA device: cases are collected as for one of compute capability 9.0")
    torch.cuda.get_device_capability = lambda device=None: (9, 0)


def run_file(file, options, total):
    """Run the drawn cases of a file; count them in `total`, and return (failures outside of cases, excluded cases)."""
    import pytest
    if not os.path.exists(os.path.join(options.tests, file)):
        print("%s: not in %s" % (file, options.tests))
        return 1, 0
    # Both files are named test_flash_attn, so each has a process's worth of modules to itself.
    for module in ("test_flash_attn", "test_util", "padding"):
        sys.modules.pop(module, None)
    plugin = Plugin(options)
    arguments = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--rootdir", options.tests]
    arguments += ["--collect-only"] if options.collect_only else []
    status = pytest.main(arguments + [os.path.join(options.tests, file)], plugins=[plugin])
    print("%s: %d cases drawn of %d" % (file, plugin.drawn, plugin.collected))
    for reason, count in sorted(plugin.reasons.items()):
        print("%s: excluded %d: %s" % (file, count, reason))
    total += plugin.counts
    return status not in (0, 5) and not plugin.counts["failed"], sum(plugin.reasons.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--filter")
    parser.add_argument("--collect-only", action="store_true")
    options = parser.parse_args()
    options.tests = os.path.abspath(options.tests)
    for name, reason in SWITCHES.items():
        os.environ["FLASH_ATTENTION_DISABLE_" + name] = "TRUE"
        print("without %s: %s" % (name.lower(), reason))
    find_device(options.collect_only)
    # Before pytest puts the folders of the tests first, where the checkout has modules of these names.
    sys.path.insert(0, SHIMS)
    for module in ("flash_attn.flash_attn_interface", "flash_attn.bert_padding", "flash_attn.layers.rotary",
                   "flash_attn_interface"):
        importlib.import_module(module)
    total = collections.Counter()
    failed = excluded = 0
    for file in FILES:
        outside, left_out = run_file(file, options, total)
        failed, excluded = failed + outside, excluded + left_out
    print("seed %d; excluded %d; skipped are those that the tests skip themselves" % (options.seed, excluded))
    print("%d passed, %d failed, %d skipped" % (total["passed"], total["failed"] + failed, total["skipped"]))
    sys.exit(1 if total["failed"] + failed else 0)


if __name__ == "__main__":
    main()
