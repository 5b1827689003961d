//===- fuzz_package.cpp - Any bytes to the reader of packages -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checksums are made right after each mutation, or the fuzzer would never come past them. The first byte of
// the input says whether: half of all inputs keep theirs.
//
//===----------------------------------------------------------------------===//
#include "runtime/Package.h"
#include "runtime/StatefulExecutable.h"

#include <cstring>

using namespace weft::runtime;

static void repairChecksums(std::vector<std::byte> &bytes) {
  PackageHeader header;
  if (bytes.size() < sizeof header)
    return;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span<std::byte> all(bytes);
  const uint64_t size = bytes.size();
  header.file_bytes = size;
  if (header.table_offset <= size && header.table_bytes <= size - header.table_offset) {
    const std::span<std::byte> table = all.subspan(header.table_offset, header.table_bytes);
    for (uint64_t i = 0; i < header.section_count && (i + 1) * sizeof(PackageSection) <= table.size(); ++i) {
      PackageSection row;
      std::memcpy(&row, table.data() + i * sizeof row, sizeof row);
      if (row.offset <= size && row.bytes <= size - row.offset)
        row.checksum = checksum64(all.subspan(row.offset, row.bytes));
      std::memcpy(table.data() + i * sizeof row, &row, sizeof row);
    }
    header.table_checksum = checksum64(table);
  }
  std::memcpy(bytes.data(), &header, sizeof header);
  header.header_checksum = checksum64(all.first(offsetof(PackageHeader, header_checksum)));
  std::memcpy(bytes.data(), &header, sizeof header);
}

static void require(bool holds) {
  if (!holds)
    __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const bool repair = data[0] % 2 == 0;
  const auto *first = reinterpret_cast<const std::byte *>(data + 1);
  std::vector<std::byte> bytes(first, first + size - 1);
  if (repair)
    repairChecksums(bytes);
  const auto package = Package::from_memory(std::move(bytes));
  // What is refused must say why.
  require(package.ok() || !package.status().message().empty());
  if (!package.ok())
    return 0;
  for (const std::string &name : (*package)->names()) {
    const auto section = (*package)->section(name);
    require(section.ok() || !section.status().message().empty());
    // "plan.FUNCTION.cpu" is what an executable is made from. It is not run: kernels are machine code, and a
    // package is trusted as a program is.
    if (name.starts_with("plan.") && name.ends_with(".cpu") && name.size() > 9) {
      const auto executable = StatefulExecutable::load(*package, name.substr(5, name.size() - 9));
      require(executable.ok() || !executable.status().message().empty());
    }
  }
  return 0;
}
