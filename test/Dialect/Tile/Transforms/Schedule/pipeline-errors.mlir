// RUN: fa-opt %s --split-input-file --tile-pipeline --verify-diagnostics

tile.func @half(%n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @+1 {{has one of tile.stage and tile.order, needs both as integers}}
    %a = arith.addi %j, %c1 {tile.stage = 0 : i64} : index
  }
  tile.return
}

// -----

tile.func @some(%n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    %a = arith.addi %j, %c1 {tile.stage = 0 : i64, tile.order = 0 : i64} : index
    // expected-error @+1 {{has no tile.stage and tile.order, which other ops beside it have}}
    %b = arith.addi %a, %c1 : index
  }
  tile.return
}

// -----

tile.func @same(%n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    // expected-note @+1 {{the other op}}
    %a = arith.addi %j, %c1 {tile.stage = 0 : i64, tile.order = 0 : i64} : index
    // expected-error @+1 {{has the tile.order of another op, 0; places are distinct}}
    %b = arith.addi %a, %c1 {tile.stage = 0 : i64, tile.order = 0 : i64} : index
  }
  tile.return
}

// -----

tile.func @stages(%n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @+1 {{tile.stage must be from 0 to 15, got -1}}
    %a = arith.addi %j, %c1 {tile.stage = -1 : i64, tile.order = 0 : i64} : index
  }
  tile.return
}

// -----

tile.func @late(%n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    // expected-note @+1 {{the value: tile.stage 1, tile.order 0}}
    %a = arith.addi %j, %c1 {tile.stage = 1 : i64, tile.order = 0 : i64} : index
    // expected-error @+1 {{is scheduled before a value that it uses: tile.stage 0, tile.order 1}}
    %b = arith.addi %a, %c1 {tile.stage = 0 : i64, tile.order = 1 : i64} : index
  }
  tile.return
}

// -----

// A value of the iteration before may be one stage later, if it is earlier in order.
tile.func @carried(%n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%i = %c0) -> index {
    // expected-error @+1 {{is scheduled before a value that it uses: tile.stage 0, tile.order 0}}
    %a = arith.addi %i, %c1 {tile.stage = 0 : i64, tile.order = 0 : i64} : index
    // expected-note @+1 {{the value: tile.stage 1, tile.order 1}}
    %b = arith.addi %a, %c1 {tile.stage = 1 : i64, tile.order = 1 : i64} : index
    scf.yield %b : index
  }
  tile.return
}

// -----

tile.func @effect(%x: !tile.view<?xf32>, %v: f32, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.broadcast %v : f32 -> tensor<8xf32>
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @+1 {{must not run for an iteration that does not exist; give it the last stage, 1}}
    tile.store %t, %x[%j] dims [0] {tile.stage = 0 : i64, tile.order = 0 : i64} : tensor<8xf32>, !tile.view<?xf32>
    %b = arith.addi %j, %c1 {tile.stage = 1 : i64, tile.order = 1 : i64} : index
  }
  tile.return
}

// -----

tile.func @own(%n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{yields one of its own arguments, which is not pipelined}}
  %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%i = %c0, %k = %c1) -> (index, index) {
    %a = arith.addi %i, %c1 {tile.stage = 0 : i64, tile.order = 0 : i64} : index
    %b = arith.addi %a, %k {tile.stage = 1 : i64, tile.order = 1 : i64} : index
    scf.yield %k, %a : index, index
  }
  tile.return
}

// -----

tile.func @arm(%if: i1, %n: index) grid affine_map<() -> (1)> sizes [] {
  // expected-error @+1 {{has no iterations, so its ops have tile.stage 0, got 1}}
  scf.if %if {
    %a = arith.addi %n, %n {tile.stage = 1 : i64, tile.order = 0 : i64} : index
  }
  tile.return
}

// -----

tile.func @ahead_of_store(%t: !tile.view<?xindex>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ones = arith.constant dense<1> : tensor<1xindex>
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @+1 {{must not run ahead of the loop's stores to its source; give it the last stage, 1}}
    %i = tile.load %t[%j] {tile.stage = 0 : i64, tile.order = 1 : i64} : !tile.view<?xindex> -> index
    tile.store %ones, %t[%i] dims [0] {tile.stage = 1 : i64, tile.order = 0 : i64} : tensor<1xindex>, !tile.view<?xindex>
  }
  tile.return
}

// -----

// A load that follows a store to its view in the body, in front of it.
tile.func @before_store(%t: !tile.view<?xindex>, %y: !tile.view<?xindex>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %ones = arith.constant dense<1> : tensor<1xindex>
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @+1 {{must not run behind an access of the same view that follows it; give it a smaller tile.order than 0}}
    tile.store %ones, %t[%j] dims [0] {tile.stage = 0 : i64, tile.order = 1 : i64} : tensor<1xindex>, !tile.view<?xindex>
    // expected-note @+1 {{the other access}}
    %i = tile.load %t[%j] {tile.stage = 0 : i64, tile.order = 0 : i64} : !tile.view<?xindex> -> index
    tile.store %ones, %y[%i] dims [0] {tile.stage = 0 : i64, tile.order = 2 : i64} : tensor<1xindex>, !tile.view<?xindex>
  }
  tile.return
}

// -----

// The same in an arm, by a copy to shared memory; and stores to one view.
tile.func @copy_before_store(%t: !tile.view<?x8xf32>, %some: i1, %x: f32, %id: index) grid affine_map<() -> (1)> sizes [] {
  %v = tile.broadcast %x : f32 -> tensor<8x8xf32>
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 8x8xf32, #tile.swizzle<32>>
  scf.if %some {
    // expected-error @+1 {{must not run behind an access of the same view that follows it; give it a smaller tile.order than 0}}
    tile.store %v, %t[%c0, %c0] dims [0, 1] {tile.stage = 0 : i64, tile.order = 2 : i64} : tensor<8x8xf32>, !tile.view<?x8xf32>
    // expected-note @+1 {{the other access}}
    tile.put %r, %t[%c0, %c0] dims [0, 1] copy(ld_st) {tile.stage = 0 : i64, tile.order = 0 : i64} : !tile.ring<1 x 8x8xf32, #tile.swizzle<32>>, !tile.view<?x8xf32>
    %s = tile.get %r {tile.stage = 0 : i64, tile.order = 1 : i64} : !tile.ring<1 x 8x8xf32, #tile.swizzle<32>> -> !tile.slot<8x8xf32, #tile.swizzle<32>>
    tile.release %s {tile.stage = 0 : i64, tile.order = 3 : i64} : !tile.slot<8x8xf32, #tile.swizzle<32>>
  }
  tile.return
}

// -----

tile.func @stores(%t: !tile.view<?xindex>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %ones = arith.constant dense<1> : tensor<1xindex>
  %twos = arith.constant dense<2> : tensor<1xindex>
  scf.for %j = %c0 to %n step %n {
    // expected-error @+1 {{must not run behind an access of the same view that follows it}}
    tile.store %ones, %t[%c0] dims [0] {tile.stage = 0 : i64, tile.order = 1 : i64} : tensor<1xindex>, !tile.view<?xindex>
    // expected-note @+1 {{the other access}}
    tile.store %twos, %t[%c0] dims [0] {tile.stage = 0 : i64, tile.order = 0 : i64} : tensor<1xindex>, !tile.view<?xindex>
  }
  tile.return
}
