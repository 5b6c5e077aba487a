// Slots, copies into them, and tiles that pass through them.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!small = !tile.ring<1 x 64xf32, #tile.swizzle<32>>

// One symbol for all kernels, at a multiple of 1024 bytes; the launch sizes it. The
// second ring follows the first at the next such multiple, its slots are 8192 bytes
// each. Whoever holds an element first writes it; all that want it read it.
// CHECK: llvm.mlir.global external @shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-NOT: llvm.mlir.global
// CHECK-LABEL: llvm.func @rings(
// CHECK-DAG: %[[SYMBOL:.*]] = llvm.mlir.addressof @shared_memory : !llvm.ptr<3>
// CHECK-DAG: %[[SECOND:.*]] = arith.constant 1024 : i32
// CHECK-DAG: %[[SLOT:.*]] = arith.constant 8192 : i32
// CHECK-DAG: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK-DAG: %[[START:.*]] = llvm.ptrtoint %[[SYMBOL]]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: %[[BYTE:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.addi %[[START]], %[[BYTE]] : i32
// CHECK: "@$1 st.shared.b32 [$0+0], $2;", "r,b,r" %[[PLACE]], %[[FIRST]],
// CHECK: "@$1 st.shared.b32 [$0+0], $2;"
// CHECK: nvvm.barrier
// CHECK: "ld.shared.b32 $0, [$1];", "=r,r" %[[PLACE]]
// CHECK: "ld.shared.b32 $0, [$1];"
// CHECK: %[[RING:.*]] = arith.addi %[[START]], %[[SECOND]] : i32
// CHECK: %[[STAGE:.*]] = arith.muli %[[BLOCK]], %[[SLOT]] : i32
// CHECK: %[[AT:.*]] = arith.addi %[[RING]], %[[STAGE]] : i32
// 64 rows of 8 chunks by 128 threads: 4 chunks each, in one column, 16 rows apart.
// The index of the block is not negative, so that rows have an upper limit only.
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : i64
// CHECK: arith.maxsi %[[LEFT]]
// CHECK: %[[LAST:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK-NOT: arith.trunci
// CHECK: arith.xori
// CHECK: %[[TO:.*]] = arith.addi %[[AT]],
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %[[LAST]] : i32
// CHECK: %[[BYTES:.*]] = arith.select %[[IN]], %{{.*}}, %{{.*}} : i32
// CHECK: "@$3 cp.async.cg.shared.global [$0+0], [$1], 16, $2;", "r,l,r,b" %[[TO]], %{{.*}}, %[[BYTES]],
// CHECK: [$0+2048], [$1], 16, $2;", "r,l,r,b" %[[TO]],
// CHECK: [$0+4096], [$1], 16, $2;", "r,l,r,b" %[[TO]],
// CHECK: [$0+6144], [$1], 16, $2;", "r,l,r,b" %[[TO]],
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
// CHECK: cp.async.cg.shared.global [$0+0], [$1], 16, $2;", "r,l,r,b" %{{.*}}, %{{.*}}, %[[READ]],
// CHECK: %[[SOME:.*]] = arith.cmpi ult, %{{.*}}, %[[COUNT]] : i32
// CHECK: cp.async.cg.shared.global [$0+0], [$1], 16, $2;", "r,l,r,b" %{{.*}}, %{{.*}}, %{{.*}}, %[[SOME]]
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
// writes the view, so that loads stay where they stand. Elements of 2 bytes are
// read one by one.
// CHECK-LABEL: llvm.func @by_registers(
// CHECK-COUNT-8: llvm.inline_asm has_side_effects asm_dialect = att "{ mov.b16 $0, 0; @$2 ld.global.b16 $0, [$1]; }"
// CHECK-NOT: ld.global
// CHECK: "@$1 st.shared.v4.b32 [$0+0], {$2, $3, $4, $5};"
// CHECK-NOT: st.shared
// CHECK-COUNT-32: "ld.shared.b16 $0, [$1];", "=h,r"
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
