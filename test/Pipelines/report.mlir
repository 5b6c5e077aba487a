// 2*8*1024*64 elements of 2 bytes an operand; scores are 2*8*1024*1024 of 4
// bytes, probabilities of 2. The memory of the program's own buffers, and how it grows with the length.

// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 | FileCheck %s --check-prefix=ONLINE
// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 --standard-attention | FileCheck %s --check-prefix=STANDARD
// RUN: fa-opt %s --emit=report --shape=2,8,8,1024,1024 --target=sm_90a | FileCheck %s --check-prefix=GPU
// RUN: fa-opt %s --emit=report --report-json --shape=2,8,8,1024,1024 --target=sm_90a > %t.json
// RUN: %python -c "import json; c = json.load(open('%t.json'))['entries'][0]['cost']; assert c['visited_flops'] == 32 * 192 * 128 * 4 * 64 * 16, c"
// RUN: env FA_PTXAS=/nonexistent fa-opt %s --emit=report --target=sm_90a | FileCheck %s --check-prefix=NO-PTXAS
// RUN: not fa-opt %s --report-json 2>&1 | FileCheck %s --check-prefix=NOT-REPORT
// RUN: not fa-opt %s --emit=report --shape=2,8,8,1024 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not fa-opt %s --emit=report --shape=2,4,8,1024,1024 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: fa-opt %s --emit=report --shape=1,8,8,1073741824,8 | FileCheck %s --check-prefix=LONG
// RUN: not fa-opt %s --emit=report --shape=1,8,8,2147483648,8 -o %t.report 2>&1 | FileCheck %s --check-prefix=TOO-LONG
// RUN: not ls %t.report

// ONLINE: kernel @f grid {{.*}} = 2 x 8 x 16
// ONLINE: input q: 2097152 bytes, O(N)
// ONLINE: output o: 2097152 bytes, O(N)
// ONLINE-NOT: workspace
// ONLINE: memory: 8388608 bytes, O(N) (16777216 bytes at twice the lengths)

// STANDARD: kernel @f_scores
// STANDARD: workspace f_scores_ws: 67108864 bytes, O(N^2)
// STANDARD: memory: 109051904 bytes, O(N^2) (419430400 bytes at twice the lengths)

// Row tiles of 192 see 2, 3, 5, 6, 8 and 8 key tiles of 128, in 16 heads.
// GPU: 16 warps, {{[0-9]+}} of 232448 bytes of shared memory
// GPU: role load: 4 warps
// GPU: role compute: 12 warps
// GPU: ring !tile.ring<2 x 128x64xbf16
// GPU: work: 3.221e+09 FLOP of products in visited tiles, 2.15e+09 in visible pairs (1.499 of it visited)
// GPU: traffic: 8.389e+06 bytes at least, {{.*}} standard attention 2.097e+08 (25.0 times)
// GPU: on H200: tensor cores
// GPU: bound by {{.*}} ms estimated
// NO-PTXAS: registers and spills are not known: {{.*}}nonexistent
// NOT-REPORT: --report-json is a form of --emit=report

// SHAPE: error: --shape takes B,Hq,Hk,Sq,Sk, five sizes >= 0, got '2,8,8,1024'
// SIZE: error: dimension 1 of 'q' has size 4, but the program was compiled for 8

// LONG: input q: 1099511627776 bytes{{$}}
// LONG: memory: {{[0-9]+}} bytes (twice the lengths would be too long to tell its growth)

// TOO-LONG: error: {{.*}}2147483648
// TOO-LONG-NOT: kernel

func.func @f(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x8x?x64xbf16> {fa.name = "k"},
             %v: tensor<?x8x?x64xbf16> {fa.name = "v"}) -> tensor<?x8x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}
