"""`fa_mlir.flex_attention`: FlexAttention's functions, as they are written for it."""

from __future__ import annotations

import collections
import dis
import functools
import types
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.attention.flex_attention import BlockMask, noop_mask
from torch.utils._python_dispatch import _disable_current_modes

from . import _ops, _text
from ._attention import Function, Launch, _is_autocast_on, add_blocks, autocast, constant
from ._table import HIDDEN, POSITIONS

_POSITIONS = ("b", "h", "i", "j")
# Traces by what functions are made of, so that a call with the same function does not trace again.
_MOST = 1024
_traces: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
# What a trace may depend on beside its key, of a tensor, as `_translate.Reads` has it.
_ATTRIBUTES = {"shape": lambda x: x.shape, "layout": lambda x: x.stride(), "order": lambda x: (*x.shape, *x.stride()), "offset": lambda x: (x.storage_offset(),),
               "gradients": lambda x: (x.requires_grad, x.is_leaf)}
# FlexAttention's size of the only block of a mask that hides nothing.
_BLOCK_OF_ALL = 1 << 30


def _show(tensor, views):
    """Return what a function's views make of a tensor."""
    for name, arguments in views:
        tensor = getattr(torch.ops.aten, name)(tensor, *arguments)
    return tensor


def _is_strided(tensor):
    """Return whether a tensor's last dimension is not contiguous, so that it needs another one."""
    return 0 < tensor.dim() < 4 and tensor.stride(-1) != 1


def _view(tensor):
    """Return a captured tensor as it is passed: of rank 1 to 4, with contiguous rows, of signed integers."""
    if tensor.dtype == torch.uint8:
        tensor = tensor.view(torch.int8)
    return tensor.unsqueeze(-1) if tensor.dim() == 0 or _is_strided(tensor) else tensor


class _Captures:
    """Tensors that functions close over, each once, and how they are passed: views of rank 1 to 4."""

    def __init__(self):
        self.sources: list[tuple[torch.Tensor, tuple[Any, ...]]] = []  # a tensor, and the views of it
        self.places: list[list[str]] = []  # where functions read each
        self.kinds: list[tuple[str, str]] = []  # (element, sizes): no numbers, which torch.compile may make symbols
        self.sizes: list[tuple[int, int]] = []  # (tensor, dimension): those that indices count back from

    def find(self, tensor, views, shown, place):
        """Return the index of the views of a tensor, which `shown` is, and note a place that reads them."""
        for index, (known, seen) in enumerate(self.sources):
            if known is tensor and seen == views:
                if place not in self.places[index]:
                    self.places[index].append(place)
                return index
        passed = _view(shown)
        self.sources.append((tensor, views))
        self.places.append([place])
        self.kinds.append((_ops.name_of(passed.dtype), "?x" * passed.dim()))
        return len(self.sources) - 1

    def list_all(self):
        """Return each tensor, the views of it, and the places that read them, for errors."""
        return [(*source, " and ".join(places)) for source, places in zip(self.sources, self.places)]

    def find_size(self, index, dim):
        if (index, dim) not in self.sizes:
            self.sizes.append((index, dim))
        return self.sizes.index((index, dim))


def _trace(score_mod, mask_mod, device, numbers, tensors):
    """Return (kinds, numbers, mask, score), the captured tensors with their views and places, the sizes that are numbers of a
    launch, and the Reads of `tensors`, among which captured ones are.

    A region is (operations, captures, result). A mask gets so many `numbers` of a launch after its positions; sizes,
    each a tensor and a dimension, are the numbers after those.
    """
    from ._translate import Read, Reads, Translator, Untranslatable, Value, describe, translate
    captures, reads = _Captures(), Reads(tensors)
    regions: list[tuple[Any, ...] | None] = []
    for function, kind in ((mask_mod, "mask"), (score_mod, "score")):
        if function is None:
            regions.append(None)
            continue
        region = _text.Region("m" if kind == "mask" else "x")
        translator = Translator(region)

        def capture(tensor, views, place):
            shown = _show(tensor, views)
            if shown.dim() > 4:
                raise Untranslatable("a captured tensor has %d dimensions, expected 4 at most; give it with fewer, say by "
                                     "t.flatten(0, %d) before the call" % (shown.dim(), shown.dim() - 4))
            index = captures.find(tensor, views, shown, place)
            element, sizes = captures.kinds[index]
            operand = _text.Operand("t%d" % index, "tensor<%s%s>" % (sizes, element))
            read = Read(operand, [], shown.dim(), lambda dim: number(numbers + captures.find_size(index, dim)),
                        shown.dtype == torch.uint8, sizes.count("?") > shown.dim())
            return translator.read(read) if shown.dim() == 0 else read

        def number(index):
            read = region.read(_text.Operand("n%d" % index, "i32"))
            return Value(region.add("arith.index_cast %s : i32 to index" % read), "index", range=POSITIONS)
        arguments = [Value("%" + name, "index", range=POSITIONS) for name in _POSITIONS]
        kinds = ["position"] * 4
        if kind == "score":
            arguments.insert(0, Value("%s", "f32"))
            kinds.insert(0, "score")
        else:
            arguments += [number(index) for index in range(numbers)]
            kinds += ["position"] * numbers
        result = translate(function, region, arguments, kinds, capture, device, reads)
        if kind == "mask" and result.type != "i1":
            raise Untranslatable("%s gives %s, expected a bool; compare numbers" % (describe(function), result.type))
        result = translator.convert(result, "i1" if kind == "mask" else "f32")
        regions.append((tuple(region.ops), tuple(sorted({x.name for x in region.captures})), result.name))
    return (tuple(captures.kinds), "n" * (numbers + len(captures.sizes)), *regions), captures.list_all(), tuple(captures.sizes), reads


# Whether torch.compile tells a function that it makes only now by its missing __get__.
_TELLS_MADE = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15)


# What classes of the user's are often made of, and what they are themselves.
_OFTEN_SUBCLASSED = (torch.Tensor, int, float, str, tuple, list, dict, functools.partial)
_PLAIN = frozenset((*_OFTEN_SUBCLASSED, bool, collections.OrderedDict, torch.Size, torch.nn.Parameter))


class _Unknown(Exception):
    """A function depends on something that cannot be compared, so it is traced at each call."""


def _fingerprint(x, tensors, depth=0, guarded=False):
    """Return what decides a function's trace, as a value to compare; collect the tensors that it may read.

    `guarded`: what torch.compile, which runs this too, makes no guard of is not known.
    """
    inner = lambda y: _fingerprint(y, tensors, depth + 1, guarded)
    # torch.compile does not get further than to what it guards.
    runs = not torch.compiler.is_dynamo_compiling()
    # What a class of the user's makes of a number, a list or a dictionary may depend on anything; of many it takes longer to
    # tell than to trace.
    if runs and isinstance(x, _OFTEN_SUBCLASSED) and type(x) not in _PLAIN and type(x).__module__ != "numpy":
        raise _Unknown
    if runs and isinstance(x, (tuple, list, dict)) and len(x) > _MOST:
        raise _Unknown
    own = getattr(x, "__dict__", None) if runs and isinstance(x, torch.Tensor) else None
    if own and guarded:
        raise _Unknown
    if x is None or isinstance(x, (bool, int, float, str, torch.dtype, torch.device)):
        x = constant(x)
        # 0.0 and -0.0 are equal, a NaN is not equal to itself.
        return type(x), x.hex() if isinstance(x, float) and not torch.compiler.is_compiling() else x
    if isinstance(x, torch.Tensor):
        if x.is_nested or x.layout is not torch.strided:  # refused where it is read
            raise _Unknown
        same = next((i for i, known in enumerate(tensors) if known is x), len(tensors))
        if same == len(tensors):
            tensors.append(x)
        attributes = inner(dict(own)) if own else None
        return "tensor", same, x.dtype, x.dim(), x.device, _is_strided(x), attributes
    if depth > 8:
        raise _Unknown
    if isinstance(x, (tuple, list)):
        return type(x), tuple([inner(y) for y in x])
    if isinstance(x, dict):
        return "dict", inner(tuple(x.items()))
    if isinstance(x, functools.partial):
        if torch.compiler.is_compiling() or runs and x.__dict__:
            raise _Unknown
        return "partial", inner((x.func, x.args, x.keywords))
    if isinstance(x, types.FunctionType):
        # torch.compile makes it only now: of such a function older versions have no cells, newer ones no globals.
        if not hasattr(x, "__closure__") or _TELLS_MADE and not runs and not hasattr(x, "__get__"):
            raise _Unknown
        if x.__module__ and x.__module__.split(".")[0] == "torch" and not x.__closure__ and (
                not runs or x.__globals__.get("__name__", "").split(".")[0] == "torch"):  # not by functools.wraps alone
            if x.__name__ in _ELSEWHERE:
                raise _Unknown
            return "function", x
        attributes = _attributes_of(x) if runs else {}
        if runs and _looks_elsewhere(x.__code__) or guarded and attributes:
            raise _Unknown
        cells = x.__closure__ or ()
        names = [name for name in _names_of(x.__code__) if name in x.__globals__]
        return ("function", x.__code__, tuple(names), inner(x.__defaults__), inner(x.__kwdefaults__),
                tuple([inner(cell.cell_contents) for cell in cells]), tuple([inner(x.__globals__[name]) for name in names]),
                inner(attributes) if attributes else None)
    if isinstance(x, types.BuiltinFunctionType) and runs and not _is_fixed(x):
        raise _Unknown
    if isinstance(x, types.BuiltinFunctionType) or isinstance(x, types.ModuleType) and x.__name__ in _MODULES:
        return "object", x
    raise _Unknown


def _attributes_of(function):
    """Return the attributes of a function, without what functools.wraps and torch.compile note there."""
    return {name: x for name, x in function.__dict__.items() if not name.startswith(("__", "_torch"))}


# Modules whose names do not change.
_MODULES = ("math", "numpy", "operator", "torch", "torch.nn", "torch.nn.functional", "torch.special")
# Those whose built-in functions give the same for the same, by the first part of the name.
_FIXED = ("math", "cmath", "_operator", "builtins", "_functools", "numpy", "torch")
# Names by which a function finds, beside its arguments, what may change: in modules that are known otherwise, and anywhere.
_ELSEWHERE = frozenset(("random", "initial_seed", "get_rng_state", "get_num_threads", "current_device", "globals", "vars", "eval",
                        "exec", "__import__", "import_module", "__wrapped__"))


def _is_fixed(function):
    """Return whether a built-in function is one of a module, and not the method of an object, whose result may change."""
    of = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or ""
    return ((of is None or isinstance(of, types.ModuleType)) and module.split(".")[0] in _FIXED
            and function.__name__ not in _ELSEWHERE)


@functools.lru_cache(maxsize=_MOST)
def _looks_elsewhere(code):
    """Return whether code imports modules whose names may change, or looks for names in a way that does not say which."""
    imports = [x.argval for x in dis.get_instructions(code) if x.opname == "IMPORT_NAME"]
    return (not _ELSEWHERE.isdisjoint(code.co_names) or any(name not in _MODULES for name in imports)
            or any(_looks_elsewhere(x) for x in code.co_consts if isinstance(x, types.CodeType)))


def _names_of(code):
    """Return the names that code, and functions inside it, may look up among globals."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _names_of(constant)
    return names


def _find_trace(score_mod, mask_mod, device, numbers=0):
    """Return the trace of functions, the tensors that they capture now with the places that read them, and the sizes that it
    needs."""
    traced, sources, sizes, _ = _find_all(score_mod, mask_mod, device, numbers)
    return traced, [(_show(x, views), place) for x, views, place in sources], sizes


def _find_all(score_mod, mask_mod, device, numbers):
    """Return what _find_trace does, and what else the trace depends on: (tensor, attribute), None where that is not known."""
    tensors: list[torch.Tensor] = []
    try:
        key = (_fingerprint(score_mod, tensors), _fingerprint(mask_mod, tensors), device.type, numbers,
               torch.get_default_dtype(), _is_autocast_on())
    except (_Unknown, ValueError):  # ValueError: an empty cell
        return *_trace(score_mod, mask_mod, device, numbers, tensors)[:3], None
    found = _traces.get(key, ())
    for reads, values, traced, order, sizes in found:
        if not reads or values == _read(tensors, reads):
            return traced, [(tensors[i], *more) for i, *more in order], sizes, reads
    traced, sources, sizes, noted = _trace(score_mod, mask_mod, device, numbers, tensors)
    if not noted.repeatable:
        return traced, sources, sizes, None
    reads = tuple(noted.found)
    order = _order(sources, tensors)
    if order is not None:
        if len(_traces) >= _MOST or len(found) >= _MOST:
            _traces.clear()
        _traces.setdefault(key, []).append((reads, _read(tensors, reads), traced, order, sizes))
    return traced, sources, sizes, reads


def _order(sources, tensors):
    """Return captured tensors by their numbers among all, and what else there is of each; None where one is not among them."""
    found = [next((i for i, x in enumerate(tensors) if x is y), None) for y, *_ in sources]
    return None if None in found else tuple([(i, *more) for i, (_, *more) in zip(found, sources)])


def _read(tensors, reads):
    """Return the attributes of tensors that a trace depends on."""
    return [_ATTRIBUTES[kind](tensors[i]) for i, kind in reads]


@torch.compiler.assume_constant_result
def _translate_recorded(score, mask, descriptions, device, numbers):
    """Return the trace of functions that were recorded, the captured tensors by their numbers, and the sizes."""
    from ._record import Replay, stand_in
    from ._translate import Untranslatable
    of = torch.device(device)
    with _disable_current_modes():  # those of torch.export
        tensors = [stand_in(x, of) for x in descriptions]
        score_mod, mask_mod = (x and Replay(name, x[0], x[1], tensors, of) for name, x in (("score_mod", score), ("mask_mod", mask)))
        traced, sources, sizes, reads = _trace(score_mod, mask_mod, of, numbers, tensors)
    order = _order(sources, tensors)
    if reads.found or not reads.repeatable or order is None:
        raise Untranslatable("a mask or a score reads the size of what it indexes in part; under torch.compile read it of the whole tensor")
    return traced, order, sizes


@torch.compiler.assume_constant_result
def _find_constants(score_mod, mask_mod, device, numbers):
    """Return _find_all's result for torch.compile, with the numbers of the captured tensors among all instead of them."""
    from ._translate import Untranslatable, describe
    tensors: list[torch.Tensor] = []
    names = " or ".join([describe(f) for f in (score_mod, mask_mod) if f is not None])
    try:
        _fingerprint((score_mod, mask_mod), tensors, guarded=True)
    except _Unknown:
        raise Untranslatable("%s depends on attributes of functions, on methods, imports or random numbers, which "
                             "torch.compile does not watch here; let it close over tensors and numbers" % names) from None
    traced, sources, sizes, reads = _find_all(score_mod, mask_mod, torch.device(device), numbers)
    order = _order(sources, tensors)
    if order is None:
        raise Untranslatable("%s reads a tensor that it does not close over; under torch.compile make tensors outside of "
                             "the function" % names)
    if reads is None:
        raise Untranslatable("%s makes values of tensors numbers of Python, as .tolist() does; under torch.compile index "
                             "the tensors, or make the numbers outside of the function" % names)
    return traced, order, sizes, reads


def _find_compiled(score_mod, mask_mod, device, numbers):
    """Return _find_trace's result while torch.compile looks on: it guards what functions read, and what they compute of tensors
    alone is of its graph."""
    from ._record import describe, record
    if not _FOLLOWS_POW:
        outside = all([f is None or _is_made_outside(f) for f in (score_mod, mask_mod)])
        known = outside or _calls_pow(score_mod) or _calls_pow(mask_mod)
        found = _find_known(score_mod, mask_mod, device, numbers) if known else None
        if found is not None:
            return found
        if known and not outside:
            raise NotImplementedError(HIDDEN)
    tensors: list[torch.Tensor] = []
    score = None if score_mod is None else record(score_mod, True, 5, device, tensors)
    mask = None if mask_mod is None else record(mask_mod, False, 4 + numbers, device, tensors)
    traced, order, sizes = _translate_recorded(score, mask, describe(tensors), str(device), numbers)
    return traced, [(_show(tensors[i], views), place) for i, views, place in order], sizes


# Whether torch.compile can follow pow(x, n) of a tensor. Where it cannot, functions that may call it are traced as the objects that
# they are, if they are made outside of what is compiled.
_FOLLOWS_POW = _TELLS_MADE


def _is_made_outside(function):
    """Return whether a function is known to be made outside of what is compiled, for it is of no other function; what it calls
    may call pow."""
    return (isinstance(function, types.FunctionType) and torch.compiler.is_dynamo_compiling()
            and "<locals>" not in getattr(function.__code__, "co_qualname", "<locals>"))


def _calls_pow(function):
    """Return whether a function calls pow, and may be traced as the object that it is: of functions with cells those made outside of
    what is compiled have __get__.

    The cells are not looked at: torch.compile could not follow a call afterwards.
    """
    return (isinstance(function, types.FunctionType) and torch.compiler.is_dynamo_compiling() and hasattr(function, "__get__")
            and "pow" in _names_of(function.__code__))


def _find_known(score_mod, mask_mod, device, numbers):
    """Return _find_compiled's result for functions made outside of what is compiled: it guards what they are made of. None where they
    depend on what it does not watch."""
    tensors: list[torch.Tensor] = []
    try:
        _fingerprint((score_mod, mask_mod), tensors)
    except _Unknown:
        return None
    traced, order, sizes, reads = _find_constants(score_mod, mask_mod, str(device), numbers)
    for index, kind in reads:
        for number in _ATTRIBUTES[kind](tensors[index]):
            constant(number)
    return traced, [(_show(tensors[i], views), place) for i, views, place in order], sizes


# Whether torch.compile can look at a function's code and cells. Where it cannot, a function breaks its graph.
_CAN_LOOK = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11)


@torch.compiler.disable
def flex_attention_breaks_the_graph_before_PyTorch_2_11(*arguments):
    """Find a trace beside the graph; an error of fullgraph=True says no more than this name."""
    return _find_trace(*arguments)


def add_functions(launch: Launch, score_mod: Function | None, mask_mod: Function | None,
                  numbers: Sequence[int] = ()) -> None:
    """Add a traced mask and score to a launch, before all else; the mask gets `numbers` after its positions."""
    compiled = _find_compiled if _CAN_LOOK else flex_attention_breaks_the_graph_before_PyTorch_2_11
    find = compiled if torch.compiler.is_compiling() else _find_trace
    traced, captured, sizes = find(score_mod, mask_mod, launch.rows[0].device, len(numbers))
    integers = [*numbers, *[captured[index][0].shape[dim] for index, dim in sizes]]
    launch.add("traced", *traced, tensors=[_view(x) for x, _ in captured], integers=integers,
               meanings=["%s: captured tensor %d of the mask and score" % (place, i) for i, (_, place) in enumerate(captured)])


def _expect_lengths(launch: Launch, block_mask: BlockMask) -> None:
    """Refuse a BlockMask of other lengths, as FlexAttention does; one whose block is greater than any length is for all."""
    if all([size == _BLOCK_OF_ALL for size in block_mask.BLOCK_SIZE]):
        return
    # Its shape would have graphs depend on the number of its blocks.
    (rows, keys), (queries, length) = block_mask.seq_lengths, launch.lengths()
    if rows != queries or keys != length:
        raise ValueError("block_mask is for %d queries and %d keys, expected %d and %d; make one for these lengths, or pass "
                         "its mask_mod, which is for all" % (rows, keys, queries, length))


def add_mask(launch: Launch, score_mod: Function | None, block_mask: BlockMask | Function | None) -> None:
    """Add the functions of FlexAttention's arguments; of a BlockMask that has none, its blocks."""
    mask_mod = getattr(block_mask, "mask_mod", block_mask)
    if mask_mod is noop_mask:
        mask_mod = None
    elif mask_mod is not None and not callable(mask_mod):
        raise TypeError("block_mask is a %s, expected a BlockMask or a mask_mod" % type(block_mask).__name__)
    if isinstance(block_mask, BlockMask):
        _expect_lengths(launch, block_mask)
    if score_mod is not None or mask_mod is not None:
        add_functions(launch, score_mod, mask_mod)
    if mask_mod is None and isinstance(block_mask, BlockMask):
        add_blocks(launch, block_mask.to_dense(), *block_mask.BLOCK_SIZE)


def flex_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, score_mod: Function | None = None,
                   block_mask: BlockMask | Function | None = None, scale: float | None = None,
                   enable_gqa: bool = False, return_lse: bool = False, kernel_options: dict[str, Any] | None = None, *,
                   return_aux: Any = None) -> torch.Tensor | tuple[torch.Tensor, Any]:
    """Return FlexAttention's result for functions as they are written for it.

    query: B x Hq x Sq x D, key: B x Hk x Sk x D, value: B x Hk x Sk x Dv; with a block_mask key and value may have a batch
    of 1, for all. `score_mod(score, b, h, q_idx, kv_idx)` and
    the `mask_mod(b, h, q_idx, kv_idx)` of a BlockMask, whose blocks are not needed, are traced by PyTorch and
    translated; tensors that they close over are captured and may change between calls, numbers are constants of the program.

    The result is the output, with `return_lse` (output, lse), with `return_aux`, an AuxRequest, (output, AuxOutput).
    """
    if kernel_options:
        raise NotImplementedError("kernel_options %s are those of PyTorch's kernels; leave them out: fa_mlir chooses its own tiles"
                                  % ", ".join(map(repr, kernel_options)))
    if return_lse and return_aux is not None:
        raise ValueError("return_lse and return_aux are both given, and each says what is returned beside the output; leave out "
                         "return_lse: return_aux=AuxRequest(lse=True) asks for the same lse")
    if getattr(return_aux, "max_scores", False):
        raise NotImplementedError("return_aux: max_scores are never stored; ask for lse alone")
    launch = Launch(*autocast(query, key, value))
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError("query has %d heads and key %d; set enable_gqa=True where heads share keys"
                         % (query.shape[1], key.shape[1]))
    if block_mask is not None and key.shape[0] == value.shape[0] == 1 != query.shape[0]:
        query, key, value = launch.rows
        launch.rows = query, key.expand(query.shape[0], -1, -1, -1), value.expand(query.shape[0], -1, -1, -1)
    add_mask(launch, score_mod, block_mask)
    if scale is not None:
        launch.add_scale(scale)
    if return_aux is None:
        output, lse = launch.run(return_lse)
        return (output, lse) if return_lse else output
    from torch.nn.attention.flex_attention import AuxOutput
    output, lse = launch.run(return_aux.lse)
    return output, AuxOutput(lse=lse if return_aux.lse else None)
