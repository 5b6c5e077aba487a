// Block-sparse attention from lists: row block t sees counts[h, t] blocks of 64 keys,
// number n of which is blocks[h, t, n]. Keys are whole blocks.
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
tile.func @block_list(%q: !tile.view<?x?x64xf16> {tile.name = "q", tile.dims = ["H", "Sq", "D"], tile.align = 16 : i64},
                      %k: !tile.view<?x?x64xf16> {tile.name = "k", tile.dims = ["H", "Sk", "D"], tile.align = 16 : i64},
                      %v: !tile.view<?x?x64xf16> {tile.name = "v", tile.dims = ["H", "Sk", "D"], tile.align = 16 : i64},
                      %counts: !tile.view<?x?xi32> {tile.name = "counts", tile.dims = ["H", "Tq"]},
                      %blocks: !tile.view<?x?x?xi32> {tile.name = "blocks", tile.dims = ["H", "Tq", "most"]},
                      %o: !tile.view<?x?x64xf16> {tile.name = "o", tile.dims = ["H", "Sq", "D"], tile.output, tile.align = 16 : i64},
                      %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 128)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "block_list", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %i = arith.muli %t, %c128 : index
  %count = tile.load %counts[%h, %t] : !tile.view<?x?xi32> -> i32
  %n = arith.index_castui %count : i32 to index
  %qt = tile.load %q[%h, %i, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<128x64xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32>
  %m0 = tile.reference : !tile.reference<128xf32>
  %l0 = tile.broadcast %zero : f32 -> tensor<128xf32>
  %r:3 = scf.for %u = %c0 to %n step %c1 iter_args(%acc1 = %acc0, %m1 = %m0, %l1 = %l0) -> (tensor<128x64xf32>, !tile.reference<128xf32>, tensor<128xf32>) {
    %block = tile.load %blocks[%h, %t, %u] : !tile.view<?x?x?xi32> -> i32
    %place = arith.index_castui %block : i32 to index
    %j = arith.muli %place, %c64 : index
    %kt = tile.load %k[%h, %j, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<64x64xf16>
    %vt = tile.load %v[%h, %j, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<64x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<128x64xf32>
    %s = tile.dot %qt, %kt, %none transpose_b : tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>
    // The scale is log2(e) / sqrt(64).
    %m2, %p, %f, %ran = tile.stabilize %s, %m1 scale(0.18033688) dim(1) : tensor<128x64xf32>, !tile.reference<128xf32>
    %lf = tile.rescale %l1, %f : tensor<128xf32>, tensor<128xf32>
    %l2 = tile.reduce addf %p init %lf dim 1 : tensor<128x64xf32> -> tensor<128xf32>
    %af = tile.rescale %acc1, %f dim(1) : tensor<128x64xf32>, tensor<128xf32>
    %ph = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xf16>
    %acc2 = tile.dot %ph, %vt, %af : tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>
    scf.yield %acc2, %m2, %l2 : tensor<128x64xf32>, !tile.reference<128xf32>, tensor<128xf32>
  }
  %ones = tile.broadcast %one : f32 -> tensor<128xf32>
  %inverse = arith.divf %ones, %r#2 : tensor<128xf32>
  %ib = tile.broadcast %inverse dim 1 : tensor<128xf32> -> tensor<128x64xf32>
  %out = arith.mulf %r#0, %ib : tensor<128x64xf32>
  %oh = arith.truncf %out : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %oh, %o[%h, %i, %c0] dims [1, 2] : tensor<128x64xf16>, !tile.view<?x?x64xf16>
  tile.return
}
