//===- ValueNames.h - names of values in printed IR -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A name is a location (NameLoc) round that of the value. Passes that keep
// locations keep names; `--mlir-use-nameloc-as-prefix`, which fa-opt --target
// sets, prints them: %scores for %45.
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_VALUENAMES_H
#define FA_SUPPORT_VALUENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

namespace mlir::fa {

/// Return `loc` without a name, for what is computed on the way to a named value.
inline Location unnamed(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getChildLoc() : loc;
}

/// Return `loc` with a name in place of the one that it has.
inline Location named(Location loc, const Twine &name) {
  return NameLoc::get(StringAttr::get(loc.getContext(), name), unnamed(loc));
}

/// Give a value a name, and return it.
inline Value named(Value value, const Twine &name) {
  value.setLoc(named(value.getLoc(), name));
  return value;
}

/// Give a value the name that a location has, if any, and return it: the value replaces the one of
/// that location.
inline Value namedAs(Value value, Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    named(value, name.getName().getValue());
  return value;
}

/// Return the name that a location has, or `otherwise`.
inline StringRef nameOf(Location loc, StringRef otherwise) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getName().getValue() : otherwise;
}

} // namespace mlir::fa

#endif // FA_SUPPORT_VALUENAMES_H
