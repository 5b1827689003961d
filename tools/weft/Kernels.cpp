//===- Kernels.cpp - weft kernels -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include "codegen/CompileCudaKernels.h"
#include "codegen/HostLibrary.h"
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/cuda/contractions/EmitConvolutions.h"
#include "codegen/cuda/raw/EmitRaw.h"
#include "codegen/cuda/sorts/EmitSorts.h"
#include "codegen/kernel/KernelCache.h"
#include "ir/Decisions.h"
#include "ir/Target.h"
#include "runtime/threads/Executor.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdio>

using namespace mlir;

namespace weft::tool {

namespace {

/// The forms of a kernel for each kind of target, the first of which is printed if none is asked for.
constexpr const char *cpuForms[] = {"kernel", "llvm", "asm"};
constexpr const char *cudaForms[] = {"cuda", "kernel", "ptx", "sass", "report"};

std::string printed(ModuleOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.print(os);
  return text;
}

Status printForCpu(llvm::ArrayRef<codegen::EmittedKernel> kernels, const std::string &form,
                   codegen::CpuTarget target) {
  const char *comment = form == "asm" ? "#" : form == "llvm" ? ";" : "//";
  for (const codegen::EmittedKernel &kernel : kernels) {
    Expected<std::string> text = form == "kernel" ? printed(*kernel.module)
                                 : form == "llvm" ? codegen::compileKernelToLLVM(*kernel.module, target)
                                                  : codegen::compileKernelToAssembly(*kernel.module, target);
    if (!text)
      return text.status();
    std::printf("%s %s\n%s\n", comment, kernel.symbol.c_str(), text->c_str());
  }
  return {};
}

std::string reportOf(const codegen::CudaKernel &kernel, const ir::TargetDescription &device) {
  const codegen::CudaResources &used = kernel.resources;
  const int64_t shared = int64_t(used.sharedBytes) + kernel.dynamicShared;
  const int64_t blocks = ir::residentBlocks(device, kernel.threads, used.registers, shared);
  const int64_t warps = blocks * ((kernel.threads + device.warpThreads - 1) / device.warpThreads);
  std::string text;
  llvm::raw_string_ostream(text) << "threads of a block   " << kernel.threads << "\nregisters            "
                                 << used.registers << "\nspilled bytes        " << used.spillStoreBytes
                                 << " stored, " << used.spillLoadBytes << " loaded\nlocal memory         "
                                 << used.stackBytes << " bytes\nshared memory        " << shared
                                 << " bytes\nresident warps       " << warps << " of " << device.coreWarps
                                 << "\n";
  return text;
}

/// One of the forms that NVRTC makes.
Expected<std::string> formOf(const codegen::CudaKernel &kernel, const std::string &form,
                             const ir::TargetDescription &device) {
  return form == "ptx"    ? kernel.ptx
         : form == "sass" ? codegen::disassemble(kernel.cubin)
                          : Expected<std::string>(reportOf(kernel, device));
}

void printHeader(const std::string &symbol, unsigned launches, const std::vector<std::string> &lines) {
  std::printf("// %s, %s\n", symbol.c_str(), ir::amountText(launches, "launch").c_str());
  for (const std::string &line : lines)
    std::printf("// from %s\n", line.c_str());
}

void printSpill(const std::string &spill) {
  std::printf("// WEFT-F012: the first kernel %s\n", spill.c_str());
}

/// The text of one kernel in a form.
Expected<std::string> textOf(const codegen::EmittedKernel &kernel, const codegen::KernelObject &object,
                             const std::string &form, const ir::TargetDescription &device) {
  if (form == "kernel")
    return printed(*kernel.module);
  if (form == "cuda" || kernel.isOnHost()) {
    Expected<codegen::CudaText> cuda = codegen::kernelTextToCuda(kernel.text, kernel.symbol);
    return cuda ? Expected<std::string>(std::move(cuda->text)) : cuda.status();
  }
  auto made = codegen::CudaKernel::deserialize(*object);
  return made ? formOf(*made, form, device) : made.status();
}

/// The kernels that the target runs, which NVRTC has to compile to find out. Without NVRTC and for the forms
/// that do not need it, those of the first schedules, and a note.
Expected<codegen::CudaKernels> kernelsForCuda(ModuleOp module, const ir::Target &target,
                                              const std::string &form) {
  const bool isText = form == "cuda" || form == "kernel";
  auto nvrtc = codegen::Nvrtc::get();
  if (nvrtc || !isText)
    return codegen::compileCudaKernels(module, target, static_cast<unsigned>(runtime::default_width()));
  std::fprintf(stderr,
               "weft kernels: without NVRTC these are the kernels of the first schedules; those that spill "
               "registers have others on a device (WEFT-F012)\n");
  auto emitted = codegen::emitKernels(module, target);
  if (!emitted)
    return emitted.status();
  codegen::CudaKernels kernels;
  kernels.kernels = std::move(*emitted);
  kernels.objects.resize(kernels.kernels.size());
  return kernels;
}

Status printForCuda(const codegen::CudaKernels &kernels, const std::string &form,
                    const ir::TargetDescription &device) {
  for (auto [kernel, object] : llvm::zip_equal(kernels.kernels, kernels.objects)) {
    Expected<std::string> text = textOf(kernel, object, form, device);
    if (!text)
      return text.status();
    printHeader(kernel.symbol, kernel.launches, kernel.lines);
    if (auto spill = kernels.spills.find(kernel.fusions.front()); spill != kernels.spills.end())
      printSpill(spill->second);
    std::printf("%s\n", text->c_str());
  }
  return {};
}

/// Kernels of contractions, of attention and of convolutions have no kernel IR: their schedules stand for it.
template <typename Emitted>
Status printTexts(const std::vector<Emitted> &kernels, const llvm::StringMap<std::string> &spills,
                  const std::string &form, const ir::TargetDescription &device) {
  const bool isText = form == "kernel" || form == "cuda";
  std::vector<codegen::CudaKernel> compiled(kernels.size());
  if (!isText) {
    auto made = codegen::compileCudaTexts(codegen::textsOf(kernels), device.name,
                                          static_cast<unsigned>(runtime::default_width()));
    if (!made)
      return made.status();
    compiled = std::move(*made);
  }
  for (auto [kernel, code] : llvm::zip_equal(kernels, compiled)) {
    Expected<std::string> text = form == "kernel" ? std::string() : kernel.text;
    if (!isText)
      text = formOf(code, form, device);
    if (!text)
      return text.status();
    printHeader(kernel.symbol, static_cast<unsigned>(kernel.uses.size()), kernel.lines);
    if (auto spill = spills.find(kernel.symbol); spill != spills.end())
      printSpill(spill->second);
    std::printf("// %s\n%s\n", kernel.schedule.str().c_str(), text->c_str());
  }
  return {};
}

/// Kernels that the user wrote are shown as they are.
Status printRaw(ModuleOp module, const ir::Target &target, const std::string &form,
                const ir::TargetDescription &device) {
  for (const codegen::EmittedRaw &kernel : codegen::emitRawKernels(module, target)) {
    Expected<std::string> text = kernel.text;
    if (form != "kernel" && form != "cuda") {
      auto code = codegen::compileRaw(kernel, device);
      text = code ? formOf(code->kernel, form, device) : code.status();
    }
    if (!text)
      return text.status();
    printHeader(kernel.symbol, static_cast<unsigned>(kernel.uses.size()), kernel.lines);
    std::printf("// %s, a kernel of the user\n%s\n", kernel.entry.c_str(), text->c_str());
  }
  return {};
}

Status printKernels(const Arguments &arguments) {
  std::string problem;
  const std::string name = arguments.get("target", "x86-64-v4"), form = arguments.get("emit");
  const std::optional<ir::Target> target = ir::Target::parse(name, problem);
  if (!target)
    return Status::error(problem);
  const ir::TargetDescription *cuda = target->getCuda();
  const auto level = codegen::CpuTarget::parse(name);
  if (!cuda && !level)
    return Status::error("--target takes x86-64-v3, x86-64-v4 or a CUDA device as cuda:sm_90, found '" +
                         name + "'");
  const llvm::ArrayRef<const char *> forms = cuda ? llvm::ArrayRef(cudaForms) : llvm::ArrayRef(cpuForms);
  if (!form.empty() && !llvm::is_contained(forms, form))
    return Status::error("--emit must be " + llvm::join(forms.drop_back(), ", ") + " or " + forms.back() +
                         " for " + target->name() + ", found '" + form + "'");
  Program program;
  if (Status status = program.read(arguments.positional[0]); !status)
    return status;
  ir::CompilerOptions options;
  options.devices = arguments.get("device");
  if (cuda) {
    options.target = target->name();
    options.library = &codegen::hostLibrary(target->getHost());
  }
  if (Status status = codegen::runPipeline(*program.module, options); !status)
    return status;
  const std::string chosen = form.empty() ? forms.front() : form;
  if (!cuda) {
    auto kernels = codegen::emitKernels(*program.module);
    return kernels ? printForCpu(*kernels, chosen, *level) : kernels.status();
  }
  auto kernels = kernelsForCuda(*program.module, *target, chosen);
  if (!kernels)
    return kernels.status();
  auto contractions = codegen::emitContractions(*program.module, *target);
  if (!contractions)
    return contractions.status();
  auto attention = codegen::emitAttention(*program.module, *target);
  if (!attention)
    return attention.status();
  auto convolutions = codegen::emitConvolutions(*program.module, *target);
  if (!convolutions)
    return convolutions.status();
  auto sorts = codegen::emitSorts(*program.module, *target);
  if (!sorts)
    return sorts.status();
  if (Status status = printForCuda(*kernels, chosen, *cuda); !status)
    return status;
  if (Status status = printTexts(*contractions, kernels->textSpills, chosen, *cuda); !status)
    return status;
  if (Status status = printTexts(*attention, kernels->textSpills, chosen, *cuda); !status)
    return status;
  if (Status status = printTexts(*convolutions, kernels->textSpills, chosen, *cuda); !status)
    return status;
  if (Status status = printTexts(*sorts, kernels->textSpills, chosen, *cuda); !status)
    return status;
  return printRaw(*program.module, *target, chosen, *cuda);
}

} // namespace

int kernelsCommand(int argc, char **argv) {
  const char *help = R"(usage: weft kernels FILE.mlir [--emit FORM] [--target TARGET] [--device MAP]

Prints the kernels of a program. No device is needed.

  --target TARGET      x86-64-v4 (if left out), x86-64-v3, or a CUDA device that `weft devices` lists, as cuda:sm_90
  --emit FORM          of a CPU: kernel (if left out; loops and vectors in upstream dialects), llvm (LLVM IR after
                       optimisation) or asm. Of a CUDA device: cuda (if left out; CUDA C++), kernel, and what NVRTC
                       makes of it: ptx, sass (by nvdisasm), or report (registers, spills, resident warps)
  --device MAP         where the program is, as cuda:0, or each of its devices, as cpu=cuda:0 with commas between: for
                       a target with devices

example: weft kernels scaled.mlir --emit=asm --target=x86-64-v3
example: weft kernels scaled.mlir --target=cuda:sm_90 --device=cuda:0 --emit=report
)";
  Arguments arguments;
  if (auto code = beginCommand("kernels", help, argc, argv,
                               {{"emit", true}, {"target", true}, {"device", true}}, arguments))
    return *code;
  if (Status status = printKernels(arguments); !status)
    return complain("kernels", status);
  return 0;
}

} // namespace weft::tool
