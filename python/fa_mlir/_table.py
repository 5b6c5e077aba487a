"""What each operation of a mask or a score becomes in a region: tables by ATen's names. They need no PyTorch."""

from ._text import literal

FLOATS = ("f16", "bf16", "f32", "f64")


class Untranslatable(NotImplementedError):
    """Something in a mask or a score that has no translation; the message says where and what to write."""


HIDDEN = ("a mask or a score has an operation that PyTorch does not hand on while it compiles, as pow(x, n) in some versions, and abs(x) and "
          "hardswish where tensors are changed in place or gradients are off; write it as a method or an operator, as x.abs() and x ** n")
DRAWS = "operation '%s' has no translation, for it draws random numbers; draw a tensor before the call, and index it"


def is_in_place(name):
    """Return whether an operation of this name changes its first argument."""
    return name.endswith("_") and not name.endswith("__")


# What integers may be: any, and those of positions and sizes.
ANY = (-2 ** 63, 2 ** 63 - 1)
POSITIONS = (0, 2 ** 31 - 1)


class Value:
    """A scalar of a region: its name, its type there (integers are `index`), or a number that Python knows.

    `range` is the least and the most that an integer is proved to be.
    """
    __slots__ = ("name", "type", "number", "range")

    def __init__(self, name, type, number=None, range=None):
        self.name, self.type, self.number = name, type, number
        self.range = range if range and ANY[0] <= range[0] and range[1] <= ANY[1] else ANY

    @property
    def natural(self):
        """Say whether an integer is proved to be no less than 0."""
        return self.range[0] >= 0


class Read:
    """A captured tensor and its indices, None for those that are not known yet; `size(dim)` makes a Value of a size.

    `unsigned`: its integers are; `trailing`: it is passed with a last dimension of size 1 beside its own.
    """
    __slots__ = ("operand", "indices", "rank", "size", "unsigned", "trailing")

    def __init__(self, operand, indices, rank, size=None, unsigned=False, trailing=False):
        self.operand, self.indices, self.rank, self.size = operand, indices + [None] * (rank - len(indices)), rank, size
        self.unsigned, self.trailing = unsigned, trailing

    def fill(self, indices):
        """Return the read with indices for those that are not known yet, in order; None leaves one out."""
        given = iter(indices)
        filled = [next(given, None) if index is None else index for index in self.indices]
        return Read(self.operand, filled, self.rank, self.size, self.unsigned, self.trailing)


class Translator:
    """Emits the operations of one function into a region."""

    def __init__(self, region):
        self.region = region

    def constant(self, number, type):
        if type == "i1":
            return Value(self.region.add("arith.constant %s" % ("true" if number else "false")), type, bool(number))
        if type == "index":
            return Value(self.region.add("arith.constant %d : index" % number), type, int(number), (int(number),) * 2)
        number = float(number)
        if type in ("f16", "bf16"):  # by way of f32: rounded there as PyTorch rounds
            return self.convert(self.constant(number, "f32"), type)
        bits = {float("inf"): "0x7F800000", float("-inf"): "0xFF800000"}.get(number)
        if number != number:
            bits = "0x7FC00000"
        if bits and type == "f64":
            return Value(self.region.add("arith.extf %s : f32 to f64" % self.constant(number, "f32").name), type, number)
        return Value(self.region.add("arith.constant %s : %s" % (bits or literal(number), type)), type, number)

    def convert(self, value, type):
        """Return a value in another type, as PyTorch converts."""
        if value.type == type:
            return value
        if value.number is not None and type not in ("f16", "bf16"):
            return self.constant(value.number != 0 if type == "i1" else value.number, type)
        op = lambda text: Value(self.region.add(text), type)
        source = value.type
        if type == "i1":
            zero = self.constant(0, source)
            compare = "cmpf une" if source in FLOATS else "cmpi ne"
            return op("arith.%s, %s, %s : %s" % (compare, value.name, zero.name, source))
        if source == "i1":
            if type == "index":
                wide = self.region.add("arith.extui %s : i1 to i64" % value.name)
                return Value(self.region.add("arith.index_cast %s : i64 to index" % wide), type, range=(0, 1))
            return op("arith.uitofp %s : i1 to %s" % (value.name, type))
        if source == "index":
            wide = self.region.add("arith.index_cast %s : index to i64" % value.name)
            return op("arith.sitofp %s : i64 to %s" % (wide, type))
        if type == "index":
            wide = self.region.add("arith.fptosi %s : %s to i64" % (value.name, source))
            return op("arith.index_cast %s : i64 to index" % wide)
        order = {"f16": 0, "bf16": 0, "f32": 1, "f64": 2}
        if order[source] == order[type] or order[source] - order[type] == 2:  # PyTorch, too, rounds twice
            return self.convert(self.convert(value, "f32"), type)
        verb = "extf" if order[source] < order[type] else "truncf"
        return op("arith.%s %s : %s to %s" % (verb, value.name, source, type))

    def read(self, read):
        """Return the element of a tensor whose indices are all known."""
        type = read.operand.type[len("tensor<"):-1].split("x")[-1]
        indices = [self.wrap(index, read, dim) for dim, index in enumerate(read.indices)]
        indices += [self.constant(0, "index")] * read.trailing
        name = self.region.read(read.operand, [index.name for index in indices])
        if type == "i1" or type in FLOATS:
            return Value(name, type)
        cast = "arith.index_castui" if read.unsigned else "arith.index_cast"
        return Value(self.region.add("%s %s : %s to index" % (cast, name, type)), "index",
                     range=range_of(int(type[1:]), read.unsigned))

    def cut(self, value, bits, unsigned):
        """Return an integer modulo 2^bits, as PyTorch's smaller integers have it."""
        if value.range[0] >= range_of(bits, unsigned)[0] and value.range[1] <= range_of(bits, unsigned)[1]:
            return value
        name = self.region.add("arith.index_cast %s : index to i64" % value.name)
        name = self.region.add("arith.trunci %s : i64 to i%d" % (name, bits))
        name = self.region.add("arith.%s %s : i%d to i64" % ("extui" if unsigned else "extsi", name, bits))
        return Value(self.region.add("arith.index_cast %s : i64 to index" % name), "index", range=range_of(bits, unsigned))

    def wrap(self, index, read, dim):
        """Return an index that counts from the end where it is less than 0."""
        if index.natural:
            return index
        size = read.size(dim).name
        wrapped = self.region.add("arith.addi %s, %s : index" % (index.name, size))
        if index.number is None:
            negative = self.region.add("arith.cmpi slt, %s, %s : index" % (index.name, self.constant(0, "index").name))
            wrapped = self.region.add("arith.select %s, %s, %s : index" % (negative, wrapped, index.name))
        return Value(wrapped, "index")

    # Operations: each takes values of `type` and returns the name of one.

    def floor_divide(self, type, x, y):
        """Return the operation of the quotient rounded down, of floats as PyTorch and Python have it: by way of the rest."""
        if type == "index":
            return "arith.floordivsi %s, %s : index" % (x, y)
        emit = self._of(type)
        rest = self.region.add(self.truncated_remainder(type, x, y))
        quotient = emit("arith.divf %s, %s", emit("arith.subf %s, %s", x, rest), y)
        less = emit("arith.subf %s, %s", quotient, self.constant(1, type).name)
        quotient = emit("arith.select %s, %s, %s", self._is_opposed(type, rest, y), less, quotient)
        # It is a whole number but for rounding.
        whole = emit("math.floor %s", quotient)
        above = emit("arith.cmpf ogt, %s, %s", emit("arith.subf %s, %s", quotient, whole), self.constant(0.5, type).name)
        whole = emit("arith.select %s, %s, %s", above, emit("arith.addf %s, %s", whole, self.constant(1, type).name), whole)
        by_zero = emit("arith.cmpf oeq, %s, %s", y, self.constant(0, type).name)
        return "arith.select %s, %s, %s : %s" % (by_zero, emit("arith.divf %s, %s", x, y), whole, type)

    def truncated_divide(self, type, x, y):
        if type == "index":
            return "arith.divsi %s, %s : index" % (x, y)
        return "math.trunc %s : %s" % (self.region.add("arith.divf %s, %s : %s" % (x, y, type)), type)

    def remainder(self, type, x, y):
        """Return the operation of the rest that has the divisor's sign."""
        if type == "index":
            return self._subtract_product(x, y, self.floor_divide)
        emit = self._of(type)
        rest = self.region.add(self.truncated_remainder(type, x, y))
        return "arith.select %s, %s, %s : %s" % (self._is_opposed(type, rest, y), emit("arith.addf %s, %s", rest, y), rest, type)

    def truncated_remainder(self, type, x, y):
        """Return the operation of the rest that has the dividend's sign, of floats exactly so for quotients of 45 bits.

        A quotient may be rounded to the next whole number; what fma leaves of x then says so.
        """
        if type == "index":
            return self._subtract_product(x, y, self.truncated_divide)
        emit, rest = self._of(type), x
        for _ in range(2):  # what the quotient's bits do not hold is left for the second one
            whole = emit("math.trunc %s", emit("arith.divf %s, %s", rest, y))
            rest = emit("math.fma %s, %s, %s", emit("arith.negf %s", whole), y, rest)
        size, infinity = emit("math.absf %s", y), self.constant(float("inf"), type).name
        more = emit("arith.addf %s, %s", rest, emit("math.copysign %s, %s", size, x))
        rest = emit("arith.select %s, %s, %s", self._is_opposed(type, rest, x), more, rest)
        # By infinity all is left.
        whole = self.region.add("arith.andi %s, %s : i1" % (
            emit("arith.cmpf oeq, %s, %s", size, infinity), emit("arith.cmpf olt, %s, %s", emit("math.absf %s", x), infinity)))
        return "arith.select %s, %s, %s : %s" % (whole, x, rest, type)

    def _of(self, type):
        return lambda text, *names: self.region.add("%s : %s" % (text % names, type))

    def _is_opposed(self, type, x, y):
        """Return whether x is not 0, and of another sign than y."""
        emit, zero = self._of(type), self.constant(0, type).name
        signs = [emit("arith.cmpf olt, %s, %s", z, zero) for z in (x, y)]
        differ = self.region.add("arith.xori %s, %s : i1" % tuple(signs))
        return self.region.add("arith.andi %s, %s : i1" % (differ, emit("arith.cmpf one, %s, %s", x, zero)))

    def _subtract_product(self, x, y, divide):
        product = self.region.add("arith.muli %s, %s : index" % (self.region.add(divide("index", x, y)), y))
        return "arith.subi %s, %s : index" % (x, product)

    def absolute(self, type, x):
        if type != "index":
            return "math.absf %s : %s" % (x, type)
        negative = self.region.add("arith.subi %s, %s : index" % (self.constant(0, type).name, x))
        return "arith.maxsi %s, %s : index" % (x, negative)

    def negate(self, type, x):
        if type == "index":
            return "arith.subi %s, %s : index" % (self.constant(0, type).name, x)
        return "arith.negf %s : %s" % (x, type)

    def hypot(self, type, x, y):
        """Return the operation of sqrt(x x + y y), by the ratio of the smaller to the larger so that no square overflows; infinite where
        one is, also beside a NaN."""
        emit, infinity = self._of(type), self.constant(float("inf"), type).name
        sizes = [emit("math.absf %s", z) for z in (x, y)]
        larger, smaller = emit("arith.maximumf %s, %s", *sizes), emit("arith.minimumf %s, %s", *sizes)
        # By 1 instead of 0, whose quotient would be NaN in the gradients as well.
        one, is_zero = self.constant(1, type).name, emit("arith.cmpf oeq, %s, %s", larger, self.constant(0, type).name)
        ratio = emit("arith.divf %s, %s", smaller, emit("arith.select %s, %s, %s", is_zero, one, larger))
        root = emit("math.sqrt %s", emit("arith.addf %s, %s", one, emit("arith.mulf %s, %s", ratio, ratio)))
        infinite = self.region.add("arith.ori %s, %s : i1" % tuple([emit("arith.cmpf oeq, %s, %s", z, infinity) for z in sizes]))
        return "arith.select %s, %s, %s : %s" % (infinite, infinity, emit("arith.mulf %s, %s", larger, root), type)

    def sigmoid(self, type, x):
        power = self.region.add(self.math("exp")(self, type, self.region.add("arith.negf %s : %s" % (x, type))))
        one = self.constant(1, type).name
        return "arith.divf %s, %s : %s" % (one, self.region.add("arith.addf %s, %s : %s" % (one, power, type)), type)

    def reciprocal(self, type, x):
        return "arith.divf %s, %s : %s" % (self.constant(1, type).name, x, type)

    def sign(self, type, x):
        if type == "i1":
            return "arith.ori %s, %s : i1" % (x, x)
        zero, one, minus = (self.constant(n, type).name for n in (0, 1, -1))
        less, more = ("cmpi slt", "cmpi sgt") if type == "index" else ("cmpf olt", "cmpf ogt")
        negative = self.region.add("arith.%s, %s, %s : %s" % (less, x, zero, type))
        positive = self.region.add("arith.%s, %s, %s : %s" % (more, x, zero, type))
        part = self.region.add("arith.select %s, %s, %s : %s" % (positive, one, zero, type))
        return "arith.select %s, %s, %s : %s" % (negative, minus, part, type)

    def relu(self, type, x):
        zero = self.constant(0, type).name
        if type not in FLOATS:
            return "arith.maxsi %s, %s : %s" % (x, zero, type)
        # The gradient at 0 is 0; a NaN stays.
        return "arith.select %s, %s, %s : %s" % (self.region.add("arith.cmpf ugt, %s, %s : %s" % (x, zero, type)), x, zero, type)

    def compare(self, type, name, x, y):
        """Return the operation of COMPARISONS or LOGIC on two values; logic is of bools."""
        if name in LOGIC:
            return "arith.%s %s, %s : i1" % (LOGIC[name], x, y)
        kind, predicate = ("cmpf", COMPARISONS[name][1]) if type in FLOATS else ("cmpi", COMPARISONS[name][0])
        return "arith.%s %s, %s, %s : %s" % (kind, predicate, x, y, type)

    @staticmethod
    def binary(of_integers, of_floats, of_bools=None):
        """Return an operation of two values by the names in `arith`; None where it is none for their type."""
        def emit(self, type, x, y):
            name = {"index": of_integers, "i1": of_bools}.get(type, of_floats)
            return "arith.%s %s, %s : %s" % (name, x, y, type)
        return emit

    @staticmethod
    def math(name):
        """Return an operation of `math`, computed in f32, or in f64 where the compiler has it."""
        def emit(self, type, *x):
            if type == "f64" and name not in OF_FLOAT64:
                raise Untranslatable("'%s' of float64 has no translation; convert its operand by .float()" % name)
            return "math.%s %s : %s" % (name, ", ".join(x), type)
        return emit


# Functions of `math` that the compiler has for f64.
OF_FLOAT64 = ("sqrt", "rsqrt", "floor", "ceil", "trunc", "roundeven", "copysign")
_binary, _math, _T = Translator.binary, Translator.math, Translator
# ATen's name -> that of `arith`, for integers and bools alike.
BITWISE = {"bitwise_and": "andi", "bitwise_or": "ori", "bitwise_xor": "xori", "__and__": "andi", "__or__": "ori", "__xor__": "xori"}
# ATen's name -> operation on values of the result's dtype.
ARITHMETIC = {
    "add": _binary("addi", "addf", "ori"), "sub": _binary("subi", "subf"), "mul": _binary("muli", "mulf", "andi"),
    "minimum": _binary("minsi", "minimumf", "andi"), "maximum": _binary("maxsi", "maximumf", "ori"),
    "floor_divide": _T.floor_divide, "remainder": _T.remainder, "fmod": _T.truncated_remainder,
    "abs": _T.absolute, "neg": _T.negate, "sign": _T.sign, "sgn": _T.sign, "relu": _T.relu,
    **{name: _binary(op, None, op) for name, op in BITWISE.items()},
    "__lshift__": _binary("shli", None), "__rshift__": _binary("shrsi", None),
    "bitwise_left_shift": _binary("shli", None), "bitwise_right_shift": _binary("shrsi", None),
    "clamp_min": _binary("maxsi", "maximumf", "ori"), "clamp_max": _binary("minsi", "minimumf", "andi"),
    "fmax": _binary("maxsi", "maxnumf", "ori"), "fmin": _binary("minsi", "minnumf", "andi"),
}
# Those of bits, which floats have none for, and those of bools.
OF_BITS = (*BITWISE, "bitwise_not", "__lshift__", "__rshift__", "bitwise_left_shift", "bitwise_right_shift")
OF_BOOLS = ("add", "mul", "minimum", "maximum", "clamp_min", "clamp_max", "fmax", "fmin", "sign", "sgn", "bitwise_not", *BITWISE)
# ATen's name -> operation on floats: of half precision computed in f32 and rounded.
FUNCTIONS = {
    "sigmoid": _T.sigmoid, "reciprocal": _T.reciprocal, "round": _math("roundeven"), "pow": _math("powf"),
    "atan2": _math("atan2"), "copysign": _math("copysign"), "div": _binary(None, "divf"), "hypot": _T.hypot,
    **{name: _math(name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tanh",
                                      "sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh",
                                      "atanh", "erf", "erfc", "floor", "ceil", "trunc")},
}
# ATen's name -> predicate of integers and of floats.
COMPARISONS = {"eq": ("eq", "oeq"), "ne": ("ne", "une"), "lt": ("slt", "olt"), "le": ("sle", "ole"),
               "gt": ("sgt", "ogt"), "ge": ("sge", "oge")}
LOGIC = {"logical_and": "andi", "logical_or": "ori", "logical_xor": "xori"}


def range_of(bits, unsigned=False):
    """Return the least and the most of integers of so many bits."""
    return (0, 2 ** bits - 1) if unsigned else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)


def _of_ends(op):
    """Return the range of an operation whose extremes are at ends of its operands' ranges."""
    def find(x, y):
        ends = [op(a, b) for a in x for b in y]
        return min(ends), max(ends)
    return find


def _of_bits(x, y):
    if x[0] >= 0 and y[0] >= 0:
        return 0, 2 ** max(x[1], y[1]).bit_length() - 1
    return range_of(1 + max(end.bit_length() for end in (*x, *y)))


def _of_and(x, y):
    return (0, min([z[1] for z in (x, y) if z[0] >= 0])) if x[0] >= 0 or y[0] >= 0 else _of_bits(x, y)


def _of_quotient(x, y):
    most = max(-x[0], x[1])
    return (min(x[0], 0), max(x[1], 0)) if y[0] >= 0 else (-most, most)


def _of_rest(x, y):
    """Return the range of x % y; by 0 it is x, which PyTorch has no rule for."""
    most = max(abs(y[0]), abs(y[1]), 1) - 1
    return (0 if y[0] >= 0 else -most), (0 if y[1] <= 0 else most)


def _of_shift(x, y):
    return (min(x[0], x[0] << y[1]), max(x[1], x[1] << y[1])) if 0 <= y[0] and y[1] < 63 else ANY


def _shrink(x, y=None):
    return min(x[0], 0), max(x[1], 0)


_minimum, _maximum = _of_ends(min), _of_ends(max)
# What is proved of the integers that operations give, by the ranges of their operands; any others may be anything.
RANGES = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]), "sub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "mul": _of_ends(lambda x, y: x * y), "neg": lambda x: (-x[1], -x[0]), "sign": lambda x: (-1, 1), "sgn": lambda x: (-1, 1),
    "abs": lambda x: (0, max(-x[0], x[1])), "relu": lambda x: (max(x[0], 0), max(x[1], 0)),
    "minimum": _minimum, "maximum": _maximum, "clamp_max": _minimum, "clamp_min": _maximum, "fmin": _minimum, "fmax": _maximum,
    "floor_divide": _of_quotient, "remainder": _of_rest, "fmod": _shrink,
    "bitwise_and": _of_and, "__and__": _of_and, "bitwise_or": _of_bits, "bitwise_xor": _of_bits, "__or__": _of_bits, "__xor__": _of_bits,
    "__lshift__": _of_shift, "bitwise_left_shift": _of_shift, "__rshift__": _shrink, "bitwise_right_shift": _shrink,
}
# What gives back its first argument.
COPIES = ("clone", "alias", "detach", "lift_fresh_copy", "lift_fresh", "contiguous", "view_as", "expand_as")
VIEWS = ("_to_copy", "convert_element_type", "view", "squeeze", "unsqueeze", "expand", "reshape")
CONSTANTS = {"scalar_tensor": 0, "full": 1, "new_full": 2, "full_like": 1}
FILLS = {"ones": 1, "zeros": 0, "new_ones": 1, "new_zeros": 0, "ones_like": 1, "zeros_like": 0}
# What gives another view of a captured tensor.
PARTS = ("t", "transpose", "permute", "slice", "diagonal", "unsqueeze", "squeeze", "expand", "view", "_unsafe_view", "reshape",
         "alias")
# What has an emitter of its own.
OTHERS = ("where", "bitwise_not", "logical_not", "square", "clamp", "rsub", "index", "select", "copy")
# Arguments by name that change no value.
IGNORED = ("dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit")
