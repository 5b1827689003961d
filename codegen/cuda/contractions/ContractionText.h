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

inline constexpr const char *integerText = R"(// Sums of unsigned integers wrap.
__device__ __forceinline__ $S weft_widen($T x) { return ($S)x; }
__device__ __forceinline__ $T weft_narrow($S x) { return ($T)x; }
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

//===----------------------------------------------------------------------===//
// The block's place
//===----------------------------------------------------------------------===//

inline constexpr const char *placeText = R"(
  // Blocks that run together have neighbouring tiles: eight tiles down, then to the right.
  const index tilesM = (m + blockM - 1) / blockM, tilesN = (n + blockN - 1) / blockN;
  const index tilesOfBatch = tilesM * tilesN, tileOfBatch = $BLOCK % tilesOfBatch;
  const long long matrix = $BLOCK / tilesOfBatch;
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
      const int $LINE = chunk / ($INNER / vector$X), inner = chunk % ($INNER / vector$X) * vector$X;
$ORDER)";
/// Of eight rows, those that are written together have all banks between them: their pitch is an odd number
/// of accesses of 16 bytes.
inline constexpr const char *orderText =
    R"(      const int outer = line / 8 * 8 + line % $ROWS * (8 / $ROWS) + line % 8 / $ROWS;
)";
inline constexpr const char *guardText = R"(      if (chunk >= $OUTER * $INNER / vector$X)
        break;
)";

inline constexpr const char *copyText = R"(
  // The next tile of $x, $OUTER x $INNER elements, to a place in shared memory.
  auto copy$X = [&](index k0, int slot) {
$BEFORE$CHUNK$WHERE      const index valid = $VALID;
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
$BEFORE$CHUNK$WHERE      const index valid = $VALID;
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
$WHOLE#pragma unroll $UNROLL
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

/// With zeros between the elements of images, weights meet elements alone. The product of an infinite weight
/// and nothing is NaN, so sums that are NaN are added again, without what lies outside.
inline constexpr const char *againText = R"(
  // An infinite weight, or a NaN, meets elements of images alone: sums that are NaN are added again without what lies outside.
  bool again = false;
#pragma unroll
  for (int i = 0; i < $COUNT; ++i)
    again |= ((const $S *)sum)[i] != ((const $S *)sum)[i];
  if (again) {
#pragma unroll 1
    for (int at = 0; at < $COUNT; ++at) {
      const index row = m0 + $ROW;
      if (row >= m)
        continue;
      const weft_place place = placeOf(n0 + $COLUMN); // a column behind the last one has nothing inside
      $S total = 0;
#pragma unroll 1
      for (index p = 0; p < k; ++p) {
        const weft_place step = stepOf(p);
        if (isInside(place, step))
          total = $FMA(weft_widen(a[row * aM + stepOfA(p)]), weft_widen(b[place.at + step.at]), total);
      }
#pragma unroll
      for (int i = 0; i < $COUNT; ++i)
        if (i == at && ((const $S *)sum)[i] != ((const $S *)sum)[i])
          (($S *)sum)[i] = total;
    }
  }
)";

inline constexpr const char *writeText = R"(
  c += matrix * cBatch;
$RESIDUAL  auto write = [&](index row, index column, const $S *sums) {
$OUTSIDE    const auto at = row * cM + $COLUMN;
    weft_vector<$RESULT, vectorC> result;
$READ#pragma unroll
    for (int l = 0; l < vectorC; ++l) {
      $S value = sums[l];
$EPILOGUE      result.at[l] = $STORED;
    }
    *(weft_vector<$RESULT, vectorC> *)(c + at) = result;
  };
)";

inline constexpr const char *writePlainText = R"(#pragma unroll
  for (int i = 0; i < threadM; ++i)
#pragma unroll
    for (int j = 0; j < threadN; j += vectorC)
      write(m0 + rowOf(i), n0 + columnOf(j), &sum[i][j]);
}
)";
/// Where a lane writes no more columns than it has.
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
/// Where a lane writes more. Sums are exchanged, and not what becomes of them, so that the residual is read
/// in such accesses, too.
inline constexpr const char *writeExchangedText =
    R"(  // A lane has two columns of two rows of each tile. The lanes of a row exchange them until each has vectorC of a tile.
  constexpr int lanes = vectorC / 2;
#pragma unroll
  for (int i = 0; i < rowsOfWarp * 2; ++i)
#pragma unroll
    for (int j = 0; j < columnsOfWarp; j += lanes) {
      $S sums[vectorC];
#pragma unroll
      for (int l = 0; l < 2; ++l) {
        $S part[lanes];
#pragma unroll
        for (int p = 0; p < lanes; ++p)
          part[p] = sum[i / 2][j + p][i % 2 * 2 + l];
        weft_exchange(part);
#pragma unroll
        for (int p = 0; p < lanes; ++p)
          sums[p * 2 + l] = part[p];
      }
      write(m0 + warpM0 + i * 8 + lane / 4, n0 + warpN0 + (j + lane % lanes) * 8 + lane % 4 / lanes * vectorC, sums);
    }
}
)";

} // namespace weft::codegen::contraction

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_CONTRACTIONTEXT_H
