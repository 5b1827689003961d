//===- Windows.cpp - The meaning of windows and convolutions ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

using namespace mlir;
namespace weft::ir {

/// Calls `body(whole, windows)` with the linear index of every element of the windows, and of the element of
/// the tensor that lies there.
static void forEachWindowElement(const Literal &whole, const Literal &windows, ArrayRef<int64_t> stride,
                                 ArrayRef<int64_t> dilation,
                                 llvm::function_ref<void(int64_t, int64_t)> body) {
  auto strides = whole.strides();
  size_t count = stride.size(), lead = whole.shape.size() - count;
  forEachIndex(windows.shape, [&](ArrayRef<int64_t> index, int64_t linear) {
    int64_t at = 0;
    for (size_t i = 0; i < lead; ++i)
      at += index[i] * strides[i];
    for (size_t i = 0; i < count; ++i)
      at += (index[lead + count + i] * stride[i] + index[lead + i] * dilation[i]) * strides[lead + i];
    body(at, linear);
  });
}

LogicalResult WindowsOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  forEachWindowElement(*operands[0], results[0], getStride(), getDilation(),
                       [&](int64_t from, int64_t to) { copyElement(results[0], to, *operands[0], from); });
  return success();
}

LogicalResult OverlapAddOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  Literal &out = results[0];
  std::vector<double> real(out.isReal() ? out.count() : 0, 0.0);
  std::vector<int64_t> whole(out.isReal() ? 0 : out.count(), 0);
  forEachWindowElement(out, in, getStride(), getDilation(), [&](int64_t to, int64_t from) {
    if (out.isReal())
      real[to] += in.real[from];
    else
      whole[to] = wrapAdd(whole[to], in.whole[from]);
  });
  for (int64_t i = 0, e = out.count(); i < e; ++i)
    if (out.isReal())
      out.setReal(i, real[i]);
    else
      out.setWhole(i, whole[i]);
  return success();
}

LogicalResult ConvolutionOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &a = *operands[0], &w = *operands[1];
  Literal &out = results[0];
  auto low = concreteSizes(*this, getLow());
  if (failed(low))
    return failure();
  auto aStrides = a.strides(), wStrides = w.strides();
  size_t extents = getStride().size();
  int64_t ofGroup = out.shape[1] / static_cast<int64_t>(getGroups());
  // Zeros of the padding are elements, whose product with an infinity is NaN. Zeros between elements are not
  // multiplied, and neither is the padding around them: there weights meet the elements alone.
  bool multipliesPadding = llvm::all_of(getBaseDilation(), [](int64_t each) { return each == 1; });
  SmallVector<int64_t> terms(ArrayRef(w.shape).drop_front(1)); // channel of the group, place in the window
  forEachIndex(out.shape, [&](ArrayRef<int64_t> place, int64_t linear) {
    double real = 0;
    int64_t whole = 0, firstChannel = place[1] / ofGroup * w.shape[1];
    forEachIndex(terms, [&](ArrayRef<int64_t> term, int64_t weight) {
      int64_t from = place[0] * aStrides[0] + (firstChannel + term[0]) * aStrides[1];
      int64_t by = place[1] * wStrides[0] + weight;
      for (size_t i = 0; i < extents; ++i) {
        int64_t at = place[2 + i] * getStride()[i] + term[1 + i] * getWindowDilation()[i] - (*low)[i];
        if (at < 0 || at % getBaseDilation()[i] != 0 || at / getBaseDilation()[i] >= a.shape[2 + i]) {
          if (out.isReal() && multipliesPadding)
            real += 0 * w.real[by];
          return;
        }
        from += at / getBaseDilation()[i] * aStrides[2 + i];
      }
      if (out.isReal())
        real += a.real[from] * w.real[by];
      else
        whole = wrapAdd(whole, wrapMul(a.whole[from], w.whole[by]));
    });
    if (out.isReal())
      out.setReal(linear, real);
    else
      out.setWhole(linear, whole);
  });
  return success();
}

} // namespace weft::ir
