// Two warps of rows that TMA does not bring took the layouts of warpgroups' products, which have four: refused with an error that
// named no size of the program.
// RUN: fa-opt %s --target=sm_90a --tile-warps=2 --tile-rows=32 --emit=ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx
// RUN: fa-run %s --device=interp --target=sm_90a --tile-warps=2 --tile-rows=32 --shape=1,2,2,70,90 --check | FileCheck %s
// PTX: mma.sync.aligned.m16n8k16
// CHECK: {{^}}deviation: o {{.*}}: passed
func.func @f(%q: tensor<?x2x?x59xf16> {fa.name = "q"}, %k: tensor<?x2x?x59xf16> {fa.name = "k"}, %v: tensor<?x2x?x59xf16> {fa.name = "v"})
    -> (tensor<?x2x?x59xf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x2x?x59xf16>, tensor<?x2x?x59xf16>, tensor<?x2x?x59xf16>) -> tensor<?x2x?x59xf16>
  return %o : tensor<?x2x?x59xf16>
}
