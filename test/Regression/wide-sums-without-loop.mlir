// Gradients of wide heads whose loop of sums is of one step, which folds away: one role has all sums.
// RUN: fa-run %s --shape=1,1,1,64,64 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<1x1x64x192xf16> {fa.name = "q"}, %k: tensor<1x1x64x192xf16> {fa.name = "k"}, %v: tensor<1x1x64x192xf16> {fa.name = "v"}) -> (tensor<1x1x64x192xf16> {fa.name = "o"}, tensor<1x1x64xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)  : (tensor<1x1x64x192xf16>, tensor<1x1x64x192xf16>, tensor<1x1x64x192xf16>) -> (tensor<1x1x64x192xf16>, tensor<1x1x64xf32>)
  return %o, %lse : tensor<1x1x64x192xf16>, tensor<1x1x64xf32>
}
