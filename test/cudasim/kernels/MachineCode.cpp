//===- MachineCode.cpp - What machine code of a GPU does ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "MachineCode.h"

#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

namespace weft::cudasim {

namespace {

constexpr size_t instructionBytes = 16;
/// The lowest bits of an instruction say what it does. A test compares these with what nvdisasm names.
constexpr uint64_t operationMask = 0xfff, loadLocal = 0x983, storeLocal = 0x387;

} // namespace

Expected<unsigned> countLocalAccesses(llvm::StringRef cubin) {
  auto failed = [](llvm::Error error) {
    return Status::error("reading a CUBIN: " + llvm::toString(std::move(error)));
  };
  auto file = llvm::object::ELF64LEFile::create(cubin);
  if (!file)
    return failed(file.takeError());
  auto sections = file->sections();
  if (!sections)
    return failed(sections.takeError());
  unsigned count = 0, kernels = 0;
  for (const auto &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name)
      return failed(name.takeError());
    if (!name->starts_with(".text."))
      continue;
    ++kernels;
    auto code = file->getSectionContents(section);
    if (!code)
      return failed(code.takeError());
    for (size_t at = 0; at + instructionBytes <= code->size(); at += instructionBytes) {
      const uint64_t operation = llvm::support::endian::read64le(code->data() + at) & operationMask;
      count += operation == loadLocal || operation == storeLocal;
    }
  }
  if (!kernels)
    return Status::error("a CUBIN has no kernel");
  return count;
}

} // namespace weft::cudasim
