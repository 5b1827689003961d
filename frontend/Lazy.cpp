//===- Lazy.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/Lazy.h"
#include "frontend/Session.h"
#include "frontend/Trace.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <set>
#include <unordered_map>

namespace weft::frontend {

namespace {
/// Compiled flushes by structure, least recently used out first.
class FlushCache {
public:
  std::shared_ptr<Program> find(const std::string &key) {
    auto it = index_.find(key);
    if (it == index_.end())
      return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->second;
  }
  void insert(std::string key, std::shared_ptr<Program> program) {
    order_.emplace_front(std::move(key), std::move(program));
    index_[order_.front().first] = order_.begin();
    if (order_.size() > 1024) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
  }

private:
  std::list<std::pair<std::string, std::shared_ptr<Program>>> order_;
  std::unordered_map<std::string, decltype(order_)::iterator> index_;
};
} // namespace

static std::shared_ptr<runtime::Buffer> numberBuffer(const Node &node) {
  auto buffer = runtime::Buffer::allocate(itemsize(node.results[0].spec.dtype)).value_or_throw();
  std::memcpy(buffer->data(), node.numberBytes.data(), buffer->bytes());
  return buffer;
}

/// The storage of a value that is there.
static std::shared_ptr<runtime::Buffer> bufferOf(const Ref &ref) {
  return ref.node->kind == NodeKind::number ? numberBuffer(*ref.node) : ref.buffer();
}

/// The serial number of the last node when something was last flushed. Guarded by the graph's lock.
static uint64_t &serialAtFlush() {
  static uint64_t serial = 0;
  return serial;
}

/// Host data that became tensors since then.
static uint64_t &hostBytesSinceFlush() {
  static uint64_t bytes = 0;
  return bytes;
}

void noteHostBytes(size_t bytes) {
  GraphLock lock(graphMutex());
  hostBytesSinceFlush() += bytes;
}

void failWithoutCuda(const Ref &value, Loc loc) {
  fail("this value needs " + value.spec().device.str() +
           ", and this build of Weft has no CUDA backend (WEFT-E001): programs for CUDA are recorded and "
           "checked, but "
           "run on the device \"cpu\" only",
       loc, {value}, "WEFT-E001");
}

void requireBackend(const Device &device, Loc loc) {
  if (!device.is_cpu())
    fail("'" + device.str() + "' is not there: this build of Weft has no CUDA backend, use \"cpu\"", loc, {},
         "WEFT-E001");
}

/// What a message of the runtime calls the operation with this number among those that may fail: one line may
/// have recorded several.
static std::string placeOf(const Node &node, size_t number) {
  return str(node.loc) + ", operation " + std::to_string(number);
}

/// The operation of a flush that failed, whose place the message ends with; null where that is another
/// call's.
static const Node *failedOperation(const Status &status, const std::vector<const Node *> &fallible) {
  for (size_t i = 0; i < fallible.size(); ++i)
    if (status.message().ends_with(" (at " + placeOf(*fallible[i], i) + ")"))
      return fallible[i];
  return nullptr;
}

/// Throws what went wrong, at the line of the operation that failed, or else of the value that was wanted.
/// `failed`: the operation, or null. `isNews`, where given: whether the program has not been told of it.
[[noreturn]] static void failFlush(const Status &status, const Node *failed, bool undoes, bool *isNews,
                                   Loc wanted) {
  const std::string &message = status.message();
  if (failed) {
    Loc loc = failed->loc;
    if (isNews)
      *isNews = !failed->failureSeen;
    if (undoes) {
      failed->failureSeen = true;
      undoWritesOf(*failed);
    }
    fail(message.substr(0, message.rfind(" (at " + str(loc))), loc, {}, status.code());
  }
  if (undoes)
    undoLostWrites();
  fail(message, wanted, {}, status.code());
}

/// Of a value that is known to fail: that of the operation which did, and from which it follows.
static Ref originOf(Ref value) {
  for (;;) {
    const std::vector<Ref> &operands = value.node->operands;
    auto next = std::find_if(operands.begin(), operands.end(), isKnownToFail);
    if (next == operands.end())
      return value;
    value = Ref(*next); // a copy: the list belongs to the node that is left
  }
}

/// Marks what follows from it, so that nobody compiles it again to see it fail again.
static void markFailed(const Node *failed, const std::vector<Node *> &nodesInOrder) {
  for (Node *node : nodesInOrder)
    node->failed |=
        node == failed || std::any_of(node->operands.begin(), node->operands.end(), isKnownToFail);
}

/// `undoes`: writes that follow from what failed, since the program is told of it. Otherwise the failure
/// stays as it is, for who reads a value.
static void compute(const std::vector<Ref> &values, bool undoes, bool *isNews = nullptr) {
  GraphLock lock(graphMutex());
  serialAtFlush() = nextSerial();
  hostBytesSinceFlush() = 0;
  std::vector<Ref> wanted;
  std::set<std::pair<const Node *, uint32_t>> asked;
  for (const Ref &ref : values) {
    if (ref.node->needsCuda)
      failWithoutCuda(ref, ref.node->loc);
    if (!ref.node->computed(ref.result) && ref.node->kind == NodeKind::number)
      ref.buffer() = numberBuffer(*ref.node);
    if (!ref.node->computed(ref.result) && asked.emplace(ref.node.get(), ref.result).second)
      wanted.push_back(ref);
  }
  if (wanted.empty())
    return;

  Region region;
  region.isLazy = true;
  std::vector<Ref> leaves;
  collect(wanted, /*numbersAreConstants=*/false, region.nodes, leaves);
  for (const Ref &ref : leaves)
    region.arguments.push_back({ref, "", ref.node->kind == NodeKind::number ? "scalar" : "argument", false});
  // What a slot holds is kept, so that reading it later computes nothing twice.
  std::unordered_map<const Node *, std::shared_ptr<Node>> owners;
  for (const Ref &ref : wanted)
    owners[ref.node.get()] = ref.node;
  for (const Node *node : region.nodes)
    for (const Ref &operand : node->operands)
      owners[operand.node.get()] = operand.node;
  std::vector<Ref> results;
  for (Node *node : region.nodes)
    for (uint32_t i = 0; i < node->results.size(); ++i) {
      Ref ref{owners.at(node), i};
      if (!node->computed(i) && (node->results[i].liveSlots > 0 || asked.contains({node, i})))
        results.push_back(ref);
    }
  if (results.empty()) { // parts of what is there
    settleSlots();
    return;
  }
  for (const Ref &ref : results)
    region.results.push_back({ref, "", -1});

  static auto *cache = new FlushCache;
  std::string key = structuralKey(region);
  std::shared_ptr<Program> program = cache->find(key);
  if (!program) {
    region.loc = wanted[0].node->loc;
    region.reason =
        "a lazy program that is not compiled yet (operations: " + std::to_string(region.nodes.size()) +
        ", inputs: " + std::to_string(region.arguments.size()) +
        ", results: " + std::to_string(region.results.size()) + ")";
    auto compiled = compileRegion(region);
    if (!compiled)
      fail(compiled.status().message(), wanted[0].node->loc, {}, compiled.status().code());
    program = *compiled;
    cache->insert(std::move(key), program);
  }

  std::vector<std::shared_ptr<runtime::Buffer>> arguments, computed(results.size());
  for (const Ref &ref : leaves)
    arguments.push_back(bufferOf(ref));
  runtime::CallOrigin origin;
  std::vector<const Node *> fallible;
  if (program->mayFail) {
    fallible = fallibleNodes(region);
    auto lines = std::make_shared<std::vector<std::string>>();
    for (size_t i = 0; i < fallible.size(); ++i)
      lines->push_back(placeOf(*fallible[i], i));
    origin.lines = std::move(lines);
  }
  Status status = program->executable->run(
      arguments, computed, {.queue = nullptr, .mode = {}, .origin = origin, .host_sees = undoes});
  // A value whose computation failed must stay pending: state that follows from it is then given back, not
  // lost.
  if (status && program->mayFail)
    for (const auto &buffer : computed)
      if (Status late = buffer->wait(undoes); !late && status) {
        status = late;
        // A failure of its own happens again where a value is read; no queue needs to tell of this one.
        if (!undoes && failedOperation(late, fallible))
          (void)buffer->wait();
      }
  if (!status) {
    const Node *failed = failedOperation(status, fallible);
    if (failed)
      markFailed(failed, region.nodes);
    failFlush(status, failed, undoes, isNews, wanted[0].node->loc);
  }
  for (size_t i = 0; i < results.size(); ++i)
    results[i].buffer() = std::move(computed[i]);
  settleSlots();
}

void flush(const std::vector<Ref> &values) {
  GraphLock lock(graphMutex());
  // What was found when nobody was told is told now, without all that was recorded since.
  if (auto known = std::find_if(values.begin(), values.end(), isKnownToFail); known != values.end())
    compute({originOf(*known)}, /*undoes=*/true);
  compute(values, /*undoes=*/true);
}

bool tryFlush(const std::vector<Ref> &values) {
  if (GraphLock lock(graphMutex()); std::any_of(values.begin(), values.end(), isKnownToFail))
    return false;
  try {
    compute(values, /*undoes=*/false);
  } catch (const Error &) { // it is thrown again where a value is read
    return false;
  }
  return true;
}

/// What slots hold and is not computed. `failing`, where given, takes what is known to fail.
static std::vector<Ref> pendingValues(std::vector<Ref> *failing = nullptr) {
  std::vector<Ref> values;
  // What needs a device that is not there is an error when it is read, and not when something else is.
  for (const auto &slot : pendingSlots())
    if (const Ref &value = slot->value(); isKnownToFail(value)) {
      if (failing)
        failing->push_back(value);
    } else if (!value.node->needsCuda) {
      values.push_back(value);
    }
  return values;
}

void flushAll() {
  GraphLock lock(graphMutex());
  const std::vector<Ref> values = pendingValues();
  // One value that cannot be computed must not hold up the others.
  if (!values.empty() && !tryFlush(values))
    for (const Ref &value : values)
      tryFlush({value});
}

void flushIfLarge() {
  GraphLock lock(graphMutex());
  constexpr uint64_t maxPendingOps = 4096, maxHostBytes = uint64_t(1) << 28;
  if (Trace::current() ||
      (nextSerial() - serialAtFlush() < maxPendingOps && hostBytesSinceFlush() < maxHostBytes))
    return;
  flushAll();
  serialAtFlush() = nextSerial();
  hostBytesSinceFlush() = 0;
}

void synchronizeAfter(const std::function<Status()> &wait) {
  std::optional<Error> first;
  {
    GraphLock lock(graphMutex());
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
    // After the error that is thrown, what else fails stays for the next call.
    const auto tell = [&](const Ref &value) {
      if (!isKnownToFail(value))
        first ? tryFlush({value}) : computes({value});
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
    throw Error(first->what() + ("\nand " + waited.message()), first->code());
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
