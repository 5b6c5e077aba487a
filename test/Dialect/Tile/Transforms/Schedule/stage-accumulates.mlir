// RUN: fa-opt %s --tile-stage-accumulates=shared-limit=40960 --remarks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-stage-accumulates=shared-limit=40960 --tile-lower-rings --split-input-file | FileCheck %s --check-prefix=LOWER

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#beside = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 32)]>
#twice = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>

// Tiles of one size share a slot, for a warp waits for its own reductions. Others have one of their own.
// CHECK-LABEL: tile.func @staged
// CHECK: %[[R:.*]] = tile.ring : <1 x 4096xf32, #tile.swizzle<128>>
// CHECK-NEXT: %[[S:.*]] = tile.ring : <1 x 2048xf32, #tile.swizzle<128>>
// CHECK: tile.accumulate %{{.*}} dims [0, 1] through(%[[R]])
// CHECK: tile.accumulate %{{.*}} dims [0, 1] through(%[[R]])
// CHECK: tile.accumulate %{{.*}} dims [0, 1] through(%[[S]])
// CHECK-NOT: through

// Each warp waits until it may write, and goes on; it ends when all is in memory.
// LOWER-LABEL: tile.func @staged
// LOWER-SAME: tile.shared_bytes = 24576
// LOWER: scf.for
// LOWER:   %[[SLOT:.*]] = tile.slot_at %{{.*}}[%{{.*}}] : <1 x 4096xf32
// LOWER-NEXT: tile.bulk_accumulate_wait{{$}}
// LOWER-NEXT: tile.write %{{.*}}, %[[SLOT]] order(#order)
// LOWER-NEXT: tile.fence_async
// LOWER-NEXT: tile.bulk_accumulate %[[SLOT]] to %{{.*}} dims [0, 1] tile(tensor<64x64xf32, #{{.*}}>)
// LOWER: tile.accumulate
// LOWER-NOT: tile.barrier
// LOWER: tile.bulk_accumulate_wait written
// LOWER-NEXT: tile.return
tile.func @staged(%x: !tile.view<?x64xf32>, %y: !tile.view<?x64xf32, #order>, %flat: !tile.view<?x64xf32>, %narrow: !tile.view<?x32xf32, #order>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c16 = arith.constant 16 : index
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32, #acc>
  %w = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32, #beside>
  %u = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32, #twice>
  scf.for %i = %c0 to %t step %c1 {
    %at = arith.muli %i, %c64 : index
    // expected-remark @+1 {{added to memory by a bulk reduction of each warp}}
    tile.accumulate %v, %y[%at, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>
    // expected-remark @+1 {{added to memory by a bulk reduction of each warp}}
    tile.accumulate %v, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>
    // expected-remark @+1 {{added to memory by a bulk reduction of each warp}}
    tile.accumulate %w, %y[%at, %c0] dims [0, 1] : tensor<32x64xf32, #beside>, !tile.view<?x64xf32, #order>
    // expected-remark @+1 {{memory lies row by row}}
    tile.accumulate %v, %flat[%at, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
    // expected-remark @+1 {{what a warp has of the tile is not contiguous}}
    tile.accumulate %u, %y[%at, %c0] dims [0, 1] : tensor<32x64xf32, #twice>, !tile.view<?x64xf32, #order>
    // expected-remark @+1 {{what a warp has of the tile is not contiguous}}
    tile.accumulate %v, %narrow[%at, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x32xf32, #order>
    // expected-remark @+1 {{its columns may be out of range}}
    tile.accumulate %v, %y[%at, %c16] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>
  }
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>

// Where other rings take it all, registers are added.
// CHECK-LABEL: tile.func @full
// CHECK-NOT: through
// LOWER-LABEL: tile.func @full
// LOWER-NOT: bulk_accumulate
tile.func @full(%x: !tile.view<?x64xf32>, %y: !tile.view<?x64xf32, #order>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<3 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32, #acc>
  // expected-remark @+1 {{its slot would make 41472 bytes of shared memory, and the limit is 40960}}
  tile.accumulate %v, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>
  tile.return
}
