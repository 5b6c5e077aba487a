// Tiles by way of shared memory to memory, and rows that are no whole panels.
// RUN: fa-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

#sw = #tile.swizzle<128>
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (10, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
#wide = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>

// A box for each panel of 64 columns, of which the second is in part out of
// range; the map has the view's dimensions. A panel of 128 rows is 16384 bytes.
// CHECK-LABEL: llvm.func @panels
// CHECK: "@$7 cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4, $5, $6}], [$2];"
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c64_i32
// CHECK: "@$7 cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [$0+16384], [$1, {$3, $4, $5, $6}], [$2];", "r,l,r,r,r,r,r,b,~{memory}" %{{[0-9]+}}, %{{[a-z0-9]+}}, %{{[0-9]+}}, %[[NEXT]]

// Accumulators leave by matrices of 16 rows and columns: lane l writes the row l
// mod 16, half l / 16, with its chunks exchanged.
// CHECK: %[[HALF:.*]] = arith.shrui %[[LANE:.*]], %c4_i32
// CHECK: %[[ROW:.*]] = arith.andi %[[LANE]], %c7_i32
// CHECK: %[[CHUNK:.*]] = arith.xori %[[HALF]], %[[ROW]]
// CHECK-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+0], {$1, $2, $3, $4};
// CHECK: stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+16384], {$1, $2, $3, $4};
// CHECK-NOT: stmatrix
// CHECK: "fence.proxy.async.shared::cta;"

// One thread of each warpgroup copies its rows.
// CHECK: %[[GROUP:.*]] = arith.shrui %{{.*}}, %c2_i32
// CHECK: %[[BYTES:.*]] = arith.muli %[[GROUP]], %c8192_i32
// CHECK: %[[FROM:.*]] = arith.addi %{{.*}}, %[[BYTES]]
// CHECK: %[[ROWS:.*]] = arith.muli %[[GROUP]], %c64_i32
// CHECK: "@$2 cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [$1, {$3, $4, $5, $6}], [$0];", "r,l,b,r,r,r,r,~{memory}" %[[FROM]]
// CHECK: "@$2 cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [$1, {$3, $4, $5, $6}], [$0+16384];", "r,l,b,r,r,r,r,~{memory}" %[[FROM]]
// CHECK: "cp.async.bulk.commit_group;"
// CHECK: "cp.async.bulk.wait_group.read 0;"
tile.func @panels(%x: !tile.view<?x?x?x80xf16>, %m: !tile.tensor_map<128x80xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [2, 3]},
                  %out: !tile.tensor_map<64x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [2, 3]}, %b: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %r = tile.ring : !tile.ring<1 x 128x80xf16, #sw>
  %full = tile.barriers arrivals(1) : !tile.barriers<1>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 128x80xf16, #sw> -> !tile.slot<128x80xf16, #sw>
  tile.copy %x[%b, %b, %c0, %c0] dims [2, 3] to %s copy(tma) signal %full[%c0] map(%m) : !tile.view<?x?x?x80xf16>, !tile.slot<128x80xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<128x80xf16, #sw>
  %acc = tile.broadcast %zero : f32 -> tensor<128x80xf32, #acc>
  %t = arith.truncf %acc : tensor<128x80xf32, #acc> to tensor<128x80xf16, #acc>
  tile.write %t, %s : tensor<128x80xf16, #acc>, !tile.slot<128x80xf16, #sw>
  tile.fence_async
  tile.bulk_store %s to %x[%b, %b, %c0, %c0] dims [2, 3] rows(64) map(%out) : !tile.slot<128x80xf16, #sw>, !tile.view<?x?x?x80xf16>, !tile.tensor_map<64x64xf16, #sw>
  tile.copy_out_wait
  %sums = tile.broadcast %zero : f32 -> tensor<128x128xf32, #wide>
  %p = tile.dot_start %s, %s, %sums transpose_b : !tile.slot<128x80xf16, #sw>, !tile.slot<128x80xf16, #sw>, tensor<128x128xf32, #wide> -> !tile.pending<tensor<128x128xf32, #wide>>
  tile.return
}

// -----

// Slices of rows. A map of M = 2^30 rows, units of 16 bytes, steps back, and panels: row r of a slice
// from s of n rows is at M - n + r, ((s + n) * stride + head * its stride) / 16, M. Rows after the
// slice are after the map, too; where they stand does not count. A head out of range has no unit.
#sw = #tile.swizzle<128>
// CHECK-LABEL: llvm.func @slices
// CHECK-SAME: (%{{[a-z0-9]+}}: !llvm.ptr<1>, %[[HEADS:[a-z0-9]+]]: i64, %{{[a-z0-9]+}}: i64, %[[BYHEAD:[a-z0-9]+]]: i64, %[[BYROW:[a-z0-9]+]]: i64, %
// CHECK-SAME: %[[N:[a-z0-9]+]]: i64, %{{[a-z0-9]+}}: !llvm.ptr {llvm.align = 64
// CHECK: %[[ROW:.*]] = arith.trunci
// CHECK: %[[SIZE:.*]] = arith.trunci %[[N]] : i64 to i32
// CHECK: %[[BEFORE:.*]] = arith.subi %c1073741824_i32, %[[SIZE]]
// CHECK: %[[CLIPPED:.*]] = arith.minui %[[ROW]], %[[SIZE]]
// CHECK: %[[X:.*]] = arith.addi %[[BEFORE]], %[[CLIPPED]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %[[HEADS]] : i64
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[BYHEAD]] : i64
// CHECK: %[[END:.*]] = arith.addi %[[N]], %[[N]] : i64
// CHECK: %[[ROWS:.*]] = arith.muli %[[END]], %[[BYROW]] : i64
// CHECK: %[[ELEMENTS:.*]] = arith.addi %[[FIRST]], %[[ROWS]] : i64
// CHECK: %[[UNITS:.*]] = arith.shrui %[[ELEMENTS]], %c3
// CHECK: %[[SHORT:.*]] = arith.trunci %[[UNITS]] : i64 to i32
// CHECK: %[[UNIT:.*]] = arith.select %[[INSIDE]], %[[SHORT]], %c-1_i32
// CHECK: cp.async.bulk.tensor.5d.shared::cluster{{.*}}[$0]{{.*}} %[[X]], %[[UNIT]], %c1073741824_i32{{[_0-9]*}}, %c0_i32
// A box of each panel goes out, at a place that is computed there.
// CHECK: %[[SIZE:.*]] = llvm.inline_asm has_side_effects {{.*}}mov.b32
// CHECK: arith.subi %c1073741824_i32{{[_0-9]*}}, %[[SIZE]]
// CHECK: %[[END:.*]] = llvm.inline_asm has_side_effects {{.*}}mov.b32
// CHECK: arith.muli %{{.*}}, %[[BYROW]] : i64
// CHECK: cp.async.bulk.tensor.5d.global{{.*}}[$0];
// CHECK: %[[PANEL:.*]] = arith.addi %c0_i32{{[_0-9]*}}, %c1_i32 : i32
// CHECK: cp.async.bulk.tensor.5d.global{{.*}}[$0+8192]{{.*}}, %[[PANEL]] :
// Without heads.
// CHECK: arith.muli %[[N]], %{{.*}} : i64
// CHECK: %[[UNIT:.*]] = arith.trunci
// CHECK: cp.async.bulk.tensor.5d.shared::cluster{{.*}}[$0]{{.*}} %[[UNIT]], %c1073741824_i32
// CHECK-NEXT: llvm.return

// Batches are counted as heads are; columns that are no whole panels come a box a panel.
// CHECK-LABEL: llvm.func @batches
// CHECK-COUNT-3: arith.muli {{.*}} : i64
// CHECK: arith.select {{.*}} %c-1_i32
// CHECK: cp.async.bulk.tensor.4d.shared::cluster{{.*}}[$0]
// CHECK: cp.async.bulk.tensor.4d.shared::cluster{{.*}}[$0+8192]
tile.func @slices(%x: !tile.view<?x?x128xf16>, %y: !tile.view<?x128xf16>, %n: index,
                  %m: !tile.tensor_map<64x128xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [1, 2], tile.map_slices},
                  %out: !tile.tensor_map<64x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [1, 2], tile.map_slices},
                  %my: !tile.tensor_map<64x128xf16, #sw> {tile.map_of = 1 : i64, tile.map_dims = [0, 1], tile.map_slices}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 64x128xf16, #sw>
  %full = tile.barriers arrivals(1) : !tile.barriers<1>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x128xf16, #sw> -> !tile.slot<64x128xf16, #sw>
  %part = tile.slice %x dim 1 from %n size %n : !tile.view<?x?x128xf16> -> !tile.view<?x?x128xf16>
  tile.copy %part[%t, %t, %c0] dims [1, 2] to %s copy(tma) signal %full[%c0] map(%m) : !tile.view<?x?x128xf16>, !tile.slot<64x128xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<64x128xf16, #sw>
  tile.bulk_store %s to %part[%c0, %t, %c0] dims [1, 2] rows(64) map(%out) : !tile.slot<64x128xf16, #sw>, !tile.view<?x?x128xf16>, !tile.tensor_map<64x64xf16, #sw>
  tile.copy_out_wait
  %one = tile.slice %y dim 0 from %c0 size %n : !tile.view<?x128xf16> -> !tile.view<?x128xf16>
  tile.copy %one[%t, %c0] dims [0, 1] to %s copy(tma) signal %full[%c0] map(%my) : !tile.view<?x128xf16>, !tile.slot<64x128xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<64x128xf16, #sw>
  tile.return
}
tile.func @batches(%x: !tile.view<?x?x?x96xf16>, %n: index,
                   %m: !tile.tensor_map<64x96xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [2, 3], tile.map_slices}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 64x96xf16, #sw>
  %full = tile.barriers arrivals(1) : !tile.barriers<1>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x96xf16, #sw> -> !tile.slot<64x96xf16, #sw>
  %part = tile.slice %x dim 2 from %c0 size %n : !tile.view<?x?x?x96xf16> -> !tile.view<?x?x?x96xf16>
  tile.copy %part[%t, %n, %t, %c0] dims [2, 3] to %s copy(tma) signal %full[%c0] map(%m) : !tile.view<?x?x?x96xf16>, !tile.slot<64x96xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<64x96xf16, #sw>
  tile.return
}

// -----

// A tile of a `front` slice that begins before it is there at its own rows, from the slice's first one on,
// and what is stored of it are the boxes from that row on.
#sw = #tile.swizzle<128>
// CHECK-LABEL: llvm.func @front
// CHECK: %[[ROW:.*]] = arith.trunci
// CHECK: %[[END:.*]] = arith.addi
// CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %[[ROW]], %c0_i32
// CHECK: %[[X:.*]] = arith.select %[[BEFORE]], %[[ROW]], %[[END]]
// CHECK: %[[BACK:.*]] = arith.select %[[BEFORE]], %c0_i32{{[_0-9]*}}, %c1073741824_i32
// CHECK: %[[LAST:.*]] = arith.select %[[BEFORE]], %c0_i64{{[_0-9]*}}, %{{.*}} : i64
// CHECK: arith.addi %{{.*}}, %[[LAST]] : i64
// CHECK: %[[UNIT:.*]] = arith.select
// CHECK: cp.async.bulk.tensor.5d.shared::cluster{{.*}}[$0]{{.*}} %[[X]], %[[UNIT]], %[[BACK]], %c0_i32
// CHECK: %[[MINE:.*]] = arith.andi %{{.*}} : i1
// CHECK: %[[OWN:.*]] = arith.muli %{{.*}}, %c64_i32
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[OWN]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi sge, %[[FIRST]], %c0_i32
// CHECK: %[[STORED:.*]] = arith.andi %[[MINE]], %[[EXISTS]]
// CHECK: "@$2 cp.async.bulk.tensor.5d.global{{.*}} %[[STORED]],
tile.func @front(%x: !tile.view<?x?x64xf16>, %n: index,
                 %m: !tile.tensor_map<128x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [1, 2], tile.map_slices},
                 %out: !tile.tensor_map<64x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [1, 2], tile.map_slices}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %early = arith.subi %t, %c64 : index
  %r = tile.ring : !tile.ring<1 x 128x64xf16, #sw>
  %full = tile.barriers arrivals(1) : !tile.barriers<1>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 128x64xf16, #sw> -> !tile.slot<128x64xf16, #sw>
  %part = tile.slice %x dim 1 from %n size %n front : !tile.view<?x?x64xf16> -> !tile.view<?x?x64xf16>
  tile.copy %part[%c0, %early, %c0] dims [1, 2] to %s copy(tma) signal %full[%c0] map(%m) : !tile.view<?x?x64xf16>, !tile.slot<128x64xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<128x64xf16, #sw>
  tile.bulk_store %s to %part[%c0, %early, %c0] dims [1, 2] rows(64) map(%out) : !tile.slot<128x64xf16, #sw>, !tile.view<?x?x64xf16>, !tile.tensor_map<64x64xf16, #sw>
  tile.copy_out_wait
  tile.return
}
