//===- LoopTrips.cpp - The trips of a loop as launches --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/LoopTrips.h"

#include "runtime/execution/InlinedBody.h"
#include "runtime/memory/Layout.h"
#include "runtime/plan/PlanFields.h"

namespace weft::runtime {
namespace {

class Trips {
public:
  Trips(Executable::Impl &function, const Loop &loop, const Launch &around, std::span<const Operand> places)
      : function_(function), loop_(loop), around_(around), places_(places.begin(), places.end()),
        body_(function, loop.body(), around) {}

  Status add() {
    const size_t count = loop_.body().launches.size();
    if (count == 0)
      return wrong_loop(function_, loop_.body(), "computes nothing");
    const auto of_all = [&](uint64_t of_trip) {
      uint64_t all = 0;
      return __builtin_mul_overflow(of_trip, static_cast<uint64_t>(loop_.trips()), &all) ? UINT64_MAX : all;
    };
    if (Status status =
            check_size(function_, loop_.body(), of_all(count), of_all(loop_.body().operands.size()));
        !status)
      return status;
    if (Status status = check_alignments(); !status)
      return status;
    take_memory();
    function_.launches.reserve(function_.launches.size() + count * static_cast<size_t>(loop_.trips()));
    std::vector<Operand> values(loop_.parts().size());
    for (int64_t trip = 0; trip < loop_.trips(); ++trip) {
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = part_in(trip, i);
      body_.add(values);
    }
    return {};
  }

private:
  /// For the temporaries of the body, and behind them second places of carries.
  void take_memory() {
    uint64_t bytes = body_.arena_bytes();
    std::vector<uint64_t> seconds;
    for (size_t i = 0; i < loop_.carry_count(); ++i) {
      seconds.push_back(align_to(placeAlignment, bytes));
      bytes = seconds.back() + loop_.parts()[i].bytes;
    }
    const uint64_t begin = share_memory(function_.devices[around_.device], bytes);
    body_.set_arena(begin);
    for (const uint64_t second : seconds)
      second_.push_back(place_in_arena(function_, around_.device, begin + second));
  }

  /// Proves that each trip passes memory at addresses that the kernels of the body are compiled for.
  Status check_alignments() const {
    for (size_t i = 0; i < loop_.parts().size(); ++i) {
      const LoopPart &part = loop_.parts()[i];
      Status status = body_.check_alignment(i, places_[i], part.role == LoopRole::row ? part.bytes : 0);
      if (status.ok() && part.role == LoopRole::begin)
        status = body_.check_alignment(i, places_[loop_.operand_count() + i]);
      if (!status)
        return status;
    }
    return {};
  }

  /// Where a trip writes a carry: the last trip where the loop's result is, and the others in turn.
  Operand carry_after(int64_t trip, size_t carry) const {
    return loop_.writes_second(trip) ? second_[carry] : places_[loop_.operand_count() + carry];
  }

  /// Where an argument or a result of the body begins in a trip.
  Operand part_in(int64_t trip, size_t part) const {
    switch (loop_.parts()[part].role) {
    case LoopRole::begin:
      return trip ? carry_after(trip - 1, part) : places_[part];
    case LoopRole::carry:
      return carry_after(trip, part - loop_.operand_count());
    case LoopRole::row:
      return {places_[part].base,
              places_[part].offset + static_cast<uint64_t>(loop_.row_of(trip)) * loop_.parts()[part].bytes};
    case LoopRole::constant:
      break;
    }
    return places_[part];
  }

  Executable::Impl &function_;
  const Loop &loop_;
  const Launch &around_;
  const std::vector<Operand> places_;
  InlinedBody body_;
  std::vector<Operand> second_; ///< second places of carries
};

} // namespace

Status add_trips(Executable::Impl &function, const Loop &loop, const Launch &around,
                 std::span<const Operand> places) {
  return Trips(function, loop, around, places).add();
}

} // namespace weft::runtime
