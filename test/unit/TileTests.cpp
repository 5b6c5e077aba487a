//===- TileTests.cpp - the tile dialect's ops built from C++ -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

struct TileTest : testing::Test {
  TileTest() { context.loadDialect<tile::TileDialect, arith::ArithDialect>(); }
  MLIRContext context;
  OpBuilder b{&context};
};

TEST_F(TileTest, BuiltFunctionVerifies) {
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  auto view = tile::ViewType::get(&context, {ShapedType::kDynamic, 64}, b.getF32Type());
  AffineMap grid = AffineMap::get(0, 1, getAffineSymbolExpr(0, &context).ceilDiv(32));
  auto func = tile::FuncOp::create(b, loc, "f", TypeRange{view}, grid, ArrayRef<int64_t>{0, 0});
  b.setInsertionPointToEnd(&func.getBody().front());
  tile::ReturnOp::create(b, loc);
  EXPECT_EQ(func.getNumLaunchArguments(), 1u);
  EXPECT_EQ(func.getInstanceId(0).getType(), b.getIndexType());
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(TileTest, ViewHoldsNumbersOnly) {
  ScopedDiagnosticHandler ignore(&context, [](Diagnostic &) { return success(); });
  Location loc = b.getUnknownLoc();
  auto verified = [&](Type element) {
    return succeeded(
        tile::ViewType::verify([&] { return mlir::emitError(loc); }, {4}, element, {}));
  };
  EXPECT_FALSE(verified(b.getNoneType()));
  EXPECT_TRUE(verified(b.getF16Type()));
}

} // namespace
