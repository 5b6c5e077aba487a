//===- Plot.h - the roofline of a machine, as a picture ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_PLOT_H
#define FA_TOOLS_PLOT_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mlir::fa {

/// Describe a picture of operations a second over operations a byte.
struct Roofline {
  struct Point {
    std::string name;
    /// Operations a byte, and a second; points of which one is 0 are left out.
    double intensity, rate;
    /// Drawn full, else as a ring.
    bool measured;
  };
  std::string title;
  /// Operations and bytes a second.
  double peak, bandwidth;
  std::vector<Point> points;
};

/// Draw the picture as SVG, with logarithmic axes.
std::string drawRoofline(const Roofline &roofline);

} // namespace mlir::fa

#endif // FA_TOOLS_PLOT_H
