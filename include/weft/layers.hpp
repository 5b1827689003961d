//===- layers.hpp - Layers and containers --------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LAYERS_HPP
#define WEFT_LAYERS_HPP

#include "weft/activations.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/math.hpp"
#include "weft/nn.hpp"
#include "weft/reduce.hpp"

namespace weft::nn {

//===----------------------------------------------------------------------===//
// Layers with parameters; sizes, defaults and initial distributions as PyTorch's
//===----------------------------------------------------------------------===//

/// y = x W^T + b, with W of shape [out, in]; x [..., in].
class WEFT_API Linear : public Module {
public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;
  /// Draws weight and bias anew: both uniform in +-1/sqrt(in).
  void reset_parameters(Loc loc = Loc::current());
  Parameter weight, bias;
};

/// Ba, Kiros and Hinton (2016): (x - mean) / sqrt(variance + eps) over the trailing dimensions, then times
/// weight (ones at first) plus bias (zeros at first) unless `elementwise_affine` is off.
class WEFT_API LayerNorm : public Module {
public:
  explicit LayerNorm(Shape normalized_shape, double eps = 1e-5, bool elementwise_affine = true,
                     bool bias = true, Loc loc = Loc::current());
  template <std::integral T>
  explicit LayerNorm(T size, double eps = 1e-5, bool elementwise_affine = true, bool bias = true,
                     Loc loc = Loc::current())
      : LayerNorm(Shape{static_cast<int64_t>(size)}, eps, elementwise_affine, bias, loc) {}
  /// Sizes in braces, which may not be taken for the arguments of another constructor.
  template <size_t N>
  explicit LayerNorm(const int64_t (&sizes)[N], double eps = 1e-5, bool elementwise_affine = true,
                     bool bias = true, Loc loc = Loc::current())
      : LayerNorm(Shape(sizes, sizes + N), eps, elementwise_affine, bias, loc) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return layer_norm(x, shape_, weight, bias, eps_, loc);
  }
  Parameter weight, bias;

private:
  Shape shape_;
  double eps_;
};

/// Zhang and Sennrich (2019): x / sqrt(mean(x^2) + eps) over the trailing dimensions, then times weight (ones
/// at first) unless `elementwise_affine` is off. Without `eps` it is that of `rms_norm`.
class WEFT_API RMSNorm : public Module {
public:
  explicit RMSNorm(Shape normalized_shape, std::optional<double> eps = {}, bool elementwise_affine = true,
                   Loc loc = Loc::current());
  template <std::integral T>
  explicit RMSNorm(T size, std::optional<double> eps = {}, bool elementwise_affine = true,
                   Loc loc = Loc::current())
      : RMSNorm(Shape{static_cast<int64_t>(size)}, eps, elementwise_affine, loc) {}
  template <size_t N>
  explicit RMSNorm(const int64_t (&sizes)[N], std::optional<double> eps = {}, bool elementwise_affine = true,
                   Loc loc = Loc::current())
      : RMSNorm(Shape(sizes, sizes + N), eps, elementwise_affine, loc) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return rms_norm(x, shape_, weight, eps_, loc);
  }
  Parameter weight;

private:
  Shape shape_;
  std::optional<double> eps_;
};

/// Rows of a table by number: [...] integers give [..., embedding_dim]. Weights are standard normal at first.
/// The row `padding_idx` (negative: from the end) is zeros at first and gets no gradient. With `max_norm`
/// each call scales rows of `weight`.
class WEFT_API Embedding : public Module {
public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, EmbeddingOptions options = {},
            Loc loc = Loc::current());
  template <std::convertible_to<std::optional<int64_t>> Padding>
  Embedding(int64_t num_embeddings, int64_t embedding_dim, Padding padding_idx, Loc loc = Loc::current())
      : Embedding(num_embeddings, embedding_dim, EmbeddingOptions{.padding_idx = padding_idx}, loc) {}
  Tensor operator()(const Tensor &index, Loc loc = Loc::current()) const {
    return embedding(index, weight, options_, loc);
  }
  Parameter weight;

private:
  EmbeddingOptions options_; ///< with a padding that is counted from the front
};

/// In training, zeros elements with probability `p` and divides the others by 1 - p; otherwise the identity
/// (Srivastava et al., 2014). Throws Error unless `p` is in [0, 1].
class WEFT_API Dropout : public Module {
public:
  explicit Dropout(double p = 0.5, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return dropout(x, p_, is_training(), loc);
  }
  double p() const { return p_; }

private:
  double p_;
};

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// The dimensions from `start_dim` to `end_dim`, both included, as one: by default all but the first.
class WEFT_API Flatten : public Module {
public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return x.flatten(start_, end_, loc); }

private:
  int64_t start_, end_;
};

/// Replaces dimension `dim` by `sizes`, one of which may be -1.
class WEFT_API Unflatten : public Module {
public:
  Unflatten(int64_t dim, Shape sizes);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;

private:
  int64_t dim_;
  Shape sizes_;
};

/// [.., c r^2, h, w] as [.., c, h r, w r], and back.
class WEFT_API PixelShuffle : public Module {
public:
  explicit PixelShuffle(int64_t upscale_factor);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return pixel_shuffle(x, factor_, loc);
  }

private:
  int64_t factor_;
};

class WEFT_API PixelUnshuffle : public Module {
public:
  explicit PixelUnshuffle(int64_t downscale_factor);
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const {
    return pixel_unshuffle(x, factor_, loc);
  }

private:
  int64_t factor_;
};

//===----------------------------------------------------------------------===//
// Containers
//===----------------------------------------------------------------------===//

/// Applies its parts in order; they are registered as "0", "1", ...
class WEFT_API Sequential : public Module {
public:
  template <typename... Ms>
    requires(!std::is_same_v<Sequential, std::remove_cvref_t<Ms>> && ...)
  explicit Sequential(Ms... parts) : Module("Sequential") {
    (push_back(std::move(parts)), ...);
  }
  template <typename M> void push_back(M part) {
    register_module(std::to_string(parts_.size()), part);
    parts_.push_back([part](const Tensor &x, Loc loc) mutable {
      if constexpr (std::is_invocable_v<M &, const Tensor &, Loc>)
        return part(x, loc);
      else
        return part(x);
    });
  }
  size_t size() const { return parts_.size(); }
  Tensor operator()(Tensor x, Loc loc = Loc::current()) const { return part(0, size(), std::move(x), loc); }
  /// What the parts from `begin` to before `end` make of a tensor, one after the other:
  /// `layers[begin:end](x)` of PyTorch. Numbers beyond the last part are cut to `size()`.
  Tensor part(size_t begin, size_t end, Tensor x, Loc loc = Loc::current()) const {
    for (size_t i = begin; i < std::min(end, size()); ++i)
      x = parts_[i](x, loc);
    return x;
  }

private:
  std::vector<std::function<Tensor(const Tensor &, Loc)>> parts_;
};

/// A list of parts of one type; they are registered as "0", "1", ...
template <typename M> class ModuleList : public Module {
public:
  ModuleList() : Module("ModuleList") {}
  explicit ModuleList(std::vector<M> parts) : ModuleList() {
    for (M &part : parts)
      push_back(std::move(part));
  }
  void push_back(M part) {
    register_module(std::to_string(parts_.size()), part);
    parts_.push_back(std::move(part));
  }
  size_t size() const { return parts_.size(); }
  M &operator[](size_t index) { return parts_.at(index); }
  const M &operator[](size_t index) const { return parts_.at(index); }
  auto begin() { return parts_.begin(); }
  auto end() { return parts_.end(); }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

private:
  std::vector<M> parts_;
};

/// Parts of one type by name, in the order in which they were added; a name is that of the registered part.
template <typename M> class ModuleDict : public Module {
public:
  ModuleDict() : Module("ModuleDict") {}
  explicit ModuleDict(std::vector<std::pair<std::string, M>> parts) : ModuleDict() {
    for (auto &[name, part] : parts)
      insert(name, std::move(part));
  }
  /// Throws Error for a name that is taken, is empty or holds a dot.
  void insert(const std::string &name, M part, Loc loc = Loc::current()) {
    register_module(name, part, loc);
    parts_.emplace_back(name, std::move(part));
  }
  bool contains(const std::string &name) const { return find(name) < parts_.size(); }
  size_t size() const { return parts_.size(); }
  std::vector<std::string> keys() const {
    std::vector<std::string> names;
    for (const auto &[name, part] : parts_)
      names.push_back(name);
    return names;
  }
  /// Throws Error for a name that is not there.
  M &operator[](const std::string &name) { return parts_[known(name)].second; }
  const M &operator[](const std::string &name) const { return parts_[known(name)].second; }
  /// Pairs of a name and a part.
  auto begin() { return parts_.begin(); }
  auto end() { return parts_.end(); }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }

private:
  size_t find(const std::string &name) const {
    size_t at = 0;
    while (at < parts_.size() && parts_[at].first != name)
      ++at;
    return at;
  }
  size_t known(const std::string &name) const {
    const size_t at = find(name);
    if (at == parts_.size())
      throw Error("nn::ModuleDict has no part '" + name + "'");
    return at;
  }
  std::vector<std::pair<std::string, M>> parts_;
};

/// Parameters in a list; they are registered as "0", "1", ...
class WEFT_API ParameterList : public Module {
public:
  explicit ParameterList(const std::vector<Tensor> &values = {}, Loc loc = Loc::current());
  ParameterList &append(const Tensor &value, Loc loc = Loc::current());
  size_t size() const { return parameters_.size(); }
  Parameter &operator[](size_t index) { return parameters_.at(index); }
  const Parameter &operator[](size_t index) const { return parameters_.at(index); }
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }

private:
  std::vector<Parameter> parameters_;
};

/// Parameters by name, in the order in which they were added.
class WEFT_API ParameterDict : public Module {
public:
  explicit ParameterDict(const StateDict &values = {}, Loc loc = Loc::current());
  /// Throws Error for a name that is taken, is empty or holds a dot.
  void insert(const std::string &name, const Tensor &value, Loc loc = Loc::current());
  bool contains(const std::string &name) const;
  size_t size() const { return names_.size(); }
  const std::vector<std::string> &keys() const { return names_; }
  /// Throws Error for a name that is not there.
  Parameter &operator[](const std::string &name);
  const Parameter &operator[](const std::string &name) const;

private:
  size_t known(const std::string &name) const;
  std::vector<std::string> names_;
  std::vector<Parameter> parameters_;
};

} // namespace weft::nn

#endif // WEFT_LAYERS_HPP
