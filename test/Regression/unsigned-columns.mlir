// A number of columns below a limit, as unsigned numbers: the limit less a thread's number may be none.
// RUN: fa-opt %s --target=sm_90a --compile-to=nvvm | FileCheck %s
// RUN: fa-run %s --shape=1,2,2,128,32 --check
// CHECK: llvm.icmp "ult" %{{.*}}, %{{.*}} : vector<64xi32>
func.func @f(%q: tensor<1x2x128x64xbf16> {fa.name = "q"}, %k: tensor<1x2x32x64xbf16> {fa.name = "k"}, %v: tensor<1x2x32x64xbf16> {fa.name = "v"}, %n: tensor<128xi32> {fa.name = "n", fa.dims = ["Sq"]})
  -> (tensor<1x2x128x64xbf16> {fa.name = "o"}, tensor<1x2x128xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%n)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x_n: tensor<128xi32>):
    %x = tensor.extract %x_n[%i] : tensor<128xi32>
    %c15 = arith.constant 15 : i32
    %z = arith.remsi %x, %c15 : i32
    %y = arith.index_cast %z : i32 to index
    %m = arith.cmpi ult, %j, %y : index
    %one = arith.constant 1.0 : f32
    %t = arith.addf %s, %one : f32
    %u = arith.select %m, %t, %s : f32
    fa.yield %u : f32
  }
  : (tensor<1x2x128x64xbf16>, tensor<1x2x32x64xbf16>, tensor<1x2x32x64xbf16>, tensor<128xi32>) -> (tensor<1x2x128x64xbf16>, tensor<1x2x128xf32>)
  return %o, %lse : tensor<1x2x128x64xbf16>, tensor<1x2x128xf32>
}
