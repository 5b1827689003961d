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

/// A value of the program, and what it will be.
struct Entry {
  mlir::Value value;
  /// Null where it is not known while the program grows: after a gradient.
  std::shared_ptr<const ir::Literal> literal;
  /// Every op between the arguments and it has a derivative.
  bool differentiable = true;

  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  DType dtype() const { return ir::dtypeOf(value.getType()); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t count() const { return type().getNumElements(); }
};

/// Holds the values made so far, and finds or makes operands for the next op. Everything is executed as it is
/// built: an op whose result is mostly NaN or infinite is taken back more often than not.
class ProgramBuilder {
public:
  ProgramBuilder(mlir::MLIRContext *context, uint64_t seed);

  /// \name Operands
  /// @{
  /// An existing value that `accept` accepts, or null: `next` where that is one, and else rather a recent
  /// one.
  const Entry *find(llvm::function_ref<bool(const Entry &)> accept);
  /// A value of that type: an existing one, one that is made from existing ones, a constant or an argument.
  /// Rather not `beside`.
  mlir::Value obtain(DType dtype, llvm::ArrayRef<int64_t> shape, mlir::Value beside = {});
  /// A new argument; `kind` and `bound` as in Inputs.h.
  mlir::Value argument(DType dtype, llvm::ArrayRef<int64_t> shape, llvm::StringRef kind, int64_t bound = 0);
  mlir::Value constant(DType dtype, llvm::ArrayRef<int64_t> shape);
  /// The same 0-dimensional argument whenever it is asked for under one name.
  mlir::Value scalar(DType dtype, llvm::StringRef kind, llvm::StringRef use);
  DType anyDType(bool floatOnly = false);
  Shape anyShape(unsigned minRank = 0);
  int64_t anySize();
  /// @}

  /// Executes an op that was just built and adds its results to the values. Takes it back, and returns false,
  /// where that fails, is too large, or gives little but NaN.
  bool commit(mlir::Operation *op, bool hasDerivative = true);

  /// Inserts `op` and commits it.
  template <typename Op, typename... Args> bool add(bool hasDerivative, Args &&...args) {
    return commit(builder.create<Op>(loc, std::forward<Args>(args)...), hasDerivative);
  }

  const Entry &entryOf(mlir::Value value) const { return entries[index.lookup(value)]; }
  /// Makes a value known without executing anything.
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
  /// What the next op is to be of; asked for once.
  mlir::Value next;
  /// No value has more elements.
  int64_t maxElements = 4096;
  bool usesGenerator = false;
  /// A result that fails the call, if there is one.
  mlir::Value failing;
  /// The counter that a store at the end of the function writes back.
  mlir::Value generatorKey, generatorCounter;

private:
  mlir::Value derive(DType dtype, llvm::ArrayRef<int64_t> shape);
  void tieResults(llvm::ArrayRef<mlir::Value> results);
  /// Lets calls give some arguments in memory that is not row-major.
  void chooseStrides();

  llvm::DenseMap<mlir::Value, size_t> index;
  llvm::StringMap<mlir::Value> scalars;
  std::vector<std::string> argumentNames;
  Shape sizes;
  unsigned favourite = 0;
};

} // namespace weft::randomtest

#endif // WEFT_TEST_RANDOM_PROGRAMBUILDER_H
