//===- Attention.cpp - Scaled dot-product attention -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/attention.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"

#include <cmath>

namespace weft {

using namespace frontend;

namespace {

int64_t &fromEnd(Shape &shape, size_t i) { return shape[shape.size() - i]; }
int64_t fromEnd(const Shape &shape, size_t i) { return shape[shape.size() - i]; }

void checkOperands(const Ref &q, const Ref &k, const Ref &v, Loc loc) {
  if (k.spec().dtype != q.spec().dtype || v.spec().dtype != q.spec().dtype)
    fail("Expected query, key, and value to have the same dtype, but got query.dtype: " +
             std::string(name(q.spec().dtype)) + " key.dtype: " + std::string(name(k.spec().dtype)) +
             " and value.dtype: " + std::string(name(v.spec().dtype)) + " instead.",
         loc, {q, k, v});
  checkFloat(q, "scaled_dot_product_attention()", loc);
  if (rankOf(q) < 2 || rankOf(k) < 2 || rankOf(v) < 2)
    fail("Expected query, key, and value to all be at least 2 dimensional, but got query.dim: " +
             std::to_string(rankOf(q)) + " key.dim: " + std::to_string(rankOf(k)) +
             " and value.dim: " + std::to_string(rankOf(v)) + " instead.",
         loc, {q, k, v});
  const Shape &qs = q.spec().shape, &ks = k.spec().shape, &vs = v.spec().shape;
  if (fromEnd(ks, 1) != fromEnd(qs, 1))
    fail("scaled_dot_product_attention() needs keys with as many features as queries, found " +
             shapeText(ks) + " and " + shapeText(qs),
         loc, {q, k});
  if (fromEnd(ks, 2) != fromEnd(vs, 2))
    fail("scaled_dot_product_attention() needs as many values as keys, found " + shapeText(vs) + " and " +
             shapeText(ks),
         loc, {k, v});
}

/// The dimensions before the last two, to which those of all operands broadcast.
Shape commonBatch(const std::vector<Ref> &operands, Loc loc) {
  size_t rank = 0;
  for (const Ref &operand : operands)
    rank = std::max(rank, operand.spec().shape.size());
  Shape batch(rank - 2, 1);
  for (const Ref &operand : operands) {
    const Shape &shape = operand.spec().shape;
    for (size_t i = 3; i <= shape.size(); ++i) {
      int64_t &into = batch[rank - i];
      if (into != fromEnd(shape, i) && into != 1 && fromEnd(shape, i) != 1)
        fail("The size of tensor a (" + sizeText(into) + ") must match the size of tensor b (" +
                 sizeText(fromEnd(shape, i)) + ") at non-singleton dimension " + std::to_string(rank - i) +
                 " of the operands of scaled_dot_product_attention()",
             loc, operands);
      into = into == 1 ? fromEnd(shape, i) : into;
    }
  }
  return batch;
}

Ref withBatch(Ref value, const Shape &batch, Loc loc) {
  Shape full = batch;
  full.insert(full.end(), value.spec().shape.end() - 2, value.spec().shape.end());
  return full == value.spec().shape ? value : broadcastTo(value, full, loc);
}

/// Each head as often as there are heads of queries for it, one after the other.
Tensor repeatHeads(const Tensor &heads, const Tensor &query, Loc loc) {
  Shape shape = heads.sizes(loc), asked = query.sizes(loc);
  if (shape.size() < 3 || asked.size() < 3)
    fail("scaled_dot_product_attention() with enable_gqa needs operands with heads, of at least 3 "
         "dimensions, found " +
             shapeText(shape) + " for queries " + shapeText(asked),
         loc);
  auto own = sizeOf(fromEnd(shape, 3)).number(), wanted = sizeOf(fromEnd(asked, 3)).number();
  if (fromEnd(shape, 3) == fromEnd(asked, 3))
    return heads;
  if (!own || !wanted || *own == 0 || *wanted % *own != 0)
    fail("Number of heads in key and value must divide the number of heads in query, found " +
             sizeText(fromEnd(shape, 3)) + " and " + sizeText(fromEnd(asked, 3)),
         loc);
  Shape wide = shape;
  wide.insert(wide.end() - 2, *wanted / *own);
  fromEnd(shape, 3) = *wanted;
  return heads.unsqueeze(-3, loc).expand(wide, loc).reshape(shape, loc);
}

/// The mask with the rank of the scores: it broadcasts where it has a size of 1.
Ref scoreMask(const Tensor &given, const Ref &q, const Ref &k, Loc loc) {
  Ref mask = use(given, loc);
  DType dtype = mask.spec().dtype, asked = q.spec().dtype;
  if (dtype != DType::i1 && dtype != asked && !(dtype == DType::f32 && itemsize(asked) == 2))
    fail("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: " +
             std::string(name(dtype)) + " and query.dtype: " + std::string(name(asked)) + " instead.",
         loc, {mask, q});
  Shape scores = q.spec().shape;
  fromEnd(scores, 1) = fromEnd(k.spec().shape, 2);
  Shape shape = mask.spec().shape;
  bool fits = shape.size() <= scores.size();
  for (size_t i = 1; fits && i <= shape.size(); ++i)
    fits = fromEnd(shape, i) == 1 || fromEnd(shape, i) == fromEnd(scores, i);
  if (!fits)
    fail("scaled_dot_product_attention() needs a mask that broadcasts to the shape of the scores, " +
             shapeText(scores) + ", found " + shapeText(shape),
         loc, {mask, q});
  shape.insert(shape.begin(), scores.size() - shape.size(), 1);
  return shape == mask.spec().shape ? mask : reshapeTo(mask, shape, loc);
}

double scaleOf(const AttentionOptions &options, const Ref &q, Loc loc) {
  if (options.scale) {
    if (!std::isfinite(*options.scale))
      fail("scaled_dot_product_attention() needs a finite scale, found " + std::to_string(*options.scale),
           loc);
    return *options.scale;
  }
  auto features = sizeOf(fromEnd(q.spec().shape, 1)).number();
  if (!features)
    fail("scaled_dot_product_attention() needs a scale where the number of features, " +
             sizeText(fromEnd(q.spec().shape, 1)) + ", is not known when it is compiled",
         loc, {q});
  return *features ? 1 / std::sqrt(static_cast<double>(*features)) : 1;
}

} // namespace

Tensor scaled_dot_product_attention(const Tensor &query, const Tensor &key, const Tensor &value,
                                    AttentionOptions options, Loc loc) {
  if (options.dropout_p != 0)
    fail("scaled_dot_product_attention() supports no dropout of probabilities, found dropout_p = " +
             std::to_string(options.dropout_p) +
             ": write softmax, dropout and matmul, or drop elements of the result",
         loc);
  if (options.causal && options.mask.defined())
    fail("scaled_dot_product_attention: Explicit mask should not be set when causal=true", loc);
  GraphLock lock(graphMutex());
  Ref q = use(query, loc), k = use(key, loc), v = use(value, loc);
  checkOperands(q, k, v, loc);
  if (options.enable_gqa) {
    k = use(repeatHeads(key, query, loc), loc);
    v = use(repeatHeads(value, query, loc), loc);
  }
  std::vector<Ref> operands{q, k, v};
  const Shape batch = commonBatch(operands, loc);
  for (Ref &operand : operands)
    operand = withBatch(operand, batch, loc);
  if (options.mask.defined())
    operands.push_back(scoreMask(options.mask, operands[0], operands[1], loc));
  const double scale = scaleOf(options, operands[0], loc);
  auto node = record("sdpa", operands, {{"scale", scale}, {"causal", options.causal}}, loc);
  return wrap({node, 0}, loc);
}

} // namespace weft
