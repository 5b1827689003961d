//===- CompilerContext.h - Contexts of MLIR, one a thread -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILER_COMPILERCONTEXT_H
#define WEFT_FRONTEND_COMPILER_COMPILERCONTEXT_H

#include <cstdint>
#include <memory>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace weft::frontend {

/// An MLIR context, which one thread uses at a time.
struct CompilerContext;

/// While it exists, this thread has a context to itself, which context() returns.
class ContextUse {
public:
  /// Takes a free context or makes a new one. A context keeps every type, attribute and location that was
  /// made in it, so contexts that have grown heavy are replaced. A module that is kept keeps its context.
  explicit ContextUse(uint64_t weight);
  /// Takes this context, and waits until it is free.
  explicit ContextUse(std::shared_ptr<CompilerContext> context);
  ~ContextUse();
  ContextUse(const ContextUse &) = delete;
  ContextUse &operator=(const ContextUse &) = delete;

  const std::shared_ptr<CompilerContext> &get() const { return context_; }

private:
  void begin();

  std::shared_ptr<CompilerContext> context_;
  mlir::MLIRContext *previous_ = nullptr;
};

/// The context of the ContextUse that lives in this thread.
mlir::MLIRContext &context();

/// An inference makes a few types and attributes, a compilation many.
inline constexpr uint64_t weightOfInference = 1, weightOfCompilation = 16;

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILER_COMPILERCONTEXT_H
