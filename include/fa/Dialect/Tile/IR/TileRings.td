//===- TileRings.td - shared memory and asynchronous ops ------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by TileOps.td. First the ops that passes move around: rings of
// tiles and pending results, which name no barrier. Then what
// `tile-lower-rings` makes of them: slots by number, copies, waits, barriers.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILERINGS_TD
#define FA_DIALECT_TILE_IR_TILERINGS_TD

// What moves between registers and shared memory: a tile, or a number that all
// threads have, in a tile of one element.
def Tile_Stored : AnyTypeOf<[AnyRankedTensor, AnySignlessInteger]>;

// All of these read and write shared memory, so that their order stands.
class Tile_SharedOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, traits # [MemoryEffects<[MemRead, MemWrite]>]>;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

def Tile_RingOp : Tile_Op<"ring", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "shared memory of a ring";
  let description = [{
    Allocates the slots of a ring for the whole program; all are empty. With
    `readers(n)`, each tile is got and released n times, once by each reader
    (`tile.get ... reader(k)`), and its slot is free once all have released it.

    With `in(%other at n)` its slots lie in those of a ring through which a role adds to memory, from
    byte n on, and are used by turns: the role's warps meet before the first tile that it puts there
    after additions, and before additions after that.

    Constraints:
    - (C1) Stands in the first block of a tile.func.
    - (C2) Has 1 to 8 readers.
    - (C3) The other ring has memory of its own and room for all slots behind the byte, which is a
      multiple of their alignment.
    - (C4) What is put into a ring in another one stands in one block, behind the ops in which
      `tile.accumulate` uses that (checked where it is lowered).

    Created by `tile-promote-shared`; `convert-tile-to-nvvm` gives it an address.

    Example:

    ```mlir
    %r = tile.ring : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>
    %s = tile.ring readers(2) : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>
    %o = tile.ring in(%sums at 16384 : !tile.ring<2 x 8192xf32, #tile.swizzle<128>>)
       : !tile.ring<1 x 128x64xbf16, #tile.swizzle<128>>
    ```
  }];
  let arguments = (ins Optional<Tile_RingType>:$within, DefaultValuedAttr<I64Attr, "1">:$readers,
    DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Tile_RingType:$result);
  let builders = [OpBuilder<(ins "RingType":$type, CArg<"int64_t", "1">:$readers), [{
    build($_builder, $_state, type, /*within=*/Value(), readers);
  }]>];
  let assemblyFormat = [{
    (`readers` `(` $readers^ `)`)? (`in` `(` $within^ `at` $offset `:` type($within) `)`)? attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_PutOp : Tile_SharedOp<"put"> {
  let summary = "starts to fill the next slot of a ring from memory";
  let description = [{
    The tile of `tile.load source[indices] dims`, out of range 0, goes to the
    ring's next slot; a `tile.get` waits for it. `copy` says how: `ld_st` by
    loads and stores, `cp_async` by asynchronous copies of 16 bytes, for which
    the source is aligned (`tile.align`), `tma` by the TMA. All warps of
    the program, or of the role, take part.

    Constraints:
    - (C1) One index per dimension of the source.
    - (C2) `dims` are distinct dimensions of the source, one per dimension of the ring's tiles.
    - (C3) The ring has the source's element type.
    - (C4) cp_async needs a source with tile.align 16, and dims that end in the source's last dimension.
    - (C5) A ring is filled by one role, and either by the TMA or by the role's warps
      (see `tile-verify-rings`).
    - (C6) The source has no order.

    Created by `tile-promote-shared`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    tile.put %r, %k[%b, %h, %j, %c0] dims [2, 3] copy(cp_async) : !tile.ring<1 x 128x64xbf16, #tile.swizzle<128>>, !tile.view<?x?x?x64xbf16>
    ```
  }];
  let arguments = (ins Tile_RingType:$ring, Tile_ViewType:$source, Variadic<Index>:$indices,
    DenseI64ArrayAttr:$dims, Tile_CopyAttr:$copy);
  let assemblyFormat = [{
    $ring `,` $source `[` $indices `]` `dims` $dims `copy` `(` custom<Bare>($copy) `)` attr-dict
    `:` type($ring) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Tile_PutValueOp : Tile_SharedOp<"put_value"> {
  let summary = "fills the next slot of a ring from registers";
  let description = [{
    Numbers that all threads have go to a ring of tiles of as many elements, written by
    one thread; of a tile each warp writes what it holds. All warps of the program, or of the
    role, take part.

    Constraints:
    - (C1) One value has the shape and element type of the ring's tiles; numbers, of i32, are as
      many as its tiles, of rank 1, have elements, of that type.
    - (C2) With `order`, a tile of rank 2, f32, of whole boxes goes to a ring of tiles of rank 1 of
      as many elements, in which it lies in that order.

    Created by `tile-promote-shared` where a layout conversion crosses warps, by
    `tile-divide-sums` and by `tile-make-persistent`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    tile.put_value %r, %p : !tile.ring<1 x 64x64xbf16, #tile.swizzle<128>>, tensor<64x64xbf16, #s>
    tile.put_value %u, %q order(#order) : !tile.ring<2 x 4096xf32, #tile.swizzle<128>>, tensor<64x64xf32, #acc>
    tile.put_value %t, %m, %n : !tile.ring<2 x 2xi32, #tile.swizzle<32>>, i32, i32
    ```
  }];
  let arguments = (ins Tile_RingType:$ring, Variadic<Tile_Stored>:$values,
    OptionalAttr<Tile_OrderAttr>:$order);
  let assemblyFormat = [{
    $ring `,` $values (`order` `(` $order^ `)`)? attr-dict `:` type($ring) `,` type($values)
  }];
  let builders = [OpBuilder<(ins "Value":$ring, "ValueRange":$values), [{
      build($_builder, $_state, ring, values, OrderAttr());
    }]>];
  let extraClassDeclaration = [{
    /// Return the tile, or the first number.
    ::mlir::Value getValue() { return getValues().front(); }
  }];
  let hasVerifier = 1;
}

def Tile_GetOp : Tile_SharedOp<"get"> {
  let summary = "waits for the oldest slot that was put and not got";
  let description = [{
    Each reader of a ring goes through its slots in an order of its own; where the ring
    has one reader, that is reader 0.

    Constraints:
    - (C1) The result is a slot of the ring.
    - (C2) On every path each slot is put, got and released once, in that
      order; no put finds the ring full, no get finds it empty, loops leave a
      ring as they find it, and it is empty in the end. All of that holds for each reader.
    - (C3) The ring has a reader of this number.

    Created by `tile-promote-shared`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    %k = tile.get %r : !tile.ring<1 x 128x64xbf16, #tile.swizzle<128>> -> !tile.slot<128x64xbf16, #tile.swizzle<128>>
    %l = tile.get %s reader(1) : !tile.ring<1 x 128x64xbf16, #tile.swizzle<128>> -> !tile.slot<128x64xbf16, #tile.swizzle<128>>
    ```
  }];
  let arguments = (ins Tile_RingType:$ring, DefaultValuedAttr<I64Attr, "0">:$reader);
  let results = (outs Tile_SlotType:$result);
  let assemblyFormat = [{
    $ring (`reader` `(` $reader^ `)`)? attr-dict `:` type($ring) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ReleaseOp : Tile_SharedOp<"release"> {
  let summary = "gives a slot back to its ring";
  let description = [{
    Nothing reads the slot after it.

    Created by `tile-promote-shared`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    tile.release %k : !tile.slot<128x64xbf16, #tile.swizzle<128>>
    ```
  }];
  let arguments = (ins Tile_SlotType:$slot);
  let assemblyFormat = "$slot attr-dict `:` type($slot)";
}

def Tile_BulkStoreOp : Tile_SharedOp<"bulk_store", [AttrSizedOperandSegments]> {
  let summary = "starts to copy a tile from shared memory to memory";
  let description = [{
    What `tile.store` of the tile would store to destination[indices], but by the
    TMA, in boxes of `rows` rows: box w by warpgroup w of the role, whose
    warps have written it. The slot is read for some time yet: until it is
    released, or, if warps fill its ring, until they fill it again, which waits.
    One thread of each warpgroup starts it, by the tensor map once there is one. A box before the
    destination's first row is not copied. None lies in part before it, where a device takes a
    store by TMA for an illegal instruction; that is not verified but by the interpreter.

    Constraints:
    - (C1) One index per dimension of the destination.
    - (C2) `dims` are distinct dimensions of the destination, one per dimension of the slot.
    - (C3) The slot has the destination's element type.
    - (C4) Boxes are a multiple of 8 rows up to 256, and the slot's rows a multiple of them.
    - (C5) The map has boxes of as many rows and one panel of columns, of the
      slot's element type and swizzle.
    - (C6) The destination has no order.

    Created by `tile-stage-epilogue`, its map by `tile-make-tensor-maps`; removed by
    `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.bulk_store %s to %o[%b, %h, %i, %c0] dims [2, 3] rows(64) : !tile.slot<192x128xbf16, #tile.swizzle<128>>, !tile.view<?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins Tile_SlotType:$slot, Tile_ViewType:$destination, Variadic<Index>:$indices,
    DenseI64ArrayAttr:$dims, I64Attr:$rows, Optional<Tile_TensorMapType>:$map);
  let assemblyFormat = [{
    $slot `to` $destination `[` $indices `]` `dims` $dims `rows` `(` $rows `)` (`map` `(` $map^ `)`)? attr-dict
    `:` type($slot) `,` type($destination) (`,` type($map)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous results
//===----------------------------------------------------------------------===//

def Tile_DotStartOp : Tile_SharedOp<"dot_start"> {
  let summary = "starts a product of tiles";
  let description = [{
    As tile.dot; its operands are read, and its accumulator is written, until
    the result was awaited.

    Warpgroups that have the same rows of acc each compute its share of the columns, from all of
    their rows of a.

    Constraints:
    - (C1) Shapes and types as for tile.dot (C1, C2, C3, C5); the result is pending of acc's type.
    - (C2) With ones, b stands in a slot whose layout has ones.
    - (C3) With transpose_a, a stands in a slot.

    Created by `tile-promote-shared` for targets with asynchronous products;
    removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %p = tile.dot_start %q, %k, %zero transpose_b : tensor<64x64xbf16>, !tile.slot<128x64xbf16, #tile.swizzle<128>>, tensor<64x128xf32> -> !tile.pending<tensor<64x128xf32>>
    ```
  }];
  let arguments = (ins Tile_DotOperand:$a, Tile_DotOperand:$b, Tile_FloatTile:$acc, UnitAttr:$transpose_b,
    DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::ieee">:$precision,
    UnitAttr:$ones, UnitAttr:$transpose_a, UnitAttr:$padded);
  let results = (outs Tile_PendingType:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`ones` $ones^)? (`padded` $padded^)? (`precision` `(` custom<Bare>($precision)^ `)`)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_SharedOp<"await"> {
  let summary = "the tile of a pending result, once it is there";
  let description = [{
    Constraints:
    - (C1) The result is the pending tile.

    Created with its asynchronous op; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %s = tile.await %p : !tile.pending<tensor<64x128xf32>> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_PendingType:$pending);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$pending attr-dict `:` type($pending) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Slots by number
//===----------------------------------------------------------------------===//

def Tile_SlotAtOp : Tile_Op<"slot_at", [Pure]> {
  let summary = "the slot of a ring with a number";
  let description = [{
    Waits for nothing.

    Constraints:
    - (C1) The result is a slot of the ring.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %s = tile.slot_at %r[%i] : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>> -> !tile.slot<128x64xbf16, #tile.swizzle<128>>
    ```
  }];
  let arguments = (ins Tile_RingType:$ring, Index:$stage);
  let results = (outs Tile_SlotType:$result);
  let assemblyFormat = "$ring `[` $stage `]` attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReadOp : Tile_SharedOp<"read"> {
  let summary = "loads a tile from shared memory to registers";
  let description = [{
    Constraints:
    - (C1) One result has the slot's shape and element type; numbers, of i32, are as many as the
      slot, of rank 1, has elements, of that type.
    - (C2) With `order`, a tile of rank 2, f32, of whole boxes comes from a slot of rank 1 of as
      many elements, in which it lies in that order.

    Created by `tile-promote-shared`, `tile-divide-sums` and `tile-make-persistent`; removed by
    `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %x = tile.read %s : !tile.slot<64x64xbf16, #tile.swizzle<128>> -> tensor<64x64xbf16, #a>
    %y = tile.read %t order(#order) : !tile.slot<4096xf32, #tile.swizzle<128>> -> tensor<64x64xf32, #acc>
    %m, %n = tile.read %t : !tile.slot<2xi32, #tile.swizzle<32>> -> i32, i32
    ```
  }];
  let arguments = (ins Tile_SlotType:$slot, OptionalAttr<Tile_OrderAttr>:$order);
  let results = (outs Variadic<Tile_Stored>:$values);
  let assemblyFormat = [{
    $slot (`order` `(` $order^ `)`)? attr-dict `:` type($slot) `->` type($values)
  }];
  let builders = [OpBuilder<(ins "TypeRange":$values, "Value":$slot), [{
      build($_builder, $_state, values, slot, OrderAttr());
    }]>];
  let extraClassDeclaration = [{
    /// Return the tile, or the first number.
    ::mlir::Value getValue() { return getValues().front(); }
  }];
  let hasVerifier = 1;
}

def Tile_WriteOp : Tile_SharedOp<"write"> {
  let summary = "stores a tile from registers to shared memory";
  let description = [{
    Constraints:
    - (C1) One value has the slot's shape and element type; numbers, of i32, which one thread
      writes, are as many as the slot, of rank 1, has elements, of that type.
    - (C2) With `order`, a tile of rank 2, f32, of whole boxes goes to a slot of rank 1 of as many
      elements, in which it lies in that order.

    Created by `tile-lower-rings`, and by `tile-stage-epilogue` for a slot that the
    program holds; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.write %p, %s : tensor<64x64xbf16, #s>, !tile.slot<64x64xbf16, #tile.swizzle<128>>
    tile.write %q, %t order(#order) : tensor<64x64xf32, #acc>, !tile.slot<4096xf32, #tile.swizzle<128>>
    tile.write %m, %u then(%n : i32) : i32, !tile.slot<2xi32, #tile.swizzle<32>>
    ```
  }];
  let arguments = (ins Tile_Stored:$value, Tile_SlotType:$slot, OptionalAttr<Tile_OrderAttr>:$order,
    Variadic<AnySignlessInteger>:$others);
  let assemblyFormat = [{
    $value `,` $slot (`order` `(` $order^ `)`)? (`then` `(` $others^ `:` type($others) `)`)?
    attr-dict `:` type($value) `,` type($slot)
  }];
  let builders = [OpBuilder<(ins "ValueRange":$values, "Value":$slot,
                              CArg<"OrderAttr", "{}">:$order), [{
      build($_builder, $_state, values.front(), slot, order, values.drop_front());
    }]>];
  let hasVerifier = 1;
}

def Tile_CopyOp : Tile_SharedOp<"copy", [AttrSizedOperandSegments]> {
  let summary = "copies a tile from memory to shared memory";
  let description = [{
    Every warp copies its part. With `cp_async` the copy has only started: the
    warp's part is there once `tile.copy_wait` says so, and the other warps'
    parts after a `tile.barrier` that follows theirs. With `ld_st` the warp's
    part is there at once. Asynchronous readers need a `tile.fence_async` too. With `tma` one thread of the role starts the whole
    copy, by the tensor map once there is one; its bytes count at the barrier
    `signal`.

    Constraints:
    - (C1) One index per dimension of the source.
    - (C2) `dims` are distinct dimensions of the source, one per dimension of the slot.
    - (C3) The slot has the source's element type.
    - (C4) tma has a barrier to signal and may have a map; other copies have neither.
    - (C5) The map has the slot's shape, element type and swizzle.
    - (C6) The source has no order.

    Created by `tile-lower-rings`, its map by `tile-make-tensor-maps`; removed by
    `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.copy %k[%b, %h, %j, %c0] dims [2, 3] to %s copy(cp_async) : !tile.view<?x?x?x64xbf16>, !tile.slot<128x64xbf16, #tile.swizzle<128>>
    tile.copy %k[%b, %h, %j, %c0] dims [2, 3] to %s copy(tma) signal %full[%i] map(%m)
      : !tile.view<?x?x?x64xbf16>, !tile.slot<128x64xbf16, #tile.swizzle<128>>, !tile.barriers<2>, !tile.tensor_map<128x64xbf16, #tile.swizzle<128>>
    ```
  }];
  let arguments = (ins Tile_ViewType:$source, Variadic<Index>:$indices,
    DenseI64ArrayAttr:$dims, Tile_SlotType:$slot, Tile_CopyAttr:$copy,
    Optional<Tile_BarriersType>:$signal, Optional<Index>:$signal_slot, Optional<Tile_TensorMapType>:$map);
  let assemblyFormat = [{
    $source `[` $indices `]` `dims` $dims `to` $slot `copy` `(` custom<Bare>($copy) `)`
    (`signal` $signal^ `[` $signal_slot `]`)? (`map` `(` $map^ `)`)? attr-dict
    `:` type($source) `,` type($slot) (`,` type($signal)^)? (`,` type($map)^)?
  }];
  let builders = [OpBuilder<(ins "Value":$source, "ValueRange":$indices, "ArrayRef<int64_t>":$dims,
    "Value":$slot, "Copy":$copy), [{
      build($_builder, $_state, source, indices, dims, slot, copy, Value(), Value(), Value());
    }]>];
  let hasVerifier = 1;
}

def Tile_CopyCommitOp : Tile_SharedOp<"copy_commit"> {
  let summary = "closes a group of asynchronous copies";
  let description = [{
    The copies that this warp started since the last one are a group.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.copy_commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_CopyWaitOp : Tile_SharedOp<"copy_wait"> {
  let summary = "waits until few groups of copies are on their way";
  let description = [{
    Afterwards all but the last `pending` groups that this warp committed are
    there, for this warp.

    Constraints:
    - (C1) pending is not negative.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.copy_wait 1
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def Tile_FenceAsyncOp : Tile_SharedOp<"fence_async"> {
  let summary = "orders accesses of this warp before asynchronous ones";
  let description = [{
    Asynchronous products and the TMA read shared memory by a proxy of their own
    (`fence.proxy.async`). What a warp wrote there by `tile.write`, or copied without the
    TMA, they see only if the warp comes to this op afterwards, and before the barrier
    that they wait for.
    A warp that loaded from a slot comes to this op before it gives the slot back to the
    TMA, too: a load that was issued may still wait in line when the TMA's next write does
    not.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.fence_async
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_BulkStoreWaitOp : Tile_SharedOp<"copy_out_wait"> {
  let summary = "waits until copies out have read their slots";
  let description = [{
    The thread that started copies out for its warpgroup waits until all of
    them have read shared memory; other threads go on.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.copy_out_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_BulkAccumulateOp : Tile_SharedOp<"bulk_accumulate"> {
  let summary = "starts to add a tile from shared memory to memory";
  let description = [{
    What `tile.accumulate` of the tile would add to destination[indices], each warp the part that it
    wrote by `tile.write` with the destination's order: the lanes of the warp wait for each other,
    and one of them starts a bulk reduction for each run that is contiguous. What the warp
    wrote must have been fenced (`tile.fence_async`). The slot is read, and memory is added to,
    for some time yet, until `tile.bulk_accumulate_wait`.

    With `whole`, one thread of the first warp, of the program or of the role, adds all of the tile
    by one reduction; other warps go on. All warps have written, fenced and met before.

    Constraints:
    - (C1) One index per dimension of the destination.
    - (C2) `dims` are distinct dimensions of the destination, one per dimension of the tile.
    - (C3) The tile and the destination are f32.
    - (C4) Whole boxes of a view with an order, as `tile.accumulate`.
    - (C5) The destination has an order, and the slot rank 1 and as many f32 as the tile has. The
      tile, if it has a layout, is held once, by warps whose parts are contiguous.
    - (C6) With `whole`, the tile has all columns of the destination, from the first on.

    Created by `tile-lower-rings`, `whole` by `tile-merge-reductions`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.bulk_accumulate %s to %dq[%b, %h, %i, %c0] dims [2, 3] tile(tensor<64x64xf32, #acc>)
      : !tile.slot<4096xf32, #tile.swizzle<128>>, !tile.view<?x?x?x64xf32, #order>
    tile.bulk_accumulate %s to %dq[%b, %h, %i, %c0] dims [2, 3] tile(tensor<64x64xf32, #acc>) whole
      : !tile.slot<4096xf32, #tile.swizzle<128>>, !tile.view<?x?x?x64xf32, #order>
    ```
  }];
  let arguments = (ins Tile_SlotType:$slot, Tile_ViewType:$destination, Variadic<Index>:$indices,
    DenseI64ArrayAttr:$dims, TypeAttrOf<AnyRankedTensor>:$tile, UnitAttr:$whole);
  let assemblyFormat = [{
    $slot `to` $destination `[` $indices `]` `dims` $dims `tile` `(` $tile `)` (`whole` $whole^)? attr-dict
    `:` type($slot) `,` type($destination)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    RankedTensorType getTileType() { return cast<RankedTensorType>(getTile()); }
  }];
}

def Tile_BulkAccumulateWaitOp : Tile_SharedOp<"bulk_accumulate_wait"> {
  let summary = "waits until reductions of this warp have read their slots";
  let description = [{
    The lanes of the warp go on once all reductions that it started, but for those of its last
    `pending` ops, have read shared memory, so that they may write it again; with `written`, once
    they have added to memory, too. A warp that started none goes on at once.

    Constraints:
    - (C1) pending is not negative, and 0 with `written`.

    Created by `tile-lower-rings` and `tile-merge-reductions`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.bulk_accumulate_wait
    tile.bulk_accumulate_wait pending(1)
    tile.bulk_accumulate_wait written
    ```
  }];
  let arguments = (ins UnitAttr:$written, DefaultValuedAttr<I64Attr, "0">:$pending);
  let assemblyFormat = "(`written` $written^)? (`pending` `(` $pending^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_SharedOp<"barrier"> {
  let summary = "waits for all warps of the program";
  let description = [{
    What any warp read or wrote in shared memory and in views before it, is done
    for all warps after it.

    Created by `tile-promote-shared` and `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

include "fa/Dialect/Tile/IR/TileRoles.td"

#endif // FA_DIALECT_TILE_IR_TILERINGS_TD
