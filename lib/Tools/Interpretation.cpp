//===- Interpretation.cpp - interprets a program on host tensors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Interpretation.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Interpreter/Interpreter.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Support/Files.h"
#include "fa/Support/Names.h"
#include "fa/Tools/Registry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include <random>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

Interpretation::Interpretation() {
  DialectRegistry registry;
  registerAllDialects(registry);
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  errors = std::make_unique<ErrorCollector>(context.get());
}

Interpretation::~Interpretation() {
  // Its operations stand in the context.
  module = nullptr;
}

llvm::Error Interpretation::takeMessages(const char *otherwise) {
  std::string text = errors->messages(otherwise);
  // The old one goes first: handlers of a context are a stack.
  errors.reset();
  errors = std::make_unique<ErrorCollector>(context.get());
  return llvm::createStringError(text);
}

llvm::StringRef fa::getInterpreterTarget() { return getPhases("sm_80").empty() ? "cpu" : "sm_80"; }

/// Return the last phase of a target at the tile level.
static llvm::StringRef getLastTilePhase(llvm::StringRef target) {
  llvm::StringRef last;
  for (const Phase &phase : getPhases(target))
    if (phase.name == "tile" || phase.name == "schedule")
      last = phase.name;
  return last;
}

llvm::Error Interpretation::compile() {
  module = parseModule(text, name, context.get());
  if (!module)
    return takeMessages("the text is not a module of MLIR");
  if (!options)
    return llvm::Error::success();
  for (auto function : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
    if (!entry.empty() && function.getSymName() != entry)
      function.erase();
  llvm::StringRef last = getLastTilePhase(options->target);
  if (!phase.empty() && phase != "tile" && phase != last)
    return llvm::createStringError("the interpreter cannot run phase '" + phase + "' of " +
                                   options->target + ": expected tile" +
                                   (last == "tile" ? "" : " or " + last.str()));
  if (failed(runPhases(*module, *options, {}, phase.empty() ? last : phase)))
    return takeMessages("the program could not be compiled");
  return llvm::Error::success();
}

bool Interpretation::hasArgument(llvm::StringRef name) {
  return llvm::any_of(module->getOps<tile::FuncOp>(), [&](tile::FuncOp function) {
    return llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      auto known = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                         tile::TileDialect::kNameAttr);
      return known && known.getValue() == name;
    });
  });
}

llvm::Expected<std::unique_ptr<Interpretation>>
Interpretation::create(llvm::StringRef text, const CompileOptions &options, llvm::StringRef phase,
                       llvm::StringRef entry, llvm::StringRef name) {
  std::unique_ptr<Interpretation> result(new Interpretation);
  result->text = text.str();
  result->name = name.str();
  result->options = options;
  result->phase = phase.str();
  result->entry = entry.str();
  if (llvm::Error error = result->compile())
    return error;
  return result;
}

llvm::Expected<std::unique_ptr<Interpretation>>
Interpretation::createFromFile(const std::string &path, llvm::StringRef entry) {
  auto file = readText(path);
  if (!file)
    return file.takeError();
  std::unique_ptr<Interpretation> result(new Interpretation);
  result->text = (*file)->getBuffer().str();
  result->name = path;
  result->entry = entry.str();
  if (llvm::Error error = result->compile())
    return error;
  return result;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// A tensor with strides of its own, poisoned.
class Strided {
public:
  Strided(DType dtype, std::vector<int64_t> shape, HeadLayout layout)
      : dtype(dtype), shape(std::move(shape)) {
    size_t rank = this->shape.size();
    SmallVector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d)
      order[d] = d;
    if (rank == 4 && layout == HeadLayout::BSHD)
      std::swap(order[1], order[2]);
    int64_t elements = 1;
    memory.sizes.assign(this->shape.begin(), this->shape.end());
    memory.strides.resize(rank);
    for (size_t d : llvm::reverse(order)) {
      memory.strides[d] = elements;
      elements *= std::max<int64_t>(this->shape[d], 1);
    }
    // All ones is NaN in every float type.
    bytes.assign(elements * sizeOf(dtype), std::byte(0xFF));
    memory.data = bytes.data();
  }

  /// Fill memory with what it may hold that nobody has written.
  void fill(std::mt19937_64 &random) {
    for (std::byte &byte : bytes)
      byte = static_cast<std::byte>(random());
  }

  /// Copies to a row-major tensor, or from it.
  void copy(std::byte *tensor, bool to) {
    size_t size = sizeOf(dtype), count = 1;
    for (int64_t extent : shape)
      count *= extent;
    for (size_t i = 0; i < count; ++i) {
      int64_t at = 0;
      for (size_t d = shape.size(), rest = i; d-- > 0; rest /= shape[d])
        at += rest % shape[d] * memory.strides[d];
      std::byte *own = bytes.data() + at * size, *other = tensor + i * size;
      std::memcpy(to ? other : own, to ? own : other, size);
    }
  }

  DType dtype;
  std::vector<int64_t> shape;
  interpreter::Memory memory;

private:
  std::vector<std::byte> bytes;
};

} // namespace

/// Return the tensor of a name; an error names those that there are.
static llvm::Expected<const HostTensor *> find(const std::vector<HostTensor> &tensors,
                                               const std::string &name) {
  std::string names;
  for (const HostTensor &tensor : tensors) {
    if (tensor.name == name)
      return &tensor;
    names += (names.empty() ? "" : ", ") + escaped(tensor.name);
  }
  return llvm::createStringError("no tensor '" + name + "' was given; there are " +
                                 (names.empty() ? "none" : names));
}

/// Resolve the shapes of all arguments, checked and completed, and find the inputs given for them.
static llvm::Error
resolveShapes(const Manifest &manifest, const std::vector<HostTensor> &inputs,
              const std::vector<std::pair<std::string, std::vector<int64_t>>> &outputShapes,
              std::vector<std::vector<int64_t>> &shapes, std::vector<const HostTensor *> &given) {
  size_t count = manifest.arguments.size();
  shapes.assign(count, {});
  given.assign(count, nullptr);
  for (size_t i = 0; i < count; ++i) {
    const ManifestArgument &argument = manifest.arguments[i];
    if (!argument.dtype)
      return llvm::createStringError("'" + argument.name + "' has a type that no launch can pass");
    if (!argument.isBound())
      continue;
    if (argument.kind == ManifestArgument::Output) {
      auto shape =
          llvm::find_if(outputShapes, [&](auto &pair) { return pair.first == argument.name; });
      if (shape == outputShapes.end())
        return llvm::createStringError("no shape is known for output '" + argument.name + "'");
      shapes[i] = shape->second;
      continue;
    }
    auto tensor = find(inputs, argument.name);
    if (!tensor)
      return tensor.takeError();
    given[i] = *tensor;
    shapes[i] = (*tensor)->shape;
    if ((*tensor)->dtype != argument.dtype)
      return llvm::createStringError("'" + argument.name + "' has dtype " +
                                     nameOf((*tensor)->dtype) + ", expected " +
                                     nameOf(*argument.dtype));
    if (argument.kind == ManifestArgument::Scalar && (*tensor)->size() != 1)
      return llvm::createStringError("'" + argument.name + "' is a scalar, got a tensor of " +
                                     toString(shapes[i]));
  }
  LaunchShapes resolved;
  for (const std::vector<int64_t> &shape : shapes)
    resolved.emplace_back(shape.begin(), shape.end());
  if (llvm::Error failed = manifest.resolve(resolved))
    return failed;
  for (auto [shape, known] : llvm::zip_equal(shapes, resolved))
    shape.assign(known.begin(), known.end());
  return llvm::Error::success();
}

/// Return the arguments whose strides are not what the program relies on; addresses always are.
static SmallVector<unsigned> findMisaligned(const Manifest &manifest,
                                            const std::vector<std::unique_ptr<Strided>> &tensors) {
  SmallVector<unsigned> misaligned;
  for (const ManifestGuard &guard : manifest.variants.front().guards)
    for (unsigned i : guard.arguments) {
      const interpreter::Memory &memory = tensors[i]->memory;
      for (size_t d = 0; d + 1 < memory.strides.size(); ++d)
        if (memory.sizes[d] > 1 &&
            memory.strides[d] * sizeOf(tensors[i]->dtype) % guard.alignment != 0) {
          misaligned.push_back(i);
          break;
        }
    }
  return misaligned;
}

/// Return the bits of a scalar argument, as values have them.
static RegionValue scalarOf(const HostTensor &tensor) {
  RegionValue value;
  if (isFloat(tensor.dtype))
    value.f = tensor.at(0);
  else
    value.i = static_cast<uint64_t>(tensor.integerAt(0)) &
              (~uint64_t(0) >> (64 - 8 * sizeOf(tensor.dtype)));
  return value;
}

llvm::Expected<std::vector<HostTensor>>
Interpretation::run(const std::vector<HostTensor> &inputs,
                    const std::vector<std::pair<std::string, std::vector<int64_t>>> &outputShapes,
                    HeadLayout layout, uint64_t seed) {
  auto manifests = readManifests(*module);
  if (failed(manifests) || manifests->empty())
    return takeMessages("the module must hold the kernels of one entry");
  const Manifest *chosen = &manifests->front();
  for (const Manifest &candidate : *manifests)
    if (candidate.entry == entry)
      chosen = &candidate;
  if (manifests->size() > 1 && chosen->entry != entry)
    return llvm::createStringError(
        "the module holds the kernels of several entries, none of them @" + escaped(entry) +
        "; keep those of one");
  const Manifest &manifest = *chosen;
  for (tile::FuncOp kernel : module->getOps<tile::FuncOp>())
    if (failed(interpreter::check(kernel)))
      return takeMessages("the program cannot be interpreted");
  std::vector<std::vector<int64_t>> shapes;
  std::vector<const HostTensor *> given;
  if (llvm::Error error = resolveShapes(manifest, inputs, outputShapes, shapes, given))
    return error;

  std::vector<std::unique_ptr<Strided>> tensors;
  std::vector<interpreter::Argument> arguments(shapes.size());
  std::mt19937_64 garbage(seed);
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (!elementCount(shapes[i], *argument.dtype))
      return llvm::createStringError("the sizes of '" + argument.name + "' overflow");
    // A launch lays out workspaces itself.
    HeadLayout own = argument.kind == ManifestArgument::Workspace ? HeadLayout::BHSD : layout;
    tensors.push_back(std::make_unique<Strided>(*argument.dtype, shapes[i], own));
    if (argument.kind == ManifestArgument::Workspace && !isFloat(*argument.dtype))
      tensors.back()->fill(garbage);
    if (argument.kind == ManifestArgument::LaunchEpoch)
      arguments[i].scalar.i = garbage();
    arguments[i].memory = tensors.back()->memory;
    if (given[i])
      tensors.back()->copy(const_cast<std::byte *>(given[i]->data.data()), /*to=*/false);
    if (argument.kind == ManifestArgument::Scalar)
      arguments[i].scalar = scalarOf(*given[i]);
  }
  if (auto misaligned = findMisaligned(manifest, tensors); !misaligned.empty()) {
    if (!options || !options->aligned)
      return llvm::createStringError(
          "the program relies on strides of whole multiples of 16 bytes");
    options = cuda::withoutAlignment(*options, manifest, misaligned);
    if (llvm::Error error = compile())
      return error;
    return run(inputs, outputShapes, layout, seed);
  }
  for (const ManifestKernel &kernel : manifest.kernels()) {
    std::vector<interpreter::Argument> own;
    for (unsigned i : kernel.arguments)
      own.push_back(arguments[i]);
    interpreter::Options options;
    options.seed = seed;
    if (failed(interpreter::run(module->lookupSymbol<tile::FuncOp>(kernel.name), own, options)))
      return takeMessages("the program failed");
  }
  std::vector<HostTensor> outputs;
  workspace.clear();
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    bool isOutput = argument.kind == ManifestArgument::Output;
    if (!isOutput && argument.kind != ManifestArgument::Workspace)
      continue;
    std::vector<HostTensor> &to = isOutput ? outputs : workspace;
    to.push_back(HostTensor::zeros(argument.name, tensors[i]->dtype, shapes[i]));
    tensors[i]->copy(to.back().data.data(), /*to=*/true);
  }
  return outputs;
}
