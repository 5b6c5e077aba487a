// Which instructions functions become. What is not approximate has no `call`.
// RUN: fa-opt %s --target=sm_80 --compile-from=schedule --emit=ptx | FileCheck %s
// RUN: fa-opt %s --target=sm_80 --compile-from=schedule --emit=ptx | FileCheck %s --check-prefix=NONE

// NONE-NOT: {{call|\.extern|vprintf}}
gpu.module @m {
  // CHECK-LABEL: .entry exact(
  // CHECK: ex2.approx.ftz.f32
  // CHECK: ex2.approx.ftz.f32
  // CHECK: fma.rn.f64
  // CHECK: sqrt.rn.ftz.f32
  // CHECK: rsqrt.approx.ftz.f32
  // CHECK: div.rn.ftz.f32
  llvm.func @exact(%p: !llvm.ptr<1>, %x: f32, %y: f32) attributes {nvvm.kernel} {
    %0 = math.exp2 %x : f32
    %1 = math.exp %y : f32
    %2 = math.sin %x : f32
    %3 = math.sqrt %x : f32
    %4 = math.rsqrt %y : f32
    %5 = arith.divf %x, %y : f32
    %6 = vector.from_elements %0, %1, %2, %3, %4, %5 : vector<6xf32>
    llvm.store volatile %6, %p : vector<6xf32>, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: .entry approximate(
  // CHECK: lg2.approx.ftz.f32
  // CHECK: tanh.approx.f32
  // CHECK: sin.approx.ftz.f32
  // CHECK: cos.approx.ftz.f32
  // CHECK: sqrt.approx.ftz.f32
  // CHECK: div.approx.ftz.f32
  llvm.func @approximate(%p: !llvm.ptr<1>, %x: f32, %y: f32) attributes {nvvm.kernel} {
    %0 = math.log %x fastmath<afn> : f32
    %1 = math.tanh %x fastmath<afn> : f32
    %2 = math.sin %x fastmath<afn> : f32
    %3 = math.cos %x fastmath<afn> : f32
    %4 = math.sqrt %x fastmath<afn> : f32
    %5 = arith.divf %x, %y fastmath<afn> : f32
    %6 = vector.from_elements %0, %1, %2, %3, %4, %5 : vector<6xf32>
    llvm.store volatile %6, %p : vector<6xf32>, !llvm.ptr<1>
    llvm.return
  }

  // Products and sums are fused only where that is allowed.
  // CHECK-LABEL: .entry contract(
  // CHECK: fma.rn.ftz.f32
  // CHECK-LABEL: .entry separate(
  // CHECK-NOT: fma
  llvm.func @contract(%p: !llvm.ptr<1>, %x: f32, %y: f32) attributes {nvvm.kernel} {
    %0 = arith.mulf %x, %y fastmath<contract> : f32
    %1 = arith.addf %0, %x fastmath<contract> : f32
    llvm.store %1, %p : f32, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @separate(%p: !llvm.ptr<1>, %x: f32, %y: f32) attributes {nvvm.kernel} {
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %0, %x : f32
    llvm.store %1, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
