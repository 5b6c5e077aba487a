"""`fa_mlir.attention`: all that the library has, named as in docs/semantics.md."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any, Callable

import torch

from . import _library, _ops, _program, _text


# A mask or a score: a function of scalar tensors.
Function = Callable[..., torch.Tensor]
# A name of `_text.ITEMS` and constants.
Item = tuple[Any, ...]
# What explain() says: kind, what, remedy.
Reason = tuple[str, str, str]
# Query, key and value.
Rows = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


_is_autocast_on = torch._C._is_any_autocast_enabled


def check_type(name: str, x: object) -> None:
    if not isinstance(x, torch.Tensor):
        raise TypeError("%s is a %s, expected a tensor" % (name, type(x).__name__))


def autocast(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Rows:
    """Return tensors in the dtype of torch.autocast, where that is on: as scaled_dot_product_attention takes them."""
    if not torch.compiler.is_compiling() and not _is_autocast_on():
        return query, key, value
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_type(name, x)
    kind = query.device.type
    if kind not in ("cpu", "cuda") or not torch.is_autocast_enabled(kind):
        return query, key, value
    dtype = torch.get_autocast_dtype(kind)
    cast = lambda x: x.to(dtype) if x.is_floating_point() and x.dtype != torch.float64 else x
    return cast(query), cast(key), cast(value)


# Where torch.compile has a size as a symbol, an index makes it a number.
_SIZES = tuple(range(4097))


def static(size: int) -> int:
    """Return a size that programs are made for, also under torch.compile with dynamic shapes."""
    return _SIZES[size] if torch.compiler.is_compiling() else size


def constant(number: Any) -> Any:
    """Return a number that programs are made for; what torch.compile has as a symbol is one, with a guard, as a key."""
    return list({number: None})[0] if torch.compiler.is_compiling() else number


def find_shared(shape: Sequence[int]) -> tuple[bool, ...]:
    """Return which sizes are 1; a branch, for torch.compile would keep a comparison of symbols."""
    return tuple([True if size == 1 else False for size in shape])


def draw_seed(device: torch.device) -> tuple[torch.Tensor, ...]:
    """Return dropout's seed and offset, tensors of one element, from the device's generator, which moves on."""
    return torch.randint(2**62, (2, 1), dtype=torch.int64, device=device).unbind()


def check_rows(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, heads_last: bool,
               packed: tuple[bool, bool]) -> None:
    """Check ranks and dtypes; `packed` says whether queries, and keys, are those of sequences in a row."""
    for name, x, is_packed in (("query", query, packed[0]), ("key", key, packed[1]), ("value", value, packed[1])):
        check_type(name, x)
        _ops.check_memory(name, x)
        if x.dim() != 4 - is_packed:
            sizes = "sequence x heads" if heads_last else "heads x sequence"
            sizes = sizes.replace("sequence", "tokens") if is_packed else "batch x " + sizes
            raise ValueError("%s has %d dimensions, expected %d: %s x head size" % (name, x.dim(), 4 - is_packed, sizes))
    for name, x in (("key", key), ("value", value)):
        if x.device != query.device:
            raise ValueError("%s is on %s and query on %s; move it there" % (name, x.device, query.device))
    if query.dtype not in (torch.float16, torch.bfloat16, torch.float32) or not query.dtype == key.dtype == value.dtype:
        raise TypeError("query, key and value are %s, %s and %s; expected one of float16, bfloat16 and float32 for all "
                        "three" % (query.dtype, key.dtype, value.dtype))
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("query has a head size of %d and key of %d; they must agree" % (query.shape[-1], key.shape[-1]))


def check_host(name: str, x: object) -> None:
    """Refuse a number in a device's memory: to read it is to wait for all that runs there."""
    if isinstance(x, torch.Tensor) and x.device.type != "cpu":
        raise TypeError("%s is a tensor on %s, expected numbers on the host, for reading it would wait for the device; give "
                        "x.tolist() instead of x, once before the calls" % (name, x.device))


def read_number(name: str, x: Any, remedy: str = "") -> float:
    """Return a number as a float: Python's, NumPy's, a tensor of one element on the host, or a symbol of torch.compile.

    Integers beyond all floats are infinite.
    """
    if isinstance(x, (float, torch.SymInt, torch.SymFloat)):
        return float(x)
    check_host(name, x)
    if not isinstance(x, (str, bytes)):
        try:
            return float(x)
        except OverflowError:
            return float("inf") if x > 0 else -float("inf")
        except (TypeError, ValueError, RuntimeError):
            pass
    raise TypeError("%s is %r, expected a number%s" % (name, x, remedy and "; " + remedy))


def read_window(name: str, window: Any) -> tuple[int, int]:
    """Return a window's two bounds; some callers give a tensor of two numbers, on the host, torch.compile symbols."""
    check_host(name, window)
    is_pair = isinstance(window, (tuple, list)) or isinstance(window, torch.Tensor) and window.dim() == 1
    bounds = tuple(window) if is_pair else ()
    if len(bounds) != 2 or not all([isinstance(x, (int, torch.SymInt, torch.Tensor)) or hasattr(x, "__index__") for x in bounds]):
        raise TypeError("%s is %s, expected two integers; -1 leaves a side open" % (name, window))
    for x in bounds:
        check_host(name, x)
    left, right = [int(x) if isinstance(x, torch.Tensor) else x for x in bounds]
    return left, right


@torch.compiler.assume_constant_result
def write(dtype: str, head_dim: int, value_dim: int, items: tuple[Item, ...], meanings: tuple[str, ...],
          deterministic: bool) -> str:
    """Return the text for constants, on one line; torch.compile calls it and keeps the text.

    Inductor writes an op's arguments into comments, which a line's end would end. `meanings` are those of its tensors.
    """
    text: str = _text.write_line(dtype, head_dim, value_dim, items) + _ops.DETERMINISTIC * deterministic
    _ops.remember_meanings(text, meanings)
    return text


class Launch:
    """An attention: the items of its text (`_text.ITEMS`), and the tensors and numbers that they take."""

    def __init__(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, heads_last: bool = False,
                 packed: tuple[bool, bool] = (False, False)) -> None:
        check_rows(query, key, value, heads_last, packed)
        self.rows, self.heads_last = (query, key, value), heads_last
        self.items: list[Item] = []
        self.tensors: list[torch.Tensor] = []
        self.meanings: list[str] = []
        self.integers: list[int] = []
        self.floats: list[float] = []
        self.draws_seed = False
        self.deterministic = False

    def add(self, name: str, *constants: Any, tensors: Sequence[torch.Tensor] = (), integers: Iterable[int] = (),
            floats: Iterable[float] = (), meanings: Sequence[str] = ()) -> None:
        """Append an item, its constants and its operands; tensors are named by the item, or by `meanings`."""
        self.items.append((name, *constants))
        self.tensors += tensors
        self.meanings += list(meanings) or [name] * (len(self.tensors) - len(self.meanings))
        device = self.rows[0].device
        for x, meaning in zip(tensors, self.meanings[len(self.tensors) - len(tensors):]):
            if x.device != device:
                raise ValueError("%s is on %s and query on %s; move it there" % (meaning, x.device, device))
            _ops.check_memory(meaning, x)
        self.integers += integers
        self.floats += floats

    def add_window(self, left: int, right: int) -> None:
        """Bound keys on both sides of the query's position, less than 0: not; a right bound of 0 is causal."""
        if left >= 0:
            self.add("left", integers=(min(left, FAR),))
        if right == 0:
            self.add("causal")
        elif right > 0:
            self.add("right", integers=(min(right, FAR),))

    def add_scale(self, scale: float) -> None:
        scale = constant(read_number("the scale of scores", scale, "leave it out for 1 / sqrt(head size)"))
        if not abs(scale) <= 1e18:
            raise ValueError("the scale of scores is %g, expected a finite number of at most 1e18" % scale)
        self.add("scale", scale)

    def add_softcap(self, cap: float) -> None:
        if not isinstance(cap, (float, torch.SymFloat)):
            cap = read_number("softcap", cap)
        if not 1e-37 <= cap <= 1e37:
            raise ValueError("softcap is %g, expected 1e-37 to 1e37" % cap)
        self.add("softcap", floats=(float(cap), 1.0 / cap))

    def add_dropout(self, p: float) -> None:
        """Drop probabilities; the last item with tensors, for `run` appends seed and offset: who only looks draws none."""
        if not isinstance(p, (float, torch.SymFloat)):
            p = read_number("dropout_p", p)
        if not 0 <= p < 1:
            raise ValueError("dropout_p is %g, expected at least 0 and less than 1" % p)
        self.add("dropout", floats=(float(p),), meanings=("seed", "offset"))
        self.draws_seed = True

    def add_sequences(self, parts: tuple[torch.Tensor | None, ...], names: tuple[str, ...] = _text.SEQUENCES) -> None:
        """Say which queries and keys sequences have: starts and lengths in the order of `_text.SEQUENCES`, and the
        caller's names of these."""
        # One tensor for queries and keys is one operand.
        shared = [name for name, x, of_query in ((names[i], parts[i], parts[i - 1]) for i in (1, 3))
                  if x is not None and x is of_query]
        kept = [(name, x) for name, x in zip(names, parts) if x is not None and name not in shared]
        elements = [None if x is None else _ops.name_of(x.dtype) for x in parts]
        shared = [_text.SEQUENCES[names.index(name)] for name in shared]
        self.add("sequences", tuple(elements), tuple(shared), tensors=[x for _, x in kept], meanings=[x for x, _ in kept])

    def lengths(self) -> tuple[int, int]:
        """Return how many queries and keys a sequence has, 0 where sequences are in a row: memory on the device says it."""
        dim = -3 if self.heads_last else -2
        queries, keys = [x.shape[dim] if x.dim() == 4 else 0 for x in self.rows[:2]]
        return queries, keys

    def write(self) -> str:
        """Return the text on one line."""
        query, _, value = self.rows
        return write(_ops.NAMES[query.dtype], static(query.shape[-1]), static(value.shape[-1]), tuple(self.items),
                     tuple(self.meanings), self.deterministic)

    def show(self) -> str:
        """Return the text as it is read by people."""
        query, _, value = self.rows
        return _text.write(_ops.NAMES[query.dtype], query.shape[-1], value.shape[-1], tuple(self.items))

    def run(self, with_lse: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """Launch, and return (output, lse); `with_lse` says that the caller gets lse, which may have a gradient."""
        text = self.write()
        if self.draws_seed:
            self.tensors += draw_seed(self.rows[0].device)
            self.draws_seed = False
        output, lse = _ops.attend(self.rows, self.tensors, self.integers, self.floats, text, self.heads_last)
        if with_lse and not torch.compiler.is_compiling() and lse.requires_grad:
            _ops.prefetch_with_lse(self.rows, self.tensors, text)
        return output, lse


FAR = 2**31 - 1
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


def _expect(name: str, x: torch.Tensor, ranks: tuple[int, ...], integers: bool = False) -> str:
    """Check a tensor, and return MLIR's name of its dtype."""
    check_type(name, x)
    if x.dim() not in ranks:
        raise ValueError("%s has %d dimensions, expected %s" % (name, x.dim(), " or ".join(map(str, ranks))))
    if integers != (x.dtype in _INTEGERS) or not (integers or x.dtype.is_floating_point):
        raise TypeError("%s has dtype %s, expected %s" % (name, x.dtype, "integers with a sign" if integers else "floats"))
    return _ops.name_of(x.dtype)


def add_blocks(launch: Launch, visible: torch.Tensor, rows: int, keys: int) -> None:
    """Hide keys of the blocks, of so many rows and keys, that are 0 in a tensor of bools or integers."""
    if visible.dtype not in (torch.bool, *_INTEGERS) or visible.dim() not in (2, 3, 4):
        raise TypeError("blocks are %s of %d dimensions; expected bools or integers, 2 to 4" % (visible.dtype,
                                                                                           visible.dim()))
    for x in (rows, keys):
        check_host("the size of a block", x)
    if not all([isinstance(x, (int, torch.SymInt)) or hasattr(x, "__index__") for x in (rows, keys)]):
        raise TypeError("the sizes of a block are %r and %r, expected two integers: rows and keys" % (rows, keys))
    if rows < 1 or keys < 1:
        raise ValueError("the sizes of a block are %d and %d, expected 1 row and 1 key, or more" % (rows, keys))
    for what, size, per, length in (("rows", visible.shape[-2], rows, launch.lengths()[0]),
                                    ("keys", visible.shape[-1], keys, launch.lengths()[1])):
        if size != 1 and size * per < length:
            raise ValueError("blocks has %d x %d %s, expected at least %d, for what is beyond would be hidden"
                             % (size, per, what, length))
    launch.add("blocks", _ops.name_of(visible.dtype), find_shared(visible.shape), constant(int(rows)), constant(int(keys)),
               tensors=(visible,))


def add_document(launch: Launch, ids: tuple[torch.Tensor, ...]) -> None:
    """Hide keys of other documents, by ids of positions, or by those of queries and those of keys."""
    if len(ids) not in (1, 2):
        raise ValueError("document is a tuple of %d tensors, expected one of ids, or a pair" % len(ids))
    elements = [_expect("document", x, (2,), integers=True) for x in ids]
    if elements[0] != elements[-1]:
        raise TypeError("document has ids of %s and of %s, expected one dtype; convert one of them by .to()"
                        % (ids[0].dtype, ids[1].dtype))
    lengths = launch.lengths() if len(ids) == 2 else (max(launch.lengths()),)
    for x, length, rows in zip(ids, lengths, launch.rows):
        if x.shape[1] < length or rows.dim() == 4 and x.shape[0] != rows.shape[0]:
            raise ValueError("document has shape %s, expected ids of %d positions of each of %d sequences"
                             % (tuple(x.shape), length, rows.shape[0]))
    launch.add("document", *elements, tensors=ids)


def _make(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Function | None = None,
          score: Function | None = None, causal: bool | str = False, window: tuple[int, int] | None = None,
          prefix: torch.Tensor | None = None,
          document: torch.Tensor | tuple[torch.Tensor, torch.Tensor] | None = None,
          blocks: tuple[torch.Tensor, int, int] | None = None, softcap: float | None = None,
          alibi: torch.Tensor | None = None, bias: torch.Tensor | None = None, sink: torch.Tensor | None = None,
          dropout_p: float = 0.0, scale: float | None = None, precision: str | None = None, heads_last: bool = False,
          query_starts: torch.Tensor | None = None, key_starts: torch.Tensor | None = None,
          query_lengths: torch.Tensor | None = None, key_lengths: torch.Tensor | None = None) -> Launch:
    sequences = query_starts, key_starts, query_lengths, key_lengths
    launch = Launch(*autocast(query, key, value), heads_last, (sequences[0] is not None, sequences[1] is not None))
    if mask is not None or score is not None:
        from ._flex import add_functions
        add_functions(launch, score, mask)
    if isinstance(causal, torch.Tensor) or causal not in (False, True, "top_left", "bottom_right"):
        raise ValueError("causal is %r, expected False, True, 'bottom_right' or 'top_left'" % (causal,))
    if causal:
        launch.add("top_left" if causal == "top_left" else "causal")
    if window is not None:
        launch.add_window(*read_window("window", window))
    if prefix is not None:
        launch.add("prefix", _expect("prefix", prefix, (1,), integers=True), tensors=(prefix,))
    if document is not None:
        add_document(launch, tuple(document) if isinstance(document, (tuple, list)) else (document,))
    if blocks is not None:
        if not isinstance(blocks, (tuple, list)) or len(blocks) != 3:
            raise TypeError("blocks is a %s, expected (visible, rows, keys): a tensor, and the sizes of a block"
                            % type(blocks).__name__)
        visible, rows, keys = blocks
        check_type("blocks", visible)
        add_blocks(launch, visible, rows, keys)
    if softcap is not None:
        launch.add_softcap(softcap)
    if alibi is not None:
        launch.add("alibi", _expect("alibi", alibi, (1, 2)), alibi.dim(), tensors=(alibi,))
    if bias is not None:
        launch.add("bias", _expect("bias", bias, (2, 3, 4)), find_shared(bias.shape), tensors=(bias,))
    if sink is not None:
        launch.add("sink", _expect("sink", sink, (1,)), tensors=(sink,))
    if any([x is not None for x in sequences]):
        for name, x in zip(_text.SEQUENCES, sequences):
            if x is not None:
                _expect(name, x, (1,), integers=True)
        launch.add_sequences(sequences)
    if isinstance(dropout_p, torch.Tensor) or dropout_p:
        launch.add_dropout(dropout_p)
    if scale is not None:
        launch.add_scale(scale)
    if precision is not None:
        if not isinstance(precision, str) or not precision:
            raise TypeError("precision is %r, expected 'ieee', 'tf32x3' or 'tf32'" % (precision,))
        launch.add("precision", precision)
    return launch


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, mask: Function | None = None,
              score: Function | None = None, causal: bool | str = False, window: tuple[int, int] | None = None,
              prefix: torch.Tensor | None = None,
              document: torch.Tensor | tuple[torch.Tensor, torch.Tensor] | None = None,
              blocks: tuple[torch.Tensor, int, int] | None = None, softcap: float | None = None,
              alibi: torch.Tensor | None = None, bias: torch.Tensor | None = None, sink: torch.Tensor | None = None,
              dropout_p: float = 0.0, scale: float | None = None, precision: str | None = None,
              query_starts: torch.Tensor | None = None, key_starts: torch.Tensor | None = None,
              query_lengths: torch.Tensor | None = None, key_lengths: torch.Tensor | None = None,
              heads_last: bool = False, return_lse: bool = False) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Return softmax(score(scale * query key^T)) value, without keys that a mask hides; and lse if asked for.

    query: B x Hq x Sq x D, key: B x Hk x Sk x D, value: B x Hk x Sk x Dv, with `heads_last` B x S x H x D each; any
    strides but of the last dimension, which is contiguous. Masks hold together, scores apply in the order of the
    arguments; docs/semantics.md says what each is. `mask(b, h, i, j)` and `score(s, b, h, i, j)` are functions as those
    of `flex_attention`; window = (left, right), -1 leaves a side open; document: ids, or a pair of query's and key's;
    blocks = (visible, rows, keys): a tensor that says of each block of so many scores whether it is visible.

    With query_starts, B + 1 offsets, query has the tokens of B sequences in a row and no batch, and so have output and lse;
    with key_starts key and value. Of each sequence the first lengths[b] tokens count, all by default.
    """
    launch = _make(query, key, value, mask, score, causal, window, prefix, document, blocks, softcap, alibi, bias, sink,
                   dropout_p, scale, precision, heads_last, query_starts, key_starts, query_lengths, key_lengths)
    output, lse = launch.run(return_lse)
    return (output, lse) if return_lse else output


def to_mlir(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, mask: Function | None = None,
            score: Function | None = None, causal: bool | str = False, window: tuple[int, int] | None = None,
            prefix: torch.Tensor | None = None,
            document: torch.Tensor | tuple[torch.Tensor, torch.Tensor] | None = None,
            blocks: tuple[torch.Tensor, int, int] | None = None, softcap: float | None = None,
            alibi: torch.Tensor | None = None, bias: torch.Tensor | None = None, sink: torch.Tensor | None = None,
            dropout_p: float = 0.0, scale: float | None = None, precision: str | None = None,
            query_starts: torch.Tensor | None = None, key_starts: torch.Tensor | None = None,
            query_lengths: torch.Tensor | None = None, key_lengths: torch.Tensor | None = None,
            heads_last: bool = False) -> str:
    """Return the MLIR text that `attention` compiles for these arguments."""
    launch = _make(query, key, value, mask, score, causal, window, prefix, document, blocks, softcap, alibi, bias, sink,
                   dropout_p, scale, precision, heads_last, query_starts, key_starts, query_lengths, key_lengths)
    return launch.show()


def _find_refusals(launch: Launch, text: str, target: str, backward: bool) -> list[Reason]:
    """Return why a launch on tensors of such sizes and strides is refused: one is prepared, on no memory."""
    make_empty = lambda shape, stride, dtype: torch.empty_strided(shape, stride, dtype=dtype, device="meta")
    rows, tensors = [[make_empty(x.shape, x.stride(), x.dtype) for x in given] for given in (launch.rows, launch.tensors)]
    if launch.draws_seed:
        tensors += [make_empty((1,), (1,), torch.int64) for _ in range(2)]
    query, key, value = rows
    outputs = _ops._describe_outputs(query, key, value, launch.heads_last)
    results = [make_empty(*x) for x in (*outputs, outputs[0])] if backward else []  # o, lse, do

    def make() -> tuple[Any, ...]:
        program = _program.compile(text, target, backward=int(backward))
        names, written = [*_ops._names_of(tensors), "o", "lse"], outputs
        if backward:
            wanted = [name for name, kind in zip(program.names, program.kinds) if kind == _library.OUTPUT]
            names += ["do", *wanted]
            written = _ops._describe_gradients(query, key, value, tensors, ",".join([name[1:] for name in wanted]))
        return program, names, written, launch.heads_last, launch.write()
    try:
        _ops._find((text, target, backward, launch.heads_last), [*rows, *tensors, *results], make)
    except _library.Error as error:
        parts = [line.rpartition("; ") for line in str(error).splitlines()]
        return [("refused at launch", what or last, last if what else "see docs/semantics.md") for what, _, last in parts]
    return []


def explain(query: torch.Tensor | None = None, key: torch.Tensor | None = None, value: torch.Tensor | None = None, *,
            target: str | None = None, backward: bool = False, **arguments: Any) -> list[tuple[str, str, str]]:
    """Return what is refused, or slower than it could be, for these arguments of `attention`: (kind, what, remedy).

    What a launch on tensors of just these sizes and strides is refused for comes first, then what holds for all launches.
    For what `attention` raises before it has a text, such as of a dtype, `explain` raises the same.
    """
    known = tuple(inspect.signature(attention).parameters)[3:]
    unknown = [name for name in arguments if name not in known]
    if unknown:
        raise TypeError("explain() has no argument '%s'; it takes target, backward and those of attention(): %s"
                        % (unknown[0], ", ".join(known)))
    if backward not in (False, True):
        raise TypeError("backward is %r, expected True for gradients, or False" % (backward,))
    missing = [name for name, x in (("query", query), ("key", key), ("value", value)) if x is None]
    if len(missing) == 3 and not arguments and not backward:
        return _library.explain(target=target or "cuda")
    if missing or query is None or key is None or value is None:
        raise TypeError("explain() needs %s as well: give query, key and value, or target alone to explain a device"
                        % " and ".join(missing))
    arguments.pop("return_lse", None)  # the same program
    launch = _make(query, key, value, **arguments)
    text, target = launch.show(), target or _ops.target_of(query.device)
    reasons = _library.explain(text, target=target, backward=int(backward))
    if any([kind == "refused" for kind, _, _ in reasons]):
        return reasons
    return _find_refusals(launch, text, target, backward) + reasons
