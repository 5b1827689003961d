//===- KernelCompiler.h - What makes code of kernel text -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_KERNEL_KERNELCOMPILER_H
#define WEFT_CODEGEN_KERNEL_KERNELCOMPILER_H

#include "weft/status.hpp"

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <string>
#include <vector>

namespace weft::codegen {

/// The times of one compilation, in milliseconds.
struct CompileStats {
  double lower = 0;    ///< text to LLVM IR
  double optimise = 0; ///< mid-end
  double generate = 0; ///< code generation
  size_t objectBytes = 0;
  double total() const { return lower + optimise + generate; }
};

inline double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Compiles kernels for one target. Several threads may use it at once.
class KernelCompiler {
public:
  virtual ~KernelCompiler() = default;
  /// The name and the version of the compiler. Compilers with the same identity generate the same code from
  /// the same text for the same target.
  virtual std::string identity() const = 0;
  /// The target, for example "x86-64-v4".
  virtual std::string target() const = 0;
  /// The code of canonical kernel text, which exports `canonicalSymbol`; `name` is for messages.
  virtual Expected<std::vector<char>> compile(llvm::StringRef text, llvm::StringRef name,
                                              CompileStats *stats) const = 0;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_KERNEL_KERNELCOMPILER_H
