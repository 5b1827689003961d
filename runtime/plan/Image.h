//===- Image.h - Compiled kernels as one block of memory --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CPU image is position independent and has no references to the outside, so loading copies it and sets
// page protections, without relocations. The distances between text, read-only data and data are those of
// linking. No page is writable and executable at the same time.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_IMAGE_H
#define WEFT_RUNTIME_PLAN_IMAGE_H

#include "runtime/package/Kernel.h"
#include "runtime/support/CpuLevel.h"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::fb {
struct ImageSignatures;
} // namespace weft::fb

namespace weft::runtime {

class DeviceImage; // runtime/plan/DeviceImage.h
class Package;

inline constexpr uint64_t imagePageBytes = 4096;

/// The first bytes of an image section. Segment addresses count from the first byte of text. In the
/// section, text, read-only data and data follow this header, in that order and without gaps, then the
/// symbol rows, then their names, then the signatures of the kernels.
struct ImageHeader {
  char magic[8];              ///<  0: "WEFTIMG" and a zero
  uint32_t version;           ///<  8
  uint32_t level;             ///< 12: CpuLevel
  uint64_t text_bytes;        ///< 16: text begins at address 0
  uint64_t rodata_address;    ///< 24: a multiple of the page size
  uint64_t rodata_bytes;      ///< 32
  uint64_t data_address;      ///< 40: a multiple of the page size
  uint64_t data_bytes;        ///< 48: bytes in the section
  uint64_t data_memory_bytes; ///< 56: bytes in memory; the rest is zero
  uint64_t symbol_count;      ///< 64
  uint64_t name_bytes;        ///< 72
  uint64_t signature_bytes;   ///< 80: a FlatBuffer, ImageSignatures of plan.fbs
  uint64_t binding;           ///< 88: the same in all images of the same kernels; part of each plan's seal
};
static_assert(sizeof(ImageHeader) == 96);

struct ImageSymbolRow {
  uint64_t address;
  uint32_t name_offset; ///< counts from the first name
  uint32_t name_bytes;
};
static_assert(sizeof(ImageSymbolRow) == 16);

/// The output of code generation's linker. Addresses are relative to the first byte of text.
struct ImageLayout {
  struct Symbol {
    std::string name;
    uint64_t address = 0;
  };
  CpuLevel level = CpuLevel::v3;
  std::span<const std::byte> text;
  uint64_t rodata_address = 0;
  std::span<const std::byte> rodata;
  uint64_t data_address = 0;
  std::span<const std::byte> data;
  uint64_t data_memory_bytes = 0; ///< at least data.size(); 0 means exactly that
  std::vector<Symbol> symbols;
  std::span<const std::byte> signatures; ///< if empty, launches are not compared with signatures
  uint64_t binding = 0;
};

/// The bytes of an image section. The layout is not checked before the image is loaded.
WEFT_RUNTIME_API std::vector<std::byte> build_image(const ImageLayout &layout);

/// Kernels by name, mapped and ready to call, and those of a GPU beside them.
class WEFT_RUNTIME_API Image {
public:
  static Expected<std::shared_ptr<Image>> load(std::span<const std::byte> section);
  /// The image of the highest level in `package` that this processor can run, with the kernels of the GPU of
  /// this target if it has one. The sections are named `<prefix>.x86-64-v4`, `<prefix>.x86-64-v3` and
  /// `<prefix>.device`. A target with a GPU need not have kernels for the host. Tests pass another `level`.
  static Expected<std::shared_ptr<Image>> load(const Package &package, std::string_view prefix,
                                               CpuLevel level = cpu_level());
  /// An image of functions that are already in the process.
  static std::shared_ptr<Image>
  from_functions(std::initializer_list<std::pair<std::string, KernelFn>> functions);
  ~Image();
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;

  Expected<KernelFn> find(std::string_view symbol) const;
  std::vector<std::string> symbols() const;
  CpuLevel level() const { return level_; }
  /// The kernels of a GPU; null if the target has none.
  const std::shared_ptr<const DeviceImage> &device() const { return device_; }
  /// The signatures of the kernels, or null if there are none (from_functions()).
  const fb::ImageSignatures *signatures() const { return signatures_; }
  /// A number that identifies the kernels and is part of a plan's seal; 0 for from_functions().
  uint64_t binding() const { return binding_; }
  /// The mapped memory of the image; empty for from_functions().
  std::span<const std::byte> mapping() const;

private:
  Image() = default;
  /// Adds the kernels of a GPU, which must have been made together with those that are there.
  Status add_device(std::span<const std::byte> section);
  Status read_signatures(std::span<const std::byte> bytes);
  /// Maps the segments of a checked image, which follow one another at `source` and end at `end` in memory.
  Status map_segments(const ImageHeader &header, const std::byte *source, uint64_t end);
  std::vector<std::pair<std::string, KernelFn>> functions_; ///< sorted by name
  void *mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  CpuLevel level_ = CpuLevel::baseline;
  std::vector<uint64_t> signature_bytes_; ///< aligned, as a FlatBuffer must be
  const fb::ImageSignatures *signatures_ = nullptr;
  uint64_t binding_ = 0;
  std::shared_ptr<const DeviceImage> device_;
};

/// The functions that kernels call through KernelFrame::imports, by ImportId.
WEFT_RUNTIME_API void *const *kernel_imports();

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_IMAGE_H
