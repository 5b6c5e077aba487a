// Packed documents under a sliding window whose size is data: batch b looks back `windows[b]` tokens, itself
// among them, never out of its document.
// Run: fa-run document_windows.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @document_windows(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                            %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                            %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                            %windows: tensor<?xi32> {fa.name = "windows", fa.kind = "lengths", fa.dims = ["B"]},
                            %ids: tensor<?x?xi32> {fa.name = "ids", fa.kind = "ids", fa.dims = ["B", "Sk"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%windows)
    with [causal, document(%ids)]
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %w: tensor<?xi32>):
    %shift = arith.subi %sk, %sq : index
    %d = arith.addi %i, %shift : index
    %back = arith.subi %d, %j : index
    %size = tensor.extract %w[%b] : tensor<?xi32>
    %window = arith.index_cast %size : i32 to index
    %near = arith.cmpi slt, %back, %window : index
    fa.yield %near : i1
  }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?xi32>, tensor<?x?xi32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
