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

/// Values by key, of which the one that was not asked for longest goes where there would be more than
/// `capacity`. Keys have an order. What shares one between threads locks it.
template <typename Key, typename Value> class LeastRecentlyUsed {
public:
  explicit LeastRecentlyUsed(size_t capacity) : capacity_(capacity) {}
  LeastRecentlyUsed(const LeastRecentlyUsed &) = delete;
  LeastRecentlyUsed &operator=(const LeastRecentlyUsed &) = delete;

  size_t size() const { return entries_.size(); }

  /// The value of a key, which is then the most recently used one; null where there is none. It stays where
  /// it is until it is replaced or dropped.
  Value *find(const Key &key) {
    const auto found = entries_.find(key);
    if (found == entries_.end())
      return nullptr;
    order_.splice(order_.begin(), order_, found->second.place);
    return &found->second.value;
  }

  /// Adds a value, or replaces that of the same key. Where memory ends, nothing has changed.
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
