// A score that does not read the dot product leaves one product, which stands behind the sums of
// rows: their columns were refused. So was the program of --standard-attention that has none.
// RUN: fa-run %s --device=interp --target=sm_90a --shape=1,2,1,70,200 --check | FileCheck %s
// RUN: fa-run %s --device=interp --target=sm_80 --shape=1,2,1,70,200 --check | FileCheck %s
// RUN: fa-opt %s --target=sm_90a --emit=ptx --standard-attention | FileCheck %s --check-prefix=STANDARD
// RUN: fa-opt %examples/causal_d128.mlir --target=sm_90a --emit=ptx --standard-attention | FileCheck %s --check-prefix=STANDARD
// RUN: fa-run %examples/causal_d128.mlir --device=interp --target=sm_90a --shape=1,2,1,70,200 --standard-attention --check | FileCheck %s

// CHECK: deviation: o {{.*}}: passed
// STANDARD: .visible .entry
func.func @f(%q: tensor<?x?x?x128xbf16> {fa.name = "q"}, %k: tensor<?x?x?x128xbf16> {fa.name = "k"},
             %v: tensor<?x?x?x128xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x128xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c3 = arith.constant 3 : index
    %rest = arith.remui %j, %c3 : index
    %number = arith.index_cast %rest : index to i32
    %float = arith.sitofp %number : i32 to f32
    fa.yield %float : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
