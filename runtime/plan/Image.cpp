//===- Image.cpp - Compiled kernels as one block of memory ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Image.h"

#include "runtime/package/Package.h"
#include "runtime/plan/DecodedBytes.h"
#include "runtime/plan/DeviceImage.h"
#include "runtime/plan/KernelSignature.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <sys/mman.h>

namespace weft::runtime {
namespace {

constexpr char imageMagic[8] = {'W', 'E', 'F', 'T', 'I', 'M', 'G', '\0'};
constexpr uint32_t imageVersion = 2;
// Much larger than any image, and small enough that the sums below do not overflow.
constexpr uint64_t maxImageBytes = uint64_t(1) << 40;

uint64_t align_page(uint64_t value) { return (value + imagePageBytes - 1) & ~(imagePageBytes - 1); }

Status bad_image(const std::string &message) {
  return Status::error("kernel image: " + message, "WEFT-L009");
}

template <typename T> void append(std::vector<std::byte> &bytes, std::span<const T> values) {
  const auto raw = std::as_bytes(values);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

} // namespace

std::vector<std::byte> build_image(const ImageLayout &layout) {
  ImageHeader header = {};
  std::memcpy(header.magic, imageMagic, sizeof imageMagic);
  header.version = imageVersion;
  header.level = static_cast<uint32_t>(layout.level);
  header.text_bytes = layout.text.size();
  header.rodata_address = layout.rodata_address;
  header.rodata_bytes = layout.rodata.size();
  header.data_address = layout.data_address;
  header.data_bytes = layout.data.size();
  header.data_memory_bytes = std::max<uint64_t>(layout.data_memory_bytes, layout.data.size());
  header.symbol_count = layout.symbols.size();
  std::vector<ImageSymbolRow> rows;
  std::string names;
  for (const ImageLayout::Symbol &symbol : layout.symbols) {
    rows.push_back(
        {symbol.address, static_cast<uint32_t>(names.size()), static_cast<uint32_t>(symbol.name.size())});
    names += symbol.name;
  }
  header.name_bytes = names.size();
  header.signature_bytes = layout.signatures.size();
  header.binding = layout.binding;
  std::vector<std::byte> bytes;
  append(bytes, std::span<const ImageHeader>(&header, 1));
  append(bytes, layout.text);
  append(bytes, layout.rodata);
  append(bytes, layout.data);
  append(bytes, std::span<const ImageSymbolRow>(rows));
  append(bytes, std::span<const char>(names));
  append(bytes, layout.signatures);
  return bytes;
}

namespace {

Status check_header(const ImageHeader &header, size_t section_bytes) {
  if (std::memcmp(header.magic, imageMagic, sizeof imageMagic) != 0)
    return bad_image("bad magic");
  if (header.version != imageVersion)
    return bad_image("version is " + number(header.version) + ", this runtime reads " + number(imageVersion));
  if (header.level != static_cast<uint32_t>(CpuLevel::baseline) &&
      header.level != static_cast<uint32_t>(CpuLevel::v3) &&
      header.level != static_cast<uint32_t>(CpuLevel::v4))
    return bad_image("unknown processor level " + number(header.level));
  if (header.level > static_cast<uint32_t>(cpu_level()))
    return Status::error("kernel image is built for " +
                             std::string(name(static_cast<CpuLevel>(header.level))) + ", this processor is " +
                             std::string(name(cpu_level())),
                         "WEFT-L010");
  for (uint64_t field :
       {header.text_bytes, header.rodata_address, header.rodata_bytes, header.data_address, header.data_bytes,
        header.data_memory_bytes, header.symbol_count, header.name_bytes, header.signature_bytes})
    if (field > maxImageBytes)
      return bad_image("a size or address of " + number(field) + " is out of range");
  const uint64_t expected = sizeof header + header.text_bytes + header.rodata_bytes + header.data_bytes +
                            header.symbol_count * sizeof(ImageSymbolRow) + header.name_bytes +
                            header.signature_bytes;
  if (expected != section_bytes)
    return bad_image("truncated: segments and symbols take " + number(expected) + " bytes, found " +
                     number(section_bytes));
  if (header.text_bytes == 0)
    return bad_image("no text");
  if (header.data_memory_bytes < header.data_bytes)
    return bad_image("data takes " + number(header.data_memory_bytes) + " bytes in memory but " +
                     number(header.data_bytes) + " in the image");
  return {};
}

/// Where the last segment ends in memory. The segments of a checked header must be in order, each on pages of
/// its own.
Expected<uint64_t> end_of_segments(const ImageHeader &header) {
  uint64_t end = align_page(header.text_bytes);
  if (header.rodata_bytes) {
    if (header.rodata_address % imagePageBytes || header.rodata_address < end)
      return bad_image("read-only data at " + number(header.rodata_address) +
                       " is unaligned or overlaps text, which ends at " + number(end));
    end = align_page(header.rodata_address + header.rodata_bytes);
  }
  if (header.data_memory_bytes) {
    if (header.data_address % imagePageBytes || header.data_address < end)
      return bad_image("data at " + number(header.data_address) +
                       " is unaligned or overlaps the segment that ends at " + number(end));
    end = align_page(header.data_address + header.data_memory_bytes);
  }
  return end;
}

/// The names and addresses of the kernels. `rows` are followed by the names.
Expected<std::vector<std::pair<std::string, uint64_t>>> read_symbols(const ImageHeader &header,
                                                                     const std::byte *rows) {
  const char *names = reinterpret_cast<const char *>(rows + header.symbol_count * sizeof(ImageSymbolRow));
  std::vector<std::pair<std::string, uint64_t>> symbols;
  uint64_t named = 0;
  for (uint64_t i = 0; i < header.symbol_count; ++i) {
    ImageSymbolRow row;
    std::memcpy(&row, rows + i * sizeof row, sizeof row);
    if (row.name_bytes == 0 || row.name_offset > header.name_bytes ||
        row.name_bytes > header.name_bytes - row.name_offset)
      return bad_image("name of symbol number " + number(i) + " lies outside the names");
    // Names that share bytes would take more memory than the section has.
    named += row.name_bytes;
    if (named > header.name_bytes)
      return bad_image("name of symbol number " + number(i) + " shares bytes with another: the names take " +
                       number(header.name_bytes) + " bytes in all");
    std::string symbol(names + row.name_offset, row.name_bytes);
    if (row.address >= header.text_bytes)
      return bad_image("symbol '" + symbol + "' at " + number(row.address) + " lies outside text of " +
                       number(header.text_bytes) + " bytes");
    symbols.emplace_back(std::move(symbol), row.address);
  }
  return symbols;
}

} // namespace

Expected<std::shared_ptr<Image>> Image::load(std::span<const std::byte> section) {
  if (section.size() < sizeof(ImageHeader))
    return bad_image("truncated: the header takes " + number(sizeof(ImageHeader)) + " bytes, found " +
                     number(section.size()));
  ImageHeader header;
  std::memcpy(&header, section.data(), sizeof header);
  if (Status status = check_header(header, section.size()); !status)
    return status;
  const Expected<uint64_t> end = end_of_segments(header);
  if (!end)
    return end.status();
  std::shared_ptr<Image> image(new Image);
  image->level_ = static_cast<CpuLevel>(header.level);
  image->binding_ = header.binding;
  if (Status status = image->read_signatures(section.last(header.signature_bytes)); !status)
    return status;
  const std::byte *segments = section.data() + sizeof header;
  Expected<std::vector<std::pair<std::string, uint64_t>>> symbols =
      read_symbols(header, segments + header.text_bytes + header.rodata_bytes + header.data_bytes);
  if (!symbols)
    return symbols.status();
  if (Status status = image->map_segments(header, segments, *end); !status)
    return status;
  auto *const base = static_cast<std::byte *>(image->mapping_);
  for (auto &[symbol, address] : *symbols)
    image->functions_.emplace_back(std::move(symbol), reinterpret_cast<KernelFn>(base + address));
  std::sort(image->functions_.begin(), image->functions_.end());
  return image;
}

Status Image::map_segments(const ImageHeader &header, const std::byte *source, uint64_t end) {
  void *mapping = ::mmap(nullptr, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return Status::error("kernel image: cannot map " + number(end) + " bytes: " + std::strerror(errno),
                         errno == ENOMEM ? "WEFT-M001" : "WEFT-L009");
  mapping_ = mapping;
  mapping_bytes_ = end;
  std::byte *base = static_cast<std::byte *>(mapping);
  std::memcpy(base, source, header.text_bytes);
  if (header.rodata_bytes)
    std::memcpy(base + header.rodata_address, source + header.text_bytes, header.rodata_bytes);
  if (header.data_bytes)
    std::memcpy(base + header.data_address, source + header.text_bytes + header.rodata_bytes,
                header.data_bytes);
  // All pages that are neither text nor data, and the gaps, become read-only.
  const uint64_t text_end = align_page(header.text_bytes);
  const uint64_t data_begin = header.data_memory_bytes ? header.data_address : end;
  if (::mprotect(base, text_end, PROT_READ | PROT_EXEC) != 0 ||
      (data_begin > text_end && ::mprotect(base + text_end, data_begin - text_end, PROT_READ) != 0))
    return bad_image(std::string("cannot make the text executable: ") + std::strerror(errno) +
                     "; a security policy may forbid it");
  return {};
}

Status Image::read_signatures(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return {};
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return bad_image("signatures of " + std::to_string(bytes.size()) + " bytes");
  signature_bytes_.resize((bytes.size() + 7) / 8);
  std::memcpy(signature_bytes_.data(), bytes.data(), bytes.size());
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(signature_bytes_.data()), bytes.size(),
                                 /*max_depth=*/16, /*max_tables=*/50'000'000);
  if (!verifier.VerifyBuffer<fb::ImageSignatures>(nullptr))
    return bad_image("the signatures of its kernels are damaged");
  const auto *read = flatbuffers::GetRoot<fb::ImageSignatures>(signature_bytes_.data());
  if (!DecodedBytes(bytes.size()).fits(*read))
    return bad_image("the " + std::to_string(bytes.size()) +
                     " bytes of signatures stand for more than as many: parts of them are shared");
  if (Status status = verify_signatures(*read); !status)
    return bad_image(status.message());
  signatures_ = read;
  return {};
}

Status Image::add_device(std::span<const std::byte> section) {
  Expected<std::shared_ptr<const DeviceImage>> device = DeviceImage::load(section);
  if (!device)
    return device.status();
  const fb::DeviceImage &content = (*device)->content();
  if (!functions_.empty() && content.binding() != binding_)
    return Status::error("kernel image: the kernels of the GPU and those of the host were not made together: "
                         "compile the program again",
                         "WEFT-L016");
  device_ = *std::move(device);
  if (!functions_.empty())
    return {};
  binding_ = content.binding();
  const auto *signatures = content.signatures();
  return read_signatures(
      std::as_bytes(std::span(signatures ? signatures->data() : nullptr, length(signatures))));
}

Expected<std::shared_ptr<Image>> Image::load(const Package &package, std::string_view prefix,
                                             CpuLevel level) {
  const auto load_section = [&](const std::string &name, auto take) -> Status {
    Expected<std::span<const std::byte>> section = package.section(name);
    Status status = section ? take(*section) : section.status();
    return status.ok() || !section
               ? status
               : status.context("package '" + package.source() + "', section '" + name + "': ");
  };
  const std::string device = std::string(prefix) + ".device";
  std::string present;
  std::shared_ptr<Image> image;
  for (CpuLevel candidate : {CpuLevel::v4, CpuLevel::v3, CpuLevel::baseline}) {
    const std::string section_name = std::string(prefix) + "." + std::string(name(candidate));
    if (image || !package.contains(section_name))
      continue;
    present += (present.empty() ? "" : ", ") + std::string(name(candidate));
    if (candidate > level)
      continue;
    if (Status status = load_section(section_name,
                                     [&](std::span<const std::byte> section) -> Status {
                                       Expected<std::shared_ptr<Image>> loaded = load(section);
                                       if (loaded)
                                         image = *loaded;
                                       return loaded.status();
                                     });
        !status)
      return status;
  }
  if (!image && !present.empty())
    return Status::error("package '" + package.source() + "' has kernels for " + present +
                             ", this processor is " + std::string(name(level)) +
                             ": compile the program for it",
                         "WEFT-L010");
  if (!image && !package.contains(device))
    return Status::error("package '" + package.source() + "' has no kernels: no section '" +
                             std::string(prefix) + ".x86-64-v4' or '" + std::string(prefix) + ".x86-64-v3'",
                         "WEFT-L007");
  if (!package.contains(device))
    return image;
  if (!image)
    image.reset(new Image);
  if (Status status = load_section(
          device, [&](std::span<const std::byte> section) { return image->add_device(section); });
      !status)
    return status;
  return image;
}

std::shared_ptr<Image>
Image::from_functions(std::initializer_list<std::pair<std::string, KernelFn>> functions) {
  std::shared_ptr<Image> image(new Image);
  image->functions_ = functions;
  std::sort(image->functions_.begin(), image->functions_.end());
  return image;
}

Image::~Image() {
  if (mapping_)
    ::munmap(mapping_, mapping_bytes_);
}

Expected<KernelFn> Image::find(std::string_view symbol) const {
  const auto found =
      std::lower_bound(functions_.begin(), functions_.end(), symbol,
                       [](const auto &entry, std::string_view key) { return entry.first < key; });
  if (found == functions_.end() || found->first != symbol)
    return bad_image("no kernel '" + std::string(symbol) + "' among " + std::to_string(functions_.size()));
  return found->second;
}

std::vector<std::string> Image::symbols() const {
  std::vector<std::string> result;
  result.reserve(functions_.size());
  for (const auto &entry : functions_)
    result.push_back(entry.first);
  return result;
}

std::span<const std::byte> Image::mapping() const {
  return {static_cast<const std::byte *>(mapping_), mapping_bytes_};
}

namespace {
// lgamma without the C library's global `signgam`, which threads would race on.
double lgamma_of(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
} // namespace

void *const *kernel_imports() {
  const auto one = [](double (*function)(double)) { return reinterpret_cast<void *>(function); };
  const auto two = [](double (*function)(double, double)) { return reinterpret_cast<void *>(function); };
  static void *const table[] = {
      one(std::exp), one(std::expm1), one(std::log),   one(std::log1p), one(std::log2), one(std::sin),
      one(std::cos), one(std::tan),   one(std::tanh),  one(std::asin),  one(std::acos), one(std::atan),
      one(std::erf), two(std::pow),   two(std::atan2), two(std::fmod),  one(lgamma_of)};
  static_assert(std::size(table) == static_cast<size_t>(ImportId::count));
  return table;
}

} // namespace weft::runtime
