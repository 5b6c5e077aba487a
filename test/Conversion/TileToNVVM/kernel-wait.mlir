// RUN: fa-opt %s --compile-from=tile --target=sm_90a --emit=ptx | FileCheck %s

// Addresses of what the kernel before writes come after the wait for it, so that no load of it, which has no side effects, can be moved before;
// those of inputs do not. Each way of an if waits for itself, and what stands after the if stands after both.
tile.func @f_first(%x: !tile.view<?xf32> {tile.name = "x"}, %t: !tile.view<?xf32> {tile.name = "table", tile.output}, %id: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.warps = 1 : i64} {
  %v = tile.load %x[%id] : !tile.view<?xf32> -> f32
  %one = tile.broadcast %v : f32 -> tensor<1xf32>
  tile.store %one, %t[%id] dims [0] : tensor<1xf32>, !tile.view<?xf32>
  tile.return
}
// CHECK-LABEL: .entry f_second(
// CHECK: ld.param.b64 %[[TABLE:rd[0-9]+]], [f_second_param_2];
// CHECK: ld.param.b64 %[[X:rd[0-9]+]], [f_second_param_0];
// CHECK: add.s64 %[[INPUT:rd[0-9]+]], %[[X]],
// CHECK: ld.global.b32 %{{.*}}, [%[[INPUT]]];
// CHECK-NOT: ld.global
// CHECK: griddepcontrol.wait;
// CHECK: mov.b64 %[[THEN:rd[0-9]+]], %[[TABLE]];
// CHECK: add.s64 %[[AT:rd[0-9]+]], %[[THEN]],
// CHECK: ld.global.b32 %{{.*}}, [%[[AT]]];
// CHECK: griddepcontrol.wait;
// CHECK: mov.b64 %[[ELSE:rd[0-9]+]], %[[TABLE]];
// CHECK: ld.global.b32 %{{.*}}, [%[[ELSE]]];
// CHECK-NOT: ld.global
// CHECK: mov.b64 %[[AFTER:rd[0-9]+]], %[[TABLE]];
// CHECK: add.s64 %[[NEXT:rd[0-9]+]], %[[AFTER]], 4;
// CHECK: ld.global.b32 %{{.*}}, [%[[NEXT]]];
// CHECK: st.global
tile.func @f_second(%x: !tile.view<?xf32> {tile.name = "x"}, %t: !tile.view<?xf32> {tile.name = "table"}, %o: !tile.view<?xf32> {tile.name = "o", tile.output}, %id: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f", tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.load %x[%id] : !tile.view<?xf32> -> f32
  %is = arith.cmpf ogt, %a, %zero : f32
  %chosen = scf.if %is -> f32 {
    %b = tile.load %t[%id] : !tile.view<?xf32> -> f32
    scf.yield %b : f32
  } else {
    %b = tile.load %t[%c0] : !tile.view<?xf32> -> f32
    scf.yield %b : f32
  }
  %last = tile.load %t[%c1] : !tile.view<?xf32> -> f32
  %sum = arith.addf %chosen, %last : f32
  %one = tile.broadcast %sum : f32 -> tensor<1xf32>
  tile.store %one, %o[%id] dims [0] : tensor<1xf32>, !tile.view<?xf32>
  tile.return
}
