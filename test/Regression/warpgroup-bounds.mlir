// Warpgroups that leave out more steps than a ring has slots, in front of and behind their own:
// the copies wait for what they give back, and the next work tile's number for those copies.
// RUN: rm -rf %t && split-file %s %t
// RUN: fa-run %t/window.mlir --device=interp --target=sm_90a --shape=1,1,1,600,600 --seed=1 --check | FileCheck %s
// RUN: fa-run %t/window.mlir --device=interp --target=sm_90a --shape=1,1,1,600,600 --seed=1 --check --leave-out=tile-pipeline | FileCheck %s
// RUN: fa-run %t/window.mlir --device=interp --target=sm_90a --shape=1,1,1,600,600 --seed=1 --check --leave-out=tile-make-persistent --tile-keys=16 | FileCheck %s
// RUN: fa-run %t/steep.mlir --device=interp --target=sm_90a --shape=1,1,1,200,1500 --seed=2 --check | FileCheck %s
// RUN: fa-run %t/steep.mlir --device=interp --target=sm_90a --shape=1,2,1,300,500 --seed=2 --check --tile-keys=16 | FileCheck %s
// RUN: fa-run %t/steep.mlir --device=interp --target=sm_90a --shape=1,1,1,200,1500 --seed=2 --check --leave-out=tile-pingpong-warpgroups | FileCheck %s
// A mask that hides tiles between visible ones: their loop goes over a list.
// RUN: fa-run %t/gaps.mlir --device=interp --target=sm_90a --shape=1,1,1,384,500 --seed=1 --check | FileCheck %s
// CHECK-NOT: failed
// CHECK: passed

//--- window.mlir
func.func @f(%q: tensor<?x?x?x128xbf16> {fa.name = "q"}, %k: tensor<?x?x?x128xbf16> {fa.name = "k"},
             %v: tensor<?x?x?x128xbf16> {fa.name = "v"}) -> (tensor<?x?x?x128xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [window<100, 0>]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

//--- steep.mlir
func.func @f(%q: tensor<?x?x?x128xbf16> {fa.name = "q"}, %k: tensor<?x?x?x128xbf16> {fa.name = "k"},
             %v: tensor<?x?x?x128xbf16> {fa.name = "v"}) -> (tensor<?x?x?x128xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c8 = arith.constant 8 : index
    %most = arith.muli %i, %c8 : index
    %seen = arith.cmpi sle, %j, %most : index
    fa.yield %seen : i1
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}

//--- gaps.mlir
func.func @f(%q: tensor<?x?x?x128xbf16> {fa.name = "q"}, %k: tensor<?x?x?x128xbf16> {fa.name = "k"},
             %v: tensor<?x?x?x128xbf16> {fa.name = "v"}) -> (tensor<?x?x?x128xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [window<5, 0>, causal]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  return %o : tensor<?x?x?x128xbf16>
}
