// What is read at keys and then cut to fewer bits is known of a tile, not of the whole loop, whose assumption says nothing of it: hashed ids that do not fit lost their keys.
// RUN: fa-run %s --shape=1,2,1,300,300 --check
// RUN: fa-run %s --shape=1,2,1,300,300 --backward --check
// RUN: fa-run %s --shape=1,2,1,300,300 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"},
    %c: tensor<?xi64> {fa.name = "c", fa.dims = ["Sk"], fa.kind = "ids"})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %ids: tensor<?xi64>):
    %id = tensor.extract %ids[%j] : tensor<?xi64>
    %salt = arith.constant 5000 : i64
    %salted = arith.addi %id, %salt : i64
    %prime = arith.constant 1000003 : i64
    %product = arith.muli %salted, %prime : i64
    %hash = arith.trunci %product : i64 to i32
    // That of document 1.
    %first = arith.constant 706047707 : i32
    %seen = arith.cmpi eq, %hash, %first : i32
    fa.yield %seen : i1
  }
  : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xi64>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
