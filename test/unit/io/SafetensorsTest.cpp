//===- SafetensorsTest.cpp - safetensors files and JSON ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/io/Safetensors.h"
#include "Testing.h"
#include "frontend/io/Json.h"

#include <algorithm>

using namespace weft;
using namespace weft::io;
using namespace weft::io::testing;

namespace {

const auto read = [](const ByteSource &source) { return read_safetensors(source); };

std::string file(const std::string &header, size_t data_bytes) {
  std::string out;
  append_le(out, static_cast<uint64_t>(header.size()));
  return out + header + std::string(data_bytes, '\0');
}
std::string tensor(const std::string &name, const std::string &dtype, const std::string &shape,
                   const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}";
}

TEST(Safetensors, RoundTrips) {
  TemporaryFolder dir;
  const HostArray b = array_of<uint8_t>(DType::ui8, {3}, {1, 2, 3}),
                  w = array_of<float>(DType::f32, {2, 1}, {1.5f, -2}),
                  flag = array_of<uint8_t>(DType::i1, {}, {1}),
                  none = *HostArray::allocate(DType::bf16, {0, 7});
  const NamedView views[] = {{"fc.b", b}, {"fc.w", w}, {"flag \"\n\xc3\xa9", flag}, {"none", none}};
  ASSERT_TRUE(write_safetensors(dir / "a.safetensors", views, {{"format", "weft"}, {"k", "\\"}}).ok());
  const auto back = read_safetensors(dir / "a.safetensors");
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->tensors.size(), 4u);
  for (const NamedView &view : views) {
    const HostArray *array = find(back->tensors, view.name);
    ASSERT_NE(array, nullptr) << view.name;
    EXPECT_EQ(array->dtype, view.array.dtype);
    EXPECT_TRUE(std::equal(array->bytes.begin(), array->bytes.end(), view.array.bytes.begin(),
                           view.array.bytes.end()));
  }
  EXPECT_EQ(back->metadata, (Metadata{{"format", "weft"}, {"k", "\\"}}));
  const std::string text = contentOf(dir / "a.safetensors");
  EXPECT_EQ(load_le<uint64_t>(bytes_of(text).data()) % 8, 0u);
  // Larger elements first, so that every tensor is aligned.
  const MemorySource source("the.file", bytes_of(text));
  const auto index = read_safetensors_index(source);
  ASSERT_TRUE(index.ok());
  for (const SafetensorsEntry &entry : index->entries)
    EXPECT_EQ(entry.offset % itemsize(entry.dtype), 0u) << entry.name;
  expect_robust(read, text);
  EXPECT_EQ(dir.files(), 1u);
}

TEST(Safetensors, ReadsOneTensor) {
  const std::string text =
      file("{" + tensor("a", "U8", "[2]", "[4,6]") + "," + tensor("b", "I32", "[1]", "[0,4]") + "}", 4) +
      "xy";
  const MemorySource source("the.file", bytes_of(text));
  const auto index = read_safetensors_index(source);
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->find("c"), nullptr);
  const auto a = read_safetensor(source, *index->find("a"));
  ASSERT_TRUE(a.ok());
  expect_equal(*a, array_of<uint8_t>(DType::ui8, {2}, {'x', 'y'}));
}

TEST(Safetensors, AcceptsPaddingAndNothing) {
  EXPECT_TRUE(read_safetensors(MemorySource("the.file", bytes_of(file("{}   ", 0)))).ok());
}

TEST(Safetensors, RefusesByName) {
  const auto refuse = [](const std::string &header, size_t bytes, std::initializer_list<const char *> words) {
    expect_refused(read, file(header, bytes), words);
  };
  refuse("{" + tensor("a", "U8", "[2]", "[0,2]") + "," + tensor("b", "U8", "[2]", "[1,3]") + "}", 3,
         {"'b'", "overlaps"});
  refuse("{" + tensor("a", "U8", "[2]", "[0,2]") + "," + tensor("b", "U8", "[2]", "[3,5]") + "}", 5,
         {"'b'", "gap"});
  refuse("{" + tensor("a", "U8", "[2]", "[1,3]") + "}", 3, {"expected to start at 0, found 1"});
  refuse("{" + tensor("a", "U8", "[2]", "[0,2]") + "}", 3, {"expected 2 bytes as the header says, found 3"});
  refuse("{" + tensor("a", "U8", "[2]", "[0,2]") + "," + tensor("a", "U8", "[0]", "[2,2]") + "}", 2,
         {"'a' is in the header twice"});
  refuse("{" + tensor("a", "F32", "[2]", "[0,4]") + "}", 4,
         {"expected 8 bytes for shape [2] of F32, found 4"});
  refuse("{" + tensor("a", "U8", "[2]", "[2,0]") + "}", 2, {"found [2, 0]"});
  refuse("{" + tensor("a", "U8", "[8]", "[0,8]") + "}", 4, {"within 4 bytes of data", "truncated"});
  refuse("{" + tensor("a", "U8", "[18446744073709551616]", "[0,8]") + "}", 8, {"below 2^64"});
  refuse("{" + tensor("a", "U8", "[9223372036854775808]", "[0,8]") + "}", 8, {"below 2^63"});
  refuse("{" + tensor("a", "U8", "[4294967296,4294967296]", "[0,0]") + "}", 0,
         {"'a'", "'shape'", "overflows"});
  refuse("{" + tensor("a", "U8", "[-1]", "[0,0]") + "}", 0, {"integer from 0 on"});
  refuse("{" + tensor("a", "U8", "[1.0]", "[0,1]") + "}", 1, {"fraction"});
  refuse("{" + tensor("a", "F8_E4M3", "[1]", "[0,1]") + "}", 1, {"'a'", "'dtype'", "found 'F8_E4M3'"});
  refuse("{" + tensor("a", "U8", "[1]", "[0]") + "}", 1, {"two offsets", "fewer"});
  refuse("{" + tensor("a", "U8", "[1]", "[0,1,2]") + "}", 1, {"two offsets", "more"});
  refuse("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, {"a second 'dtype'"});
  refuse("{\"a\":{\"dtype\":\"U8\",\"strides\":[]}}", 0, {"field 'strides'"});
  refuse("{\"a\":{\"dtype\":\"U8\"}}", 0, {"'data_offsets'", "fewer"});
  refuse("{\"__metadata__\":{\"a\":1}}", 0, {"a string"});
  refuse("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, {"each key of '__metadata__' once"});
  refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, {"twice"});
  refuse(" {}", 0, {"expected '{', found ' '"});
  refuse("{} x", 0, {"expected the end"});
  refuse("{,}", 0, {"a string"});
  refuse("{" + tensor("a", "U8", "[0]", "[0,0]") + ",}", 0, {"a string"});
  refuse("{" + tensor("a\xff", "U8", "[0]", "[0,0]") + "}", 0, {"UTF-8"});
  refuse(std::string(200000, '['), 0, {"expected '{'"});
  expect_refused(read, file("{" + tensor("a", "BOOL", "[1]", "[0,1]") + "}", 0) + "\x02",
                 {"'a'", "expected 0 or 1, found 2"});
  std::string huge;
  append_le(huge, uint64_t{100'000'001});
  expect_refused(read, huge + "{}", {"at most 100000000, found 100000001"});
  std::string negative(8, '\xff');
  expect_refused(read, negative + "{}", {"at most 100000000, found 18446744073709551615"});
}

TEST(Safetensors, WriterRefuses) {
  TemporaryFolder dir;
  const HostArray x = *HostArray::allocate(DType::ui8, {1});
  const auto message = [&](std::vector<NamedView> views, Metadata metadata = {}) {
    return write_safetensors(dir / "a", views, metadata).message();
  };
  EXPECT_NE(message({{"x", x}, {"x", x}}).find("'x' is given twice"), std::string::npos);
  EXPECT_NE(message({{"__metadata__", x}}).find("reserved"), std::string::npos);
  EXPECT_NE(message({{"\xff", x}}).find("not UTF-8"), std::string::npos);
  EXPECT_NE(message({}, {{"k", "\xff"}}).find("expected UTF-8"), std::string::npos);
  EXPECT_NE(message({}, {{"k", "1"}, {"k", "2"}}).find("'k' is given twice"), std::string::npos);
  EXPECT_EQ(dir.files(), 0u);
}

TEST(Json, ReadsStringsAndNumbers) {
  JsonReader json("[ \"a\\u00e9\\ud83d\\ude00\\n\", 18446744073709551615 , 0]", "j");
  ASSERT_TRUE(json.begin_array().ok());
  ASSERT_TRUE(*json.next_element());
  EXPECT_EQ(*json.string(), "a\xc3\xa9\xf0\x9f\x98\x80\n");
  ASSERT_TRUE(*json.next_element());
  EXPECT_EQ(*json.unsigned_integer(), UINT64_MAX);
  ASSERT_TRUE(*json.next_element());
  EXPECT_EQ(*json.unsigned_integer(), 0u);
  EXPECT_FALSE(*json.next_element());
  EXPECT_TRUE(json.end().ok());
}

TEST(Json, RefusesBadStringsAndNumbers) {
  for (const char *text : {"\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"",
                           "\"\n\"", "\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "'a'"})
    EXPECT_FALSE(JsonReader(text, "j").string().ok()) << text;
  for (const char *text : {"-1", "01", "1e3", "18446744073709551616", "", "+1"})
    EXPECT_FALSE(JsonReader(text, "j").unsigned_integer().ok()) << text;
}

TEST(Json, BoundsDepth) {
  const std::string deep(100, '[');
  JsonReader json(deep, "j");
  int depth = 0;
  while (json.begin_array().ok() && *json.next_element())
    ++depth;
  EXPECT_EQ(depth, 64);
}

TEST(Json, QuotesWhatItReads) {
  const std::string text = "a\"\\\n\x01\xc3\xa9";
  const std::string quoted = json_quoted(text);
  EXPECT_EQ(*JsonReader(quoted, "j").string(), text);
  EXPECT_FALSE(is_utf8("\xc3"));
}

} // namespace
