//===- TileMemory.td - views, and what reads and writes them ---*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILEMEMORY_TD
#define FA_DIALECT_TILE_IR_TILEMEMORY_TD

include "fa/Dialect/Tile/IR/TileAttrs.td"
include "fa/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

// Memory to read: a view, or, before there is memory, a tensor.
def Tile_Source : AnyTypeOf<[Tile_ViewType, AnyRankedTensor]>;

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "the size of one dimension of a view";
  let description = [{
    Constraints:
    - (C1) The dimension exists.

    Created by `convert-fa-to-tile`; removed with its tile.func.

    Example:

    ```mlir
    %n = tile.dim %x, 1 : !tile.view<?x?xf32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $dim attr-dict `:` type($view)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "a view of some rows of a view";
  let description = [{
    result[..., x, ...] = source[..., start + x, ...] for x from 0 to size - 1 along dimension `dim`;
    the other dimensions are those of the source. Nothing is copied: what is loaded from the result
    or stored to it is of the source. An index out of the slice is out of range, as of any view,
    also where the source has an element there.

    `start` and `size` are not negative, and start + size is at most the source's size.
    What TMA copies from or to a slice begins in it or after it: of a tile of rows that
    begins before, nothing is copied. With `front`, tiles may begin before it; those that do
    end in it, and TMA copies what lies in it.

    Constraints:
    - (C1) The dimension exists.
    - (C2) The result is of the source's type, its size along `dim` unknown.
    - (C3) Of a source with an order, the dimension is that of rows, the last but one; `start` and
      `size` are multiples of a box's rows then.

    Created by the rewrites of `fa` and by hand, `front` by `tile-align-blocks`; removed with its
    tile.func.

    Example:

    ```mlir
    %s = tile.slice %x dim 1 from %first size %n : !tile.view<8x?x64xf32> -> !tile.view<8x?x64xf32>
    ```
  }];
  let arguments = (ins Tile_Source:$source, I64Attr:$dim, Index:$start, Index:$size,
    UnitAttr:$front);
  let results = (outs Tile_Source:$result);
  let assemblyFormat = [{
    $source `dim` $dim `from` $start `size` $size (`front` $front^)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Return the view, or tensor, that a slice, or a slice of one, is of; others are of themselves.
    static Value baseOf(Value view) {
      while (auto slice = view.getDefiningOp<SliceOp>())
        view = slice.getSource();
      return view;
    }
  }];
}

def Tile_LoadOp : Tile_Op<"load", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "loads a tile, or one element; what is out of range reads 0";
  let description = [{
    result[x0, x1, ...] = source[start + sum over r of x_r * e(dims[r])]: the
    tile stands at indices `start` and runs along dimension dims[r] of the
    source in its own dimension r. Without dims the result is one element.
    An element with any index out of range reads 0 (false for i1).

    With `inside` the tile begins in the source. Where sizes of that, those of a workspace or a slice,
    are multiples of the tile's as its first indices are, all of it is in range, and nothing is checked.

    Loads and stores of one view take effect in program order within an
    work tile; different arguments are assumed not to overlap.

    Constraints:
    - (C1) One index per dimension of the source.
    - (C2) `dims` are distinct dimensions of the source, one per dimension of the result.
    - (C3) The result has the source's element type.
    - (C4) Of a view with an order, whole boxes: `dims` are the last two dimensions, and sizes of
      the tile multiples of a box's. So are the indices there, which nothing verifies but the
      interpreter.
    - (C5) With `inside`, each index is in range.

    Reads memory (of a view). Created by the rewrites of `fa` and by hand, `inside` by
    `tile-order-workspaces`; becomes copies in the conversions to a target.

    Example:

    ```mlir
    %k = tile.load %x[%b, %h, %j, %c0] dims [2, 3] : !tile.view<?x?x?x64xf32> -> tensor<128x64xf32>
    %m = tile.load %slopes[%h] : !tile.view<16xf32> -> f32
    ```
  }];
  let arguments = (ins Tile_Source:$source, Variadic<Index>:$indices,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dims, UnitAttr:$inside);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` (`dims` $dims^)? (`inside` $inside^)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Return whether it loads one element, and no tile.
    bool isScalar() { return getDims().empty(); }
  }];
}

def Tile_StoreOp : Tile_Op<"store", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "stores a tile; what is out of range is dropped";
  let description = [{
    destination[start + sum over r of x_r * e(dims[r])] = value[x0, x1, ...].

    Loads and stores of one view take effect in program order within an
    work tile; different arguments are assumed not to overlap.

    Constraints:
    - (C1) One index per dimension of the destination.
    - (C2) `dims` are distinct dimensions of the destination, one per dimension of the value.
    - (C3) The value has the destination's element type.
    - (C4) Of a view with an order, whole boxes: `dims` are the last two dimensions, and sizes of
      the tile multiples of a box's. So are the indices there, which nothing verifies but the
      interpreter.

    Writes memory. Created by the rewrites of `fa` and by hand; becomes copies
    in the conversions to a target.

    Example:

    ```mlir
    tile.store %t, %o[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, !tile.view<?x?x?x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Tile_ViewType:$destination,
    Variadic<Index>:$indices, DenseI64ArrayAttr:$dims);
  let assemblyFormat = [{
    $value `,` $destination `[` $indices `]` `dims` $dims attr-dict `:` type($value) `,` type($destination)
  }];
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "loads elements at computed indices; out of range reads 0";
  let description = [{
    result[x...] = source[i_0, i_1, ...] where index i_k is a scalar or the
    element x... of a tile of indices.

    Constraints:
    - (C1) One index per dimension of the source, each index or a tile of index of the result's shape.
    - (C2) The result has the source's element type.
    - (C3) The source has no order.

    Reads memory (of a view). Created by the passes on `fa`.

    Example:

    ```mlir
    %t = tile.gather %table[%h, %distance] : !tile.view<16x512xf32>[index, tensor<64x128xindex>] -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_Source:$source, Variadic<AnyType>:$indices);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) `[` type($indices) `]` `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterAddOp : Tile_Op<"scatter_add", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "adds elements to memory at computed indices, by atomics; out of range is dropped";
  let description = [{
    destination[i_0, i_1, ...] += value[x...] for each x, where index i_k is a scalar or the
    element x... of a tile of indices. Work tiles may add to one element: each addition is
    atomic, in any order, so sums may differ in their last bits from one launch to the next.
    Elements with one index may be added up before. Nothing is added for a value of 0.

    Constraints:
    - (C1) One index per dimension of the destination, each index or a tile of index of the value's shape.
    - (C2) The value is f32; the destination is f32, or f64 for sums of many.
    - (C3) The destination has no order.

    Reads and writes memory. Created by `fa-rewrite-pairwise` and by hand; the destination is
    set to 0 by an earlier kernel.

    Example:

    ```mlir
    tile.scatter_add %w, %table[%h, %distance] : tensor<64x128xf32>, !tile.view<16x512xf32>[index, tensor<64x128xindex>]
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Tile_ViewType:$destination, Variadic<AnyType>:$indices);
  let assemblyFormat = [{
    $value `,` $destination `[` $indices `]` attr-dict `:` type($value) `,` type($destination) `[` type($indices) `]`
  }];
  let hasVerifier = 1;
}

def Tile_AccumulateOp : Tile_Op<"accumulate", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "adds a tile to memory, by atomics; what is out of range is dropped";
  let description = [{
    destination[start + sum over r of x_r * e(dims[r])] += value[x0, x1, ...]. Work tiles may add
    to one element: each addition is atomic, in any order, so sums may differ in their last bits
    from one launch to the next.

    With `inside` the tile begins in the destination. Where sizes of that, those of a workspace or a
    slice, are multiples of the tile's as its first indices are, all of it is in range, and nothing
    is checked: so additions stand beside products, not in a branch of their own.

    With `through`, each warp writes its part to the ring's next slot and one bulk reduction adds it to
    memory while the warp goes on: the part is contiguous in both, for the destination has an
    order. A warp waits only for itself, before it writes a slot again.

    Constraints:
    - (C1) One index per dimension of the destination.
    - (C2) `dims` are distinct dimensions of the destination, one per dimension of the value.
    - (C3) The value and the destination are f32.
    - (C4) Of a view with an order, whole boxes, as of `tile.store`.
    - (C5) With `through`, the destination has an order, and the ring slots of rank 1, of as many
      f32 as the value has. A value with a layout is held once, by warps whose parts are contiguous.
    - (C6) With `inside`, each index is in range.

    Reads and writes memory. Created by `fa-rewrite-pairwise` and by hand; the destination is
    set to 0 by an earlier kernel, and `tile-order-workspaces` gives it an order and such rows.
    `tile-stage-accumulates` adds `through`, which `tile-lower-rings` expands.

    Example:

    ```mlir
    tile.accumulate %t, %dq[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, !tile.view<?x?x?x64xf32>
    tile.accumulate %u, %dq[%b, %h, %i, %c0] dims [2, 3] inside through(%r)
      : tensor<64x64xf32, #acc>, !tile.view<?x?x?x64xf32, #order>, !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Tile_ViewType:$destination,
    Variadic<Index>:$indices, DenseI64ArrayAttr:$dims, UnitAttr:$inside,
    Optional<Tile_RingType>:$staging);
  let assemblyFormat = [{
    $value `,` $destination `[` $indices `]` `dims` $dims (`inside` $inside^)?
    (`through` `(` $staging^ `)`)? attr-dict
    `:` type($value) `,` type($destination) (`,` type($staging)^)?
  }];
  let builders = [OpBuilder<(ins "Value":$value, "Value":$destination, "ValueRange":$indices,
    "ArrayRef<int64_t>":$dims, CArg<"bool", "false">:$inside), [{
      build($_builder, $_state, value, destination, indices, dims, inside, Value());
    }]>];
  let hasVerifier = 1;
}

#endif // FA_DIALECT_TILE_IR_TILEMEMORY_TD
