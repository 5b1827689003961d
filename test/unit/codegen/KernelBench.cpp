//===- KernelBench.cpp - Speed of generated kernels beside plain loops ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread. Bytes are those of unique operands and results; "copy" is a streaming copy of 64 MB in the same
// run.
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdio>
#include <immintrin.h>
#include <vector>

using namespace weft;
using namespace weft::testing;

namespace {

template <typename Fn> double best(int repeats, Fn fn) {
  double least = 1e30;
  for (int i = 0; i < repeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    fn();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

__attribute__((target("avx512f"))) void copyStreaming(const float *from, float *to, size_t count) {
  for (size_t i = 0; i < count; i += 16)
    _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
  _mm_sfence();
}

/// x.T + y in blocks of 32 x 32, as one would write it by hand.
__attribute__((target("avx512f"))) void transposeByHand(const float *x, const float *y, float *z, size_t n) {
  for (size_t i = 0; i < n; i += 32)
    for (size_t j = 0; j < n; j += 32)
      for (size_t a = i; a < i + 32; ++a)
        for (size_t b = j; b < j + 32; ++b)
          z[a * n + b] = x[b * n + a] + y[a * n + b];
}

struct Work {
  const char *name;
  ir::FusionKind kind;
  double bytes;
  const char *text;
};

const Work works[] = {
    {"x*2 + y*y - x, 16M", ir::FusionKind::loop, 3 * 4.0 * (1 << 24),
     R"(weft.func @main(%x: tensor<16777216xf32, #cpu>, %y: tensor<16777216xf32, #cpu>) -> tensor<16777216xf32, #cpu> {
  %c = weft.constant dense<2.0> : tensor<16777216xf32, #cpu>
  %0 = weft.mul %x, %c : tensor<16777216xf32, #cpu>
  %1 = weft.mul %y, %y : tensor<16777216xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<16777216xf32, #cpu>
  %3 = weft.sub %2, %x : tensor<16777216xf32, #cpu>
  weft.return %3 : tensor<16777216xf32, #cpu>
})"},
    {"relu((x + row) * col), 4096^2", ir::FusionKind::loop, 2 * 4.0 * (1 << 24),
     R"(weft.func @main(%x: tensor<4096x4096xf32, #cpu>, %r: tensor<4096xf32, #cpu>, %k: tensor<4096xf32, #cpu>) -> tensor<4096x4096xf32, #cpu> {
  %c = weft.constant dense<0.0> : tensor<4096x4096xf32, #cpu>
  %0 = weft.broadcast_in_dim %r, dims = [1] : tensor<4096xf32, #cpu> -> tensor<4096x4096xf32, #cpu>
  %1 = weft.broadcast_in_dim %k, dims = [0] : tensor<4096xf32, #cpu> -> tensor<4096x4096xf32, #cpu>
  %2 = weft.add %x, %0 : tensor<4096x4096xf32, #cpu>
  %3 = weft.mul %2, %1 : tensor<4096x4096xf32, #cpu>
  %4 = weft.max %3, %c : tensor<4096x4096xf32, #cpu>
  weft.return %4 : tensor<4096x4096xf32, #cpu>
})"},
    {"x.T + y, 4096^2", ir::FusionKind::loop, 3 * 4.0 * (1 << 24),
     R"(weft.func @main(%x: tensor<4096x4096xf32, #cpu>, %y: tensor<4096x4096xf32, #cpu>) -> tensor<4096x4096xf32, #cpu> {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<4096x4096xf32, #cpu>
  %1 = weft.add %0, %y : tensor<4096x4096xf32, #cpu>
  weft.return %1 : tensor<4096x4096xf32, #cpu>
})"},
    {"softmax, 8192 x 1024", ir::FusionKind::row, 2 * 4.0 * (1 << 23),
     R"(weft.func @main(%x: tensor<8192x1024xf32, #cpu>) -> tensor<8192x1024xf32, #cpu> {
  %0 = weft.rmax %x, dims = [1] : tensor<8192x1024xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [0] : tensor<8192xf32, #cpu> -> tensor<8192x1024xf32, #cpu>
  %2 = weft.sub %x, %1 : tensor<8192x1024xf32, #cpu>
  %3 = weft.exp %2 : tensor<8192x1024xf32, #cpu>
  %4 = weft.sum %3, dims = [1] : tensor<8192x1024xf32, #cpu>
  %5 = weft.broadcast_in_dim %4, dims = [0] : tensor<8192xf32, #cpu> -> tensor<8192x1024xf32, #cpu>
  %6 = weft.div %3, %5 : tensor<8192x1024xf32, #cpu>
  weft.return %6 : tensor<8192x1024xf32, #cpu>
})"},
    {"column sum of squares, 8192 x 1024", ir::FusionKind::column, 4.0 * (1 << 23),
     R"(weft.func @main(%x: tensor<8192x1024xf32, #cpu>) -> tensor<1024xf32, #cpu> {
  %0 = weft.mul %x, %x : tensor<8192x1024xf32, #cpu>
  %1 = weft.sum %0, dims = [0] : tensor<8192x1024xf32, #cpu>
  weft.return %1 : tensor<1024xf32, #cpu>
})"},
    {"row sum of squares, 8192 x 1024", ir::FusionKind::row, 4.0 * (1 << 23),
     R"(weft.func @main(%x: tensor<8192x1024xf32, #cpu>) -> tensor<8192xf32, #cpu> {
  %0 = weft.mul %x, %x : tensor<8192x1024xf32, #cpu>
  %1 = weft.sum %0, dims = [1] : tensor<8192x1024xf32, #cpu>
  weft.return %1 : tensor<8192xf32, #cpu>
})"},
    {"dropout mask, 4M", ir::FusionKind::loop, 2 * 4.0 * (1 << 22),
     R"(weft.func @main(%x: tensor<4194304xf32, #cpu>, %k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>) -> tensor<4194304xf32, #cpu> {
  %0, %1 = weft.rng_bits_philox %k, %c, shape = [4194304] : tensor<i64, #cpu>
  %2 = weft.constant dense<0> : tensor<4194304xi32, #cpu>
  %3 = weft.lt %0, %2 : tensor<4194304xi32, #cpu>
  %4 = weft.constant dense<0.0> : tensor<4194304xf32, #cpu>
  %5 = weft.select %3, %x, %4 : tensor<4194304xi1, #cpu>, tensor<4194304xf32, #cpu>
  weft.return %5 : tensor<4194304xf32, #cpu>
})"},
};

} // namespace

int main(int argc, char **argv) {
  size_t count = size_t(1) << 24;
  std::vector<float> storage(3 * count + 64, 1.0f);
  float *a = reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
  double copy = 0;
  codegen::CpuTarget v4{codegen::CpuTarget::v4};
  if (canRun(v4)) {
    copy = 2 * 4.0 * count / best(8, [&] { copyStreaming(a, a + count, count); });
    std::printf("%-40s %8.2f GB/s\n", "copy, streaming", copy * 1e-9);
    double hand = best(5, [&] { transposeByHand(a, a + count, a + 2 * count, 4096); });
    std::printf("%-40s %8.2f GB/s\n", "x.T + y by hand, 32 x 32 blocks", 3 * 4.0 * count / hand * 1e-9);
  }
  for (const Work &work : works) {
    if (argc > 1 && std::string(work.name).find(argv[1]) == std::string::npos)
      continue;
    FusedProgram program(work.text, work.kind);
    auto arguments = program.randomArguments(1);
    for (auto target : runnableTargets()) {
      double seconds = program.time(arguments, target, 8);
      std::printf("%-40s %8.2f GB/s %5.2f ms %s\n", work.name, work.bytes / seconds * 1e-9, seconds * 1e3,
                  target.cpu());
    }
    if (argc > 2)
      std::printf("%s\n", program.kernelText.c_str());
  }
}
