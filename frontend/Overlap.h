//===- Overlap.h - Whether two parts of one tensor share elements -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_OVERLAP_H
#define WEFT_FRONTEND_OVERLAP_H

#include <cstdint>
#include <span>

namespace weft::frontend {

/// The elements offset + sum of strides[d] * i[d], for all 0 <= i[d] < sizes[d]. Strides are not negative.
struct StridedBox {
  int64_t offset = 0;
  std::span<const int64_t> sizes, strides;
};

/// Whether it is certain that two boxes have no element in common. False also where finding out takes more
/// than some thousand steps.
bool areDisjoint(const StridedBox &a, const StridedBox &b);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_OVERLAP_H
