"""The programs of examples/gallery as cases of gpu_compare.py, and on what they are counted and timed.

A program's clauses and captures are read from its file. Beside it stand here the values of its captures, as lists,
the pairs that are visible, by a formula, and the functions for FlexAttention. bench/gallery.py counts the visible
pairs that a program itself sees, so a formula that is wrong is found. Needs no PyTorch, but for what makes tensors.
"""

import dataclasses
import os
import random
import re
from typing import Callable, Dict, Optional, Tuple

from gpu_cases import Case, TOKENS

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples", "gallery")


@dataclasses.dataclass
class Source:
    """What the file of a program says."""
    comment: str  # what it is, in the field's words
    clauses: str  # between the operands and the types of fa.attention
    types: Dict[str, Tuple[str, list]]  # of captures by name: (type, fa.dims)


def read_source(path):
    """Read a program that is laid out as those of examples/gallery."""
    with open(path) as file:
        text = file.read()
    comment = re.match(r"((?:// .*\n)+?)// Run: ", text)
    clauses = re.search(r"fa\.attention query\(%q\) key\(%k\) value\(%v\)(.*?)\n    : \(", text, re.S)
    if not comment or not clauses:
        raise ValueError("%s: expected a comment, '// Run: ...', and fa.attention on %%q, %%k and %%v whose types "
                         "begin a line" % path)
    arguments = re.findall(r'%(\w+): (\S+) \{fa\.name = "\w+"(?:, fa\.kind = "\w+")?(?:, fa\.dims = \[(.*?)\])?\}',
                           text[:clauses.start()])
    types = {name: (type_, re.findall(r'"(.*?)"', dims)) for name, type_, dims in arguments
             if name not in ("q", "k", "v", "p", "seed", "offset")}
    return Source(" ".join(line[3:] for line in comment[1].splitlines()), clauses[1].strip(), types)


def cut(n, count, seed):
    """Lengths of `count` documents of at least one token that sum to n."""
    ends = sorted(random.Random(seed).sample(range(1, n), count - 1)) + [n]
    return [end - begin for begin, end in zip([0] + ends, ends)]


def documents(b, n):
    """The lengths of a sequence's documents: a random one for each 1024 tokens, two at least."""
    return cut(n, max(2, n // 1024), seed=b)


def ids(b, h, n):
    return [[i for i, length in enumerate(documents(x, n)) for _ in range(length)] for x in range(b)]


def window_of(b):
    """A batch's own window."""
    return (256, 1024)[b % 2]


def kept(b, n):
    """The tokens of a sequence that are real: padded on the right, or on the left."""
    return range(n * 3 // 4) if b % 2 == 0 else range(n * 3 // 8, n)


def keep(b, h, n):
    return [[j in kept(x, n) for j in range(n)] for x in range(b)]


def layout_of(density):
    """A part of the blocks of 128 x 128, as many in each row of them, others for each head."""
    def draw(b, h, n):
        count = -(-n // 128)
        rows = [[random.Random(1000 * head + row).sample(range(count), max(1, round(count * density))) for row in range(count)]
                for head in range(h)]
        return [[[column in row for column in range(count)] for row in rows[head]] for head in range(h)]
    return draw


layout = layout_of(0.25)


def causal_layout(b, h, n):
    """The first block, a query's own and the one before it, and an eighth of the others."""
    count = -(-n // 64)
    return [[int(column in (0, row - 1, row) or random.Random(1000 * row + column).random() < 0.125)
             for column in range(count)] for row in range(count)]


def block_pairs(rows, n, size, is_causal):
    """Visible pairs of a layout of blocks."""
    return sum(max(0, min((column + 1) * size, i + 1 if is_causal else n) - column * size)
               for i in range(n) for column, there in enumerate(rows[i // size]) if there)


def triangle(n, window=None):
    """Pairs of n causal tokens, within a window."""
    window = min(n, window or n)
    return window * (window + 1) // 2 + (n - window) * window


def near(n, radius):
    """Pairs of n places that are at most `radius` apart."""
    return sum(min(n - 1, i + radius) - max(0, i - radius) + 1 for i in range(n))


def make_tensors(types, data):
    """-> captures of PyTorch; floats without data are N(0,1)"""
    def make(b, h, n):
        import torch
        kinds = {"i1": torch.bool, "i32": torch.int32, "f32": torch.float32}
        sizes = {"B": b, "Hq": h, "Sq": n, "Sk": n}
        made = {}
        for name, (type_, dims) in types.items():
            kind = kinds[re.search(r"(\w+)>$", type_)[1].split("x")[-1]]
            made[name] = (torch.tensor(data[name](b, h, n), dtype=kind, device="cuda") if name in data else
                          torch.randn([sizes[dim] for dim in dims], dtype=kind, device="cuda"))
        return made
    return make


@dataclasses.dataclass
class GalleryCase(Case):
    file: str = ""
    comment: str = ""
    pairs: Optional[Callable] = None  # (b, n): visible ones of a sequence
    data: dict = dataclasses.field(default_factory=dict)  # name of a capture: (b, h, n) to its values


def gallery(name, pairs, mask=None, score=None, data={}, **more):
    """A case of a program; `pairs` counts the visible ones of a sequence b of n tokens."""
    source = read_source(os.path.join(FOLDER, name + ".mlir"))

    def visible(n):
        batch = max(1, TOKENS // n)
        return sum(pairs(b, n) for b in range(batch)) / batch
    return GalleryCase(source.clauses, visible=visible, types=source.types, mask=mask, score=score,
                       captures=make_tensors(source.types, data), sink="sink(" in source.clauses,
                       dropout=0.1 if "dropout(" in source.clauses else 0.0,
                       packed="sequences(" in source.clauses, file=name + ".mlir",
                       comment=source.comment, pairs=pairs, data=data, **more)


def starts(b, h, n):
    """Where the documents of the first sequence begin in a row."""
    return [sum(documents(0, n)[:i]) for i in range(len(documents(0, n)) + 1)]


def same_document(c):
    return lambda b, h, i, j: (j <= i) & (c["ids"][b, i] == c["ids"][b, j])


GALLERY = {
    "gallery-causal": gallery("causal", lambda b, n: triangle(n), lambda c: lambda b, h, i, j: j <= i),
    "gallery-causal-top-left": gallery("causal_top_left", lambda b, n: triangle(n),
                                       lambda c: lambda b, h, i, j: j <= i),
    "gallery-window": gallery("window", lambda b, n: triangle(n, 128),
                              lambda c: lambda b, h, i, j: (j <= i) & (i - j < 128)),
    "gallery-prefix": gallery("prefix", lambda b, n: sum(max(i + 1, n // 4) for i in range(n)),
                              lambda c: lambda b, h, i, j: (j < c["lengths"][b]) | (j <= i),
                              data={"lengths": lambda b, h, n: [n // 4] * b}),
    "gallery-documents": gallery("documents", lambda b, n: sum(map(triangle, documents(b, n))), same_document,
                                 data={"ids": ids}),
    "gallery-document-windows": gallery(
        "document_windows", lambda b, n: sum(triangle(length, window_of(b)) for length in documents(b, n)),
        lambda c: lambda b, h, i, j: same_document(c)(b, h, i, j) & (i - j < c["windows"][b]),
        data={"ids": ids, "windows": lambda b, h, n: [window_of(x) for x in range(b)]}),
    "gallery-padding": gallery("padding", lambda b, n: n * len(kept(b, n)),
                               lambda c: lambda b, h, i, j: c["keep"][b, j], data={"keep": keep}),
    "gallery-block-sparse": gallery(
        "block_sparse", lambda b, n: block_pairs(layout(1, 1, n)[0], n, 128, is_causal=False),
        lambda c: lambda b, h, i, j: c["layout"][h, i // 128, j // 128], data={"layout": layout}, per_head=True),
    "gallery-block-sparse-causal": gallery(
        "block_sparse_causal", lambda b, n: block_pairs(causal_layout(1, 1, n), n, 64, is_causal=True),
        lambda c: lambda b, h, i, j: (j <= i) & (c["layout"][i // 64, j // 64] != 0), data={"layout": causal_layout}),
    "gallery-dilated": gallery("dilated", lambda b, n: sum(min(64, i // 4 + 1) for i in range(n)),
                               lambda c: lambda b, h, i, j: (j <= i) & (i - j < 256) & ((i - j) % 4 == 0)),
    "gallery-neighbourhood": gallery(
        "neighbourhood", lambda b, n: near(32, 3) * near(n // 32, 3),
        lambda c: lambda b, h, i, j: ((i // 32 - j // 32).abs() <= 3) & ((i % 32 - j % 32).abs() <= 3)),
    "gallery-chunked": gallery("chunked", lambda b, n: n // 256 * triangle(256) + triangle(n % 256),
                               lambda c: lambda b, h, i, j: (j <= i) & (i // 256 == j // 256)),
    "gallery-sink-window": gallery("sink_window", lambda b, n: triangle(n, 128),
                                   lambda c: lambda b, h, i, j: (j <= i) & (i - j < 128)),
    "gallery-packed-causal": gallery("packed_causal", lambda b, n: sum(map(triangle, documents(0, n))),
                                     data={"cu": starts}),
    "gallery-packed-alibi": gallery("packed_alibi", lambda b, n: sum(map(triangle, documents(0, n))),
                                    data={"cu": starts}),
    "gallery-dropout-bias": gallery("dropout_bias", lambda b, n: n * n,
                                    score=lambda c: lambda s, b, h, i, j: s + c["bias"][i, j]),
}
