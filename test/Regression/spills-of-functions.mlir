// Of functions of many steps, asinh, acosh and atanh were not known to take many registers: their tiles spilled.
// REQUIRES: ptxas
// RUN: fa-opt %s --target=sm_90a --emit=ptx -o %t.ptx
// RUN: ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s

// CHECK-COUNT-3: 0 bytes spill stores
// CHECK-NOT: {{[1-9][0-9]*}} bytes spill stores
func.func @asinh(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
    %v: tensor<?x?x?x64xbf16> {fa.name = "v"}) -> (tensor<?x?x?x64xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %r = math.asinh %s : f32
      fa.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
func.func @acosh(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
    %v: tensor<?x?x?x64xbf16> {fa.name = "v"}) -> (tensor<?x?x?x64xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %r = math.acosh %s : f32
      fa.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
func.func @atanh(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
    %v: tensor<?x?x?x64xbf16> {fa.name = "v"}) -> (tensor<?x?x?x64xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %r = math.atanh %s : f32
      fa.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
