//===- OpCatalog.h - What the dialect offers to a generator ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops are read from the registered dialect, so that a new elementwise op is generated automatically, and
// any other new op without a sampler fails a test. The operands of an elementwise op are those that its
// verifier accepts.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_OPCATALOG_H
#define WEFT_TEST_RANDOM_OPCATALOG_H

#include "ir/Dialect.h"
#include "weft/status.hpp"

#include <string>
#include <vector>

namespace weft::randomtest {

/// One way to use an elementwise op.
struct Signature {
  llvm::SmallVector<DType, 3> operands;
  llvm::SmallVector<mlir::NamedAttribute, 1> attributes;
  DType result;
};

struct ElementwiseEntry {
  mlir::OperationName name;
  std::vector<Signature> signatures;
};

struct OpCatalog {
  std::vector<ElementwiseEntry> elementwise;
  /// The sorted names of the other ops that compute.
  std::vector<std::string> others;

  /// All names, for the table of coverage.
  std::vector<std::string> names() const;
  /// Fails if an elementwise op accepts none of the tried operands.
  static Expected<OpCatalog> discover(mlir::MLIRContext &context);
};

inline constexpr DType kAllDTypes[] = {DType::i1,  DType::i8,  DType::i16,  DType::i32, DType::i64,
                                       DType::ui8, DType::f16, DType::bf16, DType::f32, DType::f64};

mlir::RankedTensorType tensorType(mlir::MLIRContext *context, DType dtype, llvm::ArrayRef<int64_t> shape);

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_OPCATALOG_H
