//===- RawKernel.cpp - Kernels in CUDA C++ --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/raw_kernel.hpp"

#include "frontend/graph/KernelParameter.h"
#include "frontend/graph/Message.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"

#include <utility>

namespace weft {

using namespace frontend;

using Role = RawArgument::Role;

RawKernel::RawKernel(std::string text, std::string entry, Loc loc)
    : text_(std::move(text)), entry_(std::move(entry)), place_(str(loc)) {}

int64_t raw::blocks(const Size &elements, int64_t threads, Loc loc) {
  if (threads < 1)
    fail("a block of a grid has one thread or more, found " + std::to_string(threads), loc);
  return entryOf(ir::ceilDiv(sizeOf(elements.entry()), threads), loc);
}

RawResults::operator Tensor() const {
  if (size() != 1)
    throw Error("a call of a raw kernel has " + std::to_string(size()) +
                " results, and one is asked for: take them by number, or let raw::out be one argument");
  return front();
}

namespace {

/// The operands, results and parameters of a call.
struct RawCall {
  std::vector<Ref> operands;
  std::vector<Spec> results;
  std::vector<int64_t> parameters;                  ///< KernelParameter::write
  std::vector<std::pair<Tensor, uint32_t>> changed; ///< tensors, and their new values among the results
  std::vector<uint32_t> made;                       ///< the results that the caller gets
};

std::vector<int64_t> threeOf(const char *what, const IntList &extents, Loc loc) {
  if (extents.empty() || extents.size() > 3)
    fail("a raw kernel is launched with a " + std::string(what) + " of one to three numbers, found " +
             std::to_string(extents.size()),
         loc);
  std::vector<int64_t> all = extents;
  all.resize(3, 1);
  return all;
}

/// The device of the tensors, or that of the launch if there are none.
Device deviceOf(const RawLaunch &launch, const std::vector<RawArgument> &arguments, Loc loc) {
  for (const RawArgument &argument : arguments)
    if (argument.role == Role::in || argument.role == Role::in_out)
      return use(argument.tensor, loc).spec().device;
  return resolve(launch.device);
}

/// Adds a tensor that the kernel changes. Its new value is one value, so it is given once.
void addChanged(RawCall &call, const Tensor &tensor, Loc loc) {
  const auto storage = Access::slot(tensor)->storage();
  for (const auto &[other, result] : call.changed)
    if (Access::slot(other)->storage() == storage)
      fail(
          "a tensor, or a view of it, is given to a raw kernel as raw::in_out twice: each would have its own "
          "new value",
          loc, {use(tensor, loc)});
  checkWritable(Access::slot(tensor), loc);
  call.changed.emplace_back(tensor, static_cast<uint32_t>(call.results.size()));
}

void add(RawCall &call, const RawArgument &argument, Device device, Loc loc) {
  using Kind = KernelParameter::Role;
  if (argument.role == Role::number || argument.role == Role::size) {
    const Kind kind = argument.role == Role::size ? Kind::size : Kind::number;
    KernelParameter{kind, argument.dtype, argument.bits}.write(call.parameters);
    return;
  }
  const bool reads = argument.role == Role::in || argument.role == Role::in_out;
  const Spec made{argument.dtype, argument.shape, device};
  if (!reads)
    checkedCount(made.shape, loc);
  if (argument.role == Role::out) {
    call.made.push_back(static_cast<uint32_t>(call.results.size()));
    call.results.push_back(made);
    KernelParameter{Kind::out, {}, 0}.write(call.parameters);
    return;
  }
  const Ref value = reads ? use(argument.tensor, loc) : constant(made, 0, loc);
  call.operands.push_back(value);
  if (argument.role == Role::in) {
    KernelParameter{Kind::in, {}, 0}.write(call.parameters);
    return;
  }
  if (argument.role == Role::in_out)
    addChanged(call, argument.tensor, loc);
  else
    call.made.push_back(static_cast<uint32_t>(call.results.size()));
  call.results.push_back(value.spec());
  KernelParameter{Kind::in_out, {}, 0}.write(call.parameters);
}

} // namespace

RawResults RawKernel::operator()(const RawLaunch &launch, std::vector<RawArgument> arguments, Loc loc) const {
  GraphLock lock(graphMutex());
  const Device device = deviceOf(launch, arguments, loc);
  RawCall call;
  for (const RawArgument &argument : arguments)
    add(call, argument, device, loc);
  if (call.results.empty())
    fail("raw kernel '" + entry_ +
             "' writes nothing: give it raw::out, raw::zeroed or raw::in_out for what it writes, since its "
             "other memory is not to be changed",
         loc, call.operands);
  std::vector<Attr> attributes{{"entry", entry_},
                               {"parameters", std::move(call.parameters)},
                               {"grid", threeOf("grid", launch.grid, loc)},
                               {"block", threeOf("block", launch.block, loc)},
                               {"shared", launch.shared_bytes},
                               {"source", text_},
                               {"source_at", place_}};
  const std::shared_ptr<Node> node = recordStated("raw_kernel", std::move(call.operands),
                                                  std::move(attributes), std::move(call.results), loc);
  for (auto &[tensor, result] : call.changed)
    updateInPlace(tensor, wrap({node, result}, loc), loc);
  RawResults results;
  for (const uint32_t result : call.made)
    results.push_back(wrap({node, result}, loc));
  return results;
}

} // namespace weft
