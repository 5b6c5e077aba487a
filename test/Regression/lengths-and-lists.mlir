// Where causal loops grow, blocks of rows go backwards, and the first row of a block was not known to be 0 or more: Q of
// padded rows went by cp.async beside K and V by the TMA. Of the four warps that then load, three waited for slots that the
// first one fills; nothing kept them within a phase, and one that was late waited for ever.
// RUN: fa-run %s --device=interp --target=sm_90a --shape=4,2,1,300,300 --seed=0 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %s --device=interp --target=sm_90a --shape=4,2,1,300,300 --seed=1 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %s --device=interp --target=sm_90a --shape=4,2,1,300,300 --seed=2 --check | FileCheck %s --implicit-check-not=FAILED
// CHECK: {{^}}deviation: o {{.*}}: passed
// RUN: fa-opt %s --target=sm_90a --compile-to=schedule | FileCheck %s --check-prefix=COPIES
// COPIES-NOT: copy(cp_async)
// COPIES: copy(tma)
// COPIES-NOT: copy(cp_async)
func.func @f(%q: tensor<?x?x?x64xbf16> {fa.name="q"}, %k: tensor<?x?x?x64xbf16> {fa.name="k"}, %v: tensor<?x?x?x64xbf16> {fa.name="v"}, %uq: tensor<?xi32> {fa.name="uq", fa.dims=["B"]}, %m: tensor<?x?xi1> {fa.name="m", fa.kind="flags", fa.dims=["Sq/64","Sk/64"]}) -> (tensor<?x?x?x64xbf16> {fa.name="o"}, tensor<?x?x?xf32> {fa.name="lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)  with [causal, blocks<64, 64>(%m)] sequences(key_lengths(%uq)) 
  : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xi1>, tensor<?xi32>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
