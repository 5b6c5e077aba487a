//===- Registry.cpp - the dialects and passes that the tools know -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Registry.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Steps/Passes.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Target/CPU/Passes.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

void fa::registerAllDialects(DialectRegistry &registry) {
  registry.insert<fa::FADialect, tile::TileDialect, arith::ArithDialect, func::FuncDialect,
                  index::IndexDialect, linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect, affine::AffineDialect, bufferization::BufferizationDialect,
                  LLVM::LLVMDialect, NVVM::NVVMDialect, gpu::GPUDialect, ub::UBDialect>();
}

void fa::registerAllPasses() {
  registerFAPasses();
  tile::registerTilePasses();
  tile::registerTileStepsPasses();
  registerConversionPasses();
  registerCPUPasses();
  registerNVPTXPasses();
  registerPipelinesPasses();
  registerTransformsPasses();
}

void fa::registerVersion() {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "fa-mlir " << FA_VERSION << " (LLVM " << LLVM_VERSION_STRING << ")\n";
  });
}

bool fa::parseCommandLine(int argc, char **argv, llvm::StringRef overview) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &os))
    return true;
  // LLVM's words for an unknown option are two lines, the second one optional:
  //   T: Unknown command line argument 'X'.  Try: 'T --help'
  //   T: Did you mean 'Y'?
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, false);
  for (auto [i, line] : llvm::enumerate(lines)) {
    auto [tool, option] = line.split(": Unknown command line argument ");
    if (option.empty()) {
      if (!line.contains(": Did you mean "))
        llvm::errs() << line << "\n";
      continue;
    }
    llvm::StringRef next = i + 1 < lines.size() ? lines[i + 1] : "";
    llvm::StringRef meant = next.split(": Did you mean ").second;
    llvm::errs() << tool << ": unknown option " << option.split(".  Try").first
                 << (meant.empty() ? ";" : "; did you mean ") << meant << " --help lists them\n";
  }
  return false;
}
