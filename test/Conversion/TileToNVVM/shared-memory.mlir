// Slots, copies into them, and tiles that pass through them.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!small = !tile.ring<1 x 64xf32, #tile.swizzle<32>>

// One symbol for all kernels, at a multiple of 1024 bytes; the launch sizes it. The
// ring of the wider alignment is the first in memory; its two slots are 8192 bytes
// each, and the other ring follows. Whoever holds an element first writes it; all that
// want it read it.
// CHECK: llvm.mlir.global external @shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-NOT: llvm.mlir.global
// CHECK-LABEL: llvm.func @rings(
// CHECK-DAG: %[[SYMBOL:.*]] = llvm.mlir.addressof @shared_memory : !llvm.ptr<3>
// CHECK-DAG: %[[SECOND:.*]] = arith.constant 16384 : i32
// CHECK-DAG: %[[SLOT:.*]] = arith.constant 8192 : i32
// CHECK-DAG: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK-DAG: %[[START:.*]] = llvm.ptrtoint %[[SYMBOL]]
// CHECK: %[[RING:.*]] = arith.addi %[[START]], %[[SECOND]] : i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: %[[BYTE:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.addi %[[RING]], %[[BYTE]] : i32
// CHECK: "@$1 st.shared.b32 [$0+0], $2;", "r,b,r" %[[PLACE]], %[[FIRST]],
// CHECK: "@$1 st.shared.b32 [$0+0], $2;"
// CHECK: nvvm.barrier
// CHECK: "ld.shared.f32 $0, [$1+0];", "=f,r" %[[PLACE]]
// CHECK: "ld.shared.f32 $0, [$1+32];", "=f,r" %[[PLACE]]
// CHECK: %[[STAGE:.*]] = arith.muli %[[BLOCK]], %[[SLOT]] : i32
// CHECK: %[[AT:.*]] = arith.addi %[[START]], %[[STAGE]] : i32
// 64 rows of 8 chunks by 128 threads: 4 chunks each, in one column, 16 rows apart.
// The index of the block is not negative, so that rows have an upper limit only.
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : i64
// CHECK: arith.maxsi %[[LEFT]]
// CHECK: %[[LAST:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK-NOT: arith.trunci
// CHECK: arith.xori
// CHECK: %[[TO:.*]] = arith.addi %[[AT]],
// CHECK: %[[IGNORED:.*]] = arith.cmpi uge, %{{.*}}, %[[LAST]] : i32
// CHECK: "@$3 cp.async.cg.shared.global [$0+0], [$1+0], 16, $2;", "r,l,b,b" %[[TO]], %{{.*}}, %[[IGNORED]],
// CHECK: [$0+2048], [$1+0], 16, $2;", "r,l,b,b" %[[TO]],
// CHECK: [$0+4096], [$1+0], 16, $2;", "r,l,b,b" %[[TO]],
// CHECK: [$0+6144], [$1+0], 16, $2;", "r,l,b,b" %[[TO]],
// CHECK-NOT: cp.async.cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
tile.func @rings(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %m: !tile.view<?xf32>, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %a = tile.ring : !small
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %v = tile.slot_at %a[%c0] : !small -> !tile.slot<64xf32, #tile.swizzle<32>>
  %t = tile.load %m[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32, #rows>
  tile.write %t, %v : tensor<64xf32, #rows>, !tile.slot<64xf32, #tile.swizzle<32>>
  tile.barrier
  %u = tile.read %v : !tile.slot<64xf32, #tile.swizzle<32>> -> tensor<64xf32, #rows>
  tile.store %u, %m[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  %s = tile.slot_at %r[%i] : !ring -> !slot
  tile.copy %x[%i, %c0] dims [0, 1] to %s copy(cp_async) : !tile.view<?x64xf16>, !slot
  tile.copy_commit
  tile.copy_wait 0
  tile.return
}
// 32 rows of 3 panels of 4 chunks by 128 threads: each has the same row and chunk of every panel, by one address and one
// range; panels are 32 columns, 64 bytes, apart in memory, and 2048 bytes in the slot.
// CHECK-LABEL: llvm.func @panels(
// CHECK: "@$3 cp.async.cg.shared.global [$0+0], [$1+0], 16, $2;", "r,l,b,b" %[[TO:.*]], %[[FROM:.*]], %[[IGNORED:.*]], %{{.*}} :
// CHECK: [$0+2048], [$1+64], 16, $2;", "r,l,b,b" %[[TO]], %[[FROM]], %[[IGNORED]],
// CHECK: [$0+4096], [$1+128], 16, $2;", "r,l,b,b" %[[TO]], %[[FROM]], %[[IGNORED]],
// CHECK-NOT: cp.async.cg
tile.func @panels(%x: !tile.view<?x96xf16> {tile.align = 16 : i64}, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 32x96xf16, #tile.swizzle<64>>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 32x96xf16, #tile.swizzle<64>> -> !tile.slot<32x96xf16, #tile.swizzle<64>>
  tile.copy %x[%i, %c0] dims [0, 1] to %s copy(cp_async) : !tile.view<?x96xf16>, !tile.slot<32x96xf16, #tile.swizzle<64>>
  tile.copy_commit
  tile.copy_wait 0
  tile.return
}
// CHECK-LABEL: llvm.func @other(
// CHECK: llvm.mlir.addressof @shared_memory
tile.func @other(%x: !tile.view<?xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %a = tile.ring : !small
  %c0 = arith.constant 0 : index
  %v = tile.slot_at %a[%c0] : !small -> !tile.slot<64xf32, #tile.swizzle<32>>
  %u = tile.read %v : !tile.slot<64xf32, #tile.swizzle<32>> -> tensor<64xf32, #rows>
  tile.store %u, %x[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  tile.return
}
// Rows may begin before the view: a lower limit, too. Rows of 5 chunks: the last
// threads have none, each chunk finds its own row, the column says how many bytes of
// it there are. Rows of 80 bytes lie in two panels of 64.
// CHECK-LABEL: llvm.func @partial(
// CHECK-SAME: %{{[a-z0-9]*}}: !llvm.ptr<1>, %[[ROWS:[a-z0-9]*]]: i64, %[[COLUMNS:[a-z0-9]*]]: i64, %{{[a-z0-9]*}}: i64, %[[N:[a-z0-9]*]]: i64
// CHECK-DAG: %[[PANEL:.*]] = arith.constant 2048 : i32
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 160 : i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK: %[[ABOVE:.*]] = arith.subi %[[ROWS]], %[[N]] : i64
// CHECK: %[[LAST:.*]] = arith.trunci
// CHECK: %[[BELOW:.*]] = arith.subi %[[ZERO]], %[[N]] : i64
// CHECK: %[[FIRST:.*]] = arith.trunci
// CHECK: arith.xori
// CHECK: arith.muli %{{.*}}, %[[PANEL]] : i32
// CHECK: %[[UNDER:.*]] = arith.cmpi ult, %[[ROW:.*]], %[[LAST]] : i32
// CHECK: %[[OVER:.*]] = arith.cmpi uge, %[[ROW]], %[[FIRST]] : i32
// CHECK: %[[IN:.*]] = arith.andi %[[UNDER]], %[[OVER]] : i1
// CHECK: %[[REST:.*]] = arith.subi %[[COLUMNS]], %{{.*}} : i64
// CHECK: arith.maxsi %[[REST]], %[[ZERO]]
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: %[[READ:.*]] = arith.select %[[IN]], %[[BYTES]], %{{.*}} : i32
// CHECK: cp.async.cg.shared.global [$0+0], [$1+0], 16, $2;", "r,l,r,b" %{{.*}}, %{{.*}}, %[[READ]],
// CHECK: %[[SOME:.*]] = arith.cmpi ult, %{{.*}}, %[[COUNT]] : i32
// CHECK: cp.async.cg.shared.global [$0+0], [$1+0], 16, $2;", "r,l,r,b" %{{.*}}, %{{.*}}, %{{.*}}, %[[SOME]]
// CHECK-NOT: cp.async.cg
!narrow = !tile.ring<1 x 32x40xf16, #tile.swizzle<64>>
tile.func @partial(%x: !tile.view<?x?xf16> {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !narrow
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !narrow -> !tile.slot<32x40xf16, #tile.swizzle<64>>
  tile.copy %x[%n, %c0] dims [0, 1] to %s copy(cp_async) : !tile.view<?x?xf16>, !tile.slot<32x40xf16, #tile.swizzle<64>>
  tile.return
}
// Columns that begin before the view: a chunk lies on one side of its start.
// CHECK-LABEL: llvm.func @columns(
// CHECK: arith.cmpi sge
// CHECK: arith.andi
// CHECK: cp.async.cg
tile.func @columns(%x: !tile.view<?x?xf16> {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %j = arith.muli %n, %c8 : index
  %s = tile.slot_at %r[%c0] : !ring -> !slot
  tile.copy %x[%c0, %j] dims [0, 1] to %s copy(cp_async) : !tile.view<?x?xf16>, !slot
  tile.return
}

// Nothing is known to be aligned: element by element, stored together; the kernel
// writes the view, so that loads stay where they stand. Elements of 2 bytes that stand
// side by side are read together, and rows 8 apart at one address, as the swizzle repeats.
// CHECK-LABEL: llvm.func @by_registers(
// CHECK-COUNT-8: llvm.inline_asm has_side_effects asm_dialect = att "{ mov.b16 $0, 0; @$2 ld.global.b16 $0, [$1]; }"
// CHECK-NOT: ld.global
// CHECK: "@$1 st.shared.v4.b32 [$0+0], {$2, $3, $4, $5};"
// CHECK-NOT: st.shared
// CHECK-COUNT-8: "ld.shared.b32 $0, [$1+0];", "=r,r"
// CHECK-COUNT-8: "ld.shared.b32 $0, [$1+1024];", "=r,r"
// CHECK-NOT: ld.shared
tile.func @by_registers(%x: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 16x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 16x64xf16, #tile.swizzle<128>> -> !tile.slot<16x64xf16, #tile.swizzle<128>>
  tile.copy %x[%n, %c0] dims [0, 1] to %s copy(ld_st) : !tile.view<?x64xf16>, !tile.slot<16x64xf16, #tile.swizzle<128>>
  %t = tile.read %s : !tile.slot<16x64xf16, #tile.swizzle<128>> -> tensor<16x64xf16, #tile.frag<reg = [(8, 0, 1), (4, 4, 0)], lane = [(8, 0, 8), (4, 1, 0)], warp = [(4, 0, 0)]>>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<16x64xf16, #tile.frag<reg = [(8, 0, 1), (4, 4, 0)], lane = [(8, 0, 8), (4, 1, 0)], warp = [(4, 0, 0)]>>, !tile.view<?x64xf16>
  tile.return
}

// Columns of an accumulator: pairs side by side, all from one address.
// CHECK-LABEL: llvm.func @pairs(
// CHECK: "ld.shared.v2.f32 {$0, $1}, [$2+0];", "=f,=f,r" %[[FROM:[0-9]+]]
// CHECK: "ld.shared.v2.f32 {$0, $1}, [$2+32];", "=f,=f,r" %[[FROM]]
// CHECK-NOT: ld.shared
tile.func @pairs(%m: !tile.view<?xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 16xf32, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 16xf32, #tile.swizzle<32>> -> !tile.slot<16xf32, #tile.swizzle<32>>
  %t = tile.read %s : !tile.slot<16xf32, #tile.swizzle<32>> -> tensor<16xf32, #tile.frag<reg = [(2, 1), (2, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>>
  tile.store %t, %m[%c0] dims [0] : tensor<16xf32, #tile.frag<reg = [(2, 1), (2, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>>, !tile.view<?xf32>
  tile.return
}

// A slot begins where the swizzle repeats, at a multiple of 8 rows of a panel, and one of rank 1
// at a multiple of 128 bytes. 3 slots of 1024 bytes, 3 of
// 512, 3 of 256 and 3 of 128 bytes, whatever their order in the program.
// CHECK-LABEL: llvm.func @alignments(
// CHECK-DAG: arith.constant 3072 : i32
// CHECK-DAG: arith.constant 4608 : i32
// CHECK-DAG: arith.constant 5376 : i32
// CHECK-DAG: arith.constant 1024 : i32
// CHECK-DAG: arith.constant 512 : i32
// CHECK-DAG: arith.constant 256 : i32
// CHECK-DAG: arith.constant 128 : i32
!s0 = !tile.slot<32xf32, #tile.swizzle<32>>
!s1 = !tile.slot<2x16xf16, #tile.swizzle<32>>
!s2 = !tile.slot<8x32xf16, #tile.swizzle<64>>
!s3 = !tile.slot<8x64xf16, #tile.swizzle<128>>
#t1 = #tile.frag<reg = [(2, 0, 1)], lane = [(8, 0, 2), (2, 1, 0), (2, 0, 0)], warp = [(4, 0, 0)]>
#t0 = #tile.frag<reg = [], lane = [(32, 1)], warp = [(4, 0)]>
#t2 = #tile.frag<reg = [(8, 0, 1)], lane = [(4, 0, 8), (8, 1, 0)], warp = [(4, 0, 0)]>
#t3 = #tile.frag<reg = [(2, 0, 32), (8, 0, 1)], lane = [(4, 0, 8), (8, 1, 0)], warp = [(4, 0, 0)]>
tile.func @alignments(%i: index) grid affine_map<() -> (3)> sizes [] attributes {tile.warps = 4 : i64} {
  %r0 = tile.ring : !tile.ring<3 x 32xf32, #tile.swizzle<32>>
  %r1 = tile.ring : !tile.ring<3 x 2x16xf16, #tile.swizzle<32>>
  %r2 = tile.ring : !tile.ring<3 x 8x32xf16, #tile.swizzle<64>>
  %r3 = tile.ring : !tile.ring<3 x 8x64xf16, #tile.swizzle<128>>
  %p0 = tile.slot_at %r0[%i] : !tile.ring<3 x 32xf32, #tile.swizzle<32>> -> !s0
  %p1 = tile.slot_at %r1[%i] : !tile.ring<3 x 2x16xf16, #tile.swizzle<32>> -> !s1
  %p2 = tile.slot_at %r2[%i] : !tile.ring<3 x 8x32xf16, #tile.swizzle<64>> -> !s2
  %p3 = tile.slot_at %r3[%i] : !tile.ring<3 x 8x64xf16, #tile.swizzle<128>> -> !s3
  %v0 = arith.constant dense<0.0> : tensor<32xf32, #t0>
  %v1 = arith.constant dense<0.0> : tensor<2x16xf16, #t1>
  %v2 = arith.constant dense<0.0> : tensor<8x32xf16, #t2>
  %v3 = arith.constant dense<0.0> : tensor<8x64xf16, #t3>
  tile.write %v0, %p0 : tensor<32xf32, #t0>, !s0
  tile.write %v1, %p1 : tensor<2x16xf16, #t1>, !s1
  tile.write %v2, %p2 : tensor<8x32xf16, #t2>, !s2
  tile.write %v3, %p3 : tensor<8x64xf16, #t3>, !s3
  tile.return
}

// A ring that lends its memory begins where the borrower may, at a multiple of 1024 bytes: before the vector, though that
// stands first and both hold one row.
// CHECK-LABEL: llvm.func @lent(
// CHECK-DAG: %[[VECTOR:.*]] = arith.constant 8192 : i32
// CHECK-DAG: %[[SYMBOL:.*]] = llvm.mlir.addressof @shared_memory : !llvm.ptr<3>
// CHECK-DAG: %[[START:.*]] = llvm.ptrtoint %[[SYMBOL]]
// CHECK: arith.addi %[[START]], %[[VECTOR]] : i32
tile.func @lent(%t0: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %v = tile.ring : !tile.ring<1 x 64xf32, #tile.swizzle<128>>
  %sums = tile.ring : !tile.ring<1 x 2048xf32, #tile.swizzle<128>>
  %out = tile.ring in(%sums at 0 : !tile.ring<1 x 2048xf32, #tile.swizzle<128>>) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<1.0> : tensor<64xf32, #rows>
  %s = tile.slot_at %v[%c0] : !tile.ring<1 x 64xf32, #tile.swizzle<128>> -> !tile.slot<64xf32, #tile.swizzle<128>>
  tile.write %t, %s : tensor<64xf32, #rows>, !tile.slot<64xf32, #tile.swizzle<128>>
  tile.return
}

// Two warps beside each other have 32 columns each. Registers 8 rows apart, where the swizzle repeats, have one address;
// those of each 8 columns have their own, with the bits of the row exchanged.
// CHECK-LABEL: llvm.func @repeated(
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: arith.muli %[[COLUMN]], %c2_i32
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c16_i32
// CHECK: arith.xori %{{.*}}, %[[ROW]]
// CHECK: "@$1 st.shared.b32 [$0+0], $2;", "r,b,r" %[[PLACE:[0-9]+]],
// CHECK: "@$1 st.shared.b32 [$0+1024], $2;", "r,b,r" %[[PLACE]],
// CHECK: arith.addi %[[COLUMN]], %c8_i32
// CHECK: arith.xori %{{.*}}, %[[ROW]]
// CHECK: "@$1 st.shared.b32 [$0+0], $2;", "r,b,r" %[[SECOND:[0-9]+]],
// CHECK: "@$1 st.shared.b32 [$0+1024], $2;", "r,b,r" %[[SECOND]],
// CHECK: arith.addi %[[COLUMN]], %c16_i32
// CHECK: arith.xori %{{.*}}, %[[ROW]]
// CHECK: "@$1 st.shared.b32 [$0+0], $2;", "r,b,r" %[[THIRD:[0-9]+]],
// CHECK: "@$1 st.shared.b32 [$0+1024], $2;", "r,b,r" %[[THIRD]],
// CHECK: arith.addi %[[COLUMN]], %c24_i32
// CHECK: arith.xori %{{.*}}, %[[ROW]]
// CHECK: "@$1 st.shared.b32 [$0+0], $2;", "r,b,r" %[[LAST:[0-9]+]],
// CHECK: "@$1 st.shared.b32 [$0+1024], $2;", "r,b,r" %[[LAST]],
// CHECK-NOT: st.shared
#halves = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 0, 32), (2, 16, 0)]>
tile.func @repeated(%t: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 32x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1.0> : tensor<32x64xf16, #halves>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 32x64xf16, #tile.swizzle<128>> -> !tile.slot<32x64xf16, #tile.swizzle<128>>
  tile.write %v, %s : tensor<32x64xf16, #halves>, !tile.slot<32x64xf16, #tile.swizzle<128>>
  tile.return
}
