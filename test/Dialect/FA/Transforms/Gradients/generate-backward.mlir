// RUN: fa-opt %s -split-input-file -fa-generate-backward | FileCheck %s
// RUN: fa-opt %s -split-input-file -fa-generate-backward=dlse=true | FileCheck %s --check-prefix=DLSE
// RUN: fa-opt %s -split-input-file -fa-generate-backward="gradients=q only=true" | FileCheck %s --check-prefix=QUERY
// RUN: fa-opt %s -split-input-file -fa-generate-backward="gradients=v,k only=true" | FileCheck %s --check-prefix=KEYS

// A kernel over rows makes delta, and LSE with +inf where a row sees nothing; then
// P = exp2((s scale - lse) log2(e)) and dS = P (dP - delta); the scale stands on the sums.

// CHECK-LABEL: func.func @plain(
// CHECK:         fa.attention
// CHECK-LABEL: func.func @plain_backward(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<?x8x?x64xf32> {fa.dims = ["B", "Hq", "Sq", "D"], fa.name = "q"}
// CHECK-SAME:    %[[K:[a-z0-9]+]]: tensor<?x2x?x64xf32> {fa.dims = ["B", "Hk", "Sk", "D"], fa.name = "k"}
// CHECK-SAME:    %[[V:[a-z0-9]+]]: tensor<?x2x?x32xf32> {fa.dims = ["B", "Hk", "Sk", "Dv"], fa.name = "v"}
// CHECK-SAME:    %[[O:[a-z0-9]+]]: tensor<?x8x?x32xf32> {fa.dims = ["B", "Hq", "Sq", "Dv"], fa.name = "o"}
// CHECK-SAME:    %[[LSE:[a-z0-9]+]]: tensor<?x8x?xf32> {fa.dims = ["B", "Hq", "Sq"], fa.name = "lse"}
// CHECK-SAME:    %[[DO:[a-z0-9]+]]: tensor<?x8x?x32xf32> {fa.dims = ["B", "Hq", "Sq", "Dv"], fa.name = "do"}
// CHECK-SAME:    -> (tensor<?x8x?x64xf32> {fa.dims = ["B", "Hq", "Sq", "D"], fa.name = "dq"}, tensor<?x2x?x64xf32> {fa.dims = ["B", "Hk", "Sk", "D"], fa.name = "dk"}, tensor<?x2x?x32xf32> {fa.dims = ["B", "Hk", "Sk", "Dv"], fa.name = "dv"})
// CHECK:         %[[ROWS:.*]]:2 = fa.map_blocks @plain_backward_prepare over(%[[Q]]) axes(b, h, rows by ?)
// CHECK-SAME:      fa.sizes = [array<i64: 0, 0, 0, 1, 0, 2>, array<i64: 0, 0, 0, 1, 0, 2>]
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %[[LSES:[a-z0-9]+]]: !tile.view<?x8x?xf32>, %[[DELTAS:[a-z0-9]+]]:
// CHECK:           %[[OT:.*]] = tile.load %[[O]]
// CHECK:           %[[DOT:.*]] = tile.load %[[DO]]
// CHECK:           %[[ODO:.*]] = arith.mulf %[[OT]], %[[DOT]]
// CHECK:           %[[DELTA:.*]] = tile.reduce addf %[[ODO]]
// CHECK:           %[[NATURAL:.*]] = tile.load %[[LSE]][%[[B]], %[[H]], %[[I]]] dims [2]
// CHECK:           arith.constant 0xFF800000 : f32
// CHECK:           %[[EMPTY:.*]] = arith.cmpf oeq, %[[NATURAL]]
// CHECK:           arith.constant 0x7F800000 : f32
// CHECK:           %[[INF:.*]] = tile.broadcast
// CHECK:           %[[ROWLSES:.*]] = arith.select %[[EMPTY]], %[[INF]], %[[NATURAL]]
// CHECK:           tile.store %[[ROWLSES]], %[[LSES]]
// CHECK:           tile.store %[[DELTA]], %[[DELTAS]]
// CHECK:         %[[R:.*]]:3 = fa.pairwise rows(%[[Q]], %[[DO]]) columns(%[[K]], %[[V]]) captures(%[[ROWS]]#0, %[[ROWS]]#1) dropout() mask {
// CHECK-NEXT:    } weights {
// CHECK-NEXT:    ^bb0(%[[S:[a-z0-9]+]]: f32, %[[DP:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: f32, %[[PB:[a-z0-9]+]]: index, %[[PH:[a-z0-9]+]]: index, %[[PI:[a-z0-9]+]]: index,
// CHECK-SAME:         %[[L:[a-z0-9]+]]: tensor<?x8x?xf32>, %[[D:[a-z0-9]+]]: tensor<?x8x?xf32>):
// CHECK-DAG:       %[[C:.*]] = arith.constant 1.250000e-01 : f32
// CHECK-DAG:       %[[X:.*]] = arith.mulf %[[S]], %[[C]]
// CHECK-DAG:       %[[ROWLSE:.*]] = tensor.extract %[[L]][%[[PB]], %[[PH]], %[[PI]]]
// CHECK-DAG:       %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-DAG:       %[[RELATIVE:.*]] = arith.subf %[[X]], %[[ROWLSE]]
// CHECK:           %[[E:.*]] = arith.mulf %[[RELATIVE]], %[[LOG2E]]
// CHECK-NEXT:      %[[P:.*]] = math.exp2 %[[E]]
// CHECK-NEXT:      %[[ROWDELTA:.*]] = tensor.extract %[[D]][%[[PB]], %[[PH]], %[[PI]]]
// CHECK-NEXT:      %[[DIFF:.*]] = arith.subf %[[DP]], %[[ROWDELTA]]
// CHECK-NEXT:      %[[DS:.*]] = arith.mulf %[[P]], %[[DIFF]]
// CHECK-NEXT:      fa.yield %[[P]], %[[DS]] : f32, f32
// CHECK-NEXT:    } sums [#fa.sum<1[b, h, rows] times 0 factor 1.250000e-01 : f64>, #fa.sum<1[b, hk, keys] times 0 factor 1.250000e-01 : f64>, #fa.sum<0[b, hk, keys] times 1>]
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2

// The gradient of LSE is subtracted from delta, which is 0 where a row sees nothing.
// DLSE-LABEL: func.func @plain_backward(
// DLSE-SAME:    %[[DLSE:[a-z0-9]+]]: tensor<?x8x?xf32> {fa.dims = ["B", "Hq", "Sq"], fa.name = "dlse"})
// DLSE:           %[[SUM:.*]] = tile.reduce addf
// DLSE:           %[[ROW:.*]] = tile.load %[[DLSE]]
// DLSE:           %[[DELTA:.*]] = arith.subf %[[SUM]], %[[ROW]]
// DLSE:           %[[EMPTY:.*]] = arith.cmpf oeq
// DLSE:           %[[SEEN:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[DELTA]]
// DLSE:           tile.store %{{.*}}
// DLSE:           tile.store %[[SEEN]]

// Only what is asked for, in the order of the arguments; without the forward.
// QUERY-NOT:   func.func @plain(
// QUERY-NOT:   fa.attention
// QUERY:       func.func @plain_backward({{.*}} -> (tensor<?x8x?x64xf32> {fa.dims = ["B", "Hq", "Sq", "D"], fa.name = "dq"}) {
// QUERY:         } sums [#fa.sum<1[b, h, rows] times 0 factor 1.250000e-01 : f64>] :
// KEYS:        func.func @plain_backward({{.*}} -> (tensor<?x2x?x64xf32> {fa.dims = ["B", "Hk", "Sk", "D"], fa.name = "dk"}, tensor<?x2x?x32xf32> {fa.dims = ["B", "Hk", "Sk", "Dv"], fa.name = "dv"}) {
// KEYS:          } sums [#fa.sum<1[b, hk, keys] times 0 factor 1.250000e-01 : f64>, #fa.sum<0[b, hk, keys] times 1>] :
func.func @plain(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x2x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x2x?x32xf32> {fa.name = "v"}) -> (tensor<?x8x?x32xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) scale(0.125)
    : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>) -> (tensor<?x8x?x32xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x32xf32>, tensor<?x8x?xf32>
}

// -----

// The score region is repeated and differentiated; the gradient of slopes is a sum at heads.
// The names of the results are those of the forward, and the mask reads the same captures.

// CHECK-LABEL: func.func @alibi_backward(
// CHECK-SAME:    %[[SLOPES:[a-z0-9]+]]: tensor<8xf32> {fa.dims = ["Hq"], fa.name = "slopes"}
// CHECK-SAME:    fa.name = "out"}
// CHECK-SAME:    fa.name = "logs"}
// CHECK-SAME:    fa.name = "dout"}
// CHECK-SAME:    tensor<8xf32> {fa.dims = ["Hq"], fa.name = "dslopes"})
// CHECK:         fa.pairwise {{.*}} captures(%[[SLOPES]], %{{.*}}#0, %{{.*}}#1) dropout() mask {
// CHECK:           arith.cmpi sle
// CHECK-NEXT:      fa.yield
// CHECK:         } weights {
// CHECK-NEXT:    ^bb0(%[[S:[a-z0-9]+]]: f32, %[[DP:[a-z0-9]+]]: f32,
// CHECK:           %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK-NEXT:      %[[X:.*]] = arith.mulf %[[S]], %[[SCALE]]
// CHECK:           %[[DISTANCE:.*]] = math.absf
// CHECK:           %[[BIAS:.*]] = arith.mulf %{{.*}}, %[[DISTANCE]]
// CHECK-NEXT:      %[[Y:.*]] = arith.subf %[[X]], %[[BIAS]]
// CHECK:           arith.subf %[[Y]], %{{.*}} : f32
// CHECK:           %[[P:.*]] = math.exp2
// CHECK:           %[[DX:.*]] = arith.mulf %[[P]]
// CHECK-NEXT:      %[[MINUS:.*]] = arith.negf %[[DX]]
// CHECK-NEXT:      %[[DSLOPE:.*]] = arith.mulf %[[MINUS]], %[[DISTANCE]]
// CHECK-NEXT:      fa.yield %[[P]], %[[DX]], %[[DSLOPE]] : f32, f32, f32
// CHECK:         } sums [{{.*}}, #fa.sum<2[h]>] :
// DLSE-LABEL: func.func @alibi_backward(
// DLSE-SAME:    {fa.dims = ["B", "Hq", "Sq"], fa.name = "dlogs"})
func.func @alibi(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x8x?x64xf32> {fa.name = "v"}, %slopes: tensor<8xf32> {fa.name = "slopes"}) -> (tensor<?x8x?x64xf32> {fa.name = "out"}, tensor<?x8x?xf32> {fa.name = "logs"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, alibi(%slopes)]
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<8xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// What is kept has dP and the probabilities that dV reads, everything has delta. The factor on what is kept is in LSE and
// delta: f P, and dP - delta / f. For operands of 2 bytes LSE is in base 2 and negated, and P = exp2(s scale log2(e) - lse2) is one fma and the exponential.

// CHECK-LABEL: func.func @dropout_backward(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: f32 {fa.name = "p"}, %[[SEED:[a-z0-9]+]]: i64 {fa.name = "seed"}, %[[OFFSET:[a-z0-9]+]]: i64
// CHECK:         arith.extf %{{.*}} : tensor<?x64xbf16, #fa.axes<rows>> to tensor<?x64xf32, #fa.axes<rows>>
// CHECK:         %[[NATURAL:.*]] = tile.load %{{.*}} dims [2] :
// CHECK:         arith.constant -1.44269502 : f32
// CHECK:         %[[BASE2:.*]] = arith.mulf %[[NATURAL]], %{{.*}} fastmath<contract>
// CHECK:         arith.maxnumf %[[P]], %{{.*}} : f32
// CHECK:         %[[FACTOR:.*]] = arith.divf
// CHECK:         %[[LOG:.*]] = math.log2 %[[FACTOR]]
// CHECK:         %[[LOGS:.*]] = tile.broadcast %[[LOG]]
// CHECK:         arith.addf %[[BASE2]], %[[LOGS]]
// CHECK:         arith.divf %{{.*}}, %[[FACTOR]] : f32
// CHECK:         fa.pairwise {{.*}} dropout(%[[P]], %[[SEED]], %[[OFFSET]]) mask {
// CHECK-NEXT:    } weights {
// CHECK-NEXT:    ^bb0(%[[S:[a-z0-9]+]]: f32, %[[DP:[a-z0-9]+]]: f32, %[[KEEP:[a-z0-9]+]]: f32,
// CHECK:           %[[C:.*]] = arith.constant 0.180336878 : f32
// CHECK-NEXT:      %[[X:.*]] = arith.mulf %[[S]], %[[C]] fastmath<contract>
// CHECK:           %[[E:.*]] = arith.addf %[[X]], %{{.*}} fastmath<contract>
// CHECK-NEXT:      %[[PROBABILITY:.*]] = math.exp2 %[[E]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[DP]], %{{.*}} : f32
// CHECK:           %[[DELTA:.*]] = tensor.extract
// CHECK:           %[[KEEPS:.*]] = arith.cmpf une, %[[KEEP]], %{{.*}} : f32
// CHECK:           %[[KEPT:.*]] = arith.select %[[KEEPS]], %[[PROBABILITY]], %{{.*}} : f32
// CHECK-NEXT:      %[[DIFF:.*]] = arith.select %[[KEEPS]], %[[SUM]], %[[DELTA]] : f32
// CHECK-NEXT:      %[[DS:.*]] = arith.mulf %[[PROBABILITY]], %[[DIFF]]
// CHECK-NEXT:      fa.yield %[[KEPT]], %[[DS]]
func.func @dropout(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x8x?x64xbf16> {fa.name = "k"},
                 %v: tensor<?x8x?x64xbf16> {fa.name = "v"}, %p: f32 {fa.name = "p"}, %seed: i64 {fa.name = "seed"}, %offset: i64 {fa.name = "offset"}) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) dropout(%p, %seed, %offset)
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, f32, i64, i64) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}

// -----

// A number is captured: one element, the sum over all pairs.

// CHECK-LABEL: func.func @scalar_backward(
// CHECK-SAME:    tensor<1xf32> {fa.name = "dc"})
// CHECK:         } sums [{{.*}}, #fa.sum<2>] :
func.func @scalar(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"}, %c: f32 {fa.name = "c"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %d: f32):
    %y = arith.mulf %s, %d : f32
    fa.yield %y : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, f32) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// A derivative that is a factor of P multiplies it first, so that only one tile waits for the product that makes dP. What
// a score is multiplied by first, or divided, goes into the scale, and no product is left of a cap and what it is divided by.

// CHECK-LABEL: func.func @capped_backward(
// CHECK:         } weights {
// CHECK-NEXT:    ^bb0(%[[S:[a-z0-9]+]]: f32, %[[DP:[a-z0-9]+]]: f32,
// CHECK-NEXT:      %[[SCALE:.*]] = arith.constant 0.00416666688 : f32
// CHECK-NEXT:      %[[X:.*]] = arith.mulf %[[S]], %[[SCALE]] fastmath<contract> : f32
// CHECK:           %[[T:.*]] = math.tanh %[[X]]
// CHECK:           %[[P:.*]] = math.exp2
// CHECK:           %[[DIFF:.*]] = arith.subf %[[DP]], %{{.*}} : f32
// CHECK-NEXT:      arith.mulf %[[P]], %[[DIFF]] : f32
// CHECK:           %[[SLOPE:.*]] = math.fma %{{.*}}, %[[T]], %{{.*}} : f32
// CHECK:           %[[LESS:.*]] = arith.mulf %[[P]], %[[SLOPE]] : f32
// CHECK-NEXT:      %[[DS:.*]] = arith.mulf %[[LESS]], %[[DIFF]] : f32
// CHECK-NEXT:      fa.yield %[[P]], %[[DS]] : f32, f32
func.func @capped(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [softcap<30.0>]
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// A score that does not depend on the dot product gives gradients of 0.

// CHECK-LABEL: func.func @constant_backward(
// CHECK:         } weights {
// CHECK:           %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:           fa.yield %{{.*}}, %[[ZERO]] : f32, f32
func.func @constant(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %y = arith.constant 1.0 : f32
    fa.yield %y : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// Results in another order are told apart.

// CHECK-LABEL: func.func @swapped_backward(
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<?x8x?x64xf32> {fa.dims = ["B", "Hq", "Sq", "Dv"], fa.name = "o"}, %{{[a-z0-9]+}}: tensor<?x8x?xf32> {fa.dims = ["B", "Hq", "Sq"], fa.name = "lse"}
func.func @swapped(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?xf32>, tensor<?x8x?x64xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %lse, %o : tensor<?x8x?xf32>, tensor<?x8x?x64xf32>
}

// -----

// A capture that the mask alone reads has a gradient of zeros, which a kernel writes.

// CHECK-LABEL: func.func @mask_only_backward(
// CHECK-SAME:    fa.name = "dv"}, tensor<?xf32> {fa.name = "dtable"})
// CHECK:         %[[R:.*]]:3 = fa.pairwise
// CHECK:         %[[ZEROS:.*]] = fa.map_blocks @mask_only_backward_add_3 over(%{{.*}}) axes()
// CHECK:           scf.for
// CHECK:             tile.store
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[ZEROS]]
func.func @mask_only(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"},
                    %table: tensor<?xf32> {fa.name = "table"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%table) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?xf32>):
    %x = tensor.extract %t[%j] : tensor<?xf32>
    %z = arith.constant 0.0 : f32
    %y = arith.cmpf olt, %x, %z : f32
    fa.yield %y : i1
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// A bias that is broadcast over the batch and the rows: a sum at its other indices, with dimensions of one.

// CHECK-LABEL: func.func @broadcast_backward(
// CHECK-SAME:    tensor<1x8x1x?xf32> {fa.dims = ["", "Hq", "", "Sk"], fa.name = "dbias"})
// CHECK:         } sums [{{.*}}, #fa.sum<2[one, h, one, keys]>] :
func.func @broadcast(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"},
                     %bias: tensor<1x8x1x?xf32> {fa.name = "bias"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%bias) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<1x8x1x?xf32>):
    %c0 = arith.constant 0 : index
    %x = tensor.extract %t[%c0, %h, %c0, %j] : tensor<1x8x1x?xf32>
    %y = arith.addf %s, %x : f32
    fa.yield %y : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<1x8x1x?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// A capture that is read at two places has a sum of f32 for each, which a kernel adds up.

// CHECK-LABEL: func.func @two_places_backward(
// CHECK:         %[[R:.*]]:5 = fa.pairwise
// CHECK:         } sums [{{.*}}, #fa.sum<2[h]>, #fa.sum<3[b]>] :
// CHECK:         %[[SUM:.*]] = fa.map_blocks @two_places_backward_add_3 over(%{{.*}}) axes()
// CHECK-DAG:       tile.load %[[R]]#3
// CHECK-DAG:       tile.load %[[R]]#4
// CHECK:           tile.store
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[SUM]]
func.func @two_places(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"},
                    %table: tensor<?xf32> {fa.name = "table"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%table) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?xf32>):
    %x = tensor.extract %t[%h] : tensor<?xf32>
    %z = tensor.extract %t[%b] : tensor<?xf32>
    %y = arith.addf %s, %x : f32
    %w = arith.addf %y, %z : f32
    fa.yield %w : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// A sink: the kernel over rows makes what each adds, -exp(z - lse) delta, 0 where lse is -inf, and what those of a block
// add up to, without what is behind the last one; fa.sum adds up blocks.

// CHECK-LABEL: func.func @sink_backward(
// CHECK-SAME:    %[[Z:[a-z0-9]+]]: tensor<8xbf16> {fa.dims = ["Hq"], fa.name = "z"}
// CHECK-SAME:    tensor<8xbf16> {fa.dims = ["Hq"], fa.name = "dz"})
// CHECK:         %[[ROWS:.*]]:3 = fa.map_blocks @sink_backward_prepare {{.*}}fa.divisors = [array<i64: 1, 1, 1>, array<i64: 1, 1, 1>, array<i64: 1, 1, 0>]
// CHECK:           %[[DELTA:.*]] = tile.reduce addf
// CHECK:           %[[NATURAL:.*]] = tile.load %{{.*}} dims [2] :
// CHECK:           %[[EMPTY:.*]] = arith.cmpf oeq, %[[NATURAL]]
// CHECK:           tile.load %[[Z]][%{{.*}}] : tensor<8xbf16> -> bf16
// CHECK:           %[[SINK:.*]] = tile.broadcast
// CHECK:           arith.constant 0x7F800000 : f32
// CHECK:           %[[LSE:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[NATURAL]]
// CHECK:           arith.subf %[[SINK]], %[[LSE]]
// CHECK:           %[[P:.*]] = math.exp2
// CHECK:           %[[PART:.*]] = arith.mulf %[[P]], %[[DELTA]]
// CHECK:           %[[MINUS:.*]] = arith.subf %{{.*}}, %[[PART]]
// CHECK:           %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<?xindex, #fa.axes<rows>>
// CHECK:           %[[KEPT:.*]] = arith.select %[[INSIDE]], %[[MINUS]]
// CHECK:           %[[COLUMN:.*]] = tile.broadcast %[[KEPT]] dim 1 : {{.*}} -> tensor<?x?xf32, #fa.axes<rows, one>>
// CHECK:           %[[TOTAL:.*]] = tile.reduce addf %[[COLUMN]] {{.*}} dim 0
// CHECK:           %[[SLOT:.*]] = tile.slice %{{.*}} dim 2
// CHECK:           tile.store %[[TOTAL]], %[[SLOT]]
// CHECK:         %[[R:.*]]:3 = fa.pairwise {{.*}} captures(%[[ROWS]]#0, %[[ROWS]]#1)
// CHECK:         %[[SUM:.*]] = fa.sum %[[ROWS]]#2 of <b, h, rows> to <h> {{.*}} : tensor<?x8x?xf32> -> tensor<8xbf16>
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[SUM]]

// Not asked for, it is not computed.
// QUERY:       func.func @sink_backward(
// QUERY:         fa.map_blocks @sink_backward_prepare {{.*}} -> (tensor<?x8x?xf32>, tensor<?x8x?xf32>) attributes
// QUERY-NOT:     fa.sum %
func.func @sink(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x2x?x64xbf16> {fa.name = "k"},
                %v: tensor<?x2x?x64xbf16> {fa.name = "v"}, %z: tensor<8xbf16> {fa.name = "z"}) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sink(%z)
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<8xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}

// -----

// A derivative that is divided by a constant stays finite: nothing is cleared in rows whose scores are all -inf.

// CHECK-LABEL: func.func @capped_backward(
// CHECK:         weights {
// CHECK-NOT:       arith.select
// CHECK:           fa.yield
func.func @capped(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c = arith.constant 30.0 : f32
    %x = arith.divf %s, %c : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %t, %c : f32
    fa.yield %y : f32
  } : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
