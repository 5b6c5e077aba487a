// RUN: fa-opt %s --verify-roundtrip | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// CHECK-DAG: #[[$ORDER:.*]] = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>

// CHECK-LABEL: tile.func @ordered
// CHECK-SAME: !tile.view<?x?x64xf32, #[[$ORDER]]>
tile.func @ordered(%x: !tile.view<?x?x64xf32, #order>, %b: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0]
    attributes {tile.warps = 4 : i64} {
  // CHECK: %[[R:.*]] = tile.ring
  %r = tile.ring : !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %{{.*}} dims [1, 2] : !tile.view<?x?x64xf32, #[[$ORDER]]> -> tensor<64x64xf32, #{{.*}}>
  %v = tile.load %x[%b, %c0, %c0] dims [1, 2] : !tile.view<?x?x64xf32, #order> -> tensor<64x64xf32, #acc>
  // CHECK: tile.store %{{.*}} dims [1, 2] : tensor<64x64xf32, #{{.*}}>, <?x?x64xf32, #[[$ORDER]]>
  tile.store %v, %x[%b, %c0, %c0] dims [1, 2] : tensor<64x64xf32, #acc>, !tile.view<?x?x64xf32, #order>
  // CHECK: tile.accumulate %{{.*}} dims [1, 2] through(%[[R]]) : tensor<64x64xf32, #{{.*}}>, <?x?x64xf32, #[[$ORDER]]>, !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  tile.accumulate %v, %x[%b, %c0, %c0] dims [1, 2] through(%r)
    : tensor<64x64xf32, #acc>, !tile.view<?x?x64xf32, #order>, !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 4096xf32, #tile.swizzle<128>> -> !tile.slot<4096xf32, #tile.swizzle<128>>
  // CHECK: tile.bulk_accumulate_wait{{$}}
  tile.bulk_accumulate_wait
  // CHECK: tile.write %{{.*}}, %[[S:.*]] order(#[[$ORDER]]) : tensor<64x64xf32, #{{.*}}>, <4096xf32, #tile.swizzle<128>>
  tile.write %v, %s order(#order) : tensor<64x64xf32, #acc>, !tile.slot<4096xf32, #tile.swizzle<128>>
  // CHECK: tile.read %{{.*}} order(#[[$ORDER]]) : <4096xf32, #tile.swizzle<128>> -> tensor<64x64xf32, #{{.*}}>
  %read = tile.read %s order(#order) : !tile.slot<4096xf32, #tile.swizzle<128>> -> tensor<64x64xf32, #acc>
  // CHECK: tile.put_value %[[R]], %{{.*}} order(#[[$ORDER]]) : <1 x 4096xf32, #tile.swizzle<128>>, tensor<64x64xf32, #{{.*}}>
  tile.put_value %r, %read order(#order) : !tile.ring<1 x 4096xf32, #tile.swizzle<128>>, tensor<64x64xf32, #acc>
  tile.fence_async
  // CHECK: tile.bulk_accumulate %{{.*}} to %{{.*}} dims [1, 2] tile(tensor<64x64xf32, #{{.*}}>) : <4096xf32, #tile.swizzle<128>>, <?x?x64xf32, #[[$ORDER]]>
  tile.bulk_accumulate %s to %x[%b, %c0, %c0] dims [1, 2] tile(tensor<64x64xf32, #acc>)
    : !tile.slot<4096xf32, #tile.swizzle<128>>, !tile.view<?x?x64xf32, #order>
  // CHECK: tile.bulk_accumulate_wait pending(1)
  tile.bulk_accumulate_wait pending(1)
  // CHECK: tile.bulk_accumulate %{{.*}} to %{{.*}} dims [1, 2] tile(tensor<64x64xf32, #{{.*}}>) whole : <4096xf32, #tile.swizzle<128>>, <?x?x64xf32, #[[$ORDER]]>
  tile.bulk_accumulate %s to %x[%b, %c0, %c0] dims [1, 2] tile(tensor<64x64xf32, #acc>) whole
    : !tile.slot<4096xf32, #tile.swizzle<128>>, !tile.view<?x?x64xf32, #order>
  // CHECK: tile.bulk_accumulate_wait written
  tile.bulk_accumulate_wait written
  tile.return
}
