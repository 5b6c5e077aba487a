// RUN: fa-opt %s --tile-make-tensor-maps | FileCheck %s

// One map for equal copies, another one for another view, in front of the
// work tile id.
// CHECK-LABEL: tile.func @maps
// CHECK-SAME: %[[X:.*]]: !tile.view<?x?x64xf16>, %[[Y:.*]]: !tile.view<?x64xf16>,
// CHECK-SAME: %[[MX:[a-z0-9]+]]: !tile.tensor_map<64x64xf16, #tile.swizzle<128>> {tile.map_dims = [1, 2], tile.map_of = 0 : i64},
// CHECK-SAME: %[[MY:[a-z0-9]+]]: !tile.tensor_map<64x64xf16, #tile.swizzle<128>> {tile.map_dims = [0, 1], tile.map_of = 1 : i64},
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: !tile.tensor_map<32x64xf16, #tile.swizzle<128>> {tile.map_dims = [0, 1], tile.map_of = 1 : i64},
// CHECK-SAME: %{{[a-z0-9]+}}: index) grid
tile.func @maps(%x: !tile.view<?x?x64xf16>, %y: !tile.view<?x64xf16>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %b = tile.barriers arrivals(1) : !tile.barriers<1>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  // CHECK: tile.copy %[[X]]{{.*}} map(%[[MX]])
  tile.copy %x[%t, %c0, %c0] dims [1, 2] to %s copy(tma) signal %b[%c0] : !tile.view<?x?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.barriers<1>
  // CHECK: tile.copy %[[Y]]{{.*}} map(%[[MY]])
  tile.copy %y[%c0, %c0] dims [0, 1] to %s copy(tma) signal %b[%c0] : !tile.view<?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.barriers<1>
  // CHECK: tile.copy %[[X]]{{.*}} map(%[[MX]])
  tile.copy %x[%t, %t, %c0] dims [1, 2] to %s copy(tma) signal %b[%c0] : !tile.view<?x?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.barriers<1>
  // To memory in boxes of a warpgroup's rows.
  // CHECK: tile.bulk_store %{{.*}} map(%[[OUT]])
  tile.bulk_store %s to %y[%t, %c0] dims [0, 1] rows(32) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  tile.return
}

// All slices of a view share a map, which is another one than the view's own.
// CHECK-LABEL: tile.func @slices
// CHECK-SAME: %[[WHOLE:[a-z0-9]+]]: !tile.tensor_map<64x64xf16, #tile.swizzle<128>> {tile.map_dims = [1, 2], tile.map_of = 0 : i64},
// CHECK-SAME: %[[PART:[a-z0-9]+]]: !tile.tensor_map<64x64xf16, #tile.swizzle<128>> {tile.map_dims = [1, 2], tile.map_of = 0 : i64, tile.map_slices},
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: !tile.tensor_map<32x64xf16, #tile.swizzle<128>> {tile.map_dims = [1, 2], tile.map_of = 0 : i64, tile.map_slices},
tile.func @slices(%x: !tile.view<?x?x64xf16>, %n: index, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %b = tile.barriers arrivals(1) : !tile.barriers<1>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  %first = tile.slice %x dim 1 from %c0 size %n : !tile.view<?x?x64xf16> -> !tile.view<?x?x64xf16>
  %second = tile.slice %x dim 1 from %n size %n : !tile.view<?x?x64xf16> -> !tile.view<?x?x64xf16>
  // CHECK: tile.copy {{.*}} map(%[[WHOLE]])
  tile.copy %x[%t, %c0, %c0] dims [1, 2] to %s copy(tma) signal %b[%c0] : !tile.view<?x?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.barriers<1>
  // CHECK: tile.copy {{.*}} map(%[[PART]])
  tile.copy %first[%t, %c0, %c0] dims [1, 2] to %s copy(tma) signal %b[%c0] : !tile.view<?x?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.barriers<1>
  // CHECK: tile.copy {{.*}} map(%[[PART]])
  tile.copy %second[%t, %c0, %c0] dims [1, 2] to %s copy(tma) signal %b[%c0] : !tile.view<?x?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.barriers<1>
  // CHECK: tile.bulk_store %{{.*}} map(%[[OUT]])
  tile.bulk_store %s to %second[%t, %c0, %c0] dims [1, 2] rows(32) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x?x64xf16>
  tile.return
}
