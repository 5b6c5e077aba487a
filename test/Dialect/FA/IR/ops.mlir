// RUN: fa-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @attention_plain
// CHECK: fa.attention query(%{{.*}}) key(%{{.*}}) value(%{{.*}}) : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>) -> tensor<2x8x?x32xf16>
func.func @attention_plain(%q: tensor<2x8x?x64xf16>, %k: tensor<2x2x?x64xf16>, %v: tensor<2x2x?x32xf16>) -> tensor<2x8x?x32xf16> {
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>) -> tensor<2x8x?x32xf16>
  return %o : tensor<2x8x?x32xf16>
}

// CHECK-LABEL: func.func @attention_packed
// CHECK: fa.attention query(%{{.*}}) key(%{{.*}}) value(%{{.*}}) sequences(query_starts(%[[CU:[a-z0-9]+]]) key_starts(%[[CU]]) key_lengths(%{{.*}})) : (tensor<8x?x64xf16>, tensor<2x?x64xf16>, tensor<2x?x32xf16>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>) -> (tensor<8x?x32xf16>, tensor<8x?xf32>)
func.func @attention_packed(%q: tensor<8x?x64xf16>, %k: tensor<2x?x64xf16>, %v: tensor<2x?x32xf16>, %cu: tensor<?xi32>,
                            %n: tensor<?xi64>) -> (tensor<8x?x32xf16>, tensor<8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sequences(key_lengths(%n) key_starts(%cu) query_starts(%cu))
    : (tensor<8x?x64xf16>, tensor<2x?x64xf16>, tensor<2x?x32xf16>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>)
      -> (tensor<8x?x32xf16>, tensor<8x?xf32>)
  return %o, %lse : tensor<8x?x32xf16>, tensor<8x?xf32>
}

// CHECK-LABEL: func.func @attention_lengths
// CHECK: fa.attention query(%{{.*}}) key(%{{.*}}) value(%{{.*}}) sink(%{{.*}}) sequences(query_lengths(%{{.*}})) dropout(
func.func @attention_lengths(%q: tensor<2x8x?x64xf32>, %z: tensor<8xf32>, %n: tensor<2xindex>, %p: f32, %s: i64)
    -> tensor<2x8x?x64xf32> {
  %o = fa.attention query(%q) key(%q) value(%q) sink(%z) sequences(query_lengths(%n)) dropout(%p, %s, %s)
    : (tensor<2x8x?x64xf32>, tensor<2x8x?x64xf32>, tensor<2x8x?x64xf32>, tensor<8xf32>, tensor<2xindex>, f32, i64, i64)
      -> tensor<2x8x?x64xf32>
  return %o : tensor<2x8x?x64xf32>
}

// CHECK-LABEL: func.func @map_blocks_of_sequences
// CHECK: fa.map_blocks @copy over(%{{.*}}) starts(%{{.*}}) axes(h, rows by 64) : tensor<8x?x64xf32>, tensor<?xi32> -> tensor<8x?x64xf32> {
func.func @map_blocks_of_sequences(%q: tensor<8x?x64xf32>, %cu: tensor<?xi32>) -> tensor<8x?x64xf32> {
  %o = fa.map_blocks @copy over(%q) starts(%cu) axes(h, rows by 64)
    : tensor<8x?x64xf32>, tensor<?xi32> -> tensor<8x?x64xf32> {
  ^bb0(%h: index, %block: index, %view: !tile.view<8x?x64xf32>):
    fa.yield
  }
  return %o : tensor<8x?x64xf32>
}

// CHECK-LABEL: func.func @attention_full
// CHECK: fa.attention
// CHECK-SAME: captures(%[[TABLE:[a-z0-9]+]], %[[LIMIT:[a-z0-9]+]]) sink(%{{[a-z0-9]+}}) dropout(%{{.*}}, %{{.*}}, %{{.*}}) scale(1.250000e-01) precision(ieee) mask {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: tensor<?xf32>, %{{[a-z0-9]+}}: index):
// CHECK: fa.yield %{{.*}} : i1
// CHECK: } score {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: f32, %{{[a-z0-9]+}}: index,
// CHECK: fa.yield %{{.*}} : f32
// CHECK: } {test.note = "kept"} : (
func.func @attention_full(%q: tensor<?x?x?x40xf32>, %k: tensor<?x?x?x40xf32>, %v: tensor<?x?x?x40xf32>,
                          %table: tensor<?xf32>, %limit: index, %z: tensor<?xf32>, %p: f32, %seed: i64, %offset: i64)
    -> (tensor<?x?x?x40xf32>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%table, %limit)
      sink(%z) dropout(%p, %seed, %offset) scale(0.125) precision(ieee)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?xf32>, %n: index):
      %seen = arith.cmpi slt, %j, %n : index
      %r = scf.if %seen -> i1 {
        %c = arith.cmpi sle, %j, %i : index
        scf.yield %c : i1
      } else {
        scf.yield %seen : i1
      }
      fa.yield %r : i1
    } score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?xf32>, %n: index):
      %x = tensor.extract %t[%h] : tensor<?xf32>
      %y = arith.addf %s, %x : f32
      fa.yield %y : f32
    } {test.note = "kept"} : (tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<?xf32>, index, tensor<?xf32>, f32, i64, i64)
        -> (tensor<?x?x?x40xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x40xf32>, tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @standard
// CHECK: fa.scores query(%{{.*}}) key(%{{.*}}) captures() scale(1.250000e-01) precision(ieee) mask {
// CHECK-NEXT: } score {
// CHECK-NEXT: } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32>
// CHECK: fa.softmax %{{.*}} sink(%{{.*}}) dropout(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x8x?x?xf32>, tensor<8xf32>, f32, i64, i64) -> (tensor<?x8x?x?xf32>, tensor<?x8x?xf32>)
// CHECK: fa.softmax %{{.*}} : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
// CHECK: fa.weighted_sum %{{.*}}, %{{.*}} precision(tf32) : (tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
// CHECK: fa.weighted_sum %{{.*}}, %{{.*}} : (tensor
func.func @standard(%q: tensor<?x8x?x64xf32>, %z: tensor<8xf32>, %p: f32, %seed: i64) -> (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) {
  %s = fa.scores query(%q) key(%q) captures() scale(0.125) precision(ieee) mask {} score {}
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32>
  %w, %lse = fa.softmax %s sink(%z) dropout(%p, %seed, %seed)
    : (tensor<?x8x?x?xf32>, tensor<8xf32>, f32, i64, i64) -> (tensor<?x8x?x?xf32>, tensor<?x8x?xf32>)
  %w1 = fa.softmax %s : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  %o = fa.weighted_sum %w, %q precision(tf32) : (tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  %o1 = fa.weighted_sum %w1, %q : (tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o, %o1 : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
}

// CHECK-LABEL: func.func @map_blocks
// CHECK-SAME: %[[SCORES:[a-z0-9]+]]: tensor<?x?xf32, #fa.axes<rows, keys>>
// CHECK: fa.map_blocks @copy over(%{{.*}}) axes(b, h, rows by 64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: !tile.view<?x8x?x64xf32>):
// CHECK-NOT: fa.yield
// CHECK: fa.map_blocks @untiled over(%{{.*}}) axes(b, h, rows by ?) : tensor<?x8x?x64xf32> -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
// CHECK: fa.tile_size rows
// CHECK: fa.tile_size keys
// CHECK: fa.apply_mask %[[SCORES]] at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) lengths(%{{.*}}, %{{.*}}) hidden(0xFF800000) {
// CHECK: fa.apply %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) lengths(%{{.*}}, %{{.*}}) captures(%{{.*}} : tensor<?xf32>) {
// CHECK: math.tanh
// CHECK: } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>
func.func @map_blocks(%q: tensor<?x8x?x64xf32>, %scores: tensor<?x?xf32, #fa.axes<rows, keys>>, %table: tensor<?xf32>) -> tensor<?x8x?x64xf32> {
  %c0 = arith.constant 0 : index
  %o = fa.map_blocks @copy over(%q) axes(b, h, rows by 64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x8x?x64xf32>):
    %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<64x64xf32>
    tile.store %t, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, !tile.view<?x8x?x64xf32>
  }
  %o1, %lse = fa.map_blocks @untiled over(%q) axes(b, h, rows) : tensor<?x8x?x64xf32> -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x8x?x64xf32>, %lses: !tile.view<?x8x?xf32>):
    %m = fa.tile_size rows
    %n = fa.tile_size keys
    %x = fa.apply_mask %scores at(%b, %h, %i, %c0) lengths(%m, %n) hidden(0xFF800000) {} : tensor<?x?xf32, #fa.axes<rows, keys>>
    %y = fa.apply %x at(%b, %h, %i, %c0) lengths(%m, %n) captures(%table : tensor<?xf32>) {
    ^bb0(%v: f32, %b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index, %t0: tensor<?xf32>):
      %t = math.tanh %v : f32
      fa.yield %t : f32
    } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>
  }
  return %o : tensor<?x8x?x64xf32>
}

// Blocks of keys, whose tiles of pairs run along keys first; of pairs, with two ranges; of no index at all.
// CHECK-LABEL: func.func @other_blocks
// CHECK: fa.map_blocks @keys over(%{{.*}}) axes(b, hk, keys by ?) : tensor<?x2x?x64xf32> -> tensor<?x2x?xf32> {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[J:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: !tile.view<?x2x?xf32>):
// CHECK: %[[M:.*]]:2 = fa.apply_mask %{{.*}}, %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %[[J]]) lengths(%{{.*}}, %{{.*}}) hidden(0.000000e+00) within_rows transposed {
// CHECK: } : tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
// CHECK: %{{.*}}:2 = fa.apply %[[M]]#0, %[[M]]#0 at(%{{.*}}, %{{.*}}, %{{.*}}, %[[J]]) lengths(%{{.*}}, %{{.*}}) transposed {
// CHECK: } : tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>> -> tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
// CHECK: fa.map_blocks @pairs over(%{{.*}}, %{{.*}}) axes(h, rows by 32, keys by 16) : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<8x?x?xf32> {
// CHECK: fa.map_blocks @heads over(%{{.*}}) axes(h by 8) : tensor<?x8x?x64xf32> -> tensor<8xf32> attributes {note = "kept"} {
// CHECK: fa.map_blocks @one over(%{{.*}}) axes() : tensor<?x8x?x64xf32> -> tensor<1xf32> {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: !tile.view<1xf32>):
func.func @other_blocks(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %x: tensor<?x?xf32, #fa.axes<keys, rows>>,
                        %y: tensor<?x?xf32, #fa.axes<keys, rows>>, %n: index) {
  %dk = fa.map_blocks @keys over(%k) axes(b, hk, keys by ?) : tensor<?x2x?x64xf32> -> tensor<?x2x?xf32> {
  ^bb0(%b: index, %hk: index, %j: index, %view: !tile.view<?x2x?xf32>):
    %m:2 = fa.apply_mask %x, %y at(%b, %hk, %n, %j) lengths(%n, %n) hidden(0.0) within_rows transposed {}
      : tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
    %z:2 = fa.apply %m#0, %m#0 at(%b, %hk, %n, %j) lengths(%n, %n) transposed {
    ^bb0(%v: f32, %w: f32, %b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
      %s = arith.addf %v, %w : f32
      fa.yield %s, %w : f32, f32
    } : tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
      -> tensor<?x?xf32, #fa.axes<keys, rows>>, tensor<?x?xf32, #fa.axes<keys, rows>>
  }
  %bias = fa.map_blocks @pairs over(%q, %k) axes(h, rows by 32, keys by 16) : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<8x?x?xf32> {
  ^bb0(%h: index, %i: index, %j: index, %view: !tile.view<8x?x?xf32>):
  }
  %heads = fa.map_blocks @heads over(%q) axes(h by 8) : tensor<?x8x?x64xf32> -> tensor<8xf32> attributes {note = "kept"} {
  ^bb0(%h: index, %view: !tile.view<8xf32>):
  }
  %one = fa.map_blocks @one over(%q) axes() : tensor<?x8x?x64xf32> -> tensor<1xf32> {
  ^bb0(%view: !tile.view<1xf32>):
  }
  return
}

// CHECK-LABEL: func.func private @axes
// CHECK-SAME: tensor<?x64xbf16, #fa.axes<rows>>, %{{.*}}: tensor<?x?xi1, #fa.axes<keys, rows>>, %{{.*}}: tensor<?x?x?xf32, #fa.axes<b, h, hk>>, %{{.*}}: !tile.reference<?xf32, #fa.axes<rows>>
func.func private @axes(%a: tensor<?x64xbf16, #fa.axes<rows>>, %b: tensor<?x?xi1, #fa.axes<keys, rows>>,
                        %c: tensor<?x?x?xf32, #fa.axes<b, h, hk>>, %d: !tile.reference<?xf32, #fa.axes<rows>>) {
  return
}

// CHECK-LABEL: func.func @pairwise
// CHECK: fa.pairwise rows(%{{.*}}, %{{.*}}) columns(%{{.*}}, %{{.*}}) captures(%{{.*}}) dropout(%{{.*}}, %{{.*}}, %{{.*}}) precision(ieee) mask {
// CHECK: fa.yield %{{.*}} : i1
// CHECK: } weights {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: f32, %{{[a-z0-9]+}}: f32, %[[KEEP:[a-z0-9]+]]: f32, %{{[a-z0-9]+}}: index,
// CHECK: fa.yield %{{.*}}, %[[KEEP]] : f32, f32
// CHECK: } sums [#fa.sum<0[b, h, rows] times 1 factor 1.250000e-01 : f64>, #fa.sum<1[b, hk, keys] times 0>, #fa.sum<0[h, keys]>, #fa.sum<1>] {test.note = "kept"} : (
// CHECK: %[[Z:.*]] = fa.pairwise rows(%{{.*}}) columns(%{{.*}}) captures() dropout() mask {
// CHECK-NEXT: } weights {
// CHECK: fa.sum %[[Z]] of <b, h, keys> to <b, keys> : tensor<?x8x?xf32> -> tensor<?x?xbf16>
// CHECK: fa.sum %[[Z]] of <b, h, keys> : tensor<?x8x?xf32> -> tensor<1xf32>
// CHECK: fa.sum %[[Z]] of <b, hk, keys> to <keys> : tensor<?x8x?xf32> -> tensor<?xf32>
func.func @pairwise(%q: tensor<?x8x?x64xf32>, %do: tensor<?x8x?x32xf32>, %k: tensor<?x2x?x64xf32>, %v: tensor<?x2x?x32xf32>,
                    %lse: tensor<?x8x?xf32>, %p: f32, %seed: i64) {
  %dq, %dk, %x, %y = fa.pairwise rows(%q, %do) columns(%k, %v) captures(%lse) dropout(%p, %seed, %seed) precision(ieee)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %l: tensor<?x8x?xf32>):
      %seen = arith.cmpi sle, %j, %i : index
      fa.yield %seen : i1
    } weights {
    ^bb0(%s: f32, %dp: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %l: tensor<?x8x?xf32>):
      %row = tensor.extract %l[%b, %h, %i] : tensor<?x8x?xf32>
      %w = arith.subf %s, %row : f32
      fa.yield %w, %keep : f32, f32
    } sums [#fa.sum<0 [b, h, rows] times 1 factor 0.125 : f64>, #fa.sum<1 [b, hk, keys] times 0>, #fa.sum<0 [h, keys]>, #fa.sum<1>]
    {test.note = "kept"}
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x32xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>, tensor<?x8x?xf32>, f32, i64, i64)
      -> (tensor<?x8x?x32xf32>, tensor<?x2x?x64xf32>, tensor<8x?xf32>, tensor<1xf32>)
  %z = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, keys]>] : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) -> tensor<?x8x?xf32>
  %0 = fa.sum %z of <b, h, keys> to <b, keys> : tensor<?x8x?xf32> -> tensor<?x?xbf16>
  %1 = fa.sum %z of <b, h, keys> : tensor<?x8x?xf32> -> tensor<1xf32>
  %2 = fa.sum %z of <b, hk, keys> to <keys> : tensor<?x8x?xf32> -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @summarize
// CHECK: %[[T:.*]] = fa.summarize over(%{{.*}}, %{{.*}}) of <b, keys> captures(%{{.*}}) {
// CHECK: fa.yield %{{.*}} : i32
// CHECK: fa.range %[[T]][%{{.*}}] from %{{.*}} to %{{.*}} by %{{.*}} columns [0, 1] : tensor<?x?x2xi32>
func.func @summarize(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %x: tensor<?x?xi32>, %b0: index, %j0: index,
                     %n: index) {
  %t = fa.summarize over(%q, %k) of <b, keys> captures(%x) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %y: tensor<?x?xi32>):
    %e = tensor.extract %y[%b, %j] : tensor<?x?xi32>
    fa.yield %e : i32
  } : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x?xi32>) -> tensor<?x?x2xi32>
  %least, %greatest = fa.range %t[%b0] from %j0 to %j0 by %n columns [0, 1] : tensor<?x?x2xi32>
  return
}
