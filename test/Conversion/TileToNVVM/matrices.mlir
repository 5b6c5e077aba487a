// Tiles of 2-byte elements from shared memory, 16 x 16 elements at once, beside asynchronous products.
// RUN: fa-opt %s --convert-tile-to-nvvm | FileCheck %s

#sw = #tile.swizzle<128>
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (10, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#turned = #tile.frag<reg = [(2, 1, 0), (2, 0, 8), (4, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 16)]>
#small = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// As accumulators have it: the last 16 columns begin another panel, of 64 rows of 128 bytes.
// CHECK-LABEL: llvm.func @read
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+0];
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+8192];
// CHECK-NOT: ld.shared

// Transposed: a warp has 16 columns, of all 32 rows.
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4+0];
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4+2048];
// CHECK-NOT: ldmatrix
// CHECK-NOT: ld.shared
tile.func @read(%out: !tile.view<?x80xf16>, %too: !tile.view<?x32xf16>, %x: !tile.view<?x64xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64, tile.shared_bytes = 49152 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %r = tile.ring : !tile.ring<1 x 64x80xf16, #sw>
  %q = tile.ring : !tile.ring<1 x 32x64xf16, #sw>
  %w = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x80xf16, #sw> -> !tile.slot<64x80xf16, #sw>
  %t = tile.slot_at %q[%c0] : !tile.ring<1 x 32x64xf16, #sw> -> !tile.slot<32x64xf16, #sw>
  %u = tile.slot_at %w[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  %a = tile.read %s : !tile.slot<64x80xf16, #sw> -> tensor<64x80xf16, #acc>
  tile.store %a, %out[%c0, %c0] dims [0, 1] : tensor<64x80xf16, #acc>, !tile.view<?x80xf16>
  %b = tile.read %t : !tile.slot<32x64xf16, #sw> -> tensor<32x64xf16, #turned>
  %c = tile.transpose %b : tensor<32x64xf16, #turned> -> tensor<64x32xf16, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>
  tile.store %c, %too[%c0, %c0] dims [0, 1] : tensor<64x32xf16, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>, !tile.view<?x32xf16>
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #small>
  %p = tile.dot_start %u, %u, %acc transpose_b : !tile.slot<64x64xf16, #sw>, !tile.slot<64x64xf16, #sw>, tensor<64x64xf32, #small> -> !tile.pending<tensor<64x64xf32, #small>>
  %d = tile.await %p : !tile.pending<tensor<64x64xf32, #small>> -> tensor<64x64xf32, #small>
  tile.store %d, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #small>, !tile.view<?x64xf32>
  tile.return
}
