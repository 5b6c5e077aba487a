// Gradients of scores that read a capture alone: dP is in no product of a sum, so it is computed beside the sums of wide heads,
// which two roles have, and K is needed last in a step of the fused form.
// RUN: sed s/x64xf16/x192xbf16/g %s | fa-run - --shape=1,2,2,70,100 --device=interp --target=sm_90a --backward --check
// RUN: sed s/x64xf16/x192xbf16/g %s | fa-opt --backward --target=sm_90a --remarks=tile-divide-sums -o /dev/null 2>&1 | FileCheck %s --check-prefix=DIVIDED
// RUN: fa-run %s --shape=1,2,2,70,100 --device=interp --target=sm_80 --backward --fused --check
// DIVIDED: "two roles have the sums of a loop", sums=2
func.func @f(%q: tensor<?x?x?x64xf16> {fa.name = "q"}, %k: tensor<?x?x?x64xf16> {fa.name = "k"}, %v: tensor<?x?x?x64xf16> {fa.name = "v"}, %c: f32 {fa.name = "c"}) -> (tensor<?x?x?x64xf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %captured: f32):
      fa.yield %captured : f32
    } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, f32) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
