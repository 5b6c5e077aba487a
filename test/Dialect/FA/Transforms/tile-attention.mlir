// RUN: fa-opt %s -split-input-file -fa-rewrite-online-softmax -fa-tile-attention="rows=32 keys=48" | FileCheck %s

// Tiles are static; the mask is computed at the smallest shapes: i + (sk - sq)
// on rows, j on columns, only the comparison on the tile.

// CHECK-LABEL: fa.map_rows @causal
// CHECK-SAME:    rows(32)
// CHECK:         tile.load %{{.*}} dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<32x64xf32>
// CHECK:         scf.for %[[J:.*]] = %{{.*}} step %{{.*}} -> (tensor<32x64xf32>, !tile.reference<32xf32>, tensor<32xf32>)
// CHECK:           tile.load %{{.*}} dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<48x64xf32>
// CHECK:           %[[COLUMNS:.*]] = tile.iota %[[J]] : index -> tensor<48xindex>
// CHECK:           arith.cmpi slt, %{{.*}} : tensor<48xindex>
// CHECK:           arith.addi %{{.*}} : tensor<32xindex>
// CHECK:           arith.cmpi sle, %{{.*}} : tensor<32x48xindex>
// CHECK:           arith.select %{{.*}} : tensor<32x48xi1>, tensor<32x48xf32>
// CHECK-NOT:     fa.apply_mask
// CHECK-NOT:     fa.tile_size
func.func @causal(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// Captured tensors: indices that are each one of b, h, i, j become loads of a
// scalar, a row, a column or a tile, others a gather.

// CHECK-LABEL: fa.map_rows @captures
// CHECK-DAG:     tile.load %{{.*}}[%{{.*}}] : tensor<8xf32> -> f32
// CHECK-DAG:     tile.load %{{.*}}[%{{.*}}, %{{.*}}] dims [1] : tensor<?x?xf32> -> tensor<32xf32>
// CHECK-DAG:     tile.load %{{.*}}[%{{.*}}, %{{.*}}] dims [1] : tensor<?x?xf32> -> tensor<48xf32>
// CHECK-DAG:     tile.load %{{.*}}[%{{.*}}, %{{.*}}] dims [1, 0] : tensor<?x?xf32> -> tensor<32x48xf32>
// CHECK-DAG:     tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : tensor<?x?xf32>[index, tensor<32x48xindex>] -> tensor<32x48xf32>
func.func @captures(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>,
                    %a: tensor<8xf32>, %t: tensor<?x?xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%a, %t) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<8xf32>, %y: tensor<?x?xf32>):
    %0 = tensor.extract %x[%h] : tensor<8xf32>
    %1 = tensor.extract %y[%b, %i] : tensor<?x?xf32>
    %2 = tensor.extract %y[%b, %j] : tensor<?x?xf32>
    %3 = tensor.extract %y[%j, %i] : tensor<?x?xf32>
    %d = arith.subi %i, %j : index
    %4 = tensor.extract %y[%h, %d] : tensor<?x?xf32>
    %5 = arith.addf %0, %1 : f32
    %6 = arith.addf %5, %2 : f32
    %7 = arith.addf %6, %3 : f32
    %8 = arith.addf %7, %4 : f32
    %9 = arith.addf %8, %s : f32
    fa.yield %9 : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<8xf32>, tensor<?x?xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// An index that is i or j plus a constant is a load from there on; plus a captured number, a gather.

// CHECK-LABEL: fa.map_rows @neighbours
// CHECK:         %[[NEXT:.*]] = arith.addi %[[I:.*]], %c1{{.*}} : index
// CHECK:         tile.load %{{.*}}[%{{.*}}, %[[NEXT]]] dims [1] : tensor<?x?xf32> -> tensor<32xf32>
// CHECK:         %[[BEFORE:.*]] = arith.addi %{{.*}}, %c-2{{.*}} : index
// CHECK:         tile.load %{{.*}}[%{{.*}}, %[[BEFORE]]] dims [1] : tensor<?x?xf32> -> tensor<48xf32>
// CHECK:         tile.load %{{.*}}[%[[I]], %{{.*}}] dims [0, 1] : tensor<?x?xf32> -> tensor<32x48xf32>
// CHECK:         tile.gather {{.*}} : tensor<?x?xf32>[index, tensor<32xindex>] -> tensor<32xf32>
func.func @neighbours(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>,
                      %n: index, %t: tensor<?x?xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%n, %t) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %m: index, %y: tensor<?x?xf32>):
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %next = arith.addi %i, %c1 : index
    %1 = tensor.extract %y[%b, %next] : tensor<?x?xf32>
    %before = arith.subi %j, %c2 : index
    %2 = tensor.extract %y[%b, %before] : tensor<?x?xf32>
    %same = arith.subi %next, %c1 : index
    %3 = tensor.extract %y[%same, %j] : tensor<?x?xf32>
    %far = arith.addi %i, %m : index
    %4 = tensor.extract %y[%b, %far] : tensor<?x?xf32>
    %5 = arith.addf %s, %1 : f32
    %6 = arith.addf %5, %2 : f32
    %7 = arith.addf %6, %3 : f32
    %8 = arith.addf %7, %4 : f32
    fa.yield %8 : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, index, tensor<?x?xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// Both arms of an scf.if are evaluated: a division that could trap is guarded.

// CHECK-LABEL: fa.map_rows @guarded
// CHECK:         %[[BAD:.*]] = arith.ori
// CHECK:         %[[SAFE:.*]] = arith.select %[[BAD]]
// CHECK:         %[[QUOTIENT:.*]] = arith.divsi %{{.*}}, %[[SAFE]]
// CHECK:         arith.select %[[BAD]], %{{.*}}, %[[QUOTIENT]]
func.func @guarded(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %0 = index.divs %i, %j
    %1 = index.cmp slt(%0, %h)
    %2 = scf.if %1 -> i1 {
      %t = arith.constant true
      scf.yield %t : i1
    } else {
      %3 = arith.cmpi eq, %i, %j : index
      scf.yield %3 : i1
    }
    fa.yield %2 : i1
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
