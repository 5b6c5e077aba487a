// RUN: fa-opt %s --tile-overlap-kernels --remarks --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-overlap-kernels --convert-tile-to-nvvm | FileCheck %s --check-prefix=NVVM

// Each kernel of an entry but the first waits for the one before it; each but the last lets the next one start at once.
// CHECK: tile.func @f_prepare({{.*}} attributes {tile.entry = "f", tile.warps = 1 : i64}
// NVVM-LABEL: llvm.func @f_prepare(
// NVVM-NOT: griddepcontrol wait
// NVVM: nvvm.griddepcontrol launch_dependents
// NVVM-NOT: griddepcontrol
tile.func @f_prepare(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.entry = "f", tile.warps = 1 : i64} {
  tile.return
}

// Barriers are set up before the wait, and what the program computes alone; memory that has no name, or that a kernel of the entry writes,
// is touched after it.
// CHECK: tile.func @f_rows({{.*}} attributes {tile.dependent, tile.entry = "f", tile.warps = 4 : i64}
// NVVM-LABEL: llvm.func @f_rows(
// NVVM: nvvm.griddepcontrol launch_dependents
// NVVM: mbarrier.init
// NVVM: nvvm.barrier
// NVVM: nvvm.griddepcontrol wait
// NVVM: ld.global
// expected-remark@+1 {{@f_rows starts while @f_prepare ends}}
tile.func @f_rows(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes []
    attributes {tile.entry = "f", tile.warps = 4 : i64} {
  %full = tile.barriers arrivals(1) : !tile.barriers<2>
  %i = arith.constant 0 : index
  %v = tile.load %x[%i] : !tile.view<4xf32> -> f32
  tile.return
}

// CHECK: tile.func @f_convert({{.*}} attributes {tile.dependent, tile.entry = "f", tile.warps = 1 : i64}
// NVVM-LABEL: llvm.func @f_convert(
// NVVM-NOT: launch_dependents
// NVVM: nvvm.griddepcontrol wait
// expected-remark@+1 {{@f_convert starts while @f_rows ends}}
tile.func @f_convert(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.entry = "f", tile.warps = 1 : i64} {
  tile.return
}

// Another entry's, and one of none.
// CHECK: tile.func @g({{.*}} attributes {tile.entry = "g", tile.warps = 1 : i64}
// NVVM-LABEL: llvm.func @g(
// NVVM-NOT: griddepcontrol
tile.func @g(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.entry = "g", tile.warps = 1 : i64} {
  tile.return
}
tile.func @alone(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  tile.return
}
tile.func @alone_too(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  tile.return
}

// -----

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
// NVVM-LABEL: llvm.func @h_first(
// NVVM-NOT: launch_dependents
// NVVM: nvvm.griddepcontrol wait
// NVVM-NEXT: nvvm.griddepcontrol launch_dependents
// NVVM-NOT: griddepcontrol
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
// NVVM-LABEL: llvm.func @h_second(
// NVVM: nvvm.griddepcontrol launch_dependents
// NVVM-NOT: nvvm.griddepcontrol
// NVVM: st.global
// NVVM: nvvm.griddepcontrol wait
// NVVM-NEXT: llvm.return
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
// NVVM-LABEL: llvm.func @h_third(
// NVVM: nvvm.griddepcontrol launch_dependents
// NVVM: st.global
// NVVM: nvvm.griddepcontrol wait
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

// One that writes what the first takes, though that ended long ago if the third had waited.
// CHECK: tile.func @h_last({{.*}}tile.dependent
// CHECK: tile.kernel_wait
// CHECK: tile.load
// NVVM-LABEL: llvm.func @h_last(
// NVVM-NOT: launch_dependents
// NVVM: nvvm.griddepcontrol wait
// NVVM: ld.global
// expected-remark@+1 {{@h_last starts while @h_third ends}}
tile.func @h_last(%ws: !tile.view<?x16xf32> {tile.name = "w2"}, %y: !tile.view<?x8xf32> {tile.name = "y", tile.output}, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %old = tile.load %y[%i, %c0] dims [0, 1] : !tile.view<?x8xf32> -> tensor<64x8xf32, #acc>
  %a = arith.constant dense<0.0> : tensor<64x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %d = tile.dot %a, %b, %old : tensor<64x16xf16, #a>, tensor<16x8xf16, #b>, tensor<64x8xf32, #acc>
  tile.store %d, %y[%i, %c0] dims [0, 1] : tensor<64x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}
