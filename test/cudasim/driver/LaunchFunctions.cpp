//===- LaunchFunctions.cpp - Modules, kernels and their launches ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Capture.h"
#include "test/cudasim/driver/Functions.h"
#include "test/cudasim/driver/Settings.h"

#include <cstring>

namespace weft::cusim {
namespace {

std::string sm(int capability) { return "sm_" + std::to_string(capability); }

/// The text of an image, and what its CUBIN says.
CUresult readText(const void *data, Image &image) {
  if (!isCubin(data)) {
    image.ptx = static_cast<const char *>(data);
    if (image.ptx.find(".version") == std::string::npos)
      return refuse(CUDA_ERROR_INVALID_IMAGE,
                    "the image is neither PTX nor a CUBIN; fat binaries are not read");
    return CUDA_SUCCESS;
  }
  image.ptx = trailerOf(data);
  // No message: the caller may have PTX, too, and go on with that.
  if (image.ptx.empty())
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  image.resources = resourcesOf(data);
  return CUDA_SUCCESS;
}

CUresult load(const void *data, Image &image) {
  if (!data)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the image is null");
  if (const CUresult code = readText(data, image); code != CUDA_SUCCESS)
    return code;
  cudasim::ParseResult parsed = cudasim::Module::parse(image.ptx);
  if (!parsed)
    return refuse(CUDA_ERROR_INVALID_PTX, parsed.error.str());
  const int target = parsed.module->target(), device = int(settings().computeCapability);
  // A CUBIN runs on later devices of its generation, and PTX on all later ones.
  if (target > device || (isCubin(data) && target / 10 != device / 10))
    return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, std::string(isCubin(data) ? "the CUBIN" : "the PTX") +
                                                    " is for " + sm(target) + ", and the device is of " +
                                                    sm(device) + " (CUSIM_CC)");
  image.unloaded = std::move(parsed.module);
  return CUDA_SUCCESS;
}

/// Destroys an image with its kernels, after all work has run.
void unload(Image *image) {
  for (auto &[device, module] : image->modules) {
    waitForAll(*device->primary);
    module->unload(device->memory);
  }
  for (const auto &[key, kernel] : image->kernels)
    state().destroy(kernel);
  state().destroy(image);
}

/// The image's kernel of that name for a device, or for any; null if there is none.
Kernel *findKernel(Image &image, const char *name, Device *device) {
  const cudasim::Module &any = image.unloaded ? *image.unloaded : *image.modules.begin()->second;
  if (!name || !any.kernel(name)) {
    refuse(CUDA_ERROR_NOT_FOUND, "the " + image.name() + " has no kernel '" + (name ? name : "") + "'");
    return nullptr;
  }
  Kernel *&made = image.kernels[{name, device}];
  if (!made)
    made = state().make<Kernel>(image, name, device);
  return made;
}

Image *imageOf(const void *handle, const char *kind) {
  Image *image = state().find<Image>(handle);
  if (image && !std::strcmp(image->kind, kind))
    return image;
  refuse(CUDA_ERROR_INVALID_HANDLE, "the " + std::string(kind) + " does not exist, or was unloaded");
  return nullptr;
}

/// Attributes that change nothing here are accepted, others refused.
CUresult checkAttributes(const CUlaunchConfig &config) {
  for (unsigned k = 0; k < config.numAttrs; ++k) {
    const CUlaunchAttribute &one = config.attrs[k];
    const auto &cluster = one.value.clusterDim;
    switch (one.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      continue;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      if (cluster.x == 1 && cluster.y == 1 && cluster.z == 1)
        continue;
      break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      if (!one.value.cooperative)
        continue;
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      if (!one.value.programmaticStreamSerializationAllowed)
        continue;
      break;
    default:
      break;
    }
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "the launch attribute " + std::to_string(int(one.id)) + " is not supported");
  }
  return CUDA_SUCCESS;
}

} // namespace

namespace functions {

CUresult cuLibraryLoadData(CUlibrary *handle, const void *data, CUjit_option *, void **, unsigned,
                           CUlibraryOption *, void **, unsigned) {
  Image *image = state().make<Image>("library");
  if (const CUresult code = load(data, *image); code != CUDA_SUCCESS) {
    state().destroy(image);
    return code;
  }
  *handle = handleOf<CUlibrary>(image);
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary handle) {
  Image *image = imageOf(handle, "library");
  if (!image)
    return CUDA_ERROR_INVALID_HANDLE;
  unload(image);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *handle, CUlibrary library, const char *name) {
  Image *image = imageOf(library, "library");
  if (!image)
    return CUDA_ERROR_INVALID_HANDLE;
  Kernel *kernel = findKernel(*image, name, nullptr);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  *handle = handleOf<CUkernel>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel handle) {
  Kernel *kernel = kernelOf(handle, currentContext()->device);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  *function = handleOf<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *handle, const void *data, unsigned, CUjit_option *, void **) {
  Image *image = state().make<Image>("module");
  CUresult code = load(data, *image);
  if (code == CUDA_SUCCESS && !image->on(currentContext()->device))
    code = CUDA_ERROR_OUT_OF_MEMORY;
  if (code != CUDA_SUCCESS) {
    state().destroy(image);
    return code;
  }
  *handle = handleOf<CUmodule>(image);
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule handle) {
  Image *image = imageOf(handle, "module");
  if (!image)
    return CUDA_ERROR_INVALID_HANDLE;
  unload(image);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  Image *image = imageOf(handle, "module");
  if (!image)
    return CUDA_ERROR_INVALID_HANDLE;
  Kernel *kernel = findKernel(*image, name, image->modules.begin()->first);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  *function = handleOf<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  const Kernel *kernel = kernelOf(function, currentContext()->device);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = int(kernel->mostThreads());
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = int(kernel->info().staticSharedBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = int(kernel->localBytes());
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = int(kernel->registers());
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = kernel->image.modules.at(kernel->device)->target();
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = int(kernel->mostDynamicShared);
    return CUDA_SUCCESS;
  default:
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "the kernel's attribute " + std::to_string(int(attribute)) + " is not known");
  }
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  Kernel *kernel = kernelOf(function, currentContext()->device);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
    return CUDA_SUCCESS;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "the kernel's attribute " + std::to_string(int(attribute)) + " cannot be set");
  const uint64_t most = kernel->device->numbers.blockSharedBytes;
  if (value < 0 || uint64_t(value) + kernel->info().staticSharedBytes > most)
    return refuse(CUDA_ERROR_INVALID_VALUE, std::to_string(value) + " bytes of dynamic shared memory and " +
                                                std::to_string(kernel->info().staticSharedBytes) +
                                                " static ones are more than the " + std::to_string(most) +
                                                " of a block");
  kernel->mostDynamicShared = uint64_t(value);
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  return kernelOf(function, currentContext()->device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra) {
  if (!config || (config->numAttrs && !config->attrs))
    return refuse(CUDA_ERROR_INVALID_VALUE, "the configuration or its attributes are null");
  Stream *stream = state().streamOf(config->hStream);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  Launch launch;
  launch.device = &stream->context.device;
  launch.kernel = kernelOf(function, *launch.device);
  if (!launch.kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  launch.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  launch.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  launch.dynamicShared = config->sharedMemBytes;
  CUresult code = checkAttributes(*config);
  if (code == CUDA_SUCCESS)
    code = readLaunch(launch, parameters, extra);
  if (code != CUDA_SUCCESS)
    return code;
  const std::string what = "kernel '" + launch.kernel->entry + "' of " + currentCall().text();
  return submit(*stream, what, std::move(launch));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t dynamicShared) {
  const Kernel *kernel = kernelOf(function, currentContext()->device);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  if (threads <= 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a block must have threads");
  *blocks = int(residentBlocks(*kernel, uint64_t(threads), dynamicShared));
  return CUDA_SUCCESS;
}

} // namespace functions
} // namespace weft::cusim
