//===- OpCatalog.cpp - What the dialect offers to a generator -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "OpCatalog.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
namespace weft::randomtest {

RankedTensorType tensorType(MLIRContext *context, DType dtype, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, ir::toElementType(context, dtype),
                               ir::DeviceAttr::get(context, ir::DeviceKind::cpu, 0));
}

namespace {

/// Finds the signatures that verifiers accept, with operands of shape [2] in a temporary block.
class Prober {
public:
  explicit Prober(MLIRContext *context)
      : context(context), silence(context, [](Diagnostic &) { return success(); }) {
    for (DType dtype : kAllDTypes)
      block.addArgument(tensorType(context, dtype, {2}), UnknownLoc::get(context));
  }

  std::vector<Signature> probe(RegisteredOperationName name) {
    std::vector<Signature> found;
    for (unsigned count = 1; count <= 3; ++count)
      for (DType dtype : kAllDTypes) {
        SmallVector<DType, 3> same(count, dtype);
        probe(name, same, found);
        // The only mixed signature: the first operand is a condition.
        if (count > 1 && dtype != DType::i1) {
          same[0] = DType::i1;
          probe(name, same, found);
        }
      }
    return found;
  }

private:
  void probe(RegisteredOperationName name, ArrayRef<DType> operands, std::vector<Signature> &found) {
    ArrayRef<StringAttr> attributes = name.getAttributeNames();
    if (attributes.empty()) {
      tryResults(name, operands, {}, {operands.back(), DType::i1}, found);
      return;
    }
    // The attributes of elementwise ops are element types.
    for (DType to : kAllDTypes) {
      SmallVector<NamedAttribute, 1> values;
      for (StringAttr attribute : attributes)
        values.emplace_back(attribute, TypeAttr::get(ir::toElementType(context, to)));
      tryResults(name, operands, values, {to}, found);
    }
  }

  void tryResults(RegisteredOperationName name, ArrayRef<DType> operands, ArrayRef<NamedAttribute> attributes,
                  ArrayRef<DType> results, std::vector<Signature> &found) {
    for (DType result : results) {
      OperationState state(UnknownLoc::get(context), name);
      for (DType operand : operands)
        state.operands.push_back(block.getArgument(static_cast<unsigned>(operand)));
      state.addTypes(tensorType(context, result, {2}));
      state.addAttributes(attributes);
      Operation *op = Operation::create(state);
      block.push_back(op);
      // Inferred types are checked by the region invariants.
      bool valid = succeeded(op->getName().verifyInvariants(op)) &&
                   succeeded(op->getName().verifyRegionInvariants(op));
      op->erase();
      if (valid) {
        found.push_back(
            {SmallVector<DType, 3>(operands), SmallVector<NamedAttribute, 1>(attributes), result});
        return;
      }
    }
  }

  MLIRContext *context;
  ScopedDiagnosticHandler silence;
  Block block;
};

} // namespace

Expected<OpCatalog> OpCatalog::discover(MLIRContext &context) {
  context.getOrLoadDialect<ir::WeftDialect>();
  Prober prober(&context);
  OpCatalog catalog;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != ir::WeftDialect::getDialectNamespace())
      continue;
    if (name.hasInterface<ir::ElementwiseOp>()) {
      auto signatures = prober.probe(name);
      if (signatures.empty())
        return Status::error(name.getStringRef().str() +
                             " accepts none of the operands that OpCatalog.cpp tries: teach it this op's "
                             "operands and attributes");
      catalog.elementwise.push_back({name, std::move(signatures)});
    } else if (name.getStringRef() == ir::GradientOp::getOperationName() ||
               (name.hasInterface<ir::InterpretableOp>() &&
                name.getStringRef() != ir::FusionOp::getOperationName() &&
                name.getStringRef() != ir::AttentionOp::getOperationName() &&
                name.getStringRef() != ir::ImplicitGemmOp::getOperationName() &&
                name.getStringRef() != ir::PrintOp::getOperationName())) {
      // Fusions and launches of attention and convolutions are made by passes, and gradients are made
      // separately. test/tools/effects.test compares the output of weft.print, which would only fill the log
      // here.
      catalog.others.push_back(name.getStringRef().str());
    }
  }
  llvm::sort(catalog.elementwise, [](const ElementwiseEntry &a, const ElementwiseEntry &b) {
    return a.name.getStringRef() < b.name.getStringRef();
  });
  llvm::sort(catalog.others);
  return catalog;
}

std::vector<std::string> OpCatalog::names() const {
  std::vector<std::string> all(others);
  for (const ElementwiseEntry &entry : elementwise)
    all.push_back(entry.name.getStringRef().str());
  llvm::sort(all);
  return all;
}

} // namespace weft::randomtest
