// RUN: fa-opt %s --tile-pingpong-warpgroups --remarks --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// CHECK-LABEL: tile.func @roles
// CHECK: %[[TURN:.*]] = tile.pingpong : <2>
tile.func @roles(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %zero = arith.constant 0.0 : f32
      %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
      %acc = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
      // expected-remark @+1 {{warpgroups start the products of an iteration in turn", products=1, warpgroups=2}}
      scf.for %j = %c0 to %n step %c64 {
        // CHECK: tile.get
        %b = tile.get %r : !ring -> !slot
        // CHECK-NEXT: tile.pingpong_wait %[[TURN]]
        // CHECK-NEXT: %[[P:.*]] = tile.dot_start
        // CHECK-NEXT: tile.pingpong_arrive %[[TURN]]
        // CHECK-NEXT: tile.await %[[P]]
        %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
        %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// Warpgroups that begin with different steps are apart, and take no turns; where they only end
// differently they do.
// CHECK-LABEL: tile.func @apart
// CHECK-NOT: tile.pingpong
// CHECK-LABEL: tile.func @together
// CHECK: tile.pingpong_wait
tile.func @apart(%x: !tile.view<?x64xf16>, %n: index, %first: index, %last: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %zero = arith.constant 0.0 : f32
      %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
      %acc = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
      %begin, %end = tile.warpgroup_bounds %c0 to %n step %c64 own(%first to %last)
      scf.for %j = %begin to %end step %c64 {
        %b = tile.get %r : !ring -> !slot
        %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
        %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

tile.func @together(%x: !tile.view<?x64xf16>, %n: index, %last: index, %least: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %zero = arith.constant 0.0 : f32
      %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
      %acc = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
      %begin, %end = tile.warpgroup_bounds %c0 to %n step %c64 own(%c0 to %last) all(%least)
      // expected-remark @+1 {{warpgroups start the products of an iteration in turn", products=1, warpgroups=2}}
      scf.for %j = %begin to %end step %c64 {
        %b = tile.get %r : !ring -> !slot
        %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
        %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// Two products without a wait between them start in turn; the slot of the second one is filled
// by a producer that runs ahead.
// CHECK-LABEL: tile.func @pipelined
// CHECK: tile.pingpong_wait
// CHECK-NEXT: tile.dot_start
// CHECK-NEXT: tile.get
// CHECK-NEXT: tile.dot_start
// CHECK-NEXT: tile.pingpong_arrive
tile.func @pipelined(%x: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %zero = arith.constant 0.0 : f32
      %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
      %acc = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
      // expected-remark @+1 {{warpgroups start the products of an iteration in turn", products=2, warpgroups=2}}
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
        %d = tile.get %r : !ring -> !slot
        %tp = tile.dot_start %a, %d, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
        %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
        tile.release %b : !slot
        %t = tile.await %tp : !pending -> tensor<128x64xf32, #acc>
        tile.release %d : !slot
      }
    }
  }
  tile.return
}

// A warpgroup that awaits its first product before it starts the second one would keep the others
// waiting over the product and over what it computes of it.
// CHECK-LABEL: tile.func @awaits_between
// CHECK-NOT: tile.pingpong
tile.func @awaits_between(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %zero = arith.constant 0.0 : f32
      %acc = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
      %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
      // expected-remark @+1 {{'tile.await' waits between the first and the last one of an iteration}}
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
        %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
        %e = math.exp2 %s : tensor<128x64xf32, #acc>
        %h = arith.truncf %e : tensor<128x64xf32, #acc> to tensor<128x64xf16, #acc>
        %tp = tile.dot_start %h, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
        %t = tile.await %tp : !pending -> tensor<128x64xf32, #acc>
        tile.release %b : !slot
      }
    }
  }
  tile.return
}
