// Warps that share columns of few keys are as many as have 16 each of the widest head; more, by --tile-warps, are refused.
// RUN: fa-run %s --shape=2,1,1,40,40 --device=interp --target=sm_80 --tile-keys=16 --fused --backward --check
// RUN: not fa-opt %s --target=sm_80 --tile-keys=16 --tile-warps=32 --backward -o /dev/null 2>&1 | FileCheck %s
// CHECK: 32 warps of tiles of 16 keys share more columns than the widest heads have; choose fewer by --tile-warps, or larger tiles
func.func @f(%q: tensor<?x?x32xf16> {fa.name = "q"}, %k: tensor<?x?x32xf16> {fa.name = "k"}, %v: tensor<?x?x32xf16> {fa.name = "v"},
    %cu: tensor<?xi32> {fa.name = "cu", fa.kind = "starts", fa.dims = ["B+1"]})
  -> (tensor<?x?x32xf16> {fa.name = "o"}, tensor<?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%cu) key_starts(%cu))
  : (tensor<?x?x32xf16>, tensor<?x?x32xf16>, tensor<?x?x32xf16>, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?x32xf16>, tensor<?x?xf32>)
  return %o, %lse : tensor<?x?x32xf16>, tensor<?x?xf32>
}
