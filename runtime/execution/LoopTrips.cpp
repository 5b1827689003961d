//===- LoopTrips.cpp - The trips of a loop as launches --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/LoopTrips.h"

#include "runtime/memory/Layout.h"
#include "runtime/plan/PlanFields.h"

namespace weft::runtime {
namespace {

/// Of temporaries and second places: that of an allocation, which is more than any access needs.
constexpr size_t placeAlignment = 256;

class Trips {
public:
  Trips(Executable::Impl &function, const Loop &loop, const Launch &around, std::span<const Operand> places)
      : function_(function), loop_(loop), body_(loop.body()), around_(around),
        places_(places.begin(), places.end()), device_(function.devices[around.device]),
        bases_of_device_(function.signature.arguments.size() + function.signature.results.size() +
                         basesOfDevice * around.device) {}

  Status add() {
    const size_t count = body_.launches.size();
    if (count == 0)
      return wrong("computes nothing");
    if (function_.launches.size() > mostLaunches ||
        static_cast<uint64_t>(loop_.trips()) > (mostLaunches - function_.launches.size()) / count)
      return wrong("has " + number(loop_.trips()) + " trips of " + number(count) +
                   " launches, which are more than the " + number(mostLaunches) +
                   " that a function has on a device");
    if (Status status = check_alignments(); !status)
      return status;
    take_memory();
    function_.launches.reserve(function_.launches.size() + count * static_cast<size_t>(loop_.trips()));
    for (int64_t trip = 0; trip < loop_.trips(); ++trip)
      add_trip(trip);
    return {};
  }

private:
  Status wrong(const std::string &what) const {
    return Status::error("the loop with the body '" + body_.signature.function + "' in '" +
                             function_.signature.function + "' " + what + ": compile the program again",
                         "WEFT-L008");
  }

  /// Bytes of which the address of an operand of the function is a multiple in each call.
  uint64_t alignment_of(const Operand &operand) const {
    const Signature &signature = function_.signature;
    const size_t arguments = signature.arguments.size();
    uint64_t base = placeAlignment;
    if (operand.base < arguments)
      base = std::max<uint64_t>(signature.arguments[operand.base].type.alignment, 1);
    else if (operand.base < arguments + signature.results.size())
      base = signature.results[operand.base - arguments].type.alignment;
    // The memory of a device begins with its part of the arena.
    const uint64_t before = operand.base == bases_of_device_ + arenaBase ? device_.arena_begin : 0;
    const uint64_t all = base | (operand.offset - before);
    return all & (~all + 1);
  }

  /// Proves that each trip passes memory at addresses that the kernels of the body are compiled for.
  Status check_alignments() const {
    const std::vector<LoopPart> &parts = loop_.parts();
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool is_result = i >= loop_.operand_count();
      const TensorInfo &type = is_result ? body_.signature.results[i - loop_.operand_count()].type
                                         : body_.signature.arguments[i].type;
      if (type.alignment <= itemsize(type.dtype))
        continue;
      uint64_t given = alignment_of(places_[i]);
      if (parts[i].role == LoopRole::begin)
        given = std::min(given, alignment_of(places_[loop_.operand_count() + i]));
      if (given < type.alignment || (parts[i].role == LoopRole::row && parts[i].bytes % type.alignment))
        return wrong("passes " + std::string(is_result ? "a result" : "an argument") +
                     " at an address that is no multiple of " + number(type.alignment) +
                     ", for which its body is compiled (number " + number(i) + ")");
    }
    return {};
  }

  /// Memory of the call behind what the device has so far.
  uint64_t take(uint64_t bytes) {
    const uint64_t at = align_to(placeAlignment, device_.arena_bytes);
    device_.arena_bytes = at + bytes;
    return device_.arena_begin + at;
  }

  void take_memory() {
    const FunctionDevice &of_body = body_.devices[0];
    arena_ = take(of_body.arena_bytes) - of_body.arena_begin;
    for (size_t i = 0; i < loop_.carry_count(); ++i)
      second_.push_back(take(loop_.parts()[i].bytes));
    device_.kernel_scratch = std::max(device_.kernel_scratch, of_body.kernel_scratch);
    device_.workspace_bytes = std::max(device_.workspace_bytes, of_body.workspace_bytes);
    if (!device_.code)
      device_.code = of_body.code;
    // Constants of the body, and of loops in it.
    first_constants_ = function_.loop_constants.size();
    function_.loop_constants.push_back(of_body.constants);
    function_.loop_constants.insert(function_.loop_constants.end(), body_.loop_constants.begin(),
                                    body_.loop_constants.end());
  }

  /// Where a trip writes a carry: the last trip where the loop's result is, and the others in turn.
  Operand carry_after(int64_t trip, size_t carry) const {
    return loop_.writes_second(trip)
               ? Operand{static_cast<uint32_t>(bases_of_device_ + arenaBase), second_[carry]}
               : places_[loop_.operand_count() + carry];
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

  /// An operand of the body as one of the function.
  Operand operand_in(int64_t trip, const Operand &own) const {
    const size_t values = loop_.parts().size();
    if (own.base < values) {
      const Operand begin = part_in(trip, own.base);
      return {begin.base, begin.offset + own.offset};
    }
    const size_t base = own.base - values;
    if (base == arenaBase)
      return {static_cast<uint32_t>(bases_of_device_ + arenaBase), arena_ + own.offset};
    const size_t constants = base == constantsBase ? 0 : base - basesOfDevice + 1;
    return {static_cast<uint32_t>(function_.signature.arguments.size() + function_.signature.results.size() +
                                  basesOfDevice * function_.devices.size() + first_constants_ + constants),
            own.offset};
  }

  void add_trip(int64_t trip) {
    for (size_t i = 0; i < body_.launches.size(); ++i) {
      const size_t first = body_.launches[i].first_operand;
      const size_t end =
          i + 1 < body_.launches.size() ? body_.launches[i + 1].first_operand : body_.operands.size();
      Launch launch = body_.launches[i];
      launch.first_operand = static_cast<uint32_t>(function_.operands.size());
      launch.device = around_.device;
      launch.region = around_.region;
      for (size_t operand = first; operand < end; ++operand) {
        function_.operands.push_back(operand_in(trip, body_.operands[operand]));
        function_.uses.push_back(body_.uses[operand]);
      }
      function_.launches.push_back(std::move(launch));
    }
  }

  Executable::Impl &function_;
  const Loop &loop_;
  const Executable::Impl &body_;
  const Launch &around_;
  const std::vector<Operand> places_;
  FunctionDevice &device_;
  const size_t bases_of_device_;
  uint64_t arena_ = 0;
  std::vector<uint64_t> second_; ///< of carries, in the arena
  size_t first_constants_ = 0;
};

} // namespace

Status add_trips(Executable::Impl &function, const Loop &loop, const Launch &around,
                 std::span<const Operand> places) {
  return Trips(function, loop, around, places).add();
}

} // namespace weft::runtime
