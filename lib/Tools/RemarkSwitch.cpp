//===- RemarkSwitch.cpp - --remarks -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/RemarkSwitch.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

llvm::Expected<std::string> fa::remarkFilter(StringRef passes) {
  SmallVector<StringRef> names;
  passes.split(names, ',', -1, /*KeepEmpty=*/false);
  if (names.empty())
    return ".*";
  for (StringRef name : names)
    if (!PassInfo::lookup(name))
      return llvm::createStringError("--remarks: there is no pass '" + name +
                                     "'; fa-opt --list-passes names them");
  return "^(" + llvm::join(names, "|") + ")$";
}

LogicalResult fa::enableRemarks(MLIRContext &context, StringRef filter) {
  remark::RemarkCategories categories;
  // A kind without a filter of its own is off, whatever `all` says.
  categories.all = filter.str();
  categories.passed = categories.missed = categories.analysis = categories.failed = "";
  return remark::enableOptimizationRemarks(context, nullptr,
                                           std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                           categories, /*printAsEmitRemarks=*/true);
}

bool fa::printRemark(raw_ostream &os, const Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
    return false;
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    os << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn()
       << ": ";
  os << "remark: " << diagnostic << "\n";
  return true;
}
