//===- VerifyPlacement.cpp - The device of every value --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/FunctionAttributes.h"
#include "ir/Placement.h"
#include "passes/Passes.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_VERIFYPLACEMENT
#include "passes/Passes.h.inc"

namespace {

/// MLIR's verifier stops at the first wrong op, and an op's verifier sees only that op. This walk reports
/// every wrong op, and checks values of other dialects, results on another device than their operands, and
/// calls.
struct VerifyPlacement : impl::VerifyPlacementBase<VerifyPlacement> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    bool failed = false;
    getOperation().walk([&](Operation *op) {
      failed |= mlir::failed(checkPlaced(op)) || mlir::failed(checkDevices(op)) ||
                mlir::failed(checkCall(op, symbols));
    });
    getOperation().walk([&](ir::FuncOp function) { failed |= mlir::failed(checkRoles(function)); });
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  /// Checks that every tensor has a device.
  LogicalResult checkPlaced(Operation *op) {
    auto check = [&](Type type, const Twine &what) -> LogicalResult {
      if (!isa<TensorType>(type) || ir::isWeftTensor(type))
        return success();
      auto diag = op->emitOpError() << "has " << what << " of type " << type << ", which has no device ("
                                    << "WEFT-P002" << ")";
      diag.attachNote() << "to fix, write the device into the type, as in `tensor<4xf32, #weft.device<cpu>>`";
      return failure();
    };
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (failed(check(operand.getType(), "operand #" + Twine(i))))
        return failure();
    for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
      if (failed(check(type, "result #" + Twine(i))))
        return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (failed(check(argument.getType(), "block argument #" + Twine(argument.getArgNumber()))))
            return failure();
    return success();
  }

  /// Checks that all operands are on one device, by the rule of the op verifiers, and the results too.
  LogicalResult checkDevices(Operation *op) {
    if (isa<ir::TransferOp, ir::ToHostScalarOp, ir::GradientOp, ir::CallOp, ir::ReturnOp, ir::YieldOp>(op))
      return success();
    if (failed(ir::impl::verifySameDevice(op)))
      return failure();
    ir::DeviceAttr expected = ir::computeDevice(op);
    if (!expected)
      return success();
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      ir::DeviceAttr device = ir::deviceOf(result.getType());
      if (!device || device == expected)
        continue;
      auto diag = op->emitOpError() << "has its operands on " << expected.str() << " but result #" << i
                                    << " on " << device.str() << " (" << "WEFT-P001" << ")";
      for (OpOperand &operand : op->getOpOperands())
        if (ir::deviceOf(operand.get().getType()) == expected) {
          diag.attachNote(operand.get().getLoc()) << "this operand is on " << expected.str();
          break;
        }
      diag.attachNote(op->getLoc()) << "only `weft.transfer` moves a tensor to another device";
      return failure();
    }
    return success();
  }

  /// Checks that operands and results of a call are on the devices that the callee's signature has for them.
  LogicalResult checkCall(Operation *op, SymbolTableCollection &symbols) {
    auto call = dyn_cast<ir::CallOp>(op);
    if (!call)
      return success();
    auto callee = symbols.lookupNearestSymbolFrom<ir::FuncOp>(op, call.getCalleeAttr());
    if (!callee)
      return call.emitOpError() << "calls '" << call.getCallee()
                                << "', which is not a function of this module";
    auto compare = [&](TypeRange found, TypeRange expected, StringRef what) -> LogicalResult {
      for (auto [i, types] : llvm::enumerate(llvm::zip(found, expected))) {
        ir::DeviceAttr here = ir::deviceOf(std::get<0>(types)), there = ir::deviceOf(std::get<1>(types));
        if (here == there || !here || !there)
          continue;
        auto diag = call.emitOpError()
                    << "has " << what << " #" << i << " on " << here.str() << ", but '" << call.getCallee()
                    << "' has it on " << there.str() << " (" << "WEFT-P001" << ")";
        diag.attachNote(callee.getLoc()) << "the function is here";
        return failure();
      }
      return success();
    };
    return failure(failed(compare(call.getOperandTypes(), callee.getArgumentTypes(), "argument")) ||
                   failed(compare(call.getResultTypes(), callee.getResultTypes(), "result")));
  }

  /// Checks that a host scalar is 0-dimensional, because only such a value can be passed with each call.
  LogicalResult checkRoles(ir::FuncOp function) {
    bool failed = false;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (ir::roleOf(function, static_cast<unsigned>(i)) != ir::ArgumentRole::scalar || !tensor ||
          tensor.getRank() == 0)
        continue;
      function.emitOpError() << "has argument #" << i << " of role 'scalar' and type " << type
                             << "; a host scalar is 0-dimensional (" << "WEFT-P003" << ")";
      failed = true;
    }
    return success(!failed);
  }
};

} // namespace
} // namespace weft::passes
