//===- ManifestTests.cpp - manifests: from tile.funcs, to JSON and back -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeProgram.h"
#include "TileProgram.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/Manifest.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::fa;

static std::string errorOf(StringRef text) {
  auto module = parseManifest(text);
  return module ? "" : llvm::toString(module.takeError());
}

/// Return the hand-written manifest with one text replaced.
static std::string with(const std::string &what, const std::string &by) {
  std::string text = kFakeManifest;
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(Manifest, IsTheSameAfterWritingAndReading) {
  auto module = parseManifest(kFakeManifest);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto given = llvm::json::parse(kFakeManifest),
       written = llvm::json::parse(printManifest(*module));
  ASSERT_TRUE(given && written);
  EXPECT_EQ(*given, *written);
}

TEST(Manifest, CarriesTensorMaps) {
  auto module = parseManifest(kTileManifest);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto given = llvm::json::parse(kTileManifest),
       written = llvm::json::parse(printManifest(*module));
  ASSERT_TRUE(given && written);
  EXPECT_EQ(*given, *written);
  EXPECT_EQ(module->entries[0].variants[0].countTensorMaps(), 1u);
  EXPECT_EQ(module->entries[0].variants[1].countTensorMaps(), 0u);
  const ManifestParameter &map = module->entries[0].kernels()[0].parameters.back();
  EXPECT_EQ(map.kind, ManifestParameter::TensorMap);
  EXPECT_EQ(map.argument, 0u);
  EXPECT_EQ(map.rows, 80);
  EXPECT_EQ(map.columns, 128);
  EXPECT_EQ(map.swizzle, 128);
}

TEST(Manifest, RefusesTensorMapsThatNoDriverMakes) {
  const std::string good = "[\"tensor_map\", 0, 80, 128, 128]",
                    place = "entries[0].variants[0].kernels[0].parameters[6]";
  auto expect = [&](const std::string &what, const std::string &by, const std::string &problem) {
    std::string text = kTileManifest;
    size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    EXPECT_EQ(errorOf(text.replace(at, what.size(), by)),
              "the manifest cannot be used: " + problem + "; compile the program again");
  };
  expect(good, "[\"tensor_map\", 0]", place + " must be an array of 5 to 6 elements, got 2");
  expect(good, "[\"tensor_map\", 5, 80, 128, 128]",
         place + "[1] must be an integer from 0 to 4, got 5");
  expect(good, "[\"tensor_map\", 2, 80, 128, 128]", place + " must map a tensor of rank 2 to 4");
  expect(good, "[\"tensor_map\", 0, 257, 128, 128]", place + " must copy 1 to 256 rows, got 257");
  expect(good, "[\"tensor_map\", 0, 256, 1024, 128]",
         place + " must copy columns of at most 262144 bytes, got 1024");
  expect(good, "[\"tensor_map\", 0, 80, 128, 16]",
         place + " must have a swizzle of 32, 64 or 128 bytes, got 16");
  expect(good, "[\"tensor_map\", 0, 1, 128, 0, \"slices\"]",
         place + " must have a swizzle to be for slices of a tensor's rows");
  const std::string dtype = "\"f16\", \"shape\": [-1, -1, -1, 128]";
  expect(dtype, "\"f64\", \"shape\": [-1, -1, -1, 128]",
         place + " must map elements of 1, 2 or 4 bytes");
  expect(dtype, "\"f16\", \"shape\": [-1, -1, -1, 0]",
         place + " must map a tensor whose last size is not 0");
  std::string many = good;
  for (size_t i = 0; i < ManifestModule::kMaxTensorMaps; ++i)
    many += ", " + good;
  expect(good, many, "entries[0].variants[0] has 129 tensor maps, expected at most 128");
}

TEST(Manifest, SaysWhichTensorMapsAreForSlices) {
  ManifestModule module = llvm::cantFail(parseManifest(sliceManifest()));
  EXPECT_TRUE(module.entries[0].kernels()[0].parameters.back().slices);
  std::string text = printManifest(module);
  EXPECT_TRUE(llvm::cantFail(parseManifest(text)).entries[0].kernels()[0].parameters.back().slices);
  EXPECT_EQ(
      llvm::cantFail(parseManifest(kTileManifest)).entries[0].kernels()[0].parameters.back().slices,
      false);
}

TEST(Manifest, ComputesGridsAndWorkspaces) {
  auto module = llvm::cantFail(parseManifest(kFakeManifest));
  const Manifest &entry = module.entries[0];
  LaunchShapes shapes = {{205, 4}, {205, 4}, {}, {}, {}};
  ASSERT_FALSE(bool(entry.resolve(shapes)));
  EXPECT_EQ(shapes[4], (LaunchShape{205, 8}));
  auto grid = [&](unsigned variant, unsigned kernel) {
    return llvm::cantFail(entry.grid(entry.variants[variant].kernels[kernel], shapes));
  };
  EXPECT_EQ(grid(0, 0), (LaunchShape{103, 1}));
  EXPECT_EQ(grid(1, 0), (LaunchShape{205, 3}));
  EXPECT_EQ(grid(1, 1), (LaunchShape{6}));
}

TEST(Manifest, RefusesGridsThatOverflowOrDivideByNothing) {
  auto gridError = [](const std::string &expr) {
    auto module = llvm::cantFail(parseManifest(with("{\"ceildiv\": [[0, 0], 2]}", expr)));
    const Manifest &entry = module.entries[0];
    auto grid = entry.grid(entry.kernels()[0], {{5, 4}, {5, 4}, {}, {}, {5, 8}});
    return grid ? "" : llvm::toString(grid.takeError());
  };
  EXPECT_EQ(gridError("{\"ceildiv\": [[0, 0], 0]}"),
            "the grid of kernel 'fake_scale' divides by 0");
  EXPECT_EQ(gridError("{\"*\": [9223372036854775807, [0, 0]]}"),
            "the grid of kernel 'fake_scale' overflows 64 bits");
}

TEST(Manifest, NamesTheFieldThatIsWrong) {
  auto expect = [](const std::string &what, const std::string &by, const std::string &problem) {
    EXPECT_EQ(errorOf(with(what, by)),
              "the manifest cannot be used: " + problem + "; compile the program again");
  };
  expect("\"version\": 3", "\"version\": 2", "version is 2, but this library reads 3");
  expect("\"version\": 3, ", "", "version is missing");
  expect("sm_80", "gfx90a", "target must be sm_ and a number, got 'gfx90a'");
  expect("\"threads\": 128", "\"threads\": 4096",
         "entries[0].variants[0].kernels[0].threads must be an integer from 1 to 1024, got 4096");
  expect("\"threads\": 128", "\"threads\": \"128\"",
         "entries[0].variants[0].kernels[0].threads must be an integer from 1 to 1024");
  expect("\"shared_bytes\": 16", "\"shared\": 16",
         "entries[0].variants[1].kernels[1].shared_bytes is missing");
  expect("\"image\": 0", "\"image\": 1",
         "entries[0].variants[0].image must be an integer from 0 to 0, got 1");
  expect("\"image\": 0", "\"limits\": [[\"N\", -1]], \"image\": 0",
         "entries[0].variants[0].limits[0][1] must be an integer from 0 to 9223372036854775807, "
         "got -1");
  expect("\"alignment\": 16", "\"alignment\": 12",
         "entries[0].variants[0].guards[0].alignment must be a power of 2, got 12");
  expect("[0, 1]}], \"image\"", "[0, 2]}], \"image\"",
         "entries[0].variants[0].guards[0].arguments[1] names a scalar, which has no alignment");
  expect("{\"ceildiv\"", "{\"pow\"",
         "entries[0].variants[0].kernels[0].grid[0] must apply one of +, *, min, max, floordiv, "
         "ceildiv, mod");
  expect("[[0, 0], 2]", "[[7, 0], 2]",
         "entries[0].variants[0].kernels[0].grid[0].ceildiv[0][0] must be an integer from 0 to 4, "
         "got 7");
  expect(
      "[\"size\", 0, 0]", "[\"size\", 0, 2]",
      "entries[0].variants[0].kernels[0].parameters[1][2] must be an integer from 0 to 1, got 2");
  expect("[\"scalar\", 2]", "[\"pointer\", 2]",
         "entries[0].variants[0].kernels[0].parameters[6] must pass scalars by value and tensors "
         "by pointer");
  expect("\"sizes\": [[0, 0], 8]", "\"sizes\": [[4, 0], 8]",
         "entries[0].arguments[4].sizes[0][0] must be an integer from 0 to 3, got 4");
  expect("\"dtype\": \"f32\", \"shape\": [-1, 4]", "\"dtype\": \"f8\", \"shape\": [-1, 4]",
         "entries[0].arguments[0].dtype must be one of f16, bf16, f32, f64, i8, i16, i32, i64, u8, "
         "bool");
  expect("\"name\": \"y\"", "\"name\": \"x\"",
         "entries[0].arguments[1] has the name of an earlier argument");
  expect("\"limits\": [[\"N\", 100000]]", "\"limits\": [[\"N\", -1]]",
         "entries[0].limits[0][1] must be an integer from 0 to 9223372036854775807, got -1");
}

TEST(Manifest, RefusesWhatIsNoManifest) {
  EXPECT_NE(errorOf("").find("no JSON"), std::string::npos);
  EXPECT_NE(errorOf("[]").find("it must be an object"), std::string::npos);
  std::string deep(200000, '[');
  EXPECT_EQ(errorOf(deep),
            "the manifest cannot be used: it nests deeper than 64; compile the program again");
}

/// One line that has no control character.
static bool isOneLine(const std::string &text) {
  return llvm::all_of(text, [](char c) { return c != '\n' && c != '\r'; });
}

static void damage(const std::string &text) {
  for (size_t length = 0; length < text.size(); ++length) {
    std::string error = errorOf(text.substr(0, length));
    EXPECT_FALSE(error.empty()) << length;
    EXPECT_TRUE(isOneLine(error)) << error;
  }
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (int flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= 1 << (random() % 8);
    auto module = parseManifest(damaged);
    if (!module) {
      ++refused;
      EXPECT_TRUE(isOneLine(llvm::toString(module.takeError())));
      continue;
    }
    // What is accepted can be launched without reading out of bounds.
    for (const Manifest &entry : module->entries) {
      LaunchShapes shapes(entry.arguments.size());
      for (auto [shape, argument] : llvm::zip_equal(shapes, entry.arguments))
        shape.assign(argument.shape.size(), 4);
      llvm::consumeError(entry.resolve(shapes));
      for (const ManifestVariant &variant : entry.variants)
        for (const ManifestKernel &kernel : variant.kernels)
          llvm::consumeError(entry.grid(kernel, shapes).takeError());
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(Manifest, SurvivesDamage) {
  damage(kFakeManifest);
  damage(kTileManifest);
}

//===----------------------------------------------------------------------===//
// Off tile.funcs
//===----------------------------------------------------------------------===//

namespace {

class Reading : public testing::Test {
protected:
  std::vector<Manifest> read(StringRef text) {
    context.loadDialect<tile::TileDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto manifests = readManifests(*module);
    EXPECT_TRUE(succeeded(manifests));
    return succeeded(manifests) ? *manifests : std::vector<Manifest>();
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

static const char *const kKernel = R"mlir(
tile.func @k(%x: !tile.view<?x8x?x64xf16> {tile.name = "x", tile.dims = ["B", "", "S", "D"],
                                             tile.align = 16 : i64},
             %t: !tile.view<?xi32> {tile.name = "t", tile.align = 4 : i64}, %flag: i1 {tile.name = "flag"},
             %n: index {tile.name = "n"},
             %y: !tile.view<?x64xf32> {tile.name = "y", tile.output, tile.align = 16 : i64},
             %b: index, %s: index)
    grid affine_map<()[s0, s1] -> (s0 * 8, (s1 + 63) ceildiv 64)> sizes [0, 0, 0, 2]
    attributes {tile.warps = 4 : i64, tile.shared_bytes = 49152 : i64} {
  tile.return
})mlir";

TEST_F(Reading, FollowsTheABI) {
  std::vector<Manifest> manifests = read(kKernel);
  ASSERT_EQ(manifests.size(), 1u);
  const ManifestKernel &kernel = manifests[0].kernels()[0];
  EXPECT_EQ(kernel.threads, 128);
  EXPECT_EQ(kernel.sharedBytes, 49152);
  const std::vector<ManifestGuard> &guards = manifests[0].variants[0].guards;
  ASSERT_EQ(guards.size(), 2u);
  EXPECT_EQ(guards[0].alignment, 16);
  EXPECT_EQ(guards[0].arguments, (std::vector<unsigned>{0, 4}));
  EXPECT_EQ(guards[1].alignment, 4);
  EXPECT_EQ(guards[1].arguments, std::vector<unsigned>{1});
  using P = ManifestParameter;
  const P expected[] = {{P::Pointer, 0, 0}, {P::Size, 0, 0},    {P::Size, 0, 2},
                        {P::Stride, 0, 0},  {P::Stride, 0, 1},  {P::Stride, 0, 2},
                        {P::Pointer, 1, 0}, {P::Size, 1, 0},    {P::Scalar, 2, 0},
                        {P::Scalar, 3, 0},  {P::Pointer, 4, 0}, {P::Size, 4, 0},
                        {P::Stride, 4, 0}};
  ASSERT_EQ(kernel.parameters.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(kernel.parameters[i].kind, expected[i].kind) << i;
    EXPECT_EQ(kernel.parameters[i].argument, expected[i].argument) << i;
    EXPECT_EQ(kernel.parameters[i].dim, expected[i].dim) << i;
  }
  auto grid = manifests[0].grid(kernel, {{3, 8, 65, 64}, {1}, {}, {}, {1, 64}});
  ASSERT_TRUE(bool(grid));
  EXPECT_EQ(*grid, (LaunchShape{24, 2}));
}

TEST_F(Reading, RoundsRowsOfWorkspacesUp) {
  std::vector<Manifest> manifests = read(R"mlir(
tile.func @k(%x: !tile.view<?x?x64xf16> {tile.name = "x"},
             %w: !tile.view<?x?x64xf32> {tile.name = "w", tile.output,
                                         tile.workspace = [["x", 0], ["x", 1, 3, 16], 64]}, %b: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  tile.return
})mlir");
  ASSERT_EQ(manifests.size(), 1u);
  // Before and after it goes through JSON.
  ManifestModule program;
  program.target = "sm_90a";
  program.images = {"ptx"};
  program.entries = manifests;
  auto again = parseManifest(printManifest(program));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  for (const Manifest &manifest : {manifests[0], again->entries[0]}) {
    for (auto [rows, expected] : {std::pair(1, 16), {48, 16}, {49, 32}, {300, 112}}) {
      LaunchShapes shapes = {{2, rows, 64}, {}};
      ASSERT_FALSE(bool(manifest.resolve(shapes)));
      EXPECT_EQ(shapes[1], (LaunchShape{2, expected, 64})) << rows;
    }
  }
}

TEST_F(Reading, AddsPlacesOfSequencesToRowsOfWorkspaces) {
  std::string text = R"mlir(
tile.func @k(%x: !tile.view<?x64xf16> {tile.name = "x"}, %n: !tile.view<?xi32> {tile.name = "n"},
             %w: !tile.view<?x64xf32> {tile.name = "w", tile.output,
                                       tile.workspace = [["x", 0, 1, 16, "n", 0], 64]}, %b: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  tile.return
})mlir";
  std::vector<Manifest> manifests = read(text);
  ASSERT_EQ(manifests.size(), 1u);
  ManifestModule program;
  program.target = "sm_90a";
  program.images = {"ptx"};
  program.entries = manifests;
  std::string printed = printManifest(program);
  auto again = parseManifest(printed);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  for (const Manifest &manifest : {manifests[0], again->entries[0]})
    for (auto [rows, starts, expected] :
         {std::tuple(0, 1, 16), {1, 1, 32}, {48, 3, 96}, {49, 3, 112}}) {
      LaunchShapes shapes = {{rows, 64}, {starts}, {}};
      ASSERT_FALSE(bool(manifest.resolve(shapes)));
      EXPECT_EQ(shapes[2], (LaunchShape{expected, 64})) << rows;
    }
  // What names no size of an argument; what has no such form is no program.
  for (const char *wrong : {"\"m\", 0", "\"n\", 1", "\"n\""}) {
    std::string other = text;
    other.replace(other.find("\"n\", 0"), 6, wrong);
    ScopedDiagnosticHandler handler(&context, [](Diagnostic &) {});
    module = parseSourceString<ModuleOp>(other, &context);
    EXPECT_EQ(bool(module), StringRef(wrong).contains(',')) << wrong;
    EXPECT_TRUE(!module || failed(readManifests(*module))) << wrong;
  }
}

static std::string tileKernel(const std::string &map, const std::string &attributes,
                              const std::string &sizes = "?x8x?x128") {
  return R"mlir(
tile.func @k(%x: !tile.view<)mlir" +
         sizes + R"mlir(xbf16> {tile.name = "x"},
             %y: !tile.view<?xf32> {tile.name = "y", tile.output},
             %m: !tile.tensor_map<)mlir" +
         map + R"mlir(> {tile.map_of = 0 : i64, )mlir" + attributes + R"mlir(}, %b: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 2] attributes {tile.warps = 12 : i64} {
  tile.return
})mlir";
}

TEST_F(Reading, FindsTensorMaps) {
  const char *const box = "80x128xbf16, #tile.swizzle<128>", *const last = "tile.map_dims = [2, 3]";
  std::vector<Manifest> manifests = read(tileKernel(box, last));
  ASSERT_EQ(manifests.size(), 1u);
  const ManifestKernel &kernel = manifests[0].kernels()[0];
  EXPECT_EQ(manifests[0].arguments.size(), 2u);
  EXPECT_EQ(kernel.arguments, (std::vector<unsigned>{0, 1, 0}));
  ASSERT_EQ(kernel.parameters.size(), 9u);
  const ManifestParameter &map = kernel.parameters.back();
  EXPECT_EQ(map.kind, ManifestParameter::TensorMap);
  EXPECT_EQ(map.argument, 0u);
  EXPECT_EQ(map.rows, 80);
  EXPECT_EQ(map.columns, 128);
  EXPECT_EQ(map.swizzle, 128);
  EXPECT_FALSE(map.slices);

  manifests = read(tileKernel(box, "tile.map_dims = [1, 2], tile.map_slices", "8x?x128"));
  ASSERT_EQ(manifests.size(), 1u);
  EXPECT_TRUE(manifests[0].kernels()[0].parameters.back().slices);

  auto refused = [&](const char *box, const char *attributes) {
    module = parseSourceString<ModuleOp>(tileKernel(box, attributes), &context);
    EXPECT_TRUE(module);
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { message = d.str(); });
    EXPECT_TRUE(module && failed(readManifests(*module)));
    return message;
  };
  EXPECT_EQ(
      refused(box, "tile.map_dims = [0, 3]"),
      "the tensor map of argument 2 must run along the last dimension of its view or the last two, "
      "in this order");
  EXPECT_EQ(refused("300x128xbf16, #tile.swizzle<128>", last),
            "the tensor map of argument 2 must copy 1 to 256 rows, got 300");
  EXPECT_EQ(refused("256x1024xbf16, #tile.swizzle<128>", last),
            "the tensor map of argument 2 must copy columns of at most 262144 bytes, got 1024");
}

static std::string persistentKernel(const std::string &attributes) {
  return R"mlir(
tile.func @k(%x: !tile.view<?xf32> {tile.name = "x", tile.output},
             %n: !tile.view<1xi64> {tile.name = "k_next", tile.workspace = [1]},
             %tag: i64 {tile.name = "k_tag")mlir" +
         attributes + R"mlir(}, %b: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64, tile.blocks_per_sm = 2 : i64, tile.dependent} {
  tile.return
})mlir";
}

TEST_F(Reading, FindsBlocksThatRunSeveralInstances) {
  ManifestModule program;
  program.target = "sm_90a";
  program.images = {"ptx", "ptx"};
  program.entries = read(persistentKernel(", tile.launch_epoch"));
  ASSERT_EQ(program.entries.size(), 1u);
  EXPECT_EQ(program.entries[0].kernels()[0].blocksPerSM, 2);
  EXPECT_TRUE(program.entries[0].kernels()[0].dependent);
  EXPECT_EQ(program.entries[0].arguments[2].kind, ManifestArgument::LaunchEpoch);
  EXPECT_EQ(program.entries[0].kernels()[0].parameters.back().kind, ManifestParameter::Scalar);
  program.entries[0].variants[0].limits.push_back({"N", 5});
  std::string text = printManifest(program);
  auto again = parseManifest(text);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(printManifest(*again), text);
  EXPECT_EQ(again->entries[0].arguments[2].kind, ManifestArgument::LaunchEpoch);
  auto damaged = [&](const std::string &what, const std::string &by) {
    std::string wrong = text;
    return errorOf(wrong.replace(wrong.rfind(what), what.size(), by));
  };
  EXPECT_EQ(
      damaged("\"dtype\": \"i64\"", "\"dtype\": \"i32\""),
      "the manifest cannot be used: entries[0].arguments[2] must be an i64, as a launch_epoch "
      "is; compile the program again");
  EXPECT_EQ(damaged("\"blocks_per_sm\": 2", "\"blocks_per_sm\": 33"),
            "the manifest cannot be used: entries[0].variants[0].kernels[0].blocks_per_sm must be "
            "an integer from 1 to 32, got 33; compile the program again");
  EXPECT_EQ(damaged("\"dependent\": true", "\"dependent\": 1"),
            "the manifest cannot be used: entries[0].variants[0].kernels[0].dependent must be true "
            "or false; compile the program again");
}

TEST_F(Reading, VariantsHaveTheWorkspacesAndTagsOfAll) {
  Manifest with = read(persistentKernel(", tile.launch_epoch"))[0], without = with;
  Manifest other = read(persistentKernel(""))[0];
  // Without them, and before it ones of other names.
  without.arguments.resize(1);
  without.variants[0].kernels[0].arguments = {0};
  without.variants[0].kernels[0].parameters.resize(2);
  Manifest joined = without;
  ASSERT_FALSE(bool(joined.addVariant(with, 1)));
  EXPECT_EQ(joined.arguments.size(), 3u);
  Manifest renamed = with;
  renamed.arguments[1].name = "w";
  renamed.arguments[2].name = "t";
  ASSERT_FALSE(bool(joined.addVariant(renamed, 2)));
  EXPECT_EQ(joined.arguments.size(), 5u);
  EXPECT_EQ(joined.variants[1].kernels[0].arguments, (std::vector<unsigned>{0, 1, 2}));
  EXPECT_EQ(joined.variants[2].kernels[0].arguments, (std::vector<unsigned>{0, 3, 4}));
  EXPECT_EQ(joined.variants[2].kernels[0].parameters.back().argument, 4u);
  ASSERT_FALSE(bool(joined.addVariant(without, 3)));
  EXPECT_EQ(joined.arguments.size(), 5u);
  llvm::Error failed = with.addVariant(other, 1);
  EXPECT_EQ(llvm::toString(std::move(failed)), "the variants of entry @k take different arguments");
}

TEST_F(Reading, VariantsNeedNotReadAllInputs) {
  Manifest less = read(persistentKernel(""))[0], more = less;
  ASSERT_EQ(less.arguments[0].kind, ManifestArgument::Output);
  more.arguments.push_back(less.arguments[0]);
  more.arguments.back().name = "y";
  more.arguments.back().kind = ManifestArgument::Input;
  for (auto [first, second] : {std::pair(less, more), {more, less}}) {
    EXPECT_EQ(llvm::toString(first.addVariant(second, 1)), "");
    EXPECT_EQ(first.arguments.size(), more.arguments.size());
    EXPECT_EQ(first.arguments.back().name, "y");
  }
  // But all write the same.
  more.arguments.back().kind = ManifestArgument::Output;
  llvm::Error failed = less.addVariant(more, 1);
  EXPECT_EQ(llvm::toString(std::move(failed)), "the variants of entry @k take different arguments");
}

TEST_F(Reading, WorkspacesOfAVariantBeyondItsBoundsAreEmpty) {
  // The workspace is of the second variant alone, which is for at most 8 rows, in 4 parts each.
  ManifestModule program;
  program.target = "sm_90a";
  program.images = {"ptx", "ptx"};
  program.entries = read(persistentKernel(", tile.launch_epoch"));
  Manifest &entry = program.entries[0];
  Manifest with = entry;
  entry.variants[0].kernels[0].arguments = {0};
  entry.variants[0].kernels[0].parameters.resize(2);
  ASSERT_FALSE(bool(entry.addVariant(with, 1)));
  entry.variants[1].bounds.push_back(
      {SizeExpr::binary(SizeExpr::Mul, SizeExpr::size(0, 0), SizeExpr::constant(4)), 32});
  std::string text = printManifest(program);
  auto again = parseManifest(text);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(printManifest(*again), text);
  ASSERT_EQ(entry.arguments[1].kind, ManifestArgument::Workspace);
  for (auto [rows, fits] : {std::pair(8, true), {9, false}}) {
    LaunchShapes shapes(entry.arguments.size());
    shapes[0].assign(entry.arguments[0].shape.size(), rows);
    ASSERT_FALSE(bool(again->entries[0].resolve(shapes)));
    EXPECT_EQ(again->entries[0].variants[1].isWithinBounds(shapes), fits);
    EXPECT_EQ(llvm::is_contained(shapes[1], 0), !fits);
  }
  // Where another variant has it too, it stays.
  entry.variants[0].kernels[0].arguments = {0, 1};
  LaunchShapes shapes(entry.arguments.size());
  shapes[0].assign(entry.arguments[0].shape.size(), 9);
  ASSERT_FALSE(bool(entry.resolve(shapes)));
  EXPECT_FALSE(llvm::is_contained(shapes[1], 0));
  // But where that is beyond bounds of its own, too.
  EXPECT_TRUE(entry.variants[0].servesAll());
  entry.variants[0].bounds = entry.variants[1].bounds;
  EXPECT_FALSE(entry.variants[0].servesAll());
  ASSERT_FALSE(bool(entry.resolve(shapes)));
  EXPECT_TRUE(llvm::is_contained(shapes[1], 0));
}

TEST_F(Reading, GoesThroughJSON) {
  ManifestModule program;
  program.target = "sm_90a";
  program.images = {"ptx", "ptx"};
  program.entries = read(kKernel);
  Manifest plain = program.entries[0];
  plain.variants[0].guards.clear();
  ASSERT_FALSE(bool(program.entries[0].addVariant(plain, 1)));
  program.entries[0].variants[0].parallel = {"B", "Hk"};
  std::string text = printManifest(program);
  auto again = parseManifest(text);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(printManifest(*again), text);
  EXPECT_EQ(again->entries[0].variants[0].limits, program.entries[0].variants[0].limits);
  EXPECT_TRUE(again->entries[0].variants[1].limits.empty());
  EXPECT_EQ(again->entries[0].variants[0].parallel, program.entries[0].variants[0].parallel);
  EXPECT_TRUE(again->entries[0].variants[1].parallel.empty());
  EXPECT_EQ(again->entries[0].variants[1].image, 1u);
  EXPECT_EQ(again->entries[0].arguments[3].dtype, DType::I64);

  Manifest other = plain;
  other.arguments[0].shape[1] = 4;
  llvm::Error failed = program.entries[0].addVariant(other, 1);
  EXPECT_EQ(llvm::toString(std::move(failed)), "the variants of entry @k take different arguments");
}
