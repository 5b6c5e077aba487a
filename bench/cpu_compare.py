#!/usr/bin/env python3
"""Compares with PyTorch's attention on the CPU, in one process, interleaved.

    cpu_compare.py path/to/libfa.so [--threads=1] [--repeats=30]

f32, N(0,1) inputs, B = 1, 8 heads; medians of GFLOP/s as the papers count (half
for causal). Needs PyTorch. Checks that both give the same output first.
"""

import argparse
import ctypes
import statistics
import time

import torch

PROGRAM = """
func.func @f(%q: {t} {{fa.name = "q"}}, %k: {t} {{fa.name = "k"}}, %v: {t} {{fa.name = "v"}}) -> {t} {{
  %o = fa.attention query(%q) key(%k) value(%v) {mask} : ({t}, {t}, {t}) -> {t}
  return %o : {t}
}}"""


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensor", ctypes.POINTER(Tensor)),
                ("f", ctypes.c_double), ("i", ctypes.c_int64)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("entry", ctypes.c_char_p)] + [
        (name, ctypes.c_int32)
        for name in ("threads", "standard", "no_mask_analysis", "no_canonicalize", "rows", "keys")
    ] + [("source_name", ctypes.c_char_p)]


class Library:
    def __init__(self, path):
        self.fa = ctypes.CDLL(path)
        self.fa.fa_compile_options_default.restype = Options
        self.fa.fa_compile.restype = ctypes.c_void_p
        self.fa.fa_program_launch.restype = ctypes.c_void_p
        self.fa.fa_error_message.restype = ctypes.c_char_p
        self.fa.fa_error_message.argtypes = [ctypes.c_void_p]

    def check(self, error):
        if error:
            raise SystemExit("cpu_compare.py: " + self.fa.fa_error_message(error).decode())

    def attention(self, q, k, v, causal, threads):
        """-> (output, function that launches once more)"""
        t = "tensor<?x?x?x%dxf32>" % q.shape[-1]
        text = PROGRAM.format(t=t, mask="with [causal]" if causal else "").encode()
        options = self.fa.fa_compile_options_default()
        options.threads = threads
        program = ctypes.c_void_p()
        self.check(self.fa.fa_compile(text, ctypes.c_size_t(len(text)), ctypes.byref(options),
                                      ctypes.byref(program)))
        o = torch.full_like(q, float("nan"))
        keep = []
        arguments = (Argument * 4)()
        for i, (name, x) in enumerate(zip((b"q", b"k", b"v", b"o"), (q, k, v, o))):
            shape = (ctypes.c_int64 * 4)(*x.shape)
            strides = (ctypes.c_int64 * 4)(*x.stride())
            tensor = Tensor(x.data_ptr(), 2, 4, shape, strides, 0)  # 2: FA_F32
            keep.append((shape, strides, tensor))
            arguments[i] = Argument(name, ctypes.pointer(tensor), 0, 0)

        def launch():
            self.check(self.fa.fa_program_launch(program, None, arguments, ctypes.c_size_t(4), None,
                                                 ctypes.c_uint64(0)))
        launch.keep = keep
        return o, launch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    library = Library(options.library)
    print("torch %s, %d thread(s), f32, 8 heads" % (torch.__version__, options.threads))
    for d in (64, 128):
        for n in (1024, 2048):
            for causal in (False, True):
                torch.manual_seed(0)
                q, k, v = (torch.randn(1, 8, n, d) for _ in range(3))
                o, ours = library.attention(q, k, v, causal, options.threads)

                def theirs():
                    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                ours()
                difference = (o - theirs()).abs().max().item()
                if not difference < 1e-4:
                    raise SystemExit("cpu_compare.py: outputs differ by %g" % difference)
                seconds = ([], [])
                for _ in range(options.repeats):
                    for run, times in zip((ours, theirs), seconds):
                        start = time.perf_counter()
                        run()
                        times.append(time.perf_counter() - start)
                flops = 4 * 8 * n * n * d * (0.5 if causal else 1)
                a, b = (flops / statistics.median(times) * 1e-9 for times in seconds)
                print("d %3d n %4d %-6s  ours %6.1f  torch %6.1f GFLOP/s  ratio %.2f  difference %.1e" % (
                    d, n, "causal" if causal else "full", a, b, a / b, difference))


main()
