// RUN: fa-opt %s --tile-verify-rings --split-input-file --verify-diagnostics

// Roles that agree.
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @agree(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.pingpong_wait %turn : !tile.pingpong<2>
        tile.pingpong_arrive %turn : !tile.pingpong<2>
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @other_bounds(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // expected-note @+1 {{in the other role}}
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-error @+1 {{(get_c2) has other bounds than the loop that fills its rings: the lower bound differs; compute it from the same values in both roles, or send it through a ring}}
      scf.for %j = %c64 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @not_read(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  // expected-note @+1 {{in the other role}}
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // expected-error @+1 {{(get_c2) fills a ring that the other role does not read here}}
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @other_tree(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // expected-note @+1 {{in the other role}}
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-error @+1 {{(get_c2) reads a ring by other loops and ifs than it is filled by: here 'scf.for', there 'tile.put'; give both roles the same}}
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @two_fill(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        // expected-note @+1 {{the other role}}
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-error @+1 {{(get_c2) fills a ring that another role fills; give each role a ring of its own}}
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @holds_too_many(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        %c = tile.get %r : !ring -> !slot
        // expected-error @+1 {{(get_c2) holds all 2 slots of the ring already; release one before}}
        %d = tile.get %r : !ring -> !slot
        tile.release %b : !slot
        tile.release %c : !slot
        tile.release %d : !slot
      }
    }
  }
  tile.return
}

// -----

// Rings of two slots: the third tile of one waits for a reader who waits for the
// other.
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @crossed(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %q = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      // expected-error @+1 {{(get_c2) waits for ever in role "load", where loops run 0 times; let one of the roles access its rings in another order}}
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      tile.put %q, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-note @+1 {{role "compute" waits here}}
      %b = tile.get %q : !ring -> !slot
      tile.release %b : !slot
      %c = tile.get %r : !ring -> !slot
      tile.release %c : !slot
      %d = tile.get %r : !ring -> !slot
      tile.release %d : !slot
      %e = tile.get %r : !ring -> !slot
      tile.release %e : !slot
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @pingpong_wait_c2_twice_taken(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
      tile.pingpong_wait %turn : !tile.pingpong<2>
      // expected-error @+1 {{(pingpong_wait_c2) takes a turn that it has; pass it on before}}
      tile.pingpong_wait %turn : !tile.pingpong<2>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @pingpong_wait_c2_kept(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    // expected-error @+1 {{(pingpong_wait_c2) keeps a turn in the end}}
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
      tile.pingpong_wait %turn : !tile.pingpong<2>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @pingpong_wait_c2_passed_only(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
      // expected-error @+1 {{(pingpong_wait_c2) passes on a turn that was not taken}}
      tile.pingpong_arrive %turn : !tile.pingpong<2>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @pingpong_wait_c2_taken_in_a_branch(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
      tile.pingpong_wait %turn : !tile.pingpong<2>
      // expected-error @+1 {{(pingpong_wait_c2) does not leave a turn as it finds it}}
      scf.if %p {
        tile.pingpong_arrive %turn : !tile.pingpong<2>
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @not_released(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-error @+1 {{(get_c2) does not leave a ring as it finds it}}
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
      }
    }
  }
  tile.return
}

// -----

// Loops that end by other numbers than those that were sent.
!ring = !tile.ring<2 x 1xi32, #tile.swizzle<32>>
!slot = !tile.slot<1xi32, #tile.swizzle<32>>
tile.func @other_condition(%n: i32, %one: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // expected-note @+1 {{in the other role}}
      scf.while (%i = %one) : (i32) -> i32 {
        tile.put_value %r, %i : !ring, i32
        %more = arith.cmpi ult, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %one : i32
        scf.yield %next : i32
      }
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-error @+1 {{(get_c2) has another condition than the loop that fills its rings; compute it from the same values in both roles, or send it through a ring}}
      scf.while : () -> i32 {
        %s = tile.get %r : !ring -> !slot
        %i = tile.read %s : !slot -> i32
        tile.release %s : !slot
        %more = arith.cmpi ule, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        scf.yield
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 1xi32, #tile.swizzle<32>>
!slot = !tile.slot<1xi32, #tile.swizzle<32>>
tile.func @keeps(%n: i32, %one: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      tile.put_value %r, %one : !ring, i32
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-error @+1 {{(get_c2) does not leave a ring as it finds it: before an iteration 0 put and not got, 0 got and not released, after it 0 put and not got, 1 got and not released}}
      scf.while : () -> i32 {
        %s = tile.get %r : !ring -> !slot
        %i = tile.read %s : !slot -> i32
        %more = arith.cmpi ule, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        scf.yield
      }
    }
  }
  tile.return
}

// -----

// A loop that receives the next number before it ends may be filled by one that sends it first.
!ring = !tile.ring<2 x 1xi32, #tile.swizzle<32>>
!slot = !tile.slot<1xi32, #tile.swizzle<32>>
tile.func @early(%n: i32, %one: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.while (%i = %one) : (i32) -> i32 {
        tile.put_value %r, %i : !ring, i32
        %low = arith.andi %i, %n : i32
        %more = arith.cmpi ne, %low, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %one : i32
        scf.yield %next : i32
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %s = tile.get %r : !ring -> !slot
      %i = tile.read %s : !slot -> i32
      tile.release %s : !slot
      %low = arith.andi %i, %n : i32
      scf.while (%k = %low) : (i32) -> i32 {
        %more = arith.cmpi ne, %k, %n : i32
        scf.condition(%more) %k : i32
      } do {
      ^bb0(%k: i32):
        %s1 = tile.get %r : !ring -> !slot
        %i1 = tile.read %s1 : !slot -> i32
        tile.release %s1 : !slot
        %low1 = arith.andi %i1, %n : i32
        scf.yield %low1 : i32
      }
    }
  }
  tile.return
}

// -----

// What it goes on with is another number.
!ring = !tile.ring<2 x 1xi32, #tile.swizzle<32>>
!slot = !tile.slot<1xi32, #tile.swizzle<32>>
tile.func @early_other(%n: i32, %one: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // expected-note @+1 {{in the other role}}
      scf.while (%i = %one) : (i32) -> i32 {
        tile.put_value %r, %i : !ring, i32
        %low = arith.andi %i, %n : i32
        %more = arith.cmpi ne, %low, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %one : i32
        scf.yield %next : i32
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %s = tile.get %r : !ring -> !slot
      %i = tile.read %s : !slot -> i32
      tile.release %s : !slot
      // expected-error @+1 {{(get_c2) has another condition than the loop that fills its rings}}
      scf.while (%k = %i) : (i32) -> i32 {
        %more = arith.cmpi ne, %k, %n : i32
        scf.condition(%more) %k : i32
      } do {
      ^bb0(%k: i32):
        %s1 = tile.get %r : !ring -> !slot
        %i1 = tile.read %s1 : !slot -> i32
        tile.release %s1 : !slot
        scf.yield %i1 : i32
      }
    }
  }
  tile.return
}

// -----

// It receives none at the end of an iteration.
!ring = !tile.ring<2 x 1xi32, #tile.swizzle<32>>
!slot = !tile.slot<1xi32, #tile.swizzle<32>>
tile.func @early_none(%n: i32, %one: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  // expected-note @+1 {{in the other role}}
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // expected-error @+1 {{(get_c2) fills a ring that the other role does not read here}}
      scf.while (%i = %one) : (i32) -> i32 {
        tile.put_value %r, %i : !ring, i32
        %more = arith.cmpi ne, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %one : i32
        scf.yield %next : i32
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %s = tile.get %r : !ring -> !slot
      %i = tile.read %s : !slot -> i32
      tile.release %s : !slot
      scf.while (%k = %i) : (i32) -> i32 {
        %more = arith.cmpi ne, %k, %n : i32
        scf.condition(%more) %k : i32
      } do {
      ^bb0(%k: i32):
        scf.yield %k : i32
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// Of bounds of their own the other role has the whole bounds.
tile.func @warpgroup_bounds(%x: !tile.view<?x64xf16>, %n: index, %first: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %b, %e = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %n)
      scf.for %j = %b to %e step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @warpgroup_bounds_c1(%x: !tile.view<?x64xf16>, %n: index, %first: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %b, %e = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %n)
      // expected-error @+1 {{(warpgroup_bounds_c1) stands once in a role}}
      %c, %d = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %n)
      scf.for %j = %b to %e step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @warpgroup_bounds_c1_inside(%x: !tile.view<?x64xf16>, %n: index, %first: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.if %p {
        // expected-error @+1 {{(warpgroup_bounds_c1) stands in what a role runs, or its outer loop does; move it out of the 'scf.if'}}
        %b, %e = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %n)
      }
      scf.for %j = %c0 to %n step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @warpgroup_bounds_c1_filling(%x: !tile.view<?x64xf16>, %n: index, %first: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // expected-error @+1 {{(warpgroup_bounds_c1) stands in a role that fills rings, for all warpgroups; use the whole bounds there}}
      %b, %e = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %n)
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @warpgroup_bounds_c3(%x: !tile.view<?x64xf16>, %n: index, %first: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-error @+1 {{(warpgroup_bounds_c3) does not say up to where all warpgroups run, which take turns; add all(...)}}
      %b, %e = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %n)
      scf.for %j = %b to %e step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.pingpong_wait %turn : !tile.pingpong<2>
        tile.pingpong_arrive %turn : !tile.pingpong<2>
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @warpgroup_bounds_c2(%x: !tile.view<?x64xf16>, %n: index, %first: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      // expected-note @+1 {{these}}
      %b, %e = tile.warpgroup_bounds %c0 to %n step %c128 own(%first to %n)
      // expected-error @+1 {{(warpgroup_bounds_c2) gets in other steps than those that warpgroups have of their own}}
      scf.for %j = %b to %e step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
tile.func @two_readers(%x: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring readers(2) : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "left" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
    }
    tile.role "right" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r reader(1) : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
tile.func @forgotten_reader(%x: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  // expected-note @+1 {{in the other role}}
  %r = tile.ring readers(2) : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      // expected-error @+1 {{(get_c2) fills a ring that reader 1 does not read here}}
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
tile.func @put_c5(%x: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      // expected-note @+1 {{elsewhere}}
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      // expected-error @+1 {{(put_c5) fills a ring by warps, which is filled otherwise elsewhere; give each way of filling a ring of its own}}
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(ld_st) : !ring, !tile.view<?x64xf16>
    }
    tile.role "compute" warps(4) registers(0) {
      %b = tile.get %r : !ring -> !slot
      tile.release %b : !slot
      %c = tile.get %r : !ring -> !slot
      tile.release %c : !slot
    }
  }
  tile.return
}

// -----

// A role that reads the tile twice, the second time only after the next one, which waits for that.
!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
tile.func @second_reader_is_late(%x: !tile.view<?x64xf16>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring readers(2) : !ring
  %c0 = arith.constant 0 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      // expected-error @+1 {{(get_c2) waits for ever in role "load", where loops run 0 times}}
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    }
    tile.role "compute" warps(4) registers(0) {
      %a = tile.get %r : !ring -> !slot
      tile.release %a : !slot
      // expected-note @+1 {{role "compute" waits here}}
      %b = tile.get %r : !ring -> !slot
      tile.release %b : !slot
      %c = tile.get %r reader(1) : !ring -> !slot
      tile.release %c : !slot
      %d = tile.get %r reader(1) : !ring -> !slot
      tile.release %d : !slot
    }
  }
  tile.return
}

// -----

// One role computes in its loop what the other carries, an iteration ahead.
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @computed_ahead(%x: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %i = %c0 to %n step %c1 {
        %rest = arith.remsi %i, %c7 : index
        %some = arith.cmpi sgt, %rest, %c1 : index
        scf.if %some {
          tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
        }
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %first = arith.remsi %c0, %c7 : index
      scf.for %i = %c0 to %n step %c1 iter_args(%rest = %first) -> (index) {
        %some = arith.cmpi sgt, %rest, %c1 : index
        scf.if %some {
          %b = tile.get %r : !ring -> !slot
          tile.release %b : !slot
        }
        %ahead = arith.addi %i, %c1 : index
        %next = arith.remsi %ahead, %c7 : index
        scf.yield %next : index
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @never_goes_on(%x: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %i = %c0 to %n step %c1 {
        %rest = arith.remsi %i, %c7 : index
        %some = arith.cmpi sgt, %rest, %c1 : index
        // expected-note @+1 {{in the other role}}
        scf.if %some {
          tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
        }
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %first = arith.remsi %c0, %c7 : index
      scf.for %i = %c0 to %n step %c1 iter_args(%rest = %first) -> (index) {
        %some = arith.cmpi sgt, %rest, %c1 : index
        // expected-error @+1 {{(get_c2) has another condition than the if that fills its rings}}
        scf.if %some {
          %b = tile.get %r : !ring -> !slot
          tile.release %b : !slot
        }
        %next = arith.divsi %rest, %c7 : index
        scf.yield %next : index
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

tile.func @warpgroup_bounds_c1_meeting(%x: !tile.view<?x64xf16>, %n: index, %first: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
    }
    tile.role "compute" warps(8) registers(240) {
      %v = arith.constant dense<0.0> : tensor<64x64xf16>
      // expected-error @+1 {{(warpgroup_bounds_c1) stands in a role whose warps fill a ring for themselves in a loop, where they wait for each other; use the whole bounds there}}
      %b, %e = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %n)
      scf.for %j = %b to %e step %c64 {
        tile.put_value %r, %v : !ring, tensor<64x64xf16>
        // expected-note @+1 {{they wait here}}
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
    }
  }
  tile.return
}
