"""Writes the MLIR text of an attention, as docs/semantics.md has it."""

import functools
from typing import Callable

BLOCK = (("b", "index"), ("h", "index"), ("i", "index"), ("j", "index"), ("sq", "index"), ("sk", "index"))


def literal(value):
    """Return a float as MLIR writes it."""
    return "%.17e" % value


class Region:
    """Ops of a mask or a score, in order. Values are names, `%...`."""

    def __init__(self, prefix):
        self.prefix, self.ops, self.known = prefix, [], {}
        self.captures = []  # of the attention, each once

    def add(self, op):
        """Append an op, or find the same one, and return its value."""
        if op not in self.known:
            self.known[op] = "%%%s%d" % (self.prefix, len(self.ops))
            self.ops.append("%s = %s" % (self.known[op], op))
        return self.known[op]

    def read(self, operand, indices=()):
        """Return a captured scalar, or the element of a captured tensor at these indices (values of type index)."""
        if operand not in self.captures:
            self.captures.append(operand)
        name = "%c_" + operand.name
        if not operand.type.startswith("tensor"):
            return name
        return self.add("tensor.extract %s[%s] : %s" % (name, ", ".join(indices), operand.type))

    def read_f32(self, operand, indices):
        """Return the element of a captured tensor of floats as f32, in which scores are."""
        value, element = self.read(operand, indices), operand.type.rstrip(">").split("x")[-1]
        if element == "f32":
            return value
        return self.add("arith.%s %s : %s to f32" % ("truncf" if element == "f64" else "extf", value, element))

    def position(self):
        """Return the query's position among the keys, at bottom right: i + (sk - sq)."""
        return self.add("arith.addi %%i, %s : index" % self.add("arith.subi %sk, %sq : index"))


class Operand:
    """An argument of the entry behind query, key and value."""

    def __init__(self, name, type, dims=None):
        self.name, self.type, self.dims = name, type, dims


class Text:
    """An attention to be written: tensors, integers and floats are operands in the order of their creation."""

    def __init__(self, dtype, head_dim, value_dim):
        self.dtype, self.head_dim, self.value_dim = dtype, head_dim, value_dim
        self.tensors, self.integers, self.floats = [], [], []
        self.sugar, self.operands_of_sugar = [], []
        self.sink = None
        self.sequences = {}  # by the kind of starts or lengths
        self.dropout = ()
        self.scale = self.precision = None
        self.mask, self.conditions = Region("m"), []
        self.score, self.scored = Region("x"), "%s"

    def tensor(self, element, rank, dims=None):
        """Return an operand of `rank` sizes; `dims` name them."""
        type = "tensor<%s%s>" % ("?x" * rank, element)
        self.tensors.append(Operand("t%d" % len(self.tensors), type, dims or [""] * rank))
        return self.tensors[-1]

    def integer(self):
        self.integers.append(Operand("n%d" % len(self.integers), "i32"))
        return self.integers[-1]

    def number(self):
        self.floats.append(Operand("f%d" % len(self.floats), "f32"))
        return self.floats[-1]

    def add_sugar(self, name, *operands):
        """Append an item of `with [...]`."""
        self.sugar.append("%s(%s)" % (name, ", ".join("%" + x.name for x in operands)) if operands else name)
        self.operands_of_sugar += operands

    def add_window(self, left, right):
        """Hide keys further than `left` before or `right` behind the query's position: operands, or None."""
        region = self.mask
        for operand, op, predicate in ((left, "subi", "sge"), (right, "addi", "sle")):
            if operand is None:
                continue
            distance = region.add("arith.index_cast %s : i32 to index" % region.read(operand))
            bound = region.add("arith.%s %s, %s : index" % (op, region.position(), distance))
            self.conditions.append(region.add("arith.cmpi %s, %%j, %s : index" % (predicate, bound)))

    def add_chunks(self, size):
        """Hide keys of other chunks, of `size` positions each, than the query's position is in."""
        region = self.mask
        size = region.read(size)
        position = region.add("arith.index_cast %s : index to i32" % region.position())
        begin = region.add("arith.floordivsi %s, %s : i32" % (position, size))
        begin = region.add("arith.muli %s, %s : i32" % (begin, size))
        key = region.add("arith.index_cast %j : index to i32")
        # The key's distance from the chunk's begin, without a division of keys.
        distance = region.add("arith.subi %s, %s : i32" % (key, begin))
        self.conditions.append(region.add("arith.cmpi ult, %s, %s : i32" % (distance, size)))

    def add_blocks(self, mask, rows, keys):
        """Hide keys of blocks that are 0 in `mask`, which all sequences and heads share."""
        region, indices = self.mask, []
        for position, size in (("%i", rows), ("%j", keys)):
            width = region.add("arith.constant %d : index" % size)
            indices.append(region.add("arith.floordivsi %s, %s : index" % (position, width)))
        self.conditions.append(region.read(mask, indices))

    def add_softcap(self, cap, inverse):
        """Replace the score s by cap * tanh(s * inverse)."""
        region = self.score
        small = region.add("arith.mulf %s, %s : f32" % (self.scored, region.read(inverse)))
        bounded = region.add("math.tanh %s : f32" % small)
        self.scored = region.add("arith.mulf %s, %s : f32" % (region.read(cap), bounded))

    def add_alibi(self, slopes, indices, position):
        """Subtract the slope at `indices` times the distance of the key from the query's position."""
        region = self.score
        distance = region.add("arith.subi %s, %%j : index" % position)
        distance = region.add("arith.index_cast %s : index to i32" % distance)
        distance = region.add("arith.sitofp %s : i32 to f32" % distance)
        bias = region.add("arith.mulf %s, %s : f32" % (region.read_f32(slopes, indices),
                                                       region.add("math.absf %s : f32" % distance)))
        self.scored = region.add("arith.subf %s, %s : f32" % (self.scored, bias))

    def add_bias(self, bias, indices):
        """Add the element of a bias at `indices`."""
        region = self.score
        self.scored = region.add("arith.addf %s, %s : f32" % (self.scored, region.read_f32(bias, indices)))

    def _render_region(self, kind, region, result, captures):
        block = ([("s", "f32")] if kind == "score" else []) + list(BLOCK)
        arguments = ["%%%s: %s" % pair for pair in block] + ["%%c_%s: %s" % (x.name, x.type) for x in captures]
        yield "    %s {" % kind
        yield "    ^bb0(%s):" % ", ".join(arguments)
        for op in region.ops:
            yield "      " + op
        yield "      fa.yield %s : %s" % (result, "f32" if kind == "score" else "i1")
        yield "    }"

    def render(self):
        """Return the text of a module with one entry, @attention."""
        sizes = lambda kind: "?x?x" if kind in self.sequences else "?x?x?x"
        row = lambda kind, size: "tensor<%s%dx%s>" % (sizes(kind), size, self.dtype)
        query, key = row("query_starts", self.head_dim), row("key_starts", self.head_dim)
        value, output = row("key_starts", self.value_dim), row("query_starts", self.value_dim)
        lse = "tensor<%sf32>" % sizes("query_starts")
        visible = self.conditions[0] if self.conditions else None
        for condition in self.conditions[1:]:
            visible = self.mask.add("arith.andi %s, %s : i1" % (visible, condition))
        regions = [(kind, region, result) for kind, region, result in
                   (("mask", self.mask, visible), ("score", self.score, self.scored)) if result not in (None, "%s")]
        read = [x for _, region, _ in regions for x in region.captures]
        captures = [x for x in self.tensors + self.integers + self.floats if x in read]
        arguments = ['%%q: %s {fa.name = "q"}' % query, '%%k: %s {fa.name = "k"}' % key,
                     '%%v: %s {fa.name = "v"}' % value]
        for x in self.tensors + self.integers + self.floats:
            dims = ", fa.dims = [%s]" % ", ".join('"%s"' % dim for dim in x.dims) if x.dims else ""
            arguments.append('%%%s: %s {fa.name = "%s"%s}' % (x.name, x.type, x.name, dims))
        names = lambda operands: ", ".join("%" + x.name for x in operands)
        lines = ["func.func @attention(" + ",\n    ".join(arguments) + ")",
                 '    -> (%s {fa.name = "o"}, %s {fa.name = "lse"}) {' % (output, lse),
                 "  %o, %lse = fa.attention query(%q) key(%k) value(%v)"]
        lines += ["    captures(%s)" % names(captures)] if captures else []
        lines += ["    with [%s]" % ", ".join(self.sugar)] * bool(self.sugar)
        lines += ["    sink(%s)" % names([self.sink])] if self.sink else []
        lines += ["    sequences(%s)" % " ".join("%s(%%%s)" % (kind, x.name) for kind, x in self.sequences.items())] * bool(
            self.sequences)
        lines += ["    dropout(%s)" % names(self.dropout)] * bool(self.dropout)
        lines += ["    scale(%s)" % literal(self.scale)] if self.scale is not None else []
        lines += ["    precision(%s)" % self.precision] if self.precision else []
        for kind, region, result in regions:
            lines += self._render_region(kind, region, result, captures)
        operands = captures + self.operands_of_sugar + [self.sink] * bool(self.sink)
        operands += [*self.sequences.values(), *self.dropout]
        types = ", ".join([query, key, value] + [x.type for x in operands])
        lines += ["    : (%s) -> (%s, %s)" % (types, output, lse),
                  "  return %%o, %%lse : %s, %s" % (output, lse), "}"]
        return "\n".join(lines) + "\n"


def _add_alibi(text, element, rank):
    if rank == 1:
        text.add_sugar("alibi", text.tensor(element, 1, ["Hq"]))
    else:
        text.add_alibi(text.tensor(element, 2, ["B", "Hq"]), ("%b", "%h"), text.score.position())


def _add_blocks(text, element, repeated, rows, keys):
    """Add blocks; `repeated` says of each dimension whether its size is 1, so that all share it."""
    names = ["B", "Hq", "Sq/%d" % rows, "Sk/%d" % keys][4 - len(repeated):]
    mask = text.tensor(element, len(repeated), ["" if one else name for one, name in zip(repeated, names)])
    mask.type = "tensor<%s%s>" % ("".join("1x" if one else "?x" for one in repeated), element)
    text.add_sugar("blocks<%d, %d>" % (rows, keys), mask)


def _add_document(text, *elements):
    if len(elements) == 2:
        text.add_sugar("document", text.tensor(elements[0], 2, ["B", "Sq"]), text.tensor(elements[1], 2, ["B", "Sk"]))
        return
    ids = text.tensor(elements[0], 2)
    ids.dims = None  # as the library has them: B x max(Sq, Sk)
    text.add_sugar("document", ids)


def _add_bias(text, element, repeated):
    """Add a bias; `repeated` says of each dimension whether its size is 1, so that all share it."""
    names = ["B", "Hq", "Sq", "Sk"][4 - len(repeated):]
    bias = text.tensor(element, len(repeated), ["" if one else name for one, name in zip(repeated, names)])
    bias.type = "tensor<%s%s>" % ("".join("1x" if one else "?x" for one in repeated), element)
    text.add_sugar("bias", bias)


def _add_permuted_bias(text, element, places):
    """Add a bias whose dimensions are those of B x Hq x Sq x Sk at `places`."""
    bias = text.tensor(element, len(places), [("B", "Hq", "Sq", "Sk")[place] for place in places])
    text.add_bias(bias, [("%b", "%h", "%i", "%j")[place] for place in places])


def _add_traced(text, kinds, numbers, mask, score):
    """Add regions that were traced: captures by element and sizes, a letter for each number; operations, what they read and
    their result.

    Their operands have names already, so this is the first item.
    """
    captures = [text.tensor(element, sizes.count("?")) for element, sizes in kinds]
    captures += [text.integer() for _ in numbers]
    by_name = {operand.name: operand for operand in captures}
    for region, traced in ((text.mask, mask), (text.score, score)):
        if traced is not None:
            region.ops, region.captures = list(traced[0]), [by_name[name] for name in traced[1]]
            region.known = {op.split(" = ", 1)[1]: op.split(" = ", 1)[0] for op in region.ops}
    if mask is not None:
        text.conditions.append(mask[2])
    if score is not None:
        text.scored = score[2]


def _set_sink(text, element):
    text.sink = text.tensor(element, 1, ["Hq"])


# The parts of `sequences`, in its order.
SEQUENCES = ("query_starts", "key_starts", "query_lengths", "key_lengths")


def _set_sequences(text, elements, shared):
    """Set starts and lengths, by their dtypes, None for none; the parts of `shared` take the operand before them."""
    operand = None
    for kind, element in zip(SEQUENCES, elements):
        if element is not None and kind not in shared:
            operand = text.tensor(element, 1, ["B+1" if kind.endswith("starts") else "B"])
        if element is not None:
            text.sequences[kind] = operand


def _set_dropout(text):
    seed, offset = text.tensor("i64", 1), text.tensor("i64", 1)
    for x in (seed, offset):
        x.type, x.dims = "tensor<1xi64>", None
    text.dropout = (text.number(), seed, offset)


def _set_scale(text, scale):
    text.scale = scale


def _set_precision(text, precision):
    text.precision = precision


# What an attention may have, by name: functions of a Text and of constants. Each makes its operands in the order in
# which a launch has them.
ITEMS: dict[str, Callable[..., None]] = {
    "causal": lambda text: text.add_sugar("causal"),
    "top_left": lambda text: text.add_sugar("causal<top_left>"),
    "left": lambda text: text.add_window(text.integer(), None),
    "right": lambda text: text.add_window(None, text.integer()),
    "chunk": lambda text: text.add_chunks(text.integer()),
    "traced": _add_traced,
    "prefix": lambda text, element: text.add_sugar("prefix", text.tensor(element, 1, ["B"])),
    "document": _add_document,
    "blocks": _add_blocks,
    "blocks_of_all": lambda text, rows, keys: text.add_blocks(text.tensor("i1", 2), rows, keys),
    "softcap": lambda text: text.add_softcap(text.number(), text.number()),
    "alibi": _add_alibi,
    "bias": _add_bias,
    "permuted_bias": _add_permuted_bias,
    "sink": _set_sink,
    "sequences": _set_sequences,
    "dropout": _set_dropout,
    "scale": _set_scale,
    "precision": _set_precision,
}


@functools.lru_cache(maxsize=4096)
def write(dtype, head_dim, value_dim, items):
    """Return the text of an attention that has `items`, each a name of ITEMS and constants."""
    text = Text(dtype, head_dim, value_dim)
    for name, *constants in items:
        ITEMS[name](text, *constants)
    return text.render()


@functools.lru_cache(maxsize=4096)
def write_line(*arguments):
    """Return what `write` does, on one line."""
    return " ".join(line.strip() for line in write(*arguments).splitlines())
