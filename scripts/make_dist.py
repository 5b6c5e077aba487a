#!/usr/bin/env python3
"""Packs a release build.

    make_dist.py BUILD_DIR            make the archive, then unpack and check it
    make_dist.py --check BUILD_DIR    check what would be packed, and count it as a test

Makes build/dist/fa-mlir-<version>-linux-x86_64.tar.xz, once it has been unpacked
elsewhere and checked there: its size, what its programs need, what libfa.so
exports, that they run, that its seed of the cache (make_seed.py) is found, and that a
program of a user's is built against it.
"""

import os
import re
import subprocess
import sys
import tempfile

import make_seed

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


def check_suite(program):
    """The suite of devices needs nothing beside it, not even a driver."""
    bare = {"PATH": "/nonexistent", "FA_LIBCUDA": "/nonexistent"}
    for arguments, closing in (
            (["--filter=runtime"], "0 passed, 0 failed, {} skipped"),
            (["--device=cpu", "--filter=many_heads"], "{} passed, 0 failed, 0 skipped")):
        tests = len(run(program, *arguments, "--list", env=bare).splitlines())
        said = run(program, *arguments, env=bare).strip()
        expected = closing.format(tests)
        if tests == 0 or said.splitlines()[-1] != expected:
            fail("fa-test-gpu %s ends with '%s', expected '%s'" % (" ".join(arguments), said,
                                                                   expected))


def check_seed(prefix):
    """The library finds its seed, where there is one, and it is of this build."""
    seed = os.path.join(prefix, "lib", make_seed.NAME)
    said = run(os.path.join(prefix, "bin", "fa-opt"), "--cache-info", env={"PATH": "/nonexistent"})
    line = next(line for line in said.splitlines() if line.startswith("seed:"))
    found = re.fullmatch(r"seed: +(none|.*, [1-9]\d* entries of this build)", line)
    if not found or (found.group(1) != "none") != os.path.exists(seed):
        fail("the seed of the cache is not found, damaged or of another build: " + line)


def check(prefix):
    """Of an unpacked package."""
    bare = {"PATH": "/nonexistent"}
    for tool in sorted(os.listdir(os.path.join(prefix, "bin"))):
        check_binary(os.path.join(prefix, "bin", tool))
        run(os.path.join(prefix, "bin", tool), "--help", env=bare)
    check_binary(os.path.join(prefix, "lib", "libfa.so"))
    check_exports(os.path.join(prefix, "lib", "libfa.so"))
    run(os.path.join(prefix, "bin", "fa-opt"), os.path.join(prefix, "examples", "causal.mlir"),
        env=bare)
    check_seed(prefix)
    # What its README points to.
    with open(os.path.join(prefix, "README.md")) as file:
        for path in set(re.findall(r"`((?:docs|bench|examples)/[\w./-]+)`", file.read())):
            if not os.path.exists(os.path.join(prefix, path)):
                fail("README.md points to %s, which the package lacks" % path)
    check_suite(os.path.join(prefix, "bin", "fa-test-gpu"))
    with tempfile.TemporaryDirectory() as source:
        with open(os.path.join(source, "CMakeLists.txt"), "w") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(user C)\n"
                       "find_package(fa-mlir REQUIRED)\nadd_executable(user user.c)\n"
                       "target_link_libraries(user fa-mlir::fa)\n")
        headers = [os.path.relpath(os.path.join(folder, file), os.path.join(prefix, "include"))
                   for folder, _, files in os.walk(os.path.join(prefix, "include"))
                   for file in files if file.endswith("_c.h")]
        with open(os.path.join(source, "user.c"), "w") as file:
            file.write("".join('#include "%s"\n' % header for header in headers) +
                       "int fa_opt_main(int, char **);\n"
                       "int main(int argc, char **argv) { return fa_opt_main(argc, argv); }\n")
        run("cmake", "-S", source, "-B", source + "/build", "-DCMAKE_PREFIX_PATH=" + prefix,
            "-DCMAKE_C_COMPILER=clang-22")
        run("cmake", "--build", source + "/build")
        run(source + "/build/user", "--version")
    run(sys.executable, os.path.join(ROOT, "scripts", "check_package.py"), prefix)


def install(build, prefix):
    run("cmake", "--install", build, "--strip", "--prefix", prefix)


def check_build(build):
    """-> the closing line of a suite: a package of the build, unpacked but not packed."""
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        if "CMAKE_BUILD_TYPE:STRING=Release\n" not in file.read():
            return "0 passed, 0 failed, 1 skipped"  # only release builds are packed
    with tempfile.TemporaryDirectory() as prefix:
        install(build, prefix)
        check(prefix)
    return "1 passed, 0 failed, 0 skipped"


def make(build):
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        version = re.search(r"project\(fa-mlir VERSION (\S+)", file.read()).group(1)
    name = "fa-mlir-%s-linux-x86_64" % version
    dist = os.path.join(ROOT, "build", "dist")
    os.makedirs(dist, exist_ok=True)
    archive = os.path.join(dist, name + ".tar.xz")
    if os.path.exists(archive):
        os.remove(archive)
    epoch = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    # Beside its last place, so that an archive that failed the checks is never there.
    with tempfile.TemporaryDirectory(dir=dist) as place:
        install(build, os.path.join(place, name))
        seed = make_seed.make(build, os.path.join(place, name, "lib", make_seed.NAME))
        made = os.path.join(place, name + ".tar.xz")
        run("tar", "-C", place, "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
            "--mtime=@" + epoch, "-cJf", made, name, env=dict(os.environ, XZ_OPT="-6 -T0"))
        size = os.path.getsize(made)
        if size > MAX_MB << 20:
            fail("%s has %.1f MB, at most %d" % (os.path.basename(made), size / 2**20, MAX_MB))
        unpacked = os.path.join(place, "unpacked")
        os.mkdir(unpacked)
        run("tar", "-C", unpacked, "-xf", made)
        check(os.path.join(unpacked, name))
        os.replace(made, archive)
    print("%s: %.1f MB\n%s" % (os.path.relpath(archive, ROOT), size / 2**20, seed))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        print(check_build(os.path.abspath(sys.argv[2])))
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        make(os.path.abspath(sys.argv[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
