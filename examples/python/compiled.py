"""A training step under torch.compile: one graph for all lengths, dropout from PyTorch's generator."""

import torch

import fa_mlir

device = "cuda" if torch.cuda.is_available() else "cpu"


def loss(x, weights):
    q, k, v = (x @ weights).view(2, -1, 3, 4, 32).unbind(2)
    return fa_mlir.attention(q, k, v, causal=True, dropout_p=0.1, heads_last=True).square().mean()


step = torch.compile(loss, fullgraph=True, dynamic=True, backend="inductor" if device == "cuda" else "aot_eager")
weights = torch.randn(128, 384, device=device, requires_grad=True)
for length in (64, 100, 256):
    step(torch.randn(2, length, 128, device=device), weights).backward()
print(tuple(weights.grad.shape))
