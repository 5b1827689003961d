//===- OpenMPTeamTest.cpp - Nobody opens a team of OpenMP's threads -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN starts its teams with GOMP_parallel. The function below replaces libgomp's in the whole program, and
// counts the calls.
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/Contraction.h"
#include "runtime/queue/Buffer.h"
#include "runtime/threads/Executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <vector>

using namespace weft;
using namespace weft::runtime;

static std::atomic<int> teams{0};

// libgomp's interface: the names and the meaning are its ABI.
extern "C" {
__attribute__((visibility("default"))) void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                                                          unsigned flags) {
  ++teams;
  using Open = void (*)(void (*)(void *), void *, unsigned, unsigned);
  reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "GOMP_parallel"))(body, data, threads, flags);
}
void omp_set_num_threads(int threads);
int omp_get_max_threads();
}

namespace {

/// An executor with its own threads that runs one task at a time, as an embedder's pool may.
class FreshThreads final : public Executor {
public:
  int width() const override { return 3; }
  void parallel_for(int64_t tasks, int64_t grain, Body body) override {
    std::atomic<int64_t> next{0};
    std::vector<std::thread> threads;
    for (int worker = 0; worker < width(); ++worker)
      threads.emplace_back([&, worker] {
        for (int64_t begin = next.fetch_add(grain); begin < tasks; begin = next.fetch_add(grain)) {
          body(begin, std::min(begin + grain, tasks), worker);
          ++handed_out;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  std::atomic<int> handed_out{0};
};

ContractionShape product(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, bool transposed) {
  ContractionShape s;
  s.dtype = dtype;
  s.batch = batch;
  s.m = m;
  s.n = n;
  s.k = k;
  s.a_strides = transposed ? std::array<int64_t, 3>{m * k, 1, m} : std::array<int64_t, 3>{m * k, k, 1};
  s.b_strides = transposed ? std::array<int64_t, 3>{k * n, 1, k} : std::array<int64_t, 3>{k * n, n, 1};
  s.c_strides = {m * n, n, 1};
  s.bias = transposed;
  return s;
}

void multiply(const ContractionShape &s) {
  const auto contraction = Contraction::get(s).value_or_throw();
  const auto zeros = [&](int64_t count) {
    auto buffer = Buffer::allocate(static_cast<size_t>(count) * itemsize(s.dtype)).value_or_throw();
    std::memset(buffer->data(), 0, buffer->bytes());
    return buffer;
  };
  const auto a = zeros(s.batch * s.m * s.k), b = zeros(s.batch * s.k * s.n), c = zeros(s.batch * s.m * s.n),
             bias = zeros(s.n);
  const auto scratch = Buffer::allocate(contraction->scratch_bytes(executor().width())).value_or_throw();
  for (const bool serial : {false, true})
    ASSERT_TRUE(
        contraction->run({a->data(), b->data(), c->data(), bias->data(), nullptr, scratch->data()}, {serial})
            .ok());
}

TEST(OpenMPTeam, TheTrapSeesOne) {
  const int before = teams;
  GOMP_parallel([](void *) {}, nullptr, 2, 0);
  EXPECT_EQ(teams, before + 1);
  // A library that looks up the symbol finds the replacement too.
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, "GOMP_parallel"), reinterpret_cast<void *>(&GOMP_parallel));
}

// On Weft's threads, on an embedder's, and on the caller's alone; with a thread that other code has left with
// a team of four to open.
TEST(OpenMPTeam, ProductsOpenNone) {
  const int before = teams, threads = omp_get_max_threads();
  omp_set_num_threads(4);
  FreshThreads fresh;
  for (Executor *const own : {static_cast<Executor *>(nullptr), static_cast<Executor *>(&fresh)}) {
    set_executor(own);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64})
      for (const bool transposed : {false, true})
        for (const auto &[batch, m, n, k] : {std::array<int64_t, 4>{1, 300, 200, 100},
                                             {1, 1, 700, 1500},
                                             {1, 8, 16, 30000},
                                             {6, 64, 64, 64},
                                             {1, 64, 512, 784}})
          multiply(product(dtype, batch, m, n, k, transposed));
  }
  set_executor(nullptr);
  EXPECT_EQ(teams, before);
  EXPECT_EQ(omp_get_max_threads(), 4);
  omp_set_num_threads(threads);
  // An embedder's threads had blocks of all but the smallest to compute.
  EXPECT_GT(fresh.handed_out, 50);
}

} // namespace
