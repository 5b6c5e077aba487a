#!/usr/bin/env python3
"""libfa.so in one process with PyTorch and Triton.

    check_torch.py BUILD_DIR

Whichever of the libraries is loaded first, Triton's own LLVM and ours do not
meet: both compile and run, results agree, and a launch is captured in a graph of
PyTorch's. The last line counts: `N passed, N failed, N skipped`.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))

TEXT = """
func.func @causal(%q: tensor<?x?x?x64xf16> {fa.name = "q"}, %k: tensor<?x?x?x64xf16> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf16> {fa.name = "v"})
    -> (tensor<?x?x?x64xf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
"""


def missing():
    """Why there is nothing to check here; empty where there is."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        return str(error)
    return "" if torch.cuda.is_available() else "PyTorch finds no GPU"


def use_triton(torch):
    global tl, triton  # where Triton looks names up
    import triton
    import triton.language as tl

    @triton.jit
    def double(x, n, size: tl.constexpr):
        at = tl.program_id(0) * size + tl.arange(0, size)
        tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

    x = torch.ones(1000, device="cuda")
    double[(8,)](x, 1000, 128)
    assert (x == 2).all(), "the kernel of Triton is wrong"


def use_fa(torch, library):
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 4, 300, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    o, lse = torch.full_like(q, float("nan")), torch.empty(2, 4, 300, device="cuda")
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), is_causal=True)
    program = library.compile(TEXT, target="cuda")
    tensors = {"q": q, "k": k, "v": v, "o": o, "lse": lse}

    def check(what):
        torch.cuda.synchronize()
        error = (o.double() - expected).abs().max().item()
        assert error < 5e-3, "%s: wrong by %g" % (what, error)
        o.fill_(float("nan"))

    stream = torch.cuda.current_stream().cuda_stream
    library.launcher(program, tensors, stream)()
    check("a launch")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = torch.cuda.current_stream().cuda_stream
        library.launcher(program, tensors, stream)()
    torch.cuda.synchronize()
    o.fill_(float("nan"))
    for _ in range(2):
        graph.replay()
        check("a launch in a graph")


def child(path, first):
    """One order of loading, in a process of its own."""
    import ctypes
    if first == "fa":
        ctypes.CDLL(path)
    import torch
    import fa_ctypes
    library = fa_ctypes.Library(path)
    use = [lambda: use_fa(torch, library), lambda: use_triton(torch)]
    for step in (use if first == "fa" else use[::-1]) + use:
        step()


def main():
    if len(sys.argv) == 3:
        return child(sys.argv[1], sys.argv[2])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    orders = ("fa", "torch")
    reason = missing()
    if reason:
        print("check_torch.py: skipped: " + reason)
        print("0 passed, 0 failed, %d skipped" % len(orders))
        return
    path = os.path.join(os.path.abspath(sys.argv[1]), "lib", "libfa.so")
    os.environ["FA_CACHE_DIR"] = ""
    passed = 0
    for first in orders:
        run = subprocess.run([sys.executable, __file__, path, first])
        passed += run.returncode == 0
        print("%s first: %s" % (first, "passed" if run.returncode == 0 else "failed"))
    print("%d passed, %d failed, 0 skipped" % (passed, len(orders) - passed))
    sys.exit(passed != len(orders))


if __name__ == "__main__":
    main()
