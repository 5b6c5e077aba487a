// Block-sparse attention, a layout per head: `layout[h, i / 128, j / 128]` says which blocks of scores exist.
// Run: fa-run block_sparse.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @block_sparse(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                        %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                        %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                        %layout: tensor<?x?x?xi1> {fa.name = "layout", fa.kind = "flags", fa.dims = ["Hq", "Sq/128", "Sk/128"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [blocks<128, 128>(%layout)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?xi1>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
