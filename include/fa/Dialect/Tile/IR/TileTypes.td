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

    With an `order`, the matrices of the last two dimensions lie in boxes (`#tile.order`). So do
    workspaces that only kernels of one call see. Their rows follow each other without a gap, are
    a multiple of the box's, and the memory starts at a multiple of 16 bytes. Only `tile.load`,
    `tile.store` and `tile.accumulate` of whole boxes touch them, or slices of rows that are whole boxes.

    Constraints:
    - (C1) With an order, the view has two dimensions or more, the last of a static size that is a
      multiple of the columns of a box, and elements of 4 bytes.

    Example: `!tile.view<?x8x?x64xbf16>`, `!tile.view<?x8x?x64xf32, #order>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
    OptionalParameter<"OrderAttr">:$order);
  let builders = [
    TypeBuilder<(ins "ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType), [{
      return $_get($_ctxt, shape, elementType, OrderAttr());
    }]>,
    // The view of a whole tensor: its sizes, its elements.
    TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tensor), [{
      return $_get(tensor.getContext(), tensor.getShape(), tensor.getElementType(), OrderAttr());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    ViewType withOrder(OrderAttr order) const {
      return get(getContext(), getShape(), getElementType(), order);
    }
  }];
}

def Tile_ReferenceType : TypeDef<Tile_Dialect, "Reference"> {
  let mnemonic = "reference";
  let summary = "a running reference that keeps exponentials in range";
  let description = [{
    What `tile.stabilize` subtracts from scores, a number for each of `size` rows
    (columns, where it runs along columns). It is opaque, since only quotients of what
    has been stabilized are defined: nothing may take it for a maximum. How it is
    chosen and applied are decisions of the target; they are parameters of the type,
    so that loops and branches agree on them by verification:

    - none: the greatest score so far.
    - `constant = k`: always k, where scores are bounded. Nothing is rescaled.
    - `slack = t`: stays for a group of rows as long as no score exceeds it by more than
      t, in base-2 exponents. Exponentials are then up to 2^t.
    - `fold`: the subtraction is folded into the product with the scale, one fma.
    - `test`: a predicate on the scores before the mask says whether the reference must
      change, before any maximum of a row is computed.

    Legal are none, `fold`, `constant`, `constant, fold`, `slack`, `slack, fold` and
    `slack, fold, test`. With `constant` and `slack` weights are rounded each on its own,
    so the product that takes the exponentials must have `ones`, whose sums divide the
    same errors out; and exponentials must fit the product's operands: slack is 8 at most for
    f16 and 32 else, a constant times the scale 15 and 48. `tile-lower-stabilizer` refuses the
    rest. The CPU ignores the decisions.

    `encoding` is that of its tiles: what a size that is not chosen stands for.

    Example: `!tile.reference<192xf32, slack = 32, fold, test>`
  }];
  let parameters = (ins "int64_t":$size, OptionalParameter<"::mlir::FloatAttr">:$constant,
    OptionalParameter<"::mlir::FloatAttr">:$slack, "bool":$fold, "bool":$test,
    OptionalParameter<"::mlir::Attribute">:$encoding);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    // The reference that no decision was taken for.
    TypeBuilder<(ins "int64_t":$size, CArg<"::mlir::Attribute", "{}">:$encoding), [{
      return $_get($_ctxt, size, ::mlir::FloatAttr(), ::mlir::FloatAttr(), false, false, encoding);
    }]>
  ];
  let extraClassDeclaration = [{
    /// Return the type of a tile with a number for each row.
    RankedTensorType getColumn() const {
      return RankedTensorType::get({getSize()}, Float32Type::get(getContext()), getEncoding());
    }
    /// Return the type for a size that is known: what it stood for is no longer said.
    ReferenceType withSize(int64_t size) const {
      return get(getContext(), size, getConstant(), getSlack(), getFold(), getTest(), Attribute());
    }
    ReferenceType withConstant(float value) const;
    ReferenceType withSlack(float value) const;
    ReferenceType withFold() const {
      return get(getContext(), getSize(), getConstant(), getSlack(), true, getTest(), getEncoding());
    }
    ReferenceType withTest() const {
      return get(getContext(), getSize(), getConstant(), getSlack(), getFold(), true, getEncoding());
    }
  }];
}

def Tile_RanType : TypeDef<Tile_Dialect, "Ran"> {
  let mnemonic = "ran";
  let summary = "for which groups of rows something was done";
  let description = [{
    True or false for each row; rows of one group agree. The size of groups is the
    target's choice. It crosses no role and no ring.

    Example: `!tile.ran`
  }];
  let assemblyFormat = "";
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
    /// Return the bytes of the panel of ones after the tile.
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
  let summary = "an order in which warpgroups take turns";
  let description = [{
    Example, for three warpgroups: `!tile.pingpong<3>`
  }];
}

#endif // FA_DIALECT_TILE_IR_TILETYPES_TD
