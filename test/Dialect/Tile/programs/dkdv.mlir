// Gradients of keys and values for one block of keys, summed over the rows of all heads of a
// group: P is recomputed from LSE (in base 2, +inf in rows beyond the last), transposed, so that
// P^T and dS^T are operands in registers.
//   dV = sum P^T dO,  dK = scale sum dS^T Q,  dS^T = P^T (V dO^T - delta)
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
tile.func @dkdv(%q: !tile.view<?x?x?x96xf16> {tile.name = "q", tile.dims = ["B", "Hq", "Sq", "D"], tile.align = 16 : i64},
                %k: !tile.view<?x?x?x96xf16> {tile.name = "k", tile.dims = ["B", "Hk", "Sk", "D"], tile.align = 16 : i64},
                %v: !tile.view<?x?x?x96xf16> {tile.name = "v", tile.dims = ["B", "Hk", "Sk", "D"], tile.align = 16 : i64},
                %do: !tile.view<?x?x?x96xf16> {tile.name = "do", tile.dims = ["B", "Hq", "Sq", "D"], tile.align = 16 : i64},
                %lse: !tile.view<?x?x?xf32> {tile.name = "lse", tile.dims = ["B", "Hq", "Sp"]},
                %delta: !tile.view<?x?x?xf32> {tile.name = "delta", tile.dims = ["B", "Hq", "Sp"]},
                %dk: !tile.view<?x?x?x96xf16> {tile.name = "dk", tile.dims = ["B", "Hk", "Sk", "D"], tile.output, tile.align = 16 : i64},
                %dv: !tile.view<?x?x?x96xf16> {tile.name = "dv", tile.dims = ["B", "Hk", "Sk", "D"], tile.output, tile.align = 16 : i64},
                %b: index, %hk: index, %t: index)
    grid affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 128)> sizes [1, 0, 1, 1, 1, 2]
    attributes {tile.entry = "dkdv", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  // 1 / sqrt(96), and that times log2(e).
  %scale = arith.constant 0.102062073 : f32
  %scale2 = arith.constant 0.147244 : f32
  %j = arith.muli %t, %c128 : index
  %hq = tile.dim %q, 1 : !tile.view<?x?x?x96xf16>
  %heads = tile.dim %k, 1 : !tile.view<?x?x?x96xf16>
  %sq = tile.dim %q, 2 : !tile.view<?x?x?x96xf16>
  %group = arith.divui %hq, %heads : index
  %first = arith.muli %hk, %group : index
  %last = arith.addi %first, %group : index
  %kt = tile.load %k[%b, %hk, %j, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<128x96xf16>
  %vt = tile.load %v[%b, %hk, %j, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<128x96xf16>
  %none = tile.broadcast %zero : f32 -> tensor<128x96xf32>
  %r:2 = scf.for %h = %first to %last step %c1 iter_args(%dk0 = %none, %dv0 = %none) -> (tensor<128x96xf32>, tensor<128x96xf32>) {
    %x:2 = scf.for %i = %c0 to %sq step %c32 iter_args(%dk1 = %dk0, %dv1 = %dv0) -> (tensor<128x96xf32>, tensor<128x96xf32>) {
      %qt = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<32x96xf16>
      %dot = tile.load %do[%b, %h, %i, %c0] dims [2, 3] : !tile.view<?x?x?x96xf16> -> tensor<32x96xf16>
      %l = tile.load %lse[%b, %h, %i] dims [2] : !tile.view<?x?x?xf32> -> tensor<32xf32>
      %d = tile.load %delta[%b, %h, %i] dims [2] : !tile.view<?x?x?xf32> -> tensor<32xf32>
      %s0 = tile.broadcast %zero : f32 -> tensor<128x32xf32>
      %st = tile.dot %kt, %qt, %s0 transpose_b : tensor<128x96xf16>, tensor<32x96xf16>, tensor<128x32xf32>
      %c = tile.broadcast %scale2 : f32 -> tensor<128x32xf32>
      %lb = tile.broadcast %l dim 0 : tensor<32xf32> -> tensor<128x32xf32>
      %y = arith.mulf %st, %c : tensor<128x32xf32>
      %z = arith.subf %y, %lb : tensor<128x32xf32>
      %pt = math.exp2 %z : tensor<128x32xf32>
      %ph = arith.truncf %pt : tensor<128x32xf32> to tensor<128x32xf16>
      %dv2 = tile.dot %ph, %dot, %dv1 : tensor<128x32xf16>, tensor<32x96xf16>, tensor<128x96xf32>
      %dpt = tile.dot %vt, %dot, %s0 transpose_b : tensor<128x96xf16>, tensor<32x96xf16>, tensor<128x32xf32>
      %db = tile.broadcast %d dim 0 : tensor<32xf32> -> tensor<128x32xf32>
      %e = arith.subf %dpt, %db : tensor<128x32xf32>
      %ds = arith.mulf %pt, %e : tensor<128x32xf32>
      %dh = arith.truncf %ds : tensor<128x32xf32> to tensor<128x32xf16>
      %dk2 = tile.dot %dh, %qt, %dk1 : tensor<128x32xf16>, tensor<32x96xf16>, tensor<128x96xf32>
      scf.yield %dk2, %dv2 : tensor<128x96xf32>, tensor<128x96xf32>
    }
    scf.yield %x#0, %x#1 : tensor<128x96xf32>, tensor<128x96xf32>
  }
  %f = tile.broadcast %scale : f32 -> tensor<128x96xf32>
  %dks = arith.mulf %r#0, %f : tensor<128x96xf32>
  %dkh = arith.truncf %dks : tensor<128x96xf32> to tensor<128x96xf16>
  tile.store %dkh, %dk[%b, %hk, %j, %c0] dims [2, 3] : tensor<128x96xf16>, !tile.view<?x?x?x96xf16>
  %dvh = arith.truncf %r#1 : tensor<128x96xf32> to tensor<128x96xf16>
  tile.store %dvh, %dv[%b, %hk, %j, %c0] dims [2, 3] : tensor<128x96xf16>, !tile.view<?x?x?x96xf16>
  tile.return
}
