//===- FADialect.cpp - registration of the fa dialect -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

#include "fa/Dialect/FA/IR/FADialect.cpp.inc"
#include "fa/Dialect/FA/IR/FAEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/FA/IR/FAAttrs.cpp.inc"

void FADialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "fa/Dialect/FA/IR/FAOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa/Dialect/FA/IR/FAAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attributes of arguments and of other ops
//===----------------------------------------------------------------------===//

namespace {

/// An argument or a result of a function, as errors call it.
struct Place {
  Operation *function;
  StringRef what;
  unsigned number;
  Type type;

  InFlightDiagnostic error(StringRef attribute) const {
    return function->emitError() << attribute << " of " << what << " " << number << " ";
  }
};

} // namespace

/// Return whether manifests, files and messages can hold a name.
static bool isPrintable(Attribute name) {
  auto text = dyn_cast<StringAttr>(name);
  return text && text.size() < 1000 && llvm::all_of(text.getValue(), llvm::isPrint);
}

static LogicalResult verifyName(const Place &place, Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  if (!name)
    return place.error(FADialect::kNameAttr) << "must be a string, got " << value;
  if (!isPrintable(name))
    return place.error(FADialect::kNameAttr)
           << "must be at most 999 printable characters of ASCII, got " << value << "; rename it";
  return success();
}

static LogicalResult verifyDims(const Place &place, Attribute value) {
  auto tensor = dyn_cast<RankedTensorType>(place.type);
  if (!tensor)
    return place.error(FADialect::kDimsAttr)
           << "is for tensors, got " << place.type << "; remove it";
  auto list = dyn_cast<ArrayAttr>(value);
  if (!list || static_cast<int64_t>(list.size()) != tensor.getRank() ||
      !llvm::all_of(list, isPrintable))
    return place.error(FADialect::kDimsAttr)
           << "must be " << tensor.getRank()
           << " strings, one for each dimension, such as \"Sq\", got " << value;
  return success();
}

static LogicalResult verifyKind(const Place &place, Attribute value) {
  auto kind = dyn_cast<StringAttr>(value);
  if (!kind || !llvm::is_contained({"ids", "lengths", "starts", "flags"}, kind.getValue()))
    return place.error(FADialect::kKindAttr)
           << "must be \"ids\", \"lengths\", \"starts\" or \"flags\", got " << value;
  if (Type element = getElementTypeOrSelf(place.type); !element.isIntOrIndex())
    return place.error(FADialect::kKindAttr) << "takes integers, got " << element << "; remove it";
  return success();
}

/// Return the type of an argument or result, null where there is none.
static Type typeAt(ArrayRef<Type> types, unsigned number) {
  return number < types.size() ? types[number] : Type();
}

LogicalResult FADialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned number,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? typeAt(function.getArgumentTypes(), number) : Type();
  Place place{op, "argument", number, type};
  if (type && attribute.getName() == kNameAttr)
    return verifyName(place, attribute.getValue());
  if (type && attribute.getName() == kDimsAttr)
    return verifyDims(place, attribute.getValue());
  if (type && attribute.getName() == kKindAttr)
    return verifyKind(place, attribute.getValue());
  return op->emitError() << "argument " << number << " has the unknown attribute "
                         << attribute.getName() << ": expected " << kNameAttr << ", " << kDimsAttr
                         << " or " << kKindAttr << "; remove it";
}

LogicalResult FADialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned number,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? typeAt(function.getResultTypes(), number) : Type();
  Place place{op, "result", number, type};
  if (type && attribute.getName() == kNameAttr)
    return verifyName(place, attribute.getValue());
  if (type && attribute.getName() == kDimsAttr)
    return verifyDims(place, attribute.getValue());
  return op->emitError() << "result " << number << " has the unknown attribute "
                         << attribute.getName() << ": expected " << kNameAttr << " or " << kDimsAttr
                         << "; remove it";
}

LogicalResult FADialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  struct {
    StringRef name;
    bool stands;
  } const known[] = {{kTilesAttr, isa<FunctionOpInterface, MapBlocksOp>(op)},
                     {kSizesAttr, isa<MapBlocksOp, SumOp>(op)},
                     {kDivisorsAttr, isa<MapBlocksOp>(op)},
                     {kDisjointAttr, isa<MapBlocksOp>(op)},
                     {kPlacesAttr, isa<MapBlocksOp>(op)},
                     {kRangesAttr, isa<MapBlocksOp>(op)},
                     {kFallbackAttr, isa<scf::IfOp>(op)},
                     {kBandAttr, isa<scf::ForOp, MapBlocksOp>(op)}};
  StringRef expected;
  for (auto [name, stands] : known) {
    if (stands && name == kDisjointAttr && attribute.getName() == name &&
        !isa<StringAttr>(attribute.getValue()))
      return op->emitError() << name << " must be the name of a kernel, got "
                             << attribute.getValue();
    if (stands && attribute.getName() == name)
      return name == kTilesAttr ? verifyTiles(op, attribute.getValue()) : success();
    if (stands)
      expected = name;
  }
  InFlightDiagnostic error = op->emitError()
                             << "'" << op->getName() << "' has the unknown attribute "
                             << attribute.getName();
  if (!expected.empty())
    error << ": expected " << expected;
  return error << "; remove it";
}
