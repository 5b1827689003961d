//===- Transfers.h - Copies and fills of memory -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_TRANSFERS_H
#define WEFT_TEST_CUDASIM_DRIVER_TRANSFERS_H

#include "test/cudasim/driver/State.h"

#include <vector>

namespace weft::cusim {

/// Bytes of a box in memory of a device or of the host: planes of rows.
struct Box {
  uint64_t address = 0, rowPitch = 0, planePitch = 0;
};

struct Copy {
  Box to, from;
  uint64_t width = 0, rows = 1, planes = 1; ///< in bytes, rows and planes
  /// If not empty, the bytes to copy, which were read when the copy was enqueued.
  std::vector<std::byte> staged;

  bool isEmpty() const { return !width || !rows || !planes; }
};

struct Fill {
  Box to;
  uint64_t width = 0, rows = 1; ///< in elements and rows
  uint32_t value = 0, elementBytes = 1;
};

/// The sizes of a copy; CUDA_ERROR_NOT_SUPPORTED for arrays.
CUresult readCopy(const CUDA_MEMCPY2D &source, Copy &copy);
CUresult readCopy(const CUDA_MEMCPY3D &source, Copy &copy);

/// Why a copy or fill cannot be enqueued: memory of a device that is not allocated. Otherwise CUDA_SUCCESS.
CUresult checkCopy(const Copy &copy);
CUresult checkFill(const Fill &fill);

/// Whether the box is in memory of the host that is not pinned.
bool isPageable(const Box &box, const Copy &copy);
/// Reads the bytes of the source now.
void stage(Copy &copy);

Outcome runCopy(const Copy &copy);
Outcome runFill(const Fill &fill);

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_TRANSFERS_H
