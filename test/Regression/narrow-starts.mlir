// Starts of sequences of 16 bits: what the loading role finds of the sequence is sent without them.
// RUN: fa-opt %s --target=sm_90a -o /dev/null
// RUN: fa-run %s --shape=3,2,1,50,60 --check
// RUN: fa-run %s --shape=3,2,1,50,60 --check --device=interp --target=sm_90a
func.func @f(%q: tensor<?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x64xbf16> {fa.name = "k"}, %v: tensor<?x?x64xbf16> {fa.name = "v"},
             %z: tensor<?xf32> {fa.name = "z", fa.dims = ["Hq"]}, %cu: tensor<?xi16> {fa.name = "cu", fa.dims = ["B+1"]}) -> (tensor<?x?x64xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [window<20, 20>] sink(%z) sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<?x?x64xbf16>, tensor<?x?x64xbf16>, tensor<?x?x64xbf16>, tensor<?xf32>, tensor<?xi16>, tensor<?xi16>) -> tensor<?x?x64xbf16>
  return %o : tensor<?x?x64xbf16>
}
