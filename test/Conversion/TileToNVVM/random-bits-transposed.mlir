// Where rows lie along registers, lanes call for places of their own and exchange what they compared.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s
// The bits are those of docs/semantics.md: the PTX runs, lane by lane.
// RUN: fa-opt %s --target=sm_80 --compile-from=schedule --emit=ptx -o %t.ptx
// RUN: %python %S/Inputs/check_bits.py %t.ptx sixteen 64
// RUN: %python %S/Inputs/check_bits.py %t.ptx all 128

#rows16 = #tile.frag<reg = [(2, 1, 0), (2, 0, 8), (4, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 16)]>
#keys16 = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows32 = #tile.frag<reg = [(2, 1, 0), (4, 0, 8), (4, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 32)]>
#keys32 = #tile.frag<reg = [(2, 0, 1), (4, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 32, 0)]>

// A warp has 16 columns: it takes the first or the last two bytes of each word. 16 rows are a call of each lane,
// of which there are two here, with the first product of a round in common, and four words; those are exchanged at once.
// CHECK-LABEL: llvm.func @sixteen(
// CHECK: %[[HALF:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK-COUNT-26: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r" %{{.*}}, %{{.*}}, %[[HALF]]
// CHECK-COUNT-4: arith.subi
// CHECK-NOT: arith.subi
// CHECK: %[[MOVED:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;"
// CHECK-NOT: movmatrix
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, $1;", "=r,r" %[[MOVED]]
// CHECK: llvm.return
tile.func @sixteen(%seed: i64 {tile.name = "seed"}, %offset: i64 {tile.name = "offset"},
    %limit: i32 {tile.name = "limit"}, %x: !tile.view<?x?xf32> {tile.name = "x", tile.output},
    %b: index, %h: index, %i: index)
    grid affine_map<() -> (2, 2, 2)> sizes [] attributes {tile.warps = 4 : i64, tile.entry = "sixteen"} {
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %row = arith.muli %i, %c32 : index
  %column = arith.muli %h, %c64 : index
  %byte = arith.trunci %limit : i32 to i8
  %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %row, %column) : tensor<32x64xi8, #rows16>
  %t = tile.transpose %r : tensor<32x64xi8, #rows16> -> tensor<64x32xi8, #keys16>
  %limits = tile.broadcast %byte : i8 -> tensor<64x32xi8, #keys16>
  %kept = arith.cmpi uge, %t, %limits : tensor<64x32xi8, #keys16>
  %ones = arith.constant dense<1.0> : tensor<64x32xf32, #keys16>
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32, #keys16>
  %y = arith.select %kept, %ones, %zeros : tensor<64x32xi1, #keys16>, tensor<64x32xf32, #keys16>
  tile.store %y, %x[%column, %row] dims [0, 1] : tensor<64x32xf32, #keys16>, !tile.view<?x?xf32>
  tile.return
}

// It has 32: all 16 bytes of a call.
// CHECK-LABEL: llvm.func @all(
// CHECK-COUNT-26: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK-COUNT-8: arith.subi
// CHECK-NOT: arith.subi
// CHECK: movmatrix
// CHECK-NOT: movmatrix
// CHECK: llvm.return
tile.func @all(%seed: i64 {tile.name = "seed"}, %offset: i64 {tile.name = "offset"},
    %limit: i32 {tile.name = "limit"}, %x: !tile.view<?x?xf32> {tile.name = "x", tile.output},
    %b: index, %h: index, %i: index)
    grid affine_map<() -> (2, 2, 2)> sizes [] attributes {tile.warps = 4 : i64, tile.entry = "all"} {
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c32 : index
  %column = arith.muli %h, %c128 : index
  %byte = arith.trunci %limit : i32 to i8
  %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %row, %column) : tensor<32x128xi8, #rows32>
  %t = tile.transpose %r : tensor<32x128xi8, #rows32> -> tensor<128x32xi8, #keys32>
  %limits = tile.broadcast %byte : i8 -> tensor<128x32xi8, #keys32>
  %kept = arith.cmpi uge, %t, %limits : tensor<128x32xi8, #keys32>
  %ones = arith.constant dense<1.0> : tensor<128x32xf32, #keys32>
  %zeros = arith.constant dense<0.0> : tensor<128x32xf32, #keys32>
  %y = arith.select %kept, %ones, %zeros : tensor<128x32xi1, #keys32>, tensor<128x32xf32, #keys32>
  tile.store %y, %x[%column, %row] dims [0, 1] : tensor<128x32xf32, #keys32>, !tile.view<?x?xf32>
  tile.return
}

// Round a loop they go as words, and are taken apart where they are used: here to clear pairs of 16-bit elements.
// CHECK-LABEL: llvm.func @carried(
// CHECK: %[[FIRST:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;"
// CHECK: %[[INIT:.*]] = vector.broadcast %[[FIRST]] : i32 to vector<1xi32>
// CHECK: scf.for {{.*}} iter_args(%[[WORDS:.*]] = %[[INIT]]) -> (vector<1xi32>)
// CHECK: %[[WORD:.*]] = vector.extract %[[WORDS]][0]
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, $1;", "=r,r" %[[WORD]]
// CHECK: "prmt.b32 $0, $1, $2, {{[0-9]+}};", "=r,r,r" %{{.*}}, %{{.*}}
// CHECK: %[[NEXT:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;"
// CHECK: %[[YIELDED:.*]] = vector.broadcast %[[NEXT]] : i32 to vector<1xi32>
// CHECK: scf.yield %[[YIELDED]] : vector<1xi32>
tile.func @carried(%seed: i64 {tile.name = "seed"}, %offset: i64 {tile.name = "offset"},
    %limit: i32 {tile.name = "limit"}, %p: f32 {tile.name = "p"},
    %x: !tile.view<?x?xbf16> {tile.name = "x", tile.output}, %b: index, %h: index)
    grid affine_map<() -> (2, 2)> sizes [] attributes {tile.warps = 4 : i64, tile.entry = "carried"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %byte = arith.trunci %limit : i32 to i8
  %limits = tile.broadcast %byte : i8 -> tensor<64x32xi8, #keys16>
  %values = tile.broadcast %p : f32 -> tensor<64x32xf32, #keys16>
  %zeros = arith.constant dense<0.0> : tensor<64x32xf32, #keys16>
  %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %c0, %c0) : tensor<32x64xi8, #rows16>
  %t = tile.transpose %r : tensor<32x64xi8, #rows16> -> tensor<64x32xi8, #keys16>
  %first = arith.cmpi uge, %t, %limits : tensor<64x32xi8, #keys16>
  %last = scf.for %i = %c0 to %c64 step %c32 iter_args(%kept = %first) -> (tensor<64x32xi1, #keys16>) {
    %y = arith.select %kept, %values, %zeros : tensor<64x32xi1, #keys16>, tensor<64x32xf32, #keys16>
    %low = arith.truncf %y : tensor<64x32xf32, #keys16> to tensor<64x32xbf16, #keys16>
    tile.store %low, %x[%c0, %i] dims [0, 1] : tensor<64x32xbf16, #keys16>, !tile.view<?x?xbf16>
    %r1 = tile.random_bits seed(%seed, %offset) at(%b, %h, %i, %c0) : tensor<32x64xi8, #rows16>
    %t1 = tile.transpose %r1 : tensor<32x64xi8, #rows16> -> tensor<64x32xi8, #keys16>
    %next = arith.cmpi uge, %t1, %limits : tensor<64x32xi8, #keys16>
    scf.yield %next : tensor<64x32xi1, #keys16>
  }
  tile.return
}
