// The columns of a thread between two limits: so many bits of a number, or a comparison each.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (5, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#wide = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (17, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#few = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>

// Ten columns a row and thread: eights of the limit's distance from the thread's first column, twice, and
// at most two of the rest. A limit that is 40 at most leaves no column beyond the last. Each element asks
// for its bit beside its select, row by row.
// CHECK-LABEL: llvm.func @bits
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i32
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG: %[[C7:.*]] = arith.constant 7 : i32
// CHECK-DAG: %[[ALL:.*]] = arith.constant -1 : i32
// CHECK: %[[EIGHTS:.*]] = arith.shrui %[[REACH:.*]], %[[C3]] : i32
// CHECK-NEXT: %[[WHOLE:.*]] = arith.muli %[[EIGHTS]], %[[C2]] : i32
// CHECK-NEXT: %[[REST:.*]] = arith.andi %[[REACH]], %[[C7]] : i32
// CHECK-NEXT: %[[MORE:.*]] = arith.minsi %[[REST]], %[[C2]] : i32
// CHECK-NEXT: %[[COUNT:.*]] = arith.addi %[[WHOLE]], %[[MORE]] : i32
// CHECK-NEXT: %[[FROM:.*]] = llvm.inline_asm {{.*}}"shl.b32 $0, -1, $1;", "=r,r" %[[COUNT]]
// CHECK-NEXT: %[[BELOW:.*]] = arith.xori %[[FROM]], %[[ALL]] : i32
// CHECK-NEXT: %[[BIT:.*]] = arith.andi %[[BELOW]], %[[C1]] : i32
// CHECK-NEXT: %[[IS:.*]] = arith.cmpi ne, %[[BIT]], %[[C0]] : i32
// CHECK-NEXT: arith.select %[[IS]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: arith.andi %[[BELOW]], %[[C2]] : i32
// CHECK-NEXT: arith.cmpi ne
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.andi %[[BELOW]], %[[C4]] : i32
// CHECK-COUNT-8: arith.select
// CHECK: %[[OTHER:.*]] = arith.xori %{{.*}}, %[[ALL]] : i32
// CHECK-NEXT: arith.andi %[[OTHER]], %[[C1]] : i32
// CHECK-COUNT-10: arith.select
// CHECK-NOT: arith.select
tile.func @bits(%x: !tile.view<?x?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %f0 = arith.constant 0.0 : f32
  %zero = tile.broadcast %f0 : f32 -> tensor<64x40xf32, #acc>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x40xf32, #acc>
  %c40_i32 = arith.constant 40 : i32
  %most = tile.broadcast %c40_i32 : i32 -> tensor<64xi32, #rows>
  %i = tile.iota %c0_i32 : i32 -> tensor<64xi32, #rows>
  %high = arith.minsi %i, %most : tensor<64xi32, #rows>
  %m = tile.columns_between high(%high : tensor<64xi32, #rows>) : tensor<64x40xi1, #acc>
  %s = arith.select %m, %t, %zero : tensor<64x40xi1, #acc>, tensor<64x40xf32, #acc>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x40xf32, #acc>, !tile.view<?x?xf32>
  tile.return
}

// Limits of which nothing is known: first to the thread's first column, then on to the last.
// Both sides: what is below the one and not below the other.
// CHECK-LABEL: llvm.func @unknown
// CHECK: %[[RAISED:.*]] = arith.maxsi %{{.*}}, %[[FIRST:.*]] : i32
// CHECK-NEXT: %[[FAR:.*]] = arith.subi %[[RAISED]], %[[FIRST]] : i32
// CHECK-NEXT: arith.minsi %[[FAR]], %{{.*}} : i32
// CHECK: %[[LOWS:.*]] = llvm.inline_asm {{.*}}"shl.b32 $0, -1, $1;"
// CHECK: %[[HIGHS:.*]] = llvm.inline_asm {{.*}}"shl.b32 $0, -1, $1;"
// CHECK: %[[BELOW:.*]] = arith.xori %[[HIGHS]], %{{.*}} : i32
// CHECK: arith.andi %[[LOWS]], %[[BELOW]] : i32
tile.func @unknown(%x: !tile.view<?x?xf32>, %l: i32, %h: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.broadcast %f0 : f32 -> tensor<64x40xf32, #acc>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x40xf32, #acc>
  %low = tile.broadcast %l : i32 -> tensor<64xi32, #rows>
  %high = tile.broadcast %h : i32 -> tensor<64xi32, #rows>
  %m = tile.columns_between low(%low : tensor<64xi32, #rows>) high(%high : tensor<64xi32, #rows>) : tensor<64x40xi1, #acc>
  %s = arith.select %m, %t, %zero : tensor<64x40xi1, #acc>, tensor<64x40xf32, #acc>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x40xf32, #acc>, !tile.view<?x?xf32>
  tile.return
}

// 34 columns: two numbers a row. The second one's are those beyond 32.
// Conditions that something else reads too are a vector.
// CHECK-LABEL: llvm.func @numbers
// CHECK-DAG: %[[BITS:.*]] = arith.constant dense<[1, 2, 1, 2, {{.*}}, 1073741824, -2147483648, 1073741824, -2147483648, 1, 2, 1, 2]> : vector<68xi32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0> : vector<68xi32>
// CHECK: llvm.inline_asm {{.*}}"shl.b32 $0, -1, $1;", "=r,r" %[[COUNT:.*]] :
// CHECK-NEXT: %[[MORE:.*]] = arith.subi %[[COUNT]], %{{.*}} : i32
// CHECK-NEXT: %[[BEYOND:.*]] = arith.maxsi %[[MORE]], %{{.*}} : i32
// CHECK-NEXT: llvm.inline_asm {{.*}}"shl.b32 $0, -1, $1;", "=r,r" %[[BEYOND]] :
// CHECK: %[[ALL:.*]] = vector.from_elements {{.*}} : vector<4xi32>
// CHECK-NEXT: %[[OWN:.*]] = vector.shuffle %[[ALL]], %[[ALL]] [0, 0, 2, 2, {{.*}} 0, 0, 2, 2, 1, 1, 3, 3] : vector<4xi32>
// CHECK-NEXT: %[[MASKED:.*]] = arith.andi %[[OWN]], %[[BITS]] : vector<68xi32>
// CHECK-NEXT: %[[M:.*]] = arith.cmpi ne, %[[MASKED]], %[[NONE]] : vector<68xi32>
// CHECK: arith.uitofp %[[M]]
tile.func @numbers(%x: !tile.view<?x?xf32>, %l: i32) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %low = tile.broadcast %l : i32 -> tensor<64xi32, #rows>
  %m = tile.columns_between low(%low : tensor<64xi32, #rows>) : tensor<64x136xi1, #wide>
  %s = arith.uitofp %m : tensor<64x136xi1, #wide> to tensor<64x136xf32, #wide>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x136xf32, #wide>, !tile.view<?x?xf32>
  tile.return
}

// Few columns are compared.
// CHECK-LABEL: llvm.func @few
// CHECK-DAG: %[[NUMBERS:.*]] = arith.constant dense<[0, 1, 0, 1]> : vector<4xi32>
// CHECK-NOT: shl.b32
// CHECK: %[[LOWS:.*]] = vector.shuffle
// CHECK: %[[FROM:.*]] = arith.cmpi sle, %[[LOWS]], %[[NUMBERS]] : vector<4xi32>
// CHECK: %[[HIGHS:.*]] = vector.shuffle
// CHECK: %[[BELOW:.*]] = arith.cmpi sgt, %[[HIGHS]], %[[NUMBERS]] : vector<4xi32>
// CHECK: %[[BOTH:.*]] = arith.andi %[[FROM]], %[[BELOW]] : vector<4xi1>
// CHECK: arith.select %[[BOTH]]
tile.func @few(%x: !tile.view<?x?xf32>, %l: i32, %h: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.broadcast %f0 : f32 -> tensor<64x8xf32, #few>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x8xf32, #few>
  %low = tile.broadcast %l : i32 -> tensor<64xi32, #rows>
  %high = tile.broadcast %h : i32 -> tensor<64xi32, #rows>
  %m = tile.columns_between low(%low : tensor<64xi32, #rows>) high(%high : tensor<64xi32, #rows>) : tensor<64x8xi1, #few>
  %s = arith.select %m, %t, %zero : tensor<64x8xi1, #few>, tensor<64x8xf32, #few>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x8xf32, #few>, !tile.view<?x?xf32>
  tile.return
}
