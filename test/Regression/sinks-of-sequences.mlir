// Of sequences in a row, too, what says which rows attend to their sink alone lies where their LSE does.
// RUN: fa-run %s --backward --dlse --check --shape=2,2,2,60,70
// RUN: fa-run %s --backward --dlse --check --shape=2,2,2,60,70 --device=interp --target=sm_80
// RUN: fa-run %s --backward --dlse --check --shape=2,2,2,60,70 --device=interp --target=sm_90a
func.func @f(%q: tensor<?x?x32xbf16> {fa.name = "q"}, %k: tensor<?x?x32xbf16> {fa.name = "k"}, %v: tensor<?x?x32xbf16> {fa.name = "v"}, %z: tensor<?xf32> {fa.name = "z", fa.dims = ["Hq"]}, %query_starts: tensor<?xi64> {fa.name = "query_starts", fa.dims = ["B+1"]}, %key_starts: tensor<?xi64> {fa.name = "key_starts", fa.dims = ["B+1"]})
    -> (tensor<?x?x32xbf16> {fa.name = "o"}, tensor<?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] sink(%z) sequences(query_starts(%query_starts) key_starts(%key_starts))
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
%a = math.absf %s : f32
%r = math.sqrt %a : f32
    fa.yield %r : f32
  }
    : (tensor<?x?x32xbf16>, tensor<?x?x32xbf16>, tensor<?x?x32xbf16>, tensor<?xf32>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x?x32xbf16>, tensor<?x?xf32>)
  return %o, %lse : tensor<?x?x32xbf16>, tensor<?x?xf32>
}
