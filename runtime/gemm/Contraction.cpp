//===- Contraction.cpp - Matrix products -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Contraction.h"

#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/gemm/ContractionLibrary.h"
#include "runtime/gemm/Gemm.h"
#include "runtime/gemm/GemmChains.h"
#include "runtime/gemm/SummedContraction.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/support/LeastRecentlyUsed.h"
#include "runtime/threads/Executor.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace weft::runtime {
namespace {

constexpr size_t cacheCapacity = 1024;

const GemmTable &gemm_table() {
  switch (cpu_level()) {
  case CpuLevel::v4:
    return gemmV4;
  case CpuLevel::v3:
    return gemmV3;
  case CpuLevel::baseline:
    break;
  }
  return gemmBaseline;
}

/// The fastest kernel of ours on this processor, and its name.
std::pair<GemmTileFn, std::string> choose_kernel(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  if (const GemmTileFn pairs = gemmVnni.functions[number];
      pairs && cpu_level() == CpuLevel::v4 && __builtin_cpu_supports("avx512vnni"))
    return {pairs, "weft:avx512vnni"};
  return {gemm_table().functions[number], "weft:" + std::string(name(cpu_level()))};
}

/// Whether the kernel of chains, which is faster, computes the same: our own kernel's sums are one chain.
bool has_chain_kernel(const ContractionShape &s) {
  const bool in_rows = s.n == 1 || s.b_strides[2] == 1, in_columns = s.k == 1 || s.b_strides[1] == 1;
  return s.dtype == DType::f32 && cpu_level() == CpuLevel::v4 && s.k >= 1 && s.k <= gemmChain &&
         (in_rows || in_columns) && (s.n == 1 || s.c_strides[2] == 1);
}

void multiply_one_chain(const GemmTile &tile) {
  const auto values = [](const void *data) { return static_cast<const float *>(data); };
  multiply_chains_v4({.a = values(tile.a),
                      .b = values(tile.b),
                      .c = static_cast<float *>(tile.c),
                      .bias = values(tile.bias),
                      .residual = values(tile.residual),
                      .m = tile.m,
                      .n = tile.n,
                      .k = tile.k,
                      .a_m = tile.a_m,
                      .a_k = tile.a_k,
                      .b_k = tile.b_k,
                      .b_n = tile.n == 1 ? 1 : tile.b_n, // that of one column means nothing
                      .c_m = tile.c_m,
                      .chain = tile.k,
                      .relu = tile.relu});
}

class OwnContraction final : public Contraction {
public:
  explicit OwnContraction(const ContractionShape &shape)
      : shape_(shape), kernel_(choose_kernel(shape.dtype)), has_chain_kernel_(has_chain_kernel(shape)) {}

  size_t scratch_bytes(int width) const override { return static_cast<size_t>(width) * gemmScratchBytes; }
  std::string implementation() const override { return kernel_.second; }
  bool is_one_chain() const override {
    const ContractionShape &s = shape_;
    return s.batch > 0 && s.m > 0 && s.n > 0 && s.k > 0 && s.k <= gemmChain && !s.bias && !s.relu;
  }

  Status run(const ContractionCall &call, const ContractionPlace &place) const override {
    if (place.stream)
      return refuse_stream(place);
    const ContractionShape &s = shape_;
    if (!has_elements(s))
      return {};
    const int64_t down = (s.m + gemmTileM - 1) / gemmTileM, across = (s.n + gemmTileN - 1) / gemmTileN;
    const int64_t tasks = s.batch * down * across;
    const int64_t item = static_cast<int64_t>(itemsize(s.dtype));
    const auto body = [&](int64_t begin, int64_t end, int worker) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t batch = task / (down * across);
        const int64_t i = task / across % down * gemmTileM, j = task % across * gemmTileN;
        GemmTile tile;
        tile.a = static_cast<const char *>(call.a) + item * (batch * s.a_strides[0] + i * s.a_strides[1]);
        tile.b = static_cast<const char *>(call.b) + item * (batch * s.b_strides[0] + j * s.b_strides[2]);
        const int64_t at = item * (batch * s.c_strides[0] + i * s.c_strides[1] + j * s.c_strides[2]);
        tile.c = static_cast<char *>(call.c) + at;
        tile.residual = s.residual ? static_cast<const char *>(call.residual) + at : nullptr;
        tile.bias = s.bias ? static_cast<const char *>(call.bias) + item * j : nullptr;
        tile.scratch = static_cast<char *>(call.scratch) + worker * gemmScratchBytes;
        tile.m = std::min(gemmTileM, s.m - i);
        tile.n = std::min(gemmTileN, s.n - j);
        tile.k = s.k;
        tile.a_m = s.a_strides[1];
        tile.a_k = s.a_strides[2];
        tile.b_k = s.b_strides[1];
        tile.b_n = s.b_strides[2];
        tile.c_m = s.c_strides[1];
        tile.c_n = s.c_strides[2];
        tile.relu = s.relu;
        if (has_chain_kernel_)
          multiply_one_chain(tile);
        else
          kernel_.first(&tile);
      }
    };
    if (place.serial || flops_of(s) < serialFlops)
      body(0, tasks, 0);
    else
      executor().parallel_for(tasks, 1, body);
    return {};
  }

private:
  const ContractionShape shape_;
  const std::pair<GemmTileFn, std::string> kernel_;
  const bool has_chain_kernel_;
};

Status check_shape(const ContractionShape &shape) {
  if (!contraction_supports(shape.dtype))
    return Status::error("no contraction of element type " + std::string(name(shape.dtype)));
  for (int64_t extent : {shape.batch, shape.m, shape.n, shape.k})
    if (extent < 0)
      return Status::error("contraction with a negative extent " + std::to_string(extent));
  if (shape.more < 0 ||
      (shape.more && (shape.bias || shape.relu || (shape.dtype != DType::f32 && shape.dtype != DType::f64))))
    return Status::error("no sum of " + std::to_string(shape.more) +
                         " further products: they are of f32 or f64, without bias and relu");
  for (const auto *strides : {&shape.a_strides, &shape.b_strides, &shape.c_strides})
    for (int64_t stride : *strides)
      if (stride < 0)
        return Status::error("contraction with a negative stride " + std::to_string(stride));
  return {};
}

struct Cache {
  std::mutex mutex;
  LeastRecentlyUsed<std::pair<ContractionShape, ContractionChoice>, std::shared_ptr<const Contraction>>
      entries{cacheCapacity};
};
Cache &cache() {
  static Cache *const instance = new Cache;
  return *instance;
}

} // namespace

Contraction::~Contraction() = default;

bool contraction_supports(DType dtype) {
  return gemmBaseline.functions[static_cast<size_t>(dtype)] != nullptr;
}

Expected<std::shared_ptr<const Contraction>> Contraction::make_own(const ContractionShape &shape) {
  if (Status status = check_shape(shape); !status)
    return status;
  return std::shared_ptr<const Contraction>(std::make_shared<OwnContraction>(shape));
}

Expected<std::shared_ptr<const Contraction>> Contraction::make_library(const ContractionShape &shape) {
  if (Status status = check_shape(shape); !status)
    return status;
  ContractionSelection selection;
  selection.prepared = prepare_library_contraction(shape, selection);
  if (!selection.prepared)
    return Status::error("oneDNN has no fast implementation of this contraction: " + selection.refusal);
  return make_library_contraction(shape, *selection.prepared);
}

ContractionSupport Contraction::ask_library(const ContractionShape &shape) {
  if (Status status = check_shape(shape); !status)
    return {false, status.message(), false, 0};
  return ask_library_contraction(shape);
}

Status refuse_stream(const ContractionPlace &) {
  return Status::error("a contraction of the host cannot be issued to a stream of a device: select one that "
                       "the device's library or kernels carry out");
}

Expected<ContractionSelection> Contraction::select(const ContractionShape &shape,
                                                   const ContractionChoice &choice) {
  if (Status status = check_shape(shape); !status)
    return status;
  const auto own = [&](std::string refusal) {
    ContractionSelection selection;
    selection.library = "weft";
    selection.implementation = choose_kernel(shape.dtype).second;
    selection.refusal = std::move(refusal);
    return selection;
  };
  if (choice.library == "weft")
    return own({});
  if (flops_of(shape) < static_cast<double>(choice.library_flops))
    return own("too few operations for a library to be called");
  ContractionSelection selection;
  selection.prepared = prepare_library_contraction(shape, selection);
  if (!selection.prepared)
    return own(std::move(selection.refusal));
  if (selection.workspace_bytes > static_cast<size_t>(choice.workspace_bytes))
    return own("it needs " + std::to_string(selection.workspace_bytes) +
               " bytes of workspace, and the plan has " + std::to_string(choice.workspace_bytes));
  selection.library = "onednn";
  return selection;
}

Expected<std::shared_ptr<const Contraction>> Contraction::make(const ContractionShape &shape,
                                                               const ContractionSelection &selection) {
  if (!selection.prepared)
    return make_own(shape);
  if (Status status = check_shape(shape); !status)
    return status;
  return make_library_contraction(shape, *selection.prepared);
}

Expected<std::shared_ptr<const Contraction>> Contraction::get(const ContractionShape &shape,
                                                              const ContractionChoice &choice) {
  if (Status status = check_shape(shape); !status)
    return status;
  if (shape.more) {
    ContractionShape one = shape;
    one.more = 0;
    Expected<std::shared_ptr<const Contraction>> first = get(one, choice);
    if (!first || !has_elements(shape))
      return first; // which adds to no element
    Expected<std::shared_ptr<const Contraction>> next = get(further_product(shape), choice);
    if (!next)
      return next;
    return make_summed(shape, *first, *next);
  }
  const std::pair key(shape, choice);
  Cache &known = cache();
  const std::lock_guard lock(known.mutex);
  if (const auto *found = known.entries.find(key))
    return *found;
  const Expected<ContractionSelection> selection = select(shape, choice);
  if (!selection)
    return selection.status();
  Expected<std::shared_ptr<const Contraction>> made = make(shape, *selection);
  if (!made) // the library could not make what it had described
    made = make_own(shape);
  if (!made)
    return made;
  known.entries.insert(key, *made);
  return made;
}

size_t Contraction::cached() {
  const std::lock_guard lock(cache().mutex);
  return cache().entries.size();
}

} // namespace weft::runtime
