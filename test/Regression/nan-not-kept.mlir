// A P of NaN that dropout does not keep is no weight: dV of a key that no row keeps is 0, though each row is NaN.
// RUN: fa-run %s --shape=1,2,1,1,40 --backward --check | FileCheck %s
// RUN: fa-run %s --shape=1,2,1,1,40 --device=interp --target=sm_80 --backward --check | FileCheck %s
// CHECK: deviation: dv {{.*}}: passed, 624 NaN as in the reference
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"},
              %p: f32 {fa.name = "p"}, %seed: i64 {fa.name = "seed"}, %offset: i64 {fa.name = "offset"})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) dropout(%p, %seed, %offset) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c7 = arith.constant 7 : index
    %x = arith.constant 0x7FC00000 : f32
    %hit = arith.cmpi eq, %j, %c7 : index
    %t = arith.select %hit, %x, %s : f32
    fa.yield %t : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, f32, i64, i64) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
