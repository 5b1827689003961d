//===- Nn.cpp ------------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/nn.hpp"

#include "frontend/Ops.h"

#include <cstdio>

namespace weft::nn {

using namespace frontend;

Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias, Loc loc) {
  Tensor y = matmul(x, weight.t(loc), loc);
  return bias.defined() ? add({y, loc}, {bias, loc}) : y;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

static std::string keyword(Reduction reduction) {
  return reduction == Reduction::none ? "none" : reduction == Reduction::mean ? "mean" : "sum";
}

Tensor cross_entropy(const Tensor &logits, const Tensor &target, CrossEntropyOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  Ref a = use(logits, loc), t = use(target, loc);
  if (is_floating_point(t.spec().dtype) || t.spec().dtype == DType::i1)
    fail("cross_entropy needs class numbers as targets, an integer tensor, found " +
             std::string(name(t.spec().dtype)),
         loc, {a, t});
  return wrap(record1("cross_entropy", {a, convertTo(t, DType::i64, loc)},
                      {{"reduction", keyword(options.reduction)}, {"ignore_index", options.ignore_index}},
                      loc),
              loc);
}

Tensor mse_loss(const Tensor &input, const Tensor &target, Reduction reduction, Loc loc) {
  if (input.sizes() != target.sizes())
    std::fprintf(
        stderr,
        "weft: Using a target size (%s) that is different to the input size (%s): the smaller is broadcast "
        "(WEFT-G010), at %s\n",
        shapeText(target.sizes()).c_str(), shapeText(input.sizes()).c_str(), str(loc).c_str());
  Tensor difference = sub({input, loc}, {target, loc});
  Tensor square = mul({difference, loc}, {difference, loc});
  return reduction == Reduction::none   ? square
         : reduction == Reduction::mean ? square.mean({}, false, loc)
                                        : square.sum({}, false, loc);
}

} // namespace weft::nn
