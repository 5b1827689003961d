//===- GraphLoops.cpp - Loops of graphs -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/GraphLoops.h"

#include "runtime/cuda/device/CallKernels.h"
#include "runtime/cuda/device/Graph.h"

#include <cstddef>

namespace weft::runtime {
namespace {

/// What the trial counts in.
struct Counts {
  uint32_t outer = 0, inner = 0;
  uint8_t outer_goes_on = 1, inner_goes_on = 0;
  uint8_t ones[2] = {}; ///< what lets the inner loop begin
};
static_assert(sizeof(Counts) <= GraphLoops::bytes);

/// A stream that exists as long as the trial.
class TrialStream {
public:
  explicit TrialStream(const CudaContext &context) : context_(context) {}
  TrialStream(const TrialStream &) = delete;
  ~TrialStream() {
    if (stream_)
      (void)context_.table().cuStreamDestroy(stream_);
  }
  Status open() {
    return context_.check(context_.table().cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0),
                          "making a stream");
  }
  CUstream get() const { return stream_; }

private:
  const CudaContext &context_;
  CUstream stream_ = nullptr;
};

/// Launches the graph on these counts, which are what it has counted afterwards.
Status count_trips(const CudaContext &context, CUstream stream, CudaGraph &graph, CUdeviceptr at,
                   Counts &counts) {
  const DriverTable &table = context.table();
  Status status = context.check(table.cuMemcpyHtoDAsync(at, &counts, sizeof counts, stream), "copying to it");
  if (status.ok())
    status = graph.launch(stream);
  if (status.ok())
    status = context.check(table.cuMemcpyDtoHAsync(&counts, at, sizeof counts, stream), "copying from it");
  const Status waited = context.end_wait(table.cuStreamSynchronize(stream), "waiting for its work");
  return status.ok() ? waited : status;
}

} // namespace

Status GraphLoops::load(const CudaContext &context) {
  const std::string text = std::string(call_kernels::headText) + call_kernels::setConditionalText +
                           call_kernels::setConditionText + call_kernels::countTripText;
  CUlibrary library = nullptr;
  CUresult code = libraries_.load(text.c_str(), library);
  if (code == CUDA_SUCCESS)
    code = libraries_.find(library, "weft_set_condition", set_condition_);
  if (code == CUDA_SUCCESS)
    code = libraries_.find(library, "weft_count_trip", count_trip_);
  return context.check(code, "loading the runtime's kernels for loops in graphs");
}

Status GraphLoops::try_loops(const CudaContext &context, CUdeviceptr never_failed,
                             CachingAllocator &allocator) {
  if (Status status = load(context); !status)
    return status;
  const CUdeviceptr at = never_failed + sizeof(uint64_t);
  const CUdeviceptr outer = at + offsetof(Counts, outer_goes_on),
                    inner = at + offsetof(Counts, inner_goes_on);
  // Two trips of the inner loop in each of the outer one, which `trips` has.
  const auto write_down = [&](uint32_t trips, size_t one) {
    WorkList list;
    list.keep_accesses(true);
    const auto in_order = [&] { list.add_access({spaces::record, 0, 1, AccessKind::written}); };
    const auto set = [&](uint32_t loop, CUdeviceptr predicate) {
      list.add_setter(loop, set_condition_, predicate, never_failed);
      in_order();
    };
    const auto count = [&](size_t counter, CUdeviceptr predicate, uint32_t modulus) {
      list.add_kernel(count_trip_, {1}, {1}, 0, nullptr);
      in_order();
      list.add_parameter(at + counter);
      list.add_parameter(predicate);
      list.add_parameter(modulus);
    };
    const uint32_t outer_loop = list.new_loop(), inner_loop = list.new_loop();
    set(outer_loop, outer);
    list.begin_loop(outer_loop);
    count(offsetof(Counts, outer), outer, trips);
    list.add_copy(inner, at + offsetof(Counts, ones) + one, 1, nullptr);
    in_order();
    set(inner_loop, inner);
    list.begin_loop(inner_loop);
    count(offsetof(Counts, inner), inner, 2);
    set(inner_loop, inner);
    list.end_loop(inner_loop);
    set(outer_loop, outer);
    list.end_loop(outer_loop);
    return list;
  };
  TrialStream stream(context);
  if (Status status = stream.open(); !status)
    return status;
  constexpr uint32_t trips[] = {3, 5};
  GraphParts parts;
  parts.allocator = &allocator;
  Expected<std::unique_ptr<CudaGraph>> graph =
      CudaGraph::make(context, write_down(trips[0], 0), std::move(parts), stream.get(), nullptr);
  if (!graph)
    return graph.status();
  for (size_t i = 0; i < std::size(trips); ++i) {
    WorkList list = write_down(trips[i], i);
    if (Status status = (*graph)->set(list); !status)
      return status;
    Counts counts;
    counts.ones[i] = 1;
    if (Status status = count_trips(context, stream.get(), **graph, at, counts); !status)
      return status;
    if (counts.outer != trips[i] || counts.inner != 2 * trips[i])
      return Status::error("a loop of " + std::to_string(trips[i]) +
                           " trips in a graph, with one of 2 in it, had " + std::to_string(counts.outer) +
                           " and " + std::to_string(counts.inner));
  }
  return {};
}

std::unique_ptr<const GraphLoops> GraphLoops::probe(const CudaContext &context, CUdeviceptr never_failed,
                                                    CachingAllocator &allocator) {
  auto made = std::make_unique<GraphLoops>(context, std::string());
  if (const Status status = made->try_loops(context, never_failed, allocator); !status)
    made->refusal_ = status.message();
  return made;
}

} // namespace weft::runtime
