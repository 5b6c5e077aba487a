"""flash-attn's function from another package: change the import."""

import torch

from fa_mlir.flash_attn import flash_attn_func  # was: from flash_attn import flash_attn_func

device = "cuda" if torch.cuda.is_available() else "cpu"
q, k, v = (torch.randn(2, 512, heads, 64, device=device, dtype=torch.bfloat16, requires_grad=True)
           for heads in (8, 2, 2))
out = flash_attn_func(q, k, v, causal=True, window_size=(128, 0))
out.backward(torch.randn_like(out))
print(tuple(out.shape), tuple(q.grad.shape), tuple(k.grad.shape))
