// RUN: fa-opt %s --fa-fuse-blocks --remarks=fa-fuse-blocks --split-input-file --verify-diagnostics | FileCheck %s

// What a kernel reads of its own rows it computes itself, and stores for others.

// CHECK-LABEL: func.func @rows
// CHECK-NOT:     @prepare
// CHECK:         %[[R:.*]]:2 = fa.map_blocks @main over(%[[Q:.*]]) axes(b, h, rows by 64) {{.*}} attributes {fa.sizes = [array<i64: 0, 0, 0, 1, 0, 2>, array<i64: 0, 0, 0, 1, 0, 2, 0, 3>], fa.tiles = {warps = 4 : i64}} {
// CHECK:         ^bb0(%[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[SUMS:.*]]: !tile.view<?x?x?xf32>, %[[OUT:.*]]: !tile.view<?x?x?x64xf32>):
// CHECK:           tile.load
// CHECK:           %[[SUM:.*]] = tile.reduce addf
// CHECK:           tile.store %[[SUM]], %[[SUMS]][%[[B]], %[[H]], %[[I]]]
// CHECK-NOT:       tile.load
// CHECK:           tile.dot
// CHECK:           tile.broadcast %[[SUM]] dim 1
// CHECK:         fa.map_blocks @after {{.*}} {
// CHECK:           tile.load %[[R]]#0
// CHECK:         return %[[R]]#1
func.func @rows(%q: tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = fa.map_blocks @prepare over(%q) axes(b, h, rows by 64) : tensor<?x?x?x64xf16> -> tensor<?x?x?xf32> attributes {fa.sizes = [array<i64: 0, 0, 0, 1, 0, 2>], fa.tiles = {warps = 4 : i64}} {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?xf32>):
    %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x?x?x64xf16> -> tensor<64x64xf16>
    %x = arith.extf %t : tensor<64x64xf16> to tensor<64x64xf32>
    %none = tile.broadcast %zero : f32 -> tensor<64xf32>
    %sum = tile.reduce addf %x init %none dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    tile.store %sum, %view[%b, %h, %i] dims [2] : tensor<64xf32>, <?x?x?xf32>
  }
  // expected-remark @+1 {{"@main does what @prepare did"}}
  %r = fa.map_blocks @main over(%q) axes(b, h, rows by 64) : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf32> attributes {fa.sizes = [array<i64: 0, 0, 0, 1, 0, 2, 0, 3>], fa.tiles = {warps = 4 : i64}} {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?x64xf32>):
    %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x?x?x64xf16> -> tensor<64x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<64x64xf32>
    %s = tile.dot %t, %t, %none transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %sum = tile.load %sums[%b, %h, %i] dims [2] : tensor<?x?x?xf32> -> tensor<64xf32>
    %by_row = tile.broadcast %sum dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %p = arith.addf %s, %by_row : tensor<64x64xf32>
    tile.store %p, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, <?x?x?x64xf32>
  }
  %a = fa.map_blocks @after over(%q) axes(b, h, rows by 32) : tensor<?x?x?x64xf16> -> tensor<?x?x?xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?xf32>):
    %sum = tile.load %sums[%b, %h, %i] dims [2] : tensor<?x?x?xf32> -> tensor<32xf32>
    tile.store %sum, %view[%b, %h, %i] dims [2] : tensor<32xf32>, <?x?x?xf32>
  }
  return %r, %a : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}

// -----

// Sequences in a row: both find where theirs begins, once; and what is stored is that of its slice.

// CHECK-LABEL: func.func @sequences
// CHECK:         fa.map_blocks @main
// CHECK:           %[[N:.*]] = scf.for
// CHECK-NOT:       scf.for
// CHECK:           %[[AT:.*]] = tile.load %{{.*}}[%{{.*}}] : tensor<?xi32> -> i32
// CHECK:           tile.store %[[SUM:[a-z0-9]+]], {{.*}} dims [1] : tensor<64xf32>
// CHECK-NOT:       tile.load %{{.*}} -> tensor<64xf32>
// CHECK:           tile.broadcast %[[SUM]] dim 1
func.func @sequences(%q: tensor<?x?x64xf16>, %starts: tensor<?xi32>) -> tensor<?x?x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sums = fa.map_blocks @prepare over(%q) starts(%starts) axes(h, rows by 64) : tensor<?x?x64xf16>, tensor<?xi32> -> tensor<?x?xf32> attributes {fa.places = [array<i64: 1, 1, 128>]} {
  ^bb0(%h: index, %i: index, %view: !tile.view<?x?xf32>):
    %n = scf.for %x = %c0 to %c8 step %c1 iter_args(%n = %c0) -> (index) {
      %start = tile.load %starts[%n] : tensor<?xi32> -> i32
      %index = arith.index_cast %start : i32 to index
      %next = arith.addi %n, %index : index
      scf.yield %next : index
    }
    %at = tile.load %starts[%n] : tensor<?xi32> -> i32
    %first = arith.index_cast %at : i32 to index
    %own = tile.slice %q dim 1 from %first size %c8 : tensor<?x?x64xf16> -> tensor<?x?x64xf16>
    %t = tile.load %own[%h, %i, %c0] dims [1, 2] : tensor<?x?x64xf16> -> tensor<64x64xf16>
    %x = arith.extf %t : tensor<64x64xf16> to tensor<64x64xf32>
    %none = tile.broadcast %zero : f32 -> tensor<64xf32>
    %sum = tile.reduce addf %x init %none dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %place = tile.slice %view dim 1 from %first size %c8 : !tile.view<?x?xf32> -> !tile.view<?x?xf32>
    tile.store %sum, %place[%h, %i] dims [1] : tensor<64xf32>, <?x?xf32>
  }
  // expected-remark @+1 {{"@main does what @prepare did"}}
  %r = fa.map_blocks @main over(%q) starts(%starts) axes(h, rows by 64) : tensor<?x?x64xf16>, tensor<?xi32> -> tensor<?x?x64xf32> {
  ^bb0(%h: index, %i: index, %view: !tile.view<?x?x64xf32>):
    %n = scf.for %x = %c0 to %c8 step %c1 iter_args(%n = %c0) -> (index) {
      %start = tile.load %starts[%n] : tensor<?xi32> -> i32
      %index = arith.index_cast %start : i32 to index
      %next = arith.addi %n, %index : index
      scf.yield %next : index
    }
    %at = tile.load %starts[%n] : tensor<?xi32> -> i32
    %first = arith.index_cast %at : i32 to index
    %own = tile.slice %q dim 1 from %first size %c8 : tensor<?x?x64xf16> -> tensor<?x?x64xf16>
    %t = tile.load %own[%h, %i, %c0] dims [1, 2] : tensor<?x?x64xf16> -> tensor<64x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<64x64xf32>
    %s = tile.dot %t, %t, %none transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %place = tile.slice %sums dim 1 from %first size %c8 : tensor<?x?xf32> -> tensor<?x?xf32>
    %sum = tile.load %place[%h, %i] dims [1] : tensor<?x?xf32> -> tensor<64xf32>
    %by_row = tile.broadcast %sum dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %p = arith.addf %s, %by_row : tensor<64x64xf32>
    %out = tile.slice %view dim 1 from %first size %c8 : !tile.view<?x?x64xf32> -> !tile.view<?x?x64xf32>
    tile.store %p, %out[%h, %i, %c0] dims [1, 2] : tensor<64x64xf32>, <?x?x64xf32>
  }
  return %r : tensor<?x?x64xf32>
}

// -----

// The rows of another block are not there yet.

// CHECK-LABEL: func.func @others
// CHECK:         fa.map_blocks @prepare
// CHECK:         fa.map_blocks @main
func.func @others(%q: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sums = fa.map_blocks @prepare over(%q) axes(b, h, rows by 64) : tensor<?x?x?x64xf16> -> tensor<?x?x?xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?xf32>):
    %none = tile.broadcast %zero : f32 -> tensor<64xf32>
    tile.store %none, %view[%b, %h, %i] dims [2] : tensor<64xf32>, <?x?x?xf32>
  }
  // expected-remark @+1 {{"@main reads what @prepare stores", Reason="of other rows than those of its blocks, too"}}
  %r = fa.map_blocks @main over(%q) axes(b, h, rows by 64) : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?x64xf32>):
    %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x?x?x64xf16> -> tensor<64x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<64x64xf32>
    %s = tile.dot %t, %t, %none transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %sum = tile.load %sums[%b, %h, %c0] dims [2] : tensor<?x?x?xf32> -> tensor<64xf32>
    %by_row = tile.broadcast %sum dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %p = arith.addf %s, %by_row : tensor<64x64xf32>
    tile.store %p, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, <?x?x?x64xf32>
  }
  return %r : tensor<?x?x?x64xf32>
}

// -----

// Blocks of other sizes, and tiles of 4 bytes, stay.

// CHECK-LABEL: func.func @stay
// CHECK:         fa.map_blocks @sizes_prepare
// CHECK:         fa.map_blocks @sizes
// CHECK:         fa.map_blocks @words_prepare
// CHECK:         fa.map_blocks @words
func.func @stay(%q: tensor<?x?x?x64xf16>, %w: tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = fa.map_blocks @sizes_prepare over(%q) axes(b, h, rows by 32) : tensor<?x?x?x64xf16> -> tensor<?x?x?xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?xf32>):
    %none = tile.broadcast %zero : f32 -> tensor<32xf32>
    tile.store %none, %view[%b, %h, %i] dims [2] : tensor<32xf32>, <?x?x?xf32>
  }
  %1 = fa.map_blocks @sizes over(%q) axes(b, h, rows by 64) : tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?x64xf32>):
    %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x?x?x64xf16> -> tensor<64x64xf16>
    %sum = tile.load %0[%b, %h, %i] dims [2] : tensor<?x?x?xf32> -> tensor<64xf32>
    %by_row = tile.broadcast %sum dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %s = tile.dot %t, %t, %by_row transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    tile.store %s, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, <?x?x?x64xf32>
  }
  %2 = fa.map_blocks @words_prepare over(%w) axes(b, h, rows by 64) : tensor<?x?x?x64xf32> -> tensor<?x?x?xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?xf32>):
    %none = tile.broadcast %zero : f32 -> tensor<64xf32>
    tile.store %none, %view[%b, %h, %i] dims [2] : tensor<64xf32>, <?x?x?xf32>
  }
  %3 = fa.map_blocks @words over(%w) axes(b, h, rows by 64) : tensor<?x?x?x64xf32> -> tensor<?x?x?x64xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x?x?x64xf32>):
    %t = tile.load %w[%b, %h, %i, %c0] dims [2, 3] : tensor<?x?x?x64xf32> -> tensor<64x64xf32>
    %sum = tile.load %2[%b, %h, %i] dims [2] : tensor<?x?x?xf32> -> tensor<64xf32>
    %by_row = tile.broadcast %sum dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %s = tile.dot %t, %t, %by_row transpose_b : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    tile.store %s, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, <?x?x?x64xf32>
  }
  return %1, %3 : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>
}
