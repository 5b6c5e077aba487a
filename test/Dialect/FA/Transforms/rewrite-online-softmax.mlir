// RUN: fa-opt %s -split-input-file -fa-rewrite-online-softmax | FileCheck %s
// RUN: fa-opt %s -split-input-file -fa-rewrite-online-softmax=last-factors=false | FileCheck %s --check-prefix=LAST

// The recurrence stands in the IR: (o, r, l) carried, exponentials base 2, the
// scale folded into their factor (0.125 * log2 e = 0.180...).

// CHECK-LABEL: func.func @plain
// CHECK-SAME:    {fa.dims = ["B", "Hq", "Sq", "D"], fa.name = "q"}
// CHECK-SAME:    -> (tensor<?x8x?x64xf32> {fa.dims = ["B", "Hq", "Sq", "Dv"]}, tensor<?x8x?xf32> {fa.dims = ["B", "Hq", "Sq"]})
// CHECK:         fa.map_blocks @plain over(%{{.*}}) axes(b, h, rows by ?)
// CHECK:           %[[Q:.*]] = tile.load %{{.*}} dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<?x64xf32, #fa.axes<rows>>
// CHECK:           %[[R0:.*]] = tile.reference : <?xf32, #fa.axes<rows>>
// CHECK:           %[[E:.*]]:3 = scf.for %[[J:.*]] = %{{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[R:.*]] = %[[R0]], %[[L:.*]] = %{{.*}})
// CHECK:             %[[S:.*]] = tile.dot %[[Q]], %{{.*}} transpose_b precision(tf32x3)
// CHECK:             %[[MASKED:.*]] = fa.apply_mask %[[S]] at(%{{.*}}, %{{.*}}, %{{.*}}, %[[J]]) lengths(%{{.*}}, %{{.*}}) hidden(0xFF800000) {
// CHECK:             %[[NEWR:.*]], %[[P:.*]], %[[F:.*]], %{{.*}} = tile.stabilize %[[MASKED]], %[[R]] scale(0.180336{{.*}}) dim(1) : tensor<?x?xf32, #fa.axes<rows, keys>>, <?xf32, #fa.axes<rows>>
// CHECK:             %[[LF:.*]] = tile.rescale %[[L]], %[[F]] : tensor<?xf32, #fa.axes<rows>>, tensor<?xf32, #fa.axes<rows>>
// CHECK:             %[[NEWL:.*]] = tile.reduce addf %[[P]] init %[[LF]] dim 1
// CHECK:             %[[OF:.*]] = tile.rescale %[[O]], %[[F]] dim(1)
// CHECK:             %[[NEWO:.*]] = tile.dot %[[P]], %{{.*}}, %[[OF]] precision(tf32x3)
// CHECK:             scf.yield %[[NEWO]], %[[NEWR]], %[[NEWL]]
// CHECK:           tile.store
// CHECK:           tile.reference_value %[[E]]#1
// CHECK:           math.log2
// CHECK:           tile.store
// CHECK-NOT:     fa.attention
func.func @plain(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// Probabilities are rounded to the operands' type; with a score region the
// scale comes before it, times 1 / 20; without lse no logarithm is taken. The last
// factor of the region, 20, is part of that of the exponents (28.85... = 20 * log2 e).

// CHECK-LABEL: func.func @bf16
// CHECK:         %[[S:.*]] = tile.dot
// CHECK:         %[[C:.*]] = arith.constant 5.000000e-03 : f32
// CHECK:         %[[SCALE:.*]] = tile.broadcast %[[C]]
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[S]], %[[SCALE]]
// CHECK:         %[[X:.*]] = fa.apply %[[SCALED]]
// CHECK-NOT:       arith.mulf
// CHECK:         fa.apply_mask %[[X]]
// CHECK:         tile.stabilize %{{.*}}, %{{.*}} scale(2.885390e+01) dim(1)
// LAST-LABEL: func.func @bf16
// LAST:         fa.apply
// LAST:           math.tanh
// LAST:           arith.mulf
// LAST:         fa.apply_mask
// CHECK:         arith.truncf %{{.*}} : tensor<?x?xf32, #fa.axes<rows, keys>> to tensor<?x?xbf16, #fa.axes<rows, keys>>
// CHECK:         arith.truncf %{{.*}} : tensor<?x64xf32, #fa.axes<rows>> to tensor<?x64xbf16, #fa.axes<rows>>
// CHECK-NOT:     math.log2
func.func @bf16(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<20.0>] scale(0.1)
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}

// -----

// A score that is only scaled needs no product in the loop; a negative factor stays.

// CHECK-LABEL: func.func @scaled
// CHECK:         %[[S:.*]] = tile.dot
// CHECK-NOT:     fa.apply 
// CHECK:         fa.apply_mask %[[S]]
func.func @scaled(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant 4.0 : f32
      %x = arith.divf %s, %c : f32
      fa.yield %x : f32
    } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// CHECK-LABEL: func.func @negative
// CHECK:         %[[S:.*]] = tile.dot
// CHECK:         arith.constant -5.000000e-01 : f32
// CHECK:         %[[X:.*]] = fa.apply
// CHECK:           math.absf
// CHECK:           arith.mulf
func.func @negative(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) scale(0.25)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant -2.0 : f32
      %x = arith.mulf %c, %s : f32
      %y = math.absf %x : f32
      %z = arith.mulf %y, %c : f32
      fa.yield %z : f32
    } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// Dropout acts on what is multiplied with the values, not on the sum.

// CHECK-LABEL: func.func @dropout
// CHECK:         arith.fptosi
// CHECK:         %{{.*}}, %[[P:.*]], %{{.*}}, %{{.*}} = tile.stabilize
// CHECK:         tile.reduce addf %[[P]]
// CHECK:         %[[BITS:.*]] = tile.random_bits
// CHECK:         %[[KEPT:.*]] = arith.cmpi uge, %[[BITS]]
// CHECK:         %[[DROPPED:.*]] = arith.select %[[KEPT]], %[[P]]
// CHECK:         tile.dot %[[DROPPED]]
func.func @dropout(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>,
                   %p: f32, %seed: i64, %offset: i64) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) dropout(%p, %seed, %offset)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, f32, i64, i64) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// A sink enters after the loop. Without LSE its sum is only divided by, so that it may be that of rounded
// exponentials; with it, lse = M + ln(f l + g).

// CHECK-LABEL: func.func @sink
// CHECK-SAME:    tensor<8xbf16> {fa.dims = ["Hq"], fa.name = "z"}
// CHECK:         fa.map_blocks @sink over(%{{.*}}) axes(b, h, rows by ?)
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %{{.*}}:
// CHECK:           %[[E:.*]]:3 = scf.for
// CHECK:             scf.yield
// CHECK:           %[[Z:.*]] = tile.load %{{.*}}[%[[H]]] : tensor<8xbf16> -> bf16
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[Z]] : bf16 to f32
// CHECK-NEXT:      %[[SINK:.*]] = tile.broadcast %[[WIDE]]
// CHECK:           %[[EMPTY:.*]] = arith.cmpf oeq, %[[E]]#2
// CHECK:           %[[R:.*]] = tile.reference_value %[[E]]#1
// CHECK:           %[[C:.*]] = arith.constant 1.250000e-01 : f32
// CHECK:           %[[M:.*]] = arith.mulf %[[R]]
// CHECK:           %[[KEYS:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[M]]
// CHECK:           %[[MOST:.*]] = arith.maxnumf %[[KEYS]], %[[SINK]]
// CHECK:           %[[BASE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[MOST]]
// CHECK:           arith.subf %[[KEYS]], %[[BASE]]
// CHECK:           %[[F:.*]] = math.exp2
// CHECK:           arith.subf %[[SINK]], %[[BASE]]
// CHECK:           %[[G:.*]] = math.exp2
// CHECK:           %[[GL:.*]] = arith.divf %[[G]], %[[E]]#2
// CHECK:           %[[WHOLE:.*]] = arith.addf %[[F]], %[[GL]]
// CHECK:           %[[SHARE:.*]] = arith.divf %[[F]], %[[WHOLE]]
// CHECK:           %[[INVERSE:.*]] = arith.divf %[[SHARE]], %[[E]]#2
// CHECK:           arith.select %{{.*}}, %{{.*}}, %[[INVERSE]]
// CHECK:           tile.store
// CHECK-NOT:       math.log2
// CHECK:         return
func.func @sink(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x8x?x64xbf16>, %v: tensor<?x8x?x64xbf16>,
                %z: tensor<8xbf16> {fa.name = "z"}) -> tensor<?x8x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v) sink(%z)
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<8xbf16>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}

// CHECK-LABEL: func.func @sink_lse
// CHECK:           %[[E:.*]]:3 = scf.for
// CHECK:             scf.yield
// CHECK:           %[[MOST:.*]] = arith.maxnumf
// CHECK:           %[[F:.*]] = math.exp2
// CHECK:           %[[G:.*]] = math.exp2
// CHECK:           tile.store
// CHECK:           %[[FL:.*]] = arith.mulf %[[F]], %[[E]]#2
// CHECK-NEXT:      %[[WHOLE:.*]] = arith.addf %[[FL]], %[[G]]
// CHECK-NEXT:      math.log2 %[[WHOLE]]
// CHECK:           %[[LSE:.*]] = arith.addf %[[MOST]],
// CHECK:           tile.store %[[LSE]]
func.func @sink_lse(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>,
                    %z: tensor<?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sink(%z)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}
