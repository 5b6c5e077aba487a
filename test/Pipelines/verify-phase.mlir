// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-verify-phase=phase=input

// expected-error @+1 {{the module holds no entry; write a func.func with one fa.attention}}
module {}

// -----

func.func @second(%q: tensor<1x8x8x64xf32> {fa.name = "q"}) -> tensor<1x8x8x64xf32> {
  // expected-error @+1 {{an entry holds one fa.attention; 'tensor.empty' cannot stand beside it}}
  %0 = tensor.empty() : tensor<1x8x8x64xf32>
  return %0 : tensor<1x8x8x64xf32>
}

// -----

// expected-error @+1 {{entry @none holds no fa.attention; write one, or remove the function}}
func.func @none(%q: tensor<1x8x8x64xf32> {fa.name = "q"}) -> tensor<1x8x8x64xf32> {
  return %q : tensor<1x8x8x64xf32>
}

// -----

// expected-error @+1 {{argument 1 of entry @unnamed has no name; add {fa.name = "..."}}}
func.func @unnamed(%q: tensor<1x8x8x64xf32> {fa.name = "q"}, %k: tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%k)
    : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xf32>
  return %o : tensor<1x8x8x64xf32>
}

// -----

// expected-error @+1 {{two arguments of entry @twice have the name "q"; names must differ}}
func.func @twice(%q: tensor<1x8x8x64xf32> {fa.name = "q"}, %k: tensor<1x8x8x64xf32> {fa.name = "q"}) -> tensor<1x8x8x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%k)
    : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xf32>
  return %o : tensor<1x8x8x64xf32>
}

// -----

// expected-error @+1 {{argument "x" of entry @unused is not used; remove it}}
func.func @unused(%q: tensor<1x8x8x64xf32> {fa.name = "q"}, %x: f32 {fa.name = "x"}) -> tensor<1x8x8x64xf32> {
  %o = fa.attention query(%q) key(%q) value(%q)
    : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xf32>
  return %o : tensor<1x8x8x64xf32>
}

// -----

func.func @two(%q: tensor<1x8x8x64xf32> {fa.name = "q"}) -> tensor<1x8x8x64xf32> {
  // expected-note @+1 {{the first is here}}
  %o = fa.attention query(%q) key(%q) value(%q)
    : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xf32>
  // expected-error @+1 {{an entry holds one fa.attention, this is the second; put it into a function of its own}}
  %p = fa.attention query(%q) key(%q) value(%q)
    : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>) -> tensor<1x8x8x64xf32>
  return %o : tensor<1x8x8x64xf32>
}

// -----

// expected-error @+1 {{@private must be a public function with a body: every function is an entry}}
func.func private @private()

// -----

func.func @unread(%q: tensor<1x8x8x64xf32> {fa.name = "q"}, %x: f32 {fa.name = "slope"}) -> tensor<1x8x8x64xf32> {
  // expected-error @+1 {{capture "slope" is read by neither mask nor score; remove it}}
  %o = fa.attention query(%q) key(%q) value(%q) captures(%x)
    : (tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>, tensor<1x8x8x64xf32>, f32) -> tensor<1x8x8x64xf32>
  return %o : tensor<1x8x8x64xf32>
}
