"""Packed training data: sequences of many lengths one after the other, none padded."""

import torch

from fa_mlir.flash_attn import flash_attn_varlen_func

device = "cuda" if torch.cuda.is_available() else "cpu"
lengths = torch.tensor([0, 100, 7, 250, 64], device=device)
offsets = lengths.cumsum(0).int()
q, k, v = (torch.randn(421, heads, 64, device=device, dtype=torch.bfloat16, requires_grad=True) for heads in (8, 2, 2))
out = flash_attn_varlen_func(q, k, v, offsets, offsets, 250, 250, causal=True)
out.backward(torch.randn_like(out))
print(tuple(out.shape), tuple(q.grad.shape), tuple(k.grad.shape))
