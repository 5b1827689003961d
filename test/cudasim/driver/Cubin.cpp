//===- Cubin.cpp - What a CUBIN says of its kernels -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CUBIN is an ELF file. Its section .nv.info is a row of attributes: a byte for the form, a byte for the
// attribute, two bytes for the number of bytes that follow, and these bytes. Attributes of a function are the
// number of its symbol and a value.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Cubin.h"

#include "test/cudasim/driver/Trailer.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string_view>
#include <sys/uio.h>
#include <unistd.h>

namespace weft::cusim {
namespace {

constexpr uint8_t formOfBytes = 4, attributeFrameSize = 0x11, attributeRegisters = 0x2F;

template <class T> T valueAt(const void *image, uint64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char *>(image) + offset, sizeof value);
  return value;
}

Elf64_Shdr sectionAt(const void *image, const Elf64_Ehdr &header, uint64_t number) {
  return valueAt<Elf64_Shdr>(image, header.e_shoff + number * sizeof(Elf64_Shdr));
}

/// Copies bytes that may lie behind the last one that can be read; false if they do.
bool readCarefully(const void *from, void *to, size_t bytes) {
  const iovec source{const_cast<void *>(from), bytes}, target{to, bytes};
  return ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0) == ssize_t(bytes);
}

} // namespace

bool isCubin(const void *image) { return !std::memcmp(image, ELFMAG, SELFMAG); }

uint64_t cubinBytes(const void *image) {
  const auto header = valueAt<Elf64_Ehdr>(image, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return 0;
  uint64_t end = std::max(header.e_shoff + uint64_t(header.e_shnum) * sizeof(Elf64_Shdr),
                          header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize);
  for (uint64_t k = 0; k < header.e_shnum; ++k)
    if (const Elf64_Shdr section = sectionAt(image, header, k); section.sh_type != SHT_NOBITS)
      end = std::max(end, section.sh_offset + section.sh_size);
  return end;
}

std::map<std::string, KernelResources> resourcesOf(const void *image) {
  std::map<std::string, KernelResources> found;
  const auto header = valueAt<Elf64_Ehdr>(image, 0);
  const char *bytes = static_cast<const char *>(image);
  const Elf64_Shdr names = sectionAt(image, header, header.e_shstrndx);
  Elf64_Shdr information{}, symbols{}, strings{};
  for (uint64_t k = 0; k < header.e_shnum; ++k) {
    const Elf64_Shdr section = sectionAt(image, header, k);
    if (section.sh_type == SHT_SYMTAB) {
      symbols = section;
      strings = sectionAt(image, header, section.sh_link);
    }
    if (std::string_view(bytes + names.sh_offset + section.sh_name) == ".nv.info")
      information = section;
  }
  for (uint64_t at = 0; at + 4 <= information.sh_size;) {
    const uint64_t offset = information.sh_offset + at;
    const auto form = valueAt<uint8_t>(image, offset), attribute = valueAt<uint8_t>(image, offset + 1);
    const uint64_t length = form == formOfBytes ? valueAt<uint16_t>(image, offset + 2) : 0;
    at += 4 + length;
    const auto symbol = length >= 8 ? valueAt<uint32_t>(image, offset + 4) : 0;
    if (length < 8 || symbol >= symbols.sh_size / sizeof(Elf64_Sym))
      continue;
    const auto entry = valueAt<Elf64_Sym>(image, symbols.sh_offset + symbol * sizeof(Elf64_Sym));
    KernelResources &kernel = found[bytes + strings.sh_offset + entry.st_name];
    if (attribute == attributeRegisters)
      kernel.registers = valueAt<uint32_t>(image, offset + 8);
    if (attribute == attributeFrameSize)
      kernel.stackBytes = valueAt<uint32_t>(image, offset + 8);
  }
  return found;
}

std::string trailerOf(const void *image) {
  const char *end = static_cast<const char *>(image) + cubinBytes(image);
  char head[trailerHeadBytes];
  if (end == image || !readCarefully(end, head, sizeof head) ||
      std::memcmp(head, trailerMark.data(), trailerMark.size()))
    return "";
  return std::string(end + trailerHeadBytes, valueAt<uint64_t>(head, trailerMark.size()));
}

} // namespace weft::cusim
