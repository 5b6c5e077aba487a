// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @ring_c1() {
  // expected-error @+1 {{(ring_c1) stands in the first block of a tile.func, since it lives as long as the program}}
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  return
}

// -----

func.func @put_c1(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(put_c1) needs one index per dimension of}}
  tile.put %r, %x[%i] dims [0, 1] copy(ld_st) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  return
}

// -----

func.func @put_c2(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(put_c2) dims must be distinct dimensions of}}
  tile.put %r, %x[%i, %i] dims [0, 0] copy(ld_st) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  return
}

// -----

func.func @put_c2_rank(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(put_c2) needs one of dims per dimension of}}
  tile.put %r, %x[%i, %i] dims [0] copy(ld_st) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  return
}

// -----

func.func @put_c3(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf32>, %i: index) {
  // expected-error @+1 {{(put_c3) moves elements of type 'f32', got a tile of 'f16'}}
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf32>
  return
}

// -----

func.func @put_c4(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(put_c4) copies of 16 bytes need a source with tile.align 16; use copy(ld_st)}}
  tile.put %r, %x[%i, %i] dims [0, 1] copy(cp_async) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  return
}

// -----

func.func @put_value_c1(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, %t: tensor<64x32xf16>) {
  // expected-error @+1 {{(put_value_c1) the tile in shared memory is 'tensor<64x64xf16>', got 'tensor<64x32xf16>'}}
  tile.put_value %r, %t : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, tensor<64x32xf16>
  return
}

// -----

func.func @get_c1(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>) {
  // expected-error @+1 {{(get_c1) a slot of this ring is}}
  %s = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x32xf16, #tile.swizzle<128>>
  return
}

// -----

func.func @dot_start_c1(%a: tensor<64x64xf16>, %s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %acc: tensor<64x64xf32>) {
  // expected-error @+1 {{(dot_start_c1) yields a pending 'tensor<64x64xf32>', got '!tile.pending<tensor<64x32xf32>>'}}
  %p = tile.dot_start %a, %s, %acc : tensor<64x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, tensor<64x64xf32> -> !tile.pending<tensor<64x32xf32>>
  return
}

// -----

func.func @dot_start_c1_shapes(%a: tensor<64x32xf16>, %s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %acc: tensor<64x64xf32>) {
  // expected-error @+1 {{(dot_start_c1) shapes do not fit: 64x32 times 64x64 into 64x64}}
  %p = tile.dot_start %a, %s, %acc : tensor<64x32xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  return
}

// -----

func.func @dot_start_c2(%a: tensor<64x64xbf16>, %s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %acc: tensor<64x64xf32>) {
  // expected-error @+1 {{(dot_start_c2) a and b must have one element type, got 'bf16' and 'f16'}}
  %p = tile.dot_start %a, %s, %acc : tensor<64x64xbf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  return
}

// -----

func.func @await_c1(%p: !tile.pending<tensor<64x64xf32>>) {
  // expected-error @+1 {{(await_c1) yields 'tensor<64x64xf32>', got 'tensor<64x32xf32>'}}
  %t = tile.await %p : !tile.pending<tensor<64x64xf32>> -> tensor<64x32xf32>
  return
}

// -----

func.func @slot_at_c1(%r: !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, %i: index) {
  // expected-error @+1 {{(slot_at_c1) a slot of this ring is}}
  %s = tile.slot_at %r[%i] : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<64>>
  return
}

// -----

func.func @read_c1(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>) {
  // expected-error @+1 {{(read_c1) the tile in shared memory is 'tensor<64x64xf16>', got 'tensor<64x64xbf16>'}}
  %t = tile.read %s : !tile.slot<64x64xf16, #tile.swizzle<128>> -> tensor<64x64xbf16>
  return
}

// -----

func.func @write_c1(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %t: tensor<64xf16>) {
  // expected-error @+1 {{(write_c1) the tile in shared memory is 'tensor<64x64xf16>', got 'tensor<64xf16>'}}
  tile.write %t, %s : tensor<64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>
  return
}

// -----

func.func @copy_c1(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(copy_c1) needs one index per dimension of}}
  tile.copy %x[%i] dims [0, 1] to %s copy(ld_st) : !tile.view<?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>
  return
}

// -----

func.func @copy_c2(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(copy_c2) dims must be distinct dimensions of}}
  tile.copy %x[%i, %i] dims [0, 2] to %s copy(ld_st) : !tile.view<?x64xf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>
  return
}

// -----

func.func @copy_c3(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xbf16>, %i: index) {
  // expected-error @+1 {{(copy_c3) moves elements of type 'bf16', got a tile of 'f16'}}
  tile.copy %x[%i, %i] dims [0, 1] to %s copy(ld_st) : !tile.view<?x64xbf16>, !tile.slot<64x64xf16, #tile.swizzle<128>>
  return
}

// -----

func.func @copy_wait_c1() {
  // expected-error @+1 {{(copy_wait_c1) pending must not be negative, got -1}}
  tile.copy_wait -1
  return
}

// -----

tile.func @put_c4_dims(%x: !tile.view<64x?xf16> {tile.align = 16 : i64}, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  // expected-error @+1 {{(put_c4) copies of 16 bytes run along the source's last dimension, got dims that end in 0; use copy(ld_st)}}
  tile.put %r, %x[%i, %i] dims [1, 0] copy(cp_async) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<64x?xf16>
  tile.return
}

// -----

// The promise is 8 bytes, too few.
// A slice along the last dimension begins anywhere.
tile.func @put_c4_slice(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %i: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %r = tile.ring : <1 x 16x32xf16, #tile.swizzle<64>>
  %s = tile.slice %x dim 1 from %c1 size %c32 : !tile.view<?x64xf16> -> !tile.view<?x?xf16>
  // expected-error @+1 {{(put_c4) copies of 16 bytes need a source with tile.align 16; use copy(ld_st)}}
  tile.put %r, %s[%c0, %c0] dims [0, 1] copy(cp_async) : <1 x 16x32xf16, #tile.swizzle<64>>, <?x?xf16>
  tile.return
}

// -----

tile.func @put_c4_align(%x: !tile.view<?x64xf16> {tile.align = 8 : i64}, %i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  // expected-error @+1 {{(put_c4) copies of 16 bytes need a source with tile.align 16}}
  tile.put %r, %x[%i, %i] dims [0, 1] copy(cp_async) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  tile.return
}

// -----

// In a tile.func, but in a loop.
tile.func @ring_c1_loop(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %i step %c1 {
    // expected-error @+1 {{(ring_c1) stands in the first block of a tile.func}}
    %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  }
  tile.return
}

// -----

// expected-error @+1 {{a ring has 1 to 16 stages, got 0}}
func.func private @ring_stages(!tile.ring<0 x 64x64xf16, #tile.swizzle<128>>)

// -----

// expected-error @+1 {{a ring has 1 to 16 stages, got 17}}
func.func private @ring_many(!tile.ring<17 x 64x64xf16, #tile.swizzle<128>>)

// -----

// expected-error @+1 {{a tile in shared memory has rank 1 or 2, got 3}}
func.func private @slot_rank(!tile.slot<2x64x64xf16, #tile.swizzle<128>>)

// -----

// expected-error @+1 {{shared memory holds integers and floats of whole bytes, got 'i1'}}
func.func private @slot_element(!tile.slot<64x64xi1, #tile.swizzle<128>>)

// -----

// expected-error @+1 {{the sizes of a tile in shared memory must be positive, got 0}}
func.func private @slot_size(!tile.slot<0x64xf16, #tile.swizzle<128>>)

// -----

// expected-error @+1 {{a panel is 32, 64 or 128 bytes wide, got 256}}
func.func private @slot_swizzle(!tile.slot<64x64xf16, #tile.swizzle<256>>)

// -----

func.func @if_any_c1(%rows: tensor<64xi1>, %o: tensor<64x64xf32>, %a: tensor<64x64xf16>) {
  // expected-error @+1 {{must yield}}
  %r = tile.if_any %rows (%o) : tensor<64xi1>, (tensor<64x64xf32>) {
    tile.yield %a : tensor<64x64xf16>
  }
  return
}

// -----

func.func @bulk_store_c1(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(bulk_store_c1) needs one index per dimension of}}
  tile.bulk_store %s to %x[%i] dims [0, 1] rows(64) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  return
}

// -----

func.func @bulk_store_c2(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(bulk_store_c2) dims must be distinct dimensions of}}
  tile.bulk_store %s to %x[%i, %i] dims [0, 2] rows(64) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  return
}

// -----

func.func @bulk_store_c3(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xbf16>, %i: index) {
  // expected-error @+1 {{(bulk_store_c3) moves elements of type 'bf16', got a tile of 'f16'}}
  tile.bulk_store %s to %x[%i, %i] dims [0, 1] rows(64) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xbf16>
  return
}

// -----

func.func @bulk_store_c4(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index) {
  // expected-error @+1 {{(bulk_store_c4) copies boxes of a multiple of 8 rows up to 256, of which the slot's rows are a multiple, got 24 rows}}
  tile.bulk_store %s to %x[%i, %i] dims [0, 1] rows(24) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  return
}

// -----

func.func @bulk_store_c5(%s: !tile.slot<64x64xf16, #tile.swizzle<128>>, %x: !tile.view<?x64xf16>, %i: index, %m: !tile.tensor_map<64x64xf16, #tile.swizzle<128>>) {
  // expected-error @+1 {{(bulk_store_c5) copies boxes of '!tile.tensor_map<32x64xf16, #tile.swizzle<128>>', got '!tile.tensor_map<64x64xf16, #tile.swizzle<128>>'}}
  tile.bulk_store %s to %x[%i, %i] dims [0, 1] rows(32) map(%m) : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>, !tile.tensor_map<64x64xf16, #tile.swizzle<128>>
  return
}

// -----

func.func @dot_start_c2(%a: tensor<64x16xbf16>, %b: !tile.slot<16x64xbf16, #tile.swizzle<128>>, %c: tensor<64x72xf32>) {
  // expected-error @+1 {{(dot_start_c2) ones stand in the slot of b}}
  %0 = tile.dot_start %a, %b, %c ones : tensor<64x16xbf16>, !tile.slot<16x64xbf16, #tile.swizzle<128>>, tensor<64x72xf32> -> !tile.pending<tensor<64x72xf32>>
  return
}

// -----

func.func @dot_start_c3(%a: tensor<16x64xbf16>, %b: !tile.slot<16x64xbf16, #tile.swizzle<128>>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{(dot_start_c3) transposes what it reads from a slot, got a of 'tensor<16x64xbf16>'; put it in a ring}}
  %0 = tile.dot_start %a, %b, %c transpose_a : tensor<16x64xbf16>, !tile.slot<16x64xbf16, #tile.swizzle<128>>, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  return
}

// -----

func.func @put_value_c1_number(%r: !tile.ring<1 x 2xi32, #tile.swizzle<32>>, %n: i32) {
  // expected-error @+1 {{(put_value_c1) the tile in shared memory is 'tensor<2xi32>', got 'i32'}}
  tile.put_value %r, %n : !tile.ring<1 x 2xi32, #tile.swizzle<32>>, i32
  return
}

// -----

func.func @put_value_c1_bits(%r: !tile.ring<1 x 1xi64, #tile.swizzle<32>>, %n: i64) {
  // expected-error @+1 {{(put_value_c1) numbers in shared memory have 32 bits, got 'i64'; convert them to i32}}
  tile.put_value %r, %n : !tile.ring<1 x 1xi64, #tile.swizzle<32>>, i64
  return
}

// -----

func.func @read_c1_bits(%s: !tile.slot<2xi16, #tile.swizzle<32>>) {
  // expected-error @+1 {{(read_c1) numbers in shared memory have 32 bits, got 'i16'; convert them to i32}}
  %m, %n = tile.read %s : !tile.slot<2xi16, #tile.swizzle<32>> -> i16, i16
  return
}

// -----

func.func @write_c1_bits(%s: !tile.slot<1xi16, #tile.swizzle<32>>, %n: i16) {
  // expected-error @+1 {{(write_c1) numbers in shared memory have 32 bits, got 'i16'; convert them to i32}}
  tile.write %n, %s : i16, !tile.slot<1xi16, #tile.swizzle<32>>
  return
}

// -----

func.func @read_c1_number(%s: !tile.slot<1xi32, #tile.swizzle<32>>) {
  // expected-error @+1 {{(read_c1) the tile in shared memory is 'tensor<1xi32>', got 'i16'}}
  %n = tile.read %s : !tile.slot<1xi32, #tile.swizzle<32>> -> i16
  return
}

// -----

tile.func @ring_c2(%i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-error @+1 {{(ring_c2) has 9 readers, expected 1 to 8; give the others a ring of their own}}
  %r = tile.ring readers(9) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  tile.return
}

// -----

tile.func @get_c3(%i: index) grid affine_map<() -> (1)> sizes [] {
  // expected-note @+1 {{the ring; give it readers(3)}}
  %r = tile.ring readers(2) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  // expected-error @+1 {{(get_c3) is reader 2 of a ring of 2 readers, whose numbers are 0 to 1}}
  %s = tile.get %r reader(2) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  tile.return
}
tile.func @ring_c3_room(%i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !tile.ring<2 x 1024xf32, #tile.swizzle<128>>
  // expected-error @+1 {{(ring_c3) takes 8192 bytes from byte 1024 on of another ring, which has 8192; begin at a multiple of 1024 that leaves room}}
  %o = tile.ring in(%r at 1024 : !tile.ring<2 x 1024xf32, #tile.swizzle<128>>) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  tile.return
}

// -----

tile.func @ring_c3_third(%i: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !tile.ring<2 x 2048xf32, #tile.swizzle<128>>
  %s = tile.ring in(%r at 0 : !tile.ring<2 x 2048xf32, #tile.swizzle<128>>) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  // expected-error @+1 {{(ring_c3) lies in the memory of another ring's tile.ring, which does not lie in a third one}}
  %o = tile.ring in(%s at 0 : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  tile.return
}

// -----

