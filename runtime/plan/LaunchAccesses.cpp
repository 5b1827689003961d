//===- LaunchAccesses.cpp - What launches read and write ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/LaunchAccesses.h"

#include "runtime/plan/AttentionPlan.h"
#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/MatrixPlan.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace weft::runtime {

/// The buffers of a launch that lists them: operands, then results.
template <typename Of> static std::vector<BufferAccess> listed(const Of &launch) {
  std::vector<BufferAccess> accesses;
  accesses.reserve(length(launch.buffers()));
  for (uint32_t i = 0; i < length(launch.buffers()); ++i)
    accesses.push_back({launch.buffers()->Get(i), i >= launch.first_result()});
  return accesses;
}

std::vector<BufferAccess> accesses_of(const fb::Launch &launch) {
  std::vector<BufferAccess> accesses;
  if (const auto *kernel = launch.op_as_KernelLaunch()) {
    accesses = listed(*kernel);
  } else if (const auto *product = launch.op_as_ContractionLaunch()) {
    accesses = {{product->a(), false}, {product->b(), false}, {product->c(), true}};
    for (const int optional : {product->bias(), product->residual()})
      if (optional >= 0)
        accesses.push_back({static_cast<uint32_t>(optional), false});
    for (uint32_t i = 0; i < length(product->more()); ++i)
      accesses.push_back({product->more()->Get(i), false});
  } else if (const auto *attention = launch.op_as_AttentionLaunch()) {
    const AttentionShape shape = attention_shape(*attention);
    uint32_t place = 0;
    for (size_t i = 0; i < attentionParts; ++i)
      if (const auto part = static_cast<AttentionPart>(i); shape.has(part))
        accesses.push_back({attention->places()->Get(place++)->buffer(), shape.writes(part)});
  } else if (const auto *convolution = launch.op_as_ConvolutionLaunch()) {
    accesses = {{convolution->a()->buffer(), false},
                {convolution->w()->buffer(), false},
                {convolution->y()->buffer(), true}};
    for (uint32_t i = 0; i < length(convolution->beside()); ++i)
      accesses.push_back({convolution->beside()->Get(i), false});
  } else if (const auto *raw = launch.op_as_RawLaunch()) {
    accesses = listed(*raw);
  } else if (const auto *sort = launch.op_as_SortLaunch()) {
    accesses = {{sort->source(), false}, {sort->values(), true}, {sort->indices(), true}};
  } else if (const auto *matrices = launch.op_as_MatrixLaunch()) {
    uint32_t i = 0;
    for (const MatrixPart &part : MatrixRoutine::parts_of(matrix_shape(*matrices)))
      accesses.push_back({matrices->buffers()->Get(i++), part.written});
  } else if (const auto *fourier = launch.op_as_FourierLaunch()) {
    accesses = {{fourier->source(), false}, {fourier->result(), true}};
  } else if (const auto *loop = launch.op_as_LoopLaunch()) {
    accesses = listed(*loop);
  } else if (const auto *branch = launch.op_as_BranchLaunch()) {
    accesses = listed(*branch);
  } else if (const auto *while_loop = launch.op_as_WhileLaunch()) {
    accesses = listed(*while_loop);
  } else if (const auto *copy = launch.op_as_CopyLaunch()) {
    accesses = {{copy->source(), false}, {copy->destination(), true}};
  } else if (const auto *host = launch.op_as_HostLaunch()) {
    accesses = {{host->buffer(), false}};
  }
  return accesses;
}

std::string missing_buffer(const flatbuffers::Vector<uint32_t> *buffers, const fb::Plan &plan) {
  for (uint32_t i = 0; i < length(buffers); ++i)
    if (buffers->Get(i) >= length(plan.buffers()))
      return "has operand " + number(i) + " in buffer " + number(buffers->Get(i)) + " of " +
             number(length(plan.buffers()));
  return "";
}

namespace {

struct ListedBuffer {
  std::pair<fb::Storage, uint32_t> place;
  const fb::Buffer *buffer;
  uint32_t number; ///< among those of the launch
  bool written;
  bool is_dynamic() const {
    return is_expression(static_cast<int64_t>(buffer->offset())) ||
           is_expression(static_cast<int64_t>(buffer->bytes()));
  }
};

SharedBytes pair_of(const ListedBuffer &a, const ListedBuffer &b) {
  const bool first = a.written && (!b.written || a.number < b.number);
  return first ? SharedBytes{a.number, b.number} : SharedBytes{b.number, a.number};
}

/// Two buffers of one place that share a byte, of which one is written. They are in the order of their
/// offsets.
std::optional<SharedBytes> shared_in_place(std::span<const ListedBuffer> buffers) {
  // A buffer whose bytes depend on symbols may share them with any other.
  if (std::ranges::any_of(buffers, &ListedBuffer::is_dynamic)) {
    const auto written = std::ranges::find_if(buffers, &ListedBuffer::written);
    if (buffers.size() < 2 || written == buffers.end())
      return std::nullopt;
    return pair_of(*written, written == buffers.begin() ? buffers[1] : buffers[0]);
  }
  // Of those before, and of those before that are written: the one that ends last.
  const ListedBuffer *last = nullptr, *last_written = nullptr;
  const auto end = [](const ListedBuffer *each) {
    return each ? each->buffer->offset() + each->buffer->bytes() : 0;
  };
  for (const ListedBuffer &each : buffers) {
    if (each.buffer->bytes() == 0)
      continue;
    const ListedBuffer *before = each.written ? last : last_written;
    if (each.buffer->offset() < end(before))
      return pair_of(*before, each);
    if (end(&each) > end(last))
      last = &each;
    if (each.written && end(&each) > end(last_written))
      last_written = &each;
  }
  return std::nullopt;
}

} // namespace

std::optional<SharedBytes> shared_bytes(std::span<const BufferAccess> accesses, const fb::Plan &plan) {
  std::vector<ListedBuffer> all;
  all.reserve(accesses.size());
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const fb::Buffer &buffer = *plan.buffers()->Get(accesses[i].buffer);
    all.push_back({place_of(plan, buffer), &buffer, i, accesses[i].written});
  }
  // A launch may list a whole model, so its buffers are not compared pair by pair.
  std::sort(all.begin(), all.end(), [](const ListedBuffer &a, const ListedBuffer &b) {
    return std::tuple(a.place, a.buffer->offset(), a.number) <
           std::tuple(b.place, b.buffer->offset(), b.number);
  });
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end =
        std::find_if(begin, all.end(), [&](const ListedBuffer &each) { return each.place != begin->place; });
    if (const std::optional<SharedBytes> found = shared_in_place({begin, end}))
      return found;
    begin = end;
  }
  return std::nullopt;
}

bool writes_shared_memory(const flatbuffers::Vector<uint32_t> *buffers, uint32_t first_result,
                          const fb::Plan &plan) {
  std::vector<BufferAccess> accesses;
  for (uint32_t i = 0; i < length(buffers); ++i)
    accesses.push_back({buffers->Get(i), i >= first_result});
  return shared_bytes(accesses, plan).has_value();
}

ContractionShape contraction_shape(const fb::ContractionLaunch &launch) {
  ContractionShape shape;
  shape.dtype = static_cast<DType>(launch.dtype());
  shape.batch = launch.batch();
  shape.m = launch.m();
  shape.n = launch.n();
  shape.k = launch.k();
  for (uint32_t d = 0; d < 3; ++d) {
    shape.a_strides[d] = launch.a_strides()->Get(d);
    shape.b_strides[d] = launch.b_strides()->Get(d);
    shape.c_strides[d] = launch.c_strides()->Get(d);
  }
  shape.bias = launch.bias() >= 0;
  shape.residual = launch.residual() >= 0;
  shape.relu = launch.relu();
  shape.more = length(launch.more()) / 2;
  return shape;
}

std::pair<fb::Storage, uint32_t> place_of(const fb::Plan &plan, const fb::Buffer &buffer) {
  if (buffer.storage() == fb::Storage::result)
    if (const int tied = plan.results()->Get(buffer.index())->tied_to(); tied >= 0)
      return {fb::Storage::argument, static_cast<uint32_t>(tied)};
  const bool indexed = buffer.storage() != fb::Storage::arena && buffer.storage() != fb::Storage::constant;
  return {buffer.storage(), indexed ? buffer.index() : 0};
}

bool share_bytes(const fb::Plan &plan, const fb::Buffer &a, const fb::Buffer &b) {
  if (place_of(plan, a) != place_of(plan, b))
    return false;
  for (const uint64_t size : {a.offset(), a.bytes(), b.offset(), b.bytes()})
    if (is_expression(static_cast<int64_t>(size)))
      return true;
  return a.bytes() && b.bytes() && a.offset() < b.offset() + b.bytes() && b.offset() < a.offset() + a.bytes();
}

} // namespace weft::runtime
