// A sink beside values of 16.
func.func @sink(%q: tensor<?x?x?x64xbf16> {fa.name = "q"},
                %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
                %v: tensor<?x?x?x16xbf16> {fa.name = "v"},
                %sink: tensor<?xf32> {fa.name = "sink", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x16xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sink(%sink)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x16xbf16>, tensor<?xf32>)
    -> (tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>
}
