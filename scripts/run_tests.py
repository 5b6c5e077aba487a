#!/usr/bin/env python3
"""Runs every suite of a build and prints the closing line.

    run_tests.py BUILD_DIR

A suite is lit (with the unit tests, each of which it counts), or a command
whose last line reads `N passed, N failed, N skipped`. The sum of all is the
last line here; the exit status is 0 only if nothing failed and every suite ran.
"""

import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
DISCOVERED = re.compile(r"^Total Discovered Tests: (\d+)$")
LIT = ["/usr/lib/llvm-22/bin/lit"]

# lit's result codes; whatever is not named here has failed.
PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}
# What to do about features that tests lack.
REMEDIES = {"ptxas": "ptxas is of the CUDA toolkit, put it on PATH",
            "terminal": "no pseudo-terminal can be had, mount /dev/pts"}


def print_reasons(tests):
    """Why lit tests were skipped, each reason once."""
    reasons = [re.sub(r"^Test requires the following unavailable features: ", "needs ",
                      test.get("output", "").strip().split("\n")[0])
               for test in tests if test["code"] in SKIPPED]
    for reason in sorted(set(reasons)):
        remedies = [remedy for word, remedy in REMEDIES.items() if word in reason]
        print("skipped %d: %s" % (reasons.count(reason), "; ".join([reason or "says nothing"] + remedies)))


def run_lit(build):
    """-> (passed, failed, skipped) of the lit and unit tests."""
    results = os.path.join(build, "test", "results.json")
    if os.path.exists(results):
        os.remove(results)
    command = LIT + ["-s", "-v", "--order=lexical", "-o", results,
                     os.path.join(build, "test"), os.path.join(build, "test", "unit")]
    # Its file leaves out what skips itself; its summary counts all.
    discovered = 0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        sys.stdout.write(line)
        if match := DISCOVERED.match(line):
            discovered = int(match.group(1))
    status = process.wait()
    try:
        with open(results) as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError, KeyError) as error:
        print("run_tests.py: lit left no results: %s" % error)
        return 0, 1, 0
    codes = [test["code"] for test in tests]
    passed = sum(code in PASSED for code in codes)
    skipped = sum(code in SKIPPED for code in codes)
    failed = len(codes) - passed - skipped
    skipped += max(0, discovered - len(codes))
    print_reasons(tests)
    if not passed or (status != 0 and failed == 0):
        failed += 1  # nothing ran, or lit itself is not content
    return passed, failed, skipped


def run_command(command):
    """-> (passed, failed, skipped) by the command's last line."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    last = ""
    for line in process.stdout:
        if last:
            print(last)
        last = line.rstrip("\n")
    status = process.wait()
    match = CLOSING.match(last)
    if not match:
        print(last)
        print("run_tests.py: '%s' ended with %d and without a count" % (" ".join(command), status))
        return 0, 1, 0
    passed, failed, skipped = (int(group) for group in match.groups())
    if status != 0 and failed == 0:
        failed = 1
    return passed, failed, skipped


def suites(build):
    python = sys.executable
    yield "lint", lambda: run_command([python, "scripts/lint.py"])
    yield "lint's self-test", lambda: run_command([python, "scripts/lint.py", "--self-test"])
    yield "lit and unit tests", lambda: run_lit(build)
    yield "tests on a GPU", lambda: run_command([os.path.join(build, "bin", "fa-test-gpu")])
    yield "packaging", lambda: run_command([python, "scripts/make_dist.py", "--check", build])
    for name, script in (
        ("the Python package", "scripts/test_python.py"),
        ("one process with PyTorch", "scripts/check_torch.py"),
        ("gradients beside PyTorch's", "scripts/check_gradients.py"),
        ("fuzzing", "scripts/fuzz.py"),
    ):
        if os.path.exists(os.path.join(ROOT, script)):
            yield name, lambda script=script: run_command([python, script, build])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    sys.stdout.reconfigure(line_buffering=True)
    total = [0, 0, 0]
    for name, run in suites(build):
        start = time.time()
        counts = run()
        print("-- %s: %d passed, %d failed, %d skipped (%.1f s)" % (name, *counts, time.time() - start))
        total = [a + b for a, b in zip(total, counts)]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    sys.exit(1 if total[1] else 0)


if __name__ == "__main__":
    main()
