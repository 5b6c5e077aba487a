//===- CacheFixture.h - programs by number, and a cache of their own -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_CACHEFIXTURE_H
#define FA_TEST_UNIT_CACHEFIXTURE_H

#include "ApiAttention.h"
#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace fa::test {

namespace fs = std::filesystem;

/// A spec by number; the lambdas are called on numbers, too.
struct Numbered {
  int64_t window, block, sink, dim;
  float slope, cap;

  explicit Numbered(int number)
      : window(3 + number % 17), block(2 + number / 17 % 11), sink(number / 187),
        dim(number % 3 == 0 ? 16 : 32), slope(0.01f * float(number % 7)),
        cap(2.0f + float(number % 5)) {}

  auto mask() const {
    return [*this](auto x) {
      return x.j <= x.i + x.sk - x.sq &&
             (x.i + x.sk - x.sq - x.j < window || x.j % block == 0 || x.j < sink);
    };
  }
  double score(double s, Place x) const {
    s += double(slope) * double(x.j - x.i);
    return cap * s / (1 + std::fabs(s));
  }
  fa::Attention spec() const {
    fa::Attention spec;
    spec.headDim = dim;
    spec.dtype = fa::f32;
    spec.mask = mask();
    spec.score = [*this](fa::Score s, auto x) {
      fa::Float t = s + slope * (x.j - x.i);
      return cap * t / (1 + abs(t));
    };
    return spec;
  }
};

/// Compiles from text of a name, under which memory does not know it, and runs it;
/// the largest error, or what went wrong.
inline std::string run(int number, const std::string &name = "attention") {
  Numbered numbered(number);
  auto text = fa::toMLIR(numbered.spec());
  fa_compile_options options = fa_compile_options_default();
  options.source_name = name.c_str();
  options.threads = 1;
  fa_program *program;
  if (fa::Error failed = fa::Error(fa_compile(text->data(), text->size(), &options, &program)))
    return failed.message();
  fa::Kernel kernel(program, {}, {/*lse=*/true});
  Problem problem(1, 2, 1, 17, 33, numbered.dim, number);
  if (fa::Error failed = kernel.forward(nullptr, problem.forward()))
    return failed.message();
  double error =
      problem.error(numbered.mask(), [&](double s, Place x) { return numbered.score(s, x); });
  return error < 1e-5 ? ""
                      : "spec " + std::to_string(number) + " is wrong by " + std::to_string(error);
}

inline std::string freshName() {
  static std::atomic<int> count{0};
  return "name" + std::to_string(count++);
}

/// Return a number out of fa_cache_info: the one before `word`.
inline int count(const std::string &word) {
  std::istringstream info(fa_cache_info());
  std::string last, next;
  while (info >> next) {
    if (next.rfind(word, 0) == 0)
      return std::atoi(last.c_str());
    // "found in memory", "on disk": the number stands before those words.
    if (next != "found" && next != "in" && next != "on")
      last = next;
  }
  return -1;
}

struct Cache : testing::Test {
  Cache() {
    char name[] = "/tmp/fa-cache-XXXXXX";
    folder = mkdtemp(name);
    setenv("FA_CACHE_DIR", folder.c_str(), 1);
    unsetenv("FA_CACHE_SIZE");
  }
  ~Cache() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    setenv("FA_CACHE_DIR", "", 1);
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    for (auto &file : fs::directory_iterator(folder))
      files.push_back(file.path());
    return files;
  }
  std::string folder;
};

inline std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void overwrite(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

/// Lets files of this process have so many bytes, for a scope.
struct FileLimit {
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before); }
  rlimit before;
};

} // namespace fa::test

#endif // FA_TEST_UNIT_CACHEFIXTURE_H
