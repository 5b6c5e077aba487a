// RUN: fa-opt %s --tile-schedule-loop=shared-limit=8000 --verify-diagnostics
// RUN: not fa-opt %s --tile-schedule-loop=stages=17 2>&1 | FileCheck %s

// CHECK: error: a ring has 1 to 16 stages, or 0 to choose, got stages=17
// expected-error @+1 {{needs 8192 bytes of shared memory, the limit is 8000; choose smaller tiles}}
tile.func @large(%i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  tile.return
}
