"""The GoogleTest programs, each test counted on its own."""

import os

import lit.formats

config.name = "fa-mlir-unit"
config.suffixes = []
config.test_source_root = os.path.join(config.fa_build_dir, "test", "unit")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Tests")
if config.fa_sanitize:
    config.environment["ASAN_OPTIONS"] = "detect_container_overflow=0:detect_leaks=0:allow_user_poisoning=0"
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1"
# No test leaves anything behind, or finds what another left.
config.environment["FA_CACHE_DIR"] = ""
config.environment["FA_EXAMPLES"] = os.path.join(config.fa_source_dir, "examples")
