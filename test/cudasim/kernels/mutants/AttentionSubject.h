//===- AttentionSubject.h - Attention whose kernel is changed ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_MUTANTS_ATTENTIONSUBJECT_H
#define WEFT_TEST_CUDASIM_KERNELS_MUTANTS_ATTENTIONSUBJECT_H

#include "Subject.h"

#include "test/unit/codegen/AttentionCases.h"

namespace weft::cudasim {

/// Numbers of a schedule that make a small case have all that a large one has.
struct AttentionTiles {
  int64_t warps = 0, others = 0, stages = 0;
};

class AttentionSubject final : public Subject {
public:
  /// Its schedule is the one that is chosen for sm_90, or that with the given numbers.
  static Expected<std::unique_ptr<Subject>> make(DType dtype, const testing::AttentionCase &described,
                                                 const std::optional<AttentionTiles> &tiles = {});

  std::vector<std::pair<std::string, std::string>> kernels() const override {
    return {{symbol, kernel.text}};
  }
  Status run(const std::string &symbol, std::shared_ptr<Module> module) override;
  void limitSteps() override { budget = 20 * mostSteps + 10000; }

  explicit AttentionSubject(codegen::CudaAttention attention) : attention(std::move(attention)) {}

private:
  /// Chooses some elements of the operands, which are random, and gives a derivative the forward results.
  void prepare();

  static constexpr const char *symbol = "attention";

  codegen::CudaAttention attention;
  codegen::AttentionSchedule schedule;
  DeviceKernel kernel;
  testing::Tensors tensors;
  uint64_t mostSteps = 0, budget = LaunchOptions().budget;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MUTANTS_ATTENTIONSUBJECT_H
