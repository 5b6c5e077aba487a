//===- MaskAnalysis.h - what fa-analyze-mask emits, against brute force -===//
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

#ifndef FA_TEST_UNIT_MASKANALYSIS_H
#define FA_TEST_UNIT_MASKANALYSIS_H

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

namespace fa_test {

using namespace mlir;
using namespace mlir::fa;

/// Sizes of one problem and the captures of every program here.
struct Problem {
  int64_t sq, sk, rows, keys, b = 0, h = 0;
  int64_t index = 0, wide = 0, narrow = 0, byte = 0;
  bool flag = false;
  int64_t length = 0;
  /// Hold what %ct holds, where that is not the length at b.
  std::vector<int64_t> data = {};
  /// The captures of a program that has others, and the limits that kernels find for it.
  std::vector<HostTensor> captures = {}, limits = {};

  std::vector<HostTensor> makeCaptures() const;
};

inline std::vector<HostTensor> Problem::makeCaptures() const {
  if (!captures.empty())
    return captures;
  std::vector<HostTensor> tensors;
  auto scalar = [&](DType dtype, int64_t value) {
    tensors.push_back(HostTensor::zeros("c", dtype, {}));
    tensors.back().setInteger(0, value);
  };
  scalar(DType::I64, index);
  scalar(DType::I64, wide);
  scalar(DType::I32, narrow);
  scalar(DType::I8, byte);
  scalar(DType::Bool, flag);
  std::vector<int64_t> numbers = data;
  if (numbers.empty()) {
    numbers = {0, 0};
    numbers[b] = length;
  }
  tensors.push_back(HostTensor::zeros("ct", DType::I32, {static_cast<int64_t>(numbers.size())}));
  for (auto [n, number] : llvm::enumerate(numbers))
    tensors.back().setInteger(n, number);
  return tensors;
}

/// Captures: %ci : index, %cl : i64, %cn : i32, %cb : i8, %cf : i1, %ct : tensor<?xi32>.
inline const char *kArguments = R"(%q: tensor<2x2x?x8xf32> {fa.name = "q"},
             %k: tensor<2x2x?x8xf32> {fa.name = "k"},
             %ci: index {fa.name = "ci"}, %cl: i64 {fa.name = "cl"}, %cn: i32 {fa.name = "cn"},
             %cb: i8 {fa.name = "cb"}, %cf: i1 {fa.name = "cf"},
             %ct: tensor<?xi32> {fa.name = "ct"})";
inline const char *kBlock = R"({
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
       %ci0: index, %cl0: i64, %cn0: i32, %cb0: i8, %cf0: i1, %ct0: tensor<?xi32>):
)";

/// Attention: becomes a loop over keys for a block of rows.
inline std::string attention(StringRef mask) {
  return std::string("func.func @f(") + kArguments + R"() -> tensor<2x2x?x8xf32> {
  %o = fa.attention query(%q) key(%k) value(%k) captures(%ci, %cl, %cn, %cb, %cf, %ct) mask )" +
         kBlock + mask.str() + R"(
  } : (tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, index, i64, i32, i8, i1,
       tensor<?xi32>) -> tensor<2x2x?x8xf32>
  return %o : tensor<2x2x?x8xf32>
})";
}

/// Return the greatest visible score of each key: a loop over rows for a block of keys.
inline std::string loopOverRows(const std::string &arguments, const std::string &captures,
                                const std::string &types, const std::string &mask) {
  return "func.func @f(" + arguments + R"() -> tensor<2x2x?xf32> {
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
        captures()" +
         captures + " : " + types + ") hidden(0xFF800000) " + mask +
         R"( : tensor<?x?xf32, #fa.axes<rows, keys>>
      %y_ = tile.reduce maxnumf %x_ init %m_ dim 0 : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?xf32, #fa.axes<keys>>
      scf.yield %y_ : tensor<?xf32, #fa.axes<keys>>
    }
    tile.store %max_, %view[%batch, %head, %j0] dims [2] : tensor<?xf32, #fa.axes<keys>>, !tile.view<2x2x?xf32>
  }
  return %o : tensor<2x2x?xf32>
})";
}

inline std::string loopOverRows(StringRef mask) {
  return loopOverRows(kArguments, "%ci, %cl, %cn, %cb, %cf, %ct",
                      "index, i64, i32, i8, i1, tensor<?xi32>", kBlock + mask.str() + "\n  }");
}

constexpr Axis kAxes[] = {Axis::keys, Axis::rows};

/// Maps tensors, and scalars, of a program to what they hold.
using Held = llvm::DenseMap<Value, const HostTensor *>;

/// Return an element, 0 where there is none.
inline int64_t readAt(const HostTensor &tensor, ArrayRef<int64_t> indices) {
  int64_t at = 0;
  for (auto [index, size] : llvm::zip_equal(indices, tensor.shape)) {
    if (index < 0 || index >= size)
      return 0;
    at = at * size + index;
  }
  return tensor.integerAt(at);
}

/// Evaluates the scalar ops of a block, on demand.
class Evaluator {
public:
  Evaluator(MapBlocksOp blocks, scf::ForOp loop, const Problem &p, const Held &held, int64_t first)
      : p(p), held(held), index(loop.getInductionVar()) {
    int64_t firsts[] = {p.b, p.h, first};
    for (auto [i, value] : llvm::enumerate(firsts))
      values[blocks.getBody()->getArgument(i)] = value;
    for (auto [value, tensor] : held)
      if (tensor->shape.empty())
        values[value] = tensor->integerAt(0);
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
  SmallVector<int64_t> all(ValueRange of) {
    return llvm::map_to_vector(of, [&](Value value) { return (*this)(value); });
  }

  /// Return what the region of a summary yields at an index of its axis.
  int64_t read(SummarizeOp op, int64_t at) {
    std::function<int64_t(Value)> valueOf = [&](Value value) -> int64_t {
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        const int64_t position[] = {p.b, p.h, at, at, p.sq, p.sk};
        return position[argument.getArgNumber()];
      }
      Operation *inner = value.getDefiningOp();
      if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
        auto source = cast<BlockArgument>(extract.getTensor());
        SmallVector<int64_t> indices = llvm::map_to_vector(extract.getIndices(), valueOf);
        return readAt(
            *held.lookup(op.getCaptures()[source.getArgNumber() - AttentionOp::kNumPositionArgs]),
            indices);
      }
      return calculate(inner, valueOf);
    };
    return std::clamp<int64_t>(valueOf(op.getBody().front().getTerminator()->getOperand(0)),
                               std::numeric_limits<int32_t>::min(),
                               std::numeric_limits<int32_t>::max());
  }

  int64_t extremeOf(RangeOp op, bool most) {
    auto summary = op.getTable().getDefiningOp<SummarizeOp>();
    int64_t first = (*this)(op.getFirst()), last = (*this)(op.getLast());
    int64_t size = (*this)(op.getSize()), span = SummarizeOp::kSpan;
    EXPECT_TRUE(first % size == 0 && last < first + size) << "the range is no block";
    int64_t found =
        most ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
    auto count = [&](int64_t number) {
      found = most ? std::max(found, number) : std::min(found, number);
    };
    if (summary) {
      int64_t length = summary.getAxis() == Axis::rows ? p.sq : p.sk;
      for (int64_t n = first / span * span; n < std::min((last / span + 1) * span, length); ++n)
        count(read(summary, n));
      return found;
    }
    SmallVector<int64_t> at = all(op.getIndices());
    at.append({0, op.getColumns()[most]});
    for (int64_t n = first / span; n <= last / span; ++n) {
      at[at.size() - 2] = n;
      count(readAt(*held.lookup(op.getTable()), at));
    }
    return found;
  }

  int64_t compute(Operation *op) {
    if (auto size = dyn_cast<TileSizeOp>(op))
      return size.getAxis() == Axis::rows ? p.rows : p.keys;
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      return cast<BlockArgument>(dim.getSource()).getArgNumber() == 0 ? p.sq : p.sk;
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return readAt(*held.lookup(load->getOperand(0)), all(load.getIndices()));
    return calculate(op, *this);
  }

  /// Return the result of an op of arithmetic.
  static int64_t calculate(Operation *op, llvm::function_ref<int64_t(Value)> valueOf) {
    auto x = [&](unsigned i) { return valueOf(op->getOperand(i)); };
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      APInt value = cast<IntegerAttr>(constant.getValue()).getValue();
      return value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
    }
    if (isa<arith::AddIOp>(op))
      return static_cast<int64_t>(static_cast<uint64_t>(x(0)) + static_cast<uint64_t>(x(1)));
    if (isa<arith::SubIOp>(op))
      return static_cast<int64_t>(static_cast<uint64_t>(x(0)) - static_cast<uint64_t>(x(1)));
    if (isa<arith::MulIOp>(op))
      return static_cast<int64_t>(static_cast<uint64_t>(x(0)) * static_cast<uint64_t>(x(1)));
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op)) {
      bool undefined = x(1) == 0 || (x(1) == -1 && x(0) == std::numeric_limits<int64_t>::min());
      EXPECT_FALSE(undefined) << "emitted division is undefined";
      if (undefined)
        return 0;
      if (isa<arith::DivUIOp>(op))
        return static_cast<uint64_t>(x(0)) / static_cast<uint64_t>(x(1));
      return isa<arith::DivSIOp>(op) ? x(0) / x(1) : llvm::divideFloorSigned(x(0), x(1));
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
    // What is held is as wide as its type says, and all are signed but i1.
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp, arith::ExtSIOp>(op))
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
  const Held &held;
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
    return loadText(loopAxis == Axis::keys ? attention(mask) : loopOverRows(mask), loopAxis);
  }

  /// Runs it on a program, with limits of its rows where it takes them.
  bool loadText(std::string text, Axis loopAxis, bool derivesLimits = false) {
    axis = loopAxis;
    source = std::move(text);
    module = parseSourceString<ModuleOp>(source, &context);
    if (!module)
      return false;
    module->walk([&](AttentionOp op) { program = RegionProgram::compile(op.getMask(), false); });
    module->walk([&](ApplyMaskOp op) { program = RegionProgram::compile(op.getBody(), false); });
    PassManager pm(&context);
    if (derivesLimits)
      pm.addPass(createFADeriveLimits());
    if (axis == Axis::keys)
      pm.addPass(createFARewriteOnlineSoftmax());
    pm.addPass(createFAAnalyzeMask());
    if (failed(pm.run(*module)))
      return false;
    module->walk([&](MapBlocksOp op) { blocks = op; });
    findBranches();
    return true;
  }

  /// Find the tests of the loop, and the forms in which it applies the mask.
  void findBranches() {
    forms.clear();
    blocks->walk([&](ApplyMaskOp op) { forms.push_back(op); });
    ASSERT_TRUE(forms.size() == 1 || forms.size() == 2) << source;
    apply = forms.front();
    shown.clear();
    for (ApplyMaskOp form : forms)
      shown.push_back(RegionProgram::compile(form.getBody(), false));
    loop = apply->getParentOfType<scf::ForOp>();
    needed = any = fallback = nullptr;
    for (Operation *op = apply->getParentOp(); op != loop; op = op->getParentOp()) {
      auto branch = cast<scf::IfOp>(op);
      auto otherwise = branch.elseYield().getResults();
      if (forms.size() == 2 && branch.elseBlock()->findAncestorOpInBlock(*forms.back()))
        fallback = branch;
      else if (otherwise.size() == 1 && otherwise[0] == apply.getInputs().front())
        needed = branch;
      else
        any = branch;
    }
  }

  /// Compares all blocks and tiles of a problem; `exact` asks for the best answer.
  void check(const Problem &p, bool exact, Counts &counts) {
    std::vector<HostTensor> tensors = p.makeCaptures();
    Held held;
    std::vector<const HostTensor *> captures;
    for (auto [i, tensor] : llvm::enumerate(tensors)) {
      held[blocks->getParentOfType<func::FuncOp>().getArgument(2 + i)] = &tensor;
      captures.push_back(&tensor);
    }
    for (auto [capture, limit] :
         llvm::zip(apply.getCaptures().drop_front(tensors.size()), p.limits))
      held[capture] = &limit;
    RegionEvaluator mask(program, captures);
    // Each form in which the loop applies the mask shows what the region as written does.
    std::vector<RegionEvaluator> applied;
    std::vector<const HostTensor *> all;
    for (Value capture : apply.getCaptures())
      all.push_back(held.lookup(capture));
    for (const RegionProgram &form : shown)
      applied.emplace_back(form, all);

    bool overKeys = axis == Axis::keys;
    int64_t length = overKeys ? p.sk : p.sq, size = overKeys ? p.keys : p.rows;
    int64_t blockLength = overKeys ? p.sq : p.sk, blockSize = overKeys ? p.rows : p.keys;
    for (int64_t block = 0; block < blockLength; block += blockSize) {
      Evaluator evaluate(blocks, loop, p, held, block);
      int64_t first = evaluate(loop.getLowerBound()), last = evaluate(loop.getUpperBound());
      ASSERT_EQ(evaluate(loop.getStep()), size);
      ASSERT_TRUE(first % size == 0 && first >= 0 && last <= length) << source;
      for (int64_t tile = 0; tile < length; tile += size) {
        evaluate.setTile(tile);
        bool visited = tile >= first && tile < last && (!any || evaluate(any.getCondition()));
        bool masked = !needed || evaluate(needed.getCondition());
        bool written = !fallback || evaluate(fallback.getCondition());
        RegionEvaluator &form = applied[written ? 0 : 1];
        bool same = true;
        // Keys past the last one are hidden; rows past the last one do not count.
        bool some = false, all = (overKeys ? tile : block) + p.keys <= p.sk;
        for (int64_t x = block; x < std::min(block + blockSize, blockLength); ++x)
          for (int64_t y = tile; y < std::min(tile + size, length); ++y) {
            Position at{p.b, p.h, overKeys ? x : y, overKeys ? y : x, p.sq, p.sk};
            bool visible = mask.mask(at);
            same &= !visited || !masked || !fallback || form.mask(at) == visible;
            some |= visible;
            all &= visible;
          }
        auto where = [&] {
          return source + "\nsq " + std::to_string(p.sq) + " sk " + std::to_string(p.sk) +
                 " block " + std::to_string(block) + " of " + std::to_string(blockSize) + " tile " +
                 std::to_string(tile) + " of " + std::to_string(size);
        };
        ASSERT_TRUE(visited || !some) << "a visible pair is not visited\n" << where();
        ASSERT_TRUE(masked || all || !visited) << "a hidden pair is not masked\n" << where();
        ASSERT_TRUE(same) << "the mask by limits is another one\n" << where();
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
  scf::IfOp needed, any, fallback;
  /// The mask as written, and the forms in which the loop applies it: by limits the second one.
  RegionProgram program;
  SmallVector<ApplyMaskOp> forms;
  std::vector<RegionProgram> shown;
};

} // namespace fa_test

#endif // FA_TEST_UNIT_MASKANALYSIS_H
