//===- Passes.td - passes that check phases -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_PASSES_TD
#define FA_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def FAVerifyPhase : Pass<"fa-verify-phase", "::mlir::ModuleOp"> {
  let summary = "check what holds at the end of a phase";
  let description = [{
    What: checks the invariants of the phase named by the option:

    - `input`: every function is an entry: public, with a body that holds one
      `fa.attention`, constants and the return; every argument has a distinct
      name and is used, every capture is read by the mask or the score.
    - `grad`: every function is such an entry, or one of gradients, of which there is one at least: it
      holds `fa.map_blocks`, `fa.pairwise`, constants and the return.
    - `algorithm`: no `fa` op but `fa.map_blocks` and `fa.yield` is left, tiles are chosen.
    - `tile`: the module holds `tile.func`s only, all tiles have static shapes.

    Requires: nothing. Ensures: the IR is unchanged.

    Numerics: exact.

    Example (`test/Pipelines/verify-phase.mlir`):

    ```mlir
    // error: an entry holds one fa.attention; 'tensor.empty' cannot stand beside it
    ```
  }];
  let options = [Option<"phase", "phase", "std::string", "\"input\"", "the phase to check">];
}

#endif // FA_PIPELINES_PASSES_TD
