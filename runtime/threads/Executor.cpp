//===- Executor.cpp - The pool of compute threads -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/threads/Executor.h"
#include "runtime/threads/CpuQuota.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <sched.h>
#include <string_view>
#include <thread>
#include <vector>

// Functions of libgomp. oneDNN calls the first to find the number of threads of a primitive.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace weft::runtime {
namespace {

constexpr int maxWidth = 256;

// Set while a body runs on this thread: the worker it runs as.
thread_local int currentWorker = -1;

// Every worker owns one run of consecutive chunks, so that a kernel which reads the results of the previous
// one finds them in its own cache. A worker takes an eighth of its run at a time. A worker without chunks
// takes chunks of others, so that a thread which has no processor does not delay the launch.
class Split {
public:
  explicit Split(int workers)
      : workers_(workers), runs_(std::make_unique<Run[]>(static_cast<size_t>(workers))) {}

  /// Returns how many threads have work. Must not be called while a launch runs.
  int start(int64_t tasks, int64_t grain, Executor::Body &body) {
    tasks_ = tasks;
    grain_ = grain;
    body_ = &body;
    const int64_t chunks = (tasks - 1) / grain + 1;
    const int64_t share = chunks / workers_, rest = chunks % workers_;
    step_ = std::max<int64_t>(1, share / 8);
    int64_t begin = 0;
    for (int i = 0; i < workers_; ++i) {
      runs_[i].next.store(begin, std::memory_order_relaxed);
      begin += share + (i < rest ? 1 : 0);
      runs_[i].end = begin;
    }
    return static_cast<int>(std::min<int64_t>(chunks, workers_));
  }

  void work(int worker) {
    const int before = currentWorker;
    currentWorker = worker;
    for (int i = 0; i < workers_; ++i) {
      Run &run = runs_[(worker + i) % workers_];
      while (run.next.load(std::memory_order_relaxed) < run.end) {
        const int64_t begin = run.next.fetch_add(step_, std::memory_order_relaxed);
        if (begin >= run.end)
          break;
        const int64_t end = std::min(begin + step_, run.end);
        (*body_)(begin *grain_, end == (tasks_ - 1) / grain_ + 1 ? tasks_ : end * grain_, worker);
      }
    }
    currentWorker = before;
  }

private:
  struct alignas(64) Run {
    std::atomic<int64_t> next;
    int64_t end;
  };
  const int workers_;
  const std::unique_ptr<Run[]> runs_;
  int64_t tasks_ = 0, grain_ = 1, step_ = 1;
  Executor::Body *body_ = nullptr;
};

// Runs the body on this thread if there is only one range. Returns whether it did, or there are no tasks.
bool ran_here(int64_t tasks, int64_t &grain, int width, Executor::Body body) {
  if (tasks <= 0)
    return true;
  grain = std::max<int64_t>(grain, 1);
  if (tasks > grain && width > 1 && currentWorker < 0)
    return false;
  body(0, tasks, std::max(currentWorker, 0));
  return true;
}

/// Polls a condition for a while before the thread sleeps, because waking a thread takes about 30 us, longer
/// than most launches. If other processes are busy, polling takes time from threads that have work; then the
/// poll is interrupted, and each interruption halves the time of later polls. The constants were chosen with
/// tasks of 10 us beside two busy processes, and pauses of 0.1 to 3 ms between launches.
class Poll {
public:
  /// Whether `is_met` became true during the poll.
  template <typename Condition> bool operator()(Condition is_met) {
    constexpr uint64_t interrupted = 50'000; // nanoseconds between two polls
    const uint64_t begin = clock_ns();
    for (uint64_t last = begin;;) {
      for (int i = 0; i < 32; ++i) {
        if (is_met()) {
          grow();
          return true;
        }
        __builtin_ia32_pause();
      }
      const uint64_t now = clock_ns();
      if (now - last > interrupted) {
        budget_ /= 2;
        return is_met();
      }
      if (now - begin > budget_) {
        grow();
        return false;
      }
      last = now;
    }
  }

private:
  void grow() { budget_ = std::min(budget_ + budget_ / 8 + 1000, longest); }
  static uint64_t clock_ns() {
    timespec time;
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  }
  static constexpr uint64_t longest = 1'000'000;
  uint64_t budget_ = longest;
};

/// A pool whose launches end when their work is done. A launch does not wait for a thread that has no
/// processor and no work.
class PoolExecutor final : public Executor {
public:
  explicit PoolExecutor(int width) : width_(std::clamp(width, 1, maxWidth)), split_(width_) {
    try {
      threads_.reserve(static_cast<size_t>(width_ - 1));
      for (int worker = 1; worker < width_; ++worker)
        threads_.emplace_back([this, worker] { loop(worker); });
      // NOLINTNEXTLINE(bugprone-empty-catch): the threads that the system gives do the work
    } catch (const std::exception &) {
    }
  }
  ~PoolExecutor() override {
    state_.fetch_or(stopping);
    state_.notify_all();
    for (std::thread &thread : threads_)
      thread.join();
  }
  int width() const override { return width_; }
  void parallel_for(int64_t tasks, int64_t grain, Body body) override {
    if (ran_here(tasks, grain, width_, body))
      return;
    const std::lock_guard team(team_);
    const int useful = split_.start(tasks, grain, body);
    state_.fetch_add(launch + isOpen);
    for (int i = std::min(asleep_.load(), useful - 1); i > 0; --i)
      state_.notify_one();
    split_.work(0);
    state_.fetch_sub(isOpen);
    const auto is_left = [&] { return (state_.load() & inside) == 0; };
    if (is_left() || poll_(is_left))
      return;
    for (uint32_t seen = left_.load(); !is_left(); seen = left_.load())
      left_.wait(seen);
  }

private:
  // The state is one atomic word, so that a thread can join a launch only while it is open. The number of
  // launches wraps after two million.
  static constexpr uint32_t inside = 0x1ff; ///< threads that have joined and not left
  static constexpr uint32_t isOpen = 0x200, stopping = 0x400;
  static constexpr uint32_t launch = 0x800; ///< this bit and those above: the number of launches
  static_assert(maxWidth < inside);

  void loop(int worker) {
    Poll poll;
    for (uint32_t seen = 0;;) {
      uint32_t state = 0;
      const auto is_new = [&] {
        state = state_.load();
        return (state & stopping) != 0 || ((state & isOpen) != 0 && state / launch != seen);
      };
      if (!poll(is_new)) {
        asleep_.fetch_add(1);
        while (!is_new())
          state_.wait(state);
        asleep_.fetch_sub(1);
      }
      if ((state & stopping) != 0)
        return;
      if (!state_.compare_exchange_strong(state, state + 1))
        continue;
      seen = state / launch;
      split_.work(worker);
      state = state_.fetch_sub(1) - 1;
      if ((state & (inside | isOpen)) == 0) {
        left_.fetch_add(1);
        left_.notify_one();
      }
    }
  }

  const int width_;
  std::mutex team_; // one parallel_for at a time
  Split split_;
  Poll poll_; ///< of the caller, under team_
  alignas(64) std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> left_{0}; ///< how often the last thread left a launch; callers sleep on it
  alignas(64) std::atomic<int> asleep_{0};
  std::vector<std::thread> threads_;
};

std::atomic<Executor *> current{nullptr};

Executor &default_executor() {
  // Never destroyed: queues may still run when the process ends.
  static Executor *const instance = make_thread_executor(default_width()).release();
  return *instance;
}

} // namespace

Executor::~Executor() = default;

int default_width() {
  if (const char *text = std::getenv("WEFT_NUM_THREADS"); text && *text) {
    const std::string_view value = text;
    int width = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), width);
    if (error == std::errc() && end == value.data() + value.size() && width > 0 && width <= maxWidth)
      return width;
    static std::atomic<bool> told{false};
    if (!told.exchange(true))
      std::fprintf(
          stderr,
          "weft: WEFT_NUM_THREADS is '%s', expected a number from 1 to %d; using one thread for each "
          "processor\n",
          text, maxWidth);
  }
  cpu_set_t set;
  const int processors = ::sched_getaffinity(0, sizeof set, &set) == 0
                             ? CPU_COUNT(&set)
                             : static_cast<int>(std::thread::hardware_concurrency());
  static const std::optional<int> quota = quota_processors(); // cached, because every compilation calls this
  return std::clamp(std::min(processors, quota.value_or(processors)), 1, maxWidth);
}

Executor &executor() {
  if (Executor *own = current.load(std::memory_order_acquire))
    return *own;
  return default_executor();
}

void set_executor(Executor *executor) { current.store(executor, std::memory_order_release); }

std::unique_ptr<Executor> make_thread_executor(int width) { return std::make_unique<PoolExecutor>(width); }

OneOpenMPThread::OneOpenMPThread() : before_(omp_get_max_threads()) {
  if (before_ != 1)
    omp_set_num_threads(1);
}

OneOpenMPThread::~OneOpenMPThread() {
  if (before_ != 1)
    omp_set_num_threads(before_);
}

} // namespace weft::runtime
