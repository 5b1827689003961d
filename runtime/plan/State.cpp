//===- State.cpp - Saved values of state ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/State.h"

#include "runtime/plan/DecodedBytes.h"
#include "runtime/plan/PlanFields.h"
#include "weft/limits.hpp"

#include <cstring>
#include <optional>
#include <unordered_set>

namespace weft::runtime {
namespace {

constexpr const char *stateIdentifier = "WSTA";
constexpr uint64_t valueAlignment = 64;

/// The bytes of a tensor, or nothing if an extent is negative or the size overflows.
std::optional<uint64_t> bytes_of(DType dtype, std::span<const int64_t> shape) {
  uint64_t bytes = itemsize(dtype);
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return std::nullopt;
  return bytes;
}

} // namespace

Status add_state(PackageWriter &writer, const std::string &function, std::span<const StateValue> values) {
  fb::StateIndexT index;
  std::vector<std::byte> bytes;
  std::unordered_set<std::string_view> names;
  for (const StateValue &value : values) {
    const std::string what = "state '" + value.name + "' of '" + function + "'";
    if (value.name.empty())
      return Status::error("a piece of state of '" + function + "' has no name", "WEFT-L012");
    if (!names.insert(value.name).second)
      return Status::error(what + " is there twice", "WEFT-L012");
    if (bytes_of(value.dtype, value.shape) != value.bytes.size())
      return Status::error(what + " has " + std::to_string(value.bytes.size()) +
                               " bytes, which is not the size of its type",
                           "WEFT-L012");
    auto entry = std::make_unique<fb::StateEntryT>();
    entry->name = value.name;
    entry->type = std::make_unique<fb::TensorTypeT>();
    entry->type->dtype = static_cast<uint8_t>(value.dtype);
    entry->type->shape = value.shape;
    entry->offset = (bytes.size() + valueAlignment - 1) / valueAlignment * valueAlignment;
    entry->bytes = value.bytes.size();
    bytes.resize(entry->offset + entry->bytes);
    if (!value.bytes.empty())
      std::memcpy(bytes.data() + entry->offset, value.bytes.data(), value.bytes.size());
    index.entries.push_back(std::move(entry));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::StateIndex::Pack(builder, &index), stateIdentifier);
  writer.add("state." + function, std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  writer.add("values." + function, bytes);
  return {};
}

Expected<std::vector<StateValue>> read_state(const Package &package, std::string_view function) {
  std::vector<StateValue> values;
  const std::string name = "state." + std::string(function);
  if (!package.contains(name))
    return values;
  const auto wrong = [&](const std::string &what) {
    return Status::error("package '" + package.source() + "', section '" + name + "': " + what, "WEFT-L012");
  };
  const Expected<std::span<const std::byte>> section = package.section(name);
  if (!section)
    return section.status();
  const Expected<std::span<const std::byte>> bytes = package.section("values." + std::string(function));
  if (!bytes)
    return bytes.status();
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(section->data()), section->size());
  if (!verifier.VerifyBuffer<fb::StateIndex>(stateIdentifier))
    return wrong("it is no valid index of state");
  const auto *index = flatbuffers::GetRoot<fb::StateIndex>(section->data());
  if (!DecodedBytes(section->size()).fits(*index))
    return wrong("its " + std::to_string(section->size()) +
                 " bytes stand for more than as many: parts of it are shared");
  std::unordered_set<std::string> names;
  for (uint32_t i = 0; i < length(index->entries()); ++i) {
    const fb::StateEntry *entry = index->entries()->Get(i);
    const auto bad = [&](const std::string &what) {
      return wrong("entry " + std::to_string(i) + ": " + what);
    };
    StateValue value;
    value.name = text(entry->name());
    if (value.name.empty())
      return bad("name is missing");
    if (!names.insert(value.name).second)
      return bad("name '" + value.name + "' is there twice");
    if (!entry->type())
      return bad("type of '" + value.name + "' is missing");
    if (entry->type()->dtype() > static_cast<uint8_t>(DType::f64))
      return bad("dtype " + std::to_string(entry->type()->dtype()) + " of '" + value.name + "' is unknown");
    value.dtype = static_cast<DType>(entry->type()->dtype());
    if (!aligned(entry->type()->shape()))
      return bad("the shape of '" + value.name + "' is misaligned");
    if (const auto *shape = entry->type()->shape(); shape && shape->size() > maxRank)
      return bad("'" + value.name + "' has " + std::to_string(shape->size()) + " dimensions, and at most " +
                 std::to_string(maxRank) + " are possible");
    else if (shape)
      value.shape.assign(shape->begin(), shape->end());
    const std::optional<uint64_t> expected = bytes_of(value.dtype, value.shape);
    if (!expected || *expected != entry->bytes())
      return bad("'" + value.name + "' has " + std::to_string(entry->bytes()) + " bytes, its type takes " +
                 (expected ? std::to_string(*expected) : "more than there can be"));
    if (entry->offset() % valueAlignment != 0)
      return bad("offset " + std::to_string(entry->offset()) + " of '" + value.name + "' is no multiple of " +
                 std::to_string(valueAlignment));
    if (entry->offset() > bytes->size() || entry->bytes() > bytes->size() - entry->offset())
      return bad("'" + value.name + "' takes bytes [" + std::to_string(entry->offset()) + ", +" +
                 std::to_string(entry->bytes()) + ") of a section with " + std::to_string(bytes->size()));
    value.bytes = bytes->subspan(entry->offset(), entry->bytes());
    values.push_back(std::move(value));
  }
  return values;
}

} // namespace weft::runtime
