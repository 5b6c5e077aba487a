//===- Digest.h - 128 bits that stand for bytes -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_DIGEST_H
#define FA_SUPPORT_DIGEST_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mlir::fa {

/// Tells files that were damaged, and names for keys. Against accidents: no
/// defence against one who makes collisions on purpose.
struct Digest {
  uint64_t words[2] = {0x243F6A8885A308D3, 0x13198A2E03707344};

  void add(const void *data, size_t size) {
    auto *bytes = static_cast<const unsigned char *>(data);
    mix(size);
    for (; size >= 8; size -= 8, bytes += 8) {
      uint64_t word;
      std::memcpy(&word, bytes, 8);
      mix(word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, bytes, size);
    mix(rest);
  }
  bool operator==(const Digest &other) const {
    return words[0] == other.words[0] && words[1] == other.words[1];
  }

private:
  static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  // Each step is a bijection of the state for a given word: a + x * odd, rotated
  // and folded into the other half by addition. So one changed word always shows.
  void mix(uint64_t word) {
    words[0] = (words[0] ^ word) * 0x9E3779B97F4A7C15;
    words[0] ^= words[0] >> 29;
    words[1] += fold(words[0] ^ 0xD6E8FEB86659FD93, word ^ 0xA0761D6478BD642F);
    words[1] = (words[1] << 23 | words[1] >> 41) * 0xE7037ED1A0B428DB;
  }
};

} // namespace mlir::fa

#endif // FA_SUPPORT_DIGEST_H
