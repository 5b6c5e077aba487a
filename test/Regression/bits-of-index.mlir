// Counts of zeros on index ended the compiler for CPUs.
// RUN: fa-run %s --shape=1,1,1,35,70 --check | FileCheck %s
// RUN: fa-run %s --shape=1,1,1,35,70 --device=interp --check | FileCheck %s
// RUN: fa-opt %s --target=sm_80 --emit=ptx -o %t.ptx

// CHECK: passed
func.func @bits(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %leading = math.ctlz %i : index
      %trailing = math.cttz %j : index
      %d = arith.subi %i, %j : index
      %ones = math.ctpop %d : index
      %size = math.absi %d : index
      %x = arith.xori %leading, %trailing : index
      %y = arith.xori %ones, %size : index
      %z = arith.xori %x, %y : index
      %n = arith.index_cast %z : index to i32
      %f = arith.sitofp %n : i32 to f32
      %c = arith.constant 0.0625 : f32
      %g = arith.mulf %f, %c : f32
      %r = arith.addf %s, %g : f32
      fa.yield %r : f32
    } : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
