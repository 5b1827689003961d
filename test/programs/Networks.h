//===- Networks.h - The modules and optimisers of a program -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_PROGRAMS_NETWORKS_H
#define WEFT_TEST_PROGRAMS_NETWORKS_H

#include "Program.h"

#include "weft/weft.hpp"

#include <functional>

namespace weft::programs {

/// The modules of a program with the weights of `weightsOf`, and its optimisers.
class Networks {
public:
  explicit Networks(const Program &program);
  /// Runs an instruction of modules and optimisers, with the value of variable `in.a`; gives what it
  /// computes.
  Tensor execute(const Instruction &in, const Tensor &a);
  /// Of all parameters.
  void requireGradients();
  /// A number of the parameter that an instruction names.
  int numberOf(const Instruction &in) const;
  /// The parameters of all modules, and then all buffers, each module's in the order of their names.
  std::vector<Tensor> state() const;
  /// What decides beside variables whether two iterations record the same.
  std::string signature() const;

private:
  struct Network {
    nn::Module module;
    std::function<Tensor(const Tensor &)> run;
  };
  template <typename M, typename Run> void add(M module, Run run);
  void make(std::string_view name);
  std::vector<Network> networks_;
  std::vector<optim::Optimizer> optimizers_;
};

} // namespace weft::programs

#endif // WEFT_TEST_PROGRAMS_NETWORKS_H
