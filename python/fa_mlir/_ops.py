"""torch.ops.fa_mlir: an attention by its text, and its gradients.

The text's entry takes query, key and value as q, k and v, tensors t0, t1, ..., integers n0, n1, ... and floats f0,
f1, ...; it returns o and lse. Tensors are B x H x S x D or, with `heads_last`, B x S x H x D; lse is B x H x S.
"""

import threading

import torch

from . import _program
from ._library import SCALAR

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.int8: "i8",
         torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "i1"}
# What has the dimensions of query and output.
_ROWS = {"q", "k", "v", "o", "do", "dq", "dk", "dv"}
# The most shapes that are kept prepared; all are forgotten at once, and made again.
_MOST = 4096
_prepared = {}

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
        raise TypeError("fa_mlir takes no tensors of %s; use one of %s" % (dtype, ", ".join(map(str, NAMES))))
    return NAMES[dtype]


def target_of(device):
    """Return what programs for a device are compiled for."""
    if device.type == "cpu":
        return "cpu"
    if device.type != "cuda":
        raise NotImplementedError("fa_mlir runs on CPUs and CUDA devices, not on %s" % device)
    return "cuda:%d" % (device.index if device.index is not None else torch.cuda.current_device())


def compile_for(device, text, gradients, dlse):
    """Return the program of an attention, or of its gradients."""
    if gradients is None:
        return _program.compile(text, target_of(device))
    return _program.compile(text, target_of(device), backward=1, gradients=gradients, dlse=int(dlse),
                            deterministic=int(torch.are_deterministic_algorithms_enabled()))


class _Launch:
    """A launch of tensors of some dtypes, shapes and strides: what it takes, in the order of its program."""
    __slots__ = ("prepared", "tensors", "numbers")

    def __init__(self, program, names, tensors, number_names, heads_last):
        at = {name: index for index, name in enumerate(names)}
        self.tensors = [at[name] for name, kind in zip(program.names, program.kinds) if kind != SCALAR]
        at_number = {name: index for index, name in enumerate(number_names)}
        self.numbers = [at_number[name] for name, kind in zip(program.names, program.kinds) if kind == SCALAR]
        described = []
        for index in self.tensors:
            x = tensors[index]
            shape, strides = list(x.shape), list(x.stride())
            if heads_last and names[index] in _ROWS and len(shape) == 4:
                shape[1], shape[2], strides[1], strides[2] = shape[2], shape[1], strides[2], strides[1]
            described.append((name_of(x.dtype), shape, strides))
        self.prepared = _program.Prepared(program, described)

    def run(self, device, tensors, numbers):
        stream = workspace = memory = None
        if device.type == "cuda":
            stream = torch._C._cuda_getCurrentRawStream(device.index)
        size = self.prepared.workspace_bytes
        if size:
            memory = torch.empty(size, dtype=torch.uint8, device=device)
            workspace = memory.data_ptr()
        self.prepared.launch(stream, [tensors[i].data_ptr() for i in self.tensors],
                             [numbers[i] for i in self.numbers], workspace)


def _launch(key, inputs, outputs, get_program, make_names, numbers, heads_last):
    """Launch on inputs and outputs, whose shapes and strides follow from those of the inputs and the key."""
    device = inputs[0].device
    key = (key, heads_last, device, *[(x.dtype, x.shape, x.stride(), x.device) for x in inputs])
    launch = _prepared.get(key)
    if launch is None:
        for x in inputs:
            if x.device != device:
                raise ValueError("tensors are on %s and %s; move them to one device" % (device, x.device))
        names, number_names = make_names()
        launch = _Launch(get_program(), names, inputs + outputs, number_names, heads_last)
        if len(_prepared) >= _MOST:
            _prepared.clear()
        _prepared[key] = launch
    launch.run(device, inputs + outputs, numbers)


def _number_names(integers, floats):
    return ["n%d" % i for i in range(len(integers))] + ["f%d" % i for i in range(len(floats))]


def _check_rows(query, key, value):
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() != 4:
            raise ValueError("%s has %d dimensions, expected 4: %s" % (name, x.dim(), tuple(x.shape)))


def _make_outputs(query, key, value, heads_last):
    batch, heads, rows = (query.shape[i] for i in ((0, 2, 1) if heads_last else (0, 1, 2)))
    shape = (batch, rows, heads, value.shape[3]) if heads_last else (batch, heads, rows, value.shape[3])
    return query.new_empty(shape), query.new_empty((batch, heads, rows), dtype=torch.float32)


def forward(query, key, value, tensors, integers, floats, text, heads_last):
    """Compute (output, lse) of the text's attention."""
    _check_rows(query, key, value)
    output, lse = _make_outputs(query, key, value, heads_last)
    names = lambda: (["q", "k", "v"] + ["t%d" % i for i in range(len(tensors))] + ["o", "lse"],
                     _number_names(integers, floats))
    _launch(text, [query, key, value, *tensors], [output, lse],
            lambda: compile_for(query.device, text, None, False), names, [*integers, *floats], heads_last)
    return output, lse


def _fake_forward(query, key, value, tensors, integers, floats, text, heads_last):
    _check_rows(query, key, value)
    return _make_outputs(query, key, value, heads_last)


def _make_gradients(query, key, value, tensors, gradients):
    sources = {"q": query, "k": key, "v": value}
    sources.update(("t%d" % i, x) for i, x in enumerate(tensors))
    return [sources[name].new_empty(sources[name].shape) for name in gradients.split(",")]


def _lay_out(gradient, like):
    """Return a gradient with contiguous rows, in memory as what it is the gradient of if it has none."""
    if gradient.shape[-1] <= 1 or gradient.stride(-1) == 1:
        return gradient
    return torch.empty_like(like).copy_(gradient)


def backward(grad_output, grad_lse, query, key, value, output, lse, tensors, integers, floats, text, gradients,
             heads_last):
    """Compute the gradients of the inputs that `gradients` names, with commas between."""
    # Autograd made these: of sum() they are one number, which nobody can lay out before.
    grad_output = _lay_out(grad_output, output)
    grad_lse = None if grad_lse is None else _lay_out(grad_lse, lse)
    results = _make_gradients(query, key, value, tensors, gradients)
    flowing = [grad_output] if grad_lse is None else [grad_output, grad_lse]
    names = lambda: (["q", "k", "v"] + ["t%d" % i for i in range(len(tensors))] + ["o", "lse", "do", "dlse"][
        :2 + len(flowing)] + ["d" + name for name in gradients.split(",")], _number_names(integers, floats))
    _launch((text, gradients, torch.are_deterministic_algorithms_enabled(), len(flowing)),
            [query, key, value, *tensors, output, lse, *flowing], results,
            lambda: compile_for(query.device, text, gradients, grad_lse is not None), names, [*integers, *floats],
            heads_last)
    return results


def _fake_backward(grad_output, grad_lse, query, key, value, output, lse, tensors, integers, floats, text, gradients,
                   heads_last):
    return _make_gradients(query, key, value, tensors, gradients)


def _prefetch(device, text, gradients):
    """Compile the gradients beside what runs; what is refused is said by the backward itself."""
    def compile_quietly():
        try:
            compile_for(device, text, gradients, False)
        except Exception:
            pass
    key = (device, text, gradients)
    if key not in _prefetched:
        _prefetched.add(key)
        threading.Thread(target=compile_quietly).start()


_prefetched = set()


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
        results = torch.ops.fa_mlir.attention_backward(
            grad_output, grad_lse, query, key, value, output, lse, tensors, integers, floats, ctx.text, wanted,
            ctx.heads_last)
        found = dict(zip(wanted.split(","), results))
    of_tensors = [found.get("t%d" % i) for i in range(len(tensors))]
    # An empty list has the structure of one without tensors.
    none = lambda numbers: None if numbers else []
    return (*[found.get(name) for name in "qkv"], of_tensors, none(integers), none(floats), None, None)


class _Eager(torch.autograd.Function):
    """The same gradients without the dispatcher, which takes several times as long as a launch."""

    @staticmethod
    def forward(ctx, integers, floats, text, heads_last, query, key, value, *tensors):
        tensors = list(tensors)
        output = forward(query, key, value, tensors, integers, floats, text, heads_last)
        _setup_context(ctx, (query, key, value, tensors, integers, floats, text, heads_last), output)
        return output

    @staticmethod
    def backward(ctx, grad_output, grad_lse):
        query, key, value, of_tensors, *_ = _differentiate(ctx, ctx.needs_input_grad[4:], grad_output, grad_lse)
        return (None, None, None, None, query, key, value, *of_tensors)


_PLAIN = (torch.Tensor, torch.nn.Parameter)
_get_interpreter = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)


def attend(rows, tensors, integers, floats, text, heads_last):
    """Return (output, lse) by the op; where nothing watches operations, straight from the functions behind."""
    query, key, value = rows
    if (torch.compiler.is_compiling() or type(query) not in _PLAIN or type(key) not in _PLAIN
            or type(value) not in _PLAIN or torch._C._len_torch_dispatch_stack() or _get_interpreter() is not None):
        return torch.ops.fa_mlir.attention(query, key, value, tensors, integers, floats, text, heads_last)
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad
                                    or any([x.requires_grad for x in tensors])):
        return _Eager.apply(integers, floats, text, heads_last, query, key, value, *tensors)
    return forward(query, key, value, tensors, integers, floats, text, heads_last)


def _refuse_setup(ctx, inputs, output):
    pass


def _refuse_backward(ctx, *_grads):
    raise NotImplementedError("fa_mlir has no second derivatives: the gradients of an attention cannot be "
                              "differentiated; leave out create_graph=True, or write this attention in standard operations")


for _name, _function, _fake in (("attention", forward, _fake_forward),
                                ("attention_backward", backward, _fake_backward)):
    torch.library.impl("fa_mlir::" + _name, ("cpu", "cuda"))(_function)
    torch.library.register_fake("fa_mlir::" + _name)(_fake)
torch.library.register_autograd("fa_mlir::attention", _backward, setup_context=_setup_context)
torch.library.register_autograd("fa_mlir::attention_backward", _refuse_backward, setup_context=_refuse_setup)
