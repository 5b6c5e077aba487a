// Softmax along columns, as a transposed layout needs it: S^T = K Q^T has a column for each
// query, and out[j, i] = exp(s[j, i] - max over j) / sum over j, for up to 128 keys at once.
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
tile.func @column_softmax(%q: !tile.view<?x?x64xf16> {tile.name = "q", tile.dims = ["H", "Sq", "D"], tile.align = 16 : i64},
                          %k: !tile.view<?x?x64xf16> {tile.name = "k", tile.dims = ["H", "Sk", "D"], tile.align = 16 : i64},
                          %p: !tile.view<?x?x?xf16> {tile.name = "p", tile.dims = ["H", "Sk", "Sq"], tile.output, tile.align = 16 : i64},
                          %h: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0]
    attributes {tile.entry = "column_softmax", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %scale2 = arith.constant 0.18033688 : f32
  %sq = tile.dim %q, 1 : !tile.view<?x?x64xf16>
  %sk = tile.dim %k, 1 : !tile.view<?x?x64xf16>
  %kt = tile.load %k[%h, %c0, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<128x64xf16>
  scf.for %i = %c0 to %sq step %c32 {
    %qt = tile.load %q[%h, %i, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<32x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<128x32xf32>
    %s = tile.dot %kt, %qt, %none transpose_b : tensor<128x64xf16>, tensor<32x64xf16>, tensor<128x32xf32>
    %rows = tile.iota %c0 : index -> tensor<128xindex>
    %ends = tile.broadcast %sk : index -> tensor<128xindex>
    %in = arith.cmpi slt, %rows, %ends : tensor<128xindex>
    %vis = tile.broadcast %in dim 1 : tensor<128xi1> -> tensor<128x32xi1>
    %hidden = tile.broadcast %lowest : f32 -> tensor<128x32xf32>
    %x = arith.select %vis, %s, %hidden : tensor<128x32xi1>, tensor<128x32xf32>
    %m0 = tile.broadcast %lowest : f32 -> tensor<32xf32>
    %m = tile.reduce maxnumf %x init %m0 dim 0 : tensor<128x32xf32> -> tensor<32xf32>
    %mb = tile.broadcast %m dim 0 : tensor<32xf32> -> tensor<128x32xf32>
    %d = arith.subf %x, %mb : tensor<128x32xf32>
    %cb = tile.broadcast %scale2 : f32 -> tensor<128x32xf32>
    %e = arith.mulf %d, %cb : tensor<128x32xf32>
    %w = math.exp2 %e : tensor<128x32xf32>
    %l0 = tile.broadcast %zero : f32 -> tensor<32xf32>
    %l = tile.reduce addf %w init %l0 dim 0 : tensor<128x32xf32> -> tensor<32xf32>
    %ones = tile.broadcast %one : f32 -> tensor<32xf32>
    %inverse = arith.divf %ones, %l : tensor<32xf32>
    %ib = tile.broadcast %inverse dim 0 : tensor<32xf32> -> tensor<128x32xf32>
    %out = arith.mulf %w, %ib : tensor<128x32xf32>
    %oh = arith.truncf %out : tensor<128x32xf32> to tensor<128x32xf16>
    tile.store %oh, %p[%h, %c0, %i] dims [1, 2] : tensor<128x32xf16>, !tile.view<?x?x?xf16>
  }
  tile.return
}
