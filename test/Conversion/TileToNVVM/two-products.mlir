// A loop of two products with roles and turns: the second of an iteration runs while
// the first of the next one is worked on. At three sizes ptxas spills nothing and
// has nothing to say about wgmma: accumulators stay in registers, no wait is added.
// REQUIRES: ci || ptxas
// RUN: sed -e 's/ROWBYTES/24576/g;s/KEYBYTES/16384/g;s/ROWS/192/g;s/KEYBLOCKS/16/g;s/KEYS/128/g;s/DIMBLOCKS/8/g;s/DIM/64/g;s/WARPS/12/g;s/ALL/16/g;s/LOAD/32/g;s/COMPUTE/160/g;s/THIRD/3/g' %s > %t.64.mlir
// RUN: fa-opt %t.64.mlir --target=sm_90a --compile-from=schedule --emit=cubin -o %t.cubin 2>&1 | FileCheck %s --allow-empty --check-prefix=SAYS
// RUN: sed -e 's/ROWBYTES/49152/g;s/KEYBYTES/20480/g;s/ROWS/192/g;s/KEYBLOCKS/10/g;s/KEYS/80/g;s/DIMBLOCKS/16/g;s/DIM/128/g;s/WARPS/12/g;s/ALL/16/g;s/LOAD/32/g;s/COMPUTE/160/g;s/THIRD/3/g' %s > %t.128.mlir
// RUN: fa-opt %t.128.mlir --target=sm_90a --compile-from=schedule --emit=cubin -o %t.cubin 2>&1 | FileCheck %s --allow-empty --check-prefix=SAYS
// RUN: sed -e 's/ROWBYTES/65536/g;s/KEYBYTES/40960/g;s/ROWS/128/g;s/KEYBLOCKS/10/g;s/KEYS/80/g;s/DIMBLOCKS/32/g;s/DIM/256/g;s/WARPS/8/g;s/ALL/12/g;s/LOAD/24/g;s/COMPUTE/240/g;s/THIRD/1/g' %s > %t.256.mlir
// RUN: fa-opt %t.256.mlir --target=sm_90a --compile-from=schedule --emit=cubin -o %t.cubin 2>&1 | FileCheck %s --allow-empty --check-prefix=SAYS
// RUN: fa-opt %t.128.mlir --target=sm_90a --compile-from=schedule --emit=ptx | FileCheck %s
// SAYS-NOT: warning

// The loop of the second role: wait, turn, both products, one awaited, the other.
// CHECK: setmaxnreg.dec.sync.aligned.u32 32
// CHECK: setmaxnreg.inc.sync.aligned.u32 160
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: mbarrier.try_wait
// CHECK: bar.sync 1, 256
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n80k16
// CHECK: mbarrier.try_wait
// CHECK-COUNT-5: wgmma.mma_async.sync.aligned.m64n128k16
// CHECK: bar.arrive 2, 256
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: mbarrier.arrive
// CHECK-COUNT-40: ex2.approx.ftz.f32
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: mbarrier.arrive

#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (KEYBLOCKS, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(WARPS, 16, 0)]>
#o = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (DIMBLOCKS, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(WARPS, 16, 0)]>
#r = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(WARPS, 16)]>
#c = #tile.frag<reg = [(2, 1), (KEYBLOCKS, 8)], lane = [(4, 2), (8, 0)], warp = [(WARPS, 0)]>
#sw = #tile.swizzle<128>
tile.func @two_products(%q: !tile.view<?x?x?xDIMxbf16> {tile.align = 16 : i64}, %k: !tile.view<?x?x?xDIMxbf16> {tile.align = 16 : i64}, %v: !tile.view<?x?x?xDIMxbf16> {tile.align = 16 : i64}, %out: !tile.view<?x?x?xDIMxbf16> {tile.align = 16 : i64, tile.output},
    %qm: !tile.tensor_map<ROWSxDIMxbf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [2, 3]}, %km: !tile.tensor_map<KEYSxDIMxbf16, #sw> {tile.map_of = 1 : i64, tile.map_dims = [2, 3]}, %vm: !tile.tensor_map<KEYSxDIMxbf16, #sw> {tile.map_of = 2 : i64, tile.map_dims = [2, 3]}, %b: index, %h: index, %t: index)
    grid affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv ROWS)> sizes [0, 0, 0, 1, 0, 2] attributes {tile.warps = ALL : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %true = arith.constant true
  %false = arith.constant false
  %crows = arith.constant ROWS : index
  %ckeys = arith.constant KEYS : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %qr = tile.ring : !tile.ring<1 x ROWSxDIMxbf16, #sw>
  %kr = tile.ring : !tile.ring<2 x KEYSxDIMxbf16, #sw>
  %vr = tile.ring : !tile.ring<2 x KEYSxDIMxbf16, #sw>
  %qf = tile.barriers arrivals(1) : !tile.barriers<1>
  %kf = tile.barriers arrivals(1) : !tile.barriers<2>
  %ke = tile.barriers arrivals(WARPS) : !tile.barriers<2>
  %vf = tile.barriers arrivals(1) : !tile.barriers<2>
  %ve = tile.barriers arrivals(WARPS) : !tile.barriers<2>
  %i = arith.muli %t, %crows : index
  %n = tile.dim %k, 2 : !tile.view<?x?x?xDIMxbf16>
  %m = tile.dim %q, 2 : !tile.view<?x?x?xDIMxbf16>
  %e0 = arith.addi %n, %ckeys : index
  %e1 = arith.subi %e0, %c1 : index
  %tiles = arith.divui %e1, %ckeys : index
  %last = arith.subi %tiles, %c1 : index
  %any = arith.cmpi sgt, %tiles, %c0 : index
  %off = arith.subi %n, %m : index
  tile.roles {
    tile.role "load" warps(4) registers(LOAD) {
      scf.if %any {
        tile.barrier_expect %qf[%c0] bytes(ROWBYTES) : !tile.barriers<1>
        %qs = tile.slot_at %qr[%c0] : !tile.ring<1 x ROWSxDIMxbf16, #sw> -> !tile.slot<ROWSxDIMxbf16, #sw>
        tile.copy %q[%b, %h, %i, %c0] dims [2, 3] to %qs copy(tma) signal %qf[%c0] map(%qm) : !tile.view<?x?x?xDIMxbf16>, !tile.slot<ROWSxDIMxbf16, #sw>, !tile.barriers<1>, !tile.tensor_map<ROWSxDIMxbf16, #sw>
        %ast = arith.remui %c0, %c2 : index
        %ad = arith.divui %c0, %c2 : index
        %ar = arith.remui %ad, %c2 : index
        %apar = arith.cmpi eq, %ar, %c0 : index
        tile.barrier_wait %ke[%ast], %apar : !tile.barriers<2>
        tile.barrier_expect %kf[%ast] bytes(KEYBYTES) : !tile.barriers<2>
        %asl = tile.slot_at %kr[%ast] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
        %arow = arith.muli %c0, %ckeys : index
        tile.copy %k[%b, %h, %arow, %c0] dims [2, 3] to %asl copy(tma) signal %kf[%ast] map(%km) : !tile.view<?x?x?xDIMxbf16>, !tile.slot<KEYSxDIMxbf16, #sw>, !tile.barriers<2>, !tile.tensor_map<KEYSxDIMxbf16, #sw>
        scf.for %j = %c0 to %last step %c1 {
          %j1 = arith.addi %j, %c1 : index
          %bkst = arith.remui %j1, %c2 : index
          %bkd = arith.divui %j1, %c2 : index
          %bkr = arith.remui %bkd, %c2 : index
          %bkpar = arith.cmpi eq, %bkr, %c0 : index
          tile.barrier_wait %ke[%bkst], %bkpar : !tile.barriers<2>
          tile.barrier_expect %kf[%bkst] bytes(KEYBYTES) : !tile.barriers<2>
          %bksl = tile.slot_at %kr[%bkst] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
          %bkrow = arith.muli %j1, %ckeys : index
          tile.copy %k[%b, %h, %bkrow, %c0] dims [2, 3] to %bksl copy(tma) signal %kf[%bkst] map(%km) : !tile.view<?x?x?xDIMxbf16>, !tile.slot<KEYSxDIMxbf16, #sw>, !tile.barriers<2>, !tile.tensor_map<KEYSxDIMxbf16, #sw>
          %bvst = arith.remui %j, %c2 : index
          %bvd = arith.divui %j, %c2 : index
          %bvr = arith.remui %bvd, %c2 : index
          %bvpar = arith.cmpi eq, %bvr, %c0 : index
          tile.barrier_wait %ve[%bvst], %bvpar : !tile.barriers<2>
          tile.barrier_expect %vf[%bvst] bytes(KEYBYTES) : !tile.barriers<2>
          %bvsl = tile.slot_at %vr[%bvst] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
          %bvrow = arith.muli %j, %ckeys : index
          tile.copy %v[%b, %h, %bvrow, %c0] dims [2, 3] to %bvsl copy(tma) signal %vf[%bvst] map(%vm) : !tile.view<?x?x?xDIMxbf16>, !tile.slot<KEYSxDIMxbf16, #sw>, !tile.barriers<2>, !tile.tensor_map<KEYSxDIMxbf16, #sw>
        }
        %cvst = arith.remui %last, %c2 : index
        %cvd = arith.divui %last, %c2 : index
        %cvr = arith.remui %cvd, %c2 : index
        %cvpar = arith.cmpi eq, %cvr, %c0 : index
        tile.barrier_wait %ve[%cvst], %cvpar : !tile.barriers<2>
        tile.barrier_expect %vf[%cvst] bytes(KEYBYTES) : !tile.barriers<2>
        %cvsl = tile.slot_at %vr[%cvst] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
        %cvrow = arith.muli %last, %ckeys : index
        tile.copy %v[%b, %h, %cvrow, %c0] dims [2, 3] to %cvsl copy(tma) signal %vf[%cvst] map(%vm) : !tile.view<?x?x?xDIMxbf16>, !tile.slot<KEYSxDIMxbf16, #sw>, !tile.barriers<2>, !tile.tensor_map<KEYSxDIMxbf16, #sw>
      }
    }
    tile.role "compute" warps(WARPS) registers(COMPUTE) {
      %zo = tile.broadcast %zero : f32 -> tensor<ROWSxDIMxf32, #o>
      %zr = tile.broadcast %zero : f32 -> tensor<ROWSxf32, #r>
      %m0 = tile.broadcast %ninf : f32 -> tensor<ROWSxf32, #r>
      %zs = tile.broadcast %zero : f32 -> tensor<ROWSxKEYSxf32, #s>
      %sc = tile.broadcast %scale : f32 -> tensor<ROWSxKEYSxf32, #s>
      %scr = tile.broadcast %scale : f32 -> tensor<ROWSxf32, #r>
      %wg = tile.warpgroup : index
      %qs = tile.slot_at %qr[%c0] : !tile.ring<1 x ROWSxDIMxbf16, #sw> -> !tile.slot<ROWSxDIMxbf16, #sw>
      %fin:3 = scf.if %any -> (tensor<ROWSxDIMxf32, #o>, tensor<ROWSxf32, #r>, tensor<ROWSxf32, #r>) {
        tile.barrier_wait %qf[%c0], %false : !tile.barriers<1>
        %pkst = arith.remui %c0, %c2 : index
        %pkd = arith.divui %c0, %c2 : index
        %pkr = arith.remui %pkd, %c2 : index
        %pkpar = arith.cmpi eq, %pkr, %c1 : index
        tile.barrier_wait %kf[%pkst], %pkpar : !tile.barriers<2>
        %pksl = tile.slot_at %kr[%pkst] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
        %psp = tile.dot_start %qs, %pksl, %zs transpose_b : !tile.slot<ROWSxDIMxbf16, #sw>, !tile.slot<KEYSxDIMxbf16, #sw>, tensor<ROWSxKEYSxf32, #s> -> !tile.pending<tensor<ROWSxKEYSxf32, #s>>
        %ps = tile.await %psp : !tile.pending<tensor<ROWSxKEYSxf32, #s>> -> tensor<ROWSxKEYSxf32, #s>
        tile.barrier_arrive %ke[%pkst] : !tile.barriers<2>
        %px = arith.muli %c0, %ckeys : index
        %py = arith.addi %px, %ckeys : index
        %pz = arith.addi %i, %off : index
        %pc0 = arith.cmpi sgt, %py, %n : index
        %pc1 = arith.cmpi sgt, %py, %pz : index
        %pc = arith.ori %pc0, %pc1 : i1
        %psm = scf.if %pc -> (tensor<ROWSxKEYSxf32, #s>) {
          %co0 = arith.index_cast %px : index to i32
          %co = tile.iota %co0 : i32 -> tensor<KEYSxi32, #c>
          %cob = tile.broadcast %co dim 0 : tensor<KEYSxi32, #c> -> tensor<ROWSxKEYSxi32, #s>
          %ro0 = arith.index_cast %pz : index to i32
          %ro = tile.iota %ro0 : i32 -> tensor<ROWSxi32, #r>
          %rob = tile.broadcast %ro dim 1 : tensor<ROWSxi32, #r> -> tensor<ROWSxKEYSxi32, #s>
          %vis = arith.cmpi sle, %cob, %rob : tensor<ROWSxKEYSxi32, #s>
          %nb = tile.broadcast %ninf : f32 -> tensor<ROWSxKEYSxf32, #s>
          %sel = arith.select %vis, %ps, %nb : tensor<ROWSxKEYSxi1, #s>, tensor<ROWSxKEYSxf32, #s>
          scf.yield %sel : tensor<ROWSxKEYSxf32, #s>
        } else {
          scf.yield %ps : tensor<ROWSxKEYSxf32, #s>
        }
        %pm1 = tile.reduce maxnumf %psm init %m0 dim 1 : tensor<ROWSxKEYSxf32, #s> -> tensor<ROWSxf32, #r>
        %pmb = tile.broadcast %pm1 dim 1 : tensor<ROWSxf32, #r> -> tensor<ROWSxKEYSxf32, #s>
        %px0 = arith.subf %psm, %pmb fastmath<contract> : tensor<ROWSxKEYSxf32, #s>
        %px1 = arith.mulf %px0, %sc fastmath<contract> : tensor<ROWSxKEYSxf32, #s>
        %pp = math.exp2 %px1 : tensor<ROWSxKEYSxf32, #s>
        %pa0 = arith.subf %m0, %pm1 : tensor<ROWSxf32, #r>
        %pa1 = arith.mulf %pa0, %scr fastmath<contract> : tensor<ROWSxf32, #r>
        %pa = math.exp2 %pa1 : tensor<ROWSxf32, #r>
        %pl0 = arith.mulf %zr, %pa fastmath<contract> : tensor<ROWSxf32, #r>
        %pl1 = tile.reduce addf %pp init %pl0 dim 1 : tensor<ROWSxKEYSxf32, #s> -> tensor<ROWSxf32, #r>
        %ppb = arith.truncf %pp : tensor<ROWSxKEYSxf32, #s> to tensor<ROWSxKEYSxbf16, #s>
        %wg0 = arith.cmpi eq, %wg, %c0 : index
        scf.if %wg0 { tile.named_arrive id(1) threads(256) }
        %w0 = arith.constant 0 : index
        %w1 = arith.constant 1 : index
        %w2 = arith.constant 2 : index
        %res:4 = scf.for %j = %c0 to %last step %c1 iter_args(%o = %zo, %mx = %pm1, %l = %pl1, %pv = %ppb) -> (tensor<ROWSxDIMxf32, #o>, tensor<ROWSxf32, #r>, tensor<ROWSxf32, #r>, tensor<ROWSxKEYSxbf16, #s>) {
          %j1 = arith.addi %j, %c1 : index
          %gkst = arith.remui %j1, %c2 : index
          %gkd = arith.divui %j1, %c2 : index
          %gkr = arith.remui %gkd, %c2 : index
          %gkpar = arith.cmpi eq, %gkr, %c1 : index
          tile.barrier_wait %kf[%gkst], %gkpar : !tile.barriers<2>
          %gksl = tile.slot_at %kr[%gkst] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
          %iswait0 = arith.cmpi eq, %wg, %w0 : index
          scf.if %iswait0 { tile.named_wait id(1) threads(256) }
          %iswait1 = arith.cmpi eq, %wg, %w1 : index
          scf.if %iswait1 { tile.named_wait id(2) threads(256) }
          %iswait2 = arith.cmpi eq, %wg, %w2 : index
          scf.if %iswait2 { tile.named_wait id(3) threads(256) }
          %sp = tile.dot_start %qs, %gksl, %zs transpose_b : !tile.slot<ROWSxDIMxbf16, #sw>, !tile.slot<KEYSxDIMxbf16, #sw>, tensor<ROWSxKEYSxf32, #s> -> !tile.pending<tensor<ROWSxKEYSxf32, #s>>
          %gvst = arith.remui %j, %c2 : index
          %gvd = arith.divui %j, %c2 : index
          %gvr = arith.remui %gvd, %c2 : index
          %gvpar = arith.cmpi eq, %gvr, %c1 : index
          tile.barrier_wait %vf[%gvst], %gvpar : !tile.barriers<2>
          %gvsl = tile.slot_at %vr[%gvst] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
          %op = tile.dot_start %pv, %gvsl, %o : tensor<ROWSxKEYSxbf16, #s>, !tile.slot<KEYSxDIMxbf16, #sw>, tensor<ROWSxDIMxf32, #o> -> !tile.pending<tensor<ROWSxDIMxf32, #o>>
          %isarrive0 = arith.cmpi eq, %wg, %w0 : index
          scf.if %isarrive0 { tile.named_arrive id(2) threads(256) }
          %isarrive1 = arith.cmpi eq, %wg, %w1 : index
          scf.if %isarrive1 { tile.named_arrive id(THIRD) threads(256) }
          %isarrive2 = arith.cmpi eq, %wg, %w2 : index
          scf.if %isarrive2 { tile.named_arrive id(1) threads(256) }
          %s = tile.await %sp : !tile.pending<tensor<ROWSxKEYSxf32, #s>> -> tensor<ROWSxKEYSxf32, #s>
          tile.barrier_arrive %ke[%gkst] : !tile.barriers<2>
          %qx = arith.muli %j1, %ckeys : index
          %qy = arith.addi %qx, %ckeys : index
          %qz = arith.addi %i, %off : index
          %qc0 = arith.cmpi sgt, %qy, %n : index
          %qc1 = arith.cmpi sgt, %qy, %qz : index
          %qc = arith.ori %qc0, %qc1 : i1
          %qsm = scf.if %qc -> (tensor<ROWSxKEYSxf32, #s>) {
            %co0 = arith.index_cast %qx : index to i32
            %co = tile.iota %co0 : i32 -> tensor<KEYSxi32, #c>
            %cob = tile.broadcast %co dim 0 : tensor<KEYSxi32, #c> -> tensor<ROWSxKEYSxi32, #s>
            %ro0 = arith.index_cast %qz : index to i32
            %ro = tile.iota %ro0 : i32 -> tensor<ROWSxi32, #r>
            %rob = tile.broadcast %ro dim 1 : tensor<ROWSxi32, #r> -> tensor<ROWSxKEYSxi32, #s>
            %vis = arith.cmpi sle, %cob, %rob : tensor<ROWSxKEYSxi32, #s>
            %nb = tile.broadcast %ninf : f32 -> tensor<ROWSxKEYSxf32, #s>
            %sel = arith.select %vis, %s, %nb : tensor<ROWSxKEYSxi1, #s>, tensor<ROWSxKEYSxf32, #s>
            scf.yield %sel : tensor<ROWSxKEYSxf32, #s>
          } else {
            scf.yield %s : tensor<ROWSxKEYSxf32, #s>
          }
          %qm1 = tile.reduce maxnumf %qsm init %mx dim 1 : tensor<ROWSxKEYSxf32, #s> -> tensor<ROWSxf32, #r>
          %qmb = tile.broadcast %qm1 dim 1 : tensor<ROWSxf32, #r> -> tensor<ROWSxKEYSxf32, #s>
          %qx0 = arith.subf %qsm, %qmb fastmath<contract> : tensor<ROWSxKEYSxf32, #s>
          %qx1 = arith.mulf %qx0, %sc fastmath<contract> : tensor<ROWSxKEYSxf32, #s>
          %qp = math.exp2 %qx1 : tensor<ROWSxKEYSxf32, #s>
          %qa0 = arith.subf %mx, %qm1 : tensor<ROWSxf32, #r>
          %qa1 = arith.mulf %qa0, %scr fastmath<contract> : tensor<ROWSxf32, #r>
          %qa = math.exp2 %qa1 : tensor<ROWSxf32, #r>
          %ql0 = arith.mulf %l, %qa fastmath<contract> : tensor<ROWSxf32, #r>
          %ql1 = tile.reduce addf %qp init %ql0 dim 1 : tensor<ROWSxKEYSxf32, #s> -> tensor<ROWSxf32, #r>
          %o1 = tile.await %op : !tile.pending<tensor<ROWSxDIMxf32, #o>> -> tensor<ROWSxDIMxf32, #o>
          tile.barrier_arrive %ve[%gvst] : !tile.barriers<2>
          %qpb = arith.truncf %qp : tensor<ROWSxKEYSxf32, #s> to tensor<ROWSxKEYSxbf16, #s>
          %grew = arith.cmpf ogt, %qm1, %mx : tensor<ROWSxf32, #r>
          %on = tile.if_any %grew (%o1) : tensor<ROWSxi1, #r>, (tensor<ROWSxDIMxf32, #o>) {
            %ab = tile.broadcast %qa dim 1 : tensor<ROWSxf32, #r> -> tensor<ROWSxDIMxf32, #o>
            %x = arith.mulf %o1, %ab : tensor<ROWSxDIMxf32, #o>
            tile.yield %x : tensor<ROWSxDIMxf32, #o>
          }
          scf.yield %on, %qm1, %ql1, %qpb : tensor<ROWSxDIMxf32, #o>, tensor<ROWSxf32, #r>, tensor<ROWSxf32, #r>, tensor<ROWSxKEYSxbf16, #s>
        }
        %lvst = arith.remui %last, %c2 : index
        %lvd = arith.divui %last, %c2 : index
        %lvr = arith.remui %lvd, %c2 : index
        %lvpar = arith.cmpi eq, %lvr, %c1 : index
        tile.barrier_wait %vf[%lvst], %lvpar : !tile.barriers<2>
        %lvsl = tile.slot_at %vr[%lvst] : !tile.ring<2 x KEYSxDIMxbf16, #sw> -> !tile.slot<KEYSxDIMxbf16, #sw>
        %lop = tile.dot_start %res#3, %lvsl, %res#0 : tensor<ROWSxKEYSxbf16, #s>, !tile.slot<KEYSxDIMxbf16, #sw>, tensor<ROWSxDIMxf32, #o> -> !tile.pending<tensor<ROWSxDIMxf32, #o>>
        %lo = tile.await %lop : !tile.pending<tensor<ROWSxDIMxf32, #o>> -> tensor<ROWSxDIMxf32, #o>
        tile.barrier_arrive %ve[%lvst] : !tile.barriers<2>
        scf.yield %lo, %res#1, %res#2 : tensor<ROWSxDIMxf32, #o>, tensor<ROWSxf32, #r>, tensor<ROWSxf32, #r>
      } else {
        scf.yield %zo, %m0, %zr : tensor<ROWSxDIMxf32, #o>, tensor<ROWSxf32, #r>, tensor<ROWSxf32, #r>
      }
      %ob1 = tile.broadcast %one : f32 -> tensor<ROWSxf32, #r>
      %inv = arith.divf %ob1, %fin#2 fastmath<afn> : tensor<ROWSxf32, #r>
      %lb = tile.broadcast %inv dim 1 : tensor<ROWSxf32, #r> -> tensor<ROWSxDIMxf32, #o>
      %of = arith.mulf %fin#0, %lb : tensor<ROWSxDIMxf32, #o>
      %ob = arith.truncf %of : tensor<ROWSxDIMxf32, #o> to tensor<ROWSxDIMxbf16, #o>
      tile.store %ob, %out[%b, %h, %i, %c0] dims [2, 3] : tensor<ROWSxDIMxbf16, #o>, !tile.view<?x?x?xDIMxbf16>
    }
  }
  tile.return
}
