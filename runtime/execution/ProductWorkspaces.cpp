//===- ProductWorkspaces.cpp - Places of products' workspaces ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/ProductWorkspaces.h"

#include "runtime/gemm/Contraction.h"
#include "runtime/memory/Layout.h"
#include "runtime/plan/Dependencies.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weft::runtime {
namespace {

constexpr size_t mostPlaces = 4, alignment = 256;

/// The products of one device with a workspace, in the order of their launches.
class Places {
public:
  Places(Executable::Impl &function, const fb::Plan &plan, std::span<const size_t> first_of, uint8_t device)
      : function_(function), plan_(plan), first_of_(first_of), device_(device) {}

  void run() {
    for (uint32_t i = 0; i < length(plan_.launches()); ++i)
      if (const fb::Launch &planned = *plan_.launches()->Get(i); planned.device() == device_)
        // Products of loops and branches have their places from the plans of their functions.
        add(planned.op_as_LoopLaunch() || planned.op_as_BranchLaunch() || planned.op_as_WhileLaunch()
                ? nullptr
                : &function_.launches[first_of_[i]],
            planned);
    size_t offset = 0;
    for (Place &place : places_) {
      place.offset = std::exchange(offset, offset + align_to(alignment, place.bytes));
      for (const size_t product : place.products)
        products_[product]->workspace_offset = place.offset;
    }
    size_t &bytes = function_.devices[device_].workspace_bytes;
    bytes = std::max(bytes, offset);
  }

private:
  struct Place {
    size_t bytes = 0, offset = 0;
    std::vector<size_t> products;
  };

  /// The bytes that a launch uses, as ranges of the storages.
  std::vector<RangeAccess> ranges_of(const fb::Launch &launch) {
    std::vector<RangeAccess> ranges;
    for (const BufferAccess &access : accesses_of(launch)) {
      const fb::Buffer &buffer = *plan_.buffers()->Get(access.buffer);
      const auto space = spaces_.try_emplace(place_of(plan_, buffer), static_cast<uint32_t>(spaces_.size()));
      ranges.push_back({space.first->second, buffer.offset(), buffer.offset() + buffer.bytes(),
                        access.written ? AccessKind::written : AccessKind::read});
    }
    return ranges;
  }

  void add(Launch *launch, const fb::Launch &planned) {
    std::vector<bool> &before = before_.emplace_back(products_.size());
    const std::vector<RangeAccess> ranges = ranges_of(planned);
    for (const uint32_t earlier : graph_.add(ranges)) {
      const std::vector<bool> &those = before_[earlier];
      for (size_t i = 0; i < those.size(); ++i)
        if (those[i])
          before[i] = true;
      if (const auto own = numbers_.find(earlier); own != numbers_.end())
        before[own->second] = true;
    }
    const size_t bytes = launch && launch->contraction ? launch->contraction->workspace_bytes() : 0;
    if (bytes == 0)
      return;
    const size_t number = products_.size();
    products_.push_back(launch);
    numbers_.emplace(static_cast<uint32_t>(before_.size() - 1), number);
    Place &place = place_for(before);
    place.products.push_back(number);
    place.bytes = std::max(place.bytes, bytes);
  }

  /// The first place all of whose products come before this one; else a new one, or the last.
  Place &place_for(const std::vector<bool> &before) {
    for (Place &place : places_)
      if (std::ranges::all_of(place.products, [&](size_t product) { return before[product]; }))
        return place;
    if (places_.size() < mostPlaces)
      places_.emplace_back();
    return places_.back();
  }

  Executable::Impl &function_;
  const fb::Plan &plan_;
  const std::span<const size_t> first_of_;
  const uint8_t device_;
  Dependencies graph_;
  std::map<std::pair<fb::Storage, uint32_t>, uint32_t> spaces_;
  std::vector<std::vector<bool>> before_; ///< by launch of the device: the products that come before it
  std::map<uint32_t, size_t> numbers_;    ///< of the launches that are such products
  std::vector<Launch *> products_;
  std::vector<Place> places_;
};

} // namespace

void place_workspaces(Executable::Impl &function, const fb::Plan &plan, std::span<const size_t> first_of) {
  for (size_t i = 0; i < function.devices.size(); ++i) {
    const auto device = static_cast<uint8_t>(i);
    const auto needs_one = [&](const Launch &launch) {
      return launch.device == device && launch.contraction && launch.contraction->workspace_bytes() > 0;
    };
    if (!function.devices[i].device->is_host() && std::ranges::count_if(function.launches, needs_one) > 0)
      Places(function, plan, first_of, device).run();
  }
}

} // namespace weft::runtime
