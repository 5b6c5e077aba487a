//===- Safetensors.cpp - reads and writes safetensors files -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/Safetensors.h"
#include "fa/Support/Files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::fa;
using llvm::StringRef;

static constexpr uint64_t kMaxHeader = 100'000'000;

/// The format's names, in the order of DType.
static constexpr const char *kNames[] = {"F16", "BF16", "F32", "F64", "I8",
                                         "I16", "I32",  "I64", "U8",  "BOOL"};

static std::optional<DType> dtypeNamed(StringRef name) {
  const auto *it = llvm::find(kNames, name);
  return it == std::end(kNames) ? std::nullopt
                                : std::optional(static_cast<DType>(it - std::begin(kNames)));
}

const HostTensor *Safetensors::find(StringRef name) const {
  for (const HostTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

class Reader {
public:
  Reader(StringRef contents, StringRef file) : contents(contents), file(file) {}
  llvm::Expected<Safetensors> read();

private:
  struct Entry {
    uint64_t begin, end;
    HostTensor tensor;
  };

  /// "file: tensor 'x': message", one line whatever the names hold.
  template <typename... Args> llvm::Error error(const char *format, Args &&...args) {
    std::string text = file.str() + ": ";
    if (tensor)
      text += "tensor '" + *tensor + "': ";
    text += llvm::formatv(format, std::forward<Args>(args)...).str();
    for (char &c : text)
      if (static_cast<unsigned char>(c) < ' ')
        c = '?';
    if (text.size() > 500)
      text = text.substr(0, 500) + "...";
    return llvm::createStringError(text);
  }

  llvm::Error readHeader();
  llvm::Error scanJson(StringRef json);
  llvm::Error readMetadata(const llvm::json::Value &value, Safetensors &result);
  llvm::Error readEntry(const llvm::json::Value &value);
  llvm::Error readOffsets(const llvm::json::Object &object, Entry &entry);
  llvm::Error checkLayout();

  StringRef contents, file, header, data;
  std::optional<std::string> tensor; ///< the one being read, for errors
  std::vector<Entry> entries;
};

} // namespace

llvm::Error Reader::readHeader() {
  if (contents.size() < 8)
    return error("has {0} bytes, too few for the 8 of the header's size; the file is truncated "
                 "or no safetensors file",
                 contents.size());
  uint64_t size = llvm::support::endian::read64le(contents.data());
  if (size > kMaxHeader)
    return error("the header claims {0} bytes, above the limit of {1}; is it a safetensors file?",
                 size, kMaxHeader);
  if (size > contents.size() - 8)
    return error("the header claims {0} bytes, {1} are left in the file; the file is truncated",
                 size, contents.size() - 8);
  header = contents.substr(8, size);
  data = contents.drop_front(8 + size);
  return llvm::Error::success();
}

/// Refuse what the JSON parser lets pass: repeated keys, of which it keeps one, and
/// nesting deep enough to exhaust its stack. Runs on unchecked text.
llvm::Error Reader::scanJson(StringRef json) {
  struct Level {
    bool isObject, wantsKey;
    llvm::StringSet<> keys;
  };
  std::vector<Level> levels;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (c == '{' || c == '[') {
      if (levels.size() == 4)
        return error("the header nests deeper than 4 levels at byte {0}; write it anew", i);
      levels.push_back({c == '{', c == '{', {}});
    } else if ((c == '}' || c == ']') && !levels.empty()) {
      levels.pop_back();
    } else if (c == ',' && !levels.empty()) {
      levels.back().wantsKey = levels.back().isObject;
    } else if (c == '"') {
      size_t begin = i;
      for (++i; i < json.size() && json[i] != '"'; ++i)
        if (json[i] == '\\')
          ++i;
      if (levels.empty() || !levels.back().wantsKey)
        continue;
      levels.back().wantsKey = false;
      llvm::Expected<llvm::json::Value> key = llvm::json::parse(json.slice(begin, i + 1));
      if (!key)
        return error("the header is not valid JSON: {0}; write it anew",
                     llvm::toString(key.takeError()));
      StringRef name = key->getAsString().value_or("");
      if (!levels.back().keys.insert(name).second)
        return error("the header has the key '{0}' twice; names must be unique", name);
    }
  }
  return llvm::Error::success();
}

llvm::Error Reader::readMetadata(const llvm::json::Value &value, Safetensors &result) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return error("__metadata__ must be an object of strings; remove it or write strings");
  for (const auto &[key, item] : *object) {
    std::optional<StringRef> text = item.getAsString();
    if (!text)
      return error("__metadata__ has '{0}', which is no string; write it as one", StringRef(key));
    result.metadata[StringRef(key).str()] = text->str();
  }
  return llvm::Error::success();
}

/// Return a JSON integer >= 0.
static std::optional<uint64_t> naturalOf(const llvm::json::Value &value) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < 0)
    return std::nullopt;
  return *number;
}

llvm::Error Reader::readOffsets(const llvm::json::Object &object, Entry &entry) {
  const llvm::json::Array *offsets = object.getArray("data_offsets");
  if (!offsets || offsets->size() != 2 || !naturalOf((*offsets)[0]) || !naturalOf((*offsets)[1]))
    return error("data_offsets must be [begin, end], integers >= 0; write the file anew");
  entry.begin = *naturalOf((*offsets)[0]);
  entry.end = *naturalOf((*offsets)[1]);
  if (entry.begin > entry.end)
    return error("data_offsets begin at {0}, after their end {1}; write the file anew", entry.begin,
                 entry.end);
  if (entry.end > data.size())
    return error("data_offsets end at {0}, the file has {1} bytes of data; the file is truncated",
                 entry.end, data.size());
  return llvm::Error::success();
}

llvm::Error Reader::readEntry(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return error("must be an object of dtype, shape and data_offsets; write the file anew");
  for (const auto &[key, item] : *object)
    if (!llvm::is_contained({"dtype", "shape", "data_offsets"}, StringRef(key)))
      return error("has an unknown key '{0}': expected dtype, shape and data_offsets",
                   StringRef(key));
  std::optional<StringRef> name = object->getString("dtype");
  std::optional<DType> dtype = name ? dtypeNamed(*name) : std::nullopt;
  if (!dtype)
    return error("has dtype {0}: expected one of {1}; convert it",
                 name ? "'" + name->str() + "'" : std::string("of no string"),
                 llvm::join(llvm::ArrayRef(kNames), ", "));
  const llvm::json::Array *sizes = object->getArray("shape");
  if (!sizes)
    return error("has no shape; expected a list of integers >= 0");
  Entry entry;
  for (const llvm::json::Value &size : *sizes) {
    std::optional<uint64_t> number = naturalOf(size);
    if (!number)
      return error("has the size {0} in its shape: expected an integer >= 0", size);
    entry.tensor.shape.push_back(*number);
  }
  std::optional<int64_t> count = elementCount(entry.tensor.shape, *dtype);
  if (!count)
    return error("has shape {0} of {1}, whose bytes overflow 64 bits; is the shape right?",
                 toString(entry.tensor.shape), *name);
  if (llvm::Error problem = readOffsets(*object, entry))
    return problem;
  uint64_t bytes = *count * sizeOf(*dtype);
  if (entry.end - entry.begin != bytes)
    return error("has {0} bytes, its shape {1} of {2} needs {3}; write the file anew",
                 entry.end - entry.begin, toString(entry.tensor.shape), *name, bytes);
  entry.tensor.name = *tensor;
  entry.tensor.dtype = *dtype;
  entries.push_back(std::move(entry));
  return llvm::Error::success();
}

/// Sorts by place, and finds overlaps and bytes of no tensor.
llvm::Error Reader::checkLayout() {
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  uint64_t end = 0;
  StringRef previous;
  for (const Entry &entry : entries) {
    tensor = entry.tensor.name;
    if (entry.begin < end)
      return error("begins at byte {0} of the data, inside '{1}', which ends at {2}; tensors "
                   "must not overlap",
                   entry.begin, previous, end);
    if (entry.begin > end)
      return error("begins at byte {0} of the data, {1} bytes before it belong to no tensor; "
                   "write the file without holes",
                   entry.begin, entry.begin - end);
    end = entry.end;
    previous = entry.tensor.name;
  }
  tensor.reset();
  if (end != data.size())
    return error("has {0} bytes of data, its tensors take {1}; cut off the rest", data.size(), end);
  return llvm::Error::success();
}

llvm::Expected<Safetensors> Reader::read() {
  if (llvm::Error problem = readHeader())
    return problem;
  if (llvm::Error problem = scanJson(header))
    return problem;
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(header);
  if (!json)
    return error("the header is not valid JSON: {0}; write it anew",
                 llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return error("the header must be a JSON object of tensors; write it anew");
  Safetensors result;
  for (const auto &[key, value] : *object) {
    if (key == "__metadata__") {
      if (llvm::Error problem = readMetadata(value, result))
        return problem;
      continue;
    }
    tensor = StringRef(key).str();
    if (llvm::Error problem = readEntry(value))
      return problem;
  }
  tensor.reset();
  if (llvm::Error problem = checkLayout())
    return problem;
  for (Entry &entry : entries) {
    const auto *bytes = reinterpret_cast<const std::byte *>(data.data());
    entry.tensor.data.assign(bytes + entry.begin, bytes + entry.end);
    result.tensors.push_back(std::move(entry.tensor));
  }
  return result;
}

llvm::Expected<Safetensors> fa::parseSafetensors(StringRef contents, StringRef file) {
  return Reader(contents, file).read();
}

llvm::Expected<Safetensors> fa::readSafetensors(StringRef path) {
  if (!llvm::sys::fs::exists(path))
    return llvm::createStringError(path + ": no such file; check the path");
  // A pipe or device might never end.
  if (!llvm::sys::fs::is_regular_file(path))
    return llvm::createStringError(path + ": not a regular file; expected a safetensors file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(path + ": cannot be read: " + buffer.getError().message() +
                                   "; check the permissions");
  return parseSafetensors((*buffer)->getBuffer(), path);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Error fa::writeSafetensors(StringRef path, const Safetensors &contents) {
  // Wide elements first, so that all are aligned.
  std::vector<const HostTensor *> order;
  for (const HostTensor &tensor : contents.tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const HostTensor *a, const HostTensor *b) {
    return std::pair(sizeOf(b->dtype), a) < std::pair(sizeOf(a->dtype), b);
  });
  llvm::json::Object header;
  uint64_t end = 0;
  for (const HostTensor *tensor : order) {
    auto error = [&](StringRef problem) {
      return llvm::createStringError(path + ": tensor '" + tensor->name + "': " + problem);
    };
    if (!llvm::json::isUTF8(tensor->name) || tensor->name == "__metadata__")
      return error("its name cannot be written; choose another");
    if (!tensor->isConsistent())
      return error("its data is not as large as its shape says");
    llvm::json::Object entry{{"dtype", kNames[static_cast<int>(tensor->dtype)]},
                             {"shape", llvm::json::Array(tensor->shape)},
                             {"data_offsets", {end, end + tensor->data.size()}}};
    if (!header.try_emplace(tensor->name, std::move(entry)).second)
      return error("is there twice; names must be unique");
    end += tensor->data.size();
  }
  if (!contents.metadata.empty()) {
    llvm::json::Object metadata;
    for (const auto &[key, value] : contents.metadata)
      metadata[llvm::json::fixUTF8(key)] = llvm::json::fixUTF8(value);
    header["__metadata__"] = std::move(metadata);
  }
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header)));
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeader)
    return llvm::createStringError(path + ": the header would exceed 100 MB; write fewer tensors");
  return writeFile(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    char size[8];
    llvm::support::endian::write64le(size, text.size());
    os.write(size, 8) << text;
    for (const HostTensor *tensor : order)
      os.write(reinterpret_cast<const char *>(tensor->data.data()), tensor->data.size());
    return llvm::Error::success();
  });
}
