"""Without PyTorch: MLIR text on arrays of NumPy."""

import numpy as np

import fa_mlir

TEXT = """
func.func @causal(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf32> {fa.name = "v"}) -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
"""

q, k, v = (np.random.default_rng(n).standard_normal((1, 4, 100, 64), dtype=np.float32) for n in range(3))
o = np.empty_like(q)
fa_mlir.compile(TEXT).launch(q=q, k=k, v=v, o=o)
print(o.shape, bool(np.allclose(o[:, :, 0], v[:, :, 0], atol=1e-6)))
