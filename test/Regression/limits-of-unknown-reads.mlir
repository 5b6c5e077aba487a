// A capture at a position whose range is unknown beside one at keys: the kernel of limits kept ranges of an index that was erased.
// RUN: fa-run %s --shape=1,2,1,100,70 --check
// RUN: fa-run %s --shape=1,2,1,100,70 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"}, %v: tensor<?x?x?x64xf32> {fa.name = "v"},
    %c: tensor<?xi32> {fa.name = "c", fa.dims = ["Sq"]}, %d: tensor<?xi32> {fa.name = "d", fa.dims = ["Sk"]})
  -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c, %d)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %a: tensor<?xi32>, %e: tensor<?xi32>):
    %at = arith.divui %i, %sk : index
    %x = tensor.extract %a[%at] : tensor<?xi32>
    %y = tensor.extract %e[%j] : tensor<?xi32>
    %r = arith.cmpi eq, %x, %y : i32
    fa.yield %r : i1
  }
  : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
