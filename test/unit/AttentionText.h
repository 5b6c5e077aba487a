//===- AttentionText.h - attentions for unit tests, from text -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_ATTENTIONTEXT_H
#define FA_TEST_UNIT_ATTENTIONTEXT_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

/// Parses modules, and collects the diagnostics.
struct AttentionText : testing::Test {
  AttentionText() {
    context.loadDialect<mlir::fa::FADialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::index::IndexDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                        mlir::tensor::TensorDialect>();
  }

  /// Return the first entry of a module; fails the test where it does not parse.
  mlir::func::FuncOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << diagnostics << text;
    return module ? *module->getOps<mlir::func::FuncOp>().begin() : mlir::func::FuncOp();
  }

  mlir::MLIRContext context;
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler{&context, [this](mlir::Diagnostic &diagnostic) {
                                          diagnostics += diagnostic.str() + "\n";
                                          return mlir::success();
                                        }};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

#endif // FA_TEST_UNIT_ATTENTIONTEXT_H
