//===- Report.h - what a program costs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_REPORT_H
#define FA_TARGET_REPORT_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::fa {

/// Prints the kernels, tiles and buffers of the tile programs of a module. With
/// a shape, "B,Hq,Hk,Sq,Sk", also bytes of every buffer and how they grow with
/// the length: from the program's own buffers, evaluated at twice the lengths.
LogicalResult printReport(raw_ostream &os, ModuleOp module, StringRef shape);

} // namespace mlir::fa

#endif // FA_TARGET_REPORT_H
