//===- Instructions.cpp - which thread holds what in an instruction -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Instructions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir::tile;

Layout Fragment::tiled(int64_t tileRows, int64_t tileColumns, int64_t warps, int64_t run,
                       int64_t beside) const {
  int64_t groups = warps / extentOf(warp), down = std::min(groups / beside, tileRows / rows);
  int64_t band = rows * down;
  beside = groups / down;
  if (!run)
    run = tileColumns;
  bool shared = run < tileColumns;
  Modes tiledReg = reg, tiledWarp = warp;
  tiledReg.push_back({run / columns, {0, columns}});
  tiledReg.push_back({shared ? tileColumns / (run * beside) : 1, {0, run * beside}});
  tiledReg.push_back({tileRows / band, {band, 0}});
  tiledWarp.push_back({down, {rows, 0}});
  tiledWarp.push_back({beside, {0, shared ? run : 0}});
  return Layout(2, tiledReg, lane, tiledWarp);
}

/// The columns of two instructions, which one ldmatrix serves.
static constexpr int64_t kTurn = 16;

int64_t mlir::tile::panelOf(int64_t rowBytes) {
  constexpr int64_t kNarrowest = 32;
  int64_t width = kWidestPanel;
  while (width > kNarrowest && llvm::alignTo(rowBytes, width) > llvm::alignTo(rowBytes, kNarrowest))
    width /= 2;
  return width;
}

int64_t mlir::tile::runOfShare(int64_t columns, int64_t beside, int64_t bytes) {
  if (columns % (beside * kTurn) != 0)
    return 0;
  int64_t share = columns / beside;
  if (share * bytes % kWidestPanel == 0 || llvm::isPowerOf2_64(share * bytes))
    return share;
  return llvm::isPowerOf2_64(beside * kTurn * bytes) ? kTurn : 0;
}

int64_t mlir::tile::columnsToShare(int64_t beside, int64_t bytes) {
  int64_t turns = beside * kTurn;
  return llvm::isPowerOf2_64(turns * bytes) ? turns : beside * kWidestPanel / bytes;
}

/// Lanes of four to a row, two columns each: what most fragments have.
static const Modes kQuads = {{4, {0, 2}}, {8, {1, 0}}};

llvm::ArrayRef<ProductInstruction> mlir::tile::productInstructions() {
  static const Modes accReg = {{2, {0, 1}}, {2, {8, 0}}};
  static const Modes aReg16 = {{2, {0, 1}}, {2, {8, 0}}, {2, {0, 8}}};
  static const Modes fourWarps = {{kWarpsOfGroup, {kRowsOfWarp, 0}}};
  static const ProductInstruction table[] = {
      {"mma.sync.m16n8k16", 16, 16, 8, 16, 1,
       /*a=*/{16, 16, aReg16, kQuads, {}},
       /*acc=*/{16, 8, accReg, kQuads, {}},
       /*b=*/{16, 8, {{2, {1, 0}}, {2, {8, 0}}}, {{4, {2, 0}}, {8, {0, 1}}}, {}}},
      {"mma.sync.m16n8k8.tf32", 32, 16, 8, 8, 1,
       /*a=*/{16, 8, {{2, {8, 0}}, {2, {0, 4}}}, {{4, {0, 1}}, {8, {1, 0}}}, {}},
       /*acc=*/{16, 8, accReg, kQuads, {}},
       /*b=*/{8, 8, {{2, {4, 0}}}, {{4, {1, 0}}, {8, {0, 1}}}, {}}},
      // The same instruction with k in the order 0, 2, 4, 6, 1, 3, 5, 7, in
      // which a thread's part of a is what it holds of an accumulator.
      {"mma.sync.m16n8k8.tf32.paired", 32, 16, 8, 8, 1,
       /*a=*/{16, 8, {{2, {8, 0}}, {2, {0, 1}}}, kQuads, {}},
       /*acc=*/{16, 8, accReg, kQuads, {}},
       /*b=*/{8, 8, {{2, {1, 0}}}, {{4, {2, 0}}, {8, {0, 1}}}, {}}},
      // n is any multiple of 8 up to 256: columns repeat like those of a tile.
      {"wgmma.m64k16", 16, 64, 8, 16, 4,
       /*a=*/{64, 16, aReg16, kQuads, fourWarps},
       /*acc=*/{64, 8, accReg, kQuads, fourWarps},
       /*b=*/{}},
  };
  return table;
}

llvm::ArrayRef<MatrixInstruction> mlir::tile::matrixInstructions() {
  auto tile = [](int64_t count, bool transposes) -> Fragment {
    Modes stacked = {{2, {transposes, !transposes}}, {count, {8, 0}}};
    return {8 * count, 8, stacked, transposes ? Modes{{4, {2, 0}}, {8, {0, 1}}} : kQuads, {}};
  };
  static const MatrixInstruction table[] = {
      {"ldmatrix.x1", 1, false, tile(1, false)}, {"ldmatrix.x1.trans", 1, true, tile(1, true)},
      {"ldmatrix.x2", 2, false, tile(2, false)}, {"ldmatrix.x2.trans", 2, true, tile(2, true)},
      {"ldmatrix.x4", 4, false, tile(4, false)}, {"ldmatrix.x4.trans", 4, true, tile(4, true)},
      {"stmatrix.x1", 1, false, tile(1, false)}, {"stmatrix.x1.trans", 1, true, tile(1, true)},
      {"stmatrix.x2", 2, false, tile(2, false)}, {"stmatrix.x2.trans", 2, true, tile(2, true)},
      {"stmatrix.x4", 4, false, tile(4, false)}, {"stmatrix.x4.trans", 4, true, tile(4, true)},
  };
  return table;
}

/// Round down to eights, in which registers are given out.
static int64_t roundRegisters(int64_t registers) { return registers / 8 * 8; }

int64_t mlir::tile::launchRegisters(int64_t warps, int64_t blocks) {
  constexpr int64_t kOfSM = 64 * 1024, kMost = 256;
  return std::min(roundRegisters(kOfSM / (Layout::kLanes * warps * blocks)), kMost);
}

int64_t mlir::tile::shareMemory(int64_t alone, int64_t blocks) {
  return (alone + kSharedOfSystem) / blocks - kSharedOfSystem;
}

RoleRegisters mlir::tile::shareRegisters(int64_t consumerGroups, int64_t producerGroups,
                                         int64_t blocks) {
  constexpr int64_t kMost = 240;
  int64_t groups = consumerGroups + producerGroups;
  int64_t pool = launchRegisters(kWarpsOfGroup * groups, blocks) * groups;
  int64_t consumer = std::min(
      kMost, roundRegisters((pool - producerGroups * kProducerRegisters) / consumerGroups));
  // What does not go round stays with producers, unless consumers have all that they can take.
  int64_t rest = roundRegisters((pool - consumerGroups * consumer) / producerGroups);
  return {consumer == kMost ? kProducerRegisters : rest, consumer};
}

const ProductInstruction *mlir::tile::findProductInstruction(llvm::StringRef name) {
  for (const ProductInstruction &instruction : productInstructions())
    if (instruction.name == name)
      return &instruction;
  return nullptr;
}
