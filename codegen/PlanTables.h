//===- PlanTables.h - What the launches of a plan refer to ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_PLANTABLES_H
#define WEFT_CODEGEN_PLANTABLES_H

#include "ir/Dialect.h"
#include "ir/Size.h"
#include "runtime/plan/plan_generated.h"
#include "weft/status.hpp"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace weft::codegen {

/// An expressible size as plans and images have it, over the numbers of its symbols.
std::unique_ptr<fb::SizeExpressionT> packedSize(ir::Size size,
                                                llvm::function_ref<uint32_t(llvm::StringRef)> numberOf);

/// The tables of a function's plan: sizes, devices, arguments, results, scalars and buffers. Launches refer
/// to their entries by number. An entry is added when it is first asked for.
class PlanTables {
public:
  explicit PlanTables(ir::FuncOp function) : function(function) {}

  /// Fills in what does not depend on launches: the signature, the devices and the bytes of the arena.
  Status fillTables();

  /// A size as a plan encodes it.
  int64_t size(ir::Size value);
  /// An amount for reports and estimates. If it cannot be expressed, it is the largest integer.
  uint64_t amount(ir::Size value);
  std::vector<int64_t> sizes(llvm::ArrayRef<ir::Size> values);
  /// Whether the plan was given a size that it cannot express.
  bool lacksSize() const { return inexpressible; }

  uint32_t deviceNumber(mlir::Type type);

  /// The plan's buffer of a value: that of its slice, or of its operand's slice if the value is a view.
  Expected<uint32_t> bufferOf(mlir::Value value);
  /// Whether a copy moves a scalar to a device for what is computed there. It has one in its block of
  /// scalars.
  bool readsScalarBlock(mlir::Operation *op);

  static Status problem(mlir::Operation *op, const std::string &what);

protected:
  ir::FuncOp function;
  fb::PlanT plan;

private:
  uint64_t unsignedSize(ir::Size value) { return static_cast<uint64_t>(size(value)); }
  void addSymbols();
  uint32_t deviceNumber(ir::DeviceAttr device);
  Status addDevices();
  mlir::Type firstTemporary();
  std::unique_ptr<fb::TensorTypeT> typeOf(mlir::Type type);
  void addArguments();
  void addResults();
  bool addScalar(unsigned i);
  uint32_t scalarBuffer(mlir::Type type, uint32_t number);
  uint32_t bufferIndex(mlir::Type type, fb::Storage storage, uint32_t index, ir::Size offset, ir::Size bytes);

  llvm::DenseMap<mlir::Value, uint32_t> buffers;
  std::map<std::tuple<uint32_t, fb::Storage, uint32_t, int64_t, int64_t>, uint32_t> known;
  llvm::SmallVector<ir::DeviceAttr> devices; ///< in the order of the plan's list
  llvm::DenseMap<ir::DeviceAttr, uint32_t> deviceNumbers;
  std::map<std::string, uint32_t> symbolNumbers;
  std::map<int64_t, int64_t> sizeNumbers;
  bool inexpressible = false; ///< a size of the plan
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_PLANTABLES_H
