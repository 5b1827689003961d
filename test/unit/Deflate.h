//===- Deflate.h - Compressed data for tests of readers ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_DEFLATE_H
#define WEFT_TEST_UNIT_DEFLATE_H

#include <gtest/gtest.h>

#include <string>
#include <zlib.h>

namespace weft {

/// `windowBits` is zlib's: -15 for the bare stream, as in zip archives, 15 + 16 for gzip.
inline std::string deflated(const std::string &text, int windowBits) {
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, 9, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&state, text.size()) + 32, '\0');
  state.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef *>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

} // namespace weft

#endif // WEFT_TEST_UNIT_DEFLATE_H
