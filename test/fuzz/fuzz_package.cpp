//===- fuzz_package.cpp - Any bytes to the reader of packages -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fuzzer would never pass the checksums and seals of a package, so they are recomputed for half of the
// inputs, which the first byte selects. The other inputs keep theirs.
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/package/Package.h"
#include "runtime/plan/Image.h"

#include <cstring>

using namespace weft::runtime;

/// The bytes of the section `name`; empty if there is none.
static std::span<std::byte> sectionOf(std::span<std::byte> all, std::span<std::byte> table, uint32_t count,
                                      std::string_view name) {
  for (uint64_t i = 0; i < count && (i + 1) * sizeof(PackageSection) <= table.size(); ++i) {
    PackageSection row;
    std::memcpy(&row, table.data() + i * sizeof row, sizeof row);
    if (row.name_offset > table.size() || row.name_bytes > table.size() - row.name_offset ||
        row.offset > all.size() || row.bytes > all.size() - row.offset)
      continue;
    if (std::string_view(reinterpret_cast<const char *>(table.data()) + row.name_offset, row.name_bytes) ==
        name)
      return all.subspan(row.offset, row.bytes);
  }
  return {};
}

/// Recomputes the seals of the plans, for the kernels in the package.
static void repairSeal(std::span<std::byte> all, std::span<std::byte> table, uint32_t count) {
  for (const std::string function : {"f", "step"}) {
    const auto plan = sectionOf(all, table, count, "plan." + function + ".cpu");
    const auto seal = sectionOf(all, table, count, "seal." + function + ".cpu");
    uint64_t binding = 0;
    for (const char *image : {"image.cpu.x86-64-v4", "image.cpu.x86-64-v3"})
      if (const auto bytes = sectionOf(all, table, count, image); bytes.size() >= sizeof(ImageHeader))
        std::memcpy(&binding, bytes.data() + offsetof(ImageHeader, binding), sizeof binding);
    const uint64_t sealed = plan_seal(plan, binding);
    if (seal.size() == sizeof sealed)
      std::memcpy(seal.data(), &sealed, sizeof sealed);
  }
}

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
    repairSeal(all, table, header.section_count);
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
  // A refusal must have a message.
  require(package.ok() || !package.status().message().empty());
  if (!package.ok())
    return 0;
  for (const std::string &name : (*package)->names()) {
    const auto section = (*package)->section(name);
    require(section.ok() || !section.status().message().empty());
    // An executable is loaded from "plan.FUNCTION.cpu" but not run, because kernels are machine code, which
    // is trusted like a program.
    if (name.starts_with("plan.") && name.ends_with(".cpu") && name.size() > 9) {
      const auto executable = StatefulExecutable::load(*package, name.substr(5, name.size() - 9));
      require(executable.ok() || !executable.status().message().empty());
    }
  }
  return 0;
}
