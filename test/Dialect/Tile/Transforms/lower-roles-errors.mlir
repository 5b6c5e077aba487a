// RUN: fa-opt %s --tile-lower-rings --split-input-file --verify-diagnostics

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @roles(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        // expected-error @+1 {{fills a ring in a program with roles, which needs copy(tma)}}
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}
