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
#include "ir/ImplicitGemm.h"
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
  return isa<DotGeneralOp, ImplicitGemmOp>(value.getDefiningOp()) ||
         llvm::any_of(value.getUsers(),
                      [](Operation *user) { return isa<DotGeneralOp, ImplicitGemmOp, ReturnOp>(user); });
}

/// The vector, or a tensor with as many elements, that is repeated along all dimensions of `value` but `dim`;
/// or null.
Value repeatedAlong(Value value, int64_t dim) {
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  if (!broadcast)
    return {};
  ArrayRef<Size> from = sizesOf(broadcast.getA());
  const Size extent = broadcast.getShape()[dim];
  bool found = false;
  for (auto [size, to] : llvm::zip_equal(from, broadcast.getDims())) {
    found |= to == dim && size == extent;
    if (to != dim && size != 1)
      return {};
  }
  return found ? broadcast.getA() : Value();
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
    SmallVector<StepOperand> steps;  ///< of a convolution, in order
    SmallVector<Operation *, 3> ops; ///< the ops that become part of the contraction, in order
    bool relu = false;
    SmallVector<Operation *> comparisons; ///< comparisons of the value before relu with zero
    SmallVector<Operation *> behind; ///< the comparisons that come before relu, and the ops before relu that
                                     ///< depend on them, in order
  };

  /// The relu that reads the chain's value; collects the comparisons of that value with zero. Null if another
  /// op reads the value too, or if an op with effects would have to move behind the relu.
  Operation *findRelu(Operation *dot, Chain &chain) {
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
    replace(dot, whole.getResult(), chain);
    return true;
  }

  /// Puts the op with the epilogue in the place of the last op of its chain.
  static void replace(Operation *op, Value whole, const Chain &chain) {
    Operation *last = chain.ops.back();
    if (chain.relu) {
      for (Operation *comparison : chain.comparisons)
        comparison->replaceUsesOfWith(chain.value, whole);
      for (Operation *each : chain.behind)
        each->moveBefore(last);
    }
    last->getResult(0).replaceAllUsesWith(whole);
    for (Operation *each : llvm::reverse(chain.ops))
      each->erase();
    op->erase();
  }

  //===--------------------------------------------------------------------===//
  // Convolutions
  //===--------------------------------------------------------------------===//

  /// What the reader of a value does to it, if a convolution can do it to each sum. A launch stores its
  /// result in any case, so what another launch has to compute first saves nothing; a vector is small.
  std::optional<StepOperand> stepOf(Operation *reader, Value value, int64_t channels) {
    auto one = [&](ConvolutionStep step, Value other) -> std::optional<StepOperand> {
      Value vector = other ? repeatedAlong(other, channels) : Value();
      return vector ? std::optional<StepOperand>({step, vector}) : std::nullopt;
    };
    if (auto sub = dyn_cast_if_present<SubOp>(reader); sub && sub.getA() == value && sub.getB() != value)
      return one(ConvolutionStep::sub, sub.getB());
    if (!reader || !isa<AddOp, MulOp>(reader))
      return std::nullopt;
    if (Value other = besideIn<MulOp>(reader, value))
      return one(ConvolutionStep::mul, other);
    Value other = besideIn<AddOp>(reader, value);
    if (auto step = one(ConvolutionStep::add, other))
      return step;
    if (!other || other.getType() != value.getType() || !isInMemory(other, getOperation()))
      return std::nullopt;
    return StepOperand{ConvolutionStep::residual, other};
  }

  /// Follows the readers of a convolution as long as its launch can do what they do. Every step is rounded as
  /// the op is.
  Chain follow(ImplicitGemmOp op) {
    Chain chain;
    chain.value = op.getResult();
    const auto channels = llvm::find(op.getOrder(), 1) - op.getOrder().begin();
    while (static_cast<int64_t>(chain.steps.size()) < maxConvolutionSteps) {
      Operation *reader = onlyReader(chain.value);
      std::optional<StepOperand> step = stepOf(reader, chain.value, channels);
      if (!step)
        break;
      chain.steps.push_back(*step);
      chain.ops.push_back(reader);
      chain.value = reader->getResult(0);
    }
    if (static_cast<int64_t>(chain.steps.size()) == maxConvolutionSteps)
      return chain;
    if (Operation *relu = findRelu(op, chain)) {
      chain.steps.push_back({ConvolutionStep::relu, {}});
      chain.ops.push_back(relu);
      chain.relu = true;
    } else if (Operation *activation = findActivation(chain.value)) {
      note(op, activation, "WEFT-N005",
           "is computed by the kernel after the convolution: its epilogues are sums, products and relu");
    }
    return chain;
  }

  void attach(ImplicitGemmOp op) {
    if (op.getEpilogue())
      return;
    const Chain chain = follow(op);
    if (chain.ops.empty())
      return;
    Operation *last = chain.ops.back();
    OpBuilder builder(last);
    const Location loc = FusedLoc::get(builder.getContext(), {op.getLoc(), last->getLoc()});
    SmallVector<StringRef> names;
    SmallVector<Value> beside;
    for (const auto &[step, operand] : chain.steps) {
      names.push_back(convolutionStepNames[static_cast<size_t>(step)]);
      if (step == ConvolutionStep::residual)
        beside.push_back(operand);
      else if (operand)
        beside.push_back(vectorOf(operand, builder));
    }
    auto whole = builder.create<ImplicitGemmOp>(
        loc, op.getA(), op.getW(), beside, op.getShapeAttr(), op.getExtentsAttr(), op.getWindowAttr(),
        op.getPlacesAttr(), op.getStrideAttr(), op.getLowAttr(), op.getBaseDilationAttr(),
        op.getWindowDilationAttr(), op.getOrderAttr(), op.getAViewAttr(), op.getWViewAttr(),
        builder.getStrArrayAttr(names), op.getWinogradAttr());
    replace(op, whole.getResult(), chain);
  }

  /// A value with dimensions of 1 but one, as a vector.
  static Value vectorOf(Value value, OpBuilder &builder) {
    if (cast<RankedTensorType>(value.getType()).getRank() == 1)
      return value;
    if (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape && reshape.getA().getType().getRank() == 1)
      return reshape.getA();
    return builder.create<ReshapeOp>(value.getLoc(), value,
                                     SizesAttr::get(builder.getContext(), {elementsOf(value.getType())}));
  }

  void runOnOperation() override {
    const std::optional<Target> machine = parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    if (getOperation().getOps<DotGeneralOp>().empty() && getOperation().getOps<ImplicitGemmOp>().empty())
      return markAllAnalysesPreserved();
    decisions.clear();
    SymbolRanges ranges = rangesOf(getOperation());
    for (DotGeneralOp dot : llvm::to_vector(getOperation().getOps<DotGeneralOp>()))
      if (!attach(dot, *machine, ranges))
        return signalPassFailure();
    for (ImplicitGemmOp op : llvm::to_vector(getOperation().getOps<ImplicitGemmOp>()))
      attach(op);
    recordDecisions(getOperation(), decisions);
  }
};

} // namespace
} // namespace weft::passes
