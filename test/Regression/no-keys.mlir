// A static number of no keys: kernels that read nothing are not to be refused for it.
// RUN: fa-run %s --shape=2,2,1,3,0 --backward --check
func.func @f(%q: tensor<2x2x?x16xf32> {fa.name = "q"}, %k: tensor<2x1x0x16xf32> {fa.name = "k"}, %v: tensor<2x1x0x16xf32> {fa.name = "v"})
  -> (tensor<2x2x?x16xf32> {fa.name = "o"}, tensor<2x2x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  : (tensor<2x2x?x16xf32>, tensor<2x1x0x16xf32>, tensor<2x1x0x16xf32>) -> (tensor<2x2x?x16xf32>, tensor<2x2x?xf32>)
  return %o, %lse : tensor<2x2x?x16xf32>, tensor<2x2x?xf32>
}
