//===- Branch.cpp - Branches, and loops of unknown length -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/Branch.h"

#include "runtime/plan/PlanFields.h"

#include <cstring>

namespace weft::runtime {

/// The bytes of the buffers of a launch.
static std::vector<uint64_t> bytes_of(const flatbuffers::Vector<uint32_t> *buffers, const fb::Plan &plan) {
  std::vector<uint64_t> bytes;
  for (uint32_t i = 0; i < length(buffers); ++i)
    bytes.push_back(plan.buffers()->Get(buffers->Get(i))->bytes());
  return bytes;
}

static Expected<BodyCall> load_call(const Branch::Load &load, const flatbuffers::String &name,
                                    std::span<const uint64_t> arguments, std::span<const uint64_t> results,
                                    const Device &device, const char *what) {
  Expected<std::shared_ptr<const Executable::Impl>> body = load(name.string_view());
  if (!body)
    return body.status();
  return BodyCall::make(*std::move(body), arguments, results, &device, what);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<const Branch>> Branch::make(const fb::BranchLaunch &launch, const fb::Plan &plan,
                                                     const Load &load, const Device &device) {
  const std::vector<uint64_t> bytes = bytes_of(launch.buffers(), plan);
  const std::span<const uint64_t> all(bytes), results = all.subspan(launch.first_result());
  const std::span<const uint64_t> arguments = all.subspan(1, launch.first_result() - 1);
  Expected<BodyCall> then = load_call(load, *launch.then_body(), arguments, results, device, "a branch");
  if (!then)
    return then.status();
  Expected<BodyCall> otherwise = load_call(load, *launch.else_body(), arguments, results, device, "a branch");
  if (!otherwise)
    return otherwise.status();
  return std::shared_ptr<const Branch>(
      new Branch(*std::move(then), *std::move(otherwise), arguments.size(), results.size()));
}

Status Branch::run(void *const *operands, std::byte *scratch, bool serial, const CallOrigin *origin) const {
  const bool taken = *static_cast<const uint8_t *>(operands[0]) != 0;
  return BodyCall::Calls(taken ? then_ : else_, scratch, serial, origin)
      .run({operands + 1, arguments_}, {operands + 1 + arguments_, results_});
}

//===----------------------------------------------------------------------===//
// While loops
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<const WhileLoop>> WhileLoop::make(const fb::WhileLaunch &launch,
                                                           const fb::Plan &plan, const Branch::Load &load,
                                                           const Device &device) {
  const std::vector<uint64_t> bytes = bytes_of(launch.buffers(), plan);
  const std::span<const uint64_t> all(bytes), results = all.subspan(launch.first_result());
  const std::span<const uint64_t> arguments = all.first(launch.first_result());
  constexpr uint64_t predicate[] = {1};
  Expected<BodyCall> condition =
      load_call(load, *launch.condition(), arguments, predicate, device, "a condition");
  if (!condition)
    return condition.status();
  Expected<BodyCall> body =
      load_call(load, *launch.body(), arguments, results, device, "the body of a while loop");
  if (!body)
    return body.status();
  return std::shared_ptr<const WhileLoop>(new WhileLoop(*std::move(condition), *std::move(body),
                                                        {results.begin(), results.end()}, arguments.size()));
}

/// Where a trip finds its operands, and where it writes.
size_t WhileLoop::table_bytes() const { return align_line((operands_ + carries_.size()) * sizeof(void *)); }

size_t WhileLoop::scratch_bytes(int width) const {
  size_t bytes = align_line(1) + table_bytes(); // and the predicate
  for (const uint64_t carry : carries_)
    bytes += align_line(carry);
  return bytes + std::max(condition_.scratch_bytes(width), body_.scratch_bytes(width));
}

double WhileLoop::cost_ns() const {
  constexpr double trips = 100;
  return trips * (condition_.cost_ns() + body_.cost_ns());
}

Status WhileLoop::run(void *const *operands, std::byte *scratch, bool serial,
                      const CallOrigin *origin) const {
  std::byte *const predicate = scratch;
  void **const read = reinterpret_cast<void **>(scratch + align_line(1)), **const written = read + operands_;
  std::byte *const second = scratch + align_line(1) + table_bytes();
  std::byte *of_bodies = second;
  for (const uint64_t carry : carries_)
    of_bodies += align_line(carry);
  std::copy_n(operands, operands_, read);
  BodyCall::Calls condition(condition_, of_bodies, serial, origin), body(body_, of_bodies, serial, origin);
  bool in_second = false; // where the next trip writes
  for (;;) {
    void *const goes_on[] = {predicate};
    if (Status status = condition.run({read, operands_}, goes_on); !status)
      return status;
    if (*predicate == std::byte(0))
      break;
    std::byte *next = second;
    for (size_t i = 0; i < carries_.size(); ++i) {
      written[i] = in_second ? next : operands[operands_ + i];
      next += align_line(carries_[i]);
    }
    if (Status status = body.run({read, operands_}, {written, carries_.size()}); !status)
      return status;
    std::copy_n(written, carries_.size(), read);
    in_second = !in_second;
  }
  for (size_t i = 0; i < carries_.size(); ++i)
    if (read[i] != operands[operands_ + i] && carries_[i])
      std::memcpy(operands[operands_ + i], read[i], carries_[i]);
  return {};
}

} // namespace weft::runtime
