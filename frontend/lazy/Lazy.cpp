//===- Lazy.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/lazy/Lazy.h"
#include "frontend/compiler/Session.h"
#include "frontend/graph/Devices.h"
#include "frontend/graph/Undo.h"
#include "frontend/lazy/Pending.h"
#include "frontend/lazy/Recompilation.h"

#include "runtime/device/Registry.h"
#include "runtime/support/LeastRecentlyUsed.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

namespace weft::frontend {

/// New storage of a number of the user on a device.
static std::shared_ptr<runtime::Buffer> numberBuffer(const Node &node, const Device &device) {
  auto buffer = allocateOn(device, itemsize(node.results[0].spec.dtype), node.loc);
  fillBuffer(*buffer, node.numberBytes.data(), buffer->bytes(), node.loc);
  return buffer;
}

/// The storage of an argument of a call; a number of the user gets new storage, on the host.
static std::shared_ptr<runtime::Buffer> bufferOf(const Ref &ref) {
  return ref.node->kind == NodeKind::number ? numberBuffer(*ref.node, Device()) : ref.buffer();
}

void failWithoutDevice(const Ref &value, Loc loc) {
  const Status status = runtime::open_device(resolve(value.spec().device).str()).status();
  fail("this value needs a device that is not there; programs for it are recorded and checked: " +
           status.message(),
       loc, {value}, status.code());
}

/// The operation that failed in this flush; null if the failure is of another call.
static const Node *failedOperation(const Status &status, uint64_t flush,
                                   const std::vector<const Node *> &fallible) {
  const FailureInfo &info = *status.info();
  const bool known =
      info.caller == flush && info.operation >= 0 && static_cast<size_t>(info.operation) < fallible.size();
  return known ? fallible[static_cast<size_t>(info.operation)] : nullptr;
}

/// Throws the failure at the line of the operation `failed`, or, if that is null, of the value that was
/// wanted. With `undoes` it is now reported to the program, and the writes that depend on it are undone.
/// `isNews`, if given, is set to whether it was not reported before.
[[noreturn]] static void failFlush(const Status &status, const Node *failed, bool undoes, bool *isNews,
                                   Loc wanted) {
  if (failed) {
    Loc loc = failed->loc;
    if (isNews)
      *isNews = !failed->failureSeen;
    if (undoes) {
      failed->failureSeen = true;
      undoWritesOf(*failed);
    }
    fail(status.with([](FailureInfo &info) { info.location.clear(); }), loc);
  }
  if (undoes)
    undoLostWrites();
  fail(status, wanted);
}

/// For a value that is known to fail: the value of the operation that failed first, on which it depends.
static Ref originOf(Ref value) {
  for (;;) {
    const std::vector<Ref> &operands = value.node->operands;
    auto next = std::find_if(operands.begin(), operands.end(), isKnownToFail);
    if (next == operands.end())
      return value;
    value = Ref(*next); // a copy, because the assignment may destroy the node that has the list
  }
}

/// Marks the failed node and all nodes that depend on it, so that no program is compiled to see them fail
/// again.
static void markFailed(const Node *failed, const std::vector<Node *> &nodesInOrder) {
  for (Node *node : nodesInOrder)
    node->failed |=
        node == failed || std::any_of(node->operands.begin(), node->operands.end(), isKnownToFail);
}

/// The values that are not computed, each once. Numbers of the user get storage instead.
static std::vector<Ref> missingOf(const std::vector<Ref> &values) {
  std::vector<Ref> missing;
  std::set<std::pair<const Node *, uint32_t>> seen;
  for (const Ref &ref : values) {
    if (ref.node->lacksDevice)
      failWithoutDevice(ref, ref.node->loc);
    if (!ref.node->computed(ref.result) && ref.node->kind == NodeKind::number)
      ref.buffer() = numberBuffer(*ref.node, ref.spec().device);
    if (!ref.node->computed(ref.result) && seen.emplace(ref.node.get(), ref.result).second)
      missing.push_back(ref);
  }
  return missing;
}

/// Whether a region has values on a device beside the host.
static bool usesDevices(const Region &region) {
  return std::any_of(region.nodes.begin(), region.nodes.end(), [](const Node *node) {
    return std::any_of(node->results.begin(), node->results.end(),
                       [](const NodeResult &result) { return !result.spec.device.is_cpu(); });
  });
}

/// The program that computes these values. Intermediate values that a slot holds are results too, so that
/// reading them later computes nothing again.
static Region makeRegion(const std::vector<Ref> &wanted) {
  Region region;
  region.isLazy = true;
  std::vector<Ref> leaves;
  collect(wanted, /*numbersAreConstants=*/false, region.nodes, leaves);
  // A 0-dimensional tensor of the host reaches other devices as a number does: in the call's block of
  // scalars.
  const bool sendsScalars = usesDevices(region);
  for (const Ref &ref : leaves) {
    const bool isScalar = ref.node->kind == NodeKind::number ||
                          (sendsScalars && ref.spec().shape.empty() && ref.spec().device.is_cpu());
    region.arguments.push_back({ref, "", isScalar ? ir::ArgumentRole::scalar : ir::ArgumentRole::argument});
  }
  std::set<std::pair<const Node *, uint32_t>> asked;
  std::unordered_map<const Node *, std::shared_ptr<Node>> owners;
  for (const Ref &ref : wanted) {
    asked.emplace(ref.node.get(), ref.result);
    owners[ref.node.get()] = ref.node;
  }
  for (const Node *node : region.nodes)
    for (const Ref &operand : node->operands)
      owners[operand.node.get()] = operand.node;
  for (Node *node : region.nodes)
    for (uint32_t i = 0; i < node->results.size(); ++i)
      if (!node->computed(i) && (node->results[i].liveSlots > 0 || asked.contains({node, i})))
        region.results.push_back({{owners.at(node), i}, "", -1});
  return region;
}

/// The compiled function of the region, or of an earlier one with the same structure. `wanted` is the line of
/// the value that is read. Null if the graph's lock was released for the compilation: another thread may have
/// computed the values since, and the nodes of the region may be gone.
static std::shared_ptr<Program> programOf(Region &region, Loc wanted) {
  static auto *cache = new runtime::LeastRecentlyUsed<std::string, std::shared_ptr<Program>>(1024);
  std::string key = structuralKey(region);
  if (const std::shared_ptr<Program> *known = cache->find(key))
    return *known;
  region.loc = wanted;
  region.reason =
      "a lazy program that is not compiled yet (operations: " + std::to_string(region.nodes.size()) +
      ", inputs: " + std::to_string(region.arguments.size()) +
      ", results: " + std::to_string(region.results.size()) + ")";
  noteLazyCompile(region, wanted);
  bool paused = false;
  auto compiled = compileRegion(region, paused);
  if (!compiled)
    fail(compiled.status(), wanted);
  cache->insert(std::move(key), *compiled);
  return paused ? nullptr : *compiled;
}

/// Computes these values, and throws if one fails. With `undoes` the failure counts as reported to the
/// program, and the writes that depend on it are undone. Otherwise it is kept, and reported when a value that
/// depends on it is read.
static void compute(const std::vector<Ref> &values, bool undoes, bool *isNews = nullptr) {
  GraphLock lock(graphMutex());
  const std::vector<Ref> wanted = missingOf(values);
  if (wanted.empty())
    return;
  Region region = makeRegion(wanted);
  if (region.results.empty()) { // all are parts of computed values
    settleSlots();
    return;
  }
  const std::shared_ptr<Program> program = programOf(region, wanted[0].node->loc);
  if (!program)
    return compute(values, undoes, isNews);
  std::vector<std::shared_ptr<runtime::Buffer>> arguments, computed(region.results.size());
  for (const RegionArgument &argument : region.arguments)
    arguments.push_back(bufferOf(argument.value));
  runtime::CallOrigin origin;
  origin.caller = nextSerial();
  std::vector<const Node *> fallible;
  if (program->mayFail) {
    fallible = fallibleNodes(region);
    auto lines = std::make_shared<std::vector<runtime::SourceLine>>();
    for (const Node *node : fallible)
      lines->push_back({node->loc.file_name(), node->loc.line(), node->loc.column()});
    origin.lines = std::move(lines);
  }
  const std::vector<runtime::Device *> pinned = pinnedFor(region);
  Status status = program->executable->run(
      arguments, computed,
      {.queue = nullptr, .mode = {}, .origin = origin, .host_sees = undoes, .pinned_for = pinned});
  // Wait for operations that may fail: a value that failed has to stay pending, so that writes which depend
  // on it can be undone.
  if (status && program->mayFail)
    for (const auto &buffer : computed)
      if (Status late = buffer->wait(undoes); !late && status) {
        status = late;
        // This failure will happen again when a value is read, so the queue need not report it.
        if (!undoes && failedOperation(late, origin.caller, fallible))
          (void)buffer->wait();
      }
  if (!status) {
    const Node *failed = failedOperation(status, origin.caller, fallible);
    if (failed)
      markFailed(failed, region.nodes);
    failFlush(status, failed, undoes, isNews, wanted[0].node->loc);
  }
  for (size_t i = 0; i < region.results.size(); ++i)
    region.results[i].value.buffer() = std::move(computed[i]);
  settleSlots();
}

/// Computes these values and no others. Returns whether that succeeded.
static bool computeExactly(const std::vector<Ref> &values) {
  try {
    compute(values, /*undoes=*/false);
  } catch (const Error &) { // it is thrown again when the value is read
    return false;
  }
  return true;
}

namespace {
enum class Computed { all, someFailOnData, none };
} // namespace

/// Computes `wanted` and `others` in one program. If one of `others` fails on data, it is removed from the
/// list, and the rest is computed without it. If one of `wanted` fails on data, none of `wanted` is computed,
/// because a step is done as a whole or not at all.
static Computed computeWithoutFailing(const std::vector<Ref> &wanted, std::vector<Ref> &others) {
  constexpr int mostTries = 4; // each finds one operation that fails, and costs a compilation
  size_t triedLast = 0;
  for (int i = 0; i < mostTries; ++i) {
    std::erase_if(others, isKnownToFail);
    std::vector<Ref> values = others;
    if (std::none_of(wanted.begin(), wanted.end(), isKnownToFail))
      values.insert(values.end(), wanted.begin(), wanted.end());
    if (i > 0 && values.size() == triedLast)
      return Computed::none; // it failed for another reason than data, such as memory
    triedLast = values.size();
    if (computeExactly(values))
      return Computed::all;
  }
  return Computed::someFailOnData;
}

/// Computes these values together with the pending ones, if that succeeds.
static void computeTogether(const std::vector<Ref> &values) {
  std::vector<Ref> beside = pendingBeside(values);
  if (beside.empty())
    return;
  if (computeWithoutFailing(values, beside) == Computed::none)
    for (const Ref &ref : beside)
      ref.node->isComputedAlone = true;
}

void flush(const std::vector<Ref> &values) {
  GraphLock lock(graphMutex());
  const bool computes = std::any_of(values.begin(), values.end(), isPending);
  if (computes && std::none_of(values.begin(), values.end(),
                               [](const Ref &ref) { return ref.node->lacksDevice || isKnownToFail(ref); }))
    computeTogether(values);
  // An earlier flush may have found a failure without reporting it. To report it now, the operation that
  // failed is run again by itself.
  if (auto known = std::find_if(values.begin(), values.end(), isKnownToFail); known != values.end())
    compute({originOf(*known)}, /*undoes=*/true);
  compute(values, /*undoes=*/true);
  if (computes)
    noteFlushed();
}

bool tryFlush(const std::vector<Ref> &values) {
  GraphLock lock(graphMutex());
  if (std::any_of(values.begin(), values.end(), isKnownToFail))
    return false;
  computeTogether(values);
  return std::none_of(values.begin(), values.end(), isKnownToFail) && computeExactly(values);
}

bool tryCompute(std::vector<Ref> values) {
  GraphLock lock(graphMutex());
  const size_t count = values.size();
  if (computeWithoutFailing({}, values) == Computed::all)
    return values.size() == count;
  for (const Ref &value : values)
    if (!isKnownToFail(value))
      computeExactly({value});
  return false;
}

void flushAll() {
  GraphLock lock(graphMutex());
  if (std::vector<Ref> values = pendingValues(); !values.empty())
    tryCompute(std::move(values));
  noteFlushed();
}

void synchronizeAfter(const std::function<Status()> &wait) {
  std::optional<Error> first;
  {
    GraphLock lock(graphMutex());
    const PausePermit permit;
    const auto computes = [&](const std::vector<Ref> &values) {
      bool isNews = true;
      try {
        compute(values, /*undoes=*/true, &isNews);
      } catch (const Error &error) {
        if (isNews)
          first = error;
        return false;
      }
      return true;
    };
    // Only one error is thrown; other failures are kept for the next call.
    const auto tell = [&](const Ref &value) {
      if (!isKnownToFail(value))
        first ? computeExactly({value}) : computes({value});
      else if (const Ref origin = originOf(value); !first && !origin.node->failureSeen)
        computes({origin});
    };
    std::vector<Ref> failing;
    const std::vector<Ref> values = pendingValues(&failing);
    std::for_each(failing.begin(), failing.end(), tell);
    if (!values.empty() && !computes(values))
      std::for_each(values.begin(), values.end(), tell);
  }
  const Status waited = wait();
  waited ? forgetCertain() : undoLostWrites();
  if (first && !waited)
    throw Error(first->what() + ("\nand " + waited.message()), Status::error(first->info()));
  if (first)
    throw *first;
  waited.throw_if_failed();
}

} // namespace weft::frontend

namespace weft {

void synchronize() {
  frontend::synchronizeAfter([] { return runtime::Queue::synchronize_all(); });
}

} // namespace weft
