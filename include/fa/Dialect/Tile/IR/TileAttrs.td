//===- TileAttrs.td - enums and layouts of the tile dialect ---------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILEATTRS_TD
#define FA_DIALECT_TILE_IR_TILEATTRS_TD

include "fa/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Precision : I32EnumAttr<"Precision", "how products of f32 operands are formed", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32x3", 1>, I32EnumAttrCase<"tf32", 2>]> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}
def Tile_PrecisionAttr : EnumAttr<Tile_Dialect, Tile_Precision, "precision"> {
  let assemblyFormat = "$value";
}

def Tile_Reduction : I32EnumAttr<"Reduction", "the operation of a reduction", [
    I32EnumAttrCase<"addf", 0>, I32EnumAttrCase<"maxnumf", 1>, I32EnumAttrCase<"minnumf", 2>,
    I32EnumAttrCase<"maxsi", 3>]> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}
def Tile_ReductionAttr : EnumAttr<Tile_Dialect, Tile_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

def Tile_Copy : I32EnumAttr<"Copy", "how memory is copied to shared memory", [
    I32EnumAttrCase<"ld_st", 0>, I32EnumAttrCase<"cp_async", 1>, I32EnumAttrCase<"tma", 2>]> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}
def Tile_CopyAttr : EnumAttr<Tile_Dialect, Tile_Copy, "copy"> {
  let assemblyFormat = "$value";
}

def Tile_FragAttr : AttrDef<Tile_Dialect, "Frag", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "frag";
  let summary = "which register of which thread holds which element of a tile";
  let description = [{
    The encoding of a tile that lives in registers. `reg`, `lane` and `warp` are
    lists of modes, each (extent, a stride per dimension of the tile), fastest
    first (see Layout.h). Layouts are canonical, so that equal ones are one
    attribute; the layout of a row or column of a tile is the tile's without
    that dimension.

    Example, accumulators of `mma.m16n8k16` of four warps, a 64x128 tile:

    ```mlir
    #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
    ```
  }];
  let parameters = (ins "unsigned":$rank, ArrayRefParameter<"int64_t">:$reg,
    ArrayRefParameter<"int64_t">:$lane, ArrayRefParameter<"int64_t">:$warp);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "const ::mlir::tile::Layout &":$layout)>];
  let extraClassDeclaration = [{
    Layout getLayout() const;
    /// Return the layout of a tile without dimension `dim`.
    FragAttr slice(unsigned dim) const;
  }];
}

def Tile_SwizzleAttr : AttrDef<Tile_Dialect, "Swizzle"> {
  let mnemonic = "swizzle";
  let summary = "how a tile of rank 2 stands in shared memory";
  let description = [{
    Columns are cut into panels of `bytes` (128, 64 or 32; the last one is
    padded); a panel holds all rows, one after the other, and panels follow
    each other. Inside a panel the 16-byte chunk c of row r stands at c xor
    (r * bytes / 128 mod bytes / 16), which is what TMA and `wgmma` call
    swizzle<bytes>. The tile starts at a multiple of 8 * bytes, where the swizzle
    repeats. A tile of rank 1 is contiguous and starts at a multiple of 128 bytes.

    With `ones`, one more panel follows, in which each element is 1 from the
    start of the program on: what a `tile.dot` with `ones` reads.

    Example: `#tile.swizzle<128>`, `#tile.swizzle<128, ones>`
  }];
  let parameters = (ins "int64_t":$bytes, DefaultValuedParameter<"bool", "false">:$ones);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Return the bytes that a tile takes, without the panel of ones.
    int64_t sizeInBytes(ArrayRef<int64_t> shape, Type element) const;
    /// Byte offset of an element of a tile of `rows` rows from the tile's start.
    int64_t offsetOf(int64_t row, int64_t columnByte, int64_t rows) const;
  }];
}

def Tile_OrderAttr : AttrDef<Tile_Dialect, "Order"> {
  let mnemonic = "order";
  let summary = "in which order a matrix lies in memory, where that is not row by row";
  let description = [{
    The matrix is cut into boxes, which lie one after the other: those of the first rows, from the
    first column on, then those below. A box is what the 32 lanes of a warp hold of a tile in the
    registers `reg` (modes as in #tile.frag, see Layout.h), and its elements lie as
    [register / width][lane][width]: `width` registers of a lane side by side, then those of the
    next lane. So what a warp holds of a row of boxes is contiguous, and lanes that move `width`
    registers at once touch neighbours, however the boxes are shared among warps.

    Columns of the matrix are a multiple of the box's, and so are its rows in memory.

    Constraints:
    - (C1) `width` is 1, 2 or 4 and divides the number of registers.
    - (C2) Each element of a box is held once, and modes go along one dimension each, whose
      strides and extents are those of a mixed radix; there are 32 lanes.

    Example, boxes of 16x8 as accumulators of `mma.m16n8k16` are held, 16 bytes a lane:

    ```mlir
    #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$reg, ArrayRefParameter<"int64_t">:$lane,
    "int64_t":$width);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Return the order of boxes that accumulators of a warp are held in.
    static OrderAttr ofAccumulators(MLIRContext *context, int64_t width);
    Modes getRegModes() const;
    Modes getLaneModes() const;
    /// Return the size of a box.
    int64_t getRows() const;
    int64_t getColumns() const;
    /// Return where an element of a matrix of so many columns lies, in elements.
    int64_t offsetOf(int64_t row, int64_t column, int64_t columns) const;
    /// Return who holds what lies where in a matrix of so many columns, of which a tile in
    /// registers begins at a box: a layout of rank 1. Nothing where the tile's layout does not go
    /// along the boxes.
    std::optional<Layout> positionsOf(const Layout &tile, int64_t columns) const;
    /// Say what a warp holds of a tile that lies side by side both in a tile by itself and in
    /// the matrix, of one row of boxes.
    struct Run {
      /// First elements, for warp 0, and the row of the tile that the row of boxes begins at.
      int64_t inTile, inMatrix, row;
      int64_t count;
    };
    /// Return the runs of warp 0: those of the other warps are as far from them as `positionsOf`
    /// says. Nothing where no bulk copy of whole 16 bytes moves them, or several threads hold an
    /// element.
    std::optional<SmallVector<Run>> runsOf(const Layout &tile, int64_t tileColumns,
                                           int64_t columns) const;
  }];
}

#endif // FA_DIALECT_TILE_IR_TILEATTRS_TD
