// Gradient of queries for one block of rows: dS is an operand in registers.
//   dQ = scale sum dS K,  dS = P (dO V^T - delta),  P from LSE in base 2
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
tile.func @dq(%q: !tile.view<?x?x?x96xf16> {tile.name = "q", tile.dims = ["B", "H", "Sq", "D"], tile.align = 16 : i64},
              %k: !tile.view<?x?x?x96xf16> {tile.name = "k", tile.dims = ["B", "H", "Sk", "D"], tile.align = 16 : i64},
              %v: !tile.view<?x?x?x96xf16> {tile.name = "v", tile.dims = ["B", "H", "Sk", "D"], tile.align = 16 : i64},
              %do: !tile.view<?x?x?x96xf16> {tile.name = "do", tile.dims = ["B", "H", "Sq", "D"], tile.align = 16 : i64},
              %lse: !tile.view<?x?x?xf32> {tile.name = "lse", tile.dims = ["B", "H", "Sp"]},
              %delta: !tile.view<?x?x?xf32> {tile.name = "delta", tile.dims = ["B", "H", "Sp"]},
              %dq: !tile.view<?x?x?x96xf16> {tile.name = "dq", tile.dims = ["B", "H", "Sq", "D"], tile.output, tile.align = 16 : i64},
              %b: index, %h: index, %t: index)
    grid affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 128)> sizes [0, 0, 0, 1, 0, 2]
    attributes {tile.entry = "dq", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.102062073 : f32
  %scale2 = arith.constant 0.147244 : f32
  %i = arith.muli %t, %c128 : index
  %sk = tile.dim %k, 2 : !tile.view<?x?x?x96xf16>
  %qt = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<128x96xf16>
  %dot = tile.load %do[%b, %h, %i, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<128x96xf16>
  %l = tile.load %lse[%b, %h, %i] dims [2] : !tile.view<?x?x?xf32> -> tensor<128xf32>
  %d = tile.load %delta[%b, %h, %i] dims [2] : !tile.view<?x?x?xf32> -> tensor<128xf32>
  %none = tile.broadcast %zero : f32 -> tensor<128x96xf32>
  %r = scf.for %j = %c0 to %sk step %c64 iter_args(%dq0 = %none) -> (tensor<128x96xf32>) {
    %kt = tile.load %k[%b, %h, %j, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<64x96xf16>
    %vt = tile.load %v[%b, %h, %j, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<64x96xf16>
    %s0 = tile.broadcast %zero : f32 -> tensor<128x64xf32>
    %s = tile.dot %qt, %kt, %s0 transpose_b : tensor<128x96xf16>, tensor<64x96xf16>, tensor<128x64xf32>
    %c = tile.broadcast %scale2 : f32 -> tensor<128x64xf32>
    %lb = tile.broadcast %l dim 1 : tensor<128xf32> -> tensor<128x64xf32>
    %y = arith.mulf %s, %c : tensor<128x64xf32>
    %z = arith.subf %y, %lb : tensor<128x64xf32>
    %p = math.exp2 %z : tensor<128x64xf32>
    %dp = tile.dot %dot, %vt, %s0 transpose_b : tensor<128x96xf16>, tensor<64x96xf16>, tensor<128x64xf32>
    %db = tile.broadcast %d dim 1 : tensor<128xf32> -> tensor<128x64xf32>
    %e = arith.subf %dp, %db : tensor<128x64xf32>
    %ds = arith.mulf %p, %e : tensor<128x64xf32>
    %dh = arith.truncf %ds : tensor<128x64xf32> to tensor<128x64xf16>
    // Keys beyond the last are rows of zeros: they add nothing.
    %dq1 = tile.dot %dh, %kt, %dq0 : tensor<128x64xf16>, tensor<64x96xf16>, tensor<128x96xf32>
    scf.yield %dq1 : tensor<128x96xf32>
  }
  %f = tile.broadcast %scale : f32 -> tensor<128x96xf32>
  %dqs = arith.mulf %r, %f : tensor<128x96xf32>
  %dqh = arith.truncf %dqs : tensor<128x96xf32> to tensor<128x96xf16>
  tile.store %dqh, %dq[%b, %h, %i, %c0] dims [2, 3] : tensor<128x96xf16>, !tile.view<?x?x?x96xf16>
  tile.return
}
