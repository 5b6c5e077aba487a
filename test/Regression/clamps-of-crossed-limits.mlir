// Where the low limit of clampf is above the high one, it is the low one.
// RUN: fa-run %s --shape=1,2,1,20,40 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_80 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %low = arith.constant 0.5 : f32
    %d = arith.subi %i, %j : index
    %n = arith.index_cast %d : index to i32
    %high = arith.sitofp %n : i32 to f32
    %r = math.clampf %s to [%low, %high] : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
