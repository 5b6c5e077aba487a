//===- ApiChoicesTests.cpp - choices that are kept for later compilations -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/Digest.h"
#include <cstdlib>
#include <fa/fa.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

struct Choices : testing::Test {
  Choices() {
    char name[] = "/tmp/fa-choices-XXXXXX";
    folder = mkdtemp(name);
    setenv("FA_CACHE_DIR", folder.c_str(), 1);
    setenv("FA_LIBCUDA", FA_FAKE_LIBCUDA, 1);
    spec.headDim = 64;
    text = *fa::toMLIR(spec);
    options = fa_compile_options_default();
    options.target = "cuda:0";
  }
  ~Choices() override {
    setenv("FA_CACHE_DIR", "", 1);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  std::string keep() {
    return fa::Error(fa_keep_choices(text.data(), text.size(), &options)).message();
  }
  /// Return the threads of each kernel, or why there are none.
  std::string threads() const {
    auto kernel = fa::compile(spec, fa::Device::cuda(0));
    if (!kernel)
      return kernel.error();
    std::string numbers;
    for (size_t i = 0; i < fa_program_num_kernels(kernel->program()); ++i)
      numbers += std::to_string(fa_program_kernel(kernel->program(), i).threads) + " ";
    return numbers;
  }
  /// Return the entries that end in a text.
  std::vector<fs::path> entries(const std::string &end) const {
    std::vector<fs::path> found;
    for (auto &file : fs::directory_iterator(folder)) {
      std::ifstream stream(file.path(), std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      if (bytes.size() > end.size() && bytes.substr(bytes.size() - end.size()) == end)
        found.push_back(file.path());
    }
    return found;
  }

  std::string folder, text;
  fa::Attention spec;
  fa_compile_options options;
};

/// Puts another end on an entry, as a build that knew other choices would have.
void replaceEnd(const fs::path &path, const std::string &from, const std::string &to) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  bytes.replace(bytes.size() - from.size(), from.size(), to);
  constexpr size_t digestAt = 8, digestBytes = 16;
  mlir::fa::Digest digest;
  digest.add(bytes.data() + digestAt + digestBytes, bytes.size() - digestAt - digestBytes);
  bytes.replace(digestAt, digestBytes, reinterpret_cast<const char *>(digest.words), digestBytes);
  std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace

// Later compilations take what was kept, for aligned tensors; others choose for themselves.
TEST_F(Choices, AreTakenByLaterCompilations) {
  std::string usual = threads();
  EXPECT_NE(usual.substr(0, 4), "256 ");
  options.rows = 64;
  options.warps = 4;
  options.stages = 3;
  ASSERT_EQ(keep(), "");
  // Four warps that compute, four that load.
  EXPECT_EQ(threads(), "256 " + usual.substr(4));
  // Who chooses, chooses.
  fa_program *program;
  options.rows = 128;
  options.warps = 8;
  ASSERT_FALSE(fa::Error(fa_compile(text.data(), text.size(), &options, &program)));
  EXPECT_EQ(fa_program_kernel(program, 0).threads, 384);
  fa_program_free(program);
  options.rows = options.warps = options.stages = 0;
  ASSERT_EQ(keep(), "");
  EXPECT_EQ(threads(), usual);
  setenv("FA_CACHE_DIR", "", 1);
  EXPECT_EQ(keep(), "choices cannot be kept: the disk cache is off; set FA_CACHE_DIR to a folder");
}

TEST_F(Choices, AreRefusedWhereTheyDoNotCompile) {
  std::string usual = threads();
  options.rows = 7;
  EXPECT_EQ(keep(),
            "<text>:5:14: error: tiles of 7 rows for 12 warps: rows must be 16 per warp, or a "
            "multiple or a part of that; choose --tile-rows=192");
  options.rows = 0;
  options.leave_out = "tile-nothing";
  EXPECT_NE(keep().find("pass 'tile-nothing' cannot be left out"), std::string::npos) << keep();
  options.leave_out = nullptr;
  // Compiles, but the device has too little for it.
  setenv("FA_FAKE_CUDA", "shared=65536", 1);
  options.rows = 128;
  options.keys = 128;
  options.warps = 8;
  EXPECT_EQ(keep(), "these choices cannot be kept: kernel 'attention' needs 147552 bytes of shared "
                    "memory a block, but device 0 (Fake GPU, compute capability 9.0) has 65536; "
                    "choose smaller tiles");
  unsetenv("FA_FAKE_CUDA");
  EXPECT_EQ(threads(), usual);
}

TEST_F(Choices, ThatFailGiveWayToTheDefault) {
  std::string usual = threads();
  options.rows = 64;
  options.warps = 4;
  ASSERT_EQ(keep(), "");
  auto kept = entries("64 0 4 0 0 ");
  ASSERT_EQ(kept.size(), 1u);
  replaceEnd(kept[0], "64 0 4 0 0 ", "7 0 4 0 0 ");
  EXPECT_EQ(entries("7 0 4 0 0 ").size(), 1u);
  EXPECT_EQ(threads(), usual);
  EXPECT_EQ(entries("7 0 4 0 0 ").size(), 0u);
}

TEST_F(Choices, ThatStayOrGoAgainstTheWillAreTold) {
  options.target = "cpu";
  options.rows = 32;
  setenv("FA_CACHE_SIZE", "0", 1);
  EXPECT_EQ(keep(), "choices cannot be kept: the folder of the cache cannot be changed; see fa-opt "
                    "--cache-info");
  unsetenv("FA_CACHE_SIZE");
  // Root may write anywhere.
  uid_t nobody = 65534;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder.c_str(), nobody, nobody), 0);
    ASSERT_EQ(seteuid(nobody), 0);
  }
  EXPECT_EQ(keep(), "");
  EXPECT_EQ(chmod(folder.c_str(), 0500), 0);
  options.rows = 64;
  EXPECT_EQ(keep(), "choices cannot be kept: the folder of the cache cannot be changed; see fa-opt "
                    "--cache-info");
  options.rows = 0;
  EXPECT_EQ(keep(), "choices cannot be forgotten: the folder of the cache cannot be changed; see "
                    "fa-opt --cache-info");
  EXPECT_EQ(chmod(folder.c_str(), 0700), 0);
  EXPECT_EQ(keep(), "");
  if (getuid() == 0)
    ASSERT_EQ(seteuid(0), 0);
}
