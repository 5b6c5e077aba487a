// RUN: fa-opt %s --split-input-file --tile-verify-rings --verify-diagnostics

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// All in order: filled ahead, held over a loop, branches that agree, two slots.
tile.func @fine(%x: !view, %if: i1, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.ring : !ring
  %b = tile.ring : !ring2
  tile.put %a, %x[%c0, %c0] dims [0, 1] copy(ld_st) : !ring, !view
  tile.put %b, %x[%c0, %c0] dims [0, 1] copy(ld_st) : !ring2, !view
  %sa = tile.get %a : !ring -> !slot
  scf.for %i = %c0 to %n step %c1 {
    tile.put %b, %x[%i, %c0] dims [0, 1] copy(ld_st) : !ring2, !view
    %sb = tile.get %b : !ring2 -> !slot
    scf.if %if {
      %t = tile.read %sa : !slot -> tensor<64x64xf16>
    }
    tile.release %sb : !slot
  }
  tile.release %sa : !slot
  %last = tile.get %b : !ring2 -> !slot
  tile.release %last : !slot
  scf.if %if {
    tile.put %a, %x[%c0, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %s = tile.get %a : !ring -> !slot
    tile.release %s : !slot
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
// The release that the second put would need comes later in the program.
tile.func @get_c2(%x: !view, %i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  // expected-error @+1 {{(get_c2) finds the ring full: it has 1 slot, 0 put and not got, 1 got and not released; release a slot before, or give the ring another stage}}
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  tile.release %s : !slot
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
tile.func @empty(%i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring
  // expected-error @+1 {{(get_c2) finds the ring empty: 0 put and not got, 0 got and not released; put a tile before}}
  %s = tile.get %r : !ring -> !slot
  tile.release %s : !slot
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @twice(%x: !view, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !ring
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  tile.release %s : !slot
  // expected-error @+1 {{(get_c2) releases a slot that is not held here: a slot is released once for each get; drop this release}}
  tile.release %s : !slot
  tile.return
}

// -----

!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @order(%x: !view, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !ring2
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring2, !view
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring2, !view
  // expected-note @+1 {{the older one}}
  %s = tile.get %r : !ring2 -> !slot
  %t = tile.get %r : !ring2 -> !slot
  // expected-error @+1 {{(get_c2) releases a slot while an older one of its ring is held; slots are released in the order of their gets}}
  tile.release %t : !slot
  tile.release %s : !slot
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @never(%x: !view, %i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-error @+1 {{(get_c2) is not empty in the end: 0 put and not got, 1 got and not released}}
  %r = tile.ring : !ring
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  tile.return
}

// -----

!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @loop(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring2
  // expected-error @+1 {{(get_c2) does not leave a ring as it finds it: before an iteration 0 put and not got, 0 got and not released, after it 1 put and not got, 0 got and not released}}
  scf.for %i = %c0 to %n step %c1 {
    tile.put %r, %x[%i, %c0] dims [0, 1] copy(ld_st) : !ring2, !view
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
// A loop may not run at all.
tile.func @released_in_loop(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring
  tile.put %r, %x[%c0, %c0] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  // expected-error @+1 {{(get_c2) does not leave a ring as it finds it}}
  scf.for %i = %c0 to %n step %c1 {
    tile.release %s : !slot
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @branches(%x: !view, %if: i1, %i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  // expected-error @+1 {{(get_c2) leaves a ring in two states: then 0 put and not got, 0 got and not released, else 0 put and not got, 1 got and not released}}
  scf.if %if {
    tile.release %s : !slot
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @late_read(%x: !view, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !ring
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  // expected-note @+1 {{the slot}}
  %s = tile.get %r : !ring -> !slot
  tile.release %s : !slot
  // expected-error @+1 {{(get_c2) reads a slot that is not held here: it was released before}}
  %t = tile.read %s : !slot -> tensor<64x64xf16>
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @yields_slot(%x: !view, %if: i1, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !ring
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  %u = scf.if %if -> !slot {
    // expected-error @+1 {{(get_c2) carries a slot out of its block; get and release it in one block}}
    scf.yield %s : !slot
  } else {
    scf.yield %s : !slot
  }
  tile.release %u : !slot
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @divergent(%x: !view, %rows: i1, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !ring
  %some = tile.broadcast %rows : i1 -> tensor<64xi1>
  %q = tile.if_any %some (%i) : tensor<64xi1>, (index) {
    // expected-error @+1 {{(get_c2) stands in 'tile.if_any', which not every warp runs once; move it out}}
    tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
    tile.yield %i : index
  }
  tile.return
}

// -----

!pending = !tile.pending<tensor<64x64xf32>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @pending(%x: !view, %z: f32, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.ring : !ring
  %acc = tile.broadcast %z : f32 -> tensor<64x64xf32>
  tile.put %r, %x[%c0, %c0] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  %p0 = tile.dot_start %s, %s, %acc : !slot, !slot, tensor<64x64xf32> -> !pending
  // expected-error @+1 {{(get_c2) carries a pending tile through a loop; await it before}}
  %p = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p0) -> !pending {
    scf.yield %q : !pending
  }
  tile.release %s : !slot
  tile.return
}

// -----

!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
// One tile ahead: what the condition's part leaves is what the loop ends with.
tile.func @open_loop(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = tile.ring : !ring2
  %end = scf.while (%i = %c0) : (index) -> index {
    tile.put %r, %x[%i, %c0] dims [0, 1] copy(ld_st) : !ring2, !view
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    %s = tile.get %r : !ring2 -> !slot
    tile.release %s : !slot
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  %s = tile.get %r : !ring2 -> !slot
  tile.release %s : !slot
  tile.return
}

// -----

!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @open_loop_that_fills(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{the ring}}
  %r = tile.ring : !ring2
  // expected-error @+1 {{(get_c2) does not leave a ring as it finds it: before an iteration 0 put and not got, 0 got and not released, after it 1 put and not got, 0 got and not released}}
  %end = scf.while (%i = %c0) : (index) -> index {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    tile.put %r, %x[%i, %c0] dims [0, 1] copy(ld_st) : !ring2, !view
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  tile.return
}

// -----

!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
// Each reader has its own order: the second one comes after the first has read two tiles.
tile.func @readers(%x: !view, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring readers(2) : !ring2
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring2, !view
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring2, !view
  %a = tile.get %r : !ring2 -> !slot
  tile.release %a : !slot
  %b = tile.get %r : !ring2 -> !slot
  %c = tile.get %r reader(1) : !ring2 -> !slot
  tile.release %b : !slot
  tile.release %c : !slot
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring2, !view
  %d = tile.get %r reader(1) : !ring2 -> !slot
  tile.release %d : !slot
  %e = tile.get %r : !ring2 -> !slot
  %f = tile.get %r reader(1) : !ring2 -> !slot
  tile.release %f : !slot
  tile.release %e : !slot
  tile.return
}

// -----

!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @forgotten_reader(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{the ring}}
  %r = tile.ring readers(2) : !ring2
  // expected-error @+1 {{(get_c2) does not leave a ring as it finds it for reader 1: before an iteration 0 put and not got, 0 got and not released, after it 1 put and not got, 0 got and not released}}
  scf.for %i = %c0 to %n step %c1 {
    tile.put %r, %x[%i, %c0] dims [0, 1] copy(ld_st) : !ring2, !view
    %s = tile.get %r : !ring2 -> !slot
    tile.release %s : !slot
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
tile.func @full_for_one(%x: !view, %i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-note @+1 {{the ring}}
  %r = tile.ring readers(2) : !ring
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  tile.release %s : !slot
  // expected-error @+1 {{(get_c2) finds the ring full for reader 1: it has 1 slot, 1 put and not got, 0 got and not released; release a slot before, or give the ring another stage}}
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !ring, !view
  tile.return
}
