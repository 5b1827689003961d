//===- Launch.cpp - Kernels and their launches ------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Launch.h"

#include "test/cudasim/driver/Settings.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace weft::cusim {
namespace {

/// Of a kernel whose text came without a CUBIN: only ptxas knows the number.
constexpr uint32_t registersOfPlainText = 32;
/// What the virtual clock counts for an instruction of a warp.
constexpr uint64_t nanosecondsOfStep = 1;

CUresult codeOf(cudasim::FaultKind kind) {
  switch (kind) {
  case cudasim::FaultKind::outOfBounds:
  case cudasim::FaultKind::useAfterFree:
  case cudasim::FaultKind::readOnly:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case cudasim::FaultKind::misaligned:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case cudasim::FaultKind::assertion:
    return CUDA_ERROR_ASSERT;
  case cudasim::FaultKind::budget:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  case cudasim::FaultKind::invalidOperand:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  default:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

std::string text(const cudasim::Dim &size) {
  return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z);
}

/// Why a launch has no valid sizes; empty if it has.
std::string problemOf(const Launch &launch) {
  const cudasim::Dim &grid = launch.grid, &block = launch.block;
  const Kernel &kernel = *launch.kernel;
  const DeviceNumbers &numbers = launch.device->numbers;
  if (!grid.count() || !block.count())
    return "grid " + text(grid) + " and block " + text(block) + " must not be empty";
  if (grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
    return "grid " + text(grid) + " is larger than 2147483647x65535x65535";
  if (block.z > 64 || block.count() > numbers.blockThreads)
    return "block " + text(block) + " has more than " + std::to_string(numbers.blockThreads) +
           " threads, or more than 64 in z";
  if (block.count() > kernel.mostThreads())
    return "block " + text(block) + " has more than the " + std::to_string(kernel.mostThreads()) +
           " threads that the kernel is compiled for (.maxntid)";
  const cudasim::Dim &exact = kernel.info().maxBlock;
  if (kernel.info().exactBlock && (block.x != exact.x || block.y != exact.y || block.z != exact.z))
    return "block " + text(block) + " is not " + text(exact) + ", which the kernel requires (.reqntid)";
  const uint64_t shared = uint64_t(kernel.info().staticSharedBytes) + launch.dynamicShared;
  if (shared > kernel.mostDynamicShared +
                   (kernel.mostDynamicShared > (48 << 10) ? kernel.info().staticSharedBytes : 0))
    return "a block has " + std::to_string(shared) + " bytes of shared memory, and more than " +
           std::to_string(kernel.mostDynamicShared) +
           " need cuFuncSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)";
  return "";
}

/// Changes the lowest bit of the last byte that a launch wrote: the value of a Boolean, and of a float no
/// less than a quarter of it.
void spoil(const Launch &launch, const std::vector<cudasim::Range> &writes) {
  const std::string name = "CUSIM_SPOIL: launch " + std::to_string(settings().spoiltLaunch) + ", of '" +
                           launch.kernel->entry + "', ";
  if (writes.empty())
    return complain(name + "wrote nothing, so nothing was changed");
  const uint64_t address = writes.back().end - 1;
  *launch.device->memory.host(address, 1) ^= std::byte(1);
  complain(name + "has another bit in the byte at " + hex(address));
}

/// Lets one launch run whose call has failed. The record of a call's failures, at which Weft's kernels look
/// where they must not run then, is what `weft_begin_call` has as its first parameter, and they as their
/// last; it begins with ones as long as nothing has failed. For CUSIM_UNBLOCK.
class Unblocked {
public:
  explicit Unblocked(const Launch &launch) {
    static std::set<uint64_t> records;
    static uint64_t blocked = 0;
    const size_t bytes = launch.parameters.size();
    if (!settings().unblockedLaunch || bytes < sizeof(uint64_t))
      return;
    if (launch.kernel->entry.starts_with("weft_begin_call")) {
      records.insert(wordAt(launch, 0));
      return;
    }
    const uint64_t record = wordAt(launch, bytes - sizeof(uint64_t));
    if (!records.contains(record))
      return;
    key = reinterpret_cast<uint64_t *>(launch.device->memory.host(record, sizeof(uint64_t)));
    if (!key || *key == none || ++blocked != settings().unblockedLaunch) {
      key = nullptr;
      return;
    }
    kept = *key;
    *key = none;
    complain("CUSIM_UNBLOCK: launch " + std::to_string(blocked) + " of failed calls, of '" +
             launch.kernel->entry + "', ran");
  }
  ~Unblocked() {
    if (key && *key == none) // it has not failed itself
      *key = kept;
  }
  Unblocked(const Unblocked &) = delete;

private:
  static constexpr uint64_t none = UINT64_MAX;
  static uint64_t wordAt(const Launch &launch, size_t offset) {
    uint64_t word = 0;
    std::memcpy(&word, launch.parameters.data() + offset, sizeof word);
    return word;
  }
  uint64_t *key = nullptr; ///< in the device's memory
  uint64_t kept = none;
};

} // namespace

const cudasim::Module *Image::on(Device &device) {
  auto found = modules.find(&device);
  if (found != modules.end())
    return found->second.get();
  std::unique_ptr<cudasim::Module> module = std::move(unloaded);
  if (!module)
    module = cudasim::Module::parse(ptx).module; // a module is loaded into one memory
  if (!module->load(device.memory))
    return nullptr;
  return (modules[&device] = std::move(module)).get();
}

/// A module is gone; a library is loaded again where it is used next, with new kernels.
bool Image::leave(Context &context) {
  const auto found = modules.find(&context.device);
  if (found == modules.end())
    return false;
  found->second->unload(context.device.memory);
  unloaded = std::move(found->second);
  modules.erase(found);
  std::erase_if(kernels, [&](const auto &entry) { return entry.first.second == &context.device; });
  return std::string_view(kind) == "module";
}

const cudasim::KernelInfo &Kernel::info() const {
  const cudasim::Module &any = image.unloaded ? *image.unloaded : *image.modules.begin()->second;
  return *any.kernel(entry);
}

uint32_t Kernel::registers() const {
  auto found = image.resources.find(entry);
  return found != image.resources.end() && found->second.registers ? found->second.registers
                                                                   : registersOfPlainText;
}

uint32_t Kernel::localBytes() const {
  auto found = image.resources.find(entry);
  return found == image.resources.end() ? info().localBytes : found->second.stackBytes;
}

uint64_t Kernel::mostThreads() const {
  const uint64_t most = info().maxBlock.count();
  return most ? std::min<uint64_t>(most, 1024) : 1024;
}

Kernel *kernelOf(const void *handle, Device &device) {
  Kernel *found = state().find<Kernel>(handle);
  if (!found) {
    refuse(CUDA_ERROR_INVALID_HANDLE, "the kernel does not exist, or its module was unloaded");
    return nullptr;
  }
  if (found->device == &device)
    return found;
  if (found->device) {
    refuse(CUDA_ERROR_INVALID_HANDLE, "the kernel is of the context of another device");
    return nullptr;
  }
  if (!found->image.on(device)) {
    refuse(CUDA_ERROR_OUT_OF_MEMORY, "the device has no memory for the library's variables");
    return nullptr;
  }
  Kernel *&made = found->image.kernels[{found->entry, &device}];
  if (!made)
    made = state().make<Kernel>(found->image, found->entry, &device);
  return made;
}

CUresult readLaunch(Launch &launch, void **parameters, void **extra) {
  if (const std::string problem = problemOf(launch); !problem.empty())
    return refuse(CUDA_ERROR_INVALID_VALUE, "kernel '" + launch.kernel->entry + "': " + problem);
  const uint64_t registers = uint64_t(launch.kernel->registers()) * launch.block.count();
  if (registers > launch.device->numbers.coreRegisters)
    return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                  "kernel '" + launch.kernel->entry + "': a block needs " + std::to_string(registers) +
                      " registers, and there are " + std::to_string(launch.device->numbers.coreRegisters));
  const cudasim::KernelInfo &info = launch.kernel->info();
  launch.parameters.assign(info.parameterBytes, std::byte(0));
  if (parameters) {
    for (size_t k = 0; k < info.parameters.size(); ++k) {
      if (!parameters[k])
        return refuse(CUDA_ERROR_INVALID_VALUE, "kernel '" + launch.kernel->entry +
                                                    "': the address of parameter " + std::to_string(k) +
                                                    " is null");
      std::memcpy(launch.parameters.data() + info.parameters[k].offset, parameters[k],
                  info.parameters[k].size);
    }
    return CUDA_SUCCESS;
  }
  const void *buffer = nullptr;
  size_t bytes = 0;
  for (void **entry = extra; entry && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = entry[1];
    else if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = *static_cast<const size_t *>(entry[1]);
    else
      return refuse(CUDA_ERROR_INVALID_VALUE, "'extra' has an entry that is not known");
  }
  if (bytes != info.parameterBytes || (bytes && !buffer))
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "kernel '" + launch.kernel->entry + "' has " + std::to_string(info.parameterBytes) +
                      " bytes of parameters, and the launch gives " + std::to_string(bytes));
  if (bytes)
    std::memcpy(launch.parameters.data(), buffer, bytes);
  return CUDA_SUCCESS;
}

Outcome runLaunch(const Launch &launch) {
  static uint64_t number = 0;
  const cudasim::Module &module = *launch.kernel->image.modules.at(launch.device);
  cudasim::LaunchOptions options;
  options.grid = launch.grid;
  options.block = launch.block;
  options.dynamicShared = launch.dynamicShared;
  options.order = settings().order;
  options.seed = settings().seed + number++; // another order for each launch
  const bool isSpoilt = number == settings().spoiltLaunch;
  options.race = settings().race || isSpoilt; // which says what was written
  const Unblocked unblocked(launch);
  cudasim::LaunchResult result =
      cudasim::launch(module, launch.kernel->entry, launch.device->memory, options, launch.parameters);
  Outcome outcome;
  if (result.fault) {
    outcome.code = codeOf(result.fault->kind);
    outcome.message = result.fault->str();
    return outcome;
  }
  if (isSpoilt)
    spoil(launch, result.writes);
  outcome.accesses = {std::move(result.reads), std::move(result.writes), std::move(result.atomics)};
  outcome.conditions = std::move(result.conditions);
  outcome.nanoseconds = result.steps * nanosecondsOfStep;
  return outcome;
}

uint64_t residentBlocks(const Kernel &kernel, uint64_t threads, uint64_t dynamicShared) {
  const DeviceNumbers &numbers = kernel.device->numbers;
  auto roundUp = [](uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; };
  const uint64_t warps = (threads + numbers.warpThreads - 1) / numbers.warpThreads;
  const uint64_t registersOfWarp =
      roundUp(kernel.registers() * numbers.warpThreads, numbers.warpRegisterUnit);
  // Shared memory is given in pieces of 128 bytes.
  const uint64_t shared =
      roundUp(kernel.info().staticSharedBytes + dynamicShared + numbers.reservedSharedBytes, 128);
  uint64_t most = std::min(numbers.coreBlocks, numbers.coreWarps / warps);
  most = std::min(most, numbers.coreRegisters / registersOfWarp / warps);
  return shared ? std::min(most, numbers.coreSharedBytes / shared) : most;
}

} // namespace weft::cusim
