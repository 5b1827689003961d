//===- Schedule.h - Work that waits to be run ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies, launches and all else that streams do are items. An item knows which items come before it: the last
// one of its stream, those of events that the stream waits for, or its predecessors in a graph. Nothing runs
// until something must wait for an item; then the items before it run, and no others unless the order is
// shuffled.
//
// Order is known by vector clocks. A chain is a row of items each of which comes after the one before, as
// those of a stream. The clock of an item has, for each chain, how many of its items come before. Two items
// are ordered if the clock of one counts the other. What the host has waited for comes before all that it
// enqueues afterwards. All threads of the host count as one.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_SCHEDULE_H
#define WEFT_TEST_CUDASIM_DRIVER_SCHEDULE_H

#include "test/cudasim/engine/Engine.h"

#include <condition_variable>
#include <cstdint>
#include <cuda.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft::cusim {

struct Context;

/// For each chain, how many of its items come before. A graph has a clock for each node, and a row of nodes
/// for each branch of its edges, so clocks are copied as one block.
class Clock {
public:
  uint64_t of(uint32_t chain) const;
  void set(uint32_t chain, uint64_t length);
  /// What comes before the other one comes before this one, too.
  void join(const Clock &other);

private:
  std::vector<std::pair<uint32_t, uint64_t>> counts; ///< by chain, in ascending order
};

/// The bytes that an item read and wrote. Two items may update `atomics` in any order.
struct Accesses {
  std::vector<cudasim::Range> reads = {}, writes = {}, atomics = {};
  bool empty() const { return reads.empty() && writes.empty() && atomics.empty(); }
};

/// What running an item gave.
struct Outcome {
  CUresult code = CUDA_SUCCESS; ///< another code poisons the context
  std::string message;          ///< of a failure
  Accesses accesses;
  std::vector<cudasim::GraphCondition> conditions = {}; ///< that a kernel has set
  uint64_t nanoseconds = 0;                             ///< that it takes by the virtual clock
};

struct Item;
using ItemPointer = std::shared_ptr<Item>;

struct Item {
  Context *context = nullptr;
  std::string what;    ///< for messages: the call and its stream
  uint64_t number = 0; ///< in the order in which items were enqueued
  uint32_t chain = 0;
  uint64_t index = 0; ///< in its chain, from 1
  Clock clock;        ///< counts the item itself, too
  std::vector<ItemPointer> before;
  std::function<Outcome()> run; ///< null if the item only has a place
  bool callsHost = false;       ///< whether `run` calls a function of the program
  enum class State { pending, running, done } state = State::pending;
  uint64_t endTime = 0; ///< by the virtual clock, in nanoseconds

  bool isDone() const { return state == State::done; }
  bool isReady() const;
  bool comesAfter(uint32_t otherChain, uint64_t otherIndex) const;
};

/// What a new item is.
struct NewItem {
  Context *context = nullptr;
  uint32_t chain = 0;
  std::string what;
  std::vector<ItemPointer> before; ///< null pointers are left out
  std::function<Outcome()> run;
  bool callsHost = false;
};

/// Why two pieces of work that are not ordered must not both run; empty if they may. The ranges are sorted.
std::string raceOf(const std::string &what, const Accesses &accesses, const std::string &otherWhat,
                   const Accesses &other);

class Schedule {
public:
  /// `lock` is held by the thread that calls; it is released while a function of the program runs.
  using Lock = std::unique_lock<std::mutex>;

  Schedule();
  uint32_t newChain();
  ItemPointer add(NewItem made);
  /// Runs what the item needs, and the item. Null is nothing to run.
  void run(Lock &lock, const ItemPointer &item);
  /// The same, and the host knows from now on that the item is done.
  void wait(Lock &lock, const ItemPointer &item);
  /// Runs one item of those that are needed. Whether the item is done.
  bool advance(Lock &lock, const ItemPointer &item);
  /// Runs all items of a context; the host waits for them.
  void waitAll(Lock &lock, const Context &context);
  /// Whether a function of the program runs on this thread.
  static bool isInHostFunction();

private:
  struct Record {
    std::string what;
    uint64_t number; ///< in the order in which items ran
    uint64_t index;  ///< in its chain
    Accesses accesses;
  };
  std::vector<ItemPointer> neededFor(const ItemPointer &item) const;
  ItemPointer choose(const std::vector<ItemPointer> &needed);
  bool step(Lock &lock, const std::vector<ItemPointer> &needed);
  void execute(Lock &lock, const ItemPointer &item);
  void checkRaces(const Item &item, Accesses accesses);
  void hostKnows(const Item &item);

  std::map<uint64_t, ItemPointer> pending; ///< by their numbers
  std::vector<uint64_t> lengths;           ///< of the chains
  /// What ran and may be unordered with what is to come, by chain and in the order of the chain.
  std::map<uint32_t, std::vector<Record>> history;
  Clock host;
  uint64_t nextNumber = 1, nextRecord = 0, now = 0, random;
  std::condition_variable changed;
};

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_SCHEDULE_H
