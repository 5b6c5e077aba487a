// An entry that is called as a kernel of another one was a symbol defined twice.
// RUN: fa-opt %s --target=sm_90a --compile-to=tile | FileCheck %s
// RUN: fa-opt %s --target=cpu-avx2 --compile-to=tile | FileCheck %s

// CHECK-DAG: tile.func @document_limits1({{.*}}
// CHECK-DAG: tile.func @document(
// CHECK-DAG: tile.func @document_limits(
func.func @document(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"}, %ids: tensor<?x?xi32> {fa.name = "ids", fa.dims = ["B", "Sk"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [document(%ids)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?xi32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
func.func @document_limits(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"}) -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
