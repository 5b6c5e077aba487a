"""torch.ops.fa_mlir: an attention by its text, and its gradients.

The text's entry takes query, key and value as q, k and v, tensors t0, t1, ..., integers n0, n1, ... and floats f0,
f1, ...; it returns o and lse. Tensors are B x H x S x D or, with `heads_last`, B x S x H x D; lse is B x H x S. Those of
sequences in a row, by the text, have no B.
"""

from __future__ import annotations

import math
import re
import threading
import warnings
from typing import Any

import torch
from torch import get_num_threads
from torch.autograd import forward_ad
from torch.compiler import is_compiling, is_dynamo_compiling

from . import _program
from ._library import SCALAR, check, fa

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.int8: "i8",
         torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "i1"}
# What has the dimensions of query and output.
_ROWS = {"q", "k", "v", "o", "do", "dq", "dk", "dv"}
# The most shapes that are kept prepared; all are forgotten at once, and made again.
_MOST = 4096
_prepared: dict[tuple[Any, ...], Launch] = {}

torch.library.define(
    "fa_mlir::attention",
    "(Tensor query, Tensor key, Tensor value, Tensor[] tensors, SymInt[] integers, float[] floats, str text, "
    "bool heads_last) -> (Tensor, Tensor)")
torch.library.define(
    "fa_mlir::attention_backward",
    "(Tensor grad_output, Tensor? grad_lse, Tensor query, Tensor key, Tensor value, Tensor output, Tensor lse, "
    "Tensor[] tensors, SymInt[] integers, float[] floats, str text, str gradients, bool heads_last) -> Tensor[]")


def name_of(dtype):
    """Return MLIR's name of a dtype; raise TypeError where it has none."""
    if dtype not in NAMES:
        remedy = ("x.real and x.imag, each by itself" if dtype.is_complex else "x.to(torch.float32) or another float"
                  if dtype.is_floating_point else "x.to(torch.int64) or another integer with a sign")
        raise TypeError("fa_mlir takes no tensors of %s, expected %s, or uint8 where a mask or a score captures it; give %s before the call"
                        % (dtype, ", ".join([str(x).replace("torch.", "") for x in NAMES]), remedy))
    return NAMES[dtype]


def target_of(device):
    """Return what programs for a device are compiled for."""
    if device.type == "cpu":
        return "cpu"
    if device.type != "cuda":
        raise NotImplementedError("fa_mlir runs on CPUs and CUDA devices, not on %s" % device)
    return "cuda:%d" % (device.index if device.index is not None else torch.cuda.current_device())


# Ends a text whose gradients are the same bits in each launch; a comment, so that ops need no argument for it.
DETERMINISTIC = " // deterministic"

# What the tensors t0, t1, ... of a text are, for errors.
_meanings: dict[str, tuple[str, ...]] = {}


def remember_meanings(text, meanings):
    """Have errors of a text's programs say what its tensors are."""
    if len(_meanings) >= _MOST:
        _meanings.clear()
    _meanings[text] = meanings


def compile_for(device, text, gradients, dlse):
    """Return the program of an attention, or of its gradients."""
    options = {"threads": get_num_threads()} if device.type == "cpu" else {}
    asked = text.endswith(DETERMINISTIC)
    if gradients is not None:
        options.update(backward=1, gradients=gradients, dlse=int(dlse),
                       deterministic=int(asked or torch.are_deterministic_algorithms_enabled()))
    program_text = text.removesuffix(DETERMINISTIC)
    try:
        return _program.compile(program_text, target_of(device), **options)
    except _program.Error as error:
        words = explain_names(str(error), text)
        warns = torch.is_deterministic_algorithms_warn_only_enabled() and not asked
        if not (options.get("deterministic") and warns):
            raise _program.Error(words) from None
    program = _program.compile(program_text, target_of(device), **dict(options, deterministic=0))
    warnings.warn("the gradients are not deterministic: %s" % words, stacklevel=2)
    return program


def explain_names(words, text):
    """Return an error's words with what t0, t1, ... are."""
    for i, meaning in enumerate(_meanings.get(text, ())):
        words = words.replace("'t%d'" % i, "'t%d' (%s)" % (i, meaning))
    return words


def explain_layout(words, tensors):
    """Return an error's words with dimensions as the caller has them, sequence x heads, where the library has them swapped."""
    def swap(match):
        dim, rank = int(match[1]), tensors[match[2]].dim() if match[2] in tensors else 4
        return "dimension %d of '%s'" % ({rank - 3: rank - 2, rank - 2: rank - 3}.get(dim, dim), match[2])
    return re.sub("dimension ([0-9]+) of '(%s)'" % "|".join(sorted(_ROWS)), swap, words)


_launch: Any = fa.fa_prepared_launch
_get_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_get_device: Any = getattr(torch._C, "_cuda_getDevice", None)


def _make_empty(device):
    """Return a function of sizes, strides and dtype that makes a tensor without the dispatcher, as code of torch.compile's
    does, on the current device; and one that makes it on this device, current or not."""
    on_device = lambda shape, stride, dtype: torch.empty_strided(shape, stride, dtype=dtype, device=device)
    return getattr(torch._C._dynamo.guards, "_empty_strided_" + device.type, on_device), on_device


class Launch:
    """A launch on tensors of known dtypes, shapes, strides and device: what is left are addresses and numbers."""
    __slots__ = ("prepared", "outputs", "packed", "absent", "order", "numbers", "counts", "index", "make", "make_elsewhere", "workspace",
                 "workspace_and_second", "second", "run_first")

    def __init__(self, program, names, inputs, outputs, heads_last, text, packed=None):
        """`names`: of inputs and outputs; `outputs`: their (shape, stride, dtype); `packed`: those of them that are parts of
        one tensor, as `run` makes them."""
        described = {}
        for name, (shape, stride, dtype) in zip(names, [(x.shape, x.stride(), x.dtype) for x in inputs] + outputs):
            sizes, stride = list(shape), list(stride)
            if heads_last and name in _ROWS and len(sizes) > 2:
                for part in (sizes, stride):
                    part[-3], part[-2] = part[-2], part[-3]
            described[name] = name_of(dtype), sizes, stride
        tensors = [name for name, kind in zip(program.names, program.kinds) if kind != SCALAR]
        # A program may need less than the text has.
        unknown = [name for name in names if re.fullmatch("t[0-9]+", name) and 'fa.name = "%s"' % name not in text]
        if unknown or not set(tensors) <= set(names):
            raise ValueError("the text has the tensors %s, but those given are %s" % (", ".join(tensors), ", ".join(names)))
        self.prepared = _program.Prepared(program, [described[name] for name in tensors])
        self.outputs, self.packed = outputs, packed
        self.absent = _absent(text, names[len(inputs):])
        # A program has its arguments in an order of its own.
        self.numbers = [name for name, kind in zip(program.names, program.kinds) if kind == SCALAR]
        self.counts = tuple(len(re.findall('fa.name = "%s[0-9]+"' % kind, text)) for kind in "nf")
        self.order = None if tensors == names else [names.index(name) for name in tensors]
        device = inputs[0].device
        self.index = device.index if device.type == "cuda" else None
        self.make, self.make_elsewhere = _make_empty(device)
        bytes_ = self.prepared.workspace_bytes.value
        self.workspace = ((bytes_,), (1,), torch.uint8) if bytes_ else None
        # An output that nobody gets lies behind the workspace, aligned as that: a tensor less to make.
        shape, _, dtype = outputs[-1]
        self.second = -(-bytes_ // 64) * 64
        self.workspace_and_second = (self.second + math.prod(shape) * dtype.itemsize,), (1,), torch.uint8
        # Of query, key and value alone, a shorter way to the first output.
        is_plain = names == ["q", "k", "v", "o", "lse"] and self.order is None and not self.absent
        self.run_first = _make_run_first(self) if is_plain else None

    def pack_numbers(self, integers, floats):
        """Return n0, n1, ..., f0, f1, ... as `run` takes them."""
        if (len(integers), len(floats)) != self.counts:
            raise ValueError("the text has %d integers and %d floats, but %d and %d are given"
                             % (*self.counts, len(integers), len(floats)))
        kinds = {"n": integers, "f": floats}
        return self.prepared.pack_numbers(*[kinds[name[0]][int(name[1:])] for name in self.numbers])

    def run(self, inputs, numbers, only_first=False):
        """Return the outputs, or the first of two alone; numbers are packed by `pack_numbers`."""
        index, prepared = self.index, self.prepared
        make = self.make if index is None or _get_device() == index else self.make_elsewhere
        if only_first:
            output, memory = make(*self.outputs[0]), make(*self.workspace_and_second)
            outputs, workspace = [output], memory.data_ptr()
            addresses = [*[x.data_ptr() for x in inputs], output.data_ptr(), workspace + self.second]
        else:
            if self.packed is None:
                outputs = [make(*x) for x in self.outputs]
            else:
                first, last, described, unpack = self.packed
                outputs = [*[make(*x) for x in self.outputs[:first]], *unpack(make(*described)),
                           *[make(*x) for x in self.outputs[last:]]]
            workspace = None
            if self.workspace:
                memory = make(*self.workspace)
                workspace = memory.data_ptr()
            addresses = [x.data_ptr() for x in (*inputs, *outputs)]
        if self.absent:
            for i, number in self.absent[:len(outputs)]:
                outputs[i].fill_(number)
        if self.order is not None:
            addresses = [addresses[i] for i in self.order]
        error = _launch(prepared.handle, None if index is None else _get_stream(index), prepared.pack_addresses(*addresses),
                        numbers, workspace, prepared.workspace_bytes)
        if error:
            check(error)
        return outputs


def _make_run_first(launch):
    """Return a function of query, key, value and packed numbers that does what `run` does for the first output, and returns it.

    The host's time counts: what is the same in each call is at hand in cells, lists are not made. It changes nothing that
    threads share.
    """
    prepared, index, pack, bytes_ = launch.prepared, launch.index, launch.prepared.pack_addresses, launch.prepared.workspace_bytes
    make_here, make_elsewhere, first, scratch, second = (launch.make, launch.make_elsewhere, launch.outputs[0],
                                                         launch.workspace_and_second, launch.second)

    def run_first(query, key, value, numbers):
        if index is None:
            stream, make = None, make_here
        else:
            stream, make = _get_stream(index), make_here if _get_device() == index else make_elsewhere
        output, memory = make(*first), make(*scratch)
        workspace = memory.data_ptr()
        error = _launch(prepared.handle, stream, pack(query.data_ptr(), key.data_ptr(), value.data_ptr(), output.data_ptr(),
                                                      workspace + second), numbers, workspace, bytes_)
        if error:
            check(error)
        return output
    return run_first


def _find(key, inputs, make):
    """Return the launch on inputs, which `make` makes: it gives the other arguments of Launch."""
    device = inputs[0].get_device()
    key = (key, device if device >= 0 else ~get_num_threads(), *[(x.dtype, x.shape, x.stride(), x.get_device()) for x in inputs])
    launch = _prepared.get(key)
    if launch is None:
        for x in inputs:
            if x.device != inputs[0].device:
                raise ValueError("tensors are on %s and %s; move them to one device" % (inputs[0].device, x.device))
        program, names, outputs, heads_last, text, *packed = make()
        try:
            launch = Launch(program, names, inputs, outputs, heads_last, text, *packed)
        except _program.Error as error:
            words = explain_names(str(error), text)
            raise _program.Error(explain_layout(words, dict(zip(names, inputs))) if heads_last else words) from None
        if len(_prepared) >= _MOST:
            _prepared.clear()
        _prepared[key] = launch
    return launch


def _names_of(tensors):
    return ["q", "k", "v"] + ["t%d" % i for i in range(len(tensors))]


def _check_rows(query, key, value, text):
    for name, x, starts in (("query", query, "query_starts("), ("key", key, "key_starts("), ("value", value, "key_starts(")):
        rank = 3 if starts in text else 4
        check_memory(name, x)
        if x.dim() != rank:
            raise ValueError("%s has %d dimensions, expected %d: %s" % (name, x.dim(), rank, tuple(x.shape)))


def check_memory(name, x):
    """Refuse a tensor whose memory is not its elements by strides: kernels read memory."""
    if is_compiling():
        return
    if x.is_nested:
        raise ValueError("%s is a nested tensor, whose sequences kernels cannot find; give its values in a row and offsets, as "
                         "flash_attn_varlen_func and attention(query_starts=...) take them, or x.to_padded_tensor(0)" % name)
    if x.layout is not torch.strided:
        raise ValueError("%s has the layout %s, which kernels cannot read; give x.to_dense() instead of x" % (name, x.layout))
    if x.is_neg():
        raise ValueError("%s is a view of memory with the other sign (is_neg()), which kernels would not see; "
                         "give x.resolve_neg() instead of x" % name)


def has_tangents(*tensors):
    """Return whether tensors have forward-mode derivatives."""
    return forward_ad._current_level >= 0 and any([
        isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None for x in tensors])


def refuse_forward_mode():
    """Refuse forward-mode derivatives where they are on: an op does not see whether its tensors have some."""
    if forward_ad._current_level >= 0 and torch._C._is_fwd_grad_enabled():
        raise NotImplementedError("fa_mlir has no forward-mode derivatives (torch.func.jvp, torch.func.jacfwd, "
                                  "torch.autograd.forward_ad): use backward() or torch.autograd.grad, or give tensors "
                                  "without tangents")


_NO_RULES = {"Vmap": ("vmap", "give the batch in the first dimension of query, key and value"),
             "Grad": ("grad, vjp and jacrev", "use backward() or torch.autograd.grad")}


def refuse_transforms():
    """Refuse the transformations of torch.func that ops have no rules for; forward mode is another's."""
    interpreter = _get_interpreter()
    name, remedy = _NO_RULES.get(interpreter.key().name, ("", "")) if interpreter is not None else ("", "")
    if name:
        raise NotImplementedError("fa_mlir has no rules for torch.func.%s: %s" % (name, remedy))


def refuse_transformed(tensors):
    """Refuse captured tensors that a transformation of torch.func has wrapped: a function cannot be traced through it."""
    if _get_interpreter() is not None and any([torch._C._functorch.is_functorch_wrapped_tensor(x) for x in tensors]):
        refuse_transforms()
        refuse_forward_mode()
        raise NotImplementedError("a transformation of torch.func is about a tensor that a mask or score captures: "
                                  "give the tensor as it is outside of the transformation")


def _is_less(x, y):
    """Return whether one stride is less than another; of sizes that nobody knows yet, whether it is sure to be."""
    less = x < y
    if isinstance(less, bool):
        return less
    from torch.fx.experimental import symbolic_shapes
    return getattr(symbolic_shapes, "guard_or_false", bool)(less)


def _stride_densely(shape, dims):
    """Return the strides of a tensor without gaps, its dimensions in this order from the outermost to the innermost."""
    found, stride = [1] * len(shape), 1
    for d in reversed(dims):
        found[d] = stride
        stride = stride * max(shape[d], 1)
    return tuple(found)


def _stride_as(like, shape):
    """Return the strides of a tensor without gaps that lies in memory as another one of its dimensions does.

    The last dimension is the innermost one. Dimensions of one element or of stride 0 stay in their places, as
    torch.empty_like has it.
    """
    strides, dims = like.stride(), list(range(like.dim()))
    places = [d for d in dims[:-1] if shape[d] != 1 and strides[d] != 0]
    order: list[int] = []
    for d in places:
        at = len(order)
        while at > 0 and _is_less(strides[order[at - 1]], strides[d]):
            at -= 1
        order.insert(at, d)
    for place, d in zip(places, order):
        dims[place] = d
    return _stride_densely(shape, dims)


def _describe_outputs(query, key, value, heads_last):
    """Return (shape, strides, dtype) of output, which lies in memory as query does, and of lse."""
    *batch, heads, rows, _ = query.shape
    if heads_last:
        heads, rows = rows, heads
    shape, of_lse = (*query.shape[:-1], value.shape[-1]), (*batch, heads, rows)
    return [(shape, _stride_as(query, shape), query.dtype),
            (of_lse, _stride_densely(of_lse, range(len(of_lse))), torch.float32)]


# What is in the rows of outputs that no sequence has, by the lengths for which there are such.
_ABSENT = {"query_lengths(": {"o": 0.0, "lse": -float("inf"), "dq": 0.0}, "key_lengths(": {"dk": 0.0, "dv": 0.0}}


def _absent(text, names):
    """Return (index, value) of the outputs, `names`, that programs do not write whole."""
    values = {}
    for lengths, of_lengths in _ABSENT.items():
        if lengths in text:
            values.update(of_lengths)
    return [(i, values[name]) for i, name in enumerate(names) if name in values]


def prepare(query, key, value, tensors, text, heads_last):
    """Return the launch of a text's attention on these tensors."""
    def make():
        _check_rows(query, key, value, text)
        return (compile_for(query.device, text, None, False), _names_of(tensors) + ["o", "lse"],
                _describe_outputs(query, key, value, heads_last), heads_last, text)
    return _find((text, heads_last), [query, key, value, *tensors], make)


def forward(query, key, value, tensors, integers, floats, text, heads_last):
    """Compute (output, lse) of the text's attention."""
    launch = prepare(query, key, value, tensors, text, heads_last)
    return tuple(launch.run([query, key, value, *tensors], launch.pack_numbers(integers, floats)))


def _fake_forward(query, key, value, tensors, integers, floats, text, heads_last):
    refuse_forward_mode()
    _check_rows(query, key, value, text)
    return tuple([query.new_empty_strided(shape, stride, dtype=dtype)
                  for shape, stride, dtype in _describe_outputs(query, key, value, heads_last)])


def _describe_gradients(query, key, value, tensors, gradients):
    """Return (shape, strides, dtype) of the gradients, each of which lies in memory as what it is the gradient of."""
    sources, names = dict(zip(_names_of(tensors), [query, key, value, *tensors])), gradients.split(",")
    if len(set(names)) < len(names) or not set(names) <= set(sources):
        raise ValueError("gradients is '%s', expected some of %s, each once, with commas between" % (gradients, ", ".join(sources)))
    return [(tuple(x.shape), _stride_as(x, x.shape), x.dtype) for x in [sources[name] for name in names]]


def _lay_out(gradient, like):
    """Return a gradient with contiguous rows, in memory as what it is the gradient of if it has none."""
    if gradient.shape[-1] <= 1 or gradient.stride(-1) == 1:
        return gradient
    return torch.empty_like(like).copy_(gradient)


def backward(grad_output, grad_lse, query, key, value, output, lse, tensors, integers, floats, text, gradients,
             heads_last, unpacking=None):
    """Compute the gradients of the inputs that `gradients` names, with commas between.

    `unpacking`: the node of autograd, `_Unpack`, that made key and value, and query if it has three parts, of one tensor:
    so are their gradients.
    """
    # Autograd made these: of sum() they are one number, which nobody can lay out before.
    grad_output = _lay_out(grad_output, output)
    grad_lse = None if grad_lse is None else _lay_out(grad_lse, lse)
    flowing = [grad_output] if grad_lse is None else [grad_output, grad_lse]

    def make():
        names = _names_of(tensors) + ["o", "lse", "do", "dlse"][:2 + len(flowing)]
        described, packed = _describe_gradients(query, key, value, tensors, gradients), None
        if unpacking is not None:
            last = gradients.split(",").index("v") + 1
            parts = unpacking.unpack(torch.empty_strided(unpacking.shape, unpacking.stride, dtype=query.dtype, device="meta"))
            first = last - len(parts)
            described[first:last] = [(tuple(x.shape), x.stride(), x.dtype) for x in parts]
            packed = first, last, (unpacking.shape, unpacking.stride, query.dtype), unpacking.unpack
        return (compile_for(query.device, text, gradients, grad_lse is not None),
                names + ["d" + name for name in gradients.split(",")], described, heads_last, text, packed)
    inputs = [query, key, value, *tensors, output, lse, *flowing]
    layout = None if unpacking is None else (unpacking.shape, unpacking.stride)
    launch = _find((text, heads_last, gradients, torch.are_deterministic_algorithms_enabled(), len(flowing), layout), inputs,
                   make)
    return launch.run(inputs, launch.pack_numbers(integers, floats))


def _fake_backward(grad_output, grad_lse, query, key, value, output, lse, tensors, integers, floats, text, gradients,
                   heads_last):
    # torch.compile traces the backward with what it will be asked for, before the first step runs.
    _prefetch(query.device, text, gradients, grad_lse is not None)
    return [query.new_empty_strided(shape, stride, dtype=dtype)
            for shape, stride, dtype in _describe_gradients(query, key, value, tensors, gradients)]


def _prefetch(device, text, gradients, dlse=False):
    """Compile the gradients beside what runs; what is refused is said by the backward itself."""
    def compile_quietly():
        try:
            compile_for(device, text, gradients, dlse)
        except Exception:
            pass
    key = (device, text, gradients, dlse)
    if key not in _prefetched and device.type in ("cpu", "cuda"):
        if len(_prefetched) >= _MOST:
            _prefetched.clear()
        _prefetched.add(key)
        threading.Thread(target=compile_quietly).start()


def prefetch_with_lse(rows, tensors, text):
    """Compile the gradients through lse too, which a caller got."""
    wanted = _names_of_gradients([x.requires_grad for x in rows], tensors, [x.requires_grad for x in tensors])
    if wanted:
        _prefetch(rows[0].device, text, wanted, True)


_prefetched: set[tuple[Any, ...]] = set()


def _names_of_gradients(wanted, tensors, of_tensors):
    names = [name for name, needed in zip("qkv", wanted) if needed]
    return ",".join(names + ["t%d" % i for i, x in enumerate(tensors)
                             if of_tensors[i] and x.dtype.is_floating_point])


def _setup_context(ctx, inputs, output):
    query, key, value, tensors, integers, floats, text, heads_last = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(query, key, value, *output, *tensors)
    ctx.numbers, ctx.text, ctx.heads_last = (list(integers), list(floats)), text, heads_last
    if type(query) in (torch.Tensor, torch.nn.Parameter) and not torch.compiler.is_compiling():
        wanted = _names_of_gradients([x.requires_grad for x in (query, key, value)], tensors,
                                     [x.requires_grad for x in tensors])
        if wanted:
            _prefetch(query.device, text, wanted)


def _backward(ctx, grad_output, grad_lse):
    of_qkv, of_tensors = ctx.needs_input_grad[:3], ctx.needs_input_grad[3]
    return _differentiate(ctx, (*of_qkv, *(of_tensors or ())), grad_output, grad_lse)


def _differentiate(ctx, needed, grad_output, grad_lse):
    """Return the gradients of the op's arguments; `needed` says whether each of query, key, value, tensors has one."""
    query, key, value, output, lse, *tensors = ctx.saved_tensors
    integers, floats = ctx.numbers
    wanted = _names_of_gradients(needed[:3], tensors, needed[3:])
    found = {}
    if wanted and not (grad_output is None and grad_lse is None):
        if grad_output is None:
            grad_output = torch.zeros_like(output)
        arguments = (grad_output, grad_lse, query, key, value, output, lse, tensors, integers, floats, ctx.text, wanted,
                     ctx.heads_last)
        unpacking = _find_unpacking(query, key, value)
        flowing = [grad_output] if grad_lse is None else [grad_output, grad_lse]
        # An op sees to what has no memory of its own, as gradients that autograd made may have none.
        if (unpacking is None or torch.is_grad_enabled() or is_watching() or output.is_meta
                or not all([_is_such(x, output) for x in (query, key, value, *flowing)])):
            results = _run_op(*arguments)
        else:
            results = backward(*arguments, unpacking)
        found = dict(zip(wanted.split(","), results))
    of_tensors = [found.get("t%d" % i) for i in range(len(tensors))]
    # An empty list has the structure of one without tensors.
    return (*[found.get(name) for name in "qkv"], of_tensors, None if integers else [], None if floats else [], None, None)


def _run_op(*arguments):
    try:
        return torch.ops.fa_mlir.attention_backward(*arguments)
    except RuntimeError as error:
        if "Batching rule" not in str(error):
            raise
        raise NotImplementedError("fa_mlir has no rules for batched gradients (is_grads_batched=True, vectorize=True): give one "
                                  "gradient to each call of torch.autograd.grad") from None


class _Eager(torch.autograd.Function):
    """The same gradients without the dispatcher, which takes several times as long as a launch."""

    @staticmethod
    def forward(ctx, integers, floats, text, heads_last, query, key, value, *captured):
        tensors = list(captured)
        output = forward(query, key, value, tensors, integers, floats, text, heads_last)
        _setup_context(ctx, (query, key, value, tensors, integers, floats, text, heads_last), output)
        return output

    @staticmethod
    def backward(ctx, grad_output, grad_lse):
        query, key, value, of_tensors, *_ = _differentiate(ctx, ctx.needs_input_grad[4:], grad_output, grad_lse)
        return (None, None, None, None, query, key, value, *of_tensors)


class _Unpack(torch.autograd.Function):
    """The parts of a tensor; a gradient of it has as parts what kernels wrote, nothing is copied to put them together."""

    @staticmethod
    def forward(ctx, packed, dim, sizes):
        ctx.unpack = lambda x: x.unbind(dim) if sizes is None else x.split(sizes, dim)
        ctx.pack = lambda parts: torch.stack(parts, dim) if sizes is None else torch.cat(parts, dim)
        ctx.shape, ctx.stride = tuple(packed.shape), _stride_as(packed, packed.shape)
        parts = ctx.unpack(packed)
        ctx.count = len(parts)
        return parts

    @staticmethod
    def backward(ctx, *parts):
        # Gradients of other ways than `backward`'s, or summed up on the way, are tensors of their own.
        packed, are_at = parts[0]._base, lambda parts: [(x.data_ptr(), x.shape, x.stride()) for x in parts]
        if packed is None or packed.shape != ctx.shape or torch.is_grad_enabled() or are_at(ctx.unpack(packed)) != are_at(parts):
            packed = ctx.pack(parts)
        return packed, None, None


def _is_such(x, output):
    """Return whether a tensor is as the output of a launch is: PyTorch's own, with memory, of no other sign, in no batch."""
    return type(x) in _PLAIN and torch._C._dispatch_keys(x).raw_repr() == torch._C._dispatch_keys(output).raw_repr()


def unpack(packed, dim, sizes=None):
    """Return the parts of a tensor along a dimension: its elements, or parts of these sizes."""
    if type(packed) in _PLAIN and packed.requires_grad and torch.is_grad_enabled() and not is_watching():
        return _Unpack.apply(packed, dim, sizes)
    return packed.unbind(dim) if sizes is None else packed.split(sizes, dim)


def _find_unpacking(query, key, value):
    """Return the node of autograd by which `unpack` made key and value, or query too, of one tensor; None without one."""
    node = value.grad_fn
    if not isinstance(node, _Unpack._backward_cls) or [x.grad_fn is node for x in (query, key, value)].count(True) != node.count:
        return None
    return node


_PLAIN = (torch.Tensor, torch.nn.Parameter)
_len_dispatch_stack, _get_tracing_state = torch._C._len_torch_dispatch_stack, torch._C._get_tracing_state
_get_interpreter = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)


def is_watching():
    """Return whether something watches operations, so that only an op will do: tracing, modes, tangents."""
    # Others that compile, such as torch.export, have modes.
    return (is_dynamo_compiling() or _len_dispatch_stack() or _get_interpreter() is not None or forward_ad._current_level >= 0
            or _get_tracing_state() is not None)


def are_special(query, key, value):
    """Return whether tensors are not PyTorch's own, have no memory, or are to be looked at for their sign."""
    return (type(query) not in _PLAIN or type(key) not in _PLAIN or type(value) not in _PLAIN or query.is_meta or key.is_meta
            or value.is_meta or query.is_neg() or key.is_neg() or value.is_neg() or are_nested(query, key, value))


def are_nested(query, key, value):
    """Return whether a tensor is a nested one; of PyTorch's own type these, too, have no strides to look at."""
    return query.is_nested or key.is_nested or value.is_nested


def make_guard(*tensors):
    """Return a function that says whether tensors are such as these: of their types, dispatch keys (so sign, autocast and
    inference mode), dtypes, devices, sizes and strides, none of which requires gradients.

    It is what torch.compile asks before its code runs: one call, where each property would be one. It does not see what
    `is_watching` sees, nor hold for a tensor that is there twice. Nested tensors end the process: ask `are_nested` before.
    """
    make = getattr(torch._C._dynamo.guards, "TensorGuards", None)
    # Of tensors that require gradients it would hold in any grad mode.
    if make is None or len({id(x) for x in tensors}) < len(tensors) or any([x.requires_grad for x in tensors]):
        return lambda *tensors: False
    return make(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check


def keeps_gradients(query, key, value, tensors):
    """Return whether autograd asks for a gradient of one of these."""
    return ((query.requires_grad or key.requires_grad or value.requires_grad
             or (tensors and any([x.requires_grad for x in tensors]))) and torch.is_grad_enabled())


def attend(rows, tensors, integers, floats, text, heads_last):
    """Return (output, lse) by the op; where nothing watches operations, straight from the functions behind."""
    query, key, value = rows
    if is_watching() or are_special(query, key, value):
        if not is_compiling():
            refuse_transforms()
        if not is_compiling() and forward_ad._current_level >= 0:
            if has_tangents(*rows, *tensors):
                refuse_forward_mode()
            with forward_ad._set_fwd_grad_enabled(False):
                return torch.ops.fa_mlir.attention(query, key, value, tensors, integers, floats, text, heads_last)
        return torch.ops.fa_mlir.attention(query, key, value, tensors, integers, floats, text, heads_last)
    if keeps_gradients(query, key, value, tensors):
        return _Eager.apply(integers, floats, text, heads_last, query, key, value, *tensors)
    return forward(query, key, value, tensors, integers, floats, text, heads_last)


def _refuse_setup(ctx, inputs, output):
    pass


def _refuse_backward(ctx, *_grads):
    raise NotImplementedError("fa_mlir has no second derivatives: the gradients of an attention cannot be "
                              "differentiated; leave out create_graph=True, or write this attention in standard operations")


def _forward_of_op(*arguments):
    refuse_forward_mode()
    return forward(*arguments)


def _backward_of_op(*arguments):
    if has_tangents(*arguments[:7]):
        refuse_forward_mode()
    return backward(*arguments)


for _name, _function, _fake in (("attention", _forward_of_op, _fake_forward),
                                ("attention_backward", _backward_of_op, _fake_backward)):
    torch.library.impl("fa_mlir::" + _name, ("cpu", "cuda"))(_function)
    torch.library.register_fake("fa_mlir::" + _name)(_fake)
torch.library.register_autograd("fa_mlir::attention", _backward, setup_context=_setup_context)
torch.library.register_autograd("fa_mlir::attention_backward", _refuse_backward, setup_context=_refuse_setup)
