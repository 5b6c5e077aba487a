//===- Sampling.cpp - random inputs for an entry -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Sampling.h"
#include "fa/Support/Philox.h"
#include "fa/Support/Threads.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

template <typename... Args> static llvm::Error error(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

static std::string argumentName(func::FuncOp entry, unsigned i) {
  if (auto name = entry.getArgAttrOfType<StringAttr>(i, FADialect::kNameAttr))
    return name.str();
  return "arg" + std::to_string(i);
}

llvm::Expected<AttentionOp> fa::attentionOf(func::FuncOp entry) {
  AttentionOp found;
  unsigned count = 0;
  entry.walk([&](AttentionOp op) {
    found = op;
    ++count;
  });
  if (count != 1)
    return error("entry '{0}' has {1} fa.attention: expected 1", entry.getSymName(), count);
  for (auto [i, operand] : llvm::enumerate(found->getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != &entry.front())
      return error("operand {0} of fa.attention in entry '{1}' is computed: expected an argument "
                   "of the entry",
                   i, entry.getSymName());
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {

/// Binds the names of sizes, then gives arguments their shapes.
class ShapeResolver {
public:
  ShapeResolver(func::FuncOp entry, AttentionOp op) : entry(entry), op(op) {}
  llvm::Error bind(const AttentionSizes &sizes);
  llvm::Expected<std::vector<int64_t>> shapeOf(unsigned argument);

private:
  llvm::Error bindType(Value value, ArrayRef<StringRef> names, StringRef what);
  llvm::Expected<SmallVector<StringRef>> namesOf(unsigned argument, RankedTensorType type);
  std::optional<int64_t> sizeOf(StringRef name) const;
  llvm::Error bindSide(Value value, Value starts, std::array<StringRef, 4> names, StringRef what);

  func::FuncOp entry;
  AttentionOp op;
  llvm::StringMap<int64_t> sizes;
};

} // namespace

llvm::Error ShapeResolver::bindType(Value value, ArrayRef<StringRef> names, StringRef what) {
  auto type = cast<RankedTensorType>(value.getType());
  for (auto [name, size] : llvm::zip(names, type.getShape())) {
    if (ShapedType::isDynamic(size))
      continue;
    auto [it, isNew] = sizes.try_emplace(name, size);
    if (!isNew && it->second != size)
      return error("{0} is {1}, but the {2} has {3} in its type; pass {0}={3}, or make the size "
                   "dynamic",
                   name, it->second, what, size);
  }
  return llvm::Error::success();
}

/// Bind the sizes of queries, keys or values, whose length is that of all sequences where they are
/// in a row.
llvm::Error ShapeResolver::bindSide(Value value, Value starts, std::array<StringRef, 4> names,
                                    StringRef what) {
  return bindType(value, ArrayRef(names).drop_front(starts ? 1 : 0), what);
}

llvm::Error ShapeResolver::bind(const AttentionSizes &given) {
  std::pair<StringRef, std::optional<int64_t>> named[] = {{"B", given.batch},
                                                          {"Hq", given.queryHeads},
                                                          {"Hk", given.keyHeads},
                                                          {"Sq", given.queryLength},
                                                          {"Sk", given.keyLength}};
  for (auto [name, size] : named) {
    if (size && *size < 0)
      return error("{0} is {1}: expected a size >= 0", name, *size);
    if (size)
      sizes[name] = *size;
  }
  Value queryStarts = op.getQueryStarts(), keyStarts = op.getKeyStarts();
  if (llvm::Error problem = bindSide(op.getQuery(), queryStarts, {"B", "Hq", "Sq", "D"}, "query"))
    return problem;
  if (llvm::Error problem = bindSide(op.getKey(), keyStarts, {"B", "Hk", "Sk", "D"}, "key"))
    return problem;
  if (llvm::Error problem = bindSide(op.getValue(), keyStarts, {"B", "Hk", "Sk", "Dv"}, "value"))
    return problem;
  for (auto [name, size] : named)
    if (!sizes.count(name))
      return error("the types of entry '{0}' do not fix {1}; pass it", entry.getSymName(), name);
  if (sizes["Hk"] == 0 || sizes["Hq"] == 0 || sizes["Hq"] % sizes["Hk"] != 0)
    return error("Hq is {0} and Hk is {1}: expected Hq to be a multiple of Hk, neither 0",
                 sizes["Hq"], sizes["Hk"]);
  // Other names for tokens, which are those of all sequences.
  sizes["Tq"] = sizes["Sq"];
  sizes["Tk"] = sizes["Sk"];
  return llvm::Error::success();
}

/// Return the names of an argument's sizes: as written, else by its rank.
llvm::Expected<SmallVector<StringRef>> ShapeResolver::namesOf(unsigned argument,
                                                              RankedTensorType type) {
  BlockArgument value = entry.getArgument(argument);
  SmallVector<StringRef> names;
  if (auto written = entry.getArgAttr(argument, FADialect::kDimsAttr)) {
    auto list = dyn_cast<ArrayAttr>(written);
    for (Attribute name : list ? list.getValue() : ArrayRef<Attribute>())
      if (auto text = dyn_cast<StringAttr>(name))
        names.push_back(text.getValue());
    if (!list || names.size() != list.size() ||
        static_cast<int64_t>(names.size()) != type.getRank())
      return error("fa.dims of '{0}' must be {1} strings, one for each dimension, such as \"Sq\"",
                   argumentName(entry, argument), type.getRank());
    return names;
  }
  auto side = [](Value starts, std::array<StringRef, 4> names) {
    return llvm::to_vector(ArrayRef(names).drop_front(starts ? 1 : 0));
  };
  if (value == op.getQuery())
    return side(op.getQueryStarts(), {"B", "Hq", "Sq", "D"});
  if (value == op.getKey())
    return side(op.getKeyStarts(), {"B", "Hk", "Sk", "D"});
  if (value == op.getValue())
    return side(op.getKeyStarts(), {"B", "Hk", "Sk", "Dv"});
  if (value == op.getQueryStarts() || value == op.getKeyStarts())
    return SmallVector<StringRef>{"B+1"};
  bool isFloatType = isa<FloatType>(type.getElementType());
  if (type.getRank() == 1)
    return SmallVector<StringRef>{isFloatType ? "Hq" : "B"};
  if (type.getRank() == 2 && !isFloatType)
    return SmallVector<StringRef>{"B", "max(Sq, Sk)"};
  // As a bias: the last of B x Hq x Sq x Sk.
  if (type.getRank() <= 4)
    return llvm::to_vector(ArrayRef<StringRef>{"B", "Hq", "Sq", "Sk"}.take_back(type.getRank()));
  return names;
}

/// Return the size that a name stands for; none where no size has that name. "Sq/128" is the number
/// of blocks of 128 that Sq takes, "B+1" one more than B.
std::optional<int64_t> ShapeResolver::sizeOf(StringRef name) const {
  if (auto it = sizes.find(name); it != sizes.end())
    return it->second;
  if (StringRef of = name; of.consume_back("+1"))
    if (auto it = sizes.find(of); it != sizes.end())
      return it->second + 1;
  auto [whole, block] = name.rsplit('/');
  int64_t size;
  auto it = sizes.find(whole);
  if (it == sizes.end() || block.getAsInteger(10, size) || size < 1)
    return std::nullopt;
  return llvm::divideCeil(it->second, size);
}

/// Say in errors what names sizes.
constexpr llvm::StringLiteral kSizes =
    "B, Hq, Hk, Sq, Sk, D and Dv, blocks of them such as \"Sq/128\", or \"B+1\"";

llvm::Expected<std::vector<int64_t>> ShapeResolver::shapeOf(unsigned argument) {
  auto type = dyn_cast<RankedTensorType>(entry.getArgument(argument).getType());
  if (!type)
    return std::vector<int64_t>();
  llvm::Expected<SmallVector<StringRef>> names = namesOf(argument, type);
  if (!names)
    return names.takeError();
  bool isWritten = static_cast<bool>(entry.getArgAttr(argument, FADialect::kDimsAttr));
  sizes["max(Sq, Sk)"] = std::max(sizes["Sq"], sizes["Sk"]);
  std::vector<int64_t> shape = type.getShape().vec();
  for (auto [d, size] : llvm::enumerate(shape)) {
    StringRef name = d < names->size() ? (*names)[d] : "";
    std::optional<int64_t> known = sizeOf(name);
    if (ShapedType::isDynamic(size)) {
      if (!known && isWritten)
        return error("\"{0}\" in fa.dims of '{1}' is no size; expected {2}", name,
                     argumentName(entry, argument), kSizes);
      if (!known)
        return error(
            "dimension {0} of '{1}' is dynamic and no name says its size; add fa.dims of {2}", d,
            argumentName(entry, argument), kSizes);
      size = *known;
    } else if (isWritten && known && *known != size) {
      return error("{0} is {1}, but '{2}' has {3} in its type", name, *known,
                   argumentName(entry, argument), size);
    } else if (isWritten && !known && !name.empty()) {
      sizes[name] = size; // a name of the user's own
    }
  }
  return shape;
}

llvm::Expected<std::vector<std::vector<int64_t>>> fa::argumentShapes(func::FuncOp entry,
                                                                     const AttentionSizes &sizes) {
  llvm::Expected<AttentionOp> op = attentionOf(entry);
  if (!op)
    return op.takeError();
  ShapeResolver resolver(entry, *op);
  if (llvm::Error problem = resolver.bind(sizes))
    return problem;
  std::vector<std::vector<int64_t>> shapes;
  int64_t total = 0;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    llvm::Expected<std::vector<int64_t>> shape = resolver.shapeOf(i);
    if (!shape)
      return shape.takeError();
    std::optional<DType> dtype = dtypeOf(getElementTypeOrSelf(entry.getArgument(i).getType()));
    if (!dtype)
      return error(
          "'{0}' has elements that no tensor holds: expected i1, i8, i16, i32, i64, index, "
          "f16, bf16, f32 or f64",
          argumentName(entry, i));
    std::optional<int64_t> count = elementCount(*shape, *dtype);
    if (!count || *count > kMaxSampleBytes)
      return error("'{0}' of {1} takes more than 64 GiB; choose smaller sizes",
                   argumentName(entry, i), toString(*shape));
    total += *count * static_cast<int64_t>(sizeOf(*dtype));
    if (total > kMaxSampleBytes)
      return error("the inputs up to '{0}' take more than 64 GiB; choose smaller sizes",
                   argumentName(entry, i));
    shapes.push_back(std::move(*shape));
  }
  return shapes;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {

/// Random numbers that depend on the seed, the argument and the position only,
/// so threads can draw any part.
struct Random {
  uint64_t seed;
  uint32_t argument;

  std::array<uint32_t, 4> words(uint64_t i) const {
    return philox4x32x7({uint32_t(i), uint32_t(i >> 32), argument, 0x5a3b1e5d},
                        {uint32_t(seed), uint32_t(seed >> 32)});
  }
  /// 0 .. count - 1.
  int64_t below(uint64_t i, int64_t count) const {
    uint64_t word = words(i)[0];
    return static_cast<int64_t>(word * static_cast<uint64_t>(count) >> 32);
  }
};

} // namespace

/// N(0,1), by Box and Muller: four values of each block of words.
static void fillNormal(HostTensor &tensor, const Random &random) {
  int64_t size = tensor.size(), blocks = (size + 3) / 4;
  auto fill = [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      std::array<uint32_t, 4> words = random.words(block);
      for (int pair = 0; pair < 2; ++pair) {
        double radius = std::sqrt(-2 * std::log((words[2 * pair] + 0.5) * 0x1p-32));
        double angle = 6.283185307179586 * (words[2 * pair + 1] * 0x1p-32);
        int64_t i = 4 * block + 2 * pair;
        if (i < size)
          tensor.set(i, radius * std::cos(angle));
        if (i + 1 < size)
          tensor.set(i + 1, radius * std::sin(angle));
      }
    }
  };
  if (size < 1 << 18)
    return fill(0, blocks);
  runOnThreads(2, [&](int64_t half) { half ? fill(blocks / 2, blocks) : fill(0, blocks / 2); });
}

/// Return the largest value of an integer dtype.
static int64_t largest(DType dtype) {
  if (dtype == DType::Bool)
    return 1;
  return llvm::maxIntN(8 * sizeOf(dtype) + (dtype == DType::U8));
}

/// Along the last dimension: ascending numbers of documents of random lengths.
static void fillIds(HostTensor &tensor, const Random &random) {
  int64_t length = tensor.shape.empty() ? 1 : tensor.shape.back();
  int64_t most = largest(tensor.dtype), id = 0, left = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (i % length == 0)
      id = left = 0;
    if (left == 0) {
      left = 1 + random.below(i, std::max<int64_t>(1, length / 2));
      id += i % length != 0 && id < most;
    }
    tensor.setInteger(i, id);
    --left;
  }
}

/// Ascending starts of sequences of random lengths, which may be 0: together they have all tokens.
static void fillStarts(HostTensor &tensor, const Random &random, int64_t tokens) {
  int64_t count = tensor.size();
  tokens = std::min(tokens, largest(tensor.dtype));
  std::vector<int64_t> starts;
  for (int64_t i = 0; i + 2 < count; ++i)
    starts.push_back(random.below(i, tokens + 1));
  starts.push_back(0);
  llvm::sort(starts);
  starts.push_back(tokens);
  for (int64_t i = 0; i < count; ++i)
    tensor.setInteger(i, starts[i]);
}

/// Return what an argument is drawn as: what is written, else what it is of the attention.
static StringRef kindOf(func::FuncOp entry, AttentionOp op, unsigned argument) {
  if (auto kind = entry.getArgAttrOfType<StringAttr>(argument, FADialect::kKindAttr))
    return kind.getValue();
  Value value = entry.getArgument(argument);
  if (value == op.getQueryStarts() || value == op.getKeyStarts())
    return "starts";
  return value == op.getQueryLengths() || value == op.getKeyLengths() ? "lengths" : "";
}

llvm::Expected<std::vector<HostTensor>>
fa::sampleInputs(func::FuncOp entry, const AttentionSizes &sizes, uint64_t seed) {
  llvm::Expected<std::vector<std::vector<int64_t>>> shapes = argumentShapes(entry, sizes);
  if (!shapes)
    return shapes.takeError();
  AttentionOp op = *attentionOf(entry);
  // The lengths of queries and keys in this call, for "lengths" and "starts".
  auto lengthOf = [&](Value tensor) {
    const std::vector<int64_t> &shape = (*shapes)[cast<BlockArgument>(tensor).getArgNumber()];
    return shape[shape.size() - 2];
  };
  auto lengthOfStarts = [&](Value starts) {
    return (*shapes)[cast<BlockArgument>(starts).getArgNumber()][0];
  };
  int64_t keyLength = lengthOf(op.getKey()), queryLength = lengthOf(op.getQuery());
  std::vector<HostTensor> tensors;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    Value argument = entry.getArgument(i);
    HostTensor tensor = HostTensor::zeros(
        argumentName(entry, i), *dtypeOf(getElementTypeOrSelf(argument.getType())), (*shapes)[i]);
    Random random{seed, i};
    StringRef kind = kindOf(entry, op, i);
    if (!llvm::is_contained({"", "ids", "lengths", "starts", "flags"}, kind))
      return error("fa.kind of '{0}' is \"{1}\": expected \"ids\", \"lengths\", \"starts\" or "
                   "\"flags\"",
                   tensor.name, kind);
    bool ofQueries = argument == op.getQueryLengths() && argument != op.getKeyLengths();
    int64_t most = ofQueries ? queryLength : keyLength;
    // Of sequences in a row, lengths of all tokens would leave few of them as they are.
    Value inRow = ofQueries ? op.getQueryStarts() : op.getKeyStarts();
    if (inRow && llvm::is_contained(op.getSequences(), argument))
      most = llvm::divideCeil(most, std::max<int64_t>(1, (lengthOfStarts(inRow) - 1) / 2));
    int64_t below = kind.empty() ? 8 : kind == "flags" ? 2 : most + 1;
    if (!kind.empty() && isFloat(tensor.dtype))
      return error("fa.kind \"{0}\" of '{1}' takes integers, got {2}", kind, tensor.name,
                   fa::nameOf(tensor.dtype));
    if (op.hasDropout() && argument == op.getDropoutP())
      tensor.set(0, kSampleDropoutP);
    else if (op.hasDropout() && argument == op.getDropoutSeed())
      tensor.setInteger(0, kSampleDropoutSeed);
    else if (op.hasDropout() && argument == op.getDropoutOffset())
      tensor.setInteger(0, kSampleDropoutOffset);
    else if (isFloat(tensor.dtype))
      fillNormal(tensor, random);
    else if (kind == "ids")
      fillIds(tensor, random);
    else if (kind == "starts")
      fillStarts(tensor, random,
                 argument != op.getKeyStarts()     ? queryLength
                 : argument != op.getQueryStarts() ? keyLength
                                                   : std::min(queryLength, keyLength));
    else
      for (int64_t e = 0; e < tensor.size(); ++e)
        tensor.setInteger(e, std::min(largest(tensor.dtype), random.below(e, below)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::pair<HostTensor, HostTensor> fa::sampleOutputAdjoints(const HostTensor &query,
                                                           const HostTensor &value, uint64_t seed) {
  std::vector<int64_t> rows(query.shape.begin(), query.shape.end() - 1), shape = rows;
  shape.push_back(value.shape.back());
  std::pair<HostTensor, HostTensor> adjoints = {
      HostTensor::zeros("do", query.dtype, std::move(shape)),
      HostTensor::zeros("dlse", DType::F32, std::move(rows))};
  // Entries have less arguments than that.
  fillNormal(adjoints.first, Random{seed, ~uint32_t(0)});
  fillNormal(adjoints.second, Random{seed, ~uint32_t(1)});
  return adjoints;
}
