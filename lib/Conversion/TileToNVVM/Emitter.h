//===- Emitter.h - what the files of this conversion share -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program of one thread is written op by op beside the tile program that
// it computes. A tile is a vector of the thread's registers, in the order of
// its layout; index is i64; a view is a pointer with sizes and strides; a slot
// is its address in shared memory, an i32.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETONVVM_EMITTER_H
#define FA_LIB_CONVERSION_TILETONVVM_EMITTER_H

#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/SaveAndRestore.h"

namespace mlir::fa::nvvm {

/// A view in the kernel: 64-bit sizes and strides (in elements).
struct ViewParts {
  Value pointer;
  SmallVector<Value> sizes, strides;
  Type element;
  /// In which boxes its matrices lie; null for row by row.
  tile::OrderAttr order;
  /// Bytes that the address and the strides are multiples of.
  int64_t align = 1;
  /// Record whether this kernel writes it.
  bool written = false;
  /// Record whether it loads what kernels before write, for which it waits.
  bool awaited = false;
};

class Emitter {
public:
  explicit Emitter(tile::FuncOp func) : source(func), b(func.getLoc(), func->getContext()) {}

  /// Write the kernel into `module`; errors are diagnostics.
  LogicalResult run(Block *module);

private:
  friend class ColumnLimits;
  friend class MmaProduct;

  //===--- Kernel and control flow (TileToNVVM.cpp) ---===//
  void makeKernel(Block *module);
  void setWorkspaceStrides(tile::ViewType view, ViewParts &parts);
  void startNext();
  bool startsNextLate();
  void decodeInstance();
  void pinAwaited();
  LogicalResult emitBlock(Block &block);
  LogicalResult emit(Operation *op);
  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitIf(scf::IfOp op);
  LogicalResult emitWhile(scf::WhileOp op);
  LogicalResult emitSwitch(scf::IndexSwitchOp op);
  LogicalResult emitIfAny(tile::IfAnyOp op);
  LogicalResult emitBallot(tile::BallotOp op);
  void emitNthBit(tile::NthBitOp op);
  Value multiplyWhereNotOne(Value input, Value factor, llvm::function_ref<Value(Value)> spread);
  LogicalResult emitRescale(tile::RescaleOp op);
  Value anyRow(Value condition);
  LogicalResult emitRegion(Region &from, Region &to);
  Value pack(Value value);
  Value unpack(Value value, Type type);
  SmallVector<Value> packAll(ValueRange values);
  FailureOr<SmallVector<Type>> packedTypes(ValueRange results);
  void setUnpacked(ValueRange from, ValueRange to);

  //===--- Values (Values.cpp) ---===//
  LogicalResult emitElementwise(Operation *op);
  LogicalResult emitConstant(arith::ConstantOp op);
  LogicalResult emitTruncF(arith::TruncFOp op);
  LogicalResult emitExtF(arith::ExtFOp op);
  LogicalResult emitBroadcast(tile::BroadcastOp op);
  Value spread(Value input, const tile::Layout &from, const tile::Layout &to, int64_t dim);
  FailureOr<std::pair<Value, Value>> splitNumbers(tile::IotaOp iota, Value value);
  FailureOr<bool> emitSumWithNumbers(Operation *op);
  FailureOr<bool> emitCompareNumbers(Operation *op);
  /// In ColumnLimits.cpp.
  LogicalResult emitColumnsBetween(tile::ColumnsBetweenOp op);
  LogicalResult emitSelect(arith::SelectOp op);
  LogicalResult readAgain(Value tile, Operation *user);
  LogicalResult emitIota(tile::IotaOp op);
  LogicalResult emitReduce(tile::ReduceOp op);
  /// In ConvertLayout.cpp.
  LogicalResult emitConvertLayout(tile::ConvertLayoutOp op);
  /// In RandomBits.cpp.
  using Places = SmallVector<std::pair<Value, int64_t>>;
  LogicalResult emitRandomBits(tile::RandomBitsOp op);
  FailureOr<bool> emitCompareBytes(Operation *op);
  Places placesAtUse(Value tile);
  Value maskPair(Value pair, const Places &places, int64_t first);
  void setBits(Value tile, Places places, bool areExchanged);
  Value packWords(Value tile);
  void setFromWords(Value tile, Value words);

  //===--- Memory (Memory.cpp, SharedMemory.cpp) ---===//
  /// Call `body` with each access of a thread's part of a tile in memory: its
  /// first register, how many, the address, and when (null: always). Of a tile in boxes that is
  /// known to be in range nothing is checked.
  using AccessFn = llvm::function_ref<void(int64_t, int64_t, Value, Value)>;
  LogicalResult forEachAccess(const ViewParts &view, OperandRange indices, ArrayRef<int64_t> dims,
                              const tile::Layout &layout, Value predicate, AccessFn body,
                              bool isInRange = false);
  Value loadGlobal(Value address, Value predicate, Type type, bool sideEffects);
  void storeGlobal(Value address, Value value, Value predicate);
  LogicalResult emitSlice(tile::SliceOp op);
  LogicalResult emitLoad(tile::LoadOp op);
  LogicalResult emitStore(tile::StoreOp op);
  LogicalResult emitGather(tile::GatherOp op);
  LogicalResult emitScatter(tile::ScatterOp op);
  LogicalResult emitScatterAdd(tile::ScatterAddOp op);
  LogicalResult emitAccumulate(tile::AccumulateOp op);
  std::pair<Value, Value> elementAt(const ViewParts &view, OperandRange indices, int64_t reg);
  void declareShared();
  LogicalResult emitSlotAt(tile::SlotAtOp op);
  LogicalResult emitCopy(tile::CopyOp op);
  struct ChunkCopy;
  struct Chunk;
  ChunkCopy startCopy(tile::CopyOp op);
  void findSource(const ChunkCopy &copy, Value row, Value column, Chunk &chunk);
  void copyPanels(const ChunkCopy &copy, Chunk chunk);
  void copyAsync(const ChunkCopy &copy, const Chunk &chunk);
  void copyByRegisters(const ChunkCopy &copy, const Chunk &chunk);
  Value sharedOffset(tile::SlotType slot, Value row, Value column);
  std::pair<Value, int64_t> sharedPlace(Value slot, tile::SlotType type, const tile::Layout &layout,
                                        int64_t reg);
  void storeShared(Value address, int64_t offset, Value value, Value predicate);
  SmallVector<Value> loadShared(Value address, int64_t offset, Type element, int64_t count);
  LogicalResult emitRead(tile::ReadOp op);
  LogicalResult emitReadNumbers(tile::ReadOp op);
  LogicalResult emitWrite(tile::WriteOp op);

  //===--- 8x8 matrices in shared memory (Matrices.cpp) ---===//
  SmallVector<Value, 4> loadMatrices(Value base, int64_t offset, bool transpose);
  bool emitMatrixRead(tile::ReadOp op, const tile::Layout &layout);
  bool emitMatrixWrite(tile::WriteOp op, const tile::Layout &layout);

  //===--- Memory in boxes (Boxes.cpp) ---===//
  FailureOr<tile::Layout> placesOf(tile::OrderAttr order, const tile::Layout &layout,
                                   int64_t columns);
  struct Holder {
    Value lane, warp;
  };
  Holder holderAtUse();
  Value offsetOf(const Holder &holder, const tile::Layout &layout, unsigned dim);
  Value boxAddress(const ViewParts &view, ArrayRef<Value> starts);
  LogicalResult forEachInBoxes(const ViewParts &view, ArrayRef<Value> starts,
                               ArrayRef<int64_t> dims, const tile::Layout &layout, Value predicate,
                               AccessFn body, bool isInRange);
  LogicalResult emitOrderedWrite(tile::WriteOp op, const tile::Layout &layout);
  Value startOfPart(Value slot, const tile::Layout &places);
  LogicalResult emitOrderedRead(tile::ReadOp op, const tile::Layout &layout);
  LogicalResult emitBulkAccumulate(tile::BulkAccumulateOp op);
  void emitBulkAccumulateWait(tile::BulkAccumulateWaitOp op);

  //===--- Products (Products.cpp) ---===//
  LogicalResult emitColumns(tile::ColumnsOp op);
  void writeOnes();
  LogicalResult emitDot(tile::DotOp op);

  //===--- Asynchronous products (Wgmma.cpp) ---===//
  LogicalResult checkDotStart(tile::DotStartOp op, const tile::Layout &acc);
  SmallVector<Value> wordsOfA(Value value, const tile::Layout &layout, int64_t row, int64_t k);
  LogicalResult emitDotStart(tile::DotStartOp op);
  Value offsetOfGroup(const tile::Layout &acc, unsigned dim, int64_t bytes);
  LogicalResult emitAwait(tile::AwaitOp op);

  //===--- Barriers (Barriers.cpp) ---===//
  LogicalResult allocateShared();
  void initializeBarriers();
  Value barrierAddress(Value array, Value slot);
  LogicalResult emitBarrierWait(tile::BarrierWaitOp op);
  LogicalResult emitBarrierArrive(tile::BarrierArriveOp op);
  LogicalResult emitBarrierExpect(tile::BarrierExpectOp op);
  void emitNamedBarrier(StringRef instruction, int64_t id, Value offset, int64_t threads);

  //===--- Roles (Roles.cpp) ---===//
  LogicalResult checkRegisters(tile::RolesOp op);
  LogicalResult emitRoles(tile::RolesOp op);
  LogicalResult emitRole(tile::RoleOp op, int64_t first);
  LogicalResult emitSchedulerPeek(tile::SchedulerPeekOp op);
  LogicalResult emitSchedulerReset(tile::SchedulerResetOp op);
  LogicalResult emitSchedulerNext(tile::SchedulerNextOp op);
  FailureOr<Value> addressOfCount(Operation *op, Value view);
  Value atomicByOne(StringRef text, Value address);
  Value isFirstThread();
  void ptxByOne(StringRef text, StringRef constraints, SmallVector<Value> operands);

  //===--- The TMA (TensorMaps.cpp) ---===//
  void setMapAttributes(unsigned argument);
  Value unitOf(tile::SliceOp slice, OperandRange indices, Value row, bool atUse);
  LogicalResult forEachBox(Operation *op, tile::SlotType slot, Value mapped, Value memory,
                           OperandRange indices, ArrayRef<int64_t> dims, Value row,
                           function_ref<void(int64_t, ArrayRef<Value>)> body);
  LogicalResult emitTensorCopy(tile::CopyOp op);
  Value copiesOut();
  LogicalResult emitBulkStore(tile::BulkStoreOp op);
  void emitBulkStoreWait();

  //===--- Small things ---===//
  Value get(Value value) { return values.lookup(value); }
  void set(Value from, Value to) { values.map(from, to); }
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value toI64(Value value);
  Type convert(Type type);
  /// Return the layout of a tile; an error for a tile without one.
  FailureOr<tile::Layout> layoutOf(Value tile);
  /// Emit the elements of a vector; a vector of elements.
  Value extract(Value vector, int64_t index);
  Value fromElements(VectorType type, ArrayRef<Value> elements);
  /// Return what lane and warp add to coordinate `dim` of a layout's elements (i32).
  Value threadOffset(const tile::Layout &layout, unsigned dim);
  /// Emit whether this is the one thread of those that hold the same elements; null where
  /// each element is held once.
  Value isFirstHolder(const tile::Layout &layout);
  /// Sum over modes of stride * digit of an index.
  Value digits(Value index, ArrayRef<tile::Mode> modes, unsigned dim);
  /// Inline PTX; `results` types in order, an asm with side effects keeps its place.
  SmallVector<Value> ptx(StringRef text, StringRef constraints, TypeRange results,
                         ValueRange operands, bool sideEffects);
  /// Return a number or an address that LLVM takes for new at its use: else it would compute what
  /// follows from it once, before a loop, and keep all of that in registers.
  Value pinToUse(Value value);
  /// Return what lane 0 has, an i32, in all lanes of the warp.
  Value uniform(Value value);
  /// Return whether an index is in range; null where that is known.
  Value inRange(Value index, Value size);
  Value countFrom(Value start, Value size, int64_t most);
  Value both(Value a, Value b);
  Value elementAddress(const ViewParts &view, ArrayRef<Value> indices);

  tile::FuncOp source;
  tile::Ranges ranges;
  LLVM::LLVMFuncOp kernel;
  ImplicitLocOpBuilder b;
  IRMapping values;
  llvm::MapVector<Value, ViewParts> views;
  /// Hold the word and the bit of each register of tiles whose elements lie in words: that of i1,
  /// or the highest one of the byte that is an i8.
  DenseMap<Value, Places> bytesInWords;
  /// Tiles of i1 whose words lanes have exchanged.
  llvm::DenseSet<Value> exchanged;
  /// Hold tiles of bytes that lanes will exchange: the words of this one, and of each register the
  /// word, the element of 16 bits and its byte that another lane has it in, as 8x8 matrices.
  struct LaneBytes {
    struct Place {
      int64_t word, element, byte;
    };
    SmallVector<Value> words;
    SmallVector<Place> places;
  };
  DenseMap<Value, LaneBytes> bytesOfLanes;
  /// Addresses in shared memory at which rings and arrays of barriers start.
  DenseMap<Value, int64_t> rings, barriers;
  /// Thread and warp are numbered in the role; so many warps run it.
  Value thread, lane, warp, shared;
  int64_t warps = 0, sharedBytes = 0;
  tile::RoleOp role;
  /// Record whether one thread runs all that is emitted; else, whether one warp does, of which one
  /// thread copies and counts.
  bool alone = false, aloneInWarp = false;
  /// Record whether products read shared memory asynchronously; whether anything reads
  /// or writes it from registers.
  bool isAsync = false, readsShared = false;
};

/// Return the rows of four 8x8 matrices of 16-byte rows: lane l gives the address of row
/// l mod 8 of matrix l / 8. `rowBit` says which bit of l / 8 moves down 8 rows; the
/// other one moves right by 16 bytes. (By sharedOffset() the same address costs ptxas
/// registers that the widest tiles do not have.)
Value matrixRows(ImplicitLocOpBuilder &b, Value lane, Value slot, tile::SlotType type,
                 Value rowStart, int rowBit);

/// Return the address of the same lanes' rows `rows` (a multiple of 8) further down and
/// `bytes` (a multiple of 32) further right, as a base and a constant. Slots
/// start where the swizzle repeats, so it is an exclusive or.
std::pair<Value, int64_t> movedMatrices(ImplicitLocOpBuilder &b, Value base, tile::SlotType type,
                                        int64_t rows, int64_t bytes);

/// Return an address moved right by so many columns, a number of the warp.
Value movedRight(ImplicitLocOpBuilder &b, Value base, tile::SlotType type, Value columns);

/// Return whether a dimension that starts there is known to hold all of a tile.
bool isWhole(Value start, Value size, const tile::Layout &layout, unsigned dim);

} // namespace mlir::fa::nvvm

#endif // FA_LIB_CONVERSION_TILETONVVM_EMITTER_H
