//===- Datasets.cpp - Data sets ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/data.hpp"

#include "frontend/data/RowSource.h"
#include "frontend/files/TensorFiles.h"
#include "frontend/io/Cifar10.h"
#include "frontend/io/Mnist.h"
#include "frontend/ops/Ops.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <set>

namespace weft::data {

using namespace frontend;

Dataset::Dataset(Tensor images, Tensor labels, Loc loc)
    : images_(std::move(images)), labels_(std::move(labels)) {
  if (images_.dim(loc) < 1 || labels_.dim(loc) < 1 || images_.size(0, loc) != labels_.size(0, loc))
    fail("Size mismatch between tensors: a data set needs one label per image, found shapes " +
             shapeText(images_.sizes(loc)) + " and " + shapeText(labels_.sizes(loc)),
         loc);
}

Tensor Dataset::taken(const Tensor &tensor) const {
  GraphLock lock(graphMutex());
  return RowSource(tensor).tensor(*rows_, {});
}

Subset::Subset(const Dataset &whole, const std::vector<int64_t> &indices, Loc loc) : Dataset(whole) {
  auto rows = std::make_shared<std::vector<int64_t>>();
  rows->reserve(indices.size());
  for (int64_t index : indices) {
    if (index < 0 || index >= whole.size())
      fail("Subset: index " + std::to_string(index) + " is out of range for a data set of " +
               std::to_string(whole.size()) + " samples",
           loc);
    rows->push_back(rows_ ? (*rows_)[static_cast<size_t>(index)] : index);
  }
  rows_ = std::move(rows);
}

std::vector<Dataset> random_split(const Dataset &whole, const std::vector<double> &lengths,
                                  Generator &generator, Loc loc) {
  const auto size = static_cast<double>(whole.size());
  std::vector<double> counts = lengths;
  double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  bool fractions = std::abs(sum - 1) < 1e-9 && size != 1 &&
                   std::all_of(lengths.begin(), lengths.end(), [](double length) { return length >= 0; });
  if (fractions) {
    for (double &count : counts)
      count = std::floor(count * size);
    auto left = static_cast<size_t>(size - std::accumulate(counts.begin(), counts.end(), 0.0));
    for (size_t i = 0; i < left; ++i)
      ++counts[i % counts.size()];
    sum = size;
  }
  for (double count : counts)
    if (!(count >= 0) || count != std::floor(count))
      fail("random_split: the parts' lengths must be whole numbers that are not negative, or fractions that "
           "sum to 1; found " +
               std::to_string(count),
           loc);
  if (sum != size)
    fail("Sum of input lengths does not equal the length of the input dataset: found " + std::to_string(sum) +
             ", expected " + std::to_string(whole.size()),
         loc);
  std::vector<int64_t> order = randperm(whole.size(), generator, onHost(), loc).to_vector<int64_t>(loc);
  std::vector<Dataset> parts;
  auto next = order.begin();
  for (double count : counts) {
    auto end = next + static_cast<ptrdiff_t>(count);
    parts.push_back(Subset(whole, std::vector<int64_t>(next, end), loc));
    next = end;
  }
  return parts;
}

Mnist::Mnist(const std::string &folder, MnistOptions options, Loc loc) {
  auto read = io::read_mnist(folder, options.split == Split::train ? io::Split::train : io::Split::test);
  throwAt(read.status(), loc);
  images_ = toTensor(read->images);
  labels_ = toTensor(read->labels);
  note_ = read->note;
  if (!note_.empty()) { // a part of a data set is no silent substitute for the whole
    static auto *const told = new std::set<std::string>;
    static auto *const mutex = new std::mutex;
    const std::lock_guard lock(*mutex);
    if (told->insert(folder).second)
      std::fprintf(stderr, "weft: %s\n", note_.c_str());
  }
}

Cifar10::Cifar10(const std::string &folder, Cifar10Options options, Loc loc) {
  auto read = io::read_cifar10(folder, options.split == Split::train ? io::Split::train : io::Split::test);
  throwAt(read.status(), loc);
  images_ = toTensor(read->images);
  labels_ = toTensor(read->labels);
}

Tensor normalize(const Tensor &images, const std::vector<double> &mean, const std::vector<double> &std,
                 Loc loc) {
  if (mean.empty() || std.empty())
    fail("normalize needs at least one mean and one std", loc);
  for (double value : std)
    if (value == 0)
      fail("normalize: std evaluated to zero, leading to division by zero", loc);
  Tensor x = is_floating_point(images.dtype(loc)) ? images : images.to(DType::f32, loc);
  if (images.dtype(loc) == DType::ui8)
    x = div({x, loc}, {255, loc});
  // One number is a scalar of the kernel; several are a small tensor, one for each channel.
  auto combine = [&](auto op, const std::vector<double> &numbers) {
    if (numbers.size() == 1)
      return op(Arg(x, loc), Arg(numbers[0], loc));
    if (x.dim(loc) < 2 || x.size(1, loc) != static_cast<int64_t>(numbers.size()))
      fail("normalize: " + std::to_string(numbers.size()) +
               " numbers need images of as many channels, [n, channels, ...], found shape " +
               shapeText(x.sizes(loc)),
           loc);
    Shape shape(static_cast<size_t>(x.dim(loc)), 1);
    shape[1] = x.size(1, loc);
    return op(Arg(x, loc),
              Arg(Tensor::from(numbers, shape, {.dtype = x.dtype(loc), .device = x.device(loc)}, loc), loc));
  };
  x = combine([](const Arg &a, const Arg &b) { return sub(a, b); }, mean);
  return combine([](const Arg &a, const Arg &b) { return div(a, b); }, std);
}

} // namespace weft::data
