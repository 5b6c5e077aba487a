// A branch that is not taken takes nothing of a NaN, in the reference neither.
// RUN: fa-run %s --shape=1,1,1,3,3 --backward --check
// RUN: fa-run %s --shape=1,1,1,3,3 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x1x?x8xf32> {fa.name = "q"}, %k: tensor<?x1x?x8xf32> {fa.name = "k"}, %v: tensor<?x1x?x8xf32> {fa.name = "v"})
  -> (tensor<?x1x?x8xf32> {fa.name = "o"}, tensor<?x1x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c0 = arith.constant 0 : index
    %inf = arith.constant 0x7F800000 : f32
    %m = arith.cmpi ne, %i, %c0 : index
    %x = arith.select %m, %s, %inf : f32
    fa.yield %x : f32
  } : (tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>) -> (tensor<?x1x?x8xf32>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x8xf32>, tensor<?x1x?xf32>
}
