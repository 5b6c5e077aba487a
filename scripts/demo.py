#!/usr/bin/env python3
"""Runs examples: compiles one, dumps its phases, checks and times it on real data; then gradients.

    demo.py BUILD_DIR
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLE = os.path.join("examples", "causal.mlir")
# A score with a captured tensor, whose gradient is computed, too.
DIFFERENTIATED = os.path.join("examples", "alibi.mlir")
DATA = os.path.join("examples", "data", "causal.safetensors")
# The exit status of fa-run where there is no driver or no device.
NO_GPU = 77


def run(build, tool, *arguments):
    command = [os.path.join(build, "bin", tool)] + list(arguments)
    print("$ " + " ".join(command), flush=True)
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        sys.exit("demo.py: the command above failed")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    phases = os.path.join(build, "demo")
    run(build, "fa-opt", EXAMPLE, "--target=cpu", "--dump-phases-to=" + phases, "-o", os.devnull)
    run(build, "fa-opt", EXAMPLE, "--target=cpu", "--emit=report", "--shape=1,4,4,239,239")
    run(build, "fa-run", EXAMPLE, "--device=cpu", "--in=" + DATA,
        "--out=" + os.path.join(phases, "causal.out.safetensors"), "--check", "--time")
    # Where there is no GPU, fa-run says so and exits with NO_GPU.
    gpu = [os.path.join(build, "bin", "fa-run"), EXAMPLE, "--device=cuda", "--in=" + DATA,
           "--check", "--time"]
    print("$ " + " ".join(gpu), flush=True)
    result = subprocess.run(gpu, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    print(result.stdout, end="")
    if result.returncode not in (0, NO_GPU):
        sys.exit("demo.py: the command above failed")
    run(build, "fa-run", DIFFERENTIATED, "--backward", "--shape=1,4,4,239,239", "--check", "--time")
    print("\nThe first program at every phase:")
    for name in sorted(os.listdir(os.path.join(ROOT, phases))):
        print("  " + os.path.join(phases, name))


main()
