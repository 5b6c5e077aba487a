// RUN: fa-opt %s -fa-derive-limits -fa-rewrite-online-softmax -fa-separate-holes --canonicalize --remarks=fa-separate-holes -split-input-file -verify-diagnostics | FileCheck %s

// The first kernel has the mask by limits, and stores where no row of its block has a hole; a kernel of one block finds the
// greatest number of each column of the table, and the last one asks first whether there is a hole at all. Its mask is the one
// as written. Both find the holes of the same block, whatever their sizes are.
// CHECK-LABEL: func.func @document
// CHECK:         %[[L:.*]]:3 = fa.map_blocks @document_limits
// CHECK:         %[[O:.*]] = fa.map_blocks @document over(%arg0) axes(b, h, rows by ?)
// CHECK:           %[[SIZE:.*]] = fa.tile_size rows
// CHECK:           fa.range %[[L]]#2
// CHECK:           scf.for
// CHECK:             fa.apply_mask
// CHECK-NOT:           fa.fallback
// CHECK:           %[[OWN:.*]] = arith.select {{.*}} : index
// CHECK:           %[[S:.*]] = tile.slice %{{.*}} dim 2 from %{{.*}} size %[[OWN]]
// CHECK:           tile.store %{{.*}}, %[[S]]
// CHECK:         %[[ANY:.*]] = fa.map_blocks @document_any over(%arg0) axes()
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               tile.load %[[L]]#2[{{.*}}] dims [2, 1]
// CHECK:               arith.maxsi
// CHECK:           tile.reduce maxsi
// CHECK:         fa.map_blocks @document_holes over(%arg0) inits(%[[O]]) axes(b, h, rows by ?)
// CHECK-SAME:      fa.disjoint = "document"
// CHECK:           fa.tile_size rows of @document
// CHECK:           fa.range %[[L]]#2
// CHECK:           tile.load %[[ANY]][%{{.*}}]
// CHECK:           scf.for
// CHECK:             fa.apply_mask
// CHECK-NOT:           fa.fallback
// CHECK:               arith.cmpi eq
// CHECK:           tile.store
func.func @document(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                    %ids: tensor<?x?xi32> {fa.name = "ids"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{rows with holes have a kernel of their own}}
  %o = fa.attention query(%q) key(%k) value(%k) with [causal, document(%ids)]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// Nothing is separated where limits say all.
// CHECK-LABEL: func.func @causal
// CHECK:         fa.map_blocks @causal over
// CHECK-NOT:     fa.map_blocks
func.func @causal(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"}) -> tensor<?x4x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%k) with [causal]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}
