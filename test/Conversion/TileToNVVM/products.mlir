// Products by ldmatrix and mma.sync.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#two = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8), (2, 64, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#paired = #tile.frag<reg = [(2, 8, 0), (2, 0, 1), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// 32 rows a warp: each fragment of b serves two instructions. The constant part
// of an address is in the instruction; 16 more of k are the next 32 bytes of the
// panel, by exclusive or.
// CHECK-LABEL: llvm.func @f16_slots(
// CHECK-SAME: %[[SUM:[a-z0-9]*]]: f32)
// CHECK: %[[A:.*]] = llvm.inline_asm has_side_effects {{.*}}"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+0];", "=r,=r,=r,=r,r" %[[APLACE:[0-9]*]]
// CHECK: %[[A2:.*]] = llvm.inline_asm {{.*}}"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+4096];", "=r,=r,=r,=r,r" %[[APLACE]]
// CHECK: llvm.inline_asm {{.*}}"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+0];", "=r,=r,=r,=r,r" %[[BPLACE:[0-9]*]]
// CHECK: %[[S0:.*]] = nvvm.mma.sync A[%[[A0:.*]], %[[A1:.*]], {{.*}}] {{ *}}B[%[[B0:.*]], %[[B1:.*]]] {{ *}}C[%[[SUM]], %[[SUM]], %[[SUM]], %[[SUM]]] {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32)
// CHECK: %[[C0:.*]] = llvm.extractvalue %[[S0]][0]
// CHECK: nvvm.mma.sync A[{{.*}}] {{ *}}B[%[[B0]], %[[B1]]]
// CHECK: nvvm.mma.sync A[%[[A0]], %[[A1]], {{.*}}] {{ *}}B[%[[B2:.*]], %[[B3:.*]]] C
// CHECK: nvvm.mma.sync A[{{.*}}] {{ *}}B[%[[B2]], %[[B3]]]
// CHECK: arith.xori %[[APLACE]], %{{.*}} : i32
// CHECK: ldmatrix{{.*}}[$4+0]
// CHECK: ldmatrix{{.*}}[$4+4096]
// CHECK: arith.xori %[[BPLACE]], %{{.*}} : i32
// CHECK: ldmatrix{{.*}}[$4+0]
// CHECK: nvvm.mma.sync A[{{.*}}] {{ *}}B[{{.*}}] {{ *}}C[%[[C0]],
// CHECK-COUNT-3: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
tile.func @f16_slots(%x: !tile.view<?x16xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ra = tile.ring : !tile.ring<1 x 128x32xf16, #tile.swizzle<64>>
  %rb = tile.ring : !tile.ring<1 x 16x32xf16, #tile.swizzle<64>>
  %c0 = arith.constant 0 : index
  %a = tile.slot_at %ra[%c0] : !tile.ring<1 x 128x32xf16, #tile.swizzle<64>> -> !tile.slot<128x32xf16, #tile.swizzle<64>>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x32xf16, #tile.swizzle<64>> -> !tile.slot<16x32xf16, #tile.swizzle<64>>
  %acc = tile.broadcast %s : f32 -> tensor<128x16xf32, #two>
  %o = tile.dot %a, %b, %acc transpose_b : !tile.slot<128x32xf16, #tile.swizzle<64>>, !tile.slot<16x32xf16, #tile.swizzle<64>>, tensor<128x16xf32, #two>
  tile.store %o, %x[%c0, %c0] dims [0, 1] : tensor<128x16xf32, #two>, !tile.view<?x16xf32>
  tile.return
}

// a from registers: pairs of neighbours are words. b as it stands: transposed on its way.
// CHECK-LABEL: llvm.func @bf16_registers(
// CHECK-NOT: ldmatrix
// CHECK: vector.bitcast %{{.*}} : vector<2xbf16> to vector<1xi32>
// CHECK: %[[B:.*]] = llvm.inline_asm has_side_effects {{.*}}"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-DAG: %[[B0:.*]] = llvm.extractvalue %[[B]][0]
// CHECK-DAG: %[[B1:.*]] = llvm.extractvalue %[[B]][1]
// CHECK-DAG: %[[B2:.*]] = llvm.extractvalue %[[B]][2]
// CHECK-DAG: %[[B3:.*]] = llvm.extractvalue %[[B]][3]
// CHECK: nvvm.mma.sync A[{{.*}}] {{ *}}B[%[[B0]], %[[B1]]] {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: nvvm.mma.sync A[{{.*}}] {{ *}}B[%[[B2]], %[[B3]]]
// CHECK-NOT: ldmatrix
// CHECK-NOT: nvvm.mma.sync
tile.func @bf16_registers(%p: !tile.view<?x16xbf16>, %x: !tile.view<?x16xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rb = tile.ring : !tile.ring<1 x 16x16xbf16, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xbf16, #tile.swizzle<32>> -> !tile.slot<16x16xbf16, #tile.swizzle<32>>
  %acc = tile.broadcast %s : f32 -> tensor<64x16xf32, #acc>
  %a = tile.load %p[%c0, %c0] dims [0, 1] : !tile.view<?x16xbf16> -> tensor<64x16xbf16, #acc>
  %o = tile.dot %a, %b, %acc : tensor<64x16xbf16, #acc>, !tile.slot<16x16xbf16, #tile.swizzle<32>>, tensor<64x16xf32, #acc>
  tile.store %o, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// f32 by the same loads, twice the bytes: 8 of k an instruction, its words as they are.
// CHECK-LABEL: llvm.func @tf32(
// CHECK-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: cvt.rna
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}k = 8>
// CHECK: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
tile.func @tf32(%x: !tile.view<?x16xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ra = tile.ring : !tile.ring<1 x 64x8xf32, #tile.swizzle<32>>
  %rb = tile.ring : !tile.ring<1 x 16x8xf32, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %a = tile.slot_at %ra[%c0] : !tile.ring<1 x 64x8xf32, #tile.swizzle<32>> -> !tile.slot<64x8xf32, #tile.swizzle<32>>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x8xf32, #tile.swizzle<32>> -> !tile.slot<16x8xf32, #tile.swizzle<32>>
  %acc = tile.broadcast %s : f32 -> tensor<64x16xf32, #acc>
  %o = tile.dot %a, %b, %acc transpose_b precision(tf32) : !tile.slot<64x8xf32, #tile.swizzle<32>>, !tile.slot<16x8xf32, #tile.swizzle<32>>, tensor<64x16xf32, #acc>
  tile.store %o, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// Three parts of b, two of a; the smallest products first, into a sum of their own,
// which is added to the accumulator outside. ldmatrix cannot transpose words, so b
// is read one by one; where a has columns 2t and 2t + 1 in place of t and t + 4, b has
// those rows.
// CHECK-LABEL: llvm.func @tf32x3(
// CHECK-SAME: %[[SUM:[a-z0-9]*]]: f32)
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NOT: ldmatrix
// CHECK: "ld.shared.b32 $0, [$1+0];"
// CHECK: arith.addi %[[WORD:.*]], %{{.*}} : i32
// CHECK: %[[HIGH:.*]] = arith.andi
// CHECK: arith.subf
// CHECK: %[[P1:.*]] = nvvm.mma.sync A[%[[A:[0-9]*]], {{.*}}] {{ *}}B[%[[REST:[0-9]*]], {{.*}}] {{ *}}C[%[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]]]
// CHECK: %[[X1:.*]] = llvm.extractvalue %[[P1]][0]
// CHECK: %[[P2:.*]] = nvvm.mma.sync A[%[[LOW:[0-9]*]], {{.*}}] {{ *}}B[%[[B:[0-9]*]], {{.*}}] {{ *}}C[%[[X1]],
// CHECK: %[[X2:.*]] = llvm.extractvalue %[[P2]][0]
// CHECK: %[[P3:.*]] = nvvm.mma.sync A[%[[A]], {{.*}}] {{ *}}B[%[[BLOW:[0-9]*]], {{.*}}] {{ *}}C[%[[X2]],
// CHECK: %[[X3:.*]] = llvm.extractvalue %[[P3]][0]
// CHECK: %[[P4:.*]] = nvvm.mma.sync A[%[[A]], {{.*}}] {{ *}}B[%[[B]], {{.*}}] {{ *}}C[%[[X3]],
// CHECK: %[[X4:.*]] = llvm.extractvalue %[[P4]][0]
// CHECK: arith.addf %[[SUM]], %[[X4]] : f32
// Rows 8 to 15 of b are 512 bytes further down; 2 steps of k by 2 times 8 columns.
// CHECK: "ld.shared.b32 $0, [$1+512];"
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
tile.func @tf32x3(%p: !tile.view<?x16xf32>, %x: !tile.view<?x16xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rb = tile.ring : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>>
  %c0 = arith.constant 0 : index
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>> -> !tile.slot<16x16xf32, #tile.swizzle<64>>
  %acc = tile.broadcast %s : f32 -> tensor<64x16xf32, #acc>
  %a = tile.load %p[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #paired>
  %o = tile.dot %a, %b, %acc precision(tf32x3) : tensor<64x16xf32, #paired>, !tile.slot<16x16xf32, #tile.swizzle<64>>, tensor<64x16xf32, #acc>
  tile.store %o, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// A transposed b has them beside each other.
// CHECK-LABEL: llvm.func @tf32x3_transposed(
// CHECK-NOT: ldmatrix
// CHECK: llvm.inline_asm {{.*}}"ld.shared.b32 $0, [$1+0];", "=r,r" %[[EVEN:.*]] : (i32) -> i32
// CHECK: llvm.inline_asm {{.*}}"ld.shared.b32 $0, [$1+0];", "=r,r" %[[ODD:.*]] : (i32) -> i32
// CHECK: llvm.inline_asm {{.*}}"ld.shared.b32 $0, [$1+512];", "=r,r" %[[EVEN]]
// CHECK: llvm.inline_asm {{.*}}"ld.shared.b32 $0, [$1+512];", "=r,r" %[[ODD]]
tile.func @tf32x3_transposed(%p: !tile.view<?x16xf32>, %x: !tile.view<?x16xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rb = tile.ring : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>>
  %c0 = arith.constant 0 : index
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>> -> !tile.slot<16x16xf32, #tile.swizzle<64>>
  %acc = tile.broadcast %s : f32 -> tensor<64x16xf32, #acc>
  %a = tile.load %p[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #paired>
  %o = tile.dot %a, %b, %acc transpose_b precision(tf32x3) : tensor<64x16xf32, #paired>, !tile.slot<16x16xf32, #tile.swizzle<64>>, tensor<64x16xf32, #acc>
  tile.store %o, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

#halves = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 64)]>
#whole = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 0)]>

// Two warps share the columns: each starts at its panel of b.
// CHECK-LABEL: llvm.func @columns_of_two_warps(
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[C2048:.*]] = arith.constant 2048 : i32
// CHECK: %[[BESIDE:.*]] = arith.divui %{{.*}}, %[[C2]] : i32
// CHECK: %[[PANEL:.*]] = arith.divui %{{.*}} : i32
// CHECK: arith.muli %{{.*}}, %[[C2048]] : i32
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.trans
// CHECK-NOT: ldmatrix
tile.func @columns_of_two_warps(%p: !tile.view<?x16xbf16>, %x: !tile.view<?x128xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rb = tile.ring : !tile.ring<1 x 16x128xbf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x128xbf16, #tile.swizzle<128>> -> !tile.slot<16x128xbf16, #tile.swizzle<128>>
  %acc = tile.broadcast %s : f32 -> tensor<32x128xf32, #halves>
  %a = tile.load %p[%c0, %c0] dims [0, 1] : !tile.view<?x16xbf16> -> tensor<32x16xbf16, #whole>
  %o = tile.dot %a, %b, %acc : tensor<32x16xbf16, #whole>, !tile.slot<16x128xbf16, #tile.swizzle<128>>, tensor<32x128xf32, #halves>
  tile.store %o, %x[%c0, %c0] dims [0, 1] : tensor<32x128xf32, #halves>, !tile.view<?x128xf32>
  tile.return
}

// Operand a transposed, 64 rows of 32 terms in shared memory: matrices are read transposed; 16 terms more are 16 rows
// of the slot further down, and a warp's rows 32 bytes to the right, by exclusive or.
// CHECK-LABEL: llvm.func @transposed_a(
// CHECK: arith.xori
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4+0];", "=r,=r,=r,=r,r" %[[APLACE:[0-9]*]]
// CHECK: nvvm.mma.sync
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4+2048];", "=r,=r,=r,=r,r" %[[APLACE]]
// CHECK: nvvm.mma.sync
tile.func @transposed_a(%x: !tile.view<?x16xf32>, %s: f32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ra = tile.ring : !tile.ring<1 x 32x64xf16, #tile.swizzle<128>>
  %rb = tile.ring : !tile.ring<1 x 16x32xf16, #tile.swizzle<64>>
  %c0 = arith.constant 0 : index
  %a = tile.slot_at %ra[%c0] : !tile.ring<1 x 32x64xf16, #tile.swizzle<128>> -> !tile.slot<32x64xf16, #tile.swizzle<128>>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x32xf16, #tile.swizzle<64>> -> !tile.slot<16x32xf16, #tile.swizzle<64>>
  %acc = tile.broadcast %s : f32 -> tensor<64x16xf32, #acc>
  %o = tile.dot %a, %b, %acc transpose_a transpose_b : !tile.slot<32x64xf16, #tile.swizzle<128>>, !tile.slot<16x32xf16, #tile.swizzle<64>>, tensor<64x16xf32, #acc>
  tile.store %o, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// Warps beside each other that take 16 of 96 columns by turns: b is 3 panels of 32 columns, and of each a warp has the half
// at its 32 bytes, by one address.
#turns = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8), (3, 0, 32)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 16)]>
#both = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 0)]>
// CHECK-LABEL: llvm.func @turns(
// CHECK: %[[MOVED:.*]] = arith.muli %{{.*}}, %c32_i32
// CHECK-NEXT: arith.divui %[[MOVED]], %c64_i32
// CHECK-NEXT: %[[BYTE:.*]] = arith.remui %[[MOVED]], %c64_i32
// CHECK-NEXT: %[[IN:.*]] = arith.xori %{{.*}}, %[[BYTE]]
// CHECK: %[[AT:.*]] = arith.addi %[[IN]],
// CHECK: %[[BPLACE:.*]] = llvm.inline_asm {{.*}}"mov.b32 $0, $1;", "=r,r" %[[AT]]
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4+0];", "=r,=r,=r,=r,r" %[[BPLACE]]
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: [$4+1024];", "=r,=r,=r,=r,r" %[[BPLACE]]
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: [$4+2048];", "=r,=r,=r,=r,r" %[[BPLACE]]
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: ldmatrix
tile.func @turns(%x: !tile.view<?x16xf16>, %y: !tile.view<?x96xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rb = tile.ring : !tile.ring<1 x 16x96xf16, #tile.swizzle<64>>
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<32x96xf32, #turns>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x96xf16, #tile.swizzle<64>> -> !tile.slot<16x96xf16, #tile.swizzle<64>>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<32x16xf16, #both>
  %s = tile.dot %a, %b, %acc : tensor<32x16xf16, #both>, !tile.slot<16x96xf16, #tile.swizzle<64>>, tensor<32x96xf32, #turns>
  tile.store %s, %y[%c0, %c0] dims [0, 1] : tensor<32x96xf32, #turns>, !tile.view<?x96xf32>
  tile.return
}
