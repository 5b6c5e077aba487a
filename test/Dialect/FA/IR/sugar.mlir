// RUN: fa-opt %s --verify-roundtrip | FileCheck %s

// Sugar is gone after parsing: every mask and score is a region.
// CHECK-NOT: with [

!q = tensor<2x4x?x64xf32>

// CHECK-LABEL: func.func @causal
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %[[SQ:[a-z0-9]+]]: index, %[[SK:[a-z0-9]+]]: index):
// CHECK-NEXT: %[[SHIFT:.*]] = arith.subi %[[SK]], %[[SQ]] : index
// CHECK-NEXT: %[[D:.*]] = arith.addi %[[I]], %[[SHIFT]] : index
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[D]] : index
// CHECK-NEXT: fa.yield %[[C]] : i1
// CHECK-NEXT: } : (
func.func @causal(%q: !q) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [causal] : (!q, !q, !q) -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @causal_top_left
// CHECK: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index,
// CHECK-NEXT: %[[C:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: fa.yield %[[C]] : i1
func.func @causal_top_left(%q: !q) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [causal<top_left>] : (!q, !q, !q) -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @window
// CHECK: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index,
// CHECK: %[[D:.*]] = arith.addi %[[I]],
// CHECK: %[[LEFT:.*]] = arith.constant 128 : index
// CHECK: %[[FIRST:.*]] = arith.subi %[[D]], %[[LEFT]]
// CHECK: %[[A:.*]] = arith.cmpi sle, %[[FIRST]], %[[J]]
// CHECK: %[[RIGHT:.*]] = arith.constant 16 : index
// CHECK: %[[LAST:.*]] = arith.addi %[[D]], %[[RIGHT]]
// CHECK: %[[B:.*]] = arith.cmpi sle, %[[J]], %[[LAST]]
// CHECK: %[[C:.*]] = arith.andi %[[A]], %[[B]] : i1
// CHECK-NEXT: fa.yield %[[C]] : i1
func.func @window(%q: !q) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [window<128, 16>] : (!q, !q, !q) -> !q
  return %o : !q
}

// An unbounded side has no comparison.
// CHECK-LABEL: func.func @window_left
// CHECK: arith.cmpi
// CHECK-NOT: arith.cmpi
// CHECK-LABEL: func.func @window_none
// CHECK-NOT: arith.cmpi
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: fa.yield %[[TRUE]] : i1
func.func @window_left(%q: !q) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [window<128, -1>] : (!q, !q, !q) -> !q
  return %o : !q
}
func.func @window_none(%q: !q) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [window<-1, -1>] : (!q, !q, !q) -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @prefix
// CHECK: captures(%{{.*}}) mask {
// CHECK-NEXT: ^bb0(%[[B:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[LENS:[a-z0-9]+]]: tensor<2xi32>):
// CHECK: %[[N32:.*]] = tensor.extract %[[LENS]][%[[B]]]
// CHECK: %[[N:.*]] = arith.index_cast %[[N32]] : i32 to index
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[J]], %[[N]]
// CHECK: %[[CAUSAL:.*]] = arith.cmpi sle, %[[J]],
// CHECK: arith.ori %[[IN]], %[[CAUSAL]] : i1
func.func @prefix(%q: !q, %lens: tensor<2xi32>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [prefix(%lens)] : (!q, !q, !q, tensor<2xi32>) -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @document
// CHECK: ^bb0(%[[B:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[IDS:[a-z0-9]+]]: tensor<2x?xi32>):
// CHECK: %[[X:.*]] = tensor.extract %[[IDS]][%[[B]], %[[I]]]
// CHECK: %[[Y:.*]] = tensor.extract %[[IDS]][%[[B]], %[[J]]]
// CHECK: arith.cmpi eq, %[[X]], %[[Y]] : i32
func.func @document(%q: !q, %ids: tensor<2x?xi32>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [document(%ids)] : (!q, !q, !q, tensor<2x?xi32>) -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @document_two
// CHECK: %[[QIDS:[a-z0-9]+]]: tensor<2x?xi64>, %[[KIDS:[a-z0-9]+]]: tensor<2x?xi64>):
// CHECK: tensor.extract %[[QIDS]][
// CHECK: tensor.extract %[[KIDS]][
func.func @document_two(%q: !q, %x: tensor<2x?xi64>, %y: tensor<2x?xi64>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [document(%x, %y)]
    : (!q, !q, !q, tensor<2x?xi64>, tensor<2x?xi64>) -> !q
  return %o : !q
}

// Quotients of i and j; leading dimensions are missing, or 1.
// CHECK-LABEL: func.func @blocks
// CHECK: ^bb0(%[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[M:[a-z0-9]+]]: tensor<1x?x?xi8>):
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 48 : index
// CHECK-DAG: %[[KEYS:.*]] = arith.constant 80 : index
// CHECK-DAG: %[[ROW:.*]] = arith.divui %[[I]], %[[ROWS]]
// CHECK-DAG: %[[KEY:.*]] = arith.divui %[[J]], %[[KEYS]]
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK: %[[BLOCK:.*]] = tensor.extract %[[M]][%[[FIRST]], %[[ROW]], %[[KEY]]]
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i8
// CHECK: arith.cmpi ne, %[[BLOCK]], %[[ZERO]] : i8
func.func @blocks(%q: !q, %m: tensor<1x?x?xi8>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [blocks<48, 80>(%m)] : (!q, !q, !q, tensor<1x?x?xi8>) -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @blocks_of_flags
// CHECK: %[[SEEN:.*]] = tensor.extract %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : tensor<2x4x?x?xi1>
// CHECK-NEXT: fa.yield %[[SEEN]]
func.func @blocks_of_flags(%q: !q, %m: tensor<2x4x?x?xi1>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [blocks<1, 64>(%m)] : (!q, !q, !q, tensor<2x4x?x?xi1>) -> !q
  return %o : !q
}

// s - slope * |i + sk - sq - j|
// CHECK-LABEL: func.func @alibi
// CHECK: score {
// CHECK-NEXT: ^bb0(%[[S:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: index, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[SLOPES:[a-z0-9]+]]: tensor<4xf32>):
// CHECK: %[[M:.*]] = tensor.extract %[[SLOPES]][%[[H]]]
// CHECK: %[[D:.*]] = arith.subi %{{.*}} : i32
// CHECK: %[[F:.*]] = arith.sitofp %[[D]]
// CHECK: %[[A:.*]] = math.absf %[[F]]
// CHECK: %[[P:.*]] = arith.mulf %[[M]], %[[A]]
// CHECK: %[[T:.*]] = arith.subf %[[S]], %[[P]]
// CHECK: fa.yield %[[T]] : f32
func.func @alibi(%q: !q, %slopes: tensor<4xf32>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [alibi(%slopes)] : (!q, !q, !q, tensor<4xf32>) -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @softcap
// CHECK: ^bb0(%[[S:[a-z0-9]+]]: f32,
// CHECK: %[[X:.*]] = arith.mulf %[[S]],
// CHECK: %[[T:.*]] = math.tanh %[[X]]
// CHECK: %[[CAP:.*]] = arith.constant 3.000000e+01 : f32
// CHECK: arith.mulf %[[T]], %[[CAP]]
func.func @softcap(%q: !q) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [softcap<30.0>] : (!q, !q, !q) -> !q
  return %o : !q
}

// A dimension of size 1 is broadcast, leading dimensions may be absent.
// CHECK-LABEL: func.func @bias
// CHECK: ^bb0(%[[S:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: index, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[BIAS:[a-z0-9]+]]: tensor<1x4x?x?xbf16>, %[[ROWS:[a-z0-9]+]]: tensor<?x?xf32>):
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[E:.*]] = tensor.extract %[[BIAS]][%[[ZERO]], %[[H]], %[[I]], %[[J]]]
// CHECK: %[[W:.*]] = arith.extf %[[E]] : bf16 to f32
// CHECK: arith.addf %[[S]], %[[W]]
// CHECK: tensor.extract %[[ROWS]][%[[I]], %[[J]]]
func.func @bias(%q: !q, %x: tensor<1x4x?x?xbf16>, %y: tensor<?x?xf32>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) with [bias(%x), bias(%y)]
    : (!q, !q, !q, tensor<1x4x?x?xbf16>, tensor<?x?xf32>) -> !q
  return %o : !q
}

// Masks are ANDed after the written one, scores apply in order after the
// written one, and captures of sugar come after the written ones.
// CHECK-LABEL: func.func @all
// CHECK: captures(%[[N:[a-z0-9]+]], %[[SLOPES:[a-z0-9]+]]) mask {
// CHECK: %[[WRITTEN:.*]] = arith.cmpi ne
// CHECK: %[[CAUSAL:.*]] = arith.cmpi sle
// CHECK: %[[BOTH:.*]] = arith.andi %[[WRITTEN]], %[[CAUSAL]]
// CHECK: fa.yield %[[BOTH]]
// CHECK: } score {
// CHECK: ^bb0(%[[S:[a-z0-9]+]]: f32,
// CHECK: %[[A:.*]] = arith.negf %[[S]]
// CHECK: %[[B:.*]] = arith.subf %[[A]],
// CHECK: arith.mulf %[[B]],
// CHECK: math.tanh
func.func @all(%q: !q, %n: index, %slopes: tensor<4xf32>) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) captures(%n) with [alibi(%slopes), causal, softcap<30.0>]
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %m: index):
      %c = arith.cmpi ne, %j, %m : index
      fa.yield %c : i1
    } score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %m: index):
      %t = arith.negf %s : f32
      fa.yield %t : f32
    } : (!q, !q, !q, index, tensor<4xf32>) -> !q
  return %o : !q
}
