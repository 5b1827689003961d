//===- Compute.cpp - The arithmetic of products --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/cublaslt/Compute.h"

#include "test/cudasim/engine/Numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace weft::cusim::lt {
namespace {

/// Sums of i32 wrap.
template <class T> struct Lanes;
template <> struct Lanes<float> {
  using Vector [[gnu::vector_size(32)]] = float;
};
template <> struct Lanes<double> {
  using Vector [[gnu::vector_size(32)]] = double;
};
template <> struct Lanes<uint32_t> {
  using Vector [[gnu::vector_size(32)]] = uint32_t;
};

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

struct Half {
  _Float16 value;
};
struct Brain {
  uint16_t bits;
};
struct Tf32 {
  float value;
};

inline float widen(float value) { return value; }
inline double widen(double value) { return value; }
inline float widen(Half value) { return float(value.value); }
inline float widen(Brain value) { return cudasim::brainToFloat(value.bits); }
inline uint32_t widen(int8_t value) { return uint32_t(int32_t(value)); }
inline uint32_t widen(uint32_t value) { return value; }
/// To the nearest number with 10 bits behind the point; of two, to the one that is further from 0.
inline float widen(Tf32 value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value.value);
  const bool isFinite = (bits >> 23 & 0xFF) != 0xFF;
  return isFinite ? std::bit_cast<float>((bits + 0x1000) & ~0x1FFFu) : value.value;
}

inline void narrow(float from, float &to) { to = from; }
inline void narrow(double from, double &to) { to = from; }
inline void narrow(uint32_t from, uint32_t &to) { to = from; }
inline void narrow(float from, Half &to) { to.value = _Float16(from); }
inline void narrow(float from, Brain &to) { to.bits = cudasim::floatToBrain(from); }

template <class Element> Element load(const std::byte *from, int64_t index) {
  Element element;
  std::memcpy(&element, from + index * int64_t(sizeof element), sizeof element);
  return element;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Rows and columns of D that are computed together, in registers.
constexpr int64_t rowsOfBlock = 6;
template <class T> constexpr int64_t lanesOf = 32 / int64_t(sizeof(T));
template <class T> constexpr int64_t columnsOfBlock = 2 * lanesOf<T>;

/// A matrix of `lines` lines by `k`, in panels of `width` lines: panel, then k, then line. Lines that are
/// missing at the end are zeros, whose sums nobody reads.
template <class T, class Element>
std::vector<T> pack(const std::byte *from, int64_t lines, int64_t k, int64_t lineStride, int64_t kStride,
                    int64_t width) {
  const int64_t panels = (lines + width - 1) / width;
  std::vector<T> packed(size_t(panels * width * k), T(0));
  for (int64_t panel = 0; panel < panels; ++panel) {
    T *to = packed.data() + panel * width * k;
    const int64_t present = std::min(width, lines - panel * width);
    for (int64_t step = 0; step < k; ++step)
      for (int64_t line = 0; line < present; ++line)
        to[step * width + line] =
            widen(load<Element>(from, (panel * width + line) * lineStride + step * kStride));
  }
  return packed;
}

/// The sums of one block, over `steps` elements, `depth` at a time.
template <class T>
void addBlock(const T *a, const T *b, int64_t steps, int64_t depth,
              T (&sums)[rowsOfBlock][columnsOfBlock<T>]) {
  using Vector = typename Lanes<T>::Vector;
  Vector totals[rowsOfBlock][2] = {};
  for (int64_t start = 0; start < steps; start += depth) {
    Vector slice[rowsOfBlock][2] = {};
    for (int64_t step = start; step < std::min(steps, start + depth); ++step) {
      Vector right[2];
      std::memcpy(right, b + step * columnsOfBlock<T>, sizeof right);
      for (int64_t row = 0; row < rowsOfBlock; ++row) {
        const T left = a[step * rowsOfBlock + row];
        slice[row][0] += left * right[0];
        slice[row][1] += left * right[1];
      }
    }
    for (int64_t row = 0; row < rowsOfBlock; ++row) {
      totals[row][0] += slice[row][0];
      totals[row][1] += slice[row][1];
    }
  }
  std::memcpy(sums, totals, sizeof totals);
}

template <class T, class Element>
void addAs(const Product &product, const ProductBytes &bytes, int32_t number, int64_t depth, int64_t parts,
           std::byte *to) {
  constexpr int64_t width = columnsOfBlock<T>, size = int64_t(sizeof(Element));
  const int64_t m = product.m, n = product.n, k = product.k;
  if (!k) { // empty sums, of operands that are nowhere
    std::memset(to, 0, size_t(parts * m * n) * sizeof(T));
    return;
  }
  const Matrix &a = product.a, &b = product.b;
  const int64_t aLine = product.transposeA ? a.columnStride() : a.rowStride();
  const int64_t aStep = product.transposeA ? a.rowStride() : a.columnStride();
  const int64_t bLine = product.transposeB ? b.rowStride() : b.columnStride();
  const int64_t bStep = product.transposeB ? b.columnStride() : b.rowStride();
  const std::vector<T> left =
      pack<T, Element>(bytes.a + number * a.batchStride * size, m, k, aLine, aStep, rowsOfBlock);
  const std::vector<T> right =
      pack<T, Element>(bytes.b + number * b.batchStride * size, n, k, bLine, bStep, width);
  // Parts have as many slices as each other, but for the last ones.
  const int64_t slices = (k + depth - 1) / depth, stepsOfPart = (slices + parts - 1) / parts * depth;
  T block[rowsOfBlock][width];
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = std::min(k, part * stepsOfPart), steps = std::min(k - begin, stepsOfPart);
    std::byte *sums = to + part * m * n * int64_t(sizeof(T));
    for (int64_t column = 0; column < n; column += width)
      for (int64_t row = 0; row < m; row += rowsOfBlock) {
        addBlock<T>(left.data() + row * k + begin * rowsOfBlock, right.data() + column * k + begin * width,
                    steps, depth, block);
        for (int64_t line = 0; line < std::min(rowsOfBlock, m - row); ++line)
          std::memcpy(sums + ((row + line) * n + column) * int64_t(sizeof(T)), block[line],
                      size_t(std::min(width, n - column)) * sizeof(T));
      }
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }
inline uint32_t fused(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }

float numberOf(const Scale &scale, float) { return scale.f32; }
double numberOf(const Scale &scale, double) { return scale.f64; }
uint32_t numberOf(const Scale &scale, uint32_t) { return uint32_t(scale.i32); }

/// Relu, and the bit that says whether it let its operand through.
template <class T> T relu(T value, bool losesNan, bool &passes) {
  if constexpr (std::is_floating_point_v<T>) {
    passes = !(value <= 0);
    return losesNan ? (value > 0 ? value : T(0)) : (value < 0 ? T(0) : value);
  }
  return value; // integers have no epilogue
}

template <class T, class Element>
void finishAs(const Product &product, const ProductBytes &bytes, int32_t number, const std::byte *sums,
              int64_t parts, int64_t partStride, T alpha, T beta, bool losesNan) {
  constexpr int64_t size = int64_t(sizeof(Element));
  const Matrix &c = product.c, &d = product.d;
  const std::byte *from = bytes.c ? bytes.c + number * c.batchStride * size : nullptr;
  const std::byte *bias = bytes.bias ? bytes.bias + number * product.biasStride * size : nullptr;
  std::byte *to = bytes.d + number * d.batchStride * size;
  std::byte *aux = bytes.aux ? bytes.aux + number * (product.auxStride / 8) : nullptr;
  for (int64_t column = 0; column < product.n; ++column)
    for (int64_t row = 0; row < product.m; ++row) {
      const int64_t index = row * product.n + column;
      T value = load<T>(sums, index);
      for (int64_t part = 1; part < parts; ++part)
        value += load<T>(sums + part * partStride, index);
      value = alpha * value;
      if (from)
        value =
            fused(beta, widen(load<Element>(from, row * c.rowStride() + column * c.columnStride())), value);
      if (bias)
        value += widen(load<Element>(bias, row));
      bool passes = false;
      if (product.hasRelu())
        value = relu(value, losesNan && !aux, passes);
      if (aux) {
        std::byte &bits = aux[(row + column * product.auxLeadingDimension) / 8];
        bits = (row % 8 ? bits : std::byte(0)) | std::byte(passes << row % 8);
      }
      Element element;
      narrow(value, element);
      std::memcpy(to + (row * d.rowStride() + column * d.columnStride()) * size, &element, sizeof element);
    }
}

} // namespace

Scale readScale(DataType type, const void *from) {
  Scale scale;
  if (type == DataType::f64)
    std::memcpy(&scale.f64, from, sizeof scale.f64);
  else if (type == DataType::i32)
    std::memcpy(&scale.i32, from, sizeof scale.i32);
  else
    std::memcpy(&scale.f32, from, sizeof scale.f32);
  return scale;
}

bool isZero(DataType type, const Scale &scale) {
  return type == DataType::f64 ? scale.f64 == 0 : type == DataType::i32 ? scale.i32 == 0 : scale.f32 == 0;
}

void addProducts(const Product &product, const ProductBytes &bytes, int32_t number, int64_t depth,
                 int64_t parts, std::byte *sums) {
  auto add = [&]<class T, class Element> { addAs<T, Element>(product, bytes, number, depth, parts, sums); };
  switch (product.a.type) {
  case DataType::f32:
    return product.roundsToTf32() ? add.operator()<float, Tf32>() : add.operator()<float, float>();
  case DataType::f64:
    return add.operator()<double, double>();
  case DataType::f16:
    return add.operator()<float, Half>();
  case DataType::bf16:
    return add.operator()<float, Brain>();
  case DataType::i8:
    return add.operator()<uint32_t, int8_t>();
  case DataType::i32:
    return; // no operand has it
  }
}

void finish(const Product &product, const ProductBytes &bytes, int32_t number, const std::byte *sums,
            int64_t parts, int64_t partStride, const Scale &alpha, const Scale &beta, bool losesNan) {
  auto finishWith = [&]<class T, class Element> {
    finishAs<T, Element>(product, bytes, number, sums, parts, partStride, numberOf(alpha, T()),
                         numberOf(beta, T()), losesNan);
  };
  switch (product.d.type) {
  case DataType::f32:
    return finishWith.operator()<float, float>();
  case DataType::f64:
    return finishWith.operator()<double, double>();
  case DataType::f16:
    return finishWith.operator()<float, Half>();
  case DataType::bf16:
    return finishWith.operator()<float, Brain>();
  case DataType::i32:
    return finishWith.operator()<uint32_t, uint32_t>();
  case DataType::i8:
    return; // no result has it
  }
}

} // namespace weft::cusim::lt
