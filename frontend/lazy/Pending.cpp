//===- Pending.cpp - Pending operations -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/lazy/Pending.h"
#include "frontend/graph/Region.h"
#include "frontend/graph/Trace.h"
#include "frontend/lazy/Lazy.h"
#include "runtime/queue/Queue.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Values that are computed along
//===----------------------------------------------------------------------===//

std::vector<Ref> pendingValues(std::vector<Ref> *failing) {
  std::vector<Ref> values;
  // A value on a device that this build lacks is an error when it is read itself, not when another value is.
  for (const auto &slot : pendingSlots())
    if (const Ref &value = slot->value(); isKnownToFail(value)) {
      if (failing)
        failing->push_back(value);
    } else if (!value.node->lacksDevice) {
      values.push_back(value);
    }
  return values;
}

/// Whether a program that reads the buffer would have to wait for another queue, or could fail because an
/// earlier call fails.
static bool isUnfinished(const runtime::Buffer &buffer) {
  if (!buffer.tracked())
    return false;
  std::vector<runtime::Ticket> tickets;
  buffer.foreign_tickets(runtime::Queue::current(), /*writes=*/false, tickets);
  return buffer.uncertain() ||
         std::any_of(tickets.begin(), tickets.end(), [](const runtime::Ticket &t) { return !t.done(); });
}

/// Removes from `values` those that depend on unfinished buffers, except buffers that `wanted` depends on as
/// well.
static void eraseUnfinished(std::vector<Ref> &values, const std::vector<Ref> &wanted) {
  std::unordered_set<const Node *> seen;
  std::unordered_set<const runtime::Buffer *> allowed;
  std::vector<const Node *> reached;
  const auto walk = [&](const std::vector<Ref> &roots, auto visitBuffer) {
    std::vector<const Node *> stack;
    const auto visit = [&](const Ref &ref) {
      if (ref.buffer())
        visitBuffer(*ref.buffer());
      else if (seen.insert(ref.node.get()).second)
        stack.push_back(ref.node.get());
    };
    std::for_each(roots.begin(), roots.end(), visit);
    while (!stack.empty()) {
      const Node *node = stack.back();
      stack.pop_back();
      reached.push_back(node);
      std::for_each(node->operands.begin(), node->operands.end(), visit);
    }
  };
  walk(wanted, [&](const runtime::Buffer &buffer) { allowed.insert(&buffer); });
  reached.clear();
  walk(values, [](const runtime::Buffer &) {});
  // Operands come before their users.
  std::sort(reached.begin(), reached.end(), [](auto *a, auto *b) { return a->serial < b->serial; });
  std::unordered_set<const Node *> blocked;
  const auto isBlocked = [&](const Ref &ref) {
    const auto &buffer = ref.buffer();
    return buffer ? !allowed.contains(buffer.get()) && isUnfinished(*buffer)
                  : blocked.contains(ref.node.get());
  };
  for (const Node *node : reached)
    if (std::any_of(node->operands.begin(), node->operands.end(), isBlocked))
      blocked.insert(node);
  std::erase_if(values, isBlocked);
}

/// The pending values that these threads recorded.
static std::vector<Ref> pendingOf(const std::unordered_set<uint32_t> &threads) {
  std::vector<Ref> values = pendingValues();
  std::erase_if(values, [&](const Ref &ref) { return !threads.contains(ref.node->thread); });
  return values;
}

std::vector<Ref> pendingBeside(const std::vector<Ref> &wanted) {
  if (pendingCount() == 0)
    return {};
  std::unordered_set<uint32_t> threads{threadNumber()};
  for (const Ref &ref : wanted)
    threads.insert(ref.node->thread);
  std::vector<Ref> values = pendingOf(threads);
  const RefSet among(wanted.begin(), wanted.end());
  std::erase_if(values, [&](const Ref &ref) { return ref.node->isComputedAlone || among.contains(ref); });
  const bool several = runtime::Queue::several();
  if (std::any_of(values.begin(), values.end(),
                  [&](const Ref &ref) { return several || ref.node->followsCall; }))
    eraseUnfinished(values, wanted);
  return values;
}

//===----------------------------------------------------------------------===//
// When a flush is due
//===----------------------------------------------------------------------===//

namespace {
/// What a thread has recorded since its last flush.
struct Backlog {
  uint64_t firstNode = 0; ///< the value of `recordedNodes` at that flush
  uint64_t hostBytes = 0;
  /// The lines at which a flush was due.
  std::vector<Loc> points;
};
} // namespace

static Backlog &backlog() {
  thread_local Backlog backlog;
  return backlog;
}

/// The serial number at the last time when nothing was pending or everything was flushed. Guarded by the
/// graph's lock.
static uint64_t &serialAtFlushOfAll() {
  static uint64_t serial = 0;
  return serial;
}

void noteHostBytes(size_t bytes) { backlog().hostBytes += bytes; }

void noteFlushed() {
  // This also bounds what threads that have ended left pending.
  constexpr uint64_t maxNodesOfAll = 1 << 16;
  if (pendingCount() == 0)
    serialAtFlushOfAll() = nextSerial();
  else if (nextSerial() - serialAtFlushOfAll() > maxNodesOfAll) {
    serialAtFlushOfAll() = nextSerial();
    flushAll();
  }
  backlog().firstNode = recordedNodes();
  backlog().hostBytes = 0;
}

static bool isSameLine(const Loc &a, const Loc &b) {
  return a.line() == b.line() && a.column() == b.column() && !std::strcmp(a.file_name(), b.file_name());
}

void flushIfLarge(Loc loc) {
  constexpr uint64_t mostOps = 4096, mostHostBytes = uint64_t(1) << 28;
  // A program of some hundred operations costs no more per operation than a long one, and compiles much
  // faster.
  constexpr uint64_t enough =
      8; // at a line with an earlier flush, a flush is due at this fraction of the limits
  constexpr size_t mostPoints = 64;
  Backlog &own = backlog();
  const uint64_t ops = recordedNodes() - own.firstNode;
  if ((ops < mostOps / enough && own.hostBytes < mostHostBytes / enough) || Trace::current())
    return;
  const bool isFull = ops >= mostOps || own.hostBytes >= mostHostBytes;
  const auto isHere = [&](const Loc &point) { return isSameLine(point, loc); };
  const bool isPoint = std::any_of(own.points.begin(), own.points.end(), isHere);
  if (!isFull && !isPoint)
    return;
  if (!isPoint) {
    if (own.points.size() == mostPoints)
      own.points.clear();
    own.points.push_back(loc);
  }
  GraphLock lock(graphMutex());
  if (std::vector<Ref> values = pendingOf({threadNumber()}); !values.empty())
    tryCompute(std::move(values));
  noteFlushed();
}

} // namespace weft::frontend
