// Where all values are 0, so is the output, and beside a sink of -inf, or one far above the scores, a row was taken for one that
// attends to its sink alone: its P were 0. That is asked for only where a derivative may be infinite.
// RUN: %python %S/Inputs/tensors.py %t.inf q=1,2,40,16 k=1,2,50,16 v=1,2,50,16:0 z=2:-inf,1 do=1,2,40,16 dlse=1,2,40
// RUN: fa-run %s --in=%t.inf --backward --dlse --check
// RUN: fa-run %s --in=%t.inf --backward --dlse --check --device=interp --target=sm_80
// RUN: fa-run %s --in=%t.inf --backward --dlse --check --device=interp --target=sm_90a
// RUN: %python %S/Inputs/tensors.py %t.far q=1,2,40,16 k=1,2,50,16 v=1,2,50,16:0 z=2:18,20 do=1,2,40,16 dlse=1,2,40
// RUN: fa-run %s --in=%t.far --backward --dlse --check
// RUN: fa-run %s --in=%t.far --backward --dlse --check --device=interp --target=sm_80
// RUN: fa-run %s --in=%t.far --backward --dlse --check --device=interp --target=sm_90a
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %z: tensor<?xf32> {fa.name = "z", fa.dims = ["Hq"]})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sink(%z)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %a = math.absf %s : f32
    %r = math.sqrt %a : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
