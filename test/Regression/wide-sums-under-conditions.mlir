// Gradients of wide heads whose steps run under a condition, so that no sum is one of the loop itself: one role has all sums.
// RUN: fa-run %s --shape=1,1,1,200,150 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x1x?x256xf16> {fa.name = "q"}, %k: tensor<?x1x?x256xf16> {fa.name = "k"}, %v: tensor<?x1x?x256xf16> {fa.name = "v"})
  -> (tensor<?x1x?x256xf16> {fa.name = "o"}, tensor<?x1x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c = arith.constant 64 : index
    %x = arith.ceildivsi %j, %c : index
    %m = arith.cmpi ule, %x, %j : index
    fa.yield %m : i1
  } : (tensor<?x1x?x256xf16>, tensor<?x1x?x256xf16>, tensor<?x1x?x256xf16>) -> (tensor<?x1x?x256xf16>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x256xf16>, tensor<?x1x?xf32>
}
