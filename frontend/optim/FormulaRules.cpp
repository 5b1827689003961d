//===- FormulaRules.cpp - Optimisers that are formulas of tensors ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Update rules that are compositions of operations, which fuse. Numbers of a group and counts are f64, so
// that what follows from them, as 1 - beta^t, is computed in f64 and rounded where it meets a tensor, as
// PyTorch does with numbers of Python.
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Trace.h"
#include "frontend/ops/Expr.h"
#include "frontend/ops/Term.h"
#include "frontend/optim/OptimState.h"

#include "weft/linear_algebra.hpp"

#include <cmath>
#include <string_view>

namespace weft::optim {

using namespace frontend;
using detail::Group;
using detail::Member;
using detail::OptimizerState;
using detail::PieceKind;

namespace {

/// What a step knows of a parameter.
class StepValues {
public:
  StepValues(const Member &member, const Tensor &gradient, const Group &group, bool maximize, Loc loc)
      : p(wide({member.parameter, loc})), g(wide({gradient, loc})), member_(member), group_(group) {
    if (maximize)
      g = -g;
  }
  /// The parameter, and its gradient or, of what is maximised, its negative. Halves are computed in f32, in
  /// which a square does not overflow.
  Term p, g;

  Term piece(size_t number) const { return wide({member_.pieces[number].tensor, p.loc}); }
  /// A number of the group, by its name in the options.
  Term operator[](std::string_view name) const {
    for (const detail::Hyperparameter &number : group_.numbers)
      if (number.name == name)
        return {number.tensor, p.loc};
    fail("an optimiser has no number '" + std::string(name) + "'", p.loc);
  }
  /// Of the parameter itself.
  DType dtype() const { return member_.parameter.dtype(p.loc); }
  /// The number of this step, from 1 on, as f64.
  Term step() const {
    return {(Term{member_.counter->steps, p.loc} + int64_t(1)).tensor.to(DType::f64), p.loc};
  }
  /// `g` with weight decay. A decay of 0 leaves it as it is, whatever the parameter.
  Term decayed() const {
    const Term decay = (*this)["weight_decay"];
    return select(decay != 0.0, g + decay * p, g);
  }

private:
  static Term wide(const Term &half) {
    return isHalf(half.tensor.dtype(half.loc)) ? Term{half.tensor.to(DType::f32, half.loc), half.loc} : half;
  }
  const Member &member_;
  const Group &group_;
};

Term power(const Term &base, const Term &exponent) { return {pow(Arg(base), Arg(exponent)), base.loc}; }
Term power(double base, const Term &exponent) {
  return {pow(Arg(base, exponent.loc), Arg(exponent)), exponent.loc};
}
Term largest(const Term &a, const Arg &b) { return {maximum(Arg(a), b), a.loc}; }
Term sign(const Term &a) { return {weft::sign(a.tensor, a.loc), a.loc}; }
Term operator-(double a, const Term &b) { return {sub(Arg(a, b.loc), Arg(b)), b.loc}; }
Term operator/(double a, const Term &b) { return {div(Arg(a, b.loc), Arg(b)), b.loc}; }
/// An average that moves by a share of 1 - keep.
Term averaged(const Term &average, const Term &next, const Term &keep) {
  return average * keep + next * (1.0 - keep);
}

/// A rule whose step is a formula.
struct FormulaRule : detail::Rule {
  bool maximize = false;
  /// The parameter's new value, then those of its pieces.
  virtual std::vector<Term> formula(const StepValues &v) const = 0;
  std::vector<Ref> record(const Member &member, const Tensor &gradient, const Group &group,
                          Loc loc) const final {
    std::vector<Ref> values;
    const std::vector<Term> terms = formula(StepValues(member, gradient, group, maximize, loc));
    for (size_t i = 0; i < terms.size(); ++i) {
      const Tensor &old = i == 0 ? member.parameter : member.pieces[i - 1].tensor;
      values.push_back(convertTo(use(terms[i].tensor, loc), old.dtype(), loc));
    }
    return values;
  }
};

/// The rule of a group with these options.
template <typename Rule, typename Options> std::shared_ptr<Rule> ruleFor(const Options &options) {
  auto rule = std::make_shared<Rule>();
  rule->maximize = options.maximize;
  return rule;
}

//===----------------------------------------------------------------------===//
// Gradients over the root of their squares
//===----------------------------------------------------------------------===//

struct RmspropRule final : FormulaRule {
  RMSpropOptions options;
  std::vector<PieceKind> pieces() const override {
    std::vector<PieceKind> kinds{{"square_avg"}};
    if (options.momentum > 0)
      kinds.push_back({"momentum_buffer"});
    if (options.centered)
      kinds.push_back({"grad_avg"});
    return kinds;
  }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term g = v.decayed(), square = averaged(v.piece(0), g * g, v["alpha"]);
    std::vector<Term> made{v.p, square};
    Term second = square;
    if (options.centered) {
      const Term mean = averaged(v.piece(options.momentum > 0 ? 2 : 1), g, v["alpha"]);
      second = square - mean * mean;
      made.push_back(mean);
    }
    Term change = g / (sqrt(second) + v["eps"]);
    if (options.momentum > 0) {
      change = v["momentum"] * v.piece(1) + change;
      made.insert(made.begin() + 2, change);
    }
    made[0] = v.p - v["lr"] * change;
    return made;
  }
  std::string refusal(std::string_view name, double value) const override {
    if (name == "alpha" && value < 0)
      return "Invalid alpha value: " + std::to_string(value) + "; it must not be negative";
    return name == "momentum" ? detail::momentumRefusal("RMSprop", options.momentum, value) : "";
  }
};

struct AdagradRule final : FormulaRule {
  double initial = 0;
  std::vector<PieceKind> pieces() const override { return {{"sum", initial}}; }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term g = v.decayed(), sum = v.piece(0) + g * g;
    const Term rate = v["lr"] / ((v.step() - 1.0) * v["lr_decay"] + 1.0);
    return {v.p - rate * (g / (sqrt(sum) + v["eps"])), sum};
  }
};

struct AdadeltaRule final : FormulaRule {
  std::vector<PieceKind> pieces() const override { return {{"square_avg"}, {"acc_delta"}}; }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term g = v.decayed(), square = averaged(v.piece(0), g * g, v["rho"]);
    const Term delta = sqrt(v.piece(1) + v["eps"]) / sqrt(square + v["eps"]) * g;
    return {v.p - v["lr"] * delta, square, averaged(v.piece(1), delta * delta, v["rho"])};
  }
};

//===----------------------------------------------------------------------===//
// Relatives of Adam
//===----------------------------------------------------------------------===//

struct AdamaxRule final : FormulaRule {
  std::vector<PieceKind> pieces() const override { return {{"exp_avg"}, {"exp_inf"}}; }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term g = v.decayed(), mean = averaged(v.piece(0), g, v["beta1"]);
    const Term norm = largest(v["beta2"] * v.piece(1), abs(g) + v["eps"]);
    const Term rate = v["lr"] / (1.0 - power(v["beta1"], v.step()));
    return {v.p - rate * (mean / norm), mean, norm};
  }
};

/// A decay that is of the gradient, or of the parameter itself.
struct DecoupledRule : FormulaRule {
  bool decoupled = false;
  Term gradientOf(const StepValues &v) const { return decoupled ? v.g : v.decayed(); }
  Term parameterOf(const StepValues &v) const {
    return decoupled ? v.p * (1.0 - v["lr"] * v["weight_decay"]) : v.p;
  }
};

struct NAdamRule final : DecoupledRule {
  std::vector<PieceKind> pieces() const override {
    return {{"exp_avg"}, {"exp_avg_sq"}, {"mu_product", 1, /*isNumber=*/true}};
  }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term g = gradientOf(v), t = v.step();
    const Term mean = averaged(v.piece(0), g, v["beta1"]), square = averaged(v.piece(1), g * g, v["beta2"]);
    auto momentum = [&](const Term &step) {
      return v["beta1"] * (1.0 - power(0.96, step * v["momentum_decay"]) * 0.5);
    };
    const Term mu = momentum(t), next = momentum(t + 1.0);
    // PyTorch keeps the product in f32, and rounds its factor to that first.
    const Term product = v.piece(2) * Term{mu.tensor.to(DType::f32), v.p.loc};
    const Term exact{product.tensor.to(DType::f64), v.p.loc};
    const Term root = sqrt(square / (1.0 - power(v["beta2"], t))) + v["eps"];
    const Term ofGradient = v["lr"] * (1.0 - mu) / (1.0 - exact),
               ofMean = v["lr"] * next / (1.0 - exact * next);
    return {parameterOf(v) - ofGradient * (g / root) - ofMean * (mean / root), mean, square, product};
  }
};

struct RAdamRule final : DecoupledRule {
  std::vector<PieceKind> pieces() const override { return {{"exp_avg"}, {"exp_avg_sq"}}; }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term g = gradientOf(v), t = v.step();
    const Term mean = averaged(v.piece(0), g, v["beta1"]), square = averaged(v.piece(1), g * g, v["beta2"]);
    const Term power2 = power(v["beta2"], t), correction2 = 1.0 - power2;
    const Term limit = 2.0 / (1.0 - v["beta2"]) - 1.0, length = limit - t * 2.0 * power2 / correction2;
    const Term rectified =
        sqrt((length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length));
    const Term adaptive = sqrt(correction2) * rectified / (sqrt(square) + v["eps"]);
    const Term step = v["lr"] / (1.0 - power(v["beta1"], t)) * mean;
    // The variance of the adaptive rate is bounded from a length of 5 on.
    return {parameterOf(v) - select(length > 5.0, step * adaptive, step), mean, square};
  }
};

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

struct AsgdRule final : FormulaRule {
  std::vector<PieceKind> pieces() const override {
    return {{"ax"}, {"eta", 0, /*isNumber=*/true, /*beginsWithRate=*/true}, {"mu", 1, /*isNumber=*/true}};
  }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term g = v.decayed(), t = v.step(), lr = v["lr"], lambd = v["lambd"];
    const Term eta{v.piece(1).tensor.to(DType::f64), v.p.loc}, mu{v.piece(2).tensor.to(DType::f64), v.p.loc};
    const Term p = v.p * (1.0 - lambd * eta) - eta * g;
    const Term average = select(mu == 1.0, p, v.piece(0) + (p - v.piece(0)) * mu);
    const Term nextEta = lr / power(lambd * lr * t + 1.0, v["alpha"]);
    const Term nextMu = 1.0 / largest(t - v["t0"], Arg(1.0, v.p.loc));
    return {p, average, nextEta, nextMu};
  }
};

struct RpropRule final : FormulaRule {
  std::vector<PieceKind> pieces() const override {
    return {{"prev"}, {"step_size", 0, /*isNumber=*/false, /*beginsWithRate=*/true}};
  }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term agreement = v.g * v.piece(0);
    const Term grown = select(agreement > 0.0, v.piece(1) * v["eta_plus"],
                              select(agreement < 0.0, v.piece(1) * v["eta_minus"], v.piece(1)));
    const Term size{clamp(grown.tensor, Arg(v["step_size_min"]), Arg(v["step_size_max"])), v.p.loc};
    // After a change of sign the parameter rests for a step.
    const Term g = select(agreement < 0.0, Arg(0.0, v.p.loc), v.g);
    return {v.p - sign(g) * size, g, size};
  }
};

//===----------------------------------------------------------------------===//
// Rules for matrices
//===----------------------------------------------------------------------===//

Term summed(const Term &a, const IntList &dims) { return {a.tensor.sum(dims, true, a.loc), a.loc}; }
/// The root of the mean of the squares of all elements.
Term rootMeanSquare(const Term &a) {
  const auto count = static_cast<double>(std::max<int64_t>(a.tensor.numel(a.loc), 1));
  return sqrt(Term{(a * a).tensor.sum({}, false, a.loc), a.loc}) / std::sqrt(count);
}

struct AdafactorRule final : FormulaRule {
  std::optional<double> eps1;
  std::vector<PieceKind> pieces() const override { return {}; }
  std::vector<PieceKind> piecesOf(const Shape &parameter) const override {
    if (parameter.size() < 2)
      return {{"variance"}};
    return {{.name = "row_var", .single = 1}, {.name = "col_var", .single = 2}};
  }
  std::vector<Term> formula(const StepValues &v) const override {
    const double least = eps1 ? *eps1 : roundingOf(v.dtype());
    const Term share = power(v.step(), v["beta2_decay"]);
    const Term rate = {minimum(Arg(v["lr"]), Arg(1.0 / sqrt(v.step()))), v.p.loc};
    const Term alpha = largest(v["eps2"], Arg(rootMeanSquare(v.p))) * rate;
    const auto moved = [&](const Term &from, const Term &to) { return from + (to - from) * share; };
    std::vector<Term> made{v.p * (1.0 - v["lr"] * v["weight_decay"])};
    const Term square = v.g * v.g;
    const Shape &shape = v.g.tensor.sizes(v.g.loc);
    if (shape.size() < 2) {
      made.push_back(moved(v.piece(0), square));
    } else {
      for (const int64_t dim : {-1, -2}) {
        const auto size = static_cast<double>(v.g.tensor.size(dim, v.g.loc));
        made.push_back(moved(v.piece(dim == -1 ? 0 : 1), summed(square, {dim}) / size));
      }
    }
    const Arg smallest(least * least, v.p.loc);
    Term update = v.g;
    if (made.size() == 2) {
      update = v.g / sqrt(largest(made[1], smallest));
    } else {
      const auto rows = static_cast<double>(v.g.tensor.size(-2, v.g.loc));
      const Term mean = largest(summed(made[1], {-2}) / rows, Arg(least, v.p.loc));
      update = v.g / sqrt(largest(made[1] * made[2] / mean, smallest));
    }
    const Term scale = largest(rootMeanSquare(update) / v["d"], Arg(1.0, v.p.loc));
    made[0] = made[0] - alpha / scale * update;
    return made;
  }

private:
  /// The distance of 1 and the next number.
  static double roundingOf(DType dtype) {
    switch (dtype) {
    case DType::f64:
      return 0x1p-52;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-23;
    }
  }
};

struct MuonRule final : FormulaRule {
  MuonOptions options;
  std::vector<PieceKind> pieces() const override { return {{"momentum_buffer"}}; }
  std::vector<Term> formula(const StepValues &v) const override {
    const Term rest = 1.0 - v["momentum"], buffer = v.piece(0) + (v.g - v.piece(0)) * rest;
    const Term update = options.nesterov ? buffer - (buffer - v.g) * rest : buffer;
    const Term direction{orthogonal(update.tensor, update.loc).to(v.p.tensor.dtype(), update.loc),
                         update.loc};
    return {v.p * (1.0 - v["lr"] * v["weight_decay"]) - v["lr"] * ratio(v.p.tensor.sizes()) * direction,
            buffer};
  }

private:
  /// An approximation of U V^T, where U S V^T is the matrix, by iterations of Newton and Schulz. Matrices and
  /// products are bf16, and what is added is f32, so that each result is rounded about as often as PyTorch's.
  Tensor orthogonal(const Tensor &matrix, Loc loc) const {
    const auto wide = [&](const Tensor &t) { return Term{t.to(DType::f32, loc), loc}; };
    const auto narrow = [&](const Term &t) { return t.tensor.to(DType::bf16, loc); };
    const bool isTall = matrix.size(0, loc) > matrix.size(1, loc);
    Tensor x = matrix.to(DType::bf16, loc);
    if (isTall)
      x = x.t(loc);
    const Term size =
        largest(sqrt(Term{(wide(x) * wide(x)).tensor.sum({}, false, loc), loc}), Arg(options.eps, loc));
    x = narrow(wide(x) / wide(narrow(size)));
    const auto [a, b, c] = options.ns_coefficients;
    for (int64_t i = 0; i < options.ns_steps; ++i) {
      const Tensor gram = matmul(x, x.t(loc), loc);
      const Tensor update = narrow(wide(gram) * b + wide(matmul(gram, gram, loc)) * c);
      x = narrow(wide(x) * a + wide(matmul(update, x, loc)));
    }
    return isTall ? x.t(loc) : x;
  }
  double ratio(const Shape &shape) const {
    const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
    return options.adjust_lr_fn == "match_rms_adamw" ? 0.2 * std::sqrt(std::max(rows, columns))
                                                     : std::sqrt(std::max(1.0, rows / columns));
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

RMSprop::RMSprop(std::vector<Tensor> parameters, RMSpropOptions options, Loc loc)
    : Optimizer(OptimizerState::make("rmsprop")) {
  add_param_group(std::move(parameters), options, loc);
}
void RMSprop::add_param_group(std::vector<Tensor> parameters, RMSpropOptions o, Loc loc) {
  auto rule = ruleFor<RmspropRule>(o);
  rule->options = o;
  state_->addGroup(std::move(rule), std::move(parameters),
                   {{"lr", o.lr},
                    {"alpha", o.alpha},
                    {"eps", o.eps},
                    {"weight_decay", o.weight_decay},
                    {"momentum", o.momentum}},
                   loc);
}

Adagrad::Adagrad(std::vector<Tensor> parameters, AdagradOptions options, Loc loc)
    : Optimizer(OptimizerState::make("adagrad")) {
  add_param_group(std::move(parameters), options, loc);
}
void Adagrad::add_param_group(std::vector<Tensor> parameters, AdagradOptions o, Loc loc) {
  detail::checkNumber("initial_accumulator_value", o.initial_accumulator_value, loc);
  auto rule = ruleFor<AdagradRule>(o);
  rule->initial = o.initial_accumulator_value;
  state_->addGroup(std::move(rule), std::move(parameters),
                   {{"lr", o.lr}, {"lr_decay", o.lr_decay}, {"weight_decay", o.weight_decay}, {"eps", o.eps}},
                   loc);
}

Adadelta::Adadelta(std::vector<Tensor> parameters, AdadeltaOptions options, Loc loc)
    : Optimizer(OptimizerState::make("adadelta")) {
  add_param_group(std::move(parameters), options, loc);
}
void Adadelta::add_param_group(std::vector<Tensor> parameters, AdadeltaOptions o, Loc loc) {
  state_->addGroup(ruleFor<AdadeltaRule>(o), std::move(parameters),
                   {{"lr", o.lr}, {"rho", o.rho}, {"eps", o.eps}, {"weight_decay", o.weight_decay}}, loc);
}

Adamax::Adamax(std::vector<Tensor> parameters, AdamaxOptions options, Loc loc)
    : Optimizer(OptimizerState::make("adamax")) {
  add_param_group(std::move(parameters), options, loc);
}
void Adamax::add_param_group(std::vector<Tensor> parameters, AdamaxOptions o, Loc loc) {
  state_->addGroup(ruleFor<AdamaxRule>(o), std::move(parameters),
                   {{"lr", o.lr},
                    {"beta1", o.betas[0]},
                    {"beta2", o.betas[1]},
                    {"eps", o.eps},
                    {"weight_decay", o.weight_decay}},
                   loc);
}

NAdam::NAdam(std::vector<Tensor> parameters, NAdamOptions options, Loc loc)
    : Optimizer(OptimizerState::make("nadam")) {
  add_param_group(std::move(parameters), options, loc);
}
void NAdam::add_param_group(std::vector<Tensor> parameters, NAdamOptions o, Loc loc) {
  auto rule = ruleFor<NAdamRule>(o);
  rule->decoupled = o.decoupled_weight_decay;
  state_->addGroup(std::move(rule), std::move(parameters),
                   {{"lr", o.lr},
                    {"beta1", o.betas[0]},
                    {"beta2", o.betas[1]},
                    {"eps", o.eps},
                    {"weight_decay", o.weight_decay},
                    {"momentum_decay", o.momentum_decay}},
                   loc);
}

RAdam::RAdam(std::vector<Tensor> parameters, RAdamOptions options, Loc loc)
    : Optimizer(OptimizerState::make("radam")) {
  add_param_group(std::move(parameters), options, loc);
}
void RAdam::add_param_group(std::vector<Tensor> parameters, RAdamOptions o, Loc loc) {
  auto rule = ruleFor<RAdamRule>(o);
  rule->decoupled = o.decoupled_weight_decay;
  state_->addGroup(std::move(rule), std::move(parameters),
                   {{"lr", o.lr},
                    {"beta1", o.betas[0]},
                    {"beta2", o.betas[1]},
                    {"eps", o.eps},
                    {"weight_decay", o.weight_decay}},
                   loc);
}

ASGD::ASGD(std::vector<Tensor> parameters, ASGDOptions options, Loc loc)
    : Optimizer(OptimizerState::make("asgd")) {
  add_param_group(std::move(parameters), options, loc);
}
void ASGD::add_param_group(std::vector<Tensor> parameters, ASGDOptions o, Loc loc) {
  auto rule = ruleFor<AsgdRule>(o);
  state_->addGroup(
      std::move(rule), std::move(parameters),
      {{"lr", o.lr}, {"lambd", o.lambd}, {"alpha", o.alpha}, {"t0", o.t0}, {"weight_decay", o.weight_decay}},
      loc);
}

Rprop::Rprop(std::vector<Tensor> parameters, RpropOptions options, Loc loc)
    : Optimizer(OptimizerState::make("rprop")) {
  add_param_group(std::move(parameters), options, loc);
}
void Rprop::add_param_group(std::vector<Tensor> parameters, RpropOptions o, Loc loc) {
  state_->addGroup(ruleFor<RpropRule>(o), std::move(parameters),
                   {{"lr", o.lr},
                    {"eta_minus", o.eta_minus},
                    {"eta_plus", o.eta_plus},
                    {"step_size_min", o.step_size_min},
                    {"step_size_max", o.step_size_max}},
                   loc);
}

Adafactor::Adafactor(std::vector<Tensor> parameters, AdafactorOptions options, Loc loc)
    : Optimizer(OptimizerState::make("adafactor")) {
  add_param_group(std::move(parameters), options, loc);
}
void Adafactor::add_param_group(std::vector<Tensor> parameters, AdafactorOptions o, Loc loc) {
  if (o.eps1 && !(*o.eps1 >= 0 && std::isfinite(*o.eps1)))
    fail("Invalid epsilon1 value: " + std::to_string(*o.eps1) + "; it must be finite and not negative", loc);
  auto rule = ruleFor<AdafactorRule>(o);
  rule->eps1 = o.eps1;
  state_->addGroup(std::move(rule), std::move(parameters),
                   {{"lr", o.lr},
                    {"beta2_decay", o.beta2_decay},
                    {"eps2", o.eps2},
                    {"d", o.d},
                    {"weight_decay", o.weight_decay}},
                   loc);
}

Muon::Muon(std::vector<Tensor> parameters, MuonOptions options, Loc loc)
    : Optimizer(OptimizerState::make("muon")) {
  add_param_group(std::move(parameters), options, loc);
}
void Muon::add_param_group(std::vector<Tensor> parameters, MuonOptions o, Loc loc) {
  for (const Tensor &parameter : parameters)
    if (parameter.dim(loc) != 2)
      fail("Muon only supports 2D parameters whereas we found a parameter with size: " +
               shapeText(parameter.sizes(loc)) + "; give the others to another optimiser",
           loc);
  if (o.adjust_lr_fn != "original" && o.adjust_lr_fn != "match_rms_adamw")
    fail("Adjust learning rate function " + o.adjust_lr_fn +
             " is not supported: it is \"original\" or \"match_rms_adamw\"",
         loc);
  if (o.ns_steps < 0 || o.ns_steps >= 100)
    fail("Number of steps must be less than 100 for computational efficiency, and not negative, found " +
             std::to_string(o.ns_steps),
         loc);
  detail::checkNumber("eps", o.eps, loc);
  auto rule = std::make_shared<MuonRule>();
  rule->options = o;
  state_->addGroup(std::move(rule), std::move(parameters),
                   {{"lr", o.lr}, {"weight_decay", o.weight_decay}, {"momentum", o.momentum}}, loc);
}

} // namespace weft::optim
