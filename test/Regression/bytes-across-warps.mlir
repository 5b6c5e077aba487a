// A vector of bytes that is read per key and along tiles crosses warps through shared memory, as 16 bits each.
// RUN: fa-opt %s --target=sm_80 --backward --emit=ptx -o %t.ptx
// RUN: fa-opt %s --target=sm_90a --backward --emit=ptx -o %t.90.ptx
// RUN: fa-run %s --shape=1,1,1,200,150 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x1x?x64xf16> {fa.name = "q"}, %k: tensor<?x1x?x64xf16> {fa.name = "k"}, %v: tensor<?x1x?x64xf16> {fa.name = "v"},
    %c: tensor<?x?xi8> {fa.name = "c", fa.dims = ["B", "Sk"]})
  -> (tensor<?x1x?x64xf16> {fa.name = "o"}, tensor<?x1x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %a: tensor<?x?xi8>):
    %x = tensor.extract %a[%b, %i] : tensor<?x?xi8>
    %y = tensor.extract %a[%b, %j] : tensor<?x?xi8>
    %m1 = arith.cmpi ult, %x, %y : i8
    %z = arith.index_cast %y : i8 to index
    %m2 = arith.cmpi ult, %z, %j : index
    %k = arith.constant 2 : index
    %w = arith.muli %j, %k : index
    %u = tensor.extract %a[%b, %w] : tensor<?x?xi8>
    %jc = arith.index_cast %j : index to i64
    %jd = arith.index_cast %jc : i64 to index
    %v2 = tensor.extract %a[%b, %jd] : tensor<?x?xi8>
    %m3 = arith.cmpi sge, %u, %v2 : i8
    %m4 = arith.xori %m2, %m3 : i1
    %m = arith.andi %m1, %m4 : i1
    fa.yield %m : i1
  }
  : (tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x1x?x64xf16>, tensor<?x?xi8>) -> (tensor<?x1x?x64xf16>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x64xf16>, tensor<?x1x?xf32>
}
