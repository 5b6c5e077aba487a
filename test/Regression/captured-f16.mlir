// Conversions that say no flags crashed the expansion of regions, which drops flags.
// RUN: fa-opt %s --target=cpu --compile-to=tile | FileCheck %s
// CHECK: arith.extf
func.func @captured_f16(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"}, %x: tensor<?x?xf16> {fa.name = "x", fa.dims = ["Sq", "Sk"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [bias(%x)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?xf16>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
