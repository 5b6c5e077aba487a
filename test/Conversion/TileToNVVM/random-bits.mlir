// One call of the generator, 7 rounds of Philox4x32, serves 16 elements.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// The tile starts at multiples of 16 rows and 32 columns: all 16 registers of a
// thread of an accumulator are of one call. Row 0 takes words 0 and 1 for even and
// odd columns, row 8 words 2 and 3; the block of 8 columns says which byte.
// CHECK-LABEL: llvm.func @shared(
// CHECK-SAME: %[[SEED:[a-z0-9]*]]: i64, %[[OFFSET:[a-z0-9]*]]: i64
// CHECK-DAG: %[[M0:.*]] = arith.constant -766435501 : i32
// CHECK-DAG: %[[M1:.*]] = arith.constant -845247145 : i32
// CHECK: arith.trunci %[[SEED]] : i64 to i32
// CHECK-COUNT-7: arith.mului_extended %{{.*}}, %[[M1]] : i32
// CHECK-NOT: arith.mului_extended %{{.*}}, %[[M1]] : i32
// CHECK: %[[W0:.*]] = arith.trunci %[[WORD0:[0-9]*]] : i32 to i8
// CHECK: %[[W1:.*]] = arith.trunci %[[WORD1:[0-9]*]] : i32 to i8
// CHECK: arith.trunci %[[WORD2:[0-9]*]] : i32 to i8
// CHECK: arith.trunci %[[WORD3:[0-9]*]] : i32 to i8
// CHECK: arith.shrui %[[WORD0]], %{{.*}} : i32
// CHECK: arith.shrui %[[WORD1]], %{{.*}} : i32
// CHECK: arith.extui %[[W0]] : i8 to i16
// CHECK: arith.extui %[[W1]] : i8 to i16
tile.func @shared(%seed: i64, %offset: i64, %x: !tile.view<?x?xi8>, %b: index, %h: index, %i: index)
    grid affine_map<() -> (2, 2, 2)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %row = arith.muli %i, %c64 : index
  scf.for %j = %c0 to %c64 step %c32 {
    %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %row, %j) : tensor<64x32xi8, #acc>
    tile.store %r, %x[%row, %j] dims [0, 1] : tensor<64x32xi8, #acc>, !tile.view<?x?xi8>
  }
  tile.return
}

// It starts anywhere: a call for each register, and the byte by its own place.
// CHECK-LABEL: llvm.func @general(
// CHECK-COUNT-28: arith.mului_extended
// CHECK: %[[ODD:.*]] = arith.trunci %{{.*}} : i32 to i1
// CHECK: arith.select %[[ODD]]
// CHECK: arith.select %[[ODD]]
tile.func @general(%seed: i64, %offset: i64, %x: !tile.view<?x?xi8>, %row: index, %j: index, %b: index, %h: index)
    grid affine_map<() -> (2, 2)> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %row, %j) : tensor<64x32xi8, #acc>
  tile.store %r, %x[%row, %j] dims [0, 1] : tensor<64x32xi8, #acc>, !tile.view<?x?xi8>
  tile.return
}

// Four bytes are compared at once: the highest bits of the bytes of a word. Two elements of 16 bits
// that are 0 where a byte is less are cleared by one permutation, which repeats the bits of two words, and one and.
// CHECK-LABEL: llvm.func @dropped(
// CHECK-SAME: %{{[a-z0-9]*}}: i64, %{{[a-z0-9]*}}: i64, %[[LIMIT:[a-z0-9]*]]: i8
// CHECK-DAG: %[[ONES:.*]] = arith.constant 16843009 : i32
// CHECK-DAG: %[[HIGHEST:.*]] = arith.constant -2139062144 : i32
// CHECK-DAG: %[[OTHERS:.*]] = arith.constant 2139062143 : i32
// CHECK: %[[WIDE:.*]] = arith.extui %[[LIMIT]] : i8 to i32
// CHECK: %[[Y:.*]] = arith.muli %[[WIDE]], %[[ONES]] : i32
// CHECK: %[[LOW:.*]] = arith.andi %[[Y]], %[[OTHERS]] : i32
// CHECK: %[[GUARDED:.*]] = arith.ori %[[X:.*]], %[[HIGHEST]] : i32
// CHECK: %[[REST:.*]] = arith.subi %[[GUARDED]], %[[LOW]] : i32
// CHECK: %[[DIFFERENT:.*]] = arith.xori %[[X]], %[[Y]] : i32
// CHECK: %[[SAME:.*]] = arith.xori %[[DIFFERENT]], %{{.*}} : i32
// CHECK: %[[BELOW:.*]] = arith.xori %[[Y]], %{{.*}} : i32
// CHECK: %[[ABOVE:.*]] = arith.andi %[[X]], %[[BELOW]] : i32
// CHECK: %[[TOP:.*]] = arith.andi %[[SAME]], %[[REST]] : i32
// CHECK: %[[EVEN:.*]] = arith.ori %[[ABOVE]], %[[TOP]] : i32
// CHECK-COUNT-3: arith.subi %{{.*}}, %[[LOW]] : i32
// CHECK-NOT: arith.subi
// CHECK-NOT: arith.select
// CHECK: %[[PAIR:.*]] = nvvm.convert.f32x2.to.bf16x2
// CHECK: %[[KEEP:.*]] = llvm.inline_asm asm_dialect = att "prmt.b32 $0, $1, $2, 52360;", "=r,r,r" %[[EVEN]], %{{.*}} : (i32, i32) -> i32
// CHECK: arith.andi %{{.*}}, %[[KEEP]] : i32
// CHECK: "prmt.b32 $0, $1, $2, 52360;"
// CHECK: "prmt.b32 $0, $1, $2, 56729;"
// CHECK-NOT: arith.select
// CHECK: llvm.return
tile.func @dropped(%seed: i64, %offset: i64, %limit: i8, %x: !tile.view<?x?xbf16>, %p: f32, %b: index, %h: index, %i: index)
    grid affine_map<() -> (2, 2, 2)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %row = arith.muli %i, %c64 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #acc>
  %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %row, %c0) : tensor<64x32xi8, #acc>
  %limits = tile.broadcast %limit : i8 -> tensor<64x32xi8, #acc>
  %kept = arith.cmpi uge, %r, %limits : tensor<64x32xi8, #acc>
  %values = tile.broadcast %p : f32 -> tensor<64x32xf32, #acc>
  %masked = arith.select %kept, %values, %zero : tensor<64x32xi1, #acc>, tensor<64x32xf32, #acc>
  %low = arith.truncf %masked : tensor<64x32xf32, #acc> to tensor<64x32xbf16, #acc>
  tile.store %low, %x[%row, %c0] dims [0, 1] : tensor<64x32xbf16, #acc>, !tile.view<?x?xbf16>
  tile.return
}
