// RUN: fa-opt %s -split-input-file -fa-rewrite-online-softmax -fa-tile-attention="rows=32 keys=48" | FileCheck %s

// Tiles are static; the mask is computed at the smallest shapes: i + (sk - sq)
// on rows, j on columns, only the comparison on the tile.

// CHECK-LABEL: fa.map_blocks @causal
// CHECK-SAME:    axes(b, h, rows by 32)
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

// CHECK-LABEL: fa.map_blocks @captures
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

// CHECK-LABEL: fa.map_blocks @neighbours
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

// CHECK-LABEL: fa.map_blocks @guarded
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

// -----

// A block of keys: tiles of pairs run along keys first, i along their columns. Each capture is loaded along its
// own axis, a bias at (i, j) with its dimensions in turn, and rows beyond the last are hidden, too.

// CHECK-LABEL: fa.map_blocks @transposed
// CHECK-SAME:    axes(b, hk, keys by 48)
// CHECK:         scf.for %[[I:.*]] = %{{.*}} step %{{.*}} iter_args(%{{.*}}) -> (tensor<48xf32>)
// CHECK:           %[[ROWS:.*]] = tile.iota %[[I]] : index -> tensor<32xindex>
// CHECK:           %[[LSE:.*]] = tile.load %{{.*}} dims [2] : tensor<?x8x?xf32> -> tensor<32xf32>
// CHECK:           tile.broadcast %[[LSE]] dim 0 : tensor<32xf32> -> tensor<48x32xf32>
// CHECK:           %[[BIAS:.*]] = tile.load %{{.*}}[%[[I]], %{{.*}}] dims [1, 0] : tensor<?x?xf32> -> tensor<48x32xf32>
// CHECK:           arith.cmpi slt, %{{.*}} : tensor<48xindex>
// CHECK:           arith.cmpi slt, %{{.*}} : tensor<32xindex>
// CHECK:           arith.andi %{{.*}} : tensor<48x32xi1>
// CHECK:           arith.select %{{.*}} : tensor<48x32xi1>, tensor<48x32xf32>
// CHECK:           arith.select %{{.*}} : tensor<48x32xi1>, tensor<48x32xf32>
// CHECK-NOT:     fa.apply
func.func @transposed(%x: tensor<?x8x?x64xf32>, %y: tensor<?x8x?x64xf32>, %lse: tensor<?x8x?xf32>, %bias: tensor<?x?xf32>)
    -> tensor<?x8x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %x, %c2 : tensor<?x8x?x64xf32>
  %sk = tensor.dim %y, %c2 : tensor<?x8x?x64xf32>
  %zero = arith.constant 0.0 : f32
  %r = fa.map_blocks @transposed over(%y) axes(b, hk, keys) : tensor<?x8x?x64xf32> -> tensor<?x8x?xf32> {
  ^bb0(%b: index, %h: index, %j: index, %view: !tile.view<?x8x?xf32>):
    %column = tile.load %y[%b, %h, %j, %c0] dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<?x64xf32, #fa.axes<keys>>
    %none = tile.broadcast %zero : f32 -> tensor<?xf32, #fa.axes<keys>>
    %n = fa.tile_size rows
    %sum = scf.for %i = %c0 to %sq step %n iter_args(%m = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      %row = tile.load %x[%b, %h, %i, %c0] dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<?x64xf32, #fa.axes<rows>>
      %start = tile.broadcast %zero : f32 -> tensor<?x?xf32, #fa.axes<keys, rows>>
      %dot = tile.dot %column, %row, %start transpose_b precision(tf32x3) : tensor<?x64xf32, #fa.axes<keys>>, tensor<?x64xf32, #fa.axes<rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
      %w:2 = fa.apply %dot at(%b, %h, %i, %j) lengths(%sq, %sk) captures(%lse, %bias : tensor<?x8x?xf32>, tensor<?x?xf32>) transposed {
      ^bb0(%d: f32, %b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index, %l: tensor<?x8x?xf32>, %t: tensor<?x?xf32>):
        %r = tensor.extract %l[%b0, %h0, %i0] : tensor<?x8x?xf32>
        %0 = arith.subf %d, %r : f32
        %1 = tensor.extract %t[%i0, %j0] : tensor<?x?xf32>
        %2 = arith.mulf %0, %1 : f32
        fa.yield %0, %2 : f32, f32
      } : tensor<?x?xf32, #fa.axes<keys, rows>> -> tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
      %v:2 = fa.apply_mask %w#0, %w#1 at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0.0) within_rows transposed {}
        : tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
      %both = arith.addf %v#0, %v#1 : tensor<?x?xf32, #fa.axes<keys, rows>>
      %next = tile.reduce addf %both init %m dim 1 : tensor<?x?xf32, #fa.axes<keys, rows>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %next : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %sum, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x8x?xf32>
  }
  return %r : tensor<?x8x?xf32>
}
