// A sink: a logit a head that takes part in the sum of exponentials, so that a query may attend to
// nothing. As in every other layer of GPT-OSS: a window of 128 keys, 64 query heads on 8 key heads.
// Run: fa-run sink.mlir --device=cpu --shape=1,64,8,512,512 --check --time
func.func @sink(%q: tensor<?x?x?x64xbf16> {fa.name = "q"},
                %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
                %v: tensor<?x?x?x64xbf16> {fa.name = "v"},
                %sink: tensor<?xbf16> {fa.name = "sink"})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [window<127, 0>] sink(%sink)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
