//===- Loader.cpp - Batches in order, gathered by threads ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/data/Prefetcher.h"
#include "frontend/data/RowSource.h"
#include "frontend/graph/Devices.h"
#include "frontend/graph/Trace.h"
#include "frontend/graph/Undo.h"
#include "frontend/io/BatchOrder.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/lazy/Upload.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "weft/data.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>

namespace weft::frontend {

RowSource::RowSource(const Tensor &tensor, runtime::Device *pinnedFor) : pinnedFor_(pinnedFor) {
  value_ = use(tensor.device().is_cpu() ? tensor : tensor.cpu(), Loc::current());
  flush({value_});
  buffer_ = value_.buffer(); // of the host, where rows are gathered
  await(*buffer_, value_.node->loc);
  int64_t rows = value_.spec().shape[0];
  rowBytes_ = rows == 0 ? 0 : value_.spec().bytes() / static_cast<size_t>(rows);
}

std::shared_ptr<runtime::Buffer> RowSource::gather(std::span<const int64_t> rows) const {
  const size_t bytes = rowBytes_ * rows.size();
  auto buffer =
      (pinnedFor_ ? runtime::Buffer::allocate_pinned(bytes, *pinnedFor_) : runtime::Buffer::allocate(bytes))
          .value_or_throw();
  const auto *source = static_cast<const std::byte *>(buffer_->data());
  auto *target = static_cast<std::byte *>(buffer->data());
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(target + i * rowBytes_, source + static_cast<size_t>(rows[i]) * rowBytes_, rowBytes_);
  return buffer;
}

Tensor RowSource::wrapped(std::shared_ptr<runtime::Buffer> buffer, int64_t rows, Device device,
                          UploadStream *uploads) const {
  Spec spec{value_.spec().dtype, value_.spec().shape, {}};
  spec.shape[0] = rows;
  if (uploads && buffer->is_pinned())
    return wrap(uploads->upload(spec, resolve(device), *buffer, value_.node->loc), value_.node->loc);
  Tensor tensor = wrap(leaf(spec, std::move(buffer), value_.node->loc), value_.node->loc);
  return device.is_cpu() ? tensor : tensor.to(device);
}

} // namespace weft::frontend

namespace weft::data {

using namespace frontend;

namespace detail {
struct LoaderState {
  Dataset dataset;
  std::shared_ptr<const std::vector<int64_t>> rows;
  Tensor images, labels; ///< `rows` selects samples of them; null: all
  LoaderOptions options;
  int64_t epoch = 0;    ///< the number of the pass under way, or of the next one
  int64_t given = 0;    ///< how many batches of it were given out
  bool running = false; ///< a pass is under way; otherwise begin() starts at batch `given`
  io::BatchOrderOptions orderOptions() const {
    return {options.batch_size, options.shuffle, options.drop_last, options.seed};
  }
};

/// The device for whose copies a loader pins its batches; null if it does not.
static runtime::Device *pinnedFor(const LoaderOptions &options) {
  if (!options.pin_memory)
    return nullptr;
  const Device wanted = options.device.is_cpu() ? Device(DeviceType::cuda) : options.device;
  if (isThere(wanted))
    return &backendOf(wanted, Loc::current());
  static std::once_flag warned;
  std::call_once(warned, [] {
    std::fputs("weft: 'pin_memory' argument is set as true but no accelerator is found, then device pinned "
               "memory won't be used (WEFT-B003)\n",
               stderr);
  });
  return nullptr;
}

struct HostBatch {
  std::shared_ptr<runtime::Buffer> images, labels;
  int64_t rows = 0;
};

struct Pass {
  std::shared_ptr<LoaderState> loader;
  int64_t epoch;
  io::BatchOrder order;
  RowSource images, labels;
  /// For pinned batches of a GPU, whose copies run beside what programs compute.
  std::unique_ptr<UploadStream> uploads{};
  Batch batch{};
  bool ended = false;
  std::optional<Prefetcher<HostBatch>> ahead{}; // last: its threads read the others

  Pass(std::shared_ptr<LoaderState> state, io::BatchOrder own)
      : loader(std::move(state)), epoch(loader->epoch), order(std::move(own)),
        images(loader->images, pinnedFor(loader->options)),
        labels(loader->labels, pinnedFor(loader->options)) {
    const LoaderOptions &options = loader->options;
    if (runtime::Device *const device = options.device.is_cpu() ? nullptr : pinnedFor(options))
      uploads = std::make_unique<UploadStream>(*device, Loc::current());
    if (options.num_workers > 0)
      ahead.emplace(options.num_workers, loader->given, order.batches(),
                    int64_t{options.num_workers} * options.prefetch_factor,
                    [this](int64_t number) { return gather(number); });
  }

  HostBatch gather(int64_t number) const {
    std::span<const int64_t> samples = order.batch(number);
    std::vector<int64_t> rows;
    if (loader->rows) {
      for (int64_t sample : samples)
        rows.push_back((*loader->rows)[static_cast<size_t>(sample)]);
      samples = rows;
    }
    return {images.gather(samples), labels.gather(samples), static_cast<int64_t>(samples.size())};
  }

  void advance() {
    // If another pass has begun on the same loader, this one ends, and leaves the loader's place alone.
    bool current = loader->running && loader->epoch == epoch;
    int64_t number = current ? loader->given : order.batches();
    if (number >= order.batches()) {
      ended = true;
      ahead.reset();
      if (current) {
        loader->running = false;
        loader->given = 0;
        ++loader->epoch;
      }
      return;
    }
    HostBatch host = ahead ? ahead->take() : gather(number);
    GraphLock lock(graphMutex());
    batch.images = images.wrapped(std::move(host.images), host.rows, loader->options.device, uploads.get());
    batch.labels = labels.wrapped(std::move(host.labels), host.rows, loader->options.device, uploads.get());
    loader->given = number + 1;
  }
};
} // namespace detail

DataLoader::DataLoader(Dataset dataset, LoaderOptions options, Loc loc)
    : state_(new detail::LoaderState{dataset, dataset.rows_, dataset.images_, dataset.labels_, options}) {
  if (options.batch_size < 1)
    fail("batch_size should be a positive integer value, but got batch_size=" +
             std::to_string(options.batch_size),
         loc);
  if (options.num_workers < 0)
    fail("num_workers option should be non-negative; use num_workers=0 to disable threads, but got " +
             std::to_string(options.num_workers),
         loc);
  if (options.prefetch_factor < 1)
    fail("prefetch_factor should be at least 1, but got " + std::to_string(options.prefetch_factor), loc);
}

int64_t DataLoader::size() const {
  int64_t count = state_->dataset.size(), batch = state_->options.batch_size;
  return state_->options.drop_last ? count / batch : (count + batch - 1) / batch;
}

int64_t DataLoader::epoch() const { return state_->epoch; }

DataLoader::Iterator DataLoader::begin(Loc loc) {
  refuseInTrace("a loop over a loader", loc);
  if (state_->running) { // the previous pass was left early
    ++state_->epoch;
    state_->given = 0;
  }
  auto order = io::BatchOrder::create(state_->dataset.size(), state_->orderOptions());
  throwAt(order.status(), loc);
  order->start_epoch(static_cast<uint64_t>(state_->epoch));
  GraphLock lock(graphMutex());
  auto pass = std::make_shared<detail::Pass>(state_, std::move(*order));
  state_->running = true;
  pass->advance();
  return Iterator(std::move(pass));
}

Batch &DataLoader::Iterator::operator*() const { return pass_->batch; }
bool DataLoader::Iterator::at_end() const { return pass_->ended; }
DataLoader::Iterator &DataLoader::Iterator::operator++() {
  pass_->advance();
  return *this;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// The options that must be equal for a saved place to mean the same batches.
static std::vector<std::pair<std::string, int64_t>> identity(const detail::LoaderState &state) {
  return {{"examples", state.dataset.size()},
          {"batch_size", state.options.batch_size},
          {"shuffle", state.options.shuffle},
          {"drop_last", state.options.drop_last}};
}

StateDict DataLoader::state_dict() const {
  StateDict dict;
  auto put = [&](const std::string &name, int64_t value) {
    dict.emplace_back(name, Tensor::from(&value, Shape{}, onHost()));
  };
  put("epoch", state_->epoch);
  put("batch", state_->given);
  put("seed", static_cast<int64_t>(state_->options.seed));
  for (const auto &[name, value] : identity(*state_))
    put(name, value);
  return dict;
}

std::vector<std::string> DataLoader::check_state_dict(const StateDict &state) const {
  std::vector<std::string> complaints;
  StateIndex theirs(state);
  StateDict own = state_dict();
  bool whole = true;
  for (const auto &[name, tensor] : own) {
    const Tensor *found = theirs.find(name);
    std::string text = found ? shapeComplaint(name, {}, found->sizes()) : "missing: " + name;
    whole &= text.empty();
    if (!text.empty())
      complaints.push_back(text);
  }
  StateIndex ours(own);
  for (const auto &[name, tensor] : state)
    if (!ours.find(name))
      complaints.push_back("unexpected: " + name);
  if (!whole)
    return complaints;
  for (const auto &[name, value] : identity(*state_))
    if (int64_t found = theirs.find(name)->item<int64_t>(); found != value)
      complaints.push_back("another loader: " + name + " is " + std::to_string(value) + ", the state has " +
                           std::to_string(found));
  int64_t epoch = theirs.find("epoch")->item<int64_t>(), batch = theirs.find("batch")->item<int64_t>();
  if (epoch < 0 || batch < 0 || batch > size())
    complaints.push_back("invalid: epoch " + std::to_string(epoch) + ", batch " + std::to_string(batch) +
                         " of " + std::to_string(size()));
  return complaints;
}

void DataLoader::load_state_dict(const StateDict &state, Loc loc) {
  throwComplaints("the state of a loader", check_state_dict(state), loc);
  StateIndex index(state);
  state_->epoch = index.find("epoch")->item<int64_t>();
  state_->given = index.find("batch")->item<int64_t>();
  state_->options.seed = static_cast<uint64_t>(index.find("seed")->item<int64_t>());
  state_->running = false;
}

} // namespace weft::data
