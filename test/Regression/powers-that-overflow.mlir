// Of x^-2 and a small factor the derivative is finite where x^-3 is not: dq was NaN.
// RUN: fa-run %s --backward --shape=1,2,2,9,12 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: sed 's/arith.constant -2.0 : f32/arith.constant -2 : i32/; s/math.powf %%x, %%y : f32/math.fpowi %%x, %%y : f32, i32/' %s > %t.mlir
// RUN: fa-run %t.mlir --backward --shape=1,2,2,9,12 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %t.mlir --device=interp --target=sm_90a --backward --shape=1,2,2,9,12 --check | FileCheck %s --implicit-check-not=FAILED
// CHECK-DAG: {{^}}deviation: dq {{.*}}: passed
// CHECK-DAG: {{^}}deviation: dk {{.*}}: passed
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"})
 -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
 %o, %lse = fa.attention query(%q) key(%k) value(%v)
 score {
 ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
 %y = arith.constant -2.0 : f32
 %one = arith.constant 1.0 : f32
 %tiny = arith.constant 1.0e-14 : f32
 %small = arith.constant 1.0e-28 : f32
 %t = math.tanh %s : f32
 %u = math.fma %t, %t, %one : f32
 %x = arith.mulf %u, %tiny : f32
 %p = math.powf %x, %y : f32
 %r = arith.mulf %p, %small : f32
 fa.yield %r : f32
 }
 : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
 return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
