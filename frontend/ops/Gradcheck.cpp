//===- Gradcheck.cpp - Derivatives compared with differences --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/gradcheck.hpp"

#include "frontend/graph/Trace.h"
#include "frontend/lazy/Recompilation.h"
#include "frontend/ops/Ops.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

namespace weft::autograd {

using namespace frontend;
using detail::CheckedFunction;

namespace {

/// The derivatives of each element of an output with respect to each element of an input.
struct Jacobian {
  size_t rows; ///< the elements of the output
  std::vector<double> numbers;

  Jacobian(size_t inputs, size_t outputs) : rows(outputs), numbers(inputs * outputs) {}
  double &at(size_t input, size_t output) { return numbers[input * rows + output]; }
};

std::string text(double number) {
  char buffer[40];
  return {buffer, static_cast<size_t>(std::snprintf(buffer, sizeof(buffer), "%.9g", number))};
}

/// The place of element `index` of a tensor.
std::string placeOf(size_t index, const Shape &shape) {
  Shape place(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    place[d] = static_cast<int64_t>(index) % shape[d];
    index /= static_cast<size_t>(shape[d]);
  }
  return shapeText(place);
}

bool isClose(double analytical, double numerical, double atol, double rtol) {
  return analytical == numerical || std::abs(analytical - numerical) <= atol + rtol * std::abs(numerical);
}

/// The check of one function.
class Check {
public:
  /// `count`: how many of the inputs are the function's; others are the gradients of its outputs.
  Check(const char *name, const CheckedFunction &fn, const std::vector<Tensor> &inputs, size_t count,
        const GradcheckOptions &options, Loc loc)
      : name_(name), fn_(fn), inputs_(inputs), count_(count), options_(options), loc_(loc) {}

  /// What is wrong with the derivatives; empty if nothing is.
  std::string run() {
    checkInputs();
    outputs_ = fn_(inputs_);
    for (const Tensor &output : outputs_)
      shapes_.push_back(output.sizes(loc_));
    findDifferences();
    std::vector<size_t> wanted;
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].requires_grad(loc_))
        wanted.push_back(i);
    if (wanted.empty())
      return withoutDerivatives();
    for (const size_t output : wanted)
      if (std::string wrong = compare(output); !wrong.empty())
        return wrong;
    return withZeros(wanted);
  }

private:
  std::string inputName(size_t i) const {
    return i < count_ ? "input " + std::to_string(i) : "grad_outputs[" + std::to_string(i - count_) + "]";
  }

  void checkInputs() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor &input = inputs_[i];
      if (!input.requires_grad(loc_))
        continue;
      const std::string which = name_ + ": " + inputName(i);
      if (input.dtype(loc_) != DType::f64)
        fail(which + " requires a gradient and is " + std::string(weft::name(input.dtype(loc_))) +
                 ", whose differences are too coarse: convert it with .to(weft::f64)",
             loc_, {use(input, loc_)});
      const std::vector<int64_t> strides = input.strides(loc_), sizes = input.sizes(loc_);
      for (size_t d = 0; d < sizes.size(); ++d)
        if (strides[d] == 0 && sizes[d] > 1)
          fail(which + " has a dimension with stride 0, so that one element is several of its: call "
                       ".contiguous() on it",
               loc_, {use(input, loc_)});
      checked_.push_back(i);
      // A write ends the history of a value that was computed, or writes what it is a view of.
      if (!input.is_leaf(loc_))
        inputs_[i] = input.detach(loc_).clone(loc_).requires_grad_(true, loc_);
    }
    if (checked_.empty())
      fail(name_ + " expects at least one input tensor to require gradient, but none of them has "
                   "requires_grad: call requires_grad_() on those to check",
           loc_);
  }

  /// The outputs as numbers.
  std::vector<std::vector<double>> evaluate() {
    const std::vector<Tensor> outputs = fn_(inputs_);
    if (outputs.size() != outputs_.size())
      fail(name_ + ": the function returned " + std::to_string(outputs_.size()) + " tensors and returns " +
               std::to_string(outputs.size()) + " when an input is changed by eps",
           loc_);
    std::vector<std::vector<double>> numbers;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].sizes(loc_) != shapes_[i])
        fail(name_ + ": the function returned output " + std::to_string(i) + " of shape " +
                 shapeText(shapes_[i]) + " and returns one of shape " + shapeText(outputs[i].sizes(loc_)) +
                 " when an input is changed by eps",
             loc_, {use(outputs[i], loc_)});
      numbers.push_back(outputs[i].detach(loc_).to(DType::f64, loc_).to_vector<double>(loc_));
    }
    return numbers;
  }

  void write(Tensor input, const std::vector<double> &numbers) {
    const NoGradGuard guard;
    input.copy_(Tensor::from(numbers, input.sizes(loc_), {DType::f64, input.device(loc_)}, loc_), loc_);
  }

  /// The difference quotients of all outputs with respect to each checked input.
  void findDifferences() {
    for (const size_t i : checked_) {
      const std::vector<double> before = inputs_[i].detach(loc_).to_vector<double>(loc_);
      std::vector<Jacobian> jacobians;
      for (const Tensor &output : outputs_)
        jacobians.emplace_back(before.size(), static_cast<size_t>(output.numel(loc_)));
      try {
        std::vector<double> changed = before;
        for (size_t k = 0; k < before.size(); ++k) {
          changed[k] = before[k] + options_.eps;
          write(inputs_[i], changed);
          const auto above = evaluate();
          changed[k] = before[k] - options_.eps;
          write(inputs_[i], changed);
          const auto below = evaluate();
          changed[k] = before[k];
          for (size_t o = 0; o < above.size(); ++o)
            for (size_t e = 0; e < above[o].size(); ++e)
              jacobians[o].at(k, e) = (above[o][e] - below[o][e]) / (2 * options_.eps);
        }
      } catch (...) {
        write(inputs_[i], before);
        throw;
      }
      write(inputs_[i], before);
      numerical_.push_back(std::move(jacobians));
    }
  }

  /// The derivatives of these outputs with respect to the checked inputs, as numbers.
  std::vector<std::vector<double>> derivatives(const std::vector<Tensor> &outputs,
                                               const std::vector<Tensor> &factors) {
    std::vector<Tensor> inputs;
    for (const size_t i : checked_)
      inputs.push_back(inputs_[i]);
    const std::vector<Tensor> gradients = grad(
        outputs, inputs, {.grad_outputs = factors, .retain_graph = true, .materialize_grads = true}, loc_);
    std::vector<std::vector<double>> numbers;
    for (const Tensor &gradient : gradients)
      numbers.push_back(gradient.detach(loc_).to_vector<double>(loc_));
    return numbers;
  }

  /// A gradient of an output: one for the element of this number, and zeros.
  Tensor factor(const Tensor &output, std::optional<size_t> element) {
    std::vector<double> numbers(static_cast<size_t>(output.numel(loc_)));
    if (element)
      numbers[*element] = 1;
    return Tensor::from(numbers, output.sizes(loc_), {DType::f64, output.device(loc_)}, loc_)
        .to(output.dtype(loc_), loc_);
  }

  /// What is wrong with the derivatives of an output.
  std::string compare(size_t output) {
    std::vector<Jacobian> analytical;
    bool isSame = true;
    for (const auto &jacobians : numerical_)
      analytical.push_back(jacobians[output]);
    for (size_t e = 0; e < analytical[0].rows; ++e) {
      const std::vector<Tensor> outputs{outputs_[output]}, factors{factor(outputs[0], e)};
      const auto once = derivatives(outputs, factors), again = derivatives(outputs, factors);
      for (size_t j = 0; j < once.size(); ++j)
        for (size_t k = 0; k < once[j].size(); ++k) {
          analytical[j].at(k, e) = once[j][k];
          isSame &= isClose(again[j][k], once[j][k], options_.nondet_tol, 0) ||
                    (std::isnan(again[j][k]) && std::isnan(once[j][k]));
        }
    }
    for (size_t j = 0; j < analytical.size(); ++j)
      if (std::string wrong = mismatch(output, j, analytical[j]); !wrong.empty())
        return wrong;
    if (!isSame)
      return "backward is not reentrant: run twice with the same input and gradient, it gives output " +
             std::to_string(output) +
             " different derivatives, by more than nondet_tol = " + text(options_.nondet_tol);
    return "";
  }

  /// The largest difference that is too large, if there is one. That of a NaN is larger than all others.
  std::string mismatch(size_t output, size_t checked, Jacobian &analytical) {
    Jacobian &numerical = numerical_[checked][output];
    std::optional<size_t> worst;
    double largest = 0;
    for (size_t k = 0; k < numerical.numbers.size(); ++k) {
      const double a = analytical.numbers[k], n = numerical.numbers[k];
      if (isClose(a, n, options_.atol, options_.rtol))
        continue;
      const double difference = std::isnan(a - n) ? HUGE_VAL : std::abs(a - n);
      if (!worst || difference > largest) {
        worst = k;
        largest = difference;
      }
    }
    if (!worst)
      return "";
    const size_t input = checked_[checked];
    const double a = analytical.numbers[*worst], n = numerical.numbers[*worst];
    return "Jacobian mismatch for output " + std::to_string(output) + " with respect to " + inputName(input) +
           ": the largest difference is " + text(std::abs(a - n)) + ", of the derivative of element " +
           placeOf(*worst % numerical.rows, shapes_[output]) + " with respect to element " +
           placeOf(*worst / numerical.rows, inputs_[input].sizes(loc_)) + ": numerical " + text(n) +
           ", analytical " + text(a);
  }

  std::string withoutDerivatives() {
    for (size_t j = 0; j < numerical_.size(); ++j)
      for (size_t o = 0; o < outputs_.size(); ++o)
        for (const double number : numerical_[j][o].numbers)
          if (number != 0)
            return "Numerical gradient for function expected to be zero, since none of its outputs requires "
                   "a "
                   "gradient: output " +
                   std::to_string(o) + " changes with " + inputName(checked_[j]) + " by " + text(number);
    return "";
  }

  /// Whether gradients of zeros pass on zeros.
  std::string withZeros(const std::vector<size_t> &wanted) {
    std::vector<Tensor> outputs, factors;
    for (const size_t i : wanted) {
      outputs.push_back(outputs_[i]);
      factors.push_back(factor(outputs_[i], std::nullopt));
    }
    const auto numbers = derivatives(outputs, factors);
    for (size_t j = 0; j < numbers.size(); ++j)
      for (const double number : numbers[j])
        if (number != 0)
          return "backward not multiplied by grad_output: with zeros as gradients of the outputs, that of " +
                 inputName(checked_[j]) + " has a " + text(number);
    return "";
  }

  const std::string name_;
  const CheckedFunction &fn_;
  std::vector<Tensor> inputs_; ///< those that are checked are leaves
  const size_t count_;
  const GradcheckOptions &options_;
  const Loc loc_;
  std::vector<size_t> checked_; ///< the inputs that require a gradient
  std::vector<Tensor> outputs_;
  std::vector<Shape> shapes_;                    ///< theirs
  std::vector<std::vector<Jacobian>> numerical_; ///< of each checked input, for each output
};

bool checkOf(const char *name, const CheckedFunction &fn, const std::vector<Tensor> &inputs, size_t count,
             const GradcheckOptions &options, Loc loc) {
  refuseInTrace(std::string(name) + "()", loc);
  const QuietCompiles quiet;
  const std::string wrong = Check(name, fn, inputs, count, options, loc).run();
  if (!wrong.empty() && options.raise_exception)
    fail(std::string(name) + ": " + wrong +
             " (WEFT-G011): correct backward(), or check at a point where the function is smooth",
         loc, {}, "WEFT-G011");
  return wrong.empty();
}

/// The outputs through which a gradient flows.
std::vector<Tensor> differentiable(std::vector<Tensor> outputs, Loc loc) {
  std::erase_if(outputs, [&](const Tensor &output) { return !output.requires_grad(loc); });
  return outputs;
}

} // namespace

void detail::failOnCount(const char *name, size_t least, size_t most, size_t given, Loc loc) {
  fail(std::string(name) + ": the function takes " + std::to_string(least) +
           (most > least ? " to " + std::to_string(most) : "") + " tensors, and " + std::to_string(given) +
           " inputs are given",
       loc);
}

bool detail::gradcheck(const CheckedFunction &fn, const std::vector<Tensor> &inputs,
                       const GradcheckOptions &options, Loc loc) {
  return checkOf("gradcheck", fn, inputs, inputs.size(), options, loc);
}

bool detail::gradgradcheck(const CheckedFunction &fn, const std::vector<Tensor> &inputs,
                           const GradgradcheckOptions &options, Loc loc) {
  refuseInTrace("gradgradcheck()", loc);
  std::vector<Tensor> all = inputs, factors = options.grad_outputs;
  if (factors.empty()) {
    std::mt19937_64 engine; // the program's generator draws what it would draw without the check
    std::uniform_real_distribution<double> numbers(-1, 1);
    for (const Tensor &output : differentiable(fn(inputs), loc)) {
      std::vector<double> drawn(static_cast<size_t>(output.numel(loc)));
      std::ranges::generate(drawn, [&] { return numbers(engine); });
      factors.push_back(Tensor::from(drawn, output.sizes(loc), {DType::f64, output.device(loc)}, loc)
                            .requires_grad_(true, loc));
    }
    if (factors.empty())
      fail("gradgradcheck: none of the outputs of the function requires a gradient, so that it has no "
           "derivative to check: compute them from the inputs without detach(), with gradients on",
           loc);
  }
  all.insert(all.end(), factors.begin(), factors.end());
  const size_t count = inputs.size();
  const CheckedFunction gradients = [&](const std::vector<Tensor> &given) {
    const std::vector<Tensor> arguments(given.begin(), given.begin() + static_cast<ptrdiff_t>(count));
    GradOptions how{.create_graph = true, .allow_unused = true};
    how.grad_outputs.assign(given.begin() + static_cast<ptrdiff_t>(count), given.end());
    std::vector<Tensor> wanted;
    std::ranges::copy_if(arguments, std::back_inserter(wanted),
                         [&](const Tensor &each) { return each.requires_grad(loc); });
    std::vector<Tensor> found = grad(differentiable(fn(arguments), loc), wanted, how, loc);
    std::erase_if(found, [](const Tensor &each) { return !each.defined(); });
    return found;
  };
  const GradcheckOptions like{.eps = options.eps,
                              .atol = options.atol,
                              .rtol = options.rtol,
                              .raise_exception = options.raise_exception,
                              .nondet_tol = options.nondet_tol};
  return checkOf("gradgradcheck", gradients, all, count, like, loc);
}

} // namespace weft::autograd
