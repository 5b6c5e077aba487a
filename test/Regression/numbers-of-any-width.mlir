// Integers of each row that are no whole bytes wide were written to memory as packed vectors on CPUs, and read element by element.
// RUN: fa-run %s --shape=1,2,1,100,90 --check
// RUN: fa-run %s --shape=1,2,1,100,90 --backward --check
// RUN: sed "s/^!n = i7/!n = i4/" %s > %t.4.mlir
// RUN: fa-run %t.4.mlir --shape=1,2,1,100,90 --check
// RUN: sed "s/^!n = i7/!n = i24/" %s > %t.24.mlir
// RUN: fa-run %t.24.mlir --shape=1,2,1,100,90 --backward --check
// RUN: sed "s/^!n = i7/!n = i33/" %s > %t.33.mlir
// RUN: fa-run %t.33.mlir --shape=1,2,1,100,90 --check
// RUN: fa-run %t.33.mlir --shape=1,2,1,100,90 --backward --check
// RUN: fa-run %s --shape=1,2,1,100,90 --device=interp --target=sm_90a --backward --check
!n = i7
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %x = arith.index_cast %i : index to !n
    %y = arith.index_cast %j : index to !n
    %m = arith.muli %x, %x : !n
    %seen = arith.cmpi sle, %y, %m : !n
    fa.yield %seen : i1
  } score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %x = arith.index_cast %i : index to !n
    %three = arith.constant 3 : !n
    %q3 = arith.divsi %x, %three : !n
    %f = arith.sitofp %q3 : !n to f32
    %small = arith.constant 0.01 : f32
    %g = arith.mulf %f, %small : f32
    %t = arith.mulf %s, %g : f32
    fa.yield %t : f32
  }
  : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
