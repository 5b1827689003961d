//===- TextKernels.h - Kernels that are texts -------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and convolutions have kernels whose text is CUDA C++. Ops for which the text is the same share
// one, if a launch of the kernel has the same numbers too.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_CONTRACTIONS_TEXTKERNELS_H
#define WEFT_CODEGEN_CUDA_CONTRACTIONS_TEXTKERNELS_H

#include "ir/Alignment.h"
#include "ir/Decisions.h"
#include "ir/Dialect.h"
#include "ir/Target.h"
#include "weft/status.hpp"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace weft::codegen {

/// What there is of each such kernel.
struct EmittedText {
  std::string symbol, text;       ///< CUDA C++
  int64_t sharedBytes = 0;        ///< that a launch asks for
  std::vector<std::string> lines; ///< where its ops are from, each line once
};

/// The kernels of the ops of one kind in a module. `Emitted` is an EmittedText.
template <typename Op, typename Emitted> class TextKernels {
public:
  explicit TextKernels(const char *kind) : kind(kind) {}

  /// Calls `emit(op, alignments, device)` for each op of the module that is on a GPU of the target. Its
  /// errors get the op's line.
  template <typename Emit>
  Expected<std::vector<Emitted>> emitAll(mlir::ModuleOp module, const ir::Target &target, Emit &&emit) {
    for (auto in : module.getOps<ir::FuncOp>()) {
      function = in.getName();
      number = 0;
      const ir::Alignments alignments(in);
      for (auto op : in.getOps<Op>()) {
        const ir::TargetDescription *device = target.find(ir::deviceOf(op->getResultTypes().front()));
        if (!device || device->isCpu())
          continue;
        line = ir::locationText(op.getLoc());
        if (Status status = emit(op, alignments, *device); !status)
          return status.context("at " + line + ": ");
      }
    }
    return std::move(emitted);
  }

  /// The kernel of this text, for the op at hand: the one that there is, or `made`, which gets its name.
  /// `numbers` are those that a plan compares with its launches beside the text.
  Emitted &add(std::string text, int64_t sharedBytes, Emitted made, llvm::StringRef numbers = "") {
    auto [it, isNew] = byText.try_emplace((numbers + "\n" + text).str(), emitted.size());
    if (isNew) {
      made.symbol = (function + "." + kind + "." + llvm::Twine(number)).str();
      made.text = std::move(text);
      made.sharedBytes = sharedBytes;
      emitted.push_back(std::move(made));
    }
    ++number;
    Emitted &found = emitted[it->second];
    if (!line.empty() && !llvm::is_contained(found.lines, line))
      found.lines.push_back(line);
    return found;
  }

private:
  const char *const kind;
  llvm::StringRef function; ///< of the op at hand
  unsigned number = 0;      ///< of kernels of the function, each counted for each of its uses
  std::string line;
  std::vector<Emitted> emitted;
  llvm::StringMap<size_t> byText; ///< by numbers and text
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_CONTRACTIONS_TEXTKERNELS_H
