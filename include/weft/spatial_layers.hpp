//===- spatial_layers.hpp - Layers over channels and extents -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers of [batch, channels, extents..], as those of torch.nn with 1, 2 and 3 extents. The template's
// parameter is the number of extents; programs use the names `Conv2d`, `MaxPool2d` and so on. Parameters,
// defaults and initial distributions are PyTorch's; `padding_mode` is zeros.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_SPATIAL_LAYERS_HPP
#define WEFT_SPATIAL_LAYERS_HPP

#include "weft/convolution.hpp"
#include "weft/module.hpp"
#include "weft/normalization.hpp"
#include "weft/pooling.hpp"

namespace weft::nn {

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// `Conv2d(3, 16, 3, {.padding = 1})`. weight is [out, in / groups, window..], bias [out]; both are uniform
/// in
/// +-1/sqrt(in / groups * elements of the window) at first. Throws Error for numbers that are out of range.
template <size_t Extents> class WEFT_API Conv : public Module {
public:
  Conv(int64_t in_channels, int64_t out_channels, IntList kernel_size, ConvOptions options = {},
       bool bias = true, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;
  /// Draws weight and bias anew.
  void reset_parameters(Loc loc = Loc::current());
  Parameter weight, bias;

private:
  ConvOptions options_;
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

/// weight is [in, out / groups, window..], bias [out]; both are uniform in +-1/sqrt(out / groups * elements
/// of the window) at first. Throws Error for numbers that are out of range.
template <size_t Extents> class WEFT_API ConvTranspose : public Module {
public:
  ConvTranspose(int64_t in_channels, int64_t out_channels, IntList kernel_size,
                ConvTransposeOptions options = {}, bool bias = true, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;
  /// Draws weight and bias anew.
  void reset_parameters(Loc loc = Loc::current());
  Parameter weight, bias;

private:
  ConvTransposeOptions options_;
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

template <size_t Extents> class WEFT_API MaxPool : public Module {
public:
  explicit MaxPool(IntList kernel_size, MaxPoolOptions options = {});
  /// Sizes in braces, which may not be taken for the arguments of another constructor; so in the others.
  template <size_t N>
  explicit MaxPool(const int64_t (&kernel_size)[N], MaxPoolOptions options = {})
      : MaxPool(Shape(kernel_size, kernel_size + N), std::move(options)) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;

private:
  IntList kernel_;
  MaxPoolOptions options_;
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

template <size_t Extents> class WEFT_API AvgPool : public Module {
public:
  explicit AvgPool(IntList kernel_size, AvgPoolOptions options = {});
  template <size_t N>
  explicit AvgPool(const int64_t (&kernel_size)[N], AvgPoolOptions options = {})
      : AvgPool(Shape(kernel_size, kernel_size + N), std::move(options)) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;

private:
  IntList kernel_;
  AvgPoolOptions options_;
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

/// A size of -1 is that of the operand.
template <size_t Extents> class WEFT_API AdaptiveAvgPool : public Module {
public:
  explicit AdaptiveAvgPool(IntList output_size);
  template <size_t N>
  explicit AdaptiveAvgPool(const int64_t (&output_size)[N])
      : AdaptiveAvgPool(Shape(output_size, output_size + N)) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;

private:
  IntList output_;
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

/// A size of -1 is that of the operand.
template <size_t Extents> class WEFT_API AdaptiveMaxPool : public Module {
public:
  explicit AdaptiveMaxPool(IntList output_size);
  template <size_t N>
  explicit AdaptiveMaxPool(const int64_t (&output_size)[N])
      : AdaptiveMaxPool(Shape(output_size, output_size + N)) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;

private:
  IntList output_;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

struct BatchNormLayerOptions {
  double eps = 1e-5;
  /// The share of each batch in the running statistics; none: these are the mean of all batches.
  std::optional<double> momentum = 0.1;
  bool affine = true; ///< whether there are weight (ones at first) and bias (zeros)
  bool track_running_stats =
      true; ///< whether there are running statistics; without, all batches use their own
};

/// In training, `batch_norm` with the statistics of the batch, which also move the running ones; otherwise
/// with the running ones. The buffers are running_mean, running_var and num_batches_tracked (i64).
/// `BatchNorm1d` takes [batch, channels] too.
template <size_t Extents> class WEFT_API BatchNorm : public Module {
public:
  explicit BatchNorm(int64_t num_features, BatchNormLayerOptions options = {}, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;
  Parameter weight, bias, running_mean, running_var, num_batches_tracked;

private:
  BatchNormLayerOptions options_;
};
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

/// `group_norm`, with weight (ones at first) and bias (zeros) for each channel unless `affine` is off.
class WEFT_API GroupNorm : public Module {
public:
  GroupNorm(int64_t num_groups, int64_t num_channels, double eps = 1e-5, bool affine = true,
            Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return group_norm(x, groups_, weight, bias, eps_, loc);
  }
  Parameter weight, bias;

private:
  int64_t groups_;
  double eps_;
};

} // namespace weft::nn

#endif // WEFT_SPATIAL_LAYERS_HPP
