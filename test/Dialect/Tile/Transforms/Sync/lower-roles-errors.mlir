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
