//===- data.hpp - Data sets and loaders -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_DATA_HPP
#define WEFT_DATA_HPP

#include "weft/tensor.hpp"

#include <iterator>

namespace weft::data {

enum class Split { train, test };

/// Images and labels held in memory; sample i is row i of both.
class WEFT_API Dataset {
public:
  /// `images` [n, ...] and `labels` [n].
  Dataset(Tensor images, Tensor labels, Loc loc = Loc::current());
  const Tensor &images() const { return images_; }
  const Tensor &labels() const { return labels_; }
  int64_t size() const { return labels_.size(0); }
  /// What a user should know of where the data came from; may be empty.
  const std::string &note() const { return note_; }

protected:
  Dataset() = default;
  Tensor images_, labels_;
  std::string note_;
};

struct MnistOptions {
  Split split = Split::train;
};
/// MNIST in its own IDX files, gzipped or not: images [n, 28, 28] of ui8 and labels [n] of i64. With only the
/// `t10k-*` files in the folder, the first 8,000 of them are the training split and the last 2,000 the test
/// split, and `note()` says so.
class WEFT_API Mnist : public Dataset {
public:
  explicit Mnist(const std::string &folder, MnistOptions options = {});
};

struct DrawnDigitsOptions {
  Split split = Split::train;
  int64_t count = 8000;
  uint64_t seed = 0;
};
/// Digits that the program draws itself, in the format of MNIST, where there is no data.
class WEFT_API DrawnDigits : public Dataset {
public:
  explicit DrawnDigits(DrawnDigitsOptions options = {});
};

struct Batch {
  Tensor images, labels;
};

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false, drop_last = false;
  Device device = {};
  uint64_t seed = 0; ///< of the shuffling order, which is a random stream of its own
};

/// Batches of a data set: `for (auto &[images, labels] : loader)`. Every pass over a shuffling loader has a
/// new order.
class WEFT_API DataLoader {
public:
  DataLoader(Dataset dataset, LoaderOptions options, Loc loc = Loc::current());

  class WEFT_API Iterator {
  public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Batch &operator*() const { return *batch_; }
    Iterator &operator++();
    friend bool operator==(const Iterator &it, std::default_sentinel_t) { return it.next_ > it.batches_; }

  private:
    friend class DataLoader;
    Iterator(const DataLoader *loader, std::vector<int64_t> order);
    void load();
    const DataLoader *loader_;
    std::vector<int64_t> order_;
    int64_t next_ = 0, batches_ = 0;
    std::shared_ptr<Batch> batch_;
  };
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// Number of batches of one pass.
  int64_t size() const;

private:
  Dataset dataset_;
  LoaderOptions options_;
  uint64_t epoch_ = 0;
};

} // namespace weft::data

#endif // WEFT_DATA_HPP
