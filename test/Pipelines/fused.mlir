// Gradients in the fused form on sm_90a: the step of blocks of keys, as the scheduler orders it.
// RUN: fa-opt %examples/causal_d128.mlir --backward --fused --target=sm_90a --dtype=bf16 --remarks=gpu-choose-block-tiles,tile-schedule-loop,tile-specialize-warps,tile-pingpong-warpgroups -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
// REMARKS: "tiles of 64 rows and 128 keys for 8 warps in @causal_d128_backward_keys"
// REMARKS: order="dot1', new_sum', new_sum' after all, part', dot0"
// REMARKS: "roles: load has 4 warps of 24 registers, compute 8 warps of 240"
// REMARKS: "warpgroups do not start products in turn"

// S of the rows is there, and dP begins with -delta; nothing is in flight where a step ends. dS is written before the wait for
// dV, and met for after dK has started.
// RUN: fa-opt %examples/causal_d128.mlir --backward --fused --target=sm_90a --dtype=bf16 --mlir-print-ir-after=tile-pipeline --compile-to=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=STEP
// STEP-LABEL: tile.func @causal_d128_backward_keys(
// STEP: %part_ring = tile.ring : <2 x 128x64xbf16, #tile.swizzle<128>>
// STEP: scf.for {{.*}} iter_args({{.*}}, {{.*}}, %[[S:.*]] = %{{.*}}) -> {{.*}} {
// STEP: %[[DELTA:.*]] = tile.broadcast %{{.*}} dim 0
// STEP: %[[DP:.*]] = tile.dot_start %column_tile1_slot, %{{.*}}, %[[DELTA]] transpose_b
// STEP: math.exp2
// STEP: %[[P:.*]] = arith.truncf
// STEP: %[[DV:.*]] = tile.dot_start %[[P]]
// STEP: %[[DPS:.*]] = tile.await %[[DP]]
// STEP: %[[DS:.*]] = arith.truncf
// STEP: tile.put_value %part_ring, %[[DS]]
// STEP: tile.await %[[DV]]
// STEP: %[[DK:.*]] = tile.dot_start %[[DS]]
// STEP: %[[SLOT:.*]] = tile.get %part_ring
// STEP: %[[DQ:.*]] = tile.dot_start %[[SLOT]], %column_tile0_slot, %{{.*}} transpose_a
// STEP: %[[NEXT:.*]] = tile.dot_start %column_tile0_slot, {{.*}} transpose_b
// STEP: tile.await %[[DK]]
// STEP: %[[SUM:.*]] = tile.await %[[DQ]]
// STEP: tile.release %[[SLOT]]
// STEP: tile.accumulate %[[SUM]]
// STEP: tile.await %[[NEXT]]
// STEP: scf.yield

// All warps meet at the get, so that no barrier says that a slot of dS is empty.
// RUN: fa-opt %examples/causal_d128.mlir --backward --fused --target=sm_90a --dtype=bf16 --compile-to=schedule | FileCheck %s --check-prefix=LOWERED
// LOWERED-LABEL: tile.func @causal_d128_backward_keys(
// There one reduction of dQ of the step before starts; one fence serves it, dS and loads of slots. LSE and delta, which come
// with dO, have no barriers of their own, and Q, which S has waited for, is not waited for again.
// LOWERED: %part_full = tile.barriers arrivals(8) : <2>
// LOWERED-NOT: part_empty
// LOWERED-NOT: %tile_full
// LOWERED: tile.write {{.*}} : tensor<128x64xbf16
// LOWERED-NEXT: tile.fence_async
// LOWERED-NEXT: tile.bulk_accumulate_wait{{$}}
// LOWERED-NEXT: tile.barrier_arrive %part_full
// LOWERED-NOT: tile.barrier_arrive
// LOWERED: tile.barrier_arrive %row_tile1_empty
// LOWERED-NOT: tile.barrier_wait %row_tile
// LOWERED-NOT: tile.fence_async
// LOWERED: tile.barrier_wait %part_full
// LOWERED-NOT: tile.fence_async
// LOWERED: tile.bulk_accumulate {{.*}} whole
// LOWERED-NOT: tile.fence_async
// LOWERED: tile.write {{.*}} order(#order)
// LOWERED-NOT: tile.fence_async
// LOWERED: scf.yield

// What a block of keys leaves goes by way of the memory of dQ, so that the next block's keys and values come meanwhile.
// RUN: fa-opt %examples/causal_d128.mlir --backward --fused --target=sm_90a --dtype=bf16 --compile-to=schedule | FileCheck %s --check-prefix=EPILOGUE
// EPILOGUE-LABEL: tile.func @causal_d128_backward_keys(
// EPILOGUE: %[[SUMS:.*]] = tile.ring : <2 x 8192xf32
// EPILOGUE: %[[DK:.*]] = tile.ring in(%[[SUMS]] at 0 : {{.*}}) : <1 x 128x128xbf16
// EPILOGUE-NEXT: %[[DV:.*]] = tile.ring in(%[[SUMS]] at 32768 : {{.*}}) : <1 x 128x128xbf16
// EPILOGUE: tile.role "compute"
// EPILOGUE: tile.copy_out_wait
// EPILOGUE-NEXT: tile.named_wait id(3) threads(256)
// EPILOGUE-NEXT: scf.for
// EPILOGUE: tile.barrier_arrive %column_tile1_empty
// EPILOGUE-NEXT: tile.barrier_arrive %column_tile0_empty
// EPILOGUE: tile.bulk_accumulate_wait{{$}}
// EPILOGUE-NEXT: tile.named_wait id(3) threads(256)
// EPILOGUE-NEXT: %[[TO:.*]] = tile.slot_at %[[DK]]
// EPILOGUE-NEXT: tile.write %{{.*}}, %[[TO]]
// EPILOGUE: tile.bulk_store %[[TO]] to %dk
// EPILOGUE-NOT: wait {{$}}
// EPILOGUE: tile.slot_at %[[DV]]
// EPILOGUE: tile.bulk_store {{.*}} to %dv
// EPILOGUE-NEXT: scf.yield

// Asynchronous products of five kinds, of transposed a and b.
// RUN: fa-opt %examples/causal_d128.mlir --backward --fused --target=sm_90a --dtype=bf16 --emit=ptx | FileCheck %s --check-prefix=PTX
// PTX-LABEL: .entry causal_d128_backward_keys(
// PTX: m64n64k16.f32.bf16.bf16 {{.*}} da, db, {{.*}}, 1, 1, 1, 1;

// RUN: fa-run %examples/causal_d128.mlir --backward --fused --target=sm_90a --dtype=bf16 --shape=1,4,2,70,200 --seed=3 --check --device=interp
// RUN: fa-run %examples/causal.mlir --backward --fused --target=sm_90a --dtype=f16 --shape=1,2,1,395,140 --seed=4 --check --device=interp

// A program of bf16 has both forms: a launch takes the fused one for long sequences of many blocks of keys, unless it is to be deterministic.
// RUN: fa-opt %examples/causal_d128.mlir --backward --target=sm_90a --dtype=bf16 --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=LONG
// LONG: entry @causal_d128 for sm_90a, variant main: more than 1024 queries{{$}}
// LONG: entry @causal_d128_backward for sm_90a, variant fused: more than 1536 queries and keys, and than 237 blocks of 128 keys
// LONG: causal_d128_backward_rows_convert
// LONG: added up in memory by several blocks: {{[1-9].*}} of these bytes
// RUN: fa-opt %examples/causal_d128.mlir --backward --target=sm_90a --dtype=bf16 --emit=report --shape=3,8,8,1536,1537 | FileCheck %s --check-prefix=SPLIT
// RUN: fa-opt %examples/causal_d128.mlir --backward --target=sm_90a --dtype=bf16 --emit=report --shape=1,8,8,1537,1537 | FileCheck %s --check-prefix=SPLIT
// SPLIT: entry @causal_d128_backward for sm_90a, variant main: not several query heads to a key head, no more keys than queries, in at most 237 blocks of 128 keys; not more than 1536 queries and keys, and than 237 blocks of 128 keys{{$}}
// SPLIT-NOT: rows_convert
// SPLIT-NOT: added up in memory
// RUN: fa-opt %examples/causal_d128.mlir --backward --deterministic --target=sm_90a --dtype=bf16 --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=SAME-BITS
// SAME-BITS: entry @causal_d128_backward for sm_90a, variant main: not several query heads to a key head, no more keys than queries, in at most 237 blocks of 128 keys{{$}}
// SAME-BITS-NOT: rows_convert
// So does a score such as softcap, and a mask that reads an element for each key.
// RUN: sed 's/x64xf32/x128xbf16/g' %examples/softcap.mlir | fa-opt - --backward --target=sm_90a --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=SCORE
// SCORE: entry @softcap_backward for sm_90a, variant fused: more than 1536 queries and keys, and than 237 blocks of 128 keys
// RUN: sed 's/x64xf32/x128xbf16/g' %examples/gallery/padding.mlir | fa-opt - --backward --target=sm_90a --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=DATA
// DATA: entry @padding_backward for sm_90a, variant fused: more than 1536 queries and keys, and than 237 blocks of 128 keys
// Of windows, those of 1024 keys or more: what the form adds before and after goes over all rows.
// RUN: sed 's/x64xf32/x128xbf16/g; s/window<255, 0>/window<1023, 0>/' %examples/window.mlir | fa-opt - --backward --target=sm_90a --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/x64xf32/x128xbf16/g; s/window<255, 0>/window<1023, 0>, causal/' %examples/window.mlir | fa-opt - --backward --target=sm_90a --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=WIDE
// WIDE: entry @window_backward for sm_90a, variant fused: more than 1536 queries and keys, and than 237 blocks of 128 keys
// RUN: sed 's/x64xf32/x128xbf16/g; s/window<255, 0>/window<1022, 0>/' %examples/window.mlir | fa-opt - --backward --target=sm_90a --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=NARROW
// NARROW: entry @window_backward for sm_90a, variant main: not several query heads to a key head, no more keys than queries, in at most 237 blocks of 128 keys{{$}}
// Heads of keys that few blocks make have parts of their group's heads, added up after.
// RUN: fa-opt %examples/gqa.mlir --backward --deterministic --target=sm_90a --dtype=bf16 --emit=report --shape=1,16,1,8192,8192 | FileCheck %s --check-prefix=PARTS
// PARTS: entry @gqa_backward for sm_90a, variant split-groups: several query heads to a key head, no more keys than queries, in at most 237 blocks of 128 keys
// PARTS: kernel @gqa_backward_keys_sum grid
// PARTS: workspace gqa_backward_keys_ws: 50331648 bytes
// Blocks of wide heads have 64 keys, so that twice as many keys are few.
// RUN: sed 's/x96xbf16/x256xbf16/g; s/x64xbf16/x256xbf16/g' %examples/gqa.mlir | fa-opt - --backward --target=sm_90a --emit=report --shape=1,16,1,15168,15168 | FileCheck %s --check-prefix=WIDE-PARTS
// WIDE-PARTS: entry @gqa_backward for sm_90a, variant split-groups: several query heads to a key head, no more keys than queries, in at most 237 blocks of 64 keys
// RUN: sed 's/x96xbf16/x256xbf16/g; s/x64xbf16/x256xbf16/g' %examples/gqa.mlir | fa-opt - --backward --target=sm_90a --emit=report --shape=1,16,1,15169,15169 | FileCheck %s --check-prefix=WIDE-MANY
// WIDE-MANY: entry @gqa_backward for sm_90a, variant main: not several query heads to a key head, no more keys than queries, in at most 237 blocks of 64 keys
// WIDE-MANY-NOT: kernel @gqa_backward_keys_sum
// So has one of f16, whose program differs in the type alone; not one of f32.
// RUN: fa-opt %examples/causal_d128.mlir --backward --target=sm_90a --dtype=f16 --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=LONG
// RUN: fa-opt %examples/causal_d128.mlir --backward --target=sm_90a --dtype=f32 --emit=report --shape=3,8,8,1537,1537 | FileCheck %s --check-prefix=F32
// F32: entry @causal_d128_backward for sm_90a, variant main
// F32-NOT: rows_convert
