//===- CudaStream.h - Work on an NVIDIA GPU --------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_CUDASTREAM_H
#define WEFT_RUNTIME_CUDA_DEVICE_CUDASTREAM_H

#include "runtime/cuda/device/CudaDevice.h"
#include "runtime/cuda/device/Graph.h"
#include "runtime/cuda/device/LaunchTimes.h"
#include "runtime/cuda/device/WorkList.h"
#include "runtime/execution/BranchParts.h"
#include "runtime/execution/LaunchRun.h"
#include "runtime/execution/WhileTrips.h"

#include <map>
#include <tuple>
#include <vector>

namespace weft::runtime {

/// Issues a copy to a stream of a context that is current.
Status issue_copy(const CudaContext &context, CUstream stream, void *to, const void *from, size_t bytes,
                  CopyDirection direction);

/// A run is issued as launches at first, and as a graph from its third time on, so that a loop over many
/// sizes does not pay for graphs that it launches once. Until then, what writes arguments is a graph of its
/// own.
class CudaStream final : public DeviceStream {
public:
  static Expected<std::unique_ptr<DeviceStream>> make(CudaDevice &device, int priority);
  /// On a stream that is not ours, which is not destroyed.
  static Expected<std::unique_ptr<DeviceStream>> adopt(CudaDevice &device, CUstream stream);
  ~CudaStream() override;
  Status copy(void *to, const void *from, size_t bytes, CopyDirection direction) override;
  Status issue(const LaunchRun &run) override;
  Expected<bool> issue_conditional(const LaunchRun &run) override;
  Status wait_for(const Point &point) override;
  Expected<Point> record() override { return record(/*timed=*/false); }
  Expected<Point> record_timed() override { return record(/*timed=*/true); }
  void *native() const override { return stream_; }

private:
  /// What the stream keeps of a run that is issued again and again. It is found by the function's launches.
  /// That these may be those of another function by now does no harm, because everything is compared.
  struct Repeated {
    uint64_t calls = 0, last_use = 0;
    std::unique_ptr<CudaGraph> graph;
    uint64_t next_graph = 0; ///< the call before which no graph is made, after the driver has refused one
    /// Operands of kernels that read them from memory of the device, and what is there.
    MemoryBlock table;
    std::vector<uint64_t> words;
    ProductPlaces products;
    MemoryBlock moving; ///< the places of operands that move
  };
  /// The launches, whether the call begins and ends with them, and whether it has a record of failures.
  using RunKey = std::tuple<const Launch *, size_t, bool, bool, bool>;
  using RunsKept = std::map<RunKey, Repeated>;

  CudaStream(CudaDevice &device, CUstream stream, bool owned)
      : device_(device), stream_(stream), owned_(owned) {}
  Expected<Point> record(bool timed);
  Repeated &repeated(RunsKept &runs, const LaunchRun &run);
  Status send_table(const LaunchRun &run, Repeated &kept);
  Status upload(const std::vector<uint64_t> &words, void *to);
  void write_down(const LaunchRun &run, const Repeated &kept);
  void write_down_beginning(const LaunchRun &run);
  template <size_t Room> void write_down_beginning(const LaunchRun &run, CUfunction kernel);
  template <size_t Room> void write_down_end(const LaunchRun &run, CUfunction kernel);
  void write_down(const LaunchRun &run, const Launch &launch, uint64_t &table);
  void write_down(const LaunchRun &run, const Launch &launch, const DeviceLaunch &own, uint64_t &table);
  void add_accesses(const LaunchRun &run, const Launch &launch, const DeviceLaunch &own);
  void write_down_product(const LaunchRun &run, const Launch &launch);
  void write_down_raw(const LaunchRun &run, const RawForm &raw, CUfunction function, const Launch &launch,
                      void *const *at);
  void write_down_copy(const LaunchRun &run, const Launch &launch);
  void write_down_conditional(const LaunchRun &run, const Launch &launch, CUdeviceptr table);
  void write_down_branch(const LaunchRun &run, const Launch &branch, CUdeviceptr table);
  void write_down_loop(const LaunchRun &run, const Launch &loop, CUdeviceptr table);
  void write_down_part(const LaunchRun &run, const Launch &around, std::span<const LaunchRange> part,
                       CUdeviceptr table);
  void add_accesses_of_decision(const LaunchRun &run, const Launch &launch);
  Status launch_as_graph(const LaunchRun &run, Repeated &kept, bool &launched);
  Expected<std::unique_ptr<CudaGraph>> make_graph(const LaunchRun &run, Repeated &kept);
  Status launch_writers_last(const LaunchRun &run, const Repeated &kept);
  Status launch_each(const LaunchRun &run, WorkList &list, bool writes);
  Status launch_product(const WorkList &list, const WorkItem &item);
  CUresult launch_kernel(WorkList &list, const WorkItem &item);
  /// Forgets the single trips of a loop, or the launches of a branch, which are issued no more.
  void forget_parts(const LaunchRun &run);
  /// Frees a run that is kept. Returns what follows it.
  RunsKept::iterator forget(RunsKept &runs, RunsKept::iterator kept) noexcept;
  /// Frees what the graph uses with it.
  void forget_graph(Repeated &kept) noexcept;
  /// Frees memory once what was issued until now is done.
  void free_later(CachingAllocator &allocator, const MemoryBlock &block) noexcept;

  CudaDevice &device_;
  const CUstream stream_;
  const bool owned_;
  CUstream captures_ = nullptr;        ///< made when a product is captured first
  std::unique_ptr<LaunchTimes> times_; ///< made when the profiler is on first
  RunsKept repeated_;
  /// While loops and branches. They are apart, because their trips, several runs each, would drive them out
  /// before they are graphs.
  RunsKept conditionals_;
  uint64_t uses_ = 0;
  // Of the run that is being issued, kept so that a steady loop allocates nothing.
  WorkList list_;
  std::vector<uint64_t> words_;
  std::vector<uint64_t>
      table_places_; ///< of a conditional's launches, where the operands of each are in the table
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDA_DEVICE_CUDASTREAM_H
