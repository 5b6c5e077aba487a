"""What `flash_attn` and `flash_attn_3` share: B x S x H x D tensors, windows and softcap as numbers of the launch."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import torch

from ._attention import Launch, autocast
from ._ops import is_watched, keeps_gradients, prepare


def refuse(function: str, argument: str, why: str) -> NoReturn:
    """Raise NotImplementedError for an argument that no program of this version can serve."""
    raise NotImplementedError("%s: %s is not supported: %s" % (function, argument, why))


def refuse_unless(function, why, **arguments):
    """Refuse arguments that are not None, or not equal to the (value, default) given."""
    for name, given in arguments.items():
        value, default = given if isinstance(given, tuple) else (given, None)
        if value is not default and value != default:
            refuse(function, name, why)


CACHE = ("decoding with a cache of keys and values needs kernels that the library does not have yet; call "
         "flash_attn_func on the keys and values so far")


# Launches by what decides them, for calls in eager mode without gradients and dropout.
_MOST = 4096
_launches: dict[tuple[Any, ...], Any] = {}


def attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, attention_chunk=0,
           probabilities=False):
    """Return output, lse and, where `probabilities` are asked for, S_dmask: empty where nothing is dropped."""
    left, right = window_size
    if isinstance(left, torch.Tensor):  # some callers give a tensor of two numbers, on the host
        left, right = int(left), int(right)
    if (dropout_p or alibi_slopes is not None or is_watched(q, k, v) or torch._C._is_any_autocast_enabled()
            or keeps_gradients(q, k, v, ())):
        launch = make_launch(function, q, k, v, dropout_p, softmax_scale, causal, left, right, softcap, alibi_slopes,
                             attention_chunk)
        output, lse = run(launch, dropout_p)
        signed = None
        if probabilities:
            signed = sign_probabilities(launch) if dropout_p else launch.rows[0].new_empty(0)
        return output, lse, signed
    key = (q.shape, q.stride(), k.shape, k.stride(), v.shape, v.stride(), q.dtype, k.dtype, v.dtype, q.get_device(),
           k.get_device(), v.get_device(), softmax_scale and float(softmax_scale), bool(causal), left, right,
           float(softcap), attention_chunk)
    known = _launches.get(key)
    if known is None:
        launch = make_launch(function, q, k, v, 0.0, softmax_scale, causal, left, right, softcap, None, attention_chunk)
        prepared = prepare(q, k, v, [], launch.write(), True)
        if len(_launches) >= _MOST:
            _launches.clear()
        known = _launches[key] = prepared, prepared.pack_numbers(launch.integers, launch.floats)
    prepared, numbers = known
    output, lse = prepared.run((q, k, v), numbers)
    return output, lse, q.new_empty(0) if probabilities else None


def make_launch(function, q, k, v, dropout_p, softmax_scale, causal, left, right, softcap, alibi_slopes,
                attention_chunk):
    """Return the attention of these arguments."""
    launch = Launch(*autocast(q, k, v), heads_last=True)
    launch.add_window(left, 0 if causal else right)
    if attention_chunk:
        launch.add("chunk", integers=(attention_chunk,))
    if softcap:
        launch.add_softcap(softcap)
    if alibi_slopes is not None:
        check_slopes(function, alibi_slopes)
        launch.add("alibi", "f32", alibi_slopes.dim(), tensors=(alibi_slopes,))
    add_rest(launch, softmax_scale, dropout_p)
    return launch


def check_slopes(function, slopes):
    if slopes.dtype != torch.float32 or slopes.dim() not in (1, 2):
        raise TypeError("%s: alibi_slopes is %s of %d dimensions; expected float32, heads or batch x heads"
                        % (function, slopes.dtype, slopes.dim()))


def add_rest(launch, softmax_scale, dropout_p):
    if softmax_scale is not None:
        launch.add("scale", float(softmax_scale))
    if dropout_p:
        launch.add_dropout(dropout_p)


def run(launch, dropout_p):
    """Return output and lse. The library scales by the probability that it rounded to 1/256; these by the one given."""
    output, lse = launch.run()
    rounded = min(math.floor(dropout_p * 256 + 0.5), 255) / 256
    return (output if rounded == dropout_p else output * ((1 - rounded) / (1 - dropout_p))), lse


class Packed:
    """Sequences one after the other, by their offsets: what each row of queries may see is found on the device."""

    def __init__(self, function, rows, starts_q, starts_k, used_q=None, used_k=None):
        for name, x in (("cu_seqlens_q", starts_q), ("cu_seqlens_k", starts_k), ("seqused_q", used_q),
                        ("seqused_k", used_k)):
            if x is not None and (x.dtype != torch.int32 or x.dim() != 1):
                raise TypeError("%s: %s is %s of %d dimensions; expected int32, 1" % (function, name, x.dtype, x.dim()))
        self.starts_q, self.starts_k = starts_q[:-1], starts_k[:-1]
        self.ends_q = starts_q[1:] if used_q is None else self.starts_q + used_q
        self.ends_k = starts_k[1:] if used_k is None else self.starts_k + used_k
        self.rows = torch.arange(rows, dtype=torch.int32, device=starts_q.device)
        self.sequence = (torch.searchsorted(starts_q, self.rows, right=True) - 1).clamp(max=starts_q.shape[0] - 2)
        table = torch.stack([self.starts_k, self.ends_k, self.ends_k - self.ends_q, self.ends_q])
        # The first key, the one behind the last, the distance to the position among keys, the row behind the last.
        self.first, self.behind, self.ahead, self.end = table[:, self.sequence].unbind()

    def limit(self, left, right, chunk):
        """Return the first key that each row sees, and the one behind the last."""
        position, first, behind = self.rows + self.ahead, self.first, self.behind
        if chunk:
            begin = self.first + (position - self.first).div(chunk, rounding_mode="floor") * chunk
            first, behind = torch.maximum(first, begin), torch.minimum(behind, begin + chunk)
        if left >= 0:
            first = torch.maximum(first, position - left)
        if right >= 0:
            behind = torch.minimum(behind, position + right + 1)
        return first, torch.where(self.rows < self.end, behind, self.first)

    def unpack(self, matrix, rows, columns):
        """Return heads x tokens x tokens as batch x heads x rows x columns, zeros where a sequence has ended."""
        i, j = (starts[:, None] + torch.arange(count, device=starts.device) for starts, count in
                ((self.starts_q, rows), (self.starts_k, columns)))
        inside = (i < self.ends_q[:, None])[:, :, None] & (j < self.ends_k[:, None])[:, None, :]
        i, j = i.clamp(max=matrix.shape[1] - 1), j.clamp(max=matrix.shape[2] - 1)
        return torch.where(inside, matrix[:, i[:, :, None], j[:, None, :]], 0).transpose(0, 1)


def attend_packed(function, q, k, v, packed, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                  attention_chunk=0, blocks=None):
    """Return the attention of tokens x heads x head size, output and lse (heads x tokens)."""
    left, right = [int(x) if isinstance(x, torch.Tensor) else x for x in window_size]
    launch = Launch(*autocast(q[None], k[None], v[None]), heads_last=True)
    launch.add("limits", tensors=packed.limit(left, 0 if causal else right, attention_chunk))
    if blocks is not None:
        launch.add("packed_blocks", 16, 256, tensors=(blocks, packed.first))
    if softcap:
        launch.add_softcap(softcap)
    if alibi_slopes is not None:
        check_slopes(function, alibi_slopes)
        slopes = alibi_slopes if alibi_slopes.dim() == 1 else alibi_slopes[packed.sequence]
        launch.add("packed_alibi", alibi_slopes.dim(), tensors=(slopes, packed.ahead))
    add_rest(launch, softmax_scale, dropout_p)
    output, lse = run(launch, dropout_p)
    return launch, output[0], lse[0]


def check_packed(function, **tensors):
    """Check the ranks of packed tensors."""
    for name, x in tensors.items():
        if x.dim() != 3:
            raise ValueError("%s: %s has %d dimensions, expected 3: tokens x heads x head size"
                             % (function, name, x.dim()))


@torch.no_grad()
def sign_probabilities(launch):
    """Return probabilities, B x H x Sq x Sk, less than 0 where dropped: for tests, the matrix is stored.

    Values of which each is a row of the identity give back probabilities, with dropout, its last item, and without.
    """
    q, k, _ = launch.rows
    columns, width, parts = k.shape[1], 128, []
    for first in range(0, columns, width):
        identity = torch.zeros(columns, width, dtype=q.dtype, device=q.device)
        identity.diagonal(-first)[:width].fill_(1)
        value = identity[None, :, None, :].expand(k.shape[0], -1, k.shape[2], -1)

        def run(without):
            again = Launch(q, k, value, heads_last=True)
            cut = lambda given, count: list(given[:len(given) - count * without])
            again.items, again.integers = cut(launch.items, 1), launch.integers
            again.tensors, again.floats = cut(launch.tensors, 2), cut(launch.floats, 1)
            return again.run()[0].transpose(1, 2)
        kept, plain = run(False), run(True)
        parts.append(torch.where(kept == 0, -plain, plain))
    return torch.cat(parts, 3)[..., :columns]
