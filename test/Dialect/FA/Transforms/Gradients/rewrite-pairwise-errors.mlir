// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-rewrite-pairwise

func.func @computed(%n: index) -> tensor<?x8x?xf32> {
  %x = tensor.empty(%n, %n) : tensor<?x8x?x64xf32>
  // expected-error @+1 {{the rows and columns of fa.pairwise must be arguments of an entry; pass what is computed before to another entry}}
  %r = fa.pairwise rows(%x) columns(%x) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows]>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?xf32>
  return %r : tensor<?x8x?xf32>
}

// -----

func.func @computed_shape(%x: tensor<?x8x?x64xf32>, %n: index) -> tensor<?xf32> {
  %t = tensor.empty(%n) : tensor<?xf32>
  // expected-error @+1 {{a scatter of fa.pairwise has the shape of an argument of an entry; pass what is computed before to another entry}}
  %r = fa.pairwise rows(%x) columns(%x) captures(%t) dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %u: tensor<?xf32>):
      fa.yield %s, %i : f32, index
    } sums [#fa.sum<0 as 0 at [1]>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
