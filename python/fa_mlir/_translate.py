"""Translates functions on scalars, as FlexAttention has them, to regions of an attention.

PyTorch traces the function (make_fx on scalar fake tensors); each ATen operation of the trace becomes operations of
`arith` and `math`. Tensors that the function closes over become captures, numbers become constants.
"""

import contextlib
import functools
import inspect
import os
import sys
import threading
import traceback

import torch
import torch._decomp
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode

from ._ops import check_memory, name_of, refuse_transformed
from ._table import (ARITHMETIC, COMPARISONS, CONSTANTS, COPIES, DRAWS, FILLS, FLOATS, FUNCTIONS, IGNORED, LOGIC, OF_BITS, OF_BOOLS,
                     OTHERS, PARTS, RANGES, VIEWS, Read, Translator, Untranslatable, Value, is_in_place)

aten = torch.ops.aten


def type_of(dtype):
    """Return a region's type for a dtype: index for all integers but bool."""
    if dtype == torch.uint8:
        return "index"
    name = name_of(dtype)
    return name if name in FLOATS or name == "i1" else "index"


# Integers that wrap where those of a region, of 64 bits, do not.
_SMALL = (torch.uint8, torch.int8, torch.int16, torch.int32)


def find_common(arguments):
    """Return the dtype in which PyTorch compares: a number of Python's takes that of the tensor."""
    return torch.result_type(*[x.meta["val"] if isinstance(x, torch.fx.Node) else x for x in arguments])


def name_of_op(op):
    """Return an op's name; that of an op in place is the name of the op that gives its result."""
    name = op._schema.name.split("::")[1]
    return name[:-1] if name.endswith("_") and not name.startswith("_") else name


def name_of_called(node):
    """Return the name of the op that the function calls, of which a node's may be a decomposition."""
    called = node.meta.get("original_aten", node.target)
    return getattr(called, "overloadpacket", called)


@functools.lru_cache(maxsize=None)
def find_decompositions():
    """Return PyTorch's decompositions of all ops that have no translation here."""
    known = {*ARITHMETIC, *FUNCTIONS, *COMPARISONS, *LOGIC, *COPIES, *VIEWS, *CONSTANTS, *FILLS, *OTHERS, *PARTS}
    return {op: function for op, function in torch._decomp.decomposition_table.items()
            if isinstance(op, torch._ops.OpOverload) and name_of_op(op) not in known}


CHANGES = "'%s' changes a captured tensor; masks and scores only read"


def is_view(node):
    """Return whether a node gives memory of one of its arguments."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(x.alias_info is not None and not x.alias_info.is_write for x in schema.returns)


def refuse_change(node, name):
    """Refuse an op in place that others see than those that read its result."""
    changed = node.args[0]
    if changed.op == "get_attr":
        raise Untranslatable(CHANGES % name)
    if is_view(changed) or any(is_view(user) for user in changed.users):
        raise Untranslatable("'%s' changes a view, or what has one, and the other keeps its values here; masks and scores only "
                             "read: write the operation that gives a new tensor" % name)


class Source:
    """A tensor that a function closes over, and the views that it makes of it: (ATen's name, other arguments)."""

    def __init__(self, tensor, views=()):
        self.tensor, self.views = tensor, views


def freeze(x):
    """Return arguments with tuples instead of lists; those that are no constants have no translation."""
    if isinstance(x, (list, tuple)):
        return tuple([freeze(y) for y in x])
    if not isinstance(x, (int, float, bool, type(None))):
        raise Untranslatable("a view whose sizes are computed has no translation; make it before the call")
    return x


class _Graph:
    """Walks a trace and emits each node."""

    def __init__(self, translator, arguments, capture):
        self.translator, self.arguments, self.capture = translator, iter(arguments), capture
        self.values = {}
        self.place = ""  # of the node
        self.limits = None  # of the integers that a node computes with

    def emit(self, node):
        """Return what a node gives: a Value, a Read, or None where it gives nothing."""
        if node.op == "placeholder":
            return next(self.arguments)
        if node.op == "get_attr":
            return Source(getattr(node.graph.owning_module, node.target))
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            raise Untranslatable("an operation '%s' has no translation" % node.target)
        name = name_of_op(node.target)
        result = node.meta["val"]
        if not isinstance(result, torch.Tensor):
            raise Untranslatable("'%s' gives no tensor; write it with tensors alone" % name)
        if node.target.namespace not in ("aten", "prims"):
            raise Untranslatable("operation '%s' has no translation" % node.target)
        if node.target._schema.is_mutable:
            refuse_change(node, name)
        if name in ("index", "select"):
            return self.emit_index(node, name)
        read = self.values.get(node.args[0]) if node.args and isinstance(node.args[0], torch.fx.Node) else None
        if name in COPIES and isinstance(read, (Read, Source)):
            return read
        if name in PARTS and isinstance(read, Source) and read.tensor.dim() and not any(
                isinstance(x, torch.dtype) for x in node.args[1:]):
            # A copy before it may have had another layout, which is copied again here.
            part = "reshape" if name in ("view", "_unsafe_view") else name
            return Source(read.tensor, (*read.views, (part, freeze(node.args[1:]))))
        if result.dim() and name in PARTS and isinstance(read, Read):
            raise Untranslatable("'%s' of a captured tensor that is indexed already has no translation; make it of the tensor, "
                                 "before the first index, or before the call" % name)
        if result.dim() and not node.all_input_nodes:
            raise Untranslatable(
                "'%s' makes a tensor of %d dimensions; make it before the call, so that it is captured and can be indexed, or "
                "write what its element is" % (name_of_called(node), result.dim()))
        if result.dim():
            raise Untranslatable(
                "'%s' gives a tensor of %d dimensions; masks and scores are of single elements: index what they read, "
                "and compute what needs a whole tensor before the call" % (name, result.dim()))
        dtype = find_common(node.args) if name in COMPARISONS else result.dtype
        self.limits = torch.iinfo(dtype) if dtype in _SMALL else None
        value = self.emit_scalar(node, name, type_of(dtype))
        return self.cut(value) if value.type == "index" else value

    def cut(self, value):
        """Return an integer as its dtype has it: PyTorch's smaller ones wrap."""
        return self.translator.cut(value, self.limits.bits, self.limits.min == 0) if self.limits else value

    def emit_index(self, node, name):
        read = self.open(self.values[node.args[0]])
        if not isinstance(read, Read):
            raise Untranslatable("'%s' indexes what is no captured tensor; make it before the call, so that it is captured" % name)
        if name == "index":
            indices = [None if index is None else self.translator.convert(self.scalar(index), "index") for index in node.args[1]]
        else:
            dim, index = node.args[1], node.args[2]
            indices = [None] * (dim % read.indices.count(None)) + [self.translator.constant(index, "index")]
        read = read.fill(indices)
        return read if None in read.indices else self.translator.read(read)

    def open(self, value):
        """Return a captured tensor as a Read, of no dimensions its Value; anything else as it is."""
        return self.capture(value.tensor, value.views, self.place) if isinstance(value, Source) else value

    def scalar(self, x, type=None):
        """Return the value of an argument: a node, or a number."""
        if isinstance(x, torch.fx.Node):
            value = self.open(self.values[x])
            if isinstance(value, Read):
                raise Untranslatable("a captured tensor of %d dimensions is used as a whole; index it" % value.rank)
            return self.translator.convert(value, type) if type else value
        if self.limits and type == "index":  # a number is one of the dtype first
            x = (int(x) - self.limits.min) % 2 ** self.limits.bits + self.limits.min
        kind = type or ("i1" if isinstance(x, bool) else "index" if isinstance(x, int) else "f32")
        return self.translator.constant(x, kind)

    def emit_scalar(self, node, name, type):
        translator, arguments = self.translator, node.args
        apply = lambda op, kind, *x: Value(translator.region.add(op(translator, kind, *[y.name for y in x])), kind)
        if name == "view" and isinstance(arguments[1], torch.dtype):
            raise Untranslatable("'view' as %s reads bits as of another dtype, which has no translation; write .to(%s) for the "
                                 "value, or make the view before the call" % (arguments[1], arguments[1]))
        if name in COPIES or name in VIEWS:
            return self.scalar(arguments[0], type)
        if name == "copy":
            return self.scalar(arguments[1], type)
        if name in CONSTANTS:
            return self.scalar(arguments[CONSTANTS[name]], type)
        if name in FILLS:
            return translator.constant(FILLS[name], type)
        if name in COMPARISONS or name in LOGIC or name == "logical_not":
            return self.emit_condition(name, arguments, type)
        if name == "where":
            condition = self.scalar(arguments[0], "i1")
            x, y = (self.scalar(x, type) for x in arguments[1:])
            return Value(translator.region.add("arith.select %s, %s, %s : %s" % (
                condition.name, x.name, y.name, type)), type, range=(min(x.range[0], y.range[0]), max(x.range[1], y.range[1])))
        if name == "bitwise_not":
            check_kind(name, type)
            ones = translator.constant(True if type == "i1" else -1, type)
            value = apply(ARITHMETIC["bitwise_xor"], type, self.scalar(arguments[0], type), ones)
            value.range = RANGES["bitwise_xor"](self.scalar(arguments[0], type).range, (-1, -1))
            return value
        if name == "square":
            return apply(ARITHMETIC["mul"], type, *[self.scalar(arguments[0], type)] * 2)
        if name == "clamp":
            value = self.scalar(arguments[0], type)
            bounds = [*arguments[1:], None, None]
            for op, bound in (("maximum", node.kwargs.get("min", bounds[0])),
                              ("minimum", node.kwargs.get("max", bounds[1]))):
                if bound is not None:
                    self.check_number(bound, "clamp")
                    bound, before = self.scalar(bound, type), value
                    value = apply(ARITHMETIC[op], type, before, bound)
                    value.range = RANGES[op](before.range, bound.range)
            return value
        return self.emit_operation(node, name, type, apply)

    def check_number(self, number, name):
        """Refuse a number that the integers of a node cannot be, where PyTorch does not wrap it."""
        if self.limits and isinstance(number, int) and not self.limits.min <= number <= self.limits.max:
            raise Untranslatable("'%s' takes %d, but its tensor has %s, %d to %d; convert it by .long() before"
                                 % (name, number, self.limits.dtype, self.limits.min, self.limits.max))

    def emit_condition(self, name, arguments, kind):
        translator = self.translator
        if name in COMPARISONS:
            kind = "index" if kind == "i1" else kind
            x, y = (self.scalar(x, kind) for x in arguments)
            return Value(translator.region.add(translator.compare(kind, name, x.name, y.name)), "i1")
        x = [self.scalar(x, "i1") for x in arguments]
        if name == "logical_not":
            x.append(translator.constant(True, "i1"))
            name = "logical_xor"
        return Value(translator.region.add(translator.compare("i1", name, x[0].name, x[1].name)), "i1")

    def emit_operation(self, node, name, type, apply):
        """Emit an operation of the tables, on values in the result's type."""
        arguments = list(node.args)
        options = {key: value for key, value in node.kwargs.items() if value is not None and key not in IGNORED}
        kind = "f32" if type in ("f16", "bf16") else type
        if name == "pow":
            return self.emit_power(arguments, type, apply)
        if name in ("add", "sub", "rsub"):
            alpha = options.pop("alpha", arguments[2] if len(arguments) > 2 else 1)
            name, arguments = ("sub", arguments[1::-1]) if name == "rsub" else (name, arguments[:2])
            if alpha != 1:
                factor = self.scalar(alpha, kind)
                arguments[1] = apply(ARITHMETIC["mul"], kind, self.scalar(arguments[1], kind), factor)
        op = None
        check_kind(name, kind)
        if name == "div":
            mode = options.pop("rounding_mode", None)
            name = {"floor": "floor_divide"}.get(mode, name)
            op = Translator.truncated_divide if mode == "trunc" else None
        if name == "round" and options.get("decimals"):
            if kind == "index":
                raise Untranslatable("'decimals' of 'round' of integers has no translation; convert them by .float()")
            return self.emit_round(arguments[0], options["decimals"], kind, type, apply)
        if name in FUNCTIONS and type == "index" and name in ("floor", "ceil", "trunc", "round"):
            return self.scalar(arguments[0], type)
        op = op or ARITHMETIC.get(name) or FUNCTIONS.get(name)
        if op is None:
            raise Untranslatable("operation '%s' has no translation; write it with operations that have one "
                                 "(docs/python.md lists them)" % name_of_called(node))
        for option in options:
            raise Untranslatable("'%s' of operation 'aten.%s' has no translation; leave it out" % (option, name))
        if name in ("clamp_min", "clamp_max"):
            self.check_number(arguments[1], name)
        # In half precision PyTorch rounds a number first for these, and computes with it in f32 for others.
        of_numbers = type if name in ("remainder", "fmod") else kind
        operands = [x if isinstance(x, Value) else
                    self.scalar(x, of_numbers if isinstance(x, float) else kind) for x in arguments]
        operands = [self.translator.convert(x, kind) for x in operands]
        if name in ("__rshift__", "bitwise_right_shift"):
            operands[1] = self.limit_shift(operands[1])
        result = apply(op, kind, *operands)
        if kind == "index" and name in RANGES:
            result = Value(result.name, kind, range=RANGES[name](*[x.range for x in operands]))
        return self.translator.convert(result, type)

    def limit_shift(self, by):
        """Return by how much to shift to the right: by 64 or more, as by less than 0, PyTorch leaves signs alone."""
        if 0 <= by.range[0] and by.range[1] < 64:
            return by
        most = self.translator.constant(63, "index")
        return Value(self.translator.region.add("arith.minui %s, %s : index" % (by.name, most.name)), "index", range=(0, 63))

    def emit_round(self, argument, decimals, kind, type, apply):
        """Emit the rounding to so many decimals, as PyTorch computes it."""
        factor = self.translator.constant(10.0 ** abs(decimals), kind)
        there, back = (ARITHMETIC["mul"], FUNCTIONS["div"]) if decimals > 0 else (FUNCTIONS["div"], ARITHMETIC["mul"])
        whole = apply(FUNCTIONS["round"], kind, apply(there, kind, self.scalar(argument, kind), factor))
        return self.translator.convert(apply(back, kind, whole, factor), type)

    def emit_power(self, arguments, type, apply):
        """Emit a power: multiplications where it is a small integer."""
        base, power = arguments
        if isinstance(power, (int, float)) and power == int(power) and 0 < power <= 8:
            kind = "f32" if type in ("f16", "bf16") else type
            value = result = self.scalar(base, kind)
            for _ in range(int(power) - 1):
                spans = result.range, value.range
                result = apply(ARITHMETIC["mul"], kind, result, value)
                result = Value(result.name, kind, range=RANGES["mul"](*spans))
            return self.translator.convert(result, type)
        if type == "index":
            of = "a tensor" if isinstance(power, torch.fx.Node) else power
            raise Untranslatable("an integer to the power of %s has no translation, expected a number from 1 to 8; multiply, or "
                                 "convert it by .float()" % of)
        kind = "f32" if type in ("f16", "bf16") else type
        result = apply(FUNCTIONS["pow"], kind, self.scalar(base, kind), self.scalar(power, kind))
        return self.translator.convert(result, type)


def check_kind(name, kind):
    """Refuse an operation on values of a kind that it is none for."""
    if kind == "i1" and name in (*ARITHMETIC, *FUNCTIONS) and name not in OF_BOOLS:
        raise Untranslatable("'%s' of bools has no translation; convert them by .int() or .float()" % name)
    if kind in FLOATS and name in OF_BITS:
        raise Untranslatable("'%s' of floats has no translation; convert them by .long(), or compare them" % name)
    if kind == "index" and name == "hypot":
        raise Untranslatable("'hypot' of integers has no translation; convert them by .float()")


# What Python may read of a tensor without its values, by what decides it.
_READS = {
    **dict.fromkeys(("shape", "size", "numel", "nelement", "nbytes", "__len__", "is_same_size"), "shape"),
    **dict.fromkeys(("is_contiguous", "dim_order"), "order"), "stride": "layout", "storage_offset": "offset",
    **dict.fromkeys(("requires_grad", "is_leaf", "grad_fn"), "gradients"),
    **dict.fromkeys(("dtype", "device", "dim", "ndim", "ndimension", "layout", "is_cuda", "is_cpu", "is_meta", "is_sparse",
                     "is_floating_point", "is_complex", "is_signed", "is_neg", "is_conj", "is_quantized", "is_nested",
                     "get_device", "element_size", "itemsize", "type", "result_type", "__hash__", "_set_grad_enabled"), ""),
}


class Reads:
    """What the trace of a function took from captured tensors as numbers of Python, so that it holds for these only."""

    def __init__(self, tensors):
        """`tensors`: those that the function may capture; others are not known by index."""
        self.tensors, self.found, self.repeatable = tensors, [], True

    def find(self, tensor):
        return next((i for i, known in enumerate(self.tensors) if known is tensor), None)

    def add(self, tensor, kind):
        """Note that something of this kind was read of a tensor; what one has that was made of others comes from these."""
        index = self.find(tensor)
        if index is None and kind not in ("gradients", "offset") and tensor.dim() == 0:
            return
        for i in range(len(self.tensors)) if index is None else (index,):
            if (i, kind) not in self.found:
                self.found.append((i, kind))


def name_of_function(function):
    """Return the name of a function or a property as PyTorch's modes get it."""
    name = getattr(function, "__name__", "")
    if name == "__get__":
        of = function.__self__
        name = getattr(of, "__name__", None) or getattr(getattr(of, "fget", None), "__name__", "")
    return name.split(".")[0]


class _Tracing(TorchFunctionMode):
    """Keeps the user's file and line with each node, and indices that are tensors as they are; notes what Python reads."""

    def __init__(self, reads, is_score):
        super().__init__()
        self.reads, self.is_score = reads, is_score

    def __torch_function__(self, function, types, args=(), kwargs=None):
        place = find_place(sys._getframe(1))
        if place:
            torch.fx.traceback.set_stack_trace([place])
        name = name_of_function(function)
        tensors = [x for x in (*args, *(kwargs or {}).values()) if isinstance(x, torch.Tensor)]
        for x in tensors:
            if x.is_nested or x.layout is not torch.strided:
                refuse_memory(x)
        self.refuse_access(name, tensors, args)
        if self.is_score:
            self.check_gradients(name, tensors)
        if function is torch.Tensor.__getitem__:
            result = read_element(*args)
        else:
            result = function(*args, **(kwargs or {}))
            self.note(name, tensors, result)
        if self.is_score and isinstance(result, torch.Tensor) and result.is_floating_point() and not torch.is_grad_enabled():
            raise Untranslatable(
                "'%s' computes a float where gradients are off, as torch.no_grad and a torch.autograd.Function have them; "
                "the gradients here are those of all that a score computes: write it in standard operations, without "
                "these" % name)
        return result

    def refuse_access(self, name, tensors, args):
        """Refuse what reads a tensor's memory, which is none while it is traced, or would change a captured one now, once."""
        if tensors and name in ("numpy", "__array__"):
            raise Untranslatable("NumPy is given a tensor; read a captured one by .tolist() or .item(), or make its array a tensor "
                                 "by torch.from_numpy before the call, and write functions of torch")
        captured = args and isinstance(args[0], torch.Tensor) and not isinstance(args[0], FakeTensor)
        if captured and is_in_place(name):
            raise Untranslatable(CHANGES % name)

    def check_gradients(self, name, tensors):
        """Refuse what would make gradients others than those of the values."""
        captured = [x for x in tensors if self.reads.find(x) is not None]
        if name in ("detach", "detach_", "data"):
            for x in captured:
                self.reads.add(x, "gradients")
            if any(x.is_floating_point() and (x.requires_grad or self.reads.find(x) is None) for x in tensors):
                raise Untranslatable(
                    "'%s' cuts a gradient, and the gradients here are those of all that a score computes; of a captured "
                    "tensor make it before the call, of anything else leave it out" % name)
        if name in _HOOKS or _READS.get(name) == "gradients" and len(captured) < len(tensors):
            raise Untranslatable("'%s' of a value in a score has no translation; one program serves calls with and without "
                                 "gradients: leave it out" % name)

    def note(self, name, tensors, result):
        """Note what a result of Python's was read from."""
        kinds: tuple[str, ...] = ()
        if isinstance(result, torch.Tensor):
            # What reads a whole tensor may read its size; most of it has no translation.
            if name not in (*COPIES, "select", "data"):
                kinds = "shape", "layout"
            tensors = [x for x in tensors if x.dim()]
        elif name in _READS:
            kinds = (_READS[name],) if _READS[name] else ()
        else:
            self.reads.repeatable = False
        for x in tensors:
            for kind in kinds:
                self.reads.add(x, kind)


def refuse_memory(tensor):
    try:
        check_memory("a captured tensor", tensor)
    except ValueError as error:
        raise Untranslatable(str(error)) from None


_HOOKS = ("register_hook", "register_post_accumulate_grad_hook", "retain_grad", "requires_grad_")


def read_element(tensor, index):
    """Return tensor[index] without asking for the values of indices."""
    indices = list(index if isinstance(index, tuple) else (index,))
    kinds = (int, torch.Tensor, slice, type(None), type(...))
    if not all(isinstance(i, kinds) and not isinstance(i, bool) for i in indices):
        raise Untranslatable("an index is neither a number, a slice nor a scalar tensor; write t[i, j], or t[i][j]")
    count = sum(isinstance(i, (int, torch.Tensor, slice)) for i in indices)
    if count > tensor.dim():
        raise Untranslatable("%d indices of a tensor of %d dimensions" % (count, tensor.dim()))
    for i in indices:
        if isinstance(i, torch.Tensor) and (i.is_floating_point() or i.is_complex()):
            raise Untranslatable("an index has %s, expected integers; convert it by .long()" % i.dtype)
    if any(i is ... for i in indices):
        at = next(n for n, i in enumerate(indices) if i is ...)
        indices[at:at + 1] = [slice(None)] * (tensor.dim() - count)
    # Views first, for they are of the tensor as it is captured.
    for dim, i in enumerate(indices):
        if i is None:
            tensor = aten.unsqueeze.default(tensor, dim)
        elif isinstance(i, slice) and i != slice(None):
            tensor = aten.slice.Tensor(tensor, dim, i.start, i.stop, 1 if i.step is None else i.step)
    dim = 0
    for i in indices:
        if isinstance(i, torch.Tensor):
            tensor = aten.index.Tensor(tensor, [None] * dim + [i.long() if i.dtype == torch.bool else i])
        elif isinstance(i, int):
            tensor = aten.select.int(tensor, dim, i)
        else:
            dim += 1
    return tensor


_OWN = (os.path.dirname(os.path.abspath(torch.__file__)) + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)


def find_place(frame):
    """Return "file:line" of the innermost frame that is neither PyTorch's nor ours."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not os.path.abspath(file).startswith(_OWN) and not file.startswith("<"):
            return "%s:%d" % (file, frame.f_lineno)
        frame = frame.f_back
    return ""


def _hide_kept():
    """Return a context in which nobody sees what autograd keeps: checkpoints count it, and of calls only the first one traces."""
    if not torch._C._autograd._saved_tensors_hooks_is_enabled():
        return contextlib.nullcontext()
    return torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)


# PyTorch's tracing keeps state of the process.
_tracing = threading.RLock()


def trace(function, kinds, device, reads):
    """Return the graph of a function of scalars: "score", a float, or positions; one thread at a time."""
    def call(*scalars):
        # Functions are called as Python calls them: methods, defaults, partial ones, modules.
        with _Tracing(reads, "score" in kinds):
            return function(*scalars)
    # Where gradients are off in here, the function has turned them off.
    with _tracing, torch.enable_grad(), _hide_kept(), forward_ad._set_fwd_grad_enabled(False):
        with FakeTensorMode(allow_non_fake_inputs=True), torch.fx.traceback.preserve_node_meta():
            scalars = [torch.zeros((), dtype=torch.float32 if kind == "score" else torch.int64, device=device)
                       for kind in kinds]
            graph = make_fx(call, decomposition_table=find_decompositions())(*scalars).graph
    for node in graph.nodes:
        if node.op == "get_attr":  # older PyTorch says nothing of what it captures
            node.meta.setdefault("val", getattr(graph.owning_module, node.target))
    refuse_transformed([getattr(graph.owning_module, node.target) for node in graph.nodes if node.op == "get_attr"])
    graph.eliminate_dead_code()  # a tensor of which only the size was read is no capture
    return graph


def check_signature(function, kinds):
    """Raise TypeError for a function that cannot be called with so many arguments."""
    try:
        inspect.signature(function, follow_wrapped=False).bind(*kinds)
    except TypeError as error:
        names = ["score"] * ("score" in kinds) + ["b", "h", "q_idx", "kv_idx"]
        raise TypeError("%s cannot be called with (%s), as %s: %s" % (
            describe(function), ", ".join(names), "a score_mod" if "score" in kinds else "a mask_mod", error)) from None
    except ValueError:  # it has no signature
        pass


def describe(function):
    code = getattr(function, "__code__", None)
    return "'%s'" % getattr(function, "__qualname__", function) + (
        " (%s:%d)" % (code.co_filename, code.co_firstlineno) if code else "")


def translate(function, region, arguments, kinds, capture, device, reads):
    """Emit a function into a region and return its Value; `capture` makes a Value or Read of a tensor, its views and the
    place that reads it."""
    check_signature(function, kinds)
    try:
        graph = trace(function, kinds, device, reads)
    except Untranslatable as error:
        raise Untranslatable("%s: %s" % (find_place_of(error, function), error)) from None
    except Exception as error:
        if type(error).__name__ not in ("DataDependentOutputException", "GuardOnDataDependentSymNode"):
            place, words = find_place_of(error, function), str(error).split("\n")[0]
            if isinstance(error, KeyError) and isinstance(error.args[0], torch.Tensor):
                raise Untranslatable("%s: a dictionary is looked up by a tensor, whose value is not known before the launch; make "
                                     "its values a tensor before the call, and index that" % place) from None
            if not is_of_pytorch(error):
                raise
            if "Multiple dispatch failed" in words:
                raise Untranslatable("%s: a captured tensor is of a subclass of torch.Tensor; give x.as_subclass(torch.Tensor) of "
                                     "it, made before the call" % place) from error
            if "FakeTensor" in words:
                raise Untranslatable("%s: PyTorch cannot trace this without the values of tensors, as take() and bucketize() need "
                                     "them; index captured tensors by t[i, j]" % place) from error
            raise Untranslatable("%s: PyTorch cannot trace this: %s" % (place, words)) from error
        raise Untranslatable(
            "%s: Python asks for the value of a tensor, as `if`, `and`, `or`, `not`, min(), max(), .item() and an index of "
            "a list do; write torch.where(condition, a, b), `&`, `|`, `~`, torch.minimum and torch.maximum, and make a list a tensor "
            "before the call"
            % find_place_of(error, function)) from None
    walk, result = _Graph(Translator(region), arguments, capture), None
    find_place_of_node = lambda node: (node.meta.get("stack_trace") or "").strip() or describe(function)
    for node in graph.nodes:  # first, for the numbers are drawn into a tensor that has no translation itself
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise Untranslatable("%s: %s" % (find_place_of_node(node), DRAWS % name_of_called(node)))
    for node in graph.nodes:
        if node.op == "output":
            result = node.args[0]
            break
        walk.place = find_place_of_node(node)
        try:
            walk.values[node] = walk.emit(node)
        except (Untranslatable, TypeError) as error:
            raise Untranslatable("%s: %s" % (walk.place, error)) from None
    if isinstance(result, (tuple, list)) or result is None:
        raise Untranslatable("%s gives no tensor, expected one element" % describe(function))
    return walk.scalar(result)


def is_of_pytorch(error):
    """Return whether an error was raised in PyTorch's code, and not by the function itself."""
    frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    return os.path.abspath(frame.f_code.co_filename).startswith(_OWN[0])


def find_place_of(error, function):
    """Return the innermost place of the user's in a traceback."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if not os.path.abspath(file).startswith(_OWN) and not file.startswith("<"):
            return "%s:%d" % (file, line)
    return describe(function)
