// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise | FileCheck %s
// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise | fa-opt -split-input-file -o /dev/null

// Sums at rows: blocks of rows that loop over keys. Sums at keys: blocks of keys that loop over the heads of a
// group and over rows, on tiles of keys by rows. Each kernel computes only what its weights read: the rows'
// reads the first dot alone, the keys' both.

// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[X0:[a-z0-9]+]]: {{.*}}, %[[X1:[a-z0-9]+]]: {{.*}}, %[[Y0:[a-z0-9]+]]: {{.*}}, %[[Y1:[a-z0-9]+]]: tensor
// CHECK:         %[[ROWS:.*]] = fa.map_blocks @both_rows over(%[[X0]]) axes(b, h, rows by ?)
// CHECK-SAME:      {fa.sizes = [array<i64: 0, 0, 0, 1, 0, 2>]}
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %[[VIEW:[a-z0-9]+]]:
// CHECK:           %[[GROUP:.*]] = arith.divui
// CHECK:           %[[HK:.*]] = arith.divui %[[H]], %[[GROUP]]
// CHECK:           %[[X0T:.*]] = tile.load %[[X0]][%[[B]], %[[H]], %[[I]],
// CHECK-NOT:       tile.load
// CHECK:           %[[SUM:.*]] = scf.for %[[J:.*]] = %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<?x64xf32, #fa.axes<rows>>) {
// CHECK:             %[[Y0T:.*]] = tile.load %[[Y0]][%[[B]], %[[HK]], %[[J]],
// CHECK:             %[[DOT:.*]] = tile.dot %[[X0T]], %[[Y0T]], %{{.*}} transpose_b {{.*}}tensor<?x?xf32, #fa.axes<rows, keys>>
// CHECK-NOT:         tile.dot
// CHECK:             %[[W:.*]] = fa.apply %[[DOT]] at(%[[B]], %[[H]], %[[I]], %[[J]])
// CHECK-NEXT:        ^bb0(%[[D:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: index,
// CHECK-NEXT:          %[[SQUARE:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK-NEXT:          fa.yield %[[SQUARE]] : f32
// CHECK:             %[[MASKED:.*]] = fa.apply_mask %[[W]] at(%[[B]], %[[H]], %[[I]], %[[J]]) {{.*}} hidden(0.000000e+00) {
// CHECK-NEXT:        ^bb0
// CHECK-NEXT:          arith.cmpi sle
// CHECK:             %[[NEXT:.*]] = tile.dot %[[MASKED]], %[[Y0T]], %[[ACC]] precision
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           arith.constant 5.000000e-01 : f32
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[SUM]]
// CHECK:           tile.store %[[SCALED]], %[[VIEW]][%[[B]], %[[H]], %[[I]],

// CHECK:         %[[KEYS:.*]]:2 = fa.map_blocks @both_keys over(%[[Y0]]) axes(b, hk, keys by ?)
// CHECK-SAME:      {fa.sizes = [array<i64: 0, 0, 2, 1, 2, 2>, array<i64: 0, 0, 2, 1, 2, 2>]}
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[HK:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index,
// CHECK:           %[[Y0T:.*]] = tile.load %[[Y0]][%[[B]], %[[HK]], %[[J]],
// CHECK:           %[[Y1T:.*]] = tile.load %[[Y1]][%[[B]], %[[HK]], %[[J]],
// CHECK:           %[[FIRST:.*]] = arith.muli %[[HK]], %[[GROUP:.*]] :
// CHECK:           %[[LAST:.*]] = arith.addi %[[FIRST]], %[[GROUP]]
// CHECK:           scf.for %[[H:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK:             scf.for %[[I:.*]] = %{{.*}} to %[[SQ:.*]] step
// CHECK:               %[[X0T:.*]] = tile.load %[[X0]][%[[B]], %[[H]], %[[I]],
// CHECK:               %[[DOT0:.*]] = tile.dot %[[Y0T]], %[[X0T]], %{{.*}} transpose_b {{.*}}tensor<?x?xf32, #fa.axes<keys, rows>>
// CHECK:               %[[X1T:.*]] = tile.load %[[X1]][%[[B]], %[[H]], %[[I]],
// CHECK:               %[[DOT1:.*]] = tile.dot %[[Y1T]], %[[X1T]], %{{.*}} transpose_b
// CHECK:               %[[W0:.*]] = fa.apply %[[DOT0]] at(%[[B]], %[[H]], %[[I]], %[[J]]) {{.*}} transposed {
// CHECK:               %[[M0:.*]] = fa.apply_mask %[[W0]] at({{.*}}) {{.*}} hidden(0.000000e+00) within_rows transposed {
// CHECK:               tile.dot %[[M0]], %[[X0T]], %{{.*}} precision
// CHECK:               %[[W1:.*]] = fa.apply %[[DOT1]] at(%[[B]], %[[H]], %[[I]], %[[J]]) {{.*}} transposed {
// CHECK:               %[[M1:.*]] = fa.apply_mask %[[W1]] at({{.*}}) {{.*}} hidden(0.000000e+00) within_rows transposed {
// CHECK:               tile.dot %[[M1]], %[[X1T]], %{{.*}} precision
// CHECK:         return %[[ROWS]], %[[KEYS]]#0, %[[KEYS]]#1
func.func @both(%x0: tensor<?x8x?x64xf32>, %x1: tensor<?x8x?x32xf32>, %y0: tensor<?x2x?x64xf32>, %y1: tensor<?x2x?x32xf32>)
    -> (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>) {
  %r:3 = fa.pairwise rows(%x0, %x1) columns(%y0, %y1) captures() dropout()
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %v = arith.cmpi sle, %j, %i : index
      fa.yield %v : i1
    } weights {
    ^bb0(%s: f32, %t: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %w = arith.mulf %s, %s : f32
      fa.yield %w, %t : f32, f32
    } sums [#fa.sum<0 [b, h, rows] times 0 factor 0.5 : f64>, #fa.sum<0 [b, hk, keys] times 0>, #fa.sum<1 [b, hk, keys] times 1>]
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x32xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>)
      -> (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>)
  return %r#0, %r#1, %r#2 : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>
}

// -----

// One head of keys for each of queries: no loop over a group, and bf16 weights are rounded before the product.

// CHECK-LABEL: func.func @heads(
// CHECK:         fa.map_blocks @heads_keys
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} -> (tensor<?x64xf32, #fa.axes<keys>>) {
// CHECK-NOT:         scf.for
// CHECK:             %[[W:.*]] = fa.apply_mask
// CHECK:             %[[ROUNDED:.*]] = arith.truncf %[[W]] : tensor<?x?xf32, #fa.axes<keys, rows>> to tensor<?x?xbf16, #fa.axes<keys, rows>>
// CHECK:             tile.dot %[[ROUNDED]], %{{.*}}tensor<?x64xf32, #fa.axes<keys>>
// CHECK:           %[[RESULT:.*]] = arith.truncf %[[SUM]] : tensor<?x64xf32, #fa.axes<keys>> to tensor<?x64xbf16, #fa.axes<keys>>
// CHECK:           tile.store %[[RESULT]]
// CHECK-NOT:     fa.map_blocks
func.func @heads(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
  %r = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, hk, keys] times 0>] : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16>
  return %r : tensor<?x8x?x64xbf16>
}

// -----

// Sums at fewer indices are parts of the kernels' that are added up after them; a sum of all pairs' weights has
// the blocks of rows or keys, where it is stored pair by pair.

// CHECK-LABEL: func.func @sums(
// CHECK:         %[[KEYS:.*]]:5 = fa.map_blocks @sums_keys over(%{{.*}}) axes(b, hk, keys by ?) : tensor<?x2x?x64xbf16> -> (tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>)
// Sums at h are of each head of the group, others are carried over all of them.
// CHECK:           %[[G:.*]]:3 = scf.for %[[H:[a-z0-9]+]] = %{{.*}} -> (tensor<?xf32, #fa.axes<keys>>, tensor<?xf32, #fa.axes<keys>>, tensor<?xf32, #fa.axes<keys>>) {
// CHECK:             %[[S:.*]]:5 = scf.for %{{.*}} -> (tensor<?xf32, #fa.axes<keys>>,
// CHECK:               tile.reduce addf %{{.*}} dim 1 : tensor<?x?xf32, #fa.axes<keys, rows>> -> tensor<?xf32, #fa.axes<keys>>
// CHECK:             }
// CHECK:             tile.store %[[S]]#3, %{{.*}}[%{{.*}}, %[[H]], %{{.*}}] dims [2]
// CHECK:             tile.store %[[S]]#4, %{{.*}}[%{{.*}}, %[[H]], %{{.*}}] dims [2]
// CHECK:             scf.yield %[[S]]#0, %[[S]]#1, %[[S]]#2
// CHECK:           tile.store %[[G]]#0, %{{.*}} dims [2] : tensor<?xf32, #fa.axes<keys>>, <?x2x?xf32>
// CHECK:         %[[ROWS:.*]]:2 = fa.map_blocks @sums_rows over(%{{.*}}) axes(b, h, rows by ?) : tensor<?x8x?x64xbf16> -> (tensor<?x8x?xf32>, tensor<?x8x?x?xf32>)
// CHECK-SAME:      {fa.sizes = [array<i64: 0, 0, 0, 1, 0, 2>, array<i64: 0, 0, 0, 1, 0, 2, 1, 2>]}
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: !tile.view<?x8x?xf32>, %[[VIEW:[a-z0-9]+]]:
// CHECK:           scf.for %[[J:.*]] = %{{.*}} iter_args(%{{.*}}) -> (tensor<?xf32, #fa.axes<rows>>) {
// CHECK:             %[[W:.*]] = fa.apply_mask
// CHECK:             tile.reduce addf %[[W]] init %{{.*}} dim 1
// CHECK:             %[[SCALED:.*]] = arith.mulf %[[W]]
// CHECK:             tile.store %[[SCALED]], %[[VIEW]][%[[B]], %[[H]], %[[I]], %[[J]]] dims [2, 3]
// CHECK:         %[[PAIRS:.*]] = fa.map_blocks @sums_pairs over(%{{.*}}, %{{.*}}) axes(rows by ?, keys by ?)
// CHECK-SAME:      {fa.sizes = [array<i64: 0, 2, 1, 2>]}
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               tile.dot
// CHECK:               arith.addf
// CHECK:           tile.store %{{.*}} dims [0, 1]
// CHECK:         %[[HEADS:.*]] = fa.map_blocks @sums_pairs1 over(%{{.*}}, %{{.*}}) axes(h, rows by ?, keys by ?)
// CHECK:           scf.for
// CHECK-NOT:         scf.for
// CHECK:           tile.store %{{.*}} dims [1, 2]
// CHECK:         %[[R0:.*]] = fa.sum %[[KEYS]]#3 of <b, h, keys> to <h> {{.*}}: tensor<?x8x?xf32> -> tensor<8xf32>
// CHECK:         %[[R1:.*]] = fa.sum %[[KEYS]]#0 of <b, hk, keys> {{.*}}: tensor<?x2x?xf32> -> tensor<1xf32>
// CHECK:         %[[R2:.*]] = fa.sum %[[KEYS]]#1 of <b, hk, keys> to <b>
// CHECK:         %[[R3:.*]] = fa.sum %[[ROWS]]#0 of <b, h, rows> to <h, rows>
// CHECK:         %[[R4:.*]] = fa.sum %[[KEYS]]#2 of <b, hk, keys> to <b, keys>
// CHECK:         return %[[R0]], %[[R1]], %[[R2]], %[[R3]], %[[R4]], %[[PAIRS]], %[[ROWS]]#1, %[[HEADS]], %[[KEYS]]#4
func.func @sums(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x2x?x64xbf16>)
    -> (tensor<8xf32>, tensor<1xf32>, tensor<?xf32>, tensor<8x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x8x?x?xf32>, tensor<8x?x?xf32>, tensor<?x8x?xf32>) {
  %r:9 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [h]>, #fa.sum<0>, #fa.sum<0 [b]>, #fa.sum<0 [h, rows]>, #fa.sum<0 [b, keys]>, #fa.sum<0 [rows, keys]>,
            #fa.sum<0 [b, h, rows, keys] factor 2.0 : f64>, #fa.sum<0 [h, rows, keys]>, #fa.sum<0 [b, h, keys]>]
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<8xf32>, tensor<1xf32>, tensor<?xf32>, tensor<8x?xf32>, tensor<?x?xf32>,
       tensor<?x?xf32>, tensor<?x8x?x?xf32>, tensor<8x?x?xf32>, tensor<?x8x?xf32>)
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7, %r#8 : tensor<8xf32>, tensor<1xf32>, tensor<?xf32>, tensor<8x?xf32>, tensor<?x?xf32>,
       tensor<?x?xf32>, tensor<?x8x?x?xf32>, tensor<8x?x?xf32>, tensor<?x8x?xf32>
}

// -----

// Of f32 operands a sum at neither rows nor keys is that of rows, too: what the pairs of one add cancels.

// CHECK-LABEL: func.func @sums_f32(
// CHECK:         %[[KEYS:.*]] = fa.map_blocks @sums_f32_keys
// CHECK:         %[[ROWS:.*]] = fa.map_blocks @sums_f32_rows
// CHECK:         fa.sum %[[KEYS]] of <b, hk, keys> to <b, keys>
// CHECK:         fa.sum %[[ROWS]] of <b, h, rows> to <h> {{.*}}: tensor<?x8x?xf32> -> tensor<8xf32>
func.func @sums_f32(%x: tensor<?x8x?x64xf32>, %y: tensor<?x2x?x64xf32>) -> (tensor<?x?xf32>, tensor<8xf32>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, keys]>, #fa.sum<0 [h]>]
    : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) -> (tensor<?x?xf32>, tensor<8xf32>)
  return %r#0, %r#1 : tensor<?x?xf32>, tensor<8xf32>
}

// -----

// Rows that are the columns, too, have a tile for each.

// CHECK-LABEL: func.func @same(
// CHECK:         fa.map_blocks @same_rows
// CHECK:           %[[ROWS:.*]] = tile.load %[[X:.*]][%{{.*}}, %{{.*}}, %[[I:.*]], %{{.*}}] {{.*}} tensor<?x64xf32, #fa.axes<rows>>
// CHECK:           scf.for
// CHECK:             %[[KEYS:.*]] = tile.load %[[X]]{{.*}} tensor<?x64xf32, #fa.axes<keys>>
// CHECK:             tile.dot %[[ROWS]], %[[KEYS]],
func.func @same(%x: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %r = fa.pairwise rows(%x) columns(%x) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// Two in one entry have kernels of different names.

// CHECK-LABEL: func.func @two(
// CHECK:         fa.map_blocks @two_rows over
// CHECK:         fa.map_blocks @two_rows1 over
func.func @two(%x: tensor<?x8x?x64xf32>) -> (tensor<?x8x?xf32>, tensor<?x8x?xf32>) {
  %r = fa.pairwise rows(%x) columns(%x) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows]>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?xf32>
  %t = fa.pairwise rows(%x) columns(%x) captures(%r) dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c: tensor<?x8x?xf32>):
      %y = tensor.extract %c[%b, %h, %i] : tensor<?x8x?xf32>
      %w = arith.mulf %s, %y : f32
      fa.yield %w : f32
    } sums [#fa.sum<0 [b, h, rows]>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) -> tensor<?x8x?xf32>
  return %r, %t : tensor<?x8x?xf32>, tensor<?x8x?xf32>
}

// -----

// A weight of positions alone: no dot is computed.

// CHECK-LABEL: func.func @no_dots(
// CHECK:         fa.map_blocks @no_dots_rows
// CHECK-NOT:       tile.dot
// CHECK:           %[[KEEP:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<?x?xf32, #fa.axes<rows, keys>>
// CHECK:           fa.apply %[[KEEP]] at
// CHECK-NOT:       tile.dot
// CHECK:           tile.reduce addf
func.func @no_dots(%x: tensor<?x8x?x64xf32>, %y: tensor<?x8x?x64xf32>) -> tensor<?x8x?xf32> {
  %r = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %n = arith.index_cast %j : index to i32
      %w = arith.sitofp %n : i32 to f32
      fa.yield %w : f32
    } sums [#fa.sum<0 [b, h, rows]>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?xf32>
  return %r : tensor<?x8x?xf32>
}

// -----

// A weight of one dot is masked and taken by its product before a weight of two dots is computed, though that
// one's sums stand first; what is computed from it takes it masked. Weights of the same dots share a region and a mask.

// CHECK-LABEL: func.func @chain(
// CHECK:         fa.map_blocks @chain_keys
// CHECK:           %[[DOT0:.*]] = tile.dot
// CHECK:           %[[DOT1:.*]] = tile.dot
// CHECK:           %[[P:.*]] = fa.apply %[[DOT0]] at({{.*}}) {{.*}} transposed {
// CHECK-NEXT:      ^bb0(%[[S:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: index,
// CHECK-NEXT:        %[[E:.*]] = math.exp2 %[[S]]
// CHECK-NEXT:        fa.yield %[[E]]
// CHECK:           %[[MASKED:.*]] = fa.apply_mask %[[P]] at
// CHECK:           tile.dot %[[MASKED]], %[[X1T:.*]], %{{.*}} precision
// CHECK:           %[[W:.*]]:2 = fa.apply %[[DOT0]], %[[DOT1]], %[[MASKED]] at({{.*}}) {{.*}} transposed {
// CHECK-NEXT:      ^bb0(%[[S:[a-z0-9]+]]: f32, %[[T:[a-z0-9]+]]: f32, %[[E:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: index,
// CHECK-NEXT:        %[[DS:.*]] = arith.mulf %[[E]], %[[T]]
// CHECK-NEXT:        %[[OTHER:.*]] = arith.addf %[[S]], %[[T]]
// CHECK-NEXT:        fa.yield %[[DS]], %[[OTHER]]
// CHECK:           %[[M:.*]]:2 = fa.apply_mask %[[W]]#0, %[[W]]#1 at
// CHECK:           tile.dot %[[M]]#0, %{{.*}} precision
// CHECK:           tile.dot %[[M]]#1, %[[X1T]], %{{.*}} precision
func.func @chain(%x0: tensor<?x2x?x64xf32>, %x1: tensor<?x2x?x64xf32>, %y0: tensor<?x2x?x64xf32>, %y1: tensor<?x2x?x64xf32>)
    -> (tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) {
  %r:3 = fa.pairwise rows(%x0, %x1) columns(%y0, %y1) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %t: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %p = math.exp2 %s : f32
      %ds = arith.mulf %p, %t : f32
      %other = arith.addf %s, %t : f32
      fa.yield %p, %ds, %other : f32, f32, f32
    } sums [#fa.sum<1 [b, hk, keys] times 0>, #fa.sum<0 [b, hk, keys] times 1>, #fa.sum<2 [b, hk, keys] times 1>]
    : (tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
      -> (tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
  return %r#0, %r#1, %r#2 : tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>
}

// -----

// A scatter: blocks of rows add to what a kernel has set to 0; rows beyond the last add nothing. The positions
// are computed beside the weight.

// CHECK-LABEL: func.func @scatter(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8x?x64xf32>, %[[Y:[a-z0-9]+]]: tensor<?x8x?x64xf32>, %[[T:[a-z0-9]+]]: tensor<?x?xbf16>
// CHECK:         %[[ZERO:.*]] = fa.map_blocks @scatter_rows_zero over(%[[X]]) axes() : tensor<?x8x?x64xf32> -> tensor<?x?xf32> attributes {fa.sizes = [array<i64: 2, 0, 2, 1>]}
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               tile.store %{{.*}} dims [1] : tensor<1024xf32>
// CHECK:         %[[R:.*]]:2 = fa.map_blocks @scatter_rows over(%[[X]]) inits(%[[ZERO]]) axes(b, h, rows by ?) : tensor<?x8x?x64xf32>, tensor<?x?xf32> -> (tensor<?x8x?xf32>, tensor<?x?xf32>)
// CHECK:         ^bb0({{.*}}, %{{[a-z0-9]+}}: !tile.view<?x8x?xf32>, %[[VIEW:[a-z0-9]+]]: !tile.view<?x?xf32>):
// CHECK:           %[[W:.*]]:3 = fa.apply
// CHECK:           } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>, tensor<?x?xindex, #fa.axes<rows, keys>>, tensor<?x?xindex, #fa.axes<rows, keys>>
// CHECK:           %[[M:.*]] = fa.apply_mask %[[W]]#0 at{{.*}} within_rows
// CHECK:           tile.scatter_add %[[M]], %[[VIEW]][%[[W]]#1, %[[W]]#2]
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @scatter(%x: tensor<?x8x?x64xf32>, %y: tensor<?x8x?x64xf32>, %t: tensor<?x?xbf16>) -> (tensor<?x8x?xf32>, tensor<?x?xf32>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures(%t) dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %u: tensor<?x?xbf16>):
      %d = arith.subi %i, %j : index
      fa.yield %s, %h, %d : f32, index, index
    } sums [#fa.sum<0 [b, h, rows]>, #fa.sum<0 as 0 at [1, 2]>]
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x?xbf16>) -> (tensor<?x8x?xf32>, tensor<?x?xf32>)
  return %r#0, %r#1 : tensor<?x8x?xf32>, tensor<?x?xf32>
}

// -----

// A tensor of rank 3 or more is set to 0 by blocks.

// CHECK-LABEL: func.func @whole(
// CHECK:         fa.map_blocks @whole_rows_zero over(%[[T:[a-z0-9]+]]) axes(b, h, rows by ?) : tensor<?x8x?x?xf32> -> tensor<?x8x?x?xf32>
// CHECK:           scf.for
// CHECK-NOT:       scf.for
// CHECK:           tile.store %{{.*}} dims [2, 3] : tensor<?x128xf32, #fa.axes<rows>>
func.func @whole(%x: tensor<?x8x?x64xf32>, %y: tensor<?x8x?x64xf32>, %t: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %r = fa.pairwise rows(%x) columns(%y) captures(%t) dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %u: tensor<?x8x?x?xf32>):
      %d = arith.subi %i, %j : index
      fa.yield %s, %b, %h, %i, %d : f32, index, index, index, index
    } sums [#fa.sum<0 as 0 at [1, 2, 3, 4]>]
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  return %r : tensor<?x8x?x?xf32>
}
