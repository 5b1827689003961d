//===- Schedule.cpp - Work that waits to be run --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Schedule.h"

#include "test/cudasim/driver/Ranges.h"
#include "test/cudasim/driver/Settings.h"
#include "test/cudasim/driver/State.h"

#include <algorithm>
#include <optional>

namespace weft::cusim {
namespace {

thread_local bool inHostFunction = false;

constexpr auto chainOf = &std::pair<uint32_t, uint64_t>::first;

} // namespace

uint64_t Clock::of(uint32_t chain) const {
  const auto found = std::ranges::lower_bound(counts, chain, {}, chainOf);
  return found != counts.end() && found->first == chain ? found->second : 0;
}

void Clock::set(uint32_t chain, uint64_t length) {
  const auto found = std::ranges::lower_bound(counts, chain, {}, chainOf);
  if (found != counts.end() && found->first == chain)
    found->second = length;
  else
    counts.insert(found, {chain, length});
}

void Clock::join(const Clock &other) {
  std::vector<std::pair<uint32_t, uint64_t>> both;
  both.reserve(counts.size() + other.counts.size());
  auto mine = counts.begin();
  for (const auto &[chain, length] : other.counts) {
    for (; mine != counts.end() && mine->first < chain; ++mine)
      both.push_back(*mine);
    const bool isKnown = mine != counts.end() && mine->first == chain;
    both.emplace_back(chain, isKnown ? std::max(mine++->second, length) : length);
  }
  both.insert(both.end(), mine, counts.end());
  counts = std::move(both);
}

bool Item::isReady() const {
  return state == State::pending &&
         std::all_of(before.begin(), before.end(), [](const ItemPointer &one) { return one->isDone(); });
}

bool Item::comesAfter(uint32_t otherChain, uint64_t otherIndex) const {
  return clock.of(otherChain) >= otherIndex;
}

Schedule::Schedule() : random(settings().seed) {}

bool Schedule::isInHostFunction() { return inHostFunction; }

uint32_t Schedule::newChain() {
  lengths.push_back(0);
  return uint32_t(lengths.size() - 1);
}

ItemPointer Schedule::add(NewItem made) {
  auto item = std::make_shared<Item>();
  item->context = made.context;
  item->what = std::move(made.what);
  item->number = nextNumber++;
  item->chain = made.chain;
  item->index = ++lengths[made.chain];
  item->clock = host;
  for (ItemPointer &one : made.before) {
    if (!one)
      continue;
    item->clock.join(one->clock);
    if (!one->isDone())
      item->before.push_back(std::move(one));
  }
  item->clock.set(item->chain, item->index);
  item->run = std::move(made.run);
  item->callsHost = made.callsHost;
  pending[item->number] = item;
  return item;
}

/// The items that are not done and that the item needs, itself too, in the order in which they were enqueued.
std::vector<ItemPointer> Schedule::neededFor(const ItemPointer &item) const {
  std::map<uint64_t, ItemPointer> found;
  std::vector<ItemPointer> open{item};
  while (!open.empty()) {
    ItemPointer one = std::move(open.back());
    open.pop_back();
    if (!one->isDone() && found.emplace(one->number, one).second)
      open.insert(open.end(), one->before.begin(), one->before.end());
  }
  std::vector<ItemPointer> sorted;
  for (auto &[number, one] : found)
    sorted.push_back(std::move(one));
  return sorted;
}

/// The item to run next; null if each one of them waits for an item that another thread runs.
ItemPointer Schedule::choose(const std::vector<ItemPointer> &needed) {
  const cudasim::Order order = settings().order;
  std::vector<ItemPointer> ready;
  if (order == cudasim::Order::shuffled) {
    // Streams need not wait for the host: what nobody waits for may run, too.
    for (const auto &[number, one] : pending)
      if (one->isReady())
        ready.push_back(one);
  } else {
    for (const ItemPointer &one : needed)
      if (one->isReady()) {
        ready.push_back(one);
        if (order == cudasim::Order::forward)
          break;
      }
  }
  if (ready.empty())
    return nullptr;
  if (order != cudasim::Order::shuffled)
    return ready.back();
  random = random * 6364136223846793005u + 1442695040888963407u;
  return ready[(random >> 33) % ready.size()];
}

/// Runs one of the items, or waits until another thread has run one. False if all are done.
bool Schedule::step(Lock &lock, const std::vector<ItemPointer> &needed) {
  if (std::all_of(needed.begin(), needed.end(), [](const ItemPointer &one) { return one->isDone(); }))
    return false;
  if (ItemPointer next = choose(needed))
    execute(lock, next);
  else
    changed.wait(lock);
  return true;
}

void Schedule::run(Lock &lock, const ItemPointer &item) {
  if (!item || item->isDone())
    return;
  std::vector<ItemPointer> needed = neededFor(item);
  while (step(lock, needed))
    std::erase_if(needed, [](const ItemPointer &one) { return one->isDone(); });
}

void Schedule::wait(Lock &lock, const ItemPointer &item) {
  if (!item)
    return;
  run(lock, item);
  hostKnows(*item);
}

bool Schedule::advance(Lock &lock, const ItemPointer &item) {
  if (!item)
    return true;
  if (!item->isDone())
    step(lock, neededFor(item));
  if (!item->isDone())
    return false;
  hostKnows(*item);
  return true;
}

void Schedule::waitAll(Lock &lock, const Context &context) {
  std::vector<ItemPointer> items = context.lastItems();
  for (const auto &[number, one] : pending)
    if (one->context == &context)
      items.push_back(one);
  for (const ItemPointer &one : items)
    wait(lock, one);
}

void Schedule::execute(Lock &lock, const ItemPointer &item) {
  item->state = Item::State::running;
  Outcome outcome;
  // As on a GPU, nothing more runs in a context that is poisoned.
  if (item->run && item->context->error == CUDA_SUCCESS) {
    if (item->callsHost) {
      lock.unlock();
      inHostFunction = true;
      outcome = item->run();
      inHostFunction = false;
      lock.lock();
    } else {
      outcome = item->run();
    }
    if (outcome.code != CUDA_SUCCESS)
      item->context->poison(outcome.code, item->what + ": " + outcome.message);
    else
      checkRaces(*item, std::move(outcome.accesses));
  }
  now += outcome.nanoseconds + 1;
  item->endTime = now;
  item->state = Item::State::done;
  item->run = nullptr;
  item->before.clear();
  pending.erase(item->number);
  changed.notify_all();
}

namespace {

struct Conflict {
  const char *does, *otherDoes;
  cudasim::Range common;
};

/// What two items that are not ordered must not both do; none if they may.
std::optional<Conflict> conflictOf(const Accesses &mine, const Accesses &other) {
  using Ranges = std::vector<cudasim::Range>;
  struct Pair {
    const char *does;
    const Ranges &mine;
    const char *otherDoes;
    const Ranges &other;
  };
  for (const Pair &pair :
       {Pair{"writes", mine.writes, "writes", other.writes},
        Pair{"writes", mine.writes, "reads", other.reads}, Pair{"reads", mine.reads, "writes", other.writes},
        Pair{"updates", mine.atomics, "writes", other.writes},
        Pair{"updates", mine.atomics, "reads", other.reads},
        Pair{"writes", mine.writes, "updates", other.atomics},
        Pair{"reads", mine.reads, "updates", other.atomics}})
    if (const std::optional<cudasim::Range> common = overlap(pair.mine, pair.other))
      return Conflict{pair.does, pair.otherDoes, *common};
  return std::nullopt;
}

} // namespace

std::string raceOf(const std::string &what, const Accesses &accesses, const std::string &otherWhat,
                   const Accesses &other) {
  const std::optional<Conflict> found = conflictOf(accesses, other);
  if (!found)
    return "";
  const auto &[does, otherDoes, common] = *found;
  return "race: " + what + " " + does + " " + std::to_string(common.end - common.begin) + " bytes at " +
         hex(common.begin) + " that " + otherWhat + " " + otherDoes +
         ", and neither waits for the other: order them by an event, a stream or an edge";
}

/// Poisons the context if an item touches what one that is not ordered with it has touched. Of a chain, those
/// that come before the item are the first ones.
void Schedule::checkRaces(const Item &item, Accesses accesses) {
  if (accesses.empty())
    return;
  for (std::vector<cudasim::Range> *ranges : {&accesses.reads, &accesses.writes, &accesses.atomics})
    sortRanges(*ranges);
  std::string first; // of the races, that with the item that ran first
  uint64_t number = nextRecord++, firstNumber = number;
  for (const auto &[chain, records] : history) {
    const uint64_t before = item.clock.of(chain);
    for (auto other = records.rbegin(); other != records.rend() && other->index > before; ++other) {
      if (other->number > firstNumber)
        continue;
      std::string race = raceOf(item.what, accesses, other->what, other->accesses);
      if (race.empty())
        continue;
      first = std::move(race);
      firstNumber = other->number;
    }
  }
  if (!first.empty())
    item.context->poison(CUDA_ERROR_LAUNCH_FAILED, first);
  history[item.chain].push_back({item.what, number, item.index, std::move(accesses)});
}

/// The host has waited for an item. What comes before the host comes before all that is enqueued from now on;
/// if it comes before all that is enqueued already, too, no race with it can follow.
void Schedule::hostKnows(const Item &item) {
  host.join(item.clock);
  for (auto &[chain, records] : history) {
    uint64_t known = host.of(chain);
    for (const auto &[number, one] : pending)
      known = std::min(known, one->clock.of(chain));
    std::erase_if(records, [&](const Record &record) { return record.index <= known; });
  }
  std::erase_if(history, [](const auto &one) { return one.second.empty(); });
}

} // namespace weft::cusim
