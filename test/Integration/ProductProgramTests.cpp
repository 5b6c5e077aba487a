//===- ProductProgramTests.cpp - random loops of products, scheduled -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tile programs whose loop has 2 to 7 products, with arithmetic between them, sums that the loop
// carries and tiles that several products read. Each is scheduled for sm_90a, where products are
// asynchronous, and interpreted, which finds what is read too early or overwritten; the results
// have the bits of the program that is not scheduled. FA_PRODUCT_SEED=17 runs seed 17 alone.
//
//===----------------------------------------------------------------------===//

#include "../Fuzz/Random.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Tools/Interpretation.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {

constexpr int kPrograms = 300, kGroups = 10;
constexpr int64_t kRows = 150, kKeys = 200, kColumns = 32;

/// Writes a program.
class LoopWriter {
public:
  explicit LoopWriter(uint64_t seed) : random(seed) {}
  std::string write(int products);

  /// Tensors by rows, by keys, and results.
  int rows = 0, keys = 0, sums = 0;

private:
  std::string define(const std::string &text) {
    std::string name = "%v" + std::to_string(next++);
    body += "    " + name + " = " + text + "\n";
    return name;
  }
  std::string keyTile();
  std::string compute();
  /// Let the loop carry a sum, which is `%sN` in it, and yield this.
  void carry(const std::string &value) {
    yields += (sums ? ", " : "") + value;
    ++sums;
  }

  fa_fuzz::Random random;
  std::string body, yields;
  std::vector<std::string> values, tiles;
  int next = 0;
};

class ProductPrograms : public testing::TestWithParam<int> {};

} // namespace

static const char kTile[] = "tensor<128x32xf32>", kLow[] = "tensor<128x32xf16>",
                  kSmall[] = "tensor<32x32xf16>", kView[] = "!tile.view<?x32xf16>";

/// Return a tile of keys, maybe one that another product reads.
std::string LoopWriter::keyTile() {
  if (!tiles.empty() && random.percent(40))
    return random.pick(tiles);
  tiles.push_back(define("tile.load %k" + std::to_string(keys++) +
                         "[%j, %c0] dims [0, 1] : " + kView + " -> " + kSmall));
  return tiles.back();
}

/// Return arithmetic on one or two values, whose results are no larger than they.
std::string LoopWriter::compute() {
  std::string x = random.pick(values), y = random.pick(values);
  std::string type = std::string(" : ") + kTile;
  std::string small = define("arith.mulf " + x + ", %small" + type);
  if (x == y)
    return random.percent(50) ? define("math.exp2 " + small + type) : small;
  return define((random.percent(50) ? "arith.subf " : "arith.mulf ") + small + ", " +
                (random.percent(50) ? define("arith.mulf " + y + ", %small" + type) : small) +
                type);
}

std::string LoopWriter::write(int products) {
  auto types = [](const std::string &a) {
    return " : " + a + ", " + std::string(kSmall) + ", " + kTile;
  };
  for (int n = 0; n < products; ++n) {
    if (values.empty() || random.percent(33)) {
      std::string row = "%rt" + std::to_string(rows > 1 && random.percent(50) ? 0 : rows++);
      values.push_back(
          define("tile.dot " + row + ", " + keyTile() + ", %zeros transpose_b" + types(kLow)));
      continue;
    }
    std::string value = compute();
    std::string low = define("arith.truncf " + value + " : " + kTile + " to " + kLow);
    std::string tile = keyTile();
    if (random.percent(50)) {
      carry(define("tile.dot " + low + ", " + tile + ", %s" + std::to_string(sums) + types(kLow)));
    } else {
      values.push_back(define("tile.dot " + low + ", " + tile + ", %zeros" + types(kLow)));
    }
    values.push_back(value);
  }
  // All that was computed counts.
  std::string all = "%s" + std::to_string(sums);
  for (const std::string &value : values)
    all = define("arith.addf " + all + ", " + value + " : " + kTile);
  carry(all);

  std::string text = "tile.func @loop(", loads, carried, carriedTypes, stores;
  auto argument = [&](const std::string &name, const char *element, const char *size, bool output) {
    text += "%" + name + ": !tile.view<?x32x" + element + "> {tile.name = \"" + name +
            "\", tile.dims = [\"" + size + "\", \"D\"]" + (output ? ", tile.output" : "") +
            ", tile.align = 16 : i64},\n    ";
  };
  for (int n = 0; n < rows; ++n) {
    std::string number = std::to_string(n);
    argument("r" + number, "f16", "M", false);
    loads += "  %rt" + number + " = tile.load %r" + number + "[%i, %c0] dims [0, 1] : " + kView +
             " -> " + kLow + "\n";
  }
  for (int n = 0; n < keys; ++n)
    argument("k" + std::to_string(n), "f16", "N", false);
  for (int n = 0; n < sums; ++n) {
    std::string number = std::to_string(n);
    argument("o" + number, "f32", "M", true);
    carried += std::string(n ? ", " : "") + "%s" + number + " = %zeros";
    carriedTypes += std::string(n ? ", " : "") + kTile;
    stores += "  tile.store %all#" + number + ", %o" + number + "[%i, %c0] dims [0, 1] : " + kTile +
              ", !tile.view<?x32xf32>\n";
  }
  if (sums == 1)
    stores.replace(stores.find("%all#0"), 6, "%all");
  return text +
         "%t: index)\n    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0]\n"
         "    attributes {tile.entry = \"loop\", tile.warps = 8 : i64} {\n"
         "  %c0 = arith.constant 0 : index\n  %c32 = arith.constant 32 : index\n"
         "  %c128 = arith.constant 128 : index\n  %zero = arith.constant 0.0 : f32\n"
         "  %eighth = arith.constant 0.125 : f32\n  %i = arith.muli %t, %c128 : index\n"
         "  %n = tile.dim %k0, 0 : !tile.view<?x32xf16>\n"
         "  %zeros = tile.broadcast %zero : f32 -> " +
         kTile + "\n  %small = tile.broadcast %eighth : f32 -> " + kTile + "\n" + loads + "  %all" +
         (sums > 1 ? ":" + std::to_string(sums) : "") +
         " = scf.for %j = %c0 to %n step %c32 iter_args(" + carried + ") -> (" + carriedTypes +
         ") {\n" + body + "    scf.yield " + yields + " : " + carriedTypes + "\n  }\n" + stores +
         "  tile.return\n}\n";
}

static std::unique_ptr<Interpretation> load(const std::string &text) {
  llvm::SmallString<128> path;
  int file;
  if (llvm::sys::fs::createTemporaryFile("products", "mlir", file, path)) {
    ADD_FAILURE() << "no temporary file";
    return nullptr;
  }
  llvm::FileRemover remover(path);
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << text;
  auto loaded = Interpretation::createFromFile(path.str().str());
  if (loaded)
    return std::move(*loaded);
  ADD_FAILURE() << llvm::toString(loaded.takeError());
  return nullptr;
}

static std::vector<HostTensor> makeInputs(const LoopWriter &writer, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<HostTensor> inputs;
  auto add = [&](const char *prefix, int count, int64_t size) {
    for (int n = 0; n < count; ++n) {
      inputs.push_back(HostTensor::zeros(prefix + std::to_string(n), DType::F16, {size, kColumns}));
      for (int64_t e = 0; e < inputs.back().size(); ++e)
        inputs.back().set(e, normal(generator));
    }
  };
  add("r", writer.rows, kRows);
  add("k", writer.keys, kKeys);
  return inputs;
}

/// Expects the same bits of a program with and without a schedule; count those whose loop carries a
/// product from one iteration to the next.
static void expectSameBits(uint64_t seed, int &pipelined) {
  LoopWriter writer(seed);
  std::string text = writer.write(2 + seed % 6);
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
  std::vector<HostTensor> inputs = makeInputs(writer, seed);
  OutputShapes shapes;
  for (int n = 0; n < writer.sums; ++n)
    shapes.emplace_back("o" + std::to_string(n), std::vector<int64_t>{kRows, kColumns});
  std::vector<HostTensor> first;
  for (bool scheduled : {false, true}) {
    std::unique_ptr<Interpretation> program = load(text);
    ASSERT_TRUE(bool(program));
    CompileOptions options;
    options.target = "sm_90a";
    if (scheduled) {
      ASSERT_TRUE(succeeded(runPhases(program->getModule(), options, "tile", "schedule")));
      int started = 0;
      program->getModule().walk([&](scf::ForOp loop) {
        started += llvm::range_size(loop.getOps<tile::DotStartOp>());
        pipelined += llvm::any_of(loop.getInitArgs(), [](Value value) {
          return isa_and_nonnull<tile::AwaitOp>(value.getDefiningOp());
        });
      });
      EXPECT_GT(started, 0) << "products are not asynchronous";
    }
    auto outputs = program->run(inputs, shapes, HeadLayout::BHSD, seed);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    ASSERT_EQ(outputs->size(), shapes.size());
    for (const HostTensor &output : *outputs)
      for (int64_t e = 0; e < output.size(); ++e)
        ASSERT_TRUE(std::isfinite(output.at(e))) << output.name << " " << e;
    if (!scheduled)
      first = std::move(*outputs);
    for (size_t n = 0; scheduled && n < first.size(); ++n)
      EXPECT_EQ(first[n].data, (*outputs)[n].data) << first[n].name;
  }
}

TEST_P(ProductPrograms, HaveTheSameBitsWhenScheduled) {
  int pipelined = 0;
  if (const char *seed = std::getenv("FA_PRODUCT_SEED"))
    return expectSameBits(std::atoll(seed), pipelined);
  for (int seed = GetParam(); seed < kPrograms; seed += kGroups)
    expectSameBits(seed, pipelined);
  EXPECT_GT(pipelined, kPrograms / kGroups / 3);
}

INSTANTIATE_TEST_SUITE_P(Random, ProductPrograms, testing::Range(0, kGroups));
