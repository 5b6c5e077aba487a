// The plan of a conversion (LayoutConversion.h), literally.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-nvvm | FileCheck %s --check-prefix=PLAIN

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#paired = #tile.frag<reg = [(2, 8, 0), (2, 0, 1), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#a = #tile.frag<reg = [(2, 8, 0), (4, 0, 4)], lane = [(4, 0, 1), (8, 1, 0)], warp = [(4, 16, 0)]>
#wide = #tile.frag<reg = [(8, 0, 1)], lane = [(2, 0, 8), (16, 1, 0)], warp = [(4, 16, 0)]>

// Registers of a thread change places: no instruction.
// PLAIN-LABEL: llvm.func @registers(
// PLAIN: %[[T:.*]] = vector.from_elements
// PLAIN: vector.shuffle %[[T]], %[[T]] [0, 2, 1, 3, 4, 6, 5, 7]
// CHECK-LABEL: llvm.func @registers(
// CHECK-NOT: nvvm.shfl
// CHECK: llvm.return
tile.func @registers(%x: !tile.view<?x16xf32>, %y: !tile.view<?x16xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #acc>
  %u = tile.convert_layout %t : tensor<64x16xf32, #acc> -> tensor<64x16xf32, #paired>
  tile.store %u, %y[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #paired>, !tile.view<?x16xf32>
  tile.return
}

// Pairs of bf16 travel as one word, f32 alone, f64 as two. Which lanes take what
// is a bit of a mask, shifted by the lane.
// PLAIN-LABEL: llvm.func @shuffles(
// PLAIN: vector.bitcast %{{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK-LABEL: llvm.func @shuffles(
// CHECK-DAG: %[[FULL:.*]] = arith.constant -1 : i32
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
// CHECK: vector.bitcast
// CHECK: %[[BIT:.*]] = arith.shrui %{{.*}}, %[[LANE]] : i32
// CHECK: arith.andi %[[BIT]], %{{.*}} : i32
// CHECK: arith.ori
// CHECK: %[[MINE:.*]] = arith.trunci %{{.*}} : i32 to i1
// CHECK-NEXT: arith.select %[[MINE]], %{{.*}}, %{{.*}} : i32
// CHECK: nvvm.shfl.sync idx %[[FULL]]
// CHECK: vector.bitcast %{{.*}} : vector<1xi32> to vector<2xbf16>
tile.func @shuffles(%x: !tile.view<?x16xbf16>, %y: !tile.view<?x16xbf16>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xbf16> -> tensor<64x16xbf16, #acc>
  %u = tile.convert_layout %t : tensor<64x16xbf16, #acc> -> tensor<64x16xbf16, #wide>
  tile.store %u, %y[%c0, %c0] dims [0, 1] : tensor<64x16xbf16, #wide>, !tile.view<?x16xbf16>
  tile.return
}

// CHECK-LABEL: llvm.func @words(
// CHECK: nvvm.shfl.sync
// CHECK: nvvm.shfl.sync
// CHECK: llvm.return
tile.func @words(%x: !tile.view<?x16xf32>, %y: !tile.view<?x16xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #acc>
  %u = tile.convert_layout %t : tensor<64x16xf32, #acc> -> tensor<64x16xf32, #a>
  tile.store %u, %y[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #a>, !tile.view<?x16xf32>
  tile.return
}

// One bit and indices, too: elements of a word, and of two words that travel alike.
// CHECK-LABEL: llvm.func @others(
// CHECK: nvvm.shfl.sync
// CHECK: arith.trunci %{{.*}} : i32 to i1
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK: llvm.return
#lanes = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
#turned = #tile.frag<reg = [], lane = [(2, 16), (16, 1)], warp = []>
tile.func @others(%x: !tile.view<?xi1>, %y: !tile.view<?xi1>, %z: !tile.view<?xi64>, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xi1> -> tensor<32xi1, #lanes>
  %u = tile.convert_layout %t : tensor<32xi1, #lanes> -> tensor<32xi1, #turned>
  tile.store %u, %y[%c0] dims [0] : tensor<32xi1, #turned>, !tile.view<?xi1>
  %io = tile.iota %i : index -> tensor<32xindex, #lanes>
  %jo = tile.convert_layout %io : tensor<32xindex, #lanes> -> tensor<32xindex, #turned>
  %j = arith.index_cast %jo : tensor<32xindex, #turned> to tensor<32xi64, #turned>
  tile.store %j, %z[%c0] dims [0] : tensor<32xi64, #turned>, !tile.view<?xi64>
  tile.return
}
