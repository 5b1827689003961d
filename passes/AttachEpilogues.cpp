//===- AttachEpilogues.cpp - Contractions with bias, residual, relu --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/FunctionAttributes.h"
#include "passes/Passes.h"
#include "passes/fusion/OnlyReader.h"

#include "ir/Contraction.h"
#include "ir/Target.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_ATTACHEPILOGUES
#include "passes/Passes.h.inc"

namespace {

/// Whether every element is +0. (max(x, -0) differs from max(x, +0) in the sign of a zero.)
bool isPositiveZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return splat && isa<FloatType>(splat.getElementType()) && splat.getSplatValue<APFloat>().isPosZero();
}

/// Whether `op` compares `value` with zero, and gives the same result for max(value, 0), also for NaN.
bool comparesAlike(Operation *op, Value value) {
  if (isa<GtOp, LeOp>(op))
    return op->getOperand(0) == value && isPositiveZero(op->getOperand(1));
  if (isa<LtOp, GeOp>(op))
    return op->getOperand(1) == value && isPositiveZero(op->getOperand(0));
  return false;
}

/// Whether a value is in memory in any case. Any other value would be written to memory only for the
/// contraction. A donated argument does not count, because a kernel may write a result in its place.
bool isInMemory(Value value, FuncOp func) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getA();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return !func.isDonated(argument.getArgNumber());
  return isa<DotGeneralOp>(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(), [](Operation *user) { return isa<DotGeneralOp, ReturnOp>(user); });
}

/// The first op of an activation of `value` other than relu, or null.
Operation *findActivation(Value value) {
  auto isOne = [](Operation *op) { return isa<TanhOp, SigmoidOp, ErfOp, Expm1Op>(op); };
  for (Operation *user : value.getUsers()) {
    if (isOne(user))
      return user;
    // gelu scales its argument first.
    if (isa<MulOp>(user))
      for (Operation *next : user->getUsers())
        if (isOne(next))
          return next;
  }
  return nullptr;
}

struct AttachEpilogues : impl::AttachEpiloguesBase<AttachEpilogues> {
  using AttachEpiloguesBase::AttachEpiloguesBase;
  std::vector<Decision> decisions;

  void note(Operation *dot, Operation *consumer, StringRef code, const Twine &message) {
    if (report)
      decisions.push_back({code.str(), locationText(consumer->getLoc()), dot->getName().getStringRef().str(),
                           consumer->getName().getStringRef().str(), 0, message.str()});
  }

  /// The ops after a contraction that can become part of it.
  struct Chain {
    Value value, bias, residual;     ///< `value`: the value at its end, before relu
    SmallVector<Operation *, 3> ops; ///< the ops that become part of the contraction, in order
    bool relu = false;
    SmallVector<Operation *> comparisons; ///< comparisons of the value before relu with zero
    SmallVector<Operation *> behind; ///< the comparisons that come before relu, and the ops before relu that
                                     ///< depend on them, in order
  };

  /// The relu that reads the chain's value; collects the comparisons of that value with zero. Null if another
  /// op reads the value too, or if an op with effects would have to move behind the relu.
  Operation *findRelu(DotGeneralOp dot, Chain &chain) {
    Value value = chain.value;
    Operation *relu = nullptr, *other = nullptr;
    for (Operation *user : value.getUsers()) {
      Value zero = besideIn<MaxOp>(user, value);
      if (zero && isPositiveZero(zero) && !relu)
        relu = user;
      else if (comparesAlike(user, value))
        chain.comparisons.push_back(user);
      else
        other = user;
    }
    if (relu && other) {
      note(dot, relu, "WEFT-N002",
           "relu remains a separate op: another op, " + other->getName().getStringRef() +
               ", reads the value before it");
      return nullptr;
    }
    if (!relu)
      return nullptr;
    chain.behind = collectBehind(value, chain.comparisons, relu);
    // Effects that the host sees, and the order of failures, must stay those of the program.
    auto *fixed =
        llvm::find_if(chain.behind, [](Operation *op) { return !isMemoryEffectFree(op) || mayFail(op); });
    if (fixed == chain.behind.end())
      return relu;
    note(dot, relu, "WEFT-N002",
         "relu remains a separate op: " + (*fixed)->getName().getStringRef() +
             " depends on a comparison of the value before relu, and must not move behind relu");
    return nullptr;
  }

  /// The comparisons of `value` before `relu`, and all ops before `relu` that depend on them, in order.
  static SmallVector<Operation *> collectBehind(Value value, ArrayRef<Operation *> comparisons,
                                                Operation *relu) {
    SmallVector<Operation *> order;
    if (comparisons.empty())
      return order;
    llvm::SmallDenseSet<Operation *> found(comparisons.begin(), comparisons.end());
    for (Operation *op = value.getDefiningOp()->getNextNode(); op != relu; op = op->getNextNode())
      if (found.contains(op) ||
          llvm::any_of(op->getOperands(), [&](Value v) { return found.contains(v.getDefiningOp()); })) {
        found.insert(op);
        order.push_back(op);
      }
    return order;
  }

  /// Follows the readers of a contraction as long as the implementation of the product accepts them and each
  /// op is rounded as it is outside of the contraction.
  Chain follow(DotGeneralOp dot, const ContractionAnswer &answer) {
    Chain chain;
    chain.value = dot.getResult();
    Type element = dot.getType().getElementType();
    bool exact = element.isF32() || element.isF64(), half = isa<FloatType>(element) && !exact;
    bool refused = false;
    auto takes = [&](Epilogue epilogue, Operation *op) {
      bool residual = epilogue == Epilogue::residual, fast = half && hasFastNumerics(dot) && !residual;
      if (half && residual)
        note(dot, op, "WEFT-N001",
             "a residual of a half type is added after the product is rounded, in a library too, so the "
             "contraction would save nothing; it remains a separate op");
      else if (half && !fast)
        note(dot, op, "WEFT-N001",
             "the contraction would apply it before it rounds to the half type; it remains a separate op");
      else if ((exact || fast) && !llvm::is_contained(answer.epilogues, epilogue))
        note(dot, op, "WEFT-N003",
             (answer.library.empty() ? "weft" : answer.library) + " does not support the epilogue '" +
                 Twine(StringRef(epilogueNames[static_cast<size_t>(epilogue)])) +
                 "' here; it remains a separate op");
      else
        return exact || fast;
      refused = true;
      return false;
    };
    auto add = [&](Value &into, Value operand) {
      into = operand;
      chain.ops.push_back(onlyReader(chain.value));
      chain.value = chain.ops.back()->getResult(0);
    };
    if (Value vector = biasAddedTo(chain.value); vector && takesBias(dot))
      if (takes(Epilogue::bias, onlyReader(chain.value)))
        add(chain.bias, vector);
    if (Value other = refused ? Value() : addedTo(chain.value);
        other && other.getType() == dot.getType() && isInMemory(other, getOperation()))
      if (takes(Epilogue::residual, onlyReader(chain.value)))
        add(chain.residual, other);
    if (refused)
      return chain;
    if (Operation *relu = findRelu(dot, chain)) {
      if (takes(Epilogue::relu, relu)) {
        chain.ops.push_back(relu);
        chain.relu = true;
      }
    } else if (Operation *activation = isa<FloatType>(element) ? findActivation(chain.value) : nullptr) {
      note(dot, activation, "WEFT-N005",
           "is computed by the kernel after the contraction: a library's function rounds otherwise");
    }
    return chain;
  }

  /// Returns false if the target has no description of the contraction's device.
  bool attach(DotGeneralOp dot, const Target &machine, const SymbolRanges &ranges) {
    if (dot.getBias() || dot.getResidual() || dot.getRelu() || !dot.getMore().empty())
      return true;
    // Use the recorded answer. Text without one gets the answer of its device's table.
    ContractionAnswer answer = ownAnswer("");
    if (LibraryAttr recorded = dot.getLibraryAttr()) {
      answer = readAnswer(recorded);
    } else if (auto signature = getSignature(dot, ranges)) {
      const TargetDescription *description = describe(dot, deviceOf(dot.getType()), machine);
      if (!description)
        return false;
      answer = TableLibrary(*description).ask(*signature);
    }
    Chain chain = follow(dot, answer);
    if (chain.ops.empty())
      return true;
    if (Type element = dot.getType().getElementType(); !element.isF32() && !element.isF64())
      note(dot, chain.ops.front(), "WEFT-N007",
           Twine("the contraction ") + (chain.bias ? "adds the bias" : "") +
               (chain.bias && chain.relu ? " and " : "") + (chain.relu ? "applies relu" : "") +
               " before it rounds to the half type, once");
    Operation *last = chain.ops.back();
    OpBuilder builder(last);
    Location loc = FusedLoc::get(builder.getContext(), {dot.getLoc(), last->getLoc()});
    auto whole = builder.create<DotGeneralOp>(loc, dot.getA(), dot.getB(), chain.bias, dot.getBatchA(),
                                              dot.getBatchB(), dot.getContractA(), dot.getContractB(),
                                              chain.relu, chain.residual, dot.getLibraryAttr());
    if (chain.relu) {
      for (Operation *comparison : chain.comparisons)
        comparison->replaceUsesOfWith(chain.value, whole.getResult());
      for (Operation *op : chain.behind)
        op->moveBefore(last);
    }
    last->getResult(0).replaceAllUsesWith(whole.getResult());
    for (Operation *op : llvm::reverse(chain.ops))
      op->erase();
    dot.erase();
    return true;
  }

  void runOnOperation() override {
    const std::optional<Target> machine = parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    if (getOperation().getOps<DotGeneralOp>().empty())
      return markAllAnalysesPreserved();
    decisions.clear();
    SymbolRanges ranges = rangesOf(getOperation());
    for (DotGeneralOp dot : llvm::to_vector(getOperation().getOps<DotGeneralOp>()))
      if (!attach(dot, *machine, ranges))
        return signalPassFailure();
    recordDecisions(getOperation(), decisions);
  }
};

} // namespace
} // namespace weft::passes
