// A barrier in inline assembly stays one instruction: without the mark, LLVM
// copies it into both arms of the branches round it.
// RUN: fa-opt %s --target=sm_80 --compile-from=nvvm --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: fa-opt %s --target=sm_80 --compile-from=nvvm --emit=ptx | FileCheck %s --check-prefix=PTX

// LLVM: define ptx_kernel void @k{{.*}} #[[FUNCTION:[0-9]+]]
// LLVM-COUNT-1: call float asm sideeffect "bar.sync{{.*}} #[[CALL:[0-9]+]]
// LLVM-NOT: bar.sync
// LLVM-DAG: attributes #[[FUNCTION]] = {{.*}}convergent{{.*}}"denormal-fp-math-f32"="preserve-sign,
// LLVM-DAG: attributes #[[CALL]] = {{.*}}convergent

// PTX: .visible .entry k(
// PTX: .maxntid 256
// PTX: .minnctapersm 1
// PTX-COUNT-1: bar.sync 1, 256
// PTX-NOT: bar.sync
llvm.func @k(%c: i1, %p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %x: f32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256>, nvvm.minctasm = 1 : i32} {
  llvm.cond_br %c, ^a, ^b
^a:
  llvm.store %x, %p : f32, !llvm.ptr<1>
  llvm.br ^j
^b:
  llvm.br ^j
^j:
  %r = llvm.inline_asm has_side_effects "bar.sync 1, 256; mov.f32 $0, 0f00000000;", "=f" : () -> f32
  llvm.cond_br %c, ^d, ^e
^d:
  llvm.store %r, %q : f32, !llvm.ptr<1>
  llvm.br ^e
^e:
  llvm.return
}
