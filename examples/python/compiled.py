"""A training step under torch.compile: one graph for all lengths, dropout from PyTorch's generator; on a GPU a CUDA graph."""

import torch

import fa_mlir

device = "cuda" if torch.cuda.is_available() else "cpu"


def attend(x, weights, dropout_p=0.0):
    q, k, v = (x @ weights).view(2, -1, 3, 4, 32).unbind(2)
    return fa_mlir.attention(q, k, v, causal=True, dropout_p=dropout_p, heads_last=True)


def loss(x, weights):
    return attend(x, weights, dropout_p=0.1).square().mean()


options = dict(fullgraph=True, dynamic=True, backend="inductor" if device == "cuda" else "aot_eager")
step = torch.compile(loss, **options)
weights = torch.randn(128, 384, device=device, requires_grad=True)
for length in (64, 100, 256):
    step(torch.randn(2, length, 128, device=device), weights).backward()
print(tuple(weights.grad.shape))

if device == "cuda":
    with torch.no_grad():
        infer, x = torch.compile(attend, **options), torch.randn(2, 128, 128, device=device)
        infer(x, weights)  # compiles
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = infer(x, weights)
        x.normal_()  # new data in the same place
        graph.replay()
        print("replayed as called:", torch.equal(out, infer(x, weights)))
