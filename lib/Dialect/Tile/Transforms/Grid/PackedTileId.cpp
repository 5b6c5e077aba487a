//===- PackedTileId.cpp - what roles send of a work tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ids of a work tile follow from its number by several divisions, one after the
// other: hundreds of cycles in which a warpgroup has nothing else to do. So the role
// that schedules work tiles divides for all of them, and sends the result.
//
//===----------------------------------------------------------------------===//

#include "PackedTileId.h"
#include "Grid.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::tile;

bool tile::isArithmetic(Operation *op) {
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
}

std::optional<PackedTileId> tile::findPackedTileId(RoleOp role, Value id) {
  PackedTileId parts;
  for (Operation &op : role.getBody().front()) {
    auto part = op.getAttrOfType<IntegerAttr>(TileDialect::kPartAttr);
    if (!part || part.getInt() < 0 || part.getInt() > 1 || op.getNumResults() != 1 ||
        !op.getResult(0).getType().isInteger(32))
      continue;
    parts[part.getInt()] = op.getResult(0);
  }
  if (!parts[0] || !parts[1])
    return std::nullopt;
  // From the id there is no way to anything else.
  bool others = visitUsers(id, role, [&](Operation *user) {
    if (llvm::is_contained(parts, user->getNumResults() ? user->getResult(0) : Value()))
      return WalkResult::skip();
    return isArithmetic(user) && user->getParentOp() == role ? WalkResult::advance()
                                                             : WalkResult::interrupt();
  });
  return others ? std::nullopt : std::optional(parts);
}

PackedTileId tile::emitPackedTileId(OpBuilder &b, const PackedTileId &parts, Value id,
                                    Value other) {
  auto role = parts.front().getDefiningOp()->getParentOfType<RoleOp>();
  Slice slice(role, [&](Value value) { return value == id ? Value() : value; });
  slice.add(parts);
  IRMapping mapping;
  mapping.map(id, other);
  for (Operation *op : slice.getOps())
    b.clone(*op, mapping)->removeAttr(TileDialect::kPartAttr);
  PackedTileId made;
  for (auto [part, value] : llvm::zip_equal(made, parts))
    part = mapping.lookupOrDefault(value);
  return made;
}

void tile::sinkArithmetic(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isa<arith::ArithDialect>(op.getDialect()) || !isArithmetic(&op))
      continue;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers()) {
      Operation *at = block.findAncestorOpInBlock(*user);
      if (at && (!first || at->isBeforeInBlock(first)))
        first = at;
    }
    if (first && first != op.getNextNode())
      op.moveBefore(first);
  }
}
