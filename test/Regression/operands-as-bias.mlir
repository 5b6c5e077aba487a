// The query is the bias, too: its gradient is the sum of both.
// RUN: fa-run %s --shape=1,2,2,100,90 --backward --check
// RUN: sed "s/bias(%q)/bias(%k)/" %s > %t.mlir
// RUN: fa-run %t.mlir --shape=1,2,2,30,30 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x2x?x64xf32> {fa.name = "q"}, %k: tensor<?x2x?x64xf32> {fa.name = "k"}, %v: tensor<?x2x?x64xf32> {fa.name = "v"}) -> (tensor<?x2x?x64xf32> {fa.name = "o"}, tensor<?x2x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [bias(%q)] : (tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) -> (tensor<?x2x?x64xf32>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x2x?x64xf32>, tensor<?x2x?xf32>
}
