"""Records what masks and scores do to their scalars, while torch.compile or torch.export looks on.

A function that is made inside of what is compiled is no object yet that `_translate` could trace. It is called with scalars of the
graph instead, while a TorchFunctionMode notes each operation that they go into, as constants; these are played back to
`_translate` as a function. What the function computes of other tensors alone stays in the graph, and the results are captured.
Some operations torch.compile puts into its graph without handing them to modes; these are read there, when their results are used.

The scalars are on the device "meta": nothing computes them, and what was made of one by an operation that the mode does not see
cannot be taken for a captured tensor.
"""

from __future__ import annotations

import operator
from typing import Any, Callable

import torch
from torch._dynamo.comptime import comptime
from torch.compiler import is_dynamo_compiling
from torch.overrides import TorchFunctionMode

from ._attention import constant
from ._table import DRAWS, HIDDEN, Untranslatable, is_in_place

META = torch.device("meta")
# A function, its arguments, and those by name.
Entry = tuple[Any, tuple[Any, ...], tuple[Any, ...]]

# What draws for each element in FlexAttention, and would be drawn once for all here.
_RANDOM = frozenset(("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal",
                     "multinomial", "poisson", "dropout", "alpha_dropout", "feature_dropout", "rrelu"))
_OF_VALUES = frozenset(("__bool__", "__int__", "__float__", "__index__", "__contains__", "__len__", "__iter__", "item", "tolist", "numpy",
                        "is_nonzero", "equal", "allclose"))
_OF_GRADIENTS = frozenset(("requires_grad", "is_leaf", "grad_fn", "register_hook", "retain_grad", "requires_grad_"))
# What changes a tensor, beside names that end in an underscore; "iadd" is of `x += y`.
_CHANGES = frozenset(("set", "setitem", "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift",
                      "isub", "itruediv", "ixor"))
# What modes may not see, where the graph has it with values and numbers alone.
_UNSEEN = {"abs": operator.abs, "pow": operator.pow, "hardswish": torch.nn.functional.hardswish,
           "hardsigmoid": torch.nn.functional.hardsigmoid}


def _may_change(name: str, args: Any, kwargs: Any) -> bool:
    """Return whether an operation may change one of its arguments."""
    return (is_in_place(name) or name.strip("_") in _CHANGES or "out" in kwargs
            or any([x is True for x in (*args, *kwargs.values())]))  # such as `inplace`


# What one of the functions below found in the graph that torch.compile makes; it holds a lock meanwhile.
_noted: list[Any] = []


def _get_nodes(context: Any) -> dict[Any, int]:
    """Return the nodes of the local `values` of what is compiled, with their indices."""
    nodes: dict[Any, int] = {}
    for index, value in enumerate(context.get_local("values").as_proxy()):
        if hasattr(value, "node"):  # no number, as of a size
            nodes.setdefault(value.node, index)
    return nodes


def _note_origin(context: Any) -> None:
    """Note the operations, by name and with their arguments, that make the local `x` of `values`; none where it is not made so."""
    nodes, node = _get_nodes(context), context.get_local("x").as_proxy().node
    first, count = next(iter(nodes)), len(context.get_local("values").as_proxy())

    def visit(x: Any) -> tuple[str, Any]:
        if isinstance(x, (int, float)) and not isinstance(x, bool):
            return "constant", x
        if x not in nodes:
            name = next((name for name, function in _UNSEEN.items() if getattr(x, "target", None) is function), None)
            if name is None or any([y is not False for y in x.kwargs.values()]):  # `inplace` may be False
                raise LookupError
            _noted.append((name, tuple([visit(y) for y in x.args if y is not False])))
            nodes[x] = count + len(_noted) - 1
        return "value", nodes[x]
    _noted.clear()
    try:
        visit(node)
    except LookupError:
        _noted.clear()
    while context.get_local("needs_gradients").as_python_constant() and node is not first and node.op != "root":
        if "grad" in str(node.target) or "inference" in str(node.target):  # such as torch.no_grad, which may hold or be over
            _noted.clear()
        node = node.prev


def _note_changes(context: Any) -> None:
    """Note operations that are of no value in `values`, and may change one, or write an element of any tensor."""
    nodes = _get_nodes(context)
    node, made = next(iter(nodes)), set(nodes)
    _noted.clear()
    while node.op != "root":
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        if node not in nodes and not made.isdisjoint(node.all_input_nodes):
            made.add(node)
            if _may_change(name, node.args, node.kwargs):
                _noted.append(name)
        elif node not in nodes and name == "setitem":
            _noted.append(name)
        node = node.next


@torch.compiler.assume_constant_result
def _get_noted() -> tuple[Any, ...]:
    return tuple(_noted)


class _Recorder(TorchFunctionMode):
    """Notes what one function does: `entries` are operations on `values`, the function's arguments before the results, and on
    `tensors`, those that it reads, which several may share."""

    def __init__(self, is_score: bool, values: list[Any], tensors: list[torch.Tensor], device: torch.device) -> None:
        super().__init__()
        self.is_score, self.values, self.tensors, self.device = is_score, values, tensors, device
        self.entries: list[Entry] = []
        self.has_gradients = torch.is_grad_enabled()
        self.has_changes = False

    def find(self, x: torch.Tensor) -> int:
        """Return the index of a value, -1 of other tensors."""
        for index in range(len(self.values) - 1, -1, -1):
            if self.values[index] is x:
                return index
        return self.recover(x) if is_dynamo_compiling() and x.device.type == "meta" else -1

    def recover(self, x: torch.Tensor) -> int:
        """Return the index of a value by an operation that this did not see, noted now; -1 of other tensors."""
        if self.has_changes:  # before or after that operation
            return -1
        values, needs_gradients = self.values, self.is_score and self.has_gradients
        comptime(_note_origin)
        origin = _get_noted()
        for index, (name, args) in enumerate(origin):
            self.entries.append((_UNSEEN[name], args, ()))
            values.append(x if index + 1 == len(origin) else None)
        return len(values) - 1 if origin else -1

    def has_value(self, arguments: Any) -> bool:
        for x in arguments:
            if isinstance(x, torch.Tensor):
                if self.find(x) >= 0:
                    return True
            elif isinstance(x, (tuple, list)) and self.has_value(x):
                return True
        return False

    def freeze(self, x: Any) -> Any:
        """Return an argument as constants."""
        if isinstance(x, torch.Tensor):
            index = self.find(x)
            if index >= 0:
                return "value", index
            for index, known in enumerate(self.tensors):
                if known is x:
                    return "tensor", index
            if x.device.type == "meta" and self.device.type != "meta":
                raise Untranslatable(HIDDEN)
            self.tensors.append(x)
            return "tensor", len(self.tensors) - 1
        if isinstance(x, slice):
            return "slice", (self.freeze(x.start), self.freeze(x.stop), self.freeze(x.step))
        if isinstance(x, (tuple, list)):
            return "tuple" if isinstance(x, tuple) else "list", tuple([self.freeze(y) for y in x])
        if isinstance(x, torch.device):
            return "device", None  # that of the launch
        if isinstance(x, (int, float, torch.SymInt, torch.SymFloat)) and not isinstance(x, bool):
            return "constant", constant(x)
        return "constant", x

    def move(self, x: Any, device: torch.device) -> Any:
        """Return an argument with devices, and tensors on the way to "meta", replaced."""
        if isinstance(x, torch.device):
            return device
        if isinstance(x, torch.Tensor):
            return x.new_empty(x.shape, device=device) if device.type == "meta" and x.device.type != "meta" else x
        if isinstance(x, (tuple, list)):
            return type(x)([self.move(y, device) for y in x]) if type(x) in (tuple, list) else x
        return x

    def add(self, function: Any, args: Any, kwargs: Any, result: Any) -> Any:
        """Note an operation and its result, or results, each a value; return them."""
        self.entries.append((function, tuple([self.freeze(x) for x in args]),
                             tuple([(name, self.freeze(x)) for name, x in kwargs.items()])))
        if isinstance(result, torch.Tensor):
            self.values.append(result)
            return result
        first = len(self.values)
        self.values.append(None)  # stands for all, which no argument is
        for index, x in enumerate(result):
            self.entries.append((_pick, (("value", first), ("constant", index)), ()))
            self.values.append(x)
        return result

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, getattr(function, "__name__", "")
        if name in _RANDOM:
            raise Untranslatable(DRAWS % name)
        if not self.has_value(args) and not self.has_value(kwargs.values()):
            if is_in_place(name) or name in ("__setitem__", "setitem"):
                raise Untranslatable("'%s' changes a tensor; masks and scores only read: make it before the call" % name)
            return function(*[self.move(x, self.device) for x in args], **{key: self.move(x, self.device) for key, x in kwargs.items()})
        if name in _OF_VALUES:
            raise Untranslatable("'%s' asks for the value of a tensor, which is not known before the launch; write torch.where(condition, "
                                 "a, b), `&`, `|`, `~`, torch.minimum and torch.maximum" % name)
        if name in _OF_GRADIENTS and self.is_score:
            raise Untranslatable("'%s' of a value in a score has no translation; one program serves calls with and without gradients: "
                                 "leave it out" % name)
        if self.is_score and self.has_gradients and not torch.is_grad_enabled():
            raise Untranslatable("'%s' computes where gradients are off, as torch.no_grad has them; the gradients here are those of all "
                                 "that a score computes: write it without" % name)
        if name in ("__getitem__", "getitem"):
            return self.add(_get_item, args, {}, _make_element(*args))
        result = function(*[self.move(x, META) for x in args], **{key: self.move(x, META) for key, x in kwargs.items()})
        if isinstance(result, (torch.Tensor, tuple, list)):  # not such as a dtype
            result = self.add(function, args, kwargs, result)
        self.has_changes = self.has_changes or _may_change(name, args, kwargs)
        return result


def _pick(results: Any, index: int) -> Any:
    return results[index]


def _get_item(tensor: torch.Tensor, index: Any) -> Any:
    return tensor[index]


def _make_element(tensor: torch.Tensor, index: Any) -> torch.Tensor:
    """Return a tensor of the rank that tensor[index] has: the graph must not read at an index that nobody has checked."""
    given = index if isinstance(index, tuple) else (index,)
    used = len([x for x in given if isinstance(x, (int, torch.SymInt, torch.Tensor)) and not isinstance(x, bool)])
    new = len([x for x in given if x is None])
    return tensor.new_empty((1,) * max(0, tensor.dim() - used + new), device=META)


def record(function: Callable[..., Any], is_score: bool, count: int, device: torch.device,
           tensors: list[torch.Tensor]) -> tuple[tuple[Entry, ...], Any]:
    """Return what a function does to `count` scalars, and its result; append the tensors that it reads."""
    scalars = [torch.empty((), dtype=torch.float32 if is_score and index == 0 else torch.int64, device=META) for index in range(count)]
    recorder = _Recorder(is_score, list(scalars), tensors, device)
    with recorder:
        result = function(*scalars)
    result, values = recorder.freeze(result), recorder.values
    if is_dynamo_compiling():
        comptime(_note_changes)
        if "setitem" in _get_noted():
            raise Untranslatable("an element of a tensor is written; masks and scores only read: make the tensor before the call")
        if _get_noted():
            raise Untranslatable(HIDDEN)
    return tuple(recorder.entries), result


class Replay:
    """A function that does what was recorded of another one, on tensors that stand for those it read."""

    def __init__(self, name: str, entries: tuple[Entry, ...], result: Any, tensors: list[torch.Tensor],
                 device: torch.device) -> None:
        self.__qualname__, self.entries, self.result, self.tensors, self.device = name, entries, result, tensors, device

    def __call__(self, *scalars: torch.Tensor) -> Any:
        values: list[Any] = list(scalars)

        def thaw(x: Any) -> Any:
            kind, inner = x
            if kind in ("tuple", "list", "slice"):
                found = [thaw(y) for y in inner]
                return found if kind == "list" else slice(*found) if kind == "slice" else tuple(found)
            if kind == "device":
                return self.device
            return values[inner] if kind == "value" else self.tensors[inner] if kind == "tensor" else inner
        for function, args, kwargs in self.entries:
            values.append(function(*[thaw(x) for x in args], **{name: thaw(x) for name, x in kwargs}))
        return thaw(self.result)


def describe(tensors: list[torch.Tensor]) -> tuple[Any, ...]:
    """Return what decides the trace of tensors; no sizes, so that others compile nothing."""
    return tuple([(x.dtype, x.dim(), True if x.dim() > 0 and x.stride(-1) != 1 else False) for x in tensors])


# The size of each dimension of a stand-in, more than a constant index; its memory is neither written nor read.
_SIZE = 2 ** 15


def stand_in(description: tuple[Any, ...], device: torch.device) -> torch.Tensor:
    """Return a tensor such as was described, all of whose rows are the same."""
    dtype, dim, is_strided = description
    if not dim:
        return torch.empty((), dtype=dtype, device=device)
    row = torch.empty(_SIZE * (1 + is_strided), dtype=dtype, device=device)[::1 + is_strided]
    return row.expand((_SIZE,) * min(dim, 4)).expand((1,) * max(0, dim - 4) + (_SIZE,) * min(dim, 4))
