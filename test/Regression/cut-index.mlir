// An index cut to fewer bits is not what it was: casts there and back, which upstream folds to nothing, took no bits off.
// RUN: fa-run %s --shape=1,2,1,600,33 --check
// RUN: fa-run %s --shape=1,2,1,600,33 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"}, %v: tensor<?x?x?x64xf32> {fa.name = "v"})
  -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %p = arith.index_cast %i : index to i8
    %x = arith.index_cast %p : i8 to index
    %r = arith.cmpi sle, %j, %x : index
    fa.yield %r : i1
  }
  : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
