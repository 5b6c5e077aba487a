//===- Sampling.h - random inputs for an entry -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What an entry computes on is drawn here for tests, checks and benches: the
// same sizes and seed give the same tensors. docs/semantics.md says which
// argument gets which sizes (`fa.dims`) and values (`fa.kind`).
//
//===----------------------------------------------------------------------===//

#ifndef FA_REFERENCE_SAMPLING_H
#define FA_REFERENCE_SAMPLING_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace mlir::fa {

/// The sizes of one attention; what is absent is taken from the types.
struct AttentionSizes {
  std::optional<int64_t> batch, queryHeads, keyHeads, queryLength, keyLength;
};

/// Give the probability of dropout where an entry has it.
inline constexpr double kSampleDropoutP = 0.1;
inline constexpr int64_t kSampleDropoutSeed = 0x123456789abcdef0;
inline constexpr int64_t kSampleDropoutOffset = 0x100000003;

/// All inputs of an entry together may take this many bytes.
inline constexpr int64_t kMaxSampleBytes = int64_t(64) << 30;

/// Return the one fa.attention of an entry.
llvm::Expected<AttentionOp> attentionOf(func::FuncOp entry);

/// Return the shape of every argument of an entry (empty for scalars).
llvm::Expected<std::vector<std::vector<int64_t>>> argumentShapes(func::FuncOp entry,
                                                                 const AttentionSizes &sizes);

/// Draw a tensor for every argument of an entry, in order, named by `fa.name`.
llvm::Expected<std::vector<HostTensor>> sampleInputs(func::FuncOp entry,
                                                     const AttentionSizes &sizes, uint64_t seed);

/// Draw what flows back into an attention on a query and a value: dO, named "do", in their dtype,
/// and dLSE, named "dlse", in f32. They are N(0,1), and other numbers than the inputs of the seed.
std::pair<HostTensor, HostTensor> sampleOutputAdjoints(const HostTensor &query,
                                                       const HostTensor &value, uint64_t seed);

} // namespace mlir::fa

#endif // FA_REFERENCE_SAMPLING_H
