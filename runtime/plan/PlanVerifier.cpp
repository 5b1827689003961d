//===- PlanVerifier.cpp - Checks of a plan before it runs -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PlanVerifier.h"
#include "runtime/memory/Layout.h"

#include "runtime/gemm/Contraction.h"
#include "runtime/package/Kernel.h"
#include "runtime/plan/AttentionPlan.h"
#include "runtime/plan/BranchPlan.h"
#include "runtime/plan/ContractionPlan.h"
#include "runtime/plan/ConvolutionPlan.h"
#include "runtime/plan/DecodedBytes.h"
#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/FailureKey.h"
#include "runtime/plan/FourierPlan.h"
#include "runtime/plan/Image.h"
#include "runtime/plan/KernelAlignments.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/LoopPlan.h"
#include "runtime/plan/MatrixPlan.h"
#include "runtime/plan/PlanDevices.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/PlanSegments.h"
#include "runtime/plan/RawPlan.h"
#include "runtime/plan/ScalarBlock.h"
#include "runtime/plan/SortPlan.h"
#include "runtime/plan/StepTable.h"
#include "runtime/support/TensorText.h"
#include "weft/dtype.hpp"
#include "weft/limits.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::runtime {
namespace {

constexpr uint64_t maxBytes = uint64_t(1) << 47; // the address space of a process
constexpr uint64_t maxSum = uint64_t(1) << 62;   // of the bytes of tensors that may share memory
constexpr uint64_t maxScratchBytes = uint64_t(1) << 32;

// Checks one plan; members hold what several checks share.
class Verifier {
public:
  Verifier(const fb::Plan &plan, uint64_t constant_bytes, const Image *image)
      : plan_(plan), constant_bytes_(constant_bytes), image_(image) {}

  Status run() {
    if (!plan_.function() || !plan_.target())
      return fail("the function or the target has no name");
    if (plan_.kernel_abi() != kernelAbi)
      return Status::error(prefix() + "kernel ABI is " + number(plan_.kernel_abi()) + ", this runtime has " +
                               number(kernelAbi) + ": compile the program again",
                           "WEFT-L011");
    if (plan_.arena_bytes() > maxBytes)
      return too_large("the arena of " + number(plan_.arena_bytes()) + " bytes");
    for (auto step : {&Verifier::check_signature, &Verifier::check_scalars, &Verifier::check_buffers,
                      &Verifier::check_launches})
      if (Status status = (this->*step)(); !status)
        return status;
    for (auto check : {check_failure_key, check_plan_devices, check_regions, check_segments})
      if (Status status = check(plan_); !status)
        return fail(status.message());
    if (image_ && image_->device())
      if (Status status = check_kernel_alignments(plan_, *image_->device()); !status)
        return fail(status.message());
    return {};
  }

private:
  std::string prefix() const {
    return "plan of '" + text(plan_.function()) + "' for " + text(plan_.target()) + ": ";
  }
  Status fail(const std::string &message) const { return Status::error(prefix() + message, "WEFT-L008"); }
  // No damage: a program may ask for that much.
  Status too_large(const std::string &what) const {
    return Status::error("CPU out of memory. Tried to allocate more bytes than a process can address for " +
                             what + ", in the " + prefix().substr(0, prefix().size() - 2),
                         "WEFT-M001");
  }

  // Bytes of a tensor, or nothing after `problem` was filled; empty where they are too many.
  std::optional<uint64_t> tensor_bytes(const fb::TensorType *type, std::string &problem) const {
    if (!type) {
      problem = "has no type";
      return std::nullopt;
    }
    if (type->dtype() > static_cast<uint8_t>(DType::f64)) {
      problem = "has unknown element type " + number(type->dtype());
      return std::nullopt;
    }
    if (!aligned(type->shape())) {
      problem = "has a misaligned shape";
      return std::nullopt;
    }
    if (length(type->shape()) > maxRank) {
      problem = "has " + number(length(type->shape())) + " dimensions, and at most " + number(maxRank) +
                " are possible";
      return std::nullopt;
    }
    uint64_t bytes = itemsize(static_cast<DType>(type->dtype()));
    bool empty = false;
    for (uint32_t i = 0; i < length(type->shape()); ++i) {
      const int64_t extent = type->shape()->Get(i);
      if (extent < 0) {
        problem = "has negative extent " + number(extent) + " in dimension " + number(i);
        return std::nullopt;
      }
      empty |= extent == 0;
      // An empty tensor may have any other extents; they must still not overflow.
      if (__builtin_mul_overflow(bytes, std::max<uint64_t>(1, static_cast<uint64_t>(extent)), &bytes) ||
          bytes > maxBytes) {
        problem.clear();
        return std::nullopt;
      }
    }
    return empty ? 0 : bytes;
  }

  static bool same_type(const fb::TensorType &a, const fb::TensorType &b) {
    if (a.dtype() != b.dtype() || length(a.shape()) != length(b.shape()) ||
        text(a.device()) != text(b.device()))
      return false;
    for (uint32_t i = 0; i < length(a.shape()); ++i)
      if (a.shape()->Get(i) != b.shape()->Get(i))
        return false;
    return true;
  }

  Status check_signature() {
    std::string problem;
    for (uint32_t i = 0; i < length(plan_.arguments()); ++i) {
      const fb::Argument *argument = plan_.arguments()->Get(i);
      const std::optional<uint64_t> bytes = tensor_bytes(argument->type(), problem);
      if (!bytes)
        return problem.empty() ? too_large(value_name("argument", i, text(argument->name())))
                               : fail(value_name("argument", i, text(argument->name())) + " " + problem);
      if (static_cast<uint8_t>(argument->role()) > static_cast<uint8_t>(fb::Role::random))
        return fail("argument " + number(i) + " has unknown role " +
                    number(static_cast<int>(argument->role())));
      argument_bytes_.push_back(*bytes);
      if (argument->alignment() & (argument->alignment() - 1) || argument->alignment() > widestAccess)
        return fail("argument " + number(i) + " has the alignment " + number(argument->alignment()) +
                    ", expected a power of two up to " + number(widestAccess));
      if (Status status = check_strides(*argument, i); !status)
        return status;
    }
    // Arguments may share memory, so that their sum may be more than a process can address; but callers add
    // it to that of the results and of the temporaries.
    if (!sums_to_at_most(argument_bytes_, maxSum))
      return too_large("all arguments");
    std::vector<bool> tied(argument_bytes_.size());
    for (uint32_t i = 0; i < length(plan_.results()); ++i) {
      const fb::Result *result = plan_.results()->Get(i);
      const std::string what = value_name("result", i, text(result->name())) + " ";
      const std::optional<uint64_t> bytes = tensor_bytes(result->type(), problem);
      if (!bytes)
        return problem.empty() ? too_large(value_name("result", i, text(result->name())))
                               : fail(what + problem);
      result_bytes_.push_back(*bytes);
      if (result->alignment() & (result->alignment() - 1) || result->alignment() > widestAccess)
        return fail(what + "has the alignment " + number(result->alignment()) +
                    ", expected a power of two up to " + number(widestAccess));
      if (Status status = check_alias(what, *result, i); !status)
        return status;
      if (result->tied_to() == -1)
        continue;
      const auto to = static_cast<uint32_t>(result->tied_to());
      if (result->tied_to() < 0 || to >= argument_bytes_.size())
        return fail(what + "is tied to argument " + number(result->tied_to()) + " of " +
                    number(argument_bytes_.size()));
      const fb::Argument *argument = plan_.arguments()->Get(to);
      if (!argument->donated())
        return fail(what + "is tied to argument " + number(to) + ", which is not donated");
      if (!same_type(*result->type(), *argument->type()))
        return fail(what + "has another type than argument " + number(to) + ", which it is tied to");
      if (tied[to])
        return fail(what + "is tied to argument " + number(to) + ", as another result is");
      tied[to] = true;
    }
    std::vector<uint64_t> fresh;
    for (uint32_t i = 0; i < length(plan_.results()); ++i)
      if (const fb::Result &result = *plan_.results()->Get(i);
          result.tied_to() == -1 && result.alias_argument() == -1 && result.alias_result() == -1)
        fresh.push_back(result_bytes_[i]);
    return sums_to_at_most(fresh, maxBytes) ? Status() : too_large("all results");
  }

  // Each is at most `maxBytes`.
  static bool sums_to_at_most(std::span<const uint64_t> all_bytes, uint64_t most) {
    uint64_t sum = 0;
    for (const uint64_t bytes : all_bytes) {
      sum += bytes;
      if (sum > most)
        return false;
    }
    return true;
  }

  // Strides step forward through memory that nothing writes; they make the argument's bytes what they reach.
  Status check_strides(const fb::Argument &argument, uint32_t i) {
    if (length(argument.strides()) == 0)
      return {};
    const std::string what = value_name("argument", i, text(argument.name())) + " ";
    if (!aligned(argument.strides()))
      return fail(what + "has misaligned strides");
    if (length(argument.strides()) != length(argument.type()->shape()))
      return fail(what + "of rank " + number(length(argument.type()->shape())) + " has " +
                  number(length(argument.strides())) + " strides");
    if (argument.donated())
      return fail(what + "is donated and has strides: memory that is written is row-major");
    if (argument.role() != fb::Role::argument)
      return fail(what + "is kept between calls and has strides: only what a call brings has");
    const std::vector<int64_t> shape(argument.type()->shape()->begin(), argument.type()->shape()->end());
    const std::vector<int64_t> strides(argument.strides()->begin(), argument.strides()->end());
    for (size_t d = 0; d < strides.size(); ++d)
      if (strides[d] < 0)
        return fail(what + "has the negative stride " + number(strides[d]) + " in dimension " + number(d));
    const std::optional<uint64_t> elements = strided_elements(shape, strides);
    if (!elements || *elements > maxBytes / itemsize(static_cast<DType>(argument.type()->dtype())))
      return fail(what + "has strides that reach over more bytes than a process can address");
    argument_bytes_.back() = *elements * itemsize(static_cast<DType>(argument.type()->dtype()));
    return {};
  }

  // A result that is a buffer of another is of as many bytes, and not one that a tie replaces as well.
  Status check_alias(const std::string &what, const fb::Result &result, uint32_t number_of_result) const {
    const int argument = result.alias_argument(), other = result.alias_result();
    if (argument == -1 && other == -1)
      return {};
    if ((argument != -1) + (other != -1) + (result.tied_to() != -1) > 1)
      return fail(what + "is tied or an alias more than once");
    const bool known = argument != -1
                           ? argument >= 0 && static_cast<size_t>(argument) < argument_bytes_.size()
                           : other >= 0 && static_cast<uint32_t>(other) < number_of_result;
    if (!known)
      return fail(what + "is an alias of " +
                  (argument != -1 ? "argument " + number(argument) : "result " + number(other)) +
                  ", which does not come before it");
    if (argument != -1 && length(plan_.arguments()->Get(static_cast<uint32_t>(argument))->strides()))
      return fail(what + "is an alias of argument " + number(argument) + ", which has strides");
    const uint64_t bytes = argument != -1 ? argument_bytes_[static_cast<size_t>(argument)]
                                          : result_bytes_[static_cast<size_t>(other)];
    if (bytes != result_bytes_[number_of_result])
      return fail(what + "has " + number(result_bytes_[number_of_result]) + " bytes, but is an alias of " +
                  number(bytes));
    return {};
  }

  Status check_scalars() {
    const Status status = check_scalar_block(plan_);
    return status.ok() ? status : fail(status.message());
  }

  Status check_buffers() {
    for (uint32_t i = 0; i < length(plan_.buffers()); ++i) {
      const fb::Buffer *buffer = plan_.buffers()->Get(i);
      const std::string what = "buffer " + number(i);
      uint64_t capacity = 0;
      std::string storage;
      switch (buffer->storage()) {
      case fb::Storage::argument:
        if (buffer->index() >= argument_bytes_.size())
          return fail(what + " lies in argument " + number(buffer->index()) + " of " +
                      number(argument_bytes_.size()));
        capacity = argument_bytes_[buffer->index()];
        storage = "argument " + number(buffer->index());
        break;
      case fb::Storage::result:
        if (buffer->index() >= result_bytes_.size())
          return fail(what + " lies in result " + number(buffer->index()) + " of " +
                      number(result_bytes_.size()));
        if (const fb::Result *result = plan_.results()->Get(buffer->index());
            result->alias_argument() != -1 || result->alias_result() != -1)
          return fail(what + " lies in result " + number(buffer->index()) +
                      ", which is an alias and has no storage");
        capacity = result_bytes_[buffer->index()];
        storage = "result " + number(buffer->index());
        break;
      case fb::Storage::arena:
        capacity = plan_.arena_bytes();
        storage = "the arena";
        break;
      case fb::Storage::constant:
        capacity = constant_bytes_;
        storage = "the constants";
        break;
      case fb::Storage::scalar:
        if (buffer->index() >= length(plan_.scalars()))
          return fail(what + " lies in scalar " + number(buffer->index()) + " of " +
                      number(length(plan_.scalars())));
        capacity = itemsize(static_cast<DType>(plan_.scalars()->Get(buffer->index())->dtype()));
        storage = "scalar " + number(buffer->index());
        break;
      default:
        return fail(what + " has unknown storage " + number(static_cast<int>(buffer->storage())));
      }
      if (buffer->offset() > capacity || buffer->bytes() > capacity - buffer->offset()) {
        std::string text = what + " [" + number(buffer->offset()) + ", +" + number(buffer->bytes());
        text += ") lies outside " + storage + " of " + number(capacity) + " bytes";
        return fail(text);
      }
    }
    return {};
  }

  const fb::Buffer *buffer(uint32_t index) const { return buffer_of(plan_, index); }

  bool overlap(const fb::Buffer &a, const fb::Buffer &b) const { return share_bytes(plan_, a, b); }

  Status check_write(const std::string &what, const fb::Buffer &buffer, uint32_t launch) {
    const auto [storage, index] = place_of(plan_, buffer);
    if (storage == fb::Storage::constant || storage == fb::Storage::scalar)
      return fail(what + (storage == fb::Storage::scalar ? " writes a scalar" : " writes a constant"));
    if (storage != fb::Storage::argument)
      return {};
    if (!plan_.arguments()->Get(index)->donated())
      return fail(what + " writes argument " + number(index) + ", which is not donated");
    if (static_cast<int64_t>(launch) <= last_fallible_)
      return fail(what + " writes donated argument " + number(index) + " before launch " +
                  number(last_fallible_) +
                  " is done, which may fail: a failing call must leave its state as it was");
    writes_argument_ = true;
    return {};
  }

  /// Whether a GPU carries out such a launch by kernels that the launch names.
  static bool has_own_kernels(const fb::Launch &launch) {
    return launch.op_as_ContractionLaunch() || launch.op_as_AttentionLaunch() ||
           launch.op_as_ConvolutionLaunch() || launch.op_as_SortLaunch() || launch.op_as_RawLaunch();
  }

  // The host looks at the failures of a call before each of its launches; on another device a launch has to.
  bool is_library_call_on_device(const fb::Launch &launch) const {
    return (has_own_kernels(launch) || launch.op_as_LoopLaunch() || launch.op_as_BranchLaunch() ||
            launch.op_as_WhileLaunch()) &&
           is_off_host(plan_, launch);
  }

  // What an earlier call left undone may fail this one before it begins, so that even a plan without checks
  // says what must not happen then.
  Status check_predicate(const std::string &what, const fb::Launch &launch) const {
    const auto *host = launch.op_as_HostLaunch();
    const bool prints = host && host->action() == fb::HostAction::print;
    switch (launch.predicate()) {
    case fb::Predicate::none:
      if (writes_argument_ || prints)
        return fail(what + (prints ? " prints" : " writes a donated argument") +
                    " whether or not the call has failed: it has no predicate");
      return {};
    case fb::Predicate::failure:
      if (!writes_argument_ && !prints)
        return fail(what + " has a predicate, and does nothing that a failed call must not do");
      if (is_library_call_on_device(launch))
        return fail(what +
                    (launch.op_as_RawLaunch()                                  ? " is a kernel of the user"
                     : launch.op_as_LoopLaunch() || launch.op_as_WhileLaunch() ? " is a loop"
                     : launch.op_as_BranchLaunch()                             ? " is a branch"
                                                                               : " is a library call") +
                    " on a device, where it does not see whether the call has failed, and writes a donated "
                    "argument: compile the program again");
      return {};
    }
    return fail(what + " has the unknown predicate " + number(static_cast<int>(launch.predicate())));
  }

  Status check_launches() {
    for (uint32_t i = 0; i < length(plan_.launches()); ++i)
      if (plan_.launches()->Get(i)->may_fail())
        last_fallible_ = i;
    for (uint32_t i = 0; i < length(plan_.launches()); ++i) {
      const fb::Launch *launch = plan_.launches()->Get(i);
      std::string what = "launch " + number(i);
      if (launch->name())
        what += " '" + text(launch->name()) + "'";
      if (launch->location())
        what += " (" + text(launch->location()) + ")";
      writes_argument_ = false;
      Status status;
      if (!launch->op())
        status = fail(what + " has no operation");
      else if (const auto *kernel = launch->op_as_KernelLaunch())
        status = check_kernel(what, *kernel, *launch, i);
      else if (const auto *contraction = launch->op_as_ContractionLaunch())
        status = check_contraction(what, *contraction, i);
      else if (const auto *attention = launch->op_as_AttentionLaunch())
        status = check_attention(what, *attention, i);
      else if (const auto *convolution = launch->op_as_ConvolutionLaunch())
        status = check_convolution(what, *convolution, *launch, i);
      else if (const auto *sort = launch->op_as_SortLaunch())
        status = check_sort(what, *sort, *launch, i);
      else if (const auto *matrices = launch->op_as_MatrixLaunch())
        status = check_matrices(what, *matrices, *launch, i);
      else if (const auto *fourier = launch->op_as_FourierLaunch())
        status = check_fourier(what, *fourier, *launch, i);
      else if (const auto *loop = launch->op_as_LoopLaunch())
        status = check_bodies(what, "loop", loop_problem(*loop, plan_), *loop, *launch, i);
      else if (const auto *branch = launch->op_as_BranchLaunch())
        status = check_bodies(what, "branch", branch_problem(*branch, plan_), *branch, *launch, i);
      else if (const auto *loop = launch->op_as_WhileLaunch())
        status = check_bodies(what, "loop", while_problem(*loop, plan_), *loop, *launch, i);
      else if (const auto *raw = launch->op_as_RawLaunch())
        status = check_raw(what, *raw, *launch, i);
      else if (const auto *copy = launch->op_as_CopyLaunch())
        status = check_copy(what, *copy, i);
      else if (const auto *host = launch->op_as_HostLaunch())
        status = check_host(what, *host, launch->may_fail());
      else
        status = fail(what + " is of an unknown kind: " + number(static_cast<int>(launch->op_type())));
      if (status.ok())
        status = check_device_launch(what, *launch);
      if (status.ok())
        status = check_predicate(what, *launch);
      if (!status)
        return status;
    }
    return {};
  }

  /// Whether a GPU can carry out a launch with the kernels that there are.
  Status check_device_launch(const std::string &what, const fb::Launch &launch) const {
    if (!is_device_launch(plan_, launch))
      return length(launch.own()) ? fail(what + " has kernels of our own for a GPU, and runs on none")
                                  : Status();
    const fb::KernelLaunch *kernel = launch.op_as_KernelLaunch();
    const bool is_own = has_own_kernels(launch);
    if (!image_ || (!kernel && !is_own))
      return {};
    if (!image_->device())
      return fail(what + " is of a kernel of a GPU, and there are none");
    if (!kernel) {
      const Status status = image_->device()->own_launches(launch).status();
      return status.ok() ? status : fail(what + " " + status.message());
    }
    const Expected<DeviceLaunch> made = image_->device()->launch_of(*kernel);
    if (!made)
      return fail(what + " " + made.status().message());
    // A GPU carries out what it was given, unless the kernel looks at the call's failures itself. One that
    // takes no record of failures finds none: it has nothing to check, as for tensors without elements.
    if (made->kernel->takes_checks() && !launch.may_fail())
      return fail(what + " cannot fail, and its kernel notes failures");
    if (launch.predicate() != fb::Predicate::none && !made->kernel->takes_predicate())
      return fail(what + " has a predicate, which its kernel does not look at");
    return {};
  }

  Status check_kernel(const std::string &what, const fb::KernelLaunch &kernel, const fb::Launch &launch,
                      uint32_t index) {
    std::vector<uint64_t> operand_bytes;
    if (!kernel.symbol())
      return fail(what + " names no kernel");
    if (image_ && !is_device_launch(plan_, launch))
      if (Expected<KernelFn> found = image_->find(kernel.symbol()->string_view()); !found)
        return found.status().with([&](FailureInfo &info) {
          info.context.insert(0, prefix() + what + ": ");
          info.code = "WEFT-L008";
        });
    if (!aligned(kernel.sizes()))
      return fail(what + " has misaligned sizes");
    if (kernel.tasks() < 0 || kernel.grain() < 1)
      return fail(what + " has " + number(kernel.tasks()) + " tasks in runs of " + number(kernel.grain()) +
                  "; expected at least 0 and at least 1");
    if (kernel.tasks() > INT64_MAX - kernel.grain())
      return fail(what + " has too many tasks: " + number(kernel.tasks()));
    if (kernel.scratch_bytes() > maxScratchBytes)
      return fail(what + " asks for " + number(kernel.scratch_bytes()) + " bytes of scratch, more than " +
                  number(maxScratchBytes));
    if (kernel.first_result() > length(kernel.buffers()))
      return fail(what + ": first result " + number(kernel.first_result()) + " of " +
                  number(length(kernel.buffers())) + " buffers");
    for (uint32_t i = 0; i < length(kernel.buffers()); ++i) {
      const fb::Buffer *operand = buffer(kernel.buffers()->Get(i));
      if (!operand)
        return fail(what + ": operand " + number(i) + " is buffer " + number(kernel.buffers()->Get(i)) +
                    " of " + number(length(plan_.buffers())));
      operand_bytes.push_back(operand->bytes());
      if (i < kernel.first_result())
        continue;
      if (Status status = check_write(what, *operand, index); !status)
        return status;
    }
    if (kernel.chunk() || kernel.groups())
      if (Status status = check_step_table(kernel, operand_bytes); !status)
        return fail(what + " " + status.message());
    if (image_ && image_->signatures())
      if (Status status =
              check_launch_signature(*image_->signatures(), kernel, launch.may_fail(), operand_bytes);
          !status)
        return fail(what + " " + status.message());
    return {};
  }

  Status check_library(const std::string &what, const fb::ContractionLaunch &launch, uint32_t index) const {
    if (launch.library_flops() < 0 || launch.workspace_bytes() > maxBytes)
      return fail(what + ": the library is used from " + number(launch.library_flops()) +
                  " operations on, with " + number(launch.workspace_bytes()) + " bytes of workspace");
    const uint32_t candidates = length(launch.candidates());
    for (uint32_t i = 0; i < candidates; ++i)
      if (length(launch.candidates()->Get(i)->words()) !=
          std::tuple_size_v<decltype(ContractionAlgorithm::words)>)
        return fail(what + ": candidate " + number(i) + " has " +
                    number(length(launch.candidates()->Get(i)->words())) + " words");
    if (candidates > ContractionCandidates::most)
      return fail(what + " has " + number(candidates) +
                  " candidates of a library, of which there are at most " +
                  number(ContractionCandidates::most));
    // Kernels of our own stand in for a library of a GPU.
    if (is_device_launch(plan_, *plan_.launches()->Get(index)))
      return {};
    if (candidates)
      return fail(what + " is the host's, and has candidates of a library for GPUs");
    // A plan without a name is older than the field, and means what the runtime has.
    if (const std::string library = text(launch.library());
        !library.empty() && std::ranges::find(contractionLibraries, library) == contractionLibraries.end())
      return Status::error(prefix() + what + " is for the library '" + library + "', and this runtime has '" +
                               std::string(contractionLibraries[0]) + "', and '" +
                               std::string(contractionLibraries[1]) +
                               "', a kernel of its own: compile the program again for what is here",
                           "WEFT-L015");
    return {};
  }

  Status check_contraction(const std::string &what, const fb::ContractionLaunch &launch, uint32_t index) {
    if (const std::string problem = contraction_problem(launch, plan_); !problem.empty())
      return fail(what + problem);
    if (Status status = check_library(what, launch, index); !status)
      return status;
    return check_write(what, *buffer(launch.c()), index);
  }

  Status check_attention(const std::string &what, const fb::AttentionLaunch &launch, uint32_t index) {
    if (const std::string problem = attention_problem(launch, plan_); !problem.empty())
      return fail(what + (problem[0] == ':' ? "" : " ") + problem);
    const AttentionShape shape = attention_shape(launch);
    std::vector<bool> written;
    for (size_t part = 0; part < attentionParts; ++part)
      if (shape.has(static_cast<AttentionPart>(part)))
        written.push_back(shape.writes(static_cast<AttentionPart>(part)));
    for (uint32_t i = 0; i < written.size(); ++i) {
      if (!written[i])
        continue;
      const fb::Buffer &result = *buffer(launch.places()->Get(i)->buffer());
      for (uint32_t j = 0; j < written.size(); ++j)
        if (j != i && overlap(result, *buffer(launch.places()->Get(j)->buffer())))
          return fail(what + ": what it writes overlaps another of its parts");
      if (Status status = check_write(what, result, index); !status)
        return status;
    }
    return {};
  }

  Status check_convolution(const std::string &what, const fb::ConvolutionLaunch &launch, const fb::Launch &of,
                           uint32_t index) {
    if (const std::string problem = convolution_problem(launch, plan_, is_device_launch(plan_, of));
        !problem.empty())
      return fail(what + (problem[0] == ':' ? "" : " ") + problem);
    const fb::Buffer &result = *buffer(launch.y()->buffer());
    if (overlap(*buffer(launch.a()->buffer()), result) || overlap(*buffer(launch.w()->buffer()), result))
      return fail(what + ": y overlaps an operand");
    for (uint32_t i = 0; i < length(launch.beside()); ++i)
      if (overlap(*buffer(launch.beside()->Get(i)), result))
        return fail(what + ": y overlaps an operand of a step");
    return check_write(what, result, index);
  }

  Status check_sort(const std::string &what, const fb::SortLaunch &launch, const fb::Launch &of,
                    uint32_t index) {
    const bool has_kernel = !is_off_host(plan_, of) || is_device_launch(plan_, of);
    if (!has_kernel || of.may_fail())
      return fail(what + (of.may_fail() ? " sorts, and is marked as one that may fail"
                                        : " sorts on a device that runs code for the host"));
    if (const std::string problem = sort_problem(launch, plan_); !problem.empty())
      return fail(what + " " + problem);
    for (const uint32_t written : {launch.values(), launch.indices()})
      if (Status status = check_write(what, *buffer(written), index); !status)
        return status;
    return {};
  }

  Status check_matrices(const std::string &what, const fb::MatrixLaunch &launch, const fb::Launch &of,
                        uint32_t index) {
    if (is_off_host(plan_, of) || of.may_fail())
      return fail(what + (of.may_fail() ? " is of matrices, and is marked as one that may fail"
                                        : " is of matrices on a device, which only the host computes"));
    if (const std::string problem = matrix_problem(launch, plan_); !problem.empty())
      return fail(what + " " + problem);
    uint32_t i = 0;
    for (const MatrixPart &part : MatrixRoutine::parts_of(matrix_shape(launch))) {
      const uint32_t number = launch.buffers()->Get(i++);
      if (Status status = part.written ? check_write(what, *buffer(number), index) : Status(); !status)
        return status;
    }
    return {};
  }

  Status check_fourier(const std::string &what, const fb::FourierLaunch &launch, const fb::Launch &of,
                       uint32_t index) {
    if (is_off_host(plan_, of) || of.may_fail())
      return fail(what + (of.may_fail()
                              ? " is a Fourier transform, and is marked as one that may fail"
                              : " is a Fourier transform on a device, which only the host computes"));
    if (const std::string problem = fourier_problem(launch, plan_); !problem.empty())
      return fail(what + " " + problem);
    return check_write(what, *buffer(launch.result()), index);
  }

  /// Checks a launch that runs functions of the package, for which `problem` was found. Only loops and
  /// conditions are on devices beside the host.
  template <typename Of>
  Status check_bodies(const std::string &what, const char *kind, const std::string &problem, const Of &launch,
                      const fb::Launch &of, uint32_t index) {
    if (of.may_fail())
      return fail(what + " is a " + kind + ", and is marked as one that may fail");
    if (!problem.empty())
      return fail(what + " " + problem);
    for (uint32_t i = 0; i < length(launch.buffers()); ++i)
      if (buffer(launch.buffers()->Get(i))->device() != of.device())
        return fail(what + " has operand " + number(i) + " on another device than its own");
    for (uint32_t i = launch.first_result(); i < length(launch.buffers()); ++i)
      if (Status status = check_write(what, *buffer(launch.buffers()->Get(i)), index); !status)
        return status;
    return {};
  }

  Status check_raw(const std::string &what, const fb::RawLaunch &launch, const fb::Launch &of,
                   uint32_t index) {
    if (!is_device_launch(plan_, of))
      return fail(what + " is of a kernel for a GPU, and runs on the host");
    if (of.may_fail())
      return fail(what +
                  " is of a kernel of the user, which notes no failures, and is marked as one that may "
                  "fail");
    if (const std::string problem = raw_launch_problem(launch, plan_); !problem.empty())
      return fail(what + " " + problem);
    for (uint32_t i = launch.first_result(); i < length(launch.buffers()); ++i)
      if (Status status = check_write(what, *buffer(launch.buffers()->Get(i)), index); !status)
        return status;
    return {};
  }

  Status check_host(const std::string &what, const fb::HostLaunch &host, bool may_fail) const {
    if (static_cast<uint8_t>(host.action()) > static_cast<uint8_t>(fb::HostAction::require))
      return fail(what + " asks for the unknown action " + number(static_cast<int>(host.action())));
    const fb::Buffer *value = buffer(host.buffer());
    if (!value)
      return fail(what + " reads buffer " + number(host.buffer()) + " of " + number(length(plan_.buffers())));
    if (host.dtype() > static_cast<uint8_t>(DType::f64))
      return fail(what + " has unknown element type " + number(host.dtype()));
    if (!aligned(host.shape()))
      return fail(what + " has a misaligned shape");
    if (length(host.shape()) > maxRank)
      return fail(what + " has " + number(length(host.shape())) + " dimensions, and at most " +
                  number(maxRank) + " are possible");
    uint64_t bytes = itemsize(static_cast<DType>(host.dtype()));
    for (uint32_t i = 0; i < length(host.shape()); ++i)
      if (host.shape()->Get(i) < 0 ||
          __builtin_mul_overflow(bytes, static_cast<uint64_t>(host.shape()->Get(i)), &bytes))
        return fail(what + " has extent " + number(host.shape()->Get(i)) + " in dimension " + number(i) +
                    ", which is negative or too large");
    if (bytes != value->bytes())
      return fail(what + " reads " + number(bytes) + " bytes of buffer " + number(host.buffer()) + " of " +
                  number(value->bytes()));
    if (host.action() == fb::HostAction::require &&
        (static_cast<DType>(host.dtype()) != DType::i1 || !may_fail))
      return fail(what + " requires what is no truth value, or is not marked as one that may fail");
    return {};
  }

  Status check_copy(const std::string &what, const fb::CopyLaunch &copy, uint32_t launch) {
    const fb::Buffer *from = buffer(copy.source()), *to = buffer(copy.destination());
    if (!from || !to)
      return fail(what + " copies buffer " + number(copy.source()) + " to " + number(copy.destination()) +
                  " of " + number(length(plan_.buffers())));
    if (from->bytes() != to->bytes())
      return fail(what + " copies " + number(from->bytes()) + " bytes to " + number(to->bytes()));
    if (overlap(*from, *to))
      return fail(what + " copies between overlapping ranges");
    return check_write(what, *to, launch);
  }

  const fb::Plan &plan_;
  const uint64_t constant_bytes_;
  const Image *image_;
  std::vector<uint64_t> argument_bytes_, result_bytes_;
  int64_t last_fallible_ = -1;
  bool writes_argument_ = false; // the launch that is being checked
};

} // namespace

Expected<const fb::Plan *> read_plan(std::span<const std::byte> bytes) {
  const auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  // FlatBuffers reads through aligned pointers; packages align every section.
  if (reinterpret_cast<uintptr_t>(data) % alignof(uint64_t) != 0)
    return Status::error("the plan's bytes are not aligned to 8", "WEFT-L008");
  if (bytes.size() < 16 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Status::error("a plan cannot take " + number(bytes.size()) + " bytes", "WEFT-L008");
  flatbuffers::Verifier verifier(data, bytes.size(), /*max_depth=*/16, /*max_tables=*/50'000'000);
  if (!fb::VerifyPlanBuffer(verifier))
    return Status::error("the plan's bytes are no valid plan: damaged, or of another format", "WEFT-L008");
  const fb::Plan *plan = fb::GetPlan(data);
  if (!DecodedBytes(bytes.size()).fits(*plan))
    return Status::error("the plan's bytes are no valid plan: its " + number(bytes.size()) +
                             " bytes stand for more than as many, so that parts of it are shared, and a plan "
                             "shares none",
                         "WEFT-L008");
  return plan;
}

Status verify_plan(const fb::Plan &plan, uint64_t constant_bytes, const Image *image) {
  return Verifier(plan, constant_bytes, image).run();
}

} // namespace weft::runtime
