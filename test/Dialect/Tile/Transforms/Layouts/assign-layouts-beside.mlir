// RUN: fa-opt %s --tile-assign-layouts --split-input-file | FileCheck %s

// Three warps beside each other have the same 32 rows, and a third of the columns each.
// CHECK: #[[BESIDE:.*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8), (2, 32, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (3, 0, 64)]>
// CHECK: tile.dot {{.*}}, tensor<64x192xf32, #[[BESIDE]]>
tile.func @beside(%x: !tile.view<64x16xf16>, %y: !tile.view<192x16xf16>, %z: !tile.view<64x192xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.beside = 3 : i64, tile.warps = 6 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x192xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x16xf16> -> tensor<64x16xf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<192x16xf16> -> tensor<192x16xf16>
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x16xf16>, tensor<192x16xf16>, tensor<64x192xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x192xf32>, !tile.view<64x192xf32>
  tile.return
}

// -----

// 48 rows are no multiple of 32, so that all six warps have them, and a sixth of the columns each.
// CHECK: #[[SIX:.*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8), (3, 16, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(6, 0, 32)]>
// CHECK: tile.dot {{.*}}, tensor<48x192xf32, #[[SIX]]>
tile.func @six(%x: !tile.view<48x16xf16>, %y: !tile.view<192x16xf16>, %z: !tile.view<48x192xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.beside = 3 : i64, tile.warps = 6 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<48x192xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<48x16xf16> -> tensor<48x16xf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<192x16xf16> -> tensor<192x16xf16>
  %s = tile.dot %a, %b, %zero transpose_b : tensor<48x16xf16>, tensor<192x16xf16>, tensor<48x192xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<48x192xf32>, !tile.view<48x192xf32>
  tile.return
}

// -----

// Half of 96 columns is no part of a panel: two warps take 16 of them by turns.
// CHECK: #[[TURNS:.*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8), (3, 0, 32), (2, 32, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 16)]>
// CHECK: tile.dot {{.*}}, tensor<64x96xf32, #[[TURNS]]>
tile.func @turns(%x: !tile.view<64x16xf16>, %y: !tile.view<96x16xf16>, %z: !tile.view<64x96xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.beside = 2 : i64, tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x96xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x16xf16> -> tensor<64x16xf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<96x16xf16> -> tensor<96x16xf16>
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x16xf16>, tensor<96x16xf16>, tensor<64x96xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x96xf32>, !tile.view<64x96xf32>
  tile.return
}
