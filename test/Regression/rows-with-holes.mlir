// Documents that all see a prefix, too: what a row sees is no interval. Blocks that hold such rows, or keys, have a kernel of
// their own on GPUs, whose loop goes over a list of tiles; on CPUs all loops do.
// RUN: fa-run %s --backward --shape=2,2,1,150,313 --seed=3 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %s --backward --device=interp --target=sm_80 --shape=2,2,1,150,313 --seed=3 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %s --backward --device=interp --target=sm_90a --shape=2,2,1,150,313 --seed=3 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %s --backward --fused --device=interp --target=sm_90a --shape=1,2,2,250,250 --seed=3 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %s --backward --fused --device=interp --target=sm_80 --shape=1,2,2,250,250 --seed=3 --check | FileCheck %s --implicit-check-not=FAILED
// RUN: fa-run %s --device=interp --target=sm_90a --shape=1,1,1,700,700 --seed=1 --check | FileCheck %s --check-prefix=FORWARD --implicit-check-not=FAILED
// RUN: fa-run %s --device=interp --target=sm_90a --shape=1,1,1,700,700 --seed=1 --check --tile-rows=128 --tile-keys=64 --tile-warps=8 | FileCheck %s --check-prefix=FORWARD --implicit-check-not=FAILED
// CHECK-DAG: {{^}}deviation: dq {{.*}}: passed
// CHECK-DAG: {{^}}deviation: dk {{.*}}: passed
// CHECK-DAG: {{^}}deviation: dv {{.*}}: passed
// FORWARD: {{^}}deviation: o {{.*}}: passed

// One kernel where the pass is left out; where it is not, the other one begins with what the first one stores.
// RUN: fa-opt %s --target=sm_90a --compile-to=algorithm | FileCheck %s --check-prefix=TWO
// RUN: fa-opt %s --target=sm_90a --leave-out=fa-separate-holes --compile-to=algorithm | FileCheck %s --check-prefix=ONE
// RUN: fa-run %s --device=interp --target=sm_90a --leave-out=fa-separate-holes --shape=2,2,1,150,313 --seed=3 --check | FileCheck %s --check-prefix=FORWARD --implicit-check-not=FAILED
// TWO: %[[O:.*]]:2 = fa.map_blocks @f over
// TWO: fa.map_blocks @f_any over
// TWO: fa.map_blocks @f_holes over(%q) inits(%[[O]]#0, %[[O]]#1)
// TWO-SAME: fa.disjoint = "f"
// ONE-NOT: fa.map_blocks @f_holes
// ONE: %any_holes
// ONE: %any_visible
// Blocks with holes have no order of their own; a launch without them has no work tiles; both kernels run beside each other.
// RUN: fa-opt %s --target=sm_90a --compile-to=tile | FileCheck %s --check-prefix=ORDER
// RUN: fa-opt %s --target=sm_90a --compile-to=schedule --remarks=tile-merge-kernels,tile-overlap-kernels,tile-split-warpgroup-loops 2>&1 | FileCheck %s --check-prefix=TOGETHER
// ORDER: tile.func @f_order(
// ORDER-NOT: _order(
// ORDER: tile.func @f_holes(
// ORDER-SAME: f_any_ws
// ORDER-SAME: tile.disjoint = "f"
// TOGETHER-DAG: each warpgroup runs the steps of its own rows
// TOGETHER-DAG: @f_order and @f_any are one launch
// TOGETHER-DAG: @f_holes runs beside @f, and waits for it at its own end
// TOGETHER: tile.func @f_holes(
// TOGETHER: tile.role "load"
// TOGETHER: %[[ANY:.*]] = tile.load %f_any_ws
// TOGETHER: %[[SOME:.*]] = arith.cmpi ne, %[[ANY]]
// TOGETHER: %[[COUNT:.*]] = arith.select %[[SOME]], %{{.*}}, %c0_i32
// TOGETHER: arith.cmpi ult, %{{.*}}, %[[COUNT]]
// So have blocks of keys, whose first heads are no less than 0.
// RUN: fa-opt %s --backward --fused --dtype=bf16 --target=sm_90a --compile-to=schedule | FileCheck %s --check-prefix=KEYS
// KEYS: tile.func @f_backward_keys_holes(
// KEYS: tile.role "load"
// KEYS: %[[ANY:.*]] = tile.load %f_backward_keys_any_ws
// KEYS: %[[SOME:.*]] = arith.cmpi ne, %[[ANY]]
// KEYS: %[[COUNT:.*]] = arith.select %[[SOME]], %{{.*}}, %c0_i32
// KEYS: arith.cmpi ult, %{{.*}}, %[[COUNT]]

// Not where the first one stores what the other one reads, as kernels over rows do that compute delta.
// RUN: fa-opt %s --backward --deterministic --target=sm_90a --compile-to=schedule --remarks=tile-overlap-kernels 2>&1 >/dev/null | FileCheck %s --check-prefix=WAITS
// WAITS: @f_backward_rows_holes starts while @f_backward_rows ends
// WAITS: @f_backward_keys_holes runs beside @f_backward_keys
func.func @f(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
             %v: tensor<?x?x?x64xbf16> {fa.name = "v"},
             %ids: tensor<?x?xi32> {fa.name = "ids", fa.kind = "ids", fa.dims = ["B", "Sk"]})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%ids)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?x?xi32>):
      %prefix = arith.constant 16 : index
      %mine = tensor.extract %t[%b, %i] : tensor<?x?xi32>
      %other = tensor.extract %t[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %mine, %other : i32
      %shared = arith.cmpi slt, %j, %prefix : index
      %either = arith.ori %same, %shared : i1
      fa.yield %either : i1
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xi32>)
      -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
