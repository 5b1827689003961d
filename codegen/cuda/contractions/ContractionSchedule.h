//===- ContractionSchedule.h - The numbers of a product's kernel -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a contraction is for a GPU, and the schedule of its kernel: every number that the text depends on. The
// choice is a pure function of the description and the device. A schedule is proven before a kernel is made
// of it, whoever chose it.
//
// No schedule changes a bit of a result. On plain units, each element is one chain of fused multiply-adds
// over increasing k that starts at zero, as on a CPU (runtime/gemm/Gemm.h). With `mma`, each element is
// one chain of instructions over increasing k, each of which adds 16 products (32 of i8 and ui8).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_CONTRACTIONSCHEDULE_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_CONTRACTIONSCHEDULE_H

#include "ir/TargetDescription.h"
#include "weft/dtype.hpp"
#include "weft/status.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::codegen {

/// An extent or a stride: a number in the text of the kernel, or a parameter of each launch.
struct Extent {
  int64_t value = 1;        ///< of a parameter: the largest that it may have
  bool isParameter = false; ///< which is of type `long long`
  int64_t divisor = 1;      ///< of a parameter: a number that divides it

  static Extent number(int64_t value) { return {value, false, 1}; }
  static Extent parameter(int64_t largest, int64_t divisor = 1) { return {largest, true, divisor}; }
  bool is(int64_t number) const { return !isParameter && value == number; }
  /// Whether each value is a multiple of `by`.
  bool isMultipleOf(int64_t by) const { return (isParameter ? divisor : value) % by == 0; }
};

/// c[b,m,n] = sum over k of a[b,m,k] * b[b,k,n] (+ bias[n]) (+ residual[b,m,n]) (relu), as in
/// runtime/gemm/Contraction.h. f16 and bf16 are added up in f32, to which bias and residual are added, and
/// rounded once. Integers wrap. A NaN stays one. Strides are in elements, and none is negative.
struct CudaContraction {
  DType dtype = DType::f32;
  Extent batch, m, n, k;
  std::array<Extent, 3> aStrides; ///< batch, m, k
  std::array<Extent, 3> bStrides; ///< batch, k, n
  std::array<Extent, 3> cStrides; ///< batch, m, n: of the result and of the residual
  bool bias = false, residual = false, relu = false;
  /// Bytes: the addresses of a, b, and both of c and the residual are multiples of it.
  int64_t aAlignment = 16, bAlignment = 16, cAlignment = 16;

  /// The extents of a matrix and all strides. Those that are parameters of a launch follow its pointers,
  /// which are a, b, the bias, the residual and c; both in this order.
  std::array<const Extent *, 12> sizes() const {
    return {&m,           &n,           &k,           &aStrides[0], &aStrides[1], &aStrides[2],
            &bStrides[0], &bStrides[1], &bStrides[2], &cStrides[0], &cStrides[1], &cStrides[2]};
  }
};

/// How a tile of an operand comes from global to shared memory.
struct TileCopy {
  bool alongK = true;  ///< neighbours in shared memory are neighbours in k; else in m, or in n
  bool turned = false; ///< neighbours in global memory are those of the other dimension
  bool async = false;  ///< by cp.async; else through registers
  bool early = false;  ///< through registers, which are read before and stored after the products of a step
  int64_t vector = 1;  ///< elements of one access of global memory
  int64_t pad = 0;     ///< elements between the rows of the tile
};

struct ContractionSchedule {
  bool matrixUnits = false; ///< mma.sync; else fused multiply-adds
  int64_t blockM = 0, blockN = 0, blockK = 0;
  int64_t warpM = 0, warpN = 0;
  int64_t stages = 0;   ///< tiles of each operand in shared memory
  int64_t resident = 1; ///< blocks that a multiprocessor has registers and shared memory for, at least
  int64_t depth = 1;    ///< plain units: steps of k for which a thread reads its operands together
  int64_t unroll = 1;   ///< plain units: turns of the loop over such steps that are written out
  int64_t vectorC = 1;  ///< elements of one access of the result and the residual
  TileCopy a, b;
  bool wideIndex = false; ///< offsets within an operand need 64 bits

  int64_t threads() const { return blockM / warpM * (blockN / warpN) * 32; }
  /// Elements from a row of a tile to the next.
  int64_t pitchA() const { return (a.alongK ? blockK : blockM) + a.pad; }
  int64_t pitchB() const { return (b.alongK ? blockK : blockN) + b.pad; }
  /// Elements of one tile.
  int64_t tileA() const { return (a.alongK ? blockM : blockK) * pitchA(); }
  int64_t tileB() const { return (b.alongK ? blockN : blockK) * pitchB(); }
  static constexpr int64_t matrixColumns = 2; ///< with mma, columns beside each other that a lane has
  /// Whether the lanes of a row of the result exchange their columns, to write more of them at once.
  bool exchanges() const { return matrixUnits && vectorC > matrixColumns; }
  /// Bytes of the block's shared memory, which each launch asks for.
  int64_t sharedBytes(DType dtype) const {
    return stages * (tileA() + tileB()) * static_cast<int64_t>(itemsize(dtype));
  }
  /// "128x128x32, warps 32x64, 2 stages, ..": all numbers.
  std::string str() const;
};

/// The schedule for a device; it is proven. An error for contractions that no kernel computes. If kernels
/// were made before, and so many of them spilled registers, it is the next of a list, and the first one again
/// at its end.
Expected<ContractionSchedule> chooseContractionSchedule(const CudaContraction &contraction,
                                                        const ir::TargetDescription &device,
                                                        size_t spilled = 0);

/// The schedules to try if the kernel of the first one spills, in order: its tile with fewer resident blocks,
/// for which a thread has more registers, then smaller tiles. They are proven.
std::vector<ContractionSchedule> contractionSchedulesAfterSpill(const ContractionSchedule &first,
                                                                const CudaContraction &contraction,
                                                                const ir::TargetDescription &device);

/// Proves that the kernel of a schedule computes this contraction on this device, and within its limits. An
/// error says which number is wrong.
Status verifyContractionSchedule(const ContractionSchedule &schedule, const CudaContraction &contraction,
                                 const ir::TargetDescription &device);

/// The blocks of a launch whose extents have these values; an error if there are more than a grid may have.
Expected<int64_t> contractionBlocks(const ContractionSchedule &schedule, int64_t batch, int64_t m, int64_t n);

/// Whether the element type is added up by fused multiply-adds in f32 because its own is narrower.
inline bool isHalf(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_CONTRACTIONSCHEDULE_H
