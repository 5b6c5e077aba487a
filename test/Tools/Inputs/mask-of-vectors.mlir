// Masks of vectors of bits, and of indices, that other warps need: rows of keys, and keys of rows.
func.func @vectors(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"}, %v: tensor<?x?x?x64xbf16> {fa.name = "v"}, %data0: tensor<?x?xi32> {fa.name = "data0", fa.dims = ["B", "Sk"]}, %z: tensor<?xbf16> {fa.name = "z", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%data0) with [causal<top_left>] sink(%z)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %data0: tensor<?x?xi32>):
    %d0 = arith.constant 5 : index
    %d1 = arith.divui %j, %d0 : index
    %d2 = tensor.extract %data0[%b, %d1] : tensor<?x?xi32>
    %d3 = arith.constant 64 : index
    %d4 = arith.divui %j, %d3 : index
    %d5 = tensor.extract %data0[%b, %d4] : tensor<?x?xi32>
    %d6 = arith.cmpi ne, %d2, %d5 : i32
    %d7 = tensor.extract %data0[%b, %j] : tensor<?x?xi32>
    %d8 = tensor.extract %data0[%b, %j] : tensor<?x?xi32>
    %d9 = arith.cmpi eq, %d7, %d8 : i32
    %d10 = arith.andi %d6, %d9 : i1
    %d11 = arith.constant 64 : index
    %d12 = arith.divui %i, %d11 : index
    %d13 = arith.divui %j, %d11 : index
    // What 32 bits do not hold stays an index.
    %wide = arith.constant 8589934592 : index
    %d16 = arith.muli %d12, %wide : index
    %d17 = arith.muli %d13, %wide : index
    %d14 = arith.cmpi sge, %d16, %d17 : index
    %d15 = arith.xori %d10, %d14 : i1
    fa.yield %d15 : i1
  }
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xi32>, tensor<?xbf16>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
