//===- EngineDevice.h - A device whose kernels run on the engine ---*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device `cuda:0` of a process without a GPU. Kernels run on the engine, those of products
// and attention among them, and everything else (copies, prints) on the host, as code of the host. So do
// products that would take the engine too long. Its memory is ordinary memory of the host.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_ENGINEDEVICE_H
#define WEFT_TEST_CUDASIM_KERNELS_ENGINEDEVICE_H

#include "CompileForCuda.h"
#include "KernelLaunch.h"

#include "runtime/device/Device.h"
#include "runtime/memory/CachingAllocator.h"

namespace weft::fb {
struct Launch;
struct Plan;
} // namespace weft::fb

namespace weft::runtime {
struct Launch;
} // namespace weft::runtime

namespace weft::cudasim {

/// Launches for which a plan names a library.
struct LibraryCounts {
  uint64_t engine = 0, host = 0; ///< carried out by kernels of our own, and by the host
};

/// What a device has done.
struct DeviceCounts {
  uint64_t kernelLaunches = 0, raceLaunches = 0; ///< of all kernels
  LibraryCounts products, attentions, convolutions, sorts;
  uint64_t copies = 0, others = 0; ///< by the host
};

/// What the launches of a kernel moved.
struct KernelTraffic {
  uint64_t launches = 0, blocks = 0; ///< blocks of all launches, counted or not
  Traffic traffic;
};

class EngineDevice final : public runtime::Device {
public:
  /// The only one of the process.
  static EngineDevice &get();

  /// The kernels of the calls from now on. `spoilt` is the number of the kernel launch, from 0, that
  /// `style.spoil` is for. The host carries out launches of libraries of more than `mostMultiplyAdds`.
  void use(const CudaProgram &program, const RunStyle &style, uint64_t spoilt = 0,
           uint64_t mostMultiplyAdds = UINT64_MAX);
  /// As `use`, but launches run once, and at most `mostBlocks` of their blocks, which are counted by kernel.
  /// Of products, whose blocks all do the same, the first launch of each kernel is counted, with fewer
  /// blocks; zeros are what the others give.
  void count(const CudaProgram &program, std::map<std::string, KernelTraffic> &into, uint64_t mostBlocks);
  const DeviceCounts &counts() const { return counts_; }
  uint64_t steps() const { return steps_ + notes_.steps; } ///< of the engine, in all calls
  /// Of the calls since the kernels were given.
  const LaunchNotes &notes() const { return notes_; }

  /// The target of the program that it runs, "cuda:sm_90".
  std::string_view code() const override { return code_; }
  runtime::CachingAllocator &allocator() override { return allocator_; }
  runtime::CachingAllocator &pinned_allocator() override { return runtime::CachingAllocator::get(); }
  Expected<std::unique_ptr<runtime::DeviceStream>> make_stream() override;
  Status copy_now(void *to, const void *from, size_t bytes, runtime::CopyDirection direction) override;
  Status issue(const runtime::LaunchRun &run);

private:
  EngineDevice() : Device("cudasim:0") {}
  Status runFusion(const runtime::LaunchRun &run, const runtime::Launch &launch);
  Status runLibrary(const runtime::LaunchRun &run, const runtime::Launch &launch);
  Status countLibrary(const DeviceKernel &kernel, const KernelCall &call);
  Status runOnEngine(const DeviceKernel &kernel, const KernelCall &call);

  runtime::CachingAllocator allocator_{{}, true, "cudasim:0"};
  const CudaProgram *program_ = nullptr;
  std::string code_;
  RunStyle style_;
  std::map<std::string, KernelTraffic> *traffic_ = nullptr; ///< null if nothing is counted
  uint64_t mostBlocks_ = 0;
  uint64_t spoilt_ = 0, next_ = 0, mostMultiplyAdds_ = UINT64_MAX;
  DeviceCounts counts_;
  uint64_t steps_ = 0; ///< of the calls before
  LaunchNotes notes_;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_ENGINEDEVICE_H
