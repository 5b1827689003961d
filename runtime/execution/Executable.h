//===- Executable.h - A compiled function, ready to call --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call that fails changes no donated argument. All memory is allocated and all kernels are loaded before
// the first launch. A launch that writes a donated argument first reads whether a check of the call has
// failed, and if one has, does nothing. The plan verifier proves that no launch that may fail comes after
// such a write.
//
// The failure of a queued call is reported later: at the next call that is given state which the failed call
// should have written, at Buffer::wait() on such state, or at Queue::synchronize(), whichever comes first.
// Until the report, calls on that state do nothing. The state then has its value from before the failed call.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_EXECUTABLE_H
#define WEFT_RUNTIME_EXECUTION_EXECUTABLE_H

#include "runtime/device/Device.h"
#include "runtime/package/Package.h"
#include "runtime/plan/Image.h"
#include "runtime/queue/Buffer.h"
#include "runtime/queue/Queue.h"
#include "weft/dtype.hpp"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

struct TensorInfo {
  DType dtype = DType::f32;
  std::vector<int64_t> shape; ///< -1 where a call chooses the size
  std::string device;
  /// The bytes of the memory from the first element to the last; 0 if a call chooses a size.
  size_t bytes = 0;
  /// The strides of an argument whose memory is not row-major, in elements, one for each dimension.
  std::vector<int64_t> strides = {};
  /// Bytes: a power of two that divides the address of an argument, if kernels of a GPU count on more than
  /// the bytes of an element. 0 otherwise.
  size_t alignment = 0;
};

/// A size that each call chooses.
struct SymbolInfo {
  std::string name;
  int64_t min = 0, max = 0;
};

enum class ArgumentRole : uint8_t { argument = 0, state = 1, scalar = 2, random = 3 };

struct ArgumentInfo {
  std::string name;
  TensorInfo type;
  ArgumentRole role = ArgumentRole::argument;
  bool donated = false;
};

struct ResultInfo {
  std::string name;
  TensorInfo type;
  int tied_to = -1;                           ///< the argument whose buffer this result is, or -1
  int alias_argument = -1, alias_result = -1; ///< what shares its buffer unchanged, or -1
  bool is_alias() const { return alias_argument >= 0 || alias_result >= 0; }
};

struct Signature {
  std::string function, target;
  std::vector<ArgumentInfo> arguments;
  std::vector<ResultInfo> results;
  std::vector<SymbolInfo> symbols; ///< none: every size is a number
};

/// The arguments and results of a function of the package on the CPU; those of a plan for a GPU if it has no
/// other. The plan is verified. The kernels are not loaded.
WEFT_RUNTIME_API Expected<Signature> read_signature(const Package &package, std::string_view function);

/// A source line of the program; `file` outlives it.
struct SourceLine {
  const char *file = nullptr; ///< null for none
  uint32_t line = 0, column = 0;
};

/// Who makes a call, for its errors.
struct CallOrigin {
  uint64_t number = 0;        ///< of the call; 0 if the caller does not number its calls
  const char *file = nullptr; ///< of the source line; null for none
  uint32_t line = 0;
  /// The source lines of the parts of this call that may fail, by their numbers in the program. If it is
  /// null, failures name the lines from which the program was compiled.
  std::shared_ptr<const std::vector<SourceLine>> lines = nullptr;
  /// The caller's number for itself, which failures of the call have as FailureInfo::caller.
  uint64_t caller = 0;
};

struct RunOptions {
  Queue *queue = nullptr;        ///< null: the calling thread's current one
  std::optional<QueueMode> mode; ///< none: WEFT_CPU_QUEUE
  /// Empty, or the memory of each result. Null for a result that the runtime allocates, and for a tied one.
  /// The memory must overlap neither an argument nor another result.
  std::span<const std::shared_ptr<Buffer>> outputs = {};
  std::optional<CallOrigin> origin = {}; ///< none: the executable numbers its calls
  /// Whether an error that an earlier call left in an argument counts as reported to the host when this call
  /// returns it. If not, the argument keeps the error.
  bool host_sees = true;
  /// Empty, or for each result the device whose pinned memory it is made in, null for memory as usual. Only
  /// for results on the host that the runtime allocates: a device copies to them without waiting for the work
  /// before.
  std::span<Device *const> pinned_for = {};
};

/// What a call of an executable needs, in bytes.
struct PlannedMemory {
  uint64_t arguments = 0;   ///< arguments and state
  uint64_t results = 0;     ///< those that are no argument's buffer
  uint64_t temporaries = 0; ///< the arena of the queue, which later calls use too
  uint64_t peak() const { return arguments + results + temporaries; }
};

/// A while loop or a branch on a device beside the host.
struct DeviceLoop {
  std::string name, location;
  std::string refusal; ///< why the host decides (Device::refuses_loops); empty if the device does
  bool is_branch = false;
};

/// A contraction that a plan gives to a device's library and that a kernel of our own carries out.
struct RefusedContraction {
  std::string name, location;      ///< of the launch
  std::string refusal;             ///< why the library does not
  bool refuses_candidates = false; ///< it has none of the algorithms that the package names (WEFT-N012)
};

/// The devices of this machine for a function's logical devices, by logical name ("cuda:0"). "cpu" is the
/// host and may be left out.
using DeviceMap = std::map<std::string, Device *, std::less<>>;

class WEFT_RUNTIME_API Executable : public std::enable_shared_from_this<Executable> {
public:
  /// Loads the function's plan for the CPU, with the fastest kernels that the processor can run.
  static Expected<std::shared_ptr<Executable>> load(std::shared_ptr<const Package> package,
                                                    std::string_view function);
  /// The same on these devices. If `image` is not null, its kernels replace the package's. Code WEFT-L017 if
  /// a device of the plan is not in the map, or cannot run the plan's kernels.
  static Expected<std::shared_ptr<Executable>> load(std::shared_ptr<const Package> package,
                                                    std::string_view function,
                                                    std::shared_ptr<const Image> image,
                                                    const DeviceMap &devices = {});
  ~Executable();

  const Signature &signature() const;
  /// The device that an argument must be on. `index` must be below the number of arguments.
  Device &argument_device(size_t index) const;
  /// The same of a result.
  Device &result_device(size_t index) const;

  /// \name Dynamic sizes
  /// @{
  /// The values of the symbols that arguments of these shapes give. An error names the argument, the
  /// dimension and what was expected: a size out of a symbol's range, or two that do not agree.
  Expected<std::vector<int64_t>> bind(std::span<const std::vector<int64_t>> argument_shapes) const;
  /// The sizes of an argument or a result in words, one a dimension: numbers, and what the symbols make, as
  /// "seq + 2". `index` is below the number of arguments, or of results.
  std::vector<std::string> argument_sizes(size_t index) const;
  std::vector<std::string> result_sizes(size_t index) const;
  /// The executable for these values of the symbols, which can run because its sizes are numbers. The 64 that
  /// were used last are kept. A function without symbols returns itself.
  Expected<std::shared_ptr<Executable>> at(std::span<const int64_t> sizes);
  /// @}

  /// Fills `results`. A tied result is its argument's buffer, any other a fresh one. Returns an error if the
  /// call failed here, or if an earlier queued call on the same state failed; this call then does nothing,
  /// and `results` stays as it was. An argument's memory must begin on a multiple of its element size.
  /// WEFT-M001 is returned before the first launch, because the plan says how much memory the call needs.
  /// Several threads may call this. Calls that share state run in the order in which they were issued, on
  /// whichever queues. A function with symbols cannot run; `at` returns an executable that can.
  Status run(std::span<const std::shared_ptr<Buffer>> arguments, std::span<std::shared_ptr<Buffer>> results,
             const RunOptions &options = {});

  uint64_t arena_bytes() const;
  uint64_t arena_lower_bound_bytes() const;
  /// The memory of a call, which is known before the first one. A call allocates exactly the results that it
  /// is given no memory for, and temporaries if its queue's arena is smaller. Sizes are as requested, and the
  /// allocator rounds each up. Must not be called for a function with symbols.
  PlannedMemory planned_memory() const;
  /// With a lower estimate, in nanoseconds of one core whose cache is empty, a call runs on its caller in
  /// QueueMode::automatic. A hand-off costs 5-10 us and moves the operands to another core's cache:
  /// one row through a network of 2 MB, estimated at 340 us, takes 60 us on its caller and 130-200 us behind
  /// a hand-off; a token of a transformer of 3 MB, estimated at 720 us, 80 and 128 us.
  static constexpr double inlineCostNs = 800000;
  /// With a lower estimate, all launches of a call run on one thread.
  static constexpr double serialCostNs = 20000;
  double estimated_ns() const;
  size_t launch_count() const;
  /// None of a function with symbols, which asks libraries for each size by itself.
  std::vector<RefusedContraction> refused_contractions() const;
  /// The while loops and the conditions on devices beside the host, but for those in the bodies and branches
  /// of others. None of a function with symbols.
  std::vector<DeviceLoop> device_loops() const;

  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);

private:
  std::unique_ptr<Impl> impl_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_EXECUTABLE_H
