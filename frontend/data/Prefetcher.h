//===- Prefetcher.h - Threads that prepare batches ahead -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_DATA_PREFETCHER_H
#define WEFT_FRONTEND_DATA_PREFETCHER_H

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::data::detail {

/// Calls `make` for the numbers [first, end) on its own threads, at most `window` ahead of `take`. `take`
/// returns the results in order, whichever thread was faster. If `make` throws, `take` throws the same
/// exception.
template <typename T> class Prefetcher {
public:
  Prefetcher(int workers, int64_t first, int64_t end, int64_t window, std::function<T(int64_t)> make)
      : next_(first), taken_(first), end_(end), window_(window), make_(std::move(make)) {
    try {
      for (int i = 0; i < workers; ++i)
        threads_.emplace_back([this] { work(); });
    } catch (...) { // the system refuses more threads
      stop();
      throw;
    }
  }
  ~Prefetcher() { stop(); }
  Prefetcher(const Prefetcher &) = delete;
  Prefetcher &operator=(const Prefetcher &) = delete;

  /// The result of the next number.
  T take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lost_ || ready_.contains(taken_); });
    if (!ready_.contains(taken_))
      std::rethrow_exception(lost_);
    Result result = std::move(ready_.extract(taken_).mapped());
    ++taken_;
    changed_.notify_all();
    lock.unlock();
    if (result.error)
      std::rethrow_exception(result.error);
    return std::move(result.value);
  }

private:
  struct Result {
    T value;
    std::exception_ptr error;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopped_ || next_ >= end_ || next_ < taken_ + window_; });
      if (stopped_ || next_ >= end_)
        return;
      int64_t number = next_++;
      lock.unlock();
      Result result;
      try {
        result.value = make_(number);
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      try {
        ready_.emplace(number, std::move(result));
      } catch (...) {
        // There is no memory even to store the result, so `take` must not wait for it.
        lost_ = std::current_exception();
        stopped_ = true;
      }
      changed_.notify_all();
    }
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread &thread : threads_)
      thread.join();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_, taken_; ///< the next number to be made, and the next to be taken
  const int64_t end_, window_;
  bool stopped_ = false;
  std::exception_ptr lost_; ///< why a result is missing
  std::map<int64_t, Result> ready_;
  std::function<T(int64_t)> make_;
  std::vector<std::thread> threads_;
};

} // namespace weft::data::detail

#endif // WEFT_FRONTEND_DATA_PREFETCHER_H
