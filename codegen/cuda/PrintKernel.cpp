//===- PrintKernel.cpp - Kernel IR as CUDA C++ ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/PrintKernel.h"

#include "codegen/cuda/CudaPrinter.h"
#include "codegen/cuda/IndexRanges.h"
#include "codegen/cuda/Preamble.h"
#include "codegen/cuda/SingleIterations.h"
#include "codegen/kernel/KernelIR.h"
#include "codegen/math/ExpandMath.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/FoldUtils.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace weft::codegen {

/// Makes the module small and canonical: what is computed twice, or of constants, has no statement.
static Status simplify(ModuleOp module, bool expandFunctions) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.enableVerifier(false);
  if (expandFunctions)
    passes.addPass(createExpandMathPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return succeeded(passes.run(module)) ? Status()
                                       : Status::error("a kernel cannot be simplified; this is an error of "
                                                       "Weft: please report it with the program");
}

/// An elementary function as a function of its operands' types: the arithmetic of codegen/math/.
static Expected<OwningOpRef<ModuleOp>> expandElementary(Operation *op, TypeRange inputs, Type result,
                                                        const std::string &name) {
  OpBuilder builder(op->getContext());
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<func::FuncOp>(loc, name, builder.getFunctionType(inputs, result));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  OperationState state(loc, op->getName());
  state.addOperands(function.getArguments());
  state.addTypes(result);
  builder.create<func::ReturnOp>(loc, builder.create(state)->getResults());
  if (Status status = simplify(*module, /*expandFunctions=*/true); !status)
    return status;
  return module;
}

/// Prints the device function of an elementary function of scalars.
static Status printElementary(const std::string &name, Operation *op, CudaPrinter &printer) {
  SmallVector<Type> inputs;
  for (Type type : op->getOperandTypes())
    inputs.push_back(getElementTypeOrSelf(type));
  auto module = expandElementary(op, inputs, getElementTypeOrSelf(op->getResult(0).getType()), name);
  if (!module)
    return module.status();
  return printer.printHelper((*module)->lookupSymbol<func::FuncOp>(name));
}

/// What atan2 of two constants of f64 is, if `op` is that. The folder of the op makes NaN of two zeros.
static bool foldArcTangent(Operation *op) {
  llvm::APFloat y(0.0), x(0.0);
  if (!isa<math::Atan2Op>(op) || !matchPattern(op->getOperand(0), m_ConstantFloat(&y)) ||
      !matchPattern(op->getOperand(1), m_ConstantFloat(&x)))
    return false;
  OpBuilder builder(op);
  Type type = op->getResult(0).getType();
  TypedAttr value =
      builder.getFloatAttr(getElementTypeOrSelf(type), std::atan2(y.convertToDouble(), x.convertToDouble()));
  if (auto shaped = dyn_cast<ShapedType>(type))
    value = DenseElementsAttr::get(shaped, value);
  op->replaceAllUsesWith(builder.create<arith::ConstantOp>(op->getLoc(), type, value));
  op->erase();
  return true;
}

/// Puts the arithmetic in place of elementary functions of constants. The canonicalizer would compute these
/// with the C library of the compiling machine, which gives other bits. Some operands are constants only when
/// what comes before them is folded, such as x ^ x.
static Status expandFunctionsOfConstants(ModuleOp module) {
  SmallVector<Operation *> all;
  module.walk([&](Operation *op) { all.push_back(op); });
  OperationFolder folder(module.getContext());
  for (Operation *op : all) {
    if (op->getNumOperands() == 0 || op->getNumResults() != 1 || op->getNumRegions() != 0)
      continue;
    if (!isElementary(op)) {
      (void)folder.tryToFold(op); // what it computes may be an operand of a function
      continue;
    }
    if (!llvm::all_of(op->getOperands(), [](Value value) { return matchPattern(value, m_Constant()); }))
      continue;
    if (!getElementTypeOrSelf(op->getOperand(0).getType()).isF32()) {
      (void)foldArcTangent(op);
      continue;
    }
    auto expanded = expandElementary(op, op->getOperandTypes(), op->getResult(0).getType(), "expanded");
    if (!expanded)
      return expanded.status();
    Block &body = (*expanded)->lookupSymbol<func::FuncOp>("expanded").getBody().front();
    IRMapping mapping;
    mapping.map(body.getArguments(), op->getOperands());
    OpBuilder builder(op);
    for (Operation &each : body.without_terminator())
      builder.clone(each, mapping);
    op->getResult(0).replaceAllUsesWith(mapping.lookupOrDefault(body.getTerminator()->getOperand(0)));
    op->erase();
  }
  return {};
}

/// Whether `text` uses the function or type `name`.
static bool uses(const std::string &text, StringRef name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const char next = at + name.size() < text.size() ? text[at + name.size()] : ' ';
    if (!llvm::isAlnum(next) && next != '_')
      return true;
  }
  return false;
}

Expected<CudaText> printCuda(ModuleOp module) {
  Expected<std::string> symbol = kernelSymbol(module);
  if (!symbol)
    return symbol.status();
  auto kernel = module.lookupSymbol<func::FuncOp>(*symbol);
  auto threads = kernel->getAttrOfType<IntegerAttr>(threadsAttribute);
  if (!threads || threads.getInt() < 1 || threads.getInt() > 1024)
    return Status::error("kernel '" + *symbol + "' has no " + threadsAttribute.str() +
                         " from 1 to 1024, so it is not one for blocks of threads");
  // Elementary functions stay ops, which the printer calls. Only they are expanded, below.
  widenHalfArithmetic(module);
  expandHalfConversions(module);
  storeBf16AsBits(module);
  if (Status status = expandFunctionsOfConstants(module); !status)
    return status;
  if (Status status = simplify(module, /*expandFunctions=*/false); !status)
    return status;
  replaceSingleIterations(module);

  CudaPrinter printer(/*wideIndex=*/!fitsIndex32(module));
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPrivate() && !function.isDeclaration())
      if (Status status = printer.printHelper(function); !status)
        return status;
  auto resident = kernel->getAttrOfType<IntegerAttr>(residentAttribute);
  if (Status status = printer.printKernel(kernel, threads.getInt(), resident ? resident.getInt() : 0);
      !status)
    return status;
  CudaPrinter functions(/*wideIndex=*/false);
  for (const auto &[name, op] : printer.elementary)
    if (Status status = printElementary(name, op, functions); !status)
      return status;
  CudaText made;
  made.text = functions.text + printer.text;
  for (const PreamblePart &part : llvm::reverse(preamble))
    if (uses(made.text, part.name))
      made.text.insert(0, part.text);
  made.threads = threads.getInt();
  made.usesTable = printer.usesTable;
  made.usesChecks = printer.usesChecks;
  made.usesPredicate = printer.usesPredicate;
  made.divisors = printer.divisors;
  made.dynamicShared = printer.dynamicShared;
  return made;
}

Expected<std::string> elementaryFunctions(ArrayRef<StringRef> names) {
  DialectRegistry registry;
  registerBlockKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto number = builder.create<arith::ConstantOp>(loc, builder.getF32FloatAttr(1));
  CudaPrinter functions(/*wideIndex=*/false);
  for (StringRef name : names) {
    OperationState state(loc, ("math." + name).str());
    state.addOperands(number.getResult());
    state.addTypes(number.getType());
    Operation *op = builder.create(state);
    if (!isElementary(op))
      return Status::error("'" + name.str() + "' is no elementary function");
    if (Status status = printElementary(elementaryName(op), op, functions); !status)
      return status;
  }
  return std::move(functions.text);
}

} // namespace weft::codegen
