// What attention computes and the entry does not return is kept in a workspace.
// RUN: fa-run %s --shape=1,2,2,20,30 --check
// RUN: fa-run %s --shape=1,2,2,20,30 --device=interp --target=sm_90a --check
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"}, %v: tensor<?x?x?x64xf32> {fa.name = "v"}) -> (tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %lse : tensor<?x?x?xf32>
}
