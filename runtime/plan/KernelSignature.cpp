//===- KernelSignature.cpp - The operands that a kernel expects -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/KernelSignature.h"

#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/StepTable.h"

namespace weft::runtime {
namespace {

/// Limits beyond the compiler's expressions. They bound the time of evaluation, which is done for each
/// operand of each launch.
constexpr uint32_t maxTerms = 256, maxFactors = 16;

/// A size that is not compared, because it depends on a symbol that is not an operand of the kernel.
constexpr int64_t anySize = -1;

std::optional<int64_t> value_of(const fb::ImageSignatures &signatures, int64_t size,
                                std::span<const int64_t> values) {
  if (!is_expression(size))
    return size;
  const fb::SizeExpression &expression =
      *signatures.sizes()->Get(static_cast<uint32_t>(size - firstExpression));
  for (uint32_t i = 0; i < length(expression.terms()); ++i) {
    const auto *symbols = expression.terms()->Get(i)->symbols();
    for (uint32_t j = 0; j < length(symbols); ++j)
      if (symbols->Get(j) >= values.size())
        return std::nullopt;
  }
  bool failed = false;
  const int64_t value = value_of_expression(expression, values, failed);
  return failed ? std::nullopt : std::optional(value);
}

/// Whether two groups are equal for the kernel, which does not depend on the number of steps.
bool same_steps(const fb::StepGroup &a, const fb::StepGroup &b) {
  const uint32_t numbers = length(a.number_bytes());
  if (a.reads() != b.reads() || a.writes() != b.writes() || a.item() != b.item() ||
      numbers != length(b.number_bytes()))
    return false;
  for (uint32_t i = 0; i < numbers; ++i)
    if (a.number_bytes()->Get(i) != b.number_bytes()->Get(i))
      return false;
  return true;
}

/// Compares the table of a launch, which check_step_table() has accepted, with the signature of its kernel.
Status check_table_signature(const fb::KernelSignature &kernel, const fb::KernelLaunch &launch) {
  bool same = launch.chunk() == kernel.chunk() && length(launch.groups()) == length(kernel.groups());
  for (uint32_t i = 0; same && i < length(kernel.groups()); ++i)
    same = same_steps(*launch.groups()->Get(i), *kernel.groups()->Get(i));
  return same ? Status() : Status::error("has a table of tensors of another kind than its kernel");
}

} // namespace

Status verify_signatures(const fb::ImageSignatures &signatures) {
  const auto fail = [](const char *what, uint32_t number, const std::string &message) {
    return Status::error(what + std::to_string(number) + " " + message, "WEFT-L009");
  };
  const auto known = [&](int64_t size) {
    return is_expression(size) ? static_cast<uint64_t>(size - firstExpression) < length(signatures.sizes())
                               : size >= anySize;
  };
  for (uint32_t i = 0; i < length(signatures.kernels()); ++i) {
    const fb::KernelSignature *kernel = signatures.kernels()->Get(i);
    const auto *bytes = kernel->bytes();
    if (!kernel->symbol() || !aligned(bytes))
      return fail("signature ", i, "names no kernel, or has misaligned sizes");
    if (kernel->first_result() > length(bytes))
      return fail("signature ", i,
                  "has the first result " + std::to_string(kernel->first_result()) + " of " +
                      std::to_string(length(bytes)) + " operands");
    bool all = known(kernel->tasks());
    for (uint32_t j = 0; bytes && j < bytes->size(); ++j)
      all &= known(bytes->Get(j));
    for (uint32_t j = 0; j < length(kernel->groups()); ++j)
      all &= aligned(kernel->groups()->Get(j)->number_bytes());
    if (!all || kernel->chunk() < 0)
      return fail("signature ", i, "has a size that is negative or not there");
  }
  for (uint32_t i = 0; i < length(signatures.sizes()); ++i) {
    const fb::SizeExpression *size = signatures.sizes()->Get(i);
    bool small = size->divisor() >= 1 && length(size->terms()) <= maxTerms;
    for (uint32_t j = 0; small && j < length(size->terms()); ++j)
      small = length(size->terms()->Get(j)->symbols()) <= maxFactors;
    if (!small)
      return fail("size ", i, "of the signatures is divided by less than 1, or has too many terms");
  }
  return {};
}

Status check_launch_signature(const fb::ImageSignatures &signatures, const fb::KernelLaunch &launch,
                              bool may_fail, std::span<const uint64_t> operand_bytes) {
  const auto differs = [](const std::string &what, auto found, auto expected) {
    return Status::error("has " + std::to_string(found) + " " + what + ", and its kernel was compiled for " +
                         std::to_string(expected));
  };
  if (launch.signature() >= length(signatures.kernels()))
    return Status::error("keeps to signature " + std::to_string(launch.signature()) + " of " +
                         std::to_string(length(signatures.kernels())));
  const fb::KernelSignature &kernel = *signatures.kernels()->Get(launch.signature());
  if (kernel.symbol()->string_view() != launch.symbol()->string_view())
    return Status::error("keeps to signature " + std::to_string(launch.signature()) + ", which is that of '" +
                         text(kernel.symbol()) + "'");
  if (may_fail != kernel.may_fail())
    return Status::error(may_fail ? "may fail, and its kernel cannot" : "may not fail, and its kernel can");
  if (launch.scratch_bytes() != kernel.scratch_bytes())
    return differs("bytes of scratch", launch.scratch_bytes(), kernel.scratch_bytes());
  if (launch.chunk() || kernel.chunk())
    return check_table_signature(kernel, launch);
  if (operand_bytes.size() != length(kernel.bytes()))
    return differs("operands and results", operand_bytes.size(), length(kernel.bytes()));
  if (launch.first_result() != kernel.first_result())
    return differs("operands that it reads", launch.first_result(), kernel.first_result());
  if (length(launch.sizes()) != kernel.size_count())
    return differs("run-time sizes", length(launch.sizes()), kernel.size_count());
  const std::span<const int64_t> values(launch.sizes() ? launch.sizes()->data() : nullptr,
                                        length(launch.sizes()));
  for (uint32_t i = 0; i < length(kernel.bytes()); ++i) {
    if (kernel.bytes()->Get(i) == anySize)
      continue;
    const std::optional<int64_t> expected = value_of(signatures, kernel.bytes()->Get(i), values);
    if (!expected || operand_bytes[i] != static_cast<uint64_t>(*expected))
      return differs("bytes for operand " + std::to_string(i), operand_bytes[i], expected.value_or(-1));
  }
  const std::optional<int64_t> tasks = value_of(signatures, kernel.tasks(), values);
  if (kernel.tasks() != anySize && (!tasks || launch.tasks() != *tasks))
    return differs("tasks", launch.tasks(), tasks.value_or(-1));
  return {};
}

/// Converts a size of the plan, which is an expression over its symbols, to one over the sizes of a launch.
int64_t KernelSigner::size_over_launch(const fb::PlanT &plan, int64_t size,
                                       const std::map<uint32_t, uint32_t> &positions) {
  if (!is_expression(size))
    return size;
  const fb::SizeExpressionT &expression = *plan.sizes[static_cast<size_t>(size - firstExpression)];
  auto made = std::make_unique<fb::SizeExpressionT>();
  made->divisor = expression.divisor;
  std::string key = std::to_string(made->divisor);
  for (const auto &term : expression.terms) {
    auto part = std::make_unique<fb::SizeTermT>();
    part->coefficient = term->coefficient;
    key += " " + std::to_string(part->coefficient);
    for (const uint32_t symbol : term->symbols) {
      const auto found = positions.find(symbol);
      if (found == positions.end())
        return anySize;
      part->symbols.push_back(found->second);
      key += "*" + std::to_string(found->second);
    }
    made->terms.push_back(std::move(part));
  }
  const auto [number, added] = sizes_.try_emplace(std::move(key), static_cast<uint32_t>(sizes_.size()));
  if (added)
    signatures_.sizes.push_back(std::move(made));
  return firstExpression + number->second;
}

/// Adds the sizes with which the numbers of a launch are compared.
void KernelSigner::add_sizes(const fb::PlanT &plan, const fb::KernelLaunchT &kernel,
                             fb::KernelSignatureT &made) {
  // The position of each symbol among the sizes of the launch.
  std::map<uint32_t, uint32_t> positions;
  for (size_t i = 0; i < kernel.sizes.size(); ++i) {
    if (!is_expression(kernel.sizes[i]))
      continue;
    const fb::SizeExpressionT &size = *plan.sizes[static_cast<size_t>(kernel.sizes[i] - firstExpression)];
    if (size.divisor == 1 && size.terms.size() == 1 && size.terms[0]->coefficient == 1 &&
        size.terms[0]->symbols.size() == 1)
      positions.emplace(size.terms[0]->symbols[0], static_cast<uint32_t>(i));
  }
  made.first_result = kernel.first_result;
  made.size_count = static_cast<uint32_t>(kernel.sizes.size());
  made.tasks = size_over_launch(plan, kernel.tasks, positions);
  for (const uint32_t buffer : kernel.buffers)
    made.bytes.push_back(
        size_over_launch(plan, static_cast<int64_t>(plan.buffers[buffer]->bytes), positions));
}

void KernelSigner::sign(fb::PlanT &plan) {
  for (auto &launch : plan.launches) {
    fb::KernelLaunchT *kernel = launch->op.AsKernelLaunch();
    if (!kernel)
      continue;
    auto made = std::make_unique<fb::KernelSignatureT>();
    made->symbol = kernel->symbol;
    made->scratch_bytes = kernel->scratch_bytes;
    made->may_fail = launch->may_fail;
    made->chunk = kernel->chunk;
    if (kernel->chunk == 0)
      add_sizes(plan, *kernel, *made);
    for (const auto &group : kernel->groups) {
      made->groups.push_back(std::make_unique<fb::StepGroupT>(*group));
      made->groups.back()->steps = 0;
    }
    std::string key = made->symbol;
    for (const int64_t number :
         {static_cast<int64_t>(made->first_result), static_cast<int64_t>(made->size_count),
          static_cast<int64_t>(made->scratch_bytes), static_cast<int64_t>(made->may_fail), made->tasks,
          made->chunk})
      key += " " + std::to_string(number);
    for (const int64_t bytes : made->bytes)
      key += " " + std::to_string(bytes);
    for (const auto &group : made->groups) {
      key += "; " + std::to_string(group->reads) + " " + std::to_string(group->writes) + " " +
             std::to_string(group->item);
      for (const int64_t bytes : group->number_bytes)
        key += " " + std::to_string(bytes);
    }
    const auto [number, added] = kernels_.try_emplace(std::move(key), static_cast<uint32_t>(kernels_.size()));
    if (added)
      signatures_.kernels.push_back(std::move(made));
    kernel->signature = number->second;
  }
}

std::vector<std::byte> KernelSigner::bytes() const {
  if (signatures_.kernels.empty())
    return {};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::ImageSignatures::Pack(builder, &signatures_));
  const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return {data, data + builder.GetSize()};
}

} // namespace weft::runtime
