// RUN: fa-opt %s --tile-assign-layouts --split-input-file --verify-diagnostics

// expected-error @+1 {{tile.beside must divide the 4 warps, got 3 : i64}}
tile.func @beside(%x: !tile.view<4xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.beside = 3 : i64} {
  tile.return
}

// -----

tile.func @rows(%x: !tile.view<48x16xf16>, %z: !tile.view<48x48xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<48x48xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<48x16xf16> -> tensor<48x16xf16>
  // expected-error @+1 {{needs a number of rows that is a multiple of 64 (mma.sync.m16n8k16 on 4 warps), got 48; change the tile's rows or tile.warps}}
  %s = tile.dot %a, %a, %zero transpose_b : tensor<48x16xf16>, tensor<48x16xf16>, tensor<48x48xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<48x48xf32>, !tile.view<48x48xf32>
  tile.return
}

// -----

// Two by three warps have 32 x 16 each of 64 x 48, but of 80 columns no equal parts.
tile.func @parts(%x: !tile.view<64x16xf16>, %y: !tile.view<80x16xf16>, %z: !tile.view<64x80xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.beside = 3 : i64, tile.warps = 6 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x80xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x16xf16> -> tensor<64x16xf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<80x16xf16> -> tensor<80x16xf16>
  // expected-error @+1 {{of 64 x 80 has no equal parts for 6 warps, 3 beside each other; change the tile's rows or tile.warps}}
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x16xf16>, tensor<80x16xf16>, tensor<64x80xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x80xf32>, !tile.view<64x80xf32>
  tile.return
}

// -----

tile.func @columns(%x: !tile.view<64x16xf16>, %y: !tile.view<12x16xf16>, %z: !tile.view<64x12xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x12xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x16xf16> -> tensor<64x16xf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<12x16xf16> -> tensor<12x16xf16>
  // expected-error @+1 {{needs a number of columns that is a multiple of 16 (mma.sync.m16n8k16 on 4 warps), got 12; pad the tile's columns}}
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x16xf16>, tensor<12x16xf16>, tensor<64x12xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x12xf32>, !tile.view<64x12xf32>
  tile.return
}

// -----

tile.func @columns_of_one_instruction(%x: !tile.view<64x16xf16>, %y: !tile.view<24x16xf16>, %z: !tile.view<64x24xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x24xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x16xf16> -> tensor<64x16xf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<24x16xf16> -> tensor<24x16xf16>
  // expected-error @+1 {{needs a number of columns that is a multiple of 16 (mma.sync.m16n8k16 on 4 warps), got 24; pad the tile's columns}}
  %s = tile.dot %a, %b, %zero transpose_b : tensor<64x16xf16>, tensor<24x16xf16>, tensor<64x24xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x24xf32>, !tile.view<64x24xf32>
  tile.return
}

// -----

tile.func @terms(%x: !tile.view<64x8xf16>, %z: !tile.view<64x64xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x8xf16> -> tensor<64x8xf16>
  // expected-error @+1 {{needs a number of terms that is a multiple of 16 (mma.sync.m16n8k16 on 4 warps), got 8; pad the operands}}
  %s = tile.dot %a, %a, %zero transpose_b : tensor<64x8xf16>, tensor<64x8xf16>, tensor<64x64xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

tile.func @element(%x: !tile.view<64x16xf64>, %z: !tile.view<64x64xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x16xf64> -> tensor<64x16xf64>
  // expected-error @+1 {{multiplies f16, bf16 or f32, got 'f64'}}
  %s = tile.dot %a, %a, %zero transpose_b : tensor<64x16xf64>, tensor<64x16xf64>, tensor<64x64xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

tile.func @rank(%x: !tile.view<4x4x4xf16>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{layouts are for tiles of rank 1 or 2, of static shape and without an encoding, got 'tensor<4x4x4xf16>'}}
  %a = tile.load %x[%c0, %c0, %c0] dims [0, 1, 2] : !tile.view<4x4x4xf16> -> tensor<4x4x4xf16>
  tile.store %a, %x[%c0, %c0, %c0] dims [0, 1, 2] : tensor<4x4x4xf16>, !tile.view<4x4x4xf16>
  tile.return
}

// -----

tile.func @constant(%x: !tile.view<2xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{as a tile has one value for all elements; load other tiles}}
  %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  tile.store %a, %x[%c0] dims [0] : tensor<2xf32>, !tile.view<2xf32>
  tile.return
}

// -----

tile.func @unknown(%x: !tile.view<4xf32>, %y: !tile.view<f32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !tile.view<4xf32> -> tensor<4xf32>
  // expected-error @+1 {{has no rule for the layouts of its tiles}}
  %b = tensor.extract %a[%c0] : tensor<4xf32>
  tile.return
}

// -----

tile.func @large(%x: !tile.view<2048x2048xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{a tile in registers has 1 to 2^20 elements, got 'tensor<2048x2048xf32>'; use smaller tiles}}
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<2048x2048xf32> -> tensor<2048x2048xf32>
  tile.store %a, %x[%c0, %c0] dims [0, 1] : tensor<2048x2048xf32>, !tile.view<2048x2048xf32>
  tile.return
}

// -----

tile.func @ran(%x: !tile.view<64xf32>, %n: index) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %a = tile.load %x[%c0] dims [0] : !tile.view<64xf32> -> tensor<64xf32>
  %some = arith.cmpf ogt, %a, %zero : tensor<64xf32>
  %f, %ran = tile.if_any %some (%a) : tensor<64xi1>, (tensor<64xf32>) -> !tile.ran {
    tile.yield %zero : tensor<64xf32>
  }
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%b = %f, %again = %ran) -> (tensor<64xf32>, !tile.ran) {
    // expected-error @+1 {{takes a !tile.ran that is not the result of a tile.if_any}}
    %c = tile.rescale %b, %f where(%again : !tile.ran) : tensor<64xf32>, tensor<64xf32>
    scf.yield %c, %again : tensor<64xf32>, !tile.ran
  }
  tile.store %r#0, %x[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// -----

tile.func @if_any_rows(%x: !tile.view<64xf32>, %flags: !tile.view<32xi1>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] dims [0] : !tile.view<64xf32> -> tensor<64xf32>
  %f = tile.load %flags[%c0] dims [0] : !tile.view<32xi1> -> tensor<32xi1>
  // expected-error @+1 {{asks for rows of 'tensor<32xi1>', but has a value of other rows: 'tensor<64xf32>'}}
  %b = tile.if_any %f (%a) : tensor<32xi1>, (tensor<64xf32>) {
    %c = arith.addf %a, %a : tensor<64xf32>
    tile.yield %c : tensor<64xf32>
  }
  tile.store %b, %x[%c0] dims [0] : tensor<64xf32>, !tile.view<64xf32>
  tile.return
}

// -----

tile.func @slot(%z: !tile.view<64x64xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %a = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  // expected-error @+1 {{has an operand in shared memory already; layouts are assigned before tile-promote-shared}}
  %s = tile.dot %a, %a, %zero : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.slot<64x64xf16, #tile.swizzle<128>>, tensor<64x64xf32>
  tile.release %a : !tile.slot<64x64xf16, #tile.swizzle<128>>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// -----

tile.func @encoded(%z: !tile.view<32xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{layouts are for tiles of rank 1 or 2, of static shape and without an encoding}}
  %zero = arith.constant dense<0.0> : tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>
  tile.store %zero, %z[%c0] dims [0] : tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>, !tile.view<32xf32>
  tile.return
}
