"""What `flash_attn` and `flash_attn_3` share: B x S x H x D tensors, windows and softcap as numbers of the launch."""

from __future__ import annotations

import math
import operator
from typing import Any, NoReturn

import torch
from torch import get_num_threads, is_grad_enabled

from ._attention import FAR, _INTEGERS, Launch, _is_autocast_on, autocast, check_host, check_type, read_number, read_window
from ._ops import are_special, check_memory, is_watching, make_guard, prepare


def refuse(function: str, argument: str, why: str) -> NoReturn:
    """Raise NotImplementedError for an argument that no program of this version can serve."""
    raise NotImplementedError("%s: %s is not supported: %s" % (function, argument, why))


def refuse_unless(function, why, **arguments):
    """Refuse arguments that are not None, or not equal to the (value, default) given."""
    for name, given in arguments.items():
        value, default = given if isinstance(given, tuple) else (given, None)
        if value is not default and value != default:
            refuse(function, name, why)


def read_flag(name, x):
    """Return a bool: Python's, NumPy's, 0 or 1."""
    if isinstance(x, torch.Tensor) or x not in (False, True):
        raise TypeError("%s is %r, expected True or False" % (name, x))
    return bool(x)


def read_integer(name, x, remedy=""):
    """Return an integer: Python's, NumPy's, a tensor of one element on the host, or a symbol of torch.compile."""
    if isinstance(x, (int, torch.SymInt)):
        return x
    check_host(name, x)
    try:
        return operator.index(x)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError("%s is %r, expected an integer%s" % (name, x, remedy and "; " + remedy)) from None


def check_lengths(function, **lengths):
    """Check that longest lengths, which bound nothing here, are integers; one in a tensor is not read."""
    for name, x in lengths.items():
        if not isinstance(x, torch.Tensor):
            read_integer("%s: %s" % (function, name), x)
        elif x.numel() != 1 or x.dtype not in _INTEGERS:
            raise TypeError("%s: %s is a tensor of shape %s and %s, expected an integer"
                            % (function, name, tuple(x.shape), x.dtype))


CACHE = ("decoding with a cache of keys and values needs kernels that the library does not have yet; call "
         "flash_attn_func on the keys and values so far")


class Known:
    """A launch that is known, its numbers, which of the sequences' tensors it takes, the CPU's threads, and a guard of its
    tensors (`make_guard`)."""
    __slots__ = ("prepared", "numbers", "taken", "threads", "guard")

    def __init__(self, prepared, numbers, taken, threads):
        self.prepared, self.numbers, self.taken, self.threads = prepared, numbers, taken, threads
        self.guard: Any = None


# Launches by what decides them, for calls in eager mode without gradients and dropout; the last ones by what is no tensor.
_MOST = 4096
_launches: dict[tuple[Any, ...], Known] = {}
_last: dict[tuple[Any, ...], Known] = {}


def attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, attention_chunk=0,
           probabilities=(), sequences=(), blocks=None, deterministic=False, with_lse=False):
    """Return output, lse and, where `probabilities` says how many rows and keys, S_dmask: empty where nothing is dropped.

    `sequences`: starts and lengths of tokens x heads x head size, as SEQUENCES names them. `deterministic`: so are the
    gradients, or they are refused. `with_lse`: the caller hands out lse, which may be None without.
    """
    left, right = window_size if type(window_size) is tuple and len(window_size) == 2 else (None, None)
    if type(left) is not int or type(right) is not int:
        left, right = read_window(function + ": window_size", window_size)
    # All that finds a launch is read before, each of one type: 8.0 equals 8.
    if type(dropout_p) is not float:
        dropout_p = read_number(function + ": dropout_p", dropout_p, "leave it out for none")
    if softmax_scale is not None and type(softmax_scale) is not float:
        softmax_scale = read_number(function + ": softmax_scale", softmax_scale, "leave it out for 1 / sqrt(head size)")
    if type(softcap) is not float:
        softcap = read_number(function + ": softcap", softcap, "leave it out for none")
    if type(attention_chunk) is not int:
        attention_chunk = read_integer(function + ": attention_chunk", attention_chunk, "leave it out for none")
    if type(causal) is not bool:
        causal = read_flag(function + ": causal", causal)
    if type(deterministic) is not bool:
        deterministic = read_flag(function + ": deterministic", deterministic)
    choices = (softmax_scale, causal, left, right, softcap, attention_chunk)
    is_plain = not (dropout_p or alibi_slopes is not None or blocks is not None or is_watching())
    known = _last.get(choices) if is_plain and not sequences else None
    try:  # a guard must not see nested tensors (`are_nested`, without a call)
        if known is not None and (q.is_nested or k.is_nested or v.is_nested or not known.guard(q, k, v)
                                  or known.threads and known.threads != get_num_threads()):
            known = None
    except AttributeError:  # no tensors; told of below
        known = None
    if known is None:
        if (not is_plain or are_special(q, k, v) or _is_autocast_on()
                or (q.requires_grad or k.requires_grad or v.requires_grad) and is_grad_enabled()):
            dropout_p = round_dropout(dropout_p)
            launch = make_launch(function, q, k, v, dropout_p, alibi_slopes, sequences, blocks, *choices)
            launch.deterministic = deterministic
            output, lse = run(launch, dropout_p, with_lse or len(probabilities) > 0)
            signed = None
            if probabilities:
                signed = sign_probabilities(launch, sequences, *probabilities) if dropout_p else output.new_empty(0)
            return output, lse, signed
        known = find(function, q, k, v, sequences, choices)
    launch = known.prepared
    if launch.run_first is not None and not (with_lse or probabilities):
        return launch.run_first(q, k, v, known.numbers), None, None
    rows = (q, k, v, *[sequences[i] for i in known.taken]) if sequences else (q, k, v)
    if with_lse or probabilities:
        output, lse = launch.run(rows, known.numbers)
        return output, lse, q.new_empty(0) if probabilities else None
    return launch.run(rows, known.numbers, True)[0], None, None


def find(function, q, k, v, sequences, choices):
    """Return the launch for these tensors and choices, known or new."""
    device = q.get_device()
    key = (q.shape, q.stride(), k.shape, k.stride(), v.shape, v.stride(), q.dtype, k.dtype, v.dtype,
           device if device >= 0 else ~get_num_threads(), k.get_device(), v.get_device(), choices)
    if sequences:
        check_sequences(function, sequences)
        key += (sequences[0] is sequences[1], sequences[2] is sequences[3], *[x is not None and (x.shape, x.stride(), x.get_device(), x.is_meta)
                                                                             for x in sequences])
    known = _launches.get(key)
    if known is None:
        launch = make_launch(function, q, k, v, 0.0, None, sequences, None, *choices)
        prepared = prepare(q, k, v, launch.tensors, launch.write(), True)
        if len(_launches) >= _MOST:
            _launches.clear()
            _last.clear()
        taken = [next(i for i, given in enumerate(sequences) if given is x) for x in launch.tensors]
        known = _launches[key] = Known(prepared, prepared.pack_numbers(launch.integers, launch.floats), taken,
                                       None if device >= 0 else get_num_threads())
    if not sequences:
        # Where the last one's guard does not hold, it is of another mode, say inference_mode.
        if known.guard is None or known is _last.get(choices):
            known.guard = make_guard(q, k, v)
        _last[choices] = known
    return known


def make_launch(function, q, k, v, dropout_p, alibi_slopes, sequences, blocks, softmax_scale, causal, left, right, softcap,
                attention_chunk):
    """Return the attention of these arguments."""
    check_rows(function, 3 if sequences else 4, q=q, k=k, v=v)
    launch = Launch(*autocast(q, k, v), heads_last=True, packed=(len(sequences) > 0,) * 2)
    launch.add_window(left, 0 if causal else right)
    if attention_chunk > 0:  # less is off, as there
        launch.add("chunk", integers=(min(attention_chunk, FAR),))
    if blocks is not None:
        launch.add("blocks_of_all", 16, 256, tensors=(blocks,), meanings=("blockmask",))
    if softcap:
        launch.add_softcap(softcap)
    if alibi_slopes is not None:
        check_slopes(function, alibi_slopes)
        launch.add("alibi", "f32", alibi_slopes.dim(), tensors=(alibi_slopes,), meanings=("alibi_slopes",))
    if sequences:
        check_sequences(function, sequences)
        launch.add_sequences(sequences, SEQUENCES)
    if softmax_scale is not None:
        launch.add_scale(softmax_scale)
    if dropout_p:
        launch.add_dropout(dropout_p)
    return launch


def check_rows(function, rank, **tensors):
    """Check the ranks of query, key and value."""
    for name, x in tensors.items():
        check_type("%s: %s" % (function, name), x)
        check_memory("%s: %s" % (function, name), x)
        if x.dim() != rank:
            raise ValueError("%s: %s has %d dimensions, expected %d: %s x heads x head size" % (
                function, name, x.dim(), rank, "tokens" if rank == 3 else "batch x sequence"))


# What flash-attn calls them.
SEQUENCES = ("cu_seqlens_q", "cu_seqlens_k", "seqused_q", "seqused_k")


def check_sequences(function, sequences):
    for name, x in zip(SEQUENCES, sequences):
        if x is None and name.startswith("cu_seqlens"):
            raise TypeError("%s: %s is None, expected offsets of sequences, batch + 1 of int32; without sequences call "
                            "flash_attn_func" % (function, name))
        if x is not None and not isinstance(x, torch.Tensor):
            check_type("%s: %s" % (function, name), x)
        if x is not None and (x.dtype != torch.int32 or x.dim() != 1):
            raise TypeError("%s: %s is %s of %d dimensions; expected int32, 1" % (function, name, x.dtype, x.dim()))


def check_packed(function, name, x, dim, count, layout):
    """Check a tensor that has `count` of query, key and value in a dimension of their own."""
    check_type("%s: %s" % (function, name), x)
    if x.dim() != dim + 3 or x.shape[dim] != count:
        raise ValueError("%s: %s has shape %s, expected %s" % (function, name, tuple(x.shape), layout))


def check_slopes(function, slopes):
    check_type("%s: alibi_slopes" % function, slopes)
    if slopes.dtype != torch.float32 or slopes.dim() not in (1, 2):
        raise TypeError("%s: alibi_slopes is %s of %d dimensions; expected float32, heads or batch x heads"
                        % (function, slopes.dtype, slopes.dim()))


def round_dropout(p):
    """Return a probability of 1/256 to 255/256 for one between 0 and 1: every one above 0 drops, as in flash-attn.

    Closer to 0 and 1 the factor, too, is that of what is dropped: the mean of the output stays.
    """
    if 0 < p < 1 / 256:
        return 1 / 256
    return 255 / 256 if 255 / 256 < p < 1 else p


def run(launch, dropout_p, with_lse):
    """Return output and lse. The library scales by the probability that it rounded to 1/256; these by the one given."""
    output, lse = launch.run(with_lse)
    rounded = math.floor(dropout_p * 256 + 0.5) / 256
    return (output if rounded == dropout_p else output * ((1 - rounded) / (1 - dropout_p))), lse


@torch.no_grad()
def sign_probabilities(launch, sequences, rows, columns):
    """Return probabilities, B x H x Sq x Sk, less than 0 where dropped: for tests, the matrix is stored.

    Values of which each is a row of the identity give back probabilities, with dropout, its last item, and without.
    """
    q, k, v = launch.rows
    if sequences and not q.shape[0]:
        return q.new_zeros(len(sequences[0]) - 1, q.shape[1], rows, columns)
    position = torch.arange(k.shape[-3], dtype=torch.int32, device=k.device)  # in its sequence
    if sequences:
        starts = sequences[1]
        position = position - starts[(torch.searchsorted(starts, position, right=True) - 1).clamp(0, len(starts) - 2)]
    width, parts = 128, []
    for first in range(0, columns, width):
        identity = position[:, None] == torch.arange(first, first + width, device=k.device)
        value = identity.to(q.dtype)[:, None].expand(*k.shape[:-1], width)

        def run(without):
            again = Launch(q, k, value, heads_last=True, packed=(len(sequences) > 0,) * 2)
            cut = lambda given, count: list(given[:len(given) - count * without])
            again.items, again.integers = cut(launch.items, 1), launch.integers
            again.tensors, again.floats = cut(launch.tensors, 2), cut(launch.floats, 1)
            return again.run()[0].transpose(-3, -2)
        kept, plain = run(False), run(True)
        parts.append(torch.where(kept == 0, -plain, plain))
    parts = parts or [q.new_zeros(*q.shape[:-3], q.shape[-2], q.shape[-3], 0)]
    signed = torch.cat(parts, -1)[..., :columns]
    if not sequences:
        return signed
    index = sequences[0][:-1, None] + torch.arange(rows, device=q.device)
    # Behind the end of a sequence are zeros.
    inside = (index < sequences[0][1:, None])[:, None, :, None]
    return torch.where(inside, signed[:, index.clamp(max=q.shape[0] - 1)].transpose(0, 1), 0)
