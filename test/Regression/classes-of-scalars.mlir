// RUN: fa-opt %s --target=cpu --compile-to=llvm | FileCheck %s

// On a captured scalar these had no lowering.
// CHECK-NOT: math.is
// CHECK: llvm.fcmp "oeq"
func.func @classes(%q: tensor<1x1x4x8xf32> {fa.name = "q"}, %c: f32 {fa.name = "c"}) -> tensor<1x1x4x8xf32> {
  %o = fa.attention query(%q) key(%q) value(%q) captures(%c)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: f32):
      %inf = math.isinf %x : f32
      %normal = math.isnormal %x : f32
      %seen = arith.xori %inf, %normal : i1
      fa.yield %seen : i1
    } : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, f32) -> tensor<1x1x4x8xf32>
  return %o : tensor<1x1x4x8xf32>
}
