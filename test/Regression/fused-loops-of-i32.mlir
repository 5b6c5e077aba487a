// A mask of ops of `index` leaves loops over rows that count in i32, whose last reduction was computed in index.
// RUN: fa-run %s --backward --fused --device=interp --target=sm_90a --shape=1,1,1,70,239 --check | FileCheck %s --implicit-check-not=FAILED
// CHECK-COUNT-3: passed
func.func @blocks(%q: tensor<?x?x?x128xbf16> {fa.name = "q"}, %k: tensor<?x?x?x128xbf16> {fa.name = "k"}, %v: tensor<?x?x?x128xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x128xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c32 = index.constant 32
    %c3 = index.constant 3
    %bi = index.divs %i, %c32
    %bj = index.floordivs %j, %c32
    %near = index.cmp eq(%bi, %bj)
    %mm = index.rems %bj, %c3
    %strided = arith.cmpi eq, %mm, %h : index
    %seen = arith.ori %near, %strided : i1
    fa.yield %seen : i1
  }
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
