// Scores that integers take far from 0 in all of a row: P is exp(x - lse), since a product that is rounded with its sum is
// off by the last bit of a large LSE; dv was 2572288 where 7.6 is right.
// RUN: split-file %s %t
// RUN: fa-run %t/captured.mlir --backward --shape=1,2,1,12,1 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %t/constant.mlir --backward --shape=1,2,1,12,10 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %t/constant.mlir --backward --dtype=f16 --shape=1,2,1,12,10 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %t/product.mlir --backward --shape=1,2,1,12,10 --check | FileCheck %s --implicit-check-not=FAILED
// CHECK-DAG: {{^}}deviation: dq {{.*}}: passed
// CHECK-DAG: {{^}}deviation: dk {{.*}}: passed
// CHECK-DAG: {{^}}deviation: dv {{.*}}: passed
// RUN: fa-opt %t/product.mlir --fa-generate-backward=only=true | FileCheck %s --check-prefix=SUBTRACTS
// SUBTRACTS: weights {
// SUBTRACTS: %[[LSE:.*]] = tensor.extract
// SUBTRACTS-NEXT: arith.subf %{{.*}}, %[[LSE]]

//--- captured.mlir
func.func @f(%q: tensor<?x?x?x16xbf16> {fa.name = "q"}, %k: tensor<?x?x?x16xbf16> {fa.name = "k"}, %v: tensor<?x?x?x16xbf16> {fa.name = "v"}, %keep: tensor<?x?xi32> {fa.name = "keep", fa.kind = "flags", fa.dims = ["B", "Sk"]})
 -> (tensor<?x?x?x16xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
 %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%keep)
 score {
 ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %m: tensor<?x?xi32>):
 %one = arith.constant 1 : i32
 %far = arith.constant -1000000000 : i32
 %x = tensor.extract %m[%b, %j] : tensor<?x?xi32>
 %y = arith.subi %one, %x : i32
 %n = arith.muli %y, %far : i32
 %f = arith.sitofp %n : i32 to f32
 %r = arith.addf %s, %f : f32
 fa.yield %r : f32
 }
 : (tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>, tensor<?x?xi32>) -> (tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>)
 return %o, %lse : tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>
}

//--- constant.mlir
func.func @f(%q: tensor<?x?x?x16xbf16> {fa.name = "q"}, %k: tensor<?x?x?x16xbf16> {fa.name = "k"}, %v: tensor<?x?x?x16xbf16> {fa.name = "v"})
 -> (tensor<?x?x?x16xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
 %o, %lse = fa.attention query(%q) key(%k) value(%v)
 score {
 ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
 %zero = arith.constant 0 : i32
 %far = arith.constant -1000000000 : i32
 %c5 = arith.constant 5 : index
 %near = arith.cmpi slt, %i, %c5 : index
 %n = arith.select %near, %zero, %far : i32
 %f = arith.sitofp %n : i32 to f32
 %r = arith.addf %s, %f : f32
 fa.yield %r : f32
 }
 : (tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>) -> (tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>)
 return %o, %lse : tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>
}

//--- product.mlir
func.func @f(%q: tensor<?x?x?x16xbf16> {fa.name = "q"}, %k: tensor<?x?x?x16xbf16> {fa.name = "k"}, %v: tensor<?x?x?x16xbf16> {fa.name = "v"})
 -> (tensor<?x?x?x16xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
 %o, %lse = fa.attention query(%q) key(%k) value(%v)
 score {
 ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
 %e = arith.constant 3000.0 : f32
 %n = arith.mulf %e, %e : f32
 %r = arith.subf %s, %n : f32
 fa.yield %r : f32
 }
 : (tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>) -> (tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>)
 return %o, %lse : tensor<?x?x?x16xbf16>, tensor<?x?x?xf32>
}
