//===- Kernel.h - How the runtime calls a compiled kernel -------*- C -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract between code generation and the runtime. Everything here is part of the package format:
// a change needs a new `kernelAbi`.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PACKAGE_KERNEL_H
#define WEFT_RUNTIME_PACKAGE_KERNEL_H

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

inline constexpr uint32_t kernelAbi = 1;

/// A failed check of a kernel, for example an index out of bounds. A kernel that finds a violation fills the
/// record if its position is below the recorded one, so the reported violation is the first in row-major
/// order for any number of threads. `check` 0 means that no check failed.
struct CheckRecord {
  int64_t check = 0;            ///< 1-based number in the plan's table of checks
  int64_t position = INT64_MAX; ///< linear index of the offending element
  int64_t value = 0;            ///< the offending value
};

/// The argument of a kernel, besides its range. The order of fields is ABI: kernels read them by byte offset.
struct KernelFrame {
  void *const *buffers; ///<  0: one pointer per operand, then per result, in the launch's order
  const int64_t *sizes; ///<  8: run-time integers of the launch (dynamic sizes), or its table of tensors
  void *const *imports; ///< 16: library functions by ImportId
  void *scratch;        ///< 24: the launch's scratch_bytes, 64-byte aligned, private to the thread
  CheckRecord *check;   ///< 32: private to the thread
};

/// Runs the tasks [begin, end) of a launch. Tasks of one launch are independent of each other and may run
/// in any order on any thread. Never throws, never allocates.
using KernelFn = void (*)(const KernelFrame *frame, int64_t begin, int64_t end);

/// Library functions that an image may call, by position in KernelFrame::imports. Append only.
/// All are the C library's functions on doubles (f64 goes through libm; f32 has functions of its own).
// clang-format off
#define WEFT_KERNEL_IMPORTS(X)                                                                                       \
  X(exp) X(expm1) X(log) X(log1p) X(log2) X(sin) X(cos) X(tan) X(tanh) X(asin) X(acos) X(atan) X(erf) X(pow)         \
  X(atan2) X(fmod) X(lgamma)
// clang-format on

enum class ImportId : uint32_t {
#define WEFT_IMPORT_ENUM(name) name##_f64,
  WEFT_KERNEL_IMPORTS(WEFT_IMPORT_ENUM)
#undef WEFT_IMPORT_ENUM
      count
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PACKAGE_KERNEL_H
