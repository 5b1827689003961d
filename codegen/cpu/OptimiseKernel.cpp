//===- OptimiseKernel.cpp - LLVM IR of a kernel to machine code ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The settings for code in an image: position independent, all symbols hidden, no unwinding, no jump tables,
// no library calls, and no fused multiply-adds except those in the kernel IR.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LowerKernel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/LowerMemIntrinsics.h"

#include <chrono>
#include <mutex>

namespace weft::codegen {

namespace {

constexpr const char *tripleName = "x86_64-unknown-linux-gnu";

Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(CpuTarget target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
  std::string error;
  const llvm::Target *x86 = llvm::TargetRegistry::lookupTarget(tripleName, error);
  if (!x86)
    return Status::error("this LLVM cannot generate code for x86-64 (" + error +
                         "): install one with the X86 target");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      x86->createTargetMachine(tripleName, target.cpu(), "", options, llvm::Reloc::PIC_,
                               llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return Status::error("LLVM made no target machine for " + std::string(target.cpu()));
  return machine;
}

/// Sets linkage and the function attributes that code generation reads.
void prepareModule(llvm::Module &module, llvm::StringRef symbol, CpuTarget target) {
  const char *width = target.level == CpuTarget::v4 ? "512" : "256";
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (function.getName() == symbol) {
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
      function.setDSOLocal(true);
    } else {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    if (function.getName() == (symbol + ".body").str())
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.removeFnAttr(llvm::Attribute::UWTable);
    function.removeFnAttr(llvm::Attribute::StackProtectStrong);
    function.addFnAttr("no-builtins");
    function.addFnAttr("no-jump-tables", "true");
    function.addFnAttr("target-cpu", target.cpu());
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
  }
  for (llvm::GlobalVariable &global : module.globals())
    if (!global.isDeclaration())
      global.setLinkage(llvm::GlobalValue::InternalLinkage);
}

/// Replaces copies and fills by loops where code generation would emit calls.
void expandMemoryIntrinsics(llvm::Module &module, const llvm::TargetMachine &machine) {
  constexpr uint64_t inlineBytes = 128;
  llvm::SmallVector<llvm::MemIntrinsic *> work;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (auto *intrinsic = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
          auto *length = llvm::dyn_cast<llvm::ConstantInt>(intrinsic->getLength());
          if (!length || length->getZExtValue() > inlineBytes)
            work.push_back(intrinsic);
        }
  for (llvm::MemIntrinsic *intrinsic : work) {
    llvm::TargetTransformInfo tti = machine.getTargetTransformInfo(*intrinsic->getFunction());
    if (auto *copy = llvm::dyn_cast<llvm::MemCpyInst>(intrinsic))
      llvm::expandMemCpyAsLoop(copy, tti);
    else if (auto *move = llvm::dyn_cast<llvm::MemMoveInst>(intrinsic))
      llvm::expandMemMoveAsLoop(move, tti);
    else
      llvm::expandMemSetAsLoop(llvm::cast<llvm::MemSetInst>(intrinsic));
    intrinsic->eraseFromParent();
  }
}

/// Streaming stores are weakly ordered. A kernel with such stores ends with a store fence, so that they are
/// visible once its completion is.
void fenceStreamingStores(llvm::Module &module, llvm::Function &entry) {
  bool streams = false;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        streams |= llvm::isa<llvm::StoreInst>(instruction) &&
                   instruction.hasMetadata(llvm::LLVMContext::MD_nontemporal);
  if (!streams)
    return;
  for (llvm::BasicBlock &block : entry)
    if (auto *ret = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
      llvm::IRBuilder<>(ret).CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

/// Hides conversions between f16 and wider floats from the optimiser, as calls of functions without effects.
/// LLVM 19 moves selects and maxima across such conversions, to half operations that have no instruction, and
/// loses the sign of zeros and NaN.
class HiddenHalfConversions {
public:
  explicit HiddenHalfConversions(llvm::Module &module) : module(module) {
    for (llvm::CastInst *cast : collect<llvm::CastInst>(isHalfConversion)) {
      llvm::Type *from = cast->getSrcTy(), *to = cast->getDestTy();
      llvm::IRBuilder<> b(cast);
      llvm::CallInst *call = b.CreateCall(functionFor(from, to), {cast->getOperand(0)});
      cast->replaceAllUsesWith(call);
      cast->eraseFromParent();
    }
  }

  void restore() {
    for (llvm::CallInst *call : collect<llvm::CallInst>(isHidden)) {
      llvm::IRBuilder<> b(call);
      call->replaceAllUsesWith(b.CreateFPCast(call->getArgOperand(0), call->getType()));
      call->eraseFromParent();
    }
    for (llvm::Function &function : llvm::make_early_inc_range(module))
      if (function.getName().starts_with(prefix) && function.use_empty())
        function.eraseFromParent();
  }

private:
  static constexpr llvm::StringLiteral prefix = "weft.half.";

  static bool isHalfConversion(llvm::CastInst &cast) {
    return llvm::isa<llvm::FPExtInst, llvm::FPTruncInst>(cast) &&
           (cast.getSrcTy()->getScalarType()->isHalfTy() || cast.getDestTy()->getScalarType()->isHalfTy());
  }
  static bool isHidden(llvm::CallInst &call) {
    llvm::Function *callee = call.getCalledFunction();
    return callee && callee->getName().starts_with(prefix);
  }

  template <typename T> llvm::SmallVector<T *> collect(bool (*wanted)(T &)) {
    llvm::SmallVector<T *> found;
    for (llvm::Function &function : module)
      for (llvm::BasicBlock &block : function)
        for (llvm::Instruction &instruction : block)
          if (auto *typed = llvm::dyn_cast<T>(&instruction); typed && wanted(*typed))
            found.push_back(typed);
    return found;
  }

  llvm::FunctionCallee functionFor(llvm::Type *from, llvm::Type *to) {
    std::string name = prefix.str();
    llvm::raw_string_ostream out(name);
    out << *from << " to " << *to;
    llvm::FunctionCallee callee =
        module.getOrInsertFunction(name, llvm::FunctionType::get(to, {from}, false));
    auto *function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setDoesNotAccessMemory();
    for (auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn,
                           llvm::Attribute::Speculatable, llvm::Attribute::NoSync, llvm::Attribute::NoFree})
      function->addFnAttr(attribute);
    return callee;
  }

  llvm::Module &module;
};

void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // Kernels are vectorised and unrolled when they are emitted.
  bool vectorize = module.getModuleFlag("weft.vectorize") != nullptr;
  tuning.LoopVectorization = vectorize;
  tuning.LoopInterleaving = vectorize;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = vectorize;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([&] {
    llvm::TargetLibraryInfoImpl none{llvm::Triple(tripleName)};
    none.disableAllFunctions();
    return llvm::TargetLibraryAnalysis(none);
  });
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

/// Reports problems that the linker would report without the kernel's name, or not at all.
Status checkSelfContained(llvm::Module &module, llvm::StringRef name) {
  std::string prefix = "kernel '" + name.str() + "' ";
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return Status::error(prefix + "calls '" + function.getName().str() +
                           "', which is outside of the image");
  for (llvm::GlobalVariable &global : module.globals()) {
    const auto refuse = [&](const char *what, const char *why) {
      return Status::error(llvm::formatv("{0}{1} '{2}', {3}", prefix, what, global.getName(), why).str());
    };
    if (global.getName().starts_with("llvm.global_ctors") ||
        global.getName().starts_with("llvm.global_dtors"))
      return refuse("has the static constructors", "which nothing would run");
    if (global.isThreadLocal())
      return refuse("has the thread-local variable", "which an image cannot hold");
    if (global.isDeclaration() && !global.use_empty())
      return refuse("refers to the variable", "which is outside of the image");
    if (global.hasInitializer() && global.getInitializer()->needsDynamicRelocation())
      return refuse("has the variable", "whose initial value holds an address; an image is never relocated");
  }
  if (!module.alias_empty() || !module.ifunc_empty())
    return Status::error(prefix + "has aliases or indirect functions, which an image cannot hold");
  return {};
}

/// Code generation turns some operations into calls; their symbols are undefined in the object.
Status checkObject(llvm::StringRef bytes, llvm::StringRef name) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, name));
  if (!object)
    return Status::error("kernel '" + name.str() +
                         "': its object cannot be read back: " + llvm::toString(object.takeError()));
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> text = symbol.getName();
    if (!flags || !text) {
      std::string error = !flags ? llvm::toString(flags.takeError()) : std::string();
      if (!text)
        error += llvm::toString(text.takeError());
      return Status::error("kernel '" + name.str() + "': its object has a bad symbol: " + error);
    }
    // The null symbol and an unused name of the GOT are no references.
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !text->empty() &&
        *text != "_GLOBAL_OFFSET_TABLE_")
      return Status::error("kernel '" + name.str() + "' calls '" + text->str() +
                           "', which is outside of the image: an operation in it has no instruction on the "
                           "target");
  }
  return {};
}

} // namespace

Expected<std::vector<char>> detail::emitKernel(llvm::Module &module, llvm::StringRef symbol,
                                               llvm::StringRef name, CpuTarget target, EmitKind kind,
                                               CompileStats *stats) {
  auto start = std::chrono::steady_clock::now();
  auto machine = makeTargetMachine(target);
  if (!machine)
    return machine.status();
  module.setTargetTriple(tripleName);
  module.setDataLayout((*machine)->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  prepareModule(module, symbol, target);
  HiddenHalfConversions halves(module);
  optimise(module, **machine);
  halves.restore();
  expandMemoryIntrinsics(module, **machine);
  llvm::Function *entry = module.getFunction(symbol);
  if (!entry || entry->isDeclaration())
    return Status::error("kernel '" + name.str() + "': its entry point was lost in optimisation");
  fenceStreamingStores(module, *entry);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(module, &problems))
    return Status::error("kernel '" + name.str() + "': LLVM IR is not valid after optimisation: " + problem);
  if (Status status = checkSelfContained(module, name); !status)
    return status;
  if (stats)
    stats->optimise = millisecondsSince(start);

  start = std::chrono::steady_clock::now();
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  if (kind == EmitKind::llvm) {
    module.print(out, nullptr);
  } else {
    llvm::legacy::PassManager passes;
    llvm::TargetLibraryInfoImpl none{llvm::Triple(tripleName)};
    none.disableAllFunctions();
    passes.add(new llvm::TargetLibraryInfoWrapperPass(none));
    auto type =
        kind == EmitKind::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
    if ((*machine)->addPassesToEmitFile(passes, out, nullptr, type))
      return Status::error("LLVM cannot write object files for " + std::string(target.cpu()));
    passes.run(module);
  }
  if (kind == EmitKind::object)
    if (Status status = checkObject(llvm::StringRef(bytes.data(), bytes.size()), name); !status)
      return status;
  if (stats) {
    stats->generate = millisecondsSince(start);
    stats->objectBytes = bytes.size();
  }
  return std::vector<char>(bytes.begin(), bytes.end());
}

} // namespace weft::codegen
