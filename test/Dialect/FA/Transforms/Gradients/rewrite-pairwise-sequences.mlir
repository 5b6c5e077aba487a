// RUN: fa-opt %s -fa-generate-backward=only=true | FileCheck %s --check-prefix=SUMS
// RUN: fa-opt %s -fa-generate-backward=only=true -fa-rewrite-pairwise | FileCheck %s
// RUN: fa-opt %s -fa-generate-backward=only=true -fa-rewrite-pairwise=form=fused | FileCheck %s --check-prefix=FUSED

// LSE and delta have a place for each sequence, and are read at h and i of it. A bias at positions of a sequence is
// scattered to; slopes are a sum.
// SUMS:      fa.pairwise rows({{.*}}) query_starts(%[[CU:[a-z0-9]+]]) key_starts(%[[CU]]) key_lengths(%[[N:[a-z0-9]+]]) mask
// SUMS:        tensor.extract %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] : tensor<8x?xf32>
// SUMS:      } sums [#fa.sum<1[b, h, rows] times 0
// SUMS-SAME:   #fa.sum<2[h]>, #fa.sum<3 as 1 at[4, 5, 6, 7]>] {row_captures = 2 : i64}

// Blocks find their sequence, of rows or of keys, and store to its slice.
// CHECK:      fa.map_blocks @packed_backward_prepare over(%[[Q:[a-z0-9]+]]) starts(%[[CU:[a-z0-9]+]]) axes(h, rows by ?)
// CHECK-SAME:   fa.places = [array<i64: 1, 5, 128>, array<i64: 1, 5, 128>]
// CHECK:        %[[LSE:.*]] = tile.slice %{{.*}} dim 1 from %{{.*}} size %{{.*}} : !tile.view<8x?xf32>
// CHECK-NEXT:   tile.store %{{.*}}, %[[LSE]]
// The block of the last row fills its box with 0.
// CHECK:        %[[REST:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK:        %[[COUNT:.*]] = arith.select %{{.*}}, %[[REST]], %{{.*}} : index
// CHECK:        %[[BEHIND:.*]] = tile.slice %{{.*}} dim 1 from %{{.*}} size %[[REST]] : !tile.view<8x?xf32>
// CHECK:        scf.for %[[AT:.*]] = %{{.*}} to %[[COUNT]]
// CHECK-NEXT:     tile.store %{{.*}}, %[[BEHIND]][%{{.*}}, %[[AT]]]
// What is added to a bias, and what each key adds to slopes, begins as zeros: some keys are of no sequence.
// CHECK:      fa.map_blocks @packed_backward_rows_zero
// CHECK:      fa.map_blocks @packed_backward_rows over(%[[Q]]) starts(%[[CU]]) inits(%{{.*}}) axes(h, rows by ?)
// CHECK:        tile.scatter_add
// CHECK:        %[[DQ:.*]] = tile.slice %{{.*}} dim 1 from %{{.*}} size %{{.*}} : !tile.view<8x?x64xbf16>
// CHECK:        tile.store %{{.*}}, %[[DQ]]
// CHECK:      %[[ZEROS:.*]] = fa.map_blocks @packed_backward_keys_zero over(%[[Q]], %[[K:[a-z0-9]+]]) axes(b, hk by 128) {{.*}} -> tensor<1x8x?xf32>
// CHECK:      %[[PARTS:.*]]:3 = fa.map_blocks @packed_backward_keys over(%[[K]]) starts(%[[CU]]) inits(%[[ZEROS]]) axes(hk, keys by ?)
// CHECK:        %[[ANY:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK:        arith.select %[[ANY]], %{{.*}}, %{{.*}} : index
// CHECK:        %[[PART:.*]] = tile.slice %{{.*}} dim 2 from %{{.*}} size %{{.*}} : !tile.view<1x8x?xf32>
// CHECK-NEXT:   tile.store %{{.*}}, %[[PART]]
// CHECK:      fa.sum %[[PARTS]]#2 of <b, h, keys> to <h>
func.func @packed(%q: tensor<8x?x64xbf16> {fa.name = "q"}, %k: tensor<2x?x64xbf16> {fa.name = "k"},
                  %v: tensor<2x?x64xbf16> {fa.name = "v"}, %slopes: tensor<8xf32> {fa.name = "slopes"},
                  %bias: tensor<?x8x?x?xf32> {fa.name = "bias"}, %cu: tensor<?xi32> {fa.name = "cu"},
                  %n: tensor<?xi32> {fa.name = "n"})
    -> (tensor<8x?x64xbf16>, tensor<8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, alibi(%slopes), bias(%bias)]
      sequences(query_starts(%cu) key_starts(%cu) key_lengths(%n))
    : (tensor<8x?x64xbf16>, tensor<2x?x64xbf16>, tensor<2x?x64xbf16>, tensor<8xf32>, tensor<?x8x?x?xf32>,
       tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> (tensor<8x?x64xbf16>, tensor<8x?xf32>)
  return %o, %lse : tensor<8x?x64xbf16>, tensor<8x?xf32>
}

// A number that a score reads takes a sum of each key head: keys of no sequence add 0 to it, too.
// CHECK:      %[[ZEROS:.*]] = fa.map_blocks @number_backward_keys_zero over(%[[K:[a-z0-9]+]]) axes(b, hk by 128) {{.*}} -> tensor<1x2x?xf32>
// CHECK:      %[[PARTS:.*]]:3 = fa.map_blocks @number_backward_keys over(%[[K]]) starts(%{{.*}}) inits(%[[ZEROS]]) axes(hk, keys by ?)
// CHECK:      fa.sum %[[PARTS]]#2 of <b, hk, keys> {{.*}}: tensor<1x2x?xf32> -> tensor<1xf32>
func.func @number(%q: tensor<8x?x64xbf16> {fa.name = "q"}, %k: tensor<2x?x64xbf16> {fa.name = "k"},
                  %v: tensor<2x?x64xbf16> {fa.name = "v"}, %x: f32 {fa.name = "x"},
                  %cu: tensor<?xi32> {fa.name = "cu"}) -> (tensor<8x?x64xbf16>, tensor<8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%x) sequences(query_starts(%cu) key_starts(%cu)) score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: f32):
      %r = arith.mulf %s, %t : f32
      fa.yield %r : f32
    } : (tensor<8x?x64xbf16>, tensor<2x?x64xbf16>, tensor<2x?x64xbf16>, f32, tensor<?xi32>, tensor<?xi32>)
      -> (tensor<8x?x64xbf16>, tensor<8x?xf32>)
  return %o, %lse : tensor<8x?x64xbf16>, tensor<8x?xf32>
}

// In the fused form each sequence has a place of whole boxes in what blocks of keys add to: (start / 16 + b) * 16. The
// kernels before and after go over the rows of sequences, too.
// FUSED:      %[[ZERO:.*]] = fa.map_blocks @fused_backward_keys_zero over(%[[Q:[a-z0-9]+]]) starts(%[[CU:[a-z0-9]+]]) axes(h, rows by ?)
// FUSED-SAME:   -> tensor<8x?x64xf32>
// FUSED-SAME:   fa.places = [array<i64: 1, 3, 16>]
// FUSED:        %[[PLACE:.*]] = tile.slice %{{.*}} dim 1 from %{{.*}} size %{{.*}} : !tile.view<8x?x64xf32>
// FUSED:        tile.store %{{.*}}, %[[PLACE]]
// FUSED:      %[[R:.*]]:3 = fa.map_blocks @fused_backward_keys over(%{{.*}}) starts(%[[CU]]) inits(%[[ZERO]]) axes(hk, keys by ?)
// FUSED-SAME:   fa.places = [array<i64>, array<i64>, array<i64: 1, 3, 16>]
// LSE and delta have places of whole boxes, too, which are longer.
// FUSED:        %[[FIRST:.*]] = arith.divui %[[START:.*]], %[[BOX:.*]] : index
// FUSED-NEXT:   %[[NUMBER:.*]] = arith.addi %[[FIRST]], %[[B:.*]] : index
// FUSED-NEXT:   %[[FROM:.*]] = arith.muli %[[NUMBER]], %[[BOX]] : index
// FUSED:        %[[BOXES:.*]] = arith.divui %{{.*}}, %[[BOX]] : index
// FUSED-NEXT:   %[[SIZE:.*]] = arith.muli %[[BOXES]], %[[BOX]] : index
// FUSED-NEXT:   tile.slice %{{.*}}#0 dim 1 from %[[FROM]] size %[[SIZE]] : tensor<8x?xf32>
// FUSED:        tile.slice %{{.*}}#1 dim 1 from %{{.*}} size %{{.*}} : tensor<8x?xf32>
// FUSED:        arith.divui %[[START]], %[[BOX2:.*]] : index
// FUSED:        %[[PLACE2:.*]] = arith.muli %{{.*}}, %[[BOX2]] : index
// FUSED:        %[[ADDED:.*]] = tile.slice %{{.*}} dim 1 from %[[PLACE2]] size %{{.*}} : !tile.view<8x?x64xf32>
// FUSED:        tile.accumulate %{{.*}}, %[[ADDED]][%{{.*}}] dims [1, 2]
// FUSED:      fa.map_blocks @fused_backward_rows_convert over(%[[Q]]) starts(%[[CU]]) axes(h, rows by ?)
// FUSED:        %[[PART:.*]] = tile.slice %[[R]]#2 dim 1
// FUSED:        tile.load %[[PART]]
// FUSED:        %[[DQ:.*]] = tile.slice %{{.*}} dim 1 from %{{.*}} : !tile.view<8x?x64xbf16>
// FUSED:        tile.store %{{.*}}, %[[DQ]]
func.func @fused(%q: tensor<8x?x64xbf16> {fa.name = "q"}, %k: tensor<2x?x64xbf16> {fa.name = "k"},
                 %v: tensor<2x?x64xbf16> {fa.name = "v"}, %cu: tensor<?xi32> {fa.name = "cu"})
    -> (tensor<8x?x64xbf16>, tensor<8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<8x?x64xbf16>, tensor<2x?x64xbf16>, tensor<2x?x64xbf16>, tensor<?xi32>, tensor<?xi32>)
      -> (tensor<8x?x64xbf16>, tensor<8x?xf32>)
  return %o, %lse : tensor<8x?x64xbf16>, tensor<8x?xf32>
}
