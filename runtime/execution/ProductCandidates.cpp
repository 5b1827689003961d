//===- ProductCandidates.cpp - Algorithms of a GPU's library -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/ProductCandidates.h"

#include "runtime/device/Registry.h"
#include "runtime/plan/KernelAlignments.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <charconv>

namespace weft::runtime {

ContractionChoice contraction_choice(const fb::ContractionLaunch &product) {
  ContractionChoice choice = {text(product.library()), product.library_flops(),
                              static_cast<int64_t>(product.workspace_bytes())};
  ContractionCandidates &candidates = choice.candidates;
  candidates.release = product.library_release();
  candidates.device = product.library_device();
  for (uint32_t i = 0; i < length(product.candidates()); ++i) {
    ContractionAlgorithm &algorithm = candidates.algorithms.emplace_back();
    std::ranges::copy(*product.candidates()->Get(i)->words(), algorithm.words.begin());
  }
  return choice;
}

ContractionAlignment contraction_alignment(const fb::Plan &plan, const fb::ContractionLaunch &product) {
  ContractionAlignment alignment{address_alignment(plan, product.a()), address_alignment(plan, product.b()),
                                 address_alignment(plan, product.c())};
  if (product.bias() >= 0)
    alignment.bias = address_alignment(plan, static_cast<uint32_t>(product.bias()));
  return alignment;
}

/// A GPU of this machine for whose architecture the target is; null if there is none.
static Device *device_of_target(std::string_view target) {
  for (int number = 0;; ++number) {
    const Expected<Device *> device = open_device("cuda:" + std::to_string(number));
    if (!device)
      return nullptr;
    if ((*device)->suits(target) && (*device)->code() == target)
      return *device;
  }
}

/// Gives a launch the answer of the device's library.
static void record(fb::ContractionLaunchT &product, const ContractionCandidates &proposed) {
  product.library_release = proposed.release;
  product.library_device = proposed.device;
  for (const ContractionAlgorithm &algorithm : proposed.algorithms) {
    auto made = std::make_unique<fb::ProductAlgorithmT>();
    made->words.assign(algorithm.words.begin(), algorithm.words.end());
    product.candidates.push_back(std::move(made));
  }
}

std::vector<std::byte> with_candidates(std::span<const std::byte> bytes, std::string_view target) {
  std::vector<std::byte> same(bytes.begin(), bytes.end());
  const fb::Plan &plan = *flatbuffers::GetRoot<fb::Plan>(bytes.data());
  const auto is_asked = [&](const fb::Launch &launch) {
    const auto *const product = launch.op_as_ContractionLaunch();
    return product && is_device_launch(plan, launch) &&
           text(product->library()) != contractionLibraries.back();
  };
  std::vector<uint32_t> asked;
  for (uint32_t i = 0; i < length(plan.launches()); ++i)
    if (is_asked(*plan.launches()->Get(i)))
      asked.push_back(i);
  Device *const device = asked.empty() || length(plan.symbols()) ? nullptr : device_of_target(target);
  if (!device)
    return same;
  fb::PlanT made;
  plan.UnPackTo(&made);
  bool any = false;
  for (const uint32_t i : asked) {
    const auto &product = *plan.launches()->Get(i)->op_as_ContractionLaunch();
    const Expected<DeviceContraction> answer = device->contraction(
        contraction_shape(product), contraction_choice(product), contraction_alignment(plan, product));
    if (!answer || !answer->candidates)
      continue;
    record(*made.launches[i]->op.AsContractionLaunch(), *answer->candidates);
    any = true;
  }
  if (!any)
    return same;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &made), fb::PlanIdentifier());
  const std::span written(builder.GetBufferPointer(), builder.GetSize());
  return {std::as_bytes(written).begin(), std::as_bytes(written).end()};
}

} // namespace weft::runtime
