//===- KernelTarget.h - What a target has for kernels ----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_EMIT_KERNELTARGET_H
#define WEFT_CODEGEN_EMIT_KERNELTARGET_H

#include "codegen/emit/Mapping.h"
#include "ir/Dialect.h"
#include "weft/status.hpp"

#include <array>
#include <functional>
#include <memory>

namespace weft::codegen {

/// The form of a kernel, which selects its skeleton. It is the kind of the schedule, except that some kinds
/// have two forms.
enum class KernelForm : unsigned {
  pointwise,  ///< loop, in chunks
  transposed, ///< loop, in tiles of two dimensions, some operands transposed
  plane,      ///< loop or window, in tiles of rows and columns that threads share
  row,
  column,
  scan,
  window,       ///< update of a window
  indexedWrite, ///< update by index
  multiTensor
};
inline constexpr size_t numKernelForms = static_cast<size_t>(KernelForm::multiTensor) + 1;

/// The form of a fusion that has a schedule, and its name in messages.
KernelForm kernelForm(ir::FusionOp fusion);
llvm::StringRef nameOf(KernelForm form);

/// Emits the loops of a kernel, which determine the task that computes each element.
using Skeleton = Status (*)(KernelBuilder &);

/// A row of the table of skeletons (codegen/KernelTargets.cpp).
struct KernelTarget {
  llvm::StringLiteral name; ///< the kind of its descriptions, "cpu"
  /// Makes the mapping, which divides the work of a task among its workers, for a schedule.
  std::function<std::unique_ptr<Mapping>(ir::ScheduleAttr)> makeMapping;
  /// Skeletons by form; null if the target has none.
  std::array<Skeleton, numKernelForms> skeletons;
  /// Makes the kernels of fallback schedules (`threads = 1`), in which each thread has its own tasks; null if
  /// the target has no such schedules.
  const KernelTarget *fallback = nullptr;
  /// Whether kernels have the alignment of their buffers (`llvm.align`).
  bool knowsAlignment = false;
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_EMIT_KERNELTARGET_H
