// The smallest program that takes all of the schedule.
func.func @attention(%q: tensor<?x?x?x16xf16> {fa.name = "q"},
    %k: tensor<?x?x?x16xf16> {fa.name = "k"},
    %v: tensor<?x?x?x16xf16> {fa.name = "v"})
    -> (tensor<?x?x?x16xf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x?x?x16xf16>, tensor<?x?x?x16xf16>, tensor<?x?x?x16xf16>)
    -> (tensor<?x?x?x16xf16>)
  return %o : tensor<?x?x?x16xf16>
}

