// RUN: fa-opt %s --tile-overlap-kernels --remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %examples/causal_d128.mlir --backward --deterministic --leave-out=fa-fuse-blocks --target=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX

// PTX-LABEL: .entry causal_d128_backward_prepare(
// PTX: griddepcontrol.launch_dependents
// PTX-NOT: griddepcontrol
// PTX-LABEL: .entry causal_d128_backward_rows(
// PTX-NOT: griddepcontrol.launch_dependents
// PTX: griddepcontrol.wait
// PTX-NEXT: griddepcontrol.launch_dependents
// PTX-NOT: griddepcontrol
// PTX-LABEL: .entry causal_d128_backward_keys(
// PTX-NOT: griddepcontrol
// PTX: cp.async.bulk.tensor
// PTX: griddepcontrol.wait

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#a = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#b = #tile.frag<reg = [(2, 1, 0), (2, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 0)]>

// Kernels with products that have nothing of one another run beside each other: the first one waits, and lets the second start
// then; that one, and the third, wait as they end, so that what is next waits for all. One that takes what the third writes
// waits first.
tile.func @h_prepare(%ws: !tile.view<?x16xf32> {tile.name = "ws", tile.output}, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 4 : i64} {
  tile.return
}

// CHECK: tile.func @h_first(
// CHECK: tile.kernel_wait
// CHECK: tile.load
// expected-remark@+1 {{@h_first starts while @h_prepare ends}}
tile.func @h_first(%ws: !tile.view<?x16xf32> {tile.name = "ws"}, %y: !tile.view<?x8xf32> {tile.name = "y", tile.output}, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %ws[%i, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #a>
  %h = arith.truncf %a : tensor<64x16xf32, #a> to tensor<64x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %z = arith.constant dense<0.0> : tensor<64x8xf32, #acc>
  %d = tile.dot %h, %b, %z : tensor<64x16xf16, #a>, tensor<16x8xf16, #b>, tensor<64x8xf32, #acc>
  tile.store %d, %y[%i, %c0] dims [0, 1] : tensor<64x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}

// CHECK: tile.func @h_second({{.*}}tile.dependent
// CHECK-NOT: tile.kernel_wait
// CHECK: tile.store
// CHECK-NEXT: tile.kernel_wait
// CHECK-NEXT: tile.return
// expected-remark@+1 {{@h_second runs beside @h_first, and waits for it at its own end}}
tile.func @h_second(%ws: !tile.view<?x16xf32> {tile.name = "ws"}, %z1: !tile.view<?x8xf32> {tile.name = "z", tile.output}, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %ws[%i, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #a>
  %h = arith.truncf %a : tensor<64x16xf32, #a> to tensor<64x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %z = arith.constant dense<0.0> : tensor<64x8xf32, #acc>
  %d = tile.dot %h, %b, %z : tensor<64x16xf16, #a>, tensor<16x8xf16, #b>, tensor<64x8xf32, #acc>
  tile.store %d, %z1[%i, %c0] dims [0, 1] : tensor<64x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}

// CHECK: tile.func @h_third({{.*}}tile.dependent
// CHECK-NOT: tile.kernel_wait
// CHECK: tile.store
// CHECK-NEXT: tile.kernel_wait
// expected-remark@+1 {{@h_third runs beside @h_second, and waits for it at its own end}}
tile.func @h_third(%ws: !tile.view<?x16xf32> {tile.name = "ws"}, %z1: !tile.view<?x8xf32> {tile.name = "v", tile.output}, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %ws[%i, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #a>
  %h = arith.truncf %a : tensor<64x16xf32, #a> to tensor<64x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %z = arith.constant dense<0.0> : tensor<64x8xf32, #acc>
  %d = tile.dot %h, %b, %z : tensor<64x16xf16, #a>, tensor<16x8xf16, #b>, tensor<64x8xf32, #acc>
  tile.store %d, %z1[%i, %c0] dims [0, 1] : tensor<64x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}

// It stores to what the one before stores to, elsewhere: both run at a time.
// CHECK: tile.func @h_elsewhere({{.*}}tile.dependent
// CHECK-NOT: tile.kernel_wait
// CHECK: tile.store
// CHECK-NEXT: tile.kernel_wait
// expected-remark@+1 {{@h_elsewhere runs beside @h_third, and waits for it at its own end}}
tile.func @h_elsewhere(%v: !tile.view<?x8xf32> {tile.name = "v", tile.output}, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.disjoint = "h_third", tile.entry = "h", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<0.0> : tensor<64x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %z = arith.constant dense<0.0> : tensor<64x8xf32, #acc>
  %d = tile.dot %a, %b, %z : tensor<64x16xf16, #a>, tensor<16x8xf16, #b>, tensor<64x8xf32, #acc>
  tile.store %d, %v[%i, %c0] dims [0, 1] : tensor<64x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}

// One that writes what the first takes, though that ended long ago if the third had waited.
// CHECK: tile.func @h_last({{.*}}tile.dependent
// CHECK: tile.kernel_wait
// CHECK: tile.load
// expected-remark@+1 {{@h_last starts while @h_elsewhere ends}}
tile.func @h_last(%ws: !tile.view<?x16xf32> {tile.name = "w2"}, %y: !tile.view<?x8xf32> {tile.name = "y", tile.output}, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %old = tile.load %y[%i, %c0] dims [0, 1] : !tile.view<?x8xf32> -> tensor<64x8xf32, #acc>
  %a = arith.constant dense<0.0> : tensor<64x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %d = tile.dot %a, %b, %old : tensor<64x16xf16, #a>, tensor<16x8xf16, #b>, tensor<64x8xf32, #acc>
  tile.store %d, %y[%i, %c0] dims [0, 1] : tensor<64x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}
