//===- Convolution.cpp - convolution --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/SpreadConvolutions.h"
#include "ir/ops/Common.h"
#include "ir/ops/Windows.h"

using namespace mlir;
namespace weft::ir {

/// The elements of an extent with `dilation - 1` zeros between neighbours.
static Size spread(Size extent, int64_t dilation) {
  return extent == 0 ? Size(0) : (extent - 1) * dilation + 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult checkChannels(std::optional<Location> loc, RankedTensorType a, RankedTensorType w,
                                   int64_t groups) {
  Size channels = sizesOf(a)[1], outputs = sizesOf(w)[0];
  std::optional<Size> ofGroup = groups < 1 ? std::nullopt : divide(channels, groups);
  if (!ofGroup || !divide(outputs, groups))
    return emitOptionalError(loc, "'weft.convolution' op cannot divide ", sizeText(channels),
                             " channels and ", sizeText(outputs), " outputs into ", groups, " groups");
  if (*ofGroup != sizesOf(w)[1])
    return emitOptionalError(loc, "'weft.convolution' op needs weights for ", sizeText(*ofGroup),
                             " channels, the operand's ", sizeText(channels), " in ", groups,
                             " groups; found ", sizeText(sizesOf(w)[1]));
  return success();
}

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                              DictionaryAttr attributes, OpaqueProperties properties,
                                              RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto a = cast<RankedTensorType>(operands[0].getType()), w = cast<RankedTensorType>(operands[1].getType());
  int64_t extents = a.getRank() - 2;
  if (extents < 1 || extents > 3 || w.getRank() != a.getRank())
    return emitOptionalError(loc,
                             "'weft.convolution' op needs an operand and weights of rank 3, 4 or 5, found ",
                             a.getRank(), " and ", w.getRank());
  if (a.getElementType() != w.getElementType())
    return emitOptionalError(loc, "'weft.convolution' op needs one element type, found ", a.getElementType(),
                             " and weights of ", w.getElementType());
  for (size_t found : {op.getStride().size(), op.getLow().size(), op.getHigh().size(),
                       op.getBaseDilation().size(), op.getWindowDilation().size()})
    if (static_cast<int64_t>(found) != extents)
      return emitOptionalError(loc, "'weft.convolution' op needs stride, low, high, base_dilation and ",
                               "window_dilation for ", extents, " extents, found ", found, " numbers");
  if (failed(checkChannels(loc, a, w, static_cast<int64_t>(op.getGroups()))))
    return failure();
  SmallVector<Size> shape{sizesOf(a)[0], sizesOf(w)[0]};
  for (int64_t i = 0; i < extents; ++i) {
    if (op.getBaseDilation()[i] < 1)
      return emitOptionalError(loc, "'weft.convolution' op has base_dilation ", op.getBaseDilation()[i],
                               " of extent ", i, ", expected at least 1");
    Size whole = spread(sizesOf(a)[2 + i], op.getBaseDilation()[i]) + op.getLow()[i] + op.getHigh()[i];
    auto places = countWindows(loc, getOperationName(), static_cast<size_t>(i),
                               {whole, sizesOf(w)[2 + i], op.getStride()[i], op.getWindowDilation()[i]});
    if (failed(places))
      return failure();
    shape.push_back(*places);
  }
  return inferShaped(loc, getOperationName(), operands[0], shape, types);
}

LogicalResult ConvolutionOp::verify() {
  ArrayRef<Size> a = sizesOf(getA().getType()), w = sizesOf(getW().getType());
  for (size_t i = 0; i < getStride().size(); ++i)
    if (failed(verifyWindowsFit(*this, i,
                                {spread(a[2 + i], getBaseDilation()[i]) + getLow()[i] + getHigh()[i],
                                 w[2 + i], getStride()[i], getWindowDilation()[i]})))
      return failure();
  return failure(failed(verifyDeclared(*this, getLow())) || failed(verifyDeclared(*this, getHigh())));
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

namespace {

/// Dimensions of which the first two are exchanged.
SmallVector<int64_t> exchanged(int64_t rank) {
  SmallVector<int64_t> perm = allDims(rank);
  std::swap(perm[0], perm[1]);
  return perm;
}

/// [a b, c, rest..] as [b, a c, rest..] or so: dimension `dim` is divided into `groups`, the first of them
/// moves to the other of the first two dimensions.
Sym regroup(VjpBuilder &v, Sym x, unsigned dim, int64_t groups) {
  ArrayRef<Size> from = sizesOf(x.type());
  SmallVector<Size> apart(from), together;
  apart[dim] = groups;
  apart.insert(apart.begin() + dim + 1, *divide(from[dim], groups));
  // dim = 0: [g, b, c, ..] becomes [g, c, b, ..]; dim = 1: [a, g, c, ..] becomes [c, g, a, ..].
  SmallVector<int64_t> perm = allDims(static_cast<int64_t>(apart.size()));
  std::swap(perm[dim == 0 ? 1 : 0], perm[2]);
  Sym moved = v.make<TransposeOp>(v.reshape(x, apart).value, perm);
  ArrayRef<Size> sizes = sizesOf(moved.type());
  if (dim == 0)
    together = {sizes[0] * sizes[1], sizes[2]};
  else
    together = {sizes[0], sizes[1] * sizes[2]};
  llvm::append_range(together, sizes.drop_front(3));
  return v.reshape(moved, together);
}

} // namespace

LogicalResult ConvolutionOp::buildVjp(VjpBuilder &vjp) {
  auto rank = getA().getType().getRank();
  auto groups = static_cast<int64_t>(getGroups());
  ArrayRef<Size> a = sizesOf(getA().getType()), w = sizesOf(getW().getType()), y = sizesOf(getType());
  Sym g = vjp.cotangent(0);
  auto extents = static_cast<size_t>(rank - 2);
  // An operand without elements may have padding: no window over its derivative would fit.
  const bool isEmpty = llvm::any_of(a, [](Size size) { return size == 0; });
  if (vjp.needs(0) && isEmpty)
    vjp.set(0, vjp.like(vjp.operand(0), 0.0));
  if (vjp.needs(0) && !isEmpty) {
    // Element i of an extent takes part in place p through element k of the window if
    // i base_dilation + low = p stride + k window_dilation.
    SmallVector<Size> low, high;
    for (size_t i = 0; i < extents; ++i) {
      Size window = (w[2 + i] - 1) * getWindowDilation()[i];
      low.push_back(window - getLow()[i]);
      high.push_back(spread(a[2 + i], getBaseDilation()[i]) + window - low.back() -
                     spread(y[2 + i], getStride()[i]));
    }
    Sym reversed = vjp.make<ReverseOp>(vjp.operand(1).value, ArrayRef(allDims(rank)).drop_front(2)),
        turned = regroup(vjp, reversed, 0, groups);
    vjp.set(0, vjp.make<ConvolutionOp>(g.value, turned.value, getBaseDilation(), low, high, getStride(),
                                       getWindowDilation(), getGroups()));
  }
  if (vjp.needs(1)) {
    SmallVector<Size> high;
    for (size_t i = 0; i < extents; ++i)
      high.push_back(spread(w[2 + i], getWindowDilation()[i]) + spread(y[2 + i], getStride()[i]) - 1 -
                     spread(a[2 + i], getBaseDilation()[i]) - getLow()[i]);
    Sym images = regroup(vjp, vjp.operand(0), 1, groups),
        places = vjp.make<TransposeOp>(g.value, exchanged(rank));
    Sym weights = vjp.make<ConvolutionOp>(images.value, places.value, getWindowDilation(), getLow(), high,
                                          getBaseDilation(), getStride(), getGroups());
    if (auto op = weights.value.getDefiningOp<ConvolutionOp>(); hasZeros(op))
      op->setAttr(ofWeights, vjp.builder.getUnitAttr());
    vjp.set(1, vjp.make<TransposeOp>(weights.value, exchanged(rank)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

bool hasZeros(ConvolutionOp op) {
  return llvm::any_of(op.getBaseDilation(), [](int64_t each) { return each > 1; });
}

/// Whether the products of weights and elements can be added where they belong: all extents are static, and
/// places are neighbours. Groups of one output are sums over windows.
static bool hasStaticProducts(ConvolutionOp op) {
  return hasZeros(op) && llvm::all_of(op.getStride(), [](int64_t each) { return each == 1; }) &&
         !isDynamic(op.getW().getType()) && !anySymbolic(sizesOf(op.getA()).drop_front(2)) &&
         sizesOf(op.getW())[0] != static_cast<int64_t>(op.getGroups());
}

bool movesProducts(ConvolutionOp op) {
  if (!hasStaticProducts(op))
    return false;
  for (size_t i = 0; i < op.getStride().size(); ++i) {
    const Size window = sizesOf(op.getW())[2 + i];
    if (window != 1 && (op.getWindowDilation()[i] != 1 || window.asNumber() > op.getBaseDilation()[i]))
      return false;
  }
  return true;
}

namespace {

/// A convolution as the windows of its operand, [batch, groups, channels, window.., places..], times its
/// weights, [groups, outputs, channels, window..].
struct WindowProduct {
  VjpBuilder &v;
  Sym windows, weights;
  int64_t groups, extents;
  /// Whether the elements of a window are more than its places: then they are innermost in memory.
  bool windowLast;
  /// Where the windows have elements of the operand, [window.., places..]; null if all that they have is
  /// multiplied.
  Sym elements;

  ArrayRef<Size> sizes() const { return sizesOf(windows.type()); }
  Size batch() const { return sizes()[0]; }
  ArrayRef<Size> places() const { return sizes().take_back(static_cast<size_t>(extents)); }

  /// Sums of products over channels and windows, for one output of each group: the windows are read where
  /// they lie. [batch, groups, places..].
  Sym sumOfProducts(Type element) const {
    Type wide = sumType(windows.type());
    SmallVector<int64_t> perm{0, 1}, dims;
    auto range = [&](int64_t from, int64_t count) {
      for (int64_t dim = from; dim < from + count; ++dim)
        perm.push_back(dim);
    };
    if (windowLast) {
      range(3 + extents, extents);
      range(2, 1 + extents);
    } else {
      range(2, 1 + 2 * extents);
    }
    Sym a = v.make<TransposeOp>(windows.value, perm);
    SmallVector<int64_t> weightDims{1};
    for (auto [i, dim] : llvm::enumerate(perm))
      if (dim >= 2 && dim < 3 + extents)
        dims.push_back(static_cast<int64_t>(i));
    llvm::append_range(weightDims, dims);
    SmallVector<Size> shape{Size(groups)};
    llvm::append_range(shape, sizesOf(weights.type()).drop_front(2));
    Sym w = v.convert(v.reshape(weights, shape), wide);
    w = v.make<BroadcastInDimOp>(w.value, weightDims, sizesOf(a.type()));
    Sym products = v.convert(a, wide) * w;
    if (elements) {
      // In the order of the windows, but without batch, groups and channels.
      SmallVector<int64_t> order, places;
      for (auto [i, dim] : llvm::enumerate(perm))
        if (dim >= 3) {
          order.push_back(dim - 3);
          places.push_back(static_cast<int64_t>(i));
        }
      Sym are = windowLast ? v.make<TransposeOp>(elements.value, order) : elements;
      are = v.make<BroadcastInDimOp>(are.value, places, sizesOf(a.type()));
      products = v.select(are, products, v.like(products, 0));
    }
    return v.convert(v.sum(products, dims), element);
  }

  /// One matrix product for each group: the weights times the windows of all images. [batch, outputs,
  /// places..].
  Sym product() const {
    // [groups, channels, window.., batch, places..], or [groups, batch, places.., channels, window..].
    SmallVector<int64_t> window{2}, free{0}, perm{1};
    for (int64_t i = 0; i < extents; ++i) {
      window.push_back(3 + i);
      free.push_back(3 + extents + i);
    }
    llvm::append_range(perm, windowLast ? free : window);
    llvm::append_range(perm, windowLast ? window : free);
    Sym b = v.make<TransposeOp>(windows.value, perm);
    int64_t begin = windowLast ? 2 + extents : 1;
    SmallVector<int64_t> contractW = llvm::to_vector(llvm::seq<int64_t>(2, 3 + extents)),
                         contractB = llvm::to_vector(llvm::seq<int64_t>(begin, begin + 1 + extents));
    Sym y = v.make<DotGeneralOp>(weights.value, b.value, Value(), ArrayRef<int64_t>{0}, ArrayRef<int64_t>{0},
                                 contractW, contractB, false); // [groups, outputs, batch, places..]
    SmallVector<int64_t> order = allDims(3 + extents);
    std::rotate(order.begin(), order.begin() + 2, order.begin() + 3);
    return v.make<TransposeOp>(y.value, order);
  }
};

/// Zeros between the elements of the operand would make most products 0. So each element is multiplied by the
/// weights of the window first, and the products are added where they lie. [batch, outputs, places..].
Sym addedProducts(ConvolutionOp op, VjpBuilder &v, ArrayRef<Size> ofGroups) {
  ArrayRef<Size> a = sizesOf(op.getA().getType()), y = sizesOf(op.getType());
  int64_t groups = static_cast<int64_t>(op.getGroups()), extents = op.getA().getType().getRank() - 2;
  SmallVector<Size> split{a[0], Size(groups), ofGroups[2]};
  llvm::append_range(split, a.drop_front(2));
  Sym products = v.make<DotGeneralOp>(
      v.reshape({op.getW(), &v}, ofGroups).value, v.reshape({op.getA(), &v}, split).value, Value(),
      ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{2}, ArrayRef<int64_t>{2}, false);
  // [groups, outputs, window.., batch, extents..] as [batch, outputs, reversed window.., extents..].
  SmallVector<int64_t> order = allDims(3 + 2 * extents), window;
  std::rotate(order.begin(), order.begin() + 2 + extents, order.begin() + 3 + extents);
  SmallVector<Size> whole{a[0], y[1]}, low(2, 0), high(2, 0), sums;
  llvm::append_range(whole, ofGroups.drop_front(3));
  llvm::append_range(whole, a.drop_front(2));
  for (int64_t i = 0; i < extents; ++i) {
    window.push_back(2 + i);
    Size reach = (ofGroups[3 + i] - 1) * op.getWindowDilation()[i];
    sums.push_back(spread(a[2 + i], op.getBaseDilation()[i]) + reach);
    low.push_back(op.getLow()[i] - reach);
    high.push_back(y[2 + i] - sums.back() - low.back());
  }
  Sym x = v.reshape(v.make<TransposeOp>(products.value, order), whole);
  x = v.make<OverlapAddOp>(v.make<ReverseOp>(x.value, window).value, sums, op.getBaseDilation(),
                           op.getWindowDilation());
  return padded(x, low, high, SmallVector<int64_t>(2 + extents, 0));
}

/// The elements that meet an element of the operand in the places: a window of the weights has as many
/// elements as the operand, and there is one for each place, from the last to the first. [outputs, channels,
/// extents.., places..].
Sym windowsOfWeights(ConvolutionOp op, VjpBuilder &v) {
  ArrayRef<Size> a = sizesOf(op.getA().getType()), w = sizesOf(op.getW().getType()),
                 y = sizesOf(op.getType());
  int64_t extents = op.getA().getType().getRank() - 2;
  SmallVector<Size> low(2, 0), high(2, 0);
  SmallVector<int64_t> interior(2, 0), reversed;
  for (int64_t i = 0; i < extents; ++i) {
    // Place p, counted from the last, and element e of the operand meet in element
    // e base_dilation + p stride - ((places - 1) stride - low) of the weights with zeros between them.
    Size steps = (y[2 + i] - 1) * op.getStride()[i], reach = (a[2 + i] - 1) * op.getBaseDilation()[i];
    low.push_back(steps - op.getLow()[i]);
    high.push_back(steps + reach + 1 - spread(w[2 + i], op.getWindowDilation()[i]) - low.back());
    interior.push_back(op.getWindowDilation()[i] - 1);
    reversed.push_back(2 + extents + i);
  }
  Sym windows = v.make<WindowsOp>(padded({op.getW(), &v}, low, high, interior).value, a.drop_front(2),
                                  op.getStride(), op.getBaseDilation());
  return v.make<ReverseOp>(windows.value, reversed);
}

/// The operand times the windows of the weights: the product that an operand with zeros between its elements
/// and few places asks for, as the derivative with respect to the weights of a transposed convolution.
/// [batch, outputs, places..].
Sym productWithWindowsOfWeights(ConvolutionOp op, VjpBuilder &v, ArrayRef<Size> ofGroups) {
  ArrayRef<Size> a = sizesOf(op.getA().getType());
  int64_t groups = static_cast<int64_t>(op.getGroups()), extents = op.getA().getType().getRank() - 2;
  Sym windows = windowsOfWeights(op, v);
  SmallVector<Size> split{a[0], Size(groups), ofGroups[2]}, ofWindows(ofGroups.take_front(3));
  llvm::append_range(split, a.drop_front(2));
  llvm::append_range(ofWindows, sizesOf(windows.type()).drop_front(2));
  // Over channels and extents: [groups, batch, outputs, places..] as [batch, groups, outputs, places..].
  SmallVector<int64_t> contracted = llvm::to_vector(llvm::seq<int64_t>(2, 3 + extents));
  Sym products = v.make<DotGeneralOp>(v.reshape({op.getA(), &v}, split).value,
                                      v.reshape(windows, ofWindows).value, Value(), ArrayRef<int64_t>{1},
                                      ArrayRef<int64_t>{0}, contracted, contracted, false);
  return v.make<TransposeOp>(products.value, exchanged(3 + extents));
}

/// Whether that product reads and stores less than `addedProducts` would: there are zeros between elements,
/// all extents are static, and the places are fewer than the elements of a window.
bool readsWindowsOfWeights(ConvolutionOp op) {
  ArrayRef<Size> a = sizesOf(op.getA().getType()), w = sizesOf(op.getW().getType()),
                 y = sizesOf(op.getType());
  if (!hasZeros(op) || anySymbolic(w) || anySymbolic(a.drop_front(2)))
    return false;
  return productOf(y.drop_front(2)).asNumber() < productOf(w.drop_front(2)).asNumber();
}

/// Whether `addedProducts` is used: the products that it stores have the type in which they are added, or are
/// not added.
bool addsProducts(ConvolutionOp op) {
  auto w = op.getW().getType();
  return hasStaticProducts(op) && (sumType(w) == w.getElementType() || movesProducts(op));
}

} // namespace

SmallVector<Value> ConvolutionOp::decompose(OpBuilder &builder) {
  VjpBuilder v = decompositionBuilder(builder, *this);
  auto groups = static_cast<int64_t>(getGroups()), extents = getA().getType().getRank() - 2;
  if (elementsOf(getA().getType()) == 0 || elementsOf(getW().getType()) == 0)
    return {v.like({getResult(), &v}, 0).value};
  ArrayRef<Size> w = sizesOf(getW().getType());
  SmallVector<Size> ofGroups{Size(groups), *divide(w[0], groups)}; // the shape of weights with groups
  llvm::append_range(ofGroups, w.drop_front(1));
  bool oneOutput = ofGroups[1] == 1;
  if (!oneOutput && readsWindowsOfWeights(*this))
    return {v.reshape(productWithWindowsOfWeights(*this, v, ofGroups), sizesOf(getType())).value};
  if (addsProducts(*this))
    return {addedProducts(*this, v, ofGroups).value};
  SmallVector<Size> low(2, 0), high(2, 0), split;
  SmallVector<int64_t> interior(2, 0);
  for (int64_t i = 0; i < extents; ++i) {
    low.push_back(getLow()[i]);
    high.push_back(getHigh()[i]);
    interior.push_back(getBaseDilation()[i] - 1);
  }
  const auto windowsOf = [&](Sym a, size_t lead) {
    const auto ofExtents = [&](const auto &numbers) { return ArrayRef(numbers).drop_front(2 - lead); };
    a = padded(a, ofExtents(low), ofExtents(high), ofExtents(interior));
    return v.make<WindowsOp>(a.value, w.drop_front(2), getStride(), getWindowDilation());
  };
  Sym a = windowsOf({getA(), &v}, 2), elements;
  // Zeros between elements and the padding around them are not multiplied.
  if (oneOutput && hasZeros(*this)) {
    RankedTensorType all = withShape(getA().getType(), sizesOf(getA()).drop_front(2), builder.getI1Type());
    elements = windowsOf(v.make<ConstantOp>(all, splatOf(all, builder.getBoolAttr(true))), 0);
  }
  ArrayRef<Size> from = sizesOf(a.type());
  llvm::append_values(split, from[0], Size(groups), w[1]);
  llvm::append_range(split, from.drop_front(2));
  SymbolRanges ranges = rangesOf(*this);
  ArrayRef<Size> places = from.take_back(static_cast<size_t>(extents));
  bool windowLast = ranges.largest(productOf(w.drop_front(2))) > ranges.largest(productOf(places));
  WindowProduct product{
      v, v.reshape(a, split), v.reshape({getW(), &v}, ofGroups), groups, extents, windowLast, elements};
  Sym y = oneOutput ? product.sumOfProducts(getType().getElementType()) : product.product();
  return {v.reshape(y, sizesOf(getType())).value};
}

} // namespace weft::ir
