// Scores that are negative all along a tile: tile-test-before-reducing compares their bits as integers,
// among which such a tile has no right maximum.
// RUN: %python %S/Inputs/negative.py %t.in 130 1000
// RUN: fa-opt %s --target=sm_90a --compile-to=schedule | FileCheck %s --check-prefix=BITS
// RUN: fa-run %s --entry=plain --device=interp --target=sm_90a --in=%t.in --check | FileCheck %s
// RUN: fa-run %s --entry=window --device=interp --target=sm_90a --in=%t.in --check | FileCheck %s
// RUN: fa-run %s --entry=softcap --device=interp --target=sm_90a --in=%t.in --check | FileCheck %s

// BITS-COUNT-3: arith.maxsi
// CHECK: o {{.*}}: passed
// CHECK: lse {{.*}}: passed
func.func @plain(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
                %v: tensor<?x?x?x64xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) scale(1.0)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

func.func @window(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
                %v: tensor<?x?x?x64xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [window<300, 0>] scale(0.0625)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

func.func @softcap(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
                %v: tensor<?x?x?x64xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [softcap<20.0>] scale(1.0)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
