// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-generate-backward
// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-generate-backward=only=true

func.func @no_lse(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> tensor<?x8x?x64xf32> {
  // expected-error @+1 {{the gradients of @no_lse need its LSE; return it: %o, %lse = fa.attention ... -> (..., tensor<BxHqxSqxf32>)}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @lse_unreturned(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> tensor<?x8x?x64xf32> {
  // expected-error @+1 {{the gradients of @lse_unreturned need its output and its LSE; return both}}
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @two(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
               %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  // expected-error @+1 {{gradients need an entry that returns the results of this fa.attention alone; put what else there is into functions of their own}}
  %p, %lsf = fa.attention query(%q) key(%v) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

func.func @no_derivative(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    // expected-error @+1 {{'arith.bitcast' has no derivative; write what leads to the gradient with ops on floats that have one}}
    %x = arith.bitcast %s : f32 to i32
    %y = arith.bitcast %x : i32 to f32
    fa.yield %y : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

func.func @computed_capture(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                            %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %c = tensor.empty() : tensor<8xf32>
  // expected-error @+1 {{gradients need captures, a sink, starts, lengths and dropout that are arguments of the entry; pass what is computed before to another entry}}
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<8xf32>):
    %x = tensor.extract %t[%h] : tensor<8xf32>
    %y = arith.addf %s, %x : f32
    fa.yield %y : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<8xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

func.func @captured_sink(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                         %v: tensor<?x8x?x64xf32> {fa.name = "v"}, %z: tensor<8xf32> {fa.name = "z"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  // expected-error @+1 {{gradients need a sink that is no capture; pass it twice}}
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [alibi(%z)] sink(%z)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// expected-error @+1 {{argument 'do' has the name of the gradient that the backward takes; rename it}}
func.func @clash(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x8x?x64xf32> {fa.name = "do"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// expected-error @+1 {{'dq' is the name of the output that the backward takes and of the gradient that the backward returns; rename a result of the entry}}
func.func @clash(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32> {fa.name = "dq"}, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// expected-error @+1 {{argument 'o' has the name of the output that the backward takes; rename it}}
func.func @clash(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x8x?x64xf32> {fa.name = "o"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// expected-error @+1 {{argument 'lse' has the name of the LSE that the backward takes; rename it}}
func.func @clash(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x8x?x64xf32> {fa.name = "lse"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// expected-error @+1 {{argument 'dq' has the name of the gradient that the backward returns; rename it}}
func.func @clash(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
                 %v: tensor<?x8x?x64xf32> {fa.name = "dq"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

func.func @f(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
             %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}
// expected-error @+1 {{@f_backward_rows has a name of the gradients of @f and their kernels; rename it}}
func.func @f_backward_rows(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
