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
  %i = arith.constant 0 : index
  %v = tile.load %x[%i] : !tile.view<4xf32> -> f32
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
