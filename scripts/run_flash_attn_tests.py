#!/usr/bin/env python3
"""Runs flash-attn's own tests, unchanged, on fa_mlir's functions.

    run_flash_attn_tests.py --tests DIR [--file FILE] [--sample N] [--seed S] [--skip K] [--filter PATTERN]
                            [--processes P] [--seconds T] [--collect-only]

DIR is a checkout of flash-attn that the user has: `tests/test_flash_attn.py` and `hopper/test_flash_attn.py` are run, or
FILE of these. Modules in test/python/shims stand for its package. N cases of each file are drawn from all by the seed; those
that exclusions.txt there names are counted with their reason, and so are those that its switches narrow. The first K of those
drawn are left out: an earlier run, which time ended, had them. P processes share the cases; after T seconds, some of which
collecting takes, none begins, and those that run 30 s later have failed.
Those that found no memory beside the others run once more, one at a time, for 30 s at most.
Needs PyTorch, a GPU, pytest and einops; --collect-only needs no GPU. The last line counts.
"""

import argparse
import collections
import gc
import importlib
import math
import multiprocessing
import multiprocessing.connection
import os
import random
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHIMS = os.path.join(ROOT, "test", "python", "shims")
FILES = ("tests/test_flash_attn.py", "hopper/test_flash_attn.py")
GRACE = 30
NO_MEMORY = re.compile("OutOfMemoryError|OUT_OF_MEMORY|out of memory|STATUS_ALLOC_FAILED")
# Begins the tests' own switches for builds without a feature: environment variables, whose values they keep under the rest.
SWITCH = "FLASH_ATTENTION_"


def read_exclusions(processes):
    """Return (pattern, reason) of the cases that so many processes do not run, and reasons by switch."""
    with open(os.path.join(SHIMS, "exclusions.txt")) as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    switches = {name: reason for name, reason, *_ in lines if name.startswith(SWITCH)}
    return [(re.compile(pattern), reason) for pattern, reason, *shared in lines
            if pattern not in switches and (processes > 1 or not shared)], switches


class Plugin:
    """Draws the cases, has processes share them, and counts how they end."""

    def __init__(self, options):
        self.options, self.counts = options, collections.Counter()
        self.reasons, self.narrowed = collections.Counter(), collections.Counter()
        self.exclusions, self.switches = read_exclusions(options.processes)
        self.end = time.monotonic() + options.seconds
        self.collected = self.drawn = self.begun = 0
        self.short = {}  # reports of cases that found no memory beside others
        self.config = self.connection = None  # of a process that runs cases: to the one that counts

    def pytest_pycollect_makeitem(self, collector, name, obj):
        """Count the cases of a function that is excluded as a whole without making them: they are most of all."""
        case = "%s::%s" % (os.path.relpath(str(collector.path), self.options.tests), name)
        reason = self.find_reason(case) if callable(obj) and name.startswith("test_") else None
        if not reason:
            return None
        marks = [mark for mark in getattr(obj, "pytestmark", []) if mark.name == "parametrize"]
        count = math.prod(len(mark.args[1]) for mark in marks)
        self.collected += count
        self.reasons[reason] += count
        return []

    def find_reason(self, case):
        return next((reason for pattern, reason in self.exclusions if pattern.search(case)), None)

    def pytest_collection_modifyitems(self, config, items):
        chosen = []
        for item in items:
            # The path as it is in a checkout.
            name = os.path.relpath(str(item.path), self.options.tests) + item.nodeid[item.nodeid.index("::"):]
            reason = self.find_reason(name)
            if reason:
                self.reasons[reason] += 1
                continue
            self.narrowed.update(reason for switch, reason in self.switches.items()
                                 if switch[len(SWITCH):] in item.function.__code__.co_names)
            if not self.options.filter or re.search(self.options.filter, name):
                chosen.append(item)
        if self.options.sample and self.options.sample < len(chosen):
            chosen = random.Random(self.options.seed).sample(chosen, self.options.sample)
        chosen = chosen[self.options.skip:]
        kept = set(map(id, chosen))
        left = [item for item in items if id(item) not in kept]
        config.hook.pytest_deselected(items=left)
        self.collected, self.drawn = self.collected + len(items), len(chosen)
        items[:] = chosen

    def pytest_runtestloop(self, session):
        """Run the cases in processes of their own, forked once they are collected."""
        if session.config.option.collectonly or not session.items:
            return None
        self.share(session, list(range(len(session.items))), self.options.processes, self.end, self.short)
        if self.short:
            print("\n%d cases found no memory beside others, and run again" % len(self.short), flush=True)
            held = dict(self.short)
            begun = self.share(session, sorted(held), 1, time.monotonic() + GRACE, None)
            for index in set(held) - begun:
                session.config.hook.pytest_runtest_logreport(report=held[index])
        return True

    def share(self, session, indices, count, end, short):
        """Run the cases of these indices in so many processes, and return those that began.

        The reports of those that find no memory go to `short`, where it is given, by their indices.
        """
        context, running, begun = multiprocessing.get_context("fork"), {}, set()
        following = context.Value("q", 0)

        def start():
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=self.work, args=(session, indices, following, end, sender))
            process.start()
            sender.close()
            running[receiver] = process, None

        for _ in range(min(count, len(indices))):
            start()
        while running:
            left = end + GRACE - time.monotonic()
            if left < 0:
                for process, _ in running.values():
                    process.kill()
            for connection in multiprocessing.connection.wait(list(running), None if left < 0 or left == float("inf") else left):
                process, index = running[connection]
                try:
                    kind, value = connection.recv()
                except EOFError:
                    del running[connection]
                    process.join()
                    if index is not None:
                        self.report_death(session.items[index], process.exitcode)
                    if process.exitcode and following.value < len(indices) and time.monotonic() < end:
                        start()
                    continue
                if kind == "report":
                    report = session.config.hook.pytest_report_from_serializable(config=session.config, data=value)
                    if short is not None and report.failed and NO_MEMORY.search(str(report.longrepr)):
                        short[index] = report
                    else:
                        session.config.hook.pytest_runtest_logreport(report=report)
                else:
                    running[connection] = process, value if kind == "begin" else None
                    if kind == "begin":
                        begun.add(value)
                        self.begun += short is not None
        return begun

    def work(self, session, indices, following, end, connection):
        """Run one case after the other, until none is left, or the device refuses all that follows."""
        import torch
        self.connection, self.config = connection, session.config
        self.config.pluginmanager.unregister(name="terminalreporter")
        while time.monotonic() < end:
            with following.get_lock():
                place, following.value = following.value, following.value + 1
            if place >= len(indices):
                break
            item = session.items[indices[place]]
            connection.send(("begin", indices[place]))
            self.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            connection.send(("end", indices[place]))
            try:
                torch.cuda.synchronize()
                gc.collect()
                torch.cuda.empty_cache()  # for the other processes
            except RuntimeError:
                os._exit(1)

    @staticmethod
    def report_death(item, status):
        import pytest
        words = "the process of this case ended with status %s%s" % (
            status, ", since no time was left" if status == -signal.SIGKILL else "")
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", words, "call")
        item.config.hook.pytest_runtest_logreport(report=report)

    def pytest_runtest_logreport(self, report):
        if self.connection is not None:
            data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
            self.connection.send(("report", data))
        elif report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1


def find_device(collect_only):
    """End with a clear word where there is no GPU; answer what tests ask of one before they are collected.

    Another process looks, since processes that are forked from one that uses a device cannot.
    """
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # nor from one that counts devices by CUDA
    import torch
    look = "import torch; print(torch.cuda.get_device_capability() if torch.cuda.is_available() else '')"
    run = subprocess.run([sys.executable, "-c", look], stdout=subprocess.PIPE, text=True, check=True)
    capability = tuple(map(int, re.findall(r"\d+", run.stdout)))
    if not capability and not collect_only:
        print("run_flash_attn_tests.py: flash-attn's tests need a CUDA device, and there is none; --collect-only lists "
              "what would run")
        print("0 passed, 0 failed, 0 skipped")
        sys.exit(2)
    if not capability:
        print("no CUDA device: cases are collected as for one of compute capability 9.0")
    torch.cuda.get_device_capability = lambda device=None: capability or (9, 0)


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
    arguments += ["--capture=sys", "--durations=5", "-rf"]  # each process's own output
    arguments += ["--collect-only"] if options.collect_only else []
    status = pytest.main(arguments + [os.path.join(options.tests, file)], plugins=[plugin])
    print("%s: %d cases drawn of %d, after the first %d" % (file, plugin.drawn, plugin.collected, options.skip))
    if not options.collect_only and plugin.begun < plugin.drawn:
        print("%s: %d cases were not begun after %g s; --skip=%d goes on there" % (
            file, plugin.drawn - plugin.begun, options.seconds, options.skip + plugin.begun))
    for reason, count in sorted(plugin.reasons.items()):
        print("%s: excluded %d: %s" % (file, count, reason))
    for reason, count in sorted(plugin.narrowed.items()):
        print("%s: narrowed %d: %s" % (file, count, reason))
    total += plugin.counts
    return status not in (0, 5) and not plugin.counts["failed"], sum(plugin.reasons.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--file", choices=FILES)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--filter")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--collect-only", action="store_true")
    options = parser.parse_args()
    options.tests = os.path.abspath(options.tests)
    os.environ.update(dict.fromkeys(read_exclusions(options.processes)[1], "TRUE"))
    find_device(options.collect_only)
    # Before pytest puts the folders of the tests first, where the checkout has modules of these names.
    sys.path.insert(0, SHIMS)
    for module in ("flash_attn.flash_attn_interface", "flash_attn.bert_padding", "flash_attn.layers.rotary",
                   "flash_attn_interface"):
        importlib.import_module(module)
    total = collections.Counter()
    failed = excluded = 0
    for file in [options.file] if options.file else FILES:
        outside, left_out = run_file(file, options, total)
        failed, excluded = failed + outside, excluded + left_out
    print("seed %d; excluded %d; skipped are those that the tests skip themselves" % (options.seed, excluded))
    print("%d passed, %d failed, %d skipped" % (total["passed"], total["failed"] + failed, total["skipped"]))
    sys.exit(1 if total["failed"] + failed else 0)


if __name__ == "__main__":
    main()
