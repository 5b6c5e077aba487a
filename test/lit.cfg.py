"""The lit suite. Feature `ptxas`: the assembler of CUDA is found; with CI=true
its absence fails (test/Tools/ptxas.test), elsewhere its tests are skipped.
Feature `terminal`: a pseudo-terminal can be had."""

import os
import shutil

import lit.formats
from lit.TestingConfig import TestingConfig

config.name = "fa-mlir"
# In process, on lit's own shell: no bash is needed and none behaves differently.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "gpu"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.fa_build_dir, "test")

tools = os.path.join(config.fa_build_dir, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools_dir, os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"
for name in ("CI", "HOME", "FA_CACHE_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
if config.fa_sanitize:
    # LLVM's own code is not instrumented, so what it allocates looks overrun.
    config.environment["ASAN_OPTIONS"] = "detect_container_overflow=0:detect_leaks=0:allow_user_poisoning=0"
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1"
    config.available_features.add("asan")

config.substitutions += [
    ("%examples", os.path.join(config.fa_source_dir, "examples")),
    # A stand-in for the CUDA driver; FA_FAKE_CUDA says how it behaves.
    ("%fakecuda", os.path.join(config.fa_build_dir, "test", "unit", "libfakecuda.so")),
    ("%libfa", os.path.join(config.fa_build_dir, "lib", "libfa.so")),
    ("%build", config.fa_build_dir),
    ("%scripts", os.path.join(config.fa_source_dir, "scripts")),
    ("%runtime_include", config.fa_runtime_include),
    ("%cxx", config.fa_cxx),
    ("%python", shutil.which("python3")),
]

if shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"):
    config.available_features.add("ptxas")
    if not shutil.which("ptxas"):
        config.environment["PATH"] += os.pathsep + "/usr/local/cuda/bin"
try:
    for end in os.openpty():
        os.close(end)
    config.available_features.add("terminal")
except OSError:
    pass  # no /dev/pts is mounted, as in a chroot
if os.environ.get("CI") == "true":
    config.available_features.add("ci")
