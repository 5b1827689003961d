//===- AttentionCases.h - Attentions that tests compute ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results of kernels are compared with those of plain loops in double precision, within bounds that follow
// from the roundings of each step.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CODEGEN_ATTENTIONCASES_H
#define WEFT_TEST_UNIT_CODEGEN_ATTENTIONCASES_H

#include "codegen/cuda/attention/AttentionSchedule.h"
#include "test/unit/codegen/Elements.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::testing {

/// How the dimensions of an operand lie in memory.
enum class Layout { rows, interleaved, columns, spread, padded };

struct AttentionCase {
  std::vector<int64_t> batch = {1};
  int64_t rows = 1, keys = 1, features = 1, values = 1;
  bool causal = false, backward = false, roundsScores = false;
  std::optional<DType> mask;
  bool maskRepeats = false; ///< one mask for all batch indices
  Layout layout = Layout::rows;
  int turns = 0;             ///< from the layout of an operand to that of the next one; 0: they are equal
  bool denseResults = false; ///< whatever the layout of operands
  bool aligned = true;       ///< else addresses are multiples of one element
};

codegen::CudaAttention makeAttention(DType dtype, const AttentionCase &c);

/// The memory of each operand, by its name.
using Tensors = std::map<std::string, Elements>;

/// Where an element is in the memory of its operand.
int64_t placeOf(const codegen::CudaAttention &a, const codegen::AttentionOperand &operand, int64_t matrix,
                int64_t row, int64_t column);

Tensors randomTensors(const codegen::CudaAttention &a, std::mt19937 &random);

/// Gives a derivative the results of the forward function, as plain loops compute them.
void fillForward(const codegen::CudaAttention &a, const codegen::AttentionSchedule &schedule,
                 Tensors &tensors);

/// What is wrong with the results of a kernel of this schedule: elements beyond their bounds, and memory
/// between elements, which has to be 0xFF. Empty if all is right.
std::string differences(const codegen::CudaAttention &a, const codegen::AttentionSchedule &schedule,
                        const Tensors &tensors);

} // namespace weft::testing

#endif // WEFT_TEST_UNIT_CODEGEN_ATTENTIONCASES_H
