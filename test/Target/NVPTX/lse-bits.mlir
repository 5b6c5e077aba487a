// LSE is one product and one sum, wherever they stand: were the back end free to fuse them, it
// would where both are in one block, and so with one schedule and not with another.
// RUN: fa-opt %S/../../../examples/causal_d128.mlir --target=sm_90a --emit=ptx | FileCheck %s
// RUN: fa-opt %S/../../../examples/causal_d128.mlir --target=sm_90a --emit=ptx --leave-out=tile-pipeline | FileCheck %s

// CHECK: .visible .entry causal_d128
// CHECK-NOT: {{(add|sub)\.ftz\.f32}}
// CHECK: mul.ftz.f32 %{{.*}}, 0f3DB504F3
// CHECK-NOT: {{(add|sub)\.ftz\.f32}}
