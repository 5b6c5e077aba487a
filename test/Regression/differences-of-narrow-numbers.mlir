// A difference of numbers of a type that wraps is in no range that its sum with the same number has.
// RUN: fa-run %s --shape=1,1,1,110,64 --check
// RUN: fa-run %s --shape=1,1,1,110,64 --check --device=interp --target=sm_90a
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"}, %v: tensor<?x?x?x64xf32> {fa.name = "v"})
 -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c300 = arith.constant 300 : index
    %i3 = arith.muli %i, %c300 : index
    %c0 = arith.constant 0 : i16
    %x0 = arith.index_cast %i3 : index to i16
    %x = arith.maxsi %x0, %c0 : i16
    %k1 = arith.constant 20000 : i16
    %y0 = arith.remsi %x0, %k1 : i16
    %y1 = arith.maxsi %y0, %c0 : i16
    %sh = arith.subi %c0, %y1 : i16
    %d = arith.subi %x, %sh : i16
    %m3 = arith.constant -3 : i16
    %m = arith.maxsi %d, %m3 : i16
    %t = arith.addi %m, %sh : i16
    %e = arith.index_cast %t : i16 to index
    %y = arith.cmpi ult, %j, %e : index
    %z = arith.constant 2.0 : f32
    %g = arith.addf %s, %z : f32
    %r = arith.select %y, %g, %s : f32
    fa.yield %r : f32
  }
  : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
