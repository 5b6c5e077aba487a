#!/usr/bin/env python3
"""Makes the seed of the disk cache: the plain attentions, compiled and assembled for GPUs.

    make_seed.py BUILD_DIR OUTPUT

Head sizes of 64, 96, 128, 192 and 256, full and causal, f16 and bf16, with LSE and without, and the gradients, for
sm_90a. The ptxas is $FA_PTXAS, else the oldest one that reads their PTX (CUDA 12.3 or later), of those on PATH, of CUDA
and of Triton beside the Pythons on PATH: drivers load what older ones made. Without one there is no seed, which is said.
A seed serves the build that it was made by alone; one that this build made is kept in BUILD_DIR.
"""

import glob
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD_SIZES = (64, 96, 128, 192, 256)
TARGET = "sm_90a"
# The CUDA whose ptxas first reads PTX for it.
OLDEST = (12, 3)
MAX_MB = 3
NAME = "fa.seed"


def find_ptxas():
    """Return (version, path) of every ptxas of this machine, the oldest that serves first."""
    if "FA_PTXAS" in os.environ:
        paths = [os.environ["FA_PTXAS"]]
    else:
        folders = os.environ.get("PATH", "").split(os.pathsep)
        paths = [os.path.join(folder, "ptxas") for folder in folders]
        paths += sorted(glob.glob("/usr/local/cuda*/bin/ptxas"))
        for folder in folders:
            for kind in ("triton/backends/nvidia", "nvidia/cuda_nvcc", "nvidia/cu13"):
                paths += glob.glob(os.path.join(folder, "..", "lib", "python3*", "*-packages", kind, "bin", "ptxas"))
    found = set()
    for path in paths:
        if path and os.access(path, os.X_OK):
            said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
            version = re.search(r"release (\d+)\.(\d+)", said)
            if version and tuple(map(int, version.groups())) >= OLDEST:
                found.add((tuple(map(int, version.groups())), os.path.realpath(path)))
    return sorted(found)


def programs():
    """Yield the text of each, those that are alike after each other."""
    path = os.path.join(ROOT, "python", "fa_mlir", "_text.py")
    spec = importlib.util.spec_from_file_location("fa_mlir_text", path)
    text = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(text)
    for size in HEAD_SIZES:
        for items in ((), (("causal",),)):
            for dtype in ("f16", "bf16"):
                with_lse = text.write(dtype, size, size, items)
                yield with_lse
                lse = ", tensor<?x?x?xf32>"
                without = re.sub(lse.replace("?", r"\?") + r"( \{fa.name = \"lse\"\})?", "", with_lse)
                yield without.replace("%o, %lse", "%o")



def make(build, output):
    """Write a seed, or none where there is no ptxas; return what was done, in a line."""
    found = find_ptxas()
    if not found:
        if os.path.exists(output):
            os.remove(output)
        return "no seed of the cache: no ptxas of CUDA %d.%d or later is found; name one in FA_PTXAS" % OLDEST
    version, ptxas = found[0]
    text = "// -----\n".join(programs())
    library = os.path.join(build, "lib", "libfa.so")
    notes = subprocess.run(["/usr/lib/llvm-22/bin/llvm-readelf", "-n", library], stdout=subprocess.PIPE, text=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)
    if not build_id:
        sys.exit("make_seed.py: %s has no build id; link with --build-id" % library)
    name = hashlib.sha256(" ".join([build_id.group(1), str(version), text]).encode()).hexdigest()[:32]
    kept = os.path.join(build, "seeds", name)
    if not os.path.exists(kept):
        shutil.rmtree(os.path.dirname(kept), ignore_errors=True)
        os.makedirs(os.path.dirname(kept))
        run = subprocess.run([os.path.join(build, "bin", "fa-opt"), "-", "--target=" + TARGET, "--emit=seed", "-o",
                              kept + ".part"], input=text, env=dict(os.environ, FA_PTXAS=ptxas),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode:
            sys.exit("make_seed.py: fa-opt made no seed:\n" + run.stdout)
        os.replace(kept + ".part", kept)
    size = os.path.getsize(kept)
    if size > MAX_MB << 20:
        sys.exit("make_seed.py: the seed has %.2f MB, at most %d; leave out programs" % (size / 2**20, MAX_MB))
    shutil.copyfile(kept, output)
    return "%s: %d programs, and gradients of those with LSE, %.2f MB, by the ptxas of CUDA %d.%d" % (
        os.path.basename(output), text.count("func.func"), size / 2**20, *version)


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print(make(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))


if __name__ == "__main__":
    main()
