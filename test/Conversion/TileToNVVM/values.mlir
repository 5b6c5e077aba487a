// A tile becomes the vector of what a thread holds of it.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
#cols = #tile.frag<reg = [(2, 1), (2, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>
#lanes = #tile.frag<reg = [], lane = [(32, 1)], warp = []>

// A view is its address, its dynamic sizes and its strides but the last.
// CHECK-NOT: tile.
// CHECK: llvm.func @copy(%[[X:.*]]: !llvm.ptr<1>, %[[N:[a-z0-9]*]]: i64, %{{.*}}: i64, %{{.*}}: i64, %[[Y:.*]]: !llvm.ptr<1>, %[[M:[a-z0-9]*]]: i64, %{{[a-z0-9]*}}: i64, %{{[a-z0-9]*}}: i64, %{{[a-z0-9]*}}: i8) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>}
// CHECK: %[[A:.*]] = llvm.inline_asm {{.*}}ld.global.b32{{.*}} : (!llvm.ptr<1>, i1) -> i32
// CHECK: llvm.inline_asm has_side_effects {{.*}}st.global.b32{{.*}} %{{.*}}, %{{.*}}, %[[A]]
// CHECK: llvm.return
tile.func @copy(%x: !tile.view<?x?xf32>, %y: !tile.view<?x4xf32>, %n: index, %flag: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %t = tile.load %x[%c0, %c3] dims [1] : !tile.view<?x?xf32> -> tensor<32xf32, #lanes>
  tile.store %t, %y[%n, %c3] dims [0] : tensor<32xf32, #lanes>, !tile.view<?x4xf32>
  tile.return
}

// Registers that stand in one row, or column, get what was held for it.
// CHECK: llvm.func @broadcasts
// CHECK: %[[R:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: %[[C:.*]] = vector.from_elements %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK-DAG: %[[RB:.*]] = vector.shuffle %[[R]], %[[R]] [0, 0, 1, 1, 0, 0, 1, 1]
// CHECK-DAG: %[[CB:.*]] = vector.shuffle %[[C]], %[[C]] [0, 1, 0, 1, 2, 3, 2, 3]
// CHECK-DAG: %[[SB:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[RB]], %[[CB]] : vector<8xf32>
// CHECK: math.fma %[[SUM]], %[[SB]], %[[RB]] : vector<8xf32>
tile.func @broadcasts(%x: !tile.view<?xf32>, %z: !tile.view<?x?xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32, #rows>
  %c = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<16xf32, #cols>
  %rb = tile.broadcast %r dim 1 : tensor<64xf32, #rows> -> tensor<64x16xf32, #acc>
  %cb = tile.broadcast %c dim 0 : tensor<16xf32, #cols> -> tensor<64x16xf32, #acc>
  %sb = tile.broadcast %s : f32 -> tensor<64x16xf32, #acc>
  %sum = arith.addf %rb, %cb : tensor<64x16xf32, #acc>
  %all = math.fma %sum, %sb, %rb : tensor<64x16xf32, #acc>
  tile.store %all, %z[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x?xf32>
  tile.return
}

// An index has 64 bits; a cast cuts or extends. What a lane adds to an iota is
// computed where it is used, not kept in a register across a loop.
// CHECK: llvm.func @integers
// CHECK-DAG: %[[SEVEN:.*]] = arith.constant dense<7> : vector<4xi64>
// CHECK-DAG: %[[STEPS:.*]] = arith.constant dense<[0, 1, 8, 9]> : vector<4xi64>
// CHECK-DAG: %[[SHORT:.*]] = arith.constant dense<[0, 1, 8, 9]> : vector<4xi16>
// CHECK: %[[LANE:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.b32 $0, $1;"
// CHECK: %[[WIDE:.*]] = arith.extui %[[LANE]] : i32 to i64
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[WIDE]] : i64
// CHECK: %[[ALL:.*]] = vector.broadcast %[[FIRST]] : i64 to vector<4xi64>
// CHECK: %[[IOTA:.*]] = arith.addi %[[ALL]], %[[STEPS]] : vector<4xi64>
// CHECK: %[[SUM:.*]] = arith.addi %[[IOTA]], %[[SEVEN]] : vector<4xi64>
// CHECK: %[[CUT:.*]] = arith.trunci %[[SUM]] : vector<4xi64> to vector<4xi32>
// CHECK: %[[SIGNED:.*]] = arith.extsi %[[CUT]] : vector<4xi32> to vector<4xi64>
// CHECK: %[[UNSIGNED:.*]] = arith.extui %[[CUT]] : vector<4xi32> to vector<4xi64>
// CHECK: arith.subi %[[SIGNED]], %[[UNSIGNED]] : vector<4xi64>
// CHECK: arith.trunci %{{.*}} : i32 to i16
// CHECK: arith.addi %{{.*}}, %[[SHORT]] : vector<4xi16>
tile.func @integers(%z: !tile.view<?xi32>, %y: !tile.view<?xi64>, %w: !tile.view<?xi16>, %i: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant dense<7> : tensor<16xindex, #cols>
  %io = tile.iota %i : index -> tensor<16xindex, #cols>
  %sum = arith.addi %io, %c7 : tensor<16xindex, #cols>
  %n = arith.index_cast %sum : tensor<16xindex, #cols> to tensor<16xi32, #cols>
  tile.store %n, %z[%c0] dims [0] : tensor<16xi32, #cols>, !tile.view<?xi32>
  %j = arith.index_cast %n : tensor<16xi32, #cols> to tensor<16xindex, #cols>
  %u = arith.index_castui %n : tensor<16xi32, #cols> to tensor<16xindex, #cols>
  %d = arith.subi %j, %u : tensor<16xindex, #cols>
  %l = arith.index_cast %d : tensor<16xindex, #cols> to tensor<16xi64, #cols>
  tile.store %l, %y[%c0] dims [0] : tensor<16xi64, #cols>, !tile.view<?xi64>
  %c3 = arith.constant 3 : i16
  %h = tile.iota %c3 : i16 -> tensor<16xi16, #cols>
  tile.store %h, %w[%c0] dims [0] : tensor<16xi16, #cols>, !tile.view<?xi16>
  tile.return
}

// First the thread's own elements of a row, then those of the four lanes that
// hold the others, then what there was. One lane of the four stores the result.
// CHECK: llvm.func @reductions
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: arith.maxnumf
// CHECK: arith.maxnumf
// CHECK: %[[OWN:.*]] = arith.maxnumf
// CHECK: %[[OTHER:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[OWN]], %[[C1]]
// CHECK: %[[TWO:.*]] = arith.maxnumf %[[OWN]], %[[OTHER]] : f32
// CHECK: %[[OTHERS:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[TWO]], %[[C2]]
// CHECK: %[[FOUR:.*]] = arith.maxnumf %[[TWO]], %[[OTHERS]] : f32
// CHECK: arith.maxnumf %[[FOUR]], %[[NONE]] : f32
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %{{.*}}, %[[ZERO]] : i32
// CHECK: %[[IN:.*]] = arith.cmpi ult
// CHECK: %[[STORES:.*]] = arith.andi %[[ONE]], %[[IN]] : i1
// CHECK: st.global.b32 {{.*}} %{{.*}}, %[[STORES]],
// Down the columns: eight lanes that stand four apart; sums and minima.
// CHECK: llvm.func @columns
// CHECK: arith.minnumf
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[D4:.*]], %{{.*}} : f32 -> f32
// CHECK: arith.minnumf
// CHECK: arith.addf
// CHECK-COUNT-3: nvvm.shfl.sync bfly
tile.func @reductions(%x: !tile.view<?x?xf32>, %z: !tile.view<?xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : tensor<64xf32, #rows>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x16xf32, #acc>
  %m = tile.reduce maxnumf %t init %none dim 1 : tensor<64x16xf32, #acc> -> tensor<64xf32, #rows>
  tile.store %m, %z[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  tile.return
}

#alone = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = []>
#below = #tile.frag<reg = [(2, 1), (2, 8)], lane = [(4, 2), (8, 0)], warp = []>
tile.func @columns(%x: !tile.view<?x?xf32>, %z: !tile.view<?xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #below>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<16x16xf32, #alone>
  %m = tile.reduce minnumf %t init %zero dim 0 : tensor<16x16xf32, #alone> -> tensor<16xf32, #below>
  %s = tile.reduce addf %t init %m dim 0 : tensor<16x16xf32, #alone> -> tensor<16xf32, #below>
  tile.store %s, %z[%c0] dims [0] : tensor<16xf32, #below>, !tile.view<?xf32>
  tile.return
}

// Two f32 become one register of two numbers by one instruction, the upper one first.
// CHECK: llvm.func @truncations
// CHECK: %[[T:.*]] = vector.from_elements %[[LOW:[0-9]*]], %[[HIGH:[0-9]*]],
// CHECK: %[[PAIR:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[HIGH]], %[[LOW]] {
// CHECK: vector.extract %[[PAIR]][0]
// CHECK: vector.extract %[[PAIR]][1]
// CHECK-COUNT-3: nvvm.convert.f32x2.to.bf16x2
// CHECK-NOT: bf16x2 %
// CHECK: nvvm.convert.f32x2.to.f16x2 %[[HIGH]], %[[LOW]] {
// An odd number of them, and other roundings, go one by one.
// CHECK: arith.truncf %{{.*}} : vector<1xf32> to vector<1xf16>
// CHECK: arith.truncf %{{.*}} toward_zero : vector<8xf32> to vector<8xf16>
tile.func @truncations(%x: !tile.view<?x?xf32>, %y: !tile.view<?xf32>, %z: !tile.view<?x?xbf16>,
                       %w: !tile.view<?x?xf16>, %v: !tile.view<?xf16>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x16xf32, #acc>
  %b = arith.truncf %t : tensor<64x16xf32, #acc> to tensor<64x16xbf16, #acc>
  tile.store %b, %z[%c0, %c0] dims [0, 1] : tensor<64x16xbf16, #acc>, !tile.view<?x?xbf16>
  %h = arith.truncf %t : tensor<64x16xf32, #acc> to tensor<64x16xf16, #acc>
  tile.store %h, %w[%c0, %c0] dims [0, 1] : tensor<64x16xf16, #acc>, !tile.view<?x?xf16>
  %one = tile.load %y[%c0] dims [0] : !tile.view<?xf32> -> tensor<32xf32, #lanes>
  %odd = arith.truncf %one : tensor<32xf32, #lanes> to tensor<32xf16, #lanes>
  tile.store %odd, %v[%c0] dims [0] : tensor<32xf16, #lanes>, !tile.view<?xf16>
  %cut = arith.truncf %t toward_zero : tensor<64x16xf32, #acc> to tensor<64x16xf16, #acc>
  tile.store %cut, %w[%c0, %c0] dims [0, 1] : tensor<64x16xf16, #acc>, !tile.view<?x?xf16>
  tile.return
}

// Exchanged dimensions cost nothing.
// CHECK: llvm.func @transposed
// CHECK: %[[T:.*]] = vector.from_elements
// CHECK: arith.addf %[[T]], %[[T]]
// CHECK-NOT: shuffle
// CHECK: llvm.return
#turned = #tile.frag<reg = [(2, 1, 0), (2, 0, 8), (2, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 16)]>
tile.func @transposed(%x: !tile.view<?x?xf32>, %z: !tile.view<?x?xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x16xf32, #acc>
  %u = tile.transpose %t : tensor<64x16xf32, #acc> -> tensor<16x64xf32, #turned>
  %v = arith.addf %u, %u : tensor<16x64xf32, #turned>
  tile.store %v, %z[%c0, %c0] dims [0, 1] : tensor<16x64xf32, #turned>, !tile.view<?x?xf32>
  tile.return
}

// Numbers of columns are a constant per register and the thread's part, which goes to the other
// side: limit - thread in a comparison whose limit has room for it, base - thread in a sum.
// CHECK: llvm.func @numbers
// CHECK-DAG: %[[I:.*]] = arith.constant dense<[0, 1, 0, 1, 8, 9, 8, 9]> : vector<8xi32>
// CHECK-DAG: %[[F:.*]] = arith.constant dense<[0.000000e+00, -1.000000e+00, 0.000000e+00, -1.000000e+00, -8.000000e+00, -9.000000e+00, -8.000000e+00, -9.000000e+00]> : vector<8xf32>
// CHECK-DAG: %[[LIMIT:.*]] = arith.subi %{{.*}}, %{{.*}} : vector<8xi32>
// CHECK-DAG: arith.cmpi sgt, %[[LIMIT]], %[[I]] : vector<8xi32>
// CHECK-DAG: %[[THREAD:.*]] = arith.uitofp %{{.*}} : i32 to f32
// CHECK-DAG: %[[BASE:.*]] = arith.subf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK-DAG: %[[BASES:.*]] = vector.shuffle %[[BASE]], %[[BASE]] [0, 0, 1, 1, 0, 0, 1, 1]
// CHECK-DAG: arith.addf %[[BASES]], %[[F]] : vector<8xf32>
tile.func @numbers(%x: !tile.view<?x?xf32>, %l: !tile.view<?xi32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %n = arith.constant 16 : i32
  %numbers = tile.iota %z : i32 -> tensor<16xi32, #cols>
  %columns = tile.broadcast %numbers dim 0 : tensor<16xi32, #cols> -> tensor<64x16xi32, #acc>
  %r = tile.iota %z : i32 -> tensor<64xi32, #rows>
  %rs = tile.broadcast %r dim 1 : tensor<64xi32, #rows> -> tensor<64x16xi32, #acc>
  %c = arith.cmpi slt, %columns, %rs : tensor<64x16xi32, #acc>
  %rf = arith.sitofp %r : tensor<64xi32, #rows> to tensor<64xf32, #rows>
  %base = tile.broadcast %rf dim 1 : tensor<64xf32, #rows> -> tensor<64x16xf32, #acc>
  %nf = arith.sitofp %numbers : tensor<16xi32, #cols> to tensor<16xf32, #cols>
  %cf = tile.broadcast %nf dim 0 : tensor<16xf32, #cols> -> tensor<64x16xf32, #acc>
  %d = arith.subf %base, %cf fastmath<reassoc> : tensor<64x16xf32, #acc>
  %s = arith.select %c, %d, %base : tensor<64x16xi1, #acc>, tensor<64x16xf32, #acc>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x?xf32>
  tile.return
}

// Numbers of rows as well: the thread's parts of both are added to the tile's once, and elements
// on one diagonal have one constant.
// CHECK: llvm.func @diagonals
// CHECK-DAG: %[[K:.*]] = arith.constant dense<[0.000000e+00, -1.000000e+00, 8.000000e+00, 7.000000e+00, -8.000000e+00, -9.000000e+00, 0.000000e+00, -1.000000e+00]> : vector<8xf32>
// CHECK: %[[R:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: %[[RC:.*]] = arith.subf %[[R]], %{{.*}} : f32
// CHECK: %[[SPREAD:.*]] = vector.broadcast %[[RC]] : f32 to vector<8xf32>
// CHECK: arith.addf %[[SPREAD]], %[[K]] : vector<8xf32>
tile.func @diagonals(%x: !tile.view<?x?xf32>, %part: f32) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %numbers = tile.iota %z : i32 -> tensor<16xi32, #cols>
  %r = tile.iota %z : i32 -> tensor<64xi32, #rows>
  %rf = arith.sitofp %r : tensor<64xi32, #rows> to tensor<64xf32, #rows>
  %parts = tile.broadcast %part : f32 -> tensor<64xf32, #rows>
  %sum = arith.addf %parts, %rf fastmath<reassoc> : tensor<64xf32, #rows>
  %base = tile.broadcast %sum dim 1 : tensor<64xf32, #rows> -> tensor<64x16xf32, #acc>
  %nf = arith.sitofp %numbers : tensor<16xi32, #cols> to tensor<16xf32, #cols>
  %cf = tile.broadcast %nf dim 0 : tensor<16xf32, #cols> -> tensor<64x16xf32, #acc>
  %d = arith.subf %base, %cf fastmath<reassoc> : tensor<64x16xf32, #acc>
  tile.store %d, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x?xf32>
  tile.return
}
