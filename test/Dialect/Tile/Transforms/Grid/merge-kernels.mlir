// RUN: fa-opt %s --tile-merge-kernels --remarks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-merge-kernels=shared-limit=1023 --split-input-file | FileCheck %s --check-prefix=LIMIT
// RUN: fa-opt %s --tile-merge-kernels=shared-limit=1024 --split-input-file | FileCheck %s --check-prefix=FITS
// RUN: fa-opt %s --tile-merge-kernels --tile-overlap-kernels --split-input-file | FileCheck %s --check-prefix=WAIT

// Two copies of inputs of different lengths are one launch: its last extent is the sum of both, and each program sees its own id. Sizes
// of one name are one size.
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1, s2] -> (s0, s1 ceildiv 64 + s2 ceildiv 32)>
// CHECK: tile.func @x(%[[X:.*]]: !tile.view<?x?xf32> {{.*}}, %[[XO:.*]]: !tile.view<?x?xf32> {{.*}}, %[[Y:.*]]: !tile.view<?x?xf32> {{.*}}, %[[YO:.*]]: !tile.view<?x?xf32> {{.*}}, %[[B:.*]]: index, %[[T:.*]]: index) grid #[[GRID]] sizes [0, 0, 0, 1, 2, 1] attributes {tile.entry = "f", tile.shared_bytes = 512 : i64, tile.warps = 2 : i64}
// CHECK: %[[N:.*]] = tile.dim %[[X]], 1
// CHECK: %[[COUNT:.*]] = arith.divsi
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[T]], %[[COUNT]]
// CHECK: %[[REST:.*]] = arith.subi %[[T]], %[[COUNT]]
// CHECK-COUNT-2: tile.ring
// CHECK: scf.if %[[FIRST]] {
// CHECK:   %[[I:.*]] = arith.muli %[[T]], %{{.*}}
// CHECK:   tile.load %[[X]][%[[B]], %[[I]]]
// CHECK:   tile.store {{.*}} %[[XO]][%[[B]], %[[I]]]
// CHECK: } else {
// CHECK:   %[[J:.*]] = arith.muli %[[REST]], %{{.*}}
// CHECK:   tile.load %[[Y]][%[[B]], %[[J]]]
// CHECK:   tile.store {{.*}} %[[YO]][%[[B]], %[[J]]]
// CHECK: }
// CHECK-NEXT: tile.return
// CHECK-NOT: tile.func @y(
// It does not take part: it reads what the first one writes.
// CHECK: tile.func @z(
// WAIT: tile.func @z({{.*}}tile.dependent
tile.func @x(%x: !tile.view<?x?xf32> {tile.dims = ["B", "N"], tile.name = "x"},
             %o: !tile.view<?x?xf32> {tile.name = "xo", tile.output, tile.align = 4 : i64}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "f", tile.shared_bytes = 256 : i64, tile.warps = 2 : i64} {
  %ring = tile.ring : !tile.ring<1 x 64xf32, #tile.swizzle<128>>
  %c64 = arith.constant 64 : index
  %i = arith.muli %t, %c64 : index
  %v = tile.load %x[%b, %i] : !tile.view<?x?xf32> -> f32
  %s = tile.broadcast %v : f32 -> tensor<4xf32>
  tile.store %s, %o[%b, %i] dims [1] : tensor<4xf32>, !tile.view<?x?xf32>
  tile.return
}
// expected-remark@+1 {{@x and @y are one launch}}
tile.func @y(%y: !tile.view<?x?xf32> {tile.dims = ["B", "M"], tile.name = "y"},
             %o: !tile.view<?x?xf32> {tile.name = "yo", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 32)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "f", tile.shared_bytes = 256 : i64, tile.warps = 2 : i64} {
  %ring = tile.ring : !tile.ring<1 x 64xf32, #tile.swizzle<128>>
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %v = tile.load %y[%b, %i] : !tile.view<?x?xf32> -> f32
  %s = tile.broadcast %v : f32 -> tensor<4xf32>
  tile.store %s, %o[%b, %i] dims [1] : tensor<4xf32>, !tile.view<?x?xf32>
  tile.return
}
tile.func @z(%y: !tile.view<?x?xf32> {tile.dims = ["B", "M"], tile.name = "y"}, %xo: !tile.view<?x?xf32> {tile.name = "xo"},
             %o: !tile.view<?x?xf32> {tile.name = "zo", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 32)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "f", tile.shared_bytes = 0 : i64, tile.warps = 2 : i64} {
  tile.return
}

// -----

// A kernel goes back past one that it does not depend on; the arguments that both have are taken once, with what either says of them.
// CHECK: tile.func @first(%{{.*}}: !tile.view<?xf32> {tile.align = 32 : i64, tile.name = "x"}, %{{.*}}: !tile.view<?xf32> {tile.name = "a", tile.output}, %{{.*}}: !tile.view<?xf32> {tile.name = "b", tile.output}, %{{.*}}: index)
// CHECK: tile.func @between(
// CHECK-NOT: tile.func
tile.func @first(%x: !tile.view<?xf32> {tile.align = 16 : i64, tile.name = "x"}, %o: !tile.view<?xf32> {tile.name = "a", tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.warps = 1 : i64} {
  tile.return
}
tile.func @between(%a: !tile.view<?xf32> {tile.name = "a"}, %o: !tile.view<?xf32> {tile.name = "c", tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.warps = 4 : i64} {
  tile.return
}
// expected-remark@+1 {{@first and @last are one launch}}
tile.func @last(%x: !tile.view<?xf32> {tile.align = 32 : i64, tile.name = "x"}, %o: !tile.view<?xf32> {tile.name = "b", tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.warps = 1 : i64} {
  tile.return
}

// -----

// Other warps, products, another entry.
// CHECK-COUNT-5: tile.func
tile.func @warps(%x: !tile.view<?x?xf32> {tile.name = "x"}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 1 : i64} {
  tile.return
}
tile.func @more(%x: !tile.view<?x?xf32> {tile.name = "x"}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  tile.return
}
tile.func @product(%x: !tile.view<?x?xf32> {tile.name = "x"}, %o: !tile.view<?x?xf32> {tile.name = "o", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<32x32xf32>
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<32x32xf32>
  %d = tile.dot %v, %v, %acc : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
  tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<32x32xf32>, !tile.view<?x?xf32>
  tile.return
}
tile.func @g(%x: !tile.view<?x?xf32> {tile.name = "x"}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1)> sizes [0, 0, 0, 1] attributes {tile.entry = "g", tile.warps = 2 : i64} {
  tile.return
}
tile.func @alone(%x: !tile.view<?x?xf32> {tile.name = "x"}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1)> sizes [0, 0, 0, 1] attributes {tile.warps = 2 : i64} {
  tile.return
}

// -----

// Rings of both stand side by side, so shared memory has to have all of them: else the second kernel goes on to one before, or stays.
// LIMIT-LABEL: tile.func @small({{.*}}tile.shared_bytes = 512
// LIMIT: tile.func @large({{.*}}tile.shared_bytes = 768
// LIMIT-NOT: tile.func
// FITS-LABEL: tile.func @small({{.*}}tile.shared_bytes = 1024
// FITS: tile.func @third({{.*}}tile.shared_bytes = 256
// FITS-NOT: tile.func
tile.func @small(%x: !tile.view<?xf32> {tile.name = "x"}, %o: !tile.view<?xf32> {tile.name = "a", tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.shared_bytes = 256 : i64, tile.warps = 1 : i64} {
  %ring = tile.ring : !tile.ring<1 x 64xf32, #tile.swizzle<128>>
  tile.return
}
// expected-remark@+1 {{@small and @large are one launch}}
tile.func @large(%x: !tile.view<?xf32> {tile.name = "x"}, %o: !tile.view<?xf32> {tile.name = "b", tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.shared_bytes = 768 : i64, tile.warps = 1 : i64} {
  %ring = tile.ring : !tile.ring<3 x 64xf32, #tile.swizzle<128>>
  tile.return
}
// expected-remark@+1 {{@small and @third are one launch}}
tile.func @third(%x: !tile.view<?xf32> {tile.name = "x"}, %o: !tile.view<?xf32> {tile.name = "c", tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.shared_bytes = 256 : i64, tile.warps = 1 : i64} {
  %ring = tile.ring : !tile.ring<1 x 64xf32, #tile.swizzle<128>>
  tile.return
}

// -----

// Sizes without a name are no one size, be they of one tensor.
// LIMIT: tile.func @own(
// FITS: tile.func @own(
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1] -> (s0, (s1 ceildiv 64) * 2)>
// CHECK: tile.func @own({{.*}} grid #[[GRID]] sizes [0, 0, 0, 1]
// CHECK-NOT: tile.func
tile.func @own(%x: !tile.view<?x?xf32> {tile.dims = ["", ""], tile.name = "x"}, %o: !tile.view<?x?xf32> {tile.name = "o", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %c64 = arith.constant 64 : index
  %i = arith.muli %t, %c64 : index
  tile.store %zero, %o[%b, %i] dims [1] : tensor<64xf32>, !tile.view<?x?xf32>
  tile.return
}
// expected-remark@+1 {{@own and @more are one launch}}
tile.func @more(%x: !tile.view<?x?xf32> {tile.dims = ["", ""], tile.name = "x"}, %p: !tile.view<?x?xf32> {tile.name = "p", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %c64 = arith.constant 64 : index
  %i = arith.muli %t, %c64 : index
  tile.store %zero, %p[%b, %i] dims [1] : tensor<64xf32>, !tile.view<?x?xf32>
  tile.return
}

// -----

// Where extents before the last one differ, both grids have one dimension, and each program its ids from the number that it sees.
// LIMIT: tile.func @rows(
// FITS: tile.func @rows(
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1] -> ((s0 * s1) * 2)>
// CHECK: tile.func @rows({{.*}}, %[[T:[a-z0-9]+]]: index) grid #[[GRID]]
// CHECK: %[[COUNT:.*]] = arith.muli
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[T]], %[[COUNT]]
// CHECK: %[[REST:.*]] = arith.subi %[[T]], %[[COUNT]]
// CHECK: scf.if %[[FIRST]] {
// CHECK:   arith.index_cast %[[T]] : index to i32
// CHECK:   arith.divui
// CHECK:   tile.store
// CHECK: } else {
// CHECK:   arith.index_cast %[[REST]] : index to i32
// CHECK:   arith.divui
// CHECK:   tile.store
// CHECK: }
// CHECK-NOT: tile.func
tile.func @rows(%x: !tile.view<?x?xf32> {tile.dims = ["B", "N"], tile.name = "x"}, %o: !tile.view<?x?xf32> {tile.name = "o", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  tile.store %zero, %o[%b, %t] dims [1] : tensor<1xf32>, !tile.view<?x?xf32>
  tile.return
}
// expected-remark@+1 {{@rows and @columns are one launch}}
tile.func @columns(%x: !tile.view<?x?xf32> {tile.dims = ["B", "N"], tile.name = "x"}, %o: !tile.view<?x?xf32> {tile.name = "p", tile.output}, %t: index, %b: index)
    grid affine_map<()[s0, s1] -> (s1, s0)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<1xf32>
  tile.store %zero, %o[%b, %t] dims [1] : tensor<1xf32>, !tile.view<?x?xf32>
  tile.return
}

// -----

// Beside what has one block the grid has one dimension: without a batch it has that block.
// LIMIT: tile.func @all(
// FITS: tile.func @all(
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1] -> (s0 * (s1 ceildiv 64) + 1)>
// CHECK: tile.func @all({{.*}}, %[[T:[a-z0-9]+]]: index) grid #[[GRID]]
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[T]]
// CHECK: scf.if %[[FIRST]] {
// CHECK:   %[[NUMBER:.*]] = arith.index_cast %[[T]]
// CHECK:   %[[BATCH:.*]] = arith.divui %[[NUMBER]], %{{.*}} : i32
// CHECK:   %[[B:.*]] = arith.index_cast %[[BATCH]]
// CHECK:   tile.store {{.*}}[%[[B]],
// CHECK: } else {
// CHECK-NOT: scf.if
// CHECK:   tile.store
// CHECK: }
// CHECK-NOT: tile.func
tile.func @all(%x: !tile.view<?x?xf32> {tile.dims = ["B", "N"], tile.name = "x"}, %o: !tile.view<?x?xf32> {tile.name = "o", tile.output}, %b: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %c64 = arith.constant 64 : index
  %i = arith.muli %t, %c64 : index
  tile.store %zero, %o[%b, %i] dims [1] : tensor<64xf32>, !tile.view<?x?xf32>
  tile.return
}
// expected-remark@+1 {{@all and @one are one launch}}
tile.func @one(%p: !tile.view<64xf32> {tile.name = "p", tile.output}, %t: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.entry = "f", tile.warps = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %c0 = arith.constant 0 : index
  tile.store %zero, %p[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}
