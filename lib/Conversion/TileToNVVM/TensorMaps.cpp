//===- TensorMaps.cpp - copies by the TMA -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A map is 128 bytes that the launch makes, a parameter of the kernel that is
// passed by value and read where it is. To it the view has one dimension more,
// for columns stand in panels of the swizzle's width in shared memory:
//
//   (column in the panel, row, panel, the other dimensions, last first)
//
// One box of all rows and panels of a tile then comes in the order of its slot,
// and rows out of range come as zeros. Rows that are no whole panels, or
// whose length a launch says, cannot be cut so; then the map has the view's dimensions,
//
//   (column, row, the other dimensions, last first)
//
// and a box is one panel, whose columns out of range come as zeros. So it has for a
// tile of rank 1, whose box is one row without a swizzle. The other
// way, what is out of range is not stored; a box is one panel of the rows of a
// warpgroup, by whichever map (see Manifest.h).
//
// A map of slices has three dimensions for all that a view has but columns:
//
//   (column in the panel, row, unit, back, panel)    or    (column, row, unit, back)
//
// Row has the rows' stride s, and there are M = 2^30 rows, more than any view has. A unit is 16
// bytes, which all strides of a view that has a map are multiples of, so one number of them stands
// for the first row, the head and the batch, whatever their strides are. Row r of a slice that
// begins at row b and has n rows, of head h with stride t, is then at
//
//   (column, row = M - n + r, unit = ((b + n) s + h t + ..) / 16, back = M, panel)
//
// so rows at or after the slice's end are out of the map's M rows. The stride of `back` is 2^34 -
// s: M steps are 2^64 - M s bytes, which take the M rows too many back, for addresses are added up
// modulo 2^64. (A map that begins M rows before its view does without `back`, but a device takes an
// illegal address for a beginning where no memory is mapped.) Of a tile that begins before the
// slice, at r < 0, and ends in it, row r is at
//
//   (column, row = r, unit = (b s + h t + ..) / 16, back = 0, panel)
//
// so rows before the slice's first are out of the map. A head or a batch out of range would
// be another's row, so its unit is -1, which is out of the map. Coordinates have 32 bits: a launch
// sees to it that units are less than 2^31 (isMappable).
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Support/SliceMaps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa::nvvm;

void Emitter::setMapAttributes(unsigned argument) {
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
  kernel.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
  kernel.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
  kernel.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
}

/// Emit the unit of a map of slices at which the slice's `row` is, in the head and batch of the
/// indices; `atUse`, nothing of it is computed before a loop.
Value Emitter::unitOf(tile::SliceOp slice, OperandRange indices, Value row, bool atUse) {
  const ViewParts &view = views[slice.getResult()];
  int64_t rows = slice.getDim(), perUnit = kSliceUnit * 8 / view.element.getIntOrFloatBitWidth();
  Value elements, inside;
  for (int64_t d = 0; d <= rows; ++d) {
    Value index =
        d < rows ? get(indices[d]) : b.createOrFold<arith::AddIOp>(get(slice.getStart()), row);
    if (atUse)
      index = toI64(pinToUse(arith::TruncIOp::create(b, b.getI32Type(), index)));
    if (d < rows)
      inside = both(inside, inRange(index, view.sizes[d]));
    Value before = b.createOrFold<arith::MulIOp>(index, view.strides[d]);
    elements = elements ? b.createOrFold<arith::AddIOp>(elements, before) : before;
  }
  Value unit = arith::ShRUIOp::create(b, elements, i64(llvm::Log2_64(perUnit)));
  unit = arith::TruncIOp::create(b, b.getI32Type(), unit);
  return inside ? Value(arith::SelectOp::create(b, inside, unit, i32(-1))) : unit;
}

/// Call `body` for each box of a slot: its first panel, and its place in the
/// map. `row` is added to the place of the tile.
LogicalResult Emitter::forEachBox(Operation *op, tile::SlotType slot, Value mapped, Value memory,
                                  OperandRange indices, ArrayRef<int64_t> dims, Value row,
                                  function_ref<void(int64_t, ArrayRef<Value>)> body) {
  auto map = cast<tile::TensorMapType>(mapped.getType());
  auto view = cast<tile::ViewType>(memory.getType());
  auto slice = memory.getDefiningOp<tile::SliceOp>();
  bool slices = source.getArgAttr(cast<BlockArgument>(mapped).getArgNumber(),
                                  tile::TileDialect::kMapSlicesAttr) != nullptr;
  if (slices != (slice && dims.size() == 2 && static_cast<int64_t>(slice.getDim()) == dims[0]))
    return op->emitError() << "the map is " << (slices ? "" : "not ")
                           << "for slices of a view along the tile's rows, and the view is "
                           << (slices ? "none" : "one") << "; run tile-make-tensor-maps";
  int64_t rank = indices.size(), last = rank - 1;
  bool vector = dims == ArrayRef<int64_t>{last};
  if ((!vector && dims != ArrayRef<int64_t>{last - 1, last}) || rank < 2 || rank > 4)
    return op->emitError() << "the TMA moves a tile along the last dimension or the last two of a "
                              "view of rank 2 to 4, got dims ["
                           << llvm::make_range(dims.begin(), dims.end()) << "] of " << view;
  auto coordinate = [&](Value index) -> Value {
    return arith::TruncIOp::create(b, b.getI32Type(), get(index));
  };
  if (vector) {
    SmallVector<Value> place;
    for (Value index : llvm::reverse(indices))
      place.push_back(coordinate(index));
    body(0, place);
    return success();
  }
  int64_t panel = 8 * slot.getLayout().getBytes() / slot.getElementType().getIntOrFloatBitWidth();
  int64_t columns = map.getShape()[1], width = view.getShape().back();
  bool panels = !ShapedType::isDynamic(width) && width % panel == 0 && columns % panel == 0;
  int64_t inBox = panels ? columns / panel : 1;
  Value column = indices[last], first = i32(0);
  if (!matchPattern(column, m_Zero()))
    first = panels ? Value(arith::DivSIOp::create(b, coordinate(column), i32(panel)))
                   : coordinate(column);
  Value firstRow = coordinate(indices[dims[0]]);
  SmallVector<Value> others;
  if (slice) {
    // Of what goes out after a loop, nothing takes registers from that.
    bool atUse = static_cast<bool>(row);
    Value size = atUse ? pinToUse(coordinate(slice.getSize())) : coordinate(slice.getSize());
    Value most = i32(kSliceRows);
    Value clipped = arith::AddIOp::create(b, arith::SubIOp::create(b, most, size),
                                          arith::MinUIOp::create(b, firstRow, size));
    Value last = views[slice.getResult()].sizes[slice.getDim()];
    if (slice.getFront()) {
      Value before = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, firstRow, i32(0));
      auto unlessBefore = [&](Value otherwise, Value value) -> Value {
        return arith::SelectOp::create(b, before, otherwise, value);
      };
      clipped = unlessBefore(firstRow, clipped);
      most = unlessBefore(i32(0), most);
      last = unlessBefore(i64(0), last);
    }
    firstRow = clipped;
    others = {unitOf(slice, indices, last, atUse), most};
  } else {
    for (int64_t d = last - 1; d-- > 0;)
      others.push_back(coordinate(indices[d]));
  }
  if (row)
    firstRow = arith::AddIOp::create(b, firstRow, row);
  for (int64_t at = 0; at * panel < slot.getShape()[1]; at += inBox) {
    auto moved = [&](int64_t n) -> Value {
      return n == 0 ? first : arith::AddIOp::create(b, first, i32(n));
    };
    SmallVector<Value> place{panels ? i32(0) : moved(at * panel), firstRow};
    if (panels && !slices)
      place.push_back(moved(at));
    llvm::append_range(place, others);
    if (panels && slices)
      place.push_back(moved(at));
    body(at, place);
  }
  return success();
}

/// "{$3, $4, $5}", and its constraints.
static std::string placeOf(size_t first, size_t count, std::string &constraints) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) {
    text += (i ? ", $" : "$") + std::to_string(first + i);
    constraints += ",r";
  }
  return text + "}";
}

/// Return the bytes of a panel of a slot.
static int64_t panelBytes(tile::SlotType slot) {
  return slot.getShape()[0] * slot.getLayout().getBytes();
}

LogicalResult Emitter::emitTensorCopy(tile::CopyOp op) {
  if (!op.getMap())
    return op.emitError() << "copy(tma) has no tensor map; run tile-make-tensor-maps";
  tile::SlotType slot = op.getSlot().getType();
  Value to = get(op.getSlot()), map = get(op.getMap());
  Value barrier = barrierAddress(op.getSignal(), op.getSignalSlot());
  return forEachBox(op, slot, op.getMap(), op.getSource(), op.getIndices(), op.getDims(),
                    /*row=*/{}, [&](int64_t panel, ArrayRef<Value> place) {
                      std::string constraints = "r,l,r";
                      std::string at = placeOf(3, place.size(), constraints);
                      SmallVector<Value> operands{to, map, barrier};
                      operands.append(place.begin(), place.end());
                      std::string offset =
                          panel ? "+" + std::to_string(panel * panelBytes(slot)) : "";
                      ptxByOne("cp.async.bulk.tensor." + std::to_string(place.size()) +
                                   "d.shared::cluster.global.mbarrier::complete_tx::bytes [$0" +
                                   offset + "], [$1, " + at + "], [$2];",
                               constraints, operands);
                    });
}

//===----------------------------------------------------------------------===//
// From shared memory
//===----------------------------------------------------------------------===//

/// Return whether this thread copies for its warpgroup: lane 0 of the first warp.
Value Emitter::copiesOut() {
  Value head = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                     arith::AndIOp::create(b, warp, i32(3)), i32(0));
  return both(head, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0)));
}

LogicalResult Emitter::emitBulkStore(tile::BulkStoreOp op) {
  if (!op.getMap())
    return op.emitError() << "has no tensor map; run tile-make-tensor-maps";
  tile::SlotType slot = op.getSlot().getType();
  int64_t rows = op.getRows();
  if (warps % tile::kWarpsOfGroup != 0 ||
      rows * (warps / tile::kWarpsOfGroup) != slot.getShape()[0])
    return op.emitError() << "copies " << slot.getShape()[0] << " rows in boxes of " << rows
                          << ", one by each warpgroup, but " << warps << " warps run it";
  Value group = arith::ShRUIOp::create(b, warp, i32(2));
  Value from = get(op.getSlot()), map = get(op.getMap()), mine = copiesOut();
  from = arith::AddIOp::create(
      b, from, arith::MulIOp::create(b, group, i32(rows * slot.getLayout().getBytes())));
  Value row = arith::MulIOp::create(b, group, i32(rows));
  if (Value start = op.getIndices()[op.getDims()[0]]; !tile::isNonNegative(start)) {
    Value first = arith::TruncIOp::create(b, b.getI32Type(), get(start));
    first = arith::AddIOp::create(b, first, row);
    mine = both(mine, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, first, i32(0)));
  }
  LogicalResult done =
      forEachBox(op, slot, op.getMap(), op.getDestination(), op.getIndices(), op.getDims(), row,
                 [&](int64_t panel, ArrayRef<Value> place) {
                   std::string constraints = "r,l,b";
                   std::string at = placeOf(3, place.size(), constraints);
                   SmallVector<Value> operands{from, map, mine};
                   operands.append(place.begin(), place.end());
                   std::string offset = panel ? "+" + std::to_string(panel * panelBytes(slot)) : "";
                   ptx("@$2 cp.async.bulk.tensor." + std::to_string(place.size()) +
                           "d.global.shared::cta.bulk_group [$1, " + at + "], [$0" + offset + "];",
                       constraints + ",~{memory}", {}, operands, true);
                 });
  ptx("cp.async.bulk.commit_group;", "~{memory}", {}, {}, true);
  return done;
}

/// Wait for the thread's groups of stores; those of a thread that has none are there at once.
void Emitter::emitBulkStoreWait() {
  ptx("cp.async.bulk.wait_group.read 0;", "~{memory}", {}, {}, true);
}
