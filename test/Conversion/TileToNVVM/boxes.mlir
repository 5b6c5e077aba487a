// RUN: fa-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 32)]>
#lanes = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>

// A register of all lanes is 128 bytes in a row; the next is 32 elements on. One check, and one branch, serve a box of rows.
// CHECK-LABEL: llvm.func @added
// CHECK: mov.b32
// CHECK: %[[BASE:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: %[[IN:.*]] = arith.cmpi ult
// CHECK-NOT: arith.cmpi
// CHECK: %[[C32:.*]] = arith.constant 32 : i64
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[BASE]][%[[C32]]]
// CHECK-NOT: arith.cmpi
// CHECK: scf.if %[[IN]]
// CHECK: "red.global.add.f32 [$0], $1;", "l,f" %[[BASE]],
// CHECK: "red.global.add.f32 [$0], $1;", "l,f" %[[NEXT]],
// CHECK-COUNT-14: red.global.add.f32
// CHECK-NOT: red.global
// CHECK-NOT: scf.if
// CHECK: llvm.return
tile.func @added(%x: !tile.view<?x64xf32>, %y: !tile.view<?x64xf32, #lanes>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %v = arith.constant dense<1.0> : tensor<32x64xf32, #acc>
  tile.accumulate %v, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32, #acc>, !tile.view<?x64xf32, #lanes>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 32)]>
#lanes = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>

// Rows of whole tiles, from one that is inside on: nothing is checked, whatever else the tile begins at. Of a row that may be
// within a tile, or of memory whose rows are whole boxes alone, each box is.
// CHECK-LABEL: llvm.func @added_inside
// CHECK-NOT: arith.cmpi
// CHECK-COUNT-16: red.global.add.f32
// CHECK-NOT: red.global
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK-COUNT-16: red.global.add.f32
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK-COUNT-16: red.global.add.f32
// CHECK: llvm.return
tile.func @added_inside(%x: !tile.view<?x?x64xf32> {tile.name = "x"},
    %y: !tile.view<?x?x64xf32, #lanes> {tile.name = "y", tile.workspace = [["x", 0], ["x", 1, 1, 32], 64]},
    %z: !tile.view<?x?x64xf32, #lanes> {tile.name = "z", tile.workspace = [["x", 0], ["x", 1, 1, 16], 64]},
    %b: index, %t: index) grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 32)> sizes [0, 0, 0, 1] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %v = arith.constant dense<1.0> : tensor<32x64xf32, #acc>
  tile.accumulate %v, %y[%b, %i, %c0] dims [1, 2] inside : tensor<32x64xf32, #acc>, !tile.view<?x?x64xf32, #lanes>
  %j = arith.muli %t, %c16 : index
  tile.accumulate %v, %y[%b, %j, %c0] dims [1, 2] inside : tensor<32x64xf32, #acc>, !tile.view<?x?x64xf32, #lanes>
  tile.accumulate %v, %z[%b, %i, %c0] dims [1, 2] inside : tensor<32x64xf32, #acc>, !tile.view<?x?x64xf32, #lanes>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 32)]>
#quads = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>

// Lanes move 16 bytes each.
// CHECK-LABEL: llvm.func @moved
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-4: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: llvm.return
tile.func @moved(%x: !tile.view<?x64xf32, #quads>, %y: !tile.view<?x64xf32, #quads>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32, #quads> -> tensor<32x64xf32, #acc>
  tile.store %v, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32, #acc>, !tile.view<?x64xf32, #quads>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 32)]>
#two = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8), (2, 16, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 0, 16)]>
#quads = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>

// Each warp writes 4 boxes, 16 bytes a lane, and one lane adds all of them. What is of two rows of boxes takes two
// reductions: boxes lie 2 KB apart in the slot, 64 columns of 16 rows, and as far in memory.
// CHECK-LABEL: llvm.func @staged
// CHECK: cp.async.bulk.wait_group.read 0;
// CHECK-NEXT: bar.warp.sync 0xffffffff;
// CHECK: st.shared.v4.b32 [$0+0]
// CHECK: st.shared.v4.b32 [$0+512]
// CHECK: st.shared.v4.b32 [$0+1024]
// CHECK: st.shared.v4.b32 [$0+1536]
// CHECK-NOT: st.shared
// CHECK: fence.proxy.async.shared::cta;
// CHECK: bar.warp.sync 0xffffffff;
// CHECK: @$2 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0+0], [$1+0], 2048;
// CHECK-NOT: cp.reduce
// CHECK: cp.async.bulk.commit_group;
// CHECK: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0+0], [$1+0], 1024;
// CHECK: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0+4096], [$1+4096], 1024;
// CHECK-NOT: cp.reduce
// CHECK: cp.async.bulk.commit_group;
// CHECK: cp.async.bulk.wait_group.read 1;
// CHECK-NEXT: bar.warp.sync 0xffffffff;
// CHECK-NOT: bar.warp.sync
// CHECK: @$3 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;
// CHECK-SAME: "l,r,r,b,~{memory}"
// CHECK: cp.async.bulk.commit_group;
// CHECK: cp.async.bulk.wait_group 0;
// CHECK-NEXT: llvm.return
tile.func @staged(%x: !tile.view<?x64xf32>, %y: !tile.view<?x?x64xf32, #quads>, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 32)> sizes [1, 0, 0, 0] attributes {tile.warps = 4 : i64, tile.shared_bytes = 8192 : i64} {
  %r = tile.ring : !tile.ring<1 x 2048xf32, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %v = arith.constant dense<1.0> : tensor<32x64xf32, #acc>
  %w = arith.constant dense<2.0> : tensor<32x64xf32, #two>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 2048xf32, #tile.swizzle<128>> -> !tile.slot<2048xf32, #tile.swizzle<128>>
  tile.bulk_accumulate_wait
  tile.write %v, %s order(#quads) : tensor<32x64xf32, #acc>, !tile.slot<2048xf32, #tile.swizzle<128>>
  tile.fence_async
  tile.bulk_accumulate %s to %y[%b, %i, %c0] dims [1, 2] tile(tensor<32x64xf32, #acc>) : !tile.slot<2048xf32, #tile.swizzle<128>>, !tile.view<?x?x64xf32, #quads>
  tile.bulk_accumulate %s to %y[%b, %i, %c0] dims [1, 2] tile(tensor<32x64xf32, #two>) : !tile.slot<2048xf32, #tile.swizzle<128>>, !tile.view<?x?x64xf32, #quads>
  tile.bulk_accumulate_wait pending(1)
  tile.bulk_accumulate %s to %y[%b, %i, %c0] dims [1, 2] tile(tensor<32x64xf32, #acc>) whole : !tile.slot<2048xf32, #tile.swizzle<128>>, !tile.view<?x?x64xf32, #quads>
  tile.bulk_accumulate_wait written
  tile.return
}
