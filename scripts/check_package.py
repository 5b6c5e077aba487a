#!/usr/bin/env python3
"""Builds a project of a user's against an installed package, and runs it.

    check_package.py PREFIX [--cxx=g++]

PREFIX is what `cmake --install BUILD --prefix PREFIX` or the archive of `make dist`
holds. The project finds it by find_package(fa-mlir): the example of the C++ API
runs on the CPU, a program in C calls the compiler, and another, which links
libfa_rt.a alone, refuses an artifact that is damaged and says so in one line.
"""

import argparse
import os
import subprocess
import sys
import tempfile

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(user C CXX)
find_package(fa-mlir REQUIRED)
add_executable(example "${EXAMPLE}")
target_compile_features(example PRIVATE cxx_std_20)
target_link_libraries(example fa-mlir::fa)
add_executable(compiler compiler.c)
target_link_libraries(compiler fa-mlir::fa)
"""

# In C alone: no C++ compiler is asked for, and none links.
CMAKE_C = """cmake_minimum_required(VERSION 3.25)
project(launcher C)
find_package(fa-mlir REQUIRED)
add_executable(launcher ../launcher.c)
target_link_libraries(launcher fa-mlir::fa_rt)
"""

COMPILER = """#include <fa/fa_c.h>
int fa_opt_main(int, char **);
int main(int argc, char **argv) { return fa_opt_main(argc, argv); }
"""

LAUNCHER = """#include <fa/fa_c.h>
#include <stdio.h>
int main(int argc, char **argv) {
  static char bytes[1 << 24];
  FILE *file = fopen(argv[1], "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fa_program *program;
  fa_error *error;
  if (argc > 2)
    bytes[size / 2] ^= 1;
  error = fa_artifact_load(bytes, size, NULL, NULL, &program);
  printf("%s\\n", error ? fa_error_message(error) : fa_program_get_info(program).target);
  return 0;
}
"""

# The headers are clean under more warnings than the example need be.
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wsign-conversion", "-Werror")
SPEC = """#include <fa/fa.h>
int main() {
  fa::Attention spec;
  auto bias = spec.capture("bias", fa::f16, {fa::heads, 4});
  auto count = spec.capture("count", fa::i32);
  spec.mask = [=](auto x) { return x.j <= x.i && x.j % 7 < count(); };
  spec.score = [=](fa::Score s, auto x) { return s + bias(x.h, x.j - x.i) * 2.0; };
  auto kernel = fa::compile(spec);
  fa::Forward args;
  args.captures = {fa::Tensor(nullptr, fa::f16, {8, 4}), 3u};
  return kernel && !kernel->forward(nullptr, args) ? 0 : 1;
}
"""

# What is no expression is refused where it is compiled, in words.
BRANCH = """#include <fa/fa.h>
int main() {
  fa::Attention spec;
  spec.mask = [](auto x) { if (x.j < x.i) return x.i < x.j; return x.j < x.i; };
}
"""

HEADERS = ("llvm", "mlir/", "cuda.h", "cuda_runtime")


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            **options)
    if result.returncode:
        sys.exit("check_package.py: %s failed:\n%s" % (" ".join(command), result.stdout))
    return result.stdout


def fail(message):
    sys.exit("check_package.py: " + message)


def check_headers(include):
    for folder, _, files in os.walk(include):
        for name in files:
            with open(os.path.join(folder, name)) as file:
                for line in file:
                    if line.startswith("#include") and any(word in line for word in HEADERS):
                        fail("%s has %s" % (os.path.join(folder, name), line.strip()))


def check(prefix, cxx):
    check_headers(os.path.join(prefix, "include"))
    with tempfile.TemporaryDirectory() as place:
        for name, text in (("CMakeLists.txt", CMAKE), ("compiler.c", COMPILER),
                           ("launcher.c", LAUNCHER), ("branch.cpp", BRANCH), ("spec.cpp", SPEC)):
            with open(os.path.join(place, name), "w") as file:
                file.write(text)
        example = os.path.join(prefix, "examples", "api", "attention.cpp")
        build = os.path.join(place, "build")
        run("cmake", "-S", place, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix,
            "-DCMAKE_CXX_COMPILER=" + cxx, "-DEXAMPLE=" + example,
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", build)
        os.mkdir(os.path.join(place, "c"))
        with open(os.path.join(place, "c", "CMakeLists.txt"), "w") as file:
            file.write(CMAKE_C)
        build_c = os.path.join(place, "build-c")
        run("cmake", "-S", os.path.join(place, "c"), "-B", build_c,
            "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", build_c)
        environment = dict(os.environ, FA_CACHE_DIR=os.path.join(place, "cache"))
        for _ in range(2):  # compiled, and found on disk
            run(os.path.join(build, "example"), env=environment)
        artifact = os.path.join(place, "alibi.fa")
        run(os.path.join(build, "compiler"), os.path.join(prefix, "examples", "alibi.mlir"),
            "--target=sm_90a", "--emit=artifact", "-o", artifact)
        bare = dict(os.environ, FA_LIBCUDA="/nonexistent")
        said = run(os.path.join(build_c, "launcher"), artifact, env=bare)
        if not said.startswith("the CUDA driver cannot be opened: "):
            fail("libfa_rt.a says of an artifact where there is no driver: " + said)
        said = run(os.path.join(build_c, "launcher"), artifact, "damaged", env=bare)
        if said != "the artifact cannot be used: it was cut short or changed; compile the " \
                   "program again\n":
            fail("libfa_rt.a says of a damaged artifact: " + said)
        run(cxx, "-std=c++17", "-fsyntax-only", "-I" + prefix + "/include", *WARNINGS,
            os.path.join(place, "spec.cpp"))
        branch = subprocess.run([cxx, "-std=c++17", "-fsyntax-only", "-I" + prefix + "/include",
                                 os.path.join(place, "branch.cpp")], stderr=subprocess.PIPE,
                                text=True)
        if branch.returncode == 0 or "use fa::select(condition, a, b)" not in branch.stderr:
            fail("a branch on a position is not refused in words:\n" + branch.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix")
    parser.add_argument("--cxx", default="g++")
    options = parser.parse_args()
    check(os.path.abspath(options.prefix), options.cxx)
    print("the package in %s serves an outside project" % options.prefix)


if __name__ == "__main__":
    main()
