// RUN: fa-opt %s --tile-make-persistent --remarks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-make-persistent --tile-verify-rings --tile-lower-rings --split-input-file -o /dev/null
// RUN: fa-opt %s --tile-make-persistent=shared-limit=9000 --split-input-file | FileCheck %s --check-prefix=SMALL
// An SM that holds two blocks at a time starts two, each of which has half of the shared memory.
// RUN: sed 's/tile.warps = 8 : i64/tile.min_blocks_per_sm = 2 : i64, tile.warps = 8 : i64/' %s | fa-opt --tile-make-persistent --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: sed 's/tile.warps = 8 : i64/tile.min_blocks_per_sm = 2 : i64, tile.warps = 8 : i64/' %s | fa-opt --tile-make-persistent=shared-limit=19023 --split-input-file | FileCheck %s --check-prefix=SMALL

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// The loops of all work tiles have one length.
// CHECK: #[[$GRID:.*]] = affine_map<()[s0, s1] -> (s0 * (s1 ceildiv 64))>
// CHECK-LABEL: tile.func @even
// CHECK-SAME: (%[[X:.*]]: !tile.view<?x?x64xf16>, %[[BLOCK:.*]]: index) grid #[[$GRID]] sizes [0, 0, 0, 1]
// CHECK-SAME: tile.blocks_per_sm = 1 : i64
// CHECK: tile.role "load"
// CHECK: %[[COUNT:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: %[[BLOCKS:.*]] = tile.block_count : index
// A role that needs ids for its loop has them before: they are divided off when it is done.
// CHECK: %[[N:.*]] = arith.index_cast %[[BLOCK]] : index to i32
// CHECK: %[[H0:.*]] = arith.divui %[[N]], %[[TILES:.*]] : i32
// CHECK: %[[T0:.*]] = arith.subi %[[N]], %
// CHECK: scf.for %[[AT:.*]] = %[[BLOCK]] to %[[COUNT]] step %[[BLOCKS]] iter_args(%[[H:.*]] = %[[H0]], %[[T:.*]] = %[[T0]]) -> (i32, i32) {
// CHECK-NOT: arith.divui
// CHECK: %[[TILE:.*]] = arith.index_cast %[[T]] : i32 to index
// CHECK: %[[ROW:.*]] = arith.muli %[[TILE]], %{{.*}}
// CHECK: %[[HEAD:.*]] = arith.index_cast %[[H]] : i32 to index
// CHECK: scf.for
// CHECK: tile.put %{{.*}}, %[[X]][%[[HEAD]], %[[ROW]], %
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %[[BLOCKS]] : index
// CHECK: %[[N:.*]] = arith.index_cast %[[NEXT]] : index to i32
// CHECK: %[[H1:.*]] = arith.divui %[[N]], %[[TILES]] : i32
// CHECK: %[[T1:.*]] = arith.subi %[[N]], %
// CHECK: scf.yield %[[H1]], %[[T1]] : i32, i32
// One that needs them behind its loop computes them there.
// CHECK: tile.role "compute"
// CHECK: %[[BLOCKS:.*]] = tile.block_count : index
// CHECK: scf.for %[[AT:.*]] = %[[BLOCK]] to %{{.*}} step %[[BLOCKS]] {
// CHECK-NOT: arith.divui
// CHECK: scf.for
// CHECK: tile.get
// CHECK: tile.release
// CHECK: }
// CHECK: %[[N:.*]] = arith.index_cast %[[AT]] : index to i32
// CHECK: %[[H:.*]] = arith.divui %[[N]], %
// CHECK: %[[HEAD:.*]] = arith.index_cast %[[H]] : i32 to index
// CHECK: tile.store %{{.*}}, %[[X]][%[[HEAD]],
// TWO-LABEL: tile.func @even
// TWO-SAME: tile.blocks_per_sm = 2 : i64
// expected-remark @+1 {{each block runs several work tiles: as many as there are blocks lie between two}}
tile.func @even(%x: !tile.view<?x?x64xf16>, %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %n = tile.dim %x, 1 : !tile.view<?x?x64xf16>
      %i = arith.muli %t, %c64 : index
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%h, %i, %c0] dims [1, 2] copy(tma) : !ring, !tile.view<?x?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %n = tile.dim %x, 1 : !tile.view<?x?x64xf16>
      scf.for %j = %c0 to %n step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
      %i = arith.muli %t, %c64 : index
      %v = arith.constant dense<0.0> : tensor<64xf16>
      tile.store %v, %x[%h, %i, %c0] dims [2] : tensor<64xf16>, !tile.view<?x?x64xf16>
    }
  }
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// After its products, for the next work tile.
// CHECK-LABEL: tile.func @products
// CHECK: tile.role "compute"
// CHECK: arith.divui
// CHECK: scf.for %[[AT:.*]] = %{{.*}} to %{{.*}} step %[[BLOCKS:.*]] iter_args(%[[H:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (i32, i32) {
// CHECK-NOT: arith.divui
// CHECK: %[[HEAD:.*]] = arith.index_cast %[[H]] : i32 to index
// CHECK: tile.load %{{.*}}[%[[HEAD]]]
// CHECK: tile.await
// CHECK: tile.release
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %[[BLOCKS]]
// CHECK: arith.divui
// CHECK: tile.store
// CHECK: scf.yield
// SMALL-LABEL: tile.func @products
// expected-remark @+1 {{each block runs several work tiles: as many as there are blocks lie between two}}
tile.func @products(%x: !tile.view<?x?x64xf16>, %a: !tile.view<?xf32>, %y: !tile.view<?x?x64xf32>, %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] attributes {tile.warps = 8 : i64} {
  // expected-remark @+1 {{64x64xf16 has another slot for the next work tile}}
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      tile.put %r, %x[%h, %c0, %c0] dims [1, 2] copy(tma) : !ring, !tile.view<?x?x64xf16>
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %slope = tile.load %a[%h] dims [] : !tile.view<?xf32> -> f32
      %z = tile.broadcast %slope : f32 -> tensor<64x64xf32, #acc>
      %s = tile.get %r : !ring -> !slot
      %d = tile.dot_start %s, %s, %z : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
      %w = tile.await %d : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
      tile.release %s : !slot
      %i = arith.muli %t, %c64 : index
      tile.store %w, %y[%h, %i, %c0] dims [1, 2] : tensor<64x64xf32, #acc>, !tile.view<?x?x64xf32>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// They have not: the role that loads takes numbers and sends them. What the other
// one stores goes through a ring that it fills itself.
// CHECK-LABEL: tile.func @uneven
// CHECK-SAME: (%[[X:.*]]: !tile.view<?x64xf16>, %[[COUNTER:.*]]: !tile.view<1xi64> {tile.name = "uneven_next", tile.output, tile.workspace = [1]}, %[[TAG:.*]]: i64 {tile.launch_epoch, tile.name = "uneven_tag"}, %[[BLOCK:.*]]: index)
// CHECK: %[[RING:.*]] = tile.ring : <1 x 64x64xf16
// CHECK: tile.ring : <1 x 64x64xf16
// CHECK: %[[NUMBERS:.*]] = tile.ring : <2 x 1xi32, #tile.swizzle<32>>
// CHECK: tile.role "load"
// CHECK-NEXT: %[[FOUND:.*]] = tile.scheduler_peek %[[COUNTER]] : <1xi64>
// CHECK: %[[COUNT:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[ALL:.*]] = tile.block_count : index
// CHECK: %[[BLOCKS:.*]] = arith.index_cast %[[ALL]] : index to i32
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[BLOCK]] : index to i32
// CHECK: scf.while (%[[N:.*]] = %[[FIRST]]) : (i32) -> i32 {
// CHECK-NEXT: tile.put_value %[[NUMBERS]], %[[N]] : <2 x 1xi32, #tile.swizzle<32>>, i32
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi ult, %[[N]], %[[COUNT]] : i32
// CHECK-NEXT: scf.condition(%[[MORE]]) %[[N]] : i32
// CHECK: ^bb0(%[[M:.*]]: i32):
// CHECK: %[[T:.*]] = arith.index_cast %[[M]] : i32 to index
// CHECK: %[[ROW:.*]] = arith.muli %[[T]], %{{.*}}
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROW]]
// CHECK: tile.put %[[RING]]
// CHECK: }
// CHECK: %[[BEGINS:.*]] = arith.cmpi eq, %[[M]], %[[FIRST]] : i32
// CHECK-NEXT: scf.if %[[BEGINS]] {
// CHECK-NEXT: tile.scheduler_reset %[[COUNTER]] found(%[[FOUND]]) first(%[[TAG]]) total(%[[COUNT]]) : <1xi64>
// CHECK-NEXT: }
// CHECK-NEXT: %[[TAKEN:.*]] = tile.scheduler_next %[[COUNTER]] first(%[[TAG]]) : <1xi64>
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[BLOCKS]], %[[TAKEN]] : i32
// CHECK: scf.yield %[[NEXT]] : i32
// CHECK: tile.role "compute"
// CHECK: %[[SLOT:.*]] = tile.get %[[NUMBERS]]
// CHECK-NEXT: %[[FIRST:.*]] = tile.read %[[SLOT]] : <1xi32, #tile.swizzle<32>> -> i32
// CHECK-NEXT: tile.release %[[SLOT]]
// CHECK-NEXT: scf.while (%[[N:.*]] = %[[FIRST]]) : (i32) -> i32 {
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi ult, %[[N]], %{{.*}} : i32
// CHECK-NEXT: scf.condition(%[[MORE]]) %[[N]] : i32
// CHECK: ^bb0(%{{.*}}: i32):
// CHECK: scf.for
// CHECK: tile.get %[[RING]]
// The next number is received before the tile is stored.
// CHECK: }
// CHECK-NEXT: %[[SLOT:.*]] = tile.get %[[NUMBERS]]
// CHECK-NEXT: %[[NEXT:.*]] = tile.read %[[SLOT]]
// CHECK-NEXT: tile.release %[[SLOT]]
// CHECK: tile.bulk_store
// CHECK: scf.yield %[[NEXT]] : i32

// The slots of the numbers do not fit: blocks count.
// SMALL-LABEL: tile.func @uneven
// SMALL-SAME: (%{{.*}}: !tile.view<?x64xf16>, %{{.*}}: index)
// SMALL-NOT: scf.while
// SMALL: tile.block_count
// expected-remark @+1 {{each block runs several work tiles: it takes their numbers from a counter}}
tile.func @uneven(%x: !tile.view<?x64xf16>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %o = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %i = arith.muli %t, %c64 : index
      scf.for %j = %c0 to %i step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %i = arith.muli %t, %c64 : index
      scf.for %j = %c0 to %i step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
      %v = arith.constant dense<0.0> : tensor<64x64xf16>
      tile.put_value %o, %v : !ring, tensor<64x64xf16>
      %s = tile.get %o : !ring -> !slot
      tile.bulk_store %s to %x[%i, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
      tile.release %s : !slot
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// What a work tile fills once gets another slot, so that the next work tile's tile can
// come early; not what a loop fills, nor where two do not fit.
// CHECK-LABEL: tile.func @once
// CHECK: %[[ONCE:.*]] = tile.ring : <2 x 64x64xf16
// CHECK-NEXT: %[[OFTEN:.*]] = tile.ring : <1 x 64x64xf16
// CHECK: tile.role "load"
// CHECK: scf.for
// CHECK: tile.put %[[ONCE]], %{{.*}} : <2 x 64x64xf16
// CHECK: scf.for
// CHECK: tile.put %[[OFTEN]], %{{.*}} : <1 x 64x64xf16
// CHECK: tile.role "compute"
// CHECK: tile.get %[[ONCE]] : <2 x 64x64xf16
// SMALL-LABEL: tile.func @once
// SMALL-NEXT: tile.ring : <1 x 64x64xf16
// SMALL-NEXT: tile.ring : <1 x 64x64xf16
// expected-remark @+1 {{each block runs several work tiles: as many as there are blocks lie between two}}
tile.func @once(%x: !tile.view<?x64xf16>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  // expected-remark @+1 {{64x64xf16 has another slot for the next work tile}}
  %once = tile.ring : !ring
  %often = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %n = tile.dim %x, 0 : !tile.view<?x64xf16>
      %i = arith.muli %t, %c64 : index
      tile.put %once, %x[%i, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      scf.for %j = %c0 to %n step %c64 {
        tile.put %often, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %n = tile.dim %x, 0 : !tile.view<?x64xf16>
      %s = tile.get %once : !ring -> !slot
      scf.for %j = %c0 to %n step %c64 {
        %r = tile.get %often : !ring -> !slot
        tile.release %r : !slot
      }
      tile.release %s : !slot
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// The next work tile fills the slot that this one's stores leave by, so that nothing comes early
// where there is no room for two: a block runs one work tile.
// CHECK-LABEL: tile.func @stored(
// CHECK-SAME: tile.blocks_per_sm = 1 : i64
// SMALL-LABEL: tile.func @stored(
// SMALL-SAME: , %[[T:[a-z0-9]+]]: index) grid #
// SMALL-NOT: tile.blocks_per_sm
// SMALL: arith.muli %[[T]], %
// SMALL: tile.bulk_store
// SMALL-LABEL: tile.func @stored_beside(
// SMALL-SAME: tile.blocks_per_sm
// expected-remark @+1 {{each block runs several work tiles: as many as there are blocks lie between two}}
tile.func @stored(%x: !tile.view<?x64xf16>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  // expected-remark @+1 {{64x64xf16 has another slot for the next work tile}}
  %once = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %i = arith.muli %t, %c64 : index
      tile.put %once, %x[%i, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %i = arith.muli %t, %c64 : index
      %s = tile.get %once : !ring -> !slot
      tile.bulk_store %s to %x[%i, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
      tile.release %s : !slot
    }
  }
  tile.return
}

// Another tile comes early, though in one slot.
// expected-remark @+1 {{each block runs several work tiles: as many as there are blocks lie between two}}
tile.func @stored_beside(%x: !tile.view<?x64xf16>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  // expected-remark @+1 {{64x64xf16 has another slot for the next work tile}}
  %once = tile.ring : !ring
  // expected-remark @+1 {{64x64xf16 has another slot for the next work tile}}
  %other = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %i = arith.muli %t, %c64 : index
      tile.put %once, %x[%i, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      tile.put %other, %x[%i, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %i = arith.muli %t, %c64 : index
      %s = tile.get %once : !ring -> !slot
      %o = tile.get %other : !ring -> !slot
      tile.release %o : !slot
      tile.bulk_store %s to %x[%i, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
      tile.release %s : !slot
    }
  }
  tile.return
}

// -----

// A program without roles stays as it is.
// CHECK-LABEL: tile.func @plain
// CHECK-NOT: blocks_per_sm
// CHECK-NEXT: tile.return
tile.func @plain(%x: !tile.view<?x64xf16>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// Two numbers that take divisions are made once, and sent together.
// CHECK-LABEL: tile.func @parts
// CHECK: %[[NUMBERS:.*]] = tile.ring : <2 x 2xi32, #tile.swizzle<32>>
// CHECK: tile.role "load"
// CHECK: scf.while (%[[N:.*]] = %{{.*}}) : (i32) -> (i32, i32, i32) {
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[N]], %{{.*}} : i32
// CHECK: %[[SAFE:.*]] = arith.select %[[IS]], %[[N]], %{{.*}} : i32
// CHECK: arith.divui
// CHECK: arith.divui
// CHECK: %[[SENT:.*]] = arith.select %[[IS]], %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: tile.put_value %[[NUMBERS]], %[[SENT]], %[[WORD:.*]] : <2 x 2xi32, #tile.swizzle<32>>, i32, i32
// CHECK: scf.condition(%{{.*}}) %[[N]], %[[SENT]], %[[WORD]] : i32, i32, i32
// CHECK: ^bb0(%{{.*}}: i32, %[[PLACE:.*]]: i32, %[[OTHER:.*]]: i32):
// CHECK: tile.scheduler_next
// CHECK: tile.role "compute"
// CHECK: %[[READ:.*]]:2 = tile.read %{{.*}} : <2xi32, #tile.swizzle<32>> -> i32, i32
// CHECK: scf.while (%[[PLACE:.*]] = %[[READ]]#0, %{{.*}} = %[[READ]]#1) : (i32, i32) -> (i32, i32) {
// CHECK: %[[MINUS:.*]] = arith.constant -1 : i32
// CHECK: %[[IS:.*]] = arith.cmpi ne, %[[PLACE]], %[[MINUS]] : i32
// CHECK-NEXT: scf.condition(%[[IS]])
// CHECK: ^bb0(%[[PLACE:.*]]: i32, %[[OTHER:.*]]: i32):
// CHECK-NOT: arith.divui
// CHECK: %[[I:.*]] = arith.index_cast %[[PLACE]] : i32 to index
// CHECK: arith.muli %[[I]]
// CHECK: scf.for
// CHECK: tile.get
// CHECK: tile.release
// CHECK: }
// CHECK: tile.read %{{.*}} : <2xi32, #tile.swizzle<32>> -> i32, i32
// CHECK: arith.divui %[[OTHER]]
// CHECK: tile.store
// expected-remark @+1 {{each block runs several work tiles: it takes their numbers from a counter}}
tile.func @parts(%x: !tile.view<?x64xf16>, %y: !tile.view<?xi32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %tenth = arith.divui %number, %c3 : i32
      %place = arith.divui %tenth, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %tenth {tile.part = 1 : i64} : i32
      %p = arith.index_cast %place : i32 to index
      %o = arith.index_cast %other : i32 to index
      %i = arith.muli %p, %c64 : index
      scf.for %j = %c0 to %i step %c64 {
        tile.put %r, %x[%o, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %tenth = arith.divui %number, %c3 : i32
      %place = arith.divui %tenth, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %tenth {tile.part = 1 : i64} : i32
      %p = arith.index_cast %place : i32 to index
      %i = arith.muli %p, %c64 : index
      %b = arith.divui %other, %c3 : i32
      %o = arith.index_cast %b : i32 to index
      scf.for %j = %c0 to %i step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
      %v = tile.broadcast %b : i32 -> tensor<1xi32>
      tile.store %v, %y[%o] dims [0] : tensor<1xi32>, !tile.view<?xi32>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// Of a grid of three dimensions these are the last id, and the two others in one word.
// CHECK-LABEL: tile.func @band
// CHECK-SAME: (%[[X:.*]]: !tile.view<?x?x?x64xf16>, %{{.*}}: !tile.view<1xi64> {{{.*}}}, %{{.*}}: i64 {{{.*}}}, %[[BLOCK:.*]]: index) grid #{{.*}} sizes [0, 0, 0, 1, 0, 2]
// CHECK: tile.ring : <2 x 2xi32, #tile.swizzle<32>>
// CHECK: tile.role "load"
// CHECK: scf.while (%[[N:.*]] = %{{.*}}) : (i32) -> (i32, i32, i32) {
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %[[N]], %{{.*}} : i32
// CHECK: %[[OTHER:.*]] = arith.divui %{{.*}}, %[[TILES:.*]] : i32
// CHECK: %[[SKIPPED:.*]] = arith.muli %[[OTHER]], %[[TILES]] : i32
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %[[SKIPPED]] : i32
// CHECK: %[[HEADS:.*]] = arith.index_cast
// CHECK: %[[B:.*]] = arith.divui %[[OTHER]], %[[HEADS]] : i32
// CHECK: %[[MOST:.*]] = arith.subi %[[HEADS]], %{{.*}} : i32
// CHECK: %[[ZEROS:.*]] = math.ctlz %[[MOST]] : i32
// CHECK: %[[BITS:.*]] = arith.subi %{{.*}}, %[[ZEROS]] : i32
// CHECK: %[[HIGH:.*]] = arith.shli %[[B]], %[[BITS]] : i32
// CHECK: %[[SKIPPED:.*]] = arith.muli %[[B]], %[[HEADS]] : i32
// CHECK: %[[H:.*]] = arith.subi %[[OTHER]], %[[SKIPPED]] : i32
// CHECK: %[[WORD:.*]] = arith.ori %[[HIGH]], %[[H]] : i32
// CHECK: arith.select %{{.*}}, %[[LAST]], %{{.*}} : i32
// CHECK: tile.put_value %{{.*}}, %{{.*}}, %[[WORD]]
// CHECK: tile.role "compute"
// CHECK: ^bb0(%[[T:.*]]: i32, %[[WORD:.*]]: i32):
// CHECK-NOT: arith.divui
// CHECK: %[[I:.*]] = arith.index_cast %[[T]] : i32 to index
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %{{.*}}
// CHECK: scf.for %{{.*}} = %[[ROW]] to
// CHECK-NOT: arith.divui
// CHECK: %[[B:.*]] = arith.shrui %[[WORD]], %[[BITS:[a-z0-9_]+]] {tile.id} : i32
// CHECK: %[[HIGH:.*]] = arith.shli %[[B]], %[[BITS]] : i32
// CHECK: %[[H:.*]] = arith.subi %[[WORD]], %[[HIGH]] {tile.id} : i32
// CHECK-DAG: %[[HEAD:.*]] = arith.index_cast %[[H]]
// CHECK-DAG: %[[BATCH:.*]] = arith.index_cast %[[B]]
// CHECK: tile.store %{{.*}}, %[[X]][%[[BATCH]], %[[HEAD]], %[[ROW]],
// SMALL-LABEL: tile.func @band
// expected-remark @+1 {{each block runs several work tiles: it takes their numbers from a counter}}
tile.func @band(%x: !tile.view<?x?x?x64xf16>, %b: index, %h: index, %t: index)
    grid affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 64)> sizes [0, 0, 0, 1, 0, 2] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %i = arith.muli %t, %c64 : index
      %end = arith.addi %i, %c128 : index
      scf.for %j = %i to %end step %c64 {
        tile.put %r, %x[%b, %h, %j, %c0] dims [2, 3] copy(tma) : !ring, !tile.view<?x?x?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %i = arith.muli %t, %c64 : index
      %end = arith.addi %i, %c128 : index
      scf.for %j = %i to %end step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
      %v = arith.constant dense<0.0> : tensor<64xf16>
      tile.store %v, %x[%b, %h, %i, %c0] dims [3] : tensor<64xf16>, !tile.view<?x?x?x64xf16>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// What roles read of a work tile is read by the one that sends it, once where they read it alike. It sends nothing
// of a work tile that stores behind the end of its slice, and takes the next number at once.
// CHECK-LABEL: tile.func @words
// CHECK: %[[NUMBERS:.*]] = tile.ring : <2 x 5xi32, #tile.swizzle<32>>
// CHECK: tile.role "load"
// CHECK: scf.while (%[[FIRST:.*]] = %{{.*}}) : (i32) -> (i32, i32, i32, i32, i32, i32) {
// CHECK: %[[SENT:.*]]:6 = scf.while (%[[N:.*]] = %[[FIRST]]) : (i32) -> (i32, i32, i32, i32, i32, i32) {
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[N]], %{{.*}} : i32
// CHECK: %[[FOUND:.*]] = scf.for {{.*}} -> (i32) {
// CHECK: tile.load %[[STARTS:[a-z0-9]+]]
// CHECK: scf.yield
// CHECK: %[[START:.*]] = tile.load %[[STARTS]][%{{.*}}] : !tile.view<?xi32> -> i32
// CHECK-NOT: scf.for
// CHECK: %[[SIZE:.*]] = tile.load %{{.*}}[%{{.*}}] : !tile.view<?xi32> -> i32
// CHECK: %[[STORES:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK: %[[ID:.*]] = arith.select %[[IS]], %{{.*}}, %{{.*}} : i32
// CHECK: %[[NOT:.*]] = arith.xori %[[STORES]], %{{.*}} : i1
// CHECK: %[[IDLE:.*]] = arith.andi %[[IS]], %[[NOT]] : i1
// CHECK: scf.condition(%[[IDLE]]) %[[N]], %[[ID]], %{{.*}}, %[[START]], %[[FOUND]], %[[SIZE]]
// CHECK: ^bb0(%[[PASSED:[a-z0-9]+]]: i32, {{.*}}):
// CHECK: arith.cmpi eq, %[[PASSED]]
// CHECK: tile.scheduler_reset
// CHECK: %[[TAKEN:.*]] = tile.scheduler_next
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %[[TAKEN]] : i32
// CHECK: scf.yield %[[NEXT]] : i32
// CHECK: tile.put_value %[[NUMBERS]], %[[SENT]]#1, %[[SENT]]#2, %[[SENT]]#3, %[[SENT]]#4, %[[SENT]]#5
// CHECK: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[KNOWN:[a-z0-9]+]]: i32, %{{.*}}: i32, %{{.*}}: i32):
// CHECK-NOT: tile.load
// CHECK: arith.index_cast %[[KNOWN]] : i32 to index
// CHECK: tile.scheduler_next
// CHECK: tile.role "compute"
// CHECK: tile.read %{{.*}} : <5xi32, #tile.swizzle<32>> -> i32, i32, i32, i32, i32
// CHECK-NOT: tile.load
// CHECK: tile.store
// CHECK: tile.return
// expected-remark @+1 {{each block runs several work tiles: it takes their numbers from a counter}}
tile.func @words(%x: !tile.view<?x64xf16>, %starts: !tile.view<?xi32>, %sizes: !tile.view<?xi32>, %y: !tile.view<?xi32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %last = arith.divui %number, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %last {tile.part = 1 : i64} : i32
      %p = arith.index_cast %last : i32 to index
      %found = scf.for %j = %c0 to %p step %c1 iter_args(%sum = %last) -> (i32) {
        %n = tile.load %starts[%j] dims [] : !tile.view<?xi32> -> i32
        %more = arith.addi %sum, %n : i32
        scf.yield %more : i32
      }
      %at = arith.index_cast %found : i32 to index
      %word = tile.load %starts[%at] dims [] : !tile.view<?xi32> -> i32
      %begin = arith.index_cast %word : i32 to index
      scf.for %j = %c0 to %begin step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %last = arith.divui %number, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %last {tile.part = 1 : i64} : i32
      %p = arith.index_cast %last : i32 to index
      %found = scf.for %j = %c0 to %p step %c1 iter_args(%sum = %last) -> (i32) {
        %n = tile.load %starts[%j] dims [] : !tile.view<?xi32> -> i32
        %more = arith.addi %sum, %n : i32
        scf.yield %more : i32
      }
      %at = arith.index_cast %found : i32 to index
      %word = tile.load %starts[%at] dims [] : !tile.view<?xi32> -> i32
      %begin = arith.index_cast %word : i32 to index
      %length = tile.load %sizes[%at] dims [] : !tile.view<?xi32> -> i32
      %size = arith.index_cast %length : i32 to index
      scf.for %j = %c0 to %begin step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
      %v = tile.broadcast %found : i32 -> tensor<1xi32>
      %slice = tile.slice %y dim 0 from %begin size %size : !tile.view<?xi32> -> !tile.view<?xi32>
      tile.store %v, %slice[%at] dims [0] : tensor<1xi32>, !tile.view<?xi32>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// What both roles derive from two numbers that they read is sent in place of these: a length, which fits 32 bits.
// CHECK-LABEL: tile.func @derived
// CHECK: %[[NUMBERS:.*]] = tile.ring : <2 x 3xi32, #tile.swizzle<32>>
// CHECK: tile.role "load"
// CHECK: tile.load
// CHECK: tile.load
// CHECK: %[[SIZE:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[LENGTH:.*]] = arith.maxsi %[[SIZE]], %{{.*}} : index
// CHECK: %[[WORD:.*]] = arith.index_cast %[[LENGTH]] : index to i32
// CHECK: tile.put_value %[[NUMBERS]], %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK: tile.role "compute"
// CHECK: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %[[SENT:[a-z0-9]+]]: i32
// CHECK-NOT: tile.load
// CHECK: %[[END:.*]] = arith.index_cast %[[SENT]] : i32 to index
// CHECK-NOT: arith.maxsi
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK: tile.return
// expected-remark @+1 {{each block runs several work tiles: it takes their numbers from a counter}}
tile.func @derived(%x: !tile.view<?x64xf16>, %starts: !tile.view<?xi32>, %y: !tile.view<?xi32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %last = arith.divui %number, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %last {tile.part = 1 : i64} : i32
      %p = arith.index_cast %last : i32 to index
      %q = arith.addi %p, %c1 : index
      %n = tile.dim %x, 0 : !tile.view<?x64xf16>
      %word = tile.load %starts[%p] dims [] : !tile.view<?xi32> -> i32
      %next = tile.load %starts[%q] dims [] : !tile.view<?xi32> -> i32
      %first = arith.index_cast %word : i32 to index
      %least = arith.minsi %first, %n : index
      %begin = arith.maxsi %least, %c0 : index
      %last_end = arith.index_cast %next : i32 to index
      %end = arith.minsi %last_end, %n : index
      %size = arith.subi %end, %begin : index
      %length = arith.maxsi %size, %c0 : index
      scf.for %j = %c0 to %length step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %last = arith.divui %number, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %last {tile.part = 1 : i64} : i32
      %p = arith.index_cast %last : i32 to index
      %q = arith.addi %p, %c1 : index
      %n = tile.dim %x, 0 : !tile.view<?x64xf16>
      %word = tile.load %starts[%p] dims [] : !tile.view<?xi32> -> i32
      %next = tile.load %starts[%q] dims [] : !tile.view<?xi32> -> i32
      %first = arith.index_cast %word : i32 to index
      %least = arith.minsi %first, %n : index
      %begin = arith.maxsi %least, %c0 : index
      %last_end = arith.index_cast %next : i32 to index
      %end = arith.minsi %last_end, %n : index
      %size = arith.subi %end, %begin : index
      %length = arith.maxsi %size, %c0 : index
      scf.for %j = %c0 to %length step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
      %v = tile.broadcast %last : i32 -> tensor<1xi32>
      tile.store %v, %y[%p] dims [0] : tensor<1xi32>, !tile.view<?xi32>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// Of floats that a role reads, wherever it reads them, the bits are sent: of 16, too.
// CHECK-LABEL: tile.func @floats
// CHECK: %[[NUMBERS:.*]] = tile.ring : <2 x 4xi32, #tile.swizzle<32>>
// CHECK: tile.role "load"
// CHECK: %[[SINK:.*]] = tile.load %{{.*}} : !tile.view<?xf32> -> f32
// CHECK: %[[SLOPE:.*]] = tile.load %{{.*}} : !tile.view<?xbf16> -> bf16
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SINK]] : f32 to i32
// CHECK: %[[HALF:.*]] = arith.bitcast %[[SLOPE]] : bf16 to i16
// CHECK: %[[WIDE:.*]] = arith.extui %[[HALF]] : i16 to i32
// CHECK: tile.role "compute"
// CHECK: scf.for
// CHECK-NOT: tile.load
// CHECK: %[[LOW:.*]] = arith.trunci %{{.*}} : i32 to i16
// CHECK: %[[AGAIN:.*]] = arith.bitcast %[[LOW]] : i16 to bf16
// CHECK: arith.extf %[[AGAIN]]
// CHECK: arith.bitcast %{{.*}} : i32 to f32
// CHECK-NOT: tile.load
// CHECK: tile.return
// expected-remark @+1 {{each block runs several work tiles: it takes their numbers from a counter}}
tile.func @floats(%x: !tile.view<?x64xf16>, %sinks: !tile.view<?xf32>, %slopes: !tile.view<?xbf16>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %last = arith.divui %number, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %last {tile.part = 1 : i64} : i32
      %p = arith.index_cast %last : i32 to index
      scf.for %j = %c0 to %p step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : i32
      %c64 = arith.constant 64 : index
      %number = arith.index_cast %t : index to i32
      %last = arith.divui %number, %c3 {tile.part = 0 : i64} : i32
      %other = arith.subi %number, %last {tile.part = 1 : i64} : i32
      %p = arith.index_cast %last : i32 to index
      scf.for %j = %c0 to %p step %c64 {
        %s = tile.get %r : !ring -> !slot
        tile.release %s : !slot
      }
      %sink = tile.load %sinks[%p] dims [] : !tile.view<?xf32> -> f32
      %low = tile.load %slopes[%p] dims [] : !tile.view<?xbf16> -> bf16
      %slope = arith.extf %low : bf16 to f32
      %both = arith.addf %sink, %slope fastmath<contract> : f32
      %v = tile.broadcast %both : f32 -> tensor<1xf32>
      tile.store %v, %y[%p] dims [0] : tensor<1xf32>, !tile.view<?xf32>
    }
  }
  tile.return
}
