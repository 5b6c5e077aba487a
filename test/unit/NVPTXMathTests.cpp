//===- NVPTXMathTests.cpp - accuracy of gpu-lower-math, emulated -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs what the pass makes of a function op by op on the host, as the GPU would:
// f32 flushes subnormals, and an approximate instruction is off by as much as
// its documentation (PTX ISA, 9.7.3) allows, up or down by the bits of its
// argument. So it is a bound, where a device shows one behaviour.
//
//===----------------------------------------------------------------------===//

#include "../gpu/MathFunctions.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "fa/Target/NVPTX/Passes.h"
#include "fa/Tools/Registry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::test;

namespace {

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// 1 or -1, by the bits of x.
double direction(float x) { return (bitsOf(x) * 2654435761u) >> 31 ? 1 : -1; }

float rounded(double exact, double error) { return flush(static_cast<float>(exact + error)); }

/// ex2.approx.ftz: 2^-22 relative.
float ex2(float x) {
  double exact = std::exp2(double(x));
  return rounded(exact, std::isinf(exact) ? 0 : direction(x) * 0x1p-22 * exact);
}
/// lg2.approx.ftz: 2^-22 absolute between 1/2 and 2, relative elsewhere.
float lg2(float x) {
  double exact = std::log2(double(flush(x)));
  if (!std::isfinite(exact) || exact == 0)
    return exact;
  return rounded(exact, direction(x) * 0x1p-22 * std::max(1.0, std::fabs(exact)));
}
/// div.approx.ftz: 2 units; 0 for divisors above 2^126. rcp: 1 unit.
float divide(float x, float y) {
  double exact = double(x) / double(y);
  if (std::fabs(y) > 0x1p126 && std::isfinite(y) && x != 1)
    return std::isinf(x) ? NAN : std::copysign(0.0, exact);
  return rounded(exact, std::isfinite(exact) ? direction(x + y) * 0x1p-22 * exact : 0);
}
/// sqrt.approx.ftz 2^-23 and rsqrt.approx 2^-22.9 relative.
float squareRoot(float x) {
  double exact = std::sqrt(double(x));
  return rounded(exact, std::isfinite(exact) ? direction(x) * 0x1p-23 * exact : 0);
}
float hyperbolicTangent(float x) {
  return rounded(std::tanh(double(x)), direction(x) * 0x1p-11 * std::tanh(double(x)));
}

union Slot {
  float f;
  double d;
  int64_t i;
};

/// A function of f32 as steps over slots, one for each element of a vector.
class Emulator {
public:
  explicit Emulator(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      slotOf(argument);
    for (Operation &op : function.front()) {
      if (auto result = dyn_cast<func::ReturnOp>(op))
        returned = slotOf(result.getOperand(0));
      else if (!move(&op))
        for (lane = 0; lane < lanesOf(op.getResult(0).getType()); ++lane)
          add(&op);
    }
    slots.resize(numbers.size());
  }

  float run(float x, float y) {
    slots[0].f = flush(x);
    slots[1].f = flush(y);
    for (auto &step : steps)
      step(slots.data());
    return slots[returned].f;
  }

private:
  static int64_t lanesOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.getNumElements() : 1;
  }
  unsigned slotOf(Value value, int64_t lane) {
    return numbers.try_emplace({value, lane}, numbers.size()).first->second;
  }
  unsigned slotOf(Value value) {
    return slotOf(value, isa<VectorType>(value.getType()) ? lane : 0);
  }

  void copy(Value from, int64_t fromLane, Value to, int64_t toLane) {
    unsigned a = slotOf(from, fromLane), b = slotOf(to, toLane);
    steps.push_back([=](Slot *s) { s[b] = s[a]; });
  }

  /// Copy the elements that an op of vectors moves; return whether it is one.
  bool move(Operation *op) {
    auto first = [](ArrayAttr offsets) { return cast<IntegerAttr>(offsets[0]).getInt(); };
    if (auto elements = dyn_cast<vector::FromElementsOp>(op)) {
      for (auto [i, element] : llvm::enumerate(elements.getElements()))
        copy(element, 0, elements, i);
    } else if (auto element = dyn_cast<vector::ExtractOp>(op)) {
      copy(element.getSource(), element.getStaticPosition()[0], element, 0);
    } else if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
      for (int64_t i = 0; i < lanesOf(slice.getType()); ++i)
        copy(slice.getSource(), first(slice.getOffsets()) + i, slice, i);
    } else if (auto insert = dyn_cast<vector::InsertStridedSliceOp>(op)) {
      int64_t from = first(insert.getOffsets()), count = lanesOf(insert.getSourceVectorType());
      for (int64_t i = 0; i < lanesOf(insert.getType()); ++i) {
        bool inserted = from <= i && i < from + count;
        copy(inserted ? insert.getValueToStore() : insert.getDest(), inserted ? i - from : i,
             insert, i);
      }
    } else {
      return false;
    }
    return true;
  }

  template <typename Function> void unary(Operation *op, Function function) {
    unsigned a = slotOf(op->getOperand(0)), to = slotOf(op->getResult(0));
    steps.push_back([=](Slot *s) { s[to].f = flush(function(s[a].f)); });
  }
  /// In f32 or f64.
  template <typename Function> void arithmetic(Operation *op, Function function) {
    unsigned a = slotOf(op->getOperand(0)), to = slotOf(op->getResult(0)),
             b = slotOf(op->getOperand(op->getNumOperands() > 1)),
             c = slotOf(op->getOperand(op->getNumOperands() - 1));
    if (op->getResult(0).getType().isF64())
      steps.push_back([=](Slot *s) { s[to].d = function(s[a].d, s[b].d, s[c].d); });
    else
      steps.push_back([=](Slot *s) { s[to].f = flush(function(s[a].f, s[b].f, s[c].f)); });
  }
  template <typename Function> void integers(Operation *op, Function function) {
    unsigned a = slotOf(op->getOperand(0)), to = slotOf(op->getResult(0)),
             b = slotOf(op->getOperand(op->getNumOperands() - 1));
    unsigned width = op->getResult(0).getType().getIntOrFloatBitWidth();
    steps.push_back([=](Slot *s) {
      uint64_t result = uint64_t(function(s[a].i, s[b].i)) << (64 - width);
      s[to].i = width == 1 ? result >> 63 : int64_t(result) >> (64 - width);
    });
  }

  void addConstant(arith::ConstantOp op) {
    Slot value;
    value.i = 0;
    if (auto splat = dyn_cast<DenseFPElementsAttr>(op.getValue())) {
      value.f = splat.getSplatValue<APFloat>().convertToFloat();
    } else if (auto attribute = dyn_cast<FloatAttr>(op.getValue())) {
      if (op.getType().isF64())
        value.d = attribute.getValue().convertToDouble();
      else
        value.f = attribute.getValue().convertToFloat();
    } else {
      auto integer = cast<IntegerAttr>(op.getValue());
      value.i = op.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                          : integer.getValue().getSExtValue();
    }
    unsigned to = slotOf(op);
    steps.push_back([=](Slot *s) { s[to] = value; });
  }

  void addBitcast(arith::BitcastOp op) {
    unsigned a = slotOf(op.getIn()), to = slotOf(op);
    Type from = op.getIn().getType();
    if (from.isF32())
      steps.push_back([=](Slot *s) { s[to].i = int32_t(bitsOf(s[a].f)); });
    else if (from.isInteger(32))
      steps.push_back([=](Slot *s) {
        uint32_t bits = s[a].i;
        std::memcpy(&s[to].f, &bits, sizeof bits);
      });
    else
      steps.push_back([=](Slot *s) { s[to] = s[a]; });
  }

  static bool compare(arith::CmpFPredicate predicate, float a, float b) {
    using P = arith::CmpFPredicate;
    bool unordered = std::isnan(a) || std::isnan(b);
    switch (predicate) {
    case P::OEQ:
      return a == b;
    case P::OGT:
      return a > b;
    case P::OGE:
      return a >= b;
    case P::OLT:
      return a < b;
    case P::OLE:
      return a <= b;
    case P::ONE:
      return !unordered && a != b;
    case P::ORD:
      return !unordered;
    case P::UNO:
      return unordered;
    case P::UEQ:
      return unordered || a == b;
    case P::UGE:
      return !(a < b);
    case P::UGT:
      return !(a <= b);
    case P::ULT:
      return !(a >= b);
    case P::ULE:
      return !(a > b);
    case P::UNE:
      return a != b;
    default:
      ADD_FAILURE() << "no such comparison in the emulator";
      return false;
    }
  }

  void addIntegerCompare(arith::CmpIOp op) {
    auto predicate = op.getPredicate();
    integers(op, [=](int64_t a, int64_t b) -> int64_t {
      switch (predicate) {
      case arith::CmpIPredicate::eq:
        return a == b;
      case arith::CmpIPredicate::ne:
        return a != b;
      case arith::CmpIPredicate::slt:
        return a < b;
      case arith::CmpIPredicate::sle:
        return a <= b;
      case arith::CmpIPredicate::sgt:
        return a > b;
      case arith::CmpIPredicate::sge:
        return a >= b;
      default:
        ADD_FAILURE() << "no such comparison in the emulator";
        return 0;
      }
    });
  }

  void addDivision(arith::DivFOp op) {
    if (bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn))
      arithmetic(op, [](auto a, auto b, auto) { return divide(a, b); });
    else
      arithmetic(op, [](auto a, auto b, auto) { return a / b; });
  }

  void addSquareRoot(math::SqrtOp op) {
    if (bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn))
      unary(op, squareRoot);
    else
      unary(op, [](float x) { return std::sqrt(x); });
  }

  void add(Operation *op) {
    auto maximum = [](auto a, auto b, auto) { return std::isnan(a) ? a : a > b ? a : b; };
    auto minimum = [](auto a, auto b, auto) { return std::isnan(a) ? a : a < b ? a : b; };
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](arith::ConstantOp op) { addConstant(op); })
        .Case([&](arith::BitcastOp op) { addBitcast(op); })
        .Case([&](arith::CmpIOp op) { addIntegerCompare(op); })
        .Case([&](arith::DivFOp op) { addDivision(op); })
        .Case([&](math::SqrtOp op) { addSquareRoot(op); })
        .Case([&](arith::AddFOp op) { arithmetic(op, [](auto a, auto b, auto) { return a + b; }); })
        .Case([&](arith::SubFOp op) { arithmetic(op, [](auto a, auto b, auto) { return a - b; }); })
        .Case([&](arith::MulFOp op) { arithmetic(op, [](auto a, auto b, auto) { return a * b; }); })
        .Case([&](math::FmaOp op) {
          arithmetic(op, [](auto a, auto b, auto c) { return std::fma(a, b, c); });
        })
        .Case([&](arith::MaximumFOp op) { arithmetic(op, maximum); })
        .Case([&](arith::MinimumFOp op) { arithmetic(op, minimum); })
        .Case([&](arith::MaxNumFOp op) {
          arithmetic(op, [](auto a, auto b, auto) { return std::fmax(a, b); });
        })
        .Case([&](arith::MinNumFOp op) {
          arithmetic(op, [](auto a, auto b, auto) { return std::fmin(a, b); });
        })
        .Case([&](arith::NegFOp op) { unary(op, [](float x) { return -x; }); })
        .Case([&](math::AbsFOp op) { unary(op, [](float x) { return std::fabs(x); }); })
        .Case([&](math::FloorOp op) { unary(op, [](float x) { return std::floor(x); }); })
        .Case([&](math::CeilOp op) { unary(op, [](float x) { return std::ceil(x); }); })
        .Case([&](math::TruncOp op) { unary(op, [](float x) { return std::trunc(x); }); })
        .Case([&](math::RoundOp op) { unary(op, [](float x) { return std::round(x); }); })
        .Case([&](math::RoundEvenOp op) { unary(op, [](float x) { return std::nearbyint(x); }); })
        .Case<math::Exp2Op, LLVM::Exp2Op>([&](auto op) { unary(op, ex2); })
        .Case([&](LLVM::Log2Op op) { unary(op, lg2); })
        .Case([&](LLVM::TanhOp op) { unary(op, hyperbolicTangent); })
        .Case([&](LLVM::SinOp op) {
          unary(op, [](float x) { return rounded(std::sin(x), direction(x) * 0x1p-20); });
        })
        .Case([&](LLVM::CosOp op) {
          unary(op, [](float x) { return rounded(std::cos(x), direction(x) * 0x1p-20); });
        })
        .Case([&](math::CopySignOp op) {
          arithmetic(op, [](auto a, auto b, auto) { return std::copysign(a, b); });
        })
        .Case([&](arith::AddIOp op) { integers(op, [](uint64_t a, uint64_t b) { return a + b; }); })
        .Case([&](arith::SubIOp op) { integers(op, [](uint64_t a, uint64_t b) { return a - b; }); })
        .Case([&](arith::AndIOp op) { integers(op, [](int64_t a, int64_t b) { return a & b; }); })
        .Case([&](arith::OrIOp op) { integers(op, [](int64_t a, int64_t b) { return a | b; }); })
        .Case([&](arith::XOrIOp op) { integers(op, [](int64_t a, int64_t b) { return a ^ b; }); })
        .Case([&](arith::ShLIOp op) { integers(op, [](uint64_t a, int64_t b) { return a << b; }); })
        .Case([&](arith::ShRSIOp op) { integers(op, [](int64_t a, int64_t b) { return a >> b; }); })
        .Case([&](arith::ShRUIOp op) {
          integers(op, [](int64_t a, int64_t b) { return uint64_t(uint32_t(a)) >> b; });
        })
        .Case([&](arith::TruncIOp op) { integers(op, [](int64_t a, int64_t) { return a; }); })
        .Case([&](arith::CmpFOp op) {
          unsigned a = slotOf(op.getLhs()), b = slotOf(op.getRhs()), to = slotOf(op);
          arith::CmpFPredicate predicate = op.getPredicate();
          steps.push_back([=](Slot *s) { s[to].i = compare(predicate, s[a].f, s[b].f); });
        })
        .Case([&](arith::SelectOp op) {
          unsigned c = slotOf(op.getCondition()), a = slotOf(op.getTrueValue()),
                   b = slotOf(op.getFalseValue()), to = slotOf(op);
          steps.push_back([=](Slot *s) { s[to] = s[c].i & 1 ? s[a] : s[b]; });
        })
        .Case([&](arith::SIToFPOp op) {
          unsigned a = slotOf(op.getIn()), to = slotOf(op);
          steps.push_back([=](Slot *s) { s[to].f = float(s[a].i); });
        })
        .Case([&](arith::FPToSIOp op) {
          unsigned a = slotOf(op.getIn()), to = slotOf(op);
          steps.push_back([=](Slot *s) {
            float x = s[a].f;
            s[to].i = std::isnan(x) ? 0 : std::min(std::max(double(x), -0x1p31), 0x1p31 - 1);
          });
        })
        .Case([&](arith::ExtFOp op) {
          unsigned a = slotOf(op.getIn()), to = slotOf(op);
          steps.push_back([=](Slot *s) { s[to].d = s[a].f; });
        })
        .Case([&](arith::TruncFOp op) {
          unsigned a = slotOf(op.getIn()), to = slotOf(op);
          steps.push_back([=](Slot *s) { s[to].f = flush(float(s[a].d)); });
        })
        .Default([](Operation *op) {
          ADD_FAILURE() << op->getName().getStringRef().str() << " is unknown to the emulator";
        });
  }

  llvm::DenseMap<std::pair<Value, int64_t>, unsigned> numbers;
  int64_t lane = 0; ///< of the vector's element that steps are added for
  std::vector<std::function<void(Slot *)>> steps;
  std::vector<Slot> slots;
  unsigned returned = 0;
};

class NVPTXMath : public ::testing::Test {
protected:
  NVPTXMath() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  OwningOpRef<ModuleOp> lower(const std::string &op) {
    bool integer = op.find("%n") != std::string::npos;
    std::string text = "func.func @f(%x: f32, %y: f32) -> f32 {\n"
                       "%three = arith.constant 3.0 : f32\n" +
                       std::string(integer ? "%n = arith.fptosi %y : f32 to i32\n" : "") +
                       "%z = math." + op + (integer ? " : f32, i32" : " : f32") +
                       "\nreturn %z : f32 }";
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassManager pm(&context);
    pm.addPass(createGPULowerMath());
    EXPECT_TRUE(module && succeeded(pm.run(*module))) << op;
    return module;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(NVPTXMath, FunctionsAreAccurateInTheWorstCase) {
  constexpr long n = 20011;
  for (const MathFunction &f : getMathFunctions()) {
    OwningOpRef<ModuleOp> module = lower(f.op);
    Emulator emulator(*module->getOps<func::FuncOp>().begin());
    int failures = 0;
    double worst = 0, worstRelative = 0;
    for (long i = 0; i < n; ++i) {
      float x, y;
      sample(f, i, n, x, y);
      float got = emulator.run(x, y);
      double expected = f.reference(x, y), error = std::fabs(got - expected);
      worst = std::max(worst, error / std::max(1.0, std::fabs(expected)));
      if (std::fabs(expected) > 1.2e-38)
        worstRelative = std::max(worstRelative, error / std::fabs(expected));
      if (!isRight(f, x, y, got) && ++failures <= 3)
        ADD_FAILURE() << f.op << " of " << x << ", " << y << " is " << got << ", expected "
                      << expected;
    }
    if (getenv("FA_VERBOSE"))
      llvm::outs() << f.op << " [" << f.low << ", " << f.high << "]: " << worst << ", relative "
                   << worstRelative << "\n";
  }
}

// A vector's elements share a division, in the form of absolute error: none sees another's value.
TEST_F(NVPTXMath, ElementsOfAVectorAreApart) {
  constexpr long n = 20011;
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: f32, %y: f32) -> f32 {
      %half = arith.constant dense<0.5> : vector<6xf32>
      %v = vector.from_elements %y, %x, %y, %y, %x, %y : vector<6xf32>
      %scaled = arith.mulf %v, %half : vector<6xf32>
      %t = math.tanh %scaled {tile.absolute_error} : vector<6xf32>
      %a = vector.extract %t[1] : f32 from vector<6xf32>
      %b = vector.extract %t[4] : f32 from vector<6xf32>
      %larger = arith.maximumf %a, %b : f32
      return %larger : f32
    })",
                                            &context);
  PassManager pm(&context);
  pm.addPass(createGPULowerMath());
  ASSERT_TRUE(module && succeeded(pm.run(*module)));
  int divisions = 0;
  module->walk([&](arith::DivFOp) { ++divisions; });
  EXPECT_EQ(divisions, 2) << "of a slice of four elements and one of two";
  Emulator emulator(*module->getOps<func::FuncOp>().begin());
  for (float y : getSpecials())
    for (long i = 0; i < n; ++i) {
      float x = -24 + 48 * (float(i) / (n - 1));
      ASSERT_NEAR(emulator.run(x, y), std::tanh(0.5 * x), 5e-7) << "of " << x << " beside " << y;
      x /= 1200;
      ASSERT_NEAR(emulator.run(x, y), std::tanh(0.5 * x), 1.5e-7) << "of " << x << " beside " << y;
    }
  EXPECT_TRUE(std::isnan(emulator.run(NAN, 1)));
  EXPECT_NEAR(emulator.run(INFINITY, NAN), 1, 5e-7);
  EXPECT_NEAR(emulator.run(-INFINITY, NAN), -1, 5e-7);
}

/// Put an arm in the place of the first branch of a function, and one in that of those which come
/// up then; erase what nothing uses any more.
void takeArms(func::FuncOp function, bool first, bool others) {
  bool then = first;
  while (true) {
    auto branches = function.front().getOps<scf::IfOp>();
    if (branches.empty())
      break;
    scf::IfOp branch = *branches.begin();
    Block *taken = then ? branch.thenBlock() : branch.elseBlock();
    branch->replaceAllUsesWith(taken->getTerminator()->getOperands());
    for (Operation &op : llvm::make_early_inc_range(taken->without_terminator()))
      op.moveBefore(branch);
    branch->erase();
    then = others;
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (!isa<func::ReturnOp>(op) && op.use_empty())
      op.erase(); // The number of registers, too.
}

// Of many elements, a series takes the place of the formula where all are small, a longer one where
// those of a slice are moderate: all are right up to where the next begins, with the factors that
// they take.
TEST_F(NVPTXMath, ArmsOfABranchAgree) {
  constexpr long n = 20011;
  constexpr double factor = 0.125, scale = 30, ends[] = {0.28, 0.9, 20};
  // What a row of the table bounds near 0, and what is more where results are larger.
  constexpr double error = 1.5e-7, more[] = {0, 5e-7, 5e-7};
  for (int arm = 0; arm < 3; ++arm) {
    auto module = parseSourceString<ModuleOp>(R"(
      func.func @f(%x: f32, %y: f32) -> f32 {
        nvvm.setmaxregister increase 160
        %factor = arith.constant dense<0.125> : vector<32xf32>
        %scale = arith.constant dense<30.0> : vector<32xf32>
        %v = vector.from_elements %y, %x, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y, %y : vector<32xf32>
        %scaled = arith.mulf %v, %factor : vector<32xf32>
        %t = math.tanh %scaled {tile.absolute_error} : vector<32xf32>
        %c = arith.mulf %t, %scale : vector<32xf32>
        %a = vector.extract %c[1] : f32 from vector<32xf32>
        return %a : f32
      })",
                                              &context);
    PassManager pm(&context);
    pm.addPass(createGPUBranchTanh());
    pm.addPass(createGPULowerMath());
    ASSERT_TRUE(module && succeeded(pm.run(*module)));
    auto function = *module->getOps<func::FuncOp>().begin();
    int branches = 0;
    function.walk([&](scf::IfOp) { ++branches; });
    ASSERT_EQ(branches, 1 + 32 / 16);
    takeArms(function, arm > 0, arm > 1);
    Emulator emulator(function);
    double end = ends[arm] / factor, worst = 0;
    for (long i = 0; i < n; ++i) {
      float x = end * (2.0 * i / (n - 1) - 1);
      double expected = std::tanh(factor * x), got = emulator.run(x, 1) / scale;
      double allowed = error + more[arm] * std::fabs(expected);
      worst = std::max(worst, std::fabs(got - expected) / allowed);
      ASSERT_NEAR(got, expected, allowed) << "arm " << arm << " of " << x;
    }
    if (getenv("FA_VERBOSE"))
      llvm::outs() << "arm " << arm << ": " << worst << " of what is allowed\n";
    EXPECT_TRUE(std::signbit(emulator.run(-0.f, 1)));
    EXPECT_TRUE(std::isnan(emulator.run(NAN, 1)));
  }
}

TEST_F(NVPTXMath, SpecialValuesAreRight) {
  for (const MathFunction &f : getMathFunctions()) {
    if (!f.hasSpecials)
      continue;
    OwningOpRef<ModuleOp> module = lower(f.op);
    Emulator emulator(*module->getOps<func::FuncOp>().begin());
    MathFunction loose = forSpecials(f);
    for (auto [x, y] : getSpecialInputs(f)) {
      float got = emulator.run(x, y);
      EXPECT_TRUE(isRight(loose, x, y, got)) << f.op << " of " << x << ", " << y << " is " << got
                                             << ", expected " << f.reference(x, y);
    }
  }
}

TEST_F(NVPTXMath, TheDocumentHasTheTable) {
  std::ifstream file(FA_TEST_DIR "/../docs/semantics.md");
  std::stringstream document;
  document << file.rdbuf();
  EXPECT_NE(document.str().find(mathTable()), std::string::npos)
      << "docs/semantics.md lacks the table of MathFunctions.h; put there:\n"
      << mathTable();
}

TEST_F(NVPTXMath, KernelsForTheDeviceCompile) {
  std::ifstream file(FA_TEST_DIR "/gpu/math.mlir");
  std::stringstream golden;
  golden << file.rdbuf();
  if (const char *path = getenv("FA_UPDATE_MATH_KERNELS"))
    std::ofstream(path) << mathKernels();
  EXPECT_EQ(golden.str(), mathKernels()) << "run with FA_UPDATE_MATH_KERNELS=test/gpu/math.mlir";
  auto module = parseSourceString<ModuleOp>(mathKernels(), &context);
  ASSERT_TRUE(module);
  CompileOptions options;
  options.target = "sm_80";
  ASSERT_TRUE(succeeded(runPhases(*module, options, "schedule")));
  FailureOr<std::string> ptx = nvptx::translateToPTX(*module, *nvptx::getTarget("sm_80"));
  ASSERT_TRUE(succeeded(ptx));
  for (size_t i = 0; i < getMathFunctions().size(); ++i)
    EXPECT_NE(ptx->find(".visible .entry " + mathKernelName(i) + "("), std::string::npos);
}

} // namespace
