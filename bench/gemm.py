#!/usr/bin/env python3
"""Compares a product of matrices on a GPU with PyTorch's, in one process, each at its own clock.

    gemm.py path/to/libfa.so [--target=sm_90a] [--n=4096,8192] [--tile=128x256x64 ...]
            [--leave-out=tile-pingpong-warpgroups ...] [--rounds=3] [--milliseconds=300]

The program on tiles of test/Dialect/Tile/programs/gemm.mlir, bf16, N(0,1) inputs, for the passes that
attention takes; PyTorch's matmul (cuBLAS) is the peer. Each --tile (rows x columns x depth) and
each --leave-out is one more rival. Rivals run alone, in turn, and the second half of their time
counts, as in gpu_compare.py; medians, in TFLOP/s. Needs PyTorch.
"""

import argparse
import itertools

import torch

from fa_ctypes import Library
from gpu_clock import time_rivals

# One column of tiles of b after the other, in sections of 8 tiles of rows, so that b stays in L2.
PROGRAM = """
tile.func @gemm(%a: !tile.view<?x?xbf16> {{tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64}},
                %b: !tile.view<?x{n}xbf16> {{tile.name = "b", tile.dims = ["K", "N"], tile.align = 16 : i64}},
                %c: !tile.view<?x{n}xbf16> {{tile.name = "c", tile.dims = ["M", "N"], tile.output, tile.align = 16 : i64}},
                %s: index, %x: index, %y: index)
    grid affine_map<()[s0] -> (s0 ceildiv {section}, {columns}, 8)> sizes [2, 0]
    attributes {{tile.entry = "gemm", tile.warps = {warps} : i64}} {{
  %c0 = arith.constant 0 : index
  %cm = arith.constant {tm} : index
  %cn = arith.constant {tn} : index
  %ck = arith.constant {tk} : index
  %cs = arith.constant {section} : index
  %zero = arith.constant 0.0 : f32
  %first = arith.muli %s, %cs : index
  %down = arith.muli %y, %cm : index
  %i = arith.addi %first, %down : index
  %j = arith.muli %x, %cn : index
  %k = tile.dim %a, 1 : !tile.view<?x?xbf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<{tm}x{tn}xf32>
  %acc = scf.for %t = %c0 to %k step %ck iter_args(%sum = %acc0) -> (tensor<{tm}x{tn}xf32>) {{
    %at = tile.load %a[%i, %t] dims [0, 1] : !tile.view<?x?xbf16> -> tensor<{tm}x{tk}xbf16>
    %bt = tile.load %b[%t, %j] dims [0, 1] : !tile.view<?x{n}xbf16> -> tensor<{tk}x{tn}xbf16>
    %next = tile.dot %at, %bt, %sum : tensor<{tm}x{tk}xbf16>, tensor<{tk}x{tn}xbf16>, tensor<{tm}x{tn}xf32>
    scf.yield %next : tensor<{tm}x{tn}xf32>
  }}
  %h = arith.truncf %acc : tensor<{tm}x{tn}xf32> to tensor<{tm}x{tn}xbf16>
  tile.store %h, %c[%i, %j] dims [0, 1] : tensor<{tm}x{tn}xbf16>, !tile.view<?x{n}xbf16>
  tile.return
}}"""


def program(n, tile):
    rows, columns, depth = (int(part) for part in tile.split("x"))
    text = PROGRAM.replace("!tile.view<?x?xbf16>", "!tile.view<?x{n}xbf16>")
    return text.format(n=n, tm=rows, tn=columns, tk=depth, warps=rows // 16, section=8 * rows,
                       columns=-(-n // columns))


def compare(library, options, n):
    torch.manual_seed(0)
    a, b = (torch.randn(n, n, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    expected = (a[:256].float() @ b.float())
    rivals = {"torch": lambda: torch.matmul(a, b)}
    for tile, leave_out in itertools.product(options.tile or ["128x256x64"], options.leave_out or [""]):
        name = "ours " + tile + (" without " + leave_out if leave_out else "")
        c = torch.full_like(a, float("nan"))
        try:
            compiled = library.compile(program(n, tile), target=options.target, leave_out=leave_out)
            run = library.launcher(compiled, {"a": a, "b": b, "c": c},
                                   torch.cuda.current_stream().cuda_stream)
            run()
            torch.cuda.synchronize()
        except RuntimeError as error:
            print("%s: %s" % (name, str(error).splitlines()[0]))
            continue
        error = (c[:256].float() - expected).abs().max().item()
        if not error < 0.01 * expected.abs().max().item() or not torch.isfinite(c).all():
            print("%s: WRONG, differs by %g" % (name, error))
        rivals[name] = run
    figures = time_rivals(rivals, options.milliseconds, options.rounds)
    print("n %5d  " % n + "  ".join(
        "%s %.0f" % (name, 2 * n**3 / figure.time() * 1e-9) for name, figure in figures.items()), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--n", type=lambda text: [int(part) for part in text.split(",")],
                        default=[4096, 8192])
    parser.add_argument("--tile", action="append")
    parser.add_argument("--leave-out", action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=float, default=300)
    options = parser.parse_args()
    library = Library(options.library)
    print("%s, torch %s, target %s; TFLOP/s" % (
        torch.cuda.get_device_name(), torch.__version__, options.target))
    for n in options.n:
        compare(library, options, n)


if __name__ == "__main__":
    main()
