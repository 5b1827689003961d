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
#include <utility>

namespace weft::runtime {
namespace {

/// What the trial counts in. A launch has predicates of its own, so that every node differs from those of the
/// launch before, whose predicates let nothing begin.
struct Counts {
  uint64_t record = ~uint64_t(0); ///< of failures, without one
  uint32_t outer = 0, inner = 0;
  uint32_t true_branch = 0, false_branch = 0;
  uint8_t outer_goes_on[2] = {}, inner_goes_on[2] = {};
  uint8_t ones[2] = {};    ///< what lets the inner loop begin
  uint8_t chooses[2] = {}; ///< between the branches
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

/// What is wrong with the counts of a launch with as many outer trips, each with inner ones.
Status compare(const Counts &counts, uint32_t outer, uint32_t inner) {
  if (counts.outer != outer || counts.inner != outer * inner)
    return Status::error("a loop of " + std::to_string(outer) + " trips in a graph, with " +
                         std::to_string(outer * inner) + " trips of a loop in it, had " +
                         std::to_string(counts.outer) + " and " + std::to_string(counts.inner));
  const uint32_t last = outer ? 1 : 0; // trips that take the other branch
  if (counts.true_branch != outer - last || counts.false_branch != last)
    return Status::error("two branches in a graph, of which one was to run " + std::to_string(outer - last) +
                         " times and the other " + std::to_string(last) + ", ran " +
                         std::to_string(counts.true_branch) + " and " + std::to_string(counts.false_branch) +
                         " times");
  if (outer && (counts.outer_goes_on[0] || counts.outer_goes_on[1]))
    return Status::error("a branch in a graph wrote where it had written before it was changed");
  return {};
}

} // namespace

Status GraphLoops::load(const CudaContext &context) {
  const std::string text = std::string(call_kernels::headText) + call_kernels::setConditionalText +
                           call_kernels::setConditionText + call_kernels::chooseBranchText +
                           call_kernels::countTripText;
  CUlibrary library = nullptr;
  CUresult code = libraries_.load(text.c_str(), library);
  if (code == CUDA_SUCCESS)
    code = libraries_.find(library, "weft_set_condition", set_condition_);
  if (code == CUDA_SUCCESS)
    code = libraries_.find(library, "weft_choose_branch", choose_branch_);
  if (code == CUDA_SUCCESS)
    code = libraries_.find(library, "weft_count_trip", count_trip_);
  return context.check(code, "loading the runtime's kernels for loops in graphs");
}

/// The trial's graph. Each outer trip has some inner ones, and then takes a branch, which says whether there
/// is another trip: the last one takes the other branch.
WorkList GraphLoops::write_down(CUdeviceptr at, uint32_t outer_trips, uint32_t inner_trips,
                                size_t one) const {
  const CUdeviceptr outer = at + offsetof(Counts, outer_goes_on) + one,
                    inner = at + offsetof(Counts, inner_goes_on) + one,
                    chooses = at + offsetof(Counts, chooses) + one, record = at + offsetof(Counts, record);
  WorkList list;
  list.keep_accesses(true);
  const auto in_order = [&] { list.add_access({spaces::record, 0, 1, AccessKind::written}); };
  const auto set = [&](uint32_t loop, CUdeviceptr predicate) {
    list.add_setter(loop, set_condition_, predicate, record);
    in_order();
  };
  const auto count = [&](size_t counter, CUdeviceptr predicate, uint32_t modulus) {
    list.add_kernel(count_trip_, {1}, {1}, 0, nullptr);
    in_order();
    list.add_parameter(at + counter);
    list.add_parameter(predicate);
    list.add_parameter(modulus);
    list.add_parameter(record);
  };
  const uint32_t outer_loop = list.new_node(), inner_loop = list.new_node();
  const uint32_t if_true = list.new_node(), if_false = list.new_node();
  set(outer_loop, outer);
  list.begin_loop(outer_loop);
  count(offsetof(Counts, outer), chooses, outer_trips);
  list.add_copy(inner, at + offsetof(Counts, ones) + one, 1, nullptr);
  in_order();
  set(inner_loop, inner);
  list.begin_loop(inner_loop);
  count(offsetof(Counts, inner), inner, inner_trips);
  set(inner_loop, inner);
  list.end_node(inner_loop);
  list.add_chooser(if_true, choose_branch_, chooses, record);
  in_order();
  list.begin_branch(if_true);
  count(offsetof(Counts, true_branch), outer, outer_trips);
  list.end_node(if_true);
  list.begin_other_branch(if_false);
  count(offsetof(Counts, false_branch), outer, 1);
  list.end_node(if_false);
  set(outer_loop, outer);
  list.end_node(outer_loop);
  return list;
}

Status GraphLoops::try_loops(const CudaContext &context, CUdeviceptr never_failed,
                             CachingAllocator &allocator) {
  if (Status status = load(context); !status)
    return status;
  const CUdeviceptr at = never_failed + sizeof(uint64_t);
  TrialStream stream(context);
  if (Status status = stream.open(); !status)
    return status;
  struct Launch {
    uint32_t outer, inner; ///< trips
    bool fails;
  };
  constexpr Launch launches[] = {{3, 2, false}, {5, 3, false}, {3, 2, true}};
  const auto list_of = [&](size_t i) { return write_down(at, launches[i].outer, launches[i].inner, i % 2); };
  GraphParts parts;
  parts.allocator = &allocator;
  Expected<std::unique_ptr<CudaGraph>> graph =
      CudaGraph::make(context, list_of(0), std::move(parts), stream.get(), nullptr);
  if (!graph)
    return graph.status();
  for (size_t i = 0; i < std::size(launches); ++i) {
    WorkList list = list_of(i);
    if (Status status = (*graph)->set(list); !status)
      return status;
    Counts counts;
    counts.outer_goes_on[i % 2] = counts.ones[i % 2] = 1;
    counts.record = launches[i].fails ? 0 : counts.record;
    if (Status status = count_trips(context, stream.get(), **graph, at, counts); !status)
      return status;
    if (Status status = compare(counts, launches[i].fails ? 0 : launches[i].outer, launches[i].inner);
        !status)
      return status;
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
