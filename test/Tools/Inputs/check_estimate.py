"""Checks bench/estimate.py: check_estimate.py BENCH-FOLDER PROGRAM (causal, heads of 128)."""
import os
import shutil
import sys

folder, program = sys.argv[1:]
compiler = shutil.which("fa-opt")
sys.path.insert(0, folder)
import estimate

# In the folder of the compiler's tree where libfa.so is.
library = os.path.join(os.path.dirname(os.path.dirname(compiler)), "lib", "libfa.so")
assert estimate.find_compiler(library) == compiler, (library, compiler)
with open(program) as file:
    text = file.read()
ask = lambda target, device, backward=False, **choices: estimate.estimate(
    compiler, text, target, device, (2, 16, 16, 8192, 8192), choices, backward)
flops = 4 * 2 * 16 * 128 * 8192 * 8192 / 2
# Measured on an H200, 641 and 322 TFLOP/s; within 20 %.
for target, measured in ("sm_90a", 641e12), ("sm_80", 322e12):
    assert 0.8 < flops / ask(target, "NVIDIA H200") / measured < 1.2, (target, ask(target, "NVIDIA H200"))
# Gradients, fused, on an H200, and split, on an H100, 570 and 502 TFLOP/s of five products: within 15 %.
for device, measured, choices in ("NVIDIA H200", 570e12, {}), ("NVIDIA H100 80GB HBM3", 502e12, {"deterministic": 1}):
    took = ask("sm_90a", device, backward=True, **choices)
    assert 1 / 1.15 < 2.5 * flops / took / measured < 1.15, (device, took)
# An A100 is slower.
assert ask("sm_80", "NVIDIA A100-SXM4-80GB") > ask("sm_80", "NVIDIA H200")
# Choices are passed on; where the report does not know one, there is no estimate.
assert ask("sm_90a", "NVIDIA H200", rows=128, keys=64, warps=8) != ask("sm_90a", "NVIDIA H200")
assert ask("sm_90a", "NVIDIA H200", stages=3) is None
# Of two passes one has nothing to do here; gradients are told from the forward, and a name that is no pass is for others to report.
changes = lambda name, backward, **choices: estimate.changes_code(
    compiler, text, "sm_90a", {"leave_out": name, **choices}, backward)
assert changes("tile-fold-scale", False) and not changes("tile-sort-grid", False)
assert not changes("tile-fold-scale", True, fused=1) and changes("tile-merge-reductions", True, fused=1)
assert not changes("tile-merge-reductions", True, deterministic=1)
assert changes("tile-no-such-pass", False)
