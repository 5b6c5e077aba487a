// RUN: fa-opt %s -fa-rewrite-online-softmax -fa-analyze-mask --remarks -cse -split-input-file -verify-diagnostics | FileCheck %s

// Bottom-right causal: up to the last row's diagonal, masked past the first's.
// CHECK-LABEL: fa.map_blocks @causal
// CHECK-DAG:     %[[SQ:.*]] = tensor.dim %arg0
// CHECK-DAG:     %[[SK:.*]] = tensor.dim %arg1
// CHECK-DAG:     %[[N:.*]] = fa.tile_size keys
// CHECK:         %[[PAST:.*]] = arith.minsi %{{.*}}, %[[SQ]]
// CHECK:         %[[LAST:.*]] = arith.subi %[[PAST]], %c1
// CHECK:         %[[A:.*]] = arith.addi %{{.*}}, %[[SK]]
// CHECK:         %[[FIRST_DIAGONAL:.*]] = arith.subi %[[A]], %[[SQ]]
// CHECK:         %[[B:.*]] = arith.addi %[[LAST]], %[[SK]]
// CHECK:         %[[LAST_DIAGONAL:.*]] = arith.subi %[[B]], %[[SQ]]
// CHECK:         %[[C:.*]] = arith.addi %[[LAST_DIAGONAL]], %c1
// CHECK:         %[[HI:.*]] = arith.minsi %[[C]], %[[SK]]
// CHECK:         scf.for %[[J:.*]] = %c0 to %[[HI]] step %[[N]]
// CHECK-NEXT:      %[[END:.*]] = arith.addi %[[J]], %[[N]]
// CHECK-NEXT:      %[[CLAMPED:.*]] = arith.minsi %[[END]], %[[SK]]
// CHECK-NEXT:      %[[LAST_KEY:.*]] = arith.subi %[[CLAMPED]], %c1
// CHECK-NEXT:      %[[HIDDEN:.*]] = arith.cmpi slt, %[[FIRST_DIAGONAL]], %[[LAST_KEY]]
// CHECK-NEXT:      %[[OUTSIDE:.*]] = arith.cmpi slt, %[[SK]], %[[END]]
// CHECK-NEXT:      %[[NEEDED:.*]] = arith.ori %[[HIDDEN]], %[[OUTSIDE]]
// CHECK-NEXT:      tile.load
// CHECK:           %[[S:.*]] = tile.dot
// CHECK:           scf.if %[[NEEDED]]
// CHECK-NEXT:        %[[MASKED:.*]] = fa.apply_mask %[[S]]
// CHECK:             scf.yield %[[MASKED]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[S]]
// Both are computed from the rows alone, so that parts of them can have their own.
// CHECK-NEXT:      } {tile.row_derived}
// CHECK:         } {tile.row_derived}
func.func @causal(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{tile test: all", keys="[0, hi)"}}
  %o = fa.attention query(%q) key(%k) value(%k) with [causal]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// No mask: only the tile that reaches past the keys is masked.
// CHECK-LABEL: fa.map_blocks @plain
// CHECK:         %[[SK:.*]] = tensor.dim %arg1
// CHECK:         scf.for %[[J:.*]] = %c0 to %[[SK]]
// CHECK-NEXT:      %[[END:.*]] = arith.addi %[[J]]
// CHECK-NEXT:      %[[OUTSIDE:.*]] = arith.cmpi slt, %[[SK]], %[[END]]
// CHECK:           scf.if %[[OUTSIDE]]
func.func @plain(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{tile test: all", keys="[0, sk)"}}
  %o = fa.attention query(%q) key(%k) value(%k)
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// A window has a first tile too, a multiple of the tile's size.
// CHECK-LABEL: fa.map_blocks @window
// CHECK:         %[[N:.*]] = fa.tile_size keys
// CHECK:         %[[SOME:.*]] = arith.cmpi slt, %[[LO:.*]], %[[MOST:.*]] : index
// CHECK-NEXT:    %[[HI:.*]] = arith.select %[[SOME]], %[[MOST]], %c0
// CHECK-NEXT:    %[[TILE:.*]] = arith.divsi %[[LO]], %[[N]]
// CHECK-NEXT:    %[[START:.*]] = arith.muli %[[TILE]], %[[N]]
// CHECK:         scf.for %{{.*}} = %[[START]] to %[[HI]] step %[[N]]
func.func @window(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{tile test: all", keys="[lo, hi)"}}
  %o = fa.attention query(%q) key(%k) value(%k) with [window<128, 0>]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// A prefix's length is loaded once, before the loop.
// CHECK-LABEL: fa.map_blocks @prefix
// CHECK:         %[[LENGTH:.*]] = tile.load %{{.*}}[%{{.*}}] : tensor<?xi32> -> i32
// CHECK-NEXT:    %[[PREFIX:.*]] = arith.index_cast %[[LENGTH]] : i32 to index
// CHECK:         %[[MOST:.*]] = arith.maxsi {{.*}}%[[PREFIX]]
// CHECK:         %[[HI:.*]] = arith.minsi %[[MOST]]
// CHECK:         scf.for %{{.*}} = %c0 to %[[HI]]
func.func @prefix(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                  %n: tensor<?xi32> {fa.name = "n"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{tile test: all", keys="[0, hi)"}}
  %o = fa.attention query(%q) key(%k) value(%k) with [prefix(%n)]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?xi32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// Every second block of keys: tiles are tested before anything is loaded.
// CHECK-LABEL: fa.map_blocks @blocks
// CHECK:         scf.for %{{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{[^)]*}})
// CHECK-NOT:       tile.load
// CHECK:           %[[R:.*]]:3 = scf.if
// CHECK-NEXT:        tile.load
// CHECK:             scf.yield %[[O]], %[[M]], %[[L]]
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @blocks(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{tile test: none/all", keys="[0, sk)"}}
  %o = fa.attention query(%q) key(%k) value(%k) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c64 = arith.constant 64 : index
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %block = arith.divui %j, %c64 : index
    %odd = arith.remui %block, %c2 : index
    %v = arith.cmpi ne, %odd, %c1 : index
    fa.yield %v : i1
  } : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// Elements of blocks: where a tile lies in up to four, these say all, before anything else is loaded.
// CHECK-LABEL: fa.map_blocks @elements_of_blocks
// CHECK:         %[[LEAST:.*]] = arith.shrsi %{{.*}}, %c7
// CHECK-NEXT:    %[[GREATEST:.*]] = arith.shrsi %{{.*}}, %c7
// CHECK-NEXT:    %[[ROWS:.*]] = arith.subi %[[GREATEST]], %[[LEAST]]
// CHECK:         scf.for %[[J:.*]] = %c0 to
// CHECK:           %[[FEW_ROWS:.*]] = arith.cmpi sle, %[[ROWS]], %{{.*}}
// CHECK-NEXT:      %[[FEW_KEYS:.*]] = arith.cmpi sle
// CHECK-NEXT:      %[[FEW:.*]] = arith.andi %[[FEW_ROWS]], %[[FEW_KEYS]]
// CHECK:           %[[SEEN0:.*]] = tile.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : {{.*}} -> i1
// CHECK-NEXT:      %[[SEEN1:.*]] = tile.load {{.*}} -> i1
// CHECK-NEXT:      %[[ALL1:.*]] = arith.andi %[[SEEN0]], %[[SEEN1]]
// CHECK-NEXT:      %[[ANY1:.*]] = arith.ori %[[SEEN0]], %[[SEEN1]]
// CHECK-NEXT:      %[[SEEN2:.*]] = tile.load {{.*}} -> i1
// CHECK-NEXT:      %[[ALL2:.*]] = arith.andi %[[ALL1]], %[[SEEN2]]
// CHECK-NEXT:      %[[ANY2:.*]] = arith.ori %[[ANY1]], %[[SEEN2]]
// CHECK-NEXT:      %[[SEEN3:.*]] = tile.load {{.*}} -> i1
// CHECK-NEXT:      %[[ALL:.*]] = arith.andi %[[ALL2]], %[[SEEN3]]
// CHECK-NEXT:      %[[ANY:.*]] = arith.ori %[[ANY2]], %[[SEEN3]]
// CHECK-NEXT:      %[[DIFFERS:.*]] = arith.xori %[[FEW]], %true
// CHECK-NEXT:      %[[VISIBLE:.*]] = arith.ori %[[DIFFERS]], %[[ANY]]
// CHECK-NEXT:      %[[UNSEEN:.*]] = arith.xori %[[ALL]], %true
// CHECK-NEXT:      %[[HIDDEN:.*]] = arith.ori %[[DIFFERS]], %[[UNSEEN]]
// CHECK:           %[[NEEDED:.*]] = arith.ori %[[HIDDEN]], %{{.*}}
// CHECK-NEXT:      scf.if %[[VISIBLE]]
// CHECK-NEXT:        tile.load
// CHECK:             scf.if %[[NEEDED]]
// CHECK-NEXT:          fa.apply_mask
func.func @elements_of_blocks(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                              %m: tensor<4x?x?xi1> {fa.name = "m"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{tile test: none/all", keys="[0, sk)"}}
  %o = fa.attention query(%q) key(%k) value(%k) with [blocks<128, 64>(%m)]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<4x?x?xi1>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// Documents are not known over a tile; what is ANDed still bounds the loop.
// CHECK-LABEL: fa.map_blocks @document
// CHECK:         scf.for %{{.*}} = %c0 to %{{[0-9]+}} step
// CHECK-NOT:       scf.if
// CHECK:           fa.apply_mask
func.func @document(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
                    %ids: tensor<?x?xi32> {fa.name = "ids"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{mask evaluated on every tile", Reason="'tensor.extract' at }}
  %o = fa.attention query(%q) key(%k) value(%k) with [document(%ids), causal]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// Chunks, causal inside: tiles that some row sees follow each other, so the bounds say all, and no tile is tested.
// CHECK-LABEL: fa.map_blocks @chunks
// CHECK:         scf.for
// CHECK-NOT:       scf.if
// CHECK:           tile.load
// CHECK:           scf.if {{.*}} -> (tensor<?x?xf32,
// CHECK-NEXT:        fa.apply_mask
// CHECK-NOT:       scf.if
func.func @chunks(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"}) -> tensor<?x4x?x64xf32> {
  // expected-remark @below {{tile test: all", keys="[lo, hi)"}}
  %o = fa.attention query(%q) key(%k) value(%k) with [causal<top_left>] mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c256 = arith.constant 256 : index
    %ci = arith.divui %i, %c256 : index
    %cj = arith.divui %j, %c256 : index
    %same = arith.cmpi eq, %ci, %cj : index
    fa.yield %same : i1
  } : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}
