// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-rewrite-online-softmax -fa-tile-attention
// RUN: not fa-opt %s -split-input-file -fa-tile-attention="rows=12" 2>&1 | FileCheck %s

// CHECK: error: tile size rows=12 must be a multiple of 8 up to 1024, or 0 to choose

func.func @sizeof(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    // expected-error @+1 {{'index.sizeof' cannot be computed on a tile; use ops that apply element by element}}
    %0 = index.sizeof
    %1 = index.cmp slt(%0, %i)
    fa.yield %1 : i1
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
