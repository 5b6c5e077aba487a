// A dilated sliding window (Longformer): 64 keys, every fourth one, so that a query reaches back 252 tokens.
// Run: fa-run dilated.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @dilated(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                   %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                   %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [window<255, 0>]
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %shift = arith.subi %sk, %sq : index
    %d = arith.addi %i, %shift : index
    %back = arith.subi %d, %j : index
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %gap = arith.remsi %back, %c4 : index
    %on = arith.cmpi eq, %gap, %c0 : index
    fa.yield %on : i1
  }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
