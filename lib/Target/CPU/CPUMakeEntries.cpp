//===- CPUMakeEntries.cpp - cpu-make-entries -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CPUMAKEENTRIES
#include "fa/Target/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

/// The extents of the grid, from the sizes of the views.
static SmallVector<Value> createExtents(OpBuilder &b, Location loc, func::FuncOp kernel,
                                        ValueRange arguments) {
  auto map = kernel->getAttrOfType<AffineMapAttr>("tile.grid").getValue();
  ArrayRef<int64_t> sizes = kernel->getAttrOfType<DenseI64ArrayAttr>("tile.sizes");
  SmallVector<Value> symbols, extents;
  for (size_t i = 0; i < sizes.size(); i += 2)
    symbols.push_back(memref::DimOp::create(b, loc, arguments[sizes[i]], sizes[i + 1]));
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    extents.push_back(affine::AffineApplyOp::create(b, loc, map.getSubMap({i}), symbols));
  return extents;
}

static func::FuncOp createEntry(OpBuilder &b, func::FuncOp kernel, StringRef suffix,
                                TypeRange inputs, TypeRange results) {
  auto entry = func::FuncOp::create(b, kernel.getLoc(), (kernel.getName() + suffix).str(),
                                    b.getFunctionType(inputs, results));
  entry->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(), b.getUnitAttr());
  entry.addEntryBlock();
  return entry;
}

static void makeEntries(func::FuncOp kernel) {
  OpBuilder b(kernel);
  Location loc = kernel.getLoc();
  Type index = b.getIndexType();
  unsigned numIds = kernel->getAttrOfType<AffineMapAttr>("tile.grid").getValue().getNumResults();
  TypeRange types = kernel.getArgumentTypes();
  TypeRange launch = types.drop_back(numIds + 1);

  func::FuncOp instances = createEntry(b, kernel, "_instances", launch, index);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&instances.getBody().front());
    Value count = arith::ConstantIndexOp::create(b, loc, 1);
    for (Value extent : createExtents(b, loc, kernel, instances.getArguments()))
      count = arith::MulIOp::create(b, loc, count, extent);
    func::ReturnOp::create(b, loc, count);
  }

  SmallVector<Type> inputs(launch);
  inputs.append({index, index, types.back()});
  func::FuncOp run = createEntry(b, kernel, "_run", inputs, {});
  b.setInsertionPointToEnd(&run.getBody().front());
  ValueRange arguments = run.getArguments();
  ValueRange launchArguments = arguments.take_front(launch.size());
  SmallVector<Value> extents = createExtents(b, loc, kernel, launchArguments);
  Value step = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop =
      scf::ForOp::create(b, loc, arguments[launch.size()], arguments[launch.size() + 1], step);
  func::ReturnOp::create(b, loc);

  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> operands(launchArguments), ids(numIds);
  Value rest = loop.getInductionVar();
  for (unsigned i = numIds; i-- > 0;) {
    ids[i] = i ? arith::RemUIOp::create(b, loc, rest, extents[i]).getResult() : rest;
    if (i)
      rest = arith::DivUIOp::create(b, loc, rest, extents[i]);
  }
  llvm::append_range(operands, ids);
  operands.push_back(arguments.back());
  func::CallOp::create(b, loc, kernel, operands);
  kernel.setPrivate();
}

namespace {
struct CPUMakeEntries : fa::impl::CPUMakeEntriesBase<CPUMakeEntries> {
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (func->hasAttr("tile.grid"))
        makeEntries(func);
  }
};
} // namespace
