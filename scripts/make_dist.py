#!/usr/bin/env python3
"""Packs a release build.

    make_dist.py BUILD_DIR

Makes build/dist/fa-mlir-<version>-linux-x86_64.tar.xz, unpacks it elsewhere and
checks it there: its size, what its programs need, what libfa.so exports, that
they run, and that a program of a user's is built against it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LLVM = "/usr/lib/llvm-22/bin/"
MAX_MB = 25
# What every Linux with glibc >= 2.36 has.
NEEDED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2",
          "libfa.so"}
GLIBC = (2, 36)


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def fail(message):
    sys.exit("make_dist.py: " + message)


def check_binary(path):
    needed = set(re.findall(r"Shared library: \[(.*?)\]", run(LLVM + "llvm-readelf", "-d", path)))
    if needed - NEEDED:
        fail("%s needs %s" % (path, ", ".join(sorted(needed - NEEDED))))
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run(LLVM + "llvm-readelf", "-V", path))
    newest = max((int(a), int(b)) for a, b in versions)
    if newest > GLIBC:
        fail("%s needs glibc %d.%d" % (path, *newest))


def check_exports(library):
    names = run(LLVM + "llvm-nm", "-D", "--defined-only", "--format=just-symbols", library).split()
    foreign = [name for name in names if not name.startswith("fa_")]
    if foreign:
        fail("libfa.so exports %s and %d others" % (foreign[0], len(foreign) - 1))


def check(archive, name):
    with tempfile.TemporaryDirectory() as place:
        run("tar", "-C", place, "-xf", archive)
        prefix = os.path.join(place, name)
        bare = {"PATH": "/nonexistent"}
        for tool in sorted(os.listdir(os.path.join(prefix, "bin"))):
            check_binary(os.path.join(prefix, "bin", tool))
            run(os.path.join(prefix, "bin", tool), "--help", env=bare)
        check_binary(os.path.join(prefix, "lib", "libfa.so"))
        check_exports(os.path.join(prefix, "lib", "libfa.so"))
        run(os.path.join(prefix, "bin", "fa-opt"), os.path.join(prefix, "examples", "causal.mlir"),
            env=bare)
        # The suite of devices needs nothing beside it, not even a driver.
        count = run(os.path.join(prefix, "bin", "fa-test-gpu"), "--filter=runtime",
                    env=dict(bare, FA_LIBCUDA="/nonexistent"))
        if not count.endswith("0 passed, 0 failed, 6 skipped\n"):
            fail("fa-test-gpu says '%s' where there is no driver" % count.strip())
        count = run(os.path.join(prefix, "bin", "fa-test-gpu"), "--device=cpu",
                    "--filter=many_heads", env=bare)
        if not count.endswith("2 passed, 0 failed, 0 skipped\n"):
            fail("fa-test-gpu says '%s' on the CPU" % count.strip())
        run(sys.executable, os.path.join(ROOT, "scripts", "check_package.py"), prefix)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        version = re.search(r"project\(fa-mlir VERSION (\S+)", file.read()).group(1)
    name = "fa-mlir-%s-linux-x86_64" % version
    dist = os.path.join(ROOT, "build", "dist")
    stage = os.path.join(dist, name)
    shutil.rmtree(stage, ignore_errors=True)
    run("cmake", "--install", build, "--strip", "--prefix", stage)
    archive = stage + ".tar.xz"
    epoch = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    run("tar", "-C", dist, "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
        "--mtime=@" + epoch, "-cJf", archive, name, env=dict(os.environ, XZ_OPT="-6 -T0"))
    size = os.path.getsize(archive)
    if size > MAX_MB << 20:
        fail("%s has %.1f MB, at most %d" % (archive, size / 2**20, MAX_MB))
    check(archive, name)
    print("%s: %.1f MB" % (os.path.relpath(archive, ROOT), size / 2**20))


if __name__ == "__main__":
    main()
