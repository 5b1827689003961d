//===- Executable.h - A compiled function, ready to call --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call happens or it does not. Memory and kernels are secured before the first launch; a launch that writes
// what is donated looks at the call's failures first, and does nothing if a check has failed. Nothing donated
// is written before the last launch that may fail: the plan verifier sees to it.
//
// A call that was queued reports its failure later: at the next call that is given state it would have
// written, at Buffer::wait() on such a buffer, or at Queue::synchronize(), whichever comes first. Until then
// calls on that state do nothing. After it, the state is what it was before the failing call.
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
  /// Of the memory, from the first element to the last; 0 where a call chooses a size.
  size_t bytes = 0;
  /// Of an argument whose memory is not row-major: in elements, one a dimension.
  std::vector<int64_t> strides = {};
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

/// What a function of the package takes and gives on the CPU; its kernels are not loaded, so that this works
/// on any processor. The plan is verified.
WEFT_RUNTIME_API Expected<Signature> read_signature(const Package &package, std::string_view function);

/// A source line of the program; `file` outlives it.
struct SourceLine {
  const char *file = nullptr; ///< null for none
  uint32_t line = 0, column = 0;
};

/// Who makes a call, for its errors.
struct CallOrigin {
  uint64_t number = 0;        ///< 0: nobody counts
  const char *file = nullptr; ///< of the source line; null for none
  uint32_t line = 0;
  /// Where the parts of this call that may fail come from, by the numbers that the program has for them;
  /// null: from where they came when it was compiled.
  std::shared_ptr<const std::vector<SourceLine>> lines = nullptr;
  /// A number that the caller knows itself by: FailureInfo::caller of what fails.
  uint64_t caller = 0;
};

struct RunOptions {
  Queue *queue = nullptr;        ///< null: the calling thread's current one
  std::optional<QueueMode> mode; ///< none: WEFT_CPU_QUEUE
  /// Empty, or for each result the memory to put it in; null where the runtime shall allocate, and for every
  /// tied result. It may overlap neither an argument nor another result.
  std::span<const std::shared_ptr<Buffer>> outputs = {};
  std::optional<CallOrigin> origin = {}; ///< none: the executable counts
  /// Whether the host sees an error that an earlier call left in an argument. Where it goes no further, the
  /// argument keeps it.
  bool host_sees = true;
};

/// What a call of an executable needs, in bytes.
struct PlannedMemory {
  uint64_t arguments = 0;   ///< arguments and state
  uint64_t results = 0;     ///< those that are no argument's buffer
  uint64_t temporaries = 0; ///< the arena of its queue, which later calls use again
  uint64_t peak() const { return arguments + results + temporaries; }
};

/// Where a function's logical devices are on this machine, by name ("cuda:0"). "cpu" is the host and need not
/// be in it.
using DeviceMap = std::map<std::string, Device *, std::less<>>;

class WEFT_RUNTIME_API Executable : public std::enable_shared_from_this<Executable> {
public:
  /// The function's plan for the CPU, with the best kernels that the processor can run.
  static Expected<std::shared_ptr<Executable>> load(std::shared_ptr<const Package> package,
                                                    std::string_view function);
  /// With these kernels in place of the package's, where `image` is not null, and on these devices. Code
  /// WEFT-L017 for a device of the plan that is not in the map, or that cannot run its kernels.
  static Expected<std::shared_ptr<Executable>> load(std::shared_ptr<const Package> package,
                                                    std::string_view function,
                                                    std::shared_ptr<const Image> image,
                                                    const DeviceMap &devices = {});
  ~Executable();

  const Signature &signature() const;
  /// Where an argument has to be; `index` is below their number.
  Device &argument_device(size_t index) const;

  /// \name Dynamic sizes
  /// @{
  /// The values of the symbols that arguments of these shapes give. An error names the argument, the
  /// dimension and what was expected: a size out of a symbol's range, or two that do not agree.
  Expected<std::vector<int64_t>> bind(std::span<const std::vector<int64_t>> argument_shapes) const;
  /// The sizes of an argument or a result in words, one a dimension: numbers, and what the symbols make, as
  /// "seq + 2". `index` is below the number of arguments, or of results.
  std::vector<std::string> argument_sizes(size_t index) const;
  std::vector<std::string> result_sizes(size_t index) const;
  /// The function for these values: an executable whose sizes are numbers, which is what runs. The last 64
  /// are kept. Of a function without symbols that is itself.
  Expected<std::shared_ptr<Executable>> at(std::span<const int64_t> sizes);
  /// @}

  /// Fills `results`: a tied result is its argument's buffer, any other a fresh one. Returns an error when
  /// the call failed here, and also when an earlier queued call on the same state did: this call has then
  /// not happened. `results` is left as it was after an error. An argument's memory begins on a multiple of
  /// its element size. WEFT-M001 comes before the first launch: what the call needs is known from the plan.
  /// May be called from several threads; calls that share state, on whichever queues, run in the order in
  /// which they were issued. Not of a function with symbols: `at` gives what can run.
  Status run(std::span<const std::shared_ptr<Buffer>> arguments, std::span<std::shared_ptr<Buffer>> results,
             const RunOptions &options = {});

  uint64_t arena_bytes() const;
  uint64_t arena_lower_bound_bytes() const;
  /// Known before the first call: a call allocates exactly the results that it is given no memory for, and
  /// the temporaries where its queue's arena is smaller. Sizes as requested; the allocator rounds each up.
  /// Not of a function with symbols.
  PlannedMemory planned_memory() const;
  /// Below this estimate, in nanoseconds of one core that finds nothing in its cache, a call runs on its
  /// caller in QueueMode::automatic. A hand-off costs 5-10 us and takes the operands to another core's cache:
  /// one row through a network of 2 MB, estimated at 340 us, takes 60 us on its caller and 130-200 us behind
  /// a hand-off.
  static constexpr double inlineCostNs = 400000;
  /// Below this estimate all launches of a call stay on one thread.
  static constexpr double serialCostNs = 20000;
  double estimated_ns() const;
  size_t launch_count() const;

  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);

private:
  std::unique_ptr<Impl> impl_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_EXECUTABLE_H
