//===- KernelBuilder.h - A kernel function under construction --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the kernel's function and its loops. Each loop is a scope. A value is emitted in the outermost scope
// in which all its operands are available, so loop invariants are computed once.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_KERNELBUILDER_H
#define WEFT_CODEGEN_EMIT_KERNELBUILDER_H

#include "codegen/emit/BodyGraph.h"
#include "codegen/emit/Mapping.h"
#include "ir/Alignment.h"
#include "ir/ScalarEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace weft::codegen {

class BodyEmitter;

class KernelBuilder {
public:
  /// Opens a module with the function `symbol`, whose buffers are the fusion's operands and results; of
  /// optimiser steps they are the numbers of each group (StepGroups.h), and the tensors are in a table.
  KernelBuilder(ir::FusionOp fusion, llvm::StringRef symbol, const Mapping &mapping);

  ir::FusionOp fusion;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::Location loc;

  mlir::Value operand(unsigned i) const { return buffers[i]; }
  mlir::Value result(unsigned i) { return buffers[fusion.getNumOperands() + i]; }
  mlir::Value scratch, check, begin, end;
  const Mapping &mapping;
  /// Element type in memory: i1 takes a byte.
  static mlir::Type memoryType(mlir::Type element);
  /// The buffer of result `i` as vectors of `width` elements.
  mlir::Value resultAsVectors(unsigned i, int64_t width);
  /// Scratch bytes from `offset` on as elements of `type`.
  mlir::Value scratchView(int64_t offset, int64_t count, mlir::Type type) {
    return mapping.scratch(*this, offset, count, type);
  }

  template <typename Op, typename... Args> Op create(Args &&...args) {
    return builder.create<Op>(loc, std::forward<Args>(args)...);
  }
  /// A size: a constant, or computed from the sizes that the kernel is called with.
  mlir::Value index(ir::Size value);
  /// index() as i64.
  mlir::Value integer(ir::Size value);
  mlir::Value addIndex(mlir::Value a, ir::Size b);
  mlir::Value add(mlir::Value a, mlir::Value b) { return create<mlir::arith::AddIOp>(a, b); }
  mlir::Value mul(mlir::Value a, ir::Size b);
  mlir::Value minimum(mlir::Value a, mlir::Value b) { return create<mlir::arith::MinSIOp>(a, b); }

  /// Emits a loop. `body` gets the loop variable and the carried values, and returns the next carried values.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> forLoop(mlir::Value from, mlir::Value to, mlir::Value step,
                                         mlir::ValueRange initial, Body body);
  llvm::SmallVector<mlir::Value> forLoop(mlir::Value from, mlir::Value to, int64_t step,
                                         mlir::ValueRange initial, Body body) {
    return forLoop(from, to, index(step), initial, body);
  }
  void forLoop(mlir::Value from, mlir::Value to, int64_t step, llvm::function_ref<void(mlir::Value)> body) {
    forLoop(from, to, index(step), body);
  }
  void forLoop(mlir::Value from, mlir::Value to, mlir::Value step,
               llvm::function_ref<void(mlir::Value)> body);
  /// The loop over the tasks.
  void forTasks(llvm::function_ref<void(mlir::Value task)> body) { forLoop(begin, end, 1, body); }
  /// Says that the loop that was emitted last is not to be unrolled.
  void rollLoop();
  /// Where the last whole vector of [low, high) ends; `low` if there is none.
  mlir::Value endOfVectors(mlir::Value low, mlir::Value high, int64_t lanes);
  /// Emits a loop over vectors, then one over single elements; the mapping divides them among workers.
  void parallelFor(mlir::Value low, mlir::Value high, int64_t lanes, bool exact, Mapping::ParallelBody body) {
    mapping.parallelFor(*this, low, high, lanes, exact, body);
  }
  void withStreams(bool streaming, int64_t lanes, Mapping::StreamBody emit) {
    mapping.withStreams(*this, streaming, lanes, emit);
  }
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body,
              llvm::function_ref<void()> otherwise = {});

  /// \name Scopes
  /// @{
  unsigned depth() const { return static_cast<unsigned>(scopes.size()) - 1; }
  void pushScope(mlir::Operation *anchor);
  void popScope();
  /// Moves the insertion point to where values of scope `depth` belong.
  void moveTo(unsigned depth);
  void addEmitter(BodyEmitter *emitter) { emitters.push_back(emitter); }
  void removeEmitter(BodyEmitter *emitter) { llvm::erase(emitters, emitter); }
  /// @}

  /// The symbols that the fusion's types use: the run-time integers of its launches, in order.
  llvm::SmallVector<std::string> symbols;
  ir::SymbolRanges ranges;

  /// Set if a size that the kernel needs is inexpressible; then the kernel must not be used.
  bool lacksSize = false;

  /// Ends the function: adds the return and the attribute `weft.buffers`.
  void finish();
  /// Writes what is known of the addresses of the launch's buffers, for a GPU: to the function's arguments,
  /// and to the functions that return a buffer of the table, which may be any.
  void recordAlignments(const ir::Alignments &alignments);

  /// The plan's number of the first check of this kernel; gathers are numbered in op order.
  int64_t firstCheck = 1;
  int64_t checkOf(mlir::Operation *gather) const;

private:
  llvm::SmallVector<mlir::Value> buffers, symbolValues;
  llvm::SmallVector<int64_t> slots;
  /// For each scope, the op in its block that contains the next scope; null for a scope without a region.
  llvm::SmallVector<mlir::Operation *> scopes;
  llvm::SmallVector<BodyEmitter *> emitters;
};

/// Emits the nodes of one graph, each once per scope that it is valid in.
class BodyEmitter {
public:
  BodyEmitter(KernelBuilder &kernel, BodyGraph &graph);
  ~BodyEmitter() { kernel.removeEmitter(this); }
  BodyEmitter(const BodyEmitter &) = delete;

  /// Sets the value of a loop variable in the current scope.
  void setVar(VarId var, mlir::Value value);
  /// Sets the value of a node in the current scope (reductions, values kept in scratch).
  void setNode(int node, mlir::Value value);
  /// The value of a node: a scalar, or a vector if its lanes differ.
  mlir::Value emit(int node);
  /// emit(), as a vector if the graph has more than one lane.
  mlir::Value emitVector(int node);
  mlir::Value toVector(mlir::Value value);
  mlir::Value emitExpr(const IndexExpr &e);
  /// Stores `value` at linear index `address`: as a vector if the address has a lane coefficient. A
  /// `streaming` store bypasses the cache; its `buffer` is one of resultAsVectors().
  void store(mlir::Value buffer, const IndexExpr &address, mlir::Value value, bool streaming = false);
  /// Stores the values that are not null to the results of the same numbers. `streams` has the buffers of
  /// results that bypass the cache if they are stored as vectors; it may be empty.
  void storeResults(llvm::ArrayRef<mlir::Value> values, const IndexExpr &address,
                    llvm::ArrayRef<mlir::Value> streams);
  mlir::Value load(mlir::Value buffer, const IndexExpr &address, mlir::Type element);
  /// Prefetches, for each vector that `roots` read from a large operand, the cache line some elements ahead.
  /// `advance` returns this distance for a load; 0 means no prefetch.
  void prefetch(llvm::ArrayRef<int> roots, llvm::function_ref<int64_t(const BodyNode &)> advance);
  /// Consecutive elements from `position` on, as many as there are lanes.
  mlir::Value loadVector(mlir::Value buffer, mlir::Value position, mlir::Type element);

  void dropScope(unsigned depth);

  KernelBuilder &kernel;
  BodyGraph &graph;
  IndexSpace &space;

private:
  template <typename T> struct Known {
    T value;
    unsigned depth;
  };
  mlir::Value emitNode(const BodyNode &node);
  mlir::Value emitVar(VarId id);
  mlir::Value fromMemory(mlir::Value value, mlir::Type element);
  mlir::Value emitLoad(const BodyNode &node, mlir::Type element);
  mlir::Value loadOf(const BodyNode &node, mlir::Type element);
  mlir::Value loadApart(mlir::Value buffer, const IndexExpr &address, mlir::Type element,
                        const BodyNode::Bound *bound);
  /// The smallest and the largest value of an index.
  struct NumberRange {
    int64_t low, high;
    NumberRange plus(int64_t number) const { return {low + number, high + number}; }
  };
  std::optional<NumberRange> rangeOfFirst(const IndexExpr &e, int64_t last) const;
  mlir::Value loadWithin(mlir::Value buffer, mlir::Value at, mlir::Value number,
                         std::optional<NumberRange> numbers, ir::Size extent, mlir::VectorType type);
  mlir::Value emitPhilox(const BodyNode &node);
  mlir::Type boundType(const BodyNode::Bound &bound);
  mlir::Value emitPadded(const BodyNode &node);
  mlir::Value emitCheckedIndex(const BodyNode &node);
  mlir::Value emitElementwise(const BodyNode &node);
  unsigned depthOf(const IndexExpr &e) const;
  unsigned depthOf(const BodyNode &node) const;
  unsigned depthOfVar(VarId id) const;
  mlir::Value laneVector(const IndexExpr &e, mlir::Type element);

  llvm::DenseMap<int, Known<mlir::Value>> nodeValues, varValues;
  std::map<std::vector<int64_t>, Known<mlir::Value>> exprValues;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_KERNELBUILDER_H
