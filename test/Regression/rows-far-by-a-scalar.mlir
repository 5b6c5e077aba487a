// A captured number, or one of a head, moves all scores of a row far from 0, as a column of a table may: P of gradients is a power of differences.
// RUN: fa-run %s --dtype=bf16 --shape=1,16,1,20,40 --backward --check
// RUN: fa-run %s --dtype=f16 --shape=1,16,1,20,40 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"},
             %t: tensor<?xf32> {fa.name = "t", fa.dims = ["Hq"]}, %c: f32 {fa.name = "c"})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%t, %c)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t_: tensor<?xf32>, %c_: f32):
    %large = arith.constant 3.0e4 : f32
    %n = tensor.extract %t_[%h] : tensor<?xf32>
    %m = arith.mulf %n, %c_ : f32
    %x = arith.mulf %m, %large : f32
    %y = arith.mulf %x, %large : f32
    %r = arith.addf %s, %y : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xf32>, f32) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
