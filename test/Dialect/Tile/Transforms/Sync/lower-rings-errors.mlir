// RUN: fa-opt %s --split-input-file --tile-lower-rings --verify-diagnostics

tile.func @tma(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  // expected-error @+1 {{copies by TMA outside of a tile.role, expected in one, for the copy signals a barrier between roles; move it into a role, or use copy(cp_async)}}
  tile.put %r, %x[%i, %i] dims [0, 1] copy(tma) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  tile.return
}

// -----

// What is not in order is not lowered.
tile.func @full(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-error @+1 {{(get_c2) is not empty in the end: 1 put and not got, 0 got and not released; get and release as often as it is filled}}
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  tile.return
}
