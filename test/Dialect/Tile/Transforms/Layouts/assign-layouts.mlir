// RUN: fa-opt %s --tile-assign-layouts | FileCheck %s
// RUN: fa-opt %s --tile-assign-layouts --remarks --verify-diagnostics -o /dev/null
// RUN: fa-opt %s --tile-assign-layouts=vector-stores | FileCheck %s --check-prefix=WIDE

// CHECK-DAG: #[[$ACC:frag[0-9]*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// CHECK-DAG: #[[$ROWS:frag[0-9]*]] = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
// CHECK-DAG: #[[$COLS:frag[0-9]*]] = #tile.frag<reg = [(2, 1), (8, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>
// CHECK-DAG: #[[$PAIRED:frag[0-9]*]] = #tile.frag<reg = [(2, 8, 0), (2, 0, 1), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// CHECK-DAG: #[[$TURNED:frag[0-9]*]] = #tile.frag<reg = [(2, 1, 0), (2, 0, 8), (8, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 16)]>
// CHECK-DAG: #[[$BLOCK:frag[0-9]*]] = #tile.frag<reg = [(8, 0, 1), (4, 16, 0)], lane = [(8, 0, 8), (4, 1, 0)], warp = [(4, 4, 0)]>
// CHECK-DAG: #[[$BOTH:frag[0-9]*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0), (2, 0, 0)]>
// CHECK-DAG: #[[$BOTHEIGHT:frag[0-9]*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0), (2, 0, 0)]>
// CHECK-DAG: #[[$BOTHROWS:frag[0-9]*]] = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16), (2, 0)]>
// CHECK-DAG: #[[$HALVES:frag[0-9]*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0), (2, 0, 128)]>
// CHECK-DAG: #[[$ODD:frag[0-9]*]] = #tile.frag<reg = [(10, 0, 1), (3, 1, 0)], lane = [(32, 0, 0)], warp = [(4, 0, 0)]>

// Two products one after the other: rows of both tiles have one layout, and
// 2-byte elements of the accumulator are the operand as they stand.
// CHECK-LABEL: tile.func @chain
// WIDE-LABEL: tile.func @chain
tile.func @chain(%x: !tile.view<?x64xbf16>, %y: !tile.view<?x64xbf16>, %r: !tile.view<?xf32>, %z: !tile.view<?x64xbf16>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK: tile.load {{.*}} -> tensor<64x64xbf16>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %y[%i, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  // A constant that three ops share.
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: tile.dot {{.*}} transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32, #[[$ACC]]>
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  // CHECK: tile.load {{.*}} -> tensor<64xf32, #[[$ROWS]]>
  %m = tile.load %r[%i] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  // CHECK: tile.reduce addf {{.*}} : tensor<64x64xf32, #[[$ACC]]> -> tensor<64xf32, #[[$ROWS]]>
  %n = tile.reduce addf %s init %m dim 1 : tensor<64x64xf32> -> tensor<64xf32>
  %mb = tile.broadcast %n dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  // One iota as rows and as columns.
  // CHECK: tile.iota %{{.*}} : index -> tensor<64xindex, #[[$COLS]]>
  // CHECK: tile.iota %{{.*}} : index -> tensor<64xindex, #[[$ROWS]]>
  %io = tile.iota %i : index -> tensor<64xindex>
  %ir = tile.broadcast %io dim 1 : tensor<64xindex> -> tensor<64x64xindex>
  %ic = tile.broadcast %io dim 0 : tensor<64xindex> -> tensor<64x64xindex>
  %seen = arith.cmpi sle, %ic, %ir : tensor<64x64xindex>
  %t = arith.select %seen, %mb, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  // CHECK: %[[P:.*]] = arith.truncf {{.*}} to tensor<64x64xbf16, #[[$ACC]]>
  %p = arith.truncf %t : tensor<64x64xf32> to tensor<64x64xbf16>
  // CHECK: tile.dot %[[P]], {{.*}} : tensor<64x64xbf16, #[[$ACC]]>, tensor<64x64xbf16>, tensor<64x64xf32, #[[$ACC]]>
  %o = tile.dot %p, %b, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  // CHECK: %[[H:.*]] = arith.truncf
  %h = arith.truncf %o : tensor<64x64xf32> to tensor<64x64xbf16>
  // CHECK: tile.store %[[H]]
  // WIDE: %[[W:.*]] = tile.convert_layout {{.*}} : tensor<64x64xbf16, #{{frag[0-9]*}}> -> tensor<64x64xbf16, #{{frag[0-9]*}}>
  // WIDE: tile.store %[[W]]
  tile.store %h, %z[%i, %c0] dims [0, 1] : tensor<64x64xbf16>, !tile.view<?x64xbf16>
  tile.return
}

// A loaded tile that a product and a sum use is loaded twice. Products of f32
// take k in the order of the accumulator.
// CHECK-LABEL: tile.func @twice
tile.func @twice(%x: !tile.view<?x64xf32>, %y: !tile.view<?x64xf32>, %z: !tile.view<?x64xf32>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: %[[SHARED:.*]] = tile.load {{.*}} -> tensor<64x64xf32>
  // CHECK: %[[OWN:.*]] = tile.load {{.*}} -> tensor<64x64xf32, #[[$ACC]]>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %b = tile.load %y[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  // CHECK: tile.dot %[[SHARED]]
  %s = tile.dot %a, %b, %zero precision(tf32x3) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  // CHECK: %[[SUM:.*]] = arith.addf {{.*}}%[[OWN]] : tensor<64x64xf32, #[[$ACC]]>
  %t = arith.addf %s, %a : tensor<64x64xf32>
  // CHECK: %[[P:.*]] = tile.convert_layout %[[SUM]] : {{.*}} -> tensor<64x64xf32, #[[$PAIRED]]>
  // CHECK: tile.dot %[[P]]
  // expected-remark @+1 {{layout converted for operand a of a product: 0 instructions}}
  %o = tile.dot %t, %b, %zero precision(tf32) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  // Full precision has no matrix instruction: operand a stays as it is.
  // CHECK: tile.dot %[[SUM]]
  %u = tile.dot %t, %b, %o : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %u, %z[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A transposed operand of f32, which shared memory cannot be read transposed of: other warps have the elements. The
// class of the transposed tile is the operand's, so one conversion.
// CHECK-LABEL: tile.func @turned
tile.func @turned(%x: !tile.view<?x64xf32>, %z: !tile.view<?x64xf32>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %s = tile.dot %a, %a, %zero transpose_b precision(tf32) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  // CHECK: %[[T:.*]] = tile.transpose {{.*}} -> tensor<64x64xf32, #[[$TURNED]]>
  // CHECK: %[[A:.*]] = tile.convert_layout %[[T]] : {{.*}} -> tensor<64x64xf32, #[[$PAIRED]]>
  // CHECK: tile.dot %[[A]]
  // expected-remark @+1 {{layout converted for a transpose: 16384 bytes through shared memory}}
  %st = tile.transpose %s : tensor<64x64xf32> -> tensor<64x64xf32>
  %o = tile.dot %st, %a, %zero precision(tf32) : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %o, %z[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Rows to columns: other warps have the elements. A transposed operand is the product's business.
// CHECK-LABEL: tile.func @across
tile.func @across(%x: !tile.view<?x64xf16>, %z: !tile.view<?x64xf32>, %w: !tile.view<?xf32>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %s = tile.dot %a, %a, %zero transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  // CHECK: %[[R:.*]] = tile.reduce maxnumf {{.*}} -> tensor<64xf32, #[[$ROWS]]>
  %r = tile.reduce maxnumf %s init %none dim 1 : tensor<64x64xf32> -> tensor<64xf32>
  // CHECK: %[[C:.*]] = tile.convert_layout %[[R]] : tensor<64xf32, #[[$ROWS]]> -> tensor<64xf32, #[[$COLS]]>
  // CHECK: tile.broadcast %[[C]] dim 0
  // expected-remark @+1 {{layout converted for a broadcast: 256 bytes through shared memory}}
  %rc = tile.broadcast %r dim 0 : tensor<64xf32> -> tensor<64x64xf32>
  %d = arith.subf %s, %rc : tensor<64x64xf32>
  %h = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xf16>
  // CHECK-NOT: tile.transpose
  // CHECK: tile.dot %{{.*}} transpose_a : tensor<64x64xf16, #[[$ACC]]>
  %ht = tile.transpose %h : tensor<64x64xf16> -> tensor<64x64xf16>
  %o = tile.dot %ht, %a, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  // A transposed b is only read the other way round.
  // CHECK: tile.dot %{{.*}}, %[[B:.*]], %{{.*}} transpose_b : tensor<64x64xf16>, tensor<64x64xf16>,
  %at = tile.transpose %a : tensor<64x64xf16> -> tensor<64x64xf16>
  %q = tile.dot %a, %at, %o : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  // CHECK: tile.reduce addf {{.*}} -> tensor<64xf32, #[[$COLS]]>
  %cs = tile.reduce addf %q init %none dim 0 : tensor<64x64xf32> -> tensor<64xf32>
  tile.store %cs, %w[%i] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %q, %z[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Fewer rows than 16 a warp: two warps have the same rows. What is summed along
// rows, or is the operand of a product, both hold whole; else each has its columns.
// CHECK-LABEL: tile.func @beside
tile.func @beside(%x: !tile.view<?x32xbf16>, %y: !tile.view<?x32xbf16>, %v: !tile.view<?x256xbf16>, %z: !tile.view<?x256xf32>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %b = tile.load %y[%i, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<32x32xbf16>
  %w = tile.load %v[%i, %c0] dims [0, 1] : !tile.view<?x256xbf16> -> tensor<32x256xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %wide = arith.constant dense<0.0> : tensor<64x256xf32>
  // CHECK: tile.dot {{.*}}, tensor<64x32xf32, #[[$BOTH]]>
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<64x32xf32>
  // CHECK: tile.reduce addf {{.*}} -> tensor<64xf32, #[[$BOTHROWS]]>
  %n = tile.reduce addf %s init %none dim 1 : tensor<64x32xf32> -> tensor<64xf32>
  %p = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xbf16>
  // CHECK-NOT: tile.convert_layout
  // CHECK: tile.dot {{.*}}, tensor<64x256xf32, #[[$HALVES]]>
  %o = tile.dot %p, %w, %wide : tensor<64x32xbf16>, tensor<32x256xbf16>, tensor<64x256xf32>
  %nb = tile.broadcast %n dim 1 : tensor<64xf32> -> tensor<64x256xf32>
  %on = arith.mulf %o, %nb : tensor<64x256xf32>
  tile.store %on, %z[%i, %c0] dims [0, 1] : tensor<64x256xf32>, !tile.view<?x256xf32>
  tile.return
}

// So do they hold whole what others take columns of, of which each then has its rows.
// CHECK-LABEL: tile.func @columns
tile.func @columns(%x: !tile.view<?x32xbf16>, %y: !tile.view<?x32xbf16>, %z: !tile.view<?x8xf32>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %b = tile.load %y[%i, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<32x32xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  // CHECK: tile.dot {{.*}}, tensor<64x32xf32, #[[$BOTH]]>
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x32xbf16>, tensor<32x32xbf16>, tensor<64x32xf32>
  // CHECK-NOT: tile.convert_layout
  // CHECK: tile.columns {{.*}} : tensor<64x32xf32, #[[$BOTH]]> -> tensor<64x8xf32, #[[$BOTHEIGHT]]>
  %t = tile.columns %s first(16) : tensor<64x32xf32> -> tensor<64x8xf32>
  tile.store %t, %z[%i, %c0] dims [0, 1] : tensor<64x8xf32>, !tile.view<?x8xf32>
  tile.return
}

// Without a product: lanes along memory, 16 bytes each; any shape.
// CHECK-LABEL: tile.func @copy
tile.func @copy(%x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf16>, %s: !tile.view<?x10xf64>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load {{.*}} -> tensor<64x64xf16, #[[$BLOCK]]>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  tile.store %a, %y[%i, %c0] dims [0, 1] : tensor<64x64xf16>, !tile.view<?x64xf16>
  // CHECK: tile.load {{.*}} -> tensor<3x10xf64, #[[$ODD]]>
  %b = tile.load %s[%i, %c0] dims [0, 1] : !tile.view<?x10xf64> -> tensor<3x10xf64>
  tile.store %b, %s[%i, %c0] dims [0, 1] : tensor<3x10xf64>, !tile.view<?x10xf64>
  tile.return
}

// Limits of columns have the rows of their tile; those that other threads hold are brought there.
// CHECK-LABEL: tile.func @limits
// CHECK: %[[LOW:.*]] = tile.iota %{{.*}} : i32 -> tensor<64xi32, #[[$ROWS]]>
// CHECK: %[[HIGH:.*]] = tile.load {{.*}} -> tensor<64xi32, #[[$ROWS]]>
// CHECK: tile.columns_between low(%[[LOW]] : tensor<64xi32, #[[$ROWS]]>) high(%[[HIGH]] : tensor<64xi32, #[[$ROWS]]>) : tensor<64x64xi1, #[[$ACC]]>
// CHECK: %[[OTHERS:.*]] = tile.convert_layout {{.*}} -> tensor<64xi32, #[[$ROWS]]>
// CHECK: tile.columns_between high(%[[OTHERS]] : tensor<64xi32, #[[$ROWS]]>) : tensor<64x64xi1, #[[$ACC]]>
tile.func @limits(%x: !tile.view<?x64xf16>, %l: !tile.view<?xi32>, %y: !tile.view<?x64xi32>, %z: !tile.view<?x64xf32>, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %s = tile.dot %a, %a, %zero transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  %low = tile.iota %c0_i32 : i32 -> tensor<64xi32>
  %high = tile.load %l[%i] dims [0] : !tile.view<?xi32> -> tensor<64xi32>
  %m = tile.columns_between low(%low : tensor<64xi32>) high(%high : tensor<64xi32>) : tensor<64x64xi1>
  %t = arith.select %m, %s, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  // A column of the transposed tile.
  %o = tile.load %l[%c0] dims [0] : !tile.view<?xi32> -> tensor<64xi32>
  %n = tile.broadcast %o dim 0 : tensor<64xi32> -> tensor<64x64xi32>
  %k = arith.sitofp %n : tensor<64x64xi32> to tensor<64x64xf32>
  %u = arith.addf %t, %k : tensor<64x64xf32>
  // expected-remark @+1 {{layout converted for limits of columns: 256 bytes through shared memory}}
  %w = tile.columns_between high(%o : tensor<64xi32>) : tensor<64x64xi1>
  %v = arith.select %w, %u, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  tile.store %v, %z[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Loops, branches and conditions carry one layout.
// CHECK-LABEL: tile.func @control
tile.func @control(%x: !tile.view<?x64xf16>, %z: !tile.view<?x64xf32>, %n: index, %flag: i1, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %row0 = arith.constant dense<1.0> : tensor<64xf32>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[$ACC]]>, tensor<64xf32, #[[$ROWS]]>)
  %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%o = %zero, %m = %row0) -> (tensor<64x64xf32>, tensor<64xf32>) {
    %s = tile.dot %a, %a, %o transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    // CHECK: scf.if %{{.*}} -> (tensor<64x64xf32, #[[$ACC]]>)
    %u = scf.if %flag -> (tensor<64x64xf32>) {
      %v = math.exp2 %s : tensor<64x64xf32>
      scf.yield %v : tensor<64x64xf32>
    } else {
      scf.yield %s : tensor<64x64xf32>
    }
    %m1 = tile.reduce maxnumf %u init %m dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %grew = arith.cmpf ogt, %m1, %m : tensor<64xf32>
    // CHECK: tile.if_any {{.*}} : tensor<64xi1, #[[$ROWS]]>, (tensor<64x64xf32, #[[$ACC]]>, tensor<64xf32, #[[$ROWS]]>)
    %w:2 = tile.if_any %grew (%u, %m) : tensor<64xi1>, (tensor<64x64xf32>, tensor<64xf32>) {
      %mb = tile.broadcast %m1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
      %d = arith.subf %u, %mb : tensor<64x64xf32>
      tile.yield %d, %m1 : tensor<64x64xf32>, tensor<64xf32>
    }
    scf.yield %w#0, %w#1 : tensor<64x64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %z[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A factor, and the rows of a condition, are laid out as what they rescale.
// CHECK-LABEL: tile.func @rescale(
// CHECK: tile.rescale %{{.*}}, %{{.*}} dim(1) where(%{{.*}} : tensor<64xi1, #[[$ROWS]]>) : tensor<64x64xf32, #[[$ACC]]>, tensor<64xf32, #[[$ROWS]]>
// CHECK: tile.rescale %{{.*}}, %{{.*}} dim(1) where(%{{.*}} : !tile.ran) : tensor<64x64xf32, #[[$ACC]]>, tensor<64xf32, #[[$ROWS]]>
tile.func @rescale(%x: !tile.view<?x64xf16>, %y: !tile.view<?xf32>, %z: !tile.view<?x64xf32>, %n: index, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%o = %zero) -> (tensor<64x64xf32>) {
    %f = tile.load %y[%t] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %some = arith.cmpf une, %f, %one : tensor<64xf32>
    %o1 = tile.rescale %o, %f dim(1) where(%some : tensor<64xi1>) : tensor<64x64xf32>, tensor<64xf32>
    %g, %ran = tile.if_any %some (%one) : tensor<64xi1>, (tensor<64xf32>) -> !tile.ran {
      tile.yield %f : tensor<64xf32>
    }
    %o2 = tile.rescale %o1, %g dim(1) where(%ran : !tile.ran) : tensor<64x64xf32>, tensor<64xf32>
    %s = tile.dot %a, %a, %o2 transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %z[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A vector that is one number ties no rows to columns, nor does what is computed of it: there is one for each layout.
// CHECK-LABEL: tile.func @uniform
tile.func @uniform(%x: !tile.view<?x64xf16>, %z: !tile.view<?x64xf32>, %n: index, %i: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %s = tile.dot %a, %a, %zero transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  %size = tile.broadcast %n : index -> tensor<64xindex>
  %one = tile.broadcast %c1 : index -> tensor<64xindex>
  // CHECK-DAG: %[[OFROWS:.*]] = arith.maxsi {{.*}} : tensor<64xindex, #[[$ROWS]]>
  // CHECK-DAG: %[[OFCOLS:.*]] = arith.maxsi {{.*}} : tensor<64xindex, #[[$COLS]]>
  %least = arith.maxsi %size, %one : tensor<64xindex>
  %rows = tile.iota %i : index -> tensor<64xindex>
  %columns = tile.iota %c0 : index -> tensor<64xindex>
  // CHECK-NOT: tile.convert_layout
  // CHECK-DAG: arith.divsi %{{.*}}, %[[OFROWS]] : tensor<64xindex, #[[$ROWS]]>
  // CHECK-DAG: arith.divsi %{{.*}}, %[[OFCOLS]] : tensor<64xindex, #[[$COLS]]>
  %r = arith.divsi %rows, %least : tensor<64xindex>
  %c = arith.divsi %columns, %least : tensor<64xindex>
  %rb = tile.broadcast %r dim 1 : tensor<64xindex> -> tensor<64x64xindex>
  %cb = tile.broadcast %c dim 0 : tensor<64xindex> -> tensor<64x64xindex>
  %same = arith.cmpi eq, %rb, %cb : tensor<64x64xindex>
  %o = arith.select %same, %s, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  tile.store %o, %z[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// What is gathered and repeated along columns, where no product waits: each thread gathers its part,
// in place of one in four of all elements, and they exchange what comes of it.
// CHECK-LABEL: tile.func @gathered
tile.func @gathered(%x: !tile.view<?xi32>, %sums: !tile.view<?xi32>, %i: index) grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<32xi32>
  %places = tile.iota %c0 : index -> tensor<128xindex>
  // CHECK: tile.gather {{.*}} -> tensor<128xi32, #[[$SPREAD:.*]]>
  %some = tile.gather %x[%places] : !tile.view<?xi32>[tensor<128xindex>] -> tensor<128xi32>
  %others = tile.gather %x[%places] : !tile.view<?xi32>[tensor<128xindex>] -> tensor<128xi32>
  // CHECK: arith.addi {{.*}} : tensor<128xi32, #[[$SPREAD]]>
  %both = arith.addi %some, %others : tensor<128xi32>
  // CHECK: tile.convert_layout {{.*}} : tensor<128xi32, #[[$SPREAD]]> -> tensor<128xi32, #[[$OFCOLUMNS:.*]]>
  // expected-remark @+1 {{layout converted for a broadcast: 512 bytes through shared memory}}
  %all = tile.broadcast %both dim 0 : tensor<128xi32> -> tensor<32x128xi32>
  %sum = tile.reduce maxsi %all init %zero dim 1 : tensor<32x128xi32> -> tensor<32xi32>
  tile.store %sum, %sums[%i] dims [0] : tensor<32xi32>, !tile.view<?xi32>
  tile.return
}
