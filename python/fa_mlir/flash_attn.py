"""flash-attn 2's functions: its arguments, defaults and returns. Tensors are batch x sequence x heads x head size.

An argument that cannot be served raises NotImplementedError. `deterministic` needs no other code: results are the same
bits in each run, always.
"""

from ._flash import CACHE, PACKED, attend, refuse

__all__ = ["flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
           "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache",
           "flash_blocksparse_attn_func"]


def _attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, return_attn_probs):
    output, lse, probabilities = attend(function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                                        alibi_slopes, probabilities=return_attn_probs)
    return (output, lse, probabilities) if return_attn_probs else output


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                    alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """Return softmax(q k^T * softmax_scale) v; with return_attn_probs (output, softmax_lse, S_dmask).

    q: batch x seqlen_q x nheads x headdim; k, v: batch x seqlen_k x nheads_k x headdim; softmax_lse: batch x nheads x
    seqlen_q. S_dmask is for tests: probabilities, less than 0 where they were dropped; empty without dropout.
    """
    return _attend("flash_attn_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
                   return_attn_probs)


def flash_attn_qkvpacked_func(qkv, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                              alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """Return flash_attn_func of qkv: batch x seqlen x 3 x nheads x headdim."""
    if qkv.dim() != 5 or qkv.shape[2] != 3:
        raise ValueError("qkv has shape %s, expected batch x seqlen x 3 x nheads x headdim" % (tuple(qkv.shape),))
    q, k, v = qkv.unbind(2)
    return _attend("flash_attn_qkvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                   alibi_slopes, return_attn_probs)


def flash_attn_kvpacked_func(q, kv, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                             alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """Return flash_attn_func of q and kv: batch x seqlen_k x 2 x nheads_k x headdim."""
    if kv.dim() != 5 or kv.shape[2] != 2:
        raise ValueError("kv has shape %s, expected batch x seqlen_k x 2 x nheads_k x headdim" % (tuple(kv.shape),))
    k, v = kv.unbind(2)
    return _attend("flash_attn_kvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
                   alibi_slopes, return_attn_probs)


def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
                           softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None,
                           deterministic=False, return_attn_probs=False, block_table=None):
    """Refuse: the library has no packed sequences yet."""
    if block_table is not None:
        refuse("flash_attn_varlen_func", "block_table", CACHE)
    refuse("flash_attn_varlen_func", "cu_seqlens_q", PACKED)


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, dropout_p=0.0, softmax_scale=None, causal=False,
                                     window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False,
                                     return_attn_probs=False):
    """Refuse: the library has no packed sequences yet."""
    refuse("flash_attn_varlen_qkvpacked_func", "cu_seqlens", PACKED)


def flash_attn_varlen_kvpacked_func(q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
                                    softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                                    alibi_slopes=None, deterministic=False, return_attn_probs=False):
    """Refuse: the library has no packed sequences yet."""
    refuse("flash_attn_varlen_kvpacked_func", "cu_seqlens_q", PACKED)


def flash_attn_with_kvcache(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None,
                            cache_batch_idx=None, cache_leftpad=None, block_table=None, softmax_scale=None,
                            causal=False, window_size=(-1, -1), softcap=0.0, rotary_interleaved=True,
                            alibi_slopes=None, num_splits=0, return_softmax_lse=False):
    """Refuse: the library does not decode with a cache yet."""
    refuse("flash_attn_with_kvcache", "k_cache", CACHE)


def flash_blocksparse_attn_func(qkv, cu_seqlens, blockmask, dropout_p, max_s, softmax_scale=None, causal=False,
                                return_attn_probs=False, convert_mask=True):
    """Refuse: the library has no block-sparse masks by data yet."""
    refuse("flash_blocksparse_attn_func", "blockmask",
           "masks of blocks by data need kernels that the library does not have yet; write the mask as a function of "
           "positions for fa_mlir.flex_attention")
