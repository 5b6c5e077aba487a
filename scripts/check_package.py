#!/usr/bin/env python3
"""Builds a project of a user's against an installed package, and runs it.

    check_package.py PREFIX [--cxx=COMPILER]

PREFIX is what `cmake --install BUILD --prefix PREFIX` or the archive of `make dist`
holds. The project finds it by find_package(fa-mlir): the examples of the C++ API
run on the CPU, and on a GPU where there is one, a program in C calls the compiler,
and another, which links libfa_rt.a alone, refuses an artifact that is damaged and
says so in one line.

Users mostly have g++, so that is taken where it is; else clang++-22, with which this
project itself is built. The last line says which. The headers are clean for both.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(user C CXX)
find_package(fa-mlir REQUIRED)
foreach(name ${EXAMPLES})
  add_executable(${name} "${FOLDER}/${name}.cpp")
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} fa-mlir::fa)
endforeach()
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

# What lambdas cannot say is refused where it is compiled, in a sentence of ours.
REFUSED = (
    ("mask = [](auto x) { if (x.j < x.i) return x.i < x.j; return x.j < x.i; }",
     "use fa::select(condition, a, b)"),
    ("mask = [](auto x) { while (x.i) return x.j < 2; return x.j < x.i; }",
     "a value that is recorded is not known here"),
    ("score = [](fa::Score s, auto x) { return s + static_cast<float>(x.i); }",
     "a value that is recorded is not known here"),
    ("mask = [](auto x) { return x.i - x.j; }", "a mask gives a condition"),
    ("mask = [](fa::Index i, fa::Index j) { return j <= i; }", "a mask is a lambda of a position"),
    ("score = [](fa::Score s, auto x) { return x.j <= x.i; }", "a score gives a number"),
    ("score = [](auto s, auto x, auto y) { return s; }", "a score is a lambda of a score and"),
    ("score = [](fa::Score s, auto x) { return s * (x.j <= x.i); }", "a condition is no number"),
    ("score = [](fa::Score s) { return s % 2; }", "write a - b * fa::trunc(a / b)"),
    ("score = [](fa::Score s) { return s << 2; }", "floats have no bits here"),
    ("mask = [](auto x) { return x.i && x.j; }", "a number is no condition"),
    ("mask = [](auto x) { return x.i == true; }", "a number is no condition"),
    ("score = [=](fa::Score s, auto x) { return s + bias(x.h, 1.5); }",
     "a capture is read at integers"),
    ("score = [=](fa::Score s) { s += count; return s; }", "a capture is read by x(), x[i] or"),
    ("score = [](fa::Score s, auto x) { fa::Index d = x.i; d += 1.5; return s + d; }",
     "the result is no integer"),
)
REFUSED_SPEC = """
void refuse%d() {
  fa::Attention spec;
  [[maybe_unused]] auto bias = spec.capture("bias", fa::f16, {fa::heads, 4});
  [[maybe_unused]] auto count = spec.capture("count", fa::i32);
  spec.%s;
}
"""

EXAMPLES = ("attention", "descent")
# The exit status of fa-run where there is no driver or no device.
NO_GPU = 77

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


def has_gpu(prefix):
    examples = os.path.join(prefix, "examples")
    return subprocess.run([os.path.join(prefix, "bin", "fa-run"), os.path.join(examples, "full.mlir"),
                           "--device=cuda", "--shape=1,1,1,8,8"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode != NO_GPU


def check_refused(place, cxx, include):
    """All in one file: what is no sentence of ours would be an error too many."""
    path = os.path.join(place, "refused.cpp")
    with open(path, "w") as file:
        file.write("#include <fa/fa.h>\n")
        for number, (text, _) in enumerate(REFUSED):
            file.write(REFUSED_SPEC % (number, text))
    result = subprocess.run([cxx, "-std=c++17", "-fsyntax-only", "-I" + include, path],
                            stderr=subprocess.PIPE, text=True)
    sentences = [words for _, words in REFUSED]
    errors = [line for line in result.stderr.splitlines() if ": error: " in line]
    for line in errors:
        if not any(words in line for words in sentences):
            fail("a lambda is refused in no sentence of ours:\n" + result.stderr)
    for words in set(sentences):
        if sum(words in line for line in errors) < sentences.count(words):
            fail("a lambda is not refused with '%s':\n%s" % (words, result.stderr))


def find_compilers():
    """-> the compilers of C and of C++."""
    if shutil.which("g++") and shutil.which("gcc"):
        return "gcc", "g++"
    if shutil.which("clang++-22"):
        return "clang-22", "clang++-22"
    fail("there is neither g++ nor clang++-22; run scripts/setup.sh")


def check(prefix, cc, cxx):
    check_headers(os.path.join(prefix, "include"))
    with tempfile.TemporaryDirectory() as place:
        for name, text in (("CMakeLists.txt", CMAKE), ("compiler.c", COMPILER),
                           ("launcher.c", LAUNCHER), ("spec.cpp", SPEC)):
            with open(os.path.join(place, name), "w") as file:
                file.write(text)
        build = os.path.join(place, "build")
        run("cmake", "-S", place, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix,
            "-DCMAKE_C_COMPILER=" + cc, "-DCMAKE_CXX_COMPILER=" + cxx,
            "-DEXAMPLES=" + ";".join(EXAMPLES),
            "-DFOLDER=" + os.path.join(prefix, "examples", "api"),
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", build)
        os.mkdir(os.path.join(place, "c"))
        with open(os.path.join(place, "c", "CMakeLists.txt"), "w") as file:
            file.write(CMAKE_C)
        build_c = os.path.join(place, "build-c")
        run("cmake", "-S", os.path.join(place, "c"), "-B", build_c,
            "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_C_COMPILER=" + cc,
            "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", build_c)
        environment = dict(os.environ, FA_CACHE_DIR=os.path.join(place, "cache"))
        devices = ["cpu", "cpu"] + ["cuda"] * has_gpu(prefix)  # compiled, and found on disk
        for name in EXAMPLES:
            for device in devices:
                run(os.path.join(build, name), device, env=environment)
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
        # Where there is g++, too, what clang++ alone warns of is found.
        for each in dict.fromkeys([cxx] + ["clang++-22"] * bool(shutil.which("clang++-22"))):
            run(each, "-std=c++17", "-fsyntax-only", "-I" + prefix + "/include", *WARNINGS,
                os.path.join(place, "spec.cpp"))
            check_refused(place, each, os.path.join(prefix, "include"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix")
    parser.add_argument("--cxx", help="a compiler other than the one that is found")
    options = parser.parse_args()
    cc, cxx = find_compilers()
    cxx = options.cxx or cxx
    check(os.path.abspath(options.prefix), cc, cxx)
    print("the package in %s serves an outside project, compiled by %s" % (options.prefix, cxx))


if __name__ == "__main__":
    main()
