//===- PreparedKernels.cpp - Kernels that are compiled before they are asked for -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PreparedKernels.h"

#include "codegen/cuda/CudaCompiler.h"

using namespace mlir;
namespace weft::cudasim {

PreparedKernels::PreparedKernels(const codegen::Nvrtc &real, ir::Target target)
    : real(real), target(std::move(target)), options(codegen::nvrtcOptions(this->target.getCuda()->name)) {}

Expected<PreparedKernels *> PreparedKernels::install(const CudaOptions &options) {
  Expected<ir::Target> target = targetOf(options);
  if (!target)
    return target.status();
  Expected<const codegen::Nvrtc *> real = codegen::Nvrtc::get();
  if (!real)
    return real.status();
  static PreparedKernels installed(**real, std::move(*target));
  codegen::Nvrtc::use(installed);
  return &installed;
}

void PreparedKernels::add(ModuleOp module, const CudaOptions &given) {
  auto kernels = kernelsOf(module, given, target);
  if (!kernels)
    return;
  for (KernelOfProgram &each : *kernels)
    if (known.insert(each.text).second)
      waiting.insert(std::move(each.text));
}

void PreparedKernels::compile() {
  const std::vector<StringRef> texts(waiting.begin(), waiting.end());
  for (ArrayRef<StringRef> rest = texts; !rest.empty();
       rest = rest.drop_front(std::min(mostTogether, rest.size()))) {
    const ArrayRef<StringRef> some = rest.take_front(std::min(mostTogether, rest.size()));
    auto compiled = compileTogether(real, options, some);
    if (!compiled) // each by itself, when it is asked for, says which one it is
      continue;
    for (auto [text, binary] : llvm::zip_equal(some, *compiled))
      made.emplace(text.str(), std::move(binary));
  }
  waiting.clear();
}

Expected<codegen::CudaBinary> PreparedKernels::compile(const std::string &text, const std::string &name,
                                                       ArrayRef<std::string> given, std::string *log) const {
  const auto found = made.find(text);
  if (found == made.end() || given != ArrayRef(options)) {
    ++compiledAlone;
    return real.compile(text, name, given, log);
  }
  if (log)
    *log = found->second.log;
  return found->second;
}

} // namespace weft::cudasim
