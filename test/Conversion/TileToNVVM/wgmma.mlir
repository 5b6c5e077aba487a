// Asynchronous products.
// RUN: fa-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s

#a = #tile.swizzle<128>
#b = #tile.swizzle<64>

// a, of 2 warpgroups' rows, and b from shared memory, both summed over columns. The
// accumulator is zero: the first instruction only writes it. Panels of 128 bytes: from
// step 3 to 4 to the next one, 128 rows further for a; of 64 bytes for b: after each 2.
// CHECK-LABEL: llvm.func @columns
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: %[[GROUP:.*]] = arith.shrui %[[WARP]], %{{.*}} : i32
// CHECK: arith.muli %[[GROUP]], %c8192
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: setp.ne.b32 first, 0, 0;
// CHECK-SAME: wgmma.fence.sync.aligned;
// CHECK-SAME: mov.b64 startb, {$8, -2147483616};
// CHECK-SAME: add.s32 low, $9, 0;\0Amov.b64 da, {low, 1073741888};\0Aadd.s64 db, startb, 0;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, da, db, first, 1, 1, 0, 0;
// CHECK-SAME: add.s32 low, $9, 2;
// CHECK-SAME: add.s64 db, startb, 2;
// CHECK-SAME: da, db, 1, 1, 1, 0, 0;
// CHECK-SAME: add.s32 low, $9, 4;
// CHECK-SAME: add.s64 db, startb, 64;
// CHECK-SAME: add.s32 low, $9, 6;
// CHECK-SAME: add.s64 db, startb, 66;
// CHECK-SAME: add.s32 low, $9, 1024;
// CHECK-SAME: add.s64 db, startb, 128;
// CHECK-SAME: wgmma.commit_group.sync.aligned;
// CHECK-SAME: "=&f,=&f,=&f,=&f,=&f,=&f,=&f,=&f,r,r,~{memory}"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,~{memory}"
#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
tile.func @columns(%out: !tile.view<?x16xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ra = tile.ring : !tile.ring<1 x 128x128xbf16, #a>
  %rb = tile.ring : !tile.ring<1 x 16x128xbf16, #b>
  %x = tile.slot_at %ra[%c0] : !tile.ring<1 x 128x128xbf16, #a> -> !tile.slot<128x128xbf16, #a>
  %y = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x128xbf16, #b> -> !tile.slot<16x128xbf16, #b>
  %z = tile.broadcast %zero : f32 -> tensor<128x16xf32, #s>
  %p = tile.dot_start %x, %y, %z transpose_b : !tile.slot<128x128xbf16, #a>, !tile.slot<16x128xbf16, #b>, tensor<128x16xf32, #s> -> !tile.pending<tensor<128x16xf32, #s>>
  %s = tile.await %p : !tile.pending<tensor<128x16xf32, #s>> -> tensor<128x16xf32, #s>
  tile.store %s, %out[%i, %c0] dims [0, 1] : tensor<128x16xf32, #s>, !tile.view<?x16xf32>
  tile.return
}

// -----

// a in registers, b summed over rows: 16 rows of 128 bytes a step, and the next panel
// (columns that are not summed over) is in the descriptor. The accumulator is
// carried by the loop, a in pairs of halves. The first of two awaits leaves one group
// on its way.
// CHECK-LABEL: llvm.func @rows
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[PAIRS:.*]] = %{{.*}}) -> (vector<64xf32>, vector<8xi32>)
// CHECK: vector.bitcast %[[PAIRS]] : vector<8xi32> to vector<16xf16>
// CHECK: arith.constant 16777216 : i32
// CHECK: arith.ori
// CHECK: llvm.inline_asm has_side_effects
// CHECK-NOT: setp
// CHECK-SAME: m64n128k16.f32.f16.f16 {$0, {{.*}}, $63}, {$65, $66, $67, $68}, db, 1, 1, 1, 1;\0Aadd.s64 db, startb, 128;
// CHECK-SAME: {$69, $70, $71, $72}, db, 1, 1, 1, 1;
// CHECK-SAME: =f,r,r,r,r,r,r,r,r,r,0,1,2
// CHECK: m64n128k16
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: nvvm.convert.f32x2.to.f16x2
// CHECK: scf.yield %{{.*}}, %{{.*}} : vector<64xf32>, vector<8xi32>
#sw = #tile.swizzle<128>
#o = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#p = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @rows(%in: !tile.view<?x32xf16>, %out: !tile.view<?x128xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %ring = tile.ring : !tile.ring<1 x 32x128xf16, #sw>
  %y = tile.slot_at %ring[%c0] : !tile.ring<1 x 32x128xf16, #sw> -> !tile.slot<32x128xf16, #sw>
  %z = tile.broadcast %zero : f32 -> tensor<64x128xf32, #o>
  %a0 = tile.load %in[%i, %c0] dims [0, 1] : !tile.view<?x32xf16> -> tensor<64x32xf16, #p>
  %r:2 = scf.for %j = %c0 to %c9 step %c1 iter_args(%acc = %z, %a = %a0) -> (tensor<64x128xf32, #o>, tensor<64x32xf16, #p>) {
    %p = tile.dot_start %a, %y, %acc : tensor<64x32xf16, #p>, !tile.slot<32x128xf16, #sw>, tensor<64x128xf32, #o> -> !tile.pending<tensor<64x128xf32, #o>>
    %q = tile.dot_start %a, %y, %z : tensor<64x32xf16, #p>, !tile.slot<32x128xf16, #sw>, tensor<64x128xf32, #o> -> !tile.pending<tensor<64x128xf32, #o>>
    %s = tile.await %p : !tile.pending<tensor<64x128xf32, #o>> -> tensor<64x128xf32, #o>
    %t = tile.await %q : !tile.pending<tensor<64x128xf32, #o>> -> tensor<64x128xf32, #o>
    %u = arith.addf %s, %t : tensor<64x128xf32, #o>
    %w = arith.extf %a : tensor<64x32xf16, #p> to tensor<64x32xf32, #p>
    %w2 = arith.addf %w, %w : tensor<64x32xf32, #p>
    %b = arith.truncf %w2 to_nearest_even : tensor<64x32xf32, #p> to tensor<64x32xf16, #p>
    scf.yield %u, %b : tensor<64x128xf32, #o>, tensor<64x32xf16, #p>
  }
  tile.store %r#0, %out[%i, %c0] dims [0, 1] : tensor<64x128xf32, #o>, !tile.view<?x128xf32>
  tile.return
}

// -----

// What threads write for products to read is handed over: by its writer, before the
// barrier that says that it is there. 2 blocks of 64 rows for one warpgroup are one group.
// CHECK-LABEL: llvm.func @written
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: fence.proxy.async.shared::cta;
// CHECK-NEXT: nvvm.barrier
// CHECK: wgmma.fence
// CHECK-NOT: commit_group
// CHECK: llvm.inline_asm
// CHECK-NOT: wgmma.fence
// CHECK-SAME: add.s32 low, {{[$]}}5, 512;
// CHECK-SAME: commit_group
#sw = #tile.swizzle<128>
#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 64, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @written(%in: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x8xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ra = tile.ring : !tile.ring<1 x 128x64xf16, #sw>
  %rb = tile.ring : !tile.ring<1 x 8x64xf16, #sw>
  %x = tile.slot_at %ra[%c0] : !tile.ring<1 x 128x64xf16, #sw> -> !tile.slot<128x64xf16, #sw>
  %y = tile.slot_at %rb[%c0] : !tile.ring<1 x 8x64xf16, #sw> -> !tile.slot<8x64xf16, #sw>
  tile.copy %in[%i, %c0] dims [0, 1] to %x copy(cp_async) : !tile.view<?x64xf16>, !tile.slot<128x64xf16, #sw>
  tile.copy %in[%i, %c0] dims [0, 1] to %y copy(cp_async) : !tile.view<?x64xf16>, !tile.slot<8x64xf16, #sw>
  tile.copy_commit
  tile.copy_wait 0
  tile.fence_async
  tile.barrier
  %z = tile.broadcast %zero : f32 -> tensor<128x8xf32, #s>
  %p = tile.dot_start %x, %y, %z transpose_b : !tile.slot<128x64xf16, #sw>, !tile.slot<8x64xf16, #sw>, tensor<128x8xf32, #s> -> !tile.pending<tensor<128x8xf32, #s>>
  %s = tile.await %p : !tile.pending<tensor<128x8xf32, #s>> -> tensor<128x8xf32, #s>
  tile.store %s, %out[%i, %c0] dims [0, 1] : tensor<128x8xf32, #s>, !tile.view<?x8xf32>
  tile.return
}

// -----

// a transposed, summed over its rows, and warpgroups that have its columns as rows: a panel of 64
// for each, 16 rows of 128 bytes a step.
// CHECK-LABEL: llvm.func @transposed
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: %[[GROUP:.*]] = arith.shrui %[[WARP]], %{{.*}} : i32
// CHECK: arith.muli %[[GROUP]], %c4096
// CHECK: arith.constant 16777216 : i32
// CHECK: arith.ori
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: add.s32 low, $33, 0;\0Amov.b64 da, {low, 1073741888};
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{.*}}}, da, db, first, 1, 1, 1, 1;
// CHECK-SAME: add.s32 low, $33, 128;
// CHECK-SAME: da, db, 1, 1, 1, 1, 1;
#a = #tile.swizzle<128>
#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
tile.func @transposed(%out: !tile.view<?x64xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ra = tile.ring : !tile.ring<1 x 32x128xbf16, #a>
  %rb = tile.ring : !tile.ring<1 x 32x64xbf16, #a>
  %x = tile.slot_at %ra[%c0] : !tile.ring<1 x 32x128xbf16, #a> -> !tile.slot<32x128xbf16, #a>
  %y = tile.slot_at %rb[%c0] : !tile.ring<1 x 32x64xbf16, #a> -> !tile.slot<32x64xbf16, #a>
  %z = tile.broadcast %zero : f32 -> tensor<128x64xf32, #s>
  %p = tile.dot_start %x, %y, %z transpose_a : !tile.slot<32x128xbf16, #a>, !tile.slot<32x64xbf16, #a>, tensor<128x64xf32, #s> -> !tile.pending<tensor<128x64xf32, #s>>
  %o = tile.await %p : !tile.pending<tensor<128x64xf32, #s>> -> tensor<128x64xf32, #s>
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<128x64xf32, #s>, !tile.view<?x64xf32>
  tile.return
}

// -----

// Warpgroups of the same 64 rows, of which each has 64 columns: a panel of b, 32 rows of 128 bytes
// on. All of them read a from its start.
// CHECK-LABEL: llvm.func @beside
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: %[[GROUP:.*]] = arith.shrui %[[WARP]], %{{.*}} : i32
// CHECK: arith.muli %[[GROUP]], %c4096
// CHECK-NOT: arith.muli
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{{.*}}}, da, db, first, 1, 1, 1, 1;
#a = #tile.swizzle<128>
#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0), (2, 0, 64)]>
tile.func @beside(%out: !tile.view<?x128xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ra = tile.ring : !tile.ring<1 x 32x64xbf16, #a>
  %rb = tile.ring : !tile.ring<1 x 32x128xbf16, #a>
  %x = tile.slot_at %ra[%c0] : !tile.ring<1 x 32x64xbf16, #a> -> !tile.slot<32x64xbf16, #a>
  %y = tile.slot_at %rb[%c0] : !tile.ring<1 x 32x128xbf16, #a> -> !tile.slot<32x128xbf16, #a>
  %z = tile.broadcast %zero : f32 -> tensor<64x128xf32, #s>
  %p = tile.dot_start %x, %y, %z transpose_a : !tile.slot<32x64xbf16, #a>, !tile.slot<32x128xbf16, #a>, tensor<64x128xf32, #s> -> !tile.pending<tensor<64x128xf32, #s>>
  %o = tile.await %p : !tile.pending<tensor<64x128xf32, #s>> -> tensor<64x128xf32, #s>
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x128xf32, #s>, !tile.view<?x128xf32>
  tile.return
}

// -----

// The same of b's only panel: each has 32 columns of it, the second from 64 bytes on.
// CHECK-LABEL: llvm.func @part_of_a_panel
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: %[[GROUP:.*]] = arith.shrui %[[WARP]], %{{.*}} : i32
// CHECK: arith.muli %[[GROUP]], %c64_i32
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: m64n32k16.f32.bf16.bf16 {{{.*}}}, da, db, first, 1, 1, 1, 1;
#a = #tile.swizzle<128>
#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0), (2, 0, 32)]>
tile.func @part_of_a_panel(%out: !tile.view<?x64xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ra = tile.ring : !tile.ring<1 x 32x64xbf16, #a>
  %rb = tile.ring : !tile.ring<1 x 32x64xbf16, #a>
  %x = tile.slot_at %ra[%c0] : !tile.ring<1 x 32x64xbf16, #a> -> !tile.slot<32x64xbf16, #a>
  %y = tile.slot_at %rb[%c0] : !tile.ring<1 x 32x64xbf16, #a> -> !tile.slot<32x64xbf16, #a>
  %z = tile.broadcast %zero : f32 -> tensor<64x64xf32, #s>
  %p = tile.dot_start %x, %y, %z transpose_a : !tile.slot<32x64xbf16, #a>, !tile.slot<32x64xbf16, #a>, tensor<64x64xf32, #s> -> !tile.pending<tensor<64x64xf32, #s>>
  %o = tile.await %p : !tile.pending<tensor<64x64xf32, #s>> -> tensor<64x64xf32, #s>
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x64xf32, #s>, !tile.view<?x64xf32>
  tile.return
}
