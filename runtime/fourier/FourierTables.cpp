//===- FourierTables.cpp - The tables of a length ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/fourier/FourierTables.h"

#include "runtime/fourier/FourierRoutine.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <mutex>
#include <numbers>

namespace weft::runtime {

namespace {

/// From here on a line is a matrix, if its elements are beside each other.
constexpr int64_t leastMatrix = 256;
/// And beyond, in any case.
constexpr int64_t mostLanes = 2048;

using Root = std::complex<double>;

/// exp(-2 pi i k / n), exact where a part is 0, 1 or -1, from an angle of at most pi / 4.
Root root(int64_t k, int64_t n) {
  k %= n;
  // The angle is `quarters` right angles and `rest` / n of the circle.
  const int64_t quarters = 4 * k / n, rest = 4 * k - quarters * n; // in 4 n parts of the circle
  const bool isHigh = 2 * rest > n;
  const double angle =
      static_cast<double>(isHigh ? n - rest : rest) * (std::numbers::pi / 2) / static_cast<double>(n);
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const Root first = isHigh ? Root(sine, -cosine) : Root(cosine, -sine);
  switch (quarters) {
  case 0:
    return first;
  case 1:
    return {first.imag(), -first.real()};
  case 2:
    return -first;
  default:
    return {-first.imag(), first.real()};
  }
}

/// The radices of a length, or none if it has a large prime factor. Two of 4 are faster than 2 and 8.
std::vector<int> radices_of(int64_t n) {
  int twos = 0;
  for (; n % 2 == 0; n /= 2)
    ++twos;
  std::vector<int> radices;
  if (twos % 3 == 1 && twos > 1) {
    radices = {4, 4};
    twos -= 4;
  } else if (twos % 3 != 0) {
    radices = {1 << (twos % 3)};
    twos -= twos % 3;
  }
  radices.insert(radices.begin(), static_cast<size_t>(twos / 3), 8);
  for (int radix = 3; radix <= mostRadix && n > 1; radix += 2)
    for (; n % radix == 0; n /= radix)
      radices.push_back(radix);
  if (n > 1)
    radices.clear();
  return radices;
}
bool has_large_factor(int64_t n) { return n > 1 && radices_of(n).empty(); }

/// The shortest length of at least n that is fast.
int64_t fast_length(int64_t n) {
  int64_t best = 0;
  for (int64_t length : {1, 3, 5, 9}) {
    while (length < n)
      length *= 2;
    best = best ? std::min(best, length) : length;
  }
  return best;
}

template <typename T> void set(T *to, int64_t i, Root value) {
  to[2 * i] = static_cast<T>(value.real());
  to[2 * i + 1] = static_cast<T>(value.imag());
}

} // namespace

FourierGeometry::FourierGeometry(int64_t n)
    : n(n), core(has_large_factor(n) ? fast_length(2 * n - 1) : n), columns(core) {
  if (core < leastMatrix)
    return;
  rows = static_cast<int64_t>(std::sqrt(static_cast<double>(core)));
  while (core % rows != 0)
    --rows;
  columns = core / rows;
}

bool FourierGeometry::is_matrix(int64_t inner) const {
  return core >= leastMatrix && (inner == 1 || core > mostLanes);
}

template <typename T> T *FourierTables<T>::array(int64_t elements) {
  arrays_.emplace_back(static_cast<size_t>(elements));
  return arrays_.back().data();
}

template <typename T> VectorPlan<T> FourierTables<T>::vectors(int64_t n) {
  VectorPlan<T> plan;
  plan.n = n;
  int64_t l = n;
  for (const int radix : radices_of(n)) {
    const int64_t m = l / radix;
    T *factors = array(2 * m * (radix - 1));
    for (int64_t p = 0; p < m; ++p)
      for (int j = 1; j < radix; ++j)
        set(factors, p * (radix - 1) + j - 1, root(p * j, l));
    if (radix > 5 && radix != 8) {
      T *roots = array(2 * radix);
      for (int k = 0; k < radix; ++k)
        set(roots, k, root(k, radix));
      plan.roots[plan.stages] = roots;
    }
    plan.factors[plan.stages] = factors;
    plan.radix[plan.stages++] = radix;
    l = m;
  }
  return plan;
}

template <typename T> void FourierTables<T>::add_matrix(const FourierGeometry &geometry) {
  line_.rows = geometry.rows;
  line_.columns = geometry.columns;
  line_.of_columns = vectors(geometry.rows);
  line_.of_rows = vectors(geometry.columns);
  constexpr int64_t mostOfVector = 64 / static_cast<int64_t>(sizeof(T));
  line_.stride = (geometry.columns + mostOfVector - 1) / mostOfVector * mostOfVector;
  T *turns = array(line_.rows * 2 * line_.stride);
  for (int64_t row = 0; row < line_.rows; ++row)
    for (int64_t column = 0; column < line_.columns; ++column) {
      const Root value = root(row * column, line_.n);
      turns[2 * row * line_.stride + column] = static_cast<T>(value.real());
      turns[(2 * row + 1) * line_.stride + column] = static_cast<T>(value.imag());
    }
  line_.turns = turns;
}

template <typename T> void FourierTables<T>::add_convolution(const FourierGeometry &geometry) {
  const int64_t n = geometry.n, m = geometry.core;
  convolution_ = of(m, false);
  line_.convolution = &convolution_->line();
  T *chirp = array(2 * n), *filter = array(2 * m);
  // The spectrum of the filter is computed in f64, whatever T is.
  std::vector<double> waves(static_cast<size_t>(2 * m)), spectrum(static_cast<size_t>(2 * m));
  for (int64_t j = 0; j < n; ++j) {
    const Root w = root(static_cast<int64_t>(static_cast<unsigned __int128>(j) * static_cast<uint64_t>(j) %
                                             static_cast<uint64_t>(2 * n)),
                        2 * n);
    set(chirp, j, w);
    for (const int64_t at : {j, (m - j) % m})
      set(waves.data(), at, std::conj(w));
  }
  const FourierRoutine transform(
      {.dtype = DType::f64, .outer = 1, .length = m, .inner = 1, .scale = 1 / static_cast<double>(m)});
  std::vector<double> scratch(transform.scratch_bytes(1) / sizeof(double) + 8);
  void *aligned = scratch.data();
  size_t space = scratch.size() * sizeof(double);
  std::align(64, transform.scratch_bytes(1), aligned, space);
  transform.run(waves.data(), spectrum.data(), aligned, /*serial=*/true);
  std::transform(spectrum.begin(), spectrum.end(), filter, [](double x) { return static_cast<T>(x); });
  line_.chirp = chirp;
  line_.filter = filter;
}

template <typename T> FourierTables<T>::FourierTables(int64_t n, bool halves) {
  const FourierGeometry geometry(n);
  line_.n = n;
  if (geometry.core != n) {
    add_convolution(geometry);
  } else {
    if (n <= mostLanes)
      line_.whole = vectors(n);
    if (geometry.rows)
      add_matrix(geometry);
  }
  if (halves) {
    T *values = array(2 * (n / 2 + 1));
    for (int64_t k = 0; k <= n / 2; ++k)
      set(values, k, root(k, 2 * n));
    halves_ = values;
  }
}

template <typename T> size_t FourierTables<T>::bytes() const {
  size_t elements = 0;
  for (const std::vector<T> &each : arrays_)
    elements += each.size();
  return elements * sizeof(T) + (convolution_ ? convolution_->bytes() : 0);
}

template <typename T> std::shared_ptr<const FourierTables<T>> FourierTables<T>::of(int64_t n, bool halves) {
  using Key = std::pair<int64_t, bool>;
  struct Kept {
    std::mutex mutex;
    std::map<Key, std::shared_ptr<const FourierTables>> tables;
    size_t bytes = 0;
  };
  static auto *const kept = new Kept; // queues may run when the process ends
  constexpr size_t mostBytes = size_t(64) << 20;
  {
    const std::scoped_lock lock(kept->mutex);
    if (const auto found = kept->tables.find({n, halves}); found != kept->tables.end())
      return found->second;
  }
  auto made = std::make_shared<const FourierTables>(n, halves);
  if (made->bytes() > mostBytes) // its routine keeps it
    return made;
  const std::scoped_lock lock(kept->mutex);
  if (kept->bytes + made->bytes() > mostBytes) { // routines keep theirs
    kept->tables.clear();
    kept->bytes = 0;
  }
  if (kept->tables.try_emplace({n, halves}, made).second)
    kept->bytes += made->bytes();
  return made;
}

template class FourierTables<float>;
template class FourierTables<double>;

} // namespace weft::runtime
