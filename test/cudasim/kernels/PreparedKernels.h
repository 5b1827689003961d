//===- PreparedKernels.h - Kernels that are compiled before they are asked for -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_PREPAREDKERNELS_H
#define WEFT_TEST_CUDASIM_KERNELS_PREPAREDKERNELS_H

#include "KernelTexts.h"

#include <atomic>
#include <map>
#include <set>

namespace weft::cudasim {

/// NVRTC for the process, which compiles the kernels of many programs as one text when they are prepared, and
/// has the answers when programs are compiled. It compiles every other text as the library does.
class PreparedKernels : public codegen::Nvrtc {
public:
  /// For one target with a GPU. From then on Nvrtc::get() gives it. It stays for the rest of the process.
  static Expected<PreparedKernels *> install(const CudaOptions &options);

  /// Keeps the texts of a program's kernels, and changes the program. A program that does not compile has
  /// none; the reason comes when it is compiled by itself.
  void add(mlir::ModuleOp module, const CudaOptions &options);
  /// Compiles what was added since the last time.
  void compile();
  /// Kernels that were compiled together, and by themselves.
  size_t together() const { return made.size(); }
  size_t alone() const { return compiledAlone; }

  std::string version() const override { return real.version(); }
  /// Objects of these compilations have no machine code, so no other compiler may find them in a cache.
  std::string build() const override { return real.build() + " together"; }
  std::string path() const override { return real.path(); }
  Expected<codegen::CudaBinary> compile(const std::string &text, const std::string &name,
                                        llvm::ArrayRef<std::string> options, std::string *log) const override;

private:
  PreparedKernels(const codegen::Nvrtc &real, ir::Target target);

  const codegen::Nvrtc &real;
  ir::Target target;
  std::vector<std::string> options;
  std::set<std::string> known, waiting;
  std::map<std::string, codegen::CudaBinary> made;
  mutable std::atomic<size_t> compiledAlone{0};
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_PREPAREDKERNELS_H
