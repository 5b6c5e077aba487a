// Attention by columns, as a transposed layout needs it: S^T = K Q^T has a column for each query,
// so the running reference is one of columns, along dim(0), and O^T = V^T P^T is rescaled by
// columns.
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
tile.func @column_attention(%q: !tile.view<?x?x64xf16> {tile.name = "q", tile.dims = ["H", "Sq", "D"], tile.align = 16 : i64},
                            %k: !tile.view<?x?x64xf16> {tile.name = "k", tile.dims = ["H", "Sk", "D"], tile.align = 16 : i64},
                            %v: !tile.view<?x?x64xf16> {tile.name = "v", tile.dims = ["H", "Sk", "D"], tile.align = 16 : i64},
                            %o: !tile.view<?x?x64xf16> {tile.name = "o", tile.dims = ["H", "Sq", "D"], tile.output, tile.align = 16 : i64},
                            %lse: !tile.view<?x?xf32> {tile.name = "lse", tile.dims = ["H", "Sq"], tile.output},
                            %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 32)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "column_attention", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %ln2 = arith.constant 0.693147182 : f32
  %i = arith.muli %t, %c32 : index
  %sk = tile.dim %k, 1 : !tile.view<?x?x64xf16>
  %qt = tile.load %q[%h, %i, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<32x64xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x32xf32>
  %r0 = tile.reference : !tile.reference<32xf32>
  %l0 = tile.broadcast %zero : f32 -> tensor<32xf32>
  %all:3 = scf.for %j = %c0 to %sk step %c64 iter_args(%acc1 = %acc0, %r1 = %r0, %l1 = %l0) -> (tensor<64x32xf32>, !tile.reference<32xf32>, tensor<32xf32>) {
    %kt = tile.load %k[%h, %j, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<64x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<64x32xf32>
    %s = tile.dot %kt, %qt, %none transpose_b : tensor<64x64xf16>, tensor<32x64xf16>, tensor<64x32xf32>
    %rows = tile.iota %j : index -> tensor<64xindex>
    %ends = tile.broadcast %sk : index -> tensor<64xindex>
    %in = arith.cmpi slt, %rows, %ends : tensor<64xindex>
    %visible = tile.broadcast %in dim 1 : tensor<64xi1> -> tensor<64x32xi1>
    %hidden = tile.broadcast %lowest : f32 -> tensor<64x32xf32>
    %x = arith.select %visible, %s, %hidden : tensor<64x32xi1>, tensor<64x32xf32>
    // The scale is log2(e) / sqrt(64).
    %r2, %p, %f, %ran = tile.stabilize %x, %r1 scale(0.18033688) dim(0) : tensor<64x32xf32>, !tile.reference<32xf32>
    %lf = tile.rescale %l1, %f : tensor<32xf32>, tensor<32xf32>
    %l2 = tile.reduce addf %p init %lf dim 0 : tensor<64x32xf32> -> tensor<32xf32>
    %af = tile.rescale %acc1, %f dim(0) : tensor<64x32xf32>, tensor<32xf32>
    %ph = arith.truncf %p : tensor<64x32xf32> to tensor<64x32xf16>
    %vt = tile.load %v[%h, %j, %c0] dims [2, 1] : !tile.view<?x?x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %vt, %ph, %af : tensor<64x64xf16>, tensor<64x32xf16>, tensor<64x32xf32>
    scf.yield %acc2, %r2, %l2 : tensor<64x32xf32>, !tile.reference<32xf32>, tensor<32xf32>
  }
  %ones = tile.broadcast %one : f32 -> tensor<32xf32>
  %inverse = arith.divf %ones, %all#2 : tensor<32xf32>
  %ib = tile.broadcast %inverse dim 0 : tensor<32xf32> -> tensor<64x32xf32>
  %out = arith.mulf %all#0, %ib : tensor<64x32xf32>
  %oh = arith.truncf %out : tensor<64x32xf32> to tensor<64x32xf16>
  tile.store %oh, %o[%h, %i, %c0] dims [2, 1] : tensor<64x32xf16>, !tile.view<?x?x64xf16>
  // lse = r / sqrt(64) + ln(sum).
  %reference = tile.reference_value %all#1 : !tile.reference<32xf32>
  %scales = tile.broadcast %scale : f32 -> tensor<32xf32>
  %based = arith.mulf %reference, %scales : tensor<32xf32>
  %log = math.log2 %all#2 : tensor<32xf32>
  %ln2s = tile.broadcast %ln2 : f32 -> tensor<32xf32>
  %natural = arith.mulf %log, %ln2s : tensor<32xf32>
  %sum = arith.addf %based, %natural : tensor<32xf32>
  tile.store %sum, %lse[%h, %i] dims [1] : tensor<32xf32>, !tile.view<?x?xf32>
  tile.return
}
