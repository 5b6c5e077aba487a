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
    I32EnumAttrCase<"addf", 0>, I32EnumAttrCase<"maxnumf", 1>, I32EnumAttrCase<"minnumf", 2>]> {
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

#endif // FA_DIALECT_TILE_IR_TILEATTRS_TD
