#!/usr/bin/env python3
"""Packs a release build as a wheel for Python.

    make_wheel.py BUILD_DIR [DIRECTORY]    into build/dist, or DIRECTORY

Makes fa_mlir-<version>-py3-none-manylinux_2_36_x86_64.whl by setuptools: python/fa_mlir, libfa.so, its headers, the
seed of its cache (make_seed.py) and the licenses, laid out in a folder of their own. The version is that of CMakeLists.txt.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import make_seed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAX_MB = 45
# Debian's, which set-up installed setuptools for; any other Python that has it will do.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def read_version():
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        return re.search(r"project\(fa-mlir VERSION (\S+)", file.read()).group(1)


def lay_out(build, place):
    """Copy what the wheel holds to a folder from which setuptools packs it."""
    python = os.path.join(ROOT, "python")
    for name in ("setup.py", "pyproject.toml"):
        shutil.copy(os.path.join(python, name), place)
    for name in ("LICENSE", "NOTICE", "README.md"):
        shutil.copy(os.path.join(ROOT, name), place)
    package = os.path.join(place, "fa_mlir")
    shutil.copytree(os.path.join(python, "fa_mlir"), package, ignore=shutil.ignore_patterns("__pycache__", "lib"))
    shutil.copytree(os.path.join(ROOT, "runtime", "include"), os.path.join(package, "include"),
                    ignore=lambda folder, names: [n for n in names if "." in n and not n.endswith(".h")])
    os.mkdir(os.path.join(package, "lib"))
    subprocess.run(["/usr/lib/llvm-22/bin/llvm-strip", os.path.join(build, "lib", "libfa.so"), "-o",
                    os.path.join(package, "lib", "libfa.so")], check=True)


def make_wheel(build, directory, seed=False):
    """-> the path of the wheel; with a seed of the cache if that is asked for, what that is being printed"""
    version = read_version()
    epoch = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], stdout=subprocess.PIPE, text=True)
    environment = dict(os.environ, FA_MLIR_VERSION=version, SOURCE_DATE_EPOCH=epoch.stdout.strip() or "946684800")
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        lay_out(build, place)
        if seed:
            print(make_seed.make(build, os.path.join(place, "fa_mlir", "lib", make_seed.NAME)), flush=True)
        run = subprocess.run([PYTHON, "setup.py", "-q", "bdist_wheel", "-d", "dist"], cwd=place, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        made = glob.glob(os.path.join(place, "dist", "*.whl"))
        if run.returncode or len(made) != 1:
            sys.exit("make_wheel.py: setuptools made no wheel:\n" + run.stdout)
        size = os.path.getsize(made[0]) / 2**20
        if size > MAX_MB:
            sys.exit("make_wheel.py: the wheel has %.1f MB, at most %d" % (size, MAX_MB))
        wheel = os.path.join(directory, os.path.basename(made[0]))
        shutil.copy(made[0], wheel)
    return wheel


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    directory = sys.argv[2] if len(sys.argv) == 3 else os.path.join(ROOT, "build", "dist")
    wheel = make_wheel(os.path.abspath(sys.argv[1]), os.path.abspath(directory), seed=True)
    print("%s: %.1f MB" % (os.path.relpath(wheel, ROOT), os.path.getsize(wheel) / 2**20))


if __name__ == "__main__":
    main()
