// Options outside of what a pass can do are errors of the program, whatever stands in it.
// RUN: not fa-opt %s --tile-rescale-lazily=slack-f16=inf 2>&1 | FileCheck %s --check-prefix=INF
// INF: error: slack-f16 must be from 0 to 8 where products take f16, got {{[iI]}}
// RUN: not fa-opt %s --tile-rescale-lazily=slack-f16=nan 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: error: slack-f16 must be from 0 to 8 where products take f16, got {{-?[nN]}}
// RUN: not fa-opt %s --tile-rescale-lazily=slack-f16=-1.0 2>&1 | FileCheck %s --check-prefix=BELOW
// BELOW: error: slack-f16 must be from 0 to 8 where products take f16, got -1.00
// RUN: not fa-opt %s --tile-rescale-lazily=slack-f16=15.5 2>&1 | FileCheck %s --check-prefix=ABOVE
// ABOVE: error: slack-f16 must be from 0 to 8 where products take f16, got 15.50
// RUN: fa-opt %s --tile-rescale-lazily=slack-f16=8.0
// RUN: sed s/f16/bf16/g %s | not fa-opt - --tile-rescale-lazily=slack=65.0 2>&1 | FileCheck %s --check-prefix=MOST
// RUN: sed s/f16/bf16/g %s | not fa-opt - --tile-rescale-lazily=slack-f16=16.0 2>&1 | FileCheck %s --check-prefix=UNUSED
// UNUSED: error: slack-f16 must be from 0 to 8 where products take f16, got 16.00
// MOST: error: slack must be from 0 to 32, got 65.00
// RUN: sed s/f16/bf16/g %s | fa-opt - --tile-rescale-lazily=slack=32.0
// RUN: not fa-opt %s --tile-rescale-lazily=bytes=-2 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not fa-opt %s --tile-defer-row-sum-reduction=bytes=-2 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not fa-opt %s --tile-fold-scale=bytes=-2 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: bytes must be 0 or more, got -2
// RUN: not fa-opt %s --tile-rescale-lazily=most-columns=-1 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not fa-opt %s --tile-defer-row-sum-reduction=most-columns=-1 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: most-columns must be 0 or more, got -1
// RUN: not fa-opt %s --tile-merge-kernels=shared-limit=-1 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not fa-opt %s --tile-stage-epilogue=shared-limit=-1 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: error: shared-limit must be 0 or more, got -1

tile.func @f(%x: !tile.view<?x64xf16>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %s = tile.dot %a, %a, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  tile.return
}
