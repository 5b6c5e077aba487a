// Row 2 has scores of -inf alone, beside a sink: it adds 0 to gradients, though the derivative of its scores is infinite.
// RUN: fa-run %s --shape=1,2,1,20,40 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_80 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_90a --backward --check
// RUN: fa-run %s --dtype=bf16 --shape=1,2,1,20,40 --backward --check
// RUN: fa-run %s --dtype=f16 --shape=1,2,1,20,40 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %z: tensor<?xf32> {fa.name = "z", fa.dims = ["Hq"]})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sink(%z)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %two = arith.constant 2 : index
    %d = arith.subi %i, %two : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %m = math.absf %f : f32
    %e = math.exp %s : f32
    %g = arith.negf %e : f32
    %r = arith.divf %g, %m : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
