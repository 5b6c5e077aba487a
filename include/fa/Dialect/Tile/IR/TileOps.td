//===- TileOps.td - ops of the tile dialect -------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILEOPS_TD
#define FA_DIALECT_TILE_IR_TILEOPS_TD

include "fa/Dialect/Tile/IR/TileAttrs.td"
include "fa/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_FloatTile : TensorOf<[AnyFloat]>;
def Tile_NumberTile : TensorOf<[AnyFloat, I32]>;
// An operand of a product: a tile, or one in shared memory.
def Tile_DotOperand : AnyTypeOf<[Tile_FloatTile, Tile_SlotType]>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Tile_FuncOp : Tile_Op<"func", [
    AutomaticAllocationScope, IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "one kernel: a program run by every work tile of a grid";
  let description = [{
    The arguments are views and scalars, then one work tile id (index) per
    dimension of the grid. The extent of each dimension is an expression over
    sizes of the views: `grid` maps symbols, each the size of a dimension of an
    argument (`sizes`, pairs of argument and dimension), to extents. Work tiles
    are independent of each other and run in any order: GPUs map them to
    thread blocks, CPUs to tasks of a pool.

    Constraints:
    - (C1) `grid` has no dimensions, one symbol per pair of `sizes`, and one result per work tile id.
    - (C2) Each pair of `sizes` names a view argument and one of its dimensions.
    - (C3) Arguments are views, integers, index, floats or tensor maps; the last ones, one per result of `grid`, are index.
    - (C4) A tile.func returns nothing.
    - (C5) `grid` divides by positive constants only.
    - (C6) A tensor map has `tile.map_of`, the number of a view's argument of its
      element type, and `tile.map_dims`, distinct dimensions of that view, one per
      dimension of the map. `tile.map_slices`, without a value, says that it is for slices
      of that view along the first of two such dimensions.
    - (C7) The body is one block.
    - (C8) `tile.align` of an argument is a power of two from 1 to 4096.
    - (C9) `tile.blocks_per_sm` is from 1 to 32, on a grid of one dimension: a launch
      starts at most so many blocks an SM, the first ones of the grid; the
      program goes on with the work tiles that are left (`tile.block_count`).
    - (C10) An argument with `tile.launch_epoch` is an i64.
    - (C11) `tile.dependent` has no value. The program waits by `tile.kernel_wait`.
    - (C12) `tile.min_blocks_per_sm` is from 1 to 32: an SM holds so many blocks at a time,
      so that each may have that part of its registers and of its shared memory.
    - (C13) `tile.dims` of an argument has a name for each dimension of a view.
    - (C14) A tile has at most 2^24 elements.
    - (C15) `tile.warps` and `tile.beside` are from 1 to 32.
    - (C16) `tile.workspace` of an argument has sizes of a view, as TileDialect.td has them.

    Created by `convert-fa-to-tile` or written by hand; removed by
    `convert-tile-to-linalg` or `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.func @copy(%x: !tile.view<?x64xf32> {tile.name = "x"},
                    %y: !tile.view<?x64xf32> {tile.name = "y", tile.output}, %t: index)
        grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %i = arith.muli %t, %c32 : index
      %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32>
      tile.store %v, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    AffineMapAttr:$grid, DenseI64ArrayAttr:$sizes,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "StringRef":$name, "TypeRange":$arguments,
    "AffineMap":$grid, "ArrayRef<int64_t>":$sizes)>];
  let extraClassDeclaration = [{
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return &getBody(); }
    unsigned getNumGridDims() { return getGrid().getNumResults(); }
    /// Return the arguments that a launch provides: all but the work tile ids.
    unsigned getNumLaunchArguments() { return getNumArguments() - getNumGridDims(); }
    /// Return the warps that run a work tile: tile.warps, or those of a warpgroup without it.
    int64_t getNumWarps();
    /// Return how many blocks an SM holds at a time, at least: tile.min_blocks_per_sm, or 1.
    int64_t getMinBlocksPerSM();
    /// Return the bytes of shared memory that each of these may have, where one alone has `alone`;
    /// 0 is no limit.
    int64_t getSharedLimit(int64_t alone);
    /// Return the kernel that its entry launches after it; null where there is none.
    FuncOp getNextKernel();
    /// Return the name of a dimension of a view by the attributes of its argument; empty where it
    /// has none.
    static ::llvm::StringRef getDimName(::mlir::DictionaryAttr attributes, int64_t dim);
    /// Return that of an argument of this function.
    ::llvm::StringRef getDimName(unsigned argument, int64_t dim);
    /// Return whether no kernel of the entry writes what this argument of a launch is.
    bool isInput(unsigned argument);
    Value getInstanceId(unsigned dim) { return getArgument(getNumLaunchArguments() + dim); }
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"FuncOp">]> {
  let summary = "ends a tile.func";
  let description = [{
    Created and removed with its tile.func.

    Example:

    ```mlir
    tile.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_KernelWaitOp : Tile_Op<"kernel_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the kernel before";
  let description = [{
    Waits until the kernel before it in its entry has ended and its stores are seen, and those of all
    before that one. A kernel with `tile.dependent`, which starts earlier, comes to this op once on
    each path, before it takes what a kernel of the entry writes and before it writes itself; or, if
    neither takes what the other writes, in the end. Such a kernel starts when all before the other
    one have ended: that one lets it start after its own wait, and a launch that leaves out the other
    one starts it when all before it have ended.

    Created by `tile-overlap-kernels`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.kernel_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}

include "fa/Dialect/Tile/IR/TileMemory.td"

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [AlwaysSpeculatable, AllTypesMatch<["acc", "result"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a product of tiles added to an accumulator";
  let description = [{
    result = acc + a * b, or acc + a * transpose(b) with `transpose_b`, and so for a with
    `transpose_a`; accumulated in the element type of acc. `precision` says how products of
    f32 operands are formed (ieee is always allowed instead). Operands may
    stand in shared memory, which is then read until the result is there. With
    `ones`, b counts as having 8 more columns, in which each element is 1: the
    last 8 columns of the result are those of acc plus the sums of a's rows. With `padded`, acc has
    columns behind those of b, up to the end of b's last panel of 64: nothing is said of them.

    Constraints:
    - (C1) a is MxK (KxM with transpose_a), b KxN (NxK with transpose_b), acc MxN (Mx(N + 8) with ones).
    - (C2) a and b have one floating-point element type; acc is f32.
    - (C3) ones is for operands of 2 bytes, without transpose_b.
    - (C4) transpose_a is for operands of 2 bytes.
    - (C5) With padded, which is for operands of 2 bytes without transpose_b or ones, acc has the columns of b
      rounded up to a multiple of 64; a slot of b has panels of 128 bytes.

    Created by the rewrites of `fa` and by hand; `ones` by `tile-append-row-sum`, `transpose_a` by
    `tile-assign-layouts`, `padded` as tiles get their sizes.

    Example:

    ```mlir
    %s = tile.dot %q, %k, %zero transpose_b : tensor<64x64xbf16>, tensor<128x64xbf16>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_DotOperand:$a, Tile_DotOperand:$b, Tile_FloatTile:$acc, UnitAttr:$transpose_b,
    DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::ieee">:$precision,
    UnitAttr:$ones, UnitAttr:$transpose_a, UnitAttr:$padded);
  let results = (outs Tile_FloatTile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`ones` $ones^)? (`padded` $padded^)? (`precision` `(` custom<Bare>($precision)^ `)`)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, AllTypesMatch<["init", "result"]>]> {
  let summary = "reduces a tile along one dimension";
  let description = [{
    result[...] = init[...] op reduction over dimension `dim` of the input, in
    any order (reassociates). `maxnumf` and `minnumf` pass over NaN. `maxsi` is of i32, the others
    are of floats.

    Constraints:
    - (C1) The dimension exists.
    - (C2) init has the input's shape without that dimension, and its element type.
    - (C3) Layouts: init has the input's without that dimension, or neither has one.
    - (C4) Elements are those of the kind.

    Created by the rewrites of `fa` and by hand.

    Example:

    ```mlir
    %m1 = tile.reduce maxnumf %s init %m dim 1 : tensor<64x128xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_ReductionAttr:$kind, Tile_NumberTile:$input, Tile_NumberTile:$init, I64Attr:$dim);
  let results = (outs Tile_NumberTile:$result);
  let assemblyFormat = "custom<Bare>($kind) $input `init` $init `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Emit one step of a reduction.
    static Value combine(OpBuilder &b, Location loc, Reduction kind, Value x, Value y);
  }];
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a scalar, a row or a column over a tile";
  let description = [{
    A scalar fills the result. A tile of rank r is repeated along the new
    dimension `dim` of a result of rank r + 1: with dim 1,
    result[x, y] = input[x]; with dim 0, result[x, y] = input[y].

    Constraints:
    - (C1) input and result have one element type.
    - (C2) A tile has a dim, and the result's shape without it; a scalar has none.
    - (C3) Layouts: a tile has the result's without that dimension, or neither has one.

    Created by the rewrites of `fa` and by hand.

    Example:

    ```mlir
    %w = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x128xf32>
    %z = tile.broadcast %zero : f32 -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyType:$input, OptionalAttr<I64Attr>:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input (`dim` $dim^)? attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "exchanges the two dimensions of a tile";
  let description = [{
    result[y, x] = input[x, y].

    Constraints:
    - (C1) input is MxN, result NxM of the same element type.
    - (C2) Layouts: the result has the input's with dimensions exchanged, or neither has one.

    Created by hand and by rewrites that need both orientations.

    Example:

    ```mlir
    %t = tile.transpose %s : tensor<64x128xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ColumnsOp : Tile_Op<"columns", [Pure]> {
  let summary = "some neighbouring columns of a tile";
  let description = [{
    result[x, y] = input[x, first + y].

    Constraints:
    - (C1) input is MxK, result MxN of the same element type, first + N at most K.
    - (C2) Both have a layout, or neither.

    Created by `tile-append-row-sum`, `tile-defer-row-sum-reduction` and `tile-lower-stabilizer`.

    Example:

    ```mlir
    %s = tile.columns %acc first(128) : tensor<64x136xf32> -> tensor<64x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$first);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `first` `(` $first `)` attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ColumnsBetweenOp : Tile_Op<"columns_between", [Pure, AttrSizedOperandSegments]> {
  let summary = "in each row, the columns between two limits";
  let description = [{
    result[x, y] = low[x] <= y and y < high[x]; a limit that is not there does not
    limit. No column is where low[x] is high[x] or more; limits may lie beyond the
    tile's ends.

    Constraints:
    - (C1) The result has rank 2 and element type i1.
    - (C2) There is a limit; each is a tile of i32 with one element for each row of the result.
    - (C3) Layouts: limits have the result's without its columns, or none has one.

    Created by `tile-predicate-masks`. On GPUs a row's columns of a thread are bits of a
    number, counted from its limits, where the layout lets them be counted.

    Example:

    ```mlir
    %c = tile.columns_between low(%low : tensor<64xi32>) high(%high : tensor<64xi32>) : tensor<64x128xi1>
    %d = tile.columns_between high(%high : tensor<64xi32>) : tensor<64x128xi1>
    ```
  }];
  let arguments = (ins Optional<AnyRankedTensor>:$low, Optional<AnyRankedTensor>:$high);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    (`low` `(` $low^ `:` type($low) `)`)? (`high` `(` $high^ `:` type($high) `)`)? attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "consecutive integers";
  let description = [{
    result[x] = start + x, of rank 1.

    Constraints:
    - (C1) The result has rank 1 and the type of start as its element type.

    Created by the passes on `fa`.

    Example:

    ```mlir
    %i = tile.iota %i0 : index -> tensor<64xindex>
    ```
  }];
  let arguments = (ins AnySignlessIntegerOrIndex:$start);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$start attr-dict `:` type($start) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_RandomBitsOp : Tile_Op<"random_bits", [Pure]> {
  let summary = "a tile of random bytes that depend on position alone";
  let description = [{
    result[r, c] is a byte of Philox4x32-7 (Salmon et al., "Parallel random
    numbers: as easy as 1, 2, 3", SC 2011) at position (z, y, i, j) =
    (batch, head, row + r, column + c):

        key     = (seed.lo, seed.hi + offset.hi)
        counter = ((i/16)*8 + i%8, (j/32)*4 + (j%8)/2, z << 12 | y, offset.lo)
        byte      8*((i/8)%2) + 4*(j%2) + (j/8)%4 of its 16, bytes counted from
                  the lowest of word 0

    so the bits depend on no tile size, and one call serves what a thread holds
    in the accumulator of a matrix instruction.

    Constraints:
    - (C1) The result has rank 2 and element type i8.

    Created by the passes on `fa`.

    Example:

    ```mlir
    %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %i, %j) : tensor<64x128xi8>
    ```
  }];
  let arguments = (ins I64:$seed, I64:$offset, Index:$batch, Index:$head, Index:$row, Index:$column);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `seed` `(` $seed `,` $offset `)` `at` `(` $batch `,` $head `,` $row `,` $column `)`
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "the same tile, held by other threads";
  let description = [{
    result = input. Moves between registers of a thread are free, between the
    lanes of a warp shuffles; between warps only shared memory serves, to which
    `tile-promote-shared` takes it.

    Constraints:
    - (C1) input and result have one shape and element type, and both a layout.

    Created by `tile-assign-layouts`; removed by `convert-tile-to-nvvm` or `tile-promote-shared`.

    Example:

    ```mlir
    %a = tile.convert_layout %p : tensor<64x128xbf16, #s> -> tensor<64x128xbf16, #a>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_IfAnyOp : Tile_Op<"if_any", [RecursiveMemoryEffects, NoRegionArguments,
    AttrSizedResultSegments, SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>,
    AllTypesMatch<["inits", "results"]>]> {
  let summary = "computes where some row needs it";
  let description = [{
    The results are what the region yields, or `inits`; which of the two, the
    target chooses for groups of rows of its own size (a warp's rows on GPUs,
    the tile on CPUs), but the region runs for every group with a true row. So
    both must be right for a row that is false. A row of a tile of rank 2 is true
    where one of its elements is.

    A last result of type `!tile.ran` says for which groups the region ran. As the
    condition of another tile.if_any, it runs for the same groups, without another
    vote; so a result that is read only there need not be right elsewhere. On CPUs
    it is for nothing else: no loop carries it.

    Constraints:
    - (C1) The region yields values of the results' types, but that of `!tile.ran`.
    - (C2) Layouts: the rows of tile.if_any that run for the same groups are held alike.

    Created by `tile-lower-stabilizer`, `tile-predicate-masks` and by hand.

    Example:

    ```mlir
    %f, %ran = tile.if_any %grew (%one) : tensor<64xi1>, (tensor<64xf32>) -> !tile.ran {
      %g = math.exp2 %e : tensor<64xf32>
      tile.yield %g : tensor<64xf32>
    }
    %r = tile.if_any %ran (%o) : !tile.ran, (tensor<64x64xf32>) {
      %a = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x64xf32>
      %x = arith.mulf %o, %a : tensor<64x64xf32>
      tile.yield %x : tensor<64x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, Tile_RanType]>:$rows, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results, Optional<Tile_RanType>:$ran);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "TypeRange":$results, "Type":$ran, "Value":$rows, "ValueRange":$inits), [{
      $_state.addOperands(rows);
      $_state.addOperands(inits);
      $_state.addTypes(results);
      if (ran)
        $_state.addTypes(ran);
      $_state.getOrAddProperties<Properties>().resultSegmentSizes = {
          static_cast<int32_t>(results.size()), ran ? 1 : 0};
      $_state.addRegion();
    }]>,
    // One that does not say where it ran.
    OpBuilder<(ins "TypeRange":$results, "Value":$rows, "ValueRange":$inits), [{
      build($_builder, $_state, results, Type(), rows, inits);
    }]>
  ];
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"IfAnyOp">]> {
  let summary = "ends a tile.if_any";
  let description = [{
    Created and removed with its tile.if_any.

    Example:

    ```mlir
    tile.yield %x : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

include "fa/Dialect/Tile/IR/TileStabilizer.td"
include "fa/Dialect/Tile/IR/TileRings.td"

#endif // FA_DIALECT_TILE_IR_TILEOPS_TD
