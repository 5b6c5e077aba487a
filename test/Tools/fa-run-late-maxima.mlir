// Logits of standard deviation 9, of which few weigh: with references that are up to 2^32 below the maximum,
// and sums of the rounded weights, the error is what it is without.
// RUN: fa-opt %s --target=sm_90a --compile-to=tile -o %t.tile
// RUN: fa-opt %t.tile --tile-append-row-sum --tile-rescale-lazily --tile-fold-scale --tile-test-before-reducing -o %t.said
// RUN: fa-opt %t.said --tile-lower-stabilizer -o %t.late
// RUN: FileCheck %s --check-prefix=SAID < %t.said
// RUN: FileCheck %s --check-prefix=LATE < %t.late
// RUN: fa-run %s --device=interp --interp-program=%t.said --shape=1,1,1,100,700 --seed=1 --check | FileCheck %s
// RUN: fa-run %s --device=interp --interp-program=%t.late --shape=1,1,1,100,700 --seed=1 --check | FileCheck %s
// RUN: fa-run %s --device=interp --interp-program=%t.late --shape=1,2,1,130,500 --seed=2 --check | FileCheck %s

// SAID: tile.stabilize {{.*}} test({{.*}} <{{.*}}, slack = 32, fold, test>
// LATE: arith.maxsi
// LATE: tile.if_any
// LATE: tile.dot {{.*}} ones
// CHECK: deviation: o {{.*}}: passed
// CHECK: deviation: lse {{.*}}: passed
func.func @f(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
             %v: tensor<?x?x?x64xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] scale(1.125)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
