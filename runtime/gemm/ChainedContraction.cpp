//===- ChainedContraction.cpp - Products of f32 with AVX-512 ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/ChainedContraction.h"

#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/gemm/ContractionLayouts.h"
#include "runtime/gemm/GemmChains.h"
#include "runtime/gemm/GemmRows.h"
#include "runtime/gemm/PartialSums.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/threads/Executor.h"

#include <dnnl.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

namespace weft::runtime {
namespace {

/// How long the chains of a sum are, but for the last one. Whole registers, so that only the end of a sum is
/// a part of one.
int64_t chain_length(int64_t k) {
  const int64_t chains = (k + gemmChain - 1) / gemmChain;
  return chains < 2 ? k : ((k + chains - 1) / chains + 15) / 16 * 16;
}

/// Whether the elements of a product are sums of lanes.
bool has_lanes(const ContractionShape &s) { return s.m <= gemmFewRows || s.n == 1; }

/// The transposed product, which has the same elements.
GemmRows transposed(const GemmRows &s) {
  return {s.b, s.a, s.c, s.n, s.m, s.k, s.b_n, s.b_k, s.a_k, s.a_m, s.c_n, s.c_m};
}

void multiply_lanes(const GemmRows &s) {
  GemmRows part = s.m <= gemmFewRows ? s : transposed(s);
  if (part.n == 1) // whose stride means nothing
    part.b_n = 1;
  multiply_lanes_v4(part);
}

/// Whether oneDNN's sgemm computes the product, whose order is the same for such operands. It copies both of
/// them first, which pays where a long sum goes along rows of both, of which a tile needs a few elements
/// each: weight gradients over 2,048 rows of activations took 1.15 to 1.35 times as long with the runtime's
/// kernel.
bool is_for_sgemm(const ContractionShape &s) {
  constexpr int64_t longSum = 1024, fewest = 17;
  return s.k >= longSum && s.m >= fewest && s.n >= fewest && s.a_strides[1] == 1 && s.a_strides[2] != 1 &&
         s.b_strides[2] == 1;
}

/// A chain at a time; false where there is no memory. Without what comes after the product.
bool multiply_by_sgemm(const GemmChains &s) {
  for (int64_t p = 0; p < s.k; p += s.chain)
    if (dnnl_sgemm('T', 'N', s.m, s.n, std::min(s.chain, s.k - p), 1, s.a + p * s.a_k, s.a_k, s.b + p * s.b_k,
                   s.b_k, p == 0 ? 0 : 1, s.c, s.c_m) != dnnl_success)
      return false;
  return true;
}

/// Blocks that each take one thread, handed out by the executor.
class ChainedContraction final : public Contraction {
public:
  explicit ChainedContraction(const ContractionShape &shape)
      : shape_(shape), lanes_(has_lanes(shape)), sgemm_(is_for_sgemm(shape)),
        block_(contraction_blocks(shape, BlockCut::chains)), scratch_bytes_(scratch_bytes_of_chains(shape)) {
    const ContractionShape &s = shape_;
    for (int64_t x = 0; x < s.batch; x += block_.batch)
      for (int64_t i = 0; i < s.m; i += block_.m)
        for (int64_t j = 0; j < s.n; j += block_.n)
          for (int64_t p = 0; p < s.k; p += block_.k)
            blocks_.push_back({x, i, j, p});
  }

  size_t scratch_bytes(int width) const override { return scratch_bytes_; }
  size_t workspace_bytes() const override { return scratch_bytes_; }
  std::string implementation() const override { return implementation_of_chains(shape_); }
  bool is_one_chain() const override {
    return !lanes_ && shape_.k <= gemmChain && block_.k >= shape_.k && !shape_.bias && !shape_.relu;
  }

  Status run(const ContractionCall &call, const ContractionPlace &place) const override {
    if (place.stream)
      return refuse_stream(place);
    const Operands operands = {static_cast<const float *>(call.a), static_cast<const float *>(call.b),
                               static_cast<float *>(call.c), static_cast<const float *>(call.bias),
                               static_cast<const float *>(call.residual)};
    // Partial sums of one block after the other, where k is cut.
    float *const sums = block_.k < shape_.k ? static_cast<float *>(call.scratch) : nullptr;
    const auto count = static_cast<int64_t>(blocks_.size());
    std::atomic<bool> exhausted{false};
    const auto body = [&](int64_t begin, int64_t end, int) {
      for (int64_t t = begin; t < end; ++t)
        if (!compute(blocks_[static_cast<size_t>(t)], operands,
                     sums ? sums + t * shape_.m * shape_.n : nullptr))
          exhausted = true;
    };
    if (place.serial)
      body(0, count, 0);
    else
      executor().parallel_for(count, 1, body);
    if (exhausted)
      throw std::bad_alloc();
    if (sums)
      join(sums, operands);
    return {};
  }

private:
  struct Operands {
    const float *a, *b;
    float *c;
    const float *bias, *residual;
  };
  struct Block {
    int64_t batch, i, j, p; ///< where it begins
  };

  /// False where there is no memory.
  bool compute(const Block &block, const Operands &operands, float *sums) const {
    const ContractionShape &s = shape_;
    GemmChains part;
    part.m = std::min(block_.m, s.m - block.i);
    part.n = std::min(block_.n, s.n - block.j);
    part.k = std::min(block_.k, s.k - block.p);
    part.chain = chain_length(part.k);
    part.a_m = s.a_strides[1];
    part.a_k = s.a_strides[2];
    part.b_k = s.b_strides[1];
    part.b_n = part.n == 1 ? 1 : s.b_strides[2]; // that of one column means nothing
    part.c_m = sums || s.m == 1 ? part.n : s.c_strides[1];
    part.bias = s.bias && !sums ? operands.bias + block.j : nullptr;
    part.relu = s.relu && !sums;
    for (int64_t x = block.batch; x < std::min(block.batch + block_.batch, s.batch); ++x) {
      const int64_t at = x * s.c_strides[0] + block.i * s.c_strides[1] + block.j;
      part.a = operands.a + x * s.a_strides[0] + block.i * part.a_m + block.p * part.a_k;
      part.b = operands.b + x * s.b_strides[0] + block.p * part.b_k + block.j * s.b_strides[2];
      part.c = sums ? sums : operands.c + at;
      part.residual = s.residual && !sums ? operands.residual + at : nullptr;
      // One row or one column, which sgemm would add otherwise, is what is left of a larger product.
      const bool by_sgemm = sgemm_ && part.m > 1 && part.n > 1;
      if (!lanes_ && !by_sgemm) {
        multiply_chains_v4(part);
        continue;
      }
      if (by_sgemm) {
        const OneOpenMPThread one;
        if (!multiply_by_sgemm(part))
          return false;
      } else {
        multiply_lanes({part.a, part.b, part.c, part.m, part.n, part.k, part.a_m, part.a_k, part.b_k,
                        part.b_n, part.c_m, 1});
      }
      if (!sums)
        for (int64_t i = 0; i < part.m; ++i)
          finish(operands, at + i * s.c_strides[1], block.j, part.n);
    }
    return true;
  }

  /// What comes after the product, for a part of a row that begins at element `at` and column j.
  void finish(const Operands &operands, int64_t at, int64_t j, int64_t count) const {
    finish_row(shape_, operands.c + at, shape_.bias ? operands.bias + j : nullptr,
               shape_.residual ? operands.residual + at : nullptr, count);
  }

  /// Adds the partial sums over k in their order. Only a product without a batch has any.
  void join(const float *sums, const Operands &operands) const {
    for (int64_t i = 0; i < shape_.m; ++i) {
      const int64_t at = i * shape_.c_strides[1];
      sum_pieces(shape_, sums, static_cast<int64_t>(blocks_.size()), i, operands.c + at);
      finish(operands, at, 0, shape_.n);
    }
  }

  const ContractionShape shape_;
  const bool lanes_, sgemm_;
  const ContractionBlocks block_;
  const size_t scratch_bytes_; // a call asks for it
  std::vector<Block> blocks_;
};

} // namespace

bool is_chained(const ContractionShape &shape) {
  return shape.dtype == DType::f32 && cpu_level() == CpuLevel::v4;
}

Packing packing_of_chains(const ContractionShape &s) {
  // The matrices of a batch may lie anyhow, since each is a product of its own.
  return {!plain(s.m, s.k, s.a_strides[1], s.a_strides[2]), !plain(s.k, s.n, s.b_strides[1], s.b_strides[2]),
          !result_fits(s)};
}

size_t scratch_bytes_of_chains(const ContractionShape &s) {
  const int64_t k = contraction_blocks(s, BlockCut::chains).k;
  return k < s.k ? static_cast<size_t>((s.k + k - 1) / k * s.m * s.n) * sizeof(float) : 0;
}

std::string implementation_of_chains(const ContractionShape &s) {
  if (has_lanes(s))
    return "weft:lanes:x86-64-v4";
  return is_for_sgemm(s) ? "onednn:sgemm:chains" : "weft:chains:x86-64-v4";
}

std::shared_ptr<const Contraction> make_chained(const ContractionShape &shape) {
  return std::make_shared<ChainedContraction>(shape);
}

} // namespace weft::runtime
