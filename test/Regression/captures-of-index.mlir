// A captured number of type index ran on CPUs and was refused on GPUs. It is passed as i64. Read for
// each score, it took registers of sm_90a to local memory; tiles have fewer keys then.
// RUN: fa-run %s --shape=2,2,1,70,90 --check | FileCheck %s --check-prefix=PASS
// RUN: fa-run %s --shape=2,2,1,70,90 --device=interp --check | FileCheck %s --check-prefix=PASS
// RUN: fa-opt %s --target=cpu --compile-to=tile | FileCheck %s
// RUN: fa-opt %s --target=sm_80 --emit=ptx -o %t.80.ptx
// RUN: fa-opt %s --target=sm_90a --emit=ptx -o %t.90.ptx
// RUN: %if ptxas %{ ptxas -v -arch=sm_80 %t.80.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SPILLS %}
// RUN: %if ptxas %{ ptxas -v -arch=sm_90a %t.90.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SPILLS %}

// PASS: passed
// SPILLS: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

// CHECK: tile.func @indices(
// CHECK-SAME: !tile.view<?xi64> {tile.name = "n"}
// CHECK-SAME: !tile.view<?xi64> {{{.*}}tile.name = "last"}
// CHECK-SAME: i64 {tile.name = "m"}
// CHECK: tile.gather {{.*}} -> tensor<64x{{.*}}xi64>
func.func @indices(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"}, %n: tensor<?xindex> {fa.name = "n"},
    %last: tensor<?xindex> {fa.name = "last", fa.dims = ["Sk"]}, %m: index {fa.name = "m"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%last, %m) with [prefix(%n)]
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %at: tensor<?xindex>, %c: index):
      %d = arith.subi %i, %j : index
      %l = tensor.extract %at[%d] : tensor<?xindex>
      %x = arith.cmpi sle, %j, %c : index
      %y = arith.cmpi sle, %l, %c : index
      %seen = arith.ori %x, %y : i1
      fa.yield %seen : i1
    } : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?xindex>, index, tensor<?xindex>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
