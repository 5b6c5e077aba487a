// RUN: fa-opt %s --split-input-file --tile-promote-shared --verify-diagnostics

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#other = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 32, 0), (2, 16, 0)]>
tile.func @bits(%x: i4) grid affine_map<() -> ()> sizes [] {
  %t = tile.broadcast %x : i4 -> tensor<64x64xi4, #acc>
  // expected-error @+1 {{shared memory holds integers and floats of whole bytes, got 'tensor<64x64xi4}}
  %c = tile.convert_layout %t : tensor<64x64xi4, #acc> -> tensor<64x64xi4, #other>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#other = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 32, 0), (2, 16, 0)]>
tile.func @divergent(%x: f32, %rows: i1) grid affine_map<() -> ()> sizes [] {
  %t = tile.broadcast %x : f32 -> tensor<64x64xf32, #acc>
  %u = tile.broadcast %x : f32 -> tensor<64x64xf32, #other>
  %some = tile.broadcast %rows : i1 -> tensor<64xi1>
  %r = tile.if_any %some (%u) : tensor<64xi1>, (tensor<64x64xf32, #other>) {
    // expected-error @+1 {{needs shared memory inside of a tile.if_any, which not all warps run; move it out}}
    %c = tile.convert_layout %t : tensor<64x64xf32, #acc> -> tensor<64x64xf32, #other>
    tile.yield %c : tensor<64x64xf32, #other>
  }
  tile.return
}

// -----

tile.func @dynamic(%x: !tile.view<?x?xf16>, %acc: !tile.view<?x?xf32>, %i: index) grid affine_map<() -> (1)> sizes [] {
  %a = tile.load %x[%i, %i] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x64xf16>
  // expected-error @+1 {{needs a tile of static shape to bring it to shared memory, got 'tensor<64x?xf16>'}}
  %b = tile.load %x[%i, %i] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x?xf16>
  %c = tile.load %acc[%i, %i] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x?xf32>
  %d = tile.dot %a, %b, %c : tensor<64x64xf16>, tensor<64x?xf16>, tensor<64x?xf32>
  tile.return
}
