//===- PtxasFixture.h - starts with a stand-in for ptxas -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_PTXASFIXTURE_H
#define FA_TEST_UNIT_PTXASFIXTURE_H

#include "CacheFixture.h"
#include "FakeDriver.h"
#include <algorithm>

namespace fa::test {

using mlir::fa::test::fake;
using mlir::fa::test::take;

/// Count the images of a program for sm_90a: for short sequences, for all, and for tensors that are
/// not aligned.
inline constexpr int kImages = 3;

inline const char *const kScript = R"(#!/bin/sh
here=${0%/*}
if [ "$1" = --version ]; then
  [ "$FA_FAKE_PTXAS_VERSION" = hang ] && sleep 1000
  echo "Cuda compilation tools, release ${FA_FAKE_PTXAS_VERSION:-12.4}, V0"
  exit
fi
echo run >> "$here/runs"
mkdir "$here/running" 2> /dev/null || echo overlap >> "$here/overlaps"
ls /proc/$$/fd | wc -l > "$here/files"
case "$FA_FAKE_PTXAS" in
refuse) echo "ptxas $3, line 9; error   : Unknown modifier"; rmdir "$here/running"; exit 1;;
full) echo "ptxas fatal   : Memory allocation failure"; rmdir "$here/running"; exit 1;;
crash) rmdir "$here/running"; kill -SEGV $$;;
killed) rmdir "$here/running"; kill -KILL $$;;
nothing) rmdir "$here/running"; exit 0;;
warn) echo "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialized";;
hang) sleep 1000 & echo $$ $! > "$here/pid"; wait;;
esac
{ printf '\177ELF'; cat "$3"; } > "$5"
rmdir "$here/running"
)";

struct KeptCubins : Cache {
  KeptCubins() {
    setenv("FA_LIBCUDA", FA_FAKE_LIBCUDA, 1);
    for (const char *name : {"FA_FAKE_CUDA", "FA_FAKE_PTXAS", "FA_FAKE_PTXAS_VERSION"})
      unsetenv(name);
    tools = folder + "-tools";
    fs::create_directory(tools);
    setenv("FA_PTXAS", addPtxas("ptxas").c_str(), 1);
  }
  ~KeptCubins() override {
    unsetenv("FA_PTXAS");
    unsetenv("FA_FAKE_PTXAS");
    unsetenv("FA_FAKE_CUDA");
    fs::remove_all(tools);
  }

  std::string addPtxas(const std::string &name) {
    std::string path = tools + "/" + name;
    overwrite(path, kScript);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  int lines(const char *name) const {
    std::string text = read(tools + "/" + name);
    return int(std::count(text.begin(), text.end(), '\n'));
  }
  int runs() const { return lines("runs"); }

  static std::string toText(int64_t dim) {
    fa::Attention spec;
    spec.headDim = dim;
    spec.dtype = fa::bf16;
    return *fa::toMLIR(spec);
  }
  /// Make options that no memory knows, so that a program is looked for on disk.
  static fa_compile_options makeOptions() {
    static thread_local std::string name;
    name = freshName();
    fa_compile_options options = fa_compile_options_default();
    options.source_name = name.c_str();
    options.target = "cuda:0";
    return options;
  }
  static fa_program *compile(int64_t dim = 128) {
    auto text = toText(dim);
    fa_compile_options options = makeOptions();
    fa_program *program = nullptr;
    EXPECT_EQ(take(fa_compile(text.data(), text.size(), &options, &program)), "");
    return program;
  }

  /// How a start goes, with all that a thread of its own does: how many images the driver compiled
  /// and loaded as cubins, and how often ptxas ran.
  struct Start {
    int compiled, cubins, runs;
    bool operator==(const Start &other) const {
      return compiled == other.compiled && cubins == other.cubins && runs == other.runs;
    }
    friend std::ostream &operator<<(std::ostream &os, const Start &start) {
      return os << start.compiled << " compiled, " << start.cubins << " cubins, " << start.runs
                << " runs";
    }
  };
  Start start(int64_t dim = 128) {
    auto compiled = fake<int()>("fakeCompiled"), cubins = fake<int()>("fakeCubins");
    Start before = {compiled(), cubins(), runs()};
    fa_program *program = compile(dim);
    EXPECT_EQ(take(fa_program_wait(program)), "");
    fa_program_free(program);
    return {compiled() - before.compiled, cubins() - before.cubins, runs() - before.runs};
  }

  /// Return what is said of starts, without what is the same each time.
  std::string explained(int64_t dim = 128) {
    auto text = toText(dim);
    fa_compile_options options = makeOptions();
    std::string said, same = "each start has the driver compile the program, unless it keeps what "
                             "it made, because ";
    fa_reasons *reasons = fa_explain(text.data(), text.size(), &options);
    for (size_t i = 0; i < fa_reasons_count(reasons); ++i)
      if (fa_reason reason = fa_reasons_get(reasons, i); reason.kind == FA_SLOWER_TO_START) {
        EXPECT_EQ(std::string(reason.what).substr(0, same.size()), same);
        said += std::string(reason.what).substr(same.size()) + "; " + reason.remedy;
      }
    fa_reasons_free(reasons);
    return said;
  }
  std::string tools;
};

/// Count what the driver compiles of a program that is on no disk: all images, and a first tier.
inline constexpr int kCompiled = kImages + 1;

/// Starts with nothing on disk, or no disk, with a ptxas and without; with PTX on disk; with all.
inline const KeptCubins::Start kCold = {kCompiled, 0, kImages}, kCompiles = {kCompiled, 0, 0},
                               kAssembles = {kImages, 0, kImages}, kReads = {kImages, 0, 0},
                               kKept = {0, kImages, 0};

inline std::string withoutFolder(std::string text, const std::string &folder) {
  for (size_t at; (at = text.find(folder)) != std::string::npos;)
    text.replace(at, folder.size(), "DIR");
  return text;
}

} // namespace fa::test

#endif // FA_TEST_UNIT_PTXASFIXTURE_H
