//===- ContractionText.h - The pieces of a product's kernel -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text of which PrintContraction.cpp makes a kernel. `$WORD` stands for what differs.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_CONTRACTIONTEXT_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_CONTRACTIONTEXT_H

namespace weft::codegen::contraction {

//===----------------------------------------------------------------------===//
// Device functions
//===----------------------------------------------------------------------===//

inline constexpr const char *vectorText = R"(// Elements that are accessed together.
template <typename T, int N> struct __align__(sizeof(T) * N) weft_vector {
  T at[N];
};
)";

inline constexpr const char *sameText = R"(__device__ __forceinline__ $S weft_widen($T x) { return x; }
__device__ __forceinline__ $T weft_narrow($S x) { return x; }
)";

inline constexpr const char *integerText = R"(// Sums of unsigned integers wrap.
__device__ __forceinline__ $S weft_widen($T x) { return ($S)x; }
__device__ __forceinline__ $T weft_narrow($S x) { return ($T)x; }
)";

inline constexpr const char *f16Text = R"(__device__ __forceinline__ float weft_widen(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
__device__ __forceinline__ unsigned short weft_narrow(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
)";

inline constexpr const char *bf16Text = R"(__device__ __forceinline__ float weft_widen(unsigned short bits) {
  return __uint_as_float((unsigned)bits << 16);
}
// To nearest, ties to even; a NaN stays one.
__device__ __forceinline__ unsigned short weft_narrow(float x) {
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
)";

inline constexpr const char *addProductReal = R"(__device__ __forceinline__ $S weft_fma($S x, $S y, $S sum) {
  return $FMA(x, y, sum);
}
)";

inline constexpr const char *addProductInteger =
    R"(__device__ __forceinline__ $S weft_fma($S x, $S y, $S sum) {
  return x * y + sum;
}
)";

inline constexpr const char *asyncText =
    R"(// N elements to shared memory, behind this thread's back: the first `valid` from global memory, then zeros.
template <int N, typename Index>
__device__ __forceinline__ void weft_copy($T *to, const $T *from, Index valid) {
  constexpr int bytes = N * (int)sizeof($T);
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const int count = valid <= 0 ? 0 : valid >= N ? bytes : (int)valid * (int)sizeof($T);
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(count) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(bytes), "r"(count)
                 : "memory");
}
// The copies since the last commit are a group; wait leaves the last `groups` groups under way.
__device__ __forceinline__ void weft_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups> __device__ __forceinline__ void weft_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
)";

inline constexpr const char *fetchText = R"(// N elements from global memory: the first `valid`, then zeros.
template <int N, typename Index>
__device__ __forceinline__ weft_vector<$T, N> weft_fetch(const $T *from, Index valid) {
  if (valid >= N)
    return *(const weft_vector<$T, N> *)from;
  weft_vector<$T, N> read;
#pragma unroll
  for (int l = 0; l < N; ++l)
    read.at[l] = l < valid ? from[l] : ($T)0;
  return read;
}
)";

inline constexpr const char *loadMatricesText =
    R"(// Four matrices of 8 x 16 bytes; the address of each row is one lane's.
__device__ __forceinline__ void weft_load_matrices(unsigned (&x)[4], const $T *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
}
)";
inline constexpr const char *loadTransposedText = R"(// The same, each matrix transposed.
__device__ __forceinline__ void weft_load_transposed(unsigned (&x)[4], const $T *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
}
)";

inline constexpr const char *multiplyMatricesText = R"(// sum[16][8] += x[16][$DEPTH] y[$DEPTH][8] of a warp.
__device__ __forceinline__ void weft_mma($S (&sum)[4], const unsigned (&x)[4], unsigned y0, unsigned y1) {
  asm("mma.sync.aligned.m16n8k$DEPTH.row.col.$MS.$MT.$MT.$MS "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+$R"(sum[0]), "+$R"(sum[1]), "+$R"(sum[2]), "+$R"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
}
)";

//===----------------------------------------------------------------------===//
// The block's place
//===----------------------------------------------------------------------===//

inline constexpr const char *placeText = R"(
  // Blocks that run together have neighbouring tiles: eight tiles down, then to the right.
  const index tilesM = (m + blockM - 1) / blockM, tilesN = (n + blockN - 1) / blockN;
  const index tilesOfBatch = tilesM * tilesN, tileOfBatch = (index)blockIdx.x % tilesOfBatch;
  const long long matrix = (index)blockIdx.x / tilesOfBatch;
  const index strip = tileOfBatch / (8 * tilesN), inStrip = tileOfBatch % (8 * tilesN);
  const index height = min(tilesM - 8 * strip, (index)8);
  const index m0 = (8 * strip + inStrip % height) * blockM, n0 = inStrip / height * blockN;
  a += matrix * aBatch;
  b += matrix * bBatch;
  const int thread = (int)threadIdx.x, lane = thread % 32;
  const int warpM0 = thread / 32 / (blockN / warpN) * warpM, warpN0 = thread / 32 % (blockN / warpN) * warpN;
)";

//===----------------------------------------------------------------------===//
// Copies of tiles; $X is A or B
//===----------------------------------------------------------------------===//

inline constexpr const char *chunkText = R"(#pragma unroll$UNROLL
    for (int i = 0; i < copies$X; ++i) {
      const int chunk = thread + i * threads;
      const int outer = chunk / ($INNER / vector$X), inner = chunk % ($INNER / vector$X) * vector$X;
)";
inline constexpr const char *guardText = R"(      if (chunk >= $OUTER * $INNER / vector$X)
        break;
)";

inline constexpr const char *copyText = R"(
  // The next tile of $x, $OUTER x $INNER elements, to a place in shared memory.
  auto copy$X = [&](index k0, int slot) {
$CHUNK      const index valid = $VALID;
$COPY    }
  };
)";
inline constexpr const char *copyAsyncText =
    R"(      weft_copy<vector$X>(tiles$X + slot * tile$X + outer * pitch$X + inner, $FROM, valid);
)";
inline constexpr const char *copyNowText = R"(      const auto read = weft_fetch<vector$X>($FROM, valid);
)";

inline constexpr const char *fetchedText = R"(
  // The next tile of $x, $OUTER x $INNER elements, to registers, and from there to shared memory.
  weft_vector<$T, vector$X> fetched$X[copies$X];
  auto fetch$X = [&](index k0) {
$CHUNK      const index valid = $VALID;
      fetched$X[i] = weft_fetch<vector$X>($FROM, valid);
    }
  };
  auto store$X = [&](int slot) {
$CHUNK$STORE    }
  };
)";
inline constexpr const char *storeText =
    R"(      *(weft_vector<$T, vector$X> *)(tiles$X + slot * tile$X + outer * pitch$X + inner) = $READ;
)";
inline constexpr const char *storeTurnedText = R"(#pragma unroll
      for (int l = 0; l < vector$X; ++l)
        tiles$X[slot * tile$X + (inner + l) * pitch$X + outer] = $READ.at[l];
)";

//===----------------------------------------------------------------------===//
// Products of one step
//===----------------------------------------------------------------------===//

/// $READA and $READB fill x and y.
inline constexpr const char *plainText = R"(
  // A warp has 4 x 8 threads, each with rows and columns of its own.
  constexpr int threadM = warpM / 4, threadN = warpN / 8;
  const int laneM = lane / 8, laneN = lane % 8;
  auto rowOf = [&](int i) { return warpM0 + $ROW; };
  auto columnOf = [&](int j) { return warpN0 + $COLUMN; };
  $S sum[threadM][threadN] = {};
  auto multiply = [&](int slot, index steps) {
    const $T *tileOfA = tilesA + slot * tileA, *tileOfB = tilesB + slot * tileB;
$WHOLE#pragma unroll 2
    for (int p = 0; p < blockK; p += depth) {
      $T x[threadM][depth], y[threadN][depth];
#pragma unroll
      for (int i = 0; i < threadM; ++i)
$READA#pragma unroll
      for (int j = 0; j < threadN; ++j)
$READB#pragma unroll
      for (int q = 0; q < depth; ++q)
#pragma unroll
        for (int i = 0; i < threadM; ++i)
#pragma unroll
          for (int j = 0; j < threadN; ++j)
            sum[i][j] = weft_fma(weft_widen(x[i][q]), weft_widen(y[j][q]), sum[i][j]);
    }
$REST  };
)";
inline constexpr const char *wholeText = "    if (steps >= blockK) {\n";
/// Steps behind the last are left out, because a zero that is added turns -0 to +0.
inline constexpr const char *restText = R"(      return;
    }
#pragma unroll 1
    for (int p = 0; p < (int)steps; ++p) {
#pragma unroll
      for (int i = 0; i < threadM; ++i) {
        const $S x = weft_widen(tileOfA[$AT_A]);
#pragma unroll
        for (int j = 0; j < threadN; ++j)
          sum[i][j] = weft_fma(x, weft_widen(tileOfB[$AT_B]), sum[i][j]);
      }
    }
)";
inline constexpr const char *readAlongText =
    R"(        *(weft_vector<$T, depth> *)$V[$I] = *(const weft_vector<$T, depth> *)(tileOf$X + $PLACE($I) * pitch$X + p);
)";
inline constexpr const char *readAcrossText = R"(        if ($I % group$X == 0)
#pragma unroll
          for (int q = 0; q < depth; ++q) {
            const auto read = *(const weft_vector<$T, group$X> *)(tileOf$X + (p + q) * pitch$X + $PLACE($I));
#pragma unroll
            for (int l = 0; l < group$X; ++l)
              $V[$I + l][q] = read.at[l];
          }
)";

inline constexpr const char *matrixText = R"(
  // A warp multiplies tiles of 16 x 8. Lane l gives ldmatrix the address of row l % 8 of matrix l / 8.
  constexpr int rowsOfWarp = warpM / 16, columnsOfWarp = warpN / 8;
  const int low = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
  $S sum[rowsOfWarp][columnsOfWarp][4] = {};
  auto multiply = [&](int slot) {
    const $T *tileOfA = tilesA + slot * tileA, *tileOfB = tilesB + slot * tileB;
#pragma unroll
    for (int p = 0; p < blockK; p += $DEPTH) {
      unsigned x[rowsOfWarp][4], y[columnsOfWarp / 2][4];
#pragma unroll
      for (int i = 0; i < rowsOfWarp; ++i)
        $LOADA;
#pragma unroll
      for (int j = 0; j < columnsOfWarp / 2; ++j)
        $LOADB;
#pragma unroll
      for (int i = 0; i < rowsOfWarp; ++i)
#pragma unroll
        for (int j = 0; j < columnsOfWarp; ++j)
          weft_mma(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
  };
)";

//===----------------------------------------------------------------------===//
// The loop over k, and the result
//===----------------------------------------------------------------------===//

inline constexpr const char *loopText = R"(
  // Each turn multiplies the tiles of one slot, while those of `stages - 1` turns later come to another one.
  const index steps = (k + blockK - 1) / blockK;
#pragma unroll
  for (int step = 0; step < stages - 1; ++step) {
    if (step < steps) {
$FIRST    }
$COMMIT  }
  int slot = 0, next = stages - 1;
#pragma unroll 1
  for (index step = 0; step < steps; ++step) {
$WAIT    // What others copied is there, and nobody reads the slot that is filled next.
    __syncthreads();
    const index ahead = step + stages - 1;
    if (ahead < steps) {
$AHEAD    }
$COMMIT    $MULTIPLY;
$STORES    slot = slot + 1 == stages ? 0 : slot + 1;
    next = next + 1 == stages ? 0 : next + 1;
  }
)";

inline constexpr const char *writeText = R"(
  c += matrix * cBatch;
$RESIDUAL  auto write = [&](index row, index column, const $S *sums) {
$OUTSIDE    const auto at = row * cM + column * cN;
    weft_vector<$T, vectorC> result;
$READ#pragma unroll
    for (int l = 0; l < vectorC; ++l) {
      $S value = sums[l];
$EPILOGUE      result.at[l] = weft_narrow(value);
    }
    *(weft_vector<$T, vectorC> *)(c + at) = result;
  };
)";

inline constexpr const char *writePlainText = R"(#pragma unroll
  for (int i = 0; i < threadM; ++i)
#pragma unroll
    for (int j = 0; j < threadN; j += vectorC)
      write(m0 + rowOf(i), n0 + columnOf(j), &sum[i][j]);
}
)";
inline constexpr const char *writeMatrixText = R"(  // A lane has two columns of two rows of each tile.
#pragma unroll
  for (int i = 0; i < rowsOfWarp; ++i)
#pragma unroll
    for (int j = 0; j < columnsOfWarp; ++j)
#pragma unroll
      for (int l = 0; l < 4; l += vectorC)
        write(m0 + warpM0 + i * 16 + l / 2 * 8 + lane / 4, n0 + warpN0 + j * 8 + lane % 4 * 2 + l % 2, &sum[i][j][l]);
}
)";

} // namespace weft::codegen::contraction

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_CONTRACTIONTEXT_H
