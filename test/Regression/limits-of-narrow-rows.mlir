// What the test of one row assumes, that a narrow number is not cut off, it says itself: limits of rows were those of rows from 128 on as if they saw nothing.
// RUN: fa-run %s --shape=1,1,1,300,300 --check
// RUN: fa-run %s --shape=1,1,1,300,300 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x1x?x16xf32> {fa.name = "q"}, %k: tensor<?x1x?x16xf32> {fa.name = "k"}, %v: tensor<?x1x?x16xf32> {fa.name = "v"},
    %c: tensor<?xi32> {fa.name = "c", fa.dims = ["Sk"]})
  -> (tensor<?x1x?x16xf32> {fa.name = "o"}, tensor<?x1x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %a: tensor<?xi32>):
    %ii = arith.index_cast %i : index to i64
    %i8 = arith.trunci %ii : i64 to i8
    %k = arith.constant 100 : i8
    %m1 = arith.cmpi slt, %i8, %k : i8
    %u = tensor.extract %a[%j] : tensor<?xi32>
    %zero = arith.constant 0 : i32
    %z = arith.cmpi sge, %u, %zero : i32
    %m = arith.andi %m1, %z : i1
    fa.yield %m : i1
  }
  : (tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?xi32>) -> (tensor<?x1x?x16xf32>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x16xf32>, tensor<?x1x?xf32>
}
