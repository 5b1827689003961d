//===- ProgramBuilder.h - A program that grows -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_RANDOM_PROGRAMBUILDER_H
#define WEFT_TEST_RANDOM_PROGRAMBUILDER_H

#include "Inputs.h"
#include "OpCatalog.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace weft::randomtest {

using Shape = llvm::SmallVector<int64_t>;

/// A value of the program, and its elements.
struct Entry {
  mlir::Value value;
  /// Null if the elements are not known while the program is built, for example after a gradient.
  std::shared_ptr<const ir::Literal> literal;
  /// Whether every op between the arguments and the value has a derivative.
  bool differentiable = true;

  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  DType dtype() const { return ir::dtypeOf(value.getType()); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t count() const { return type().getNumElements(); }
};

/// Has the values of the program so far, and finds or makes operands for the next op. Each op is executed
/// when it is built, and is usually removed if its results are mostly NaN or infinite.
class ProgramBuilder {
public:
  ProgramBuilder(mlir::MLIRContext *context, uint64_t seed);

  /// \name Operands
  /// @{
  /// An existing value that `accept` accepts, or null. `next` is preferred, then recent values.
  const Entry *find(llvm::function_ref<bool(const Entry &)> accept);
  /// A value of that type: an existing one, one that is computed from existing ones, a constant or an
  /// argument; preferably not `beside`.
  mlir::Value obtain(DType dtype, llvm::ArrayRef<int64_t> shape, mlir::Value beside = {});
  /// A new argument; `kind` and `bound` as in Inputs.h.
  mlir::Value argument(DType dtype, llvm::ArrayRef<int64_t> shape, llvm::StringRef kind, int64_t bound = 0);
  mlir::Value constant(DType dtype, llvm::ArrayRef<int64_t> shape);
  /// A 0-dimensional argument. Calls with the same `use` return the same argument.
  mlir::Value scalar(DType dtype, llvm::StringRef kind, llvm::StringRef use);
  DType anyDType(bool floatOnly = false);
  Shape anyShape(unsigned minRank = 0);
  int64_t anySize();
  /// @}

  /// Executes an op that was just built and adds its results to the values. If that fails, or the results are
  /// too large or mostly NaN, the op is removed, and false is returned.
  bool commit(mlir::Operation *op, bool hasDerivative = true);

  /// Inserts `op` and commits it.
  template <typename Op, typename... Args> bool add(bool hasDerivative, Args &&...args) {
    return commit(builder.create<Op>(loc, std::forward<Args>(args)...), hasDerivative);
  }

  const Entry &entryOf(mlir::Value value) const { return entries[index.lookup(value)]; }
  /// Adds a value with known elements, without executing an op.
  void define(mlir::Value value, std::shared_ptr<const ir::Literal> literal, bool differentiable);

  /// Picks results, ties some to donated arguments, and ends the function.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  mlir::MLIRContext *context;
  uint64_t seed;
  PhiloxSequence random;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::FuncOp function;
  std::vector<Entry> entries;
  /// The preferred operand of the next op. `find` resets it.
  mlir::Value next;
  /// The most elements that a value may have.
  int64_t maxElements = 4096;
  bool usesGenerator = false;
  /// The result whose computation fails the call, if there is one.
  mlir::Value failing;
  /// The key, and the counter that a store at the end of the function writes.
  mlir::Value generatorKey, generatorCounter;

private:
  mlir::Value derive(DType dtype, llvm::ArrayRef<int64_t> shape);
  void tieResults(llvm::ArrayRef<mlir::Value> results);
  /// Chooses strides of some arguments, so that calls pass memory that is not row-major.
  void chooseStrides();

  llvm::DenseMap<mlir::Value, size_t> index;
  llvm::StringMap<mlir::Value> scalars;
  std::vector<std::string> argumentNames;
  Shape sizes;
  unsigned favourite = 0;
};

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_PROGRAMBUILDER_H
