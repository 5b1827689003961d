//===- Data.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/data.hpp"

#include "frontend/Graph.h"
#include "frontend/Lazy.h"
#include "frontend/Ops.h"
#include "frontend/io/BatchOrder.h"
#include "frontend/io/Digits.h"
#include "frontend/io/Mnist.h"

#include <cstring>

namespace weft::data {

using namespace frontend;

Dataset::Dataset(Tensor images, Tensor labels, Loc loc)
    : images_(std::move(images)), labels_(std::move(labels)) {
  if (images_.dim() < 1 || labels_.dim() < 1 || images_.size(0) != labels_.size(0))
    fail("Size mismatch between tensors: a data set needs one label per image, found shapes " +
             shapeText(images_.sizes()) + " and " + shapeText(labels_.sizes()),
         loc);
}

Mnist::Mnist(const std::string &folder, MnistOptions options) {
  auto read = io::read_mnist(folder, options.split == Split::train ? io::Split::train : io::Split::test);
  read.status().throw_if_failed();
  images_ = toTensor(read->images);
  labels_ = toTensor(read->labels);
  note_ = read->note;
}

DrawnDigits::DrawnDigits(DrawnDigitsOptions options) {
  // The test split continues where any training split ends.
  constexpr int64_t testOffset = int64_t(1) << 40;
  auto drawn = io::draw_digits(options.seed, options.split == Split::train ? 0 : testOffset, options.count);
  drawn.status().throw_if_failed();
  images_ = toTensor(drawn->images);
  labels_ = toTensor(drawn->labels);
  note_ = drawn->note;
}

//===----------------------------------------------------------------------===//
// DataLoader
//===----------------------------------------------------------------------===//

DataLoader::DataLoader(Dataset dataset, LoaderOptions options, Loc loc)
    : dataset_(std::move(dataset)), options_(options) {
  if (options.batch_size < 1)
    fail("batch_size should be a positive integer value, but got batch_size=" +
             std::to_string(options.batch_size),
         loc);
}

int64_t DataLoader::size() const {
  int64_t count = dataset_.size(), batch = options_.batch_size;
  return options_.drop_last ? count / batch : (count + batch - 1) / batch;
}

DataLoader::Iterator DataLoader::begin() {
  std::vector<int64_t> order(static_cast<size_t>(dataset_.size()));
  if (options_.shuffle)
    order = io::epoch_permutation(dataset_.size(), options_.seed, epoch_++);
  else
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
  return Iterator(this, std::move(order));
}

DataLoader::Iterator::Iterator(const DataLoader *loader, std::vector<int64_t> order)
    : loader_(loader), order_(std::move(order)), batches_(loader->size()) {
  load();
}

DataLoader::Iterator &DataLoader::Iterator::operator++() {
  load();
  return *this;
}

/// Rows of `source` in a tensor of their own: a batch stays valid when the loader has gone on.
static Tensor takeRows(const Tensor &source, const int64_t *rows, int64_t count, Device device) {
  // The data set is in memory for good: reading it waits for nothing after the first time.
  Ref value = use(source, Loc::current());
  flush({value});
  const auto &buffer = value.node->buffers[value.result];
  buffer->wait().throw_if_failed();
  Shape shape = source.sizes();
  size_t rowBytes = shape[0] == 0 ? 0 : value.spec().bytes() / static_cast<size_t>(shape[0]);
  shape[0] = count;
  auto batch = runtime::Buffer::allocate(rowBytes * static_cast<size_t>(count)).value_or_throw();
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(static_cast<std::byte *>(batch->data()) + static_cast<size_t>(i) * rowBytes,
                static_cast<const std::byte *>(buffer->data()) + static_cast<size_t>(rows[i]) * rowBytes,
                rowBytes);
  Tensor tensor = wrap(leaf(Spec{value.spec().dtype, shape, {}}, batch, value.node->loc), value.node->loc);
  return device.is_cpu() ? tensor : tensor.to(device);
}

void DataLoader::Iterator::load() {
  if (++next_ > batches_)
    return;
  GraphLock lock(graphMutex());
  int64_t size = loader_->options_.batch_size, first = (next_ - 1) * size;
  int64_t count = std::min(size, loader_->dataset_.size() - first);
  batch_ = std::make_shared<Batch>();
  batch_->images = takeRows(loader_->dataset_.images(), &order_[static_cast<size_t>(first)], count,
                            loader_->options_.device);
  batch_->labels = takeRows(loader_->dataset_.labels(), &order_[static_cast<size_t>(first)], count,
                            loader_->options_.device);
}

} // namespace weft::data
