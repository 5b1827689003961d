//===- Team.h - Two threads for the hand-written loops ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops run on libgomp's threads, through its ABI. Idle ones spin for about a millisecond, as those of
// Weft's pool do: before each block of calls there is a pause in which both go to sleep (Timing.h). (clang's
// -fopenmp would bring a second OpenMP library into the process.)
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BENCH_TEAM_H
#define WEFT_BENCH_TEAM_H

#include <algorithm>
#include <atomic>
#include <cstdint>

// libgomp's own interface; the names are its ABI.
extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
int omp_get_thread_num();
}

namespace weft::bench {

inline constexpr int maxThreads = 64;

/// WEFT_NUM_THREADS, or the number of processors this process may run on.
int thread_count();

/// Runs body(begin, end, worker) over [0, tasks) in ranges of multiples of `grain`. Each worker has an equal
/// share and runs it in eight pieces; a worker that has finished its share helps the others.
template <typename Body> void parallel(int64_t tasks, int64_t grain, const Body &body) {
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  struct Work {
    const Body &body;
    int64_t tasks, grain, step;
    int workers;
    Share shares[maxThreads];
  };
  const int workers = thread_count();
  const int64_t chunks = (tasks + grain - 1) / grain;
  Work work{body, tasks, grain, std::max<int64_t>(1, chunks / workers / 8), workers, {}};
  for (int i = 0; i < workers; ++i) {
    work.shares[i].next.store(chunks * i / workers, std::memory_order_relaxed);
    work.shares[i].end = chunks * (i + 1) / workers;
  }
  GOMP_parallel(
      [](void *data) {
        Work &work = *static_cast<Work *>(data);
        const int self = omp_get_thread_num();
        for (int i = 0; i < work.workers; ++i) {
          Share &share = work.shares[(self + i) % work.workers];
          while (share.next.load(std::memory_order_relaxed) < share.end) {
            const int64_t begin = share.next.fetch_add(work.step, std::memory_order_relaxed);
            if (begin >= share.end)
              break;
            const int64_t end = std::min(begin + work.step, share.end);
            work.body(begin * work.grain, std::min(end * work.grain, work.tasks), self);
          }
        }
      },
      &work, static_cast<unsigned>(workers), 0);
}

} // namespace weft::bench

#endif // WEFT_BENCH_TEAM_H
