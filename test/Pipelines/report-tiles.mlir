// Programs that are no attention: sizes that --shape does not name, and no memory of scores; and one of no arguments at all.
// RUN: fa-opt %S/../Dialect/Tile/programs/gemm.mlir --target=cpu --emit=report --shape=1,2,2,200,300 --compile-from=tile | FileCheck %s --check-prefix=GEMM
// RUN: fa-opt %S/../Dialect/Tile/programs/gemm.mlir --target=cpu --emit=report --report-json --shape=1,2,2,200,300 --compile-from=tile | FileCheck %s --check-prefix=JSON
// RUN: fa-opt %s --target=cpu --emit=report --shape=1,2,2,200,300 --compile-from=tile | FileCheck %s
// GEMM-NOT: standard attention
// GEMM: work: 2.097e+06 FLOP of products in visited tiles; 0 special functions
// GEMM: caches: 6.554e+04 bytes by tiles; HBM: at least 6{{$}}
// GEMM: sizes that --shape does not give count as 1: M, K, N
// JSON: "standard_bytes":{{ *}}null
// CHECK: work: 0 FLOP of products
// CHECK: memory: 0 bytes
tile.func @idle(%t: index) grid affine_map<() -> (1)> sizes [] {
  tile.return
}
