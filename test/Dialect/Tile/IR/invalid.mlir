// RUN: fa-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{a view holds integers, index or floats, got 'none'}}
func.func private @view(!tile.view<4xnone>)

// -----

// expected-error @+1 {{(func_c1) grid takes no dimensions and one symbol per pair of sizes, got 0 dimensions, 1 symbols and 0 numbers in sizes}}
tile.func @func_c1(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c1) grid takes no dimensions and one symbol per pair of sizes, got 1 dimensions}}
tile.func @func_c1_dims(%x: !tile.view<?xf32>, %t: index) grid affine_map<(d0) -> (d0)> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c1) needs one work tile id per result of grid, 2}}
tile.func @func_c1_ids(%t: index) grid affine_map<() -> (1, 2)> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c2) sizes names argument 1 of 1}}
tile.func @func_c2(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [1, 0] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c2) argument 0 of type '!tile.view<?xf32>' has no dimension 1}}
tile.func @func_c2_dim(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 1] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c3) argument 0 must be a view, an integer, index, a float or a tensor map, got 'tensor<4xf32>'}}
tile.func @func_c3(%x: tensor<4xf32>) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c3) argument 0 must be a work tile id of type index, got 'i32'}}
tile.func @func_c3_id(%t: i32) grid affine_map<() -> (1)> sizes [] {
  tile.return
}

// -----

// @func_c4 has no other spelling.
// expected-error @+1 {{(func_c4) returns nothing; store to a view instead}}
"tile.func"() <{sym_name = "func_c4", function_type = () -> i32, grid = affine_map<() -> ()>, sizes = array<i64>}> ({
  "tile.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{must have a body}}
"tile.func"() <{sym_name = "func_empty", function_type = () -> (), grid = affine_map<() -> ()>, sizes = array<i64>}> ({
}) : () -> ()

// -----

func.func @dim_c1(%x: !tile.view<?xf32>) {
  // expected-error @+1 {{(dim_c1) '!tile.view<?xf32>' has no dimension 1}}
  %n = tile.dim %x, 1 : !tile.view<?xf32>
  return
}

// -----

func.func @dim_c1_negative(%x: !tile.view<?xf32>) {
  // expected-error @+1 {{(dim_c1) '!tile.view<?xf32>' has no dimension -1}}
  %n = tile.dim %x, -1 : !tile.view<?xf32>
  return
}

// -----

func.func @load_c1(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{(load_c1) needs one index per dimension of '!tile.view<?x?xf32>', got 1}}
  %t = tile.load %x[%i] dims [0] : !tile.view<?x?xf32> -> tensor<4xf32>
  return
}

// -----

func.func @load_c2(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{(load_c2) needs one of dims per dimension of 'tensor<4x4xf32>', got 1}}
  %t = tile.load %x[%i, %i] dims [0] : !tile.view<?x?xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load_c2_twice(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{(load_c2) dims must be distinct dimensions of '!tile.view<?x?xf32>', got 1}}
  %t = tile.load %x[%i, %i] dims [1, 1] : !tile.view<?x?xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load_c2_range(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{(load_c2) dims must be distinct dimensions of '!tile.view<?x?xf32>', got 2}}
  %t = tile.load %x[%i, %i] dims [0, 2] : !tile.view<?x?xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @load_c3(%x: !tile.view<?xf32>, %i: index) {
  // expected-error @+1 {{(load_c3) moves elements of type 'f32', got a tile of 'f16'}}
  %t = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<4xf16>
  return
}

// -----

func.func @store_c1(%t: tensor<4xf32>, %x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{(store_c1) needs one index per dimension of '!tile.view<?x?xf32>', got 1}}
  tile.store %t, %x[%i] dims [0] : tensor<4xf32>, !tile.view<?x?xf32>
  return
}

// -----

func.func @store_c2(%t: tensor<4x4xf32>, %x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{(store_c2) dims must be distinct dimensions of '!tile.view<?x?xf32>', got -1}}
  tile.store %t, %x[%i, %i] dims [0, -1] : tensor<4x4xf32>, !tile.view<?x?xf32>
  return
}

// -----

func.func @store_c3(%t: tensor<4xf16>, %x: !tile.view<?xf32>, %i: index) {
  // expected-error @+1 {{(store_c3) moves elements of type 'f32', got a tile of 'f16'}}
  tile.store %t, %x[%i] dims [0] : tensor<4xf16>, !tile.view<?xf32>
  return
}

// -----

func.func @gather_c1(%x: !tile.view<?x?xf32>, %i: index) {
  // expected-error @+1 {{(gather_c1) needs one index per dimension of '!tile.view<?x?xf32>', got 1}}
  %g = tile.gather %x[%i] : !tile.view<?x?xf32>[index] -> tensor<8xf32>
  return
}

// -----

func.func @gather_c1_shape(%x: !tile.view<?xf32>, %i: tensor<4xindex>) {
  // expected-error @+1 {{(gather_c1) an index is index or a tile of index of shape 8, got 'tensor<4xindex>'}}
  %g = tile.gather %x[%i] : !tile.view<?xf32>[tensor<4xindex>] -> tensor<8xf32>
  return
}

// -----

func.func @scatter_c1(%x: !tile.view<?xf32>, %v: tensor<8xf32>, %i: tensor<4xindex>) {
  // expected-error @+1 {{(scatter_c1) an index is index or a tile of index of shape 8, got 'tensor<4xindex>'}}
  tile.scatter %v, %x[%i] : tensor<8xf32>, !tile.view<?xf32>[tensor<4xindex>]
  return
}

// -----

func.func @scatter_add_c1(%x: !tile.view<?xf32>, %v: tensor<8xf32>, %i: tensor<4xindex>) {
  // expected-error @+1 {{(scatter_add_c1) an index is index or a tile of index of shape 8, got 'tensor<4xindex>'}}
  tile.scatter_add %v, %x[%i] : tensor<8xf32>, !tile.view<?xf32>[tensor<4xindex>]
  return
}

// -----

func.func @accumulate_c1(%x: !tile.view<?xf32>, %v: tensor<8xf32>, %i: index) {
  // expected-error @+1 {{(accumulate_c1)}}
  tile.accumulate %v, %x[%i, %i] dims [0] : tensor<8xf32>, !tile.view<?xf32>
  return
}

// -----

func.func @accumulate_c3(%x: !tile.view<?xbf16>, %v: tensor<8xbf16>, %i: index) {
  // expected-error @+1 {{(accumulate_c3) adds f32 to f32, got 'tensor<8xbf16>' and '!tile.view<?xbf16>'}}
  tile.accumulate %v, %x[%i] dims [0] : tensor<8xbf16>, !tile.view<?xbf16>
  return
}

// -----

func.func @load_c5(%x: !tile.view<8x8xf32>, %i: index) {
  %c8 = arith.constant 8 : index
  // expected-error @+1 {{(load_c5) begins at 8, which is not inside of '!tile.view<8x8xf32>'; leave 'inside' out}}
  %v = tile.load %x[%c8, %i] dims [1] inside : !tile.view<8x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @accumulate_c6(%x: !tile.view<8x8xf32>, %v: tensor<8xf32>, %i: index) {
  %c8 = arith.constant 8 : index
  // expected-error @+1 {{(accumulate_c6) begins at 8, which is not inside of '!tile.view<8x8xf32>'; leave 'inside' out}}
  tile.accumulate %v, %x[%c8, %i] dims [1] inside : tensor<8xf32>, !tile.view<8x8xf32>
  return
}

// -----

func.func @dot_c1_transposed(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{(dot_c1) shapes do not fit: 16x32 transposed times 32x8 into 16x8}}
  %0 = tile.dot %a, %b, %c transpose_a : tensor<16x32xf16>, tensor<32x8xf16>, tensor<16x8xf32>
  return
}

// -----

func.func @dot_c4(%a: tensor<32x16xf32>, %b: tensor<32x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{(dot_c4) a is f16 or bf16 where it is transposed, got 'f32'}}
  %0 = tile.dot %a, %b, %c transpose_a : tensor<32x16xf32>, tensor<32x8xf32>, tensor<16x8xf32>
  return
}

// -----

func.func @scatter_c2(%x: !tile.view<?xi32>, %v: tensor<8xf32>, %i: tensor<8xindex>) {
  // expected-error @+1 {{(scatter_c2) stores elements of type 'i32', got a tile of 'f32'}}
  tile.scatter %v, %x[%i] : tensor<8xf32>, !tile.view<?xi32>[tensor<8xindex>]
  return
}

// -----

func.func @scatter_add_c2(%x: !tile.view<?xbf16>, %v: tensor<8xbf16>, %i: tensor<8xindex>) {
  // expected-error @+1 {{(scatter_add_c2) adds f32 to f32 or f64, got 'tensor<8xbf16>' and '!tile.view<?xbf16>'}}
  tile.scatter_add %v, %x[%i] : tensor<8xbf16>, !tile.view<?xbf16>[tensor<8xindex>]
  return
}

// -----

func.func @gather_c2(%x: !tile.view<?xf32>, %i: tensor<8xindex>) {
  // expected-error @+1 {{(gather_c2) gathers elements of type 'f32', got a tile of 'bf16'}}
  %g = tile.gather %x[%i] : !tile.view<?xf32>[tensor<8xindex>] -> tensor<8xbf16>
  return
}

// -----

func.func @dot_c1(%a: tensor<16x32xf32>, %b: tensor<32x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{(dot_c1) shapes do not fit: 16x32 times 32x8 transposed into 16x8}}
  %0 = tile.dot %a, %b, %c transpose_b : tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>
  return
}

// -----

func.func @dot_c1_rank(%a: tensor<32xf32>, %b: tensor<32x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{(dot_c1) operands have rank 2, got 'tensor<32xf32>'}}
  %0 = tile.dot %a, %b, %c : tensor<32xf32>, tensor<32x8xf32>, tensor<16x8xf32>
  return
}

// -----

func.func @dot_c2(%a: tensor<16x32xf16>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{(dot_c2) a and b must have one element type, got 'f16' and 'bf16'}}
  %0 = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<32x8xbf16>, tensor<16x8xf32>
  return
}

// -----

func.func @dot_c2_acc(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf16>) {
  // expected-error @+1 {{(dot_c2) accumulates in f32, got 'f16'}}
  %0 = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<32x8xf16>, tensor<16x8xf16>
  return
}

// -----

func.func @reduce_c1(%a: tensor<16x32xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{(reduce_c1) 'tensor<16x32xf32>' has no dimension 2}}
  %0 = tile.reduce addf %a init %b dim 2 : tensor<16x32xf32> -> tensor<16xf32>
  return
}

// -----

func.func @reduce_c2(%a: tensor<16x32xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{(reduce_c2) init must be 'tensor<32xf32>', got 'tensor<16xf32>'}}
  %0 = tile.reduce addf %a init %b dim 0 : tensor<16x32xf32> -> tensor<16xf32>
  return
}

// -----

func.func @reduce_c4(%a: tensor<16x32xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{(reduce_c4) maxsi is of i32, got 'tensor<16x32xf32>'}}
  %0 = tile.reduce maxsi %a init %b dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  return
}

// -----

func.func @reduce_c4_integers(%a: tensor<16x32xi32>, %b: tensor<16xi32>) {
  // expected-error @+1 {{(reduce_c4) addf is of floats, got 'tensor<16x32xi32>'}}
  %0 = tile.reduce addf %a init %b dim 1 : tensor<16x32xi32> -> tensor<16xi32>
  return
}

// -----

func.func @reduce_kind(%a: tensor<16x32xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{expected one of [addf, maxnumf, minnumf, maxsi]}}
  %0 = tile.reduce mulf %a init %b dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  return
}

// -----

func.func @broadcast_c1(%a: tensor<16xf32>) {
  // expected-error @+1 {{(broadcast_c1) input and result must have one element type, got 'tensor<16xf32>' and 'tensor<16x4xf16>'}}
  %0 = tile.broadcast %a dim 1 : tensor<16xf32> -> tensor<16x4xf16>
  return
}

// -----

func.func @broadcast_c2(%a: tensor<16xf32>) {
  // expected-error @+1 {{(broadcast_c2) along dim 0 of 'tensor<16x4xf32>' the input must have shape 4, got 16}}
  %0 = tile.broadcast %a dim 0 : tensor<16xf32> -> tensor<16x4xf32>
  return
}

// -----

func.func @broadcast_c2_scalar(%a: f32) {
  // expected-error @+1 {{(broadcast_c2) a scalar has no dim}}
  %0 = tile.broadcast %a dim 0 : f32 -> tensor<16xf32>
  return
}

// -----

func.func @broadcast_c2_tile(%a: tensor<16xf32>) {
  // expected-error @+1 {{(broadcast_c2) a tile needs a dim}}
  %0 = tile.broadcast %a : tensor<16xf32> -> tensor<16x4xf32>
  return
}

// -----

func.func @columns_c1(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{(columns_c1) takes some columns of a tile, got those from 4 of 'tensor<16x8xf32>' to 'tensor<16x8xf32>'}}
  %0 = tile.columns %a first(4) : tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = []>
func.func @columns_c2(%a: tensor<16x16xf32>) {
  // expected-error @+1 {{(columns_c2) both tiles have a layout, or neither}}
  %0 = tile.columns %a first(8) : tensor<16x16xf32> -> tensor<16x8xf32, #acc>
  return
}

// -----

func.func @columns_between_c1(%a: tensor<16xi32>) {
  // expected-error @+1 {{(columns_between_c1) yields a tile of rank 2 of i1, got 'tensor<16x8xi32>'}}
  %0 = tile.columns_between low(%a : tensor<16xi32>) : tensor<16x8xi32>
  return
}

// -----

func.func @columns_between_c1_rank(%a: tensor<16xi32>) {
  // expected-error @+1 {{(columns_between_c1) yields a tile of rank 2 of i1, got 'tensor<16xi1>'}}
  %0 = tile.columns_between low(%a : tensor<16xi32>) : tensor<16xi1>
  return
}

// -----

func.func @columns_between_c2() {
  // expected-error @+1 {{(columns_between_c2) needs a limit, low or high}}
  %0 = tile.columns_between : tensor<16x8xi1>
  return
}

// -----

func.func @columns_between_c2_rows(%a: tensor<16xi32>, %b: tensor<8xi32>) {
  // expected-error @+1 {{(columns_between_c2) a limit of 'tensor<16x8xi1>' must be 'tensor<16xi32>', got 'tensor<8xi32>'}}
  %0 = tile.columns_between low(%a : tensor<16xi32>) high(%b : tensor<8xi32>) : tensor<16x8xi1>
  return
}

// -----

func.func @columns_between_c2_element(%a: tensor<16xindex>) {
  // expected-error @+1 {{(columns_between_c2) a limit of 'tensor<16x8xi1>' must be 'tensor<16xi32>', got 'tensor<16xindex>'}}
  %0 = tile.columns_between high(%a : tensor<16xindex>) : tensor<16x8xi1>
  return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = []>
func.func @columns_between_c3(%a: tensor<16xi32>) {
  // expected-error @+1 {{(columns_between_c3) without dimension 1 the layout of}}
  %0 = tile.columns_between high(%a : tensor<16xi32>) : tensor<16x8xi1, #acc>
  return
}

// -----

func.func @dot_c5(%a: tensor<16x32xf16>, %b: tensor<96x32xf16>, %c: tensor<16x128xf32>) {
  // expected-error @+1 {{(dot_c5) b is not padded where it is transposed}}
  %0 = tile.dot %a, %b, %c transpose_b padded : tensor<16x32xf16>, tensor<96x32xf16>, tensor<16x128xf32>
  return
}

// -----

func.func @dot_c5_ones(%a: tensor<16x32xf16>, %b: tensor<32x96xf16>, %c: tensor<16x128xf32>) {
  // expected-error @+1 {{(dot_c5) b is not padded where it has ones}}
  %0 = tile.dot %a, %b, %c ones padded : tensor<16x32xf16>, tensor<32x96xf16>, tensor<16x128xf32>
  return
}

// -----

func.func @dot_c5_columns(%a: tensor<16x32xf16>, %b: tensor<32x96xf16>, %c: tensor<16x192xf32>) {
  // expected-error @+1 {{(dot_c1) shapes do not fit: 16x32 times 32x96 padded to a multiple of 64 columns into 16x192}}
  %0 = tile.dot %a, %b, %c padded : tensor<16x32xf16>, tensor<32x96xf16>, tensor<16x192xf32>
  return
}

// -----

func.func @dot_c5_panels(%a: tensor<16x32xf16>, %b: !tile.slot<32x96xf16, #tile.swizzle<64>>, %c: tensor<16x128xf32>) {
  // expected-error @+1 {{(dot_c5) columns behind those of b are in panels of 128 bytes, got b in '!tile.slot<32x96xf16, #tile.swizzle<64>>'}}
  %0 = tile.dot %a, %b, %c padded : tensor<16x32xf16>, !tile.slot<32x96xf16, #tile.swizzle<64>>, tensor<16x128xf32>
  return
}

// -----

func.func @dot_c5_f32(%a: tensor<16x32xf32>, %b: tensor<32x96xf32>, %c: tensor<16x128xf32>) {
  // expected-error @+1 {{(dot_c5) b is f16 or bf16 where it is padded, got 'f32'}}
  %0 = tile.dot %a, %b, %c padded : tensor<16x32xf32>, tensor<32x96xf32>, tensor<16x128xf32>
  return
}

// -----

func.func @dot_c3(%a: tensor<16x32xf16>, %b: tensor<8x32xf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{(dot_c3) b has no ones where it is transposed}}
  %0 = tile.dot %a, %b, %c transpose_b ones : tensor<16x32xf16>, tensor<8x32xf16>, tensor<16x16xf32>
  return
}

// -----

func.func @dot_c3_element(%a: tensor<16x32xf32>, %b: tensor<32x8xf32>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{(dot_c3) ones are f16 or bf16, got 'f32'}}
  %0 = tile.dot %a, %b, %c ones : tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x16xf32>
  return
}

// -----

func.func @dot_c1_ones(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{(dot_c1) shapes do not fit: 16x32 times 32x8 and 8 columns of ones into 16x8}}
  %0 = tile.dot %a, %b, %c ones : tensor<16x32xf16>, tensor<32x8xf16>, tensor<16x8xf32>
  return
}

// -----

func.func @transpose_c1(%a: tensor<16x8xf32>) {
  // expected-error @+1 {{(transpose_c1) takes MxN to NxM of one element type, got 'tensor<16x8xf32>' to 'tensor<16x8xf32>'}}
  %0 = tile.transpose %a : tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @iota_c1(%a: index) {
  // expected-error @+1 {{(iota_c1) yields a tile of rank 1 of 'index', got 'tensor<16xi32>'}}
  %0 = tile.iota %a : index -> tensor<16xi32>
  return
}

// -----

func.func @random_bits_c1(%i: i64, %j: index) {
  // expected-error @+1 {{(random_bits_c1) yields a tile of rank 2 of i8, got 'tensor<16xi8>'}}
  %0 = tile.random_bits seed(%i, %i) at(%j, %j, %j, %j) : tensor<16xi8>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>, %i: index) {
  // expected-error @+1 {{must be a strided tensor in memory or ranked tensor of any type values}}
  %t = tile.load %x[%i] dims [0] : tensor<*xf32> -> tensor<4xf32>
  return
}

// -----

func.func @memref(%x: memref<4xf32>, %i: index) {
  // expected-error @+1 {{must be a strided tensor in memory or ranked tensor of any type values}}
  %t = tile.load %x[%i] dims [0] : memref<4xf32> -> tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{(func_c5) grid must divide by positive constants only, got affine_map<()[s0] -> (s0 ceildiv -2)>}}
tile.func @func_c5(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv -2)> sizes [0, 0] {
  tile.return
}

// -----

// expected-error@+1 {{(func_c7) has one block, got 2; use scf.if and scf.for}}
tile.func @func_c7() grid affine_map<() -> ()> sizes [] {
  llvm.br ^bb1
^bb1:
  tile.return
}

// -----

// expected-error@+1 {{(func_c8) tile.align of argument 0 must be a power of two from 1 to 4096, got 24 : i64}}
tile.func @func_c8(%x: !tile.view<?xf32> {tile.align = 24 : i64}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error@+1 {{(func_c8) tile.align of argument 0 must be a power of two from 1 to 4096, got 8192 : i64}}
tile.func @func_c8_most(%x: !tile.view<?xf32> {tile.align = 8192 : i64}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error@+1 {{(func_c8) tile.align of argument 0 must be a power of two from 1 to 4096, got "16"}}
tile.func @func_c8_kind(%x: !tile.view<?xf32> {tile.align = "16"}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error@+1 {{(func_c11) tile.dependent has no value, got true}}
tile.func @func_c11(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.dependent = true} {
  tile.return
}

// -----

// expected-error@+1 {{(func_c13) tile.dims of argument 0 has a name for each dimension of a view, got ["S"] of '!tile.view<?x16xf32>'}}
tile.func @func_c13(%x: !tile.view<?x16xf32> {tile.dims = ["S"]}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error@+1 {{(func_c13) tile.dims of argument 0 has a name for each dimension of a view, got [3] of '!tile.view<?xf32>'}}
tile.func @func_c13_names(%x: !tile.view<?xf32> {tile.dims = [3]}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error@+1 {{(func_c15) tile.warps must be an integer from 1 to 32, got 0 : i64}}
tile.func @func_c15(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 0 : i64} {
  tile.return
}

// -----

// expected-error@+1 {{(func_c15) tile.beside must be an integer from 1 to 32, got "two"}}
tile.func @func_c15_beside(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.beside = "two"} {
  tile.return
}

// -----

// expected-error@+1 {{(func_c16) tile.workspace of argument 0 has sizes of a view, each an integer or [name, dimension] with divisor, multiple and what is added, got ["x", 0] of '!tile.view<?x64xf32>'}}
tile.func @func_c16(%x: !tile.view<?x64xf32> {tile.workspace = ["x", 0]}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error@+1 {{(func_c12) tile.min_blocks_per_sm is from 1 to 32, got 0 : i64}}
tile.func @func_c12(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.min_blocks_per_sm = 0 : i64} {
  tile.return
}

// -----

tile.func @func_c14(%x: !tile.view<?x16xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %most = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<1048576x16xf32>
  // expected-error@+1 {{(func_c14) a tile has at most 16777216 elements, got 'tensor<1048577x16xf32>'; let more work tiles of the grid share them}}
  %more = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<1048577x16xf32>
  tile.return
}

// -----

tile.func @func_c14_overflow(%x: !tile.view<?x16xf32>) grid affine_map<() -> ()> sizes [] {
  // expected-error@+1 {{(func_c14) a tile has at most 16777216 elements, got 'tensor<9223372036854775807x9223372036854775807xf32>'}}
  %zero = arith.constant dense<0.0> : tensor<9223372036854775807x9223372036854775807xf32>
  tile.return
}

// -----

// expected-error@+1 {{(func_c9) tile.blocks_per_sm is from 1 to 32, on a grid of one dimension, got 0 : i64 and 1}}
tile.func @func_c9(%x: !tile.view<?xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.blocks_per_sm = 0 : i64} {
  tile.return
}

// -----

// expected-error@+1 {{(func_c9) tile.blocks_per_sm is from 1 to 32, on a grid of one dimension, got 1 : i64 and 2}}
tile.func @func_c9_dims(%x: !tile.view<?xf32>, %i: index, %j: index) grid affine_map<()[s0] -> (s0, 2)> sizes [0, 0] attributes {tile.blocks_per_sm = 1 : i64} {
  tile.return
}

// -----

// expected-error@+1 {{(func_c10) tile.launch_epoch is a number of type 'i64', got argument 0 of 'i32'}}
tile.func @func_c10(%tag: i32 {tile.launch_epoch}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

tile.func @slice_c1(%x: !tile.view<?x8xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  // expected-error@+1 {{(slice_c1) '!tile.view<?x8xf32>' has no dimension 2}}
  %s = tile.slice %x dim 2 from %i size %i : !tile.view<?x8xf32> -> !tile.view<?x8xf32>
  tile.return
}

// -----

tile.func @slice_c2(%x: !tile.view<4x8xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  // expected-error@+1 {{(slice_c2) the result must be '!tile.view<?x8xf32>', got '!tile.view<4x8xf32>'}}
  %s = tile.slice %x dim 0 from %i size %i : !tile.view<4x8xf32> -> !tile.view<4x8xf32>
  tile.return
}

// -----

func.func @ballot_c1() {
  // expected-error@+1 {{(ballot_c1) the region takes an index and ends with a tile.vote}}
  %word = tile.ballot {
  ^bb0(%number: i32):
    %yes = arith.constant true
    tile.vote %yes
  }
  return
}

// -----

func.func @ballot_c2_tile() {
  // expected-error@+1 {{(ballot_c2) the region holds numbers only and writes nothing}}
  %word = tile.ballot {
  ^bb0(%number: index):
    // expected-note@+1 {{this is no number}}
    %rows = tile.iota %number : index -> tensor<8xindex>
    %yes = arith.constant true
    tile.vote %yes
  }
  return
}

// -----

func.func @ballot_c2_store(%x: !tile.view<?xf32>, %v: tensor<8xf32>) {
  // expected-error@+1 {{(ballot_c2) the region holds numbers only and writes nothing}}
  %word = tile.ballot {
  ^bb0(%number: index):
    // expected-note@+1 {{this may write}}
    tile.store %v, %x[%number] dims [0] : tensor<8xf32>, !tile.view<?xf32>
    %yes = arith.constant true
    tile.vote %yes
  }
  return
}
