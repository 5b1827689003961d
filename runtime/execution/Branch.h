//===- Branch.h - Branches, and loops of unknown length ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_BRANCH_H
#define WEFT_RUNTIME_EXECUTION_BRANCH_H

#include "runtime/execution/BodyCall.h"
#include "runtime/plan/plan_generated.h"

#include <functional>

namespace weft::runtime {

/// A condition of a plan: one of two functions of the package, as a byte says when the launch runs.
class Branch {
public:
  /// Finds the functions of a launch by their names.
  using Load = std::function<Expected<std::shared_ptr<const Executable::Impl>>(std::string_view name)>;
  /// An error (WEFT-L008) if a branch takes or returns other bytes than the launch gives it, or is for
  /// another device.
  static Expected<std::shared_ptr<const Branch>> make(const fb::BranchLaunch &launch, const fb::Plan &plan,
                                                      const Load &load, const Device &device);

  size_t scratch_bytes(int width) const {
    return std::max(then_.scratch_bytes(width), else_.scratch_bytes(width));
  }
  /// On the host. `operands` are the addresses of the launch's buffers.
  Status run(void *const *operands, std::byte *scratch, bool serial, const CallOrigin *origin) const;
  const Executable::Impl &then_body() const { return then_.function(); }
  const Executable::Impl &else_body() const { return else_.function(); }
  double cost_ns() const { return std::max(then_.cost_ns(), else_.cost_ns()); }

private:
  Branch(BodyCall then, BodyCall otherwise, size_t arguments, size_t results)
      : then_(std::move(then)), else_(std::move(otherwise)), arguments_(arguments), results_(results) {}
  BodyCall then_, else_;
  size_t arguments_, results_;
};

/// A loop of a plan that goes on while a function of the package says so. The carries lie in two places in
/// turn: those of the results, and in the scratch of the call.
class WhileLoop {
public:
  /// An error (WEFT-L008) if a function takes or returns other bytes than the launch gives it, or is for
  /// another device.
  static Expected<std::shared_ptr<const WhileLoop>> make(const fb::WhileLaunch &launch, const fb::Plan &plan,
                                                         const Branch::Load &load, const Device &device);

  size_t scratch_bytes(int width) const;
  /// On the host. `operands` are the addresses of the launch's buffers.
  Status run(void *const *operands, std::byte *scratch, bool serial, const CallOrigin *origin) const;
  const Executable::Impl &condition() const { return condition_.function(); }
  const Executable::Impl &body() const { return body_.function(); }
  /// The bytes of the carries.
  const std::vector<uint64_t> &carries() const { return carries_; }
  /// Carries and constants.
  size_t operand_count() const { return operands_; }
  /// An estimate for as many trips as a loop of the host may have before it pays to use all threads.
  double cost_ns() const;

private:
  WhileLoop(BodyCall condition, BodyCall body, std::vector<uint64_t> carries, size_t operands)
      : condition_(std::move(condition)), body_(std::move(body)), carries_(std::move(carries)),
        operands_(operands) {}
  size_t table_bytes() const;

  BodyCall condition_, body_;
  std::vector<uint64_t> carries_; ///< their bytes
  size_t operands_;               ///< carries and constants
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_BRANCH_H
