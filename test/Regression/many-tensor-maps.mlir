// Gradients of four biases beside a mask by data take 41 tensor maps, of which a launch had 32: the program compiled, and was not
// loaded.
// RUN: env FA_LIBCUDA=%fakecuda FA_FAKE_CUDA=capability=90 fa-run %s --device=cuda --backward --time --repeats=1 --shape=1,2,2,64,64 | FileCheck %s
// CHECK: time: median
func.func @f(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"}, %v: tensor<?x?x?x64xbf16> {fa.name = "v"},
             %ids: tensor<?x?xi32> {fa.name = "ids", fa.dims = ["B", "Sq"]}, %w: tensor<?x?x?x?xbf16> {fa.name = "w", fa.dims = ["B", "Hq", "Sq", "Sk"]},
             %x: tensor<?x?x?xf32> {fa.name = "x", fa.dims = ["Hq", "Sq", "Sk"]}, %y: tensor<?x?xf32> {fa.name = "y", fa.dims = ["Sq", "Sk"]},
             %z: tensor<?x?xf32> {fa.name = "z", fa.dims = ["Sk", "Hq"]})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%w, %x, %y, %z) with [causal, document(%ids)]
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
         %ww: tensor<?x?x?x?xbf16>, %xx: tensor<?x?x?xf32>, %yy: tensor<?x?xf32>, %zz: tensor<?x?xf32>):
      %w0 = tensor.extract %ww[%b, %h, %i, %j] : tensor<?x?x?x?xbf16>
      %w1 = arith.extf %w0 : bf16 to f32
      %x1 = tensor.extract %xx[%h, %i, %j] : tensor<?x?x?xf32>
      %y1 = tensor.extract %yy[%i, %j] : tensor<?x?xf32>
      %z1 = tensor.extract %zz[%j, %h] : tensor<?x?xf32>
      %a = arith.addf %s, %w1 : f32
      %c = arith.mulf %x1, %y1 : f32
      %e = arith.addf %a, %c : f32
      %f = arith.addf %e, %z1 : f32
      fa.yield %f : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
