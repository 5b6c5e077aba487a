// A conditional rescale of 64 elements is a branch round 64 products, never 64
// selects that are executed always: vectors are scalarized before all else.
// RUN: fa-opt %s --target=sm_80 --compile-from=schedule --emit=ptx | FileCheck %s

// CHECK: .visible .entry rescale(
// CHECK-NOT: selp
// CHECK: @%p{{[0-9]+}} bra [[AFTER:\$L__BB0_[0-9]+]]
// CHECK-COUNT-64: mul.rn.ftz.f32
// CHECK: [[AFTER]]:
// CHECK-NOT: selp
// CHECK: ret
gpu.module @m {
  llvm.func @rescale(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32, %x: f32) attributes {nvvm.kernel} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %o0 = arith.constant dense<1.0> : vector<64xf32>
    %o = scf.for %i = %c0 to %n step %c1 iter_args(%o = %o0) -> (vector<64xf32>) : i32 {
      %a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %m = llvm.load %a : !llvm.ptr<1> -> f32
      %grew = arith.cmpf ogt, %m, %x : f32
      %r = scf.if %grew -> vector<64xf32> {
        %v = vector.broadcast %m : f32 to vector<64xf32>
        %s = arith.mulf %o, %v : vector<64xf32>
        scf.yield %s : vector<64xf32>
      } else {
        scf.yield %o : vector<64xf32>
      }
      scf.yield %r : vector<64xf32>
    }
    llvm.store %o, %q : vector<64xf32>, !llvm.ptr<1>
    llvm.return
  }
}
