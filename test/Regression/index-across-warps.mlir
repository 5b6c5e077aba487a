// A mask that divides positions of type index by one captured number tied the vectors of rows and keys together
// by the number's tile, so that one of them crossed shared memory, which held no indices: sm_90a refused it.
// What is one number is computed for each layout; nothing crosses, and products are asynchronous.
// RUN: fa-run %s --shape=2,4,2,70,190 --device=interp --target=sm_90a --check | FileCheck %s --check-prefix=PASS
// RUN: fa-opt %s --target=sm_90a --emit=ptx | FileCheck %s

// PASS: passed
// CHECK: wgmma.mma_async
func.func @chunks(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
    %v: tensor<?x?x?x64xbf16> {fa.name = "v"}, %n0: i32 {fa.name = "n0"})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%n0)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: i32):
      %size = arith.index_cast %n : i32 to index
      %after = arith.subi %sk, %sq : index
      %at = arith.addi %i, %after : index
      %of_row = arith.floordivsi %at, %size : index
      %of_key = arith.floordivsi %j, %size : index
      %seen = arith.cmpi eq, %of_row, %of_key : index
      fa.yield %seen : i1
    }
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, i32)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
