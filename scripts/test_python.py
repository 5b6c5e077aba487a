#!/usr/bin/env python3
"""Tests the Python package from its wheel.

    test_python.py BUILD_DIR                 build the wheel, install it in a fresh environment, test it there
    test_python.py --python=PYTHON BUILD_DIR the same beside the packages of another Python, say PyTorch; $FA_PYTHON names
                                             it, too, and where this Python has PyTorch it is this one
    test_python.py --installed [FILTER]      run the tests in this Python, which has the package, maybe on a GPU

The fresh environment is outside of the tree and uses no network; it sees the packages of its Python (Debian's NumPy).
The wheel has the seed that `make wheel` or `make dist` left in the build; to make one takes more than a minute.
Tests that need PyTorch or a GPU are counted as skipped where there is none. The last line counts.
"""

import collections
import faulthandler
import glob
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
TESTS = os.path.join(ROOT, "test", "python")


class Result(unittest.TextTestResult):
    """Times tests, and ends the process with each thread's place if one takes too long."""

    MOST_SECONDS = 300
    times = {}

    def startTest(self, test):
        # sys.stderr may be a buffer of the runner's.
        faulthandler.dump_traceback_later(self.MOST_SECONDS, exit=True, file=sys.__stderr__)
        self.times[test.id()] = -time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.times[test.id()] += time.monotonic()
        faulthandler.cancel_dump_traceback_later()


def run_installed(pattern):
    # The package under test is the installed one, never the source beside this script.
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != os.path.join(ROOT, "python")]
    loader = unittest.TestLoader()
    if pattern:
        loader.testNamePatterns = ["*%s*" % pattern]
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, buffer=True, resultclass=Result)
    result = runner.run(loader.discover(TESTS, "test_*.py"))
    for name, seconds in sorted(Result.times.items(), key=lambda pair: -pair[1])[:5]:
        if seconds > 1:
            print("%6.1f s %s" % (seconds, name))
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    reasons = collections.Counter(reason for _, reason in result.skipped)
    for reason, count in sorted(reasons.items()):
        print("skipped %d: %s" % (count, reason))
    # A test that skips its part for GPUs has passed by the other.
    whole = sum(not hasattr(test, "test_case") for test, _ in result.skipped)
    failed += not result.testsRun
    print("%d passed, %d failed, %d skipped" % (max(0, result.testsRun - failed - whole), failed, len(result.skipped)))
    return 1 if failed else 0


def is_release(build):
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        return "CMAKE_BUILD_TYPE:STRING=Release\n" in file.read()


def has_seed(build):
    """Return whether a seed of the cache was made after the library was built."""
    built = os.path.getmtime(os.path.join(build, "lib", "libfa.so"))
    return any(os.path.getmtime(path) > built for path in glob.glob(os.path.join(build, "seeds", "*")))


def run_fresh(build, python):
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    import make_seed
    import make_wheel
    if not is_release(build):
        print("test_python.py: skipped: wheels are made of release builds")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as place:
        begin = time.monotonic()
        seed = has_seed(build) and bool(make_seed.find_ptxas())
        wheel = make_wheel.make_wheel(build, place, seed)
        seconds = time.monotonic() - begin
        environment = os.path.join(place, "environment")
        clean = {key: value for key, value in os.environ.items()
                 if key not in ("PYTHONPATH", "FA_MLIR_LIBRARY", "FA_CACHE_SEED", "LD_LIBRARY_PATH")}
        install = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", wheel]
        if python:  # maybe itself an environment, whose packages another one would not see
            inner = python
            install += ["--target", environment]
            clean["PYTHONPATH"] = environment
        else:
            subprocess.run([PYTHON, "-m", "venv", "--system-site-packages", environment], check=True)
            inner = os.path.join(environment, "bin", "python3")
        subprocess.run([inner, *install], check=True, env=clean)
        clean.update(FA_MLIR_WHEEL=wheel, FA_MLIR_WHEEL_SECONDS="%.1f" % seconds, FA_MLIR_WHEEL_SEED=str(int(seed)),
                     FA_CACHE_DIR=os.path.join(place, "cache"))
        return subprocess.run([inner, os.path.abspath(__file__), "--installed"], cwd=place, env=clean).returncode


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--installed"] and len(arguments) <= 2:
        sys.exit(run_installed(arguments[1] if len(arguments) == 2 else None))
    python = os.environ.get("FA_PYTHON") or (sys.executable if importlib.util.find_spec("torch") else None)
    if arguments and arguments[0].startswith("--python="):
        python = arguments.pop(0).split("=", 1)[1]
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    sys.exit(run_fresh(os.path.abspath(arguments[0]), python))


if __name__ == "__main__":
    main()
