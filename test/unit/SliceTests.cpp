//===- SliceTests.cpp - what values are computed from -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A tile.func with arguments %a, %b, %n (index) and %p (i1), whose ops are found by what they are
/// called: "x" is the op with the attribute name = "x".
struct Program {
  explicit Program(StringRef body) {
    context.loadDialect<TileDialect, arith::ArithDialect, scf::SCFDialect>();
    std::string text =
        "tile.func @f(%a: index, %b: index, %n: index, %p: i1) grid affine_map<() -> "
        "()> sizes [] {\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : "
        "index\n" +
        body.str() + "tile.return\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    func = *module->getOps<FuncOp>().begin();
  }
  Operation *find(StringRef name) {
    Operation *found = nullptr;
    func.walk([&](Operation *op) {
      if (auto attr = op->getAttrOfType<StringAttr>("name"); attr && attr == name)
        found = op;
    });
    EXPECT_NE(found, nullptr) << name.str();
    return found;
  }
  Value value(StringRef name) { return find(name)->getResult(0); }
  Value argument(unsigned i) { return func.getArgument(i); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  FuncOp func;
};

/// Two values that a loop carries: one comes from %a, the other from %b.
constexpr StringLiteral kLoop = R"(
%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (index, index) {
  %x1 = arith.addi %x, %c1 {name = "x"} : index
  %y1 = arith.addi %y, %i {name = "y"} : index
  scf.yield %x1, %y1 : index, index
}
%u = arith.addi %r#0, %c0 {name = "u"} : index
)";

} // namespace

TEST(Slice, LoopsByValue) {
  Program program(kLoop);
  Slice slice(program.func);
  slice.add(program.value("u"));
  EXPECT_TRUE(slice.contains(program.find("x")));
  EXPECT_TRUE(slice.contains(program.argument(0)));
  // How often it is added is for the bound to say.
  EXPECT_TRUE(slice.contains(program.argument(2)));
  EXPECT_FALSE(slice.contains(program.find("y")));
  EXPECT_FALSE(slice.contains(program.argument(1)));
}

TEST(Slice, ValuesInALoopNeedNoBounds) {
  Program program(R"(
scf.for %i = %c0 to %n step %c1 {
  %x = arith.addi %a, %c1 {name = "x"} : index
  %y = arith.addi %i, %c1 {name = "y"} : index
}
)");
  Slice x(program.func), y(program.func);
  x.add(program.value("x"));
  EXPECT_FALSE(x.contains(program.argument(2)));
  y.add(program.value("y"));
  EXPECT_TRUE(y.contains(program.argument(2)));
  // To run, it needs the loop.
  Slice run(program.func);
  run.addToRun(program.find("x"));
  EXPECT_TRUE(run.contains(program.argument(2)));
}

TEST(Slice, BranchesByValue) {
  Program program(R"(
%q = arith.xori %p, %p {name = "q"} : i1
%r:2 = scf.if %q -> (index, index) {
  scf.yield %a, %b : index, index
} else {
  scf.yield %c0, %n : index, index
}
%u = arith.addi %r#0, %c0 {name = "u"} : index
)");
  Slice slice(program.func);
  slice.add(program.value("u"));
  EXPECT_TRUE(slice.contains(program.find("q")));
  EXPECT_TRUE(slice.contains(program.argument(0)));
  EXPECT_FALSE(slice.contains(program.argument(1)));
  EXPECT_FALSE(slice.contains(program.argument(2)));
}

TEST(Slice, WhileLoops) {
  Program program(R"(
%r:2 = scf.while (%x = %a, %y = %b) : (index, index) -> (index, index) {
  %more = arith.cmpi ult, %x, %n {name = "more"} : index
  scf.condition(%more) %x, %y : index, index
} do {
^bb0(%x: index, %y: index):
  %x1 = arith.addi %x, %c1 {name = "x"} : index
  %y1 = arith.addi %y, %c1 {name = "y"} : index
  scf.yield %x1, %y1 : index, index
}
%u = arith.addi %r#1, %c0 {name = "u"} : index
%v = arith.addi %r#0, %c0 {name = "v"} : index
)");
  Slice second(program.func), first(program.func);
  second.add(program.value("u"));
  // The first decides how long it goes on.
  EXPECT_TRUE(second.contains(program.find("more")));
  EXPECT_TRUE(second.contains(program.find("x")));
  EXPECT_TRUE(second.contains(program.find("y")));
  first.add(program.value("v"));
  EXPECT_TRUE(first.contains(program.find("x")));
  EXPECT_FALSE(first.contains(program.find("y")));
}

TEST(Slice, RedirectsAndScopes) {
  Program program(R"(
%x = arith.addi %a, %b {name = "x"} : index
%y = arith.addi %x, %n {name = "y"} : index
scf.for %i = %c0 to %n step %c1 {
  %z = arith.addi %y, %i {name = "z"} : index
}
)");
  Value x = program.value("x"), y = program.value("y");
  Slice stops(program.func, [&](Value value) { return value == x ? Value() : value; });
  stops.add(y);
  EXPECT_TRUE(stops.contains(x));
  EXPECT_FALSE(stops.contains(program.argument(0)));
  Slice other(program.func, [&](Value value) { return value == y ? x : value; });
  other.add(y);
  EXPECT_TRUE(other.contains(program.argument(0)));
  EXPECT_FALSE(other.contains(program.argument(2)));
  Slice inside(program.find("z")->getParentOp());
  inside.add(program.value("z"));
  EXPECT_TRUE(inside.contains(y));
  EXPECT_FALSE(inside.contains(x));
  EXPECT_EQ(inside.getOps(), ArrayRef<Operation *>{program.find("z")});
}

TEST(Slice, ClonesOnlyWhatIsNeeded) {
  Program program(kLoop);
  Slice slice(program.func);
  slice.addToRun(program.find("u"));
  Block &body = program.func.getBody().front();
  OpBuilder b(body.getTerminator());
  IRMapping mapping;
  // The clone has the name of what it is cloned from.
  Value u = program.value("u");
  slice.clone(body, b, mapping);
  EXPECT_TRUE(succeeded(verify(*program.module)));
  Value copy = mapping.lookup(u).getDefiningOp()->getOperand(0);
  auto loop = copy.getDefiningOp<scf::ForOp>();
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop.getNumResults(), 1u);
  EXPECT_EQ(loop.getInits()[0], program.argument(0));
}

TEST(Slice, ClonesOtherBranchesWhole) {
  Program program(R"(
%r:2 = scf.while (%x = %a, %y = %b) : (index, index) -> (index, index) {
  %more = arith.cmpi ult, %x, %n : index
  scf.condition(%more) %x, %y : index, index
} do {
^bb0(%x: index, %y: index):
  %x1 = arith.addi %x, %c1 : index
  scf.yield %x1, %y : index, index
}
%v = arith.addi %r#0, %c0 {name = "v"} : index
)");
  Slice slice(program.func);
  slice.addToRun(program.find("v"));
  EXPECT_TRUE(slice.contains(program.argument(1)));
  Value v = program.value("v");
  OpBuilder b(program.func.getBody().front().getTerminator());
  IRMapping mapping;
  slice.clone(program.func.getBody().front(), b, mapping);
  EXPECT_TRUE(succeeded(verify(*program.module)));
  auto loop = mapping.lookup(v).getDefiningOp()->getOperand(0).getDefiningOp<scf::WhileOp>();
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop.getNumResults(), 2u);
}

TEST(VisitUsers, SkipsAndStops) {
  Program program(R"(
%x = arith.addi %a, %b {name = "x"} : index
%y = arith.addi %x, %n {name = "y"} : index
%z = arith.addi %y, %n {name = "z"} : index
)");
  auto count = [&](StringRef skipped) {
    int visits = 0;
    EXPECT_FALSE(visitUsers(program.argument(0), program.func, [&](Operation *op) {
      ++visits;
      return op == program.find(skipped) ? WalkResult::skip() : WalkResult::advance();
    }));
    return visits;
  };
  EXPECT_EQ(count("z"), 3);
  EXPECT_EQ(count("y"), 2);
  EXPECT_TRUE(visitUsers(program.argument(0), program.func,
                         [](Operation *) { return WalkResult::interrupt(); }));
}
