#!/usr/bin/env python3
"""Times causal attention of packed sequences beside the padded batch, of all sequences as long as the longest, and
beside one sequence of all tokens.

    packed.py path/to/fa-run [CASE ...] [--backward] [--heads=16] [--d=128] [--keep=DIR] [--options="..."]

A CASE is COUNTxLENGTH, COUNT@TOKENS (lengths at random, of so many tokens in all: of 12@16384 the longest is 4331, of
64@16384 it is 1295) or COUNT:LEAST:MOST (lengths from LEAST to MOST); by default those of docs/performance.md.
--backward runs gradients. gpu_compare.py --only=packed,backward-packed has sequences of 16,384 tokens in one process,
each at its own clock, beside PyTorch's. Options are those of fa-run, --device=cuda --repeats=50 where
none are given; "--device=interp --target=sm_90a --check" checks small cases instead. bf16, N(0,1) inputs, TFLOP/s of visible
pairs. --keep leaves program and inputs, CASE.mlir and CASE.safetensors, for fa-run --in.
"""

import argparse
import array
import os
import random
import re
import struct
import tempfile

from gallery import run, write_tensors
from gpu_gallery import cut
from gpu_masks import SEED

PACKED = """
func.func @packed(%q: {tensor} {{fa.name = "q"}}, %k: {tensor} {{fa.name = "k"}}, %v: {tensor} {{fa.name = "v"}},
                  %cu: tensor<?xi32> {{fa.name = "cu", fa.kind = "starts", fa.dims = ["B+1"]}})
    -> ({tensor} {{fa.name = "o"}}, tensor<?x?xf32> {{fa.name = "lse"}}) {{
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%cu) key_starts(%cu))
    : ({tensor}, {tensor}, {tensor}, tensor<?xi32>, tensor<?xi32>) -> ({tensor}, tensor<?x?xf32>)
  return %o, %lse : {tensor}, tensor<?x?xf32>
}}
"""
PADDED = """
func.func @padded(%q: {tensor} {{fa.name = "q"}}, %k: {tensor} {{fa.name = "k"}}, %v: {tensor} {{fa.name = "v"}})
    -> ({tensor} {{fa.name = "o"}}, tensor<?x?x?xf32> {{fa.name = "lse"}}) {{
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : ({tensor}, {tensor}, {tensor}) -> ({tensor}, tensor<?x?x?xf32>)
  return %o, %lse : {tensor}, tensor<?x?x?xf32>
}}
"""
CASES = "16x1024", "12@32768", "200:17:300"


def lengths_of(case):
    """-> the lengths of the sequences"""
    draw = random.Random(case)
    if match := re.fullmatch(r"(\d+)x(\d+)", case):
        return [int(match[2])] * int(match[1])
    if match := re.fullmatch(r"(\d+)@(\d+)", case):
        return cut(int(match[2]), int(match[1]), SEED)
    if match := re.fullmatch(r"(\d+):(\d+):(\d+)", case):
        return [draw.randint(int(match[2]), int(match[3])) for _ in range(int(match[1]))]
    raise SystemExit("%s is no case; expected COUNTxLENGTH, COUNT@TOKENS or COUNT:LEAST:MOST" % case)


def draw_bf16(draw, count):
    """-> bytes of numbers, from a table of 2^16: a draw for each would take minutes"""
    table = [struct.unpack("<I", struct.pack("<f", draw.gauss(0, 1)))[0] >> 16 for _ in range(1 << 16)]
    chunk = array.array("H", draw.choices(table, k=min(count, 1000003))).tobytes()
    return (chunk * (2 * count // len(chunk) + 1))[:2 * count]


def time_program(fa_run, options, path, *more):
    """-> the median in ms; none where the options check"""
    said = run(fa_run, path, *more, *options, *([] if "--check" in options else ["--time"])).stdout
    found = re.search(r"median ([\d.]+) ms", said)
    return float(found[1]) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fa_run")
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--backward", action="store_true", help="time gradients")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--keep")
    parser.add_argument("--options", default="--device=cuda --repeats=50", help="of fa-run")
    args = parser.parse_intermixed_args()
    heads, d, options = args.heads, args.d, args.options.split() + ["--backward"] * args.backward
    with tempfile.TemporaryDirectory() as folder:
        folder = args.keep or folder
        os.makedirs(folder, exist_ok=True)
        for case in args.cases:
            lengths = lengths_of(case)
            tokens, starts = sum(lengths), [sum(lengths[:b]) for b in range(len(lengths) + 1)]
            draw = random.Random(case)
            inputs = {name: ("BF16", [heads, tokens, d], draw_bf16(draw, heads * tokens * d))
                      for name in ["q", "k", "v"] + ["do"] * args.backward}
            inputs["cu"] = "I32", [len(starts)], array.array("i", starts).tobytes()
            base = os.path.join(folder, case.replace(":", "-"))
            write_tensors(base + ".safetensors", inputs)
            paths = []
            for name, text, tensor in (("", PACKED, "tensor<?x?x%dxbf16>"), ("-padded", PADDED, "tensor<?x?x?x%dxbf16>")):
                paths.append(base + name + ".mlir")
                with open(paths[-1], "w") as file:
                    file.write(text.format(tensor=tensor % d))
            packed = time_program(args.fa_run, options, paths[0], "--in=" + base + ".safetensors")
            if packed is None:
                print("%s: checked" % case, flush=True)
                continue
            longest = max(lengths)
            shape = "--shape=%d,%d,%d,%d,%d" % (len(lengths), heads, heads, longest, longest)
            padded = time_program(args.fa_run, options, paths[1], shape)
            alone = time_program(args.fa_run, options, paths[1], "--shape=1,%d,%d,%d,%d" % (heads, heads, tokens, tokens))
            pairs = lambda lengths: sum(n * (n + 1) // 2 for n in lengths)
            speed = lambda lengths, time: (10e-9 if args.backward else 4e-9) * heads * d * pairs(lengths) / time
            print("%s, longest %d: packed %.3f ms, %.0f TFLOP/s of visible pairs; padded %.3f ms (%.2f of its time); one sequence "
                  "of %d %.0f TFLOP/s (%.2f of it)" % (case, longest, packed, speed(lengths, packed), padded, packed / padded,
                  tokens, speed([tokens], alone), speed(lengths, packed) / speed([tokens], alone)), flush=True)


if __name__ == "__main__":
    main()
