//===- Cost.cpp - what a kernel does at given sizes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Cost.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Runs one work tile: integers where they are known, tiles only by their size.
class Counter {
public:
  Counter(ArrayRef<unsigned> arguments, const LaunchShapes &shapes, const ProductScheme &scheme,
          KernelCost &cost)
      : arguments(arguments), shapes(shapes), scheme(scheme), cost(cost) {}

  /// Count; return false once more ops have been run than are reasonable.
  bool run(tile::FuncOp function, ArrayRef<int64_t> workTile) {
    numbers.clear();
    unsigned first = function.getNumLaunchArguments();
    for (auto [i, number] : llvm::enumerate(workTile))
      numbers[function.getBody().getArgument(first + i)] = number;
    runBlock(function.getBody().front());
    return opsLeft > 0;
  }

private:
  using Number = std::optional<int64_t>;

  Number get(Value value) {
    auto found = numbers.find(value);
    return found == numbers.end() ? std::nullopt : Number(found->second);
  }
  void set(Value value, Number number) {
    if (number)
      numbers[value] = *number;
    else
      numbers.erase(value);
  }
  void runBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      runOp(&op);
  }
  void runOp(Operation *op);
  void runLoop(scf::ForOp loop);
  void runIf(scf::IfOp branch);
  void runBallot(tile::BallotOp ballot);
  /// Make what `terminator` yields the results of `op`.
  void yield(Operation *op, Operation *terminator) {
    SmallVector<Number> yielded =
        llvm::map_to_vector(terminator->getOperands(), [&](Value value) { return get(value); });
    for (auto [result, number] : llvm::zip_equal(op->getResults(), yielded))
      set(result, number);
  }
  Number compute(Operation *op);
  void countTile(Operation *op);

  ArrayRef<unsigned> arguments;
  const LaunchShapes &shapes;
  const ProductScheme &scheme;
  KernelCost &cost;
  DenseMap<Value, int64_t> numbers;
  int64_t opsLeft = int64_t(1) << 28;
};
} // namespace

static double elements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 0;
}

static double bytes(Type type) {
  if (!isa<RankedTensorType>(type))
    return 0;
  Type element = getElementTypeOrSelf(type);
  return elements(type) * (element.isIndex() ? 64 : element.getIntOrFloatBitWidth()) / 8;
}

std::optional<int64_t> Counter::compute(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto integer = dyn_cast<IntegerAttr>(constant.getValue());
    return integer ? Number(integer.getValue().getSExtValue()) : std::nullopt;
  }
  if (auto dim = dyn_cast<tile::DimOp>(op)) {
    auto argument = dyn_cast<BlockArgument>(dim.getView());
    if (!argument || argument.getArgNumber() >= arguments.size())
      return std::nullopt;
    return shapes[arguments[argument.getArgNumber()]][dim.getDim()];
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Number condition = get(select.getCondition());
    return condition ? get(*condition ? select.getTrueValue() : select.getFalseValue())
                     : std::nullopt;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::IndexCastUIOp>(op))
    return get(op->getOperand(0));
  if (isa<math::CtPopOp>(op) && op->getResult(0).getType().isInteger(32)) {
    Number word = get(op->getOperand(0));
    return word ? Number(llvm::popcount(static_cast<uint32_t>(*word))) : std::nullopt;
  }
  if (isa<arith::TruncIOp>(op) && op->getResult(0).getType().isInteger(1)) {
    Number word = get(op->getOperand(0));
    return word ? Number(*word & 1) : std::nullopt;
  }
  if (auto bit = dyn_cast<tile::NthBitOp>(op)) {
    Number word = get(bit.getWord()), n = get(bit.getN());
    return word && n ? Number(tile::nthBit(static_cast<uint32_t>(*word), *n)) : std::nullopt;
  }
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return std::nullopt;
  Number x = get(op->getOperand(0)), y = get(op->getOperand(1));
  // One known side can decide.
  if (isa<arith::AndIOp>(op) && op->getResult(0).getType().isInteger(1) &&
      ((x && !*x) || (y && !*y)))
    return 0;
  if (!x || !y)
    return std::nullopt;
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    APInt a(64, *x, true), b(64, *y, true);
    return arith::applyCmpPredicate(compare.getPredicate(), a, b);
  }
  return region::evaluate(op, *x, *y);
}

/// Return the count that a product of such operands belongs to.
static double &productsOf(KernelCost &cost, RankedTensorType a, tile::Precision precision) {
  if (a.getElementTypeBitWidth() <= 16)
    return cost.products16;
  switch (precision) {
  case tile::Precision::tf32:
    return cost.productsTF32;
  case tile::Precision::tf32x3:
    return cost.productsTF32x3;
  case tile::Precision::ieee:
    break;
  }
  return cost.productsIEEE;
}

/// Count the cost of one op on tiles.
void Counter::countTile(Operation *op) {
  if (auto dot = dyn_cast<tile::DotOp>(op)) {
    auto a = cast<RankedTensorType>(dot.getA().getType());
    double n = cast<RankedTensorType>(dot.getType()).getDimSize(1);
    double rows = a.getDimSize(0), k = a.getDimSize(1);
    double readings = std::ceil(rows / double(scheme.rowsAtOnce(a.getDimSize(0))));
    productsOf(cost, a, dot.getPrecision()) += 2 * rows * k * n;
    // Operands that are loaded come out of shared memory.
    cost.operandBytes += readings * bytes(dot.getB().getType());
    if (dot.getA().getDefiningOp<tile::LoadOp>())
      cost.operandBytes += bytes(a);
    return;
  }
  if (isa<tile::LoadOp, tile::GatherOp>(op)) {
    cost.loaded += bytes(op->getResult(0).getType());
    return;
  }
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    cost.stored += bytes(store.getValue().getType());
    return;
  }
  if (isa<tile::ScatterOp, tile::ScatterAddOp, tile::AccumulateOp>(op)) {
    double size = bytes(op->getOperand(0).getType());
    cost.stored += size;
    cost.added += isa<tile::ScatterOp>(op) ? 0 : size;
    return;
  }
  if (isa<tile::BroadcastOp, tile::IotaOp, tile::TransposeOp, tile::ConvertLayoutOp,
          arith::ConstantOp>(op))
    return;
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    cost.arithmetic += elements(reduce.getInput().getType());
    return;
  }
  if (auto stabilize = dyn_cast<tile::StabilizeOp>(op)) {
    // Maximum, difference and scale of an element; for a row, what keeps -inf out as well.
    double tile = elements(stabilize.getScores().getType());
    double rows = elements(stabilize.getFactor().getType());
    cost.arithmetic += 3 * tile + 4 * rows;
    cost.special += tile + rows;
    return;
  }
  if (isa<tile::ReferenceOp, tile::ReferenceValueOp>(op))
    return;
  double size = op->getNumResults() == 0 ? 0 : elements(op->getResult(0).getType());
  if (isa<tile::RandomBitsOp>(op)) {
    // Philox: 7 rounds of some 6 operations for 16 elements.
    cost.arithmetic += 4 * size;
    return;
  }
  if (!region::lookUp(op)) {
    cost.arithmetic += size;
    return;
  }
  const region::Effort &effort = region::effortOf(op);
  cost.special += effort.special * size;
  cost.arithmetic += effort.arithmetic * size;
}

void Counter::runLoop(scf::ForOp loop) {
  Number first = get(loop.getLowerBound()), end = get(loop.getUpperBound()),
         step = get(loop.getStep());
  if (!first || !end || !step || *step < 1) {
    cost.dependsOnData = true;
    first = 0, end = step = 1;
  }
  for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInits()))
    set(argument, get(init));
  Operation *terminator = loop.getBody()->getTerminator();
  for (int64_t i = *first; i < *end && opsLeft > 0; i += *step) {
    numbers[loop.getInductionVar()] = i;
    runBlock(*loop.getBody());
    SmallVector<Number> next =
        llvm::map_to_vector(terminator->getOperands(), [&](Value value) { return get(value); });
    for (auto [argument, number] : llvm::zip_equal(loop.getRegionIterArgs(), next))
      set(argument, number);
  }
  for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs()))
    set(result, get(argument));
}

void Counter::runIf(scf::IfOp branch) {
  Number condition = get(branch.getCondition());
  if (!condition)
    cost.dependsOnData = true;
  Block *taken = !condition || *condition ? branch.thenBlock() : branch.elseBlock();
  if (!taken)
    return;
  runBlock(*taken);
  yield(branch, taken->getTerminator());
  if (!condition)
    for (Value result : branch.getResults())
      numbers.erase(result);
}

/// Count a test that is not known as one that holds.
void Counter::runBallot(tile::BallotOp ballot) {
  uint32_t word = 0;
  for (int64_t n = 0; n < tile::BallotOp::kNumbers; ++n) {
    numbers[ballot.getNumber()] = n;
    runBlock(ballot.getBody().front());
    Number bit = get(ballot.getVote());
    if (!bit)
      cost.dependsOnData = true;
    word |= uint32_t(!bit || *bit) << n;
  }
  set(ballot.getResult(), static_cast<int32_t>(word));
}

void Counter::runOp(Operation *op) {
  --opsLeft;
  if (auto ballot = dyn_cast<tile::BallotOp>(op))
    return runBallot(ballot);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch);
  if (auto branch = dyn_cast<tile::IfAnyOp>(op)) {
    // Rarely taken: it corrects what earlier iterations did.
    return;
  }
  bool scalar = llvm::none_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) &&
                llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
  if (!scalar)
    return countTile(op);
  if (op->getNumResults() == 1)
    set(op->getResult(0), compute(op));
}

KernelCost &KernelCost::operator+=(const KernelCost &other) {
  workTiles += other.workTiles;
  products16 += other.products16;
  productsTF32 += other.productsTF32;
  productsTF32x3 += other.productsTF32x3;
  productsIEEE += other.productsIEEE;
  special += other.special;
  arithmetic += other.arithmetic;
  operandBytes += other.operandBytes;
  loaded += other.loaded;
  stored += other.stored;
  added += other.added;
  dependsOnData |= other.dependsOnData;
  return *this;
}

llvm::Expected<KernelCost> fa::countKernel(tile::FuncOp function, const Manifest &manifest,
                                           const ManifestKernel &kernel, const LaunchShapes &shapes,
                                           const ProductScheme &scheme) {
  auto extents = manifest.grid(kernel, shapes);
  if (!extents)
    return extents.takeError();
  KernelCost cost;
  int64_t workTiles = 1;
  for (int64_t extent : *extents)
    if (llvm::MulOverflow(workTiles, extent, workTiles))
      return llvm::createStringError("the number of work tiles of kernel '" + kernel.name +
                                     "' overflows; choose smaller sizes");
  if (workTiles == 0)
    return cost;
  constexpr int64_t mostSamples = 512;
  int64_t samples = std::min(workTiles, mostSamples);
  Counter counter(kernel.arguments, shapes, scheme, cost);
  for (int64_t sample = 0; sample < samples; ++sample) {
    // In the middle of its share, so that ends do not count twice. Where that lies between two
    // work tiles, one sample takes the first and the next one the second.
    __int128 twice = (__int128(2) * sample + 1) * workTiles - samples, step = 2 * samples;
    auto number = static_cast<int64_t>((twice + (sample % 2 ? step - 1 : 0)) / step);
    SmallVector<int64_t> workTile(extents->size());
    for (size_t d = extents->size(); d-- > 0; number /= (*extents)[d])
      workTile[d] = number % (*extents)[d];
    if (!counter.run(function, workTile))
      return llvm::createStringError("the loops of kernel '" + kernel.name +
                                     "' are too long to count; choose smaller sizes");
  }
  double scale = double(workTiles) / samples;
  for (double *part : {&cost.products16, &cost.productsTF32, &cost.productsTF32x3,
                       &cost.productsIEEE, &cost.special, &cost.arithmetic, &cost.operandBytes,
                       &cost.loaded, &cost.stored, &cost.added})
    *part *= scale;
  cost.workTiles = workTiles;
  return cost;
}
