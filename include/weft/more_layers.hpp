//===- more_layers.hpp - Functions as modules -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules of torch.nn that hold the options of a function, which describes them. They print as PyTorch's.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MORE_LAYERS_HPP
#define WEFT_MORE_LAYERS_HPP

#include "weft/compositions.hpp"
#include "weft/distances.hpp"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/module.hpp"
#include "weft/normalization.hpp"
#include "weft/reduce.hpp"

namespace weft::nn {

/// \name Padding of the last dimensions, one number for all sides or two for each, the last dimension first
/// Throws Error for another number of them. Constructors of an array take numbers in braces, which may not be
/// taken for the arguments of another constructor.
/// @{
template <size_t Extents> class WEFT_API ConstantPad : public Module {
public:
  ConstantPad(IntList padding, double value, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return pad(x, padding_, {value_, loc}, loc);
  }

private:
  IntList padding_;
  double value_;
};
template <size_t Extents> class WEFT_API ZeroPad : public Module {
public:
  explicit ZeroPad(IntList padding, Loc loc = Loc::current());
  template <size_t N>
  explicit ZeroPad(const int64_t (&padding)[N], Loc loc = Loc::current())
      : ZeroPad(Shape(padding, padding + N), loc) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return pad(x, padding_, {0.0, loc}, loc);
  }

private:
  IntList padding_;
};
template <size_t Extents> class WEFT_API ReflectionPad : public Module {
public:
  explicit ReflectionPad(IntList padding, Loc loc = Loc::current());
  template <size_t N>
  explicit ReflectionPad(const int64_t (&padding)[N], Loc loc = Loc::current())
      : ReflectionPad(Shape(padding, padding + N), loc) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return pad(x, padding_, "reflect", 0, loc);
  }

private:
  IntList padding_;
};
template <size_t Extents> class WEFT_API ReplicationPad : public Module {
public:
  explicit ReplicationPad(IntList padding, Loc loc = Loc::current());
  template <size_t N>
  explicit ReplicationPad(const int64_t (&padding)[N], Loc loc = Loc::current())
      : ReplicationPad(Shape(padding, padding + N), loc) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return pad(x, padding_, "replicate", 0, loc);
  }

private:
  IntList padding_;
};
template <size_t Extents> class WEFT_API CircularPad : public Module {
public:
  explicit CircularPad(IntList padding, Loc loc = Loc::current());
  template <size_t N>
  explicit CircularPad(const int64_t (&padding)[N], Loc loc = Loc::current())
      : CircularPad(Shape(padding, padding + N), loc) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return pad(x, padding_, "circular", 0, loc);
  }

private:
  IntList padding_;
};
using ConstantPad1d = ConstantPad<1>;
using ConstantPad2d = ConstantPad<2>;
using ConstantPad3d = ConstantPad<3>;
using ZeroPad1d = ZeroPad<1>;
using ZeroPad2d = ZeroPad<2>;
using ZeroPad3d = ZeroPad<3>;
using ReflectionPad1d = ReflectionPad<1>;
using ReflectionPad2d = ReflectionPad<2>;
using ReflectionPad3d = ReflectionPad<3>;
using ReplicationPad1d = ReplicationPad<1>;
using ReplicationPad2d = ReplicationPad<2>;
using ReplicationPad3d = ReplicationPad<3>;
using CircularPad1d = CircularPad<1>;
using CircularPad2d = CircularPad<2>;
using CircularPad3d = CircularPad<3>;
/// @}

/// \name Images
/// @{
/// `interpolate` with these options.
class WEFT_API Upsample : public Module {
public:
  explicit Upsample(InterpolateOptions options);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return interpolate(x, options_, loc); }

private:
  InterpolateOptions options_;
};
class WEFT_API UpsamplingNearest2d : public Module {
public:
  explicit UpsamplingNearest2d(IntList size, DoubleList scale_factor = {});
  template <size_t N>
  explicit UpsamplingNearest2d(const int64_t (&size)[N], DoubleList scale_factor = {})
      : UpsamplingNearest2d(Shape(size, size + N), std::move(scale_factor)) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return upsample_nearest(x, size_, scale_factor_, loc);
  }

private:
  IntList size_;
  DoubleList scale_factor_;
};
class WEFT_API UpsamplingBilinear2d : public Module {
public:
  explicit UpsamplingBilinear2d(IntList size, DoubleList scale_factor = {});
  template <size_t N>
  explicit UpsamplingBilinear2d(const int64_t (&size)[N], DoubleList scale_factor = {})
      : UpsamplingBilinear2d(Shape(size, size + N), std::move(scale_factor)) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return upsample_bilinear(x, size_, scale_factor_, loc);
  }

private:
  IntList size_;
  DoubleList scale_factor_;
};
class WEFT_API ChannelShuffle : public Module {
public:
  explicit ChannelShuffle(int64_t groups);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return channel_shuffle(x, groups_, loc);
  }

private:
  int64_t groups_;
};
class WEFT_API Unfold : public Module {
public:
  explicit Unfold(IntList kernel_size, IntList dilation = 1, IntList padding = 0, IntList stride = 1);
  template <size_t N>
  explicit Unfold(const int64_t (&kernel_size)[N], IntList dilation = 1, IntList padding = 0,
                  IntList stride = 1)
      : Unfold(Shape(kernel_size, kernel_size + N), std::move(dilation), std::move(padding),
               std::move(stride)) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return unfold(x, kernel_size_, dilation_, padding_, stride_, loc);
  }

private:
  IntList kernel_size_;
  IntList dilation_;
  IntList padding_;
  IntList stride_;
};
class WEFT_API Fold : public Module {
public:
  Fold(IntList output_size, IntList kernel_size, IntList dilation = 1, IntList padding = 0,
       IntList stride = 1);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return fold(x, output_size_, kernel_size_, dilation_, padding_, stride_, loc);
  }

private:
  IntList output_size_;
  IntList kernel_size_;
  IntList dilation_;
  IntList padding_;
  IntList stride_;
};
class WEFT_API LPPool1d : public Module {
public:
  LPPool1d(double norm_type, IntList kernel_size, LpPoolOptions options = {});
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return lp_pool1d(x, norm_type_, kernel_size_, options_, loc);
  }

private:
  double norm_type_;
  IntList kernel_size_;
  LpPoolOptions options_;
};
class WEFT_API LPPool2d : public Module {
public:
  LPPool2d(double norm_type, IntList kernel_size, LpPoolOptions options = {});
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return lp_pool2d(x, norm_type_, kernel_size_, options_, loc);
  }

private:
  double norm_type_;
  IntList kernel_size_;
  LpPoolOptions options_;
};
class WEFT_API LPPool3d : public Module {
public:
  LPPool3d(double norm_type, IntList kernel_size, LpPoolOptions options = {});
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return lp_pool3d(x, norm_type_, kernel_size_, options_, loc);
  }

private:
  double norm_type_;
  IntList kernel_size_;
  LpPoolOptions options_;
};
class WEFT_API MaxUnpool1d : public Module {
public:
  explicit MaxUnpool1d(IntList kernel_size, IntList stride = {}, IntList padding = 0);
  template <size_t N>
  explicit MaxUnpool1d(const int64_t (&kernel_size)[N], IntList stride = {}, IntList padding = 0)
      : MaxUnpool1d(Shape(kernel_size, kernel_size + N), std::move(stride), std::move(padding)) {}
  Tensor operator()(const Tensor &x, const Tensor &indices, const IntList &output_size = {},
                    Loc loc = Loc::current()) const {
    return max_unpool1d(x, indices, kernel_size_, stride_, padding_, output_size, loc);
  }

private:
  IntList kernel_size_;
  IntList stride_;
  IntList padding_;
};
class WEFT_API MaxUnpool2d : public Module {
public:
  explicit MaxUnpool2d(IntList kernel_size, IntList stride = {}, IntList padding = 0);
  template <size_t N>
  explicit MaxUnpool2d(const int64_t (&kernel_size)[N], IntList stride = {}, IntList padding = 0)
      : MaxUnpool2d(Shape(kernel_size, kernel_size + N), std::move(stride), std::move(padding)) {}
  Tensor operator()(const Tensor &x, const Tensor &indices, const IntList &output_size = {},
                    Loc loc = Loc::current()) const {
    return max_unpool2d(x, indices, kernel_size_, stride_, padding_, output_size, loc);
  }

private:
  IntList kernel_size_;
  IntList stride_;
  IntList padding_;
};
class WEFT_API MaxUnpool3d : public Module {
public:
  explicit MaxUnpool3d(IntList kernel_size, IntList stride = {}, IntList padding = 0);
  template <size_t N>
  explicit MaxUnpool3d(const int64_t (&kernel_size)[N], IntList stride = {}, IntList padding = 0)
      : MaxUnpool3d(Shape(kernel_size, kernel_size + N), std::move(stride), std::move(padding)) {}
  Tensor operator()(const Tensor &x, const Tensor &indices, const IntList &output_size = {},
                    Loc loc = Loc::current()) const {
    return max_unpool3d(x, indices, kernel_size_, stride_, padding_, output_size, loc);
  }

private:
  IntList kernel_size_;
  IntList stride_;
  IntList padding_;
};
/// @}

/// \name Normalisation
/// @{
struct InstanceNormLayerOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = false;              ///< whether there are weight (ones at first) and bias (zeros)
  bool track_running_stats = false; ///< whether there are running statistics, which eval mode uses
};
/// `instance_norm`. The buffers, if there are any, are running_mean, running_var and num_batches_tracked,
/// which stays 0 as in PyTorch.
template <size_t Extents> class WEFT_API InstanceNorm : public Module {
public:
  explicit InstanceNorm(int64_t num_features, InstanceNormLayerOptions options = {},
                        Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;
  Parameter weight, bias, running_mean, running_var, num_batches_tracked;

private:
  InstanceNormLayerOptions options_;
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;
class WEFT_API LocalResponseNorm : public Module {
public:
  explicit LocalResponseNorm(int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return local_response_norm(x, size_, alpha_, beta_, k_, loc);
  }

private:
  int64_t size_;
  double alpha_;
  double beta_;
  double k_;
};
/// softmax over the channels of [.., channels, height, width].
class WEFT_API Softmax2d : public Module {
public:
  Softmax2d();
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return softmax(x, -3, loc); }
};
/// @}

/// \name Dropout of channels, and slopes that are drawn; in training only
/// @{
class WEFT_API Dropout1d : public Module {
public:
  explicit Dropout1d(double p = 0.5);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return dropout1d(x, p_, is_training(), loc);
  }

private:
  double p_;
};
class WEFT_API Dropout2d : public Module {
public:
  explicit Dropout2d(double p = 0.5);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return dropout2d(x, p_, is_training(), loc);
  }

private:
  double p_;
};
class WEFT_API Dropout3d : public Module {
public:
  explicit Dropout3d(double p = 0.5);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return dropout3d(x, p_, is_training(), loc);
  }

private:
  double p_;
};
class WEFT_API AlphaDropout : public Module {
public:
  explicit AlphaDropout(double p = 0.5);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return alpha_dropout(x, p_, is_training(), loc);
  }

private:
  double p_;
};
class WEFT_API FeatureAlphaDropout : public Module {
public:
  explicit FeatureAlphaDropout(double p = 0.5);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return feature_alpha_dropout(x, p_, is_training(), loc);
  }

private:
  double p_;
};
class WEFT_API RReLU : public Module {
public:
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return rrelu(x, lower_, upper_, is_training(), loc);
  }

private:
  double lower_;
  double upper_;
};
/// @}

/// \name Two operands
/// @{
class WEFT_API CosineSimilarity : public Module {
public:
  explicit CosineSimilarity(int64_t dim = 1, double eps = 1e-8);
  Tensor operator()(const Tensor &a, const Tensor &b, Loc loc = Loc::current()) const {
    return cosine_similarity(a, b, dim_, eps_, loc);
  }

private:
  int64_t dim_;
  double eps_;
};
class WEFT_API PairwiseDistance : public Module {
public:
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false);
  Tensor operator()(const Tensor &a, const Tensor &b, Loc loc = Loc::current()) const {
    return pairwise_distance(a, b, p_, eps_, keepdim_, loc);
  }

private:
  double p_;
  double eps_;
  bool keepdim_;
};
/// a W b + bias for each feature. weight is [out, in1, in2], bias [out]; both are uniform in +-1/sqrt(in1) at
/// first. Throws Error for a number of features below 1.
class WEFT_API Bilinear : public Module {
public:
  Bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features, bool bias = true,
           Loc loc = Loc::current());
  Tensor operator()(const Tensor &a, const Tensor &b, Loc loc = Loc::current()) const {
    return bilinear(a, b, weight, bias, loc);
  }
  /// Draws weight and bias anew.
  void reset_parameters(Loc loc = Loc::current());
  Parameter weight, bias;
};
/// @}

} // namespace weft::nn

#endif // WEFT_MORE_LAYERS_HPP
