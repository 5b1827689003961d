//===- LowerConvolutions.cpp - Makes launches of convolutions -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ContractionLibrary.h"
#include "ir/Decisions.h"
#include "ir/FunctionAttributes.h"
#include "ir/ImplicitGemm.h"
#include "ir/SpreadConvolutions.h"
#include "ir/Target.h"
#include "ir/Vjp.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"

#include <numeric>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_LOWERCONVOLUTIONS
#include "passes/Passes.h.inc"

namespace {

/// Which dimensions of operand, weights and result a launch may have with a symbolic size: the batch, which
/// is the first one of operand and result; or the channels, which are the second one of operand and weights.
/// A derivative with respect to weights sums over the batch, so its channels are the batch of the
/// convolution.
struct SymbolicSizes {
  bool batch = false, channels = false, others = false;
};

SymbolicSizes symbolicSizesOf(ConvolutionOp op) {
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW()), y = sizesOf(op.getResult());
  SymbolicSizes found{a[0].isSymbolic(), w[1].isSymbolic(), false};
  found.others = w[0].isSymbolic() || anySymbolic(a.drop_front(2)) || anySymbolic(w.drop_front(2)) ||
                 anySymbolic(y.drop_front(2)) || anySymbolic(op.getLow()) || anySymbolic(op.getHigh()) ||
                 (found.batch && found.channels) || (found.channels && op.getGroups() != 1);
  return found;
}

ConvolutionSignature signatureOf(ConvolutionOp op) {
  const SymbolRanges ranges = rangesOf(op);
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW()), y = sizesOf(op.getResult());
  const auto groups = static_cast<int64_t>(op.getGroups());
  ConvolutionSignature signature;
  signature.dtype = dtypeOf(op.getA().getType());
  signature.groups = groups;
  signature.batch = ranges.largest(a[0]);
  signature.channels = ranges.largest(w[1]);
  signature.outputs = ranges.largest(*divide(w[0], groups));
  signature.window = ranges.largest(w.drop_front(2));
  signature.places = ranges.largest(y.drop_front(2));
  signature.stride.assign(op.getStride().begin(), op.getStride().end());
  signature.baseDilation.assign(op.getBaseDilation().begin(), op.getBaseDilation().end());
  signature.dynamic = symbolicSizesOf(op).others;
  return signature;
}

/// The dimensions of more than one element.
SmallVector<size_t> longDimsOf(Value value) {
  SmallVector<size_t> dims;
  for (auto [i, size] : llvm::enumerate(sizesOf(value)))
    if (size != 1)
      dims.push_back(i);
  return dims;
}

/// The strides of the result of `op`, a transposition or a reshape, from those of its operand. None if a
/// reshape does more than add and remove dimensions of one element.
std::optional<SmallVector<int64_t>> stridesThrough(Operation *op, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> result(sizesOf(op->getResult(0)).size(), 0);
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [to, dim] : llvm::zip_equal(result, transpose.getPerm()))
      to = strides[dim];
    return result;
  }
  SmallVector<size_t> from = longDimsOf(op->getOperand(0)), to = longDimsOf(op->getResult(0));
  if (from.size() != to.size())
    return std::nullopt;
  for (auto [i, j] : llvm::zip_equal(from, to)) {
    if (sizesOf(op->getOperand(0))[i] != sizesOf(op->getResult(0))[j])
      return std::nullopt;
    result[j] = strides[i];
  }
  return result;
}

/// Where the elements of a value with one symbolic size lie, as strides of its dimensions: in the first value
/// before its transpositions and reshapes whose symbolic dimension is outermost, so that no stride depends on
/// it. None if there is no such value.
std::optional<ViewedValue> symbolicSourceOf(Value value) {
  std::optional<ViewedValue> found;
  SmallVector<Operation *> views;
  for (Value base = value;; base = views.back()->getOperand(0)) {
    ArrayRef<Size> sizes = sizesOf(base);
    if (!anySymbolic(sizes.drop_front())) {
      SmallVector<int64_t> extents{1};
      llvm::append_range(extents, *numbersOf(sizes.drop_front()));
      std::optional<SmallVector<int64_t>> strides = rowMajorView(extents).strides;
      for (Operation *op : llvm::reverse(views))
        strides = strides ? stridesThrough(op, *strides) : std::nullopt;
      if (strides)
        found = ViewedValue{base, {0, *strides}};
    }
    Operation *op = base.getDefiningOp();
    if (!isa_and_present<TransposeOp, ReshapeOp>(op))
      return found;
    views.push_back(op);
  }
}

/// The operands of a launch where they lie: [batch, groups, channels, extents..] and
/// [groups, outputs, channels, window..].
struct Sources {
  SmallVector<Size> aShape, wShape;
  std::optional<ViewedValue> a, w;
};

Sources sourcesOf(ConvolutionOp op) {
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW());
  const auto groups = static_cast<int64_t>(op.getGroups());
  Sources found{{a[0], groups, w[1]}, {groups, *divide(w[0], groups), w[1]}, {}, {}};
  llvm::append_range(found.aShape, a.drop_front(2));
  llvm::append_range(found.wShape, w.drop_front(2));
  if (auto numbers = numbersOf(found.aShape))
    found.a = sourceOf(op.getA(), *numbers, true);
  else if ((found.a = symbolicSourceOf(op.getA()))) {
    // The stride of groups, of which symbolic channels have one.
    SmallVector<int64_t> &strides = found.a->view.strides;
    strides.insert(strides.begin() + 1, w[1].number().value_or(0) * strides[1]);
  }
  if (auto numbers = numbersOf(found.wShape))
    found.w = sourceOf(op.getW(), *numbers, true);
  else if ((found.w = symbolicSourceOf(op.getW())))
    found.w->view.strides.insert(found.w->view.strides.begin(), 0);
  return found;
}

/// Why no launch has these numbers; empty if one has. The library's answer is about what it computes.
std::string whyNoLaunch(ConvolutionOp op) {
  const SymbolRanges ranges = rangesOf(op);
  for (Value value : {Value(op.getA()), Value(op.getW()), Value(op.getResult())})
    if (!ranges.isAtLeast(elementsOf(value.getType()), 1))
      return isDynamic(value.getType()) ? "a size may be 0 at run time" : "there is nothing to multiply";
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW()), y = sizesOf(op.getResult());
  Size work = productOf(y) * productOf(w.drop_front(1));
  SmallVector<ConvolutionReach> reaches;
  for (size_t i = 0; i < op.getStride().size(); ++i)
    reaches.push_back({a[2 + i], w[2 + i], y[2 + i], op.getStride()[i], op.getLow()[i].asNumber(),
                       op.getBaseDilation()[i], op.getWindowDilation()[i]});
  if (!work.isExpressible() || ranges.largest(work) >= maxProductWork || !fitsLaunch(reaches))
    return "it is larger than any launch";
  const Sources sources = sourcesOf(op);
  return sources.a && sources.w ? "" : "a stride of an operand would be known at run time only";
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

/// Whether a convolution is a product without windows: each place has one element, in the order of the
/// operand.
bool isProduct(ConvolutionOp op) {
  const auto areOne = [](ArrayRef<int64_t> numbers) {
    return llvm::all_of(numbers, [](int64_t each) { return each == 1; });
  };
  const auto areNone = [](ArrayRef<Size> sizes) {
    return llvm::all_of(sizes, [](Size each) { return each == 0; });
  };
  return llvm::all_of(sizesOf(op.getW()).drop_front(2), [](Size each) { return each == 1; }) &&
         areOne(op.getStride()) && areOne(op.getBaseDilation()) && areNone(op.getLow()) &&
         areNone(op.getHigh());
}

/// Whether it becomes products alone, of whole operands or of moved ones, which store no windows.
bool isProducts(ConvolutionOp op) { return isProduct(op) || movesProducts(op); }

/// Whether this is the derivative of a transposed convolution with respect to its weights, of which the
/// places are fewer than the elements of the window. Only this one is exchanged: zeros beside the cotangent
/// then meet elements of the operand, as they do in PyTorch, and an infinite one gives NaN.
bool hasFewPlaces(ConvolutionOp op) {
  ArrayRef<Size> w = sizesOf(op.getW()).drop_front(2), y = sizesOf(op.getType()).drop_front(2);
  const bool isSpread = llvm::any_of(op.getWindowDilation(), [](int64_t each) { return each > 1; });
  const bool isEmpty = llvm::any_of(llvm::ArrayRef<Value>{op.getA(), op.getW(), op.getResult()},
                                    [](Value each) { return elementsOf(each.getType()) == 0; });
  return op->hasAttr(ofWeights) && hasZeros(op) && !isEmpty && !movesProducts(op) && !isSpread &&
         op.getGroups() == 1 && !symbolicSizesOf(op).others &&
         productOf(y).asNumber() < productOf(w).asNumber();
}

/// Such a convolution with operand and weights in each other's role: then there are no zeros. Its places are
/// counted from the last one.
ConvolutionOp exchangeOperands(ConvolutionOp op) {
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW()), y = sizesOf(op.getType());
  OpBuilder b(op);
  VjpBuilder v(b, op, {Value()}, {false});
  SmallVector<Size> low, high;
  SmallVector<int64_t> places, perm{1, 0};
  for (size_t i = 0; i < op.getStride().size(); ++i) {
    // Place p, counted from the last, and element e of the operand meet in element
    // e base_dilation + p stride - ((places - 1) stride - low) of the weights.
    const Size steps = (y[2 + i] - 1) * op.getStride()[i], reach = (a[2 + i] - 1) * op.getBaseDilation()[i];
    low.push_back(steps - op.getLow()[i]);
    high.push_back(steps + reach + 1 - w[2 + i] - low.back());
    places.push_back(static_cast<int64_t>(2 + i));
    perm.push_back(places.back());
  }
  Sym made = v.make<ConvolutionOp>(op.getW(), op.getA(), op.getStride(), low, high,
                                   SmallVector<int64_t>(places.size(), 1), op.getBaseDilation(), uint64_t(1));
  Sym turned = v.make<TransposeOp>(v.make<ReverseOp>(made.value, places).value, perm);
  op.getResult().replaceAllUsesWith(turned.value);
  op.erase();
  return made.value.getDefiningOp<ConvolutionOp>();
}

/// Into how many pieces of the channels the sums of a convolution are divided on a GPU, each of which has
/// blocks of its own: 1 if there are blocks for all multiprocessors without that, or sums are short. None if
/// there should be several and cannot be: the pieces are of equal length.
std::optional<int64_t> piecesOnGpu(ConvolutionOp op, const TargetDescription &device) {
  constexpr int64_t tile = 64, leastSteps = 256;
  const SymbolRanges ranges = rangesOf(op);
  ArrayRef<Size> w = sizesOf(op.getW()), y = sizesOf(op.getResult());
  const auto groups = static_cast<int64_t>(op.getGroups());
  const int64_t outputs = divide(w[0], groups)->asNumber(),
                columns = ranges.largest(y[0] * productOf(y.drop_front(2)));
  int64_t window = 1;
  for (size_t i = 0; i < op.getStride().size(); ++i) // those elements that meet one of the operand
    window *=
        llvm::divideCeil(w[2 + i].asNumber(), op.getBaseDilation()[i] / std::gcd(op.getBaseDilation()[i],
                                                                                 op.getWindowDilation()[i]));
  const int64_t steps = ranges.largest(w[1] * window);
  const int64_t tiles = groups * llvm::divideCeil(outputs, tile) * llvm::divideCeil(columns, tile);
  if (tiles * 4 > device.cores || steps < 2 * leastSteps)
    return 1;
  if (!w[1].isNumber() || !y[0].isNumber() || groups != 1)
    return std::nullopt;
  const int64_t channels = w[1].asNumber(), most = std::min(2 * device.cores / tiles, steps / leastSteps);
  for (int64_t pieces = std::min(most, channels); pieces > 1; --pieces)
    if (channels % pieces == 0)
      return pieces;
  return std::nullopt;
}

/// Why a GPU has no launch for a convolution that the library's description allows; empty if it has one.
std::string whyNotOnGpu(ConvolutionOp op, const TargetDescription &device) {
  if (isProducts(op))
    return "it is one product";
  if (hasZeros(op) && !sizesOf(op.getW())[1].isNumber())
    return "its operand has zeros between its elements, and only the call knows how many channels it has";
  // Coordinates within an image have 32 bits (codegen/cuda/contractions/WindowsText.cpp).
  constexpr int64_t farthest = int64_t(1) << 28;
  ArrayRef<Size> a = sizesOf(op.getA()), w = sizesOf(op.getW()), y = sizesOf(op.getResult());
  for (size_t i = 0; i < op.getStride().size(); ++i) {
    const Size reach = a[2 + i] + y[2 + i] * op.getStride()[i] + w[2 + i] * op.getWindowDilation()[i];
    if (reach.asNumber() > farthest || std::abs(op.getLow()[i].asNumber()) > farthest)
      return "its windows reach too far";
  }
  return piecesOnGpu(op, device)
             ? ""
             : "its results are few and its sums long, so that the library divides the sums";
}

/// The transposition that is all that reads the result, and leaves a symbolic batch first; or null.
TransposeOp onlyTranspose(ConvolutionOp op) {
  Value result = op.getResult();
  auto transpose = result.hasOneUse() ? dyn_cast<TransposeOp>(*result.getUsers().begin()) : TransposeOp();
  const bool fits = transpose && (!isDynamic(op.getType()) || transpose.getPerm()[0] == 0);
  return fits ? transpose : TransposeOp();
}

/// Replaces a convolution, and the transposition of its result if there is one, by a value whose dimensions
/// are those of the convolution in the order `order`.
void replaceBy(ConvolutionOp op, TransposeOp transposed, Value value, ArrayRef<int64_t> order, OpBuilder &b) {
  Value replaced = transposed ? transposed.getResult() : op.getResult();
  SmallVector<int64_t> wanted(order.size()), perm;
  std::iota(wanted.begin(), wanted.end(), 0);
  if (transposed)
    wanted.assign(transposed.getPerm().begin(), transposed.getPerm().end());
  for (const int64_t dim : wanted)
    perm.push_back(llvm::find(order, dim) - order.begin());
  if (!llvm::is_sorted(perm))
    value = b.create<TransposeOp>(op.getLoc(), value, b.getDenseI64ArrayAttr(perm));
  replaced.replaceAllUsesWith(value);
  if (transposed)
    transposed.erase();
  op.erase();
}

/// Whether Winograd's method takes less time, in cycles of a vector of channels or outputs: 36 products of a
/// tile instead of 9 of each place, beside the transforms of weights, operand and result.
bool paysByWinograd(ImplicitGemmOp op) {
  constexpr double product = 0.5, ofWeights = 100, ofOperand = 130, ofResult = 170, margin = 1.2;
  const SymbolRanges ranges = rangesOf(op);
  const bool ofWindows = op.getWindow() == ArrayRef<int64_t>({3, 3});
  // A derivative with respect to weights: the window is an image of gradients, and the result has weights.
  ArrayRef<int64_t> image = ofWindows ? op.getPlaces() : op.getWindow();
  ArrayRef<Size> shape = op.getShape();
  const auto a = static_cast<double>(ranges.largest(shape[ofWindows ? 2 : 0])),
             b = static_cast<double>(ranges.largest(shape[3])),
             batch = static_cast<double>(ranges.largest(shape[ofWindows ? 0 : 2]));
  const auto places = batch * static_cast<double>(image[0]) * static_cast<double>(image[1]);
  const auto tiles =
      batch * static_cast<double>(llvm::divideCeil(image[0], 4) * llvm::divideCeil(image[1], 4));
  const double direct = 9 * product * places * a * b;
  const double byTiles =
      36 * product * tiles * a * b + ofWeights * a * b + ofOperand * tiles * a + ofResult * tiles * b;
  return a >= 16 && b >= 16 && margin * byTiles < direct;
}

/// The launch of a convolution, whose channels are divided into `pieces`: each is a group, and their sums are
/// added, those of halves in f32. Whether it has Winograd's method.
bool lowerToLaunch(ConvolutionOp op, int64_t pieces, bool mayBeWinograd) {
  OpBuilder b(op);
  ArrayRef<Size> a = sizesOf(op.getA()), y = sizesOf(op.getResult());
  Sources sources = sourcesOf(op);
  SmallVector<int64_t> window = *numbersOf(ArrayRef(sources.wShape).drop_front(3)),
                       low = *numbersOf(op.getLow());
  TransposeOp transposed = onlyTranspose(op);
  SmallVector<int64_t> order(y.size());
  std::iota(order.begin(), order.end(), 0);
  SmallVector<Size> shape{a[0], sources.wShape[0], sources.wShape[2], sources.wShape[1]};
  if (pieces > 1) {
    std::swap(order[0], order[1]); // so that the pieces are outermost
    shape[1] = pieces;
    shape[2] = *divide(shape[2], pieces);
    SmallVector<int64_t> &ofA = sources.a->view.strides, &ofW = sources.w->view.strides;
    ofA[1] = shape[2].asNumber() * ofA[2];
    ofW[0] = shape[2].asNumber() * ofW[2];
  } else if (transposed) {
    order.assign(transposed.getPerm().begin(), transposed.getPerm().end());
  }
  auto list = [&](ArrayRef<int64_t> numbers) { return b.getDenseI64ArrayAttr(numbers); };
  auto sizes = [&](ArrayRef<Size> given) { return SizesAttr::get(b.getContext(), given); };
  Type element = op.getType().getElementType();
  const bool isWide = pieces > 1 && isa<Float16Type, BFloat16Type>(element);
  const llvm::StringRef wide = convolutionStepNames[static_cast<size_t>(ConvolutionStep::wide)];
  Value result = b.create<ImplicitGemmOp>(op.getLoc(), sources.a->base, sources.w->base, ValueRange(),
                                          sizes(shape), list(*numbersOf(a.drop_front(2))), list(window),
                                          list(*numbersOf(y.drop_front(2))), op.getStrideAttr(), list(low),
                                          op.getBaseDilationAttr(), op.getWindowDilationAttr(), list(order),
                                          list(sources.a->view.write()), list(sources.w->view.write()),
                                          isWide ? b.getStrArrayAttr({wide}) : ArrayAttr(), UnitAttr());
  auto launch = result.getDefiningOp<ImplicitGemmOp>();
  launch.setWinograd(mayBeWinograd && hasWinograd(launch) && paysByWinograd(launch));
  if (pieces > 1) {
    SmallVector<Size> apart{Size(pieces), y[1], y[0]};
    llvm::append_range(apart, y.drop_front(2));
    result = b.create<ReshapeOp>(op.getLoc(), result, sizes(apart));
    result = b.create<SumOp>(op.getLoc(), result, list({0}));
    if (isWide)
      result = b.create<ConvertOp>(op.getLoc(), result, element);
  }
  replaceBy(op, transposed, result, order, b);
  return launch.getWinograd();
}

struct LowerConvolutions : impl::LowerConvolutionsBase<LowerConvolutions> {
  using LowerConvolutionsBase::LowerConvolutionsBase;
  const ContractionLibrary *library = nullptr;

  /// Why a convolution stays; empty if a launch computes it.
  std::string whyNot(ConvolutionOp op, const TargetDescription &description) const {
    const ConvolutionSignature signature = signatureOf(op);
    const ConvolutionAnswer answer = library && description.isCpu()
                                         ? library->askConvolution(signature)
                                         : TableLibrary(description).askConvolution(signature);
    const std::string refusal = answer.refusal.empty() ? whyNoLaunch(op) : answer.refusal;
    return refusal.empty() && !description.isCpu() ? whyNotOnGpu(op, description) : refusal;
  }

  void runOnOperation() override {
    const std::optional<Target> machine = parseTarget(getOperation(), target);
    if (!machine)
      return signalPassFailure();
    SmallVector<ConvolutionOp> ops;
    getOperation().walk([&](ConvolutionOp op) { ops.push_back(op); });
    if (ops.empty())
      return markAllAnalysesPreserved();
    std::vector<Decision> decisions;
    for (ConvolutionOp op : ops) {
      const TargetDescription *description = describe(op, deviceOf(op.getType()), *machine);
      if (!description)
        return signalPassFailure();
      if (!description->isCpu() && hasFewPlaces(op))
        op = exchangeOperands(op);
      const std::string refusal = whyNot(op, *description);
      auto note = [&](const char *code, const std::string &location, const std::string &message) {
        if (report)
          decisions.push_back({code, location, "", ConvolutionOp::getOperationName().str(), 0, message});
      };
      const std::string location = locationText(op.getLoc());
      if (refusal.empty()) {
        const bool isCpu = description->isCpu();
        if (lowerToLaunch(op, isCpu ? 1 : *piecesOnGpu(op, *description), isCpu && hasFastNumerics(op)))
          note("WEFT-N013", location,
               "tiles of 4 x 4 places take 36 products instead of 144, by Winograd's method");
      } else if (description->isCpu() || !isProducts(op)) {
        note("WEFT-N011", location, refusal + "; it is several kernels, and may store all windows");
      }
    }
    recordDecisions(getOperation(), decisions);
  }
};

} // namespace

std::unique_ptr<Pass> createLowerConvolutions(const LowerConvolutionsOptions &options,
                                              const ContractionLibrary *library) {
  auto pass = std::make_unique<LowerConvolutions>(options);
  pass->library = library;
  return pass;
}

} // namespace weft::passes
