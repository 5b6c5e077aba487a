// 2*8*1024*64 elements of 2 bytes an operand; scores are 2*8*1024*1024 of 4
// bytes, probabilities of 2. The memory of the program's own buffers, and how it grows with the length.

// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 | FileCheck %s --check-prefix=ONLINE
// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 --standard-attention | FileCheck %s --check-prefix=STANDARD
// RUN: env FA_PTXAS=/nonexistent fa-opt %examples/causal_d128.mlir --emit=report --target=sm_90a | FileCheck %s --check-prefix=NO-PTXAS
// RUN: not fa-opt %s --report-json 2>&1 | FileCheck %s --check-prefix=NOT-REPORT
// RUN: not fa-opt %s --emit=mlir --target=cpu --report-device=x 2>&1 | FileCheck %s --check-prefix=NOT-DEVICE
// RUN: not fa-opt %s --emit=report --shape=2,8,8,1024 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not fa-opt %s --emit=report --shape=2,4,8,1024,1024 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: fa-opt %s --emit=report --shape=1,8,8,1073741823,8 | FileCheck %s --check-prefix=LONG
// RUN: not fa-opt %s --emit=report --shape=1,8,8,1073741824,8 -o %t.report 2>&1 | FileCheck %s --check-prefix=TOO-LONG
// RUN: not ls %t.report

// ONLINE: entry @f for cpu, variant main: always
// ONLINE: kernel @f grid {{.*}} = 2 x 8 x 16
// ONLINE: caches: {{.*}} bytes by tiles; HBM: standard attention
// ONLINE: bound and time: no rates are known for cpu
// ONLINE: input q: 2097152 bytes, O(N)
// ONLINE: output o: 2097152 bytes, O(N)
// ONLINE-NOT: workspace
// ONLINE: memory: 8388608 bytes, O(N) (16777216 bytes at twice the lengths)
// ONLINE-NOT: count as 1

// STANDARD: kernel @f_scores
// STANDARD: workspace f_scores_ws: 67108864 bytes, O(N^2)
// STANDARD: memory: 109051904 bytes, O(N^2) (419430400 bytes at twice the lengths)

// Up to 1024 queries a launch takes the variant for them, where heads have more than 64 columns. Row tiles of 128 see 1, 2, ... 8 key tiles of 128, in 16 heads;
// of the pairs, 1024 * 1025 / 2 a head are visible. Each row tile loads its queries, and 1 to 8 tiles of keys and of
// values; with what it stores, that is 2 + 2 * 4.5 tiles of 32768 bytes for 128 of them.
// RUN: sed 's/x64x/x128x/g' %s > %t.128.mlir
// RUN: fa-opt %t.128.mlir --emit=report --shape=2,8,8,1024,1024 --target=sm_90a | FileCheck %s --check-prefix=GPU
// GPU: entry @f for sm_90a, variant short: at most 1024 queries
// GPU: tiles 128 x 128 x 128, bf16: tensor<128x128xbf16> x tensor<128x128xbf16> transposed
// GPU: 12 warps, products by wgmma, 2 stages, {{[0-9]+}} of 232448 bytes of shared memory
// GPU: role load: 4 warps
// GPU: role compute: 8 warps
// GPU: ring: 2 x 128x128xbf16
// GPU: work: 4.832e+09 FLOP of products in visited tiles, 4.299e+09 in visible pairs (1.124 of it visited)
// GPU: L2: 4.614e+07 bytes by tiles; HBM: standard attention 2.181e+08 (4.7 times), at least 1.678e+07 (13.0 times)
// GPU: intensity: 256.2 FLOP a byte of inputs and outputs, 93.2 a byte of tiles
// GPU: rates of H200 ({{.*}} TFLOP/s, 4.2 TB/s): tensor cores
// GPU: bound by {{.*}} ms estimated

// RUN: fa-opt %t.128.mlir --emit=report --report-json --shape=2,8,8,1024,1024 --target=sm_90a > %t.json
// RUN: %python %S/Inputs/check_report.py %t.json "e['variant']['name'] == 'short'" "c['visited_flops'] == 36 * 128 * 128 * 4 * 128 * 16" \
// RUN:   "c['visible_flops'] == 1024 * 1025 / 2 * 4 * 128 * 16" "c['l2_bytes'] == 11 * 32768 * 128" \
// RUN:   "c['standard_bytes'] == 4 * 4194304 + 2 * 6 * 16 * 1024 * 1024" "s['stages'] == 2" "s['products_by'] == 'wgmma'" \
// RUN:   "e['shape'] == {'B': 2, 'Hq': 8, 'Hk': 8, 'Sq': 1024, 'Sk': 1024}" "e['target'] == 'sm_90a'" "e['memory']['order'] == 1"

// Above, row tiles of 192: 11 of them at 1025.
// RUN: fa-opt %t.128.mlir --emit=report --shape=2,8,8,1025,1025 --target=sm_90a | FileCheck %s --check-prefix=MAIN
// MAIN: variant main: more than 1024 queries
// MAIN: tiles 192 x 80 x 128
// MAIN: role compute: 12 warps

// Tiles that are asked for serve all lengths, and those of 64 columns.
// RUN: fa-opt %s --emit=report --shape=2,8,8,512,512 --target=sm_90a | FileCheck %s --check-prefix=ASKED
// RUN: fa-opt %t.128.mlir --emit=report --shape=2,8,8,512,512 --target=sm_90a --tile-rows=128 --tile-warps=8 | FileCheck %s --check-prefix=ASKED
// ASKED: variant main: always
// RUN: fa-opt %s --emit=report --shape=2,8,8,512,512 --target=sm_90a --unaligned | FileCheck %s --check-prefix=UNALIGNED
// UNALIGNED: variant unaligned: tensors that are not aligned to 16 bytes
// UNALIGNED: products by mma.sync

// NO-PTXAS: variant main: more than 1024 queries; --shape shows what serves fewer
// NO-PTXAS: registers and spills are not known: {{.*}}nonexistent
// RUN: env FA_PTXAS=/nonexistent fa-opt %s --emit=report --report-json --shape=2,8,8,1024,1024 --target=sm_90a > %t.json
// RUN: %python %S/Inputs/check_report.py %t.json "'nonexistent' in s['registers_unknown_because']"

// Rates: of an A100 for sm_80, unless the device is known; of an H200 for code for sm_90, which multiplies by mma.sync.
// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 --target=sm_80 | FileCheck %s --check-prefix=SM80
// SM80: rates of A100, 80 GB (312 TFLOP/s, 1.8 TB/s): tensor cores
// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 --target=sm_80 --report-device="NVIDIA H200" | FileCheck %s --check-prefix=DEVICE
// DEVICE: rates of H200 ({{.*}} TFLOP/s, 4.2 TB/s): tensor cores
// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 --target=sm_80 --report-device="Fake GPU" | FileCheck %s --check-prefix=OTHER
// OTHER: rates of A100, 80 GB (312 TFLOP/s, 1.8 TB/s); the device at hand is another, Fake GPU, of unknown rates: tensor cores
// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 --target=sm_90 | FileCheck %s --check-prefix=SM90
// SM90: products by mma.sync
// SM90: rates of H200 ({{.*}} TFLOP/s, 4.2 TB/s): tensor cores
// SM90: bound by {{.*}} ms estimated

// Nothing to do.
// RUN: fa-opt %s --emit=report --shape=0,8,8,1024,1024 --target=sm_90a | FileCheck %s --check-prefix=NOTHING
// NOTHING: work: 0 FLOP of products in visited tiles, 0 in visible pairs;
// NOTHING: bound by nothing: 0 ms estimated
// RUN: fa-opt %s --emit=report --report-json --shape=0,8,8,1024,1024 --target=sm_90a > %t.json
// RUN: %python %S/Inputs/check_report.py %t.json "c['bound'] == 'nothing'" "c['intensity'] == 0"

// NOT-REPORT: --report-json is a form of --emit=report
// NOT-DEVICE: --report-device is for --emit=report

// SHAPE: error: --shape takes B,Hq,Hk,Sq,Sk, five sizes >= 0, got '2,8,8,1024'
// SIZE: error: dimension 1 of 'q' has size 4, but the program was compiled for 8

// LONG: input q: 1099511626752 bytes{{$}}
// LONG: memory: {{[0-9]+}} bytes (twice the lengths would be too long to tell its growth)

// TOO-LONG: error: {{.*}}1073741824
// TOO-LONG-NOT: kernel

func.func @f(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x8x?x64xbf16> {fa.name = "k"},
             %v: tensor<?x8x?x64xbf16> {fa.name = "v"}) -> tensor<?x8x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}
