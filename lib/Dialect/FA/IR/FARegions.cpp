//===- FARegions.cpp - what regions hold, and on which tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FARegions.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

LogicalResult fa::verifyCaptures(Operation *op, TypeRange captures, StringRef rule) {
  for (Type type : captures) {
    Type element = isa<RankedTensorType>(type) ? getElementTypeOrSelf(type) : type;
    if (!element.isIntOrIndexOrFloat())
      return op->emitOpError() << "(" << rule
                               << ") a capture is a scalar or a ranked tensor of integers, "
                                  "index or floats, got "
                               << type;
  }
  return success();
}

LogicalResult fa::verifyDropout(Operation *op, TypeRange operands, StringRef rule) {
  auto isBits = [](Type type) {
    return type.isInteger(64) ||
           type == RankedTensorType::get({1}, IntegerType::get(type.getContext(), 64));
  };
  if (operands.empty() || (operands.size() == 3 && operands[0].isF32() && isBits(operands[1]) &&
                           operands[1] == operands[2]))
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "(" << rule
                             << ") dropout takes p : f32, seed and offset : i64, or both of "
                                "tensor<1xi64>, got ";
  llvm::interleaveComma(operands, error);
  return error;
}

/// Return what regions compute with instead of this type, null where it is one of that.
static const char *getInstead(Type type) {
  if (isa<FloatType>(type) && !type.isF16() && !type.isBF16() && !type.isF32() && !type.isF64())
    return "f16, bf16, f32 or f64";
  if (auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() > 64)
    return "integers of 64 bits at most";
  return nullptr;
}

LogicalResult fa::verifyScalarOps(Operation *op, Region &region, StringRef rule, StringRef name) {
  StringRef here = isa<AttentionOp>(op) ? "the attention is here" : "the region is of this op";
  WalkResult result = region.walk([&](Operation *inner) {
    bool known = isa<tensor::ExtractOp, scf::IfOp, scf::YieldOp, YieldOp>(inner) ||
                 (inner->getDialect() && llvm::is_contained({"arith", "math", "index"},
                                                            inner->getDialect()->getNamespace()));
    bool scalars =
        llvm::all_of(inner->getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
    if (known && scalars) {
      if (inner->getNumResults() > 1 && !isa<scf::IfOp>(inner)) {
        InFlightDiagnostic error = inner->emitError()
                                   << "(" << rule << ") '" << inner->getName() << "' has "
                                   << inner->getNumResults() << " results in a " << name
                                   << " region; compute each by an op of one";
        error.attachNote(op->getLoc()) << here;
        return WalkResult::interrupt();
      }
      auto rounding = dyn_cast<arith::ArithRoundingModeInterface>(inner);
      if (rounding && rounding.getRoundingModeAttr()) {
        InFlightDiagnostic error = inner->emitError()
                                   << "(" << rule << ") '" << inner->getName()
                                   << "' has a rounding mode in a " << name
                                   << " region; leave it out: numbers are rounded to the nearest "
                                      "one, halves to even";
        error.attachNote(op->getLoc()) << here;
        return WalkResult::interrupt();
      }
      // Operands are results of other ops, or arguments; a tensor's are its elements.
      for (TypeRange types :
           {TypeRange(inner->getOperandTypes()), TypeRange(inner->getResultTypes())})
        for (Type type : types)
          if (const char *instead = getInstead(getElementTypeOrSelf(type))) {
            InFlightDiagnostic error = inner->emitError()
                                       << "(" << rule << ") '" << inner->getName()
                                       << "' computes with " << getElementTypeOrSelf(type)
                                       << " in a " << name << " region; use " << instead;
            error.attachNote(op->getLoc()) << here;
            return WalkResult::interrupt();
          }
      return WalkResult::advance();
    }
    InFlightDiagnostic error =
        inner->emitError() << "(" << rule << ") '" << inner->getName() << "' "
                           << (known ? "must yield scalars in a " : "cannot stand in a ") << name
                           << " region; use scalar ops of arith, math and index, tensor.extract "
                              "and scf.if";
    error.attachNote(op->getLoc()) << here;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Regions on tiles
//===----------------------------------------------------------------------===//

LogicalResult AxesAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  int64_t unknown = llvm::count_if(shape, ShapedType::isDynamic);
  if (unknown != static_cast<int64_t>(getAxes().size()))
    return emitError() << "#fa.axes must have an axis for each unknown size, got "
                       << getAxes().size() << " for " << unknown;
  return success();
}

LogicalResult ApplyMaskOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  llvm::append_range(types, adaptor.getInputs().getTypes());
  return success();
}

/// (C1): return whether the types are tiles of pairs of one shape, along the axes that the op says.
static bool arePairs(TypeRange types, bool transposed) {
  Axis rowsFirst[] = {Axis::rows, Axis::keys}, keysFirst[] = {Axis::keys, Axis::rows};
  return llvm::all_of(types, [&](Type type) {
    auto tile = cast<RankedTensorType>(type), first = cast<RankedTensorType>(types.front());
    auto axes = dyn_cast_or_null<AxesAttr>(tile.getEncoding());
    bool known = axes ? axes.getAxes() == ArrayRef(transposed ? keysFirst : rowsFirst)
                      : tile.hasStaticShape() && !tile.getEncoding();
    return tile.getRank() == 2 && known && tile.getShape() == first.getShape();
  });
}

/// (C2): return whether the region takes an element of each input, the positions and the
/// captures, and yields `results`.
static bool takesElements(Region &region, TypeRange inputs, TypeRange captures,
                          ArrayRef<Type> results) {
  if (!region.hasOneBlock() || region.front().empty())
    return false;
  SmallVector<Type> types;
  for (Type input : inputs)
    types.push_back(getElementTypeOrSelf(input));
  types.append(AttentionOp::kNumPositionArgs, IndexType::get(region.getContext()));
  llvm::append_range(types, captures);
  auto yield = dyn_cast<YieldOp>(region.front().back());
  return region.getArgumentTypes() == TypeRange(types) && yield &&
         yield.getOperandTypes() == TypeRange(results);
}

LogicalResult ApplyMaskOp::verify() {
  TypeRange types = getInputs().getTypes();
  bool f32 = llvm::all_of(types, [](Type type) { return getElementTypeOrSelf(type).isF32(); });
  if (types.empty() || !arePairs(types, getTransposed()) || !f32)
    return emitOpError() << "(apply_mask_c1) the inputs must be f32 tiles of one shape, of rows by "
                            "keys, or of keys by rows with `transposed`, got ("
                         << types << ")";
  return success();
}

LogicalResult ApplyMaskOp::verifyRegions() {
  if (!getBody().empty() &&
      !takesElements(getBody(), {}, getCaptures().getTypes(), {IntegerType::get(getContext(), 1)}))
    return emitOpError("(apply_mask_c2) the region is empty, or takes b, h, i, j, sq, sk, all "
                       "index, and the captures, and yields one i1");
  return success();
}

LogicalResult ApplyOp::verify() {
  SmallVector<Type> types = llvm::to_vector_of<Type>(getInputs().getTypes());
  llvm::append_range(types, getResultTypes());
  if (getNumResults() == 0 || !arePairs(types, getTransposed()))
    return emitOpError() << "(apply_c1) inputs and results, one at least, must be tiles of one "
                            "shape, of rows by keys, or of keys by rows with `transposed`, got ("
                         << TypeRange(types) << ")";
  return success();
}

LogicalResult ApplyOp::verifyRegions() {
  SmallVector<Type> elements;
  for (Type type : getResultTypes())
    elements.push_back(getElementTypeOrSelf(type));
  if (!takesElements(getBody(), getInputs().getTypes(), getCaptures().getTypes(), elements))
    return emitOpError("(apply_c2) the region takes an element of each input, then b, h, i, j, sq, "
                       "sk, all index, and the captures, and yields an element of each result");
  return success();
}
