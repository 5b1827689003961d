//===- Variant.h - One compiled signature of a function ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_COMPILED_VARIANT_H
#define WEFT_FRONTEND_COMPILED_VARIANT_H

#include "frontend/compiled/Declared.h"
#include "frontend/compiler/Session.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "weft/tree.hpp"

#include <optional>

namespace weft::frontend {

/// A slot that a variant reads or writes, and what it must look like for the variant to fit: one from
/// outside, an argument of the call, or the gradient of one.
struct Binding {
  std::shared_ptr<Slot> slot; ///< null where the call brings it
  int callArgument = -1;      ///< the argument of the call
  bool isGradient = false;    ///< it is the gradient of that slot or argument

  Spec spec;
  bool requiresGrad = false; ///< gradients are collected in it
  bool needsGrad = false;    ///< operations on it record a gradient
  bool guardsGrad = false;   ///< whether it has a gradient before the call is part of the signature:
  bool hadGrad = false;      ///< it had one

  int argument = -1;    ///< number in the executable, or -1 if only its presence matters
  int tiedResult = -1;  ///< the result that is written to its storage
  int freshResult = -1; ///< a result of another type, `freshSpec`, that replaces its value
  Spec freshSpec;
  Ref written;                    ///< in a variant with gradients: the value that the call leaves
  int gradResult = -1;            ///< a gradient that the call makes
  std::shared_ptr<Slot> gradSlot; ///< or the slot from outside that becomes its gradient,
  int gradArgument = -1;          ///< or the argument of the call that does
  bool clearsGrad = false;        ///< the call leaves no gradient
  bool keepsStrides = false;      ///< an argument that is only read, in place, with
  std::vector<int64_t> strides;   ///< these strides of its memory; empty: row-major
  Ref input;                      ///< what the trace saw of it

  bool writes() const { return tiedResult >= 0 || freshResult >= 0; }
  /// "fc1.weight", "argument 1", "the tensor made at file.cpp:3:5".
  std::string str() const;
  std::shared_ptr<Slot> resolve(const std::vector<std::shared_ptr<Slot>> &arguments) const;
};

/// What an operation takes, or what is written.
struct RecordedOperand {
  std::string text; ///< "operation 3", "argument 1", or a tensor from outside with its address
  std::string data; ///< of such a tensor that was made of host data in the same recording: its numbers
};

/// One operation of a function as it was recorded, to compare with a later recording.
struct RecordedOperation {
  std::string name;
  std::string numbers; ///< its attributes and its number, as they would be printed
  std::vector<RecordedOperand> operands;
  Loc loc;
};

struct Variant {
  std::vector<RecordedOperation> recorded; ///< under WEFT_CHECK_CAPTURES
  std::vector<Dim> symbols;                ///< of declared arguments
  Structure structure;                     ///< static arguments and the shape of the argument list
  Structure resultStructure;               ///< of the function's C++ result
  std::vector<ModeChange> modes;
  bool gradMode = true;
  std::vector<Binding> bindings;  ///< arguments first, in order, each once
  std::vector<int> sameAs;        ///< per argument: the earlier one that is the same tensor, or -1
  std::vector<const Slot *> pins; ///< per argument: the captured tensor that it is, or null

  std::vector<int> resultMap; ///< executable result of each tensor of the C++ result
  std::vector<Spec> resultSpecs;
  std::vector<Loc> resultLocs;
  std::shared_ptr<Program> program;
  std::string notes; ///< of the frontend, for explain
  std::string signature, reason, code;
  size_t number = 0; ///< in the order of compilation
  Loc loc;
  bool writesState = false; ///< memory that arguments share matters
  bool waits = false;       ///< the call can fail, and the host acts on its success
  uint64_t calls = 0;
  uint64_t copies = 0; ///< of storage to be written that something else held (WEFT-D011)
  std::string lastCopy;
  uint64_t stridedCopies = 0; ///< of arguments that lie in memory with strides (WEFT-D013)
  std::string lastStridedCopy;

  /// Where a result needs a gradient and the function takes none: the recorded operations, which a call with
  /// gradients repeats for `backward` to find.
  std::vector<Ref> resultRefs;
  std::vector<Node *> nodes; ///< kept by `resultRefs` and `written`
  bool differentiable() const { return !nodes.empty(); }

  // Kept between calls so that a steady loop allocates nothing of its own.
  std::vector<std::shared_ptr<runtime::Buffer>> argumentBuffers, resultBuffers;
};

/// Why a variant does not fit a call.
struct Mismatch {
  std::string text;
  const char *code;
  const char *kind = "";       ///< what differs, of which each is compiled by itself; empty for what a step
                               ///< brings by itself, modes and the presence of gradients
  int argument = -1, dim = -1; ///< where only the size of one dimension differs
  int entry = -1;              ///< where only a static argument differs: its place in the structure
  const char *remedy = "";     ///< what to do about it
};
/// Which arguments share memory that the variant writes, though they were not the same tensor at the trace.
std::optional<std::string> aliasConflict(const Variant &variant,
                                         const std::vector<std::shared_ptr<Slot>> &arguments);
std::optional<Mismatch> findMismatch(const Variant &variant,
                                     const std::vector<std::shared_ptr<Slot>> &arguments,
                                     const Structure &structure);

/// "(tensor<2xf32, cpu>, 3) train".
std::string describe(const std::vector<std::shared_ptr<Slot>> &arguments, const Structure &structure,
                     const std::vector<ModeChange> &modes);

/// The operations of the variant recorded again on the values that its bindings have now. Gives the values of
/// the results, and of every binding that the call writes, null for the others.
struct Replay {
  std::vector<Ref> results, written;
};
Replay replay(const Variant &variant, const std::vector<std::shared_ptr<Slot>> &bound,
              const SizeValues &sizes);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_VARIANT_H
