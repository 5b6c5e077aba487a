// RUN: fa-opt %s --tile-append-row-sum --remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-append-row-sum --tile-lower-stabilizer --tile-assign-layouts=products=async | FileCheck %s --check-prefix=LAYOUT

// The sums that divide come from the product; those that a logarithm reads stay. What they divide
// need not be divided more exactly than by them.
// CHECK-LABEL: tile.func @both(
// CHECK: %[[INIT:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<64x72xf32>
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[O:.*]] = %[[INIT]], %[[L:.*]] = %{{.*}}) -> (tensor<64x72xf32>, tensor<64xf32>) {
// CHECK:   %[[SCALED:.*]] = tile.rescale %[[O]], %{{.*}} dim(1) : tensor<64x72xf32>, tensor<64xf32>
// CHECK:   %[[D:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[SCALED]] ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
// CHECK:   scf.yield %[[D]], %{{.*}} : tensor<64x72xf32>, tensor<64xf32>
// CHECK: %[[OWN:.*]] = tile.columns %[[R]]#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
// CHECK: %[[BEHIND:.*]] = tile.columns %[[R]]#0 first(64) : tensor<64x72xf32> -> tensor<64x8xf32>
// CHECK: %[[SUM:.*]] = tile.reduce maxnumf %[[BEHIND]] init %{{.*}} dim 1 : tensor<64x8xf32> -> tensor<64xf32>
// CHECK: %[[PART:.*]] = arith.divf %{{.*}}, %[[SUM]] fastmath<afn>
// CHECK: %[[WHOLE:.*]] = arith.addf %{{.*}}, %[[PART]]
// CHECK: arith.divf %{{.*}}, %[[WHOLE]] fastmath<afn>
// CHECK: arith.divf %{{.*}}, %[[SUM]] fastmath<afn>
// CHECK: math.log2 %[[R]]#1

// LAYOUT: #[[$WIDE:.*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (9, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// LAYOUT: #[[$OWN:.*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// LAYOUT: tile.columns %{{.*}} first(0) : tensor<64x72xf32, #[[$WIDE]]> -> tensor<64x64xf32, #[[$OWN]]>
tile.func @both(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %s: !tile.view<?xf32>, %y: !tile.view<?x64xf32> {tile.output}, %z: !tile.view<?xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %o0 = tile.broadcast %zero : f32 -> tensor<64x64xf32>
  %l0 = tile.broadcast %zero : f32 -> tensor<64xf32>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %o0, %l = %l0) -> (tensor<64x64xf32>, tensor<64xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %f = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    // expected-remark @+1 {{sums of rows come with the product; the loop keeps those of what was not rounded}}
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %o1, %l1 : tensor<64x64xf32>, tensor<64xf32>
  }
  %part = arith.divf %one, %r#1 : tensor<64xf32>
  %whole = arith.addf %one, %part : tensor<64xf32>
  %share = arith.divf %one, %whole : tensor<64xf32>
  %i = arith.divf %share, %r#1 : tensor<64xf32>
  %ib = tile.broadcast %i dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %out = arith.mulf %r#0, %ib : tensor<64x64xf32>
  tile.store %out, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  %log = math.log2 %r#1 : tensor<64xf32>
  tile.store %log, %z[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Where sums only divide, the loop carries no others.
// CHECK-LABEL: tile.func @one(
// CHECK: %[[R:.*]] = scf.for {{.*}} -> (tensor<64x72xf32>) {
// CHECK-NOT: tile.reduce addf
// CHECK: %[[SUM:.*]] = tile.reduce maxnumf
// CHECK: arith.cmpf oeq, %[[SUM]]
// CHECK: arith.divf %{{.*}}, %[[SUM]] fastmath<afn>
// LAYOUT-LABEL: tile.func @one(
// LAYOUT-NOT: tile.convert_layout
// LAYOUT: tile.columns %{{.*}} first(64) : tensor<64x72xf32, #[[$WIDE]]>
// LAYOUT-NOT: tile.convert_layout
// LAYOUT-LABEL: tile.func @others(
tile.func @one(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %s: !tile.view<?xf32>, %y: !tile.view<?x64xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%l = %l0, %o = %o0) -> (tensor<64xf32>, tensor<64x64xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %f = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    // expected-remark @+1 {{sums of rows come with the product; the loop carries no others}}
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %l1, %o1 : tensor<64xf32>, tensor<64x64xf32>
  }
  %empty = arith.cmpf oeq, %r#0, %l0 : tensor<64xf32>
  %d = arith.divf %one, %r#0 : tensor<64xf32>
  %i = arith.select %empty, %l0, %d : tensor<64xi1>, tensor<64xf32>
  %ib = tile.broadcast %i dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %out = arith.mulf %r#1, %ib : tensor<64x64xf32>
  tile.store %out, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Sums of something else than the operand, another factor, sums that do not start at 0.
// CHECK-LABEL: tile.func @others(
// CHECK-NOT: ones
tile.func @others(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %s: !tile.view<?xf32>, %y: !tile.view<?x64xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:4 = scf.for %j = %c0 to %n step %c64 iter_args(%l = %l0, %k = %l0, %m = %one, %o = %o0) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %f = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %q = arith.negf %p : tensor<64x64xf32>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %q init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %kf = tile.rescale %k, %one : tensor<64xf32>, tensor<64xf32>
    %k1 = tile.reduce addf %p init %kf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %mf = tile.rescale %m, %f : tensor<64xf32>, tensor<64xf32>
    %m1 = tile.reduce addf %p init %mf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %l1, %k1, %m1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  tile.store %r#3, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Columns that fill no whole panel of shared memory: ones cannot follow them.
// CHECK-LABEL: tile.func @part_of_a_panel(
// CHECK-NOT: ones
tile.func @part_of_a_panel(%x: !tile.view<?x64xf32>, %v: !tile.view<?x48xbf16>, %s: !tile.view<?xf32>, %y: !tile.view<?x48xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x48xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%l = %l0, %o = %o0) -> (tensor<64xf32>, tensor<64x48xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %f = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x48xbf16> -> tensor<64x48xbf16>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) : tensor<64x48xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x48xbf16>, tensor<64x48xf32>
    scf.yield %l1, %o1 : tensor<64xf32>, tensor<64x48xf32>
  }
  %i = arith.divf %one, %r#0 : tensor<64xf32>
  %ib = tile.broadcast %i dim 1 : tensor<64xf32> -> tensor<64x48xf32>
  %out = arith.mulf %r#1, %ib : tensor<64x48xf32>
  tile.store %out, %y[%c0, %c0] dims [0, 1] : tensor<64x48xf32>, !tile.view<?x48xf32>
  tile.return
}

// A loop around that hands the accumulator on, as one over chunks of a list does: columns are taken after it, and what
// nothing reads is carried by neither.
// CHECK-LABEL: tile.func @chunks(
// CHECK: %[[INIT:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<64x72xf32>
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[OUTER:.*]] = %[[INIT]]) -> (tensor<64x72xf32>) {
// CHECK:   %[[INNER:.*]] = scf.for {{.*}} iter_args(%[[O:.*]] = %[[OUTER]]) -> (tensor<64x72xf32>) {
// CHECK:     tile.rescale %[[O]], %{{.*}} dim(1) : tensor<64x72xf32>
// CHECK:     tile.dot {{.*}} ones
// CHECK-NOT: tile.columns
// CHECK:   scf.yield %[[INNER]] : tensor<64x72xf32>
// CHECK-NEXT: }
// CHECK: tile.columns %[[R]] first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
tile.func @chunks(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %s: !tile.view<?xf32>, %y: !tile.view<?x64xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:2 = scf.for %chunk = %c0 to %n step %c2048 iter_args(%lc = %l0, %oc = %o0) -> (tensor<64xf32>, tensor<64x64xf32>) {
    %end = arith.addi %chunk, %c2048 : index
    %of_chunk:2 = scf.for %j = %chunk to %end step %c64 iter_args(%l = %lc, %o = %oc) -> (tensor<64xf32>, tensor<64x64xf32>) {
      %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
      %f = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
      %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
      %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
      %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
      // expected-remark @+1 {{sums of rows come with the product; the loop carries no others}}
      %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
      scf.yield %l1, %o1 : tensor<64xf32>, tensor<64x64xf32>
    }
    scf.yield %of_chunk#0, %of_chunk#1 : tensor<64xf32>, tensor<64x64xf32>
  }
  %i = arith.divf %one, %r#0 : tensor<64xf32>
  %ib = tile.broadcast %i dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %out = arith.mulf %r#1, %ib : tensor<64x64xf32>
  tile.store %out, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// One that does something else with it does not hand it on.
// CHECK-LABEL: tile.func @changed(
// CHECK-NOT: ones
tile.func @changed(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %s: !tile.view<?xf32>, %y: !tile.view<?x64xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %o0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:2 = scf.for %chunk = %c0 to %n step %c2048 iter_args(%lc = %l0, %oc = %o0) -> (tensor<64xf32>, tensor<64x64xf32>) {
    %end = arith.addi %chunk, %c2048 : index
    %of_chunk:2 = scf.for %j = %chunk to %end step %c64 iter_args(%l = %lc, %o = %oc) -> (tensor<64xf32>, tensor<64x64xf32>) {
      %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
      %f = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
      %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
      %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
      %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
      %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
      scf.yield %l1, %o1 : tensor<64xf32>, tensor<64x64xf32>
    }
    %negated = arith.negf %of_chunk#1 : tensor<64x64xf32>
    scf.yield %of_chunk#0, %negated : tensor<64xf32>, tensor<64x64xf32>
  }
  tile.store %r#1, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// No columns are left behind 256 for ones, and none can follow 96. The loop adds up what the product
// takes instead, if nothing else reads the sums.
// CHECK-LABEL: tile.func @wide(
// CHECK: %[[R:.*]]:3 = scf.for
// CHECK-NOT: tile.reduce
// CHECK:   %[[A:.*]] = arith.truncf
// CHECK-NOT: tile.reduce
// CHECK:   tile.dot %[[A]], %{{.*}}, %{{.*}} : tensor<64x64xbf16>, tensor<64x256xbf16>, tensor<64x256xf32>
// CHECK:   %[[E:.*]] = arith.extf %[[A]] : tensor<64x64xbf16> to tensor<64x64xf32>
// CHECK:   %[[L:.*]] = tile.reduce addf %[[E]] init %{{.*}} dim 1
// CHECK-NOT: tile.reduce
// CHECK:   scf.yield %{{.*}}, %{{.*}}, %[[L]]
// CHECK: arith.divf %{{.*}}, %[[R]]#2 fastmath<afn>
tile.func @wide(%x: !tile.view<?x64xbf16>, %v: !tile.view<?x256xbf16>, %y: !tile.view<?x256xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %s0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x256xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%l = %l0, %o = %o0, %m = %m0) -> (tensor<64xf32>, tensor<64x256xf32>, !tile.reference<64xf32>) {
    %k = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x256xbf16> -> tensor<64x256xbf16>
    %s = tile.dot %q, %k, %s0 transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) : tensor<64x256xf32>, tensor<64xf32>
    // expected-remark @+1 {{sums of rows come of the product's operand; the loop carries no others}}
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x256xbf16>, tensor<64x256xf32>
    scf.yield %l1, %o1, %m1 : tensor<64xf32>, tensor<64x256xf32>, !tile.reference<64xf32>
  }
  %i = arith.divf %one, %r#0 : tensor<64xf32>
  %ib = tile.broadcast %i dim 1 : tensor<64xf32> -> tensor<64x256xf32>
  %out = arith.mulf %r#1, %ib : tensor<64x256xf32>
  tile.store %out, %y[%c0, %c0] dims [0, 1] : tensor<64x256xf32>, !tile.view<?x256xf32>
  tile.return
}

// Beside those of a logarithm, and through the loops around.
// CHECK-LABEL: tile.func @wide_both(
// CHECK: %[[R:.*]]:4 = scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %[[OUTER:.*]] = %{{.*}})
// CHECK:   %[[I:.*]]:4 = scf.for {{.*}} iter_args({{.*}}, %[[INNER:.*]] = %[[OUTER]])
// CHECK:     %[[EXACT:.*]] = tile.reduce addf
// CHECK:     %[[A:.*]] = arith.truncf
// CHECK:     %[[SCALED:.*]] = tile.rescale %[[INNER]], %{{.*}} : tensor<64xf32>, tensor<64xf32>
// CHECK:     %[[E:.*]] = arith.extf %[[A]]
// CHECK:     %[[ROUNDED:.*]] = tile.reduce addf %[[E]] init %[[SCALED]] dim 1
// CHECK:     scf.yield %[[EXACT]], %{{.*}}, %{{.*}}, %[[ROUNDED]]
// CHECK:   scf.yield %[[I]]#0, %[[I]]#1, %[[I]]#2, %[[I]]#3
// CHECK: arith.divf %{{.*}}, %[[R]]#3 fastmath<afn>
// CHECK: math.log2 %[[R]]#0
tile.func @wide_both(%x: !tile.view<?x64xbf16>, %v: !tile.view<?x96xbf16>, %y: !tile.view<?x96xf32> {tile.output}, %z: !tile.view<?xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %s0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x96xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %chunk = %c0 to %n step %c2048 iter_args(%lc = %l0, %oc = %o0, %mc = %m0) -> (tensor<64xf32>, tensor<64x96xf32>, !tile.reference<64xf32>) {
    %end = arith.addi %chunk, %c2048 : index
    %of_chunk:3 = scf.for %j = %chunk to %end step %c64 iter_args(%l = %lc, %o = %oc, %m = %mc) -> (tensor<64xf32>, tensor<64x96xf32>, !tile.reference<64xf32>) {
      %k = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
      %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x96xbf16> -> tensor<64x96xbf16>
      %s = tile.dot %q, %k, %s0 transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
      %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32>
      %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
      %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
      %acc = tile.rescale %o, %f dim(1) : tensor<64x96xf32>, tensor<64xf32>
      // expected-remark @+1 {{sums of rows come of the product's operand; the loop keeps those of what was not rounded}}
      %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x96xbf16>, tensor<64x96xf32>
      scf.yield %l1, %o1, %m1 : tensor<64xf32>, tensor<64x96xf32>, !tile.reference<64xf32>
    }
    scf.yield %of_chunk#0, %of_chunk#1, %of_chunk#2 : tensor<64xf32>, tensor<64x96xf32>, !tile.reference<64xf32>
  }
  %i = arith.divf %one, %r#0 : tensor<64xf32>
  %ib = tile.broadcast %i dim 1 : tensor<64xf32> -> tensor<64x96xf32>
  %out = arith.mulf %r#1, %ib : tensor<64x96xf32>
  tile.store %out, %y[%c0, %c0] dims [0, 1] : tensor<64x96xf32>, !tile.view<?x96xf32>
  %log = math.log2 %r#0 : tensor<64xf32>
  tile.store %log, %z[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Scores that may be negative all along a row keep their maxima, and their sums.
// CHECK-LABEL: tile.func @wide_negative(
// CHECK-NOT: arith.extf
tile.func @wide_negative(%x: !tile.view<?x64xf32>, %v: !tile.view<?x256xbf16>, %y: !tile.view<?x256xf32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x256xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%l = %l0, %o = %o0, %m = %m0) -> (tensor<64xf32>, tensor<64x256xf32>, !tile.reference<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x256xbf16> -> tensor<64x256xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) : tensor<64x256xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x256xbf16>, tensor<64x256xf32>
    scf.yield %l1, %o1, %m1 : tensor<64xf32>, tensor<64x256xf32>, !tile.reference<64xf32>
  }
  %i = arith.divf %one, %r#0 : tensor<64xf32>
  %ib = tile.broadcast %i dim 1 : tensor<64xf32> -> tensor<64x256xf32>
  %out = arith.mulf %r#1, %ib : tensor<64x256xf32>
  tile.store %out, %y[%c0, %c0] dims [0, 1] : tensor<64x256xf32>, !tile.view<?x256xf32>
  tile.return
}
