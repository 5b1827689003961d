//===- WhileTrips.cpp - While loops as launches of a device -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/WhileTrips.h"

#include "runtime/plan/LoopPlan.h"
#include "runtime/plan/PlanFields.h"

#include <algorithm>
#include <utility>

namespace weft::runtime {
namespace {

class Adder {
public:
  Adder(Executable::Impl &function, const WhileLoop &of, Launch loop, std::span<const Operand> places)
      : function_(function), of_(of), loop_(std::move(loop)), places_(places.begin(), places.end()),
        condition_(function, of.condition(), loop_), body_(function, of.body(), loop_),
        first_(function.launches.size()) {}

  Status add() {
    if (Status status = check_count(); !status)
      return status;
    take_memory();
    if (Status status = check_alignments(); !status)
      return status;
    add_launches();
    return {};
  }

private:
  Status check_count() const {
    // In 64 bits no sum of these overflows: each is a number of launches or of operands in memory.
    const uint64_t of_trip = of_.condition().launches.size() + of_.body().launches.size();
    const uint64_t all = 1 + WhileTrips::places * of_trip + 2 * of_.carries().size();
    const uint64_t operands = of_.condition().operands.size() + of_.body().operands.size();
    return check_size(function_, of_.body(), all,
                      1 + WhileTrips::places * operands + 4 * of_.carries().size());
  }

  void take_memory() {
    uint64_t bytes = 0;
    const auto next = [&](uint64_t part) {
      return std::exchange(bytes, align_to(placeAlignment, bytes + part));
    };
    const uint64_t predicate = next(1);
    std::vector<uint64_t> seconds;
    for (const uint64_t carry : of_.carries())
      seconds.push_back(next(carry));
    const uint64_t temporaries = next(std::max(condition_.arena_bytes(), body_.arena_bytes()));
    const uint64_t begin = share_memory(function_.devices[loop_.device], bytes);
    predicate_ = place_in_arena(function_, loop_.device, begin + predicate);
    for (const uint64_t second : seconds)
      second_.push_back(place_in_arena(function_, loop_.device, begin + second));
    condition_.set_arena(begin + temporaries);
    body_.set_arena(begin + temporaries);
  }

  /// Where a carry is in one of the loop's places.
  Operand carry_at(size_t place, size_t carry) const {
    return place == WhileTrips::result ? places_[of_.operand_count() + carry] : second_[carry];
  }

  /// Proves that every trip passes memory at addresses that the kernels are compiled for.
  Status check_alignments() const {
    Status status = condition_.check_alignment(of_.operand_count(), predicate_);
    for (size_t place = 0; place < WhileTrips::places; ++place)
      for (size_t i = 0; i < of_.operand_count() && status.ok(); ++i) {
        const Operand given = i < of_.carries().size() ? carry_at(place, i) : places_[i];
        status = condition_.check_alignment(i, given);
        if (status.ok())
          status = body_.check_alignment(i, given);
        if (status.ok() && i < of_.carries().size())
          status = body_.check_alignment(of_.operand_count() + i, given);
      }
    return status;
  }

  void add_launches() {
    auto trips = std::make_shared<WhileTrips>();
    loop_.kind = LaunchKind::while_loop;
    loop_.first_operand = static_cast<uint32_t>(function_.operands.size());
    loop_.trips = trips;
    function_.operands.push_back(predicate_);
    function_.uses.push_back({1, false});
    function_.launches.push_back(loop_);
    trips->begin = add_copies([&](size_t carry) { return places_[carry]; });
    for (size_t place = 0; place < WhileTrips::places; ++place) {
      std::vector<Operand> values = places_;
      for (size_t i = 0; i < of_.carries().size(); ++i)
        values[i] = carry_at(place, i);
      values.resize(of_.operand_count());
      values.push_back(predicate_);
      trips->at[place].condition = condition_.add_segments(values, first_);
      values.pop_back();
      for (size_t i = 0; i < of_.carries().size(); ++i)
        values.push_back(carry_at(WhileTrips::after(place), i));
      trips->at[place].body = body_.add_segments(values, first_);
      if (place != WhileTrips::result)
        trips->at[place].finish = add_copies([&](size_t carry) { return carry_at(place, carry); });
    }
  }

  uint32_t next() const { return static_cast<uint32_t>(function_.launches.size() - first_); }

  /// Adds copies of the carries to where the results are.
  template <typename From> std::vector<LaunchRange> add_copies(From from) {
    const uint32_t first = next();
    for (size_t i = 0; i < of_.carries().size(); ++i) {
      const uint64_t bytes = of_.carries()[i];
      if (!bytes)
        continue;
      Launch copy;
      copy.kind = LaunchKind::copy;
      copy.planned = loop_.planned;
      copy.device = copy.source_device = copy.destination_device = loop_.device;
      copy.first_operand = static_cast<uint32_t>(function_.operands.size());
      copy.copy_bytes = static_cast<int64_t>(bytes);
      copy.bytes = 2 * bytes;
      copy.name = "copy";
      copy.origin = loop_.origin;
      function_.operands.push_back(from(i));
      function_.operands.push_back(carry_at(WhileTrips::result, i));
      function_.uses.push_back({bytes, false});
      function_.uses.push_back({bytes, true});
      function_.launches.push_back(std::move(copy));
    }
    if (next() == first)
      return {};
    return {{first, next()}};
  }

  Executable::Impl &function_;
  const WhileLoop &of_;
  Launch loop_;
  const std::vector<Operand> places_;
  InlinedBody condition_, body_;
  const size_t first_; ///< the number of the loop's own launch
  Operand predicate_ = {};
  std::vector<Operand> second_; ///< second places of carries
};

} // namespace

Status add_while(Executable::Impl &function, const WhileLoop &of, Launch loop,
                 std::span<const Operand> places) {
  return Adder(function, of, std::move(loop), places).add();
}

} // namespace weft::runtime
