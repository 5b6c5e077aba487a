// Flags that promise something of operands were honoured, though regions are total: 5 / 3 may be
// anything where the division is said to be exact.
// RUN: fa-opt %s --target=cpu --compile-to=algorithm --no-canonicalize | FileCheck %s
// RUN: fa-run %s --shape=1,1,1,63,95 --check | FileCheck %s --check-prefix=PASS
// RUN: fa-run %s --shape=1,1,1,63,95 --device=interp --check | FileCheck %s --check-prefix=PASS

// PASS: passed

// CHECK: func.func @flags
// CHECK-NOT: overflow<
// CHECK-NOT: exact
// CHECK-NOT: nnan
// CHECK: fastmath<contract>
// CHECK-NOT: overflow<
// CHECK-NOT: exact
func.func @flags(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant 3 : index
      %large = arith.constant 0x4000000000000000 : index
      %a = arith.divui %j, %c exact : index
      %one = arith.constant 1 : index
      %e = arith.shrsi %i, %one exact : index
      %d = arith.addi %a, %large overflow<nsw, nuw> : index
      %f = arith.muli %e, %large overflow<nsw> : index
      %g = arith.addi %d, %f overflow<nuw> : index
      %s = arith.subi %g, %large overflow<nuw> : index
      %m = arith.cmpi sle, %s, %i : index
      fa.yield %m : i1
    } score {
    ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %y = arith.addf %x, %x fastmath<nnan,ninf,contract> : f32
      fa.yield %y : f32
    } : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
