// RUN: fa-opt %s -fa-analyze-mask --remarks -split-input-file -verify-diagnostics | FileCheck %s
//
// Loops over rows for a block of keys.

// Bottom-right causal: from the row on that sees the block's first key; masked up to the row that sees its last
// one, and where the block reaches past the keys.
// CHECK-LABEL: fa.map_blocks @causal
// CHECK-SAME:    over(%arg1)
// CHECK:       ^bb0(%[[B:.*]]: index, %[[H:.*]]: index, %[[J:[a-z0-9]+]]: index,
// CHECK-DAG:     %[[M:.*]] = fa.tile_size keys
// CHECK-DAG:     %[[N:.*]] = fa.tile_size rows
// CHECK:         %[[END:.*]] = arith.addi %[[J]], %[[M]]
// CHECK:         %[[PAST:.*]] = arith.minsi %[[END]], %[[SK:.*]] : index
// CHECK:         %[[LAST:.*]] = arith.subi %[[PAST]], %c1
// CHECK:         %[[A:.*]] = arith.addi %[[J]], %[[SQ:.*]] : index
// CHECK:         %[[FIRST_ROW:.*]] = arith.subi %[[A]], %[[SK]]
// CHECK:         %[[C:.*]] = arith.addi %[[LAST]], %[[SQ]]
// CHECK:         %[[LAST_HIDDEN:.*]] = arith.subi %[[C]], %[[SK]]
// CHECK:         %[[OUTSIDE:.*]] = arith.cmpi slt, %[[SK]], %[[END]]
// CHECK:         %[[LO:.*]] = arith.maxsi %[[FIRST_ROW]], %c0
// CHECK:         %[[SOME:.*]] = arith.cmpi slt, %[[LO]], %[[SQ]]
// CHECK:         %[[HI:.*]] = arith.select %[[SOME]], %[[SQ]], %c0
// CHECK:         %[[TILE:.*]] = arith.divsi %[[LO]], %[[N]]
// CHECK:         %[[START:.*]] = arith.muli %[[TILE]], %[[N]]
// CHECK:         scf.for %[[I:.*]] = %[[START]] to %[[HI]] step %[[N]]
// CHECK-NEXT:      %[[HIDDEN:.*]] = arith.cmpi slt, %[[I]], %[[LAST_HIDDEN]]
// CHECK-NEXT:      %[[NEEDED:.*]] = arith.ori %[[HIDDEN]], %[[OUTSIDE]]
// CHECK-NEXT:      %[[X:.*]] = scf.if %[[NEEDED]]
// CHECK-NEXT:        fa.apply_mask
// Warpgroups share the rows of a tile, which nothing here is derived from.
// CHECK-NOT:     tile.row_derived
func.func @causal(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %scores: tensor<?x?xf32, #fa.axes<rows, keys>>, %none: tensor<?xf32, #fa.axes<keys>>) -> tensor<?x4x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x64xf32>
  %o = fa.map_blocks @causal over(%k) axes(b, h, keys) : tensor<?x4x?x64xf32> -> tensor<?x4x?xf32> {
  ^bb0(%b: index, %h: index, %j: index, %view: !tile.view<?x4x?xf32>):
    %n = fa.tile_size rows
    %max = scf.for %i = %c0 to %sq step %n iter_args(%m = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      // expected-remark @below {{tile test: all", rows="[lo, sq)"}}
      %x = fa.apply_mask %scores at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0xFF800000) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %d = arith.subi %sk0, %sq0 : index
        %last = arith.addi %i0, %d : index
        %v = arith.cmpi sle, %j0, %last : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %y = tile.reduce maxnumf %x init %m dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %y : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %max, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x4x?xf32>
  }
  return %o : tensor<?x4x?xf32>
}

// -----

// No mask: only a block that reaches past the keys is masked, whatever the tile.
// CHECK-LABEL: fa.map_blocks @plain
// CHECK:         %[[OUTSIDE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK:         scf.for %{{.*}} = %c0 to %{{.*}} step
// CHECK-NEXT:      scf.if %[[OUTSIDE]]
func.func @plain(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %scores: tensor<?x?xf32, #fa.axes<rows, keys>>, %none: tensor<?xf32, #fa.axes<keys>>) -> tensor<?x4x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x64xf32>
  %o = fa.map_blocks @plain over(%k) axes(b, h, keys) : tensor<?x4x?x64xf32> -> tensor<?x4x?xf32> {
  ^bb0(%b: index, %h: index, %j: index, %view: !tile.view<?x4x?xf32>):
    %n = fa.tile_size rows
    %max = scf.for %i = %c0 to %sq step %n iter_args(%m = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      // expected-remark @below {{tile test: all", rows="[0, sq)"}}
      %x = fa.apply_mask %scores at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0xFF800000) {} : tensor<?x?xf32, #fa.axes<rows, keys>>
      %y = tile.reduce maxnumf %x init %m dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %y : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %max, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x4x?xf32>
  }
  return %o : tensor<?x4x?xf32>
}

// -----

// A window of rows: |i - j| < 128 has a first and a last tile of rows.
// CHECK-LABEL: fa.map_blocks @window
// CHECK:         %[[LO:.*]] = arith.maxsi %{{.*}}, %[[ZERO:.*]] : index
// CHECK-NEXT:    %[[MOST:.*]] = arith.minsi
// CHECK-NEXT:    %[[SOME:.*]] = arith.cmpi slt, %[[LO]], %[[MOST]] : index
// CHECK-NEXT:    %[[HI:.*]] = arith.select %[[SOME]], %[[MOST]], %[[ZERO]]
// CHECK-NEXT:    %[[TILE:.*]] = arith.divsi %[[LO]], %[[N:.*]] : index
// CHECK-NEXT:    %[[START:.*]] = arith.muli %[[TILE]], %[[N]]
// CHECK:         scf.for %{{.*}} = %[[START]] to %[[HI]] step %[[N]]
func.func @window(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %scores: tensor<?x?xf32, #fa.axes<rows, keys>>, %none: tensor<?xf32, #fa.axes<keys>>) -> tensor<?x4x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x64xf32>
  %o = fa.map_blocks @window over(%k) axes(b, h, keys) : tensor<?x4x?x64xf32> -> tensor<?x4x?xf32> {
  ^bb0(%b: index, %h: index, %j: index, %view: !tile.view<?x4x?xf32>):
    %n = fa.tile_size rows
    %max = scf.for %i = %c0 to %sq step %n iter_args(%m = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      // expected-remark @below {{tile test: all", rows="[lo, hi)"}}
      %x = fa.apply_mask %scores at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0xFF800000) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %c128 = arith.constant 128 : index
        %d = arith.subi %i0, %j0 : index
        %a = math.absi %d : index
        %v = arith.cmpi slt, %a, %c128 : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %y = tile.reduce maxnumf %x init %m dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %y : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %max, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x4x?xf32>
  }
  return %o : tensor<?x4x?xf32>
}

// -----

// Every second block of rows: tiles are tested before the loop's body, also where the mask is its first op.
// CHECK-LABEL: fa.map_blocks @blocks
// CHECK:         scf.for %{{.*}} iter_args(%[[M:.*]] = %{{.*}})
// CHECK:           %[[R:.*]] = scf.if %{{.*}} -> (tensor<?xf32, #fa.axes<keys>>) {
// CHECK-NEXT:        scf.if
// CHECK-NEXT:          fa.apply_mask
// CHECK:             tile.reduce
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[M]]
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %[[R]]
func.func @blocks(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %scores: tensor<?x?xf32, #fa.axes<rows, keys>>, %none: tensor<?xf32, #fa.axes<keys>>) -> tensor<?x4x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x64xf32>
  %o = fa.map_blocks @blocks over(%k) axes(b, h, keys) : tensor<?x4x?x64xf32> -> tensor<?x4x?xf32> {
  ^bb0(%b: index, %h: index, %j: index, %view: !tile.view<?x4x?xf32>):
    %n = fa.tile_size rows
    %max = scf.for %i = %c0 to %sq step %n iter_args(%m = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      // expected-remark @below {{tile test: none/all", rows="[0, sq)"}}
      %x = fa.apply_mask %scores at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0xFF800000) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %c64 = arith.constant 64 : index
        %c2_0 = arith.constant 2 : index
        %c1 = arith.constant 1 : index
        %block = arith.divui %i0, %c64 : index
        %odd = arith.remui %block, %c2_0 : index
        %v = arith.cmpi ne, %odd, %c1 : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %y = tile.reduce maxnumf %x init %m dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %y : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %max, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x4x?xf32>
  }
  return %o : tensor<?x4x?xf32>
}

// -----

// A loop over rows in one over keys: the inner one is the mask's, for the keys of the outer one.
// CHECK-LABEL: fa.map_blocks @nested
// CHECK:         scf.for %[[J:.*]] = %c0
// CHECK:           arith.addi %[[J]], %{{.*}} : index
// CHECK:           scf.for
// CHECK:             scf.if
// CHECK-NEXT:          fa.apply_mask
func.func @nested(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %scores: tensor<?x?xf32, #fa.axes<rows, keys>>, %none: tensor<?xf32, #fa.axes<keys>>) -> tensor<?x4x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x64xf32>
  %o = fa.map_blocks @nested over(%q) axes(b, h, rows) : tensor<?x4x?x64xf32> -> tensor<?x4x?xf32> {
  ^bb0(%b: index, %h: index, %unused: index, %view: !tile.view<?x4x?xf32>):
    %n = fa.tile_size rows
    %m = fa.tile_size keys
    scf.for %j = %c0 to %sk step %m {
      %max = scf.for %i = %c0 to %sq step %n iter_args(%m0 = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
        // expected-remark @below {{tile test: all", rows="[lo, sq)"}}
        %x = fa.apply_mask %scores at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0xFF800000) {
        ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
          %v = arith.cmpi sle, %j0, %i0 : index
          fa.yield %v : i1
        } : tensor<?x?xf32, #fa.axes<rows, keys>>
        %y = tile.reduce maxnumf %x init %m0 dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
        scf.yield %y : tensor<?xf32, #fa.axes<keys>>
      }
      tile.store %max, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x4x?xf32>
    }
  }
  return %o : tensor<?x4x?xf32>
}

// -----

// For a block of keys, a loop over the heads of a group around that over rows, on tiles of keys by rows whose
// rows beyond the last are hidden, too: the inner loop is bounded as without the outer one, and the mask is
// applied where a tile reaches past the rows as well.
// CHECK-LABEL: fa.map_blocks @group
// CHECK:       ^bb0(%{{.*}}: index, %{{.*}}: index, %[[J:[a-z0-9]+]]: index,
// CHECK:         scf.for %[[H:.*]] = %{{.*}} iter_args
// CHECK:           %[[OUTSIDE:.*]] = arith.cmpi slt, %[[SK:.*]], %{{.*}} : index
// CHECK:           %[[START:.*]] = arith.muli %{{.*}}, %[[N:.*]] : index
// CHECK:           scf.for %[[I:.*]] = %[[START]] to %{{.*}} step %[[N]]
// CHECK:             %[[ROWS_END:.*]] = arith.addi %[[I]], %[[N]]
// CHECK:             arith.cmpi slt, %[[SQ:.*]], %[[ROWS_END]]
// CHECK:             %[[X:.*]] = scf.if
// CHECK-NEXT:          fa.apply_mask %{{.*}} at(%{{.*}}, %[[H]], %[[I]], %[[J]]) {{.*}} within_rows transposed
func.func @group(%q: tensor<?x4x?x64xf32>, %k: tensor<?x2x?x64xf32>, %weights: tensor<?x?xf32, #fa.axes<keys, rows>>,
                 %none: tensor<?xf32, #fa.axes<keys>>) -> tensor<?x2x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x2x?x64xf32>
  %o = fa.map_blocks @group over(%k) axes(b, hk, keys) : tensor<?x2x?x64xf32> -> tensor<?x2x?xf32> {
  ^bb0(%b: index, %hk: index, %j: index, %view: !tile.view<?x2x?xf32>):
    %first = arith.muli %hk, %c2 : index
    %last = arith.addi %first, %c2 : index
    %sum = scf.for %h = %first to %last step %c1 iter_args(%heads_sum = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      %n = fa.tile_size rows
      %rows_sum = scf.for %i = %c0 to %sq step %n iter_args(%m = %heads_sum) -> (tensor<?xf32, #fa.axes<keys>>) {
        // expected-remark @below {{tile test: all", rows="[lo, sq)"}}
        %x = fa.apply_mask %weights at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0.0) within_rows transposed {
        ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
          %v = arith.cmpi sle, %j0, %i0 : index
          fa.yield %v : i1
        } : tensor<?x?xf32, #fa.axes<keys, rows>>
        %y = tile.reduce addf %x init %m dim 1 : tensor<?x?xf32, #fa.axes<keys, rows>> -> tensor<?xf32, #fa.axes<keys>>
        scf.yield %y : tensor<?xf32, #fa.axes<keys>>
      }
      scf.yield %rows_sum : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %sum, %view[%b, %hk, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x2x?xf32>
  }
  return %o : tensor<?x2x?xf32>
}

// -----

// A loop that stores what it computes of each tile visits all of them, for what is hidden is written, too.
// CHECK-LABEL: fa.map_blocks @stores
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step
// CHECK:           %[[X:.*]] = scf.if
// CHECK-NEXT:        fa.apply_mask
// CHECK:           tile.store %[[X]]
func.func @stores(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %weights: tensor<?x?xf32, #fa.axes<rows, keys>>) -> tensor<?x4x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x64xf32>
  %o = fa.map_blocks @stores over(%q) axes(b, h, rows) : tensor<?x4x?x64xf32> -> tensor<?x4x?x?xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x4x?x?xf32>):
    %n = fa.tile_size keys
    scf.for %j = %c0 to %sk step %n {
      // expected-remark @below {{tile test: all", keys="[0, sk)"}}
      %x = fa.apply_mask %weights at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0.0) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %v = arith.cmpi sle, %j0, %i0 : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      tile.store %x, %view[%b, %h, %i, %j] dims [2, 3] : tensor<?x?xf32, #fa.axes<rows, keys>>, !tile.view<?x4x?x?xf32>
    }
  }
  return %o : tensor<?x4x?x?xf32>
}

// -----

// One mask on two tiles of the same pairs is one: it bounds the loop, which a loop of two masks is not, is said
// once, and both tiles have the same condition. Two masks, of other regions, bound nothing.
// CHECK-LABEL: fa.map_blocks @twice
// CHECK:         scf.for %{{.*}} = %[[START:.*]] to %{{.*}} step
// CHECK:           %[[NEEDED:.*]] = arith.ori
// CHECK:           %[[X:.*]] = scf.if %[[NEEDED]]
// CHECK-NEXT:        fa.apply_mask %[[IN:[a-z0-9]+]] at
// CHECK:           %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK:           %[[Y:.*]] = scf.if %[[NEEDED]]
// CHECK-NEXT:        fa.apply_mask %[[SQUARE]] at
// CHECK:           tile.reduce addf %[[Y]]
// CHECK-LABEL: fa.map_blocks @other
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step
// CHECK:           scf.if %[[ONE:.*]] ->
// CHECK-NOT:       scf.if %[[ONE]] ->
// CHECK:           scf.if
func.func @same(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>, %scores: tensor<?x?xf32, #fa.axes<rows, keys>>, %none: tensor<?xf32, #fa.axes<keys>>)
    -> (tensor<?x4x?xf32>, tensor<?x4x?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %sk = tensor.dim %k, %c2 : tensor<?x4x?x64xf32>
  %o = fa.map_blocks @twice over(%k) axes(b, h, keys) : tensor<?x4x?x64xf32> -> tensor<?x4x?xf32> {
  ^bb0(%b: index, %h: index, %j: index, %view: !tile.view<?x4x?xf32>):
    %n = fa.tile_size rows
    %sum = scf.for %i = %c0 to %sq step %n iter_args(%m = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      // expected-remark @below {{tile test: all", rows="[lo, sq)"}}
      %x = fa.apply_mask %scores at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0.0) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %v = arith.cmpi sle, %j0, %i0 : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %square = arith.mulf %x, %x : tensor<?x?xf32, #fa.axes<rows, keys>>
      %y = fa.apply_mask %square at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0.0) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %v = arith.cmpi sle, %j0, %i0 : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %z = tile.reduce addf %y init %m dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %z : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %sum, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x4x?xf32>
  }
  %o2 = fa.map_blocks @other over(%k) axes(b, h, keys) : tensor<?x4x?x64xf32> -> tensor<?x4x?xf32> {
  ^bb0(%b: index, %h: index, %j: index, %view: !tile.view<?x4x?xf32>):
    %n = fa.tile_size rows
    %sum = scf.for %i = %c0 to %sq step %n iter_args(%m = %none) -> (tensor<?xf32, #fa.axes<keys>>) {
      // expected-remark @below {{tile test: all", rows="[0, sq)"}}
      %x = fa.apply_mask %scores at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0.0) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %v = arith.cmpi sle, %j0, %i0 : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %square = arith.mulf %x, %x : tensor<?x?xf32, #fa.axes<rows, keys>>
      // expected-remark @below {{tile test: all", rows="[0, sq)"}}
      %y = fa.apply_mask %square at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0.0) {
      ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
        %v = arith.cmpi slt, %j0, %i0 : index
        fa.yield %v : i1
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %z = tile.reduce addf %y init %m dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %z : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %sum, %view[%b, %h, %j] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<?x4x?xf32>
  }
  return %o, %o2 : tensor<?x4x?xf32>, tensor<?x4x?xf32>
}
