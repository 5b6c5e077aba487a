// Every access is predicated by the range checks of its element, and takes no branch.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
#lanes = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
#block = #tile.frag<reg = [(8, 0, 1), (4, 16, 0)], lane = [(8, 0, 8), (4, 1, 0)], warp = [(4, 4, 0)]>

// The index that the tile has no dimension for is checked, too; what is out of
// range reads 0, whatever the register held.
// CHECK-LABEL: llvm.func @predicated(
// CHECK-SAME: %[[X:[a-z0-9]*]]: !llvm.ptr<1>, %[[B:[a-z0-9]*]]: i64, %[[N:[a-z0-9]*]]: i64, %[[SB:[a-z0-9]*]]: i64
// CHECK-NOT: scf.if
// CHECK: %[[AT:.*]] = llvm.inline_asm {{.*}}"mov.b32 $0, $1;"
// CHECK: %[[WIDE:.*]] = arith.extui %[[AT]]
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[WIDE]] : i64
// CHECK: %[[INB:.*]] = arith.cmpi ult, %[[I:.*]], %[[B]] : i64
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[X]]
// CHECK: %[[INN:.*]] = arith.cmpi ult, %[[COLUMN]], %[[N]] : i64
// CHECK: %[[BOTH:.*]] = arith.andi %[[INB]], %[[INN]] : i1
// CHECK: llvm.inline_asm asm_dialect = att "{ mov.b32 $0, 0; @$2 ld.global.b32 $0, [$1]; }", "=&r,l,b" %[[FIRST]], %[[BOTH]]
tile.func @predicated(%x: !tile.view<?x?xf32>, %y: !tile.view<?xf32>, %j: index, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %j] dims [1] : !tile.view<?x?xf32> -> tensor<32xf32, #lanes>
  tile.store %t, %y[%c0] dims [0] : tensor<32xf32, #lanes>, !tile.view<?xf32>
  tile.return
}

// As wide as alignment, neighbours and whole rows allow: 16 bytes.
// CHECK-LABEL: llvm.func @wide(
// CHECK-COUNT-4: llvm.inline_asm asm_dialect = att "{ mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0; @$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4]; }"
// CHECK-NOT: ld.global
// CHECK-COUNT-4: "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};"
// CHECK-NOT: st.global
// CHECK: llvm.return
tile.func @wide(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16> {tile.align = 16 : i64})
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16, #block>
  tile.store %t, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf16, #block>, !tile.view<?x64xf16>
  tile.return
}

// Aligned to 4 bytes: two elements. Rows that are no multiple of two, tiles that
// start anywhere, views of unknown alignment: one. A view that holds all columns
// of the tile has them checked by nobody.
// CHECK-LABEL: llvm.func @narrow(
// CHECK-SAME: %{{[a-z0-9]*}}: !llvm.ptr<1>, %[[ROWS:[a-z0-9]*]]: i64,
// CHECK: %[[UPPER:.*]] = arith.cmpi ult, %{{.*}}, %[[ROWS]] : i64
// CHECK: ld.global.b32 $0, [$1]; }", "=&r,l,b" %{{.*}}, %[[UPPER]]
// CHECK: %[[LOWER:.*]] = arith.cmpi ult, %{{.*}}, %[[ROWS]] : i64
// CHECK: ld.global.b32 $0, [$1]; }", "=&r,l,b" %{{.*}}, %[[LOWER]]
// CHECK-COUNT-14: ld.global.b32
// CHECK-NOT: ld.global.b32
// CHECK-COUNT-32: "@$1 st.global.b16 [$0], $2;"
// CHECK-COUNT-32: "@$1 st.global.b16 [$0], $2;"
// CHECK: llvm.return
#pairs = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @narrow(%x: !tile.view<?x64xf16> {tile.align = 4 : i64}, %y: !tile.view<?x63xf16> {tile.align = 4 : i64},
                  %z: !tile.view<?x64xf16> {tile.align = 4 : i64}, %w: !tile.view<?x64xf16>, %j: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16, #pairs>
  tile.store %t, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf16, #pairs>, !tile.view<?x63xf16>
  tile.store %t, %z[%c0, %j] dims [0, 1] : tensor<64x64xf16, #pairs>, !tile.view<?x64xf16>
  tile.store %t, %w[%c0, %c0] dims [0, 1] : tensor<64x64xf16, #pairs>, !tile.view<?x64xf16>
  tile.return
}

// Four lanes hold each row: the first of them stores it. Of warps that the
// layout does not count, none does.
// CHECK-LABEL: llvm.func @replicated(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: ld.global
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %[[ZERO]] : i32
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i64
// CHECK: %[[STORES:.*]] = arith.andi %[[FIRST]], %[[IN]] : i1
// CHECK: st.global.b32 {{.*}} %{{.*}}, %[[STORES]],
// CHECK: %[[WARP:.*]] = arith.cmpi ult, %{{.*}}, %[[ONE]] : i32
// CHECK: %[[THERE:.*]] = arith.andi %[[WARP]], %{{.*}} : i1
// CHECK: st.global.b32 {{.*}} %{{.*}}, %[[THERE]],
tile.func @replicated(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32, #rows>
  tile.store %t, %y[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  %u = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<32xf32, #lanes>
  tile.store %u, %y[%c0] dims [0] : tensor<32xf32, #lanes>, !tile.view<?xf32>
  tile.return
}

// One element by every thread; i1 is a byte, f64 two words. What the kernel
// itself writes is read where it stands, not earlier.
// CHECK-LABEL: llvm.func @scalars(
// CHECK: %[[BYTE:.*]] = llvm.inline_asm asm_dialect = att "{ mov.b16 $0, 0; @$2 ld.global.b8 $0, [$1]; }", "=&h,l,b"
// CHECK: arith.cmpi ne, %[[BYTE]], %{{.*}} : i16
// CHECK: llvm.inline_asm asm_dialect = att "{ mov.b64 $0, 0; @$2 ld.global.b64 $0, [$1]; }", "=&l,l,b"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{ mov.b32 $0, 0; @$2 ld.global.b32 $0, [$1]; }"
// CHECK: arith.extui %{{.*}} : i1 to i16
// CHECK: "@$1 st.global.b8 [$0], $2;", "l,b,h"
tile.func @scalars(%x: !tile.view<?xi1>, %y: !tile.view<?xf64>, %z: !tile.view<?xf32>, %w: !tile.view<?xi1>, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i] dims [] : !tile.view<?xi1> -> i1
  %b = tile.load %y[%i] dims [] : !tile.view<?xf64> -> f64
  %c = tile.load %z[%i] dims [] : !tile.view<?xf32> -> f32
  %d = arith.truncf %b : f64 to f32
  %e = arith.select %a, %c, %d : f32
  %t = tile.broadcast %e : f32 -> tensor<32xf32, #lanes>
  tile.store %t, %z[%c0] dims [0] : tensor<32xf32, #lanes>, !tile.view<?xf32>
  %f = tile.broadcast %a : i1 -> tensor<32xi1, #lanes>
  tile.store %f, %w[%c0] dims [0] : tensor<32xi1, #lanes>, !tile.view<?xi1>
  tile.return
}

// Each element by its own indices; a negative one is a large one, so out of range.
// CHECK-LABEL: llvm.func @gathered(
// CHECK-SAME: %[[X:[a-z0-9]*]]: !llvm.ptr<1>, %[[H:[a-z0-9]*]]: i64, %[[N:[a-z0-9]*]]: i64
// CHECK: %[[INDICES:.*]] = arith.subi {{.*}} : vector<2xi64>
// CHECK: %[[INDEX:.*]] = vector.extract %[[INDICES]][0] : i64
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[INDEX]], %[[N]] : i64
// CHECK: ld.global.b32
// CHECK: vector.extract %[[INDICES]][1] : i64
// CHECK: ld.global.b32
// CHECK-NOT: ld.global
// CHECK: llvm.return
tile.func @gathered(%x: !tile.view<?x?xf32>, %y: !tile.view<?xf32>, %h: index, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %io = tile.iota %i : index -> tensor<64xindex, #rows>
  %half = arith.constant dense<32> : tensor<64xindex, #rows>
  %at = arith.subi %io, %half : tensor<64xindex, #rows>
  %t = tile.gather %x[%h, %at] : !tile.view<?x?xf32>[index, tensor<64xindex, #rows>] -> tensor<64xf32, #rows>
  tile.store %t, %y[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  tile.return
}

// Neighbours of a thread that go to one address are added up before; what is out of range is 0, and 0 is not added.
// CHECK-LABEL: llvm.func @scattered(
// CHECK: arith.subi {{.*}} : vector<2xi64>
// CHECK: %[[A0:.*]] = llvm.getelementptr
// CHECK: %[[X0:.*]] = arith.select
// CHECK: %[[A1:.*]] = llvm.getelementptr
// CHECK: %[[X1:.*]] = arith.select
// CHECK: %[[SAME:.*]] = llvm.icmp "eq" %[[A0]], %[[A1]]
// CHECK: %[[SUM:.*]] = arith.addf %[[X0]], %[[X1]]
// CHECK: %[[LEFT:.*]] = arith.select %[[SAME]], %{{.*}}, %[[X0]]
// CHECK: %[[NEXT:.*]] = arith.select %[[SAME]], %[[SUM]], %[[X1]]
// CHECK: arith.cmpf une, %[[LEFT]]
// CHECK: red.global.add.f32 {{.*}} %[[A0]], %{{.*}}, %[[LEFT]]
// CHECK: arith.cmpf une, %[[NEXT]]
// CHECK: red.global.add.f32 {{.*}} %[[A1]], %{{.*}}, %[[NEXT]]
// CHECK-NOT: red.global
// CHECK: llvm.return
tile.func @scattered(%x: !tile.view<?xf32>, %y: !tile.view<?x?xf32>, %h: index, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32, #rows>
  %io = tile.iota %i : index -> tensor<64xindex, #rows>
  %half = arith.constant dense<32> : tensor<64xindex, #rows>
  %at = arith.subi %io, %half : tensor<64xindex, #rows>
  tile.scatter_add %v, %y[%h, %at] : tensor<64xf32, #rows>, !tile.view<?x?xf32>[index, tensor<64xindex, #rows>]
  tile.return
}

// A scatter: each element where its indices say, if they are in range, by the thread that holds it first.
// CHECK-LABEL: llvm.func @placed(
// CHECK: %[[AT:.*]] = arith.subi {{.*}} : vector<2xi64>
// CHECK: %[[I0:.*]] = vector.extract %[[AT]][0]
// CHECK: %[[IN0:.*]] = arith.cmpi ult, %[[I0]]
// CHECK: %[[BOTH0:.*]] = arith.andi %{{.*}}, %[[IN0]]
// CHECK: %[[A0:.*]] = llvm.getelementptr
// CHECK: %[[OK0:.*]] = arith.andi {{.*}}%[[BOTH0]]
// CHECK: st.global.b32 {{.*}} %[[A0]], %[[OK0]],
// CHECK: %[[I1:.*]] = vector.extract %[[AT]][1]
// CHECK: arith.cmpi ult, %[[I1]]
// CHECK: %[[A1:.*]] = llvm.getelementptr
// CHECK: st.global.b32 {{.*}} %[[A1]],
// CHECK-NOT: st.global
// CHECK: llvm.return
tile.func @placed(%x: !tile.view<?xf32>, %y: !tile.view<?x?xf32>, %h: index, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32, #rows>
  %io = tile.iota %i : index -> tensor<64xindex, #rows>
  %half = arith.constant dense<32> : tensor<64xindex, #rows>
  %at = arith.subi %io, %half : tensor<64xindex, #rows>
  tile.scatter %v, %y[%h, %at] : tensor<64xf32, #rows>, !tile.view<?x?xf32>[index, tensor<64xindex, #rows>]
  tile.return
}

// A tile is added element by element, where it is in range, by the threads that hold an element first.
// CHECK-LABEL: llvm.func @accumulated(
// CHECK: red.global.add.f32
// CHECK-COUNT-3: red.global.add.f32
// CHECK-NOT: red.global
// CHECK-NOT: st.global
// CHECK: llvm.return
tile.func @accumulated(%x: !tile.view<?x8xf32>, %y: !tile.view<?x8xf32>, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x8xf32> -> tensor<64x8xf32, #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>
  tile.accumulate %v, %y[%i, %c0] dims [0, 1] : tensor<64x8xf32, #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>>, !tile.view<?x8xf32>
  tile.return
}

// What is known of an index is not sought far away, however many ways lead there.
// CHECK-LABEL: llvm.func @doubled(
tile.func @doubled(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %z: !tile.view<?x?xi8>, %a0: index)
    grid affine_map<() -> (2)> sizes [] attributes {tile.warps = 4 : i64, tile.shared_bytes = 8192 : i64} {
  %c0 = arith.constant 0 : index
  %seed = arith.constant 0 : i64
  %a1 = arith.addi %a0, %a0 : index
  %a2 = arith.addi %a1, %a1 : index
  %a3 = arith.addi %a2, %a2 : index
  %a4 = arith.addi %a3, %a3 : index
  %a5 = arith.addi %a4, %a4 : index
  %a6 = arith.addi %a5, %a5 : index
  %a7 = arith.addi %a6, %a6 : index
  %a8 = arith.addi %a7, %a7 : index
  %a9 = arith.addi %a8, %a8 : index
  %a10 = arith.addi %a9, %a9 : index
  %a11 = arith.addi %a10, %a10 : index
  %a12 = arith.addi %a11, %a11 : index
  %a13 = arith.addi %a12, %a12 : index
  %a14 = arith.addi %a13, %a13 : index
  %a15 = arith.addi %a14, %a14 : index
  %a16 = arith.addi %a15, %a15 : index
  %a17 = arith.addi %a16, %a16 : index
  %a18 = arith.addi %a17, %a17 : index
  %a19 = arith.addi %a18, %a18 : index
  %a20 = arith.addi %a19, %a19 : index
  %a21 = arith.addi %a20, %a20 : index
  %a22 = arith.addi %a21, %a21 : index
  %a23 = arith.addi %a22, %a22 : index
  %a24 = arith.addi %a23, %a23 : index
  %a25 = arith.addi %a24, %a24 : index
  %a26 = arith.addi %a25, %a25 : index
  %a27 = arith.addi %a26, %a26 : index
  %a28 = arith.addi %a27, %a27 : index
  %a29 = arith.addi %a28, %a28 : index
  %a30 = arith.addi %a29, %a29 : index
  %a31 = arith.addi %a30, %a30 : index
  %a32 = arith.addi %a31, %a31 : index
  %a33 = arith.addi %a32, %a32 : index
  %a34 = arith.addi %a33, %a33 : index
  %a35 = arith.addi %a34, %a34 : index
  %a36 = arith.addi %a35, %a35 : index
  %a37 = arith.addi %a36, %a36 : index
  %a38 = arith.addi %a37, %a37 : index
  %a39 = arith.addi %a38, %a38 : index
  %a40 = arith.addi %a39, %a39 : index
  %ring = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %slot = tile.slot_at %ring[%c0] : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  // CHECK: cp.async
  tile.copy %x[%a40, %c0] dims [0, 1] to %slot copy(cp_async) : !tile.view<?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>
  %r = tile.random_bits seed(%seed, %seed) at(%c0, %c0, %a40, %a40) : tensor<64x16xi8, #acc>
  // CHECK: st.global
  tile.store %r, %z[%c0, %c0] dims [0, 1] : tensor<64x16xi8, #acc>, !tile.view<?x?xi8>
  tile.return
}

// A slice has its own first address and its own size, which accesses are checked against.
// CHECK-LABEL: llvm.func @slice(
// CHECK-SAME: %[[X:[a-z0-9]*]]: !llvm.ptr<1>, %{{[a-z0-9]*}}: i64, %[[STRIDE:[a-z0-9]*]]: i64, {{.*}}, %[[START:[a-z0-9]*]]: i64, %[[SIZE:[a-z0-9]*]]: i64)
// CHECK: %[[FROM:.*]] = arith.muli %[[START]], %[[STRIDE]]
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[X]][%[[FROM]]]
// CHECK: arith.cmpi ult, %{{.*}}, %[[SIZE]] : i64
// CHECK: llvm.getelementptr %[[FIRST]]
tile.func @slice(%x: !tile.view<?x64xf32>, %y: !tile.view<?x64xf32>, %from: i64, %count: i64, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %start = arith.index_cast %from : i64 to index
  %size = arith.index_cast %count : i64 to index
  %s = tile.slice %x dim 0 from %start size %size : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  %t = tile.load %s[%i, %c0] dims [1] : !tile.view<?x64xf32> -> tensor<32xf32, #lanes>
  tile.store %t, %y[%c0, %c0] dims [1] : tensor<32xf32, #lanes>, !tile.view<?x64xf32>
  tile.return
}

// Of a tile that begins inside of rows that are whole tiles nothing is checked, nor of what else it begins at; of rows that
// are multiples of less each element is.
// CHECK-LABEL: llvm.func @inside(
// CHECK-NOT: arith.cmpi
// CHECK: ld.global.b32
// CHECK: arith.cmpi ult
// CHECK: ld.global.b32
// CHECK: llvm.return
tile.func @inside(%x: !tile.view<?x?xf32> {tile.name = "x"},
    %y: !tile.view<?x?xf32> {tile.name = "y", tile.workspace = [["x", 0], ["x", 1, 1, 64]]},
    %z: !tile.view<?x?xf32> {tile.name = "z", tile.workspace = [["x", 0], ["x", 1, 1, 16]]},
    %o: !tile.view<64xf32> {tile.name = "o", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 32)> sizes [0, 0, 0, 1] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %u = tile.load %y[%b, %i] dims [1] inside : !tile.view<?x?xf32> -> tensor<32xf32, #lanes>
  %v = tile.load %z[%b, %i] dims [1] inside : !tile.view<?x?xf32> -> tensor<32xf32, #lanes>
  %w = arith.addf %u, %v : tensor<32xf32, #lanes>
  tile.store %w, %o[%c0] dims [0] : tensor<32xf32, #lanes>, !tile.view<64xf32>
  tile.return
}

// What of a matrix that begins at no negative row is in range is counted once, in 64 bits, and compared in 32 for each row.
// CHECK-LABEL: llvm.func @counted(
// CHECK-SAME: %{{[a-z0-9]*}}: !llvm.ptr<1>, %[[ROWS:[a-z0-9]*]]: i64
// CHECK: %[[LEFT:.*]] = arith.subi %[[ROWS]], %{{.*}} : i64
// CHECK: %[[SOME:.*]] = arith.maxsi %[[LEFT]], %{{.*}} : i64
// CHECK: %[[MOST:.*]] = arith.minsi %[[SOME]], %{{.*}} : i64
// CHECK: %[[COUNT:.*]] = arith.trunci %[[MOST]] : i64 to i32
// CHECK: %[[REST:.*]] = arith.subi %[[COUNT]], %{{.*}} : i32
// CHECK: arith.cmpi sgt, %[[REST]], %{{.*}} : i32
// CHECK: arith.cmpi sgt, %[[REST]], %{{.*}} : i32
#turned = #tile.frag<reg = [(4, 8, 0)], lane = [(8, 1, 0), (4, 0, 1)], warp = [(2, 0, 4)]>
tile.func @counted(%x: !tile.view<?x?xf32>, %y: !tile.view<?x?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %u = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<32x8xf32, #turned>
  tile.store %u, %y[%i, %c0] dims [0, 1] : tensor<32x8xf32, #turned>, !tile.view<?x?xf32>
  tile.return
}
