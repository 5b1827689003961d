//===- AttentionText.h - The pieces of attention's kernel -------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text of which PrintAttention.cpp makes a kernel. `$WORD` stands for what differs. A block owns rows of the
// first dimension of a tile of scores, and goes over the other dimension; of a kernel that computes dk and
// dv, the first dimension is that of the keys.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_ATTENTION_ATTENTIONTEXT_H
#define WEFT_CODEGEN_CUDA_ATTENTION_ATTENTIONTEXT_H

namespace weft::codegen::attention {

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A copy to shared memory: by cp.async with `weft_copy`, or through registers with `weft_fetch`.
inline constexpr const char *copyText = R"(
// Rows of a matrix, from `first` on, to a tile of count x columns, and zeros where the matrix has none.
template <int count, int columns, int N>
__device__ __forceinline__ void weft_$NAME($T *tile, int pitch, const $T *from, int first, int extent, int width,
                                          index row_stride, index column_stride) {
  constexpr int in_row = columns / N, total = count * in_row;
#pragma unroll $UNROLL
  for (int chunk = (int)threadIdx.x; chunk < total; chunk += threads) {
    const int row = $ROW, column = $COLUMN;
    const int valid = first + row < extent ? width - column : 0;
    $COPY
  }
}
)";
inline constexpr const char *copyAsyncText =
    "// An address has to be aligned even if nothing is read from it.\n"
    "    const $T *const at = valid > 0 ? from + (first + row) * row_stride + column * column_stride : "
    "from;\n"
    "    weft_copy<N>(tile + row * pitch + column, at, valid);";
inline constexpr const char *copyNowText =
    "*(weft_vector<$T, N> *)(tile + row * pitch + column) =\n"
    "        weft_fetch<N>(from + (first + row) * row_stride + column * column_stride, valid);";

/// A warp has $ROW_LANES lanes for each row.
inline constexpr const char *rowText = R"(
// Over the lanes that share a row.
__device__ __forceinline__ float weft_row_sum(float x) {
#pragma unroll
  for (int by = $ROW_LANES / 2; by > 0; by /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, by);
  return x;
}
__device__ __forceinline__ float weft_row_most(float x) {
#pragma unroll
  for (int by = $ROW_LANES / 2; by > 0; by /= 2) {
    const float y = __shfl_xor_sync(0xffffffffu, x, by);
    x = y > x ? y : x;
  }
  return x;
}
)";

//===----------------------------------------------------------------------===//
// Products on plain units
//===----------------------------------------------------------------------===//

inline constexpr const char *plainText = R"(
// A warp has 4 x 8 threads: thread (m, n) of it has rows i * 4 + m and places j * 8 + n of a tile of scores.
__device__ __forceinline__ int weft_own(int i) {
  return (int)threadIdx.x / 32 * own_of_thread * 4 + i * 4 + (int)threadIdx.x % 32 / 8;
}
__device__ __forceinline__ int weft_other(int j) { return j * 8 + (int)threadIdx.x % 8; }
// The column of a result that a thread has in place j: groups of neighbours, then those of the next eight threads.
template <int group> __device__ __forceinline__ int weft_column(int j) {
  return (j / group * 8 + (int)threadIdx.x % 8) * group + j % group;
}
template <int I, int J> __device__ __forceinline__ float &weft_cell(float (&tile)[I][J], int i, int j) {
  return tile[i][j];
}
// tile = a b^T, of rows with `width` columns.
template <int width, int I, int J>
__device__ __forceinline__ void weft_scores(float (&tile)[I][J], const $T *a, const $T *b, int pitch) {
  constexpr int depth = 16 / sizeof($T);
#pragma unroll
  for (int i = 0; i < I; ++i)
#pragma unroll
    for (int j = 0; j < J; ++j)
      tile[i][j] = 0;
#pragma unroll 1
  for (int p = 0; p < width; p += depth) {
    weft_vector<$T, depth> x[I];
#pragma unroll
    for (int i = 0; i < I; ++i)
      x[i] = *(const weft_vector<$T, depth> *)(a + weft_own(i) * pitch + p);
#pragma unroll
    for (int j = 0; j < J; ++j) {
      const auto y = *(const weft_vector<$T, depth> *)(b + weft_other(j) * pitch + p);
#pragma unroll
      for (int q = 0; q < depth; ++q)
#pragma unroll
        for (int i = 0; i < I; ++i)
          tile[i][j] = fmaf(weft_widen(x[i].at[q]), weft_widen(y.at[q]), tile[i][j]);
    }
  }
}

// result += tile b. Threads of a warp exchange the tile through shared memory.
template <int group, int I, int J, int W>
__device__ __forceinline__ void weft_accumulate(float (&result)[I][W], const float (&tile)[I][J], float *scores,
                                                const $T *b, int pitch) {
  __syncwarp();
#pragma unroll
  for (int i = 0; i < I; ++i)
#pragma unroll
    for (int j = 0; j < J; ++j)
      scores[weft_own(i) * score_pitch + weft_other(j)] = tile[i][j];
  __syncwarp();
#pragma unroll 1
  for (int p = 0; p < others; p += 4) {
    weft_vector<float, 4> x[I];
#pragma unroll
    for (int i = 0; i < I; ++i)
      x[i] = *(const weft_vector<float, 4> *)(scores + weft_own(i) * score_pitch + p);
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
      for (int j = 0; j < W; j += group) {
        const auto y = *(const weft_vector<$T, group> *)(b + (p + q) * pitch + weft_column<group>(j));
#pragma unroll
        for (int l = 0; l < group; ++l)
#pragma unroll
          for (int i = 0; i < I; ++i)
            result[i][j + l] = fmaf(x[i].at[q], weft_widen(y.at[l]), result[i][j + l]);
      }
  }
}
)";

//===----------------------------------------------------------------------===//
// Products on matrix units
//===----------------------------------------------------------------------===//

inline constexpr const char *matrixText = R"(
// A warp has 16 rows. Its lanes have those parts of a tile that mma gives them: of each 8 columns, two beside each
// other in rows l / 4 and l / 4 + 8.
__device__ __forceinline__ int weft_own(int i) {
  return (int)threadIdx.x / 32 * 16 + i * 8 + (int)threadIdx.x % 32 / 4;
}
__device__ __forceinline__ int weft_other(int j) { return j / 2 * 8 + (int)threadIdx.x % 4 * 2 + j % 2; }
template <int group> __device__ __forceinline__ int weft_column(int j) { return weft_other(j); }
template <int J> __device__ __forceinline__ float &weft_cell(float (&tile)[J][4], int i, int j) {
  return tile[j / 2][i * 2 + j % 2];
}
// tile = a b^T, of rows with `width` columns. Lane l gives ldmatrix the address of row l % 8 of matrix l / 8.
template <int width, int J>
__device__ __forceinline__ void weft_scores(float (&tile)[J][4], const $T *a, const $T *b, int pitch) {
  const int lane = (int)threadIdx.x % 32, low = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
  const $T *const row = a + ((int)threadIdx.x / 32 * 16 + first + low) * pitch + second;
#pragma unroll
  for (int j = 0; j < J; ++j)
#pragma unroll
    for (int l = 0; l < 4; ++l)
      tile[j][l] = 0;
#pragma unroll 4
  for (int p = 0; p < width; p += 16) {
    unsigned x[4];
    weft_load_matrices(x, row + p);
#pragma unroll
    for (int j = 0; j < J; j += 2) {
      unsigned y[4];
      weft_load_matrices(y, b + (j * 8 + second + low) * pitch + p + first);
      weft_mma(tile[j], x, y[0], y[1]);
      weft_mma(tile[j + 1], x, y[2], y[3]);
    }
  }
}
)";

/// Under fast numerics.
inline constexpr const char *packF16Text = R"(
__device__ __forceinline__ unsigned weft_pack(float low, float high) {
  unsigned x;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(high), "f"(low));
  return x;
}
)";
inline constexpr const char *packBf16Text = R"(
__device__ __forceinline__ unsigned weft_pack(float low, float high) {
  unsigned x;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(high), "f"(low));
  return x;
}
)";

inline constexpr const char *accumulateRoundedText = R"(
// result += tile b. A tile is rounded, and is then an operand of mma as its lanes have it.
template <int group, int J, int W>
__device__ __forceinline__ void weft_accumulate(float (&result)[W][4], const float (&tile)[J][4], float *,
                                                const $T *b, int pitch) {
  const int lane = (int)threadIdx.x % 32, low = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
#pragma unroll
  for (int p = 0; p < J; p += 2) {
    const unsigned x[4] = {weft_pack(tile[p][0], tile[p][1]), weft_pack(tile[p][2], tile[p][3]),
                           weft_pack(tile[p + 1][0], tile[p + 1][1]), weft_pack(tile[p + 1][2], tile[p + 1][3])};
#pragma unroll
    for (int j = 0; j < W; j += 2) {
      unsigned y[4];
      weft_load_transposed(y, b + (p * 8 + first + low) * pitch + j * 8 + second);
      weft_mma(result[j], x, y[0], y[1]);
      weft_mma(result[j + 1], x, y[2], y[3]);
    }
  }
}
)";

inline constexpr const char *accumulateText = R"(
// sum[16][8] += x[16][8] y[8][8] of a warp.
__device__ __forceinline__ void weft_mma_tf32(float (&sum)[4], const unsigned (&x)[4], unsigned y0, unsigned y1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
}

// result += tile b. Each number of a tile is the sum of two of tf32, which have 11 bits each; halves are such numbers.
// Neither of both is 0 unless the number is below 2^-136, because 0 times infinity would be NaN. The order of the sum is
// that in which lanes have the places of a tile: 0, 2, 4, 6, 1, 3, 5, 7 of each eight.
template <int group, int J, int W>
__device__ __forceinline__ void weft_accumulate(float (&result)[W][4], const float (&tile)[J][4], float *,
                                                const $T *b, int pitch) {
  const int lane = (int)threadIdx.x % 32, low = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
#pragma unroll
  for (int p = 0; p < J; p += 2) {
    unsigned x[2][4], rest[2][4];
#pragma unroll
    for (int l = 0; l < 8; ++l) {
      const float number = tile[p + l / 4][l % 2 * 2 + l % 4 / 2];
      const unsigned bits = __float_as_uint(number), upper = (bits - (bits << 1 != 0)) & 0xffffe000u;
      x[l / 4][l % 4] = upper;
      rest[l / 4][l % 4] = __float_as_uint(number - __uint_as_float(upper));
    }
#pragma unroll
    for (int j = 0; j < W; j += 2) {
      unsigned y[4];
      weft_load_transposed(y, b + (p * 8 + first + low) * pitch + j * 8 + second);
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        const unsigned y0 = __float_as_uint(weft_widen((unsigned short)y[l]));
        const unsigned y1 = __float_as_uint(weft_widen((unsigned short)(y[l] >> 16)));
        weft_mma_tf32(result[j + l / 2], x[l % 2], y0, y1);
        weft_mma_tf32(result[j + l / 2], rest[l % 2], y0, y1);
      }
    }
  }
}
)";

//===----------------------------------------------------------------------===//
// Scores and results
//===----------------------------------------------------------------------===//

inline constexpr const char *lowestText =
    "__device__ __forceinline__ float weft_lowest() { return __uint_as_float(0xff800000u); }\n";

inline constexpr const char *scoreText = R"(
// The score of a row and a key from the product of their features.
__device__ __forceinline__ float weft_score(float product, int row, int key$MASK_PARAMETER) {
$HIDDEN  const float score = product * $SCALE;
$MASKED}
)";

inline constexpr const char *writeText = R"(
// Rows of a result, times a factor for each. NVRTC would divide other stores than __stwb.
template <int group, typename Unit, int width, int I, typename Tile, typename Factor>
__device__ __forceinline__ void weft_write($T *to, Tile &tile, int first, int extent, index row_stride,
                                           index column_stride, Factor factor) {
  constexpr int N = sizeof(Unit) / sizeof($T);
#pragma unroll
  for (int i = 0; i < I; ++i) {
    const int row = first + weft_own(i);
    if (row >= extent)
      continue;
#pragma unroll
    for (int j = 0; j < (int)(sizeof(tile) / sizeof(float) / I); j += N) {
      const int column = weft_column<group>(j);
      if (column >= width)
        continue;
      $T v[N];
#pragma unroll
      for (int l = 0; l < N; ++l)
        v[l] = weft_narrow(weft_cell(tile, i, j + l) * factor(i));
      Unit unit;
      memcpy(&unit, v, sizeof(Unit));
      __stwb((Unit *)(to + row * row_stride + column * column_stride), unit);
    }
  }
}
)";

/// With mma, where more than two columns are written at once.
inline constexpr const char *writeExchangedText = R"(
// Rows of a result, times a factor for each. The lanes of a row exchange their columns, so that each has N beside each
// other.
template <typename Unit, int width, int J, typename Factor>
__device__ __forceinline__ void weft_write_exchanged($T *to, const float (&tile)[J][4], int first, int extent,
                                                     index row_stride, index column_stride, Factor factor) {
  constexpr int N = sizeof(Unit) / sizeof($T), lanes = N / 2;
  const int lane = (int)threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < own_of_thread; ++i) {
    const int row = first + weft_own(i);
#pragma unroll
    for (int j = 0; j < J; j += lanes) {
      unsigned words[lanes];
#pragma unroll
      for (int l = 0; l < lanes; ++l) {
        const float *const two = tile[min(j + l, J - 1)] + i * 2;
        words[l] = weft_narrow(two[0] * factor(i)) | (unsigned)weft_narrow(two[1] * factor(i)) << 16;
      }
      weft_exchange(words);
      const int column = (j + lane % lanes) * 8 + lane / lanes * N;
      if (row >= extent || column >= width)
        continue;
      Unit unit;
      memcpy(&unit, words, sizeof(Unit));
      __stwb((Unit *)(to + row * row_stride + column * column_stride), unit);
    }
  }
}
)";

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// With two stages, the next tile comes to the other slot meanwhile. The first turn computes nothing.
inline constexpr const char *twoStagesText = R"(  int slot = 1;
#pragma unroll 1
  for (int at = begin - others; at < end; at += others) {
$WAIT    __syncthreads(); // what others copied is there, and nobody reads the other slot
    if (at + others < end)
      load(at + others, 1 - slot);
$COMMIT    if (at >= begin) {
$COMPUTE    }
    slot = 1 - slot;
  }
)";
inline constexpr const char *oneStageText = R"(  constexpr int slot = 0;
#pragma unroll 1
  for (int at = begin; at < end; at += others) {
    __syncthreads(); // nobody reads the tiles any more
    load(at, slot);
$COMMIT$WAIT    __syncthreads(); // what others copied is there
$COMPUTE  }
)";

inline constexpr const char *forwardText = R"(
  float result$RESULT = {};
  float most[own_of_thread], total[own_of_thread];
#pragma unroll
  for (int i = 0; i < own_of_thread; ++i) {
    most[i] = weft_lowest();
    total[i] = 0;
  }
  auto load = [&](int first, int slot) {
    $LOAD_K
    $LOAD_V
  };
  constexpr int begin = 0;
  const int end = $END;
  $LOAD_Q
$LOOP
#pragma unroll
  for (int i = 0; i < own_of_thread; ++i) {
    const int row = own0 + weft_own(i);
    if (weft_other(0) == 0 && row < rows)
      lse[row * lse_row] = (most[i] == weft_lowest() ? 0 : most[i]) + weft_log_f32(total[i]);
    total[i] = total[i] == 0 ? 0 : 1 / total[i];
  }
  $WRITE_OUT
)";
inline constexpr const char *forwardComputeText = R"(    float score$TILE;
    weft_scores<feature_columns>(score, own_q, $SLOT_K, feature_pitch);
#pragma unroll
    for (int i = 0; i < own_of_thread; ++i) {
      const int row = own0 + weft_own(i);
      float highest = most[i];
#pragma unroll
      for (int j = 0; j < others_of_thread; ++j) {
        float &s = weft_cell(score, i, j);
        s = weft_score(s, row, at + weft_other(j)$MASK_ARGUMENT);
        highest = s > highest ? s : highest;
      }
      highest = weft_row_most(highest);
      // A row that has seen no key yet is not shifted, so that its exponentials are 0 and not NaN.
      const float shift = highest == weft_lowest() ? 0 : highest;
      float sum = 0;
#pragma unroll
      for (int j = 0; j < others_of_thread; ++j) {
        float &s = weft_cell(score, i, j);
        s = weft_exp_f32(s - shift);
        sum += s;
      }
      const float factor = weft_exp_f32(most[i] - shift);
      most[i] = highest;
      total[i] = total[i] * factor + weft_row_sum(sum);
#pragma unroll
      for (int j = 0; j < $VALUES_OF_THREAD; ++j)
        weft_cell(result, i, j) *= factor;
    }
    weft_accumulate<value_group>(result, score, $SCORES, $SLOT_V, value_pitch);
)";

/// $OWN_A and $OTHER_A have the features, $OWN_B and $OTHER_B the values of the own and the other dimension.
inline constexpr const char *backwardText = R"(
  float sum_a$FEATURES = {};
$SECOND  auto load = [&](int first, int slot) {
    $LOAD_OTHER_A
    $LOAD_OTHER_B
$STATISTICS_OTHER  };
  const int begin = $BEGIN, end = $END;
  $LOAD_OWN_A
  $LOAD_OWN_B
$STATISTICS_OWN$LOOP
  $WRITE
)";
inline constexpr const char *backwardComputeText = R"(    float score$TILE, slope$TILE;
    weft_scores<feature_columns>(score, own_a, $SLOT_A, feature_pitch);
    weft_scores<value_columns>(slope, own_b, $SLOT_B, value_pitch);
#pragma unroll
    for (int i = 0; i < own_of_thread; ++i)
#pragma unroll
      for (int j = 0; j < others_of_thread; ++j) {
        const int row = $ROW, key = $KEY, place = $PLACE;
        float &p = weft_cell(score, i, j), &d = weft_cell(slope, i, j);
        p = weft_exp_f32(weft_score(p, row, key$MASK_ARGUMENT) - shifts[place]);
        d = $SLOPE;
      }
$ACCUMULATE_SECOND    weft_accumulate<feature_group>(sum_a, slope, $SCORES, $SLOT_A, feature_pitch);
)";

inline constexpr const char *statisticsText = R"(
// Of rows from `first` on: what is subtracted from scores, and the sum of out * grad, which is subtracted from the
// gradients of probabilities. A warp has a row at a time.
__device__ __forceinline__ void weft_statistics(int count, int first, const $T *out, const $T *grad, const float *lse,
                                                float *shifts, float *inner) {
  const int lane = (int)threadIdx.x % 32;
  for (int place = (int)threadIdx.x / 32; place < count; place += threads / 32) {
    const int row = first + place;
    float sum = 0, shift = -weft_lowest();
    if (row < rows) {
      for (int column = lane; column < values; column += 32)
        sum = fmaf(weft_widen(out[row * out_row + column * out_column]),
                   weft_widen(grad[row * grad_row + column * grad_column]), sum);
      // If a row sees no key, all its exponentials are 0.
      const float logarithm = lse[row * lse_row];
      shift = logarithm == weft_lowest() ? shift : logarithm;
    }
#pragma unroll
    for (int by = 16; by > 0; by /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, by);
    if (lane == 0) {
      shifts[place] = shift;
      inner[place] = sum;
    }
  }
}
)";

} // namespace weft::codegen::attention

#endif // WEFT_CODEGEN_CUDA_ATTENTION_ATTENTIONTEXT_H
