// RUN: fa-opt %s --tile-double-staging=shared-limit=40960 --remarks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-double-staging=shared-limit=40960 --tile-lower-rings --split-input-file | FileCheck %s --check-prefix=LOWER

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>

// A loop's ring gets a second slot; a warp waits for its reduction of two tiles before. One that is used once does not.
// CHECK-LABEL: tile.func @twice
// CHECK: tile.ring : <2 x 4096xf32, #tile.swizzle<128>>
// CHECK: tile.ring : <1 x 1024xf32, #tile.swizzle<128>>
// LOWER-LABEL: tile.func @twice
// LOWER: scf.for {{.*}} iter_args(%[[N:.*]] = %{{.*}}) -> (index)
// LOWER:   %[[SLOT:.*]] = tile.slot_at %{{.*}}[%[[N]]] : <2 x 4096xf32
// LOWER:   tile.bulk_accumulate_wait pending(1)
// LOWER-NEXT: tile.write %{{.*}}, %[[SLOT]] order(#order)
// LOWER-NEXT: tile.fence_async
// LOWER-NEXT: tile.bulk_accumulate %[[SLOT]]
// LOWER: tile.bulk_accumulate_wait{{$}}
// LOWER: tile.bulk_accumulate_wait written
tile.func @twice(%y: !tile.view<?x64xf32, #order>, %z: !tile.view<?x16xf32, #order>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  // expected-remark @+1 {{additions of 4096xf32 go through two slots}}
  %r = tile.ring : !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  %s = tile.ring : !tile.ring<1 x 1024xf32, #tile.swizzle<128>>
  %v = arith.constant dense<1.0> : tensor<64x64xf32, #acc>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %t step %c1 {
    %at = arith.muli %i, %c64 : index
    tile.accumulate %v, %y[%at, %c0] dims [0, 1] through(%r) : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>, !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  }
  %w = arith.constant dense<1.0> : tensor<64x16xf32, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>
  tile.accumulate %w, %z[%c0, %c0] dims [0, 1] through(%s) : tensor<64x16xf32, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>, !tile.view<?x16xf32, #order>, !tile.ring<1 x 1024xf32, #tile.swizzle<128>>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>

// CHECK-LABEL: tile.func @full
// CHECK: tile.ring : <1 x 4096xf32, #tile.swizzle<128>>
tile.func @full(%y: !tile.view<?x64xf32, #order>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %other = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  // expected-remark @+1 {{additions of 4096xf32 go through one slot", Reason="a second one would make 41728 bytes, and the limit is 40960}}
  %r = tile.ring : !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  %v = arith.constant dense<1.0> : tensor<64x64xf32, #acc>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %t step %c1 {
    tile.accumulate %v, %y[%c0, %c0] dims [0, 1] through(%r) : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>, !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  }
  tile.return
}
