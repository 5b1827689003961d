//===- RawKernel.cpp - weft.raw_kernel ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/RawKernel.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace weft::ir {

// What every CUDA device can launch; what one device can is known when code is made for it.
static constexpr int64_t mostThreads[] = {1024, 1024, 64};
static constexpr int64_t mostThreadsOfBlock = 1024, mostSharedBytes = int64_t(1) << 20;

/// A number that is passed by value; nothing for other attributes.
static std::optional<RawParameter> numberOf(Attribute attribute) {
  auto read = [](const APInt &bits) -> std::optional<RawParameter> {
    const unsigned width = bits.getBitWidth();
    if (width != 1 && width != 8 && width != 16 && width != 32 && width != 64)
      return std::nullopt;
    return RawParameter{{}, {}, std::max(1u, width / 8), bits.getZExtValue(), {}};
  };
  if (auto size = dyn_cast<SizeAttr>(attribute))
    return RawParameter{{}, {}, sizeof(int64_t), 0, size.getSize()};
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return read(real.getValue().bitcastToAPInt());
  auto whole = dyn_cast<IntegerAttr>(attribute);
  return whole && isa<IntegerType>(whole.getType()) ? read(whole.getValue()) : std::nullopt;
}

SmallVector<RawParameter> rawParameters(RawKernelOp op) {
  SmallVector<RawParameter> parameters;
  unsigned operands = 0, results = 0;
  for (Attribute attribute : op.getParameters()) {
    RawParameter &made = parameters.emplace_back();
    if (auto keyword = dyn_cast<StringAttr>(attribute)) {
      if (keyword.getValue() != "out")
        made.operand = operands++;
      if (keyword.getValue() != "in")
        made.result = results++;
    } else if (std::optional<RawParameter> number = numberOf(attribute)) {
      made = *number;
    }
  }
  return parameters;
}

bool changesInPlace(RawKernelOp op, unsigned operand, unsigned result) {
  return llvm::any_of(rawParameters(op), [&](const RawParameter &parameter) {
    return parameter.operand == operand && parameter.result == result;
  });
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static LogicalResult verifyForm(RawKernelOp op, StringRef name, ArrayRef<Size> found,
                                ArrayRef<int64_t> most) {
  bool fits = found.size() == most.size();
  for (auto [size, limit] : llvm::zip(found, most))
    if (std::optional<int64_t> number = size.number())
      fits &= *number >= 1 && *number <= limit;
  if (fits)
    return success();
  return op.emitOpError() << "needs a " << name << " of three numbers from 1 to [" << most << "], found ["
                          << sizesText(found) << "] (" << "WEFT-K005" << ")";
}

static LogicalResult verifyParameters(RawKernelOp op) {
  unsigned operands = 0, results = 0;
  for (auto [i, attribute] : llvm::enumerate(op.getParameters())) {
    auto keyword = dyn_cast<StringAttr>(attribute);
    const StringRef word = keyword ? keyword.getValue() : StringRef();
    if (keyword ? word != "in" && word != "out" && word != "in_out" : !numberOf(attribute))
      return op.emitOpError()
             << "parameter " << i << " is " << attribute
             << ", expected \"in\", \"out\", \"in_out\", a number of up to 64 bits, or a size";
    if (word == "in_out" && operands < op.getInputs().size() && results < op.getNumResults() &&
        op.getInputs()[operands].getType() != op.getResult(results).getType())
      return op.emitOpError() << "parameter " << i << " changes a tensor of type "
                              << op.getInputs()[operands].getType() << ", and its result has type "
                              << op.getResult(results).getType();
    operands += word == "in" || word == "in_out";
    results += word == "out" || word == "in_out";
  }
  if (operands != op.getInputs().size() || results != op.getNumResults())
    return op.emitOpError() << "has parameters for " << operands << " operands and " << results
                            << " results, and has " << op.getInputs().size() << " and " << op.getNumResults();
  if (results == 0)
    return op.emitOpError() << "needs a parameter that it writes: without results it would never run";
  return success();
}

LogicalResult RawKernelOp::verify() {
  if (!isIdentifier(getEntry()))
    return emitOpError() << "needs the name of a kernel, found '" << getEntry() << "'";
  if (failed(verifyForm(*this, "grid", getGrid(), mostGridBlocks)) ||
      failed(verifyForm(*this, "block", SmallVector<Size>(getBlock()), mostThreads)))
    return failure();
  if (const int64_t threads = getBlock()[0] * getBlock()[1] * getBlock()[2]; threads > mostThreadsOfBlock)
    return emitOpError() << "needs blocks of up to " << mostThreadsOfBlock << " threads, found " << threads
                         << " (" << "WEFT-K005" << ")";
  if (const auto shared = static_cast<int64_t>(getShared()); shared < 0 || shared > mostSharedBytes)
    return emitOpError() << "needs from 0 to " << mostSharedBytes << " bytes of shared memory, found "
                         << shared << " (" << "WEFT-K005" << ")";
  if (failed(verifyParameters(*this)))
    return failure();
  const DeviceAttr device = deviceOf(getResult(0).getType()).withoutSizes();
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(getOperandTypes()), llvm::to_vector(getResultTypes()))) {
    if (deviceOf(type).isCpu())
      return emitOpError() << "'" << getEntry() << "' is CUDA C++, for which the device cpu has no compiler ("
                           << "WEFT-K004"
                           << "); to fix, move its tensors with .to(\"cuda\"), and compile for a target with "
                              "a GPU, as cuda:sm_90";
    if (deviceOf(type).withoutSizes() != device)
      return emitOpError() << "has tensors on " << deviceOf(type).withoutSizes().str() << " and "
                           << device.str() << ", and runs on one device";
  }
  return success();
}

} // namespace weft::ir
