//===- CudaPrinter.h - Prints functions of kernel IR -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scalar is a constant of C++, a vector an array of as many elements. Successive ops on vectors of one
// width are one loop over the lanes; what only the ops of the loop read is a constant in it, and the rest are
// arrays before it. Literals, vectors of one scalar, extracted lanes and indices that one op reads have no
// statements of their own: they are text in the ops that read them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CUDAPRINTER_H
#define WEFT_CODEGEN_CUDA_CUDAPRINTER_H

#include "codegen/cuda/AccessAlignments.h"
#include "weft/status.hpp"

#include "ir/Size.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <string>

namespace weft::codegen {

/// An elementary function that has no instruction: its device function is named after the op and its types.
std::string elementaryName(mlir::Operation *op);
/// Whether the op is one.
bool isElementary(mlir::Operation *op);

class CudaPrinter {
public:
  explicit CudaPrinter(bool wideIndex) : wideIndex(wideIndex) {}

  /// Appends a device function, or the kernel, to `text`.
  Status printHelper(mlir::func::FuncOp function);
  /// `resident` is the number of blocks for which the compiler limits registers; 0 if that is its choice.
  Status printKernel(mlir::func::FuncOp kernel, int64_t threads, int64_t resident);

  std::string text;
  int64_t dynamicShared = 0; ///< bytes of shared memory that a launch asks for
  bool usesTable = false, usesChecks = false, usesPredicate = false;
  /// What the kernel divides indices by, over its sizes as symbols n0, n1, ...; a launch gives a reciprocal
  /// of each.
  llvm::SmallVector<ir::Size> divisors;
  /// The elementary functions that were called: an op of each, by name.
  std::map<std::string, mlir::Operation *> elementary;

private:
  /// How a value is read.
  struct Form {
    std::string name;   ///< of a variable; or text, in brackets where it needs them
    bool array = false; ///< a vector, of which lane l is name[l + offset]
    int64_t offset = 0;
    bool part = false; ///< the array has more elements than the vector
  };

  // Types and literals
  std::string typeOf(mlir::Type type) const;
  std::string literal(mlir::Type element, mlir::Attribute value) const;
  std::string toSigned(mlir::Type type, const std::string &text) const;

  // Values
  std::string read(mlir::Value value, const std::string &lane = "");
  std::string memory(mlir::Value buffer, mlir::Value index);
  std::string fresh(llvm::StringRef prefix) { return (prefix + llvm::Twine(counts[prefix.str()]++)).str(); }
  /// Gives a value a variable, and returns its declaration, "const float v0".
  std::string declare(mlir::Value value, bool isConst);
  void line(const llvm::Twine &code) { (text.append(indent, ' ') += code.str()) += '\n'; }
  void open(const llvm::Twine &code);
  void close();

  // Ops
  Status block(mlir::Block &block);
  Status operation(mlir::Operation *op);
  Status unknown(mlir::Operation *op, llvm::StringRef why = "") const;
  bool isLanewise(mlir::Operation *op) const;
  void flushLanes();
  /// Whether the op needs no statement: it becomes text where it is read.
  bool makeInline(mlir::Operation *op);
  bool makeConstant(mlir::arith::ConstantOp op);
  /// The text of an op without regions or effects, in lane `lane` if it is on vectors; empty if there is
  /// none.
  std::string expression(mlir::Operation *op, const std::string &lane);
  std::string integerExpression(mlir::Operation *op, const std::string &lane);
  /// The quotient or remainder of an index by a size of the launch; empty if it is divided by something else.
  std::string divisionBySize(mlir::Operation *op, const std::string &lane);
  /// A value as a size over those that the kernel is given; none if it is no such size.
  std::optional<ir::Size> sizeOf(mlir::Value value) const;
  std::string logicExpression(mlir::Operation *op, const std::string &lane);
  std::string floatExpression(mlir::Operation *op, const std::string &lane);
  std::string compare(mlir::Operation *op, const std::string &lane);
  std::string convert(mlir::Operation *op, const std::string &lane);
  std::string mathExpression(mlir::Operation *op, const std::string &lane);
  std::string contracted(mlir::Operation *op, const std::string &lane);
  Status moveLanes(mlir::Operation *op);
  Status exchange(mlir::gpu::ShuffleOp op);
  Status access(mlir::Operation *op);
  Status call(mlir::func::CallOp op);
  Status loop(mlir::scf::ForOp op);
  Status whileLoop(mlir::scf::WhileOp op);
  Status branch(mlir::scf::IfOp op);

  /// Declares a variable for each result, or argument, of a region, with an initial value if there is one.
  void declareAll(mlir::ValueRange values, mlir::ValueRange initial);
  void assignAll(mlir::ValueRange targets, mlir::ValueRange sources);
  void assign(const std::string &target, mlir::Value source);
  std::string parameters(mlir::func::FuncOp function, unsigned count);
  bool isWritten(mlir::Value buffer) const;

  bool wideIndex;
  AccessAlignments alignments;
  size_t indent = 0;
  llvm::DenseMap<mlir::Value, Form> forms;
  std::map<std::string, int> counts;
  llvm::SmallVector<mlir::Operation *> lanes; ///< ops on vectors that are not printed yet
  bool isHelper = false;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CUDAPRINTER_H
