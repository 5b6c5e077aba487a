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
// CHECK:           } {fa.fallback = #fa<axis rows>}
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

// -----

// Gradients have limits of rows and of keys: both kernels go over 64 of theirs and loop over the others, and
// the mask has a form for each. Ranges of ids serve both.
// CHECK-LABEL: func.func @gradients
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: {{.*}}, %[[K:[a-z0-9]+]]: {{.*}}, %[[IDS:[a-z0-9]+]]: tensor<?x?xi32>
// CHECK-DAG:     fa.summarize over(%[[Q]], %[[K]]) of <b, rows>
// CHECK-DAG:     fa.summarize over(%[[Q]], %[[K]]) of <b, keys>
// CHECK:         %[[ROWS:.*]]:3 = fa.map_blocks @gradients_limits over(%[[Q]], %[[K]]) axes(b, rows by 64)
// CHECK:           fa.apply_mask {{.*}} hidden(0.000000e+00) {
// CHECK-NOT:     fa.summarize
// CHECK:         %[[KEYS:.*]]:3 = fa.map_blocks @gradients_key_limits over(%[[Q]], %[[K]]) axes(b, keys by 64)
// CHECK-SAME:      -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x5xi32>)
// CHECK-SAME:      fa.divisors = [array<i64: 1, 1>, array<i64: 1, 1>, array<i64: 1, 64, 1>]
// CHECK-SAME:      fa.sizes = [array<i64: 0, 0, 1, 2>, array<i64: 0, 0, 1, 2>, array<i64: 0, 0, 1, 2, -1, -1>]
// CHECK:           fa.apply_mask {{.*}} within_rows transposed
// CHECK:         fa.pairwise rows(%[[Q]]) columns(%[[K]])
// CHECK-SAME:      captures(%[[IDS]], %[[ROWS]]#0, %[[ROWS]]#1, %[[ROWS]]#2, %[[KEYS]]#0, %[[KEYS]]#1, %[[KEYS]]#2)
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %{{.*}}: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %{{.*}}, %{{.*}}: index,
// CHECK-SAME:         %{{.*}}: tensor<?x?xi32>, %[[R0:.*]]: tensor<?x?xi32>, %[[R1:.*]]: tensor<?x?xi32>, %{{.*}}: tensor<?x?x5xi32>,
// CHECK-SAME:         %[[K0:.*]]: tensor<?x?xi32>, %[[K1:.*]]: tensor<?x?xi32>, %{{.*}}: tensor<?x?x5xi32>):
// CHECK:           %[[X:.*]] = scf.if
// CHECK:             arith.cmpi eq
// CHECK:           } else {
// CHECK:             tensor.extract %[[R0]][%[[B]], %[[I]]]
// CHECK:             arith.cmpi sle, %{{.*}}, %[[J]]
// CHECK:             tensor.extract %[[R1]][%[[B]], %[[I]]]
// CHECK:             arith.cmpi slt, %[[J]], %{{.*}}
// CHECK:           } {fa.fallback = #fa<axis rows>}
// CHECK:           %[[Y:.*]] = scf.if
// CHECK:             arith.cmpi eq
// CHECK:           } else {
// CHECK:             tensor.extract %[[K0]][%[[B]], %[[J]]]
// CHECK:             arith.cmpi sle, %{{.*}}, %[[I]]
// CHECK:             tensor.extract %[[K1]][%[[B]], %[[J]]]
// CHECK:             arith.cmpi slt, %[[I]], %{{.*}}
// CHECK:           } {fa.fallback = #fa<axis keys>}
// CHECK:           %[[V:.*]] = arith.andi %[[X]], %[[Y]]
// CHECK:           fa.yield %[[V]]
func.func @gradients(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                     %ids: tensor<?x?xi32> {fa.name = "ids"}) -> (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) {
  // expected-remark @below {{limits of rows are found by a kernel before the gradients}}
  // expected-remark @below {{limits of keys are found by a kernel before the gradients}}
  %r:2 = fa.pairwise rows(%q) columns(%k) captures(%ids) dropout() mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    %own = tensor.extract %x[%b, %i] : tensor<?x?xi32>
    %other = tensor.extract %x[%b, %j] : tensor<?x?xi32>
    %v = arith.cmpi eq, %own, %other : i32
    fa.yield %v : i1
  } weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    fa.yield %s : f32
  } sums [#fa.sum<0[b, h, rows] times 0>, #fa.sum<0[b, hk, keys] times 0>]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi32>) -> (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>)
  return %r#0, %r#1 : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>
}

// -----

// A mask that reads at rows alone bounds the loops of blocks of rows as it is; those of blocks of keys go over
// what it reads, and take limits. Without sums at keys there are none.
// CHECK-LABEL: func.func @reads_at_rows
// CHECK-NOT:     @reads_at_rows_limits
// CHECK:         fa.map_blocks @reads_at_rows_key_limits
// CHECK-NOT:     fa.map_blocks
// CHECK:         fa.pairwise
// CHECK-NOT:       fa.fallback = #fa<axis rows>
// CHECK:           fa.fallback = #fa<axis keys>
// CHECK:         fa.pairwise
// CHECK-NOT:       fa.fallback
// CHECK:         return
func.func @reads_at_rows(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                         %ends: tensor<?x?xi32> {fa.name = "ends"}) -> (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) {
  // expected-remark @below {{limits of keys are found by a kernel before the gradients}}
  %dk = fa.pairwise rows(%q) columns(%k) captures(%ends) dropout() mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    %end = tensor.extract %x[%b, %i] : tensor<?x?xi32>
    %n = arith.index_cast %end : i32 to index
    %v = arith.cmpi slt, %j, %n : index
    fa.yield %v : i1
  } weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    fa.yield %s : f32
  } sums [#fa.sum<0[b, hk, keys] times 0>] : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi32>) -> tensor<?x4x?x64xf32>
  %dq = fa.pairwise rows(%q) columns(%k) captures(%ends) dropout() mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    %end = tensor.extract %x[%b, %i] : tensor<?x?xi32>
    %n = arith.index_cast %end : i32 to index
    %v = arith.cmpi slt, %j, %n : index
    fa.yield %v : i1
  } weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    fa.yield %s : f32
  } sums [#fa.sum<0[b, h, rows] times 0>] : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi32>) -> tensor<?x4x?x64xf32>
  return %dq, %dk : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>
}
