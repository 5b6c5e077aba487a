// RUN: fa-opt %s --tile-align-blocks --remarks=tile-align-blocks --split-input-file --verify-diagnostics | FileCheck %s

// Of n rows in blocks of 192, the last one has those of (n - 1) mod 192 / 64 + 1 warpgroups: the others of the three are
// before row 0, where there is more than one block.
// CHECK-LABEL: tile.func @causal
// CHECK-SAME: %[[Q:.*]]: !tile.view<?x64xf32>, %[[K:.*]]: !tile.view<?x64xf32>, %[[O:.*]]: !tile.view<?x64xf32> {{.*}}, %[[T:.*]]: index)
// CHECK: %[[I:.*]] = arith.muli %[[T]], %[[R:.*]] : index
// CHECK: %[[N:.*]] = tile.dim %[[O]], 0
// CHECK: %[[UP:.*]] = arith.addi %[[N]], %c191
// CHECK: %[[LAST:.*]] = arith.remui %[[UP]], %[[R]]
// CHECK: %[[GROUP:.*]] = arith.divui %[[LAST]], %c64
// CHECK: %[[LACKING:.*]] = arith.subi %c2{{[_0-9]*}}, %[[GROUP]]
// CHECK: %[[SEVERAL:.*]] = arith.cmpi ugt, %[[N]], %[[R]]
// CHECK: %[[ROWS:.*]] = arith.muli %[[LACKING]], %c64
// CHECK: %[[MOVED:.*]] = arith.select %[[SEVERAL]], %[[ROWS]], %c0
// CHECK: %[[FIRST:.*]] = arith.subi %[[I]], %[[MOVED]]
// CHECK-NOT: %[[I]]
// CHECK: tile.load %[[Q]][%[[FIRST]],
// CHECK: arith.addi %[[FIRST]], %[[R]]
// CHECK: tile.store %{{.*}}, %[[O]][%[[FIRST]],
tile.func @causal(%q: !tile.view<?x64xf32>, %k: !tile.view<?x64xf32>, %o: !tile.view<?x64xf32> {tile.dims = ["S", "D"], tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 192)> sizes [2, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %i = arith.muli %t, %c192 : index
  %q_tile = tile.load %q[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<192x64xf32>
  %sk = tile.dim %k, 0 : !tile.view<?x64xf32>
  %end = arith.addi %i, %c192 : index
  %hi = arith.minsi %end, %sk : index
  %zero = arith.constant dense<0.0> : tensor<192x64xf32>
  // expected-remark @+1 {{the first block has fewer rows, not the last one}}
  %r = scf.for %j = %c0 to %hi step %c64 iter_args(%acc = %zero) -> (tensor<192x64xf32>) {
    %k_tile = tile.load %k[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %s = tile.dot %q_tile, %k_tile, %acc transpose_b : tensor<192x64xf32>, tensor<64x64xf32>, tensor<192x64xf32>
    scf.yield %s : tensor<192x64xf32>
  } {tile.row_derived}
  tile.store %r, %o[%i, %c0] dims [0, 1] : tensor<192x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

// A sequence's rows: slices that a block loads or stores may begin behind its first row.
// CHECK-LABEL: tile.func @packed
// CHECK: %[[I:.*]] = arith.muli
// CHECK: %[[N:.*]] = arith.maxsi
// CHECK: arith.addi %[[N]], %c127
// CHECK: %[[FIRST:.*]] = arith.subi %[[I]],
// CHECK: tile.slice %{{.*}} size %[[N]] front
// CHECK: tile.slice %{{.*}} size %[[N]] :
// CHECK: tile.slice %{{.*}} size %[[N]] front
tile.func @packed(%q: !tile.view<?x64xf32>, %k: !tile.view<?x64xf32>, %o: !tile.view<?x64xf32> {tile.output}, %n: index, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [2, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i = arith.muli %t, %c128 : index
  %rows = arith.maxsi %n, %c0 : index
  %q_part = tile.slice %q dim 0 from %c64 size %rows : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  %q_tile = tile.load %q_part[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<128x64xf32>
  %k_part = tile.slice %k dim 0 from %c64 size %rows : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  %end = arith.addi %i, %c128 : index
  %hi = arith.minsi %end, %rows : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  // expected-remark @+1 {{the first block has fewer rows, not the last one}}
  %r = scf.for %j = %c0 to %hi step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %k_tile = tile.load %k_part[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %s = tile.dot %q_tile, %k_tile, %acc transpose_b : tensor<128x64xf32>, tensor<64x64xf32>, tensor<128x64xf32>
    scf.yield %s : tensor<128x64xf32>
  } {tile.row_derived}
  %o_part = tile.slice %o dim 0 from %c64 size %rows : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  tile.store %r, %o_part[%i, %c0] dims [0, 1] : tensor<128x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

// What a block reads of a table by its rows is of no row before 0.
// CHECK-LABEL: tile.func @table
// CHECK-NOT: arith.remui
tile.func @table(%q: !tile.view<?x64xf32>, %last: !tile.view<?xi32>, %o: !tile.view<?x64xf32> {tile.dims = ["S", "D"], tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [2, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i = arith.muli %t, %c128 : index
  %q_tile = tile.load %q[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<128x64xf32>
  %hi = arith.addi %i, %c128 : index
  %entry = arith.divui %i, %c64 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  // expected-remark @+1 {{blocks begin with the first row", Reason="'arith.divui'}}
  %r = scf.for %j = %c0 to %hi step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %bits = tile.load %last[%entry] : !tile.view<?xi32> -> i32
    %k_tile = tile.load %q[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %s = tile.dot %q_tile, %k_tile, %acc transpose_b : tensor<128x64xf32>, tensor<64x64xf32>, tensor<128x64xf32>
    scf.yield %s : tensor<128x64xf32>
  } {tile.row_derived}
  tile.store %r, %o[%i, %c0] dims [0, 1] : tensor<128x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A window begins later for later rows, too: no block has more keys than another one.
// CHECK-LABEL: tile.func @window
// CHECK-NOT: arith.remui
tile.func @window(%q: !tile.view<?x64xf32>, %o: !tile.view<?x64xf32> {tile.dims = ["S", "D"], tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [1, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i = arith.muli %t, %c128 : index
  %q_tile = tile.load %q[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<128x64xf32>
  %hi = arith.addi %i, %c128 : index
  %early = arith.subi %i, %c128 : index
  %lo = arith.maxsi %early, %c0 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %j = %lo to %hi step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
    %k_tile = tile.load %q[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %s = tile.dot %q_tile, %k_tile, %acc transpose_b : tensor<128x64xf32>, tensor<64x64xf32>, tensor<128x64xf32>
    scf.yield %s : tensor<128x64xf32>
  } {tile.row_derived}
  tile.store %r, %o[%i, %c0] dims [0, 1] : tensor<128x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A warpgroup for each block, whose rows are the least that is moved.
// CHECK-LABEL: tile.func @warpgroup
// CHECK-NOT: arith.remui
tile.func @warpgroup(%q: !tile.view<?x64xf32>, %o: !tile.view<?x64xf32> {tile.dims = ["S", "D"], tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [1, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = arith.muli %t, %c64 : index
  %q_tile = tile.load %q[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %hi = arith.addi %i, %c64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %hi step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = tile.load %q[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %s = tile.dot %q_tile, %k_tile, %acc transpose_b : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  } {tile.row_derived}
  tile.store %r, %o[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
