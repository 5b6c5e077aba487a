//===- SafetensorsTest.cpp - safetensors files, right and wrong -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/Safetensors.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir::fa;

namespace {

/// Return a file of a header and `bytes` bytes of data; `claimed` overrides the header's size.
std::string file(const std::string &header, size_t bytes = 0, uint64_t claimed = UINT64_MAX) {
  uint64_t size = claimed == UINT64_MAX ? header.size() : claimed;
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += char(size >> (8 * i));
  return text + header + std::string(bytes, '\0');
}

/// Return the error of a file, empty where it is read.
std::string errorOf(const std::string &contents) {
  llvm::Expected<Safetensors> result = parseSafetensors(contents, "x.safetensors");
  return result ? "" : llvm::toString(result.takeError());
}

TEST(Safetensors, RoundTrip) {
  Safetensors written;
  for (DType dtype : {DType::U8, DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8,
                      DType::I16, DType::I32, DType::I64, DType::Bool}) {
    HostTensor tensor = HostTensor::zeros(nameOf(dtype), dtype, {2, 3});
    for (int i = 0; i < 6; ++i)
      tensor.set(i, i % 2);
    written.tensors.push_back(tensor);
  }
  written.tensors.push_back(HostTensor::zeros("scalar \"\xc3\xa9\"\n", DType::F32, {}));
  written.tensors.push_back(HostTensor::zeros("empty", DType::I64, {3, 0}));
  written.metadata = {{"format", "pt"}};
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("fa", "safetensors", path));
  ASSERT_EQ(llvm::toString(writeSafetensors(path, written)), "");
  llvm::Expected<Safetensors> read = readSafetensors(path);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->metadata, written.metadata);
  ASSERT_EQ(read->tensors.size(), written.tensors.size());
  for (const HostTensor &tensor : written.tensors) {
    const HostTensor *found = read->find(tensor.name);
    ASSERT_TRUE(found) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->data, tensor.data);
  }
  llvm::sys::fs::remove(path);
}

TEST(Safetensors, AFileOfTheFormat) {
  // As the format's description has it, with spaces after the header.
  std::string text = file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )");
  text += std::string("\0\0\x80\x3f\0\0\0\xc0", 8);
  llvm::Expected<Safetensors> read = parseSafetensors(text, "x");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->find("w")->at(0), 1);
  EXPECT_EQ(read->find("w")->at(1), -2);
  EXPECT_EQ(errorOf(file("{}")), "");
}

TEST(Safetensors, MalformedFilesGiveOneError) {
  auto tensor = [](const std::string &fields) { return "{\"w\":{" + fields + "}}"; };
  std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const struct {
    std::string contents, expected;
  } cases[] = {
      {"", "has 0 bytes"},
      {"1234567", "has 7 bytes"},
      {file("{}", 0, 3), "claims 3 bytes, 2 are left"},
      {file("{}", 0, 1'000'000'000'000), "above the limit"},
      {file("{}", 0, UINT64_MAX - 1), "above the limit"},
      {file(""), "not valid JSON"},
      {file("{\"w\":"), "not valid JSON"},
      {file("{\"w"), "not valid JSON"},
      {file("{\"\\"), "not valid JSON"},
      {file("{\"\xff\":1}"), "not valid JSON"},
      {file("[]"), "must be a JSON object"},
      {file("3"), "must be a JSON object"},
      {file(std::string(1'000'000, '[')), "nests deeper"},
      {file("{\"w\":{" + good + "},\"w\":{" + good + "}}", 8), "key 'w' twice"},
      {file("{\"w\":{" + good + "},\"\\u0077\":{" + good + "}}", 8), "key 'w' twice"},
      {file("{\"w\":[1]}"), "tensor 'w': must be an object"},
      {file(tensor(good), 4), "end at 8, the file has 4 bytes of data"},
      {file(tensor(good), 9), "has 9 bytes of data, its tensors take 8"},
      {file(tensor(good + ",\"extra\":1"), 8), "unknown key 'extra'"},
      {file(tensor(R"("shape":[2],"data_offsets":[0,8])"), 8), "has dtype"},
      {file(tensor(R"("dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8])"), 8), "'F8_E4M3'"},
      {file(tensor(R"("dtype":"F32","data_offsets":[0,8])"), 8), "has no shape"},
      {file(tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8), "the size -2"},
      {file(tensor(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])"), 8), "the size \"2\""},
      {file(tensor(R"("dtype":"F32","shape":[2.5],"data_offsets":[0,8])"), 8), "the size 2.5"},
      {file(tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), 8),
       "overflow"},
      {file(tensor(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])")),
       "overflow"},
      {file(tensor(R"("dtype":"F32","shape":[9223372036854775807,4,0],"data_offsets":[0,0])")),
       "overflow"},
      {file(tensor(R"("dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,0])")),
       "the size"},
      {file(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), 8), "must be [begin, end]"},
      {file(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])"), 8),
       "must be [begin, end]"},
      {file(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8), "after their end"},
      {file(tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8), "needs 12"},
      {file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
               "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12),
       "inside 'a'"},
      {file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), "belong to no tensor"},
      {file(R"({"__metadata__":{"a":1}})"), "no string"},
      {file(R"({"__metadata__":3})"), "object of strings"},
  };
  for (const auto &test : cases) {
    std::string error = errorOf(test.contents);
    EXPECT_NE(error.find(test.expected), std::string::npos)
        << error << "; expected " << test.expected;
    EXPECT_EQ(error.rfind("x.safetensors: ", 0), 0u) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(Safetensors, EveryTruncationIsAnError) {
  std::string text = file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(errorOf(text.substr(0, size)), "") << size;
  // No byte of the header may crash the reader, whatever it becomes.
  for (size_t i = 0; i < text.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      std::string changed = text;
      changed[i] = char(value);
      errorOf(changed);
    }
}

TEST(Safetensors, FilesThatAreNone) {
  auto error = [](const char *path) {
    llvm::Expected<Safetensors> result = readSafetensors(path);
    return result ? "" : llvm::toString(result.takeError());
  };
  EXPECT_NE(error("/no/such/file").find("no such file"), std::string::npos);
  EXPECT_NE(error("/").find("not a regular file"), std::string::npos);
  EXPECT_NE(error("/dev/zero").find("not a regular file"), std::string::npos);
}

TEST(Safetensors, WritesThroughLinksAndIntoDevices) {
  namespace fs = llvm::sys::fs;
  Safetensors contents{{HostTensor::zeros("w", DType::F32, {2})}, {}};
  llvm::SmallString<128> folder;
  ASSERT_FALSE(fs::createUniqueDirectory("fa", folder));
  std::string target = (folder + "/target").str(), link = (folder + "/link").str();
  ASSERT_FALSE(fs::create_link("target", link));
  // First the link points at nothing, then at a file.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(llvm::toString(writeSafetensors(link, contents)), "");
    EXPECT_TRUE(fs::is_symlink_file(link));
    EXPECT_TRUE(fs::is_regular_file(target));
    llvm::Expected<Safetensors> read = readSafetensors(target);
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    EXPECT_TRUE(read->find("w"));
  }
  EXPECT_FALSE(fs::remove_directories(folder));
  EXPECT_EQ(llvm::toString(writeSafetensors("/dev/null", contents)), "");
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
  EXPECT_NE(llvm::toString(writeSafetensors("/dev/full", contents)).find("/dev/full: cannot be"),
            std::string::npos);
}

TEST(Safetensors, WriterRefusesWhatItCouldNotRead) {
  HostTensor tensor = HostTensor::zeros("w", DType::F32, {2});
  Safetensors twice{{tensor, tensor}, {}};
  EXPECT_NE(llvm::toString(writeSafetensors("/dev/null", twice)).find("twice"), std::string::npos);
  tensor.shape = {3};
  Safetensors wrong{{tensor}, {}};
  EXPECT_NE(llvm::toString(writeSafetensors("/dev/null", wrong)).find("as large"),
            std::string::npos);
}

TEST(HostTensor, RoundsToNearestEven) {
  EXPECT_EQ(roundTo(DType::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(roundTo(DType::BF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(roundTo(DType::F16, 1 + 0x1p-11), 1);
  // Once, not by way of f32: that would make this a tie.
  EXPECT_EQ(roundTo(DType::F16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(roundTo(DType::F16, 65519.99), 65504);
  EXPECT_EQ(roundTo(DType::F16, 65520), INFINITY);
  EXPECT_EQ(roundTo(DType::F16, -1e9), -INFINITY);
  EXPECT_EQ(roundTo(DType::F16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(roundTo(DType::F16, 0x1p-25), 0);
  EXPECT_EQ(roundTo(DType::F16, 0x1.8p-25), 0x1p-24);
  EXPECT_TRUE(std::signbit(roundTo(DType::F16, -0.0)));
  EXPECT_TRUE(std::isnan(roundTo(DType::BF16, NAN)));
  for (DType dtype : {DType::F16, DType::BF16})
    for (uint64_t bits = 0; bits < 65536; ++bits)
      if (double value = fromBits(dtype, bits); !std::isnan(value))
        ASSERT_EQ(toBits(dtype, value), bits) << nameOf(dtype);
}

} // namespace
