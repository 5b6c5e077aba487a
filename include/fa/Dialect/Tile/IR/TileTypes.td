//===- TileTypes.td - types of the tile dialect ---------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILETYPES_TD
#define FA_DIALECT_TILE_IR_TILETYPES_TD

include "fa/Dialect/Tile/IR/TileAttrs.td"
include "mlir/IR/AttrTypeBase.td"

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "a strided tensor in memory";
  let description = [{
    Pointer, sizes and strides, all 64-bit and known at launch; `?` marks a
    size that is not known at compile time. The last dimension has stride 1.

    Example: `!tile.view<?x8x?x64xbf16>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let builders = [
    // The view of a whole tensor: its sizes, its elements.
    TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tensor), [{
      return $_get(tensor.getContext(), tensor.getShape(), tensor.getElementType());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
  }];
}

def Tile_PendingType : TypeDef<Tile_Dialect, "Pending"> {
  let mnemonic = "pending";
  let summary = "a tile that an asynchronous op is computing";
  let description = [{
    The result of an asynchronous op; only `tile.await` makes a tile of it, so
    that nothing reads it early.

    Example: `!tile.pending<tensor<64x128xf32>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

class Tile_SharedType<string name, string mnemonic_> : TypeDef<Tile_Dialect, name> {
  let mnemonic = mnemonic_;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_SlotType : Tile_SharedType<"Slot", "slot"> {
  let summary = "a tile in shared memory";
  let description = [{
    One stage of a ring. Element type and shape of the tile, and how it stands.

    Example: `!tile.slot<128x64xbf16, #tile.swizzle<128>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
    "SwizzleAttr":$layout);
  let extraClassDeclaration = [{
    int64_t sizeInBytes() const { return getLayout().sizeInBytes(getShape(), getElementType()); }
    /// Bytes of the panel of ones behind the tile.
    int64_t onesInBytes() const {
      return getLayout().getOnes() ? getShape().front() * getLayout().getBytes() : 0;
    }
    /// Return what the slot's address must be a multiple of.
    int64_t alignment() const;
    /// Return the bytes from a slot of a ring to the next one.
    int64_t strideInBytes() const;
  }];
}

def Tile_RingType : Tile_SharedType<"Ring", "ring"> {
  let summary = "tiles in shared memory, filled and emptied in turn";
  let description = [{
    `stages` slots. `tile.put` fills the next one, `tile.get` waits for the
    oldest that was not got, `tile.release` lets it be filled again.

    Example: `!tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>`
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType, "SwizzleAttr":$layout);
  let extraClassDeclaration = [{
    SlotType getSlot() const {
      return SlotType::get(getContext(), getShape(), getElementType(), getLayout());
    }
  }];
}

def Tile_TensorMapType : Tile_SharedType<"TensorMap", "tensor_map"> {
  let summary = "how the TMA finds tiles of a view";
  let description = [{
    An argument of a kernel, made at launch from a view: the box that one copy
    brings, its element type and how it will stand in shared memory.

    Example: `!tile.tensor_map<80x128xbf16, #tile.swizzle<128>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
    "SwizzleAttr":$layout);
}

class Tile_CountType<string name, string mnemonic_> : TypeDef<Tile_Dialect, name> {
  let mnemonic = mnemonic_;
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Tile_BarriersType : Tile_CountType<"Barriers", "barriers"> {
  let summary = "barriers in shared memory";
  let description = [{
    Example, two of them: `!tile.barriers<2>`
  }];
}

def Tile_PingpongType : Tile_CountType<"Pingpong", "pingpong"> {
  let summary = "a turn that goes round warpgroups";
  let description = [{
    Example, for three warpgroups: `!tile.pingpong<3>`
  }];
}

#endif // FA_DIALECT_TILE_IR_TILETYPES_TD
