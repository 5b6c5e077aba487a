// NaN that the formulas ask for is no error: queries that see key 5 get NaN, those before get numbers.
// RUN: sed -e 's/VALUE/0x7FC00000/' %s > %t.nan.mlir
// RUN: fa-run %t.nan.mlir --shape=1,2,1,70,70 --check | FileCheck %s
// RUN: fa-run %t.nan.mlir --shape=1,2,1,70,70 --check --standard-attention | FileCheck %s
// RUN: fa-run %t.nan.mlir --shape=1,2,1,70,70 | FileCheck %s --check-prefix=COUNT
// RUN: sed -e 's/VALUE/0x7F800000/' %s > %t.inf.mlir
// RUN: fa-run %t.inf.mlir --shape=1,2,1,70,70 --check | FileCheck %s
// RUN: fa-run %t.inf.mlir --shape=1,2,1,70,70 | FileCheck %s --check-prefix=COUNT

// CHECK: deviation: o {{.*}}: passed, 2080 NaN as in the reference
// CHECK: deviation: lse {{.*}}: passed, 130 NaN as in the reference
// COUNT: @nan: o 1x2x70x16 of f32, 2080 NaN, 0 infinite; lse 1x2x70 of f32, 130 NaN, 0 infinite
func.func @nan(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"},
               %v: tensor<?x?x?x16xf32> {fa.name = "v"}) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c5 = arith.constant 5 : index
    %x = arith.constant VALUE : f32
    %hit = arith.cmpi eq, %j, %c5 : index
    %t = arith.select %hit, %x, %s : f32
    fa.yield %t : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
