//===- KernelTexts.cpp - The CUDA C++ of programs, many in one text --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelTexts.h"

#include "codegen/cuda/attention/EmitAttention.h"
#include "codegen/cuda/contractions/EmitContractions.h"
#include "codegen/cuda/contractions/EmitConvolutions.h"
#include "codegen/cuda/sorts/EmitSorts.h"
#include "codegen/kernel/KernelIR.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace weft::cudasim {

namespace {

constexpr StringRef kKernel = "weft_kernel";

template <typename Emitted>
Status addTexts(const Expected<std::vector<Emitted>> &emitted, std::vector<KernelOfProgram> &kernels) {
  if (!emitted)
    return emitted.status();
  for (const Emitted &each : *emitted) {
    // Their schedules say nothing of resident blocks, and their launches fit by construction.
    KernelOfProgram kernel;
    kernel.text = each.text;
    kernel.kernel.symbol = each.symbol;
    kernels.push_back(std::move(kernel));
  }
  return {};
}

std::string numberedName(size_t number) { return (kKernel + "_" + Twine(number)).str(); }

/// A text with another name in place of each `from`.
std::string renamed(StringRef text, StringRef from, StringRef to) {
  std::string changed;
  for (size_t at; (at = text.find(from)) != StringRef::npos; text = text.substr(at + from.size())) {
    changed += text.take_front(at);
    const char next = text.size() > at + from.size() ? text[at + from.size()] : ' ';
    changed += llvm::isDigit(next) ? from : to; // weft_kernel_1 is no part of weft_kernel_12
  }
  return changed += text;
}

/// A text as one of many: in a namespace, with a kernel of another name, and lines of its own.
std::string numbered(StringRef text, size_t number) {
  return "namespace w" + std::to_string(number) + " {\n#line 1\n" +
         renamed(text, kKernel, numberedName(number)) + "\n}\n";
}

/// The part of a log of ptxas that is about a kernel; empty if there is none.
StringRef partOf(StringRef log, size_t number) {
  const auto [before, after] = log.split("entry function '" + numberedName(number) + "'");
  return after.split("entry function '").first;
}

/// Takes the first statement of PTX outside of functions: a line, or what ends with a semicolon or a brace.
StringRef takeStatement(StringRef &ptx) {
  while (true) {
    ptx = ptx.ltrim();
    if (!ptx.starts_with("//"))
      break;
    ptx = ptx.split('\n').second;
  }
  for (StringRef line : {".version", ".target", ".address_size", ".file", ".loc"})
    if (ptx.starts_with(line)) {
      const StringRef statement = ptx.take_until([](char c) { return c == '\n'; });
      ptx = ptx.substr(statement.size());
      return statement;
    }
  size_t depth = 0, end = 0;
  for (; end < ptx.size(); ++end) {
    if (ptx.substr(end).starts_with("//"))
      end = std::min(ptx.find('\n', end), ptx.size() - 1);
    const char c = ptx[end];
    if (c == '{')
      ++depth;
    if (c == '}' && depth > 0 && --depth == 0 && !ptx.substr(end + 1).ltrim().starts_with(";"))
      break;
    if (c == ';' && depth == 0)
      break;
  }
  const StringRef statement = ptx.take_front(end + 1);
  ptx = ptx.substr(statement.size());
  return statement;
}

/// The name of a variable outside of functions, as of `.global .align 4 .b8 table[24] = {...};`.
StringRef nameOfVariable(StringRef statement) {
  statement = statement.take_until([](char c) { return c == '=' || c == ';' || c == '['; }).rtrim();
  return statement.substr(statement.find_last_of(" \t") + 1);
}

/// PTX of one kernel each, from PTX of many.
class SplitPtx {
public:
  explicit SplitPtx(StringRef ptx) {
    for (StringRef statement = takeStatement(ptx); !statement.empty(); statement = takeStatement(ptx)) {
      if (statement.contains(".entry "))
        entries.push_back(statement);
      else if (statement.starts_with(".func") || statement.contains(".func "))
        functions += (statement + "\n").str();
      else if (statement.starts_with(".version") || statement.starts_with(".target") ||
               statement.starts_with(".address_size"))
        header += (statement + "\n").str();
      else if (!statement.starts_with(".section") && !statement.starts_with(".file"))
        variables.push_back(statement);
    }
  }

  std::string kernel(size_t number) const {
    const std::string name = numberedName(number), start = ".entry " + name + "(";
    for (StringRef entry : entries) {
      if (!entry.contains(start))
        continue;
      std::string ptx = header;
      for (StringRef variable : variables) {
        const StringRef used = nameOfVariable(variable);
        if (entry.contains(used) || StringRef(functions).contains(used))
          ptx += (variable + "\n").str();
      }
      return ptx + functions + renamed(entry, name, kKernel);
    }
    return "";
  }

private:
  std::string header, functions;
  std::vector<StringRef> variables, entries;
};

} // namespace

Expected<std::vector<KernelOfProgram>> kernelsOf(ModuleOp module, const CudaOptions &options,
                                                 const ir::Target &target) {
  if (auto lowered = lowerForCuda(module, options, target); !lowered)
    return lowered.status();
  auto emitted = codegen::emitKernels(module, target);
  if (!emitted)
    return emitted.status();
  std::vector<KernelOfProgram> kernels;
  for (const codegen::EmittedKernel &each : *emitted) {
    if (each.isOnHost())
      continue;
    Expected<codegen::CudaText> text = codegen::kernelTextToCuda(each.text, each.symbol);
    if (!text)
      return text.status();
    KernelOfProgram made;
    made.text = std::move(text->text);
    made.kernel.symbol = each.symbol;
    made.kernel.threads = static_cast<uint32_t>(text->threads);
    made.kernel.dynamicShared = static_cast<uint32_t>(text->dynamicShared);
    made.resident = residentBlocksOf(cast<ir::FusionOp>(each.fusions.front()));
    kernels.push_back(std::move(made));
  }
  if (Status status = addTexts(codegen::emitContractions(module, target), kernels); !status)
    return status;
  if (Status status = addTexts(codegen::emitAttention(module, target), kernels); !status)
    return status;
  if (Status status = addTexts(codegen::emitConvolutions(module, target), kernels); !status)
    return status;
  if (Status status = addTexts(codegen::emitSorts(module, target), kernels); !status)
    return status;
  return kernels;
}

Expected<std::vector<codegen::CudaBinary>>
compileTogether(const codegen::Nvrtc &nvrtc, ArrayRef<std::string> options, ArrayRef<StringRef> texts) {
  std::string all;
  for (auto [number, text] : llvm::enumerate(texts))
    all += numbered(text, number);
  Expected<codegen::CudaBinary> binary = nvrtc.compile(all, "together", options);
  if (!binary)
    return binary.status();
  const SplitPtx split(binary->ptx);
  std::vector<codegen::CudaBinary> made(texts.size());
  for (auto [number, each] : llvm::enumerate(made)) {
    each.ptx = split.kernel(number);
    each.log = partOf(binary->log, number);
    if (each.ptx.empty())
      return Status::error("the PTX of " + std::to_string(texts.size()) + " kernels has no kernel " +
                           std::to_string(number));
  }
  return made;
}

} // namespace weft::cudasim
