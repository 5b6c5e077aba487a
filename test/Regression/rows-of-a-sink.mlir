// A row whose keys add less to its sink than LSE tells, and of which dropout keeps none, has the LSE and the output of a row
// that sees its sink alone: its P were taken for 0. They are asked for only where a derivative may be infinite.
// RUN: fa-run %s --backward --dlse --shape=2,8,8,300,1 --check | FileCheck %s --implicit-check-not=FAILED
// What has the gradient of its sink alone has no sums over pairs at phase grad, but sums.
// RUN: fa-opt %s --backward --gradients=z --compile-to=grad -o %t.grad.mlir
// RUN: fa-opt %t.grad.mlir --compile-from=grad -o /dev/null
// CHECK-DAG: {{^}}deviation: dq {{.*}}: passed
// CHECK-DAG: {{^}}deviation: dk {{.*}}: passed
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %z: tensor<?xf32> {fa.name = "z"},
              %p: f32 {fa.name = "p"}, %seed: i64 {fa.name = "seed"}, %offset: i64 {fa.name = "offset"})
 -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
 %o, %lse = fa.attention query(%q) key(%k) value(%v) sink(%z) dropout(%p, %seed, %offset)
 score {
 ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
 %c = arith.constant 14.0 : f32
 %r = arith.subf %s, %c : f32
 fa.yield %r : f32
 }
 : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xf32>, f32, i64, i64) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
 return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
