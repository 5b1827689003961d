//===- Lbfgs.cpp - An optimiser that evaluates its function itself ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors are tensors, and the numbers that decide are read on the host. Each product of two vectors is a
// program of its own, the same in every iteration, so that a history that grows compiles nothing.
//
//===----------------------------------------------------------------------===//
#include "weft/lbfgs.hpp"

#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace weft::optim {

using namespace frontend;

namespace {

/// A change of the parameters and of the gradient, and 1 / their product.
struct Pair {
  Tensor gradient, parameters;
  double ro;
};

/// A point on the line of a search: its place, loss, gradient, and slope along the line.
struct Point {
  double t = 0, loss = 0;
  Tensor gradient;
  double slope = 0;
};

double product(const Tensor &a, const Tensor &b, Loc loc) { return dot(a, b, loc).item<double>(loc); }
double largest(const Tensor &a, Loc loc) { return a.abs(loc).max(loc).item<double>(loc); }
Tensor scaled(const Tensor &a, double factor, Loc loc) { return mul({a, loc}, {factor, loc}); }
Tensor moved(const Tensor &a, const Tensor &direction, double factor, Loc loc) {
  return add({a, loc}, {scaled(direction, factor, loc), loc});
}

/// The least point between bounds of the cubic through two points.
double cubicMinimum(const Point &a, const Point &b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t),
               square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0))
    return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double least = a.t <= b.t ? b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                                  : a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::min(std::max(least, low), high);
}

/// A search for a point with the strong conditions of Wolfe (Nocedal and Wright, 2006, 3.5).
class WolfeSearch {
public:
  using Evaluate = std::function<Point(double t)>;
  WolfeSearch(const Evaluate &evaluate, const Point &start, double directionSize, double tolerance,
              int64_t budget)
      : evaluate_(evaluate), start_(start), size_(directionSize), tolerance_(tolerance), budget_(budget) {}

  Point run(double t) {
    bracket(t);
    if (!done_)
      zoom();
    return ends_[low_];
  }
  int64_t evaluations() const { return evaluations_; }

private:
  static constexpr double decrease = 1e-4, curvature = 0.9;
  Point at(double t) {
    ++evaluations_;
    return evaluate_(t);
  }
  bool isTooHigh(const Point &p) const { return p.loss > start_.loss + decrease * p.t * start_.slope; }
  bool isFlat(const Point &p) const { return std::abs(p.slope) <= -curvature * start_.slope; }
  void order() { low_ = ends_.front().loss <= ends_.back().loss ? 0 : ends_.size() - 1; }

  /// Finds the point, or an interval that has it.
  void bracket(double t) {
    Point previous = start_, next = at(t);
    previous.t = 0;
    while (iterations_ < budget_) {
      if (isTooHigh(next) || (iterations_ > 1 && next.loss >= previous.loss) || isFlat(next) ||
          next.slope >= 0)
        break;
      const double step = next.t - previous.t;
      const double further = cubicMinimum(previous, next, next.t + 0.01 * step, next.t * 10);
      previous = next;
      next = at(further);
      ++iterations_;
    }
    if (iterations_ == budget_) {
      Point start = start_;
      start.t = 0;
      ends_ = {start, next};
    } else if (!isTooHigh(next) && !(iterations_ > 1 && next.loss >= previous.loss) && isFlat(next)) {
      ends_ = {next};
      done_ = true;
    } else {
      ends_ = {previous, next};
    }
    order();
  }

  /// Narrows the interval.
  void zoom() {
    bool isSlow = false;
    while (iterations_ < budget_) {
      if (std::abs(ends_[1].t - ends_[0].t) * size_ < tolerance_)
        return;
      const double near = std::min(ends_[0].t, ends_[1].t), far = std::max(ends_[0].t, ends_[1].t);
      double t = cubicMinimum(ends_[0], ends_[1], near, far);
      const double margin = 0.1 * (far - near);
      if (std::min(far - t, t - near) < margin) {
        if (isSlow || t >= far || t <= near) {
          t = std::abs(t - far) < std::abs(t - near) ? far - margin : near + margin;
          isSlow = false;
        } else {
          isSlow = true;
        }
      } else {
        isSlow = false;
      }
      const Point next = at(t);
      ++iterations_;
      const size_t high = 1 - low_;
      if (isTooHigh(next) || next.loss >= ends_[low_].loss) {
        ends_[high] = next;
        order();
        continue;
      }
      const bool found = isFlat(next);
      if (!found && next.slope * (ends_[high].t - ends_[low_].t) >= 0)
        ends_[high] = ends_[low_];
      ends_[low_] = next;
      if (found)
        return;
    }
  }

  const Evaluate &evaluate_;
  const Point start_;
  const double size_, tolerance_;
  const int64_t budget_;
  int64_t iterations_ = 0, evaluations_ = 0;
  std::vector<Point> ends_;
  size_t low_ = 0;
  bool done_ = false;
};

bool isRate(double lr) { return lr >= 0 && std::isfinite(lr); }

void checkOption(bool good, const std::string &text, Loc loc) {
  if (!good)
    fail(text, loc);
}

} // namespace

struct LBFGS::State {
  std::vector<Tensor> parameters;
  LBFGSOptions options;
  int64_t iterations = 0, evaluations = 0;
  double t = 0, previousLoss = 0, scale = 1;
  Tensor direction, previousGradient; ///< undefined before the first iteration
  std::deque<Pair> pairs;

  int64_t size(Loc loc) const {
    int64_t count = 0;
    for (const Tensor &parameter : parameters)
      count += parameter.numel(loc);
    return count;
  }
  int64_t budget() const { return options.max_eval.value_or(options.max_iter * 5 / 4); }

  Tensor gradient(Loc loc) const {
    std::vector<Tensor> parts;
    for (const Tensor &parameter : parameters) {
      const Tensor own = parameter.grad(loc);
      parts.push_back((own.defined() ? own : zeros_like(parameter, loc)).detach(loc).reshape({-1}, loc));
    }
    return cat(parts, 0, loc);
  }
  void move(const Tensor &along, double factor, Loc loc) {
    const NoGradGuard guard;
    int64_t at = 0;
    for (Tensor &parameter : parameters) {
      const int64_t count = parameter.numel(loc);
      const Tensor part = along.narrow(0, at, count, loc).reshape(parameter.sizes(loc), loc);
      parameter.copy_(moved(parameter.detach(loc), part, factor, loc), loc);
      at += count;
    }
  }
  void remember(const Tensor &now, Loc loc);
  void forgetOldest() {
    while (static_cast<int64_t>(pairs.size()) > options.history_size)
      pairs.pop_front();
  }
  /// Minus the gradient times the estimate of the inverse Hessian.
  Tensor descent(const Tensor &gradient, Loc loc) const;
};

void LBFGS::State::remember(const Tensor &now, Loc loc) {
  const Tensor y = sub({now, loc}, {previousGradient, loc}), s = scaled(direction, t, loc);
  const double ys = product(y, s, loc);
  if (!(ys > 1e-10))
    return;
  pairs.push_back({y, s, 1 / ys});
  forgetOldest();
  scale = ys / product(y, y, loc);
}

Tensor LBFGS::State::descent(const Tensor &gradient, Loc loc) const {
  std::vector<double> factors(pairs.size());
  Tensor q = neg({gradient, loc});
  for (size_t i = pairs.size(); i-- > 0;) {
    factors[i] = product(pairs[i].parameters, q, loc) * pairs[i].ro;
    q = moved(q, pairs[i].gradient, -factors[i], loc);
  }
  Tensor r = scaled(q, scale, loc);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double other = product(pairs[i].gradient, r, loc) * pairs[i].ro;
    r = moved(r, pairs[i].parameters, factors[i] - other, loc);
  }
  return r;
}

//===----------------------------------------------------------------------===//
// The optimiser
//===----------------------------------------------------------------------===//

LBFGS::LBFGS(std::vector<Tensor> parameters, LBFGSOptions options, Loc loc)
    : state_(std::make_shared<State>()) {
  checkOption(isRate(options.lr),
              "Invalid learning rate: " + std::to_string(options.lr) + "; it must be finite and not negative",
              loc);
  checkOption(options.max_iter > 0,
              "LBFGS: max_iter must be above 0, found " + std::to_string(options.max_iter), loc);
  checkOption(options.history_size > 0,
              "LBFGS: history_size must be above 0, found " + std::to_string(options.history_size), loc);
  checkOption(options.line_search_fn.empty() || options.line_search_fn == "strong_wolfe",
              "LBFGS: only 'strong_wolfe' is supported as line_search_fn, found '" + options.line_search_fn +
                  "'",
              loc);
  checkOption(!parameters.empty(), "optimizer got an empty parameter list", loc);
  for (const Tensor &parameter : parameters)
    checkOption(parameter.dtype(loc) == parameters[0].dtype(loc) &&
                    parameter.device(loc) == parameters[0].device(loc),
                "LBFGS: all parameters must be of one dtype and on one device", loc);
  state_->parameters = std::move(parameters);
  state_->options = std::move(options);
}

Tensor LBFGS::step(const std::function<Tensor()> &closure, Loc loc) {
  refuseInTrace("LBFGS::step", loc);
  State &s = *state_;
  const auto evaluate = [&] {
    const GradMode recording(true);
    return closure();
  };
  const Tensor first = evaluate().detach(loc);
  Point now{0, first.item<double>(loc), s.gradient(loc)};
  int64_t evaluations = 1;
  ++s.evaluations;
  if (largest(now.gradient, loc) <= s.options.tolerance_grad)
    return first;
  for (int64_t iteration = 1; iteration <= s.options.max_iter; ++iteration) {
    const bool isFirst = ++s.iterations == 1;
    if (isFirst) {
      s.direction = neg({now.gradient, loc});
    } else {
      s.remember(now.gradient, loc);
      s.direction = s.descent(now.gradient, loc);
    }
    s.previousGradient = now.gradient;
    s.previousLoss = now.loss;
    s.t = isFirst
              ? std::min(1.0, 1 / now.gradient.abs(loc).sum({}, false, loc).item<double>(loc)) * s.options.lr
              : s.options.lr;
    now.slope = product(now.gradient, s.direction, loc);
    if (now.slope > -s.options.tolerance_change)
      break;
    int64_t used = 0;
    if (!s.options.line_search_fn.empty()) {
      std::vector<Tensor> before;
      for (const Tensor &parameter : s.parameters)
        before.push_back(parameter.detach(loc).clone(loc));
      const WolfeSearch::Evaluate along = [&](double t) {
        s.move(s.direction, t, loc);
        Point point{t, evaluate().item<double>(loc), s.gradient(loc)};
        point.slope = product(point.gradient, s.direction, loc);
        const NoGradGuard guard;
        for (size_t i = 0; i < before.size(); ++i)
          s.parameters[i].copy_(before[i], loc);
        return point;
      };
      WolfeSearch search(along, now, largest(s.direction, loc), 1e-9, s.budget() - evaluations);
      now = search.run(s.t);
      s.t = now.t;
      used = search.evaluations();
      s.move(s.direction, s.t, loc);
    } else {
      s.move(s.direction, s.t, loc);
      if (iteration != s.options.max_iter) { // nobody would read that of the last one
        now.loss = evaluate().item<double>(loc);
        now.gradient = s.gradient(loc);
        used = 1;
      }
    }
    evaluations += used;
    s.evaluations += used;
    if (evaluations >= s.budget() || largest(now.gradient, loc) <= s.options.tolerance_grad ||
        largest(s.direction, loc) * s.t <= s.options.tolerance_change ||
        std::abs(now.loss - s.previousLoss) < s.options.tolerance_change)
      break;
  }
  return first;
}

void LBFGS::zero_grad(bool set_to_none) { clearGradients(state_->parameters, set_to_none); }
double LBFGS::lr() const { return state_->options.lr; }
void LBFGS::set_lr(double lr, Loc loc) {
  checkOption(isRate(lr),
              "Invalid learning rate: " + std::to_string(lr) + "; it must be finite and not negative", loc);
  state_->options.lr = lr;
}
std::vector<Tensor> LBFGS::parameters() const { return state_->parameters; }

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

StateDict LBFGS::state_dict() const {
  const State &s = *state_;
  const auto whole = [](int64_t value) { return Tensor::from(&value, Shape{}, onHost()); };
  const auto real = [](double value) { return Tensor::from(&value, Shape{}, onHost()); };
  StateDict dict{
      {"n_iter", whole(s.iterations)}, {"func_evals", whole(s.evaluations)}, {"lr", real(s.options.lr)}};
  if (!s.direction.defined())
    return dict;
  dict.emplace_back("t", real(s.t));
  dict.emplace_back("prev_loss", real(s.previousLoss));
  dict.emplace_back("H_diag", real(s.scale));
  dict.emplace_back("d", s.direction);
  dict.emplace_back("prev_flat_grad", s.previousGradient);
  std::vector<double> ro;
  std::vector<Tensor> gradients, changes;
  for (const Pair &pair : s.pairs) {
    ro.push_back(pair.ro);
    gradients.push_back(pair.gradient);
    changes.push_back(pair.parameters);
  }
  const auto rows = [&](const std::vector<Tensor> &list) {
    return list.empty() ? zeros({0, s.direction.size(0)},
                                {.dtype = s.direction.dtype(), .device = s.direction.device()})
                        : stack(list, 0);
  };
  const auto count = static_cast<int64_t>(ro.size());
  dict.emplace_back("ro", Tensor::from(ro, {count}, onHost()));
  dict.emplace_back("old_dirs", rows(gradients));
  dict.emplace_back("old_stps", rows(changes));
  return dict;
}

std::vector<std::string> LBFGS::check_state_dict(const StateDict &state) const {
  std::vector<std::string> complaints;
  const StateIndex index(state);
  const Tensor *history = index.find("ro");
  const int64_t size = state_->size(Loc::current());
  const int64_t count = history && history->dim() == 1 ? history->size(0) : 0;
  std::vector<std::pair<std::string, Shape>> expected{{"n_iter", {}}, {"func_evals", {}}, {"lr", {}}};
  if (index.find("d"))
    expected.insert(expected.end(), {{"t", {}},
                                     {"prev_loss", {}},
                                     {"H_diag", {}},
                                     {"d", {size}},
                                     {"prev_flat_grad", {size}},
                                     {"ro", {count}},
                                     {"old_dirs", {count, size}},
                                     {"old_stps", {count, size}}});
  for (const auto &[name, shape] : expected)
    if (const Tensor *found = index.find(name); !found)
      complaints.push_back("missing: " + name);
    else if (std::string text = shapeComplaint(name, shape, found->sizes()); !text.empty())
      complaints.push_back(text);
  if (const Tensor *lr = index.find("lr"); lr && lr->dim() == 0)
    if (const double value = lr->item<double>(); !isRate(value))
      complaints.push_back("lr is " + std::to_string(value) + "; it must be finite and not negative");
  for (const auto &[name, tensor] : state)
    if (std::ranges::none_of(expected, [&](const auto &each) { return each.first == name; }))
      complaints.push_back("unexpected: " + name);
  return complaints;
}

void LBFGS::load_state_dict(const StateDict &state, Loc loc) {
  throwComplaints("the state of LBFGS", check_state_dict(state), loc);
  const StateIndex index(state);
  // Reading a value may throw: then this optimiser keeps its whole state.
  State made;
  made.parameters = state_->parameters;
  made.options = state_->options;
  const auto real = [&](const char *name) { return index.find(name)->item<double>(loc); };
  const auto vector = [&](const Tensor &value) {
    return value.detach(loc)
        .to(made.parameters[0].dtype(loc), loc)
        .to(made.parameters[0].device(loc), loc)
        .clone(loc);
  };
  made.iterations = index.find("n_iter")->item<int64_t>(loc);
  made.evaluations = index.find("func_evals")->item<int64_t>(loc);
  made.options.lr = real("lr");
  if (index.find("d")) {
    made.t = real("t");
    made.previousLoss = real("prev_loss");
    made.scale = real("H_diag");
    made.direction = vector(*index.find("d"));
    made.previousGradient = vector(*index.find("prev_flat_grad"));
    const std::vector<double> ro = index.find("ro")->to(DType::f64, loc).to_vector<double>(loc);
    for (size_t i = 0; i < ro.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      made.pairs.push_back({vector(index.find("old_dirs")->select(0, row, loc)),
                            vector(index.find("old_stps")->select(0, row, loc)), ro[i]});
    }
    made.forgetOldest();
  }
  *state_ = std::move(made);
}

} // namespace weft::optim
