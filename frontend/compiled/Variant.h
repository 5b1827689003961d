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
#include "frontend/graph/Region.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "weft/tree.hpp"

#include <optional>
#include <unordered_set>

namespace weft::frontend {

/// Where the history of a value leads that the function used up.
struct SpentWays {
  std::vector<size_t> bindings; ///< at whose values it begins
  std::vector<size_t> through;  ///< the `Variant::spentThrough` on the way there
};
/// Of a value through which a gradient is an error, because the function used its history up: where that
/// leads. None for every other value.
using SpentFrom = std::optional<SpentWays>;

/// A slot that a variant reads or writes, and the properties that it must have for the variant to fit. It is
/// a slot from outside, an argument of the call, or the gradient of either.
struct Binding {
  std::shared_ptr<Slot> slot; ///< null for an argument of the call, or its gradient
  bool isHeldOutside = false; ///< something beside variants held that slot when the variant was made
  int callArgument = -1;      ///< the argument of the call
  bool isGradient = false;    ///< it is the gradient of that slot or argument

  Spec spec;
  std::shared_ptr<const View> view; ///< of a slot: how it was a view, or null
  bool isWatched = false;           ///< that view's gradient was watched (`WatchedView.h`)
  bool requiresGrad = false;        ///< it is a gradient leaf
  bool needsGrad = false;           ///< operations on it record a gradient
  bool guardsGrad = false;          ///< whether it has a gradient before the call is part of the signature,
  bool hadGrad = false;             ///< and it had one

  int argument = -1;    ///< its number in the executable; -1 if the call does not read its value
  int tiedResult = -1;  ///< the result that is written to its storage
  int freshResult = -1; ///< a result of another type, `freshSpec`, that replaces its value
  Spec freshSpec;
  /// If gradients flow through what the call writes, or through a leaf that it writes to what reads the leaf
  /// then: that value.
  Ref written;
  SpentFrom writtenSpent;         ///< of what the call writes
  Ref reread;                     ///< as `TouchedSlot::reread`, if gradients flow through it
  bool isReread = false;          ///< as `TouchedSlot::isReread`
  Ref leftGradient;               ///< if gradients flow through it: the value of `gradResult`
  SpentFrom leftSpent;            ///< of `gradResult`
  int gradResult = -1;            ///< the result that becomes its gradient,
  std::shared_ptr<Slot> gradSlot; ///< or the slot from outside that becomes its gradient,
  int gradArgument = -1;          ///< or the argument of the call that becomes it
  bool clearsGrad = false;        ///< the call leaves no gradient
  bool keepsStrides = false;      ///< an argument that is only read, in place, with
  std::vector<int64_t> strides;   ///< these strides of its memory; empty: row-major
  int64_t alignment = 0; ///< bytes that divide its address on a GPU; 0: as many as that accesses at once
  /// If the variant is differentiable: the value that stood for it in the trace. Of a view only if its
  /// gradient was watched; the operations that computed it there are not recorded again.
  Ref input;

  bool writes() const { return tiedResult >= 0 || freshResult >= 0; }
  /// Whether calls move the slot to the device of `spec`.
  bool movesToDraw() const { return slot && slot->followsDraws && !isGradient; }
  /// "fc1.weight", "argument 1", "the tensor made at file.cpp:3:5".
  std::string str() const;
  std::shared_ptr<Slot> resolve(const std::vector<std::shared_ptr<Slot>> &arguments) const;
};

/// An operand of a recorded operation, or a tensor that is written.
struct RecordedOperand {
  std::string text; ///< "operation 3", "argument 1", or a tensor from outside with its address
  std::string data; ///< the numbers of a tensor that the recording itself made from host data; else empty
};

/// One operation of a function as it was recorded, to compare with a later recording.
struct RecordedOperation {
  std::string name;
  std::string numbers; ///< its attributes and its number, as they would be printed
  std::vector<RecordedOperand> operands;
  Loc loc;
};

/// The values of a replay, as its operations find them: first those that a call gives it, two for each
/// binding and the `Variant::spentParts`, then its operations, in the order of `Variant::nodes`.
struct ReplayPlaces {
  size_t operationsFrom = 0;
  std::unordered_map<Ref, size_t, RefHash> given;
  std::unordered_map<const Node *, size_t> operations;
  std::vector<size_t> operands; ///< of all operations, one after the other
  /// Of each operation: a copy that all calls share, as that of a constant. Null if each makes its own.
  std::vector<std::shared_ptr<Node>> shared;
};

struct Variant {
  Variant() = default;
  ~Variant();
  Variant(const Variant &) = delete;
  Variant &operator=(const Variant &) = delete;
  /// Called when it is complete, and the trace that it was made from is gone: its bindings hold their slots.
  void holdSlots();
  bool holdsSlots = false; ///< that was called

  std::vector<RecordedOperation> recorded; ///< kept with WEFT_CHECK_CAPTURES
  std::vector<Dim> symbols;                ///< of declared arguments
  Structure structure;                     ///< static arguments and the shape of the argument list
  Structure resultStructure;               ///< of the function's C++ result
  std::vector<ModeChange> modes;
  std::vector<Trace::Guard> guards;
  bool gradMode = true;
  std::vector<Binding> bindings;  ///< arguments first, in order, each once
  std::vector<int> sameAs;        ///< per argument: the earlier one that is the same tensor, or -1
  std::vector<const Slot *> pins; ///< per argument: the captured tensor that it is, or null

  std::vector<int> resultMap; ///< executable result of each tensor of the C++ result
  std::vector<Spec> resultSpecs;
  std::vector<Loc> resultLocs;
  std::vector<const char *> resultCopiedBy; ///< as `Slot::copiedBy`
  std::vector<runtime::Device *> pinnedFor; ///< whose pinned memory results are made in, or null; or empty
  std::shared_ptr<Program> program;
  std::string notes; ///< of the frontend, for explain
  std::string signature, reason, code;
  size_t number = 0; ///< in the order of compilation
  Loc loc;
  bool writesState = false; ///< it writes a tensor, so arguments that share memory matter
  bool waits = false;       ///< the call can fail, and the host changes something after it succeeds
  uint64_t calls = 0;
  uint64_t copies =
      0; ///< how often storage was copied because something else held what the call writes (WEFT-D011)
  std::string lastCopy;
  uint64_t stridedCopies = 0; ///< how often arguments were copied to row-major memory (WEFT-D013)
  std::string lastStridedCopy;

  /// If a gradient may flow through a call: the recorded operations. A call records them again, so that
  /// `backward` finds them.
  std::vector<Node *> nodes; ///< kept alive by what they compute,
  std::vector<Ref> roots;    ///< which is this
  /// Where what these operations read stands in a replay: all but one of its own values is found without a
  /// search.
  ReplayPlaces places;
  /// Those of leaves that the function made. A gradient ends there.
  std::unordered_set<const Node *> innerLeaves;
  /// A value that a leaf from outside had in the function, which wrote it. A gradient ends there, too.
  struct LeafValue {
    const Node *node;
    uint32_t result;
    size_t binding;
  };
  std::vector<LeafValue> passingValues; ///< those that the function overwrote again
  std::vector<Ref> resultRefs;          ///< null for a result through which no gradient flows
  std::vector<SpentFrom> resultSpent;
  std::vector<bool> resultRetains; ///< the function asked for its gradient with `retain_grad`
  std::vector<bool> resultIsLeaf;  ///< the function made a leaf
  /// The gradient with which a result is returned, if the function computed that of a tensor that it made.
  struct ResultGradient {
    int result = -1; ///< of the executable; -1 for none
    Ref value;       ///< null if no gradient flows through it
    SpentFrom spent;
  };
  std::vector<ResultGradient> resultGradients; ///< one for each result
  /// A value whose history the function used up, and from which, and from others, it computed a result. A
  /// call returns it for the gradients of the others, and one through it is an error.
  struct SpentPart {
    Ref value;
    SpentFrom from;
    int result = -1; ///< of the executable
  };
  std::vector<SpentPart> spentParts;
  bool differentiable = false;
  std::vector<size_t> spentBindings; ///< at whose values a history begins that the function used up
  /// Operations that such a history goes through, and whose values, with a history of their own, the program
  /// gets hold of: a gradient with respect to these would miss the ways that were used up.
  std::vector<const Node *> spentThrough;

  // Kept between calls, so that a steady loop does not allocate them.
  std::vector<std::shared_ptr<runtime::Buffer>> argumentBuffers, resultBuffers;
};

/// Whether a slot has the type of the binding, or will have it when a call has moved it.
bool hasType(const Binding &binding, const Slot &slot);

/// Why a variant does not fit a call.
struct Mismatch {
  std::string text;
  const char *code;
  const char *kind = ""; ///< what kind of thing differs, for the advice; empty for modes and the presence of
                         ///< gradients, which differ in every training loop
  int argument = -1, dim = -1; ///< set if only the size of one dimension differs
  int entry = -1;              ///< set if only a static argument differs: its index in the structure
  const char *remedy = "";     ///< what to do about it
};
/// Describes arguments that share memory which the variant writes, although they were different tensors in
/// the trace. Empty if there are none.
std::optional<std::string> aliasConflict(const Variant &variant,
                                         const std::vector<std::shared_ptr<Slot>> &arguments);
std::optional<Mismatch> findMismatch(const Variant &variant,
                                     const std::vector<std::shared_ptr<Slot>> &arguments,
                                     const Structure &structure);
/// Whether the variant fits no call any more: what one of its guards watches has changed for good, or a
/// tensor that it captured, as one of a module, is gone for the rest of the program.
bool isDead(const Variant &variant);

/// "(tensor<2xf32, cpu>, 3) train".
std::string describe(const std::vector<std::shared_ptr<Slot>> &arguments, const Structure &structure,
                     const std::vector<ModeChange> &modes);

} // namespace weft::frontend

#endif // WEFT_FRONTEND_COMPILED_VARIANT_H
