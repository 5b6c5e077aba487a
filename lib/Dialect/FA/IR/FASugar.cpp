//===- FASugar.cpp - masks and scores with names, as regions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FASugar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/Format.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// The bounds of a softcap: within them, it and its reciprocal are normal numbers of f32.
static constexpr double kLeastCap = 1e-37, kMostCap = 1e37;
static constexpr StringLiteral kItems =
    "causal, window, prefix, document, blocks, alibi, softcap or bias";

ParseResult fa::parseQuietly(OpAsmParser &parser, function_ref<ParseResult()> parse) {
  ScopedDiagnosticHandler quiet(parser.getContext(), [](Diagnostic &) { return success(); });
  return parse();
}

static ParseResult parseOne(OpAsmParser &parser, SmallVectorImpl<Sugar> &sugar) {
  SMLoc at = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseOptionalKeyword(&name))
    return parser.emitError(at) << "expected a mask or a score: one of " << kItems;
  Sugar item(parser.getEncodedSourceLoc(at));
  auto lacks = [&](StringRef form) -> ParseResult {
    return parser.emitError(parser.getCurrentLocation()) << name << " is written " << form;
  };
  auto operands = [&](size_t most) -> ParseResult {
    if (parser.parseOperandList(item.operands, OpAsmParser::Delimiter::OptionalParen))
      return failure();
    if (item.operands.empty() || item.operands.size() > most)
      return parser.emitError(at) << name << " takes "
                                  << (most > 1 ? "1 or 2 captures" : "1 capture") << ", got "
                                  << item.operands.size();
    return success();
  };
  if (name == "causal") {
    if (succeeded(parser.parseOptionalLess())) {
      item.kind = Sugar::CausalTopLeft;
      if (parser.parseOptionalKeyword("top_left") || parser.parseOptionalGreater())
        return lacks("causal, or causal<top_left>");
    }
  } else if (name == "window") {
    item.kind = Sugar::Window;
    if (parseQuietly(parser, [&] {
          return failure(parser.parseLess() || parser.parseInteger(item.left) ||
                         parser.parseComma() || parser.parseInteger(item.right) ||
                         parser.parseGreater());
        }))
      return lacks("window<left, right>, sizes from 0 or -1 for an unbounded side");
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (item.left < -1 || item.right < -1 || item.left > most || item.right > most)
      return parser.emitError(at,
                              "window takes sizes from 0 to 2^31 - 1, or -1 for an unbounded side");
  } else if (name == "prefix") {
    item.kind = Sugar::Prefix;
    if (operands(1))
      return failure();
  } else if (name == "document") {
    item.kind = Sugar::Document;
    if (operands(2))
      return failure();
  } else if (name == "blocks") {
    item.kind = Sugar::Blocks;
    if (parseQuietly(parser, [&] {
          return failure(parser.parseLess() || parser.parseInteger(item.rows) ||
                         parser.parseComma() || parser.parseInteger(item.keys) ||
                         parser.parseGreater());
        }))
      return lacks("blocks<rows, keys>(%m), the sizes of a block, such as blocks<128, 128>(%m)");
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (item.rows < 1 || item.keys < 1 || item.rows > most || item.keys > most)
      return parser.emitError(at) << "blocks takes sizes from 1 to 2^31 - 1, got " << item.rows
                                  << " and " << item.keys;
    if (operands(1))
      return failure();
  } else if (name == "alibi") {
    item.kind = Sugar::Alibi;
    if (operands(1))
      return failure();
  } else if (name == "softcap") {
    item.kind = Sugar::Softcap;
    constexpr StringLiteral form =
        "softcap<c>, c a number from 1e-37 to 1e37 with a decimal point, such as softcap<50.0>";
    if (parser.parseOptionalLess())
      return lacks(form);
    // The bits of a number, which parseFloat takes, are those of an f64.
    StringRef rest(parser.getCurrentLocation().getPointer());
    bool bits = rest.starts_with("0x");
    // An integer is meant as one more often than not.
    StringRef digits = rest.take_while(llvm::isDigit), after = rest.drop_front(digits.size());
    if (!digits.empty() && after.ltrim().starts_with(">")) {
      bool isZero = digits.ltrim('0').empty();
      InFlightDiagnostic error = parser.emitError(at);
      error << "softcap takes a number with a decimal point, got " << digits;
      if (isZero)
        return error << "; leave softcap out for scores without a cap";
      return error << "; write softcap<" << digits << ".0>";
    }
    if (bits || parseQuietly(parser, [&] {
          return failure(parser.parseFloat(item.cap) || parser.parseGreater());
        }))
      return lacks(form);
    // 1 / c is an f32, too.
    if (!(item.cap >= kLeastCap && item.cap <= kMostCap)) {
      SmallString<32> digits;
      llvm::raw_svector_ostream(digits) << llvm::format("%.9g", item.cap);
      return parser.emitError(at) << "softcap takes a number from 1e-37 to 1e37, got " << digits
                                  << "; leave softcap out for scores without a cap";
    }
  } else if (name == "bias") {
    item.kind = Sugar::Bias;
    if (operands(1))
      return failure();
  } else {
    return parser.emitError(at) << "unknown mask or score '" << name << "': expected " << kItems
                                << "; write a mask or score region for anything else";
  }
  sugar.push_back(std::move(item));
  return success();
}

ParseResult fa::parseSugar(OpAsmParser &parser, SmallVectorImpl<Sugar> &sugar) {
  if (parser.parseOptionalLSquare())
    return parser.emitError(parser.getCurrentLocation())
           << "with takes a list in brackets, such as with [causal]: one or more of " << kItems;
  return failure(parser.parseCommaSeparatedList([&] { return parseOne(parser, sugar); }) ||
                 parser.parseRSquare());
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

namespace {

/// Builds index arithmetic at one place.
struct Build {
  OpBuilder &b;
  Location loc;

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value f32(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value le(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, x, y);
  }
  Value lt(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
  }
  /// x / size of a position.
  Value div(Value x, int64_t size) {
    return size == 1 ? x : Value(arith::DivUIOp::create(b, loc, x, constant(size)));
  }
  /// Read a capture at the last of these positions; a static dimension of 1 is read at 0.
  Value read(Value capture, ArrayRef<Value> positions) {
    auto type = cast<RankedTensorType>(capture.getType());
    SmallVector<Value> indices(positions.take_back(type.getRank()));
    for (auto [index, size] : llvm::zip_equal(indices, type.getShape()))
      if (size == 1)
        index = constant(0);
    return tensor::ExtractOp::create(b, loc, capture, indices);
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value toI32(Value x) { return arith::IndexCastOp::create(b, loc, b.getI32Type(), x); }
  Value toF32(Value x) {
    Type type = x.getType();
    if (type.isF32())
      return x;
    if (type.getIntOrFloatBitWidth() < 32)
      return arith::ExtFOp::create(b, loc, b.getF32Type(), x);
    return arith::TruncFOp::create(b, loc, b.getF32Type(), x);
  }
};

/// Describe the place of an element: what a region knows of it.
struct Place {
  Value b, h, i, j, sq, sk;
  ValueRange captures;
};

} // namespace

/// Return the key position at which query i stands, bottom-right aligned.
static Value diagonal(Build &build, const Place &at) {
  return build.add(at.i, build.sub(at.sk, at.sq));
}

static Value buildMask(Build build, const Sugar &item, const Place &at) {
  switch (item.kind) {
  case Sugar::Causal:
    return build.le(at.j, diagonal(build, at));
  case Sugar::CausalTopLeft:
    return build.le(at.j, at.i);
  case Sugar::Window: {
    Value seen, d = diagonal(build, at);
    if (item.left >= 0)
      seen = build.le(build.sub(d, build.constant(item.left)), at.j);
    if (item.right >= 0) {
      Value right = build.le(at.j, build.add(d, build.constant(item.right)));
      seen = seen ? build.both(seen, right) : right;
    }
    return seen ? seen : arith::ConstantIntOp::create(build.b, build.loc, 1, 1);
  }
  case Sugar::Prefix: {
    Value length = tensor::ExtractOp::create(build.b, build.loc, at.captures[0], at.b);
    if (!length.getType().isIndex())
      length = arith::IndexCastOp::create(build.b, build.loc, build.b.getIndexType(), length);
    return build.either(build.lt(at.j, length), build.le(at.j, diagonal(build, at)));
  }
  case Sugar::Document: {
    Value query =
        tensor::ExtractOp::create(build.b, build.loc, at.captures.front(), ValueRange{at.b, at.i});
    Value key =
        tensor::ExtractOp::create(build.b, build.loc, at.captures.back(), ValueRange{at.b, at.j});
    return arith::CmpIOp::create(build.b, build.loc, arith::CmpIPredicate::eq, query, key);
  }
  case Sugar::Blocks: {
    Value seen = build.read(at.captures[0],
                            {at.b, at.h, build.div(at.i, item.rows), build.div(at.j, item.keys)});
    if (seen.getType().isInteger(1))
      return seen;
    Value zero = arith::ConstantOp::create(build.b, build.loc, build.b.getZeroAttr(seen.getType()));
    return arith::CmpIOp::create(build.b, build.loc, arith::CmpIPredicate::ne, seen, zero);
  }
  default:
    return {};
  }
}

static Value buildScore(Build build, const Sugar &item, const Place &at, Value score) {
  switch (item.kind) {
  case Sugar::Alibi: {
    Value slope = build.toF32(tensor::ExtractOp::create(build.b, build.loc, at.captures[0], at.h));
    // Not |x| in integers: the sign of a float costs nothing.
    Value d = build.sub(build.toI32(diagonal(build, at)), build.toI32(at.j));
    Value away = arith::SIToFPOp::create(build.b, build.loc, build.b.getF32Type(), d);
    Value distance = math::AbsFOp::create(build.b, build.loc, away);
    auto contract = arith::FastMathFlags::contract;
    Value penalty = arith::MulFOp::create(build.b, build.loc, slope, distance, contract);
    return arith::SubFOp::create(build.b, build.loc, score, penalty, contract);
  }
  case Sugar::Softcap: {
    Value x = arith::MulFOp::create(build.b, build.loc, score, build.f32(1.0 / item.cap));
    Value t = math::TanhOp::create(build.b, build.loc, x);
    return arith::MulFOp::create(build.b, build.loc, t, build.f32(item.cap));
  }
  case Sugar::Bias: {
    Value bias = build.read(at.captures[0], {at.b, at.h, at.i, at.j});
    return arith::AddFOp::create(build.b, build.loc, score, build.toF32(bias));
  }
  default:
    return {};
  }
}

static bool isMask(const Sugar &item) { return item.kind < Sugar::Alibi; }

/// Check that an item can be built from captures of these types.
static LogicalResult checkCaptures(const Sugar &item, TypeRange captures,
                                   function_ref<InFlightDiagnostic(Location)> emitError) {
  auto check = [&](StringRef name, int64_t least, int64_t most, bool floats,
                   StringRef expected) -> LogicalResult {
    for (Type type : captures) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || tensor.getRank() < least || tensor.getRank() > most ||
          isa<FloatType>(tensor.getElementType()) != floats ||
          !tensor.getElementType().isIntOrIndexOrFloat())
        return emitError(item.loc) << name << " takes " << expected << ", got " << type;
    }
    if (captures.size() == 2 &&
        getElementTypeOrSelf(captures[0]) != getElementTypeOrSelf(captures[1]))
      return emitError(item.loc) << name << " takes captures of one element type, got "
                                 << captures[0] << " and " << captures[1];
    return success();
  };
  switch (item.kind) {
  case Sugar::Prefix:
    return check("prefix", 1, 1, false, "integers of rank 1 (B)");
  case Sugar::Document:
    return check("document", 2, 2, false, "integers of rank 2 (B x S)");
  case Sugar::Blocks:
    return check("blocks", 2, 4, false,
                 "integers of rank 2 to 4 (B x Hq x blocks of rows x blocks of keys, leading "
                 "dimensions optional)");
  case Sugar::Alibi:
    return check("alibi", 1, 1, true, "floats of rank 1 (Hq)");
  case Sugar::Bias:
    return check("bias", 2, 4, true,
                 "floats of rank 2 to 4 (B x Hq x Sq x Sk, leading dimensions optional)");
  default:
    return success();
  }
}

LogicalResult fa::expandSugar(OpBuilder &builder, ArrayRef<Sugar> sugar, Region &mask,
                              Region &score, TypeRange captures, unsigned firstSugarCapture,
                              function_ref<InFlightDiagnostic(Location)> emitError) {
  if (sugar.empty())
    return success();
  OpBuilder::InsertionGuard guard(builder);
  Location loc = sugar.front().loc;
  // Give both regions an argument for every capture, where the region is or will be.
  auto prepare = [&](Region &region, bool isScore) -> LogicalResult {
    bool wanted = llvm::any_of(sugar, [&](const Sugar &item) { return isMask(item) != isScore; });
    if (region.empty()) {
      if (!wanted)
        return success();
      Block &block = region.emplaceBlock();
      if (isScore)
        block.addArgument(builder.getF32Type(), loc);
      for (unsigned i = 0; i < AttentionOp::kNumPositionArgs; ++i)
        block.addArgument(builder.getIndexType(), loc);
      for (Type type : captures)
        block.addArgument(type, loc);
      builder.setInsertionPointToEnd(&block);
      YieldOp::create(builder, loc, isScore ? ValueRange(block.getArgument(0)) : ValueRange());
      return success();
    }
    Block &block = region.front();
    unsigned expected = isScore + AttentionOp::kNumPositionArgs + firstSugarCapture;
    if (block.getNumArguments() != expected)
      return emitError(loc) << "the " << (isScore ? "score" : "mask") << " region takes "
                            << expected << " arguments before the captures of sugar, got "
                            << block.getNumArguments();
    for (Type type : captures.drop_front(firstSugarCapture))
      block.addArgument(type, loc);
    if (block.empty() || !isa<YieldOp>(block.back()) || block.back().getNumOperands() != 1)
      return emitError(loc) << "the " << (isScore ? "score" : "mask")
                            << " region must end in fa.yield of one value";
    return success();
  };
  if (failed(prepare(mask, false)) || failed(prepare(score, true)))
    return failure();

  unsigned next = firstSugarCapture;
  for (const Sugar &item : sugar) {
    TypeRange types = captures.slice(next, item.operands.size());
    if (failed(checkCaptures(item, types, emitError)))
      return failure();
    bool isScore = !isMask(item);
    Block &block = (isScore ? score : mask).front();
    Operation *yield = block.getTerminator();
    builder.setInsertionPoint(yield);
    auto arguments = ValueRange(block.getArguments()).drop_front(isScore);
    Place at{arguments[0],
             arguments[1],
             arguments[2],
             arguments[3],
             arguments[4],
             arguments[5],
             arguments.slice(AttentionOp::kNumPositionArgs + next, item.operands.size())};
    Build build{builder, item.loc};
    if (isScore) {
      if (!yield->getOperand(0).getType().isF32())
        return emitError(item.loc)
               << "(attention_c9) score yields f32, got " << yield->getOperand(0).getType();
      yield->setOperand(0, buildScore(build, item, at, yield->getOperand(0)));
    } else {
      Value seen = buildMask(build, item, at);
      if (yield->getNumOperands() == 1) {
        if (!yield->getOperand(0).getType().isInteger(1))
          return emitError(item.loc)
                 << "(attention_c9) mask yields i1, got " << yield->getOperand(0).getType();
        yield->setOperand(0, build.both(yield->getOperand(0), seen));
      } else {
        yield->setOperands(seen);
      }
    }
    next += item.operands.size();
  }
  return success();
}
