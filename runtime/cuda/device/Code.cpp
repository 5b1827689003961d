//===- Code.cpp - Kernels that a GPU has loaded ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/Code.h"

#include "runtime/cuda/device/CallKernels.h"
#include "runtime/plan/plan_generated.h"

namespace weft::runtime {

CudaLibraries::~CudaLibraries() {
  if (libraries_.empty())
    return;
  const ContextScope scope(context_);
  if (!scope.status().ok())
    return; // a fork, whose parent has the code, or a context that is gone
  for (CUlibrary library : libraries_)
    (void)context_.table().cuLibraryUnload(library);
}

CUresult CudaLibraries::load(const void *code, CUlibrary &library) {
  libraries_.reserve(libraries_.size() + 1);
  const CUresult result =
      context_.table().cuLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS)
    libraries_.push_back(library);
  return result;
}

CUresult CudaLibraries::find(CUlibrary library, const char *kernel, CUfunction &function) const {
  CUkernel found = nullptr;
  CUresult code = context_.table().cuLibraryGetKernel(&found, library, kernel);
  if (code == CUDA_SUCCESS)
    code = context_.table().cuKernelGetFunction(&function, found);
  // Under lazy loading the first launch would load it, which allocates and may wait.
  return code == CUDA_SUCCESS ? context_.table().cuFuncLoad(function) : code;
}

/// Whether the device does not run this code, and may run other code of the same kernel.
static bool is_other_code(CUresult code) {
  return code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_INVALID_IMAGE ||
         code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

Expected<CUfunction> CudaCode::load_kernel(const CudaContext &context, const fb::DeviceKernel &kernel,
                                           bool machine_code) {
  const std::string name = kernel.symbol()->str(),
                    entry = kernel.raw() ? kernel.raw()->entry()->str() : "weft_kernel";
  CUfunction function = nullptr;
  // The driver may look at code when it is loaded, or when a kernel of it is asked for.
  const auto load = [&](const void *bytes) {
    CUlibrary library = nullptr;
    const CUresult code = libraries_.load(bytes, library);
    return code == CUDA_SUCCESS ? libraries_.find(library, entry.c_str(), function) : code;
  };
  CUresult code = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (machine_code && kernel.cubin() && kernel.cubin()->size())
    code = load(kernel.cubin()->data());
  if (is_other_code(code) && kernel.ptx() && kernel.ptx()->size())
    code = load(kernel.ptx()->c_str());
  int most_threads = 0;
  if (code == CUDA_SUCCESS)
    code =
        context.table().cuFuncGetAttribute(&most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  if (Status status = context.check(code, "loading kernel '" + name + "'"); !status)
    return status;
  if (static_cast<int>(kernel.threads()) > most_threads)
    return Status::error("kernel '" + name + "' has blocks of " + std::to_string(kernel.threads()) +
                             " threads, and '" + context.name() + "' runs its code in blocks of at most " +
                             std::to_string(most_threads) + ": compile the program for this GPU",
                         "WEFT-L009");
  if (kernel.shared_bytes() == 0)
    return function;
  code = context.table().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                            static_cast<int>(kernel.shared_bytes()));
  if (Status status =
          context.check(code, "giving kernel '" + name + "' " + std::to_string(kernel.shared_bytes()) +
                                  " bytes of shared memory");
      !status)
    return status;
  return function;
}

Expected<std::shared_ptr<const CudaCode>>
CudaCode::load(const CudaContext &context, std::shared_ptr<const DeviceImage> image, bool machine_code) {
  const std::shared_ptr<CudaCode> made(new CudaCode(context, std::move(image)));
  if (const auto *kernels = made->image_->content().kernels())
    for (const fb::DeviceKernel *kernel : *kernels) {
      Expected<CUfunction> function = made->load_kernel(context, *kernel, machine_code);
      if (!function)
        return function.status();
      made->functions_.emplace(kernel, *function);
    }
  return std::shared_ptr<const CudaCode>(made);
}

/// A kernel of the runtime's that takes flags, as "weft_begin_call_few" with room for few.
static std::string for_few_flags(std::string text, const std::string &name) {
  text.replace(text.find(name + "("), name.size(), name + "_few");
  return text.replace(text.find(call_kernels::manyDeclared), call_kernels::manyDeclared.size(),
                      call_kernels::fewDeclared);
}

Expected<std::unique_ptr<const CallCode>> CallCode::load(const CudaContext &context) {
  auto made = std::make_unique<CallCode>(context);
  CUlibrary library = nullptr;
  std::string text;
  for (const char *part : {call_kernels::headText, call_kernels::beginCallText, call_kernels::endCallText,
                           call_kernels::mergeKeysText, call_kernels::copyText})
    text += part;
  text += for_few_flags(call_kernels::beginCallText, "weft_begin_call");
  text += for_few_flags(call_kernels::endCallText, "weft_end_call");
  if (Status status =
          context.check(made->libraries.load(text.c_str(), library), "compiling the runtime's own kernels");
      !status)
    return status;
  const std::pair<const char *, CUfunction *> kernels[] = {
      {"weft_begin_call", &made->begin_call},     {"weft_begin_call_few", &made->begin_call_few},
      {"weft_end_call_few", &made->end_call_few}, {"weft_end_call", &made->end_call},
      {"weft_merge_keys", &made->merge_keys},     {"weft_copy", &made->copy}};
  for (const auto &[name, function] : kernels) {
    const CUresult code = made->libraries.find(library, name, *function);
    if (Status status = context.check(code, std::string("loading the runtime's kernel '") + name + "'");
        !status)
      return status;
  }
  return std::unique_ptr<const CallCode>(std::move(made));
}

} // namespace weft::runtime
