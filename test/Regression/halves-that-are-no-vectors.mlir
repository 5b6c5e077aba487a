// LLVM rounds the sign of an f64 to f16 by a function that CPUs lack: functions of a half that is no vector did not load.
// RUN: fa-run %s --shape=1,2,2,8,8 --check
// RUN: fa-run %s --shape=1,2,2,8,8 --check --backward
// RUN: sed s/math.tanh/math.atan/ %s > %t.mlir
// RUN: fa-run %t.mlir --shape=1,2,2,8,8 --check --dtype=f16 --target=cpu-avx2
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %t: tensor<?xf16> {fa.name = "t", fa.dims = ["Hq"]})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%t)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c: tensor<?xf16>):
    %x = tensor.extract %c[%h] : tensor<?xf16>
    %y = math.tanh %x : f16
    %z = arith.extf %y : f16 to f32
    %r = arith.mulf %s, %z : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xf16>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
