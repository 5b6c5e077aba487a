"""A mask of one's own: documents packed in a row, causal inside each, with a slope for each head."""

import torch

import fa_mlir

device = "cuda" if torch.cuda.is_available() else "cpu"
q, k, v = (torch.randn(1, 8, 512, 64, device=device) for _ in range(3))
document = torch.randint(0, 4, (512,), device=device).sort().values
slopes = torch.rand(8, device=device, requires_grad=True)


def mask(b, h, q_idx, kv_idx):
    return (document[q_idx] == document[kv_idx]) & (kv_idx <= q_idx)


def score(s, b, h, q_idx, kv_idx):
    return s - slopes[h] * (q_idx - kv_idx)


out = fa_mlir.flex_attention(q, k, v, score_mod=score, block_mask=mask)
out.backward(torch.randn_like(out))
print(tuple(out.shape), tuple(slopes.grad.shape))
