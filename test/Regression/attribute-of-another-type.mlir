// RUN: not fa-opt %s 2>&1 | FileCheck %s

// An attribute dictionary that sets a property to another type crashed the verifier.
// CHECK: error: {{.*}}attribute 'precision' failed to satisfy constraint
!q = tensor<1x1x4x8xf32>
func.func @precision(%q: !q) -> !q {
  %o = fa.attention query(%q) key(%q) value(%q) {precision = 7 : i32} : (!q, !q, !q) -> !q
  return %o : !q
}
