//===- PackageTest.cpp - The container and the images in it -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/support/TemporaryFile.h"
#include "test/unit/TemporaryFolder.h"

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

std::vector<std::byte> pattern(size_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + seed) >> 1);
  return bytes;
}

std::vector<std::byte> sample() {
  PackageWriter writer;
  writer.add("first", pattern(5000, 1));
  writer.add("empty", {});
  writer.add("second", pattern(100, 2));
  return writer.finish().value_or_throw();
}

// Makes the checksums right again after a field was changed.
void reseal(std::vector<std::byte> &file) {
  PackageHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.table_offset <= file.size() && header.table_bytes <= file.size() - header.table_offset)
    header.table_checksum = checksum64(std::span(file).subspan(header.table_offset, header.table_bytes));
  std::memcpy(file.data(), &header, sizeof header);
  header.header_checksum = checksum64(std::span(file).first(offsetof(PackageHeader, header_checksum)));
  std::memcpy(file.data(), &header, sizeof header);
}

template <typename Change> Status damaged_header(Change change) {
  std::vector<std::byte> file = sample();
  PackageHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  change(header);
  std::memcpy(file.data(), &header, sizeof header);
  reseal(file);
  return Package::from_memory(std::move(file)).status();
}

template <typename Change> Status damaged_row(size_t index, Change change) {
  std::vector<std::byte> file = sample();
  PackageSection row;
  std::byte *at = file.data() + sizeof(PackageHeader) + index * sizeof row;
  std::memcpy(&row, at, sizeof row);
  change(row);
  std::memcpy(at, &row, sizeof row);
  reseal(file);
  return Package::from_memory(std::move(file)).status();
}

TEST(Package, RoundTripInMemoryAndOnDisk) {
  PackageWriter writer;
  writer.add("first", pattern(5000, 1));
  writer.add("empty", {});
  writer.add("second", pattern(100, 2));
  const std::string path = testing::TempDir() + "weft-package-" + std::to_string(getpid()) + ".weft";
  ASSERT_TRUE(writer.write_file(path).ok());
  const auto disk = Package::open(path).value_or_throw();
  const auto memory = Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
  for (const auto &package : {disk, memory}) {
    EXPECT_EQ(package->names(), (std::vector<std::string>{"first", "empty", "second"}));
    const auto first = package->section("first").value_or_throw();
    const auto expected = pattern(5000, 1);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), expected.begin(), expected.end()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % packageAlignment, 0u);
    EXPECT_EQ(package->section("empty").value_or_throw().size(), 0u);
    EXPECT_EQ(package->section("second").value_or_throw().size(), 100u);
    EXPECT_FAILS(package->section("third").status(),
                 "has no section 'third'; it has 'first', 'empty', 'second'");
  }
  EXPECT_EQ(writer.finish().value_or_throw(), sample());
  ::unlink(path.c_str());
}

TEST(Package, ANamedPipeIsNotWaitedFor) {
  const std::string path = "/tmp/weft-pipe-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FAILS(Package::open(path).status(), "it is not a regular file");
  ::unlink(path.c_str());
}

TEST(Package, WritingRemovesWhatKilledWritersLeft) {
  const weft::test::TemporaryFolder folder;
  const std::string path = folder / "p.weft";
  const pid_t gone = ::fork();
  if (gone == 0)
    ::_exit(0);
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  const std::string number = std::to_string(::getpid()), dead = std::to_string(gone),
                    mine = number + "." + std::to_string(process_start());
  constexpr time_t minutes = 60, hours = 60 * minutes, days = 24 * hours;
  // Each name, how long ago it was written, and whether it stays.
  const struct {
    std::string name;
    time_t age;
    bool stays;
  } files[] = {{"p.weft.tmp." + dead + ".0", 2 * hours, false},
               {"p.weft.tmp." + dead + ".1.2", 2 * hours, false},
               {"p.weft.tmp." + dead + ".1.3", 5 * minutes, true}, // a slow disk takes it, it may be
               {"p.weft.tmp." + dead + ".1", 0, true},             // of another container, it may be
               {"p.weft.tmp." + mine + ".7", 2 * hours, true},
               {"p.weft.tmp." + mine + ".8", 2 * days, false},
               // Of a process that had our number before us, as in a container that began again.
               {"p.weft.tmp." + number + ".1.0", 2 * hours, false},
               {"p.weft.tmp." + number + ".0", 2 * hours, false},
               {"p.weft.tmp." + number + ".1.1", 0, true},
               // Files of other programs.
               {"p.weft.tmp.notes", 2 * days, true},
               {"p.weft.tmp.20241105", 2 * days, true},
               {"p.weft.tmp." + dead + ".0.bak", 2 * days, true},
               {"p.weft.tmp." + dead + ".", 2 * days, true},
               {"p.weft.tmp." + dead + ".1.2.3", 2 * days, true},
               {"q.weft.tmp." + dead + ".0", 2 * days, true},
               {"p.weft", 2 * days, true}};
  for (const auto &file : files) {
    std::ofstream(folder / file.name) << "x";
    const timespec times[2] = {{std::time(nullptr) - file.age, 0}, {std::time(nullptr) - file.age, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder / file.name).c_str(), times, 0), 0);
  }
  PackageWriter writer;
  writer.add("first", pattern(10, 1));
  ASSERT_TRUE(writer.write_file(path).ok());
  for (const auto &file : files)
    EXPECT_EQ(::access((folder / file.name).c_str(), F_OK) == 0, file.stays) << file.name;
}

TEST(Package, NamesThatAreTakenDoNotStopAWriter) {
  ASSERT_GT(process_start(), 0u);
  const weft::test::TemporaryFolder folder;
  const std::string path = folder / "p.weft", number = path + ".tmp." + std::to_string(::getpid()) + ".";
  for (int i = 0; i < 90; ++i) {
    const std::string count = std::to_string(i);
    std::ofstream(number + count) << "x";
    std::ofstream(number + std::to_string(process_start()) + "." + count) << "x";
  }
  PackageWriter writer;
  writer.add("first", pattern(10, 1));
  const Status written = writer.write_file(path);
  EXPECT_TRUE(written.ok()) << written.message();
  EXPECT_TRUE(Package::open(path).ok());
}

TEST(Package, WriterRefusesBadNamesAndPaths) {
  PackageWriter twice;
  twice.add("a", {});
  twice.add("a", {});
  EXPECT_FAILS(twice.finish().status(), "'a' was added twice");
  PackageWriter unnamed;
  unnamed.add("", {});
  EXPECT_FAILS(unnamed.finish().status(), "needs a name");
  EXPECT_FAILS(PackageWriter().write_file("/nonexistent/x.weft"), "cannot create package");
  EXPECT_FAILS(Package::open("/nonexistent/x.weft").status(), "cannot open package");
  EXPECT_FAILS(Package::open("/").status(), "not a regular file");
}

TEST(Package, NamesEveryDamagedField) {
  EXPECT_FAILS(Package::from_memory({}).status(), "truncated");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.magic[0] = 'X'; }), "bad magic");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.format_major = 9; }), "format major is 9");
  // Plans of the version before do not say which launches a failure stops.
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.format_major = 2; }),
               "format major is 2, this runtime reads 3: compile the program again");
  EXPECT_TRUE(damaged_header([](PackageHeader &h) { h.format_minor = 9; }).ok());
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.kernel_abi = 7; }), "kernel ABI is 7");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.file_bytes += 1; }), "truncated: expected");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.file_bytes -= 1; }), "something was appended");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.table_offset = 8; }), "table offset 8");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.table_offset = 1ull << 60; }), "past the end");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.table_bytes = UINT64_MAX; }), "past the end");
  EXPECT_FAILS(damaged_header([](PackageHeader &h) { h.section_count = 1u << 30; }), "section count");
  EXPECT_FAILS(damaged_row(0, [](PackageSection &r) { r.offset += 8; }), "section 'first' is unaligned");
  EXPECT_FAILS(damaged_row(2, [](PackageSection &r) { r.offset += 1ull << 20; }), "section 'second'");
  EXPECT_FAILS(damaged_row(2, [](PackageSection &r) { r.bytes = UINT64_MAX; }), "past the end");
  EXPECT_FAILS(damaged_row(2, [](PackageSection &r) { r.offset = 4096; }), "overlaps");
  EXPECT_FAILS(damaged_row(0, [](PackageSection &r) { r.offset = 0; }), "overlaps the section table");
  EXPECT_FAILS(damaged_row(1, [](PackageSection &r) { r.name_offset = 0; }), "name of section number 1");
  EXPECT_FAILS(damaged_row(1, [](PackageSection &r) { r.name_bytes = 1u << 31; }),
               "name of section number 1");
  EXPECT_FAILS(damaged_row(1,
                           [](PackageSection &r) {
                             r.name_offset = 3 * sizeof(PackageSection);
                             r.name_bytes = 16;
                           }),
               "name of section number 1 shares bytes with another: the names take 16 bytes in all");

  std::vector<std::byte> file = sample();
  file[9] ^= std::byte{0}; // unchanged: still opens
  EXPECT_TRUE(Package::from_memory(file).ok());
  file[20] ^= std::byte{1};
  EXPECT_FAILS(Package::from_memory(file).status(), "checksum mismatch of the header");
  file = sample();
  file[sizeof(PackageHeader) + 3] ^= std::byte{1};
  EXPECT_FAILS(Package::from_memory(file).status(), "checksum mismatch of the section table");
  file = sample();
  file[4096 + 17] ^= std::byte{1};
  const auto package = Package::from_memory(file).value_or_throw();
  EXPECT_FAILS(package->section("first").status(), "checksum mismatch of section 'first'");
  EXPECT_TRUE(package->section("second").ok());
}

TEST(Package, EveryTruncationIsAnError) {
  const std::vector<std::byte> file = sample();
  for (size_t bytes = 0; bytes < file.size(); bytes += bytes < 300 ? 1 : 97) {
    const auto opened =
        Package::from_memory({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(bytes)});
    EXPECT_FALSE(opened.ok()) << bytes;
  }
}

/// Each section in order: its content, or the code of the error of reading it.
std::vector<std::pair<std::string, std::vector<std::byte>>> contents(const Package &package) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> result;
  for (const std::string &name : package.names()) {
    const auto bytes = package.section(name);
    result.emplace_back(bytes ? "" : bytes.status().code(), std::vector<std::byte>());
    if (bytes)
      result.back().second.assign(bytes->begin(), bytes->end());
  }
  return result;
}

TEST(Package, AFlippedByteIsRefusedOrIsNoPartOfIt) {
  const std::vector<std::byte> good = sample();
  const auto package = Package::from_memory(good).value_or_throw();
  const auto expected = contents(*package);
  const size_t table_end = sizeof(PackageHeader) + 3 * sizeof(PackageSection) + 16;
  // The range of each section; the bytes between sections are not read.
  const auto section_at = [&](size_t i) {
    return i >= 4096 && i < 9096 ? 0 : i >= 12288 && i < 12388 ? 2 : -1;
  };
  ASSERT_EQ(good.size(), 12388u);
  for (size_t i = 0; i < good.size(); ++i)
    for (unsigned mask : {1u, 0x80u, 0xffu}) {
      std::vector<std::byte> file = good;
      file[i] ^= static_cast<std::byte>(mask);
      const auto opened = Package::from_memory(std::move(file));
      if (i < table_end) {
        ASSERT_FALSE(opened.ok()) << "byte " << i << " ^ " << mask;
        ASSERT_TRUE(opened.status().code().starts_with("WEFT-L00")) << opened.status().message();
        continue;
      }
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      auto found = contents(**opened);
      if (const int damaged = section_at(i); damaged >= 0) {
        ASSERT_EQ(found[static_cast<size_t>(damaged)].first, "WEFT-L005") << "byte " << i << " ^ " << mask;
        found[static_cast<size_t>(damaged)] = expected[static_cast<size_t>(damaged)];
      }
      ASSERT_EQ(found, expected) << "byte " << i << " ^ " << mask;
    }
}

// The checksums of header and table are corrected, so that the change reaches the later checks. A section may
// then have another name or be missing; otherwise it has the content that was written, or is refused.
TEST(Package, AFlippedByteThatIsSealedGivesNoOtherContents) {
  const std::vector<std::byte> good = sample();
  const auto expected = contents(*Package::from_memory(good).value_or_throw());
  const size_t end = sizeof(PackageHeader) + 3 * sizeof(PackageSection) + 16;
  int refused = 0, damaged = 0, same = 0;
  for (size_t i = 0; i < end; ++i)
    for (unsigned mask : {1u, 0x80u, 0xffu}) {
      std::vector<std::byte> file = good;
      file[i] ^= static_cast<std::byte>(mask);
      reseal(file);
      const auto opened = Package::from_memory(std::move(file));
      if (!opened) {
        ++refused;
        ASSERT_TRUE(opened.status().code().starts_with("WEFT-L0")) << opened.status().message();
        continue;
      }
      const auto found = contents(**opened);
      ASSERT_LE(found.size(), expected.size()) << "byte " << i << " ^ " << mask;
      for (size_t s = 0; s < found.size(); ++s) {
        if (found[s].first.empty())
          ASSERT_EQ(found[s].second, expected[s].second) << "byte " << i << " ^ " << mask;
        else
          ASSERT_EQ(found[s].first, "WEFT-L005") << "byte " << i << " ^ " << mask;
        ++(found[s].first.empty() ? same : damaged);
      }
    }
  EXPECT_GT(refused, 100);
  EXPECT_GT(damaged, 20);
  EXPECT_GT(same, 50);
}

TEST(Checksum, DependsOnEveryByteAndOnLength) {
  for (size_t count : {0, 1, 7, 8, 31, 32, 33, 100}) {
    const std::vector<std::byte> bytes = pattern(count, 3);
    const uint64_t before = checksum64(bytes);
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::byte> changed = bytes;
      changed[i] ^= std::byte{4};
      EXPECT_NE(checksum64(changed), before);
    }
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_NE(checksum64(longer), before);
  }
}

// Machine code that stores the word at the beginning of read-only data through buffers[0]:
//   mov rax, [rip + distance]; mov rcx, [rdi]; mov rcx, [rcx]; mov [rcx], rax; ret
struct ImageParts {
  std::vector<std::byte> text, rodata = pattern(8, 5), data = pattern(24, 6);
  ImageLayout layout;
  ImageParts() {
    text.resize(64);
    const int32_t distance = 4096 - (64 + 7);
    unsigned char code[] = {0x48, 0x8b, 0x05, 0,    0,    0,    0,    0x48, 0x8b,
                            0x0f, 0x48, 0x8b, 0x09, 0x48, 0x89, 0x01, 0xc3};
    std::memcpy(code + 3, &distance, 4);
    const auto *begin = reinterpret_cast<const std::byte *>(code);
    text.insert(text.end(), begin, begin + sizeof code);
    layout.level = CpuLevel::baseline;
    layout.text = text;
    layout.rodata_address = 4096;
    layout.rodata = rodata;
    layout.data_address = 8192;
    layout.data = data;
    layout.data_memory_bytes = 10000;
    layout.symbols = {{"store", 64}};
  }
};

TEST(Image, RunsCodeAndKeepsDistances) {
  const ImageParts parts;
  const auto image = Image::load(build_image(parts.layout)).value_or_throw();
  const KernelFn store = image->find("store").value_or_throw();
  uint64_t word = 0, expected = 0;
  std::memcpy(&expected, parts.rodata.data(), 8);
  void *buffers[] = {&word};
  KernelFrame frame = {buffers, nullptr, kernel_imports(), nullptr, nullptr};
  store(&frame, 0, 1);
  EXPECT_EQ(word, expected);
  EXPECT_FAILS(image->find("load").status(), "no kernel 'load'");
  EXPECT_EQ(image->mapping().size(), 8192u + 12288u);
  EXPECT_EQ(image->mapping()[8192 + 23], parts.data[23]);
  EXPECT_EQ(image->mapping()[8192 + 24], std::byte{0});

  // No line of the process's map is writable and executable, and text is executable only.
  std::ifstream maps("/proc/self/maps");
  const auto base = reinterpret_cast<uintptr_t>(image->mapping().data());
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    const uintptr_t begin = std::stoull(line, nullptr, 16);
    const std::string rights = line.substr(line.find(' ') + 1, 3);
    if (begin == base)
      found += rights == "r-x";
    if (begin == base + 4096)
      found += rights == "r--";
    if (begin >= base && begin < base + image->mapping().size())
      EXPECT_NE(rights, "rwx");
  }
  EXPECT_EQ(found, 2);
}

TEST(Image, NamesEveryDamagedField) {
  const auto wrong = [](const Status &status, const char *message) {
    EXPECT_FAILS(status, message);
    EXPECT_EQ(status.code(), "WEFT-L009") << status.message();
  };
  const auto damaged = [](auto change) {
    ImageParts parts;
    std::vector<std::byte> bytes = build_image(parts.layout);
    ImageHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    change(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return Image::load(bytes).status();
  };
  EXPECT_TRUE(damaged([](ImageHeader &) {}).ok());
  wrong(damaged([](ImageHeader &h) { h.magic[1] = 'x'; }), "bad magic");
  wrong(damaged([](ImageHeader &h) { h.version = 9; }), "version is 9");
  wrong(damaged([](ImageHeader &h) { h.level = 17; }), "unknown processor level 17");
  wrong(damaged([](ImageHeader &h) { h.text_bytes += 1; }), "truncated");
  wrong(damaged([](ImageHeader &h) { h.symbol_count = UINT64_MAX; }), "out of range");
  wrong(damaged([](ImageHeader &h) { h.rodata_address = 100; }), "read-only data at 100");
  wrong(damaged([](ImageHeader &h) { h.data_address = 4096; }), "data at 4096");
  wrong(damaged([](ImageHeader &h) { h.data_memory_bytes = 1; }), "data takes 1 bytes");
  wrong(Image::load(std::span<const std::byte>()).status(), "truncated");
  ImageParts outside;
  outside.layout.symbols = {{"f", 1 << 20}};
  wrong(Image::load(build_image(outside.layout)).status(), "symbol 'f'");
  ImageParts sharing;
  sharing.layout.symbols = {{"first", 0}, {"second", 0}};
  std::vector<std::byte> shared = build_image(sharing.layout);
  const ImageSymbolRow row = {0, 0, 11};
  std::memcpy(shared.data() + shared.size() - 11 - sizeof row, &row, sizeof row);
  wrong(Image::load(shared).status(), "name of symbol number 1 shares bytes with another");

  const ImageParts parts;
  const std::vector<std::byte> good = build_image(parts.layout);
  for (size_t i = 0; i < good.size(); ++i)
    for (unsigned mask : {1u, 0xffu}) {
      std::vector<std::byte> bytes = good;
      bytes[i] ^= static_cast<std::byte>(mask);
      const auto loaded = Image::load(bytes); // never run
      // Data that ends in more zeros than there is memory for is no damage that shows.
      if (!loaded && loaded.status().code() != "WEFT-M001")
        ASSERT_EQ(loaded.status().code(), "WEFT-L009") << loaded.status().message();
    }
}

TEST(Image, PicksTheBestLevel) {
  ImageParts v3, v4;
  v3.layout.symbols = {{"v3", 64}};
  v4.layout.symbols = {{"v4", 64}};
  PackageWriter writer;
  writer.add("image.cpu.x86-64-v4", build_image(v4.layout));
  writer.add("image.cpu.x86-64-v3", build_image(v3.layout));
  const auto package = Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
  const auto symbols = [&](CpuLevel level) {
    return (*Image::load(*package, "image.cpu", level))->symbols();
  };
  EXPECT_EQ(symbols(CpuLevel::v4), std::vector<std::string>{"v4"});
  EXPECT_EQ(symbols(CpuLevel::v3), std::vector<std::string>{"v3"});
  const Status tooOld = Image::load(*package, "image.cpu", CpuLevel::baseline).status();
  EXPECT_FAILS(tooOld, "has kernels for x86-64-v4, x86-64-v3, this processor is x86-64");
  EXPECT_EQ(tooOld.code(), "WEFT-L010");
  const Status missing = Image::load(*package, "image.gpu").status();
  EXPECT_FAILS(missing, "has no kernels");
  EXPECT_EQ(missing.code(), "WEFT-L007");
}

} // namespace
