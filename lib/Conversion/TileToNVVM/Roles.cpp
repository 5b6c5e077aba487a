//===- Roles.cpp - warps that run different code -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles are branches on the number of the warp, which a shuffle makes the same
// for all lanes, so that each warp is known to stay together. Inside, threads
// and warps are counted from the role's first.
//
// A launch gives every thread the same number of registers; each role first
// hands back what it does not need, or waits for more than it got. That is for
// whole warpgroups, and what all roles ask for must be there.
//
// A role that only starts copies and waits for barriers is run by one thread; by one warp where it
// tests 32 numbers at once, of which one thread starts the copies.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Roles.h"
#include "Emitter.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Support/Holds.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fa::nvvm;

LogicalResult Emitter::checkRegisters(tile::RolesOp op) {
  int64_t given = tile::launchRegisters(warps, source.getMinBlocksPerSM()), all = 0;
  for (auto role : op.getBody().getOps<tile::RoleOp>()) {
    int64_t registers = role.getRegisters() ? role.getRegisters() : given;
    all += static_cast<int64_t>(role.getWarps()) * registers;
  }
  if (all > given * warps)
    return op.emitError() << "the roles ask for " << 32 * all << " registers, but a launch of "
                          << warps << " warps gives " << given << " to each thread, "
                          << 32 * given * warps << " in all";
  return success();
}

LogicalResult Emitter::emitRoles(tile::RolesOp op) {
  if (!op->getNextNode()->hasTrait<OpTrait::IsTerminator>())
    return op->getNextNode()->emitError()
           << "stands behind tile.roles, whose warps have different numbers of registers; move it "
              "into a role";
  if (failed(checkRegisters(op)))
    return failure();
  OpBuilder::InsertionGuard guard(b);
  for (auto role : op.getBody().getOps<tile::RoleOp>()) {
    int64_t first = op.firstWarpOf(role), end = first + static_cast<int64_t>(role.getWarps());
    if (end == warps)
      return emitRole(role, first);
    Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, warp, i32(end));
    auto branch = scf::IfOp::create(b, mine, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(emitRole(role, first)))
      return failure();
    b.setInsertionPointToStart(branch.elseBlock());
  }
  return success();
}

LogicalResult Emitter::emitRole(tile::RoleOp role, int64_t first) {
  OpBuilder::InsertionGuard guard(b);
  llvm::SaveAndRestore savedThread(thread), savedWarp(warp);
  llvm::SaveAndRestore savedWarps(warps);
  llvm::SaveAndRestore savedRole(this->role, role);
  llvm::SaveAndRestore savedAlone(alone, false), savedWarpAlone(aloneInWarp, false);
  if (int64_t registers = role.getRegisters())
    NVVM::SetMaxRegisterOp::create(b, registers,
                                   registers <
                                           tile::launchRegisters(warps, source.getMinBlocksPerSM())
                                       ? NVVM::SetMaxRegisterAction::decrease
                                       : NVVM::SetMaxRegisterAction::increase);
  warps = role.getWarps();
  // Found again, not kept in a register from before the role.
  warp = uniform(arith::ShRUIOp::create(b, thread, i32(5)));
  if (first != 0) {
    warp = arith::SubIOp::create(b, warp, i32(first));
    thread = arith::SubIOp::create(b, thread, i32(32 * first));
  }
  if (isForOneThread(role)) {
    aloneInWarp = fa::holds<tile::BallotOp, tile::NthBitOp>(role);
    alone = !aloneInWarp;
    Value chosen = alone ? NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()) : Value();
    Value head = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp, i32(0));
    auto branch = scf::IfOp::create(b, both(chosen, head), /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  return emitBlock(role.getBody().front());
}

// Counts. All that a thread asks of the word is relaxed: it says nothing of other memory,
// and accesses of one thread to one address stay in order by themselves. So what is found is
// not younger than what a thread compares with, and numbers are taken after that. What
// was there before the launch is seen as a kernel begins when those before it have ended.

FailureOr<Value> Emitter::addressOfCount(Operation *op, Value view) {
  if (alone || aloneInWarp)
    return views[view].pointer;
  return op->emitError() << "is done once, but here by all warps; move it to a role that has no "
                            "tiles";
}

/// Emit an atomic operation on 64 bits by one thread, and return what it finds to all that run
/// this.
Value Emitter::atomicByOne(StringRef text, Value address) {
  Type type = b.getI64Type();
  if (alone)
    return ptx(text, "=l,l,~{memory}", type, address, true)[0];
  Value mine = ptx(("{\nmov.b64 $0, 0;\n@$2 " + text + "\n}").str(), "=&l,l,b,~{memory}", type,
                   {address, isFirstThread()}, true)[0];
  auto half = [&](Value word) -> Value {
    return toI64(uniform(arith::TruncIOp::create(b, b.getI32Type(), word)));
  };
  Value high = half(arith::ShRUIOp::create(b, mine, i64(32)));
  return arith::OrIOp::create(b, half(mine), arith::ShLIOp::create(b, high, i64(32)));
}

/// Read by an atomic that changes nothing: what a plain load finds is the same for all lanes, so
/// ptxas moves it to a uniform register at once, for which the thread has to wait.
LogicalResult Emitter::emitSchedulerPeek(tile::SchedulerPeekOp op) {
  FailureOr<Value> address = addressOfCount(op, op.getView());
  if (failed(address))
    return failure();
  set(op, atomicByOne("atom.relaxed.gpu.global.or.b64 $0, [$1], 0;", *address));
  return success();
}

/// Reset without waiting for what the comparison with memory gives, which nobody reads. All
/// that is computed of `found` stands in the text, or it would be moved up to where that is read.
LogicalResult Emitter::emitSchedulerReset(tile::SchedulerResetOp op) {
  FailureOr<Value> address = addressOfCount(op, op.getView());
  if (failed(address))
    return failure();
  SmallVector<Value> operands{*address, get(op.getFound()), get(op.getFirst()),
                              toI64(get(op.getTotal()))};
  if (!alone)
    operands.push_back(isFirstThread());
  StringRef closed =
      alone ? "setp.ge.u64 closed, gone, $3;\n" : "setp.ge.and.u64 closed, gone, $3, $4;\n";
  ptx(("{\n.reg .pred closed;\n.reg .b64 gone, was;\nsub.u64 gone, $1, $2;\n" + closed +
       "@closed atom.relaxed.gpu.global.cas.b64 was, [$0], $1, $2;\n}")
          .str(),
      alone ? "l,l,l,l,~{memory}" : "l,l,l,l,b,~{memory}", {}, operands, true);
  return success();
}

LogicalResult Emitter::emitSchedulerNext(tile::SchedulerNextOp op) {
  FailureOr<Value> address = addressOfCount(op, op.getView());
  if (failed(address))
    return failure();
  Value word = atomicByOne("atom.relaxed.gpu.global.add.u64 $0, [$1], 1;", *address);
  // The low halves are enough for the difference, which is less than 2^32.
  auto low = [&](Value value) { return arith::TruncIOp::create(b, b.getI32Type(), value); };
  set(op, arith::SubIOp::create(b, low(word), low(get(op.getFirst()))));
  return success();
}

Value Emitter::isFirstThread() {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, i32(0));
}

/// Emit what one thread of the role (of the program, outside of roles) does.
void Emitter::ptxByOne(StringRef text, StringRef constraints, SmallVector<Value> operands) {
  std::string guarded = text.str(), withGuard = constraints.str();
  if (!alone) {
    guarded = "@$" + std::to_string(operands.size()) + " " + guarded;
    withGuard += ",b";
    operands.push_back(isFirstThread());
  }
  ptx(guarded, withGuard + ",~{memory}", {}, operands, true);
}
