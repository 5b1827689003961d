//===- Overlap.cpp - Whether strided parts of memory share elements ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two boxes share an element where
//
//   sum of a.strides[d] * i[d]  -  sum of b.strides[d] * j[d]  =  b.offset - a.offset
//
// has a solution within the sizes. Dimensions of equal stride are one variable whose range is the sum of
// their ranges, so parts of one row-major tensor have few variables. The search begins with the largest
// stride. The range of the sum of the other terms, and their greatest common divisor, leave only a few values
// to try.
//
//===----------------------------------------------------------------------===//
#include "runtime/memory/Overlap.h"

#include "runtime/memory/Layout.h"
#include "weft/limits.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

namespace weft::runtime {

namespace {

// Sums of products of sizes and strides of two tensors may pass 2^63.
using Wide = __int128;

/// A term of the equation, and the range of the sum of all terms from this one on.
struct Term {
  Wide stride, low, high; ///< the variable goes from `low` to `high`
  Wide least = 0, most = 0;
  int64_t divisor = 0; ///< the greatest common divisor of the strides from this one on
};

Wide floorDivide(Wide a, Wide b) { return a / b - (a % b < 0); }

class Search {
public:
  Search(const StridedBox &a, const StridedBox &b) {
    std::map<int64_t, std::pair<Wide, Wide>, std::greater<>> ranges;
    for (size_t d = 0; d < a.sizes.size(); ++d)
      ranges[a.strides[d]].second += a.sizes[d] - 1;
    for (size_t d = 0; d < b.sizes.size(); ++d)
      ranges[b.strides[d]].first -= b.sizes[d] - 1;
    ranges.erase(0);
    for (const auto &[stride, range] : ranges)
      terms.push_back({stride, range.first, range.second});
    for (size_t i = terms.size(); i-- > 0;) {
      Term &term = terms[i];
      const bool last = i + 1 == terms.size();
      term.least = term.stride * term.low + (last ? 0 : terms[i + 1].least);
      term.most = term.stride * term.high + (last ? 0 : terms[i + 1].most);
      term.divisor = std::gcd(static_cast<int64_t>(term.stride), last ? 0 : terms[i + 1].divisor);
    }
  }

  /// Whether the terms from `first` on can have the sum `sum`; true also if the limit on steps is reached.
  bool reaches(size_t first, Wide sum) {
    if (first == terms.size())
      return sum == 0;
    const Term &term = terms[first];
    if (sum < term.least || sum > term.most || sum % term.divisor != 0)
      return false;
    const bool last = first + 1 == terms.size();
    const Wide least = last ? 0 : terms[first + 1].least, most = last ? 0 : terms[first + 1].most;
    const Wide from = std::max(term.low, -floorDivide(most - sum, term.stride)),
               to = std::min(term.high, floorDivide(sum - least, term.stride));
    for (Wide value = from; value <= to; ++value)
      if (--steps < 0 || reaches(first + 1, sum - value * term.stride))
        return true;
    return false;
  }

private:
  std::vector<Term> terms;
  int steps = 4096;
};

} // namespace

bool areDisjoint(const StridedBox &a, const StridedBox &b) {
  for (const StridedBox *box : {&a, &b})
    if (std::find(box->sizes.begin(), box->sizes.end(), 0) != box->sizes.end())
      return true;
  constexpr size_t most = maxRank + 1; // dimensions, and the bytes of an element
  if (a.sizes.size() > most || b.sizes.size() > most)
    return false;
  return !Search(a, b).reaches(0, static_cast<Wide>(b.offset) - a.offset);
}

namespace {

/// The bytes of a tensor as a box: its dimensions, and the bytes of an element as one more.
struct ByteBox {
  std::array<int64_t, maxRank + 1> sizes, strides;
  StridedBox box;

  explicit ByteBox(const StridedMemory &memory) {
    const auto itemsize = static_cast<int64_t>(memory.itemsize);
    box.offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.data));
    size_t rank = 0;
    if (memory.strides.empty() || is_row_major(memory.shape, memory.strides)) {
      sizes[0] = itemsize;
      for (const int64_t extent : memory.shape)
        sizes[0] *= extent;
      strides[rank++] = 1;
    } else {
      for (size_t d = 0; d < memory.shape.size(); ++d) {
        if (memory.shape[d] == 1) // its stride may be anything
          continue;
        sizes[rank] = memory.shape[d];
        strides[rank] = memory.strides[d] * itemsize;
        if (strides[rank] < 0) {
          box.offset += strides[rank] * (sizes[rank] - 1);
          strides[rank] = -strides[rank];
        }
        ++rank;
      }
      sizes[rank] = itemsize;
      strides[rank++] = 1;
    }
    box.sizes = std::span(sizes.data(), rank);
    box.strides = std::span(strides.data(), rank);
  }
  ByteBox(const ByteBox &) = delete;
};

} // namespace

ByteRange bytesOf(const StridedMemory &memory) {
  if (std::find(memory.shape.begin(), memory.shape.end(), 0) != memory.shape.end())
    return {};
  const ByteBox bytes(memory);
  ByteRange range = {bytes.box.offset, bytes.box.offset + 1};
  for (size_t d = 0; d < bytes.box.sizes.size(); ++d)
    range.high += bytes.strides[d] * (bytes.sizes[d] - 1);
  return range;
}

bool areDisjoint(const StridedMemory &a, const StridedMemory &b) {
  return areDisjoint(ByteBox(a).box, ByteBox(b).box);
}

} // namespace weft::runtime
