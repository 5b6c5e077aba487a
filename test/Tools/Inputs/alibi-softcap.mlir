// Scores that ALiBi takes to where a softcap is saturated.
func.func @alibi_softcap(%q: tensor<?x?x?x40xf32> {fa.name = "q"}, %k: tensor<?x?x?x40xf32> {fa.name = "k"},
                         %v: tensor<?x?x?x40xf32> {fa.name = "v"},
                         %slopes: tensor<?xf32> {fa.name = "slopes", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x40xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [alibi(%slopes), softcap<5.0>]
    : (tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<?xf32>)
    -> (tensor<?x?x?x40xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x40xf32>, tensor<?x?x?xf32>
}
