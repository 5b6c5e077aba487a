"""FlashAttention-3's functions: its arguments, defaults and returns. Tensors are batch x sequence x heads x head size.

An argument that cannot be served raises NotImplementedError. `num_splits` 0 and 1 and `pack_gqa` None and False are
what every program here does; `deterministic` needs no other code.
"""

from ._flash import CACHE, Packed, attend, attend_packed, check_packed, refuse, refuse_unless

__all__ = ["flash_attn_combine", "flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_with_kvcache"]

_FP8 = "fp8 needs kernels that the library does not have yet; convert to bfloat16"
_QV = "a second product of queries needs kernels that the library does not have yet; concatenate it to q and k"


def _check_schedule(function, num_splits, pack_gqa, sm_margin):
    if num_splits not in (0, 1):
        refuse(function, "num_splits=%s" % num_splits, "keys are not split; leave it out")
    if pack_gqa:
        refuse(function, "pack_gqa=True", "programs choose their rows themselves; leave it out")
    if sm_margin:
        refuse(function, "sm_margin", "programs take every SM; leave it out")


def _attend(function, q, k, v, softmax_scale, causal, window_size, attention_chunk, softcap, return_attn_probs):
    output, lse, _ = attend(function, q, k, v, 0.0, softmax_scale, causal, window_size, softcap, None, attention_chunk)
    return (output, lse) if return_attn_probs else output


def flash_attn_func(q, k, v, softmax_scale=None, causal=False, qv=None, q_descale=None, k_descale=None, v_descale=None,
                    window_size=(-1, -1), attention_chunk=0, softcap=0.0, num_splits=1, pack_gqa=None,
                    deterministic=False, sm_margin=0, return_attn_probs=False):
    """Return softmax(q k^T * softmax_scale) v; with return_attn_probs (output, softmax_lse).

    With attention_chunk a query attends to keys of its own chunk of so many positions only, aligned at bottom right.
    """
    name = "flash_attn_func"
    refuse_unless(name, _QV, qv=qv)
    refuse_unless(name, _FP8, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    _check_schedule(name, num_splits, pack_gqa, sm_margin)
    return _attend(name, q, k, v, softmax_scale, causal, window_size, attention_chunk, softcap, return_attn_probs)


def flash_attn_qkvpacked_func(qkv, softmax_scale=None, causal=False, q_descale=None, k_descale=None, v_descale=None,
                              window_size=(-1, -1), attention_chunk=0, softcap=0.0, deterministic=False,
                              num_heads_q=None, sm_margin=0, return_attn_probs=False):
    """Return flash_attn_func of qkv: batch x seqlen x 3 x nheads x headdim, or with num_heads_q batch x seqlen x
    (num_heads_q + 2 nheads_k) x headdim."""
    name = "flash_attn_qkvpacked_func"
    refuse_unless(name, _FP8, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    _check_schedule(name, 1, None, sm_margin)
    if qkv.dim() == 5:
        if qkv.shape[2] != 3:
            raise ValueError("qkv has shape %s, expected batch x seqlen x 3 x nheads x headdim" % (tuple(qkv.shape),))
        q, k, v = qkv.unbind(2)
    elif qkv.dim() == 4 and num_heads_q is not None:
        heads = (qkv.shape[2] - num_heads_q) // 2
        q, k, v = qkv.split([num_heads_q, heads, heads], 2)
    else:
        raise ValueError("qkv has %d dimensions, expected 5, or 4 and num_heads_q" % qkv.dim())
    return _attend(name, q, k, v, softmax_scale, causal, window_size, attention_chunk, softcap, return_attn_probs)


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, seqused_q=None,
                           seqused_k=None, softmax_scale=None, causal=False, qv=None, q_descale=None, k_descale=None,
                           v_descale=None, window_size=(-1, -1), attention_chunk=0, softcap=0.0, num_splits=1,
                           pack_gqa=None, deterministic=False, sm_margin=0, return_attn_probs=False):
    """Return flash_attn_func of sequences one after the other; softmax_lse is nheads x total_q.

    Of each sequence the first seqused tokens count, all by default; rows behind them are 0.
    """
    name = "flash_attn_varlen_func"
    refuse_unless(name, _QV, qv=qv)
    refuse_unless(name, _FP8, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    _check_schedule(name, num_splits, pack_gqa, sm_margin)
    check_packed(name, q=q, k=k, v=v)
    packed = Packed(name, q.shape[0], cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k)
    _, output, lse = attend_packed(name, q, k, v, packed, 0.0, softmax_scale, causal, window_size, softcap, None,
                                   attention_chunk)
    return (output, lse) if return_attn_probs else output


def flash_attn_combine(out_partial, lse_partial, out=None, out_dtype=None):
    """Refuse: no program here computes parts of an attention."""
    refuse("flash_attn_combine", "out_partial", "keys are never split, so there are no parts to combine")


def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, v=None, qv=None, rotary_cos=None, rotary_sin=None,
                            cache_seqlens=None, cache_batch_idx=None, cache_leftpad=None, page_table=None,
                            cu_seqlens_q=None, cu_seqlens_k_new=None, max_seqlen_q=None, rotary_seqlens=None,
                            q_descale=None, k_descale=None, v_descale=None, softmax_scale=None, causal=False,
                            window_size=(-1, -1), attention_chunk=0, softcap=0.0, rotary_interleaved=True,
                            scheduler_metadata=None, num_splits=0, pack_gqa=None, sm_margin=0,
                            return_softmax_lse=False):
    """Refuse: the library does not decode with a cache yet."""
    refuse("flash_attn_with_kvcache", "k_cache", CACHE)
