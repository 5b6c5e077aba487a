// RUN: not fa-opt %s --tile-assign-layouts=target=cpu 2>&1 | FileCheck %s

// CHECK: has no layouts for target 'cpu'; expected sm_80 or another target of GPUs
tile.func @f(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes [] {
  tile.return
}
