// The derivative of a chain of maxima asks at each which operand it took, under all of the conditions before: they were
// computed again for each, in code that grew with the square of the chain (30 maxima took 20 s). Long ones are kept in bytes.
// RUN: fa-opt %s --backward --target=cpu --compile-to=linalg | FileCheck %s --check-prefix=KEPT
// KEPT: arith.extui %{{.*}} : i1 to i8
// RUN: fa-run %s --backward --shape=1,2,2,9,9 --check | FileCheck %s --implicit-check-not=FAILED
// CHECK-DAG: {{^}}deviation: dq {{.*}}: passed
// CHECK-DAG: {{^}}deviation: dc {{.*}}: passed
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"},
             %c: tensor<?x?xf32> {fa.name = "c", fa.dims = ["Hq","Sk"]})
    -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %cc: tensor<?x?xf32>):
  %x0 = tensor.extract %cc[%h, %j] : tensor<?x?xf32>
  %y0 = arith.maximumf %x0, %s : f32
  %y1 = arith.maximumf %y0, %x0 : f32
  %y2 = arith.maximumf %y1, %y0 : f32
  %y3 = arith.maximumf %y2, %y1 : f32
  %y4 = arith.maximumf %y3, %y2 : f32
  %y5 = arith.maximumf %y4, %y3 : f32
  %y6 = arith.maximumf %y5, %y4 : f32
  %y7 = arith.maximumf %y6, %y5 : f32
  %y8 = arith.maximumf %y7, %y6 : f32
  %y9 = arith.maximumf %y8, %y7 : f32
  %y10 = arith.maximumf %y9, %y8 : f32
  %y11 = arith.maximumf %y10, %y9 : f32
  fa.yield %y11 : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
