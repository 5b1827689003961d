//===- Package.cpp - Package files ----------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/package/Package.h"

#include "runtime/package/Kernel.h"
#include "runtime/support/TemporaryFile.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>

namespace weft::runtime {
namespace {

constexpr char packageMagic[8] = {'W', 'E', 'F', 'T', 'P', 'K', 'G', '\0'};

uint64_t load64(const std::byte *bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

uint64_t align_up(uint64_t value) { return (value + packageAlignment - 1) & ~(packageAlignment - 1); }

std::string system_error(const std::string &what, const std::string &path) {
  return what + " '" + path + "': " + std::strerror(errno);
}

Status cannot_map(const std::string &path) {
  const char *const code = errno == ENOMEM ? "WEFT-M001" : "WEFT-L001";
  return Status::error(system_error("cannot map package", path), code);
}

std::string number(uint64_t value) { return std::to_string(value); }

struct OpenFile {
  int descriptor;
  ~OpenFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
};

} // namespace

// Four independent multiply-rotate lanes, so that the multiplications of one 32-byte stripe overlap; the
// constants are odd with about half their bits set.
uint64_t checksum64(std::span<const std::byte> data) {
  constexpr uint64_t p1 = 0x9e3779b97f4a7c15, p2 = 0xc2b2ae3d27d4eb4f, p3 = 0xd6e8feb86659fd93;
  uint64_t lanes[4] = {p1, p2, p3, p1 ^ p2};
  const std::byte *at = data.data();
  size_t left = data.size();
  for (; left >= 32; left -= 32, at += 32)
    for (int i = 0; i < 4; ++i)
      lanes[i] = std::rotl(lanes[i] + load64(at + 8 * i) * p2, 31) * p1;
  uint64_t hash = data.size() * p3;
  for (uint64_t lane : lanes)
    hash = (std::rotl(hash, 27) ^ lane) * p1 + p3;
  for (; left >= 8; left -= 8, at += 8)
    hash = std::rotl(hash ^ (load64(at) * p2), 27) * p1 + p3;
  for (; left > 0; --left, ++at)
    hash = std::rotl(hash ^ (static_cast<uint64_t>(*at) * p3), 11) * p1;
  hash = (hash ^ (hash >> 32)) * p2;
  hash = (hash ^ (hash >> 29)) * p3;
  return hash ^ (hash >> 32);
}

uint64_t plan_seal(std::span<const std::byte> plan, uint64_t binding) {
  const uint64_t parts[] = {checksum64(plan), binding};
  return checksum64(std::as_bytes(std::span(parts)));
}

void PackageWriter::add(std::string name, std::span<const std::byte> bytes) {
  sections_.push_back({std::move(name), {bytes.begin(), bytes.end()}});
}

Expected<std::vector<std::byte>> PackageWriter::finish() const {
  std::unordered_set<std::string_view> seen;
  uint64_t name_bytes = 0;
  for (const Section &section : sections_) {
    if (section.name.empty())
      return Status::error("a package section needs a name", "WEFT-L006");
    if (!seen.insert(section.name).second)
      return Status::error("package section '" + section.name + "' was added twice", "WEFT-L006");
    name_bytes += section.name.size();
  }
  const uint64_t table_bytes = sections_.size() * sizeof(PackageSection) + name_bytes;
  uint64_t file_bytes = sizeof(PackageHeader) + table_bytes;
  std::vector<std::byte> table(table_bytes);
  uint64_t name_offset = sections_.size() * sizeof(PackageSection);
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < sections_.size(); ++i) {
    const Section &section = sections_[i];
    file_bytes = align_up(file_bytes);
    offsets.push_back(file_bytes);
    const PackageSection row = {static_cast<uint32_t>(name_offset),
                                static_cast<uint32_t>(section.name.size()), file_bytes, section.bytes.size(),
                                checksum64(section.bytes)};
    std::memcpy(table.data() + i * sizeof row, &row, sizeof row);
    std::memcpy(table.data() + name_offset, section.name.data(), section.name.size());
    name_offset += section.name.size();
    file_bytes += section.bytes.size();
  }
  PackageHeader header = {};
  std::memcpy(header.magic, packageMagic, sizeof packageMagic);
  header.format_major = packageFormatMajor;
  header.format_minor = packageFormatMinor;
  header.kernel_abi = kernelAbi;
  header.section_count = static_cast<uint32_t>(sections_.size());
  header.file_bytes = file_bytes;
  header.table_offset = sizeof header;
  header.table_bytes = table_bytes;
  header.table_checksum = checksum64(table);
  header.header_checksum =
      checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(PackageHeader, header_checksum)));

  std::vector<std::byte> file(file_bytes);
  std::memcpy(file.data(), &header, sizeof header);
  if (!table.empty())
    std::memcpy(file.data() + sizeof header, table.data(), table.size());
  for (size_t i = 0; i < sections_.size(); ++i)
    if (!sections_[i].bytes.empty())
      std::memcpy(file.data() + offsets[i], sections_[i].bytes.data(), sections_[i].bytes.size());
  return file;
}

Status PackageWriter::write_file(const std::string &path) const {
  Expected<std::vector<std::byte>> bytes = finish();
  if (!bytes)
    return bytes.status();
  const auto failure = [&](const char *what, int error) {
    errno = error;
    return Status::error(system_error(what, path), "WEFT-L001");
  };
  TemporaryFile file;
  if (const int error = file.create_beside(path, 0644))
    return failure("cannot create package", error);
  int error = file.write(bytes->data(), bytes->size());
  if (!error)
    error = file.sync();
  if (!error)
    error = file.rename_to(path);
  return error ? failure("cannot write package", error) : Status();
}

Expected<std::shared_ptr<const Package>> Package::open(const std::string &path) {
  // Without O_NONBLOCK, opening a pipe without a writer would wait for ever.
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0)
    return Status::error(system_error("cannot open package", path), "WEFT-L001");
  struct stat info;
  if (::fstat(file.descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    return Status::error("cannot open package '" + path + "': it is not a regular file", "WEFT-L001");
  std::shared_ptr<Package> package(new Package);
  package->source_ = path;
  if (info.st_size > 0) {
    void *mapping =
        ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file.descriptor, 0);
    if (mapping == MAP_FAILED)
      return cannot_map(path);
    package->mapping_ = mapping;
    package->bytes_ = {static_cast<const std::byte *>(mapping), static_cast<size_t>(info.st_size)};
  }
  if (Status status = package->parse(); !status)
    return status;
  return std::shared_ptr<const Package>(std::move(package));
}

Expected<std::shared_ptr<const Package>> Package::from_memory(std::vector<std::byte> bytes) {
  std::shared_ptr<Package> package(new Package);
  package->source_ = "<memory>";
  // Sections must be page aligned in memory, as they are in the file, because kernels rely on that for
  // constants.
  if (!bytes.empty()) {
    void *mapping = ::mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
      return cannot_map(package->source_);
    package->mapping_ = mapping;
    package->bytes_ = {static_cast<const std::byte *>(mapping), bytes.size()};
    std::memcpy(mapping, bytes.data(), bytes.size());
    (void)::mprotect(mapping, bytes.size(), PROT_READ);
  }
  if (Status status = package->parse(); !status)
    return status;
  return std::shared_ptr<const Package>(std::move(package));
}

Package::~Package() {
  if (mapping_)
    ::munmap(mapping_, bytes_.size());
}

Status Package::fail(const char *code, const std::string &message) const {
  return Status::error("package '" + source_ + "': " + message, code);
}

Status Package::parse() {
  PackageHeader header;
  if (Status status = read_header(header); !status)
    return status;
  if (Status status = read_table(header); !status)
    return status;
  return check_overlaps(header.table_offset + header.table_bytes);
}

Status Package::read_header(PackageHeader &header) const {
  const uint64_t size = bytes_.size();
  const size_t magic_bytes = std::min<size_t>(size, sizeof packageMagic);
  if (magic_bytes && std::memcmp(bytes_.data(), packageMagic, magic_bytes) != 0)
    return fail("WEFT-L003", "bad magic: this is not a Weft package");
  if (size < sizeof(PackageHeader))
    return fail("WEFT-L002", "truncated: the header takes " + number(sizeof(PackageHeader)) +
                                 " bytes, found " + number(size));
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.format_major != packageFormatMajor)
    return fail("WEFT-L004", "format major is " + number(header.format_major) + ", this runtime reads " +
                                 number(packageFormatMajor) + ": compile the program again");
  if (checksum64(bytes_.first(offsetof(PackageHeader, header_checksum))) != header.header_checksum)
    return fail("WEFT-L005", "checksum mismatch of the header");
  if (header.kernel_abi != kernelAbi)
    return fail("WEFT-L011", "kernel ABI is " + number(header.kernel_abi) + ", this runtime has " +
                                 number(kernelAbi) + ": compile the program again");
  if (header.file_bytes > size)
    return fail("WEFT-L002",
                "truncated: expected " + number(header.file_bytes) + " bytes, found " + number(size));
  if (header.file_bytes < size)
    return fail("WEFT-L006", "file length field says " + number(header.file_bytes) + " bytes, found " +
                                 number(size) + ": something was appended");
  if (header.table_offset < sizeof header || header.table_offset % alignof(uint64_t) != 0)
    return fail("WEFT-L006",
                "table offset " + number(header.table_offset) + " is inside the header or unaligned");
  if (header.table_offset > size || header.table_bytes > size - header.table_offset)
    return fail("WEFT-L006", "section table [" + number(header.table_offset) + ", +" +
                                 number(header.table_bytes) + ") lies past the end at " + number(size));
  if (const uint64_t rows_bytes = uint64_t(header.section_count) * sizeof(PackageSection);
      rows_bytes > header.table_bytes)
    return fail("WEFT-L006", "section count " + number(header.section_count) + " does not fit a table of " +
                                 number(header.table_bytes) + " bytes");
  const std::span<const std::byte> table = bytes_.subspan(header.table_offset, header.table_bytes);
  if (checksum64(table) != header.table_checksum)
    return fail("WEFT-L005", "checksum mismatch of the section table");
  return {};
}

Status Package::read_table(const PackageHeader &header) {
  const uint64_t size = bytes_.size(), rows_bytes = uint64_t(header.section_count) * sizeof(PackageSection);
  const std::span<const std::byte> table = bytes_.subspan(header.table_offset, header.table_bytes);
  entries_ = std::make_unique<Entry[]>(header.section_count);
  entry_count_ = header.section_count;
  std::unordered_set<std::string_view> names;
  uint64_t named = 0;
  for (size_t i = 0; i < entry_count_; ++i) {
    PackageSection row;
    std::memcpy(&row, table.data() + i * sizeof row, sizeof row);
    if (row.name_bytes == 0 || row.name_offset < rows_bytes || row.name_offset > table.size() ||
        row.name_bytes > table.size() - row.name_offset)
      return fail("WEFT-L006", "name of section number " + number(i) + " lies outside the section table");
    // Names must not share bytes, so that reading them takes time and memory in proportion to the table.
    named += row.name_bytes;
    if (named > table.size() - rows_bytes)
      return fail("WEFT-L006", "name of section number " + number(i) +
                                   " shares bytes with another: the names take " +
                                   number(table.size() - rows_bytes) + " bytes in all");
    Entry &entry = entries_[i];
    entry.name = {reinterpret_cast<const char *>(table.data()) + row.name_offset, row.name_bytes};
    const std::string quoted = "section '" + std::string(entry.name) + "'";
    if (!names.insert(entry.name).second)
      return fail("WEFT-L006", quoted + " appears twice");
    if (row.offset % packageAlignment != 0)
      return fail("WEFT-L006", quoted + " is unaligned: offset " + number(row.offset) +
                                   " is not a multiple of " + number(packageAlignment));
    if (row.offset > size || row.bytes > size - row.offset)
      return fail("WEFT-L006", quoted + " [" + number(row.offset) + ", +" + number(row.bytes) +
                                   ") lies past the end of the file at " + number(size));
    entry.bytes = bytes_.subspan(row.offset, row.bytes);
    entry.checksum = row.checksum;
  }
  return {};
}

Status Package::check_overlaps(uint64_t end) const {
  std::vector<std::pair<const std::byte *, size_t>> order;
  for (size_t i = 0; i < entry_count_; ++i)
    if (!entries_[i].bytes.empty())
      order.emplace_back(entries_[i].bytes.data(), i);
  std::sort(order.begin(), order.end());
  std::string previous = "the section table";
  for (const auto &[data, index] : order) {
    const Entry &entry = entries_[index];
    const auto offset = static_cast<uint64_t>(data - bytes_.data());
    if (offset < end)
      return fail("WEFT-L006", "section '" + std::string(entry.name) + "' at " + number(offset) +
                                   " overlaps " + previous + ", which ends at " + number(end));
    end = offset + entry.bytes.size();
    previous = "section '" + std::string(entry.name) + "'";
  }
  return {};
}

bool Package::contains(std::string_view name) const {
  for (size_t i = 0; i < entry_count_; ++i)
    if (entries_[i].name == name)
      return true;
  return false;
}

Expected<std::span<const std::byte>> Package::section(std::string_view name) const {
  for (size_t i = 0; i < entry_count_; ++i) {
    const Entry &entry = entries_[i];
    if (entry.name != name)
      continue;
    if (!entry.checked.load(std::memory_order_acquire)) {
      if (checksum64(entry.bytes) != entry.checksum)
        return Status::error("package '" + source_ + "': checksum mismatch of section '" + std::string(name) +
                                 "': the file is damaged",
                             "WEFT-L005");
      entry.checked.store(true, std::memory_order_release);
    }
    return entry.bytes;
  }
  std::string present;
  for (size_t i = 0; i < entry_count_; ++i)
    present += (i ? ", '" : "'") + std::string(entries_[i].name) + "'";
  return Status::error("package '" + source_ + "' has no section '" + std::string(name) + "'; it has " +
                           (present.empty() ? "none" : present),
                       "WEFT-L007");
}

std::vector<std::string> Package::names() const {
  std::vector<std::string> result;
  result.reserve(entry_count_);
  for (size_t i = 0; i < entry_count_; ++i)
    result.emplace_back(entries_[i].name);
  return result;
}

} // namespace weft::runtime
