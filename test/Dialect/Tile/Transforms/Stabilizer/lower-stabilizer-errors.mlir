// Decisions of programs that are written by hand, which a product cannot take; the exact form takes all.
// RUN: fa-opt %s -split-input-file -verify-diagnostics --tile-lower-stabilizer
// RUN: fa-opt %s -split-input-file --tile-lower-stabilizer=exact -o /dev/null

tile.func @slack_without_ones(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 8>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0) -> (tensor<64x64xf32>, !tile.reference<64xf32, slack = 8>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 8>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x64xf32>, tensor<64xf32>
    // expected-error @+1 {{takes rounded weights of a reference with slack and has no ones, whose sums divide the same errors out; add ones, or add up what it takes, or remove slack from '!tile.reference<64xf32, slack = 8>'}}
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %o1, %m1 : tensor<64x64xf32>, !tile.reference<64xf32, slack = 8>
  }
  tile.store %r#0, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

tile.func @constant_without_ones(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %m0 = tile.reference : !tile.reference<64xf32, constant = 0>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0) -> (tensor<64x64xf32>, !tile.reference<64xf32, constant = 0>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, constant = 0>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x64xf32>, tensor<64xf32>
    // expected-error @+1 {{takes rounded weights of a reference with a constant and has no ones}}
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    scf.yield %o1, %m1 : tensor<64x64xf32>, !tile.reference<64xf32, constant = 0>
  }
  tile.store %r#0, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

tile.func @slack_f16(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 12>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0) -> (tensor<64x72xf32>, !tile.reference<64xf32, slack = 12>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    // expected-error @+1 {{has slack of 12.0 in base-2 exponents, and a product that takes 'tensor<64x64xf16>': expected 8 at most; choose a smaller one}}
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 12>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x72xf32>
    scf.yield %o1, %m1 : tensor<64x72xf32>, !tile.reference<64xf32, slack = 12>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

tile.func @slack_bf16(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 40>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0) -> (tensor<64x72xf32>, !tile.reference<64xf32, slack = 40>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    // expected-error @+1 {{has slack of 40.0 in base-2 exponents, and a product that takes 'tensor<64x64xbf16>': expected 32 at most; choose a smaller one}}
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 40>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1 : tensor<64x72xf32>, !tile.reference<64xf32, slack = 40>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

tile.func @constant_f16(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %m0 = tile.reference : !tile.reference<64xf32, constant = -8, fold>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0) -> (tensor<64x72xf32>, !tile.reference<64xf32, constant = -8, fold>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    // expected-error @+1 {{has a constant of 16.0 in base-2 exponents, and a product that takes 'tensor<64x64xf16>': expected 15 at most; choose a smaller one}}
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, constant = -8, fold>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x72xf32>
    scf.yield %o1, %m1 : tensor<64x72xf32>, !tile.reference<64xf32, constant = -8, fold>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

tile.func @right(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 8, fold>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0) -> (tensor<64x72xf32>, !tile.reference<64xf32, slack = 8, fold>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 8, fold>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x72xf32>
    scf.yield %o1, %m1 : tensor<64x72xf32>, !tile.reference<64xf32, slack = 8, fold>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
