// RUN: fa-opt %s --tile-make-tensor-maps --split-input-file --verify-diagnostics

#sw = #tile.swizzle<128>
tile.func @heads(%x: !tile.view<?x?x64xf16>, %n: index, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %b = tile.barriers arrivals(1) : !tile.barriers<1>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  %heads = tile.slice %x dim 0 from %n size %n : !tile.view<?x?x64xf16> -> !tile.view<?x?x64xf16>
  // expected-error @+1 {{copies from a slice along dimension 0, but a map has slices along that of the tile's rows}}
  tile.copy %heads[%t, %c0, %c0] dims [1, 2] to %s copy(tma) signal %b[%c0] : !tile.view<?x?x64xf16>, !tile.slot<64x64xf16, #sw>, !tile.barriers<1>
  tile.return
}

// -----

#sw = #tile.swizzle<128>
tile.func @twice(%x: !tile.view<?x64xf16>, %n: index, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  %once = tile.slice %x dim 0 from %n size %n : !tile.view<?x64xf16> -> !tile.view<?x64xf16>
  %twice = tile.slice %once dim 0 from %c0 size %c0 : !tile.view<?x64xf16> -> !tile.view<?x64xf16>
  // expected-error @+1 {{copies to a view that is no argument of the tile.func, nor a slice of one, for which a launch makes no map}}
  tile.bulk_store %s to %twice[%t, %c0] dims [0, 1] rows(64) : !tile.slot<64x64xf16, #sw>, !tile.view<?x64xf16>
  tile.return
}
