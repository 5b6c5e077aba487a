"""Cases of gpu_compare.py whose masks are data: documents, also with holes, the same as sequences in a row, limits of rows, sparse blocks;
and a window with a sink, and without.

SETS has the lengths that documents and sequences take. Twelve and 64 random ones of 16,384 tokens are of the seed whose
longest have 4331 and 1295 tokens. `limits` hides what causal attention, or documents, hide, by a first and a last key of
each row that are read. Of blocks of 128 x 128 each row has a part. Needs no PyTorch, but for what makes tensors.
"""

import dataclasses
import functools
import itertools

from gpu_cases import Case, is_causal
from gpu_gallery import block_pairs, cut, layout_of, make_tensors, triangle

SEED = 5


def spread(n, count):
    """Lengths of `count` parts of n that differ by one token at most."""
    return [n // count + (i < n % count) for i in range(count)]


SETS = {"12": lambda n: cut(n, 12, SEED), "64": lambda n: cut(n, 64, SEED),
        **{"%d-equal" % count: functools.partial(spread, count=count) for count in (12, 20, 32)},
        "long": lambda n: [n // 2, *spread(n - n // 2, 11)], "8": lambda n: spread(n, 8)}  # long: one and eleven


def ids_of(lengths):
    return lambda b, h, n: [[i for i, length in enumerate(lengths(n)) for _ in range(length)]] * b


def starts_of(lengths):
    return lambda b, h, n: [0, *itertools.accumulate(lengths(n))]


def first_of(lengths):
    """Of each row the first key that it sees: that of its document."""
    return lambda b, h, n: [[begin for begin, length in zip(starts_of(lengths)(b, h, n), lengths(n))
                             for _ in range(length)]] * b


def last_of(b, h, n):
    """Behind the last key that a row sees: its own."""
    return [list(range(1, n + 1))] * b


def causal_case(text, lengths, types, data, mask, **more):
    """Causal inside of each of `lengths`."""
    return Case(text, visible=lambda n: sum(length * length for length in lengths(n)) / 2, lengths=lengths, types=types,
                captures=make_tensors(types, data), mask=lambda c: lambda b, h, i, j: (j <= i) & mask(c, b, i, j), **more)


def documents(lengths):
    return causal_case("with [causal, document(%ids)]", lengths, {"ids": ("tensor<?x?xi32>", ["B", "Sk"])},
                       {"ids": ids_of(lengths)}, lambda c, b, i, j: c["ids"][b, i] == c["ids"][b, j])


def packed(lengths):
    sequence = lambda c, x: (c["cu"] <= x[..., None]).sum(-1)
    return causal_case("with [causal] sequences(query_starts(%cu) key_starts(%cu))", lengths,
                       {"cu": ("tensor<?xi32>", ["B+1"])}, {"cu": starts_of(lengths)},
                       lambda c, b, i, j: sequence(c, i) == sequence(c, j), packed=True)


LIMITS = """captures(%first, %last)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %f: tensor<?x?xi32>, %l: tensor<?x?xi32>):
    %first32 = tensor.extract %f[%b, %i] : tensor<?x?xi32>
    %last32 = tensor.extract %l[%b, %i] : tensor<?x?xi32>
    %from = arith.index_cast %first32 : i32 to index
    %to = arith.index_cast %last32 : i32 to index
    %begun = arith.cmpi sle, %from, %j : index
    %lasts = arith.cmpi slt, %j, %to : index
    %seen = arith.andi %begun, %lasts : i1
    fa.yield %seen : i1
  }"""


def limits(lengths):
    return causal_case(LIMITS, lengths, dict.fromkeys(["first", "last"], ("tensor<?x?xi32>", ["B", "Sq"])),
                       {"first": first_of(lengths), "last": last_of},
                       lambda c, b, i, j: (c["first"][b, i] <= j) & (j < c["last"][b, i]))


PREFIX = 64  # keys that all documents see
SHARED = """captures(%%ids)
  mask {
  ^bb0(%%b: index, %%h: index, %%i: index, %%j: index, %%sq: index, %%sk: index, %%d: tensor<?x?xi32>):
    %%prefix = arith.constant %d : index
    %%mine = tensor.extract %%d[%%b, %%i] : tensor<?x?xi32>
    %%other = tensor.extract %%d[%%b, %%j] : tensor<?x?xi32>
    %%same = arith.cmpi eq, %%mine, %%other : i32
    %%shared = arith.cmpi slt, %%j, %%prefix : index
    %%either = arith.ori %%same, %%shared : i1
    %%before = arith.cmpi sle, %%j, %%i : index
    %%seen = arith.andi %%either, %%before : i1
    fa.yield %%seen : i1
  }""" % PREFIX


def shared_prefix(lengths):
    """Documents, causal inside, that all see the first keys, too: rows with holes."""
    visible = lambda n: sum(length * length / 2 + length * min(PREFIX, begin)
                            for begin, length in zip(starts_of(lengths)(1, 1, n), lengths(n)))
    types = {"ids": ("tensor<?x?xi32>", ["B", "Sk"])}
    return Case(SHARED, visible=visible, types=types, captures=make_tensors(types, {"ids": ids_of(lengths)}),
                mask=lambda c: lambda b, h, i, j: (j <= i) & ((c["ids"][b, i] == c["ids"][b, j]) | (j < PREFIX)))


def in_turns(count, turns):
    """`count` documents, causal inside, a piece of each after the other, `turns` times: rows with holes."""
    pieces = lambda n: spread(n, count * turns)
    ids = lambda b, h, n: [[i % count for i, length in enumerate(pieces(n)) for _ in range(length)]] * b
    return dataclasses.replace(documents(pieces), visible=lambda n: n * n / count / 2, lengths=None,
                               captures=make_tensors({"ids": ("tensor<?x?xi32>", ["B", "Sk"])}, {"ids": ids}))


def blocks(density):
    draw, types = layout_of(density), {"layout": ("tensor<?x?x?xi1>", ["Hq", "Sq/128", "Sk/128"])}
    visible = functools.cache(lambda n: block_pairs(draw(1, 1, n)[0], n, 128, is_causal=False))
    # Tiles divide blocks.
    return Case("with [blocks<128, 128>(%layout)]", visible=visible, visits=lambda n, *_: visible(n), types=types,
                captures=make_tensors(types, {"layout": draw}), per_head=True,
                mask=lambda c: lambda b, h, i, j: c["layout"][h, i // 128, j // 128])


def window(text, types):
    """A window of 128 for 64 heads of queries and 8 of keys."""
    return Case("with [window<127, 0>]" + text, visible=lambda n: triangle(n, 128), types=types, group=8, heads=64,
                captures=make_tensors(types, {}), sink="sink" in types,
                mask=lambda c: lambda b, h, i, j: is_causal(c)(b, h, i, j) & (i - j < 128))


MASKS = {
    **{"documents-" + name: documents(lengths) for name, lengths in SETS.items()},
    **{"packed-" + name: packed(lengths) for name, lengths in SETS.items()},
    "documents-prefix": shared_prefix(SETS["12"]),
    "documents-turns": in_turns(8, 4),
    "limits_causal": limits(lambda n: [n]),
    "limits_documents": limits(SETS["8"]),
    **{"blocks-%.2f" % density: blocks(density) for density in (0.1, 0.25, 0.5)},
    "window-128": window("", {}),
    "sink-window-128": window(" sink(%sink)", {"sink": ("tensor<?xf32>", ["Hq"])}),
}
