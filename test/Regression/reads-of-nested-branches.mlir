// The place of a read that is computed by a branch inside of a branch is computed again outside of both.
// RUN: fa-run %s --shape=1,2,1,20,20 --backward --check
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"}, %v: tensor<?x?x?x64xf32> {fa.name = "v"},
    %c: tensor<16xf32> {fa.name = "c", fa.dims = [""]})
  -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %a: tensor<16xf32>):
    %p = arith.cmpi slt, %i, %j : index
    %t = scf.if %p -> (f32) {
      %n = scf.if %p -> (index) {
        scf.yield %b : index
      } else {
        scf.yield %h : index
      }
      %x = tensor.extract %a[%n] : tensor<16xf32>
      scf.yield %x : f32
    } else {
      scf.yield %s : f32
    }
    %r = arith.addf %s, %t : f32
    fa.yield %r : f32
  }
  : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<16xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
