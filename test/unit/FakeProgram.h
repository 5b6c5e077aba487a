//===- FakeProgram.h - a program for GPUs, written by hand -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_FAKEPROGRAM_H
#define FA_TEST_UNIT_FAKEPROGRAM_H

/// y = a * x for ?x4xf32, a thread an element, through 64 KB of shared memory;
/// and a kernel that does nothing.
inline const char *const kFakePTX = R"(.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry fake_scale(.param .u64 x, .param .u64 x_rows, .param .u64 x_stride,
    .param .u64 y, .param .u64 y_rows, .param .u64 y_stride, .param .f32 a)
{
  .reg .pred %out;
  .reg .b32 %r<8>;
  .reg .b64 %d<10>;
  .reg .f32 %f<4>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  shr.u32 %r2, %r0, 2;
  mad.lo.u32 %r3, %r1, 32, %r2;
  and.b32 %r4, %r0, 3;
  cvt.u64.u32 %d0, %r3;
  ld.param.u64 %d1, [x_rows];
  setp.ge.u64 %out, %d0, %d1;
  @%out bra DONE;
  cvt.u64.u32 %d2, %r4;
  ld.param.u64 %d3, [x];
  cvta.to.global.u64 %d3, %d3;
  ld.param.u64 %d4, [x_stride];
  mad.lo.u64 %d4, %d0, %d4, %d2;
  shl.b64 %d4, %d4, 2;
  add.u64 %d3, %d3, %d4;
  ld.global.f32 %f0, [%d3];
  ld.param.f32 %f1, [a];
  mul.rn.f32 %f2, %f0, %f1;
  mov.u32 %r5, memory;
  shl.b32 %r6, %r0, 2;
  add.u32 %r7, %r5, %r6;
  st.volatile.shared.f32 [%r7+65024], %f2;
  ld.volatile.shared.f32 %f3, [%r7+65024];
  ld.param.u64 %d5, [y];
  cvta.to.global.u64 %d5, %d5;
  ld.param.u64 %d6, [y_stride];
  mad.lo.u64 %d6, %d0, %d6, %d2;
  shl.b64 %d6, %d6, 2;
  add.u64 %d5, %d5, %d6;
  st.global.f32 [%d5], %f3;
DONE:
  ret;
}
.visible .entry fake_plain(.param .u64 x, .param .u64 w, .param .u64 w_rows, .param .u64 w_stride,
    .param .u64 y, .param .u8 flag, .param .f32 a)
{
  ret;
}
)";

/// Two ways: on rows of 16 bytes, with 64 KB of shared memory; and any, in two kernels.
inline const char *const kFakeManifest = R"({
  "version": 3, "target": "sm_80", "minimum_driver": 12000, "images": ["ptx"],
  "entries": [{
    "name": "scale",
    "arguments": [
      {"name": "x", "kind": "input", "dtype": "f32", "shape": [-1, 4], "dims": ["N", ""]},
      {"name": "y", "kind": "output", "dtype": "f32", "shape": [-1, 4], "dims": ["N", ""]},
      {"name": "a", "kind": "scalar", "dtype": "f32"},
      {"name": "flag", "kind": "scalar", "dtype": "bool"},
      {"name": "w", "kind": "workspace", "dtype": "f32", "shape": [-1, 8], "sizes": [[0, 0], 8]}],
    "multiples": [], "limits": [["N", 100000]],
    "variants": [
      {"guards": [{"alignment": 16, "arguments": [0, 1]}], "image": 0,
       "kernels": [{"name": "fake_scale", "threads": 128, "shared_bytes": 65536,
                    "grid": [{"ceildiv": [[0, 0], 2]}, {"max": [{"mod": [[0, 1], 3]}, 1]}],
                    "arguments": [0, 1, 2],
                    "parameters": [["pointer", 0], ["size", 0, 0], ["stride", 0, 0],
                                   ["pointer", 1], ["size", 1, 0], ["stride", 1, 0],
                                   ["scalar", 2]]}]},
      {"guards": [{"alignment": 8, "arguments": [0]}], "image": 0,
       "kernels": [{"name": "fake_plain", "threads": 32, "shared_bytes": 0,
                    "grid": [[0, 0], {"+": [1, {"floordiv": [[0, 0], 100]}]}],
                    "arguments": [0, 4, 1, 3, 2],
                    "parameters": [["pointer", 0], ["pointer", 4], ["size", 4, 0], ["stride", 4, 0],
                                   ["pointer", 1], ["scalar", 3], ["scalar", 2]]},
                   {"name": "fake_plain", "threads": 64, "shared_bytes": 16,
                    "grid": [{"*": [{"min": [[0, 0], 2]}, 3]}],
                    "arguments": [0, 4, 1, 3, 2],
                    "parameters": [["pointer", 0], ["pointer", 4], ["size", 4, 0], ["stride", 4, 0],
                                   ["pointer", 1], ["scalar", 3], ["scalar", 2]]}]}]}]})";

#endif // FA_TEST_UNIT_FAKEPROGRAM_H
