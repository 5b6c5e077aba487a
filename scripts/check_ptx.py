#!/usr/bin/env python3
"""Compiles kernels to PTX and assembles them, and sees that none spills.

    check_ptx.py [--target=sm_80|sm_90a|cpu] [--dtype=f16|bf16|f32]... [--examples] [--whole] [--timed]
                 [--backward [--fused]] [--retype=f16|bf16] [--save=DIR | --against=DIR] [--jobs=N] [FILE.mlir...]
    check_ptx.py --target=sm_90a --cost [--record]

By --dtype: an attention of every feature (masks, scores, sink, dropout), alone and causal,
at the head size of each line of the table of tiles (lib/Target/NVPTX/ChooseTiles.cpp),
and some at sizes between those. --examples: every example, those of the gallery too. Some are compiled for
operands that are not aligned, too. --whole does all of those, and adds head sizes below
a line's (for sm_80 every multiple of 8), value heads of another size, results without
LSE, and pairs of features. f16 and bf16 differ little: without --whole they share the
features, as do the lines of f32, and for sm_90a one of both is compiled for operands
that are not aligned, and one without LSE.

--backward: the gradients of each instead of the forward, at the head sizes of BACKWARD_DIMS,
and assembled for the target alone; with --fused in the form in which blocks of keys add to dq.
--retype: files and examples with tensors of that type in place of theirs.

Each is compiled for --target (sm_80), and that PTX assembled for it (and for sm_80, for
sm_90 too). ptxas may neither spill, but for what SPILLS lists, nor warn; and what sm_90a can do by asynchronous
products must do so, in every kernel. `fa-opt` and `ptxas` are found by PATH; ptxas also where CUDA puts it.
The last line counts the kernels: `N passed, N failed, N skipped`. --verbose prints registers and the milliseconds of ptxas.

--cost: how long ptxas takes for the kernels of plain attention, and some others: more than 15 % above what is recorded
for its version fails. See ptxas_cost.py.
"""

import argparse
import concurrent.futures
import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

import ptxas_cost

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
ARCHITECTURES = {"sm_80": ("sm_80", "sm_90"), "sm_90a": ("sm_90a",), "cpu": ()}

# The head dimensions of the table's lines.
HEAD_DIMS = {
    "sm_80": {"f16": (64, 96, 128, 256), "bf16": (64, 96, 128, 256), "f32": (64, 128, 256)},
    "sm_90a": {"f16": (64, 80, 96, 128, 256), "bf16": (64, 80, 96, 128, 256), "f32": (64, 128, 256)},
    "cpu": {"f16": (64,), "bf16": (128,), "f32": (64, 128)},
}

# Head dimensions that round up to others than a line's, by target, type and features: for
# sm_80 those of which warps that share columns have none in a run, and where a block more of
# a processor leaves each fewer registers.
BETWEEN = {
    "sm_80": {"f16": [(104, ["dropout"])], "bf16": [(104, ["causal", "dropout"])],
              "f32": [(160, ["plain"]), (176, ["causal"]), (200, ["plain"]), (224, ["plain"]),
                      (240, ["causal"])]},
    "sm_90a": {},
    "cpu": {},
}

# For sm_90a, the tiles of short sequences, by head dimension up to.
SHORT = {128: ["--tile-rows=128", "--tile-keys=128", "--tile-warps=8"],
         256: ["--tile-rows=128", "--tile-keys=64", "--tile-warps=8"]}

# Head dimensions of queries and values whose gradients are compiled, and those that --whole adds.
BACKWARD_DIMS = ((64, 64), (96, 96), (128, 128), (192, 192), (192, 128), (256, 256))
BACKWARD_BETWEEN = ((40, 40), (80, 80), (112, 112), (128, 64), (160, 160), (224, 224), (59, 59))

# All features at once, as backward_cases names them.
ALL = "window alibi softcap prefix document bias sink dropout"

# Which gradients spill how many bytes, stored and loaded, at most, by target and
# case; all others must not. Those of f32 and unaligned ones take tiles of sm_80.
SPILLS = {
    "sm_80": {
        # Where it is assembled for sm_90.
        "f16 d64/64 softcap": {"k": 16},
        # 80 columns a warp of f32, 16 by turns: 1.64 times as fast as with 96, of which 16 are padding.
        "f32 d160/160 plain": {"k": 60},
        # Blocks with holes, of a list of tiles, and what says of others which are theirs.
        "f16 d64/64 document": {"k_holes": 16},
        "f16 d96/96 document": {"k_holes": 56},
        "bf16 d96/96 causal document": {"k_holes": 140},
        "f32 d128/128 causal document": {"k_holes": 52},
        # Limits of rows before the loop, beside 32 elements of a table on their way.
        "examples/custom.mlir": {"custom": 60},
        "examples/custom.mlir unaligned": {"custom": 60},
        # Addresses and bounds of 64 bits, and lists of tiles, beside both sums.
        "bf16 d64/64 document backward": {"k_backward_keys_holes": 28, "k_backward_keys": 56},
        "bf16 d256/256 causal alibi backward": {"k_backward_keys": 460},
        "bf16 d256/256 causal backward--unaligned": {"k_backward_keys": 36, "k_backward_rows": 8},
        "f16 d96/96 document backward": {"k_backward_keys_holes": 68, "k_backward_keys": 64},
        "f16 d256/256 causal backward--unaligned": {"k_backward_keys": 36, "k_backward_rows": 8},
        "f32 d96/96 document backward": {"k_backward_rows_holes": 44},
        "f16 d256/256 plain backward": {"k_backward_keys": 52},
        # Functions of a region beside both sums: less than narrower steps cost.
        "bf16 d96/96 causal backward": {"k_backward_keys": 36},
        "bf16 d96/96 causal bias backward": {"k_backward_keys": 132},
        "bf16 d192/192 causal dropout backward": {"k_backward_keys": 408},
        "f16 d128/128 causal bias backward": {"k_backward_keys": 412},
        "f16 d192/128 causal dropout backward": {"k_backward_keys": 408},
        # The same beside three accumulators: in a causal step 13 loads of 1,741 instructions at d = 64, 18 of 1,241 at 128,
        # 16 of 1,023 at 256; where they are assembled for sm_90, one.
        "bf16 d64/64 plain fused backward": {"k_backward_keys": 16},
        "f16 d64/64 causal fused backward": {"k_backward_keys": 292},
        "bf16 d128/128 plain fused backward": {"k_backward_keys": 8},
        "bf16 d128/128 sink fused backward": {"k_backward_keys": 8},
        "bf16 d96/96 causal fused backward": {"k_backward_keys": 112},
        "f16 d96/96 plain fused backward": {"k_backward_keys": 112},
        "bf16 d96/96 causal bias fused backward": {"k_backward_keys": 228},
        "bf16 d128/128 causal fused backward--unaligned": {"k_backward_keys": 364},
        "bf16 d192/192 causal fused backward": {"k_backward_keys": 8},
        "bf16 d192/192 causal dropout fused backward": {"k_backward_keys": 84},
        "bf16 d192/128 plain fused backward": {"k_backward_keys": 8},
        "bf16 d256/256 causal fused backward": {"k_backward_keys": 320},
        "bf16 d256/256 causal alibi fused backward": {"k_backward_keys": 464},
        "bf16 d256/256 causal fused backward--unaligned": {"k_backward_keys": 364},
        "f16 d96/96 document fused backward": {"k_backward_keys_holes": 76, "k_backward_keys": 108},
        "f16 d128/128 causal fused backward": {"k_backward_keys": 336},
        "f16 d128/128 causal bias fused backward": {"k_backward_keys": 412},
        "f16 d128/128 causal fused backward--unaligned": {"k_backward_keys": 364},
        "f16 d192/192 plain fused backward": {"k_backward_keys": 8},
        "f16 d192/192 sink fused backward": {"k_backward_keys": 8},
        "f16 d192/128 causal fused backward": {"k_backward_keys": 8},
        "f16 d192/128 causal dropout fused backward": {"k_backward_keys": 12},
        "f16 d256/256 plain fused backward": {"k_backward_keys": 8},
        "f16 d256/256 window fused backward": {"k_backward_keys": 336},
        "f16 d256/256 causal fused backward--unaligned": {"k_backward_keys": 364},
        "f32 d96/96 document fused backward": {"k_backward_rows_holes": 44},
    },
    "sm_90a": {
        # What stands beside a bias in three warpgroups: 192 rows are 1.03 times as fast as 128.
        "f16 d128/128 bias no lse": {"k": 8},
        "bf16 d128/128 causal bias": {"k": 24},
        # All that is asked of a mask at once, in the kernel of its limits.
        "bf16 d64/64 causal %s" % ALL: {"k_limits": 16},
        "bf16 d80/80 causal %s" % ALL: {"k_limits": 16},
        "bf16 d96/96 causal %s" % ALL: {"k_limits": 16},
        "bf16 d128/128 causal %s" % ALL: {"k_limits": 16},
        "bf16 d256/256 causal %s" % ALL: {"k": 28, "k_limits": 16},
        # Blocks with holes, of a list of tiles, and what says of others which are theirs.
        "bf16 d80/80 document--unaligned": {"k_holes": 60},
        "f16 d96/96 document--unaligned": {"k": 16},
        # Limits of rows, loaded or computed before the loop.
        "f16 d128/128 document--unaligned": {"k": 8},
        "bf16 d91/91 causal": {"k": 44},
        "bf16 d128/128 causal backward--unaligned": {"k_backward_keys": 16},
        "f16 d128/128 causal backward--unaligned": {"k_backward_keys": 16},
        "bf16 d64/64 causal backward": {"k_backward_keys": 8},
        "bf16 d64/64 causal sink backward": {"k_backward_keys": 8},
        "f16 d64/64 causal backward": {"k_backward_keys": 8},
        # Steps of 64 rows with dropout (80 up to head size 64); beside a mask addresses, that change once a work tile.
        "bf16 d40/40 causal dropout backward": {"k_backward_keys": 180},
        "bf16 d64/64 causal dropout backward": {"k_backward_keys": 48},
        "bf16 d80/80 causal dropout backward": {"k_backward_keys": 8},
        "bf16 d96/96 dropout backward": {"k_backward_keys": 8},
        "bf16 d96/96 causal dropout backward": {"k_backward_keys": 116},
        "bf16 d112/112 causal dropout backward": {"k_backward_keys": 48},
        "bf16 d128/64 causal dropout backward": {"k_backward_keys": 148},
        "bf16 d128/128 causal dropout backward": {"k_backward_keys": 172},
        "f16 d64/64 causal dropout backward": {"k_backward_keys": 48},
        "f16 d128/128 causal dropout backward": {"k_backward_keys": 172},
        # Four instructions a step without a mask, 49 of 1009 with one.
        "bf16 d128/128 dropout fused backward": {"k_backward_keys": 184},
        "f16 d128/128 dropout fused backward": {"k_backward_keys": 184},
        "bf16 d128/128 causal dropout fused backward": {"k_backward_keys": 684},
        "f16 d128/128 causal dropout fused backward": {"k_backward_keys": 684},
        "bf16 d64/64 %s backward" % ALL: {"k_backward_pairs": 28},
        "bf16 d96/96 %s backward" % ALL: {"k_backward_pairs": 24},
        "bf16 d128/128 %s backward" % ALL: {"k_backward_keys": 104},
        # Bulk reductions, whose addresses come beside the accumulators of mma.sync.
        "bf16 d256/256 causal fused backward": {"k_backward_keys": 24},
        "bf16 d256/256 causal alibi fused backward": {"k_backward_keys": 72},
        "bf16 d256/256 causal fused backward--unaligned": {"k_backward_keys": 32},
        "f32 d128/128 causal backward--unaligned": {"k_backward_keys": 124},
        "f32 d256/256 plain backward": {"k_backward_keys": 12},
        "f32 d256/256 window backward": {"k_backward_keys": 16},
        "f32 d256/256 causal backward--unaligned": {"k_backward_keys1": 8},
        "f16 d256/256 causal fused backward--unaligned": {"k_backward_keys": 32},
        # Of examples: masks by data, or with divisions, beside two sums, and computed indices. They have
        # not been timed beside narrower tiles.
        "examples/blocks.mlir": {"blocks_backward_keys": 12},
        "examples/blocks.mlir bf16": {"blocks_backward_keys": 132},
        "examples/custom.mlir bf16": {"custom_backward_rows": 16},
        "gallery/block_sparse.mlir bf16": {"block_sparse_backward_keys": 80},
        "gallery/block_sparse_causal.mlir bf16": {"block_sparse_causal_backward_keys": 60},
        "examples/softcap.mlir bf16 unaligned": {"softcap_backward_keys": 28},
        "gallery/dilated.mlir bf16": {"dilated_backward_keys": 16},
        "gallery/dilated.mlir bf16 unaligned": {"dilated": 12},
        "gallery/document_windows.mlir bf16": {"document_windows_backward_keys": 16},
        "gallery/neighbourhood.mlir": {"neighbourhood_backward_rows": 464},
        "gallery/neighbourhood.mlir bf16": {"neighbourhood": 296, "neighbourhood_backward_rows": 192},
        "gallery/packed_alibi.mlir": {"packed_alibi_backward_keys": 36},
        # By mma.sync, as rows of 59 elements are.
        "bf16 d59/59 causal softcap backward": {"k_backward_keys": 84},
        # A few registers, written and read once for each work tile, none in the steps of its loop.
        "bf16 d128/128 causal tile backward": {"k_backward_keys": 8},
        "f16 d128/128 causal tile backward": {"k_backward_keys": 8},
        "bf16 d128/128 tile fused backward": {"k_backward_keys": 56},
        "f16 d128/128 tile fused backward": {"k_backward_keys": 56},
        "bf16 d128/128 softcap backward": {"k_backward_keys": 16},
        "bf16 d128/128 causal softcap backward": {"k_backward_keys": 28},
        "bf16 d128/128 softcap backward--unaligned": {"k_backward_rows": 8},
        "bf16 d128/64 causal softcap backward": {"k_backward_keys": 16},
        # One accumulator more than the split form has, and addresses of what is read and added.
        "bf16 d64/64 plain fused backward": {"k_backward_keys": 8},
        "f16 d64/64 causal fused backward": {"k_backward_keys": 188},
        "f16 d128/128 causal fused backward": {"k_backward_keys": 24},
        # In tiles of sm_80, which are no default: with three accumulators beside each other.
        "bf16 d256/256 causal backward--unaligned": {"k_backward_keys": 68},
        "f16 d256/256 causal backward--unaligned": {"k_backward_keys": 68},
        "bf16 d64/64 document fused backward": {"k_backward_keys_holes": 8, "k_backward_keys": 16},
        "bf16 d96/96 causal bias fused backward": {"k_backward_keys": 272},
        "bf16 d128/128 causal fused backward--unaligned": {"k_backward_keys": 124},
        "bf16 d192/192 causal fused backward": {"k_backward_keys": 416},
        "bf16 d192/192 causal dropout fused backward": {"k_backward_keys": 128},
        "bf16 d192/128 plain fused backward": {"k_backward_keys": 360},
        "f16 d96/96 document fused backward": {"k_backward_keys_holes": 68, "k_backward_keys": 16},
        "f16 d128/128 causal bias fused backward": {"k_backward_keys": 288},
        "f16 d128/128 causal fused backward--unaligned": {"k_backward_keys": 124},
        "f16 d192/192 plain fused backward": {"k_backward_keys": 360},
        "f16 d192/192 sink fused backward": {"k_backward_keys": 360},
        "f16 d192/128 causal fused backward": {"k_backward_keys": 416},
        "f16 d192/128 causal dropout fused backward": {"k_backward_keys": 64},
        "f16 d256/256 plain fused backward": {"k_backward_keys": 44},
        "f16 d256/256 window fused backward": {"k_backward_keys": 44},
        "f32 d128/128 causal fused backward--unaligned": {"k_backward_keys": 124},
        "f32 d256/256 plain fused backward": {"k_backward_keys": 12},
        "f32 d256/256 window fused backward": {"k_backward_keys": 28},
        # Limits of keys beside that, none of it in the steps.
        "bf16 d128/128 document fused backward": {"k_backward_keys": 160},
        "f16 d128/128 document fused backward": {"k_backward_keys": 160},
        "bf16 d128/128 causal document fused backward": {"k_backward_keys": 160},
        "f16 d128/128 causal document fused backward": {"k_backward_keys": 160},
        # Two roles: what a step keeps of more than one capture.
        "bf16 d256/256 causal bias backward": {"k_backward_keys": 16},
        "bf16 d256/256 %s backward" % ALL: {"k_backward_keys": 88},
        "f16 d256/256 causal bias backward": {"k_backward_keys": 16},
        "f16 d256/256 %s backward" % ALL: {"k_backward_keys": 88},
        # By mma.sync, in one kernel of dK and dV (ptxas of CUDA 13.0): addresses, beside both sums.
        **{"%s d%s %s backward--unaligned" % (dtype, dims, feature): {"k_backward_keys": most}
           for feature, most, of in (("causal", 100, "160/160 192/192 224/224"), ("prefix", 16, "160/160 192/192 224/224"),
                                     ("alibi", 92, "160/160 192/192 224/224 192/128 256/256"),
                                     ("document", 76, "192/128 256/256"), ("bias", 20, "192/128 256/256"))
           for dims in of.split() for dtype in ("bf16", "f16")},
    },
}

# Sugar, and the type and the dimensions of what it captures.
FEATURES = {
    "plain": (None, None),
    "causal": ("causal", None),
    "window": ("window<255, 0>", None),
    "alibi": ("alibi(%alibi)", ("?xf32", ["Hq"])),
    "softcap": ("softcap<30.0>", None),
    "prefix": ("prefix(%prefix)", ("?xi32", ["B"])),
    "document": ("document(%document)", ("?x?xi32", ["B", "Sk"])),
    "bias": ("bias(%bias)", ("?x?x?xf32", ["Hq", "Sq", "Sk"])),
    "sink": (None, None),
    "dropout": (None, None),
}
# A bias of the operands' type, which comes as tiles by TMA where a target has that.
TILE = ("bias(%tile)", ("?x?x?x%s", ["Hq", "Sq", "Sk"]))


def program(dtype, head_dim, value_dim, features, lse=True):
    """The text of one attention."""
    q, v = "tensor<?x?x?x%dx%s>" % (head_dim, dtype), "tensor<?x?x?x%dx%s>" % (value_dim, dtype)
    arguments = [("q", q, ""), ("k", q, ""), ("v", v, "")]
    types, sugar = [q, q, v], []
    for name in features:
        text, capture = TILE if name == "tile" else FEATURES[name]
        if text:
            sugar.append(text)
        if capture:
            kind = "tensor<%s>" % capture[0].replace("%s", dtype)
            dims = ", ".join('"%s"' % dim for dim in capture[1])
            arguments.append((name, kind, ", fa.dims = [%s]" % dims))
            types.append(kind)
    clauses = ""
    if "sink" in features:
        clauses += " sink(%sink)"
        arguments.append(("sink", "tensor<?x%s>" % dtype, ""))
        types.append("tensor<?x%s>" % dtype)
    if "dropout" in features:
        clauses += " dropout(%p, %seed, %offset)"
        arguments += [("p", "f32", ""), ("seed", "i64", ""), ("offset", "i64", "")]
        types += ["f32", "i64", "i64"]
    results = [("o", v)] + ([("lse", "tensor<?x?x?xf32>")] if lse else [])
    with_ = " with [%s]" % ", ".join(sugar) if sugar else ""
    values = ", ".join("%" + name for name, _ in results)
    return """func.func @k(%s)
    -> (%s) {
  %s = fa.attention query(%%q) key(%%k) value(%%v)%s%s
    : (%s) -> (%s)
  return %s : %s
}
""" % (", ".join('%%%s: %s {fa.name = "%s"%s}' % (n, t, n, more) for n, t, more in arguments),
       ", ".join('%s {fa.name = "%s"}' % (t, n) for n, t in results),
       values, with_, clauses, ", ".join(types), ", ".join(t for _, t in results),
       values, ", ".join(t for _, t in results))


def cases(target, dtypes, whole):
    """(name, text, options of fa-opt, whether products are asynchronous)"""
    for dtype in dtypes:
        between = list(BETWEEN[target].get(dtype, []))
        if whole and target == "sm_80":
            between += [(dim, features) for dim in range(72, 256, 8) if dim % 64
                        for features in (["plain"], ["causal"], ["dropout"], ["causal", "dropout"])
                        if (dim, features) not in between]
        for dim, features in between:
            yield ("%s d%d/%d %s" % (dtype, dim, dim, " ".join(features)),
                   program(dtype, dim, dim, features), [], False)
        for line in HEAD_DIMS[target][dtype]:
            def case(features, options=(), head_dim=line, value_dim=line, lse=True):
                name = "%s d%d/%d %s%s%s" % (dtype, head_dim, value_dim, " ".join(features),
                                             "" if lse else " no lse", "".join(options))
                wgmma = (target == "sm_90a" and dtype != "f32" and "--unaligned" not in options
                         and head_dim % 8 == 0 and value_dim % 8 == 0)
                return (name, program(dtype, head_dim, value_dim, features, lse), list(options),
                        wgmma)

            for number, feature in enumerate(FEATURES):
                both = ["causal", feature] if feature not in ("plain", "causal") else []
                for features in filter(None, [[feature], both]):
                    # One of both for each of f16 and bf16; for f32 by the head size.
                    alone = dtype == "f16" or (dtype == "f32" and line != 128)
                    if whole or alone == (len(features) == 1):
                        yield case(features)
                # Of f16 and bf16, one not aligned, and the other without LSE.
                pairwise = target == "sm_90a" and dtype != "f32"
                turn = (number + (dtype == "f16") + line // 16) % 2
                if whole or (pairwise and turn):
                    yield case([feature], ["--unaligned"])
                if whole or (pairwise and not turn):
                    yield case([feature], lse=False)
            if not (whole or target == "sm_90a") or dtype == "f32":
                yield case(["causal"], ["--unaligned"])
            yield case(["causal", "dropout"], ["--unaligned"])
            if target == "sm_90a":
                if dtype != "bf16" or whole:
                    yield case(["causal"], value_dim=line // 2)
                    yield case(["causal", "window"], value_dim=min(2 * line, 256))
                    yield case(["document", "dropout"])
                if dtype != "f16" or whole:
                    yield case(["causal"], head_dim=line - 5, value_dim=line - 5)
                    yield case([name for name in FEATURES if name != "plain"])
                if dtype != "f32" and (line in SHORT or whole):
                    for feature in ("plain", "causal", "window"):
                        yield case([feature], SHORT[128 if line <= 128 else 256])
            if whole:
                for below in (line - 8, line // 2 + 8) + ((192,) if line == 256 else ()):
                    yield case(["causal"], head_dim=below, value_dim=below)
                    yield case(["causal"], value_dim=below)
                scores = [name for name in FEATURES if name != "plain"]
                for pair in itertools.combinations(scores, 2):
                    if "causal" not in pair:
                        yield case(pair)
                yield case(scores)


def fused_is_async(name):
    """Whether blocks of keys that add to dq have registers for asynchronous products."""
    dims, *features = name.split()[1:-1]
    dims = [int(dim) for dim in dims[1:].split("/")]
    light = {*features} <= {"plain", "causal", "sink"}
    # Warpgroups share whole panels of columns there.
    return max(dims) <= 128 and (light or (min(dims) == 128 and "bias" not in features))


def backward_cases(target, dtypes, whole):
    """As `cases`, of gradients: without --whole two of the features at each head size, by turns."""
    dims = BACKWARD_DIMS + (BACKWARD_BETWEEN if whole else ())
    features = [name for name in FEATURES if name not in ("plain", "causal")]
    for dtype in dtypes:
        for number, (dim, value_dim) in enumerate(dims):
            # Known: of f32 and two head sizes, dV spills up to 44 bytes.
            if dtype == "f32" and dim != value_dim and not whole:
                continue

            def case(features, options=()):
                name = "%s d%d/%d %s backward%s" % (dtype, dim, value_dim, " ".join(features),
                                                    "".join(options))
                wgmma = (target == "sm_90a" and dtype != "f32" and not options
                         and dim % 8 == 0 and value_dim % 8 == 0)
                return (name, program(dtype, dim, value_dim, features),
                        ["--backward", *options], wgmma)

            turn = number + len(dtype)
            yield case(["causal"] if turn % 2 or whole else ["plain"])
            if not whole:
                yield case(["causal"] * (turn % 2) + [features[turn % len(features)]])
                if target == "sm_90a" and dim == 128 and dtype != "f32":
                    yield case(["tile"])
                if number % 3 == 2:
                    yield case(["causal"], ["--unaligned"])
                continue
            yield case(["plain"])
            for name in [*features, "tile"]:
                yield case([name])
                yield case(["causal", name])
            for name in FEATURES:
                yield case([name], ["--unaligned"])
            yield case(features)


def timed_cases(target):
    """What bench/gpu_cases.py times, as `cases` has it."""
    import gpu_cases
    for name, case in gpu_cases.CASES.items():
        for dim in (64, 128, 256):
            for lse in (True, False):
                text = gpu_cases.program(case, dim, lse)
                for options in [[]] if target == "cpu" else [[], ["--unaligned"]] + (
                        [SHORT[128 if dim <= 128 else 256]] if target == "sm_90a" else []):
                    yield ("timed %s d%d%s%s" % (name, dim, "" if lse else " no lse",
                                                 "".join(options)), text, options, False)


def find_ptxas():
    return shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def compile_program(target, text, options, path):
    """Compile to PTX, or for CPUs to an object, of gradients with --backward. Return the process."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "k.mlir")
        with open(source, "w") as file:
            file.write(text)
        if "--backward" in options and not any(o.startswith("--dtype") for o in options):
            # Beside the forward's, which is compiled without it, there would be two in one file.
            options = [option for option in options if option != "--backward"]
            backward = os.path.join(folder, "backward.mlir")
            before = [] if target == "cpu" else ["--fa-relax-functions"]
            generated = run(["fa-opt", source, "-o", backward, *before, "--fa-generate-backward=only=true"])
            if generated.returncode:
                return generated
            source, options = backward, ["--compile-from=grad", *options]
        kind = "obj" if target == "cpu" else "ptx"
        return run(["fa-opt", source, "--target=" + target, "--emit=" + kind, "-o", path, *options])


def spills_of(output, known):
    """What ptxas says that kernels spill, as text, empty where none does more than is known."""
    kernels = re.findall(r"Function properties for (\S+)\n.*?"
                         r"(\d+) bytes spill stores, (\d+) bytes spill loads", output)
    return ", ".join("@%s spills %d bytes" % (kernel, int(stores) + int(loads))
                     for kernel, stores, loads in kernels
                     if int(stores) + int(loads) > known.get(kernel, 0))


def check(ptxas, target, name, text, options, wgmma=False):
    """What is wrong with a program, empty if nothing; what ptxas says of its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = os.path.join(folder, "k.ptx")
        compiled = compile_program(target, text, options, ptx)
        if compiled.returncode or "warning" in compiled.stdout:
            return "fa-opt: " + compiled.stdout.strip(), ""
        problems, said = [], []
        with open(ptx) as file:
            code = file.read()
        if wgmma and ("wgmma.mma_async" not in code or "mma.sync" in code):
            problems.append("products that are not asynchronous")
        if wgmma and "setmaxnreg" not in code:
            problems.append("roles do not share out registers")
        for arch in ARCHITECTURES[target][:1 if "--backward" in options else None]:
            status, output, seconds, _ = ptxas_cost.run_ptxas([ptxas, "-v", "-arch=" + arch, ptx, "-o",
                                                               os.path.join(folder, arch)])
            spilled = spills_of(output, SPILLS.get(target, {}).get(name, {}))
            if status or "bytes spill stores" not in output:
                problems.append("%s: %s" % (arch, output.strip()))
            elif spilled:
                problems.append("%s: %s" % (arch, spilled))
            problems += ["%s: %s" % (arch, line) for line in output.splitlines()
                         if "warning" in line or "(C7" in line]
            registers = "/".join(re.findall(r"Used (\d+) reg", output))
            said.append("%s: %s registers, ptxas %d ms" % (arch, registers, 1000 * seconds))
        return "; ".join(problems), ", ".join(said)


def cost_cases(target):
    """What --cost measures, as `cases` has it."""
    short = target == "sm_90a"
    for dim in (64, 128, 256):
        for features in (["plain"], ["causal"]):
            text, name = program("bf16", dim, dim, features), "d%d %s" % (dim, " ".join(features))
            yield name, text, []
            if short and features == ["causal"]:
                yield name + " short", text, SHORT[128 if dim <= 128 else 256]
            if features == ["causal"]:
                yield name + " backward", text, ["--backward"]
        yield "d%d causal alibi softcap" % dim, program("bf16", dim, dim, ["causal", "alibi", "softcap"]), []
        if short and dim <= 128:
            yield "d%d causal fused backward" % dim, program("bf16", dim, dim, ["causal"]), ["--backward", "--fused"]


def check_costs(ptxas, target, record):
    """Print what ptxas takes for kernels; return the exit status."""
    paths = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text, options in cost_cases(target):
            paths[name] = os.path.join(folder, "k%d.ptx" % len(paths))
            refusal = emit(target, text, options, paths[name])
            if refusal:
                sys.exit("check_ptx.py: %s: fa-opt: %s" % (name, refusal))
        lines, failed, compared = ptxas_cost.check(ptxas, target, paths, record)
    print("\n".join(lines + ["FAILED: " + line for line in failed]))
    print("%d passed, %d failed, %d skipped" % (
        (len(paths) - len(failed) if compared else 0), len(failed), 0 if compared else len(paths)))
    return 1 if failed else 0


def emit(target, text, options, path):
    """Compile to PTX, or for CPUs to an object. Return what fa-opt says if it fails."""
    compiled = compile_program(target, text, options, path)
    return compiled.stdout.strip() or "no reason" if compiled.returncode else ""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def differ(ptxas, target, text, options, before):
    """In what a program's code differs from the file `before`, empty if in nothing."""
    with tempfile.TemporaryDirectory() as folder:
        after = os.path.join(folder, "k.ptx")
        refusal = emit(target, text, options, after)
        refused = not os.path.exists(before)
        if refusal or refused:
            return "" if refusal and refused else "fa-opt: " + (refusal or "was refused before")
        if read(before) == read(after):
            return ""
        if target == "cpu":
            return "another object"
        cubins = []
        for ptx in (before, after):
            # ptxas writes the name of its input into what it makes.
            shutil.copyfile(ptx, os.path.join(folder, "same.ptx"))
            cubin = os.path.join(folder, "cubin%d" % len(cubins))
            assembled = run([ptxas, "-v", "-arch=" + ARCHITECTURES[target][0],
                             os.path.join(folder, "same.ptx"), "-o", cubin])
            if assembled.returncode:
                return "ptxas: " + assembled.stdout.strip()
            registers = "/".join(re.findall(r"Used (\d+) reg", assembled.stdout))
            spills = re.findall(r"(\d+) bytes spill stores", assembled.stdout)
            cubins.append((read(cubin), "%s registers, %s bytes spilled, %d bytes" % (
                registers, "/".join(spills), os.path.getsize(cubin))))
        return "" if cubins[0][0] == cubins[1][0] else "%s; before: %s" % (cubins[1][1], cubins[0][1])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_80", choices=sorted(ARCHITECTURES))
    parser.add_argument("--dtype", action="append", default=[], choices=("f16", "bf16", "f32"))
    parser.add_argument("--examples", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--timed", action="store_true")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--retype", choices=("f16", "bf16"), help="of files and examples")
    parser.add_argument("--save", metavar="DIR")
    parser.add_argument("--against", metavar="DIR")
    parser.add_argument("--verbose", action="store_true", help="print what passed, too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--record", action="store_true", help="with --cost: keep what is measured, to compare with later")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        sys.exit("check_ptx.py: ptxas is not found; install CUDA's assembler")
    if options.record and not options.cost:
        parser.error("--record goes with --cost")
    if options.cost:
        sys.exit(check_costs(ptxas, options.target, options.record))

    grid = backward_cases if options.backward else cases
    work = list(grid(options.target, options.dtype, options.whole))
    files = list(options.files)
    if options.fused and not options.backward:
        parser.error("--fused is a form of gradients; add --backward, or leave it out")
    if options.fused:
        work = [(name.replace(" backward", " fused backward"), text, [*flags, "--fused"],
                 wgmma and fused_is_async(name)) for name, text, flags, wgmma in work]
    if options.timed and options.backward:
        parser.error("--timed is of forwards; leave out it or --backward")
    if options.timed:
        work += timed_cases(options.target)
    if options.examples:
        files += sorted(glob.glob(os.path.join(ROOT, "examples", "**", "*.mlir"), recursive=True))
    for path in files:
        with open(path) as file:
            text = file.read()
        # A program on tiles says itself what is aligned.
        tiles = ["--compile-from=tile"] if "tile.func" in text else []
        backward = ["--backward"] if options.backward and not tiles else []
        # Retyped, forward and gradients are compiled at once.
        backward += ["--dtype=" + options.retype] if options.retype and not tiles else []
        backward += ["--fused"] if options.fused and not tiles else []
        name = os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
        name += " " + options.retype if options.retype else ""
        name += " fused" if options.fused and not tiles else ""
        work.append((name, text, tiles + backward))
        if not tiles:
            work.append((name + " unaligned", text, ["--unaligned"] + backward))

    saved = options.save or options.against
    if options.target == "cpu" and not saved:
        parser.error("--target=cpu goes with --save or --against: there is nothing to assemble")
    if options.save:
        os.makedirs(options.save, exist_ok=True)

    def judge(case):
        if not saved:
            return check(ptxas, options.target, *case)
        path = os.path.join(saved, re.sub(r"[^\w.=-]+", "_", "%s %s" % (options.target, case[0])))
        if options.against:
            return differ(ptxas, options.target, case[1], case[2], path), ""
        # What is refused leaves no file, which --against compares, too.
        return "", emit(options.target, case[1], case[2], path)

    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(judge, work)
        for (name, *_), (problem, said) in zip(work, results):
            failures += bool(problem)
            if problem or options.verbose:
                print("%s: %s%s" % (name, said, " FAILED: " + problem if problem else ""), flush=True)
    print("%d passed, %d failed, 0 skipped" % (len(work) - failures, failures))
    sys.exit(1 if failures or not work else 0)


if __name__ == "__main__":
    main()
