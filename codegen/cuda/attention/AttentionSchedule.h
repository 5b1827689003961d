//===- AttentionSchedule.h - The numbers of attention's kernel --*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an attention is for a GPU, and the schedule of its kernel: every number that the text depends on. The
// choice is a pure function of the description and the device. A schedule is proven before a kernel is made
// of it, whoever chose it.
//
// A block owns some rows of a matrix of scores, or some keys if it computes dk and dv, and goes over tiles of
// the other dimension. So each sum has one order, which follows from the schedule, and no block adds to what
// another one wrote. The forward kernel keeps the running maximum and sum of each row (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018; Dao, "FlashAttention-2", 2023).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_ATTENTION_ATTENTIONSCHEDULE_H
#define WEFT_CODEGEN_CUDA_ATTENTION_ATTENTIONSCHEDULE_H

#include "ir/Attention.h"
#include "ir/TargetDescription.h"
#include "weft/dtype.hpp"
#include "weft/status.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::codegen {

/// A tensor of an attention, as ir::AttentionPart has it.
struct AttentionOperand {
  std::string name;
  DType dtype = DType::f32;
  ir::AttentionView view;
  int64_t rows = 0, columns = 0; ///< of each batch index
  bool isWritten = false;
  int64_t alignment = 16; ///< bytes: the address of the tensor is a multiple of it
};

/// out = softmax(scale q k^T + mask) v, or its derivative, as in runtime/gemm/Attention.h. Products are added
/// up in f32. With `mma`, probabilities and the gradients of scores are two numbers each, which keep 21 bits
/// or more; with `roundsScores`, they are rounded to the type of the operands before they are multiplied.
struct CudaAttention {
  explicit CudaAttention(ir::AttentionExtents extents) : extents(std::move(extents)) {}

  DType dtype = DType::f32;  ///< f16, bf16 or f32
  std::optional<DType> mask; ///< i1 (true: the key is visible), or `dtype` or f32 (added to the scores)
  ir::AttentionExtents extents;
  bool causal = false, backward = false;
  double scale = 1;
  /// Whether probabilities and the gradients of scores may be rounded to halves before they are multiplied,
  /// as fast numerics allow.
  bool roundsScores = false;
  std::vector<AttentionOperand> operands; ///< in the order of ir::partsOf

  const AttentionOperand *find(llvm::StringRef name) const;
  /// Whether tiles of an operand come to shared memory.
  bool isCopied(const AttentionOperand &operand) const {
    return operand.name == "q" || operand.name == "k" || operand.name == "v" || operand.name == "grad";
  }
};

/// How an operand is read into tiles, or a result written.
struct AttentionAccess {
  int64_t vector = 1; ///< elements of one access
  bool async = false; ///< by cp.async; else through registers
  bool down = false;  ///< neighbouring threads have neighbouring rows; else neighbouring columns
};

struct AttentionSchedule {
  bool matrixUnits = false; ///< mma.sync; else fused multiply-adds
  int64_t warps = 0;        ///< of a block
  int64_t rowsOfThread = 0; ///< of those that a block owns
  int64_t others = 0;       ///< length of a tile of the other dimension
  int64_t stages = 0;       ///< tiles of each operand of the other dimension in shared memory: 1 or 2
  int64_t resident = 1;     ///< blocks of a multiprocessor that the compiler leaves registers for
  bool wideIndex = false;   ///< offsets within an operand need 64 bits
  std::vector<AttentionAccess>
      accesses; ///< of each operand; of operands that are neither copied nor written, single elements

  int64_t threads() const { return warps * 32; }
  /// Rows, or keys, that a block owns.
  int64_t own() const { return warps * rowsOfThread * (matrixUnits ? 8 : 4); }
  int64_t othersOfThread() const { return others / (matrixUnits ? 4 : 8); }
  /// Columns of an operand in shared memory; zeros follow the operand's own.
  int64_t padded(int64_t columns) const {
    const int64_t unit = matrixUnits ? 16 : 8;
    return (columns + unit - 1) / unit * unit;
  }
  /// Columns of a result that a thread has.
  int64_t columnsOfThread(int64_t columns) const { return padded(columns) / (matrixUnits ? 4 : 8); }
  /// How many of these are beside each other.
  int64_t groupOf(int64_t columns, DType dtype) const;
  static constexpr int64_t matrixColumns = 2; ///< the same, with mma
  /// The most columns of a result that are written at once. With mma, the four lanes of a row exchange
  /// theirs.
  int64_t widestResult(int64_t columns, DType dtype) const {
    return matrixUnits ? 16 / static_cast<int64_t>(itemsize(dtype)) : groupOf(columns, dtype);
  }
  /// Elements from a row of a tile to the next: an odd number of accesses of 16 bytes, so that eight rows are
  /// in different banks.
  int64_t pitch(int64_t columns, DType dtype) const {
    const auto bytes = static_cast<int64_t>(itemsize(dtype));
    return (padded(columns) * bytes / 16 | 1) * 16 / bytes;
  }
  /// f32 from a row of the tile of probabilities to the next; plain units alone have such a tile.
  int64_t scorePitch() const { return others + 4; }
  /// Bytes of the block's shared memory, which each launch asks for.
  int64_t sharedBytes(const CudaAttention &attention) const;
  /// "mma, 4 warps, 64 x 32, 2 stages, ..": all numbers.
  std::string str() const;
};

/// The schedule for a device; it is proven. An error for attentions that no kernel computes. If kernels were
/// made before, and so many of them spilled registers, it is the next of a list, and the first one again at
/// its end.
Expected<AttentionSchedule> chooseAttentionSchedule(const CudaAttention &attention,
                                                    const ir::TargetDescription &device, size_t spilled = 0);

/// The schedules to try if the kernel of the first one spills, in order: its tiles with fewer resident
/// blocks, for which a thread has more registers, then smaller tiles. They are proven.
std::vector<AttentionSchedule> attentionSchedulesAfterSpill(const CudaAttention &attention,
                                                            const ir::TargetDescription &device);

/// Proves that the kernel of a schedule computes this attention on this device, and within its limits. An
/// error says which number is wrong.
Status verifyAttentionSchedule(const AttentionSchedule &schedule, const CudaAttention &attention,
                               const ir::TargetDescription &device);

/// The blocks of a launch. Of a derivative, those that own keys come first.
int64_t attentionBlocks(const AttentionSchedule &schedule, const CudaAttention &attention);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_ATTENTION_ATTENTIONSCHEDULE_H
