#!/usr/bin/env python3
"""Fuzzes the compiler and the runtime of a build.

    fuzz.py BUILD_DIR [--count=N] [--seed=S]

500 inputs (`make test`), or 20,000 of a build with sanitizers (`make fuzz`).
Inputs that fail are kept in BUILD_DIR/fuzz. The last line counts:
`N passed, N failed, N skipped`.
"""

import argparse
import os
import shutil
import subprocess
import sys


def is_sanitized(build):
    with open(os.path.join(build, "CMakeCache.txt")) as cache:
        return "FA_SANITIZE:BOOL=ON" in cache.read()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    out = os.path.join(arguments.build, "fuzz")
    shutil.rmtree(out, ignore_errors=True)
    count = arguments.count or (20000 if is_sanitized(arguments.build) else 500)
    program = os.path.join(arguments.build, "test", "Fuzz", "fa-fuzz")
    if not os.path.exists(program):
        print("fuzz.py: %s is not built; run `make build`" % program)
        sys.exit(1)
    # LLVM's own code is not instrumented, so what it allocates looks overrun.
    os.environ.setdefault("ASAN_OPTIONS", "detect_container_overflow=0:detect_leaks=0:"
                          "allow_user_poisoning=0")
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    sys.exit(subprocess.run([program, "--count=%d" % count, "--seed=%d" % arguments.seed,
                             "--out=" + out]).returncode)


if __name__ == "__main__":
    main()
