//===- Attention.cpp - Scaled dot-product attention -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Attention.h"

#include "runtime/gemm/AttentionTask.h"
#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <utility>

namespace weft::runtime {
namespace {

/// The least operations of a task.
constexpr double taskFlops = 1e6;
/// With this many batch indices, tasks of whole batch indices are enough for all threads.
constexpr int64_t manyBatches = 16;
/// The most floats of dk and dv of one batch index that may be in scratch while its rows are computed.
constexpr int64_t wholeSums = 256 << 10;

const AttentionFunctions &functions(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  switch (cpu_level()) {
  case CpuLevel::v4:
    return attentionV4.functions[number];
  case CpuLevel::v3:
    return attentionV3.functions[number];
  case CpuLevel::baseline:
    break;
  }
  return attentionBaseline.functions[number];
}

AttentionMask mask_kind(const std::optional<DType> &mask) {
  if (!mask)
    return AttentionMask::none;
  switch (*mask) {
  case DType::i1:
    return AttentionMask::choice;
  case DType::f16:
    return AttentionMask::f16;
  case DType::bf16:
    return AttentionMask::bf16;
  default:
    return AttentionMask::f32;
  }
}

int64_t pieces(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }

} // namespace

std::pair<int64_t, int64_t> AttentionShape::extents(AttentionPart part) const {
  switch (part) {
  case AttentionPart::q:
  case AttentionPart::dq:
    return {rows, features};
  case AttentionPart::k:
  case AttentionPart::dk:
    return {keys, features};
  case AttentionPart::v:
  case AttentionPart::dv:
    return {keys, values};
  case AttentionPart::out:
  case AttentionPart::grad:
    return {rows, values};
  case AttentionPart::lse:
    return {rows, 1};
  case AttentionPart::mask:
    break;
  }
  return {rows, keys};
}

DType AttentionShape::dtype_of(AttentionPart part) const {
  if (part == AttentionPart::mask)
    return mask.value_or(DType::i1);
  return part == AttentionPart::lse ? DType::f32 : dtype;
}

bool attention_supports(DType dtype) {
  return attentionBaseline.functions[static_cast<size_t>(dtype)].forward != nullptr;
}

Attention::Attention(AttentionShape shape) : shape_(std::move(shape)) {
  for (int64_t extent : shape_.batch)
    batch_count_ *= extent;
}

bool Attention::is_whole() const {
  return batch_count_ >= manyBatches &&
         shape_.keys * (attention_columns(shape_.features) + attention_columns(shape_.values)) <= wholeSums;
}

size_t Attention::floats() const {
  const int64_t count = shape_.backward ? attention_backward_floats(shape_.features, shape_.values,
                                                                    is_whole() ? shape_.keys : attentionKeys)
                                        : attention_forward_floats(shape_.features, shape_.values);
  return static_cast<size_t>(attention_columns(count));
}

size_t Attention::scratch_bytes(int width) const {
  return static_cast<size_t>(width) * floats() * sizeof(float);
}

void Attention::run(void *const *parts, void *scratch, bool serial) const {
  const AttentionShape &s = shape_;
  if (batch_count_ == 0 || s.rows == 0 || s.keys == 0)
    return;
  const auto task_of = [&](int64_t batch, int64_t begin, int64_t end, int worker) {
    AttentionTask task = {};
    task.rows = s.rows;
    task.keys = s.keys;
    task.features = s.features;
    task.values = s.values;
    task.begin = begin;
    task.end = end;
    task.scale = static_cast<float>(s.scale);
    task.causal = s.causal;
    task.mask_kind = mask_kind(s.mask);
    task.scratch = static_cast<float *>(scratch) + static_cast<size_t>(worker) * floats();
    AttentionMatrix *const matrices[] = {&task.q,    &task.k,  &task.v,  &task.out, &task.lse,
                                         &task.grad, &task.dq, &task.dk, &task.dv,  &task.mask};
    size_t next = 0;
    for (size_t part = 0; part < attentionParts; ++part) {
      if (!s.has(static_cast<AttentionPart>(part)))
        continue;
      const AttentionPlace &place = s.places[part];
      int64_t at = place.offset, rest = batch;
      for (size_t d = s.batch.size(); d-- > 0; rest /= s.batch[d])
        at += rest % s.batch[d] * place.strides[d];
      const auto item = static_cast<int64_t>(itemsize(s.dtype_of(static_cast<AttentionPart>(part))));
      *matrices[part] = {static_cast<char *>(parts[next++]) + at * item, place.strides[s.batch.size()],
                         place.strides[s.batch.size() + 1]};
    }
    return task;
  };
  const double flops = 2.0 * static_cast<double>(batch_count_) * static_cast<double>(s.rows) *
                       static_cast<double>(s.keys) * static_cast<double>(s.features + s.values);
  // Divides `extent` of each batch index into pieces of size `piece`.
  const auto run_all = [&](AttentionFn function, int64_t extent, int64_t piece) {
    const int64_t count = pieces(extent, piece), tasks = batch_count_ * count;
    const auto body = [&](int64_t begin, int64_t end, int worker) {
      for (int64_t number = begin; number < end; ++number) {
        const int64_t first = number % count * piece;
        const AttentionTask task = task_of(number / count, first, std::min(first + piece, extent), worker);
        function(&task);
      }
    };
    const auto grain = static_cast<int64_t>(taskFlops / (flops / static_cast<double>(tasks)));
    if (serial || flops < serialFlops)
      body(0, tasks, 0);
    else
      executor().parallel_for(tasks, std::clamp<int64_t>(grain, 1, tasks), body);
  };
  const AttentionFunctions &level = functions(s.dtype);
  if (!s.backward) {
    run_all(level.forward, s.rows, attentionRows);
  } else if (is_whole()) {
    run_all(level.backward, s.rows, s.rows);
  } else {
    run_all(level.backward_rows, s.rows, attentionRows);
    run_all(level.backward_keys, s.keys, attentionKeys);
  }
}

} // namespace weft::runtime
