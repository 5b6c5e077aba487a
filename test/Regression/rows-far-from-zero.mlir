// All scores of a row are so far from 0 that log2 e times them, or what rounds them, is no use: P of gradients is a power of differences.
// RUN: fa-run %s --dtype=bf16 --shape=1,1,1,8,40 --backward --check
// RUN: fa-run %s --dtype=f16 --shape=1,1,1,8,40 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"}, %v: tensor<?x?x?x64xf32> {fa.name = "v"})
  -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %big = arith.constant -3.4028234e38 : f32
    %c = arith.constant 3 : index
    %p = arith.cmpi slt, %i, %c : index
    %x = arith.addf %s, %big : f32
    %y = arith.select %p, %x, %s : f32
    fa.yield %y : f32
  }
  : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
