// RUN: fa-opt %s -tile-narrow-indices | FileCheck %s
// RUN: fa-opt %s -tile-narrow-indices=before-loops | FileCheck %s --check-prefix=BEFORE

// Causal: the columns' numbers are compared with one limit a row, in i32, of which only what all rows share
// is computed in 64 bits.
// CHECK-LABEL: tile.func @causal
// CHECK-DAG: %[[LOW:.*]] = arith.constant -268435456 : index
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 268435456 : index
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[RAISED:.*]] = arith.maxsi %{{.*}}, %[[LOW]] : index
// CHECK: %[[CLAMPED:.*]] = arith.minsi %[[RAISED]], %[[HIGH]] : index
// CHECK: %[[SHARED:.*]] = arith.index_cast %[[CLAMPED]] : index to i32
// CHECK: %[[FIRST:.*]] = arith.addi %[[SHARED]], %[[ONE]] : i32
// CHECK-DAG: %[[FIRSTS:.*]] = tile.broadcast %[[FIRST]] : i32 -> tensor<64xi32>
// CHECK-DAG: %[[ROWS:.*]] = tile.iota %{{.*}} : i32 -> tensor<64xi32>
// CHECK: %[[LIMIT:.*]] = arith.addi %[[FIRSTS]], %[[ROWS]] : tensor<64xi32>
// CHECK-DAG: %[[LIMITS:.*]] = tile.broadcast %[[LIMIT]] dim 1
// CHECK-DAG: %[[COLUMNS:.*]] = tile.broadcast %{{.*}} dim 0 : tensor<128xi32>
// CHECK: arith.cmpi slt, %[[COLUMNS]], %[[LIMITS]] : tensor<64x128xi32>
// CHECK-NOT: tensor<64x128xindex>
//
// What does not change in the loop is computed before it; where that and what changes fit 32 bits, so does their sum.
// BEFORE-LABEL: tile.func @causal
// BEFORE: %[[FIXED:.*]] = arith.index_cast %{{.*}} : index to i32
// BEFORE-NEXT: scf.for
// BEFORE: %[[MOVING:.*]] = arith.index_cast %{{.*}} : index to i32
// BEFORE-NEXT: arith.addi %[[FIXED]], %[[MOVING]] : i32
tile.func @causal(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c64 : index
  %sq = tile.dim %x, 0 : !tile.view<?x?xi8>
  %sk = tile.dim %x, 1 : !tile.view<?x?xi8>
  scf.for %j0 = %c0 to %sk step %c128 {
    %i = tile.iota %i0 : index -> tensor<64xindex>
    %d = arith.subi %sk, %sq : index
    %ds = tile.broadcast %d : index -> tensor<64xindex>
    %row = arith.addi %i, %ds : tensor<64xindex>
    %j = tile.iota %j0 : index -> tensor<128xindex>
    %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
    %rows = tile.broadcast %row dim 1 : tensor<64xindex> -> tensor<64x128xindex>
    %m = arith.cmpi sle, %js, %rows : tensor<64x128xindex>
    %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
    tile.store %b, %x[%i0, %j0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  }
  tile.return
}

// What may leave 32 bits is brought to where it decides for some column before the loop;
// what changes is subtracted in i32, from where it cannot overflow: with both ends shifted by half of the
// loop's range.
// BEFORE-LABEL: tile.func @shifted
// BEFORE-DAG: %[[ONE:.*]] = arith.constant 1 : i32
// BEFORE-DAG: %[[LOW:.*]] = arith.constant -268435456 : i32
// BEFORE-DAG: %[[HIGH:.*]] = arith.constant 268435456 : i32
// BEFORE-DAG: %[[HALF:.*]] = arith.constant 536870848 : i32
// BEFORE-DAG: %[[MINUSHALF:.*]] = arith.constant -536870848 : index
// BEFORE-DAG: %[[LEAST:.*]] = arith.constant -268435456 : index
// BEFORE-DAG: %[[MOST:.*]] = arith.constant 1342177152 : index
// BEFORE: %[[RAISED:.*]] = arith.maxsi %{{.*}}, %[[LEAST]] : index
// BEFORE-NEXT: %[[CLAMPED:.*]] = arith.minsi %[[RAISED]], %[[MOST]] : index
// BEFORE-NEXT: %[[SHIFTED:.*]] = arith.addi %[[CLAMPED]], %[[MINUSHALF]] : index
// BEFORE-NEXT: %[[FIXED:.*]] = arith.index_cast %[[SHIFTED]] : index to i32
// BEFORE-NEXT: scf.for
// BEFORE: %[[MOVING:.*]] = arith.index_cast %{{.*}} : index to i32
// BEFORE-NEXT: %[[REST:.*]] = arith.addi %[[MOVING]], %[[HALF]] : i32
// BEFORE-NEXT: %[[FROM:.*]] = arith.subi %[[LOW]], %[[REST]] overflow<nsw> : i32
// BEFORE-NEXT: %[[HIGHER:.*]] = arith.maxsi %[[FIXED]], %[[FROM]] : i32
// BEFORE-NEXT: %[[TO:.*]] = arith.subi %[[HIGH]], %[[REST]] overflow<nsw> : i32
// BEFORE-NEXT: %[[BETWEEN:.*]] = arith.minsi %[[HIGHER]], %[[TO]] : i32
// BEFORE-NEXT: %[[SUM:.*]] = arith.addi %[[BETWEEN]], %[[REST]] : i32
// BEFORE-NEXT: %[[FIRST:.*]] = arith.addi %[[SUM]], %[[ONE]] : i32
tile.func @shifted(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c64 : index
  %sq = tile.dim %x, 0 : !tile.view<?x?xi8>
  %sk = tile.dim %x, 1 : !tile.view<?x?xi8>
  scf.for %j0 = %c0 to %sk step %c128 {
    %i = tile.iota %i0 : index -> tensor<64xindex>
    %twice = arith.addi %sk, %sk : index
    %d = arith.subi %twice, %sq : index
    %ds = tile.broadcast %d : index -> tensor<64xindex>
    %row = arith.addi %i, %ds : tensor<64xindex>
    %j = tile.iota %j0 : index -> tensor<128xindex>
    %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
    %rows = tile.broadcast %row dim 1 : tensor<64xindex> -> tensor<64x128xindex>
    %m = arith.cmpi sle, %js, %rows : tensor<64x128xindex>
    %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
    tile.store %b, %x[%i0, %j0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  }
  tile.return
}

// i + j < n: the limit falls by one a row.
// CHECK-LABEL: tile.func @falling
// CHECK-DAG: %[[LOW:.*]] = arith.constant -268435456 : index
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 268435456 : index
// CHECK: %[[RAISED:.*]] = arith.maxsi %{{.*}}, %[[LOW]] : index
// CHECK: arith.minsi %[[RAISED]], %[[HIGH]] : index
// CHECK: arith.subi %{{.*}}, %{{.*}} : tensor<64xi32>
// CHECK: arith.cmpi slt, {{.*}} : tensor<64x128xi32>
tile.func @falling(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i0 = arith.muli %t, %c64 : index
  %n = tile.dim %x, 1 : !tile.view<?x?xi8>
  %i = tile.iota %i0 : index -> tensor<64xindex>
  %j = tile.iota %c0 : index -> tensor<128xindex>
  %is = tile.broadcast %i dim 1 : tensor<64xindex> -> tensor<64x128xindex>
  %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
  %p = arith.addi %is, %js : tensor<64x128xindex>
  %ns = tile.broadcast %n : index -> tensor<64x128xindex>
  %m = arith.cmpi slt, %p, %ns : tensor<64x128xindex>
  %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
  tile.store %b, %x[%i0, %c0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  tile.return
}

// Causal, of keys that end, within a window: the lower of both upper limits is one comparison, and the
// other side is another. The limit of all rows is brought to the tile's columns.
// CHECK-LABEL: tile.func @joined
// CHECK-DAG: %[[NONE:.*]] = arith.constant -1 : index
// CHECK-DAG: %[[ALL:.*]] = arith.constant 128 : index
// CHECK: %[[LEFT:.*]] = arith.maxsi %{{.*}}, %[[NONE]] : index
// CHECK-NEXT: %[[WIDE:.*]] = arith.minsi %[[LEFT]], %[[ALL]] : index
// CHECK-NEXT: %[[END:.*]] = arith.index_cast %[[WIDE]] : index to i32
// CHECK-NEXT: %[[ENDS:.*]] = tile.broadcast %[[END]] : i32 -> tensor<64xi32>
// CHECK-NEXT: %[[LOWER:.*]] = arith.minsi %{{.*}}, %[[ENDS]] : tensor<64xi32>
// CHECK: %[[LIMITS:.*]] = tile.broadcast %[[LOWER]] dim 1
// CHECK: %[[UPPER:.*]] = arith.cmpi slt, %{{.*}}, %[[LIMITS]] : tensor<64x128xi32>
// CHECK: %[[OTHER:.*]] = arith.cmpi sge, %{{.*}} : tensor<64x128xi32>
// CHECK: arith.andi %[[UPPER]], %[[OTHER]]
// CHECK-NOT: arith.cmpi
//
// A difference that fits is one in i32; limits that differ by a constant share the rest.
// BEFORE-LABEL: tile.func @joined
// BEFORE-DAG: %[[LOW:.*]] = arith.constant -268435456 : i32
// BEFORE-DAG: %[[HIGH:.*]] = arith.constant 268435456 : i32
// BEFORE-DAG: %[[BACK:.*]] = arith.constant -128 : i32
// BEFORE-DAG: %[[NONE:.*]] = arith.constant -1 : i32
// BEFORE-DAG: %[[ALL:.*]] = arith.constant 128 : i32
// BEFORE: %[[ROW:.*]] = arith.index_cast %{{.*}} : index to i32
// BEFORE: scf.for
// BEFORE: %[[SUM:.*]] = arith.addi %[[ROW]], %{{.*}} : i32
// BEFORE-NEXT: %[[RAISED:.*]] = arith.maxsi %[[SUM]], %[[LOW]] : i32
// BEFORE-NEXT: arith.minsi %[[RAISED]], %[[HIGH]] : i32
// BEFORE: arith.addi %{{.*}}, %[[BACK]] : i32
// BEFORE: %[[LEFT:.*]] = arith.maxsi %{{.*}}, %[[NONE]] : i32
// BEFORE-NEXT: %[[END:.*]] = arith.minsi %[[LEFT]], %[[ALL]] : i32
// BEFORE-NEXT: tile.broadcast %[[END]] : i32 -> tensor<64xi32>
tile.func @joined(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c64 : index
  %sk = tile.dim %x, 1 : !tile.view<?x?xi8>
  scf.for %j0 = %c0 to %sk step %c128 {
    %i = tile.iota %i0 : index -> tensor<64xindex>
    %back = tile.broadcast %c128 : index -> tensor<64xindex>
    %first = arith.subi %i, %back : tensor<64xindex>
    %j = tile.iota %j0 : index -> tensor<128xindex>
    %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
    %rows = tile.broadcast %i dim 1 : tensor<64xindex> -> tensor<64x128xindex>
    %firsts = tile.broadcast %first dim 1 : tensor<64xindex> -> tensor<64x128xindex>
    %causal = arith.cmpi sle, %js, %rows : tensor<64x128xindex>
    %window = arith.cmpi sge, %js, %firsts : tensor<64x128xindex>
    %both = arith.andi %causal, %window : tensor<64x128xi1>
    %ends = tile.broadcast %sk : index -> tensor<128xindex>
    %within = arith.cmpi slt, %j, %ends : tensor<128xindex>
    %all = tile.broadcast %within dim 0 : tensor<128xi1> -> tensor<64x128xi1>
    %m = arith.andi %both, %all : tensor<64x128xi1>
    %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
    tile.store %b, %x[%i0, %j0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  }
  tile.return
}

// j + i <= 3 i + 5 - i: what is left counts, j < i + 6.
// CHECK-LABEL: tile.func @cancelled
// CHECK-DAG: %[[SIX:.*]] = arith.constant 6 : i32
// CHECK: %[[CLAMPED:.*]] = arith.minsi
// CHECK: %[[SHARED:.*]] = arith.index_cast %[[CLAMPED]] : index to i32
// CHECK: %[[FIRST:.*]] = arith.addi %[[SHARED]], %[[SIX]] : i32
// CHECK: %[[FIRSTS:.*]] = tile.broadcast %[[FIRST]] : i32 -> tensor<64xi32>
// CHECK: %[[ROWS:.*]] = tile.iota
// CHECK: arith.addi %[[FIRSTS]], %[[ROWS]] : tensor<64xi32>
// CHECK: arith.cmpi slt, {{.*}} : tensor<64x128xi32>
// CHECK-NOT: tensor<64x128xindex>
tile.func @cancelled(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  %i0 = arith.muli %t, %c64 : index
  %i = tile.iota %i0 : index -> tensor<64xindex>
  %j = tile.iota %c0 : index -> tensor<128xindex>
  %is = tile.broadcast %i dim 1 : tensor<64xindex> -> tensor<64x128xindex>
  %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
  %left = arith.addi %js, %is : tensor<64x128xindex>
  %twice = arith.addi %i, %i : tensor<64xindex>
  %thrice = arith.addi %twice, %i : tensor<64xindex>
  %fives = tile.broadcast %c5 : index -> tensor<64xindex>
  %sum = arith.addi %thrice, %fives : tensor<64xindex>
  %less = arith.subi %sum, %i : tensor<64xindex>
  %right = tile.broadcast %less dim 1 : tensor<64xindex> -> tensor<64x128xindex>
  %m = arith.cmpi sle, %left, %right : tensor<64x128xindex>
  %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
  tile.store %b, %x[%i0, %c0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  tile.return
}

// What may exceed 32 bits, or has no known range, stays.
// CHECK-LABEL: tile.func @wide
// CHECK: arith.muli {{.*}} : tensor<64x128xindex>
// CHECK: arith.cmpi slt, {{.*}} : tensor<64x128xindex>
// CHECK: arith.cmpi sle, {{.*}} : tensor<64x128xindex>
tile.func @wide(%x: !tile.view<?x?xi8>, %n: index, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %i = tile.iota %t : index -> tensor<64xindex>
  %j = tile.iota %c0 : index -> tensor<128xindex>
  %is = tile.broadcast %i dim 1 : tensor<64xindex> -> tensor<64x128xindex>
  %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
  %p = arith.muli %is, %js : tensor<64x128xindex>
  %m = arith.cmpi slt, %p, %is : tensor<64x128xindex>
  %ns = tile.broadcast %n : index -> tensor<64x128xindex>
  %w = arith.cmpi sle, %js, %ns : tensor<64x128xindex>
  %both = arith.andi %m, %w : tensor<64x128xi1>
  %b = arith.extui %both : tensor<64x128xi1> to tensor<64x128xi8>
  tile.store %b, %x[%t, %c0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  tile.return
}

// A sum of many terms is not taken apart.
// CHECK-LABEL: tile.func @doubled
// CHECK: arith.cmpi slt
tile.func @doubled(%z: !tile.view<?x?xi1>, %t: index) grid affine_map<() -> (2)> sizes [] {
  %c0 = arith.constant 0 : index
  %five = arith.constant dense<5> : tensor<2x2xindex>
  %a0 = tile.iota %c0 : index -> tensor<2xindex>
  %a1 = arith.addi %a0, %a0 : tensor<2xindex>
  %a2 = arith.addi %a1, %a1 : tensor<2xindex>
  %a3 = arith.addi %a2, %a2 : tensor<2xindex>
  %a4 = arith.addi %a3, %a3 : tensor<2xindex>
  %a5 = arith.addi %a4, %a4 : tensor<2xindex>
  %a6 = arith.addi %a5, %a5 : tensor<2xindex>
  %a7 = arith.addi %a6, %a6 : tensor<2xindex>
  %a8 = arith.addi %a7, %a7 : tensor<2xindex>
  %a9 = arith.addi %a8, %a8 : tensor<2xindex>
  %a10 = arith.addi %a9, %a9 : tensor<2xindex>
  %a11 = arith.addi %a10, %a10 : tensor<2xindex>
  %a12 = arith.addi %a11, %a11 : tensor<2xindex>
  %a13 = arith.addi %a12, %a12 : tensor<2xindex>
  %a14 = arith.addi %a13, %a13 : tensor<2xindex>
  %a15 = arith.addi %a14, %a14 : tensor<2xindex>
  %a16 = arith.addi %a15, %a15 : tensor<2xindex>
  %a17 = arith.addi %a16, %a16 : tensor<2xindex>
  %a18 = arith.addi %a17, %a17 : tensor<2xindex>
  %a19 = arith.addi %a18, %a18 : tensor<2xindex>
  %a20 = arith.addi %a19, %a19 : tensor<2xindex>
  %a21 = arith.addi %a20, %a20 : tensor<2xindex>
  %a22 = arith.addi %a21, %a21 : tensor<2xindex>
  %a23 = arith.addi %a22, %a22 : tensor<2xindex>
  %a24 = arith.addi %a23, %a23 : tensor<2xindex>
  %a25 = arith.addi %a24, %a24 : tensor<2xindex>
  %a26 = arith.addi %a25, %a25 : tensor<2xindex>
  %a27 = arith.addi %a26, %a26 : tensor<2xindex>
  %a28 = arith.addi %a27, %a27 : tensor<2xindex>
  %a29 = arith.addi %a28, %a28 : tensor<2xindex>
  %a30 = arith.addi %a29, %a29 : tensor<2xindex>
  %a31 = arith.addi %a30, %a30 : tensor<2xindex>
  %a32 = arith.addi %a31, %a31 : tensor<2xindex>
  %a33 = arith.addi %a32, %a32 : tensor<2xindex>
  %a34 = arith.addi %a33, %a33 : tensor<2xindex>
  %a35 = arith.addi %a34, %a34 : tensor<2xindex>
  %a36 = arith.addi %a35, %a35 : tensor<2xindex>
  %a37 = arith.addi %a36, %a36 : tensor<2xindex>
  %a38 = arith.addi %a37, %a37 : tensor<2xindex>
  %a39 = arith.addi %a38, %a38 : tensor<2xindex>
  %a40 = arith.addi %a39, %a39 : tensor<2xindex>
  %b = tile.broadcast %a40 dim 0 : tensor<2xindex> -> tensor<2x2xindex>
  %c = arith.cmpi slt, %b, %five : tensor<2x2xindex>
  tile.store %c, %z[%c0, %c0] dims [0, 1] : tensor<2x2xi1>, !tile.view<?x?xi1>
  tile.return
}

// Limits that are loaded for each row: they are brought to 32 bits before the loop, where nothing that is
// added reaches a column from beyond.
// CHECK-LABEL: tile.func @loaded
// CHECK-DAG: %[[BELOW:.*]] = arith.constant dense<-1> : tensor<64xi32>
// CHECK-DAG: %[[ABOVE:.*]] = arith.constant dense<128> : tensor<64xi32>
// CHECK: %[[LAST:.*]] = tile.load
// CHECK: %[[AT_LEAST:.*]] = arith.maxsi %[[LAST]], %[[BELOW]] : tensor<64xi32>
// CHECK: %[[RAISED:.*]] = arith.minsi %[[AT_LEAST]], %{{.*}} : tensor<64xi32>
// CHECK: scf.for
// CHECK: %[[SHARED:.*]] = tile.broadcast %{{.*}} : i32 -> tensor<64xi32>
// CHECK: %[[SUM:.*]] = arith.addi %[[RAISED]], %[[SHARED]] : tensor<64xi32>
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[SUM]], %[[BELOW]] : tensor<64xi32>
// CHECK: %[[LIMIT:.*]] = arith.minsi %[[LEAST]], %[[ABOVE]] : tensor<64xi32>
// CHECK: %[[LIMITS:.*]] = tile.broadcast %[[LIMIT]] dim 1
// CHECK: arith.cmpi slt, %{{.*}}, %[[LIMITS]] : tensor<64x128xi32>
// CHECK-NOT: tensor<64xindex>
tile.func @loaded(%x: !tile.view<?x?xi8>, %last: !tile.view<?xi32>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c64 : index
  %n = tile.dim %x, 1 : !tile.view<?x?xi8>
  %l = tile.load %last[%i0] dims [0] : !tile.view<?xi32> -> tensor<64xi32>
  scf.for %j0 = %c0 to %n step %c128 {
    %wide = arith.index_cast %l : tensor<64xi32> to tensor<64xindex>
    %ls = tile.broadcast %wide dim 1 : tensor<64xindex> -> tensor<64x128xindex>
    %j = tile.iota %j0 : index -> tensor<128xindex>
    %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
    %m = arith.cmpi slt, %js, %ls : tensor<64x128xindex>
    %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
    tile.store %b, %x[%i0, %j0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  }
  tile.return
}

// What is added to a loaded limit may leave 32 bits: it is added in 64.
// CHECK-LABEL: tile.func @far
// CHECK: arith.addi {{.*}} : tensor<64xindex>
// CHECK: arith.cmpi slt, {{.*}} : tensor<64x128xi32>
tile.func @far(%x: !tile.view<?x?xi8>, %last: !tile.view<?xi32>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i0 = arith.muli %t, %c64 : index
  %n = tile.dim %x, 1 : !tile.view<?x?xi8>
  %l = tile.load %last[%i0] dims [0] : !tile.view<?xi32> -> tensor<64xi32>
  %wide = arith.index_cast %l : tensor<64xi32> to tensor<64xindex>
  %n2 = arith.addi %n, %n : index
  %ns = tile.broadcast %n2 : index -> tensor<64xindex>
  %sum = arith.addi %wide, %ns : tensor<64xindex>
  %ls = tile.broadcast %sum dim 1 : tensor<64xindex> -> tensor<64x128xindex>
  %j = tile.iota %c0 : index -> tensor<128xindex>
  %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
  %m = arith.cmpi slt, %js, %ls : tensor<64x128xindex>
  %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
  tile.store %b, %x[%i0, %c0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  tile.return
}

// Quotients, rests and absolute values of numbers that fit are the same in 32 bits, and so is what is computed of
// vectors before they are broadcast.
// CHECK-LABEL: tile.func @pixels
// CHECK: %[[J:.*]] = tile.iota %{{.*}} : i32 -> tensor<128xi32>
// CHECK: arith.divui %[[J]], %{{.*}} : tensor<128xi32>
// CHECK: arith.remui %[[J]], %{{.*}} : tensor<128xi32>
// CHECK: math.absi %{{.*}} : tensor<64x128xi32>
// CHECK: arith.cmpi sle, %{{.*}} : tensor<64x128xi32>
// CHECK-NOT: xindex>
//
// The dividend may be below 0, where divsi, not divui, is the same.
// CHECK-LABEL: tile.func @below
// CHECK: arith.divsi %{{.*}} : tensor<64x128xi32>
// CHECK: arith.divui %{{.*}} : tensor<64x128xindex>
tile.func @pixels(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c64 : index
  %sk = tile.dim %x, 1 : !tile.view<?x?xi8>
  %row = arith.shrsi %i0, %c5 : index
  %from = arith.muli %row, %c32 : index
  scf.for %j0 = %from to %sk step %c128 {
    %w = tile.broadcast %c32 : index -> tensor<64xindex>
    %v = tile.broadcast %c32 : index -> tensor<128xindex>
    %i = tile.iota %i0 : index -> tensor<64xindex>
    %j = tile.iota %j0 : index -> tensor<128xindex>
    %yi = arith.divui %i, %w : tensor<64xindex>
    %yj = arith.divui %j, %v : tensor<128xindex>
    %xi = arith.remui %i, %w : tensor<64xindex>
    %xj = arith.remui %j, %v : tensor<128xindex>
    %zi = arith.addi %yi, %xi : tensor<64xindex>
    %zj = arith.addi %yj, %xj : tensor<128xindex>
    %is = tile.broadcast %zi dim 1 : tensor<64xindex> -> tensor<64x128xindex>
    %js = tile.broadcast %zj dim 0 : tensor<128xindex> -> tensor<64x128xindex>
    %d = arith.subi %is, %js : tensor<64x128xindex>
    %a = math.absi %d : tensor<64x128xindex>
    %three = tile.broadcast %c3 : index -> tensor<64x128xindex>
    %m = arith.cmpi sle, %a, %three : tensor<64x128xindex>
    %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
    tile.store %b, %x[%i0, %j0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  }
  tile.return
}
tile.func @below(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %i0 = arith.muli %t, %c64 : index
  %w = tile.broadcast %c32 : index -> tensor<64x128xindex>
  %i = tile.iota %i0 : index -> tensor<64xindex>
  %j = tile.iota %c0 : index -> tensor<128xindex>
  %is = tile.broadcast %i dim 1 : tensor<64xindex> -> tensor<64x128xindex>
  %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
  %d = arith.subi %is, %js : tensor<64x128xindex>
  %q = arith.divsi %d, %w : tensor<64x128xindex>
  %u = arith.divui %d, %w : tensor<64x128xindex>
  %m = arith.cmpi slt, %q, %is : tensor<64x128xindex>
  %n = arith.cmpi slt, %u, %js : tensor<64x128xindex>
  %both = arith.andi %m, %n : tensor<64x128xi1>
  %b = arith.extui %both : tensor<64x128xi1> to tensor<64x128xi8>
  tile.store %b, %x[%i0, %c0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  tile.return
}
