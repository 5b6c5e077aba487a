// RUN: fa-opt %s --tile-list-steps --split-input-file | FileCheck %s

// Steps under a condition that reads memory: a word of 32 for it, another one for what the steps
// ask for.
// CHECK-LABEL: tile.func @listed
// CHECK-SAME: %[[M:[a-z0-9]+]]: !tile.view<?x?xi1>
// CHECK-SAME: %[[LO:[a-z0-9]+]]: index, %[[HI:[a-z0-9]+]]: index, %[[T:[a-z0-9]+]]: index)
// CHECK: %[[C64:.*]] = arith.constant 64 : index
// CHECK: %[[C32:.*]] = arith.constant 32 : index
// CHECK: %[[WIDTH:.*]] = arith.muli %[[C64]], %[[C32]]
// CHECK: %[[R:.*]] = scf.for %[[CHUNK:.*]] = %[[LO]] to %[[HI]] step %[[WIDTH]] iter_args(%[[OUTER:.*]] = %{{.*}})
// CHECK: %[[WORD:.*]] = tile.ballot {
// CHECK: ^bb0(%[[N:.*]]: index):
// CHECK: %[[AT:.*]] = arith.muli %[[N]], %[[C64]]
// CHECK: %[[J:.*]] = arith.addi %[[CHUNK]], %[[AT]]
// CHECK: %[[BLOCK:.*]] = arith.divui %[[J]], %[[C64]]
// CHECK: %[[SHOWN:.*]] = tile.load %[[M]][%[[T]], %[[BLOCK]]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[J]], %[[HI]]
// CHECK: %[[BIT:.*]] = arith.andi %[[SHOWN]], %[[INSIDE]]
// CHECK: tile.vote %[[BIT]]
// CHECK: %[[MIXED:.*]] = tile.ballot {
// CHECK: %[[COUNT:.*]] = math.ctpop %[[WORD]] : i32
// CHECK: scf.for %[[U:.*]] = %{{.*}} to %[[COUNT]] step %{{.*}} iter_args(%[[ACC:.*]] = %[[OUTER]])
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[U]] : i32 to index
// CHECK: %[[PLACE:.*]] = tile.nth_bit %[[WORD]][%[[NUMBER]]]
// CHECK: %[[SKIPPED:.*]] = arith.muli %[[PLACE]], %[[C64]]
// CHECK: %[[KEY:.*]] = arith.addi %[[CHUNK]], %[[SKIPPED]]
// CHECK: %[[SHIFT:.*]] = arith.index_cast %[[PLACE]]
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[MIXED]], %[[SHIFT]]
// CHECK: %[[NEEDS:.*]] = arith.trunci %[[SHIFTED]] : i32 to i1
// CHECK-NOT: scf.if
// CHECK: tile.load %{{.*}}[%[[KEY]],
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK: scf.if %[[NEEDS]]
tile.func @listed(%m: !tile.view<?x?xi1>, %x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf32>, %lo: index, %hi: index, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [1, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %r = scf.for %j = %lo to %hi step %c64 iter_args(%acc = %acc0) -> tensor<64x64xf32> {
    %block = arith.divui %j, %c64 : index
    %next = arith.addi %block, %c1 : index
    %shown = tile.load %m[%t, %block] : !tile.view<?x?xi1> -> i1
    %mixed = tile.load %m[%t, %next] : !tile.view<?x?xi1> -> i1
    %stepped = scf.if %shown -> tensor<64x64xf32> {
      %b = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
      %d = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %e = scf.if %mixed -> tensor<64x64xf32> {
        %f = arith.negf %d : tensor<64x64xf32>
        scf.yield %f : tensor<64x64xf32>
      } else {
        scf.yield %d : tensor<64x64xf32>
      }
      scf.yield %e : tensor<64x64xf32>
    } else {
      scf.yield %acc : tensor<64x64xf32>
    }
    scf.yield %stepped : tensor<64x64xf32>
  }
  tile.store %r, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

// A condition that the program may change, one that the loop carries, a loop that does something
// where the condition does not hold, and one without products whose condition reads no memory:
// none is listed.
// CHECK-LABEL: tile.func @kept
// CHECK-NOT: tile.ballot
tile.func @kept(%m: !tile.view<?xi1>, %x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %yes = arith.constant true
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %written = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> tensor<64x64xf32> {
    %at = tile.load %y[%j, %c0] : !tile.view<?x64xf32> -> f32
    %shown = arith.cmpf ogt, %at, %zero : f32
    %r = scf.if %shown -> tensor<64x64xf32> {
      %d = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    } else {
      scf.yield %acc : tensor<64x64xf32>
    }
    scf.yield %r : tensor<64x64xf32>
  }
  %carried:2 = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %written, %shown = %yes) -> (tensor<64x64xf32>, i1) {
    %same = arith.andi %shown, %yes : i1
    %r:2 = scf.if %same -> (tensor<64x64xf32>, i1) {
      %d = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      %next = tile.load %m[%j] : !tile.view<?xi1> -> i1
      scf.yield %d, %next : tensor<64x64xf32>, i1
    } else {
      scf.yield %acc, %shown : tensor<64x64xf32>, i1
    }
    scf.yield %r#0, %r#1 : tensor<64x64xf32>, i1
  }
  %either = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %carried#0) -> tensor<64x64xf32> {
    %shown = tile.load %m[%j] : !tile.view<?xi1> -> i1
    %r = scf.if %shown -> tensor<64x64xf32> {
      %d = tile.dot %a, %a, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    } else {
      %e = arith.negf %acc : tensor<64x64xf32>
      scf.yield %e : tensor<64x64xf32>
    }
    scf.yield %r : tensor<64x64xf32>
  }
  %sums = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %either) -> tensor<64x64xf32> {
    %shown = arith.cmpi ne, %j, %c64 : index
    %r = scf.if %shown -> tensor<64x64xf32> {
      %e = arith.addf %acc, %acc : tensor<64x64xf32>
      scf.yield %e : tensor<64x64xf32>
    } else {
      scf.yield %acc : tensor<64x64xf32>
    }
    scf.yield %r : tensor<64x64xf32>
  }
  tile.store %sums, %y[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

// No products, but tests that wait for memory.
// CHECK-LABEL: tile.func @sums
// CHECK: tile.ballot
// CHECK: tile.nth_bit
// CHECK-NOT: scf.if
tile.func @sums(%m: !tile.view<?xi1>, %y: !tile.view<?xf32>, %n: index)
    grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> tensor<64xf32>
  %sums = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %none) -> tensor<64xf32> {
    %shown = tile.load %m[%j] : !tile.view<?xi1> -> i1
    %r = scf.if %shown -> tensor<64xf32> {
      %x = tile.load %y[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      %e = arith.addf %acc, %x : tensor<64xf32>
      scf.yield %e : tensor<64xf32>
    } else {
      scf.yield %acc : tensor<64xf32>
    }
    scf.yield %r : tensor<64xf32>
  }
  tile.store %sums, %y[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// -----

// A conjunction of comparisons holds from one step to another: no list. Beside an `or` it may have holes.
// CHECK-LABEL: tile.func @between
// CHECK-NOT: tile.ballot
// CHECK: scf.if
// CHECK-LABEL: tile.func @around
// CHECK: tile.ballot
tile.func @between(%x: !tile.view<?x64xf16>, %lo: index, %hi: index, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32>
  %r = scf.for %j = %lo to %hi step %c64 iter_args(%acc = %acc0) -> tensor<64x64xf32> {
    %end = arith.addi %j, %c64 : index
    %from = arith.cmpi slt, %t, %end : index
    %until = arith.cmpi sle, %j, %hi : index
    %shown = arith.andi %from, %until : i1
    %stepped = scf.if %shown -> tensor<64x64xf32> {
      %b = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
      %d = tile.dot %b, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    } else {
      scf.yield %acc : tensor<64x64xf32>
    }
    scf.yield %stepped : tensor<64x64xf32>
  }
  tile.return
}
tile.func @around(%x: !tile.view<?x64xf16>, %lo: index, %hi: index, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32>
  %r = scf.for %j = %lo to %hi step %c64 iter_args(%acc = %acc0) -> tensor<64x64xf32> {
    %end = arith.addi %j, %c64 : index
    %first = arith.cmpi sle, %j, %c0 : index
    %last = arith.cmpi slt, %t, %end : index
    %shown = arith.ori %first, %last : i1
    %stepped = scf.if %shown -> tensor<64x64xf32> {
      %b = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
      %d = tile.dot %b, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    } else {
      scf.yield %acc : tensor<64x64xf32>
    }
    scf.yield %stepped : tensor<64x64xf32>
  }
  tile.return
}

// -----

// Of two ways, the second only takes the least, the greatest and the sum: once for all of its steps in the chunk, by the first and the last bit of a word and how many are set.
// The loop runs over the others.
// CHECK-LABEL: tile.func @at_once(
// CHECK: %[[ALL:.*]]:4 = scf.for %[[CHUNK:.*]] = %{{.*}} step %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[LEAST:.*]] = %{{.*}}, %[[MOST:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}})
// CHECK: %[[LISTED:.*]] = tile.ballot
// CHECK: %[[FIRST:.*]] = tile.ballot
// CHECK: %[[NOT:.*]] = arith.xori %[[FIRST]], %{{.*}}
// CHECK: %[[WORD:.*]] = arith.andi %[[LISTED]], %[[NOT]]
// CHECK: %[[LOW:.*]] = tile.nth_bit %[[WORD]][%{{.*}}]
// CHECK: %[[LESS:.*]] = arith.minsi %[[LEAST]], %{{.*}} : i32
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[WORD]], %{{.*}}
// CHECK: %[[NEWLEAST:.*]] = arith.select %[[ANY]], %[[LESS]], %[[LEAST]]
// CHECK: %[[BITS:.*]] = math.ctpop %[[WORD]]
// CHECK: tile.nth_bit %[[WORD]]
// CHECK: arith.maxsi %[[MOST]], %{{.*}} : i32
// CHECK: %[[MORE:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: arith.addi %[[SUM]], %[[MORE]] : i32
// CHECK: %[[REST:.*]] = arith.andi %[[LISTED]], %[[FIRST]]
// CHECK: %[[COUNT:.*]] = math.ctpop %[[REST]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[COUNT]]
// CHECK-NOT: scf.if
// CHECK: tile.load {{.*}} dims [1]
// CHECK-NOT: scf.if
// CHECK: tile.return
// A step that the first way reads is taken step by step.
// CHECK-LABEL: tile.func @read(
// CHECK: scf.if
tile.func @at_once(%x: !tile.view<?x64xf32>, %m: !tile.view<?x2xi1>, %y: !tile.view<64xf32>, %z: !tile.view<3xi32>, %t: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
  %n = tile.dim %x, 0 : !tile.view<?x64xf32>
  %init = arith.constant dense<0.0> : tensor<64xf32>
  %r:4 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %init, %least = %seven, %most = %zero, %sum = %zero) -> (tensor<64xf32>, i32, i32, i32) {
    %shown = tile.load %m[%i, %c0] : !tile.view<?x2xi1> -> i1
    %mixed = tile.load %m[%i, %c1] : !tile.view<?x2xi1> -> i1
    %s:4 = scf.if %shown -> (tensor<64xf32>, i32, i32, i32) {
      %w:4 = scf.if %mixed -> (tensor<64xf32>, i32, i32, i32) {
        %v = tile.load %x[%i, %c0] dims [1] : !tile.view<?x64xf32> -> tensor<64xf32>
        %a = arith.addf %acc, %v : tensor<64xf32>
        scf.yield %a, %least, %most, %sum : tensor<64xf32>, i32, i32, i32
      } else {
        %j = arith.index_cast %i : index to i32
        %end = arith.addi %j, %seven : i32
        %l = arith.minsi %least, %j : i32
        %g = arith.maxsi %most, %end : i32
        %p = arith.addi %sum, %seven : i32
        scf.yield %acc, %l, %g, %p : tensor<64xf32>, i32, i32, i32
      }
      scf.yield %w#0, %w#1, %w#2, %w#3 : tensor<64xf32>, i32, i32, i32
    } else {
      scf.yield %acc, %least, %most, %sum : tensor<64xf32>, i32, i32, i32
    }
    scf.yield %s#0, %s#1, %s#2, %s#3 : tensor<64xf32>, i32, i32, i32
  }
  %l = tile.broadcast %r#1 : i32 -> tensor<1xi32>
  tile.store %l, %z[%c0] dims [0] : tensor<1xi32>, !tile.view<3xi32>
  tile.store %r#0, %y[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}
tile.func @read(%x: !tile.view<?x64xf32>, %m: !tile.view<?x2xi1>, %y: !tile.view<64xf32>, %z: !tile.view<3xi32>, %t: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %n = tile.dim %x, 0 : !tile.view<?x64xf32>
  %init = arith.constant dense<0.0> : tensor<64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %init, %most = %zero) -> (tensor<64xf32>, i32) {
    %shown = tile.load %m[%i, %c0] : !tile.view<?x2xi1> -> i1
    %mixed = tile.load %m[%i, %c1] : !tile.view<?x2xi1> -> i1
    %s:2 = scf.if %shown -> (tensor<64xf32>, i32) {
      %w:2 = scf.if %mixed -> (tensor<64xf32>, i32) {
        %at = arith.index_cast %most : i32 to index
        %v = tile.load %x[%at, %c0] dims [1] : !tile.view<?x64xf32> -> tensor<64xf32>
        %a = arith.addf %acc, %v : tensor<64xf32>
        scf.yield %a, %most : tensor<64xf32>, i32
      } else {
        %j = arith.index_cast %i : index to i32
        %g = arith.maxsi %most, %j : i32
        scf.yield %acc, %g : tensor<64xf32>, i32
      }
      scf.yield %w#0, %w#1 : tensor<64xf32>, i32
    } else {
      scf.yield %acc, %most : tensor<64xf32>, i32
    }
    scf.yield %s#0, %s#1 : tensor<64xf32>, i32
  }
  tile.store %r#0, %y[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// -----

// Both ways store: none is taken at once.
// CHECK-LABEL: tile.func @both_ways
// CHECK-COUNT-2: tile.store
tile.func @both_ways(%flags: !tile.view<?xi32>, %o: !tile.view<?xi32>, %id: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %n = tile.dim %flags, 0 : !tile.view<?xi32>
  %zeros = tile.broadcast %z : i32 -> tensor<64xi32>
  scf.for %i = %c0 to %n step %c1 {
    %x = tile.load %flags[%i] : !tile.view<?xi32> -> i32
    %seen = arith.cmpi ne, %x, %z : i32
    %whole = arith.cmpi sgt, %x, %z : i32
    scf.if %seen {
      scf.if %whole {
        tile.store %zeros, %o[%c0] dims [0] : tensor<64xi32>, !tile.view<?xi32>
      } else {
        tile.store %zeros, %o[%i] dims [0] : tensor<64xi32>, !tile.view<?xi32>
      }
    }
  }
  tile.return
}

// -----

// A yield inside of the first way takes the maximum to where it is read: the steps stay in order.
// CHECK-LABEL: tile.func @yielded_inside(
// CHECK: scf.for {{.*}} iter_args(%[[MOST:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (i32, tensor<64xf32>)
// CHECK: scf.for {{.*}} iter_args(%[[INNER:.*]] = %[[MOST]], %{{.*}} = %{{.*}}) -> (i32, tensor<64xf32>)
// CHECK: scf.if
// CHECK: arith.maxsi %[[INNER]]
tile.func @yielded_inside(%x: !tile.view<?x64xf32>, %m: !tile.view<?x2xi1>, %y: !tile.view<64xf32>, %far: i1) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %n = tile.dim %x, 0 : !tile.view<?x64xf32>
  %init = arith.constant dense<0.0> : tensor<64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c64 iter_args(%most = %zero, %acc = %init) -> (i32, tensor<64xf32>) {
    %shown = tile.load %m[%i, %c0] : !tile.view<?x2xi1> -> i1
    %mixed = tile.load %m[%i, %c1] : !tile.view<?x2xi1> -> i1
    %s:2 = scf.if %shown -> (i32, tensor<64xf32>) {
      %w:2 = scf.if %mixed -> (i32, tensor<64xf32>) {
        %place = scf.if %far -> i32 {
          scf.yield %most : i32
        } else {
          scf.yield %zero : i32
        }
        %at = arith.index_cast %place : i32 to index
        %v = tile.load %x[%at, %c0] dims [1] : !tile.view<?x64xf32> -> tensor<64xf32>
        %a = arith.addf %acc, %v : tensor<64xf32>
        scf.yield %most, %a : i32, tensor<64xf32>
      } else {
        %j = arith.index_cast %i : index to i32
        %g = arith.maxsi %most, %j : i32
        scf.yield %g, %acc : i32, tensor<64xf32>
      }
      scf.yield %w#0, %w#1 : i32, tensor<64xf32>
    } else {
      scf.yield %most, %acc : i32, tensor<64xf32>
    }
    scf.yield %s#0, %s#1 : i32, tensor<64xf32>
  }
  tile.store %r#1, %y[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}
