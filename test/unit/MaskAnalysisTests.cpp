//===- MaskAnalysisTests.cpp - fa-analyze-mask against brute force -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass runs on programs written as text: attention, whose loop runs over keys
// for a block of rows, and the other way round a loop over rows for a block of keys.
// The scalar ops that it emitted are evaluated for every block and tile, and compared
// with the mask region itself, evaluated for every (i, j) by the reference's interpreter.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Reference/RegionInterpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <functional>
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Sizes of one problem and the captures of every program here.
struct Problem {
  int64_t sq, sk, rows, keys, b = 0, h = 0;
  int64_t index = 0, wide = 0, narrow = 0, byte = 0;
  bool flag = false;
  int64_t length = 0;
  /// Hold what %ct holds, where that is not the length at b.
  std::vector<int64_t> data = {};

  int64_t at(int64_t n) const {
    if (data.empty())
      return n == b ? length : 0;
    return n >= 0 && n < static_cast<int64_t>(data.size()) ? data[n] : 0;
  }
};

/// Captures: %ci : index, %cl : i64, %cn : i32, %cb : i8, %cf : i1, %ct : tensor<?xi32>.
const char *kArguments = R"(%q: tensor<2x2x?x8xf32> {fa.name = "q"},
             %k: tensor<2x2x?x8xf32> {fa.name = "k"},
             %ci: index {fa.name = "ci"}, %cl: i64 {fa.name = "cl"}, %cn: i32 {fa.name = "cn"},
             %cb: i8 {fa.name = "cb"}, %cf: i1 {fa.name = "cf"},
             %ct: tensor<?xi32> {fa.name = "ct"})";
const char *kBlock = R"({
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
       %ci0: index, %cl0: i64, %cn0: i32, %cb0: i8, %cf0: i1, %ct0: tensor<?xi32>):
)";

/// Attention: becomes a loop over keys for a block of rows.
std::string attention(StringRef mask) {
  return std::string("func.func @f(") + kArguments + R"() -> tensor<2x2x?x8xf32> {
  %o = fa.attention query(%q) key(%k) value(%k) captures(%ci, %cl, %cn, %cb, %cf, %ct) mask )" +
         kBlock + mask.str() + R"(
  } : (tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, index, i64, i32, i8, i1,
       tensor<?xi32>) -> tensor<2x2x?x8xf32>
  return %o : tensor<2x2x?x8xf32>
})";
}

/// Return the greatest visible score of each key: a loop over rows for a block of keys.
std::string loopOverRows(StringRef mask) {
  return std::string("func.func @f(") + kArguments + R"() -> tensor<2x2x?xf32> {
  %c0_ = arith.constant 0 : index
  %c2_ = arith.constant 2 : index
  %queries = tensor.dim %q, %c2_ : tensor<2x2x?x8xf32>
  %keys = tensor.dim %k, %c2_ : tensor<2x2x?x8xf32>
  %o = fa.map_blocks @f over(%k) axes(b, h, keys by ?) : tensor<2x2x?x8xf32> -> tensor<2x2x?xf32> {
  ^bb0(%batch: index, %head: index, %j0: index, %view: !tile.view<2x2x?xf32>):
    %zero_ = arith.constant 0.0 : f32
    %least_ = arith.constant 0xFF800000 : f32
    %scores_ = tile.broadcast %zero_ : f32 -> tensor<?x?xf32, #fa.axes<rows, keys>>
    %none_ = tile.broadcast %least_ : f32 -> tensor<?xf32, #fa.axes<keys>>
    %n_ = fa.tile_size rows
    %max_ = scf.for %i0 = %c0_ to %queries step %n_ iter_args(%m_ = %none_) -> (tensor<?xf32, #fa.axes<keys>>) {
      %x_ = fa.apply_mask %scores_ at(%batch, %head, %i0, %j0) lengths(%queries, %keys)
        captures(%ci, %cl, %cn, %cb, %cf, %ct : index, i64, i32, i8, i1, tensor<?xi32>) hidden(0xFF800000) )" +
         kBlock + mask.str() + R"(
      } : tensor<?x?xf32, #fa.axes<rows, keys>>
      %y_ = tile.reduce maxnumf %x_ init %m_ dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %y_ : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %max_, %view[%batch, %head, %j0] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<2x2x?xf32>
  }
  return %o : tensor<2x2x?xf32>
})";
}

constexpr Axis kAxes[] = {Axis::keys, Axis::rows};

/// Evaluates the scalar ops of a block, on demand.
class Evaluator {
public:
  Evaluator(MapBlocksOp blocks, scf::ForOp loop, const Problem &p, int64_t first) : p(p) {
    int64_t firsts[] = {p.b, p.h, first};
    for (auto [i, value] : llvm::enumerate(firsts))
      values[blocks.getBody()->getArgument(i)] = value;
    int64_t captures[] = {p.index, p.wide, p.narrow, p.byte, p.flag};
    auto func = blocks->getParentOfType<func::FuncOp>();
    for (unsigned i = 0; i < 5; ++i)
      values[func.getArgument(2 + i)] = captures[i];
    index = loop.getInductionVar();
  }

  void setTile(int64_t first) {
    for (Value value : inTile)
      values.erase(value);
    inTile.clear();
    values[index] = first;
  }

  int64_t operator()(Value value) {
    if (auto found = values.find(value); found != values.end())
      return found->second;
    auto range = value.getDefiningOp<RangeOp>();
    int64_t result =
        range ? extremeOf(range, value == range.getGreatest()) : compute(value.getDefiningOp());
    inTile.push_back(value);
    return values[value] = result;
  }

private:
  /// Return what the region of a summary yields at an index of its axis.
  int64_t read(SummarizeOp op, int64_t at) {
    std::function<int64_t(Value)> valueOf = [&](Value value) -> int64_t {
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        const int64_t position[] = {p.b, p.h, at, at, p.sq, p.sk};
        return position[argument.getArgNumber()];
      }
      Operation *inner = value.getDefiningOp();
      if (auto constant = dyn_cast<arith::ConstantIndexOp>(inner))
        return constant.value();
      if (isa<arith::AddIOp>(inner))
        return valueOf(inner->getOperand(0)) + valueOf(inner->getOperand(1));
      return p.at(valueOf(cast<tensor::ExtractOp>(inner).getIndices().front()));
    };
    return valueOf(op.getBody().front().getTerminator()->getOperand(0));
  }

  int64_t extremeOf(RangeOp op, bool most) {
    auto summary = op.getTable().getDefiningOp<SummarizeOp>();
    int64_t first = (*this)(op.getFirst()), last = (*this)(op.getLast());
    int64_t size = (*this)(op.getSize()), span = SummarizeOp::kSpan;
    EXPECT_TRUE(first % size == 0 && last < first + size) << "the range is no block";
    int64_t length = summary.getAxis() == Axis::rows ? p.sq : p.sk;
    int64_t found =
        most ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
    for (int64_t n = first / span * span; n < std::min((last / span + 1) * span, length); ++n)
      found = most ? std::max(found, read(summary, n)) : std::min(found, read(summary, n));
    return found;
  }

  int64_t compute(Operation *op) {
    auto x = [&](unsigned i) { return (*this)(op->getOperand(i)); };
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      APInt value = cast<IntegerAttr>(constant.getValue()).getValue();
      return value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
    }
    if (auto size = dyn_cast<TileSizeOp>(op))
      return size.getAxis() == Axis::rows ? p.rows : p.keys;
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      return cast<BlockArgument>(dim.getSource()).getArgNumber() == 0 ? p.sq : p.sk;
    if (auto load = dyn_cast<tile::LoadOp>(op)) // lens[b], 2 long
      return p.at((*this)(load.getIndices()[0]));
    if (isa<arith::AddIOp>(op))
      return static_cast<int64_t>(static_cast<uint64_t>(x(0)) + static_cast<uint64_t>(x(1)));
    if (isa<arith::SubIOp>(op))
      return static_cast<int64_t>(static_cast<uint64_t>(x(0)) - static_cast<uint64_t>(x(1)));
    if (isa<arith::MulIOp>(op))
      return static_cast<int64_t>(static_cast<uint64_t>(x(0)) * static_cast<uint64_t>(x(1)));
    if (isa<arith::DivSIOp>(op)) {
      bool undefined = x(1) == 0 || (x(1) == -1 && x(0) == std::numeric_limits<int64_t>::min());
      EXPECT_FALSE(undefined) << "emitted division is undefined";
      return undefined ? 0 : x(0) / x(1);
    }
    if (isa<arith::ShRSIOp>(op))
      return x(0) >> x(1);
    if (isa<arith::MinSIOp>(op))
      return std::min(x(0), x(1));
    if (isa<arith::MaxSIOp>(op))
      return std::max(x(0), x(1));
    if (isa<arith::AndIOp>(op))
      return x(0) & x(1);
    if (isa<arith::OrIOp>(op))
      return x(0) | x(1);
    if (isa<arith::XOrIOp>(op))
      return x(0) ^ x(1);
    if (isa<arith::SelectOp>(op))
      return x(0) ? x(1) : x(2);
    if (isa<arith::IndexCastOp>(op))
      return x(0);
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      unsigned bits = compare.getLhs().getType().isInteger(1) ? 1 : 64;
      return arith::applyCmpPredicate(compare.getPredicate(), APInt(bits, x(0), true, true),
                                      APInt(bits, x(1), true, true));
    }
    ADD_FAILURE() << "unexpected op " << op->getName().getStringRef().str();
    return 0;
  }

  const Problem &p;
  Value index;
  llvm::DenseMap<Value, int64_t> values;
  std::vector<Value> inTile;
};

/// Count what was skipped over all blocks and tiles, and what could have been.
struct Counts {
  int64_t tiles = 0, none = 0, noneSkipped = 0, all = 0, allBare = 0;
};

class MaskAnalysis : public testing::Test {
protected:
  MaskAnalysis() {
    context.loadDialect<FADialect, tile::TileDialect, arith::ArithDialect, func::FuncDialect,
                        index::IndexDialect, math::MathDialect, scf::SCFDialect,
                        tensor::TensorDialect>();
    context.disableMultithreading();
  }

  /// Runs the pass on a mask in a loop along an axis; false where the text does not parse.
  bool load(StringRef mask, Axis loopAxis = Axis::keys) {
    axis = loopAxis;
    source = axis == Axis::keys ? attention(mask) : loopOverRows(mask);
    module = parseSourceString<ModuleOp>(source, &context);
    if (!module)
      return false;
    PassManager pm(&context);
    if (axis == Axis::keys)
      pm.addPass(createFARewriteOnlineSoftmax());
    pm.addPass(createFAAnalyzeMask());
    if (failed(pm.run(*module)))
      return false;
    module->walk([&](MapBlocksOp op) { blocks = op; });
    module->walk([&](ApplyMaskOp op) { apply = op; });
    loop = apply->getParentOfType<scf::ForOp>();
    needed = any = nullptr;
    for (Operation *op = apply->getParentOp(); op != loop; op = op->getParentOp()) {
      auto branch = cast<scf::IfOp>(op);
      auto otherwise = branch.elseYield().getResults();
      if (otherwise.size() == 1 && otherwise[0] == apply.getInputs().front())
        needed = branch;
      else
        any = branch;
    }
    program = RegionProgram::compile(apply.getBody(), false);
    return true;
  }

  /// Compares all blocks and tiles of a problem; `exact` asks for the best answer.
  void check(const Problem &p, bool exact, Counts &counts) {
    std::vector<HostTensor> tensors;
    auto scalar = [&](DType dtype, int64_t value) {
      tensors.push_back(HostTensor::zeros("c", dtype, {}));
      tensors.back().setInteger(0, value);
    };
    scalar(DType::I64, p.index);
    scalar(DType::I64, p.wide);
    scalar(DType::I32, p.narrow);
    scalar(DType::I8, p.byte);
    scalar(DType::Bool, p.flag);
    int64_t count = p.data.empty() ? 2 : static_cast<int64_t>(p.data.size());
    tensors.push_back(HostTensor::zeros("ct", DType::I32, {count}));
    for (int64_t n = 0; n < count; ++n)
      tensors.back().setInteger(n, p.at(n));
    std::vector<const HostTensor *> captures;
    for (HostTensor &tensor : tensors)
      captures.push_back(&tensor);
    RegionEvaluator mask(program, captures);

    bool overKeys = axis == Axis::keys;
    int64_t length = overKeys ? p.sk : p.sq, size = overKeys ? p.keys : p.rows;
    int64_t blockLength = overKeys ? p.sq : p.sk, blockSize = overKeys ? p.rows : p.keys;
    for (int64_t block = 0; block < blockLength; block += blockSize) {
      Evaluator evaluate(blocks, loop, p, block);
      int64_t first = evaluate(loop.getLowerBound()), last = evaluate(loop.getUpperBound());
      ASSERT_EQ(evaluate(loop.getStep()), size);
      ASSERT_TRUE(first % size == 0 && first >= 0 && last <= length) << source;
      for (int64_t tile = 0; tile < length; tile += size) {
        // Keys past the last one are hidden; rows past the last one do not count.
        bool some = false, all = (overKeys ? tile : block) + p.keys <= p.sk;
        for (int64_t x = block; x < std::min(block + blockSize, blockLength); ++x)
          for (int64_t y = tile; y < std::min(tile + size, length); ++y) {
            bool visible = mask.mask({p.b, p.h, overKeys ? x : y, overKeys ? y : x, p.sq, p.sk});
            some |= visible;
            all &= visible;
          }
        evaluate.setTile(tile);
        bool visited = tile >= first && tile < last && (!any || evaluate(any.getCondition()));
        bool masked = !needed || evaluate(needed.getCondition());
        auto where = [&] {
          return source + "\nsq " + std::to_string(p.sq) + " sk " + std::to_string(p.sk) +
                 " block " + std::to_string(block) + " of " + std::to_string(blockSize) + " tile " +
                 std::to_string(tile) + " of " + std::to_string(size);
        };
        ASSERT_TRUE(visited || !some) << "a visible pair is not visited\n" << where();
        ASSERT_TRUE(masked || all || !visited) << "a hidden pair is not masked\n" << where();
        if (exact) {
          ASSERT_EQ(visited, some) << where();
          if (visited) {
            ASSERT_EQ(masked, !all) << where();
          }
        }
        ++counts.tiles;
        counts.none += !some;
        counts.noneSkipped += !some && !visited;
        counts.all += all;
        counts.allBare += all && !masked;
      }
    }
  }

  /// Exact both ways, by bounds alone, over many sizes.
  void expectExact(StringRef mask) {
    for (Axis loopAxis : kAxes) {
      ASSERT_TRUE(load(mask, loopAxis)) << source;
      EXPECT_EQ(any, nullptr) << "the interval is not exact\n" << source;
      checkSizes();
      if (HasFatalFailure())
        return;
    }
  }

  void checkSizes() {
    Counts counts;
    for (int64_t sq : {1, 5, 16, 33})
      for (int64_t sk : {0, 1, 7, 24, 40})
        for (auto [rows, keys] : {std::pair(4, 4), std::pair(8, 3), std::pair(5, 16)})
          for (int64_t capture : {-3, 0, 9, 31}) {
            Problem p{sq, sk, rows, keys};
            p.index = p.wide = p.narrow = p.byte = p.length = capture;
            p.b = capture & 1;
            check(p, /*exact=*/true, counts);
            if (HasFatalFailure())
              return;
          }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string source;
  Axis axis;
  MapBlocksOp blocks;
  ApplyMaskOp apply;
  scf::ForOp loop;
  scf::IfOp needed, any;
  RegionProgram program;
};

//===----------------------------------------------------------------------===//
// Exact families
//===----------------------------------------------------------------------===//

const char *kDiagonal = "%x = arith.subi %sk, %sq : index\n%d = arith.addi %i, %x : index\n";

TEST_F(MaskAnalysis, RewritingsOfCausal) {
  const char *masks[] = {
      "%v = arith.cmpi sle, %j, %d : index",
      "%v = arith.cmpi sge, %d, %j : index",
      "%one = arith.constant 1 : index\n%e = arith.addi %d, %one : index\n%v = arith.cmpi slt, %j, "
      "%e : index",
      "%t = arith.constant true\n%n = arith.cmpi sgt, %j, %d : index\n%v = arith.xori %n, %t : i1",
      "%l = arith.addi %j, %sq : index\n%r = index.add %i, %sk\n%v = index.cmp sle(%l, %r)",
      "%l = arith.subi %sk, %j : index\n%r = arith.subi %sq, %i : index\n%v = arith.cmpi uge, %l, "
      "%r : index",
      "%z = arith.constant 0 : index\n%s = arith.subi %j, %d : index\n%m = arith.maxsi %s, %z : "
      "index\n"
      "%v = arith.cmpi eq, %m, %z : index",
      "%m = arith.minsi %j, %d : index\n%v = arith.cmpi eq, %m, %j : index",
      "%a = arith.index_cast %j : index to i32\n%c = arith.index_cast %d : index to i32\n"
      "%v = arith.cmpi sle, %a, %c : i32",
      "%n = arith.cmpi slt, %d, %j : index\n%t = arith.constant true\n%f = arith.constant false\n"
      "%v = scf.if %n -> i1 { scf.yield %f : i1 } else { scf.yield %t : i1 }",
      "%two = arith.constant 2 : index\n%a = arith.muli %j, %two : index\n%c = arith.shli %d, %t : "
      "index\n"
      "%v = arith.cmpi sle, %a, %c : index",
      "%n = arith.cmpi sgt, %j, %d : index\n%e = arith.extui %n : i1 to i32\n%z = arith.constant 0 "
      ": i32\n"
      "%v = arith.cmpi eq, %e, %z : i32",
      "%a = arith.index_cast %i : index to i32\n%c = arith.index_cast %sk : index to i32\n"
      "%e = arith.index_cast %sq : index to i32\n%s = arith.addi %a, %c : i32\n%g = arith.subi %s, "
      "%e : i32\n"
      "%l = arith.index_cast %j : index to i32\n%v = arith.cmpi sle, %l, %g : i32"};
  for (std::string mask : masks) {
    if (size_t at = mask.find("%t : index"); at != std::string::npos && mask.find("%two") == 0)
      mask = "%t = arith.constant 1 : index\n" + mask;
    expectExact(kDiagonal + mask + "\nfa.yield %v : i1");
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, TopLeft) {
  expectExact("%v = arith.cmpi sle, %j, %i : index\nfa.yield %v : i1");
}

TEST_F(MaskAnalysis, Windows) {
  for (auto [left, right] : {std::pair(5, 0), std::pair(3, 2), std::pair(0, 0), std::pair(20, 7)}) {
    std::string l = std::to_string(left), r = std::to_string(right);
    expectExact(kDiagonal +
                ("%l = arith.constant " + l + " : index\n%r = arith.constant " + r +
                 " : index\n%a = arith.subi %d, %l : index\n%c = arith.addi %d, %r : index\n"
                 "%s = arith.cmpi sle, %a, %j : index\n%t = arith.cmpi sle, %j, %c : index\n"
                 "%v = arith.andi %s, %t : i1\nfa.yield %v : i1"));
    if (HasFatalFailure())
      return;
  }
  // |i - j| < 6, by one unsigned comparison and by math.absi.
  expectExact(
      "%s = arith.subi %i, %j : index\n%c = arith.constant 5 : index\n%t = arith.addi %s, %c : "
      "index\n"
      "%w = arith.constant 11 : index\n%v = arith.cmpi ult, %t, %w : index\nfa.yield %v : i1");
  expectExact(
      "%s = arith.subi %i, %j : index\n%a = math.absi %s : index\n%w = arith.constant 6 : index\n"
      "%v = arith.cmpi slt, %a, %w : index\nfa.yield %v : i1");
}

TEST_F(MaskAnalysis, Chunks) {
  expectExact(
      "%c = arith.constant 8 : index\n%x = arith.divui %i, %c : index\n"
      "%y = arith.divsi %j, %c : index\n%v = arith.cmpi eq, %x, %y : index\nfa.yield %v : i1");
  expectExact(
      "%c = arith.constant 5 : index\n%x = arith.divui %i, %c : index\n"
      "%y = arith.divui %j, %c : index\n%v = arith.cmpi sle, %y, %x : index\nfa.yield %v : i1");
}

TEST_F(MaskAnalysis, Prefixes) {
  for (const char *length :
       {"%l = arith.addi %ci0, %b : index", "%l = arith.index_cast %cl0 : i64 to index",
        "%l = arith.index_cast %cn0 : i32 to index", "%l = arith.index_cast %cb0 : i8 to index",
        "%e = tensor.extract %ct0[%b] : tensor<?xi32>\n%l = arith.index_cast %e : i32 to index"}) {
    expectExact(std::string(kDiagonal) + length +
                "\n%s = arith.cmpi slt, %j, %l : index\n%t = arith.cmpi sle, %j, %d : index\n"
                "%v = arith.ori %s, %t : i1\nfa.yield %v : i1");
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, AllRowsOrAWindow) {
  // The first keys are visible to all rows, others to a window of them: bounds say it all.
  ASSERT_TRUE(load("%l = arith.constant 3 : index\n%p = arith.cmpi slt, %j, %ci0 : index\n"
                   "%a = arith.subi %i, %l : index\n%s = arith.cmpi sle, %a, %j : index\n"
                   "%t = arith.cmpi sle, %j, %i : index\n%w = arith.andi %s, %t : i1\n"
                   "%v = arith.ori %p, %w : i1\nfa.yield %v : i1",
                   Axis::rows));
  EXPECT_EQ(any, nullptr);
  for (int64_t capture : {0, 8, 40}) {
    Problem p{40, 40, 4, 4};
    p.index = capture;
    Counts counts;
    check(p, /*exact=*/true, counts);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, TestedTiles) {
  // Blocks of 4 x 4: tiles of a multiple of 4 may see several.
  for (Axis loopAxis : kAxes) {
    std::string index = loopAxis == Axis::keys ? "%j" : "%i";
    ASSERT_TRUE(load("%c = arith.constant 4 : index\n%x = arith.divui " + index +
                         ", %c : index\n"
                         "%t = arith.constant 2 : index\n%y = arith.remui %x, %t : index\n"
                         "%z = arith.constant 0 : index\n%v = arith.cmpi eq, %y, %z : index\n"
                         "fa.yield %v : i1",
                     loopAxis));
    EXPECT_NE(any, nullptr);
    Counts counts;
    check({32, 32, 4, 4}, /*exact=*/true, counts);
    EXPECT_EQ(counts.noneSkipped, counts.tiles / 2);
    // A prefix and a window: a gap between them.
    std::string other = loopAxis == Axis::keys ? "%i" : "%j";
    ASSERT_TRUE(load("%l = arith.constant 3 : index\n%p = arith.cmpi slt, " + index +
                         ", %ci0 : index\n%a = arith.subi " + other +
                         ", %l : index\n%s = arith.cmpi sle, %a, " + index +
                         " : index\n%t = arith.cmpi sle, " + index + ", " + other +
                         " : index\n%w = arith.andi %s, %t : i1\n"
                         "%v = arith.ori %p, %w : i1\nfa.yield %v : i1",
                     loopAxis));
    EXPECT_NE(any, nullptr);
    Problem p{40, 40, 4, 4};
    p.index = 8;
    check(p, /*exact=*/true, counts);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, ElementsOfBlocks) {
  // Elements of blocks of 4 x 4: a tile of up to four is known by loads. Beside another condition,
  // one that holds where an element does not.
  for (Axis loopAxis : kAxes)
    for (const char *seen :
         {"%v = arith.cmpi ne, %e, %z : i32\n",
          "%u = arith.cmpi sgt, %e, %z : i32\n%w = arith.cmpi sle, %j, %d : index\n"
          "%v = arith.andi %u, %w : i1\n"}) {
      ASSERT_TRUE(load(std::string(kDiagonal) +
                           "%c = arith.constant 4 : index\n%x0 = arith.divui %i, %c : index\n"
                           "%y = arith.divui %j, %c : index\n%n = arith.addi %x0, %y : index\n"
                           "%e = tensor.extract %ct0[%n] : tensor<?xi32>\n"
                           "%z = arith.constant 0 : i32\n" +
                           seen + "fa.yield %v : i1",
                       loopAxis))
          << source;
      EXPECT_NE(any, nullptr) << source;
      Counts counts;
      for (auto [rows, keys] : {std::pair(4, 4), std::pair(4, 2), std::pair(8, 3)})
        for (int64_t length : {0, 3}) {
          Problem p{16, 24, rows, keys};
          p.length = length;
          p.b = length & 1;
          bool isAlone = StringRef(seen).starts_with("%v");
          check(p, /*exact=*/rows == 4 || isAlone, counts);
          if (HasFatalFailure())
            return;
        }
      EXPECT_GT(counts.noneSkipped, counts.none / 2);
    }
}

/// Expect ranges: what a captured tensor holds at the block's indices is a range, from 64 of them
/// each.
TEST_F(MaskAnalysis, LimitsThatAreRead) {
  std::mt19937 random(11);
  for (StringRef at : {"%n = arith.addi %i, %c0 : index\n", "%n = arith.addi %i, %c3 : index\n"})
    for (StringRef compare : {"slt, %j, %limit", "sge, %j, %limit", "sle, %limit, %d"}) {
      std::string mask = kDiagonal;
      mask += "%c0 = arith.constant 0 : index\n%c3 = arith.constant 3 : index\n";
      mask += at.str() + "%e = tensor.extract %ct0[%n] : tensor<?xi32>\n";
      mask += "%limit = arith.index_cast %e : i32 to index\n";
      mask += "%v = arith.cmpi " + compare.str() + " : index\nfa.yield %v : i1";
      ASSERT_TRUE(load(mask)) << source;
      // A test of a tile would tell no more than the bounds.
      EXPECT_EQ(any, nullptr) << source;
      Counts counts;
      for (int64_t sq : {1, 64, 100, 200})
        for (int64_t sk : {0, 70, 200})
          for (auto [rows, keys] : {std::pair(64, 16), std::pair(128, 48), std::pair(48, 80)}) {
            Problem p{sq, sk, rows, keys};
            for (int64_t n = 0; n < sq; ++n)
              p.data.push_back(static_cast<int64_t>(random() % 240) - 20);
            // Ranges over 64 rows are exact where blocks have as many, but for diagonals.
            bool exact = rows % 64 == 0 && compare != "sle, %limit, %d";
            check(p, exact, counts);
            if (HasFatalFailure())
              return;
          }
      EXPECT_GT(counts.tiles, 0);
    }
}

TEST_F(MaskAnalysis, FailedAssumptionSkipsNothing) {
  for (Axis loopAxis : kAxes) {
    ASSERT_TRUE(load("%l = arith.addi %cl0, %cl0 : i64\n%e = arith.index_cast %l : i64 to index\n"
                     "%v = arith.cmpi slt, %j, %e : index\nfa.yield %v : i1",
                     loopAxis));
    for (int64_t capture :
         {int64_t(5), int64_t(1) << 62, int64_t(1) << 63, (int64_t(1) << 62) - 1}) {
      Problem p{8, 24, 4, 4};
      p.wide = capture;
      Counts counts;
      check(p, /*exact=*/capture == 5, counts);
    }
  }
}

//===----------------------------------------------------------------------===//
// Random masks
//===----------------------------------------------------------------------===//

/// Writes random mask regions, mostly about the index of the loop.
class Writer {
public:
  Writer(std::mt19937 &random, Axis loopAxis) : random(random) {
    if (loopAxis == Axis::rows)
      std::swap(loop, block);
    values["index"] = {block, loop, loop, block, loop, "%b", "%h", "%sq", "%sk", "%ci0"};
    values["i64"] = {"%cl0"};
    values["i32"] = {"%cn0"};
    values["i8"] = {"%cb0"};
    values["i1"] = {"%cf0"};
  }

  std::string write() {
    for (const char *type : {"i64", "i32", "i8"}) {
      cast("index", type);
      if (pick(2))
        cast("index", type);
    }
    if (pick(3) == 0)
      add("i32", "tensor.extract %ct0[%b] : tensor<?xi32>");
    if (pick(8) == 0)
      add("i32", "tensor.extract %ct0[%j] : tensor<?xi32>");
    for (int n = 4 + pick(9); n > 0; --n)
      step();
    std::string result = pick(4) ? compare() : periodic();
    for (int n = pick(4); n > 0; --n) {
      std::string other = pick(3) ? compare() : value("i1");
      result =
          add("i1", (pick(2) ? "arith.andi " : "arith.ori ") + result + ", " + other + " : i1");
    }
    return text + "fa.yield " + result + " : i1";
  }

private:
  unsigned pick(unsigned n) { return random() % n; }
  std::string add(const std::string &type, const std::string &op) {
    std::string name = "%v" + std::to_string(count++);
    text += name + " = " + op + "\n";
    values[type].push_back(name);
    return name;
  }
  std::string constant(const std::string &type, bool divisor = false) {
    static const int small[] = {-7, -2, -1, 0, 1, 2, 3, 4, 5, 8, 13, 16, 31, 64, 100};
    int chosen = divisor ? small[4 + pick(8)] : small[pick(15)];
    std::string name = "%v" + std::to_string(count++);
    text += name + " = arith.constant " + std::to_string(chosen) + " : " + type + "\n";
    return name;
  }
  std::string value(const std::string &type) {
    auto &known = values[type];
    if (type != "i1" && pick(6) == 0)
      return constant(type);
    // The latest ones more often, so that expressions grow deep.
    unsigned back = pick(2) ? pick(std::min<size_t>(known.size(), 4)) : pick(known.size());
    return known[known.size() - 1 - back];
  }
  std::string number() {
    static const char *types[] = {"index", "index", "index", "index", "i32", "i32", "i64", "i8"};
    return types[pick(8)];
  }
  void cast(const std::string &from, const std::string &to) {
    std::string x = value(from);
    bool isSigned = pick(2);
    if (from == to)
      return;
    if (from == "index" || to == "index") {
      if (from == "i1" || to == "i1" || pick(2))
        add(to, std::string(isSigned ? "arith.index_cast " : "arith.index_castui ") + x + " : " +
                    from + " to " + to);
      else
        add(to, std::string(isSigned ? "index.casts " : "index.castu ") + x + " : " + from +
                    " to " + to);
      return;
    }
    bool wider = std::stoi(to.substr(1)) > std::stoi(from.substr(1));
    add(to, std::string(!wider     ? "arith.trunci "
                        : isSigned ? "arith.extsi "
                                   : "arith.extui ") +
                x + " : " + from + " to " + to);
  }
  std::string compare() {
    static const char *predicates[] = {"eq",  "ne",  "slt", "sle", "sgt", "sge", "ult",
                                       "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"};
    std::string type = number(), x = value(type), y = value(type), p = predicates[pick(14)];
    if (type == "index" && pick(2))
      x = loop;
    if (type == "index" && pick(3) == 0)
      return add("i1", "index.cmp " + p + "(" + x + ", " + y + ")");
    return add("i1", "arith.cmpi " + p + ", " + x + ", " + y + " : " + type);
  }
  /// Return a pattern that repeats: linear in i and j, its remainder against a number.
  std::string periodic() {
    static const char *ops[] = {"remsi",      "remui", "andi",     "divsi",
                                "floordivsi", "divui", "ceildivsi"};
    std::string x = loop;
    if (pick(2))
      x = add("index", "arith.addi " + x + ", " + value("index") + " : index");
    if (pick(2))
      x = add("index", "arith.subi " + x + ", " + block + " : index");
    std::string y =
        add("index", std::string("arith.") + ops[pick(7)] + " " + x + ", " +
                         (pick(3) ? constant("index", true) : value("index")) + " : index");
    return add("i1", std::string("arith.cmpi ") + (pick(2) ? "eq" : "slt") + ", " + y + ", " +
                         (pick(2) ? constant("index") : value("index")) + " : index");
  }
  void step() {
    static const char *arithmetic[] = {
        "addi",      "subi",      "addi",  "subi",  "muli",  "divsi", "divui", "floordivsi",
        "ceildivsi", "ceildivui", "remsi", "remui", "andi",  "ori",   "xori",  "minsi",
        "maxsi",     "minui",     "maxui", "shli",  "shrsi", "shrui"};
    static const char *onIndex[] = {"add",  "sub",       "add",      "sub",      "mul",  "divs",
                                    "divu", "floordivs", "ceildivs", "ceildivu", "rems", "remu",
                                    "and",  "or",        "xor",      "mins",     "maxs", "minu",
                                    "maxu", "shl",       "shrs",     "shru"};
    std::string type = number(), x = value(type), y = value(type);
    switch (pick(12)) {
    case 0:
      compare();
      return;
    case 1: {
      static const char *logic[] = {"andi", "ori", "xori", "addi", "muli", "maxsi", "minui"};
      add("i1",
          std::string("arith.") + logic[pick(7)] + " " + value("i1") + ", " + compare() + " : i1");
      return;
    }
    case 2:
      cast(pick(5) ? number() : "i1", pick(5) ? number() : "i1");
      return;
    case 3:
      add(type, "arith.select " + compare() + ", " + x + ", " + y + " : " + type);
      return;
    case 4:
      add(type, "scf.if " + compare() + " -> " + type + " {\n  scf.yield " + x + " : " + type +
                    "\n} else {\n  %sum = arith.addi " + x + ", " + y + " : " + type +
                    "\n  scf.yield %sum : " + type + "\n}");
      return;
    case 5:
      add("i1", std::string("arith.cmpi ") + (pick(2) ? "eq" : "ult") + ", " + value("i1") + ", " +
                    compare() + " : i1");
      return;
    case 6:
      add(type, "math.absi " + x + " : " + type);
      return;
    default: {
      unsigned op = pick(22);
      bool divides = (op >= 5 && op <= 11) || op >= 19;
      if (divides && pick(3))
        y = constant(type, /*divisor=*/true);
      if (type == "index" && pick(2))
        add(type, std::string("index.") + onIndex[op] + " " + x + ", " + y);
      else
        add(type, std::string("arith.") + arithmetic[op] + " " + x + ", " + y + " : " + type);
    }
    }
  }

  std::mt19937 &random;
  std::string loop = "%j", block = "%i";
  std::map<std::string, std::vector<std::string>> values;
  std::string text;
  unsigned count = 0;
};

class RandomMasks : public MaskAnalysis, public testing::WithParamInterface<Axis> {};

TEST_P(RandomMasks, AreSound) {
  unsigned programs = 4000;
  if (const char *more = std::getenv("FA_MASK_PROGRAMS"))
    programs = std::atoi(more);
  std::mt19937 random(20240607);
  Counts counts;
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (unsigned n = 0; n < programs; ++n) {
    ASSERT_TRUE(load(Writer(random, GetParam()).write(), GetParam())) << source;
    for (int trial = 0; trial < 6; ++trial) {
      Problem p{pick(1, 36), pick(0, 44), pick(1, 12), pick(1, 16), pick(0, 1), pick(0, 1)};
      if (trial == 5) // beyond what fits in i8
        p.sk = pick(100, 300), p.sq = pick(1, 8), p.keys = 32;
      if (axis == Axis::rows) {
        std::swap(p.sq, p.sk);
        std::swap(p.rows, p.keys);
      }
      p.index = pick(-8, 48);
      p.wide = pick(-8, 48);
      p.narrow = pick(-8, 48);
      p.byte = pick(-128, 127);
      p.flag = pick(0, 1);
      p.length = pick(-2, 48);
      static const int64_t huge[] = {std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max(), int64_t(1) << 31,
                                     -(int64_t(1) << 33)};
      if (pick(0, 7) == 0)
        p.index = huge[pick(0, 3)];
      if (pick(0, 7) == 0)
        p.wide = huge[pick(0, 3)];
      if (pick(0, 7) == 0)
        p.narrow =
            pick(0, 1) ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
      check(p, /*exact=*/false, counts);
      if (HasFatalFailure())
        return;
    }
  }
  RecordProperty("tiles", std::to_string(counts.tiles));
  std::printf("%u masks, %ld tiles; without a visible pair %ld, skipped %ld; all visible %ld, "
              "unmasked %ld\n",
              programs, long(counts.tiles), long(counts.none), long(counts.noneSkipped),
              long(counts.all), long(counts.allBare));
  // Sound is not enough: much of what can be skipped is.
  EXPECT_GT(counts.noneSkipped, counts.none / 2);
  EXPECT_GT(counts.allBare, counts.all / 3);
}

INSTANTIATE_TEST_SUITE_P(Loops, RandomMasks, testing::ValuesIn(kAxes),
                         [](const auto &test) { return "Over" + stringifyAxis(test.param).str(); });

} // namespace
