// The kernel of the exponentials takes instcombine more than one round.
// RUN: fa-opt %s --target=sm_80 --standard-attention --emit=ptx | FileCheck %s
// CHECK: .entry k_softmax

!q = tensor<?x?x?x256xf32>
func.func @k(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %p: f32 {fa.name = "p"},
             %seed: i64 {fa.name = "seed"}, %offset: i64 {fa.name = "offset"})
    -> (!q {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) dropout(%p, %seed, %offset)
    : (!q, !q, !q, f32, i64, i64) -> (!q, tensor<?x?x?xf32>)
  return %o, %lse : !q, tensor<?x?x?xf32>
}
