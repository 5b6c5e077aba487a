// Layouts of warpgroups are for targets with asynchronous products: sm_90 has none, and takes what
// sm_80 takes.
// RUN: fa-opt %s --target=sm_90 --tile-warps=2 --tile-rows=32 --compile-to=schedule | FileCheck %s
// RUN: fa-opt %s --target=sm_80 --tile-warps=2 --tile-rows=32 --compile-to=schedule | FileCheck %s

// CHECK: tile.warps = 2
// CHECK: tile.dot
func.func @causal(%q: tensor<?x8x?x128xf16> {fa.name = "q"}, %k: tensor<?x2x?x128xf16> {fa.name = "k"},
                  %v: tensor<?x2x?x128xf16> {fa.name = "v"}) -> (tensor<?x8x?x128xf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x8x?x128xf16>, tensor<?x2x?x128xf16>, tensor<?x2x?x128xf16>) -> tensor<?x8x?x128xf16>
  return %o : tensor<?x8x?x128xf16>
}
