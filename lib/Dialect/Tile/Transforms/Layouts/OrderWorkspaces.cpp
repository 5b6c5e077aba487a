//===- OrderWorkspaces.cpp - tile-order-workspaces -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a warp adds to memory row by row is pairs of columns of eight rows: an
// instruction touches eight places. In the order of accumulators the 32 lanes have
// neighbours.
//
//   1. find the workspaces that a kernel adds tiles to, and the other kernels' arguments
//      that are the same memory: those of one entry and one name;
//   2. check that all that touches them, or slices of their rows, is loads, stores and additions of
//      whole boxes;
//   3. say the order in the type of each, and round the rows up in its size: to boxes, and to
//      the tiles that are added inside of it;
//   4. round up the rows of workspaces that are read where such tiles are added, to the tiles that
//      are read and stored: what is read of them is inside, too.
//
// Where rows are rounded up to tiles, the grid of the kernel that stores them takes that size, so
// that all of them are written.
//
// Rejects: nothing; a workspace that is used otherwise stays as it is.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

namespace mlir::tile {
#define GEN_PASS_DEF_TILEORDERWORKSPACES
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Hold what kernels of an entry have of one workspace.
using Memory = SmallVector<BlockArgument, 4>;

struct OrderWorkspaces : tile::impl::TileOrderWorkspacesBase<OrderWorkspaces> {
  using Base::Base;

  void runOnOperation() override;
  std::string whyNot(const Memory &memory, OrderAttr order);
  void readInside(const Memory &memory);
};

} // namespace

static FuncOp funcOf(BlockArgument argument) {
  return cast<FuncOp>(argument.getOwner()->getParentOp());
}

/// Return an addition that a user of a view is, or a user of its slices; null where there is none.
static AccumulateOp findAddition(Operation *user) {
  if (auto slice = dyn_cast<SliceOp>(user))
    for (Operation *inner : slice->getUsers())
      if (AccumulateOp added = findAddition(inner))
        return added;
  return dyn_cast<AccumulateOp>(user);
}

/// Return whether the kernel's grid takes a size of the view.
static bool isInGrid(BlockArgument view) {
  ArrayRef<int64_t> sizes = funcOf(view).getSizes();
  for (size_t i = 0; i < sizes.size(); i += 2)
    if (sizes[i] == view.getArgNumber())
      return true;
  return false;
}

static bool isFactor(LoadOp load) {
  return llvm::any_of(load->getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && (dot.getA() == load.getResult() || dot.getB() == load.getResult());
  });
}

/// Return why an access moves no whole boxes; empty if it does.
static std::string whyNotBoxes(Operation *op, Value view, OrderAttr order) {
  auto type = cast<ViewType>(view.getType());
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (static_cast<int64_t>(slice.getDim()) != type.getRank() - 2)
      return "'tile.slice' takes no rows";
    for (Value rows : {slice.getStart(), slice.getSize()})
      if (divisorOf(rows) % order.getRows() != 0)
        return "'tile.slice' may begin or end within a box";
    for (Operation *user : slice->getUsers())
      if (std::string why = whyNotBoxes(user, slice, order); !why.empty())
        return why;
    return "";
  }
  auto check = [&](Value value, ValueRange indices, ArrayRef<int64_t> dims) -> std::string {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    int64_t rows = type.getRank() - 2, columns = rows + 1;
    if (!tile || dims != ArrayRef<int64_t>({rows, columns}))
      return "moves no tile along the last two dimensions";
    if (tile.getDimSize(0) % order.getRows() != 0 || tile.getDimSize(1) % order.getColumns() != 0)
      return "moves a tile of no whole boxes";
    if (divisorOf(indices[rows]) % order.getRows() != 0 ||
        divisorOf(indices[columns]) % order.getColumns() != 0)
      return "may begin within a box";
    return "";
  };
  std::string why = "is neither a load nor a store nor adds a tile";
  if (auto load = dyn_cast<LoadOp>(op))
    why = isFactor(load) ? "is an operand of a product"
                         : check(load.getResult(), load.getIndices(), load.getDims());
  else if (auto store = dyn_cast<StoreOp>(op))
    why = check(store.getValue(), store.getIndices(), store.getDims());
  else if (auto added = dyn_cast<AccumulateOp>(op))
    why = check(added.getValue(), added.getIndices(), added.getDims());
  return why.empty() ? "" : ("'" + op->getName().getStringRef() + "' " + why).str();
}

/// Return why the memory stays row by row; empty if it need not.
std::string OrderWorkspaces::whyNot(const Memory &memory, OrderAttr order) {
  for (BlockArgument view : memory) {
    auto type = cast<ViewType>(view.getType());
    FuncOp func = funcOf(view);
    auto sizes = func.getArgAttrOfType<ArrayAttr>(view.getArgNumber(), TileDialect::kWorkspaceAttr);
    if (!sizes || static_cast<int64_t>(sizes.size()) != type.getRank())
      return "no size is given for each dimension";
    if (type.getRank() < 2 || ShapedType::isDynamic(type.getShape().back()) ||
        type.getShape().back() % order.getColumns() != 0)
      return "its columns are no whole boxes";
    if (!ShapedType::isDynamic(type.getShape()[type.getRank() - 2]))
      return "its rows are a static number";
    int64_t multiple = divisorOfSize(view, type.getRank() - 2);
    if (multiple != 1 && multiple % order.getRows() != 0)
      return "its rows are no whole boxes";
    if (isInGrid(view))
      return "a grid takes its size";
    for (Operation *user : view.getUsers())
      if (std::string why = whyNotBoxes(user, view, order); !why.empty())
        return why;
  }
  return "";
}

/// Say the order of a view, and of all slices of it.
static void setOrder(Value view, OrderAttr order) {
  view.setType(cast<ViewType>(view.getType()).withOrder(order));
  for (Operation *user : view.getUsers())
    if (auto slice = dyn_cast<SliceOp>(user))
      setOrder(slice, order);
}

/// Return sizes of a workspace whose rows are rounded up to a multiple: [name, dimension, divisor,
/// multiple].
static ArrayAttr roundedUp(ArrayAttr sizes, unsigned rows, int64_t multiple) {
  Builder b(sizes.getContext());
  SmallVector<Attribute> all(sizes.getValue());
  SmallVector<Attribute> parts(cast<ArrayAttr>(all[rows]).getValue());
  if (parts.size() == 2)
    parts.push_back(b.getI64IntegerAttr(1));
  parts.push_back(b.getI64IntegerAttr(multiple));
  all[rows] = b.getArrayAttr(parts);
  return b.getArrayAttr(all);
}

/// Return a multiple of boxes, and of the tiles whose registers are added inside of the memory, so
/// that these end in it, too. Bulk reductions, by 16 bytes a lane, count the rows in range.
static int64_t rowsOfAll(const Memory &memory, OrderAttr order) {
  int64_t rows = order.getRows();
  if (order.getWidth() > 1)
    return rows;
  for (BlockArgument view : memory)
    for (Operation *user : view.getUsers())
      if (auto added = dyn_cast<AccumulateOp>(user); added && added.getInside()) {
        int64_t tile = cast<RankedTensorType>(added.getValue().getType()).getDimSize(0);
        if (divisorOf(added.getIndices().drop_back().back()) % tile == 0)
          rows = std::lcm(rows, tile);
      }
  return rows;
}

/// Return which size of a tensor, [name, dimension], that of a workspace is, whatever it is rounded
/// up to; nothing where it is a quotient or a sum.
static ArrayRef<Attribute> sizeOf(Value view, int64_t dim) {
  constexpr size_t kParts = 4, kDivisor = 2;
  ArrayAttr parts = workspaceSizeOf(view, dim);
  if (!parts || parts.size() > kParts ||
      (parts.size() > kDivisor && cast<IntegerAttr>(parts[kDivisor]).getInt() != 1))
    return {};
  return parts.getValue().take_front(kDivisor);
}

/// Return whether the load's tile begins where one does that is added inside of memory of the same
/// sizes, but for columns.
static bool isBesideAddition(LoadOp load) {
  auto isAt = [&](Operation &op) {
    auto added = dyn_cast<AccumulateOp>(op);
    size_t rank = load.getIndices().size();
    if (!added || !added.getInside() || added.getIndices().size() < rank ||
        added.getDims().front() != load.getDims().front())
      return false;
    return llvm::all_of(llvm::seq<size_t>(rank), [&](size_t dim) {
      ArrayRef<Attribute> size = sizeOf(load.getSource(), dim);
      return added.getIndices()[dim] == load.getIndices()[dim] && !size.empty() &&
             sizeOf(added.getDestination(), dim) == size;
    });
  };
  for (Operation *op = load; !isa<FuncOp>(op); op = op->getParentOp())
    if (llvm::any_of(*op->getBlock(), isAt))
      return true;
  return false;
}

/// Return which size of a kernel's grid is that of rows of the workspace; none where the kernel
/// may not have more blocks: it would take slices behind what they are of.
static std::optional<size_t> sizeInGrid(BlockArgument view, int64_t dim) {
  FuncOp func = funcOf(view);
  ArrayRef<Attribute> rows = sizeOf(view, dim);
  if (rows.empty() || func.walk([](SliceOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return std::nullopt;
  ArrayRef<int64_t> sizes = func.getSizes();
  for (size_t i = 0; i < sizes.size(); i += 2) {
    bool isOfTensor = func.getArgAttr(sizes[i], TileDialect::kNameAttr) == rows[0] &&
                      sizes[i + 1] == cast<IntegerAttr>(rows[1]).getInt();
    // Those of another workspace.
    if (isOfTensor || sizeOf(func.getArgument(sizes[i]), sizes[i + 1]) == rows)
      return i;
  }
  return std::nullopt;
}

/// Return what the size in the kernel's grid is a multiple of.
static int64_t multipleInGrid(FuncOp func, size_t size) {
  ArrayRef<int64_t> sizes = func.getSizes();
  return divisorOfSize(func.getArgument(sizes[size]), sizes[size + 1]);
}

/// Round rows of a workspace up, unless they are multiples of something, and let blocks of the
/// kernels that store them, of which `written` has the size in the grid, write all of them.
static void roundUp(const Memory &memory, int64_t dim, int64_t multiple,
                    const llvm::MapVector<BlockArgument, size_t> &written) {
  for (BlockArgument view : memory) {
    FuncOp func = funcOf(view);
    unsigned i = view.getArgNumber();
    if (divisorOfSize(view, dim) == 1) {
      auto sizes = func.getArgAttrOfType<ArrayAttr>(i, TileDialect::kWorkspaceAttr);
      func.setArgAttr(i, TileDialect::kWorkspaceAttr, roundedUp(sizes, dim, multiple));
    }
    if (auto size = written.find(view); size != written.end()) {
      SmallVector<int64_t> inGrid(func.getSizes());
      inGrid[size->second] = i;
      inGrid[size->second + 1] = dim;
      func.setSizes(inGrid);
    }
  }
}

/// Let loads of a workspace's rows be inside where an addition at the same rows is.
void OrderWorkspaces::readInside(const Memory &memory) {
  SmallVector<LoadOp> inside;
  llvm::MapVector<BlockArgument, size_t> written;
  int64_t last = cast<ViewType>(memory.front().getType()).getRank() - 1, multiple = 1;
  for (BlockArgument view : memory) {
    if (isInGrid(view) || divisorOfSize(view, last) != 1)
      return;
    for (Operation *user : view.getUsers()) {
      auto store = dyn_cast<StoreOp>(user);
      auto load = dyn_cast<LoadOp>(user);
      Value tile = store ? store.getValue() : load ? load.getResult() : Value();
      ArrayRef<int64_t> dims = store  ? store.getDims()
                               : load ? load.getDims()
                                      : ArrayRef<int64_t>();
      if (!tile || dims != ArrayRef(last))
        return;
      bool isRead = load && isBesideAddition(load);
      Value row = store ? store.getIndices()[last] : load.getIndices()[last];
      int64_t rows = cast<RankedTensorType>(tile.getType()).getDimSize(0);
      std::optional<size_t> size = store ? sizeInGrid(view, last) : std::nullopt;
      if (((isRead || store) && divisorOf(row) % rows != 0) || (store && !size))
        return;
      if (isRead)
        inside.push_back(load);
      multiple = std::lcm(multiple, isRead || store ? rows : 1);
      if (!size)
        continue;
      written[view] = *size;
      multiple = std::lcm(multiple, multipleInGrid(funcOf(view), *size));
    }
  }
  if (written.empty() || inside.empty())
    return;
  roundUp(memory, last, multiple, written);
  for (LoadOp load : inside)
    load.setInside(true);
  fa::remarkPassed(*this, inside.front().getLoc(), "order")
      << fa::decision("rows of a workspace are multiples of {0}", multiple)
      << remark::reason("what is read of them beside an addition is all in range");
}

void OrderWorkspaces::runOnOperation() {
  if (!llvm::is_contained({1, 2, 4}, width.getValue())) {
    getOperation().emitError() << "width must be 1, 2 or 4, got " << width.getValue();
    return signalPassFailure();
  }
  OrderAttr order = OrderAttr::ofAccumulators(&getContext(), width);
  llvm::MapVector<std::pair<Attribute, Attribute>, Memory> memories;
  for (auto func : getOperation().getOps<FuncOp>())
    for (unsigned i = 0; i < func.getNumLaunchArguments(); ++i) {
      auto view = dyn_cast<ViewType>(func.getArgumentTypes()[i]);
      Attribute name = func.getArgAttr(i, TileDialect::kNameAttr);
      if (view && !view.getOrder() && name && func.getArgAttr(i, TileDialect::kWorkspaceAttr))
        memories[{func->getAttr(TileDialect::kEntryAttr), name}].push_back(func.getArgument(i));
    }
  for (auto &[key, memory] : memories) {
    AccumulateOp added;
    for (BlockArgument view : memory)
      for (Operation *user : view.getUsers())
        if (AccumulateOp op = findAddition(user); op && !added)
          added = op;
    if (!added) {
      // Elsewhere rows come by TMA.
      if (order.getWidth() == 1)
        readInside(memory);
      continue;
    }
    std::string why = whyNot(memory, order);
    if (!why.empty()) {
      fa::remarkMissed(*this, added.getLoc(), "order")
          << fa::decision("sums in memory stay row by row") << remark::reason("{0}", why);
      continue;
    }
    int64_t rows = rowsOfAll(memory, order);
    int64_t rowDim = cast<ViewType>(memory.front().getType()).getRank() - 2;
    llvm::MapVector<BlockArgument, size_t> written;
    for (BlockArgument view : memory)
      if (std::optional<size_t> size = sizeInGrid(view, rowDim);
          size && rows > order.getRows() && llvm::any_of(view.getUsers(), llvm::IsaPred<StoreOp>)) {
        written[view] = *size;
        rows = std::lcm(rows, multipleInGrid(funcOf(view), *size));
      }
    // Those that are multiples of something are multiples of boxes.
    roundUp(memory, rowDim, rows, written);
    for (BlockArgument view : memory) {
      FuncOp func = funcOf(view);
      setOrder(view, order);
      SmallVector<Type> inputs(func.getArgumentTypes());
      inputs[view.getArgNumber()] = view.getType();
      func.setFunctionType(FunctionType::get(&getContext(), inputs, func.getResultTypes()));
    }
    fa::remarkPassed(*this, added.getLoc(), "order")
        << fa::decision("sums in memory lie in boxes of {0}x{1}, {2} elements of a lane side by "
                        "side",
                        order.getRows(), order.getColumns(), order.getWidth())
        << remark::reason("that is how a warp holds accumulators");
  }
}
