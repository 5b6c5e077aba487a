// Numbers of 33 to 63 bits wrap around, too.
// RUN: fa-run %s --shape=1,1,1,300,64 --check
// RUN: fa-run %s --shape=1,1,1,300,64 --check --device=interp --target=sm_80
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
   %v: tensor<?x?x?x64xf32> {fa.name = "v"})
 -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c = arith.constant 33554432 : index
    %m = arith.muli %i, %c : index
    %m64 = arith.index_cast %m : index to i64
    %t = arith.trunci %m64 : i64 to i33
    %e = arith.index_cast %t : i33 to index
    %y = arith.cmpi ult, %j, %e : index
    fa.yield %y : i1
  }
  : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
