//===- fuzz_ptx.cpp - Any bytes to the engine's reader of PTX ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/engine/Engine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace weft::cudasim;
  if (!processorSuffices())
    return 0;
  ParseResult parsed = Module::parse({reinterpret_cast<const char *>(data), size});
  // A refused text must have a message. What is accepted runs until its end, a fault, or its budget.
  if (!parsed && parsed.error.message.empty())
    __builtin_trap();
  if (!parsed || parsed.module->kernels().empty())
    return 0;
  Memory memory(1 << 26);
  if (!parsed.module->load(memory))
    return 0;
  const KernelInfo &kernel = parsed.module->kernels().front();
  std::vector<std::byte> parameters(kernel.parameterBytes);
  LaunchOptions options{.block = {40}, .race = true, .budget = 5000};
  launch(*parsed.module, kernel.name, memory, options, parameters);
  return 0;
}
