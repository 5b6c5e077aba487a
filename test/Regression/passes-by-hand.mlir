// Passes run by hand on a module without what they are for, or on another phase, leave it as it is or say what they need.
// RUN: echo 'module {}' | fa-opt - --tile-order-workspaces | FileCheck %s --check-prefix=EMPTY
// RUN: echo 'module {}' | not fa-opt - --gpu-lower-math=slice=0 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not fa-opt %s --split-input-file --cpu-vectorize 2>&1 | FileCheck %s --check-prefix=VECTORIZE
// RUN: not fa-opt %s --split-input-file --cpu-lower-vectors 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: fa-opt %s --split-input-file --tile-rescale-lazily | FileCheck %s
// EMPTY: module {
// SLICE: error: slice is 0, expected at least 1
// VECTORIZE: error: has tensors, expected buffers; run cpu-bufferize first
// VECTORS: error: computes tensors, expected vectors; run cpu-bufferize and cpu-vectorize first
func.func @tensors(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = linalg.add ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
  %t = math.tanh %a : tensor<4xf32>
  return %s, %t : tensor<4xf32>, tensor<4xf32>
}

// -----

// An operand in shared memory has no element type of its own.
// CHECK-LABEL: @slots
// CHECK: tile.dot
tile.func @slots(%a: !tile.view<?x?xf16> {tile.name = "a"}, %b: !tile.view<?x?xf16> {tile.name = "b"}, %c: !tile.view<?x?xf32> {tile.name = "c", tile.output})
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %ring = tile.ring : <1 x 64x64xf16, #tile.swizzle<128>>
  %x = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x64xf16>
  tile.put %ring, %b[%c0, %c0] dims [0, 1] copy(ld_st) : <1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x?xf16>
  %s = tile.get %ring : <1 x 64x64xf16, #tile.swizzle<128>> -> <64x64xf16, #tile.swizzle<128>>
  %d = tile.dot %x, %s, %z : tensor<64x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, tensor<64x64xf32>
  tile.release %s : <64x64xf16, #tile.swizzle<128>>
  tile.store %d, %c[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x?xf32>
  tile.return
}
