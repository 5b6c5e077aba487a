// A ring that the warps of one role fill and two other roles read: the copies are waited for and
// shown to products before each warp arrives; each reader's warps arrive when they are done.
// RUN: fa-opt %s --tile-lower-rings --tile-make-tensor-maps | fa-opt - --target=sm_90a --compile-from=schedule --emit=ptx | FileCheck %s

// CHECK: mbarrier.init.shared::cta.b64 [{{.*}}+16384], 4;
// CHECK: mbarrier.init.shared::cta.b64 [{{.*}}+16400], 8;
// CHECK: cp.async.wait_group
// CHECK: fence.proxy.async.shared::cta;
// CHECK: bar.warp.sync
// CHECK: mbarrier.arrive
// CHECK: wgmma.mma_async
// CHECK: mbarrier.arrive
// CHECK: wgmma.mma_async
// CHECK: mbarrier.arrive
// CHECK-NOT: mbarrier.arrive
#sw = #tile.swizzle<128>
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#a = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<2 x 64x64xbf16, #sw>
!slot = !tile.slot<64x64xbf16, #sw>
!view = !tile.view<?x64xbf16>
!out = !tile.view<?x64xf32>
!t = tensor<64x64xf32, #acc>
!at = tensor<64x64xbf16, #a>
!pending = !tile.pending<!t>
tile.func @two(%x: !view {tile.align = 16 : i64, tile.name = "x", tile.dims = ["M", "K"]}, %w: !view {tile.align = 16 : i64, tile.name = "w", tile.dims = ["N", "K"]}, %y: !out {tile.name = "y", tile.output, tile.dims = ["M", "K"]}, %z: !out {tile.name = "z", tile.output, tile.dims = ["M", "K"]}, %g: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 12 : i64, tile.entry = "two"} {
  %r = tile.ring readers(2) : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %w, 0 : !view
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %w[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
      }
    }
    tile.role "left" warps(4) registers(0) {
      %i = arith.muli %g, %c64 : index
      %zero = arith.constant 0.0 : f32
      %acc = tile.broadcast %zero : f32 -> !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !view -> !at
      %o = scf.for %j = %c0 to %n step %c64 iter_args(%s = %acc) -> (!t) {
        %b = tile.get %r : !ring -> !slot
        %p = tile.dot_start %a, %b, %s transpose_b : !at, !slot, !t -> !pending
        %q = tile.await %p : !pending -> !t
        tile.release %b : !slot
        scf.yield %q : !t
      }
      tile.store %o, %y[%i, %c0] dims [0, 1] : !t, !out
    }
    tile.role "right" warps(4) registers(0) {
      %i = arith.muli %g, %c64 : index
      %zero = arith.constant 0.0 : f32
      %acc = tile.broadcast %zero : f32 -> !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !view -> !at
      %o = scf.for %j = %c0 to %n step %c64 iter_args(%s = %acc) -> (!t) {
        %b = tile.get %r reader(1) : !ring -> !slot
        %p = tile.dot_start %a, %b, %s : !at, !slot, !t -> !pending
        %q = tile.await %p : !pending -> !t
        tile.release %b : !slot
        scf.yield %q : !t
      }
      tile.store %o, %z[%i, %c0] dims [0, 1] : !t, !out
    }
  }
  tile.return
}
