//===- Reduction.cpp - The meaning of reductions and contractions -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/interp/Rules.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {

/// The layout of a reduction: result element i reduces the elements at `kept[i] + reduced[j]`.
struct ReductionLayout {
  std::vector<int64_t> kept, reduced;
  ReductionLayout(const Literal &in, ArrayRef<int64_t> dims) {
    auto strides = in.strides();
    kept = offsets(in.shape, strides, otherDims(in.rank(), dims));
    reduced = offsets(in.shape, strides, dims);
  }
};

template <typename Real, typename Whole>
LogicalResult interpretExtreme(Operation *op, const Literal &in, ArrayRef<int64_t> dims, Literal &out,
                               Real real, Whole whole) {
  ReductionLayout layout(in, dims);
  if (layout.reduced.empty() && !layout.kept.empty())
    return op->emitOpError("has nothing to choose from: a reduced dimension has size 0");
  for (auto [i, base] : llvm::enumerate(layout.kept)) {
    int64_t first = base + layout.reduced[0];
    if (in.isReal()) {
      double best = in.real[first];
      for (int64_t offset : layout.reduced)
        best = real(best, in.real[base + offset]);
      out.real[i] = best;
    } else {
      int64_t best = in.whole[first];
      for (int64_t offset : layout.reduced)
        best = whole(best, in.whole[base + offset]);
      out.whole[i] = best;
    }
  }
  return success();
}

} // namespace

LogicalResult SumOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  ReductionLayout layout(in, getDims());
  for (auto [i, base] : llvm::enumerate(layout.kept)) {
    if (in.isReal()) {
      double sum = 0;
      for (int64_t offset : layout.reduced)
        sum += in.real[base + offset];
      results[0].setReal(i, sum);
    } else {
      int64_t sum = 0;
      for (int64_t offset : layout.reduced)
        sum = wrapAdd(sum, in.whole[base + offset]);
      results[0].setWhole(i, sum);
    }
  }
  return success();
}

LogicalResult ProdOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  ReductionLayout layout(in, getDims());
  for (auto [i, base] : llvm::enumerate(layout.kept)) {
    if (in.isReal()) {
      double product = 1;
      for (int64_t offset : layout.reduced)
        product *= in.real[base + offset];
      results[0].setReal(i, product);
    } else {
      int64_t product = 1;
      for (int64_t offset : layout.reduced)
        product = wrapMul(product, in.whole[base + offset]);
      results[0].setWhole(i, product);
    }
  }
  return success();
}

LogicalResult AnyOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  ReductionLayout layout(in, getDims());
  for (auto [i, base] : llvm::enumerate(layout.kept)) {
    bool found = false;
    for (int64_t offset : layout.reduced)
      found |= in.whole[base + offset] != 0;
    results[0].setWhole(i, found);
  }
  return success();
}

LogicalResult WelfordOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &in = *operands[0];
  ReductionLayout layout(in, getDims());
  auto count = static_cast<double>(layout.reduced.size());
  for (auto [i, base] : llvm::enumerate(layout.kept)) {
    double sum = 0, m2 = 0;
    bool finite = true;
    for (int64_t offset : layout.reduced) {
      sum += in.real[base + offset];
      finite &= std::isfinite(in.real[base + offset]);
    }
    double mean = finite ? sum / count : std::numeric_limits<double>::quiet_NaN();
    for (int64_t offset : layout.reduced)
      m2 += (in.real[base + offset] - mean) * (in.real[base + offset] - mean);
    results[0].setReal(i, mean);
    results[1].setReal(i, m2);
  }
  results[2].setWhole(0, static_cast<int64_t>(layout.reduced.size()));
  return success();
}

LogicalResult RmaxOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretExtreme(*this, *operands[0], getDims(), results[0], larger,
                          [](int64_t a, int64_t b) { return std::max(a, b); });
}

LogicalResult RminOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretExtreme(*this, *operands[0], getDims(), results[0], smaller,
                          [](int64_t a, int64_t b) { return std::min(a, b); });
}

/// The index of the first extreme element along `dim`.
static LogicalResult interpretArg(Operation *op, const Literal &in, int64_t dim, bool largest, Literal &out) {
  ReductionLayout layout(in, dim);
  if (layout.reduced.empty() && !layout.kept.empty())
    return op->emitOpError() << "has nothing to choose from: dimension " << dim << " has size 0";
  // The first NaN is the extreme element.
  auto beats = [&](int64_t candidate, int64_t best) {
    if (!in.isReal())
      return largest ? in.whole[candidate] > in.whole[best] : in.whole[candidate] < in.whole[best];
    double a = in.real[candidate], b = in.real[best];
    return !std::isnan(b) && (std::isnan(a) || (largest ? a > b : a < b));
  };
  for (auto [i, base] : llvm::enumerate(layout.kept)) {
    int64_t best = 0;
    for (int64_t j = 1, e = static_cast<int64_t>(layout.reduced.size()); j < e; ++j)
      if (beats(base + layout.reduced[j], base + layout.reduced[best]))
        best = j;
    out.setWhole(i, best);
  }
  return success();
}

LogicalResult ArgmaxOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretArg(*this, *operands[0], getDim(), /*largest=*/true, results[0]);
}

LogicalResult ArgminOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  return interpretArg(*this, *operands[0], getDim(), /*largest=*/false, results[0]);
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

LogicalResult DotGeneralOp::interpret(ArrayRef<const Literal *> operands, MutableArrayRef<Literal> results) {
  const Literal &a = *operands[0], &b = *operands[1];
  const Literal *bias = getBias() ? operands[2] : nullptr;
  const Literal *residual = getResidual() ? operands[bias ? 3 : 2] : nullptr;
  ArrayRef<const Literal *> more = operands.take_back(getMore().size());
  Literal &out = results[0];
  auto side = [](const Literal &x, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    SmallVector<int64_t> used(batch);
    llvm::append_range(used, contract);
    auto strides = x.strides();
    return std::array{offsets(x.shape, strides, batch), offsets(x.shape, strides, otherDims(x.rank(), used)),
                      offsets(x.shape, strides, contract)};
  };
  auto [batchA, freeA, sumA] = side(a, getBatchA(), getContractA());
  auto [batchB, freeB, sumB] = side(b, getBatchB(), getContractB());

  int64_t linear = 0, width = out.shape.empty() ? 1 : out.shape.back();
  for (size_t n = 0; n < batchA.size(); ++n)
    for (int64_t row : freeA)
      for (int64_t column : freeB) {
        int64_t fromA = batchA[n] + row, fromB = batchB[n] + column, i = linear++;
        if (out.isReal()) {
          double sum = 0;
          for (size_t k = 0; k < sumA.size(); ++k)
            sum += a.real[fromA + sumA[k]] * b.real[fromB + sumB[k]];
          if (bias)
            sum += bias->real[i % width];
          if (residual)
            sum += residual->real[i];
          for (size_t pair = 0; pair < more.size(); pair += 2)
            for (size_t k = 0; k < sumA.size(); ++k)
              sum += more[pair]->real[fromA + sumA[k]] * more[pair + 1]->real[fromB + sumB[k]];
          out.setReal(i, getRelu() ? larger(sum, 0) : sum);
        } else {
          int64_t sum = 0;
          for (size_t k = 0; k < sumA.size(); ++k)
            sum = wrapAdd(sum, wrapMul(a.whole[fromA + sumA[k]], b.whole[fromB + sumB[k]]));
          if (bias)
            sum = wrapAdd(sum, bias->whole[i % width]);
          if (residual)
            sum = wrapAdd(sum, residual->whole[i]);
          // relu uses the sign of the wrapped sum.
          sum = wrapTo(out.dtype, sum);
          out.setWhole(i, getRelu() ? std::max<int64_t>(sum, 0) : sum);
        }
      }
  return success();
}

} // namespace weft::ir
