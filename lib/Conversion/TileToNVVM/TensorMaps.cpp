//===- TensorMaps.cpp - copies by the copy engine -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A map is 128 bytes that the launch makes, a parameter of the kernel that is
// passed by value and read where it is. To it the view has one dimension more,
// for columns stand in panels of the swizzle's width in shared memory:
//
//   (column in the panel, row, panel, the other dimensions, last first)
//
// One box of all rows and panels of a tile then comes in the order of its slot,
// and rows out of range come as zeros.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa::nvvm;

void Emitter::setMapAttributes(unsigned argument) {
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
  kernel.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
  kernel.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
  kernel.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
}

LogicalResult Emitter::emitTensorCopy(tile::CopyOp op) {
  if (!op.getMap())
    return op.emitError() << "copy(tma) has no tensor map; run tile-make-tensor-maps";
  tile::SlotType slot = op.getSlot().getType();
  int64_t rank = op.getIndices().size(), last = rank - 1;
  ArrayRef<int64_t> dims = op.getDims();
  if (dims.size() != 2 || dims[1] != last || rank > 4)
    return op.emitError() << "copy(tma) brings rows of the last dimension of a view of rank 2 to "
                             "4, got dims ["
                          << llvm::make_range(dims.begin(), dims.end()) << "] of "
                          << op.getSource().getType();
  auto coordinate = [&](Value index) -> Value {
    return arith::TruncIOp::create(b, b.getI32Type(), get(index));
  };
  int64_t panel = 8 * slot.getLayout().getBytes() / slot.getElementType().getIntOrFloatBitWidth();
  Value column = op.getIndices()[last], panelNumber = i32(0);
  if (!matchPattern(column, m_Zero()))
    panelNumber = arith::DivSIOp::create(b, coordinate(column), i32(panel));
  SmallVector<Value> operands{get(op.getSlot()), get(op.getMap()),
                              barrierAddress(op.getSignal(), op.getSignalSlot())};
  operands.append({i32(0), coordinate(op.getIndices()[dims[0]]), panelNumber});
  for (int64_t d = last; d-- > 0;)
    if (d != dims[0])
      operands.push_back(coordinate(op.getIndices()[d]));
  std::string place, constraints = "r,l,r";
  for (size_t i = 3; i < operands.size(); ++i) {
    place += (i == 3 ? "$" : ", $") + std::to_string(i);
    constraints += ",r";
  }
  ptxByOne("cp.async.bulk.tensor." + std::to_string(rank + 1) +
               "d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {" + place +
               "}], [$2];",
           constraints, operands);
  return success();
}
