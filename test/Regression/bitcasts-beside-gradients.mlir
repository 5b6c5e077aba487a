// The bits of a capture whose gradient is not wanted need no derivative.
// RUN: fa-run %s --shape=1,2,2,20,30 --backward --gradients=q,k
// RUN: fa-opt %s --backward --gradients=v --target=sm_90a -o /dev/null
// RUN: not fa-opt %s --backward --gradients=x --target=sm_90a 2>&1 | FileCheck %s
// RUN: not fa-opt %s --backward --target=sm_80 2>&1 | FileCheck %s
// CHECK: error: 'arith.bitcast' has no derivative
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"},
             %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %x: tensor<?xf32> {fa.name = "x", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%x) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c: tensor<?xf32>):
    %u = tensor.extract %c[%h] : tensor<?xf32>
    %n = arith.bitcast %u : f32 to i32
    %w = arith.bitcast %n : i32 to f32
    %y = arith.mulf %w, %s : f32
    fa.yield %y : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
