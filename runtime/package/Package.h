//===- Package.h - Package files --------------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A package is a fixed header, a table of named sections, and the sections, each on a 4 KiB boundary. It is
// the result of a compilation, in memory or on disk. All integers are little endian.
//
// Sections and their names:
//   plan.<function>.<target>        the FlatBuffers of plan.fbs
//   seal.<function>.<target>        binds the plan to its kernels: plan_seal() of both, 8 bytes
//   constants.<function>.<target>   the constants of one plan; where missing, `constants` serves all plans
//   <plan.image>.x86-64-v4 (or v3)  kernels, see Image.h
//   state.<function>, values.<function>  the values of its state when it was saved, see State.h
//
// Errors carry a code of family L:
//   WEFT-L001 cannot be read or written      WEFT-L006 a field of the table is wrong
//   WEFT-L002 truncated                      WEFT-L007 section missing
//   WEFT-L003 not a package                  WEFT-L008 the plan breaks a rule
//   WEFT-L004 other format version           WEFT-L009 the image is malformed
//   WEFT-L005 checksum differs               WEFT-L010 processor too old
//   WEFT-L011 other kernel ABI               WEFT-L012 state does not fit
//   WEFT-L014 state without a value
//   WEFT-L015 a library of contractions that this runtime does not have
//   WEFT-L016 a plan and kernels that were not made together
//   WEFT-L017 a device of the program does not exist on this machine
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PACKAGE_PACKAGE_H
#define WEFT_RUNTIME_PACKAGE_PACKAGE_H

#include "weft/export.hpp"
#include "weft/status.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

inline constexpr uint32_t packageFormatMajor = 3;
inline constexpr uint32_t packageFormatMinor = 0;
inline constexpr uint64_t packageAlignment = 4096;

/// The first bytes of a package.
struct PackageHeader {
  char magic[8];            ///<  0: "WEFTPKG" and a zero
  uint32_t format_major;    ///<  8: another major is refused
  uint32_t format_minor;    ///< 12: a newer minor is read, what it added is ignored
  uint32_t kernel_abi;      ///< 16: weft::runtime::kernelAbi
  uint32_t section_count;   ///< 20
  uint64_t file_bytes;      ///< 24
  uint64_t table_offset;    ///< 32
  uint64_t table_bytes;     ///< 40: entries, then the names
  uint64_t table_checksum;  ///< 48
  uint64_t header_checksum; ///< 56: of the 56 bytes before it
};
static_assert(sizeof(PackageHeader) == 64);

/// One row of the section table. The names follow the rows; `name_offset` counts from the table's start.
struct PackageSection {
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
};
static_assert(sizeof(PackageSection) == 32);

/// The 64-bit checksum of packages; about the speed of memory.
WEFT_RUNTIME_API uint64_t checksum64(std::span<const std::byte> data);

/// The content of the section seal.<function>.<target> for a plan whose kernels have this binding
/// (Image::binding; 0 without kernels). It detects plans and images that were exchanged or changed; it is no
/// signature.
WEFT_RUNTIME_API uint64_t plan_seal(std::span<const std::byte> plan, uint64_t binding);

/// Builds a package. The same sections in the same order give the same bytes.
class WEFT_RUNTIME_API PackageWriter {
public:
  /// Adds a copy of `bytes`. If a name is added twice, `write_file` and `finish` report an error.
  void add(std::string name, std::span<const std::byte> bytes);
  Expected<std::vector<std::byte>> finish() const;
  /// Writes a temporary file beside `path` and renames it, so that readers never see a part of a package.
  Status write_file(const std::string &path) const;

private:
  struct Section {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<Section> sections_;
};

/// An open package. Header and table are checked when it is opened; a section's content is checked at its
/// first use.
class WEFT_RUNTIME_API Package {
public:
  static Expected<std::shared_ptr<const Package>> open(const std::string &path);
  static Expected<std::shared_ptr<const Package>> from_memory(std::vector<std::byte> bytes);
  ~Package();
  Package(const Package &) = delete;
  Package &operator=(const Package &) = delete;

  bool contains(std::string_view name) const;
  /// The bytes of a section, valid as long as the package exists.
  Expected<std::span<const std::byte>> section(std::string_view name) const;
  std::vector<std::string> names() const;
  /// The name of this package in messages: its path, or "<memory>".
  const std::string &source() const { return source_; }

private:
  Package() = default;
  Status fail(const char *code, const std::string &message) const;
  Status parse();
  /// Checks the header, and the place and the checksum of the table.
  Status read_header(PackageHeader &header) const;
  /// Finds the sections of a checked table in the file.
  Status read_table(const PackageHeader &header);
  /// Checks that no two sections share bytes, and that all begin behind `end`, the end of the table.
  Status check_overlaps(uint64_t end) const;

  struct Entry {
    std::string_view name;
    std::span<const std::byte> bytes;
    uint64_t checksum = 0;
    mutable std::atomic<bool> checked{false};
  };
  std::string source_;
  void *mapping_ = nullptr;
  std::span<const std::byte> bytes_;
  std::unique_ptr<Entry[]> entries_;
  size_t entry_count_ = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PACKAGE_PACKAGE_H
