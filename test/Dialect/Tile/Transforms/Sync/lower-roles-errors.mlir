// RUN: fa-opt %s --tile-lower-rings --split-input-file --verify-diagnostics

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @copy_out_without_roles(%x: !tile.view<?x64xf16>, %t: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f16
  %v = tile.broadcast %z : f16 -> tensor<64x64xf16>
  tile.put_value %r, %v : !ring, tensor<64x64xf16>
  %s = tile.get %r : !ring -> !slot
  // expected-error @+1 {{stands outside of a tile.role, expected in one of whole warpgroups; move it into a role, or use tile.store}}
  tile.bulk_store %s to %x[%c0, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
  tile.release %s : !slot
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @two_warps(%x: !tile.view<?x64xf16>, %t: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 2 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f16
  tile.roles {
    tile.role "all" warps(2) registers(0) {
      %v = tile.broadcast %z : f16 -> tensor<64x64xf16>
      tile.put_value %r, %v : !ring, tensor<64x64xf16>
      %s = tile.get %r : !ring -> !slot
      // expected-error @+1 {{stands in a role of 2 warps, which are no whole warpgroups; use tile.store}}
      tile.bulk_store %s to %x[%c0, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
      tile.release %s : !slot
    }
  }
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!sums = !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
!out = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @ring_c4_added(%x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf32, #order>, %t: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %sums = tile.ring : !sums
  %r = tile.ring in(%sums at 0 : !sums) : !out
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f16
  tile.roles {
    tile.role "all" warps(4) registers(0) {
      %a = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
      %v = tile.broadcast %z : f16 -> tensor<64x64xf16>
      tile.put_value %r, %v : !out, tensor<64x64xf16>
      %s = tile.get %r : !out -> !slot
      tile.bulk_store %s to %x[%c0, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
      tile.release %s : !slot
      // expected-error @+1 {{(ring_c4) adds through a ring in which another one lies, but not before that is put in its block; give that its own memory}}
      tile.accumulate %a, %y[%c0, %c0] dims [0, 1] through(%sums) : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>, !sums
    }
  }
  tile.return
}

// -----

!sums = !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
!out = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>

tile.func @ring_c4(%x: !tile.view<?x64xf16>, %t: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %sums = tile.ring : !sums
  // expected-error @+1 {{(ring_c4) lies in another ring, which warps without roles do not share by turns; give it its own memory}}
  %r = tile.ring in(%sums at 0 : !sums) : !out
  tile.return
}
