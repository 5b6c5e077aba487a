// Comparisons of 16 bits, and arithmetic of f16, are computed in f32: the back end would flush subnormals of f16, and writes
// comparisons of bf16 that ptxas refuses. Extensions that were written are not seen through either.
// RUN: fa-opt %s --target=sm_90a --compile-from=schedule --emit=ptx | FileCheck %s --implicit-check-not=ftz.bf16 --implicit-check-not='{{(setp|abs|neg|add|sub|mul|fma|min|max)[a-zA-Z.]*\.f16}}'
gpu.module @m {
  // CHECK-LABEL: .entry brain(
  // CHECK: setp.gt.ftz.f32
  // CHECK: setp.le{{u?}}.ftz.f32
  // CHECK: sub{{.*}}.bf16
  llvm.func @brain(%p: !llvm.ptr<1>, %x: bf16, %y: bf16, %i: i16) attributes {nvvm.kernel} {
    %0 = arith.cmpf ogt, %x, %y : bf16
    %1 = arith.extf %x : bf16 to f32
    %2 = arith.bitcast %i : i16 to bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.cmpf ule, %1, %3 : f32
    %5 = arith.subf %x, %y : bf16
    %6 = arith.select %0, %5, %x : bf16
    %7 = arith.select %4, %6, %y : bf16
    llvm.store volatile %7, %p : bf16, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: .entry half(
  // CHECK-DAG: sub.rn.ftz.f32
  // CHECK-DAG: mul.rn.ftz.f32
  // CHECK-DAG: fma.rn.ftz.f32
  // CHECK-DAG: max.ftz.NaN.f32
  // CHECK-DAG: min.ftz.f32
  // CHECK-DAG: setp.gt.ftz.f32
  // CHECK: ret
  llvm.func @half(%p: !llvm.ptr<1>, %x: f16, %y: f16) attributes {nvvm.kernel} {
    %0 = arith.cmpf ogt, %x, %y : f16
    %1 = arith.subf %x, %y : f16
    %2 = arith.mulf %1, %y : f16
    %3 = math.fma %1, %2, %y : f16
    %4 = arith.maximumf %3, %x : f16
    %5 = arith.minnumf %4, %2 : f16
    %6 = arith.negf %5 : f16
    %7 = math.absf %6 : f16
    %8 = math.copysign %7, %x : f16
    %9 = arith.select %0, %8, %y : f16
    llvm.store volatile %9, %p : f16, !llvm.ptr<1>
    llvm.return
  }
}
