//===- NpyTest.cpp - npy and npz files -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Npy.h"
#include "Testing.h"
#include "frontend/io/Npz.h"
#include "runtime/support/TemporaryFile.h"
#include "test/unit/Deflate.h"

#include <algorithm>
#include <csignal>
#include <sys/resource.h>
#include <zlib.h>

using namespace weft;
using namespace weft::io;
using namespace weft::io::testing;

namespace {

const auto read = [](const ByteSource &source) { return read_npy(source); };
const auto read_archive = [](const ByteSource &source) { return read_npz(source); };

std::string npy(const std::string &header, const std::string &data, int major = 1) {
  std::string out = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  if (major == 1)
    append_le(out, static_cast<uint16_t>(header.size()));
  else
    append_le(out, static_cast<uint32_t>(header.size()));
  return out + header + data;
}
std::string dict(const std::string &descr, const std::string &order, const std::string &shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, WritesWhatNumPyWrites) {
  TemporaryFolder dir;
  const HostArray array = array_of<float>(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
  ASSERT_TRUE(write_npy(dir / "a.npy", array).ok());
  const std::string text = contentOf(dir / "a.npy");
  // The bytes of numpy.save for the same array.
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.append(117 - header.size(), ' ');
  EXPECT_EQ(text.substr(0, 128), std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n");
  expect_equal(*read_npy(dir / "a.npy"), array);
  EXPECT_EQ(dir.files(), 1u);
}

TEST(Npy, RoundTripsEveryTypeAndShape) {
  TemporaryFolder dir;
  for (DType dtype : {DType::i1, DType::i8, DType::i16, DType::i32, DType::i64, DType::ui8, DType::f16,
                      DType::f32, DType::f64})
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {3}, {2, 0, 5}, {2, 3, 4}, std::vector<int64_t>(64, 1)}) {
      HostArray array = *HostArray::allocate(dtype, shape);
      for (size_t i = 0; i < array.bytes.size(); ++i)
        array.bytes[i] = static_cast<std::byte>(i % 2);
      ASSERT_TRUE(write_npy(dir / "a.npy", array).ok());
      const std::string text = contentOf(dir / "a.npy");
      EXPECT_EQ((text.size() - array.bytes.size()) % 64, 0u);
      auto back = read_npy(dir / "a.npy");
      ASSERT_TRUE(back.ok()) << back.status().message();
      expect_equal(*back, array);
    }
}

TEST(Npy, ReadsFortranOrderAndLaterVersions) {
  // numpy.asfortranarray of [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]
  const std::string data("\x00\x06\x02\x08\x04\x0a\x01\x07\x03\x09\x05\x0b", 12);
  const HostArray expected = array_of<uint8_t>(DType::ui8, {2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (int major : {1, 2, 3}) {
    const std::string text = npy(dict("'|u1'", "True", "(2, 3, 2)"), data, major);
    const auto array = read_npy(MemorySource("the.file", bytes_of(text)));
    ASSERT_TRUE(array.ok()) << array.status().message();
    expect_equal(*array, expected);
  }
}

TEST(Npy, TransposesEveryShape) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{70, 45}, {1, 5}, {5, 1}, {3, 2, 40, 33}, {33, 4, 1, 3, 2}}) {
    const int64_t count = *element_count(shape);
    std::string data, dims = "(";
    // Element number k of the file, first dimension fastest, holds its row-major position.
    for (int64_t k = 0; k < count; ++k) {
      int64_t rest = k, position = 0, stride = count;
      for (int64_t size : shape) {
        stride /= size;
        position += rest % size * stride;
        rest /= size;
      }
      append_le(data, static_cast<uint16_t>(position));
    }
    for (int64_t size : shape)
      dims += std::to_string(size) + ", ";
    const std::string text = npy(dict("'<i2'", "True", dims + ")"), data);
    const auto array = read_npy(MemorySource("the.file", bytes_of(text)));
    ASSERT_TRUE(array.ok()) << array.status().message();
    for (int64_t k = 0; k < count; ++k)
      ASSERT_EQ(array->values<uint16_t>()[static_cast<size_t>(k)], k) << dims;
  }
}

TEST(Npy, SurvivesDamage) {
  expect_robust(read, npy(dict("'<i4'", "False", "(2, 3)"), std::string(24, 'x')));
  expect_robust(read, npy(dict("'<i2'", "True", "(2, 3)"), std::string(12, 'x'), 2));
}

TEST(Npy, RefusesByName) {
  const auto refuse = [](const std::string &header, std::initializer_list<const char *> words) {
    expect_refused(read, npy(header, ""), words);
  };
  refuse(dict("'>f4'", "False", "(0,)"), {"'descr'", "big-endian elements '>f4'", "'<f4'"});
  refuse(dict("'|O'", "False", "(0,)"), {"Python objects", "pickled", "never"});
  refuse(dict("'|V2'", "False", "(0,)"), {"bfloat16"});
  refuse(dict("'<c8'", "False", "(0,)"), {"elements of type '<c8'"});
  refuse(dict("[('a', '<f4')]", "False", "(0,)"), {"structured records"});
  refuse(dict("'<f4'", "Maybe", "(0,)"), {"'fortran_order' to be True or False", "Maybe"});
  refuse(dict("'<f4'", "False", "(-1,)"), {"dimensions from 0 on"});
  refuse(dict("'<f4'", "False", "(3)"), {"',' after a single dimension"});
  refuse(dict("'<f4'", "False", "(99999999999999999999,)"), {"below 2^63"});
  refuse(dict("'<f4'", "False", "(4611686018427387904, 4)"), {"'shape'", "overflows"});
  refuse(dict("'<f4'", "False", "(0, 4611686018427387904, 4)"), {"overflows"});
  refuse(dict("'<f4'", "False", "(1099511627776,)"), {"expected 4398046511104 bytes, found at most 0"});
  refuse("{'descr': '<f4', 'fortran_order': False, }",
         {"keys 'descr', 'fortran_order' and 'shape'", "fewer"});
  refuse("{'descr': '<f4', 'descr': '<f4', }", {"a second 'descr'"});
  refuse("{'x': 1}", {"key 'x'"});
  refuse(std::string(5000, '('), {"expected '{'"});
  std::string dims = "(";
  for (int i = 0; i < 65; ++i)
    dims += "1,";
  refuse(dict("'|u1'", "False", dims + ")"), {"at most 64 dimensions"});
  expect_refused(read, npy(dict("'|b1'", "False", "(3,)"), std::string("\x01\x00\x02", 3)),
                 {"element 2", "found 2"});
  expect_refused(read, "PK\x03\x04....", {"not a .npy file"});
  std::string version = npy(dict("'|u1'", "False", "(0,)"), "");
  version[6] = 4;
  expect_refused(read, version, {"version at byte 6", "found 4.0"});
}

TEST(Npy, WriterRefusesAndLeavesNothing) {
  TemporaryFolder dir;
  const HostArray half = *HostArray::allocate(DType::bf16, {2});
  EXPECT_NE(write_npy(dir / "a.npy", half).message().find("no type for bf16"), std::string::npos);
  const std::vector<int64_t> shape = {3};
  const ArrayView wrong(DType::f32, shape, half.bytes);
  EXPECT_NE(write_npy(dir / "a.npy", wrong).message().find("takes 12 bytes, found 4"), std::string::npos);
  EXPECT_EQ(dir.files(), 0u);
  EXPECT_FALSE(write_npy(dir / "no/such/folder.npy", *HostArray::allocate(DType::f32, {2})).ok());
}

TEST(Npy, NamesThatAreTakenDoNotStopAWriter) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy", number = path + ".tmp." + std::to_string(::getpid()) + ".";
  for (int i = 0; i < 90; ++i) {
    spill(number + std::to_string(i), "x");
    spill(number + std::to_string(runtime::process_start()) + "." + std::to_string(i), "x");
  }
  const Status written = write_npy(path, array_of<float>(DType::f32, {2}, {1, 2}));
  EXPECT_TRUE(written.ok()) << written.message();
  EXPECT_EQ(folder.files(), 181u) << "nothing but the file was added";
}

TEST(Npy, FailedWriteKeepsTheOldFile) {
  TemporaryFolder dir;
  const HostArray small = array_of<float>(DType::f32, {2}, {1, 2});
  ASSERT_TRUE(write_npy(dir / "a.npy", small).ok());
  HostArray large = *HostArray::allocate(DType::ui8, {1 << 20});
  std::fill(large.bytes.begin(), large.bytes.end(), std::byte{0});
  // A file size limit makes a write fail half way, as a full disk does.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limited{4096, before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const Status status = write_npy(dir / "a.npy", large);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(status.message().find("cannot be written"), std::string::npos) << status.message();
  expect_equal(*read_npy(dir / "a.npy"), small);
  EXPECT_EQ(dir.files(), 1u);
}

/// An archive of one member, packed with deflate.
std::string packed_archive(const std::string &name, const std::string &content,
                           const std::string &directory_name = {}) {
  const std::string packed = deflated(content, -15);
  const auto crc =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef *>(content.data()), content.size()));
  const auto common = [&](std::string &out, const std::string &member) {
    for (int value : {20, 0, 8, 0, 0})
      append_le(out, static_cast<uint16_t>(value));
    append_le(out, crc);
    append_le(out, static_cast<uint32_t>(packed.size()));
    append_le(out, static_cast<uint32_t>(content.size()));
    append_le(out, static_cast<uint16_t>(member.size()));
    append_le(out, uint16_t(0));
  };
  std::string out;
  append_le(out, 0x04034b50u);
  common(out, name);
  out += name + packed;
  const std::string listed = directory_name.empty() ? name : directory_name;
  std::string directory;
  append_le(directory, 0x02014b50u);
  append_le(directory, uint16_t(20));
  common(directory, listed);
  directory += std::string(14, '\0') + listed;
  std::string end;
  append_le(end, 0x06054b50u);
  append_le(end, uint32_t(0));
  append_le(end, uint16_t(1));
  append_le(end, uint16_t(1));
  append_le(end, static_cast<uint32_t>(directory.size()));
  append_le(end, static_cast<uint32_t>(out.size()));
  append_le(end, uint16_t(0));
  return out + directory + end;
}

TEST(Npz, RoundTripsAndSurvivesDamage) {
  TemporaryFolder dir;
  const HostArray x = array_of<int64_t>(DType::i64, {2}, {1, -2}), y = array_of<uint8_t>(DType::ui8, {}, {7});
  for (bool zip64 : {false, true}) {
    const NamedView views[] = {{"x", x}, {"layer.y", y}};
    ASSERT_TRUE(write_npz(dir / "a.npz", views, {.always_zip64 = zip64}).ok());
    const auto back = read_npz(dir / "a.npz");
    ASSERT_TRUE(back.ok()) << back.status().message();
    ASSERT_EQ(back->size(), 2u);
    EXPECT_EQ((*back)[0].name, "x");
    expect_equal(*find(*back, "x"), x);
    expect_equal(*find(*back, "layer.y"), y);
    EXPECT_EQ(find(*back, "z"), nullptr);
    expect_robust(read_archive, contentOf(dir / "a.npz"));
  }
  ASSERT_TRUE(write_npz(dir / "empty.npz", {}).ok());
  EXPECT_TRUE(read_npz(dir / "empty.npz")->empty());
}

TEST(Npz, ReadsDeflate) {
  const std::string member = npy(dict("'<i4'", "False", "(100,)"), std::string(400, '\0'));
  const std::string text = packed_archive("x.npy", member);
  const auto arrays = read_npz(MemorySource("the.file", bytes_of(text)));
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(find(*arrays, "x")->elements(), 100);
  expect_robust(read_archive, text);
}

TEST(Npz, RefusesByName) {
  const std::string member = npy(dict("'|u1'", "False", "(3,)"), "abc");
  expect_refused(read_archive, packed_archive("x.txt", member), {"member 'x.txt'", ".npy"});
  expect_refused(read_archive, packed_archive("x.npy", member, "y.npy"), {"member 'y.npy'", "found 'x.npy'"});
  expect_refused(read_archive, packed_archive("x.npy", member + "z"), {"found 1 bytes more"});
  std::string encrypted = packed_archive("x.npy", member);
  encrypted[encrypted.find("PK\x01\x02") + 8] = 1;
  expect_refused(read_archive, encrypted, {"encrypted"});
  std::string method = packed_archive("x.npy", member);
  method[method.find("PK\x01\x02") + 10] = 12;
  expect_refused(read_archive, method, {"method 0 (stored) or 8 (deflate), found 12"});
  std::string sum = packed_archive("x.npy", member);
  sum[sum.find("PK\x01\x02") + 16] ^= 1;
  expect_refused(read_archive, sum, {"checksum"});
  expect_refused(read_archive, std::string(100, 'x'), {"not an archive"});
  TemporaryFolder dir;
  const HostArray x = *HostArray::allocate(DType::ui8, {1});
  const NamedView twins[] = {{"x", x}, {"x", x}};
  EXPECT_NE(write_npz(dir / "a.npz", twins).message().find("'x' is given twice"), std::string::npos);
  EXPECT_EQ(dir.files(), 0u);
}

} // namespace
