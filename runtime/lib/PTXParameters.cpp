//===- PTXParameters.cpp - what kernels of PTX take -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXParameters.h"
#include "CUDATypes.h"
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

using namespace mlir::fa;
using namespace mlir::fa::cuda;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

static constexpr std::string_view kBlanks = " \t\r\n\v\f", kDigits = "0123456789";

/// Remove what `text` begins with, blanks and comments.
static void skipBlanks(std::string_view &text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    std::string_view start = text.substr(0, 2), end = start == "//" ? "\n" : "*/";
    if (start != "//" && start != "/*")
      return;
    size_t at = text.find(end, 2);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  }
}

/// Return the declarations of a kernel's parameters, one an element; nothing where there is no such
/// kernel.
static std::optional<std::vector<std::string>> findParameters(std::string_view ptx,
                                                              std::string_view kernel) {
  constexpr std::string_view entry = ".entry",
                             ofNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$%";
  for (size_t at = ptx.find(entry); at != std::string_view::npos; at = ptx.find(entry, at + 1)) {
    std::string_view rest = ptx.substr(at + entry.size());
    skipBlanks(rest);
    size_t end = rest.find_first_not_of(std::string(ofNames) + std::string(kDigits));
    if (rest.substr(0, end) != kernel)
      continue;
    rest.remove_prefix(kernel.size());
    skipBlanks(rest);
    std::vector<std::string> parameters;
    if (rest.substr(0, 1) != "(")
      return parameters;
    std::string list;
    for (rest.remove_prefix(1);; rest.remove_prefix(1)) {
      // Comments and blanks become one.
      size_t before = rest.size();
      skipBlanks(rest);
      list += rest.size() < before ? " " : "";
      if (rest.empty() || rest.front() == ')' || rest.front() == ',') {
        if (list.find(".param") != std::string::npos)
          parameters.push_back(std::move(list));
        list.clear();
        if (rest.empty() || rest.front() == ')')
          return parameters;
        continue;
      }
      list += rest.front();
    }
  }
  return std::nullopt;
}

/// Return how many bytes a parameter has: 8 of ".param .u64 x", 128 of ".param .align 64 .b8
/// x[128]"; 0 where that is not known.
static uint64_t countBytes(const std::string &parameter) {
  uint64_t bits = 0, count = 1;
  for (size_t at = parameter.find('.'); at != std::string::npos; at = parameter.find('.', at + 1))
    if (std::string_view("busf").find(parameter[at + 1]) != std::string_view::npos)
      if (uint64_t number =
              std::strtoull(&parameter[std::min(at + 2, parameter.size())], nullptr, 10))
        bits = number;
  if (size_t at = parameter.find('['); at != std::string::npos)
    count = std::strtoull(&parameter[at + 1], nullptr, 10);
  return bits / 8 * count;
}

llvm::Error mlir::fa::cuda::checkParameters(llvm::StringRef ptx, const ManifestKernel &kernel) {
  auto declared = findParameters(ptx, kernel.name);
  if (!declared)
    return llvm::Error::success();
  const char *remedy = "; give the manifest that was made with its image";
  if (declared->size() != kernel.parameters.size())
    return error("kernel '" + kernel.name + "' takes " + std::to_string(declared->size()) +
                 " parameters, but the manifest lists " + std::to_string(kernel.parameters.size()) +
                 remedy);
  for (size_t i = 0; i < declared->size(); ++i) {
    bool isMap = kernel.parameters[i].kind == ManifestParameter::TensorMap;
    uint64_t wanted = countBytes((*declared)[i]),
             given = isMap ? sizeof(CUtensorMap) : sizeof(uint64_t);
    if (wanted > given)
      return error("parameter " + std::to_string(i) + " of kernel '" + kernel.name + "' has " +
                   std::to_string(wanted) + " bytes, but the manifest gives it " +
                   std::to_string(given) + remedy);
  }
  return llvm::Error::success();
}
