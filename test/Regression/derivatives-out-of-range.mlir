// Squares of operands leave the range of f32, derivatives do not.
// RUN: fa-run %s --shape=1,2,1,20,40 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_80 --backward --check
// RUN: fa-run %s --shape=1,2,1,20,40 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %small = arith.constant 1.0e-20 : f32
    %large = arith.constant 1.0e+20 : f32
    %one = arith.constant 1.0 : f32
    %a = arith.mulf %s, %small : f32
    %x = math.atan2 %a, %small : f32
    %b1 = arith.mulf %s, %large : f32
    %y = math.atan2 %large, %b1 : f32
    %z = math.asinh %b1 : f32
    %m = math.absf %b1 : f32
    %n = arith.addf %m, %large : f32
    %u = math.acosh %n : f32
    %v = arith.addf %x, %y : f32
    %w = arith.subf %u, %z : f32
    %r = arith.addf %v, %w : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
