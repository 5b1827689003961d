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

#include "ir/ConvolutionStep.h"
#include "ir/TargetDescription.h"
#include "weft/dtype.hpp"
#include "weft/status.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
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

/// One of the dimensions that an index counts through, and its stride in elements.
struct CountedDim {
  int64_t extent = 1, stride = 0;
};

/// A convolution as a product for each group: m counts outputs, n images and places, k channels and the
/// elements of a window. a has the weights, b the images, whose windows are read where they lie: step k of a
/// window and column n meet in an element, or outside of the image, where 0 is read.
///
/// If zeros lie between the elements of images (a base dilation), the places with one remainder meet a part
/// of the window alone, and without zeros: they are a matrix of their own, beside those of the groups.
/// `places` and `window` are then the most that a remainder has.
struct CudaWindows {
  /// The elements of the window that places of one remainder meet: `count` of them from `first` on. The first
  /// meets element `begin` + q stride of the image in the q-th of these places.
  struct Part {
    int64_t first = 0, count = 0, begin = 0;
  };
  struct Dim {
    int64_t extent = 1, window = 1, places = 1, stride = 1, low = 0, dilation = 1;
    int64_t elements = 0; ///< from an element of the image to the next
    /// With zeros in any dimension: a part for each remainder, from an element of a part to the next in the
    /// window, from an element of the window to the next in the weights, all places, and from a place to the
    /// next in the result.
    std::vector<Part> parts = {};
    int64_t step = 1, weights = 0, allPlaces = 0, result = 0;

    /// Whether each place has its whole window inside of the image.
    bool isInside() const {
      const auto isWhole = [this](int64_t begin, int64_t count) {
        return begin >= 0 && begin + (places - 1) * stride + (count - 1) * dilation < extent;
      };
      return parts.empty() ? isWhole(-low, window)
                           : std::all_of(parts.begin(), parts.end(), [&](const Part &each) {
                               return each.count == 0 || isWhole(each.begin, each.count);
                             });
    }
  };
  std::vector<Dim> dims;                      ///< one to three
  int64_t imageStride = 0, channelStride = 0; ///< of b, in elements
  int64_t channelWeights = 0;                 ///< with zeros: from a channel to the next in the weights
  int64_t offsetA = 0, offsetB = 0;           ///< of the first element
  /// What k counts through in the weights, and n in the result: the outermost dimension first, whose extent
  /// says nothing. Neighbours that are one line of memory are one dimension.
  std::vector<CountedDim> steps, columns;
  std::vector<ir::ConvolutionStep> epilogue; ///< rounded one by one

  /// Whether zeros lie between the elements of images.
  bool hasZeros() const { return !dims.empty() && !dims.front().parts.empty(); }
  /// The matrices of a group.
  int64_t remainders() const {
    int64_t count = 1;
    for (const Dim &dim : dims)
      count *= std::max<int64_t>(static_cast<int64_t>(dim.parts.size()), 1);
    return count;
  }
  int64_t windowSize() const {
    int64_t size = 1;
    for (const Dim &dim : dims)
      size *= dim.window;
    return size;
  }
  int64_t placeCount() const {
    int64_t count = 1;
    for (const Dim &dim : dims)
      count *= dim.places;
    return count;
  }
  /// Operands of the epilogue.
  size_t besideCount() const {
    return static_cast<size_t>(std::count_if(epilogue.begin(), epilogue.end(), ir::readsOperand));
  }
  /// Whether neighbours in k, and not in n, are what neighbouring threads read: of whichever more are
  /// neighbours in memory.
  bool readsAlongK() const {
    const Dim &last = dims.back();
    const auto run = [&](int64_t count, int64_t apart) {
      const int64_t distance = apart * (last.elements < 0 ? -last.elements : last.elements);
      return distance == 0 ? 1 : (count + distance - 1) / distance;
    };
    return run(last.window, last.dilation) > run(last.places, last.stride);
  }
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
  /// Of a convolution, whose batch are groups. The strides of a along k and of c along n are then those of
  /// the innermost dimensions of steps and columns; those of b are 1 in the direction that is read together,
  /// and 0 in the other. It has no bias, residual and relu but in the epilogue of its windows.
  std::optional<CudaWindows> windows;

  /// The type of the result and of the residual.
  DType resultType() const {
    const bool isWide = windows && windows->epilogue == std::vector{ir::ConvolutionStep::wide};
    return isWide ? DType::f32 : dtype;
  }

  /// Whether each sum has a multiple of `by` steps.
  bool hasWholeSteps(int64_t by) const;

  /// The extents of a matrix and all strides. Those that are parameters of a launch follow its pointers,
  /// which are a, b, the bias, the residual (or what the epilogue of windows reads) and c; both in this
  /// order.
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
  int64_t tabled = 0;     ///< columns whose places in images are in shared memory: none, or blockN

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
    return stages * (tileA() + tileB()) * static_cast<int64_t>(itemsize(dtype)) + tableBytes();
  }
  /// An offset, and an int for each of three extents.
  int64_t tableBytes() const { return tabled * (wideIndex ? 24 : 16); }
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
