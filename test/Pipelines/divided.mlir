// Gradients of heads of 256 on sm_90a: a thread has no registers for dK and dV beside each other, so two roles have one each.
// RUN: sed s/x128xbf16/x256xbf16/g %examples/causal_d128.mlir | fa-opt --backward --target=sm_90a --remarks=gpu-choose-block-tiles,tile-divide-sums,tile-specialize-warps,tile-stage-epilogue -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
// REMARKS: "tiles of 64 rows and 64 keys for 4 warps in @causal_d128_backward_keys"
// REMARKS: "two roles have the sums of a loop", sums=2
// REMARKS: "store of 64x256xbf16 by way of
// REMARKS: "store of 64x256xbf16 by way of
// REMARKS: "roles: load has 4 warps of 24 registers, second has 4 warps of 240 registers, compute 4 warps of 240"

// Each begins with the product whose slot the other role waits for; P goes from one to the other in f32, and is read when it is
// needed, after what products read is released.
// RUN: sed s/x128xbf16/x256xbf16/g %examples/causal_d128.mlir | fa-opt --backward --target=sm_90a --mlir-print-ir-after=tile-specialize-warps --compile-to=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=STEP
// STEP-LABEL: tile.func @causal_d128_backward_keys(
// STEP: %[[SENT:.*]] = tile.ring : <{{[12]}} x 4096xf32, #tile.swizzle<128>>
// STEP: tile.role "second" warps(4) registers(240)
// STEP: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[DS:.*]] = %{{.*}}) -> (tensor<64x256xf32, {{.*}}>, tensor<64x64xbf16
// STEP: %[[DK:.*]] = tile.dot_start %[[DS]], %{{.*}}, %[[SUM]]
// STEP: %[[DP:.*]] = tile.dot_start %column_tile1_slot, {{.*}} transpose_b
// STEP: tile.await %[[DK]]
// STEP-NEXT: tile.release
// STEP: %[[DPS:.*]] = tile.await %[[DP]]
// STEP-NEXT: tile.release
// STEP: %[[SLOT:.*]] = tile.get %[[SENT]]
// STEP-NEXT: %[[P:.*]] = tile.read %[[SLOT]] order(
// STEP: arith.mulf %[[P]],
// STEP: arith.truncf
// STEP: scf.yield
// STEP: to %dk[
// STEP: tile.role "compute" warps(4) registers(240)
// STEP: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[LOW:.*]] = %{{.*}}) -> (tensor<64x256xf32, {{.*}}>, tensor<64x64xbf16
// STEP: %[[DV:.*]] = tile.dot_start %[[LOW]], %{{.*}}, %[[SUM]]
// STEP: %[[S:.*]] = tile.dot_start %column_tile0_slot, {{.*}} transpose_b
// STEP: tile.await %[[DV]]
// STEP: tile.await %[[S]]
// STEP: math.exp2
// STEP: tile.put_value %[[SENT]], %{{.*}} order(
// STEP: scf.yield
// STEP-NOT: %dk[

// It is right on all kinds of weights: two tiles go to the second role of a softcap, and sums along keys stand with it.
// RUN: sed s/x64xf32/x192xbf16/g %examples/softcap.mlir > %t.softcap.mlir
// RUN: fa-run %t.softcap.mlir --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check
// RUN: sed s/x64xf32/x256xbf16/g %examples/alibi.mlir > %t.alibi.mlir
// RUN: fa-run %t.alibi.mlir --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check
// RUN: fa-run %t.alibi.mlir --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check --leave-out=tile-schedule-loop
// RUN: fa-run %t.alibi.mlir --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check --leave-out=tile-stage-epilogue
// RUN: fa-run %t.alibi.mlir --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check --leave-out=tile-make-persistent

// Both read keys that are values, too, from a slot that is got before the loop.
// RUN: sed 's/x64xf32/x256xbf16/g; /%v: /d; s/fa.name = "k"},/fa.name = "k"})/; s/value(%v)/value(%k)/' %examples/full.mlir > %t.same.mlir
// RUN: fa-run %t.same.mlir --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check

// RUN: sed s/x128xbf16/x192xbf16/g %examples/causal_d128.mlir | not fa-opt --backward --target=sm_90a --tile-keys=128 --tile-warps=8 -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARPS
// WARPS: error: two roles of 8 warps have no registers for sums of 384 columns; choose --tile-warps=4

// Functions beside sums of captures leave heads of 256 registers for half a step.
// RUN: sed s/x144x/x256x/g %s | fa-opt --backward --target=sm_90a --remarks=gpu-choose-block-tiles -o /dev/null 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: sed s/x144x/x256x/g %s | fa-opt --backward --gradients=k,v --target=sm_90a --remarks=gpu-choose-block-tiles -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: fa-opt %s --backward --target=sm_90a --remarks=gpu-choose-block-tiles -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHOLE
// HALF: "tiles of 32 rows and 64 keys for 4 warps in @leaky_backward_keys"
// WHOLE: "tiles of 64 rows and 64 keys for 4 warps in @leaky_backward_keys"

// Whether a score is above 0 is no tile that a ring has: both roles compare. Captures at h are read by both roles, in
// another order of each role's products, too.
// RUN: fa-run %s --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check
// RUN: fa-run %s --device=interp --target=sm_90a --shape=1,2,1,70,140 --backward --deterministic --check --product-order=1
func.func @leaky(%q: tensor<?x?x?x144xf16> {fa.name = "q"}, %k: tensor<?x?x?x144xf16> {fa.name = "k"}, %v: tensor<?x?x?x144xf16> {fa.name = "v"},
                 %y: tensor<?xf32> {fa.name = "y", fa.dims = ["Hq"]}, %z: tensor<?xf32> {fa.name = "z", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x144xf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%y, %z) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %cy: tensor<?xf32>, %cz: tensor<?xf32>):
    %d = tensor.extract %cy[%h] : tensor<?xf32>
    %e = tensor.extract %cz[%h] : tensor<?xf32>
    %zero = arith.constant 0.0 : f32
    %above = arith.cmpf ogt, %s, %zero : f32
    %less = arith.mulf %s, %d : f32
    %t = arith.select %above, %s, %less : f32
    %u = math.tanh %t : f32
    %w = arith.mulf %u, %e : f32
    fa.yield %w : f32
  } : (tensor<?x?x?x144xf16>, tensor<?x?x?x144xf16>, tensor<?x?x?x144xf16>, tensor<?xf32>, tensor<?xf32>)
    -> (tensor<?x?x?x144xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x144xf16>, tensor<?x?x?xf32>
}
