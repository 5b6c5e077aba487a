// RUN: fa-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @attention_plain
// CHECK: fa.attention query(%{{.*}}) key(%{{.*}}) value(%{{.*}}) : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>) -> tensor<2x8x?x32xf16>
func.func @attention_plain(%q: tensor<2x8x?x64xf16>, %k: tensor<2x2x?x64xf16>, %v: tensor<2x2x?x32xf16>) -> tensor<2x8x?x32xf16> {
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x8x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16>) -> tensor<2x8x?x32xf16>
  return %o : tensor<2x8x?x32xf16>
}

// CHECK-LABEL: func.func @attention_full
// CHECK: fa.attention
// CHECK-SAME: captures(%[[TABLE:[a-z0-9]+]], %[[LIMIT:[a-z0-9]+]]) dropout(%{{.*}}, %{{.*}}, %{{.*}}) scale(1.250000e-01) precision(ieee) mask {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: tensor<?xf32>, %{{[a-z0-9]+}}: index):
// CHECK: fa.yield %{{.*}} : i1
// CHECK: } score {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: f32, %{{[a-z0-9]+}}: index,
// CHECK: fa.yield %{{.*}} : f32
// CHECK: } {test.note = "kept"} : (
func.func @attention_full(%q: tensor<?x?x?x40xf32>, %k: tensor<?x?x?x40xf32>, %v: tensor<?x?x?x40xf32>,
                          %table: tensor<?xf32>, %limit: index, %p: f32, %seed: i64, %offset: i64)
    -> (tensor<?x?x?x40xf32>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%table, %limit)
      dropout(%p, %seed, %offset) scale(0.125) precision(ieee)
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
    } {test.note = "kept"} : (tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<?xf32>, index, f32, i64, i64)
        -> (tensor<?x?x?x40xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x40xf32>, tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @standard
// CHECK: fa.scores query(%{{.*}}) key(%{{.*}}) captures() scale(1.250000e-01) precision(ieee) mask {
// CHECK-NEXT: } score {
// CHECK-NEXT: } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32>
// CHECK: fa.softmax %{{.*}} dropout(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x8x?x?xf32>, f32, i64, i64) -> (tensor<?x8x?x?xf32>, tensor<?x8x?xf32>)
// CHECK: fa.softmax %{{.*}} : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
// CHECK: fa.weighted_sum %{{.*}}, %{{.*}} precision(tf32) : (tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
// CHECK: fa.weighted_sum %{{.*}}, %{{.*}} : (tensor
func.func @standard(%q: tensor<?x8x?x64xf32>, %p: f32, %seed: i64) -> (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) {
  %s = fa.scores query(%q) key(%q) captures() scale(0.125) precision(ieee) mask {} score {}
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32>
  %w, %lse = fa.softmax %s dropout(%p, %seed, %seed)
    : (tensor<?x8x?x?xf32>, f32, i64, i64) -> (tensor<?x8x?x?xf32>, tensor<?x8x?xf32>)
  %w1 = fa.softmax %s : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  %o = fa.weighted_sum %w, %q precision(tf32) : (tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  %o1 = fa.weighted_sum %w1, %q : (tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o, %o1 : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
}

// CHECK-LABEL: func.func @map_rows
// CHECK: fa.map_rows @copy over(%{{.*}}) rows(64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> {
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: !tile.view<?x8x?x64xf32>):
// CHECK-NOT: fa.yield
// CHECK: fa.map_rows @untiled over(%{{.*}}) rows(?) : tensor<?x8x?x64xf32> -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
// CHECK: fa.tile_size rows
// CHECK: fa.tile_size keys
// CHECK: fa.apply_mask %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) lengths(%{{.*}}, %{{.*}}) {
// CHECK: fa.apply_score %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) lengths(%{{.*}}, %{{.*}}) captures(%{{.*}} : tensor<?xf32>) {
// CHECK: math.tanh
func.func @map_rows(%q: tensor<?x8x?x64xf32>, %scores: tensor<?x?xf32>, %table: tensor<?xf32>) -> tensor<?x8x?x64xf32> {
  %c0 = arith.constant 0 : index
  %o = fa.map_rows @copy over(%q) rows(64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x8x?x64xf32>):
    %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<64x64xf32>
    tile.store %t, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, !tile.view<?x8x?x64xf32>
  }
  %o1, %lse = fa.map_rows @untiled over(%q) rows(?) : tensor<?x8x?x64xf32> -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x8x?x64xf32>, %lses: !tile.view<?x8x?xf32>):
    %m = fa.tile_size rows
    %n = fa.tile_size keys
    %x = fa.apply_mask %scores at(%b, %h, %i, %c0) lengths(%m, %n) {} : tensor<?x?xf32>
    %y = fa.apply_score %x at(%b, %h, %i, %c0) lengths(%m, %n) captures(%table : tensor<?xf32>) {
    ^bb0(%v: f32, %b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index, %t0: tensor<?xf32>):
      %t = math.tanh %v : f32
      fa.yield %t : f32
    } : tensor<?x?xf32>
  }
  return %o : tensor<?x8x?x64xf32>
}
