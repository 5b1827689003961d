//===- Averaging.cpp - Averages of a model's parameters -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/averaging.hpp"

#include "frontend/ops/Term.h"
#include "weft/autograd.hpp"

namespace weft::optim::detail {

using namespace frontend;

/// The count of a model is where its parameters are, so that a step that updates it leaves no work to the
/// host.
static Tensor countFor(const nn::Module &model, Loc loc) {
  const std::vector<Tensor> parameters = model.parameters();
  const Device device = parameters.empty() ? Device() : parameters[0].device(loc);
  return Tensor::from(std::vector<int64_t>{0}, Shape{}, {.device = device}, loc);
}

AveragedModule::AveragedModule(const nn::Module &model, AveragingOptions options, Loc loc)
    : n_averaged(register_buffer("n_averaged", countFor(model, loc), loc)), options_(std::move(options)) {
  if (options_.decay && options_.avg_fn)
    fail("Only one of decay and avg_fn should be provided: decay is the formula of an exponential average",
         loc);
  if (options_.decay && !(*options_.decay >= 0 && *options_.decay <= 1))
    fail("Invalid decay value " + std::to_string(*options_.decay) +
             " provided. Please provide a value in [0,1] range.",
         loc);
}

/// The tensors of both by name, in pairs. Throws Error where they do not correspond.
static std::vector<std::pair<Tensor, Tensor>> pairsOf(const StateDict &average, const StateDict &model,
                                                      Loc loc) {
  std::vector<std::pair<Tensor, Tensor>> pairs;
  for (size_t i = 0; i < std::max(average.size(), model.size()); ++i) {
    const std::string ours = i < average.size() ? "'" + average[i].first + "'" : "none";
    const std::string theirs = i < model.size() ? "'" + model[i].first + "'" : "none";
    if (ours != theirs)
      fail("a model is averaged with another one: number " + std::to_string(i) + " of its tensors is " +
               theirs + ", and that of the average is " + ours,
           loc);
    if (average[i].second.sizes() != model[i].second.sizes())
      fail("a model is averaged with another one: " + theirs + " has the shape " +
               shapeText(model[i].second.sizes()) + ", and in the average " +
               shapeText(average[i].second.sizes()),
           loc);
    pairs.emplace_back(average[i].second, model[i].second);
  }
  return pairs;
}

void AveragedModule::update(const nn::Module &average, const nn::Module &model, Loc loc) {
  const auto parameters = pairsOf(average.named_parameters(), model.named_parameters(), loc);
  const auto buffers = pairsOf(average.named_buffers(), model.named_buffers(), loc);
  NoGradGuard guard;
  const Term count{n_averaged, loc}, isFirst = count == int64_t(0);
  auto averaged = [&](const Tensor &old, const Tensor &value) -> Tensor {
    const Term a{old, loc}, v{value.to(old.device(), MoveOptions(), loc), loc};
    if (options_.avg_fn)
      return select(isFirst, v, Term{options_.avg_fn(old, v.tensor, n_averaged), loc}).tensor;
    if (options_.decay)
      return select(isFirst, v, a * *options_.decay + v * (1 - *options_.decay)).tensor;
    return select(isFirst, v, a + (v - a) / (count + int64_t(1))).tensor;
  };
  // All are computed before the first is written, so that an error changes nothing.
  std::vector<std::pair<Tensor, Tensor>> next;
  for (const auto &[old, value] : parameters)
    next.emplace_back(old, averaged(old, value));
  for (const auto &[old, value] : buffers)
    next.emplace_back(old,
                      options_.use_buffers && is_floating_point(old.dtype()) ? averaged(old, value) : value);
  for (auto &[old, value] : next)
    old.copy_(value, loc);
  Tensor counter = n_averaged;
  counter.copy_((count + int64_t(1)).tensor, loc);
}

} // namespace weft::optim::detail
