// Exponents from one fma were off by bits for large scores: by as many as the rounding of the
// maximum times the scale was, another number in each iteration. Beyond 2^15 the maximum is subtracted.
// RUN: sed -e s/TYPE/f16/g -e s/SIZE/64/g -e s/AT/4.172144320e+08/ -e s/STEP/0.0/ %s > %t.nan.mlir
// RUN: fa-run %t.nan.mlir --device=interp --target=sm_90a --shape=1,1,1,20,100 --check | FileCheck %s
// RUN: sed -e s/TYPE/f16/g -e s/SIZE/64/g -e s/AT/-4.172144320e+08/ -e s/STEP/0.0/ %s > %t.negative.mlir
// RUN: fa-run %t.negative.mlir --device=interp --target=sm_90a --shape=1,1,1,20,100 --check | FileCheck %s
// RUN: sed -e s/TYPE/bf16/g -e s/SIZE/80/g -e s/AT/4194304.0/ -e s/STEP/0.5/ %s > %t.between.mlir
// RUN: fa-run %t.between.mlir --device=interp --target=sm_90a --shape=1,1,1,40,700 --check | FileCheck %s
// RUN: sed -e s/TYPE/bf16/g -e s/SIZE/256/g -e s/AT/2097152.0/ -e s/STEP/0.25/ %s > %t.wide.mlir
// RUN: fa-run %t.wide.mlir --device=interp --target=sm_90a --shape=1,1,1,40,300 --check | FileCheck %s
// Just below the limit, an error in each iteration that the type's own hides:
// RUN: sed -e s/TYPE/f16/g -e s/SIZE/64/g -e s/AT/22000.0/ -e s/STEP/0.25/ %s > %t.below.mlir
// RUN: fa-run %t.below.mlir --device=interp --target=sm_90a --shape=1,1,1,40,700 --check | FileCheck %s

// CHECK: deviation: o {{.*}}: passed
// CHECK: deviation: lse {{.*}}: passed
func.func @f(%q: tensor<?x?x?xSIZExTYPE> {fa.name = "q"}, %k: tensor<?x?x?xSIZExTYPE> {fa.name = "k"},
             %v: tensor<?x?x?xSIZExTYPE> {fa.name = "v"})
    -> (tensor<?x?x?xSIZExTYPE> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %none = arith.constant 0.0 : f32
    %at = arith.constant AT : f32
    %step = arith.constant STEP : f32
    %c128 = arith.constant 128 : index
    %block = arith.divui %j, %c128 : index
    %number = arith.index_cast %block : index to i32
    %float = arith.sitofp %number : i32 to f32
    %zero = arith.mulf %s, %none : f32
    %x = arith.mulf %float, %step : f32
    %y = arith.addf %x, %zero : f32
    %z = arith.addf %y, %at : f32
    fa.yield %z : f32
  } : (tensor<?x?x?xSIZExTYPE>, tensor<?x?x?xSIZExTYPE>, tensor<?x?x?xSIZExTYPE>)
    -> (tensor<?x?x?xSIZExTYPE>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?xSIZExTYPE>, tensor<?x?x?xf32>
}
