//===- AllocatorConfig.cpp - The options of WEFT_ALLOC_CONF -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/memory/CachingAllocator.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace weft::runtime {
namespace {

Status bad(const std::string &message) { return Status::error("WEFT_ALLOC_CONF: " + message, "WEFT-M002"); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

template <typename T> bool parse_number(std::string_view text, T &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Status parse_megabytes(std::string_view name, std::string_view text, uint64_t least, uint64_t &bytes) {
  uint64_t megabytes = 0;
  if (!parse_number(text, megabytes) || megabytes < least || megabytes > (uint64_t(1) << 30))
    return bad("'" + std::string(name) + "' takes a number of MiB of at least " + std::to_string(least) +
               ", found '" + std::string(text) + "'");
  bytes = megabytes << 20;
  return {};
}

Status parse_fraction(std::string_view name, std::string_view text, bool one_allowed, double &value) {
  if (!parse_number(text, value) || !(value > 0) || !(value < 1 || (one_allowed && value == 1)))
    return bad("'" + std::string(name) + "' takes a number above 0 and " + (one_allowed ? "up to" : "below") +
               " 1, found '" + std::string(text) + "'");
  return {};
}

// A number, or [256:1,512:2,>:4] with sizes in MiB.
Status parse_divisions(std::string_view text, std::vector<std::pair<uint64_t, uint64_t>> &rows) {
  const auto row = [&](uint64_t up_to, std::string_view count) -> Status {
    uint64_t divisions = 0;
    if (!parse_number(count, divisions) || divisions > 64 || (divisions && !std::has_single_bit(divisions)))
      return bad("'roundup_power2_divisions' takes powers of two up to 64, found '" + std::string(count) +
                 "'");
    rows.emplace_back(up_to, divisions);
    return {};
  };
  rows.clear();
  if (text.empty() || text.front() != '[')
    return row(UINT64_MAX, text);
  if (text.back() != ']')
    return bad("'roundup_power2_divisions' has '[' without ']'");
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t colon = item.find(':');
    if (colon == std::string_view::npos)
      return bad("'roundup_power2_divisions' takes size:divisions, found '" + std::string(item) + "'");
    const std::string_view size = trim(item.substr(0, colon));
    uint64_t megabytes = 0;
    if (size != ">" && (!parse_number(size, megabytes) || megabytes > (uint64_t(1) << 30)))
      return bad("'roundup_power2_divisions' takes a size in MiB or '>', found '" + std::string(size) + "'");
    const uint64_t up_to = size == ">" ? UINT64_MAX : megabytes << 20;
    if (!rows.empty() && rows.back().first >= up_to)
      return bad("'roundup_power2_divisions' takes growing sizes, found '" + std::string(item) + "'");
    if (Status status = row(up_to, trim(item.substr(colon + 1))); !status)
      return status;
  }
  return {};
}

Status parse_switch(std::string_view name, std::string_view text, bool &value) {
  value = text == "True" || text == "true";
  if (value || text == "False" || text == "false")
    return {};
  return bad("'" + std::string(name) + "' takes True or False, found '" + std::string(text) + "'");
}

Status parse_count(std::string_view name, std::string_view text) {
  uint64_t value = 0;
  if (parse_number(text, value))
    return {};
  return bad("'" + std::string(name) + "' takes a whole number, found '" + std::string(text) + "'");
}

Status parse_backend(std::string_view text, bool &driver_pools) {
  driver_pools = text == "cudaMallocAsync";
  if (driver_pools || text == "native")
    return {};
  return bad("'backend' takes native or cudaMallocAsync, found '" + std::string(text) + "'");
}

// How many letters must change, come or go to make one name of the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

/// The options of torch-semantics §6, in its order, then Weft's own.
enum class Option { implemented, switched, counted, chosen };
struct KnownOption {
  std::string_view name;
  Option kind; ///< what is not `implemented` is checked, and listed in `ignored`
};
constexpr KnownOption knownOptions[] = {
    {"backend", Option::chosen},
    {"max_split_size_mb", Option::implemented},
    {"max_non_split_rounding_mb", Option::implemented},
    {"roundup_power2_divisions", Option::implemented},
    {"garbage_collection_threshold", Option::implemented},
    // Every segment of the host is mapped without reserving swap, so what is not touched costs nothing
    // anyway. CUDA devices refuse the option.
    {"expandable_segments", Option::switched},
    {"large_segment_size_mb", Option::implemented},
    {"per_process_memory_fraction", Option::implemented},
    // A mapping that fails is always an error value.
    {"throw_on_cudamalloc_oom", Option::switched},
    // Nothing is captured or pinned.
    {"graph_capture_record_stream_reuse", Option::switched},
    {"pinned_use_cuda_host_register", Option::switched},
    {"pinned_num_register_threads", Option::counted},
    {"pinned_use_background_threads", Option::switched},
    {"pinned_reserve_segment_size_mb", Option::counted},
    {"pinned_max_round_threshold_mb", Option::counted},
    {"pinned_max_cached_size_mb", Option::counted},
    {"weft_memory_limit_mb", Option::implemented}};

Status unknown_option(std::string_view name) {
  std::string list;
  const KnownOption *nearest = nullptr;
  size_t distance = std::max<size_t>(3, name.size() / 3) + 1;
  for (const KnownOption &option : knownOptions) {
    list += (list.empty() ? "" : ", ") + std::string(option.name);
    if (const size_t d = edit_distance(name, option.name); d < distance) {
      nearest = &option;
      distance = d;
    }
  }
  return bad("unknown option '" + std::string(name) + "'" +
             (nearest ? "; did you mean '" + std::string(nearest->name) + "'?" : "") + " Known are " + list);
}

} // namespace

Expected<AllocatorConfig> parse_allocator_config(std::string_view text) {
  AllocatorConfig config;
  while (!trim(text).empty()) {
    // A comma inside brackets belongs to the value.
    size_t end = 0;
    for (int depth = 0; end < text.size() && (text[end] != ',' || depth > 0); ++end)
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
    const std::string_view item = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = item.find(':');
    if (colon == std::string_view::npos)
      return bad("expected name:value, found '" + std::string(item) + "'");
    const std::string_view name = trim(item.substr(0, colon)), value = trim(item.substr(colon + 1));
    const auto *const known = std::find_if(std::begin(knownOptions), std::end(knownOptions),
                                           [&](const KnownOption &option) { return option.name == name; });
    if (known == std::end(knownOptions))
      return unknown_option(name);
    Status status;
    bool on = false;
    if (name == "max_split_size_mb")
      status = parse_megabytes(name, value, 20, config.max_split_bytes);
    else if (name == "max_non_split_rounding_mb")
      status = parse_megabytes(name, value, 0, config.max_non_split_rounding_bytes);
    else if (name == "large_segment_size_mb")
      status = parse_megabytes(name, value, 20, config.large_segment_bytes);
    else if (name == "weft_memory_limit_mb")
      status = parse_megabytes(name, value, 1, config.memory_limit_bytes);
    else if (name == "garbage_collection_threshold")
      status = parse_fraction(name, value, false, config.garbage_collection_threshold);
    else if (name == "per_process_memory_fraction")
      status = parse_fraction(name, value, true, config.per_process_memory_fraction);
    else if (name == "roundup_power2_divisions")
      status = parse_divisions(value, config.roundup_power2_divisions);
    else if (known->kind == Option::switched)
      status = parse_switch(name, value, on);
    else if (known->kind == Option::counted)
      status = parse_count(name, value);
    else
      status = parse_backend(value, config.driver_pools);
    if (name == "expandable_segments")
      config.expandable_segments = on;
    if (known->kind != Option::implemented && !(name == "backend" && value == "native"))
      config.ignored.emplace_back(name);
    if (!status)
      return status;
  }
  // Segments are whole huge pages.
  config.large_segment_bytes = (config.large_segment_bytes + (2u << 20) - 1) & ~uint64_t((2u << 20) - 1);
  return config;
}

} // namespace weft::runtime
