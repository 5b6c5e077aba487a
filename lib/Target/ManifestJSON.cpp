//===- ManifestJSON.cpp - manifests as JSON -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   {"version": 3, "target": "sm_80", "minimum_driver": 12000, "images": ["ptx"],
//    "entries": [{
//      "name": "causal",
//      "arguments": [{"name": "q", "kind": "input", "dtype": "f16",
//                     "shape": [-1, -1, -1, 64], "dims": ["B", "Hq", "Sq", "D"]}, ...],
//      "multiples": [["Hq", "Hk"]], "limits": [["Hq", 4096]],
//      "variants": [{
//        "guards": [{"alignment": 16, "arguments": [0, 1, 2]}], "image": 0,
//        "kernels": [{"name": "causal_0", "threads": 128, "shared_bytes": 49152,
//                     "grid": [[0, 0], {"ceildiv": [[0, 2], 128]}],
//                     "arguments": [0, 1, 2, 3],
//                     "parameters": [["pointer", 0], ["size", 0, 0], ["stride", 0, 0], ...]}]}]}]}
//
// In expressions a number is itself, [a, d] is the size of dimension d of
// argument a, and {"op": [x, y]} applies + * min max floordiv ceildiv mod. A
// workspace has "sizes" too, of numbers, [a, d], [a, d, n], that size by n, rounded up, and
// [a, d, n, m], that rounded up to a multiple of m, and [a, d, n, m, b, e], with m times another
// size added. A tensor map is ["tensor_map", argument, rows,
// columns, swizzle], and "slices" where it is for those. A kernel may have "blocks_per_sm" and
// "dependent": true, a variant "limits" and "bounds" and, on CPUs, "parallel".
//
// The reader walks the text with one path, so that its one error names a field;
// after an error it goes on with defaults, which nobody sees.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Manifest.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::fa;
namespace json = llvm::json;

static constexpr int64_t kMaxRank = 16, kMaxAlignment = 4096, kMaxThreads = 1024;
static constexpr int64_t kMaxSharedBytes = int64_t(1) << 20, kMaxParameters = 512;
static constexpr int64_t kMaxDepth = 64, kMaxMapped = 1 << 20, kMaxBlocksPerSM = 32;

static const StringRef kKinds[] = {"input", "output", "workspace", "scalar", "launch_epoch"};
static const StringRef kParameterKinds[] = {"pointer", "size", "stride", "scalar", "tensor_map"};
// By SizeExpr::Kind, from Add on.
static const StringRef kOperators[] = {"+", "*", "min", "max", "floordiv", "ceildiv", "mod"};
static const StringRef kImages[] = {"ptx", "cubin", "object"};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Value write(const SizeExpr &expr) {
  if (expr.kind == SizeExpr::Constant)
    return expr.value;
  if (expr.kind == SizeExpr::Size)
    return json::Array{expr.argument, expr.dim};
  return json::Object{{kOperators[expr.kind - SizeExpr::Add],
                       json::Array{write(expr.operands[0]), write(expr.operands[1])}}};
}

static json::Value write(const ManifestArgument &argument) {
  json::Object object{{"name", argument.name}, {"kind", kKinds[argument.kind]}};
  if (argument.dtype)
    object["dtype"] = nameOf(*argument.dtype);
  json::Array shape, sizes;
  for (int64_t size : argument.shape)
    shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  for (const ManifestArgument::SizeOf &size : argument.sizes) {
    json::Array place{size.argument, size.dim};
    bool adds = size.added >= 0;
    if (size.divisor != 1 || size.multiple != 1 || adds)
      place.push_back(size.divisor);
    if (size.multiple != 1 || adds)
      place.push_back(size.multiple);
    if (adds) {
      place.push_back(size.added);
      place.push_back(size.addedDim);
    }
    sizes.push_back(size.argument < 0 ? json::Value(size.dim) : json::Value(std::move(place)));
  }
  if (!argument.isNumber())
    object["shape"] = std::move(shape);
  if (argument.kind == ManifestArgument::Workspace)
    object["sizes"] = std::move(sizes);
  if (!argument.dims.empty())
    object["dims"] = json::Array(argument.dims);
  return object;
}

static json::Value write(const ManifestKernel &kernel) {
  json::Array grid, parameters;
  for (const SizeExpr &extent : kernel.grid)
    grid.push_back(write(extent));
  for (const ManifestParameter &parameter : kernel.parameters) {
    json::Array item{kParameterKinds[parameter.kind], parameter.argument};
    if (parameter.kind == ManifestParameter::Size || parameter.kind == ManifestParameter::Stride)
      item.push_back(parameter.dim);
    if (parameter.kind == ManifestParameter::TensorMap)
      for (int64_t value : {parameter.rows, parameter.columns, parameter.swizzle})
        item.push_back(value);
    if (parameter.slices)
      item.push_back("slices");
    parameters.push_back(std::move(item));
  }
  json::Object object{{"name", kernel.name},
                      {"threads", kernel.threads},
                      {"shared_bytes", kernel.sharedBytes},
                      {"grid", std::move(grid)},
                      {"arguments", json::Array(kernel.arguments)},
                      {"parameters", std::move(parameters)}};
  if (kernel.blocksPerSM > 0)
    object["blocks_per_sm"] = kernel.blocksPerSM;
  if (kernel.dependent)
    object["dependent"] = true;
  return object;
}

static json::Array write(ArrayRef<std::pair<std::string, int64_t>> limits) {
  json::Array pairs;
  for (auto &[name, most] : limits)
    pairs.push_back(json::Array{name, most});
  return pairs;
}

static json::Value write(const ManifestVariant &variant) {
  json::Array guards, kernels;
  for (const ManifestGuard &guard : variant.guards)
    guards.push_back(
        json::Object{{"alignment", guard.alignment}, {"arguments", json::Array(guard.arguments)}});
  for (const ManifestKernel &kernel : variant.kernels)
    kernels.push_back(write(kernel));
  json::Object object{
      {"guards", std::move(guards)}, {"image", variant.image}, {"kernels", std::move(kernels)}};
  if (!variant.limits.empty())
    object["limits"] = write(variant.limits);
  json::Array bounds;
  for (auto &[expr, most] : variant.bounds)
    bounds.push_back(json::Array{write(expr), most});
  if (!variant.bounds.empty())
    object["bounds"] = std::move(bounds);
  if (!variant.parallel.empty())
    object["parallel"] = json::Array(variant.parallel);
  return object;
}

static json::Value write(const Manifest &entry) {
  json::Array arguments, variants, multiples;
  for (const ManifestArgument &argument : entry.arguments)
    arguments.push_back(write(argument));
  for (const ManifestVariant &variant : entry.variants)
    variants.push_back(write(variant));
  for (auto &[of, by] : entry.multiples)
    multiples.push_back(json::Array{of, by});
  return json::Object{{"name", entry.entry},
                      {"arguments", std::move(arguments)},
                      {"multiples", std::move(multiples)},
                      {"limits", write(entry.limits)},
                      {"variants", std::move(variants)}};
}

std::string fa::printManifest(const ManifestModule &module) {
  json::Array entries;
  for (const Manifest &entry : module.entries)
    entries.push_back(write(entry));
  json::Object object{{"version", ManifestModule::kVersion},
                      {"target", module.target},
                      {"minimum_driver", module.minimumDriver},
                      {"images", json::Array(module.images)},
                      {"entries", std::move(entries)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", json::Value(std::move(object))) << "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

class Reader {
public:
  llvm::Expected<ManifestModule> read(const json::Value &root);

private:
  /// A value and its path.
  struct Node {
    const json::Value *value;
    std::string path;
  };

  void fail(const Node &node, const llvm::Twine &message) {
    if (problem.empty())
      problem = (node.path + " " + message).str();
  }
  /// Return a member of an object; null, with an error unless it may be absent.
  Node member(const Node &node, StringRef name, bool optional = false);
  /// Return the elements of an array of `least` to `most`.
  std::vector<Node> elements(const Node &node, int64_t least, int64_t most);
  int64_t integer(const Node &node, int64_t least, int64_t most);
  std::string name(const Node &node, bool empty = false);
  /// Return the index of a string in a list of choices.
  unsigned choice(const Node &node, ArrayRef<StringRef> choices);
  /// [argument, dimension], `skip` elements in, and up to `more` behind.
  std::pair<unsigned, unsigned> place(const Node &node, const Manifest &entry, unsigned skip = 0,
                                      unsigned more = 0);

  SizeExpr expression(const Node &node, const Manifest &entry);
  void argument(const Node &node, Manifest &entry);
  ManifestParameter parameter(const Node &node, const Manifest &entry);
  ManifestKernel kernel(const Node &node, const Manifest &entry);
  std::vector<std::pair<std::string, int64_t>> limits(const Node &node);
  ManifestVariant variant(const Node &node, const Manifest &entry, size_t images);
  Manifest entry(const Node &node, size_t images);

  std::string problem;
  /// The CPU has no blocks of threads.
  bool onCPU = false;
};

} // namespace

static const json::Value kNull = nullptr;

Reader::Node Reader::member(const Node &node, StringRef name, bool optional) {
  Node result{&kNull, node.path.empty() ? name.str() : node.path + "." + name.str()};
  const json::Object *object = node.value->getAsObject();
  if (!object)
    fail(node, "must be an object");
  else if (const json::Value *value = object->get(name))
    result.value = value;
  else if (!optional)
    fail(result, "is missing");
  return result;
}

std::vector<Reader::Node> Reader::elements(const Node &node, int64_t least, int64_t most) {
  const json::Array *array = node.value->getAsArray();
  int64_t size = array ? array->size() : -1;
  if (size < least || size > most) {
    fail(node, "must be an array of " + llvm::Twine(least) + " to " + llvm::Twine(most) +
                   (array ? " elements, got " + llvm::Twine(size) : llvm::Twine(" elements")));
    return {};
  }
  std::vector<Node> nodes;
  for (auto [i, value] : llvm::enumerate(*array))
    nodes.push_back({&value, node.path + "[" + std::to_string(i) + "]"});
  return nodes;
}

int64_t Reader::integer(const Node &node, int64_t least, int64_t most) {
  std::optional<int64_t> value = node.value->getAsInteger();
  if (value && *value >= least && *value <= most)
    return *value;
  fail(node, "must be an integer from " + llvm::Twine(least) + " to " + llvm::Twine(most) +
                 (value ? ", got " + llvm::Twine(*value) : llvm::Twine("")));
  return least;
}

std::string Reader::name(const Node &node, bool empty) {
  std::optional<StringRef> text = node.value->getAsString();
  auto plain = [](char c) { return llvm::isPrint(c); };
  if (text && (empty || !text->empty()) && text->size() < 1000 && llvm::all_of(*text, plain))
    return text->str();
  fail(node, "must be a printable string");
  return "";
}

unsigned Reader::choice(const Node &node, ArrayRef<StringRef> choices) {
  std::optional<StringRef> text = node.value->getAsString();
  auto found = text ? llvm::find(choices, *text) : choices.end();
  if (found != choices.end())
    return found - choices.begin();
  fail(node, "must be one of " + llvm::join(choices, ", "));
  return 0;
}

std::pair<unsigned, unsigned> Reader::place(const Node &node, const Manifest &entry, unsigned skip,
                                            unsigned more) {
  std::vector<Node> parts = elements(node, 2 + skip, 2 + skip + more);
  if (parts.empty())
    return {0, 0};
  unsigned argument = integer(parts[skip], 0, int64_t(entry.arguments.size()) - 1);
  int64_t rank =
      argument < entry.arguments.size() ? int64_t(entry.arguments[argument].shape.size()) : 0;
  return {argument, static_cast<unsigned>(integer(parts[skip + 1], 0, rank - 1))};
}

SizeExpr Reader::expression(const Node &node, const Manifest &entry) {
  if (node.value->getAsInteger())
    return SizeExpr::constant(integer(node, 0, std::numeric_limits<int64_t>::max()));
  if (node.value->getAsArray()) {
    auto [argument, dim] = place(node, entry);
    return SizeExpr::size(argument, dim);
  }
  const json::Object *object = node.value->getAsObject();
  if (!object || object->size() != 1) {
    fail(node, "must be a number, [argument, dimension] or one operator");
    return {};
  }
  StringRef spelling = object->begin()->first;
  auto found = llvm::find(kOperators, spelling);
  Node operands = member(node, spelling);
  if (found == std::end(kOperators)) {
    fail(node, "must apply one of " + llvm::join(ArrayRef(kOperators), ", "));
    return {};
  }
  std::vector<Node> parts = elements(operands, 2, 2);
  if (parts.empty())
    return {};
  auto kind = static_cast<SizeExpr::Kind>(SizeExpr::Add + (found - std::begin(kOperators)));
  return SizeExpr::binary(kind, expression(parts[0], entry), expression(parts[1], entry));
}

void Reader::argument(const Node &node, Manifest &entry) {
  ManifestArgument argument;
  argument.name = name(member(node, "name"));
  if (entry.find(argument.name) >= 0)
    fail(node, "has the name of an earlier argument");
  argument.kind = static_cast<ManifestArgument::Kind>(choice(member(node, "kind"), kKinds));
  std::vector<StringRef> dtypes;
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i)
    dtypes.push_back(nameOf(static_cast<DType>(i)));
  argument.dtype = static_cast<DType>(choice(member(node, "dtype"), dtypes));
  if (argument.kind == ManifestArgument::LaunchEpoch && argument.dtype != DType::I64)
    fail(node, "must be an i64, as a launch_epoch is");
  if (!argument.isNumber())
    for (const Node &size : elements(member(node, "shape"), 0, kMaxRank)) {
      int64_t value = integer(size, -1, std::numeric_limits<int32_t>::max());
      argument.shape.push_back(value < 0 ? ShapedType::kDynamic : value);
    }
  if (argument.kind == ManifestArgument::Workspace) {
    Node sizes = member(node, "sizes");
    for (const Node &size : elements(sizes, argument.shape.size(), argument.shape.size())) {
      // Only earlier arguments are known when this one is sized.
      constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
      if (!size.value->getAsArray()) {
        argument.sizes.push_back({-1, integer(size, 0, kMost)});
        continue;
      }
      auto [from, dim] = place(size, entry, /*skip=*/0, /*more=*/4);
      std::vector<Node> parts = elements(size, 2, 6);
      auto part = [&](size_t i) { return parts.size() > i ? integer(parts[i], 1, kMost) : 1; };
      argument.sizes.push_back({from, dim, part(2), part(3)});
      if (parts.size() > 4) {
        auto [added, addedDim] = place(size, entry, /*skip=*/4);
        argument.sizes.back().added = added;
        argument.sizes.back().addedDim = addedDim;
      }
    }
  }
  if (Node dims = member(node, "dims", /*optional=*/true); dims.value != &kNull)
    for (const Node &dim : elements(dims, argument.shape.size(), argument.shape.size()))
      argument.dims.push_back(name(dim, /*empty=*/true));
  entry.arguments.push_back(std::move(argument));
}

ManifestParameter Reader::parameter(const Node &node, const Manifest &entry) {
  ManifestParameter parameter;
  std::vector<Node> parts = elements(node, 2, 6);
  if (parts.empty())
    return parameter;
  parameter.kind = static_cast<ManifestParameter::Kind>(choice(parts[0], kParameterKinds));
  bool placed =
      parameter.kind == ManifestParameter::Size || parameter.kind == ManifestParameter::Stride;
  if (placed) {
    std::tie(parameter.argument, parameter.dim) = place(node, entry, /*skip=*/1);
    return parameter;
  }
  bool map = parameter.kind == ManifestParameter::TensorMap;
  if (elements(node, map ? 5 : 2, map ? 6 : 2).empty())
    return parameter;
  parameter.argument = integer(parts[1], 0, int64_t(entry.arguments.size()) - 1);
  if (map) {
    int64_t *const values[] = {&parameter.rows, &parameter.columns, &parameter.swizzle};
    for (auto [i, value] : llvm::enumerate(values))
      *value = integer(parts[2 + i], value == &parameter.swizzle ? 0 : 1, kMaxMapped);
    if (parts.size() > 5) {
      choice(parts[5], {"slices"});
      parameter.slices = true;
    }
    if (parameter.argument < entry.arguments.size())
      if (std::string reason = checkTensorMap(parameter, entry.arguments[parameter.argument]);
          !reason.empty())
        fail(node, reason);
    return parameter;
  }
  bool scalar =
      parameter.argument < entry.arguments.size() && entry.arguments[parameter.argument].isNumber();
  if (scalar != (parameter.kind == ManifestParameter::Scalar))
    fail(node, "must pass scalars by value and tensors by pointer");
  return parameter;
}

ManifestKernel Reader::kernel(const Node &node, const Manifest &entry) {
  ManifestKernel kernel;
  kernel.name = name(member(node, "name"));
  kernel.threads = integer(member(node, "threads"), onCPU ? 0 : 1, kMaxThreads);
  kernel.sharedBytes = integer(member(node, "shared_bytes"), 0, kMaxSharedBytes);
  if (Node blocks = member(node, "blocks_per_sm", /*optional=*/true); blocks.value != &kNull)
    kernel.blocksPerSM = integer(blocks, 1, kMaxBlocksPerSM);
  if (Node dependent = member(node, "dependent", /*optional=*/true); dependent.value != &kNull) {
    std::optional<bool> is = dependent.value->getAsBoolean();
    if (!is)
      fail(dependent, "must be true or false");
    kernel.dependent = is.value_or(false);
  }
  for (const Node &extent : elements(member(node, "grid"), 0, kMaxRank))
    kernel.grid.push_back(expression(extent, entry));
  int64_t count = entry.arguments.size();
  for (const Node &argument : elements(member(node, "arguments"), 0, kMaxParameters))
    kernel.arguments.push_back(integer(argument, 0, count - 1));
  for (const Node &value : elements(member(node, "parameters"), 0, kMaxParameters))
    kernel.parameters.push_back(parameter(value, entry));
  return kernel;
}

std::vector<std::pair<std::string, int64_t>> Reader::limits(const Node &node) {
  std::vector<std::pair<std::string, int64_t>> pairs;
  for (const Node &pair : elements(node, 0, kMaxParameters))
    if (std::vector<Node> parts = elements(pair, 2, 2); !parts.empty())
      pairs.push_back({name(parts[0]), integer(parts[1], 0, std::numeric_limits<int64_t>::max())});
  return pairs;
}

ManifestVariant Reader::variant(const Node &node, const Manifest &entry, size_t images) {
  ManifestVariant variant;
  for (const Node &value : elements(member(node, "guards"), 0, kMaxParameters)) {
    ManifestGuard guard;
    Node alignment = member(value, "alignment");
    guard.alignment = integer(alignment, 1, kMaxAlignment);
    if (!llvm::isPowerOf2_64(guard.alignment))
      fail(alignment, "must be a power of 2, got " + llvm::Twine(guard.alignment));
    int64_t count = entry.arguments.size();
    for (const Node &argument : elements(member(value, "arguments"), 0, count)) {
      unsigned index = integer(argument, 0, count - 1);
      if (index < entry.arguments.size() && entry.arguments[index].isNumber())
        fail(argument, "names a scalar, which has no alignment");
      guard.arguments.push_back(index);
    }
    variant.guards.push_back(std::move(guard));
  }
  if (Node most = member(node, "limits", /*optional=*/true); most.value != &kNull)
    variant.limits = limits(most);
  if (Node bounds = member(node, "bounds", /*optional=*/true); bounds.value != &kNull)
    for (const Node &bound : elements(bounds, 0, kMaxParameters))
      if (std::vector<Node> parts = elements(bound, 2, 2); !parts.empty())
        variant.bounds.push_back({expression(parts[0], entry),
                                  integer(parts[1], 0, std::numeric_limits<int64_t>::max())});
  if (Node sizes = member(node, "parallel", /*optional=*/true); sizes.value != &kNull)
    for (const Node &size : elements(sizes, 1, kMaxRank))
      variant.parallel.push_back(name(size));
  variant.image = integer(member(node, "image"), 0, int64_t(images) - 1);
  for (const Node &value : elements(member(node, "kernels"), 1, kMaxParameters))
    variant.kernels.push_back(kernel(value, entry));
  if (size_t maps = variant.countTensorMaps(); maps > ManifestModule::kMaxTensorMaps)
    fail(node, "has " + llvm::Twine(maps) + " tensor maps, expected at most " +
                   llvm::Twine(ManifestModule::kMaxTensorMaps));
  return variant;
}

Manifest Reader::entry(const Node &node, size_t images) {
  Manifest entry;
  entry.entry = name(member(node, "name"));
  for (const Node &value : elements(member(node, "arguments"), 0, kMaxParameters))
    argument(value, entry);
  for (const Node &pair : elements(member(node, "multiples"), 0, kMaxParameters))
    if (std::vector<Node> parts = elements(pair, 2, 2); !parts.empty())
      entry.multiples.push_back({name(parts[0]), name(parts[1])});
  entry.limits = limits(member(node, "limits"));
  for (const Node &value : elements(member(node, "variants"), 1, kMaxParameters))
    entry.variants.push_back(variant(value, entry, images));
  return entry;
}

llvm::Expected<ManifestModule> Reader::read(const json::Value &root) {
  ManifestModule module;
  Node node{&root, ""};
  if (!root.getAsObject())
    problem = "it must be an object";
  Node version = member(node, "version");
  int64_t number = integer(version, 1, std::numeric_limits<int32_t>::max());
  if (number != ManifestModule::kVersion)
    fail(version, "is " + llvm::Twine(number) + ", but this library reads " +
                      llvm::Twine(ManifestModule::kVersion));
  Node target = member(node, "target");
  module.target = name(target);
  StringRef rest = module.target;
  onCPU = rest == "cpu" || rest.starts_with("cpu-");
  if (!onCPU && (!rest.consume_front("sm_") || rest.take_while(llvm::isDigit).size() < 2))
    fail(target, "must be sm_ and a number, got '" + module.target + "'");
  module.minimumDriver =
      integer(member(node, "minimum_driver"), 0, std::numeric_limits<int32_t>::max());
  for (const Node &image : elements(member(node, "images"), 1, kMaxParameters))
    module.images.push_back(kImages[choice(image, kImages)].str());
  for (const Node &value : elements(member(node, "entries"), 1, kMaxParameters))
    module.entries.push_back(entry(value, module.images.size()));
  if (!problem.empty())
    return llvm::createStringError("the manifest cannot be used: " + problem +
                                   "; compile the program again");
  return module;
}

/// Return whether brackets nest deeper than any manifest's: the parser recurses.
static bool nestsDeeply(StringRef text) {
  int64_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      i += c == '\\';
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth)
        return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

llvm::Expected<ManifestModule> fa::parseManifest(StringRef text) {
  if (nestsDeeply(text))
    return llvm::createStringError("the manifest cannot be used: it nests deeper than " +
                                   std::to_string(kMaxDepth) + "; compile the program again");
  llvm::Expected<json::Value> root = json::parse(text);
  if (!root)
    return llvm::createStringError(
        "the manifest cannot be used: it is no JSON: " + llvm::toString(root.takeError()) +
        "; compile the program again");
  return Reader().read(*root);
}
