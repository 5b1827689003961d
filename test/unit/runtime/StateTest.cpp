//===- StateTest.cpp - Values of state in packages -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/execution/StatefulExecutable.h"
#include "runtime/plan/State.h"

#include <functional>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

const std::vector<float> three = {1, 2, 3};

StateValue value(std::string name, std::vector<int64_t> shape = {3}) {
  return {std::move(name), DType::f32, std::move(shape), std::as_bytes(std::span(three))};
}

std::shared_ptr<const Package> package_of(const PackageWriter &writer) {
  return Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
}

TEST(State, RoundTrip) {
  PackageWriter writer;
  const int64_t step = 7;
  const StateValue values[] = {
      value("b"), value("a", {1, 3}), {"step", DType::i64, {}, std::as_bytes(std::span(&step, 1))}};
  ASSERT_TRUE(add_state(writer, "f", values).ok());
  const auto package = package_of(writer);
  const auto found = read_state(*package, "f").value_or_throw();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "b") << "in the order in which they were saved";
  EXPECT_EQ(found[1].shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(found[2].dtype, DType::i64);
  EXPECT_EQ(std::memcmp(found[2].bytes.data(), &step, 8), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(found[2].bytes.data()) % 64, 0u);
  EXPECT_TRUE(read_state(*package, "g").value_or_throw().empty());
}

TEST(State, RefusesWhatMakesNoSense) {
  PackageWriter writer;
  EXPECT_FAILS(add_state(writer, "f", std::vector{value("")}), "has no name");
  EXPECT_FAILS(add_state(writer, "f", std::vector{value("a"), value("a")}),
               "state 'a' of 'f' is there twice");
  EXPECT_FAILS(add_state(writer, "f", std::vector{value("a", {4})}), "has 12 bytes");
}

TEST(State, RefusesAMisalignedShape) {
  const auto read = [](bool misaligned) {
    flatbuffers::FlatBufferBuilder builder;
    if (misaligned) // FlatBuffers are built from their end, which is a multiple of 8
      builder.CreateVector(std::vector<uint32_t>());
    // The builder aligns numbers of 64 bits, so the only one is written as two halves.
    const auto halves = builder.CreateVector(std::vector<uint32_t>{3, 0});
    auto *const count = reinterpret_cast<uint32_t *>(builder.GetCurrentBufferPointer());
    EXPECT_EQ(*count, 2u);
    *count = 1;
    const flatbuffers::Offset<flatbuffers::Vector<int64_t>> shape(halves.o);
    const auto type = fb::CreateTensorType(builder, static_cast<uint8_t>(DType::f32), shape);
    const auto name = builder.CreateString("a");
    const auto entry = fb::CreateStateEntry(builder, name, type, 0, 12);
    builder.Finish(fb::CreateStateIndex(builder, builder.CreateVector(&entry, 1)), "WSTA");
    PackageWriter writer;
    writer.add("state.f", std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
    writer.add("values.f", std::as_bytes(std::span(three)));
    return read_state(*package_of(writer), "f");
  };
  const auto values = read(false);
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_EQ((*values)[0].shape, std::vector<int64_t>{3});
  EXPECT_FAILS(read(true).status(), "entry 0: the shape of 'a' is misaligned");
}

TEST(State, NamesEveryFieldThatDoesNotFit) {
  const auto read = [](const std::function<void(fb::StateIndexT &)> &damage) {
    fb::StateIndexT index;
    for (const char *name : {"a", "b"}) {
      auto entry = std::make_unique<fb::StateEntryT>();
      entry->name = name;
      entry->type = tensor_type(DType::f32, {3});
      entry->bytes = 12;
      entry->offset = name[0] == 'a' ? 0 : 64;
      index.entries.push_back(std::move(entry));
    }
    damage(index);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::StateIndex::Pack(builder, &index), "WSTA");
    PackageWriter writer;
    writer.add("state.f", std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
    writer.add("values.f", std::vector<std::byte>(76));
    return read_state(*package_of(writer), "f").status();
  };
  EXPECT_TRUE(read([](fb::StateIndexT &) {}).ok());
  EXPECT_FAILS(read([](auto &i) { i.entries[1]->name = "a"; }), "entry 1: name 'a' is there twice");
  EXPECT_FAILS(read([](auto &i) { i.entries[1]->name = ""; }), "entry 1: name is missing");
  EXPECT_FAILS(read([](auto &i) { i.entries[0]->type = nullptr; }), "type of 'a' is missing");
  EXPECT_FAILS(read([](auto &i) { i.entries[0]->type->dtype = 99; }), "dtype 99 of 'a' is unknown");
  EXPECT_FAILS(read([](auto &i) { i.entries[0]->type->shape = {4}; }), "'a' has 12 bytes, its type takes 16");
  EXPECT_FAILS(read([](auto &i) { i.entries[0]->type->shape = {-1}; }), "more than there can be");
  EXPECT_FAILS(read([](auto &i) { i.entries[1]->offset = 32; }), "offset 32 of 'b' is no multiple of 64");
  EXPECT_FAILS(read([](auto &i) { i.entries[1]->offset = 128; }), "of a section with 76");
  PackageWriter writer;
  writer.add("state.f", std::vector<std::byte>(100));
  writer.add("values.f", std::vector<std::byte>(1));
  EXPECT_EQ(read_state(*package_of(writer), "f").status().code(), "WEFT-L012");
}

// Bytes are turned one by one: an error or other values, never a crash.
TEST(State, RefusesPartsThatAreSharedAndTooManyDimensions) {
  const auto read = [](flatbuffers::FlatBufferBuilder &builder,
                       const std::vector<flatbuffers::Offset<fb::StateEntry>> &entries) {
    builder.Finish(fb::CreateStateIndex(builder, builder.CreateVector(entries)), "WSTA");
    PackageWriter writer;
    writer.add("state.f", std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
    writer.add("values.f", {});
    return read_state(*package_of(writer), "f").status();
  };
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(100'000, 'n'));
  std::vector<flatbuffers::Offset<fb::StateEntry>> entries;
  for (int i = 0; i < 1000; ++i)
    entries.push_back(fb::CreateStateEntry(builder, name));
  EXPECT_FAILS(read(builder, entries), "stand for more than as many");
  builder.Clear();
  const std::vector<int64_t> shape(65, 0);
  const auto type =
      fb::CreateTensorType(builder, static_cast<uint8_t>(DType::f32), builder.CreateVector(shape));
  entries = {fb::CreateStateEntry(builder, builder.CreateString("w"), type)};
  EXPECT_FAILS(read(builder, entries), "'w' has 65 dimensions, and at most 64 are possible");
}

// The checksum of the index is corrected, so that the change reaches the later checks.
TEST(State, AFlippedByteOfTheIndexIsRefusedOrLeadsToValuesOfTheSection) {
  PackageWriter good;
  ASSERT_TRUE(add_state(good, "f", std::vector{value("a"), value("b")}).ok());
  const auto package = package_of(good);
  const auto section = package->section("state.f").value_or_throw();
  int refused = 0, accepted = 0;
  for (size_t i = 0; i < section.size(); ++i)
    for (const int bit : {0, 3, 7}) {
      std::vector<std::byte> bytes(section.begin(), section.end());
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      PackageWriter writer;
      writer.add("state.f", bytes);
      writer.add("values.f", package->section("values.f").value_or_throw());
      const auto damaged = package_of(writer);
      const auto found = read_state(*damaged, "f");
      if (!found) {
        ++refused;
        ASSERT_EQ(found.status().code(), "WEFT-L012") << found.status().message();
        continue;
      }
      ++accepted;
      const auto values = damaged->section("values.f").value_or_throw();
      for (const StateValue &one : *found) {
        ASSERT_FALSE(one.name.empty()) << "byte " << i << ", bit " << bit;
        uint64_t size = itemsize(one.dtype);
        for (const int64_t extent : one.shape)
          size *= static_cast<uint64_t>(extent);
        ASSERT_EQ(one.bytes.size(), size) << "byte " << i << ", bit " << bit;
        ASSERT_TRUE(one.bytes.empty() ||
                    (one.bytes.data() >= values.data() &&
                     one.bytes.data() + one.bytes.size() <= values.data() + values.size()))
            << "byte " << i << ", bit " << bit;
      }
    }
  EXPECT_GT(refused, 50);
  EXPECT_GT(accepted, 50);
}

TEST(State, MustBeThatOfTheFunction) {
  const auto load = [](const StateValue &kept) {
    PlanBuilder b("f");
    b.argument("w", DType::f32, {3});
    b.plan.arguments[0]->role = fb::Role::state;
    b.result("y", DType::f32, {3});
    fb::CopyLaunchT copy;
    copy.source = b.buffer(fb::Storage::argument, 0, 0, 12);
    copy.destination = b.buffer(fb::Storage::result, 0, 0, 12);
    b.launch("copy").op.Set(copy);
    PackageWriter writer;
    b.add_to(writer, "f");
    add_state(writer, "f", std::span(&kept, 1)).throw_if_failed();
    return StatefulExecutable::load(package_of(writer), "f").status();
  };
  EXPECT_TRUE(load(value("w")).ok());
  EXPECT_FAILS(load(value("v")), "keeps a value of 'v', which is no state of the function");
  EXPECT_FAILS(load(value("w", {1, 3})),
               "the kept value of 'w' is tensor<1x3xf32>, the function takes tensor<3xf32>");
}

} // namespace
