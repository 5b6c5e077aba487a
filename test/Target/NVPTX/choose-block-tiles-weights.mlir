// What weights and masks take of registers makes the other side of a tile of keys narrower: the widest that ptxas
// gives no spills at 128 columns. A score of functions alone is done before the second product, and takes nothing.
// RUN: fa-opt %s --fa-generate-backward=only=true --fa-rewrite-pairwise --gpu-choose-block-tiles=target=sm_90a | FileCheck %s

// What is added at computed indices has an address for each score: half of the keys (128 of it, and 96, spill 2480 and 864 bytes).
// RUN: fa-opt %examples/custom.mlir --dtype=bf16 --backward --target=sm_90a --remarks=gpu-choose-block-tiles --emit=ptx -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCATTER
// SCATTER: tiles of 128 rows and 64 keys for 8 warps in @custom_backward_rows

// CHECK: fa.map_blocks @causal_backward_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 64 : i64, warps = 8 : i64}
func.func @causal(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// CHECK: fa.map_blocks @window_backward_keys {{.*}}rows = 48 : i64
func.func @window(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [window<255, 0>]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// CHECK: fa.map_blocks @softcap_backward_keys {{.*}}rows = 64 : i64
func.func @softcap(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, softcap<30.0>]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// A tile that is of no product.
// CHECK: fa.map_blocks @alibi_backward_keys {{.*}}rows = 64 : i64
func.func @alibi(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %slopes: tensor<?xf32>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, alibi(%slopes)]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// CHECK: fa.map_blocks @dropout_backward_keys {{.*}}rows = 64 : i64
func.func @dropout(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: f32, %seed: i64, %offset: i64)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) dropout(%p, %seed, %offset)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, f32, i64, i64) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// Blocks of 128 that a captured tensor tells of: steps divide them, so that each lies in one.
!q = tensor<?x?x?x128xbf16>
!m = tensor<?x?xi1>
// CHECK: fa.map_blocks @blocks_backward_rows {{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// CHECK: fa.map_blocks @blocks_backward_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 64 : i64, warps = 8 : i64}
func.func @blocks(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/128", "Sk/128"]}) -> (!q {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [blocks<128, 128>(%m)] : (!q, !q, !q, !m) -> (!q, tensor<?x?x?xf32>)
  return %o, %lse : !q, tensor<?x?x?xf32>
}

// Blocks of 64, which two warpgroups would straddle: each is a block of its own, and an SM holds two.
// CHECK: fa.map_blocks @narrow_backward_rows {{.*}}fa.tiles = {blocks = 2 : i64, keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
// CHECK: fa.map_blocks @narrow_backward_keys {{.*}}fa.tiles = {blocks = 2 : i64, keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @narrow(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/64", "Sk/64"]}) -> (!q {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [blocks<64, 64>(%m)] : (!q, !q, !q, !m) -> (!q, tensor<?x?x?xf32>)
  return %o, %lse : !q, tensor<?x?x?xf32>
}
