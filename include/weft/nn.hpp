//===- nn.hpp - Modules and losses ------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_NN_HPP
#define WEFT_NN_HPP

#include "weft/tensor.hpp"

#include <functional>
#include <utility>

namespace weft {

/// Names and tensors, in order of registration.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

namespace nn {

namespace detail {
struct ModuleState;
}

/// A shared handle on parameters, buffers and child modules: copies of a module share them.
class WEFT_API Module {
public:
  Module();

  /// Adds a part under a name that is unique here; returns it, so that members can be initialised in one
  /// line.
  template <typename M> M register_module(const std::string &name, M module) {
    add_child(name, module);
    return module;
  }
  Tensor register_parameter(const std::string &name, Tensor value);
  Tensor register_buffer(const std::string &name, Tensor value);

  std::vector<Tensor> parameters() const;
  /// Names are paths: "fc1.weight".
  StateDict named_parameters() const;
  /// Parameters and buffers.
  StateDict state_dict() const;
  /// Copies values by name; missing, unexpected and misshapen entries are one error that lists them all, and
  /// then nothing is changed.
  void load_state_dict(const StateDict &state);

  /// Moves parameters, buffers and gradients; the tensors stay the same objects.
  void to(Device device);
  /// Converts floating-point parameters and buffers.
  void to(DType dtype);
  void train(bool mode = true);
  void eval() { train(false); }
  bool is_training() const;
  void zero_grad();

private:
  void add_child(const std::string &name, const Module &child);
  std::shared_ptr<detail::ModuleState> state_;
};

/// y = x W^T + b, with W of shape [out, in]; initialised as torch.nn.Linear.
class WEFT_API Linear : public Module {
public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true, Loc loc = Loc::current());
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const;
  Tensor weight, bias;
};

class WEFT_API ReLU : public Module {
public:
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return relu(x, loc); }
};

class WEFT_API Flatten : public Module {
public:
  explicit Flatten(int64_t start = 1, int64_t end = -1) : start_(start), end_(end) {}
  Tensor operator()(const Tensor &x, Loc loc = Loc::current()) const { return x.flatten(start_, end_, loc); }

private:
  int64_t start_, end_;
};

/// Applies its parts in order; they are registered as "0", "1", ...
class WEFT_API Sequential : public Module {
public:
  template <typename... Ms> explicit Sequential(Ms... parts) { (push_back(std::move(parts)), ...); }
  template <typename M> void push_back(M part) {
    register_module(std::to_string(parts_.size()), part);
    parts_.push_back([part](const Tensor &x, Loc loc) mutable { return part(x, loc); });
  }
  Tensor operator()(Tensor x, Loc loc = Loc::current()) const {
    for (const auto &part : parts_)
      x = part(x, loc);
    return x;
  }

private:
  std::vector<std::function<Tensor(const Tensor &, Loc)>> parts_;
};

enum class Reduction { none, mean, sum };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;
};

/// x W^T + b.
WEFT_API Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias = {},
                       Loc loc = Loc::current());
/// `logits` [rows, classes], `target` [rows] class numbers of i64 (narrower integers are converted).
WEFT_API Tensor cross_entropy(const Tensor &logits, const Tensor &target, CrossEntropyOptions options = {},
                              Loc loc = Loc::current());
WEFT_API Tensor mse_loss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::mean,
                         Loc loc = Loc::current());

} // namespace nn
} // namespace weft

#endif // WEFT_NN_HPP
