// RUN: fa-opt %s -fa-derive-limits --remarks -split-input-file -verify-diagnostics | FileCheck %s

// The kernel loops over tiles of keys up to the diagonal, for what else it reads is not known over all
// of them. In the loop, ranges of ids tell which tiles show something, and which hide nothing.
// CHECK-LABEL: func.func @document
// CHECK-DAG:     %[[ROWS:.*]] = fa.summarize over(%{{.*}}, %{{.*}}) of <b, rows>
// CHECK-DAG:     %[[KEYS:.*]] = fa.summarize over(%{{.*}}, %{{.*}}) of <b, keys>
// CHECK:         %[[L:.*]]:3 = fa.map_blocks @document_limits over(%{{.*}}, %{{.*}}) axes(b, rows by 64)
// CHECK-SAME:      -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x5xi32>)
// CHECK-SAME:      fa.divisors = [array<i64: 1, 1>, array<i64: 1, 1>, array<i64: 1, 64, 1>]
// CHECK-SAME:      fa.ranges = [array<i64: 0, 2, 0, 1>, array<i64: 1, 2, 2, 3>]
// CHECK:           fa.range %[[ROWS]]
// CHECK:           scf.for
// CHECK:             fa.range %[[KEYS]]
// CHECK:             scf.if
// CHECK:               scf.if
// CHECK:                 fa.apply_mask
// CHECK:                 tile.reduce minnumf
// CHECK:                 tile.reduce maxnumf
// CHECK:                 tile.reduce addf
// CHECK:         fa.attention
// CHECK-SAME:      captures(%{{.*}}, %[[L]]#0, %[[L]]#1, %[[L]]#2)
// CHECK:           scf.if %{{.*}} -> (i1) {
// CHECK:             arith.cmpi eq
// CHECK:           } else {
// CHECK:             arith.cmpi sle
// CHECK:             arith.cmpi slt
// CHECK:           } {fa.fallback}
func.func @document(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                    %ids: tensor<?x?xi32> {fa.name = "ids"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{limits of rows are found by a kernel before the attention}}
  %o = fa.attention query(%q) key(%k) value(%k) with [causal, document(%ids)]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// Limits are of a head where the region reads it.
// CHECK-LABEL: func.func @of_heads
// CHECK:         fa.summarize over(%{{.*}}, %{{.*}}) of <b, h, keys>
// CHECK:         fa.map_blocks @of_heads_limits over(%{{.*}}, %{{.*}}) axes(b, h, rows by 64)
// CHECK-SAME:      -> (tensor<?x4x?xi32>, tensor<?x4x?xi32>, tensor<?x4x?x5xi32>)
func.func @of_heads(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                    %bits: tensor<?x?x?xi1> {fa.name = "bits"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{limits of rows are found}}
  %o = fa.attention query(%q) key(%k) value(%k) captures(%bits) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?x?xi1>):
    %v = tensor.extract %x[%b, %h, %j] : tensor<?x?x?xi1>
    fa.yield %v : i1
  } : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?x?xi1>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// What is read at rows alone is a range already, and what is read at pairs is left alone.
// CHECK-LABEL: func.func @rows_and_pairs
// CHECK-NOT:     fa.map_blocks
// CHECK:         fa.attention
func.func @rows_and_pairs(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                          %x: tensor<?x?xi1> {fa.name = "x"}) -> tensor<?x4x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%k) captures(%x) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %y: tensor<?x?xi1>):
    %v = tensor.extract %y[%i, %j] : tensor<?x?xi1>
    %w = tensor.extract %y[%b, %i] : tensor<?x?xi1>
    %z = arith.andi %v, %w : i1
    fa.yield %z : i1
  } : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi1>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}
