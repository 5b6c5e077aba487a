// A captured tensor whose reads cancel each other is an argument of all variants of an entry, or of none: those for aligned tensors
// were cleaned up once more than the others, and the entry was refused.
// RUN: fa-opt %s --target=sm_90a --emit=artifact -o %t.fab
// RUN: fa-opt %s --target=sm_90a --backward --emit=artifact -o %t.backward.fab
// RUN: fa-opt %s --target=sm_80 --backward --emit=artifact -o %t.sm_80.fab
func.func @f(%q: tensor<1x?x64xbf16> {fa.name = "q"}, %k: tensor<1x?x64xbf16> {fa.name = "k"}, %v: tensor<1x?x64xbf16> {fa.name = "v"},
             %shown: tensor<?x?xi32> {fa.name = "shown", fa.dims = ["B", "Sq"]}, %ids: tensor<?xi64> {fa.name = "ids", fa.dims = ["Sk"]},
             %starts: tensor<?xi64> {fa.name = "starts", fa.dims = ["B+1"]})
    -> (tensor<1x?x64xbf16> {fa.name = "o"}, tensor<1x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%shown, %ids) sequences(query_starts(%starts) key_starts(%starts)) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>, %y: tensor<?xi64>):
    %zero = arith.constant 0 : i32
    %at = tensor.extract %x[%b, %i] : tensor<?x?xi32>
    %visible = arith.cmpi ne, %at, %zero : i32
    %first = tensor.extract %y[%j] : tensor<?xi64>
    %second = tensor.extract %y[%j] : tensor<?xi64>
    %never = arith.cmpi sgt, %first, %second : i64
    %any = arith.ori %visible, %never : i1
    fa.yield %any : i1
  } : (tensor<1x?x64xbf16>, tensor<1x?x64xbf16>, tensor<1x?x64xbf16>, tensor<?x?xi32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
    -> (tensor<1x?x64xbf16>, tensor<1x?xf32>)
  return %o, %lse : tensor<1x?x64xbf16>, tensor<1x?xf32>
}
