//===- CPUMakeEntries.cpp - cpu-make-entries -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
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

static constexpr llvm::StringLiteral kGrid = tile::TileDialect::kGridAttr,
                                     kSizes = tile::TileDialect::kSizesAttr;
static constexpr llvm::StringLiteral kSuffixes[] = {"_instances", "_run"};

/// Check what the entries of a kernel are made from: it may be written by hand.
static LogicalResult checkKernel(func::FuncOp kernel) {
  auto fail = [&]() { return kernel.emitError() << "kernel @" << kernel.getSymName() << " "; };
  auto grid = kernel->getAttrOfType<AffineMapAttr>(kGrid);
  auto sizes = kernel->getAttrOfType<DenseI64ArrayAttr>(kSizes);
  if (!grid || !sizes || grid.getValue().getNumDims() != 0 ||
      static_cast<int64_t>(2 * grid.getValue().getNumSymbols()) != sizes.size())
    return fail() << "needs " << kGrid << ", an affine map of symbols, and " << kSizes
                  << ", an array<i64> of an argument and a dimension per symbol, got "
                  << kernel->getAttr(kGrid) << " and " << kernel->getAttr(kSizes);
  if (kernel.isDeclaration() || kernel.getNumResults() != 0)
    return fail() << "must have a body and return nothing";
  unsigned numIds = grid.getValue().getNumResults();
  if (kernel.getNumArguments() < numIds + 1)
    return fail() << "takes " << kernel.getNumArguments() << " arguments, expected the " << numIds
                  << " numbers of a work tile and scratch memory last";
  ArrayRef<Type> types = kernel.getArgumentTypes();
  ArrayRef<Type> launch = types.drop_back(numIds + 1);
  for (Type id : types.drop_back().take_back(numIds))
    if (!id.isIndex())
      return fail() << "takes numbers of a work tile as index, got " << id;
  for (int64_t i = 0; i < sizes.size(); i += 2) {
    int64_t argument = sizes[i], dim = sizes[i + 1];
    if (argument < 0 || argument >= static_cast<int64_t>(launch.size()))
      return fail() << "has no argument " << argument << ", which " << kSizes
                    << " names: expected 0 to " << static_cast<int64_t>(launch.size()) - 1;
    auto view = dyn_cast<MemRefType>(launch[argument]);
    if (!view || dim < 0 || dim >= view.getRank())
      return fail() << "has no dimension " << dim << " in argument " << argument << " of type "
                    << launch[argument] << ", which " << kSizes << " names";
  }
  for (StringRef suffix : kSuffixes)
    if (Operation *other = SymbolTable::lookupSymbolIn(kernel->getParentOp(),
                                                       (kernel.getSymName() + suffix).str())) {
      InFlightDiagnostic error = fail() << "gets an entry @" << kernel.getSymName() << suffix
                                        << ", whose name is taken; rename one of the functions";
      error.attachNote(other->getLoc()) << "it is taken here";
      return error;
    }
  return success();
}

/// Compute the extents of the grid, from the sizes of the views.
static SmallVector<Value> createExtents(OpBuilder &b, Location loc, func::FuncOp kernel,
                                        ValueRange arguments) {
  auto map = kernel->getAttrOfType<AffineMapAttr>(kGrid).getValue();
  ArrayRef<int64_t> sizes = kernel->getAttrOfType<DenseI64ArrayAttr>(kSizes);
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
  unsigned numIds = kernel->getAttrOfType<AffineMapAttr>(kGrid).getValue().getNumResults();
  TypeRange types = kernel.getArgumentTypes();
  TypeRange launch = types.drop_back(numIds + 1);

  func::FuncOp instances = createEntry(b, kernel, kSuffixes[0], launch, index);
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
  func::FuncOp run = createEntry(b, kernel, kSuffixes[1], inputs, {});
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
    auto kernels = llvm::filter_to_vector(getOperation().getOps<func::FuncOp>(),
                                          [](func::FuncOp func) { return func->hasAttr(kGrid); });
    for (func::FuncOp kernel : kernels)
      if (failed(checkKernel(kernel)))
        return signalPassFailure();
    for (func::FuncOp kernel : kernels)
      makeEntries(kernel);
  }
};
} // namespace
