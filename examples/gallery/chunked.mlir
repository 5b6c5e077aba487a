// Chunked attention (Llama 4): causal inside of chunks of 256 tokens, i / 256 = j / 256; nothing crosses a
// chunk's border.
// Run: fa-run chunked.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @chunked(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                   %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                   %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal<top_left>]
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %size = arith.constant 256 : index
    %ci = arith.divui %i, %size : index
    %cj = arith.divui %j, %size : index
    %same = arith.cmpi eq, %ci, %cj : index
    fa.yield %same : i1
  }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
