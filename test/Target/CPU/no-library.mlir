// Of every example: products are multiply-adds that the processor fuses, and nothing outside is
// called but LLVM's intrinsics.
// RUN: bash -c "for t in avx2 avx512; do for f in %examples/*.mlir; do fa-opt $f --target=cpu-$t --emit=llvm || exit 1; done; done" > %t.ll
// RUN: sed -n "/^declare/p" %t.ll | FileCheck %s --check-prefix=DECLARED
// RUN: FileCheck %s --input-file=%t.ll

// CHECK: call <{{[0-9]+}} x float> @llvm.fmuladd.v

// DECLARED: declare {{.*}}@llvm.fma
// DECLARED-NOT: @{{[^l]|l[^l]|ll[^v]}}
