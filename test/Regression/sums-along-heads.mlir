// Each row sees one key: gradients are what two sums along a head of 256 differ by. On CPUs the products of one were added up one after the other, and their rounding errors were above the bound.
// RUN: fa-run %s --shape=1,2,1,70,70 --backward --check
// RUN: fa-run %s --shape=1,2,1,70,70 --seed=1 --backward --check
func.func @f(%q: tensor<?x?x?x256xf32> {fa.name = "q"}, %k: tensor<?x?x?x256xf32> {fa.name = "k"}, %v: tensor<?x?x?x256xf32> {fa.name = "v"})
  -> (tensor<?x?x?x256xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [window<0, 0>]
    : (tensor<?x?x?x256xf32>, tensor<?x?x?x256xf32>, tensor<?x?x?x256xf32>) -> (tensor<?x?x?x256xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x256xf32>, tensor<?x?x?xf32>
}
