// RUN: fa-opt %s -fa-tile-attention -cse | FileCheck %s

// Sums in a fixed order: a block has the indices that stay and loops over the others. Where the last index is
// summed, a tile has 8 heads, or 8 of the batch, whose rows are reduced after the loops.

// CHECK-LABEL: func.func @sums(
// CHECK-SAME:    %[[X:[a-z0-9]+]]:
// CHECK:         fa.map_blocks @sums_sum over(%[[X]]) axes(h by 8)
// CHECK-NEXT:    ^bb0(%[[H:[a-z0-9]+]]: index,
// CHECK:           scf.for %[[B:.*]] = %c0{{.*}} to %{{.*}} step %c1
// CHECK:             scf.for %[[J:.*]] = %c0{{.*}} to %{{.*}} step %c128
// CHECK:               %[[T:.*]] = tile.load %[[X]][%[[B]], %[[H]], %[[J]]] dims [1, 2] : tensor<?x8x?xf32> -> tensor<8x128xf32>
// CHECK:               arith.addf %{{.*}}, %[[T]]
// CHECK:           %[[S:.*]] = tile.reduce addf {{.*}} dim 1 : tensor<8x128xf32> -> tensor<8xf32>
// CHECK-NOT:       tile.reduce
// CHECK:           tile.store %[[S]], %{{.*}}[%[[H]]] dims [0]
// CHECK:         fa.map_blocks @sums_sum1 over(%[[X]]) axes(b by 8)
// CHECK:           tile.load %[[X]]{{.*}} dims [0, 2] : tensor<?x8x?xf32> -> tensor<8x128xf32>
// CHECK:         fa.map_blocks @sums_sum2 over(%[[X]]) axes()
// CHECK:           scf.for %{{.*}} step %c1
// CHECK:             scf.for %{{.*}} step %c8
// CHECK:               scf.for %{{.*}} step %c128
// CHECK:           tile.reduce addf {{.*}} tensor<8x128xf32> -> tensor<8xf32>
// CHECK:           tile.reduce addf {{.*}} tensor<8x8xf32> -> tensor<8xf32>
// CHECK:           %[[ROUNDED:.*]] = arith.truncf {{.*}} to tensor<8xbf16>
// CHECK:           tile.store %[[ROUNDED]]
// CHECK:         fa.map_blocks @sums_sum3 over(%[[X]]) axes(b, keys by 128)
// CHECK:           scf.for %{{.*}} step %c1
// CHECK-NOT:         scf.for
// CHECK:             tile.load %[[X]]{{.*}} dims [2] : tensor<?x8x?xf32> -> tensor<128xf32>
// CHECK-NOT:       tile.reduce
// CHECK:           tile.store
// Parts of key heads are added up alike.
// CHECK:         fa.map_blocks @sums_sum4 over(%[[X]]) axes(keys by 128)
// CHECK:           scf.for %[[B:.*]] = %c0{{.*}} step %c1
// CHECK:             scf.for %[[HK:.*]] = %c0{{.*}} step %c1
// CHECK:               tile.load %[[X]][%[[B]], %[[HK]], %{{.*}}] dims [2] : tensor<?x8x?xf32> -> tensor<128xf32>
// CHECK:         fa.map_blocks @sums_sum5 over(%[[X]]) axes()
// CHECK:           scf.for %{{.*}} step %c8
// CHECK:           tile.reduce addf {{.*}} tensor<8x8xf32> -> tensor<8xf32>
func.func @sums(%x: tensor<?x8x?xf32>) -> (tensor<8xf32>, tensor<?xf32>, tensor<1xbf16>, tensor<?x?xf32>, tensor<?xf32>, tensor<1xf32>) {
  %0 = fa.sum %x of <b, h, keys> to <h> : tensor<?x8x?xf32> -> tensor<8xf32>
  %1 = fa.sum %x of <b, h, keys> to <b> : tensor<?x8x?xf32> -> tensor<?xf32>
  %2 = fa.sum %x of <b, h, keys> : tensor<?x8x?xf32> -> tensor<1xbf16>
  %3 = fa.sum %x of <b, h, keys> to <b, keys> : tensor<?x8x?xf32> -> tensor<?x?xf32>
  %4 = fa.sum %x of <b, hk, keys> to <keys> : tensor<?x8x?xf32> -> tensor<?xf32>
  %5 = fa.sum %x of <b, hk, keys> : tensor<?x8x?xf32> -> tensor<1xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<8xf32>, tensor<?xf32>, tensor<1xbf16>, tensor<?x?xf32>, tensor<?xf32>, tensor<1xf32>
}
