//===- AttentionCases.cpp - Attentions that tests compute -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/codegen/AttentionCases.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace weft::testing {

using codegen::AttentionOperand;
using codegen::AttentionSchedule;
using codegen::CudaAttention;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The view of a [batch.., rows, columns] tensor.
static ir::AttentionView viewOf(const AttentionCase &c, Layout layout, int64_t rows, int64_t columns) {
  const size_t rank = c.batch.size() + 2;
  std::vector<int64_t> shape(c.batch), order;
  shape.insert(shape.end(), {rows, columns});
  for (size_t i = 0; i < rank; ++i)
    order.push_back(static_cast<int64_t>(i));
  if (layout == Layout::interleaved && rank > 3) // [batch, rows, heads, columns]
    std::swap(order[rank - 3], order[rank - 2]);
  if (layout == Layout::columns)
    std::swap(order[rank - 2], order[rank - 1]);
  if (layout == Layout::spread)
    shape.back() += 3;
  if (layout == Layout::padded) // aligned rows, whose last access has some of its elements
    shape.back() = (shape.back() + 7) / 8 * 8;
  ir::AttentionView view = ir::orderedView(shape, order);
  view.offset = layout == Layout::spread ? 5 : layout == Layout::interleaved ? 8 : 0;
  return view;
}

CudaAttention makeAttention(DType dtype, const AttentionCase &c) {
  llvm::SmallVector<int64_t> shape(c.batch.begin(), c.batch.end());
  shape.append({c.rows, c.keys, c.features, c.values});
  CudaAttention a{ir::AttentionExtents(shape)};
  a.dtype = dtype;
  a.mask = c.mask;
  a.causal = c.causal;
  a.backward = c.backward;
  a.roundsScores = c.roundsScores;
  a.scale = 1 / std::sqrt(double(c.features));
  auto add = [&](const char *name, int64_t rows, int64_t columns, bool isWritten) {
    const bool isDense = std::string_view(name) == "lse" || (isWritten && c.denseResults);
    // Operands may lie in different ways.
    const Layout layout = isDense ? Layout::rows
                          : isWritten || c.turns == 0
                              ? c.layout
                              : Layout((int(c.layout) + int(a.operands.size()) * c.turns) % 5);
    const DType type = std::string_view(name) == "lse" ? f32 : dtype;
    const int64_t alignment = c.aligned ? 16 : static_cast<int64_t>(itemsize(type));
    a.operands.push_back({name, type, viewOf(c, layout, rows, columns), rows, columns, isWritten, alignment});
  };
  add("q", c.rows, c.features, false);
  add("k", c.keys, c.features, false);
  add("v", c.keys, c.values, false);
  add("out", c.rows, c.values, !c.backward);
  add("lse", c.rows, 1, !c.backward);
  if (c.backward) {
    add("grad", c.rows, c.values, false);
    add("dq", c.rows, c.features, true);
    add("dk", c.keys, c.features, true);
    add("dv", c.keys, c.values, true);
  }
  if (c.mask) {
    add("mask", c.rows, c.keys, false);
    a.operands.back().dtype = *c.mask;
    if (c.maskRepeats)
      for (size_t d = 0; d < c.batch.size(); ++d)
        a.operands.back().view.strides[d] = 0;
  }
  return a;
}

/// The elements of memory that a view reaches.
static size_t reach(const CudaAttention &a, const AttentionOperand &operand) {
  int64_t last = operand.view.offset;
  std::vector<int64_t> shape(a.extents.batch.begin(), a.extents.batch.end());
  shape.insert(shape.end(), {operand.rows, operand.columns});
  for (size_t d = 0; d < shape.size(); ++d)
    last += (shape[d] - 1) * operand.view.strides[d];
  return static_cast<size_t>(last + 1);
}

int64_t placeOf(const CudaAttention &a, const AttentionOperand &operand, int64_t matrix, int64_t row,
                int64_t column) {
  int64_t at = operand.view.offset;
  const size_t rank = a.extents.batch.size();
  for (size_t d = rank; d-- > 0; matrix /= a.extents.batch[d])
    at += matrix % a.extents.batch[d] * operand.view.strides[d];
  return at + row * operand.view.strides[rank] + column * operand.view.strides[rank + 1];
}

Tensors randomTensors(const CudaAttention &a, std::mt19937 &random) {
  Tensors tensors;
  for (const AttentionOperand &operand : a.operands) {
    const auto count = static_cast<int64_t>(reach(a, operand));
    Elements made = operand.dtype == DType::i1 ? Elements(DType::i1, size_t(count))
                                               : randomElements(operand.dtype, count, Values::random, random);
    if (operand.dtype == DType::i1)
      for (std::byte &byte : made.bytes)
        byte = std::byte(random() % 4 != 0);
    tensors.emplace(operand.name, std::move(made));
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

namespace {
/// A number, and how far from it a kernel may be.
struct Bounded {
  double value = 0, error = 0;
};
using Matrix = std::vector<std::vector<Bounded>>;

/// An operand of one batch index in double precision.
struct Dense {
  std::vector<double> elements;
  int64_t columns = 0;
  double operator()(int64_t row, int64_t column) const { return elements[size_t(row * columns + column)]; }
};

Matrix matrixOf(int64_t rows, int64_t columns) {
  return Matrix(size_t(rows), std::vector<Bounded>(size_t(columns)));
}

/// What plain loops compute for one batch index.
class Reference {
public:
  Reference(const CudaAttention &a, const AttentionSchedule &s, const Tensors &tensors, int64_t matrix)
      : a(a), e(a.extents), unit(a.dtype == f32   ? 0x1p-24
                                 : a.dtype == f16 ? 0x1p-11
                                                  : 0x1p-8),
        rounding(s.matrixUnits && a.roundsScores ? unit : 0x1p-22) {
    for (auto [name, into] :
         {std::pair("q", &q), std::pair("k", &k), std::pair("v", &v), std::pair("out", &out),
          std::pair("lse", &lse), std::pair("grad", &grad), std::pair("mask", &mask)})
      if (const AttentionOperand *operand = a.find(name))
        *into = read(*operand, tensors.at(name), matrix);
    scores = matrixOf(e.rows, e.keys);
    for (int64_t i = 0; i < e.rows; ++i)
      for (int64_t j = 0; j < e.keys; ++j)
        scores[size_t(i)][size_t(j)] = score(i, j);
  }

  std::map<std::string, Matrix> results() const { return a.backward ? backward() : forward(); }

private:
  Dense read(const AttentionOperand &operand, const Elements &from, int64_t matrix) const {
    Dense made{{}, operand.columns};
    for (int64_t row = 0; row < operand.rows; ++row)
      for (int64_t column = 0; column < operand.columns; ++column) {
        const int64_t at = placeOf(a, operand, matrix, row, column);
        made.elements.push_back(operand.dtype == DType::i1 ? double(from.bytes[size_t(at)] != std::byte(0))
                                                           : from.real(at));
      }
    return made;
  }

  Bounded score(int64_t i, int64_t j) const {
    if (a.causal && j > i)
      return {-infinity, 0};
    double sum = 0, magnitude = 0;
    for (int64_t f = 0; f < e.features; ++f) {
      const double term = q(i, f) * k(j, f);
      sum += term;
      magnitude += std::abs(term);
    }
    const auto scale = double(float(a.scale));
    sum *= scale;
    magnitude *= std::abs(scale);
    if (a.mask == DType::i1)
      return mask(i, j) != 0 ? Bounded{sum, error(magnitude)} : Bounded{-infinity, 0};
    if (!a.mask)
      return {sum, error(magnitude)};
    const double added = mask(i, j);
    return {sum + added, error(magnitude + (std::isinf(added) ? 0 : std::abs(added)))};
  }
  double error(double magnitude) const { return double(e.features + 4) * 0x1p-24 * magnitude; }

  /// The error of a result that is `value`, after it is rounded to its type.
  double rounded(double value, double error) const {
    // A half that is subnormal has a unit of 2^-24.
    return error + unit * std::abs(value) * 1.01 + (a.dtype == f16 ? 0x1p-24 : 0x1p-126);
  }

  std::map<std::string, Matrix> forward() const {
    Matrix results = matrixOf(e.rows, e.values), logarithms = matrixOf(e.rows, 1);
    for (int64_t i = 0; i < e.rows; ++i) {
      double highest = -infinity, worst = 0, total = 0;
      for (const Bounded &s : scores[size_t(i)]) {
        highest = std::max(highest, s.value);
        if (s.value > -infinity)
          worst = std::max(worst, s.error + 0x1p-24 * std::abs(s.value));
      }
      if (highest == -infinity) {
        logarithms[size_t(i)][0] = {-infinity, 0};
        continue;
      }
      for (const Bounded &s : scores[size_t(i)])
        total += std::exp(s.value - highest);
      // Of each exponential, of the sum, and of the factors by which earlier tiles are shifted.
      const double relative = 2 * worst + double(e.keys + 64) * 0x1p-23;
      logarithms[size_t(i)][0] = {highest + std::log(total),
                                  relative + 0x1p-22 * std::abs(highest) + 0x1p-20};
      for (int64_t c = 0; c < e.values; ++c) {
        double sum = 0, magnitude = 0;
        for (int64_t j = 0; j < e.keys; ++j) {
          const double p = std::exp(scores[size_t(i)][size_t(j)].value - highest) / total;
          sum += p * v(j, c);
          magnitude += p * std::abs(v(j, c));
        }
        // A probability of f16 is at most 2^-25 from its own, which may be much of it.
        const double tiny = a.roundsScores && a.dtype == f16 ? 0x1p-25 * double(e.keys) * 8 : 0;
        results[size_t(i)][size_t(c)] = {sum, rounded(sum, magnitude * 2 * (relative + rounding) + tiny)};
      }
    }
    return {{"out", results}, {"lse", logarithms}};
  }

  std::map<std::string, Matrix> backward() const {
    Matrix p = matrixOf(e.rows, e.keys), ds = p;
    for (int64_t i = 0; i < e.rows; ++i) {
      double inner = 0, innerMagnitude = 0;
      for (int64_t c = 0; c < e.values; ++c) {
        inner += out(i, c) * grad(i, c);
        innerMagnitude += std::abs(out(i, c) * grad(i, c));
      }
      const double logarithm = lse(i, 0);
      for (int64_t j = 0; j < e.keys; ++j) {
        const Bounded &s = scores[size_t(i)][size_t(j)];
        if (s.value == -infinity || logarithm == -infinity)
          continue;
        double slope = 0, magnitude = 0;
        for (int64_t c = 0; c < e.values; ++c) {
          slope += grad(i, c) * v(j, c);
          magnitude += std::abs(grad(i, c) * v(j, c));
        }
        const double probability = std::exp(s.value - logarithm);
        const double relative =
            2 * (s.error + 0x1p-24 * (std::abs(s.value) + std::abs(logarithm))) + 0x1p-20 + rounding;
        p[size_t(i)][size_t(j)] = {probability,
                                   probability * relative + (a.roundsScores && a.dtype == f16 ? 0x1p-25 : 0)};
        const double difference = slope - inner,
                     error = double(e.values + 4) * 0x1p-23 * (magnitude + innerMagnitude);
        ds[size_t(i)][size_t(j)] = {probability * difference,
                                    probability * (2 * relative * std::abs(difference) + error) +
                                        rounding * std::abs(probability * difference) +
                                        (a.roundsScores && a.dtype == f16 ? 0x1p-25 : 0)};
      }
    }
    const auto scale = double(float(a.scale));
    auto product = [&](const Matrix &left, bool transposed, const Dense &right, double factor, int64_t rows,
                       int64_t columns) {
      Matrix result = matrixOf(rows, columns);
      const int64_t depth = transposed ? e.rows : e.keys;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          double sum = 0, error = 0;
          for (int64_t d = 0; d < depth; ++d) {
            const Bounded &x = transposed ? left[size_t(d)][size_t(r)] : left[size_t(r)][size_t(d)];
            const double y = right(d, c);
            sum += x.value * y;
            error += (x.error + double(depth + 4) * 0x1p-24 * std::abs(x.value)) * std::abs(y);
          }
          result[size_t(r)][size_t(c)] = {sum * factor, rounded(sum * factor, error * std::abs(factor))};
        }
      return result;
    };
    return {{"dq", product(ds, false, k, scale, e.rows, e.features)},
            {"dk", product(ds, true, q, scale, e.keys, e.features)},
            {"dv", product(p, true, grad, 1, e.keys, e.values)}};
  }

  const CudaAttention &a;
  const ir::AttentionExtents &e;
  Dense q, k, v, out, lse, grad, mask;
  double unit, rounding; ///< of a result; of what is an operand of the second products
  Matrix scores;
};
} // namespace

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

void fillForward(const CudaAttention &a, const AttentionSchedule &s, Tensors &tensors) {
  CudaAttention forward = a;
  forward.backward = false;
  for (int64_t matrix = 0; matrix < a.extents.batchCount(); ++matrix)
    for (const auto &[name, result] : Reference(forward, s, tensors, matrix).results())
      for (size_t row = 0; row < result.size(); ++row)
        for (size_t column = 0; column < result[row].size(); ++column)
          tensors.at(name).putReal(placeOf(a, *a.find(name), matrix, int64_t(row), int64_t(column)),
                                   result[row][column].value);
}

std::string differences(const CudaAttention &a, const AttentionSchedule &schedule, const Tensors &tensors) {
  std::map<std::string, std::vector<bool>> written;
  std::ostringstream wrong;
  int count = 0;
  for (int64_t matrix = 0; matrix < a.extents.batchCount(); ++matrix)
    for (const auto &[name, result] : Reference(a, schedule, tensors, matrix).results()) {
      written[name].resize(tensors.at(name).count());
      for (size_t row = 0; row < result.size(); ++row)
        for (size_t column = 0; column < result[row].size(); ++column) {
          const int64_t at = placeOf(a, *a.find(name), matrix, int64_t(row), int64_t(column));
          written[name][size_t(at)] = true;
          const auto [value, error] = result[row][column];
          const double found = tensors.at(name).real(at);
          const bool fits = std::isnan(value)   ? std::isnan(found)
                            : std::isinf(value) ? found == value
                                                : std::abs(found - value) <= error;
          if (!fits && ++count <= 3)
            wrong << name << " of matrix " << matrix << ", row " << row << ", column " << column << ": "
                  << found << " instead of " << value << " within " << error << "\n";
        }
    }
  for (const auto &[name, elements] : written)
    for (size_t at = 0; at < elements.size(); ++at)
      for (size_t l = 0, size = itemsize(tensors.at(name).dtype); !elements[at] && l < size; ++l)
        if (tensors.at(name).bytes[at * size + l] != std::byte(0xFF) && ++count <= 3)
          wrong << "a gap of " << name << " at " << at << " was written\n";
  return wrong.str();
}

} // namespace weft::testing
