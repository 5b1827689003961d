//===- WorkList.cpp - Kernels and copies of a run -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/WorkList.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {

constexpr size_t parameterAlignment = 8;

void WorkList::clear() {
  items_.clear();
  parameters_.clear();
  bytes_.clear();
  accesses_.clear();
  nodes_ = 0;
}

WorkItem &WorkList::add_item(const Launch *launch) {
  WorkItem &item = items_.emplace_back();
  item.first = static_cast<uint32_t>(parameters_.size());
  item.first_access = static_cast<uint32_t>(accesses_.size());
  item.launch = launch;
  return item;
}

void WorkList::add_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, const Launch *launch) {
  WorkItem &item = add_item(launch);
  item.to = to;
  item.from = from;
  item.bytes = bytes;
}

void WorkList::add_copy_to_host(void *to, CUdeviceptr from, size_t bytes) {
  add_copy(address_of(to), from, bytes, nullptr);
  items_.back().to_host = true;
}

void WorkList::add_kernel(CUfunction function, const LaunchExtents &grid, const LaunchExtents &block,
                          uint32_t shared_bytes, const Launch *launch) {
  WorkItem &item = add_item(launch);
  item.function = function;
  item.grid = grid;
  item.block = block;
  item.shared_bytes = shared_bytes;
}

void WorkList::add_setter(uint32_t loop, CUfunction function, CUdeviceptr predicate, CUdeviceptr record) {
  add_kernel(function, {1}, {1}, 0, nullptr);
  items_.back().part = NodePart::sets;
  items_.back().node = loop;
  add_parameter(CUgraphConditionalHandle(0));
  add_parameter(predicate);
  add_parameter(record);
}

void WorkList::add_chooser(uint32_t branch, CUfunction function, CUdeviceptr predicate, CUdeviceptr record) {
  add_kernel(function, {1}, {1}, 0, nullptr);
  items_.back().part = NodePart::chooses;
  items_.back().node = branch;
  add_parameter(CUgraphConditionalHandle(0));
  add_parameter(CUgraphConditionalHandle(0));
  add_parameter(predicate);
  add_parameter(record);
}

void WorkList::add_end(uint32_t node, NodePart part) {
  WorkItem &item = add_item(nullptr);
  item.part = part;
  item.node = node;
}

void WorkList::add_product(const Contraction &product, uint8_t foreign, const Launch *launch) {
  WorkItem &item = add_item(launch);
  item.product = &product;
  item.foreign = foreign;
}

void WorkList::add_access(const RangeAccess &access) {
  accesses_.push_back(access);
  ++items_.back().accesses;
}

void WorkList::add_bytes(const std::byte *value, size_t bytes) {
  const size_t offset = bytes_.size();
  parameters_.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
  // What fills up the last 8 bytes is zero, so that lists can be compared.
  bytes_.resize(offset + (bytes + parameterAlignment - 1) / parameterAlignment * parameterAlignment);
  std::copy_n(value, bytes, bytes_.begin() + static_cast<ptrdiff_t>(offset));
  ++items_.back().count;
}

WorkList WorkList::take(const std::vector<bool> &chosen) {
  WorkList taken = *this;
  const auto erase_from = [&](WorkList &list, bool which) {
    size_t i = 0;
    std::erase_if(list.items_, [&](const WorkItem &) { return chosen[i++] == which; });
  };
  erase_from(*this, true);
  erase_from(taken, false);
  return taken;
}

void **WorkList::parameters_of(const WorkItem &item) {
  addresses_.clear();
  for (uint32_t i = 0; i < item.count; ++i)
    addresses_.push_back(bytes_.data() + parameters_[item.first + i].offset);
  return addresses_.data();
}

std::array<CUdeviceptr, productOperands> WorkList::operands_of(const WorkItem &product) const {
  std::array<CUdeviceptr, productOperands> operands = {};
  std::memcpy(operands.data(), bytes_of(product).data(), sizeof operands);
  return operands;
}

bool WorkList::has_form_of(const WorkList &other) const {
  return std::ranges::equal(items_, other.items_,
                            [](const WorkItem &a, const WorkItem &b) {
                              return a.function == b.function && a.product == b.product &&
                                     a.count == b.count && a.to_host == b.to_host && a.part == b.part &&
                                     a.node == b.node;
                            }) &&
         std::ranges::equal(parameters_, other.parameters_, {}, &Parameter::bytes, &Parameter::bytes);
}

std::span<const std::byte> WorkList::bytes_of(const WorkItem &item) const {
  if (item.count == 0)
    return {};
  const Parameter &first = parameters_[item.first], &last = parameters_[item.first + item.count - 1];
  return std::span(bytes_).subspan(first.offset, last.offset + last.bytes - first.offset);
}

bool WorkList::is_same(size_t i, const WorkList &other) const {
  const WorkItem &a = items_[i], &b = other.items_[i];
  return a.grid == b.grid && a.block == b.block && a.shared_bytes == b.shared_bytes && a.to == b.to &&
         a.from == b.from && a.bytes == b.bytes && std::ranges::equal(bytes_of(a), other.bytes_of(b));
}

} // namespace weft::runtime
