//===- ExpandMath.h - clampf and classes as compares, on every target -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_EXPANDMATH_H
#define FA_TARGET_EXPANDMATH_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace mlir::fa {

/// math.clampf, isinf and isnormal: no conversion of upstream lowers them.
void populateExpandMathPatterns(RewritePatternSet &patterns);

} // namespace mlir::fa

#endif // FA_TARGET_EXPANDMATH_H
