//===- Heuristic.cpp - Which algorithms are proposed ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which one is best follows from a simple model of the time. It is no prediction; what matters is that there
// are several, that they differ in their bits and workspaces, and that equal questions have equal answers.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/cublaslt/Heuristic.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace weft::cusim::lt {
namespace {

struct Candidate {
  Configuration configuration;
  uint64_t workspace = 0;
  double time = 0;
  float waves = 0;
  size_t number = 0; ///< among all, so that the order is always the same
};

/// What adding the parts of a sum costs, and starting a block, in multiply-adds of a block.
constexpr double costOfPart = 40'000, costOfBlock = 60'000;

double timeOf(const Configuration &configuration, const Product &product, float waves) {
  const auto tile = std::find_if(tiles().begin(), tiles().end(),
                                 [&](const Tile &one) { return one.id == configuration.tile_id; });
  // Matrix instructions, which have larger alignments, are faster.
  const double speed = double(configuration.algorithm->alignment);
  const double block =
      double(tile->rows * tile->columns) * double(product.k) / configuration.split_k_num / speed;
  return std::ceil(double(waves)) * (block + costOfBlock) +
         (configuration.split_k_num > 1 ? costOfPart * configuration.split_k_num : 0);
}

bool isAllowed(const Configuration &configuration, const Product &product, const Preference &preference) {
  const Algorithm &algorithm = *configuration.algorithm;
  for (const uint32_t alignment : {preference.min_alignment_a, preference.min_alignment_b,
                                   preference.min_alignment_c, preference.min_alignment_d})
    if (!alignment || alignment % algorithm.alignment)
      return false;
  const bool splits = configuration.split_k_num > 1;
  return (algorithm.implementation & preference.impl_mask) == algorithm.implementation &&
         (!splits || preference.reduction_scheme_mask & configuration.reduction_scheme) &&
         workspaceOf(configuration, product) <= preference.max_workspace_bytes &&
         problemOf(configuration, product).empty();
}

/// All that can compute the product, best first.
std::vector<Candidate> candidates(const Product &product, const Preference &preference) {
  uint64_t cores = 0, capability = 0;
  driver()->device(&cores, &capability);
  std::vector<Candidate> found;
  for (const Algorithm *algorithm : algorithmsFor(typesOf(product)))
    for (const Tile &tile : tiles())
      for (int32_t parts : {1, 2, 4, 8, 16}) {
        Candidate one;
        one.configuration.algorithm = algorithm;
        one.configuration.types = typesOf(product);
        one.configuration.computeCapability = capability;
        one.configuration.id = algorithm->id;
        one.configuration.tile_id = tile.id;
        one.configuration.split_k_num = parts;
        if (parts > 1)
          one.configuration.reduction_scheme = uint32_t(ReductionScheme::compute_type);
        if ((parts > 1 && product.k < parts * algorithm->depth) ||
            !isAllowed(one.configuration, product, preference))
          continue;
        one.workspace = workspaceOf(one.configuration, product);
        one.waves = wavesOf(one.configuration, product, cores);
        one.time = timeOf(one.configuration, product, one.waves);
        one.number = found.size();
        found.push_back(one);
      }
  std::sort(found.begin(), found.end(), [](const Candidate &a, const Candidate &b) {
    return std::tie(a.time, a.number) < std::tie(b.time, b.number);
  });
  return found;
}

HeuristicResult resultOf(const Candidate &candidate) {
  HeuristicResult made{};
  made.algo = encode(candidate.configuration);
  made.workspace_size = candidate.workspace;
  made.state = Status::success;
  made.waves_count = candidate.waves;
  return made;
}

} // namespace

bool best(const Product &product, const Preference &preference, Configuration &configuration) {
  const std::vector<Candidate> found = candidates(product, preference);
  if (!found.empty())
    configuration = found.front().configuration;
  return !found.empty();
}

namespace functions {

Status cublasLtMatmulAlgoGetHeuristic(Handle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b,
                                      MatrixLayout c, MatrixLayout d, MatmulPreference preferenceHandle,
                                      int most, HeuristicResult *results, int *count) {
  if (count)
    *count = 0;
  if (!find<LtHandle>(handle) || driver()->checkContext() != CUDA_SUCCESS)
    return Status::not_initialized;
  const Preference *preference = find<Preference>(preferenceHandle);
  if (!preference)
    return Status::invalid_value;
  if (most < 1 || !results || !count)
    return refuse(Status::invalid_value, "there is no place for a result");
  Product product;
  if (const Status status = read({desc, a, b, c, d}, product); status != Status::success)
    return status;
  const std::vector<Candidate> found = candidates(product, *preference);
  for (const Candidate &one : found)
    if (*count < most)
      results[(*count)++] = resultOf(one);
  return *count ? Status::success
                : refuse(Status::not_supported,
                         "no algorithm that the preference allows computes the " + product.text());
}

Status cublasLtMatmulAlgoCheck(Handle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                               MatrixLayout d, const MatmulAlgo *algo, HeuristicResult *result) {
  if (!find<LtHandle>(handle) || driver()->checkContext() != CUDA_SUCCESS)
    return Status::not_initialized;
  if (!result)
    return refuse(Status::invalid_value, "there is no place for the result");
  Product product;
  Candidate candidate;
  if (const Status status = read({desc, a, b, c, d}, product); status != Status::success)
    return status;
  if (const Status status = readAlgorithm(algo, product, candidate.configuration); status != Status::success)
    return status;
  uint64_t cores = 0, capability = 0;
  driver()->device(&cores, &capability);
  candidate.workspace = workspaceOf(candidate.configuration, product);
  candidate.waves = wavesOf(candidate.configuration, product, cores);
  *result = resultOf(candidate);
  return Status::success;
}

} // namespace functions

Status readAlgorithm(const MatmulAlgo *algo, const Product &product, Configuration &configuration) {
  if (!decode(algo, configuration))
    return Status::invalid_value;
  uint64_t cores = 0, capability = 0;
  driver()->device(&cores, &capability);
  if (configuration.computeCapability != capability)
    return refuse(Status::arch_mismatch, "the algorithm is for compute capability " +
                                             std::to_string(configuration.computeCapability));
  const std::string problem = problemOf(configuration, product);
  return problem.empty() ? Status::success : refuse(Status::not_supported, problem);
}

} // namespace weft::cusim::lt
