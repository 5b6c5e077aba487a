"""FlashAttention-3's functions: its arguments, defaults and returns. Tensors are batch x sequence x heads x head size.

An argument that cannot be served raises NotImplementedError. `num_splits` 0 and 1 and `pack_gqa` None and False are
what every program here does. With `deterministic` gradients are the same bits in each run.
"""

from __future__ import annotations

from typing import NoReturn, Union

import torch

from ._attention import check_type
from ._flash import CACHE, attend, check_lengths, check_packed, read_flag, read_integer, refuse, refuse_unless
from ._ops import unpack

# With return_attn_probs output and lse.
Result = Union[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]

__all__ = ["flash_attn_combine", "flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_with_kvcache"]

_FP8 = "fp8 needs kernels that the library does not have yet; convert to bfloat16"
_QV = "a second product of queries needs kernels that the library does not have yet; concatenate it to q and k"


def _check_schedule(function, num_splits, pack_gqa, sm_margin):
    if type(num_splits) is not int:
        num_splits = read_integer(function + ": num_splits", num_splits)
    if type(sm_margin) is not int:
        sm_margin = read_integer(function + ": sm_margin", sm_margin)
    if num_splits not in (0, 1):
        refuse(function, "num_splits=%s" % num_splits, "keys are not split; leave it out")
    if pack_gqa is not None and read_flag(function + ": pack_gqa", pack_gqa):
        refuse(function, "pack_gqa=True", "programs choose their rows themselves; leave it out")
    if sm_margin:
        refuse(function, "sm_margin", "programs take every SM; leave it out")


def _attend(function, q, k, v, softmax_scale, causal, window_size, attention_chunk, softcap, deterministic,
            return_attn_probs):
    if type(return_attn_probs) is not bool:
        return_attn_probs = read_flag(function + ": return_attn_probs", return_attn_probs)
    output, lse, _ = attend(function, q, k, v, 0.0, softmax_scale, causal, window_size, softcap, None, attention_chunk,
                            deterministic=deterministic, with_lse=return_attn_probs)
    return (output, lse) if return_attn_probs else output


def flash_attn_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, softmax_scale: float | None = None,
                    causal: bool = False, qv: torch.Tensor | None = None, q_descale: torch.Tensor | None = None,
                    k_descale: torch.Tensor | None = None, v_descale: torch.Tensor | None = None,
                    window_size: tuple[int, int] = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
                    num_splits: int = 1, pack_gqa: bool | None = None, deterministic: bool = False,
                    sm_margin: int = 0, return_attn_probs: bool = False) -> Result:
    """Return softmax(q k^T * softmax_scale) v; with return_attn_probs (output, softmax_lse).

    With attention_chunk a query attends to keys of its own chunk of so many positions only, aligned at bottom right.
    """
    name = "flash_attn_func"
    refuse_unless(name, _QV, qv=qv)
    refuse_unless(name, _FP8, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    _check_schedule(name, num_splits, pack_gqa, sm_margin)
    return _attend(name, q, k, v, softmax_scale, causal, window_size, attention_chunk, softcap,
                   deterministic, return_attn_probs)


def flash_attn_qkvpacked_func(qkv: torch.Tensor, softmax_scale: float | None = None, causal: bool = False,
                              q_descale: torch.Tensor | None = None, k_descale: torch.Tensor | None = None,
                              v_descale: torch.Tensor | None = None, window_size: tuple[int, int] = (-1, -1),
                              attention_chunk: int = 0, softcap: float = 0.0, deterministic: bool = False,
                              num_heads_q: int | None = None, sm_margin: int = 0,
                              return_attn_probs: bool = False) -> Result:
    """Return flash_attn_func of qkv: batch x seqlen x 3 x nheads x headdim, or with num_heads_q batch x seqlen x
    (num_heads_q + 2 nheads_k) x headdim."""
    name = "flash_attn_qkvpacked_func"
    refuse_unless(name, _FP8, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    _check_schedule(name, 1, None, sm_margin)
    check_type(name + ": qkv", qkv)
    if qkv.dim() == 5:
        check_packed(name, "qkv", qkv, 2, 3, "batch x seqlen x 3 x nheads x headdim")
        if num_heads_q is not None and read_integer(name + ": num_heads_q", num_heads_q) != qkv.shape[3]:
            raise ValueError("%s: num_heads_q is %d, but qkv has %d heads of each; leave it out" % (name, num_heads_q, qkv.shape[3]))
        q, k, v = unpack(qkv, 2)
    elif qkv.dim() == 4 and num_heads_q is not None:
        num_heads_q = read_integer(name + ": num_heads_q", num_heads_q)
        heads = (qkv.shape[2] - num_heads_q) // 2
        if num_heads_q < 1 or heads < 1 or num_heads_q + 2 * heads != qkv.shape[2]:
            raise ValueError("%s: qkv has %d heads, expected num_heads_q + 2 nheads_k; num_heads_q is %d, which leaves %d for key "
                             "and value" % (name, qkv.shape[2], num_heads_q, qkv.shape[2] - num_heads_q))
        q, k, v = unpack(qkv, 2, (num_heads_q, heads, heads))
    else:
        raise ValueError("qkv has %d dimensions, expected 5, or 4 and num_heads_q" % qkv.dim())
    return _attend(name, q, k, v, softmax_scale, causal, window_size, attention_chunk, softcap,
                   deterministic, return_attn_probs)


def flash_attn_varlen_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor,
                           cu_seqlens_k: torch.Tensor, max_seqlen_q: int, max_seqlen_k: int,
                           seqused_q: torch.Tensor | None = None, seqused_k: torch.Tensor | None = None,
                           softmax_scale: float | None = None, causal: bool = False, qv: torch.Tensor | None = None,
                           q_descale: torch.Tensor | None = None, k_descale: torch.Tensor | None = None,
                           v_descale: torch.Tensor | None = None, window_size: tuple[int, int] = (-1, -1),
                           attention_chunk: int = 0, softcap: float = 0.0, num_splits: int = 1,
                           pack_gqa: bool | None = None, deterministic: bool = False, sm_margin: int = 0,
                           return_attn_probs: bool = False) -> Result:
    """Return flash_attn_func of sequences one after the other; softmax_lse is nheads x total_q.

    Of each sequence the first seqused tokens count, all by default; rows behind them are 0.
    """
    name = "flash_attn_varlen_func"
    refuse_unless(name, _QV, qv=qv)
    refuse_unless(name, _FP8, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    _check_schedule(name, num_splits, pack_gqa, sm_margin)
    if type(max_seqlen_q) is not int or type(max_seqlen_k) is not int:
        check_lengths(name, max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k)
    if type(return_attn_probs) is not bool:
        return_attn_probs = read_flag(name + ": return_attn_probs", return_attn_probs)
    output, lse, _ = attend(name, q, k, v, 0.0, softmax_scale, causal, window_size, softcap, None, attention_chunk,
                            sequences=(cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k), deterministic=deterministic,
                            with_lse=return_attn_probs)
    return (output, lse) if return_attn_probs else output


def flash_attn_combine(out_partial: torch.Tensor, lse_partial: torch.Tensor, out: torch.Tensor | None = None,
                       out_dtype: torch.dtype | None = None) -> NoReturn:
    """Refuse: no program here computes parts of an attention."""
    refuse("flash_attn_combine", "out_partial", "keys are never split, so there are no parts to combine")


def flash_attn_with_kvcache(q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor,
                            k: torch.Tensor | None = None, v: torch.Tensor | None = None,
                            qv: torch.Tensor | None = None, rotary_cos: torch.Tensor | None = None,
                            rotary_sin: torch.Tensor | None = None, cache_seqlens: int | torch.Tensor | None = None,
                            cache_batch_idx: torch.Tensor | None = None, cache_leftpad: torch.Tensor | None = None,
                            page_table: torch.Tensor | None = None, cu_seqlens_q: torch.Tensor | None = None,
                            cu_seqlens_k_new: torch.Tensor | None = None, max_seqlen_q: int | None = None,
                            rotary_seqlens: torch.Tensor | None = None, q_descale: torch.Tensor | None = None,
                            k_descale: torch.Tensor | None = None, v_descale: torch.Tensor | None = None,
                            softmax_scale: float | None = None, causal: bool = False,
                            window_size: tuple[int, int] = (-1, -1), attention_chunk: int = 0, softcap: float = 0.0,
                            rotary_interleaved: bool = True, scheduler_metadata: torch.Tensor | None = None,
                            num_splits: int = 0, pack_gqa: bool | None = None, sm_margin: int = 0,
                            return_softmax_lse: bool = False) -> NoReturn:
    """Refuse: the library does not decode with a cache yet."""
    refuse("flash_attn_with_kvcache", "k_cache", CACHE)
