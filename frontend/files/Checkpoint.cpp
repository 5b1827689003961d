//===- Checkpoint.cpp - Saving a run, and resuming it --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/checkpoint.hpp"

#include "frontend/graph/Trace.h"
#include "frontend/io/Message.h"
#include "frontend/ops/State.h"

#include <map>
#include <unordered_set>

namespace weft {

using namespace frontend;

/// Metadata that a checkpoint has in addition to the program's.
static constexpr const char *formatKey = "weft.format", *format = "checkpoint 1";

static void checkNames(const std::vector<CheckpointItem> &items, Loc loc) {
  std::unordered_set<std::string> names;
  for (const CheckpointItem &item : items) {
    if (item.name.empty() || item.name.find('.') != std::string::npos)
      fail("the name '" + item.name + "' of a checkpoint's part must not be empty or contain a dot", loc);
    if (!names.insert(item.name).second)
      fail("the checkpoint has two parts named '" + item.name + "'", loc);
  }
}

void save_checkpoint(const std::string &path, const std::vector<CheckpointItem> &items,
                     const Metadata &metadata, Loc loc) {
  refuseInTrace("save_checkpoint", loc);
  checkNames(items, loc);
  StateDict all;
  for (const CheckpointItem &item : items)
    for (auto &[name, tensor] : item.get())
      all.emplace_back(item.name + "." + name, tensor);
  Metadata own = metadata;
  own.emplace_back(formatKey, format);
  save_safetensors(path, all, own, loc);
}

Metadata load_checkpoint(const std::string &path, const std::vector<CheckpointItem> &items, Loc loc) {
  refuseInTrace("load_checkpoint", loc);
  checkNames(items, loc);
  Metadata metadata = safetensors_metadata(path, loc);
  std::string found = "none";
  for (const auto &[key, value] : metadata)
    if (key == formatKey)
      found = io::quoted(value);
  if (found != io::quoted(format))
    fail(path + " is not a checkpoint that this version reads: its metadata should have " + formatKey + " " +
             io::quoted(format) + ", found " + found +
             "; weights alone are read by load_safetensors and load_state_dict",
         loc);
  std::erase_if(metadata, [](const auto &entry) { return entry.first == formatKey; });

  std::map<std::string, StateDict> parts;
  for (const CheckpointItem &item : items)
    parts[item.name];
  std::vector<std::string> complaints;
  for (auto &[name, tensor] : load_safetensors(path, loc)) {
    auto part = parts.find(name.substr(0, name.find('.')));
    if (part == parts.end() || name.find('.') == std::string::npos)
      complaints.push_back("unexpected: " + io::quoted(name));
    else
      part->second.emplace_back(name.substr(part->first.size() + 1), tensor);
  }
  // Everything is checked before anything is changed.
  for (const CheckpointItem &item : items)
    for (const std::string &complaint : item.check(parts[item.name]))
      complaints.push_back("in '" + item.name + "': " + complaint);
  throwComplaints("the checkpoint " + path, complaints, loc);
  for (const CheckpointItem &item : items)
    item.set(parts[item.name]);
  return metadata;
}

} // namespace weft
