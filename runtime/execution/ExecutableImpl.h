//===- ExecutableImpl.h - What a loaded function is made of -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder and to devices that run launches. Executable.cpp loads it, ExecutableBuild.cpp
// builds it from a plan, ExecutableCheck.cpp checks calls, and ExecutableRun.cpp, Segments.cpp and
// LaunchRun.cpp run them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_EXECUTABLEIMPL_H
#define WEFT_RUNTIME_EXECUTION_EXECUTABLEIMPL_H

#include "runtime/device/Device.h"
#include "runtime/execution/Executable.h"
#include "runtime/fourier/FourierRoutine.h"
#include "runtime/gemm/Attention.h"
#include "runtime/gemm/Contraction.h"
#include "runtime/gemm/Convolution.h"
#include "runtime/linalg/MatrixRoutine.h"
#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/FailureKey.h"
#include "runtime/sort/Sort.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <optional>

namespace weft::fb {
struct Launch;
struct Plan;
} // namespace weft::fb

namespace weft::runtime {

inline size_t align_to(size_t unit, size_t bytes) { return (bytes + unit - 1) / unit * unit; }

inline size_t align_line(size_t bytes) {
  constexpr size_t lineBytes = 64;
  return align_to(lineBytes, bytes);
}

// The address of an operand is the base with this number plus the offset. The bases are the arguments, the
// results, then the arena, the constants and the scalars of each device, and then the constants of loops.
struct Operand {
  uint32_t base;
  uint64_t offset;
};
inline constexpr uint32_t arenaBase = 0, constantsBase = 1, scalarsBase = 2, basesOfDevice = 3;

/// What a launch does with an operand.
struct OperandUse {
  uint64_t bytes;
  bool written;
};

/// The source lines of a launch or a check.
struct Origin {
  std::string text; // "train.cpp:12:3", several lines with ", " between
  std::string file; // of the first line; empty where it is not known
  uint32_t line = 0, column = 0;
  int32_t recorded = -1; // number among CallOrigin::lines
};

enum class LaunchKind : uint8_t {
  kernel,
  contraction,
  attention,
  convolution,
  sort,
  matrices,
  fourier,
  loop,
  branch,
  while_loop,
  raw,
  copy,
  print,
  require
};

class Branch;       // runtime/execution/Branch.h
class Loop;         // runtime/execution/Loop.h
class WhileLoop;    // runtime/execution/Branch.h
struct BranchParts; // runtime/execution/BranchParts.h
struct WhileTrips;  // runtime/execution/WhileTrips.h

/// Whether a launch runs functions of the package, whose launches are in profiles instead of it.
inline bool runs_bodies(LaunchKind kind) {
  return kind == LaunchKind::loop || kind == LaunchKind::branch || kind == LaunchKind::while_loop;
}

struct Launch {
  LaunchKind kind = LaunchKind::kernel;
  const fb::Launch *planned = nullptr; // what it is in the plan of the function, or of the body of a loop
  bool may_fail = false;
  bool predicated = false;     // does nothing once a check of the call has failed
  uint32_t failure_number = 0; // if it may fail: its number in Impl::fallible, from 1 on
  uint32_t first_check = 0;    // in Impl::checks
  uint8_t device = 0;          // in Impl::devices
  /// The run of launches that a graph may hold which it is part of, or -1. A device is asked for all of them
  /// at once, in order, together with others.
  int32_t region = -1;
  uint32_t first_operand = 0; // in Impl::operands
  // Kernel
  KernelFn function = nullptr;
  const int64_t *sizes = nullptr;
  std::vector<int64_t> table; // the sizes of a kernel over a table of tensors
  int64_t tasks = 0, grain = 1;
  /// What a GPU carries out for it: one kernel, or for a contraction one for each product. Empty on a CPU,
  /// which carries out no kernel of the user.
  std::vector<DeviceLaunch> on_device;
  // Contraction: operands a, b, c, bias and residual where it has them, and those of further products
  std::shared_ptr<const Contraction> contraction; // of a GPU: by its library; null: by kernels of our own
  std::string refusal;                            // and why not by the library,
  bool refuses_candidates = false;                // which has none of the package's algorithms
  size_t workspace_offset = 0;                    // of a GPU's library, in the workspaces of the device
  bool bias = false, residual = false;
  // Attention: the operands are its parts, in order
  std::shared_ptr<const Attention> attention;
  // Convolution: a, w, y, and what its steps read
  std::shared_ptr<const Convolution> convolution;
  // Sort: the operands are source, values and indices
  std::optional<Sort> sort;
  // Matrices: the operands are the parts of the routine
  std::optional<MatrixRoutine> matrices;
  // Fourier transform: the operands are source and result
  std::optional<FourierRoutine> fourier;
  // Loop of the host: the operands are its parts, in order
  std::shared_ptr<const Loop> loop;
  // Branch of the host: the operands are the predicate, those of both branches, and the results
  std::shared_ptr<const Branch> branch;
  // Branch of a device: the operand is the predicate, and the launches of both branches follow
  std::shared_ptr<const BranchParts> parts;
  // While loop of the host: the operands are carries, constants, and carries after the last trip
  std::shared_ptr<const WhileLoop> while_loop;
  // While loop of a device: the operand is the predicate, and the launches of trips follow
  std::shared_ptr<const WhileTrips> trips;
  /// Whether a value of a device says which of the launches behind this one are carried out: a branch or a
  /// while loop of a device.
  bool decides() const { return parts || trips; }
  // Copy: `device` runs it, and is the source's, the destination's, or both
  int64_t copy_bytes = 0;
  uint8_t source_device = 0, destination_device = 0;
  // Print, require
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  size_t value_bytes = 0;
  std::string text;
  // For the profiler, and for errors
  std::string name;
  Origin origin;
  uint64_t bytes = 0, flops = 0;
};

struct Check {
  FailedCheck kind = FailedCheck::other;
  int64_t dimension = -1, size = 0;
  std::string subject;
  Origin origin;
};

/// A logical device of a function, the device of this machine for it, and its part of the temporaries.
struct FunctionDevice {
  std::string name; // logical, "cuda:0"
  Device *device = nullptr;
  uint64_t arena_begin = 0, arena_bytes = 0;
  std::optional<uint64_t>
      loop_memory;            // behind the plan's part of the arena, where the memory of loops begins
  size_t kernel_scratch = 0;  // per thread
  size_t workspace_bytes = 0; // of products of a GPU's library (ProductWorkspaces.h)
  bool any_fallible = false;
  bool reads_scalars = false;
  std::shared_ptr<Buffer> constants;      // the copy in its memory; null for the host, or if there are none
  std::shared_ptr<const DeviceCode> code; // the plan's kernels of a GPU, on that
};

/// The place of a scalar argument in the block of scalars that a call makes.
struct ScalarPlace {
  uint32_t argument = 0;
  uint64_t offset = 0, bytes = 0;
};

/// The memory of a call on one device, beside arguments, results and constants. It is one block, which begins
/// with the device's part of the arena. Here are the offsets of the other parts, and the size, in bytes.
struct CallMemory {
  size_t library_scratch = 0; // of contractions, attention, convolutions, sorts and matrices
  size_t scratch = 0;         // of kernels, for each thread
  size_t scalars = 0;         // the block of the call's scalars
  size_t failure = 0;         // the failure record
  size_t checks = 0;          // a slot for each thread
  size_t total = 0;
};

/// Consecutive launches that one device carries out, or one copy between devices.
struct Segment {
  size_t first = 0, last = 0; // in Impl::launches
  uint8_t device = 0;
  bool is_copy = false;  // between two devices
  bool may_fail = false; // a launch of it
  bool predicated = false;
  bool awaited = false;        // by a later segment
  std::vector<uint32_t> waits; // segments of other devices that are done before it begins
};

/// The addresses that a call binds, and its scalars for devices beside the host.
struct CallPointers {
  std::vector<void *> pointers;
  std::vector<std::byte> scalars;
};

struct LaunchRun; // runtime/execution/LaunchRun.h

/// What a plan says of its arguments, results and symbols.
Signature signature_of(const fb::Plan &plan);

struct Executable::Impl {
  std::shared_ptr<const Package> package; // keeps constants and sizes mapped
  std::shared_ptr<const Image> image;
  Signature signature;
  std::vector<Launch> launches;
  std::vector<Operand> operands;
  std::vector<OperandUse> uses; // of the operands
  std::vector<FunctionDevice> devices;
  std::vector<Segment> segments; // none where the host carries out everything
  std::vector<Check> checks;
  std::vector<uint32_t> fallible; // numbers of the launches that may fail, in order
  FailureKey failure_key;
  /// Of bodies of loops whose trips are launches of the function; null where there are none.
  std::vector<std::shared_ptr<Buffer>> loop_constants;
  /// These loops, and branches, whose kernels the launches are.
  std::vector<std::shared_ptr<const void>> device_loops;
  std::vector<ScalarPlace> scalars;
  uint64_t scalar_bytes = 0;
  std::vector<uint32_t> result_labels;
  const std::byte *constants = nullptr;
  uint64_t arena_bytes = 0, arena_lower_bound = 0;
  uint64_t fresh_bytes = 0,
           fresh_host_bytes = 0; // of results that are tied to no argument; those of the host
  std::vector<Device *> argument_devices, result_devices;
  double cost_ns = 0;
  int depth = 0;  // of the loops that this is the body of
  int height = 0; // of the loops in it
  /// The functions that launches of this function and of those run, by name: each is loaded once.
  std::shared_ptr<std::map<std::string, std::weak_ptr<const Impl>, std::less<>>> bodies =
      std::make_shared<std::map<std::string, std::weak_ptr<const Impl>, std::less<>>>();
  bool any_donated = false;
  bool any_fallible = false;
  /// Whether calls need not wait for the host, and so overlap.
  bool overlaps = false;
  std::shared_ptr<std::atomic<uint64_t>> calls = std::make_shared<std::atomic<uint64_t>>(0);
  // Of a function with symbols: its plan, and executables for the sizes that were used last, newest first.
  const fb::Plan *dynamic = nullptr;
  uint64_t constant_bytes = 0;
  std::mutex instances_mutex;
  std::list<std::pair<std::vector<int64_t>, std::shared_ptr<Executable>>> instances;
  // Of one of these: the plan of numbers.
  std::vector<uint64_t> own_plan;
  std::vector<std::pair<std::string, int64_t>> symbol_values;
  /// Tells functions of the process apart, also those that are gone.
  const uint64_t number = next_number();
  static uint64_t next_number() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  Status build(const fb::Plan &plan);
  /// Keeps the bytes of a plan of numbers, which was made of one with symbols, verifies and builds it.
  Status build_numbers(std::vector<uint64_t> bytes);
  /// Finds the plan's devices on this machine.
  Status place(const fb::Plan &plan, const DeviceMap &map);
  Device *device_of(const TensorInfo &type) const;
  /// Binds a call on all devices, and gives `runs`, one for each, its memory. To be called in the queue's
  /// work.
  Status bind_call(const std::shared_ptr<Buffer> *arguments, const std::shared_ptr<Buffer> *results,
                   Queue &queue, bool serial, const CallOrigin *origin, CallPointers &kept,
                   std::span<LaunchRun> runs) const;
  Status execute(const std::shared_ptr<Buffer> *arguments, const std::shared_ptr<Buffer> *results,
                 Queue &queue, bool serial, const CallOrigin *origin) const;
  /// Tells those that wait for results of a call, and the next users of the state that it writes, that it
  /// failed.
  void note_failure(std::span<const std::shared_ptr<Buffer>> arguments,
                    std::span<const std::shared_ptr<Buffer>> results,
                    const std::shared_ptr<Failure> &failure) const;
  /// Issues a call that overlaps with others; `made` has its results.
  Status run_ahead(const std::shared_ptr<Executable> &self,
                   std::span<const std::shared_ptr<Buffer>> arguments,
                   std::span<const std::shared_ptr<Buffer>> made, Queue &queue, QueueMode mode, uint64_t call,
                   const RunOptions &options) const;
  Status check_arguments(std::span<const std::shared_ptr<Buffer>> arguments,
                         std::span<const std::shared_ptr<Buffer>> outputs, bool host_sees) const;
  Status check_outputs(std::span<const std::shared_ptr<Buffer>> outputs) const;
  Status check_overlaps(std::span<const std::shared_ptr<Buffer>> arguments,
                        std::span<const std::shared_ptr<Buffer>> outputs) const;
  Status check_memory(const Queue &queue, std::span<const std::shared_ptr<Buffer>> outputs,
                      bool serial) const;
  /// Makes the block of a call's scalars.
  void write_scalars(const std::shared_ptr<Buffer> *arguments, std::byte *block) const;
  CallMemory memory_on(const FunctionDevice &device, int width) const;
  PlannedMemory planned_memory(bool serial) const;
  /// What a call keeps alive until it is done, beside state.
  uint64_t kept_bytes() const {
    uint64_t bytes = fresh_bytes;
    for (const ArgumentInfo &argument : signature.arguments)
      bytes += argument.role == ArgumentRole::argument ? argument.type.bytes : 0;
    return bytes;
  }
  /// Whether a call is so short that its launches stay on one thread.
  bool is_serial() const { return cost_ns < serialCostNs; }
  /// Whether a call is so short that a hand-off to the queue's thread would cost more than it hides.
  bool runs_on_caller() const { return cost_ns < inlineCostNs; }
  /// A violation that a launch found, as a number.
  uint64_t key_of(const Launch &launch, const CheckRecord &record) const;
  /// The failure that a key stands for; `value` is empty if a device's log was full.
  Status failure_of(uint64_t key, std::optional<int64_t> value, const CallOrigin *origin) const;
  /// A failure with what is known of the call that it is one of.
  Status in_call(const Status &status, uint64_t call, const std::optional<CallOrigin> &origin) const;
  /// The bytes that the launches which are no kernels need, one after the other.
  size_t library_scratch(const FunctionDevice &device, int width) const;
  /// Loads the body of a loop of the plan, from the same package and image.
  Expected<std::shared_ptr<const Impl>> load_body(const fb::Plan &plan, std::string_view name);
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_EXECUTABLEIMPL_H
