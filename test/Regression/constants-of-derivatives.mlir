// The constants of a derivative are no number of f32 together.
// RUN: fa-run %s --shape=1,2,1,20,40 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_80 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %small = arith.constant 1.0e-13 : f32
    %large = arith.constant 1.0e+13 : f32
    %n = arith.index_cast %j : index to i32
    %f = arith.sitofp %n : i32 to f32
    %t = arith.mulf %f, %small : f32
    %a = arith.mulf %s, %t : f32
    %b1 = arith.mulf %a, %large : f32
    %c1 = arith.mulf %b1, %t : f32
    %d = arith.mulf %c1, %large : f32
    %e = arith.mulf %d, %t : f32
    %r = arith.mulf %e, %large : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
