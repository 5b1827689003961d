//===- Executor.cpp - The one team of threads -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Executor.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <vector>

// libgomp's own interface; the names are its ABI.
extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace weft::runtime {
namespace {

constexpr int maxWidth = 256;

// Set while a body runs on this thread: the worker it runs as.
thread_local int currentWorker = -1;

// Every worker owns one run of consecutive chunks, so that a kernel which reads what the previous one wrote
// finds it in its own cache, and takes an eighth of it at a time; whoever is done first helps the others, so
// that a thread the machine holds up does not hold up the launch.
class Split {
public:
  Split(int64_t tasks, int64_t grain, int workers, Executor::Body body)
      : tasks_(tasks), grain_(grain), workers_(workers), body_(body) {
    const int64_t chunks = (tasks - 1) / grain + 1;
    const int64_t share = chunks / workers, rest = chunks % workers;
    step_ = std::max<int64_t>(1, share / 8);
    int64_t begin = 0;
    for (int i = 0; i < workers; ++i) {
      runs_[i].next.store(begin, std::memory_order_relaxed);
      begin += share + (i < rest ? 1 : 0);
      runs_[i].end = begin;
    }
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
        body_(begin * grain_, end == (tasks_ - 1) / grain_ + 1 ? tasks_ : end * grain_, worker);
      }
    }
    currentWorker = before;
  }

private:
  struct alignas(64) Run {
    std::atomic<int64_t> next;
    int64_t end;
  };
  const int64_t tasks_, grain_;
  const int workers_;
  Executor::Body body_;
  int64_t step_;
  Run runs_[maxWidth];
};

// True when there is nothing to hand out; the body has then run here.
bool ran_here(int64_t tasks, int64_t &grain, int width, Executor::Body body) {
  if (tasks <= 0)
    return true;
  grain = std::max<int64_t>(grain, 1);
  if (tasks > grain && width > 1 && currentWorker < 0)
    return false;
  body(0, tasks, std::max(currentWorker, 0));
  return true;
}

/// Whether libgomp has made this thread a team, whose memory it keeps.
thread_local bool teamIsMade = false;

/// libgomp ends the process where it gets no memory or no threads for a team. It is asked for one only where
/// as much could be had a moment ago.
bool can_make_team(int width) {
  constexpr size_t stack = size_t(8) << 20, records = size_t(1) << 20;
  const size_t bytes = static_cast<size_t>(width) * stack;
  void *const stacks =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED)
    return false;
  ::munmap(stacks, bytes);
  void *volatile probe = std::malloc(records);
  std::free(probe);
  return probe != nullptr;
}

class OpenMPExecutor final : public Executor {
public:
  explicit OpenMPExecutor(int width) : width_(std::clamp(width, 1, maxWidth)) {}
  int width() const override { return width_; }
  bool is_openmp() const override { return true; }
  bool prepare() override { return width_ == 1 || currentWorker >= 0 || teamIsMade || can_make_team(width_); }
  void parallel_for(int64_t tasks, int64_t grain, Body body) override {
    if (ran_here(tasks, grain, prepare() ? width_ : 1, body))
      return;
    Split split(tasks, grain, width_, body);
    const std::lock_guard lock(team_mutex());
    teamIsMade = true;
    // Always the full width: libgomp ends the threads that a smaller region does not need. If it gives
    // fewer, those it gives take the other runs.
    GOMP_parallel([](void *data) { static_cast<Split *>(data)->work(omp_get_thread_num()); }, &split,
                  static_cast<unsigned>(width_), 0);
  }

private:
  const int width_;
};

class ThreadExecutor final : public Executor {
public:
  explicit ThreadExecutor(int width) {
    width = std::clamp(width, 1, maxWidth);
    threads_.reserve(static_cast<size_t>(width));
    try {
      for (; width_ < width; ++width_)
        threads_.emplace_back([this, worker = width_] { loop(worker); });
    } catch (
        const std::exception &) { // NOLINT(bugprone-empty-catch): those that the system gives do the work
    }
  }
  ~ThreadExecutor() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    start_.notify_all();
    for (std::thread &thread : threads_)
      thread.join();
  }
  int width() const override { return width_; }
  void parallel_for(int64_t tasks, int64_t grain, Body body) override {
    if (ran_here(tasks, grain, width_, body))
      return;
    Split split(tasks, grain, width_, body);
    const std::lock_guard team(team_);
    {
      const std::lock_guard lock(mutex_);
      split_ = &split;
      running_ = width_ - 1;
      ++generation_;
    }
    start_.notify_all();
    split.work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
  }

private:
  void loop(int worker) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_)
        return;
      seen = generation_;
      Split *split = split_;
      lock.unlock();
      split->work(worker);
      lock.lock();
      if (--running_ == 0)
        done_.notify_one();
    }
  }

  int width_ = 1;
  std::mutex team_; // one parallel_for at a time
  std::mutex mutex_;
  std::condition_variable start_, done_;
  Split *split_ = nullptr;
  int running_ = 0;
  uint64_t generation_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

std::atomic<Executor *> current{nullptr};

Executor &default_executor() {
  // Never destroyed: queues may still run when the process ends.
  static Executor *const instance = [] {
#if __has_feature(thread_sanitizer)
    const bool threads = true;
#else
    const char *value = std::getenv("WEFT_EXECUTOR");
    const std::string_view kind = value ? value : "";
    const bool threads = kind == "threads";
    if (!threads && !kind.empty() && kind != "openmp")
      std::fprintf(stderr, "weft: WEFT_EXECUTOR is '%s', expected threads or openmp; using openmp\n", value);
#endif
    return (threads ? make_thread_executor(default_width()) : make_openmp_executor(default_width()))
        .release();
  }();
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
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return std::clamp(CPU_COUNT(&set), 1, maxWidth);
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, maxWidth);
}

Executor &executor() {
  if (Executor *own = current.load(std::memory_order_acquire))
    return *own;
  return default_executor();
}

void set_executor(Executor *executor) { current.store(executor, std::memory_order_release); }

std::unique_ptr<Executor> make_thread_executor(int width) { return std::make_unique<ThreadExecutor>(width); }
std::unique_ptr<Executor> make_openmp_executor(int width) { return std::make_unique<OpenMPExecutor>(width); }

std::mutex &team_mutex() {
  static std::mutex *const mutex = new std::mutex;
  return *mutex;
}

OpenMPWidthScope::OpenMPWidthScope(int width) : before_(omp_get_max_threads()) {
  if (before_ != width)
    omp_set_num_threads(width);
}

OpenMPWidthScope::~OpenMPWidthScope() {
  if (omp_get_max_threads() != before_)
    omp_set_num_threads(before_);
}

} // namespace weft::runtime
