"""flash-attn 2's functions: its arguments, defaults and returns. Tensors are batch x sequence x heads x head size.

An argument that cannot be served raises NotImplementedError. With `deterministic` gradients are the
same bits in each run; the one that cannot be refuses it.
"""

from __future__ import annotations

from typing import NoReturn, Union

import torch

from ._attention import check_type
from ._flash import CACHE, attend, check_lengths, check_packed, check_rows, check_slopes, read_flag, read_integer, refuse
from ._ops import unpack

# With return_attn_probs output, lse and S_dmask.
Result = Union[torch.Tensor, tuple[torch.Tensor, torch.Tensor, torch.Tensor]]

__all__ = ["flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache",
           "flash_blocksparse_attn_func"]


def _attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
            return_attn_probs):
    if type(return_attn_probs) is not bool:
        return_attn_probs = read_flag(function + ": return_attn_probs", return_attn_probs)
    if return_attn_probs:
        check_rows(function, 4, q=q, k=k, v=v)
    sizes = (q.shape[1], k.shape[1]) if return_attn_probs else ()
    output, lse, probabilities = attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                                        alibi_slopes, probabilities=sizes, deterministic=deterministic)
    return (output, lse, probabilities) if return_attn_probs else output


def flash_attn_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0,
                    softmax_scale: float | None = None, causal: bool = False, window_size: tuple[int, int] = (-1, -1),
                    softcap: float = 0.0, alibi_slopes: torch.Tensor | None = None, deterministic: bool = False,
                    return_attn_probs: bool = False) -> Result:
    """Return softmax(q k^T * softmax_scale) v; with return_attn_probs (output, softmax_lse, S_dmask).

    q: batch x seqlen_q x nheads x headdim; k, v: batch x seqlen_k x nheads_k x headdim; softmax_lse: batch x nheads x
    seqlen_q. S_dmask is for tests: probabilities, less than 0 where they were dropped; empty without dropout.
    """
    if return_attn_probs is False:  # _attend's, with fewer calls: the host's time counts
        return attend("flash_attn_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, 0, (),
                      (), None, deterministic)[0]
    return _attend("flash_attn_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                   deterministic, return_attn_probs)


def flash_attn_qkvpacked_func(qkv: torch.Tensor, dropout_p: float = 0.0, softmax_scale: float | None = None,
                              causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                              alibi_slopes: torch.Tensor | None = None, deterministic: bool = False,
                              return_attn_probs: bool = False) -> Result:
    """Return flash_attn_func of qkv: batch x seqlen x 3 x nheads x headdim."""
    check_packed("flash_attn_qkvpacked_func", "qkv", qkv, 2, 3, "batch x seqlen x 3 x nheads x headdim")
    q, k, v = unpack(qkv, 2)
    return _attend("flash_attn_qkvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                   alibi_slopes, deterministic, return_attn_probs)


def flash_attn_kvpacked_func(q: torch.Tensor, kv: torch.Tensor, dropout_p: float = 0.0,
                             softmax_scale: float | None = None, causal: bool = False,
                             window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                             alibi_slopes: torch.Tensor | None = None, deterministic: bool = False,
                             return_attn_probs: bool = False) -> Result:
    """Return flash_attn_func of q and kv: batch x seqlen_k x 2 x nheads_k x headdim."""
    check_packed("flash_attn_kvpacked_func", "kv", kv, 2, 2, "batch x seqlen_k x 2 x nheads_k x headdim")
    k, v = unpack(kv, 2)
    return _attend("flash_attn_kvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                   alibi_slopes, deterministic, return_attn_probs)


def _attend_packed(function, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p,
                   softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs):
    if alibi_slopes is not None:
        check_slopes(function, alibi_slopes)
    if deterministic and alibi_slopes is not None and alibi_slopes.dim() == 2 and alibi_slopes.requires_grad:
        refuse(function, "deterministic=True", "the gradient of alibi_slopes of batch x heads is added up by atomics; give "
               "slopes of heads, or slopes.detach()")
    if type(max_seqlen_q) is not int or type(max_seqlen_k) is not int:
        check_lengths(function, max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k)
    if type(return_attn_probs) is not bool:
        return_attn_probs = read_flag(function + ": return_attn_probs", return_attn_probs)
    sizes = []
    for name, size in (("max_seqlen_q", max_seqlen_q), ("max_seqlen_k", max_seqlen_k)) if return_attn_probs else ():
        sizes.append(read_integer("%s: %s" % (function, name), size, "return_attn_probs gives S_dmask of that size"))
        if sizes[-1] < 0:
            raise ValueError("%s: %s is %d, expected at least 0: return_attn_probs gives S_dmask of that size"
                             % (function, name, sizes[-1]))
    output, lse, probabilities = attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                                        alibi_slopes, probabilities=sizes,
                                        sequences=(cu_seqlens_q, cu_seqlens_k, None, None),
                                        deterministic=deterministic)
    return (output, lse, probabilities) if return_attn_probs else output


def flash_attn_varlen_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor,
                           cu_seqlens_k: torch.Tensor, max_seqlen_q: int, max_seqlen_k: int, dropout_p: float = 0.0,
                           softmax_scale: float | None = None, causal: bool = False,
                           window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                           alibi_slopes: torch.Tensor | None = None, deterministic: bool = False,
                           return_attn_probs: bool = False, block_table: torch.Tensor | None = None) -> Result:
    """Return flash_attn_func of sequences one after the other; softmax_lse is nheads x total_q.

    q: total_q x nheads x headdim; k, v: total_k x nheads_k x headdim; cu_seqlens: offsets, batch + 1 of int32. What the
    longest lengths are is of no use here but for the size of S_dmask.
    """
    if block_table is not None:
        refuse("flash_attn_varlen_func", "block_table", CACHE)
    return _attend_packed("flash_attn_varlen_func", q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                          dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
                          return_attn_probs)


def flash_attn_varlen_qkvpacked_func(qkv: torch.Tensor, cu_seqlens: torch.Tensor, max_seqlen: int,
                                     dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
                                     window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                                     alibi_slopes: torch.Tensor | None = None, deterministic: bool = False,
                                     return_attn_probs: bool = False) -> Result:
    """Return flash_attn_varlen_func of qkv: total x 3 x nheads x headdim."""
    check_packed("flash_attn_varlen_qkvpacked_func", "qkv", qkv, 1, 3, "total x 3 x nheads x headdim")
    if type(max_seqlen) is not int:
        check_lengths("flash_attn_varlen_qkvpacked_func", max_seqlen=max_seqlen)
    q, k, v = unpack(qkv, 1)
    return _attend_packed("flash_attn_varlen_qkvpacked_func", q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen,
                          dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
                          return_attn_probs)


def flash_attn_varlen_kvpacked_func(q: torch.Tensor, kv: torch.Tensor, cu_seqlens_q: torch.Tensor,
                                    cu_seqlens_k: torch.Tensor, max_seqlen_q: int, max_seqlen_k: int,
                                    dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
                                    window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                                    alibi_slopes: torch.Tensor | None = None, deterministic: bool = False,
                                    return_attn_probs: bool = False) -> Result:
    """Return flash_attn_varlen_func of q and kv: total_k x 2 x nheads_k x headdim."""
    check_packed("flash_attn_varlen_kvpacked_func", "kv", kv, 1, 2, "total_k x 2 x nheads_k x headdim")
    k, v = unpack(kv, 1)
    return _attend_packed("flash_attn_varlen_kvpacked_func", q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                          max_seqlen_k, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
                          return_attn_probs)


def flash_attn_with_kvcache(q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor,
                            k: torch.Tensor | None = None, v: torch.Tensor | None = None,
                            rotary_cos: torch.Tensor | None = None, rotary_sin: torch.Tensor | None = None,
                            cache_seqlens: int | torch.Tensor | None = None,
                            cache_batch_idx: torch.Tensor | None = None, cache_leftpad: torch.Tensor | None = None,
                            block_table: torch.Tensor | None = None, softmax_scale: float | None = None,
                            causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                            rotary_interleaved: bool = True, alibi_slopes: torch.Tensor | None = None,
                            num_splits: int = 0, return_softmax_lse: bool = False) -> NoReturn:
    """Refuse: the library does not decode with a cache yet."""
    refuse("flash_attn_with_kvcache", "k_cache", CACHE)


def flash_blocksparse_attn_func(qkv: torch.Tensor, cu_seqlens: torch.Tensor, blockmask: torch.Tensor,
                                dropout_p: float, max_s: int, softmax_scale: float | None = None,
                                causal: bool = False, return_attn_probs: bool = False,
                                convert_mask: bool = True) -> torch.Tensor:
    """Return the attention of sequences one after the other, in the blocks of 16 x 256 scores that blockmask has.

    qkv: total x 3 x nheads x headdim; blockmask: max_s / 16 x max_s / 256, 0 where a block is hidden.
    """
    name = "flash_blocksparse_attn_func"
    if read_flag(name + ": return_attn_probs", return_attn_probs):
        refuse(name, "return_attn_probs", "probabilities are never stored; use flash_attn_func for tests")
    if not read_flag(name + ": convert_mask", convert_mask):
        refuse(name, "convert_mask=False", "blockmask is taken as it is before its conversion; leave it out")
    check_packed(name, "qkv", qkv, 1, 3, "total x 3 x nheads x headdim")
    check_type(name + ": blockmask", blockmask)
    max_s = read_integer(name + ": max_s", max_s, "it is the longest length")
    expected = -(-max_s // 16), -(-max_s // 256)
    if blockmask.dim() != 2 or blockmask.shape[0] < expected[0] or blockmask.shape[1] < expected[1]:
        raise ValueError("%s: blockmask has shape %s, expected at least %d x %d: max_s / 16 x max_s / 256, for what is beyond "
                         "it would be hidden" % (name, tuple(blockmask.shape), *expected))
    q, k, v = unpack(qkv, 1)
    return attend(name, q, k, v, dropout_p, softmax_scale, causal, (-1, -1), 0.0, None,
                  sequences=(cu_seqlens, cu_seqlens, None, None), blocks=blockmask != 0)[0]
