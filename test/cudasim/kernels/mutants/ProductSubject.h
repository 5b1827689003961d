//===- ProductSubject.h - A contraction whose kernel is changed -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_MUTANTS_PRODUCTSUBJECT_H
#define WEFT_TEST_CUDASIM_KERNELS_MUTANTS_PRODUCTSUBJECT_H

#include "Subject.h"

#include "codegen/cuda/contractions/ContractionSchedule.h"

#include <functional>

namespace weft::cudasim {

class ProductSubject final : public Subject {
public:
  using ChangeSchedule = std::function<void(codegen::ContractionSchedule &)>;
  /// Each contraction is a call of the kernel that is made for the first one; only parameters differ. Their
  /// operands are small whole numbers, so that every order of a sum gives the same bits. The schedule is the
  /// one that is chosen for sm_90, or what `change` makes of it.
  static Expected<std::unique_ptr<Subject>> make(const std::vector<codegen::CudaContraction> &contractions,
                                                 const ChangeSchedule &change = {});

  std::vector<std::pair<std::string, std::string>> kernels() const override {
    return {{symbol, kernel.text}};
  }
  Status run(const std::string &symbol, std::shared_ptr<Module> module) override;
  void limitSteps() override { budget = 20 * mostSteps + 10000; }

private:
  static constexpr const char *symbol = "contraction";
  struct Call {
    /// The operands in the order of the parameters; the result is the last.
    std::vector<std::vector<std::byte>> operands;
    std::vector<std::byte> expected; ///< the result; what no thread may write is poison
    std::vector<int64_t> sizes;
    int64_t blocks = 0;
  };
  static Call makeCall(const codegen::CudaContraction &contraction);
  Status runCall(const Call &call);

  DeviceKernel kernel;
  std::vector<Call> calls;
  uint64_t mostSteps = 0, budget = LaunchOptions().budget;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MUTANTS_PRODUCTSUBJECT_H
