// RUN: fa-opt %s --tile-predicate-masks | FileCheck %s

// Two limits above, one of them the same for all rows, and one below: one each, and for each
// the rows ask for a select where it is inside the tile.
// CHECK-LABEL: tile.func @limits
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32
// CHECK-DAG: %[[C127:.*]] = arith.constant 127 : i32
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : i32
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[LOADED:.*]] = tile.load
// CHECK: %[[LAST:.*]] = tile.broadcast %[[C127]] : i32 -> tensor<64xi32>
// CHECK: %[[MOST:.*]] = arith.minsi %[[LOADED]], %[[LAST]] : tensor<64xi32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[MOST]], %{{.*}} : tensor<64xi32>
// CHECK: %[[LOW:.*]] = arith.addi
// CHECK: %[[ONE:.*]] = arith.minsi %[[N]], %[[C128]] : i32
// CHECK-NEXT: %[[NS:.*]] = tile.broadcast %[[ONE]] : i32 -> tensor<64xi32>
// CHECK-NEXT: %[[HIGH:.*]] = arith.minsi %[[NEXT]], %[[NS]] : tensor<64xi32>
// CHECK: %[[ABOVE:.*]] = arith.cmpi sgt, %[[LOW]], %{{.*}} : tensor<64xi32>
// CHECK: %[[Y:.*]] = tile.if_any %[[ABOVE]](%[[X]]) : tensor<64xi1>, (tensor<64x128xf32>) {
// CHECK: %[[C:.*]] = tile.columns_between low(%[[LOW]] : tensor<64xi32>) : tensor<64x128xi1>
// CHECK: %[[S:.*]] = arith.select %[[C]], %[[X]], %{{.*}} : tensor<64x128xi1>, tensor<64x128xf32>
// CHECK: tile.yield %[[S]]
// CHECK: }
// CHECK: %[[ALL:.*]] = tile.broadcast %[[C128]] : i32 -> tensor<64xi32>
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[HIGH]], %[[ALL]] : tensor<64xi32>
// CHECK: %[[Z:.*]] = tile.if_any %[[BELOW]](%[[Y]]) : tensor<64xi1>, (tensor<64x128xf32>) {
// CHECK: %[[C:.*]] = tile.columns_between high(%[[HIGH]] : tensor<64xi32>) : tensor<64x128xi1>
// CHECK: %[[S:.*]] = arith.select %[[C]], %[[Y]], %{{.*}} : tensor<64x128xi1>, tensor<64x128xf32>
// CHECK: tile.yield %[[S]]
// CHECK: }
// CHECK-NOT: arith.select
// CHECK: tile.store %[[Z]]
tile.func @limits(%n: i32, %x: !tile.view<?x128xf32>, %l: !tile.view<?xi32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %f0 = arith.constant 0.0 : f32
  %other = tile.broadcast %f0 : f32 -> tensor<64x128xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x128xf32> -> tensor<64x128xf32>
  %high = tile.load %l[%c0] dims [0] : !tile.view<?xi32> -> tensor<64xi32>
  %numbers = tile.iota %c0_i32 : i32 -> tensor<128xi32>
  %ns = tile.broadcast %n : i32 -> tensor<128xi32>
  %in = arith.cmpi slt, %numbers, %ns : tensor<128xi32>
  %ins = tile.broadcast %in dim 0 : tensor<128xi1> -> tensor<64x128xi1>
  %columns = tile.broadcast %numbers dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %highs = tile.broadcast %high dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %a = arith.cmpi sle, %columns, %highs : tensor<64x128xi32>
  %b = arith.cmpi sgt, %columns, %highs : tensor<64x128xi32>
  %ab = arith.andi %a, %b : tensor<64x128xi1>
  %all = arith.andi %ab, %ins : tensor<64x128xi1>
  %s = arith.select %all, %v, %other : tensor<64x128xi1>, tensor<64x128xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}

// A limit that is known to be at most the number of columns is not brought there; one side.
// CHECK-LABEL: tile.func @known
// CHECK: %[[ROWS:.*]] = tile.iota %{{.*}} : i32 -> tensor<64xi32>
// CHECK-NOT: arith.minsi
// CHECK: tile.if_any
// CHECK-NEXT: tile.columns_between high(%[[ROWS]] : tensor<64xi32>) : tensor<64x128xi1>
tile.func @known(%x: !tile.view<?x128xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %f0 = arith.constant 0.0 : f32
  %other = tile.broadcast %f0 : f32 -> tensor<64x128xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x128xf32> -> tensor<64x128xf32>
  %numbers = tile.iota %c0_i32 : i32 -> tensor<128xi32>
  %rows = tile.iota %c0_i32 : i32 -> tensor<64xi32>
  %columns = tile.broadcast %numbers dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %limits = tile.broadcast %rows dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %a = arith.cmpi slt, %columns, %limits : tensor<64x128xi32>
  %s = arith.select %a, %v, %other : tensor<64x128xi1>, tensor<64x128xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}

// As above, where only the sum is known: at most 64 - v, and v is added.
// CHECK-LABEL: tile.func @sum
// CHECK-NOT: arith.minsi {{.*}} : tensor
// CHECK: tile.if_any
tile.func @sum(%f: i32, %v: i32, %x: !tile.view<?x128xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c-200 = arith.constant -200 : i32
  %f0 = arith.constant 0.0 : f32
  %low = arith.subi %c-200, %v overflow<nsw> : i32
  %raised = arith.maxsi %f, %low : i32
  %high = arith.subi %c64, %v overflow<nsw> : i32
  %between = arith.minsi %raised, %high : i32
  %sum = arith.addi %between, %v : i32
  %sums = tile.broadcast %sum : i32 -> tensor<64xi32>
  %rows = tile.iota %c0_i32 : i32 -> tensor<64xi32>
  %limit = arith.addi %sums, %rows : tensor<64xi32>
  %other = tile.broadcast %f0 : f32 -> tensor<64x128xf32>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x128xf32> -> tensor<64x128xf32>
  %numbers = tile.iota %c0_i32 : i32 -> tensor<128xi32>
  %columns = tile.broadcast %numbers dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %limits = tile.broadcast %limit dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %a = arith.cmpi slt, %columns, %limits : tensor<64x128xi32>
  %s = arith.select %a, %t, %other : tensor<64x128xi1>, tensor<64x128xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}

// The same where the difference may wrap around: nothing is known.
// CHECK-LABEL: tile.func @wraps
// CHECK: arith.minsi {{.*}} : tensor<64xi32>
// CHECK: tile.if_any
tile.func @wraps(%f: i32, %v: i32, %x: !tile.view<?x128xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %f0 = arith.constant 0.0 : f32
  %high = arith.subi %c64, %v : i32
  %less = arith.minsi %f, %high : i32
  %sum = arith.addi %less, %v : i32
  %sums = tile.broadcast %sum : i32 -> tensor<64xi32>
  %rows = tile.iota %c0_i32 : i32 -> tensor<64xi32>
  %limit = arith.addi %sums, %rows : tensor<64xi32>
  %other = tile.broadcast %f0 : f32 -> tensor<64x128xf32>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x128xf32> -> tensor<64x128xf32>
  %numbers = tile.iota %c0_i32 : i32 -> tensor<128xi32>
  %columns = tile.broadcast %numbers dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %limits = tile.broadcast %limit dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %a = arith.cmpi slt, %columns, %limits : tensor<64x128xi32>
  %s = arith.select %a, %t, %other : tensor<64x128xi1>, tensor<64x128xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}

// Limits that are the same for all rows; another condition; a disjunction; another predicate.
// CHECK-LABEL: tile.func @stays
// CHECK-NOT: tile.if_any
// CHECK-COUNT-4: arith.select
// CHECK: tile.return
tile.func @stays(%n: i32, %x: !tile.view<?x128xf32>, %l: !tile.view<?xi32>, %m: !tile.view<?x128xi1>)
    grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %f0 = arith.constant 0.0 : f32
  %other = tile.broadcast %f0 : f32 -> tensor<64x128xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x128xf32> -> tensor<64x128xf32>
  %high = tile.load %l[%c0] dims [0] : !tile.view<?xi32> -> tensor<64xi32>
  %more = tile.load %m[%c0, %c0] dims [0, 1] : !tile.view<?x128xi1> -> tensor<64x128xi1>
  %numbers = tile.iota %c0_i32 : i32 -> tensor<128xi32>
  %ns = tile.broadcast %n : i32 -> tensor<128xi32>
  %in = arith.cmpi slt, %numbers, %ns : tensor<128xi32>
  %ins = tile.broadcast %in dim 0 : tensor<128xi1> -> tensor<64x128xi1>
  %s = arith.select %ins, %v, %other : tensor<64x128xi1>, tensor<64x128xf32>
  %columns = tile.broadcast %numbers dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %highs = tile.broadcast %high dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %a = arith.cmpi sle, %columns, %highs : tensor<64x128xi32>
  %and = arith.andi %a, %more : tensor<64x128xi1>
  %t = arith.select %and, %s, %other : tensor<64x128xi1>, tensor<64x128xf32>
  %or = arith.ori %a, %ins : tensor<64x128xi1>
  %u = arith.select %or, %t, %other : tensor<64x128xi1>, tensor<64x128xf32>
  %e = arith.cmpi ne, %columns, %highs : tensor<64x128xi32>
  %w = arith.select %e, %u, %other : tensor<64x128xi1>, tensor<64x128xf32>
  tile.store %w, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}

// Keys are rows, queries columns: a key sees the queries from its own on, as far as there are any, and a key out of range none. The
// upper limit is the same for all rows, so one select serves both sides; the condition of a row moves its lower limit beyond all.
// CHECK-LABEL: tile.func @keys_by_queries
// CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}} : tensor<64xi32>
// CHECK: %[[LOW:.*]] = arith.select %[[IN]], %{{.*}}, %{{.*}} : tensor<64xi1>, tensor<64xi32>
// CHECK-NOT: tile.if_any
// CHECK: %[[C:.*]] = tile.columns_between low(%[[LOW]] : tensor<64xi32>) high(%{{.*}} : tensor<64xi32>)
// CHECK: %[[Z:.*]] = arith.select %[[C]],
// CHECK: tile.store %[[Z]]
tile.func @keys_by_queries(%n: i32, %m: i32, %x: !tile.view<?x128xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %f0 = arith.constant 0.0 : f32
  %other = tile.broadcast %f0 : f32 -> tensor<64x128xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x128xf32> -> tensor<64x128xf32>
  %queries = tile.iota %c0_i32 : i32 -> tensor<128xi32>
  %ns = tile.broadcast %n : i32 -> tensor<128xi32>
  %in = arith.cmpi slt, %queries, %ns : tensor<128xi32>
  %ins = tile.broadcast %in dim 0 : tensor<128xi1> -> tensor<64x128xi1>
  %keys = tile.iota %c0_i32 : i32 -> tensor<64xi32>
  %ms = tile.broadcast %m : i32 -> tensor<64xi32>
  %known = arith.cmpi slt, %keys, %ms : tensor<64xi32>
  %knowns = tile.broadcast %known dim 1 : tensor<64xi1> -> tensor<64x128xi1>
  %columns = tile.broadcast %queries dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %firsts = tile.broadcast %keys dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %a = arith.cmpi sge, %columns, %firsts : tensor<64x128xi32>
  %b = arith.andi %ins, %knowns : tensor<64x128xi1>
  %all = arith.andi %a, %b : tensor<64x128xi1>
  %s = arith.select %all, %v, %other : tensor<64x128xi1>, tensor<64x128xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}
