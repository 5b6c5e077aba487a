// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-generate-backward=gradients=q,slope

// Names of gradients that are not known; dropout's probability has none.

// expected-error @+1 {{entry @plain has no query, key, value, sink or capture of floats with the name 'slope' to compute the gradient of; choose from q, k, v}}
func.func @plain(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x2x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x2x?x32xf32> {fa.name = "v"}) -> (tensor<?x8x?x32xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) scale(0.125)
    : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>) -> (tensor<?x8x?x32xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x32xf32>, tensor<?x8x?xf32>
}

// -----

// expected-error @+1 {{entry @dropout has no query, key, value, sink or capture of floats with the name 'slope' to compute the gradient of; choose from q, k, v}}
func.func @dropout(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x8x?x64xbf16> {fa.name = "k"},
                 %v: tensor<?x8x?x64xbf16> {fa.name = "v"}, %p: f32 {fa.name = "slope"}, %seed: i64 {fa.name = "seed"}, %offset: i64 {fa.name = "offset"}) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) dropout(%p, %seed, %offset)
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, f32, i64, i64) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}
