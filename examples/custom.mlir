// A mask and a score of one's own: blocks of 128 keys with every query's own block
// and the first one, and a learned bias by relative distance, cut off at 64.
// Run: fa-run custom.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @custom(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                  %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                  %table: tensor<?x129xf32> {fa.name = "table", fa.dims = ["Hq", ""]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%table)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?x129xf32>):
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %bi = arith.divui %i, %c128 : index
    %bj = arith.divui %j, %c128 : index
    %own = arith.cmpi eq, %bi, %bj : index
    %first = arith.cmpi eq, %bj, %c0 : index
    %seen = arith.ori %own, %first : i1
    fa.yield %seen : i1
  } score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?x129xf32>):
    %c64 = arith.constant 64 : index
    %cm64 = arith.constant -64 : index
    %d = arith.subi %j, %i : index
    %low = arith.maxsi %d, %cm64 : index
    %near = arith.minsi %low, %c64 : index
    %at = arith.addi %near, %c64 : index
    %bias = tensor.extract %t[%h, %at] : tensor<?x129xf32>
    %x = arith.addf %s, %bias : f32
    fa.yield %x : f32
  }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x129xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
