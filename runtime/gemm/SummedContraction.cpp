//===- SummedContraction.cpp - Sums of products ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/SummedContraction.h"

#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/gemm/ProductSum.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <utility>

namespace weft::runtime {

ContractionShape further_product(const ContractionShape &shape) {
  ContractionShape s = shape;
  s.residual = false;
  s.more = 0;
  s.c_strides = {s.m * s.n, s.n, 1};
  return s;
}

namespace {

/// One product after the other, each of which is then added to the result.
class SequentialSum final : public Contraction {
public:
  SequentialSum(const ContractionShape &shape, std::shared_ptr<const Contraction> first,
                std::shared_ptr<const Contraction> next)
      : shape_(shape), first_(std::move(first)), next_(std::move(next)) {}

  size_t scratch_bytes(int width) const override {
    return product_bytes() + std::max(first_->scratch_bytes(width), next_->scratch_bytes(width));
  }
  size_t workspace_bytes() const override {
    return std::max(first_->workspace_bytes(), next_->workspace_bytes());
  }
  std::string implementation() const override { return next_->implementation() + ":added"; }

  Status run(const ContractionCall &call, const ContractionPlace &place) const override {
    if (place.stream)
      return refuse_stream(place);
    void *const product = call.scratch;
    void *const rest = static_cast<std::byte *>(call.scratch) + product_bytes();
    ContractionCall one = call;
    one.scratch = rest;
    if (Status status = first_->run(one, place); !status)
      return status;
    for (int64_t i = 0; i < shape_.more; ++i) {
      if (Status status =
              next_->run({call.more[2 * i], call.more[2 * i + 1], product, nullptr, nullptr, rest}, place);
          !status)
        return status;
      if (shape_.dtype == DType::f32)
        add(static_cast<const float *>(product), static_cast<float *>(call.c), place.serial);
      else
        add(static_cast<const double *>(product), static_cast<double *>(call.c), place.serial);
    }
    return {};
  }

private:
  size_t product_bytes() const {
    const auto elements = static_cast<size_t>(shape_.batch * shape_.m * shape_.n);
    return (elements * itemsize(shape_.dtype) + 63) / 64 * 64;
  }

  template <typename T> void add(const T *product, T *c, bool serial) const {
    const ContractionShape &s = shape_;
    constexpr int64_t least = 1 << 14; // elements of a task
    const auto body = [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const T *from = product + row * s.n;
        T *to = c + row / s.m * s.c_strides[0] + row % s.m * s.c_strides[1];
        for (int64_t j = 0; j < s.n; ++j)
          to[j * s.c_strides[2]] += from[j];
      }
    };
    const int64_t rows = s.batch * s.m;
    if (serial || rows * s.n <= least)
      body(0, rows, 0);
    else
      executor().parallel_for(rows, std::max<int64_t>(1, least / s.n), body);
  }

  const ContractionShape shape_;
  const std::shared_ptr<const Contraction> first_, next_;
};

/// All products of a block of the result by one thread.
class BlockwiseSum final : public Contraction {
public:
  explicit BlockwiseSum(const ContractionShape &shape)
      : shape_(shape), down_((shape.m + productRows - 1) / productRows),
        across_((shape.n + productColumns - 1) / productColumns) {}

  size_t scratch_bytes(int width) const override { return static_cast<size_t>(width) * thread_bytes(); }
  std::string implementation() const override { return "weft:sums:x86-64-v4"; }

  Status run(const ContractionCall &call, const ContractionPlace &place) const override {
    if (place.stream)
      return refuse_stream(place);
    const int64_t tasks = shape_.batch * down_ * across_;
    const auto body = [&](int64_t begin, int64_t end, int worker) {
      auto *const scratch =
          static_cast<std::byte *>(call.scratch) + static_cast<size_t>(worker) * thread_bytes();
      for (int64_t task = begin; task < end; ++task)
        compute(call, task, reinterpret_cast<float *>(scratch));
    };
    const double flops = flops_of(shape_) * static_cast<double>(shape_.more + 1);
    if (place.serial || flops < serialFlops)
      body(0, tasks, 0);
    else
      executor().parallel_for(tasks, 1, body);
    return {};
  }

private:
  size_t thread_bytes() const { return static_cast<size_t>(product_scratch(shape_.k)) * sizeof(float); }

  void compute(const ContractionCall &call, int64_t task, float *scratch) const {
    const ContractionShape &s = shape_;
    const int64_t batch = task / (down_ * across_);
    const int64_t i = task / across_ % down_ * productRows, j = task % across_ * productColumns;
    const int64_t from_a = batch * s.a_strides[0] + i * s.a_strides[1],
                  from_b = batch * s.b_strides[0] + j * s.b_strides[2],
                  at = batch * s.c_strides[0] + i * s.c_strides[1] + j;
    ProductBlock block;
    block.c = static_cast<float *>(call.c) + at;
    block.residual = s.residual ? static_cast<const float *>(call.residual) + at : nullptr;
    block.scratch = scratch;
    block.m = std::min(productRows, s.m - i);
    block.n = std::min(productColumns, s.n - j);
    block.k = s.k;
    block.a_m = s.a_strides[1];
    block.a_k = s.a_strides[2];
    block.b_k = s.b_strides[1];
    block.b_n = s.b_strides[2];
    block.c_m = s.c_strides[1];
    for (int64_t pair = 0; pair <= s.more; ++pair) {
      block.first = pair == 0;
      block.a = static_cast<const float *>(pair ? call.more[2 * pair - 2] : call.a) + from_a;
      block.b = static_cast<const float *>(pair ? call.more[2 * pair - 1] : call.b) + from_b;
      add_product_v4(block);
    }
  }

  const ContractionShape shape_;
  const int64_t down_, across_;
};

} // namespace

std::shared_ptr<const Contraction> make_summed(const ContractionShape &shape,
                                               std::shared_ptr<const Contraction> first,
                                               std::shared_ptr<const Contraction> next) {
  // Whoever multiplies, a product whose elements are one chain each is the same here.
  if (shape.dtype == DType::f32 && cpu_level() == CpuLevel::v4 && first->is_one_chain() &&
      next->is_one_chain() && shape.c_strides[2] == 1)
    return std::make_shared<BlockwiseSum>(shape);
  return std::make_shared<SequentialSum>(shape, std::move(first), std::move(next));
}

} // namespace weft::runtime
