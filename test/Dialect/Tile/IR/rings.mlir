// RUN: fa-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: tile.func @rings
tile.func @rings(%x: !tile.view<?x?x64xbf16> {tile.align = 16 : i64}, %y: !tile.view<?x?xf32>, %i: index)
    grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  // CHECK: %[[R:.*]] = tile.ring : <2 x 128x64xbf16, #tile.swizzle<128>>
  %r = tile.ring : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>
  // CHECK: %[[F:.*]] = tile.ring : <1 x 64x8xf32, #tile.swizzle<32>>
  %f = tile.ring : !tile.ring<1 x 64x8xf32, #tile.swizzle<32>>
  // CHECK: tile.put %[[R]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] dims [1, 2] copy(cp_async) : <2 x 128x64xbf16, #tile.swizzle<128>>, <?x?x64xbf16>
  tile.put %r, %x[%i, %c0, %c0] dims [1, 2] copy(cp_async) : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>, !tile.view<?x?x64xbf16>
  // Loads and stores take any order of dimensions; the TMA is spelled too.
  // CHECK: tile.put %[[F]], %{{.*}}[%{{.*}}, %{{.*}}] dims [1, 0] copy(ld_st)
  tile.put %f, %y[%c0, %i] dims [1, 0] copy(ld_st) : !tile.ring<1 x 64x8xf32, #tile.swizzle<32>>, !tile.view<?x?xf32>
  // CHECK: copy(tma)
  tile.put %r, %x[%i, %c0, %c0] dims [1, 2] copy(tma) : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>, !tile.view<?x?x64xbf16>
  // CHECK: %[[S:.*]] = tile.get %[[R]] : <2 x 128x64xbf16, #tile.swizzle<128>> -> <128x64xbf16, #tile.swizzle<128>>
  %s = tile.get %r : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>> -> !tile.slot<128x64xbf16, #tile.swizzle<128>>
  // CHECK: tile.release %[[S]] : <128x64xbf16, #tile.swizzle<128>>
  tile.release %s : !tile.slot<128x64xbf16, #tile.swizzle<128>>
  // CHECK: %[[SHARED:.*]] = tile.ring readers(2) : <2 x 128x64xbf16, #tile.swizzle<128>>
  %shared = tile.ring readers(2) : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>
  // CHECK: tile.get %[[SHARED]] : <2
  %first = tile.get %shared reader(0) : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>> -> !tile.slot<128x64xbf16, #tile.swizzle<128>>
  // CHECK: tile.get %[[SHARED]] reader(1) : <2
  %second = tile.get %shared reader(1) : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>> -> !tile.slot<128x64xbf16, #tile.swizzle<128>>
  tile.return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: !tile.slot<64x32xbf16, #tile.swizzle<64>>, %b: !tile.slot<16x32xbf16, #tile.swizzle<64>>,
                    %t: tensor<64x32xbf16>, %acc: tensor<64x16xf32>) -> tensor<64x16xf32> {
  // Operands in shared memory, in registers, or one of each.
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} transpose_b : !tile.slot<64x32xbf16, #tile.swizzle<64>>, !tile.slot<16x32xbf16, #tile.swizzle<64>>, tensor<64x16xf32>
  %0 = tile.dot %a, %b, %acc transpose_b : !tile.slot<64x32xbf16, #tile.swizzle<64>>, !tile.slot<16x32xbf16, #tile.swizzle<64>>, tensor<64x16xf32>
  // CHECK: %[[P:.*]] = tile.dot_start %{{.*}}, %{{.*}}, %{{.*}} transpose_b precision(tf32x3) : tensor<64x32xbf16>, !tile.slot<16x32xbf16, #tile.swizzle<64>>, tensor<64x16xf32> -> <tensor<64x16xf32>>
  %p = tile.dot_start %t, %b, %0 transpose_b precision(tf32x3) : tensor<64x32xbf16>, !tile.slot<16x32xbf16, #tile.swizzle<64>>, tensor<64x16xf32> -> !tile.pending<tensor<64x16xf32>>
  // CHECK: tile.await %[[P]] : <tensor<64x16xf32>> -> tensor<64x16xf32>
  %1 = tile.await %p : !tile.pending<tensor<64x16xf32>> -> tensor<64x16xf32>
  return %1 : tensor<64x16xf32>
}

// CHECK-LABEL: func.func @lowered
func.func @lowered(%r: !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>, %v: !tile.ring<1 x 64xf32, #tile.swizzle<32>>,
                   %x: !tile.view<?x64xf16>, %m: tensor<64xf32>, %i: index,
                   %map: !tile.tensor_map<32x64xf16, #tile.swizzle<128>>) {
  // CHECK: %[[S:.*]] = tile.slot_at %{{.*}}[%{{.*}}] : <2 x 64x64xf16, #tile.swizzle<128>> -> <64x64xf16, #tile.swizzle<128>>
  %s = tile.slot_at %r[%i] : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] to %[[S]] copy(cp_async) : <?x64xf16>, <64x64xf16, #tile.swizzle<128>>
  tile.copy %x[%i, %i] dims [0, 1] to %s copy(cp_async) : !tile.view<?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>
  // CHECK: tile.copy_commit
  tile.copy_commit
  // CHECK: tile.copy_wait 1
  tile.copy_wait 1
  // CHECK: tile.fence_async
  tile.fence_async
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.read %[[S]] : <64x64xf16, #tile.swizzle<128>> -> tensor<64x64xf16>
  %t = tile.read %s : !tile.slot<64x64xf16, #tile.swizzle<128>> -> tensor<64x64xf16>
  // CHECK: tile.write %{{.*}}, %[[S]] : tensor<64x64xf16>, <64x64xf16, #tile.swizzle<128>>
  tile.write %t, %s : tensor<64x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>
  // CHECK: tile.bulk_store %[[S]] to %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] rows(64) : <64x64xf16, #tile.swizzle<128>>, <?x64xf16>
  tile.bulk_store %s to %x[%i, %i] dims [0, 1] rows(64) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  // CHECK: tile.bulk_store %[[S]] to %{{.*}} rows(32) map(%{{.*}}) : <64x64xf16, #tile.swizzle<128>>, <?x64xf16>, !tile.tensor_map<32x64xf16, #tile.swizzle<128>>
  tile.bulk_store %s to %x[%i, %i] dims [0, 1] rows(32) map(%map) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>, !tile.tensor_map<32x64xf16, #tile.swizzle<128>>
  // CHECK: tile.copy_out_wait
  tile.copy_out_wait
  // Rows are contiguous.
  // CHECK: tile.put_value %{{.*}}, %{{.*}} : <1 x 64xf32, #tile.swizzle<32>>, tensor<64xf32>
  tile.put_value %v, %m : !tile.ring<1 x 64xf32, #tile.swizzle<32>>, tensor<64xf32>
  return
}

// CHECK-LABEL: func.func @if_any
func.func @if_any(%rows: tensor<64xi1>, %o: tensor<64x64xf32>, %a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: tile.if_any %{{.*}}(%[[O:.*]]) : tensor<64xi1>, (tensor<64x64xf32>) {
  %r = tile.if_any %rows (%o) : tensor<64xi1>, (tensor<64x64xf32>) {
    %x = arith.mulf %o, %a : tensor<64x64xf32>
    // CHECK: tile.yield %{{.*}} : tensor<64x64xf32>
    tile.yield %x : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @if_any_ran
func.func @if_any_ran(%rows: tensor<64xi1>, %f: tensor<64xf32>, %o: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64x64xf32>) {
  // CHECK: %{{.*}}, %[[RAN:.*]] = tile.if_any %{{.*}}(%{{.*}}) : tensor<64xi1>, (tensor<64xf32>) -> !tile.ran {
  %g, %ran = tile.if_any %rows (%f) : tensor<64xi1>, (tensor<64xf32>) -> !tile.ran {
    %h = arith.addf %f, %f : tensor<64xf32>
    tile.yield %h : tensor<64xf32>
  }
  // CHECK: tile.if_any %[[RAN]](%{{.*}}) : !tile.ran, (tensor<64x64xf32>) {
  %p = tile.if_any %ran (%o) : !tile.ran, (tensor<64x64xf32>) {
    %x = arith.addf %o, %o : tensor<64x64xf32>
    tile.yield %x : tensor<64x64xf32>
  }
  return %g, %p : tensor<64xf32>, tensor<64x64xf32>
}
