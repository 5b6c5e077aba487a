// Split keys: part z of four sees keys z * ceil(n / 4) to (z + 1) * ceil(n / 4) of the 128-row
// tiles and leaves its own output (not divided), reference and sum; @merge adds them up.
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
tile.func @split_keys(%q: !tile.view<?x?x64xf16> {tile.name = "q", tile.dims = ["H", "Sq", "D"], tile.align = 16 : i64},
                      %k: !tile.view<?x?x64xf16> {tile.name = "k", tile.dims = ["H", "Sk", "D"], tile.align = 16 : i64},
                      %v: !tile.view<?x?x64xf16> {tile.name = "v", tile.dims = ["H", "Sk", "D"], tile.align = 16 : i64},
                      %po: !tile.view<4x?x?x64xf32> {tile.name = "po", tile.output, tile.workspace = [4, ["q", 0], ["q", 1], 64], tile.align = 16 : i64},
                      %pr: !tile.view<4x?x?xf32> {tile.name = "pr", tile.output, tile.workspace = [4, ["q", 0], ["q", 1]]},
                      %pl: !tile.view<4x?x?xf32> {tile.name = "pl", tile.output, tile.workspace = [4, ["q", 0], ["q", 1]]},
                      %z: index, %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (4, s0, s1 ceildiv 128)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "split", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %one = arith.constant 1.0 : f32
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %i = arith.muli %t, %c128 : index
  %n = tile.dim %k, 1 : !tile.view<?x?x64xf16>
  %tiles = arith.ceildivui %n, %c128 : index
  %more = arith.addi %tiles, %c3 : index
  %each = arith.divui %more, %c4 : index
  %keys = arith.muli %each, %c128 : index
  %lo = arith.muli %z, %keys : index
  %up = arith.addi %lo, %keys : index
  %hi = arith.minsi %up, %n : index
  %qt = tile.load %q[%h, %i, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<128x64xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32>
  %r0 = tile.reference : !tile.reference<128xf32>
  %l0 = tile.broadcast %zero : f32 -> tensor<128xf32>
  %all:3 = scf.for %j = %lo to %hi step %c128 iter_args(%acc1 = %acc0, %r1 = %r0, %l1 = %l0) -> (tensor<128x64xf32>, !tile.reference<128xf32>, tensor<128xf32>) {
    %kt = tile.load %k[%h, %j, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<128x64xf16>
    %vt = tile.load %v[%h, %j, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<128x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<128x128xf32>
    %s = tile.dot %qt, %kt, %none transpose_b : tensor<128x64xf16>, tensor<128x64xf16>, tensor<128x128xf32>
    %cols = tile.iota %j : index -> tensor<128xindex>
    %ends = tile.broadcast %n : index -> tensor<128xindex>
    %in = arith.cmpi slt, %cols, %ends : tensor<128xindex>
    %vis = tile.broadcast %in dim 0 : tensor<128xi1> -> tensor<128x128xi1>
    %hidden = tile.broadcast %lowest : f32 -> tensor<128x128xf32>
    %x = arith.select %vis, %s, %hidden : tensor<128x128xi1>, tensor<128x128xf32>
    // The scale is log2(e) / sqrt(64).
    %r2, %p, %f, %ran = tile.stabilize %x, %r1 scale(0.18033688) dim(1) : tensor<128x128xf32>, !tile.reference<128xf32>
    %lf = tile.rescale %l1, %f : tensor<128xf32>, tensor<128xf32>
    %l2 = tile.reduce addf %p init %lf dim 1 : tensor<128x128xf32> -> tensor<128xf32>
    %af = tile.rescale %acc1, %f dim(1) : tensor<128x64xf32>, tensor<128xf32>
    %ph = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xf16>
    %acc2 = tile.dot %ph, %vt, %af : tensor<128x128xf16>, tensor<128x64xf16>, tensor<128x64xf32>
    scf.yield %acc2, %r2, %l2 : tensor<128x64xf32>, !tile.reference<128xf32>, tensor<128xf32>
  }
  tile.store %all#0, %po[%z, %h, %i, %c0] dims [2, 3] : tensor<128x64xf32>, !tile.view<4x?x?x64xf32>
  // The value of a reference is unspecified where it has seen nothing.
  %value = tile.reference_value %all#1 : !tile.reference<128xf32>
  %unseen = arith.cmpf oeq, %all#2, %l0 : tensor<128xf32>
  %lows = tile.broadcast %lowest : f32 -> tensor<128xf32>
  %reference = arith.select %unseen, %lows, %value : tensor<128xi1>, tensor<128xf32>
  tile.store %reference, %pr[%z, %h, %i] dims [2] : tensor<128xf32>, !tile.view<4x?x?xf32>
  tile.store %all#2, %pl[%z, %h, %i] dims [2] : tensor<128xf32>, !tile.view<4x?x?xf32>
  tile.return
}
tile.func @merge(%po: !tile.view<4x?x?x64xf32> {tile.name = "po", tile.workspace = [4, ["q", 0], ["q", 1], 64], tile.align = 16 : i64},
                 %pr: !tile.view<4x?x?xf32> {tile.name = "pr", tile.workspace = [4, ["q", 0], ["q", 1]]},
                 %pl: !tile.view<4x?x?xf32> {tile.name = "pl", tile.workspace = [4, ["q", 0], ["q", 1]]},
                 %o: !tile.view<?x?x64xf16> {tile.name = "o", tile.dims = ["H", "Sq", "D"], tile.output, tile.align = 16 : i64},
                 %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 128)> sizes [3, 0, 3, 1]
    attributes {tile.entry = "split", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %one = arith.constant 1.0 : f32
  // log2(e) / sqrt(64).
  %scale2 = arith.constant 0.18033688 : f32
  %c4 = arith.constant 4 : index
  %i = arith.muli %t, %c128 : index
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32>
  %r0 = tile.broadcast %lowest : f32 -> tensor<128xf32>
  %l0 = tile.broadcast %zero : f32 -> tensor<128xf32>
  %all:3 = scf.for %z = %c0 to %c4 step %c1 iter_args(%acc1 = %acc0, %r1 = %r0, %l1 = %l0) -> (tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) {
    %x = tile.load %po[%z, %h, %i, %c0] dims [2, 3] : !tile.view<4x?x?x64xf32> -> tensor<128x64xf32>
    %rx = tile.load %pr[%z, %h, %i] dims [2] : !tile.view<4x?x?xf32> -> tensor<128xf32>
    %lx = tile.load %pl[%z, %h, %i] dims [2] : !tile.view<4x?x?xf32> -> tensor<128xf32>
    // A part that sees no key has reference -inf, and rows beyond the last have reference 0.
    %r2 = arith.maxnumf %r1, %rx : tensor<128xf32>
    %cr = tile.broadcast %scale2 : f32 -> tensor<128xf32>
    %d1 = arith.subf %r1, %r2 : tensor<128xf32>
    %d2 = arith.subf %rx, %r2 : tensor<128xf32>
    %e1 = arith.mulf %d1, %cr : tensor<128xf32>
    %e2 = arith.mulf %d2, %cr : tensor<128xf32>
    %f1 = math.exp2 %e1 : tensor<128xf32>
    %f2 = math.exp2 %e2 : tensor<128xf32>
    %b1 = tile.broadcast %f1 dim 1 : tensor<128xf32> -> tensor<128x64xf32>
    %b2 = tile.broadcast %f2 dim 1 : tensor<128xf32> -> tensor<128x64xf32>
    %a1 = arith.mulf %acc1, %b1 : tensor<128x64xf32>
    %a2 = arith.mulf %x, %b2 : tensor<128x64xf32>
    %acc2 = arith.addf %a1, %a2 : tensor<128x64xf32>
    %s1 = arith.mulf %l1, %f1 : tensor<128xf32>
    %s2 = arith.mulf %lx, %f2 : tensor<128xf32>
    %l2 = arith.addf %s1, %s2 : tensor<128xf32>
    scf.yield %acc2, %r2, %l2 : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
  }
  %ones = tile.broadcast %one : f32 -> tensor<128xf32>
  %inverse = arith.divf %ones, %all#2 : tensor<128xf32>
  %ib = tile.broadcast %inverse dim 1 : tensor<128xf32> -> tensor<128x64xf32>
  %out = arith.mulf %all#0, %ib : tensor<128x64xf32>
  %oh = arith.truncf %out : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %oh, %o[%h, %i, %c0] dims [1, 2] : tensor<128x64xf16>, !tile.view<?x?x64xf16>
  tile.return
}
