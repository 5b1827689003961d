//===- FilesTest.cpp - Data files that are damaged or hostile -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BadInput.h"
#include "test/unit/Deflate.h"

namespace weft::bad_input {
namespace {

const Folder &folder() {
  static Folder folder;
  return folder;
}

//===----------------------------------------------------------------------===//
// npy and npz
//===----------------------------------------------------------------------===//

std::string npy(const std::string &header, const std::string &data) {
  return "\x93NUMPY\x01" + std::string(1, '\0') + little(static_cast<uint16_t>(header.size())) + header +
         data;
}
std::string dict(const std::string &descr, const std::string &order, const std::string &shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

/// load_npy of these bytes.
Row npyRow(const std::string &name, const std::string &bytes, std::vector<std::string> words) {
  const std::string path = folder().file(name + ".npy", bytes);
  words.push_back(path);
  return {name, [path] { load_npy(path); }, words};
}

struct Member {
  std::string name, content;
  uint32_t claimed = 0; ///< the unpacked size that is written; 0: the true one
};

/// An archive of members that are packed with deflate.
std::string archive(const std::vector<Member> &members) {
  std::string out, directory;
  for (const Member &member : members) {
    const std::string body = deflated(member.content, -15);
    const auto crc = static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef *>(member.content.data()), member.content.size()));
    const auto size = member.claimed ? member.claimed : static_cast<uint32_t>(member.content.size());
    const std::string common = little(uint16_t(20)) + little(uint16_t(0)) + little(uint16_t(8)) +
                               little(uint32_t(0)) + little(crc) +
                               little(static_cast<uint32_t>(body.size())) + little(size) +
                               little(static_cast<uint16_t>(member.name.size())) + little(uint16_t(0));
    directory += "PK\x01\x02" + little(uint16_t(20)) + common + std::string(10, '\0') +
                 little(static_cast<uint32_t>(out.size())) + member.name;
    out += "PK\x03\x04" + common + member.name + body;
  }
  const auto count = little(static_cast<uint16_t>(members.size()));
  return out + directory + "PK\x05\x06" + little(uint32_t(0)) + count + count +
         little(static_cast<uint32_t>(directory.size())) + little(static_cast<uint32_t>(out.size())) +
         little(uint16_t(0));
}

Row npzRow(const std::string &name, const std::string &bytes, std::vector<std::string> words) {
  const std::string path = folder().file(name + ".npz", bytes);
  words.push_back(path);
  return {name, [path] { load_npz(path); }, words};
}

std::vector<Row> arrays() {
  const std::string three = npy(dict("'|u1'", "False", "(3,)"), "abc");
  std::string hugeHeader = "\x93NUMPY\x02" + std::string(1, '\0') + little(uint32_t(0xffffffff)) + "{}";
  return {
      npyRow("NpyEmpty", "", {"truncated"}),
      npyRow("NpyOtherFile", "\x89PNG\r\n and so on", {"not a .npy file"}),
      npyRow("NpyTruncatedHeader", three.substr(0, 20), {"truncated"}),
      npyRow("NpyTruncatedData", three.substr(0, three.size() - 1), {"expected 3 bytes", "found at most 2"}),
      npyRow("NpyTrailingData", three + "d", {"found 1 bytes more"}),
      npyRow("NpyHugeHeaderLength", hugeHeader, {"header"}),
      npyRow("NpyNegativeDimension", npy(dict("'<f4'", "False", "(-1,)"), ""), {"'shape'", "from 0 on"}),
      npyRow("NpyHugeDimension", npy(dict("'<f4'", "False", "(1099511627776,)"), "abcd"),
             {"expected 4398046511104 bytes", "found at most 4"}),
      npyRow("NpyDimensionBeyond63Bits", npy(dict("'<f4'", "False", "(9223372036854775808,)"), ""),
             {"below 2^63"}),
      npyRow("NpySizeOverflows", npy(dict("'<f8'", "False", "(4611686018427387904, 4)"), ""), {"overflows"}),
      npyRow("NpyZeroHidesOverflow", npy(dict("'<f8'", "False", "(0, 4611686018427387904, 4)"), ""),
             {"overflows"}),
      npyRow("NpyRank65",
             npy(dict("'|u1'", "False",
                      [] {
                        std::string dims = "(";
                        for (int i = 0; i < 65; ++i)
                          dims += "1, ";
                        return dims + ")";
                      }()),
                 "a"),
             {"at most 64 dimensions"}),
      npyRow("NpyBigEndian", npy(dict("'>f4'", "False", "(1,)"), "abcd"), {"big-endian", "'<f4'"}),
      npyRow("NpyObjects", npy(dict("'|O'", "False", "(1,)"), "abcdefgh"), {"Python objects", "never"}),
      npyRow("NpyRecords", npy(dict("[('a', '<f4')]", "False", "(1,)"), "abcd"), {"structured records"}),
      npyRow("NpyComplex", npy(dict("'<c8'", "False", "(1,)"), "abcdefgh"), {"elements of type '<c8'"}),
      npyRow("NpyStrings", npy(dict("'<U4'", "False", "(1,)"), std::string(16, 'x')), {"'<U4'"}),
      npyRow("NpyFortranOrderTooShort", npy(dict("'<i2'", "True", "(2, 3)"), "abcd"),
             {"expected 12 bytes", "found at most 4"}),
      npyRow("NpyFortranOrderNoWord", npy(dict("'<i2'", "1", "(2, 3)"), std::string(12, 'x')),
             {"'fortran_order' to be True or False"}),
      npyRow("NpyBoolThatIsNone", npy(dict("'|b1'", "False", "(3,)"), std::string("\x01\x00\x07", 3)),
             {"element 2", "found 7"}),
      npyRow("NpyNestedHeader", npy(std::string(60000, '('), ""), {"expected '{'"}),
      npyRow("NpyKeyTwice", npy("{'descr': '<f4', 'descr': '<f4', }", ""), {"a second 'descr'"}),
      {"NpyMissing", [] { load_npy(folder() / "missing.npy"); }, {"missing.npy", "No such file"}},
      {"NpyDirectory", [] { load_npy(folder() / "."); }, {"is a directory"}},
      {"NpyDevice", [] { load_npy("/dev/zero"); }, {"/dev/zero", "not a regular file"}},
      npzRow("NpzEmpty", "", {"expected at least 22 bytes, found 0", "not a ZIP archive"}),
      npzRow("NpzTruncated", archive({{"x.npy", three}}).substr(0, 60), {"not an archive"}),
      npzRow("NpzNameTwice", archive({{"x.npy", three}, {"x.npy", three}}),
             {"member 'x.npy' is there twice"}),
      npzRow("NpzNotAnArray", archive({{"x.txt", three}}), {"member 'x.txt'", ".npy"}),
      npzRow("NpzObjects", archive({{"x.npy", npy(dict("'|O'", "False", "(1,)"), "abcdefgh")}}),
             {"Python objects"}),
      npzRow("NpzClaimsFourGigabytes", archive({{"x.npy", three, 0xfffffffe}}), {"x.npy"}),
      npzRow("NpzBomb", archive({{"x.npy", three + std::string(64u << 20, '\0')}}), {"x.npy", "more"}),
      npzRow(
          "NpzBombOfElements",
          archive({{"x.npy", npy(dict("'|u1'", "False", "(1099511627776,)"), std::string(1u << 20, '\0'))}}),
          {"expected 1099511627776 bytes"}),
  };
}

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

std::string safetensors(const std::string &header, size_t bytes) {
  return little(static_cast<uint64_t>(header.size())) + header + std::string(bytes, '\0');
}
std::string entry(const std::string &name, const std::string &dtype, const std::string &shape,
                  const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}";
}

Row safeRow(const std::string &name, const std::string &bytes, std::vector<std::string> words) {
  const std::string path = folder().file(name + ".safetensors", bytes);
  words.push_back(path);
  return {name, [path] { load_safetensors(path); }, words};
}

std::vector<Row> safetensorsFiles() {
  const std::string a = entry("a", "F32", "[1]", "[0,4]");
  const std::string good = safetensors("{" + a + "}", 4);
  return {
      safeRow("SafetensorsEmpty", "", {"truncated"}),
      safeRow("SafetensorsTruncatedLength", good.substr(0, 5), {"truncated"}),
      safeRow("SafetensorsTruncatedHeader", good.substr(0, 20), {"header"}),
      safeRow("SafetensorsTruncatedData", good.substr(0, good.size() - 1), {"'a'"}),
      safeRow("SafetensorsTrailingData", good + "x", {"expected 4 bytes as the header says, found 5"}),
      safeRow("SafetensorsHugeHeaderLength", little(uint64_t(1) << 62) + "{}",
              {"header", "4611686018427387904"}),
      safeRow("SafetensorsHeaderBeyondTheLimit", little(uint64_t(200000000)) + std::string(1000, ' '),
              {"header", "200000000"}),
      safeRow("SafetensorsNegativeDimension", safetensors("{" + entry("a", "F32", "[-1]", "[0,4]") + "}", 4),
              {"expected an integer from 0 on, found '-1"}),
      safeRow("SafetensorsHugeDimension",
              safetensors("{" + entry("a", "F32", "[1099511627776]", "[0,4]") + "}", 4), {"'a'", "bytes"}),
      safeRow("SafetensorsSizeOverflows",
              safetensors("{" + entry("a", "F64", "[4611686018427387904,4]", "[0,4]") + "}", 4),
              {"overflows"}),
      safeRow("SafetensorsUnknownDtype", safetensors("{" + entry("a", "F8_E4M3", "[1]", "[0,1]") + "}", 1),
              {"F8_E4M3"}),
      safeRow("SafetensorsNameTwice", safetensors("{" + a + "," + entry("a", "F32", "[1]", "[4,8]") + "}", 8),
              {"'a'", "twice"}),
      safeRow("SafetensorsOverlap", safetensors("{" + a + "," + entry("b", "F32", "[1]", "[2,6]") + "}", 6),
              {"'b'", "overlap"}),
      safeRow("SafetensorsGap", safetensors("{" + a + "," + entry("b", "F32", "[1]", "[8,12]") + "}", 12),
              {"'b'"}),
      safeRow("SafetensorsOffsetsBackwards", safetensors("{" + entry("a", "F32", "[1]", "[4,0]") + "}", 4),
              {"'a'"}),
      safeRow(
          "SafetensorsOffsetsHuge",
          safetensors("{" + entry("a", "F32", "[1]", "[18446744073709551612,18446744073709551615]") + "}", 4),
          {"'a'"}),
      safeRow("SafetensorsNestedHeader", safetensors(std::string(200000, '['), 0), {"expected '{'"}),
      safeRow("SafetensorsNestedValue", safetensors("{\"a\":" + std::string(200000, '{'), 0), {"expected"}),
      safeRow("SafetensorsNoUtf8", safetensors("{" + entry("\xff\xfe", "F32", "[1]", "[0,4]") + "}", 4),
              {"UTF-8"}),
      safeRow("SafetensorsPickle", std::string("\x80\x02}q\x00.", 6) + std::string(40, 'x'), {"header"}),
      {"SafetensorsMissing",
       [] { load_safetensors(folder() / "missing.safetensors"); },
       {"missing.safetensors", "No such file"}},
      {"SafetensorsIntoOtherShapes",
       [] {
         nn::Linear linear(3, 2);
         save_safetensors(folder() / "linear.safetensors", nn::Linear(4, 2).state_dict());
         linear.load_state_dict(load_safetensors(folder() / "linear.safetensors"));
       },
       {"size mismatch: weight", "[2, 4]", "[2, 3]"}},
      {"CheckpointOfAnotherModel",
       [] {
         save_checkpoint(folder() / "a.ckpt", {{"model", nn::Linear(4, 2)}});
         load_checkpoint(folder() / "a.ckpt", {{"other", nn::Linear(4, 2)}});
       },
       {"a.ckpt", "other"}},
      {"WriteIntoNoFolder",
       [] { save_safetensors(folder() / "no/such/folder.safetensors", {{"a", ones({2})}}); },
       {"no/such/folder.safetensors", "No such file"}},
  };
}

//===----------------------------------------------------------------------===//
// IDX: MNIST
//===----------------------------------------------------------------------===//

std::string big(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
  return out;
}
std::string idx(char type, const std::vector<uint32_t> &shape, const std::string &data) {
  std::string out{'\0', '\0', type, static_cast<char>(shape.size())};
  for (uint32_t size : shape)
    out += big(size);
  return out + data;
}

/// data::Mnist of a folder with these images and labels.
Row mnistRow(const std::string &name, const std::string &images, const std::string &labels,
             std::vector<std::string> words) {
  const std::string path = folder() / name;
  std::filesystem::create_directory(path);
  folder().file(name + "/train-images-idx3-ubyte", images);
  folder().file(name + "/train-labels-idx1-ubyte", labels);
  words.push_back(path);
  return {name, [path] { data::Mnist mnist(path); }, words};
}

std::vector<Row> idxFiles() {
  const std::string two = idx(8, {2, 28, 28}, std::string(2 * 784, 'x')), labels = idx(8, {2}, "\x01\x02");
  return {
      mnistRow("IdxEmpty", "", labels, {"truncated"}),
      mnistRow("IdxOtherFile", "\x89PNG\r\n", labels, {"magic number at byte 0"}),
      mnistRow("IdxTruncated", two.substr(0, two.size() - 1), labels,
               {"expected 1568 bytes", "found at most 1567"}),
      mnistRow("IdxTrailingData", two + "x", labels, {"found 1 bytes more"}),
      mnistRow("IdxUnknownType", idx(10, {2, 28, 28}, std::string(1568, 'x')), labels,
               {"element type at byte 2"}),
      mnistRow("IdxOtherType", idx(13, {2, 28, 28}, std::string(4 * 1568, 'x')), labels, {"f32"}),
      mnistRow("IdxOtherShape", idx(8, {2, 28, 27}, std::string(2 * 28 * 27, 'x')), labels, {"[2, 28, 27]"}),
      mnistRow("IdxHugeDimensions", idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, ""), labels, {"overflows"}),
      mnistRow("IdxTwoGigabytesInTenBytes", idx(8, {0x80000000u}, "ab"), labels,
               {"expected 2147483648 bytes"}),
      mnistRow("IdxGzipBomb", deflated(idx(8, {1, 28, 28}, std::string(64u << 20, '\0')), 15 + 16), labels,
               {"bytes more"}),
      mnistRow("IdxGzipDamaged",
               [&] {
                 std::string bytes = deflated(two, 15 + 16);
                 bytes[bytes.size() - 6] ^= 1;
                 return bytes;
               }(),
               labels, {"damaged"}),
      mnistRow("IdxGzipTruncated", deflated(two, 15 + 16).substr(0, 30), labels, {"truncated"}),
      mnistRow("IdxLabelTooLarge", two, idx(8, {2}, "\x01\x0a"), {"label 1", "expected 0 to 9, found 10"}),
      mnistRow("IdxFewerLabels", two, idx(8, {1}, "\x01"), {"expected 2 labels"}),
      {"MnistMissing",
       [] { data::Mnist mnist(folder() / "nowhere"); },
       {"nowhere", "train-images-idx3-ubyte"}},
  };
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Arrays, Table, ::testing::ValuesIn(arrays()), nameOf);
INSTANTIATE_TEST_SUITE_P(Safetensors, Table, ::testing::ValuesIn(safetensorsFiles()), nameOf);
INSTANTIATE_TEST_SUITE_P(Idx, Table, ::testing::ValuesIn(idxFiles()), nameOf);

} // namespace weft::bad_input
