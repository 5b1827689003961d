//===- PackagesTest.cpp - Packages that are damaged -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A saved step is damaged in every field of its container, truncated, and changed byte by byte with corrected
// checksums. The C interface must report what is wrong, or run the package if it is still valid.
//
//===----------------------------------------------------------------------===//
#include "BadInput.h"

#include "runtime/package/Package.h"
#include "weft/weft.h"

#include <cstring>

namespace weft::bad_input {
namespace {

using runtime::PackageHeader;
using runtime::PackageSection;

/// The package of a step with state, as bytes.
const std::string &saved() {
  static const std::string bytes = [] {
    const Folder folder;
    manual_seed(5);
    nn::Linear net(4, 3);
    optim::Adam adam(net.parameters(), {.lr = 0.1});
    auto step = smallStep(net, adam);
    step(ones({2, 4}));
    step.save(folder / "step.weft");
    return test::contentOf(folder / "step.weft");
  }();
  return bytes;
}

template <typename T> T load(const std::string &bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <typename T> void store(std::string &bytes, size_t at, const T &value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Makes every checksum right again.
void seal(std::string &bytes) {
  const auto all = std::as_bytes(std::span(bytes));
  auto header = load<PackageHeader>(bytes, 0);
  if (header.table_offset > bytes.size() || header.table_bytes > bytes.size() - header.table_offset)
    return store(bytes, offsetof(PackageHeader, header_checksum),
                 runtime::checksum64(all.first(offsetof(PackageHeader, header_checksum))));
  for (uint64_t i = 0; i < header.section_count && (i + 1) * sizeof(PackageSection) <= header.table_bytes;
       ++i) {
    const size_t at = header.table_offset + i * sizeof(PackageSection);
    auto row = load<PackageSection>(bytes, at);
    if (row.offset <= bytes.size() && row.bytes <= bytes.size() - row.offset)
      row.checksum = runtime::checksum64(all.subspan(row.offset, row.bytes));
    store(bytes, at, row);
  }
  header.table_checksum = runtime::checksum64(all.subspan(header.table_offset, header.table_bytes));
  store(bytes, 0, header);
  header.header_checksum = runtime::checksum64(all.first(offsetof(PackageHeader, header_checksum)));
  store(bytes, 0, header);
}

/// Opens a package, loads its functions and lists its contents; throws the error that the C interface
/// reports.
void open(const std::string &bytes) {
  weft_package *package = nullptr;
  weft_executable *step = nullptr;
  weft_package_options options = {};
  options.struct_size = sizeof options;
  options.verify = 1;
  weft_status status = weft_package_open_memory(bytes.data(), bytes.size(), &options, &package);
  if (!status)
    status = weft_executable_load(package, "step", "cpu", &step);
  const std::string message = weft_last_error(), code = weft_last_error_code();
  weft_executable_destroy(step);
  weft_package_close(package);
  if (status) {
    // A plan that needs more memory than can be addressed is refused with that message.
    EXPECT_EQ(status, code == "WEFT-M001" ? WEFT_ERROR_MEMORY : WEFT_ERROR_PACKAGE) << message;
    throw Error(message, code);
  }
}

template <typename Change>
Row headerRow(const char *name, const char *code, std::vector<std::string> words, Change change) {
  return {name,
          [change] {
            std::string bytes = saved();
            auto header = load<PackageHeader>(bytes, 0);
            change(header);
            store(bytes, 0, header);
            seal(bytes);
            open(bytes);
          },
          words, code};
}

template <typename Change>
Row sectionRow(const char *name, const char *code, std::vector<std::string> words, Change change) {
  return {name,
          [change] {
            std::string bytes = saved();
            const size_t at = load<PackageHeader>(bytes, 0).table_offset + sizeof(PackageSection);
            auto row = load<PackageSection>(bytes, at);
            change(row);
            store(bytes, at, row);
            seal(bytes);
            open(bytes);
          },
          words, code};
}

Row bytesRow(const char *name, const char *code, std::vector<std::string> words,
             void (*change)(std::string &)) {
  return {name,
          [change] {
            std::string bytes = saved();
            change(bytes);
            open(bytes);
          },
          words, code};
}

std::vector<Row> packages() {
  return {
      bytesRow("PackageEmpty", "WEFT-L002", {"truncated"}, [](std::string &b) { b.clear(); }),
      bytesRow("PackageIsText", "WEFT-L003", {"not a Weft package"},
               [](std::string &b) { b = "weft.func @f() { weft.return }" + std::string(300, ' '); }),
      bytesRow("PackageTruncated", "WEFT-L002", {"truncated", "expected"},
               [](std::string &b) { b.pop_back(); }),
      bytesRow("PackageAppended", "WEFT-L006", {"appended"}, [](std::string &b) { b += "x"; }),
      bytesRow("HeaderChecksum", "WEFT-L005", {"checksum mismatch of the header"},
               [](std::string &b) { b[20] ^= 1; }),
      bytesRow("TableChecksum", "WEFT-L005", {"checksum mismatch of the section table"},
               [](std::string &b) { b[load<PackageHeader>(b, 0).table_offset + 3] ^= 1; }),
      bytesRow("SectionChecksum", "WEFT-L005", {"checksum mismatch of section"},
               [](std::string &b) {
                 b[load<PackageSection>(b, load<PackageHeader>(b, 0).table_offset).offset + 1] ^= 1;
               }),
      headerRow("Magic", "WEFT-L003", {"bad magic"}, [](PackageHeader &h) { h.magic[0] = 'X'; }),
      headerRow("FormatMajor", "WEFT-L004", {"format major is 9, this runtime reads 3"},
                [](PackageHeader &h) { h.format_major = 9; }),
      headerRow("KernelAbi", "WEFT-L011", {"kernel ABI is 77", "compile the program again"},
                [](PackageHeader &h) { h.kernel_abi = 77; }),
      headerRow("FileBytes", "WEFT-L002", {"truncated: expected"},
                [](PackageHeader &h) { h.file_bytes += 1; }),
      headerRow("FileBytesHuge", "WEFT-L002", {"truncated: expected"},
                [](PackageHeader &h) { h.file_bytes = UINT64_MAX; }),
      headerRow("TableOffsetInTheHeader", "WEFT-L006", {"table offset 8"},
                [](PackageHeader &h) { h.table_offset = 8; }),
      headerRow("TableOffsetHuge", "WEFT-L006", {"past the end"},
                [](PackageHeader &h) { h.table_offset = uint64_t(1) << 60; }),
      headerRow("TableBytesHuge", "WEFT-L006", {"past the end"},
                [](PackageHeader &h) { h.table_bytes = UINT64_MAX; }),
      headerRow("SectionCountHuge", "WEFT-L006", {"section count"},
                [](PackageHeader &h) { h.section_count = 0xffffffff; }),
      headerRow("NoSections", "WEFT-L007", {"no function 'step'"},
                [](PackageHeader &h) { h.section_count = 0; }),
      sectionRow("SectionUnaligned", "WEFT-L006", {"unaligned"}, [](PackageSection &r) { r.offset += 8; }),
      sectionRow("SectionOutside", "WEFT-L006", {"past the end"},
                 [](PackageSection &r) { r.offset += uint64_t(1) << 40; }),
      sectionRow("SectionBytesHuge", "WEFT-L006", {"past the end"},
                 [](PackageSection &r) { r.bytes = UINT64_MAX; }),
      sectionRow("SectionsOverlap", "WEFT-L006", {"overlaps"}, [](PackageSection &r) { r.offset = 4096; }),
      sectionRow("SectionOnTheTable", "WEFT-L006", {"overlaps the section table"},
                 [](PackageSection &r) { r.offset = 0; }),
      sectionRow("NameOutside", "WEFT-L006", {"name of section number 1"},
                 [](PackageSection &r) { r.name_bytes = 0x80000000; }),
      sectionRow("NameInTheRows", "WEFT-L006", {"name of section number 1"},
                 [](PackageSection &r) { r.name_offset = 0; }),
      {"PackageMissing",
       [] {
         weft_package *package = nullptr;
         EXPECT_EQ(weft_package_open("/nonexistent/a.weft", nullptr, &package), WEFT_ERROR_PACKAGE);
         throw Error(weft_last_error(), weft_last_error_code());
       },
       {"cannot open package '/nonexistent/a.weft'", "No such file"},
       "WEFT-L001"},
      {"PackageIsADirectory",
       [] {
         weft_package *package = nullptr;
         EXPECT_EQ(weft_package_open("/", nullptr, &package), WEFT_ERROR_PACKAGE);
         throw Error(weft_last_error(), weft_last_error_code());
       },
       {"not a regular file"},
       "WEFT-L001"},
  };
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Packages, Table, ::testing::ValuesIn(packages()), nameOf);

TEST(Packages, OfEveryLengthAreRefused) {
  ASSERT_NO_THROW(open(saved()));
  for (size_t bytes = 0; bytes < saved().size(); bytes += 97)
    ASSERT_THROW(open(saved().substr(0, bytes)), Error) << bytes;
  expectUsable();
}

// The checksums are corrected, so that the checks of plan, state, constants and image are reached. Packages
// that load are not run: their kernels are machine code, and a package is trusted like a program.
TEST(Packages, WithChangedBytesAreRefusedOrLoad) {
  const std::string &good = saved();
  const auto header = load<PackageHeader>(good, 0);
  int refused = 0, loaded = 0;
  for (uint64_t i = 0; i < header.section_count; ++i) {
    const auto row = load<PackageSection>(good, header.table_offset + i * sizeof(PackageSection));
    const uint64_t stride = std::max<uint64_t>(1, row.bytes / 150);
    for (uint64_t at = 0; at < row.bytes; at += stride)
      for (const unsigned char mask : {0x01, 0x80, 0xff}) {
        std::string bytes = good;
        bytes[row.offset + at] ^= static_cast<char>(mask);
        seal(bytes);
        try {
          open(bytes);
          ++loaded;
        } catch (const Error &error) {
          ++refused;
          ASSERT_TRUE(error.code().starts_with("WEFT-L") || error.code() == "WEFT-M001") << error.what();
        }
      }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(loaded, 50);
  expectUsable();
}

} // namespace weft::bad_input
