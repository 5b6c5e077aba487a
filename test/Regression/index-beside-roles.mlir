// Tiles of index, whose elements have no width of their own: one that is stored, and one that was to go
// to another role.
// RUN: split-file %s %t
// RUN: fa-opt %t/stored.mlir --target=sm_90a --compile-from=tile --compile-to=schedule | FileCheck %t/stored.mlir
// RUN: not fa-opt %t/sent.mlir --tile-specialize-warps 2>&1 | FileCheck %t/sent.mlir
// RUN: fa-opt %t/bits.mlir --target=sm_90a --compile-from=tile --compile-to=schedule | FileCheck %t/bits.mlir

//--- stored.mlir
// CHECK: tile.role "compute"
// CHECK: tile.store %{{.*}} : tensor<128x256xindex
tile.func @f(%a: !tile.view<?x256xf16> {tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64},
             %b: !tile.view<?x256xf16> {tile.name = "b", tile.dims = ["K", "N"], tile.align = 16 : i64},
             %c: !tile.view<?x256xf16> {tile.name = "c", tile.dims = ["M", "N"], tile.output, tile.align = 16 : i64},
             %d: !tile.view<?x256xindex> {tile.name = "d", tile.dims = ["M", "N"], tile.output}, %x: index, %y: index)
    grid affine_map<()[s0] -> (1, s0 ceildiv 128)> sizes [2, 0] attributes {tile.entry = "f", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %y, %c128 : index
  %k = tile.dim %a, 1 : !tile.view<?x256xf16>
  %none = tile.broadcast %zero : f32 -> tensor<128x256xf32>
  %sum = scf.for %t = %c0 to %k step %c64 iter_args(%old = %none) -> (tensor<128x256xf32>) {
    %at = tile.load %a[%i, %t] dims [0, 1] : !tile.view<?x256xf16> -> tensor<128x64xf16>
    %bt = tile.load %b[%t, %c0] dims [0, 1] : !tile.view<?x256xf16> -> tensor<64x256xf16>
    %new = tile.dot %at, %bt, %old : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
    scf.yield %new : tensor<128x256xf32>
  }
  %rows = tile.iota %i : index -> tensor<128xindex>
  %all = tile.broadcast %rows dim 1 : tensor<128xindex> -> tensor<128x256xindex>
  tile.store %all, %d[%i, %c0] dims [0, 1] : tensor<128x256xindex>, !tile.view<?x256xindex>
  %h = arith.truncf %sum : tensor<128x256xf32> to tensor<128x256xf16>
  tile.store %h, %c[%i, %c0] dims [0, 1] : tensor<128x256xf16>, !tile.view<?x256xf16>
  tile.return
}

//--- sent.mlir
// CHECK: error: 'arith.index_cast' op runs in role "compute" and takes 'tensor<64xindex{{.*}}' of role "x"; mark both for one role, or neither
#row = #tile.frag<reg = [(2, 32)], lane = [(32, 1)], warp = [(4, 0)]>
tile.func @f(%y: !tile.view<?xi32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %rows = tile.iota %t {tile.role = "x"} : index -> tensor<64xindex, #row>
  %squares = arith.muli %rows, %rows {tile.role = "x"} : tensor<64xindex, #row>
  %narrow = arith.index_cast %squares : tensor<64xindex, #row> to tensor<64xi32, #row>
  tile.store %narrow, %y[%t] dims [0] : tensor<64xi32, #row>, !tile.view<?xi32>
  tile.return
}

//--- bits.mlir
// A vector of i1 has no whole bytes that TMA could bring: it was refused.
// CHECK: tile.role "compute"
// CHECK: tile.load %{{.*}} -> tensor<256xi1
tile.func @f(%a: !tile.view<?x256xf16> {tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64},
             %b: !tile.view<?x256xf16> {tile.name = "b", tile.dims = ["K", "N"], tile.align = 16 : i64},
             %c: !tile.view<?x256xf16> {tile.name = "c", tile.dims = ["M", "N"], tile.output, tile.align = 16 : i64},
             %d: !tile.view<?x256xi1> {tile.name = "d", tile.dims = ["K", "N"], tile.align = 16 : i64}, %x: index, %y: index)
    grid affine_map<()[s0] -> (1, s0 ceildiv 128)> sizes [2, 0] attributes {tile.entry = "f", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %y, %c128 : index
  %k = tile.dim %a, 1 : !tile.view<?x256xf16>
  %none = tile.broadcast %zero : f32 -> tensor<128x256xf32>
  %sum = scf.for %t = %c0 to %k step %c64 iter_args(%old = %none) -> (tensor<128x256xf32>) {
    %at = tile.load %a[%i, %t] dims [0, 1] : !tile.view<?x256xf16> -> tensor<128x64xf16>
    %bt = tile.load %b[%t, %c0] dims [0, 1] : !tile.view<?x256xf16> -> tensor<64x256xf16>
    %flags = tile.load %d[%t, %c0] dims [1] : !tile.view<?x256xi1> -> tensor<256xi1>
    %all = tile.broadcast %flags dim 0 : tensor<256xi1> -> tensor<128x256xi1>
    %kept = arith.select %all, %old, %none : tensor<128x256xi1>, tensor<128x256xf32>
    %new = tile.dot %at, %bt, %kept : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
    scf.yield %new : tensor<128x256xf32>
  }
  %h = arith.truncf %sum : tensor<128x256xf32> to tensor<128x256xf16>
  tile.store %h, %c[%i, %c0] dims [0, 1] : tensor<128x256xf16>, !tile.view<?x256xf16>
  tile.return
}
