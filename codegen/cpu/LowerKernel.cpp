//===- LowerKernel.cpp - Kernel IR to LLVM IR ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LowerKernel.h"

#include "codegen/math/ExpandMath.h"
#include "runtime/package/Kernel.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"

#include <mutex>
#include <optional>

using namespace mlir;

namespace weft::codegen {

namespace {

/// Contexts with the dialects of kernel IR loaded. They are reused because making one costs more than parsing
/// a kernel, and dropped after a while because a context keeps every attribute it has seen.
class ContextPool {
public:
  struct Entry {
    std::unique_ptr<MLIRContext> context;
    unsigned uses = 0;
  };

  /// Never destroyed: a thread may still compile when the process ends.
  static ContextPool &get() {
    static ContextPool *pool = new ContextPool;
    return *pool;
  }

  Entry take() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!free.empty()) {
        Entry entry = std::move(free.back());
        free.pop_back();
        return entry;
      }
    }
    DialectRegistry registry;
    registerKernelDialects(registry);
    registry.insert<LLVM::LLVMDialect, ub::UBDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    Entry entry;
    entry.context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    entry.context->loadAllAvailableDialects();
    return entry;
  }

  void give(Entry entry) {
    if (++entry.uses >= maxUses)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (free.size() < maxFree)
      free.push_back(std::move(entry));
  }

private:
  static constexpr unsigned maxUses = 256, maxFree = 16;
  std::mutex mutex;
  std::vector<Entry> free;
};

std::optional<uint32_t> importNumber(StringRef name) {
  static constexpr StringLiteral names[] = {
#define WEFT_IMPORT_NAME(name) #name,
      WEFT_KERNEL_IMPORTS(WEFT_IMPORT_NAME)
#undef WEFT_IMPORT_NAME
  };
  for (uint32_t i = 0; i < std::size(names); ++i)
    if (names[i] == name)
      return i;
  return std::nullopt;
}

Value loadPointer(OpBuilder &b, Location loc, Value base, int64_t byteOffset, Type type) {
  Value address = base;
  if (byteOffset)
    address = b.create<LLVM::GEPOp>(loc, base.getType(), b.getI8Type(), base,
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byteOffset)});
  return b.create<LLVM::LoadOp>(loc, type, address);
}

/// A memref over all memory behind `pointer`.
Value makeMemref(OpBuilder &b, Location loc, Value pointer, MemRefType type) {
  Type i64 = b.getI64Type();
  auto array = LLVM::LLVMArrayType::get(i64, 1);
  auto descriptorType = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {pointer.getType(), pointer.getType(), i64, array, array});
  auto constant = [&](int64_t v) -> Value { return b.create<LLVM::ConstantOp>(loc, i64, v); };
  int64_t size = type.hasStaticShape() ? type.getDimSize(0) : INT64_MAX;
  Value descriptor = b.create<LLVM::UndefOp>(loc, descriptorType);
  auto set = [&](Value value, ArrayRef<int64_t> position) {
    descriptor = b.create<LLVM::InsertValueOp>(loc, descriptor, value, position);
  };
  set(pointer, {0});
  set(pointer, {1});
  set(constant(0), {2});
  set(constant(size), {3, 0});
  set(constant(1), {4, 0});
  return b.create<UnrealizedConversionCastOp>(loc, type, descriptor).getResult(0);
}

bool isTableFunction(StringRef name) { return name.starts_with(bufferPrefix) || name == sizeFunction; }

/// Whether a declaration has one of the two types of declarations for buffers and sizes.
bool isTableRequest(func::FuncOp declaration) {
  Type index = IndexType::get(declaration.getContext());
  if (declaration.getArgumentTypes() != ArrayRef(index) || declaration.getNumResults() != 1)
    return false;
  Type given = declaration.getResultTypes().front();
  auto memref = dyn_cast<MemRefType>(given);
  return declaration.getName() == sizeFunction ? given == index
                                               : memref && memref.getRank() == 1 && memref.isDynamicDim(0);
}

/// Replaces calls for a buffer or a size by loads from the arrays of the kernel's frame, whose addresses
/// become two more arguments of `body`. Returns whether there are such calls.
Expected<bool> bindTable(ModuleOp module, func::FuncOp body, StringRef name) {
  SmallVector<func::FuncOp> declarations;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isDeclaration() && isTableFunction(function.getName())) {
      if (!isTableRequest(function))
        return Status::error("kernel '" + name.str() + "' declares '" + function.getName().str() +
                             "' of another type than one index to a 1-D memref, or to an index");
      declarations.push_back(function);
    }
  if (declarations.empty())
    return false;
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  for (int i = 0; i < 2; ++i)
    body.insertArgument(body.getNumArguments(), pointer, {}, body.getLoc());
  Value sizes = body.getArguments().back(), buffers = *std::prev(body.getArguments().end(), 2);
  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) {
    if (isTableFunction(call.getCallee()))
      calls.push_back(call);
  });
  for (func::CallOp call : calls) {
    if (call->getParentOfType<func::FuncOp>() != body)
      return Status::error("kernel '" + name.str() + "' calls '" + call.getCallee().str() +
                           "' in a helper; pass it what its public function gets");
    OpBuilder b(call);
    Location loc = call.getLoc();
    auto type = dyn_cast<MemRefType>(call.getResult(0).getType());
    Value place = b.create<arith::IndexCastOp>(loc, b.getI64Type(), call.getOperand(0));
    Value address = b.create<LLVM::GEPOp>(loc, pointer, b.getI64Type(), type ? buffers : sizes, place);
    Value found = b.create<LLVM::LoadOp>(loc, type ? pointer : Type(b.getI64Type()), address);
    found = type ? makeMemref(b, loc, found, type)
                 : b.create<arith::IndexCastOp>(loc, b.getIndexType(), found).getResult();
    call.getResult(0).replaceAllUsesWith(found);
    call.erase();
  }
  for (func::FuncOp declaration : declarations)
    declaration.erase();
  return true;
}

/// Replaces calls of imports by calls of addresses from the import table, whose address becomes the last
/// argument of every function. Returns whether there are such calls.
Expected<bool> bindImports(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> declarations, definitions;
  for (auto function : module.getOps<func::FuncOp>())
    (function.isDeclaration() ? declarations : definitions).push_back(function);
  for (func::FuncOp declaration : declarations) {
    StringRef symbol = declaration.getName();
    if (!symbol.starts_with(importPrefix))
      return Status::error("kernel '" + name.str() + "' calls '" + symbol.str() +
                           "', which is outside of the image: a kernel may call its own helpers and the "
                           "runtime's imports ('" +
                           importPrefix.str() + "...') only");
    if (!importNumber(symbol.drop_front(importPrefix.size())))
      return Status::error("kernel '" + name.str() + "' calls '" + symbol.str() +
                           "', which is not in the runtime's import table (runtime/package/Kernel.h)");
  }
  if (declarations.empty())
    return false;
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  for (func::FuncOp definition : definitions)
    definition.insertArgument(definition.getNumArguments(), pointer, {}, definition.getLoc());
  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    OpBuilder b(call);
    Value table = call->getParentOfType<func::FuncOp>().getArguments().back();
    if (!call.getCallee().starts_with(importPrefix)) {
      call.getOperandsMutable().append(table);
      continue;
    }
    uint32_t number = *importNumber(call.getCallee().drop_front(importPrefix.size()));
    Value callee = loadPointer(b, call.getLoc(), table, int64_t(number) * 8, pointer);
    SmallVector<Type> inputs(call.getOperandTypes());
    auto type = LLVM::LLVMFunctionType::get(call.getResult(0).getType(), inputs);
    SmallVector<Value> operands{callee};
    operands.append(call.operand_begin(), call.operand_end());
    auto indirect = b.create<LLVM::CallOp>(call.getLoc(), type, operands);
    call.getResult(0).replaceAllUsesWith(indirect.getResult());
    call.erase();
  }
  for (func::FuncOp declaration : declarations)
    declaration.erase();
  return true;
}

/// Makes a memref argument of the body a bare pointer, from which the body makes the memref.
void makePointer(BlockArgument argument, OpBuilder &inner, Location loc) {
  auto type = cast<MemRefType>(argument.getType());
  argument.setType(LLVM::LLVMPointerType::get(inner.getContext()));
  Value memref = makeMemref(inner, loc, argument, type);
  Operation *first = argument.use_empty() ? nullptr : memref.getDefiningOp();
  // All uses but that of the descriptor itself now refer to the memref.
  SmallPtrSet<Operation *, 2> own;
  for (Value v = first ? first->getOperand(0) : Value(); v;) {
    Operation *op = v.getDefiningOp();
    own.insert(op);
    v = op->getNumOperands() ? op->getOperand(0) : Value();
  }
  argument.replaceUsesWithIf(memref, [&](OpOperand &use) { return !own.contains(use.getOwner()); });
}

/// Makes the kernel a private function over bare pointers, and adds the entry point, which reads the frame.
void makeEntry(ModuleOp module, func::FuncOp body, bool hasTable, bool hasImports) {
  using runtime::KernelFrame;
  OpBuilder b(module.getContext());
  Location loc = body.getLoc();
  std::string symbol = body.getName().str();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type(), index = b.getIndexType();
  SmallVector<int64_t> slots;
  if (auto attr = body->getAttrOfType<DenseI64ArrayAttr>("weft.buffers"))
    llvm::append_range(slots, attr.asArrayRef());

  auto entry = b.create<func::FuncOp>(loc, symbol, b.getFunctionType({pointer, i64, i64}, {}));
  if (body->hasAttr("weft.vectorize"))
    module->setAttr("weft.vectorize", b.getUnitAttr());
  body.setName(symbol + ".body");
  body.setPrivate();
  for (NamedAttribute attr : llvm::to_vector(body->getDiscardableAttrs()))
    if (attr.getName().strref().starts_with("weft."))
      body->removeDiscardableAttr(attr.getName());
  module.push_back(entry);
  Block *block = entry.addEntryBlock();
  b.setInsertionPointToStart(block);
  Value frame = block->getArgument(0);
  Value buffers = loadPointer(b, loc, frame, offsetof(KernelFrame, buffers), pointer);
  Value sizes;
  SmallVector<Value> arguments;
  SmallVector<Type> types;
  OpBuilder inner = OpBuilder::atBlockBegin(&body.front());
  unsigned count = body.getNumArguments() - (hasTable ? 2 : 0) - (hasImports ? 1 : 0);
  unsigned buffer = 0, size = 0;
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = body.getArgument(i);
    Value value;
    if (isa<MemRefType>(argument.getType())) {
      bool isScratch = i == count - 4, isCheck = i == count - 3;
      if (isScratch || isCheck) {
        value =
            loadPointer(b, loc, frame,
                        isScratch ? offsetof(KernelFrame, scratch) : offsetof(KernelFrame, check), pointer);
        body.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
        if (isScratch)
          body.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(64));
      } else {
        value = loadPointer(b, loc, buffers, slots[buffer++] * 8, pointer);
      }
      makePointer(argument, inner, loc);
    } else if (i >= count - 2) {
      value = b.create<arith::IndexCastOp>(loc, index, block->getArgument(i == count - 2 ? 1 : 2));
    } else {
      if (!sizes)
        sizes = loadPointer(b, loc, frame, offsetof(KernelFrame, sizes), pointer);
      value = b.create<arith::IndexCastOp>(loc, index, loadPointer(b, loc, sizes, size++ * 8, i64));
    }
    arguments.push_back(value);
    types.push_back(argument.getType());
    for (NamedAttribute attr : llvm::to_vector(body.getArgAttrDict(i) ? body.getArgAttrDict(i).getValue()
                                                                      : ArrayRef<NamedAttribute>()))
      if (!attr.getName().strref().starts_with("llvm."))
        body.removeArgAttr(i, attr.getName());
  }
  auto pass = [&](Value value) {
    arguments.push_back(value);
    types.push_back(pointer);
  };
  if (hasTable) {
    pass(buffers);
    pass(loadPointer(b, loc, frame, offsetof(KernelFrame, sizes), pointer));
  }
  if (hasImports)
    pass(loadPointer(b, loc, frame, offsetof(KernelFrame, imports), pointer));
  body.setFunctionType(b.getFunctionType(types, {}));
  b.create<func::CallOp>(loc, body, arguments);
  b.create<func::ReturnOp>(loc);
}

/// max(a, b) and min(a, b) of vectors, in five instructions of which few wait for each other. An instruction
/// of x86 returns its second operand if one is not a number, or both are zeros. So the results of both orders
/// differ only there: bitwise, +0 and -0 give the larger or the smaller zero, and a sum is not a number.
void expandExtremes(ModuleOp module) {
  SmallVector<Operation *> work;
  module.walk([&](Operation *op) {
    auto flagged = dyn_cast<arith::ArithFastMathInterface>(op);
    // A constant operand, as that of a relu, needs less.
    auto isConstant = [](Value value) {
      if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
        value = broadcast.getSource();
      return matchPattern(value, m_Constant());
    };
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op) && isa<VectorType>(op->getResult(0).getType()) &&
        flagged.getFastMathFlagsAttr().getValue() == arith::FastMathFlags::none &&
        llvm::none_of(op->getOperands(), isConstant))
      work.push_back(op);
  });
  for (Operation *op : work) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    auto type = cast<VectorType>(op->getResult(0).getType());
    const unsigned width = type.getElementTypeBitWidth();
    if (width < 32)
      continue;
    Type bits = type.clone(b.getIntegerType(width));
    const bool largest = isa<arith::MaximumFOp>(op);
    Value x = op->getOperand(0), y = op->getOperand(1);
    auto choose = [&](Value first, Value second) -> Value {
      const auto predicate = largest ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
      Value chosen = b.create<arith::SelectOp>(loc, b.create<arith::CmpFOp>(loc, predicate, first, second),
                                               first, second);
      return b.create<arith::BitcastOp>(loc, bits, chosen);
    };
    Value one = choose(x, y), other = choose(y, x);
    Value both = largest ? b.create<arith::AndIOp>(loc, one, other).getResult()
                         : b.create<arith::OrIOp>(loc, one, other).getResult();
    Value unordered = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, y);
    Value result = b.create<arith::SelectOp>(loc, unordered, b.create<arith::AddFOp>(loc, x, y),
                                             b.create<arith::BitcastOp>(loc, type, both));
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

void buildPipeline(PassManager &pm) {
  pm.addPass(createConvertVectorToSCFPass(VectorTransferToSCFOptions().enableFullUnroll()));
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createConvertSCFToCFPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace

Expected<std::unique_ptr<llvm::Module>>
detail::translateKernel(StringRef text, StringRef symbol, StringRef name, llvm::LLVMContext &llvmContext) {
  std::string prefix = "kernel '" + name.str() + "': ";
  ContextPool::Entry entry = ContextPool::get().take();
  std::unique_ptr<llvm::Module> result;
  std::string diagnostics;
  Status status;
  {
    ScopedDiagnosticHandler handler(entry.context.get(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return success();
      if (!diagnostics.empty())
        diagnostics += "; ";
      diagnostics += diagnostic.str();
      return success();
    });
    auto run = [&]() -> Status {
      OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(entry.context.get()));
      if (!module)
        return Status::error(prefix + "its IR does not parse: " + diagnostics);
      Expected<std::string> found = kernelSymbol(*module);
      if (!found)
        return found.status();
      PassManager expand(entry.context.get());
      expand.enableVerifier(false);
      expand.addPass(createExpandMathPass());
      if (failed(expand.run(*module)))
        return Status::error(prefix + "expanding its elementary functions failed: " + diagnostics);
      expandExtremes(*module);
      auto kernel = module->lookupSymbol<func::FuncOp>(symbol);
      Expected<bool> hasTable = bindTable(*module, kernel, name);
      if (!hasTable)
        return hasTable.status();
      Expected<bool> hasImports = bindImports(*module, name);
      if (!hasImports)
        return hasImports.status();
      makeEntry(*module, kernel, *hasTable, *hasImports);
      if (failed(verify(*module)))
        return Status::error(prefix + "its IR is not valid after preparation: " + diagnostics);
      PassManager lower(entry.context.get());
      lower.enableVerifier(false);
      buildPipeline(lower);
      if (failed(lower.run(*module)))
        return Status::error(prefix + "conversion to the LLVM dialect failed: " + diagnostics);
      bool vectorize = (*module)->hasAttr("weft.vectorize");
      result = translateModuleToLLVMIR(*module, llvmContext, symbol);
      if (!result)
        return Status::error(prefix + "an operation has no LLVM form: " + diagnostics);
      if (vectorize)
        result->addModuleFlag(llvm::Module::Warning, "weft.vectorize", 1);
      return {};
    };
    status = run();
  }
  ContextPool::get().give(std::move(entry));
  if (!status)
    return status;
  return result;
}

} // namespace weft::codegen
