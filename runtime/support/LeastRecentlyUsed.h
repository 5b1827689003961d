//===- LeastRecentlyUsed.h - A cache of bounded size ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_LEASTRECENTLYUSED_H
#define WEFT_RUNTIME_SUPPORT_LEASTRECENTLYUSED_H

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace weft::runtime {

/// A cache of at most `capacity` values by key, which drops the least recently used one. Keys must be
/// ordered. It is not synchronised: threads that share one need a lock.
template <typename Key, typename Value> class LeastRecentlyUsed {
public:
  explicit LeastRecentlyUsed(size_t capacity) : capacity_(capacity) {}
  LeastRecentlyUsed(const LeastRecentlyUsed &) = delete;
  LeastRecentlyUsed &operator=(const LeastRecentlyUsed &) = delete;

  size_t size() const { return entries_.size(); }

  /// The value of a key, which becomes the most recently used one; null if there is none. The pointer is
  /// valid until the value is replaced or dropped.
  Value *find(const Key &key) {
    const auto found = entries_.find(key);
    if (found == entries_.end())
      return nullptr;
    order_.splice(order_.begin(), order_, found->second.place);
    return &found->second.value;
  }

  /// Adds a value, or replaces that of the same key. If memory runs out, nothing has changed.
  void insert(Key key, Value value) {
    if (Value *const known = find(key)) {
      *known = std::move(value);
      return;
    }
    std::list<const Key *> place(1);
    const auto entry = entries_.emplace(std::move(key), Entry{std::move(value), place.begin()}).first;
    place.front() = &entry->first;
    order_.splice(order_.begin(), place);
    if (entries_.size() > capacity_) {
      entries_.erase(entries_.find(*order_.back()));
      order_.pop_back();
    }
  }

private:
  struct Entry {
    Value value;
    typename std::list<const Key *>::iterator place;
  };
  size_t capacity_;
  std::map<Key, Entry> entries_;
  std::list<const Key *> order_; ///< the most recently used first
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_LEASTRECENTLYUSED_H
