// Roles, barriers and copies by the TMA.
// RUN: fa-opt %s --convert-tile-to-nvvm --split-input-file | FileCheck %s
// RUN: sed 's/tile.shared_bytes/tile.min_blocks_per_sm = 2 : i64, &/' %s | fa-opt --convert-tile-to-nvvm --split-input-file | FileCheck %s --check-prefix=HALF

#sw = #tile.swizzle<128>

// Tensor maps are parameters by value. Barriers stand behind the rings and are
// initialized by one thread, before anything else.
// CHECK-LABEL: llvm.func @two
// CHECK-SAME: %[[MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: nvvm.maxntid = array<i32: 256>, nvvm.minctasm = 1 : i32
// Of two blocks on an SM each has half of the registers, and a launch gives a thread 128.
// HALF-LABEL: llvm.func @two
// HALF-SAME: nvvm.minctasm = 2 : i32
// HALF: nvvm.setmaxregister decrease 40
// HALF: nvvm.setmaxregister increase 208
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: "@$1 prefetch.tensormap [$0];", "l,b,~{memory}" %[[MAP]]
// CHECK: "@$1 mbarrier.init.shared::cta.b64 [$0+32768], 1;"
// CHECK: "@$1 mbarrier.init.shared::cta.b64 [$0+32776], 1;"
// CHECK: "@$1 mbarrier.init.shared::cta.b64 [$0+32784], 4;"
// CHECK: "@$1 mbarrier.init.shared::cta.b64 [$0+32792], 4;"
// CHECK: "fence.mbarrier_init.release.cluster;"
// CHECK-NEXT: nvvm.barrier

// The first role is one thread's work: of its warp 0.
// CHECK: %[[LOADS:.*]] = arith.cmpi ult, %[[WARP]], %c4_i32
// CHECK: scf.if %[[LOADS]] {
// CHECK-NEXT: nvvm.setmaxregister decrease 40
// CHECK: %[[AGAIN:.*]] = nvvm.shfl.sync idx
// CHECK: %[[CHOSEN:.*]] = nvvm.elect.sync
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[AGAIN]]
// CHECK: %[[ALONE:.*]] = arith.andi %[[CHOSEN]], %[[FIRST]]
// CHECK: scf.if %[[ALONE]] {
// CHECK: scf.for
// CHECK: again:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra over;\0Abra again;\0Aover:
// CHECK: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 16384;", "r,~{memory}"
// The column in the panel, the row, the panel, head, batch.
// CHECK: "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4, $5, $6, $7}], [$2];", "r,l,r,r,r,r,r,r,~{memory}" %{{[0-9]+}}, %[[MAP]], %{{[0-9]+}}, %c0_i32

// The second counts warps from its own first.
// CHECK: } else {
// CHECK-NEXT: nvvm.setmaxregister decrease 208
// CHECK: %[[OWN:.*]] = nvvm.shfl.sync idx
// CHECK: %[[MINE:.*]] = arith.subi %[[OWN]], %c4_i32
// CHECK: %[[GROUP:.*]] = arith.shrui %[[MINE]], %c2_i32
// CHECK: arith.extui %[[GROUP]] : i32 to i64
// CHECK: "bar.sync 1, 128;", "~{memory}"
// CHECK: mbarrier.try_wait
// One lane of a warp arrives, after the others have read.
// CHECK: nvvm.bar.warp.sync
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: "bar.arrive 2, 128;", "~{memory}"
#r = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @two(%x: !tile.view<?x?x?x64xbf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xbf16>, %m: !tile.tensor_map<128x64xbf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [2, 3]}, %b: index, %h: index)
    grid affine_map<()[s0, s1] -> (s0, s1)> sizes [0, 0, 0, 1] attributes {tile.warps = 8 : i64, tile.shared_bytes = 32800 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %ring = tile.ring : !tile.ring<2 x 128x64xbf16, #sw>
  %full = tile.barriers arrivals(1) : !tile.barriers<2>
  %empty = tile.barriers arrivals(4) : !tile.barriers<2>
  %n = tile.dim %x, 2 : !tile.view<?x?x?x64xbf16>
  tile.roles {
    tile.role "load" warps(4) registers(40) {
      scf.for %i = %c0 to %n step %c128 {
        %j = arith.divui %i, %c128 : index
        %stage = arith.remui %j, %c2 : index
        %turn = arith.andi %j, %c2 : index
        %parity = arith.cmpi eq, %turn, %c0 : index
        tile.barrier_wait %empty[%stage], %parity : !tile.barriers<2>
        tile.barrier_expect %full[%stage] bytes(16384) : !tile.barriers<2>
        %s = tile.slot_at %ring[%stage] : !tile.ring<2 x 128x64xbf16, #sw> -> !tile.slot<128x64xbf16, #sw>
        tile.copy %x[%b, %h, %i, %c0] dims [2, 3] to %s copy(tma) signal %full[%stage] map(%m) : !tile.view<?x?x?x64xbf16>, !tile.slot<128x64xbf16, #sw>, !tile.barriers<2>, !tile.tensor_map<128x64xbf16, #sw>
      }
    }
    tile.role "store" warps(4) registers(208) {
      %w = tile.warpgroup : index
      tile.named_wait id(1) threads(128)
      scf.for %i = %c0 to %n step %c128 {
        %j = arith.divui %i, %c128 : index
        %stage = arith.remui %j, %c2 : index
        %turn = arith.andi %j, %c2 : index
        %parity = arith.cmpi ne, %turn, %c0 : index
        tile.barrier_wait %full[%stage], %parity : !tile.barriers<2>
        %s = tile.slot_at %ring[%stage] : !tile.ring<2 x 128x64xbf16, #sw> -> !tile.slot<128x64xbf16, #sw>
        %t = tile.read %s : !tile.slot<128x64xbf16, #sw> -> tensor<128x64xbf16, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8), (2, 64, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>
        tile.barrier_arrive %empty[%stage] : !tile.barriers<2>
        tile.store %t, %y[%i, %w] dims [0, 1] : tensor<128x64xbf16, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8), (2, 64, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>, !tile.view<?x64xbf16>
      }
      tile.named_arrive id(2) threads(128)
    }
  }
  tile.return
}

// -----

// Without roles, one thread of the program copies. Rank 2; from the second panel.
// CHECK-LABEL: llvm.func @alone
// CHECK-NOT: minctasm
// CHECK: "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 8192;", "r,b,~{memory}"
// CHECK: arith.divsi
// CHECK: "@$6 cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4, $5}], [$2];", "r,l,r,r,r,r,b,~{memory}"
#sw = #tile.swizzle<128>
tile.func @alone(%x: !tile.view<?x128xf16>, %m: !tile.tensor_map<64x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [0, 1]}, %b: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %false = arith.constant false
  %ring = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %full = tile.barriers arrivals(1) : !tile.barriers<1>
  tile.barrier_expect %full[%c0] bytes(8192) : !tile.barriers<1>
  %s = tile.slot_at %ring[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  tile.copy %x[%b, %c64] dims [0, 1] to %s copy(tma) signal %full[%c0] map(%m) : !tile.view<?x128xf16>, !tile.slot<64x64xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<64x64xf16, #sw>
  tile.barrier_wait %full[%c0], %false : !tile.barriers<1>
  tile.return
}

// -----

// One thread takes a number and writes it with two others; a warp reads them, the first one the same in all lanes.
// CHECK-LABEL: llvm.func @numbers
// CHECK-SAME: %[[COUNTER:[a-z0-9]+]]: !llvm.ptr<1>, %[[TAG:[a-z0-9]+]]: i64
// CHECK: nvvm.elect.sync
// CHECK: %[[FOUND:.*]] = llvm.inline_asm has_side_effects {{.*}}"atom.relaxed.gpu.global.or.b64 $0, [$1], 0;", "=l,l,~{memory}" %[[COUNTER]]
// CHECK: %[[BLOCKS:.*]] = nvvm.read.ptx.sreg.nctaid.x
// CHECK: scf.while (%[[N:.*]] = %{{.*}}) : (i32) -> i32 {
// CHECK: "st.shared.b32 [$0+0], $1;", "r,r,~{memory}" %{{.*}}, %[[N]]
// CHECK: "st.shared.b32 [$0+4], $1;", "r,r,~{memory}" %{{.*}}, %[[COUNT:[a-z0-9]+]]
// CHECK: "st.shared.b32 [$0+8], $1;", "r,r,~{memory}" %{{.*}}, %[[COUNT]]
// CHECK: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 0;"
// CHECK: scf.condition(%{{.*}}) %[[N]] : i32
// CHECK: ^bb0(%[[M:.*]]: i32):
// CHECK: %[[TOTAL:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK: "{\0A.reg .pred closed;\0A.reg .b64 gone, was;\0Asub.u64 gone, $1, $2;\0Asetp.ge.u64 closed, gone, $3;\0A@closed atom.relaxed.gpu.global.cas.b64 was, [$0], $1, $2;\0A}", "l,l,l,l,~{memory}" %[[COUNTER]], %[[FOUND]], %[[TAG]], %[[TOTAL]]
// CHECK: %[[WORD:.*]] = llvm.inline_asm has_side_effects {{.*}}"atom.relaxed.gpu.global.add.u64 $0, [$1], 1;", "=l,l,~{memory}" %[[COUNTER]]
// CHECK: %[[LOW:.*]] = arith.trunci %[[WORD]] : i64 to i32
// CHECK: %[[FIRST:.*]] = arith.trunci %[[TAG]] : i64 to i32
// CHECK: %[[TAKEN:.*]] = arith.subi %[[LOW]], %[[FIRST]] : i32
// CHECK: scf.yield %[[TAKEN]] : i32
// CHECK: scf.while : () -> (i32, i32, i32) {
// CHECK: %[[READ:.*]] = llvm.inline_asm has_side_effects {{.*}}"ld.shared.v4.b32 {$0, $1, $2, $3}, [$4+0];", "=r,=r,=r,=r,r,~{memory}"
// CHECK: %[[FIRST:.*]] = llvm.extractvalue %[[READ]][0]
// CHECK: %[[SECOND:.*]] = llvm.extractvalue %[[READ]][1]
// CHECK: %[[SAME:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[FIRST]]
// CHECK: scf.condition(%{{.*}}) %[[SAME]], %[[SECOND]], %{{.*}} : i32, i32, i32
tile.func @numbers(%counter: !tile.view<1xi64>, %tag: i64 {tile.launch_epoch}, %n: i32, %b: index)
    grid affine_map<() -> (8)> sizes [] attributes {tile.warps = 8 : i64, tile.blocks_per_sm = 1 : i64} {
  %c0 = arith.constant 0 : index
  %p = arith.constant false
  %ring = tile.ring : !tile.ring<1 x 3xi32, #tile.swizzle<32>>
  %full = tile.barriers arrivals(1) : !tile.barriers<1>
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %found = tile.scheduler_peek %counter : !tile.view<1xi64>
      %blocks = tile.block_count : index
      %first = arith.index_cast %blocks : index to i32
      %s = tile.slot_at %ring[%c0] : !tile.ring<1 x 3xi32, #tile.swizzle<32>> -> !tile.slot<3xi32, #tile.swizzle<32>>
      scf.while (%i = %first) : (i32) -> i32 {
        tile.write %i, %s then(%n, %n : i32, i32) : i32, !tile.slot<3xi32, #tile.swizzle<32>>
        tile.barrier_expect %full[%c0] bytes(0) : !tile.barriers<1>
        %more = arith.cmpi ult, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        tile.scheduler_reset %counter found(%found) first(%tag) total(%n) : !tile.view<1xi64>
        %next = tile.scheduler_next %counter first(%tag) : !tile.view<1xi64>
        scf.yield %next : i32
      }
    }
    tile.role "compute" warps(4) registers(0) {
      %s = tile.slot_at %ring[%c0] : !tile.ring<1 x 3xi32, #tile.swizzle<32>> -> !tile.slot<3xi32, #tile.swizzle<32>>
      scf.while : () -> (i32, i32, i32) {
        tile.barrier_wait %full[%c0], %p : !tile.barriers<1>
        %i, %j, %k = tile.read %s : !tile.slot<3xi32, #tile.swizzle<32>> -> i32, i32, i32
        %more = arith.cmpi ult, %i, %n : i32
        scf.condition(%more) %i, %j, %k : i32, i32, i32
      } do {
      ^bb0(%i: i32, %j: i32, %k: i32):
        scf.yield
      }
    }
  }
  tile.return
}
