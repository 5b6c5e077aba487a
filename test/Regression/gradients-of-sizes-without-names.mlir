// A capture without fa.dims is of any size, in gradients as in the forward: here as long as there are heads, and read by rows.
// RUN: fa-run %s --shape=1,2,2,10,10 --backward --check
// RUN: fa-run %s --shape=1,2,2,10,10 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x8xf32> {fa.name = "q"}, %k: tensor<?x?x?x8xf32> {fa.name = "k"}, %v: tensor<?x?x?x8xf32> {fa.name = "v"}, %c: tensor<?xf32> {fa.name = "c"})
  -> (tensor<?x?x?x8xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?xf32>):
    %e = tensor.extract %x[%i] : tensor<?xf32>
    %t = math.tanh %e : f32
    %r = arith.mulf %s, %t : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?xf32>) -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}
