//===- NVPTXTests.cpp - targets, translation to PTX, ptxas -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/AssembleCubin.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <thread>

using namespace mlir;
using namespace mlir::fa;

namespace {

TEST(NVPTXTarget, SaysWhereItRuns) {
  EXPECT_EQ(nvptx::getTarget("sm_20"), nullptr);
  const nvptx::Target *ampere = nvptx::getTarget("sm_80"), *hopper = nvptx::getTarget("sm_90a");
  ASSERT_TRUE(ampere && hopper);
  EXPECT_EQ(ampere->sharedMemory, 166912);
  EXPECT_EQ(hopper->sharedMemory, 232448);
  EXPECT_FALSE(ampere->runsOn(7, 5));
  EXPECT_TRUE(ampere->runsOn(8, 0));
  EXPECT_TRUE(ampere->runsOn(8, 9));
  EXPECT_TRUE(ampere->runsOn(12, 0));
  EXPECT_TRUE(hopper->runsOn(9, 0));
  EXPECT_FALSE(hopper->runsOn(10, 0));
  EXPECT_FALSE(hopper->runsOn(8, 9));
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// PTX, or the diagnostics.
std::string translate(StringRef body, StringRef target = "sm_80") {
  DialectRegistry registry;
  registry.insert<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  std::string text = "llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {\n" + body.str() +
                     "\nllvm.return }";
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return messages;
  FailureOr<std::string> ptx = nvptx::translateToPTX(*module, *nvptx::getTarget(target));
  return failed(ptx) ? messages : *ptx;
}

void contains(const std::string &text, StringRef part) {
  EXPECT_TRUE(StringRef(text).contains(part)) << "no '" << part.str() << "' in: " << text;
}

/// An instruction that only the back end knows to be of Hopper.
constexpr const char *kHopperOnly =
    "%n = llvm.mlir.constant(160 : i32) : i32\n"
    "llvm.call_intrinsic \"llvm.nvvm.setmaxnreg.inc.sync.aligned.u32\"(%n) : (i32) -> ()";
constexpr const char *kBarrier = "nvvm.barrier0";

TEST(NVPTXTranslation, ComesBackFromFatalErrors) {
  for (int i = 0; i < 3; ++i) {
    contains(translate(kHopperOnly), "cannot compile the kernels for sm_80: Cannot select");
    contains(translate(kBarrier), "bar.sync");
    contains(translate(kHopperOnly, "sm_90a"), "setmaxnreg.inc");
  }
}

TEST(NVPTXTranslation, FailsAndSucceedsOnManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      for (int k = 0; k < 4; ++k)
        contains(translate(i % 2 ? kHopperOnly : kBarrier), i % 2 ? "Cannot" : "bar.sync");
    });
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// ptxas
//===----------------------------------------------------------------------===//

TEST(AssemblerReport, ReadsUsageAndWarnings) {
  nvptx::AssemblerReport report = nvptx::parseAssemblerReport(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources in function 'f'\n"
      "ptxas warning : Value of threads per SM for entry f is out of range\n"
      "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
      "ptxas info    : Function properties for f\n"
      "    288 bytes stack frame, 1696 bytes spill stores, 1700 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 3 barriers, 1024 bytes smem, 408 bytes cmem[0]\n"
      "ptxas info    : Compile time = 65.088 ms\n"
      "ptxas info    : Compiling entry function 'g' for 'sm_90a'\n"
      "ptxas info    : Function properties for helper\n"
      "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Function properties for g\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers, 352 bytes cmem[0]\n");
  ASSERT_EQ(report.kernels.size(), 2u);
  const nvptx::KernelUsage &f = report.kernels[0], &g = report.kernels[1];
  EXPECT_EQ(f.name, "f");
  EXPECT_EQ(f.registers, 255);
  EXPECT_EQ(f.stackFrame, 288);
  EXPECT_EQ(f.spillStores, 1696);
  EXPECT_EQ(f.spillLoads, 1700);
  EXPECT_EQ(f.barriers, 3);
  EXPECT_EQ(f.sharedMemory, 1024);
  EXPECT_EQ(g.name, "g");
  EXPECT_EQ(g.registers, 8);
  EXPECT_EQ(g.spillStores, 0);
  EXPECT_EQ(g.stackFrame, 0);
  EXPECT_EQ(g.sharedMemory, 0);
  ASSERT_EQ(report.warnings.size(), 2u);
  EXPECT_EQ(report.warnings[0].code, "C7510");
  EXPECT_EQ(report.warnings[0].text.substr(0, 30), "Potential Performance Loss: wg");
  EXPECT_EQ(report.warnings[1].code, "");
  EXPECT_EQ(report.warnings[1].text, "Value of threads per SM for entry f is out of range");
}

TEST(AssemblerReport, SurvivesNonsense) {
  EXPECT_TRUE(nvptx::parseAssemblerReport("").kernels.empty());
  EXPECT_TRUE(nvptx::parseAssemblerReport("Used  registers\nbytes stack frame\n").kernels.empty());
  EXPECT_EQ(nvptx::parseAssemblerReport("Compiling entry function 'f\nUsed 99999999999999999999 "
                                        "registers")
                .kernels.at(0)
                .registers,
            0);
}

TEST(AssembleCubin, ReportsWhatItAssembled) {
  llvm::Expected<std::string> ptxas = nvptx::findPtxas();
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    GTEST_SKIP() << "no ptxas";
  }
  llvm::Expected<nvptx::Cubin> cubin =
      nvptx::assembleCubin(translate(kBarrier), *nvptx::getTarget("sm_80"));
  ASSERT_TRUE(static_cast<bool>(cubin)) << llvm::toString(cubin.takeError());
  ASSERT_GT(cubin->bytes.size(), 4u);
  EXPECT_EQ(std::string(cubin->bytes.data() + 1, 3), "ELF");
  ASSERT_EQ(cubin->report.kernels.size(), 1u);
  EXPECT_EQ(cubin->report.kernels[0].name, "k");
  EXPECT_GT(cubin->report.kernels[0].registers, 0);
  EXPECT_EQ(cubin->report.kernels[0].barriers, 1);
  EXPECT_TRUE(cubin->report.warnings.empty());
}

TEST(AssembleCubin, SaysWhereToFindPtxas) {
  std::string path = getenv("PATH") ? getenv("PATH") : "";
  setenv("FA_PTXAS", "/nowhere/ptxas", 1);
  EXPECT_EQ(llvm::toString(nvptx::findPtxas().takeError()),
            "FA_PTXAS names '/nowhere/ptxas', which is no program");
  unsetenv("FA_PTXAS");
  setenv("PATH", "/nowhere", 1);
  if (llvm::Expected<std::string> found = nvptx::findPtxas())
    EXPECT_EQ(*found, "/usr/local/cuda/bin/ptxas");
  else
    EXPECT_NE(llvm::toString(found.takeError()).find("name it in FA_PTXAS"), std::string::npos);
  setenv("PATH", path.c_str(), 1);
}

} // namespace
