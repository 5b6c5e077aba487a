"""Rotary embedding in plain operations."""

import torch


def apply_rotary_emb(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0, cu_seqlens=None, max_seqlen=None):
    """Rotate the first columns of x (batch x sequence x heads x head size) by angles of sequence x columns / 2."""
    if cu_seqlens is not None:
        raise NotImplementedError("apply_rotary_emb: cu_seqlens is not supported by this stand-in")
    length, columns = x.shape[1], 2 * cos.shape[1]
    offsets = torch.as_tensor(seqlen_offsets, device=x.device).reshape(-1, 1)
    rows = offsets + torch.arange(length, device=x.device)
    cos, sin = cos[rows][:, :, None], sin[rows][:, :, None]
    turned, rest = x[..., :columns], x[..., columns:]
    first, second = (turned[..., ::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    parts = first * cos - second * sin, first * sin + second * cos
    turned = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
    result = torch.cat([turned, rest], -1).to(x.dtype)
    return x.copy_(result) if inplace else result
