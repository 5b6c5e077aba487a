//===- Remarks.h - what passes decided, and why -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass says each decision by a remark of MLIR's engine, with its reason and
// metric; the text is made only where `--remarks` of a tool asks for it:
//
//   remarkPassed(*this, ring.getLoc(), "stages")
//       << fa::decision("ring of {0}", describeTile(type)) << remark::metric("stages", 3)
//       << remark::reason("{0} bytes fit", bytes);
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_REMARKS_H
#define FA_SUPPORT_REMARKS_H

#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::fa {

/// Begin a remark on what `pass` did; `decision` names the kind of decision.
inline remark::detail::InFlightRemark remarkPassed(const Pass &pass, Location loc,
                                                   StringRef decision) {
  return remark::passed(loc, remark::RemarkOpts::name(decision).category(pass.getArgument()));
}

/// Begin a remark on what `pass` would have done, and why it did not.
inline remark::detail::InFlightRemark remarkMissed(const Pass &pass, Location loc,
                                                   StringRef decision) {
  return remark::missed(loc, remark::RemarkOpts::name(decision).category(pass.getArgument()));
}

/// Say what was decided. Arguments of a remark are printed in the order of their keys: this
/// one comes before `Reason`, and both before metrics, whose keys begin in lower case.
template <class... Ts> inline remark::detail::LazyTextBuild decision(const char *fmt, Ts &&...ts) {
  return {"Decision", [=] { return llvm::formatv(fmt, ts...).str(); }};
}

} // namespace mlir::fa

#endif // FA_SUPPORT_REMARKS_H
