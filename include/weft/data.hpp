//===- data.hpp - Data sets and loaders ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_DATA_HPP
#define WEFT_DATA_HPP

#include "weft/random.hpp"

#include <iterator>

namespace weft::data {

/// Which part of a data set.
enum class Split { train, test };

//===----------------------------------------------------------------------===//
// Data sets
//===----------------------------------------------------------------------===//

/// Images (or whatever the inputs are) and labels held in memory; sample i is row i of both. A handle: copies
/// share the tensors.
class WEFT_API Dataset {
public:
  /// `images` [n, ...] and `labels` [n, ...]; throws Error where the sizes differ.
  Dataset(Tensor images, Tensor labels, Loc loc = Loc::current());
  /// The rows of this set; for a subset they are copies.
  Tensor images() const { return rows_ ? taken(images_) : images_; }
  Tensor labels() const { return rows_ ? taken(labels_) : labels_; }
  int64_t size() const { return rows_ ? static_cast<int64_t>(rows_->size()) : labels_.size(0); }
  /// What a user should know about where the data come from; may be empty.
  const std::string &note() const { return note_; }

protected:
  Dataset() = default;
  Tensor taken(const Tensor &tensor) const;
  Tensor images_, labels_;
  std::shared_ptr<const std::vector<int64_t>>
      rows_; ///< row numbers in the tensors; null for all rows in order
  std::string note_;
  friend class DataLoader;
};

/// A set of tensors that the program has made.
class WEFT_API TensorDataset : public Dataset {
public:
  using Dataset::Dataset;
};

/// Some samples of another set, by number, in this order. Nothing is copied.
class WEFT_API Subset : public Dataset {
public:
  Subset(const Dataset &whole, const std::vector<int64_t> &indices, Loc loc = Loc::current());
};

/// Splits a set at random, in parts of these lengths, or of these fractions if they sum to 1 (samples left
/// over by rounding go to the first parts, one each). Throws Error where the lengths do not sum to the size.
WEFT_API std::vector<Dataset> random_split(const Dataset &whole, const std::vector<double> &lengths,
                                           Generator &generator = default_generator(),
                                           Loc loc = Loc::current());

/// Options of Mnist.
struct MnistOptions {
  Split split = Split::train;
};
/// MNIST in its own IDX files, gzipped or not: images [n, 28, 28] of ui8 and labels [n] of i64. With only the
/// `t10k-*` files in the folder, the first 8,000 of them are the training split and the last 2,000 the test
/// split; `note()` says so, and so does a line on standard error, once.
class WEFT_API Mnist : public Dataset {
public:
  explicit Mnist(const std::string &folder, MnistOptions options = {}, Loc loc = Loc::current());
};

/// Options of Cifar10.
struct Cifar10Options {
  Split split = Split::train;
};
/// CIFAR-10 (Krizhevsky, 2009) in its binary files: images [n, 3, 32, 32] of ui8 and labels [n] of i64. The
/// training split is data_batch_1.bin and its successors, as many as there are; the test split is
/// test_batch.bin.
class WEFT_API Cifar10 : public Dataset {
public:
  explicit Cifar10(const std::string &folder, Cifar10Options options = {}, Loc loc = Loc::current());
};

/// (images - mean) / std, with one mean and std for all or one for each channel of [n, channels, ...]; bytes
/// are divided by 255 first. Elementwise, so inside a compiled function it is part of the first kernel.
WEFT_API Tensor normalize(const Tensor &images, const std::vector<double> &mean,
                          const std::vector<double> &std, Loc loc = Loc::current());

//===----------------------------------------------------------------------===//
// Loaders
//===----------------------------------------------------------------------===//

/// The samples of one step: [batch_size, ...] each, the last ones of a pass perhaps fewer.
struct Batch {
  Tensor images, labels;
};

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false, drop_last = false;
  Device device = {};
  uint64_t seed = 0; ///< seed of the shuffling order, which has a random stream of its own
  /// Threads that gather batches ahead of their use; 0: the caller gathers each when it is asked for. The
  /// order and the batches are the same for every number.
  int num_workers = 0;
  int prefetch_factor = 2; ///< batches that are kept ready per worker
  /// Batches are gathered in pinned memory, from which CUDA devices copy without waiting for the host. Where
  /// there is no such device, a warning (WEFT-B003) on standard error, once, and ordinary memory.
  bool pin_memory = false;
};

namespace detail {
struct LoaderState;
struct Pass;
} // namespace detail

/// Batches of a data set: `for (auto &[images, labels] : loader)`. Every pass over a shuffling loader has a
/// new order. The tensors of a batch are its own and stay valid when the loader goes on. A shared handle:
/// copies are at the same place.
class WEFT_API DataLoader {
public:
  DataLoader(Dataset dataset, LoaderOptions options, Loc loc = Loc::current());

  class WEFT_API Iterator {
  public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Batch &operator*() const;
    Iterator &operator++();
    friend bool operator==(const Iterator &it, std::default_sentinel_t) { return it.at_end(); }

  private:
    friend class DataLoader;
    explicit Iterator(std::shared_ptr<detail::Pass> pass) : pass_(std::move(pass)) {}
    bool at_end() const;
    std::shared_ptr<detail::Pass> pass_;
  };
  /// Starts the next pass, or continues the one that a loaded state was in.
  Iterator begin(Loc loc = Loc::current());
  std::default_sentinel_t end() const { return {}; }
  /// Number of batches of one pass.
  int64_t size() const;
  /// The number of the pass under way, or of the next one if none is. A resumed program starts its loop
  /// there.
  int64_t epoch() const;

  /// \name The place, for checkpoints: a restored loader continues with the next batch of the pass
  /// @{
  StateDict state_dict() const;
  /// Throws Error where the state belongs to a loader with other samples, batch size or options.
  void load_state_dict(const StateDict &state, Loc loc = Loc::current());
  std::vector<std::string> check_state_dict(const StateDict &state) const;
  /// @}

private:
  std::shared_ptr<detail::LoaderState> state_;
};

} // namespace weft::data

#endif // WEFT_DATA_HPP
