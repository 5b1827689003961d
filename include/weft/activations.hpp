//===- activations.hpp - Activations as modules ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules of the functions in math.hpp, with PyTorch's names and defaults; each prints as PyTorch prints it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_ACTIVATIONS_HPP
#define WEFT_ACTIVATIONS_HPP

#include "weft/math.hpp"
#include "weft/module.hpp"
#include "weft/reduce.hpp"

namespace weft::nn {

class WEFT_API Identity : public Module {
public:
  Identity() : Module("Identity") {}
  Tensor operator()(const Tensor &x, Loc = Loc::current()) const { return x; }
};

class WEFT_API ReLU : public Module {
public:
  ReLU() : Module("ReLU") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return relu(x, loc); }
};

class WEFT_API GELU : public Module {
public:
  /// "none" or "tanh".
  explicit GELU(std::string approximate = "none", Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return gelu(x, approximate_, loc); }

private:
  std::string approximate_;
};

class WEFT_API Tanh : public Module {
public:
  Tanh() : Module("Tanh") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return tanh(x, loc); }
};

class WEFT_API Sigmoid : public Module {
public:
  Sigmoid() : Module("Sigmoid") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return sigmoid(x, loc); }
};

/// x sigmoid(x).
class WEFT_API SiLU : public Module {
public:
  SiLU() : Module("SiLU") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return silu(x, loc); }
};

/// x above 0, else `negative_slope` x.
class WEFT_API LeakyReLU : public Module {
public:
  explicit LeakyReLU(double negative_slope = 0.01);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return leaky_relu(x, slope_, loc); }

private:
  double slope_;
};

/// x above 0, else `alpha` (exp(x) - 1).
class WEFT_API ELU : public Module {
public:
  explicit ELU(double alpha = 1.0);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return elu(x, alpha_, loc); }

private:
  double alpha_;
};

/// Softmax along `dim`; the result has the shape of x.
class WEFT_API Softmax : public Module {
public:
  explicit Softmax(int64_t dim);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return softmax(x, dim_, loc); }

private:
  int64_t dim_;
};

/// The logarithm of the softmax along `dim`.
class WEFT_API LogSoftmax : public Module {
public:
  explicit LogSoftmax(int64_t dim);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return log_softmax(x, dim_, loc); }

private:
  int64_t dim_;
};

/// x tanh(softplus(x)).
class WEFT_API Mish : public Module {
public:
  Mish() : Module("Mish") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return mish(x, loc); }
};

/// The scaled ELU of Klambauer et al. (2017).
class WEFT_API SELU : public Module {
public:
  SELU() : Module("SELU") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return selu(x, loc); }
};

/// min(max(x, 0), 6).
class WEFT_API ReLU6 : public Module {
public:
  ReLU6() : Module("ReLU6") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return relu6(x, loc); }
};

/// x relu6(x + 3) / 6.
class WEFT_API Hardswish : public Module {
public:
  Hardswish() : Module("Hardswish") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return hardswish(x, loc); }
};

/// relu6(x + 3) / 6.
class WEFT_API Hardsigmoid : public Module {
public:
  Hardsigmoid() : Module("Hardsigmoid") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return hardsigmoid(x, loc); }
};

/// log(sigmoid(x)).
class WEFT_API LogSigmoid : public Module {
public:
  LogSigmoid() : Module("LogSigmoid") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return logsigmoid(x, loc); }
};

/// x / (1 + |x|).
class WEFT_API Softsign : public Module {
public:
  Softsign() : Module("Softsign") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return softsign(x, loc); }
};

/// x - tanh(x).
class WEFT_API Tanhshrink : public Module {
public:
  Tanhshrink() : Module("Tanhshrink") {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return tanhshrink(x, loc); }
};

/// x above 0, else `alpha` (exp(x / alpha) - 1).
class WEFT_API CELU : public Module {
public:
  explicit CELU(double alpha = 1.0);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return celu(x, alpha_, loc); }

private:
  double alpha_;
};

/// log(1 + exp(beta x)) / beta; x where beta x is above the threshold.
class WEFT_API Softplus : public Module {
public:
  explicit Softplus(double beta = 1.0, double threshold = 20.0);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return softplus(x, beta_, threshold_, loc);
  }

private:
  double beta_, threshold_;
};

/// x limited to [min, max].
class WEFT_API Hardtanh : public Module {
public:
  explicit Hardtanh(double min = -1.0, double max = 1.0);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return hardtanh(x, min_, max_, loc); }

private:
  double min_, max_;
};

/// x, and 0 in [-lambda, lambda].
class WEFT_API Hardshrink : public Module {
public:
  explicit Hardshrink(double lambda = 0.5);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return hardshrink(x, lambda_, loc); }

private:
  double lambda_;
};

/// x moved toward 0 by `lambda`.
class WEFT_API Softshrink : public Module {
public:
  explicit Softshrink(double lambda = 0.5);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return softshrink(x, lambda_, loc); }

private:
  double lambda_;
};

/// x above the threshold, else `value`.
class WEFT_API Threshold : public Module {
public:
  Threshold(double threshold, double value);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return weft::threshold(x, threshold_, value_, loc);
  }

private:
  double threshold_, value_;
};

/// x above 0, else x times a weight that is trained: one, or one per channel (dimension 1). He et al. (2015).
class WEFT_API PReLU : public Module {
public:
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return prelu(x, weight, loc); }
  Parameter weight;
};

/// The first half along `dim` times the sigmoid of the second.
class WEFT_API GLU : public Module {
public:
  explicit GLU(int64_t dim = -1);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return glu(x, dim_, loc); }

private:
  int64_t dim_;
};

/// softmax(-x) along `dim`.
class WEFT_API Softmin : public Module {
public:
  explicit Softmin(int64_t dim);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return softmin(x, dim_, loc); }

private:
  int64_t dim_;
};

} // namespace weft::nn

#endif // WEFT_ACTIVATIONS_HPP
