// Numbers of bf16 were passed by value to kernels for CPUs, which takes functions of a library where the machine does not convert
// them: the program compiled and did not link.
// RUN: fa-run %s --target=cpu-avx2 --backward --shape=1,2,1,70,133 --check | FileCheck %s
// RUN: fa-run %s --backward --shape=1,2,1,70,133 --check | FileCheck %s
// CHECK: {{^}}deviation: dq {{.*}}: passed
// CHECK: {{^}}deviation: dc {{.*}}: passed
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"},
             %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %c: bf16 {fa.name = "c"})
    -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %d: bf16):
      %t = arith.extf %d : bf16 to f32
      %r = arith.mulf %s, %t : f32
      fa.yield %r : f32
    } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, bf16) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
