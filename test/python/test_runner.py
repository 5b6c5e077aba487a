"""scripts/run_flash_attn_tests.py counts what it leaves out of a checkout, a made-up one here."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

from support import needs_torch

RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "run_flash_attn_tests.py")
# Named as FlashAttention-3's tests are, and with their switches: for types, for pages, and for loops inside of a test.
TESTS = """
import os
import pytest
import torch

DISABLE_SPLIT, DISABLE_PACKGQA, DISABLE_PAGEDKV, DISABLE_FP8 = (
    os.getenv("FLASH_ATTENTION_DISABLE_" + name) == "TRUE" for name in ("SPLIT", "PACKGQA", "PAGEDKV", "FP8"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16] + ([] if DISABLE_FP8 else [torch.float8_e4m3fn]))
@pytest.mark.parametrize("mha_type", ["mha", "gqa"])
@pytest.mark.parametrize("has_qv", [False, True])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("seqlen_q,seqlen_k", [(1, 1), (64, 128)])
def test_flash_attn_output(seqlen_q, seqlen_k, d, has_qv, mha_type, dtype):
    for pack_gqa in [False] if DISABLE_PACKGQA else [False, True]:
        for num_splits in [1] if DISABLE_SPLIT else [1, 3]:
            pass


@pytest.mark.parametrize("page_size", [None] + ([] if DISABLE_PAGEDKV else [1, 4]))
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attn_kvcache(causal, page_size):
    pass


@pytest.mark.parametrize("d", [64, 128, 256])
def test_flash_attn_cluster(d):
    pass


@pytest.mark.parametrize("d", [64, 128])
def test_flash_attn_race_condition(d):
    pass
"""


@needs_torch
class Counts(unittest.TestCase):
    def test_each_line(self):
        if not os.path.exists(RUNNER):
            self.skipTest("needs scripts of the source tree")
        if not importlib.util.find_spec("pytest"):
            self.skipTest("needs pytest")
        with tempfile.TemporaryDirectory() as checkout:
            os.mkdir(os.path.join(checkout, "hopper"))
            with open(os.path.join(checkout, "hopper", "test_flash_attn.py"), "w") as file:
                file.write(TESTS)
            run = subprocess.run([sys.executable, RUNNER, "--tests", checkout, "--file=hopper/test_flash_attn.py",
                                  "--processes=2", "--collect-only"], text=True, stdout=subprocess.PIPE)
        # Of 48 outputs a third is in fp8, of the others half is of d = 64, of those left half has qv.
        self.assertEqual(re.findall(r"(?m)^hopper/test_flash_attn\.py: (\w+) (\d+): (\w+)", run.stdout), [
            ("excluded", "16", "d"), ("excluded", "6", "decoding"), ("excluded", "16", "fp8"), ("excluded", "8", "qv"),
            ("excluded", "2", "takes"), ("narrowed", "8", "keys"), ("narrowed", "8", "programs")], run.stdout)
        self.assertIn("hopper/test_flash_attn.py: 11 cases drawn of 59, after the first 0\n", run.stdout)
        self.assertIn("\nseed 0; excluded 48; ", run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout)


if __name__ == "__main__":
    unittest.main()
