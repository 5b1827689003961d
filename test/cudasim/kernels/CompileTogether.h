//===- CompileTogether.h - Many kernels in one compilation ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where nothing is asked of kernels but whether ptxas keeps them in registers, those of many programs are
// compiled as one text (KernelTexts.h).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_COMPILETOGETHER_H
#define WEFT_TEST_CUDASIM_KERNELS_COMPILETOGETHER_H

#include "KernelTexts.h"

#include <map>
#include <set>

namespace weft::cudasim {

class CompiledTogether {
public:
  /// For a target with a GPU.
  static Expected<CompiledTogether> make(const CudaOptions &options);

  /// Takes a program through the pipeline, which changes it, and keeps the texts of its kernels, with their
  /// first schedules.
  Status add(mlir::ModuleOp module, size_t program);
  /// Compiles all texts.
  Status compile();
  /// Why a program's kernels do not keep to their schedules; success if they do. A kernel that spills has
  /// other schedules, which are not tried here.
  const Status &of(size_t program) const { return programs.at(program).status; }
  /// What ptxas says of a kernel's text.
  const codegen::CudaResources &resources(const std::string &text) const {
    return texts.at(text).kernel.resources;
  }
  const std::string &ptx(const std::string &text) const { return texts.at(text).kernel.ptx; }
  size_t kernelsOf(size_t program) const { return programs.at(program).kernels; }

private:
  CompiledTogether(const CudaOptions &options, ir::Target target, const codegen::Nvrtc &nvrtc)
      : options(options), target(std::move(target)), nvrtc(&nvrtc) {}

  /// A text, with the most that one of its programs asks of it.
  struct Kernel {
    DeviceKernel kernel; ///< its symbol in a program, and what a launch asks for
    int64_t resident = 1;
    std::set<size_t> programs;
  };
  void keep(const std::string &text, DeviceKernel kernel, int64_t resident, size_t program);
  Status compile(llvm::ArrayRef<std::pair<const std::string, Kernel> *> some);

  CudaOptions options;
  ir::Target target;
  const codegen::Nvrtc *nvrtc;
  std::map<std::string, Kernel> texts;
  struct Program {
    Status status;
    size_t kernels = 0;
  };
  std::map<size_t, Program> programs;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_COMPILETOGETHER_H
