//===- Scheduler.h - steps the agents of one work tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_SCHEDULER_H
#define FA_LIB_TARGET_INTERPRETER_SCHEDULER_H

#include "Agent.h"

namespace mlir::fa::interpreter {

/// Runs all agents to their end, in an order that the work tile's seed chooses.
LogicalResult runWorkTile(WorkTile &workTile);

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_SCHEDULER_H
