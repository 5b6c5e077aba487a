// RUN: fa-opt %s -convert-tile-to-linalg -split-input-file -verify-diagnostics

tile.func @fp8(%x: !tile.view<?x64xf8E4M3FN>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %a = tile.load %x[%t, %c0] dims [0, 1] : !tile.view<?x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  %acc = tile.broadcast %z : f32 -> tensor<64x64xf32>
  // expected-error @+1 {{products of 'f8E4M3FN' cannot be lowered to the cpu; expected f16, bf16 or f32}}
  %d = tile.dot %a, %a, %acc : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>
  tile.return
}

// -----

tile.func @rank(%x: !tile.view<?x?x?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  // expected-error @+1 {{tiles in memory have rank 1 or 2 on the cpu, got rank 3}}
  %a = tile.load %x[%t, %t, %t] dims [0, 1, 2] : !tile.view<?x?x?xf32> -> tensor<4x4x4xf32>
  tile.return
}

// -----

tile.func @constant(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  // expected-error @+1 {{tiles of different constants cannot be lowered to the cpu; compute them from tile.iota}}
  %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  tile.store %a, %x[%t] dims [0] : tensor<2xf32>, !tile.view<?xf32>
  tile.return
}

// -----

// expected-error @+1 {{'!tile.view<?xi128>' cannot be lowered to the cpu; expected integers of 64 bits at most}}
tile.func @wide(%x: !tile.view<?xi128>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  tile.return
}

// -----

tile.func @two_results(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %v = tile.load %x[%t] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  // expected-error @+1 {{'math.sincos' on tiles has 2 results; the cpu lowers ops of one, compute each by an op of its own}}
  %s, %c = math.sincos %v : tensor<64xf32>
  tile.return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
// expected-error @+1 {{cannot be lowered to the cpu; expected a view that lies row by row}}
tile.func @boxes(%x: !tile.view<?x64xf32, #order>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  tile.return
}

// -----

tile.func @ran(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.load %x[%t] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %some = arith.cmpf ogt, %v, %v : tensor<64xf32>
  %w, %ran = tile.if_any %some (%v) : tensor<64xi1>, (tensor<64xf32>) -> !tile.ran {
    tile.yield %v : tensor<64xf32>
  }
  // expected-error @+1 {{'scf.for' of '!tile.ran' cannot be lowered to the cpu; only tile.if_any reads it there}}
  %r = scf.for %i = %c0 to %t step %c1 iter_args(%before = %ran) -> !tile.ran {
    scf.yield %before : !tile.ran
  }
  tile.return
}
