// RUN: fa-opt %s --gpu-choose-tiles --verify-diagnostics

!q = tensor<?x?x?x264xbf16>
func.func @f(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
  // expected-error @+1 {{}}
  %o = fa.attention query(%q) key(%k) value(%v) with [causal] : (!q, !q, !q) -> !q
  return %o : !q
}
