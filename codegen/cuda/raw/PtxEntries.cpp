//===- PtxEntries.cpp - The kernels of a PTX text -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/raw/PtxEntries.h"

#include "llvm/ADT/SmallVector.h"

namespace weft::codegen {

using llvm::StringRef;

/// The bytes of a parameter: ".param .u64 .ptr .align 4 k_param_0", or ".param .align 8 .b8 k_param_4[16]".
static Expected<uint32_t> bytesOf(StringRef declaration) {
  llvm::SmallVector<StringRef, 8> words;
  declaration.split(words, ' ', -1, /*KeepEmpty=*/false);
  uint32_t count = 1;
  if (!words.empty() && words.back().ends_with("]") &&
      words.back().drop_back().split('[').second.getAsInteger(10, count))
    count = 0;
  for (StringRef word : words) {
    uint32_t bits = 0;
    // A type is a letter, or "bf" or "pred", and its bits; other words with a dot are .param, .ptr and
    // .align.
    const StringRef digits = word.drop_while([](char c) { return c < '0' || c > '9'; });
    if (word.starts_with(".") && word.size() > digits.size() && !digits.empty() &&
        !digits.getAsInteger(10, bits) && bits % 8 == 0 && count)
      return bits / 8 * count;
  }
  return Status::error("PTX declares the parameter '" + declaration.str() +
                       "', whose type this Weft cannot read");
}

/// The most threads of a block, of a directive ".maxntid 128, 1, 1" or ".reqntid 128"; 0 if it is not there.
static uint32_t threadsOf(StringRef directives, StringRef name) {
  const size_t at = directives.find(name);
  if (at == StringRef::npos)
    return 0;
  StringRef numbers = directives.substr(at + name.size());
  uint32_t product = 1;
  do {
    uint32_t number = 0;
    numbers = numbers.ltrim();
    if (numbers.consumeInteger(10, number))
      return 0;
    product *= number;
    numbers = numbers.ltrim();
  } while (numbers.consume_front(","));
  return product;
}

Expected<std::vector<PtxEntry>> readPtxEntries(StringRef ptx) {
  std::vector<PtxEntry> entries;
  constexpr StringRef keyword = ".entry ";
  for (size_t at = ptx.find(keyword); at != StringRef::npos; at = ptx.find(keyword, at)) {
    at += keyword.size();
    const StringRef rest = ptx.substr(at), head = rest.take_until([](char c) { return c == '{'; });
    PtxEntry &entry = entries.emplace_back();
    auto [name, list] = head.split('(');
    entry.name = name.trim().str();
    auto [parameters, directives] = list.split(')');
    llvm::SmallVector<StringRef, 8> declarations;
    parameters.split(declarations, ',', -1, /*KeepEmpty=*/false);
    for (StringRef declaration : declarations) {
      if (declaration.trim().empty())
        continue;
      Expected<uint32_t> bytes = bytesOf(declaration.trim());
      if (!bytes)
        return bytes.status();
      entry.parameterBytes.push_back(*bytes);
    }
    entry.mostThreads = std::max(threadsOf(directives, ".maxntid"), threadsOf(directives, ".reqntid"));
  }
  return entries;
}

} // namespace weft::codegen
