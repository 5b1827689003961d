//===- LrScheduler.cpp - Learning rates that change with steps ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in PyTorch most schedules change the rate that there is, so that several act on one optimiser together.
//
//===----------------------------------------------------------------------===//
#include "weft/lr_scheduler.hpp"

#include "frontend/graph/Graph.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "frontend/optim/OptimState.h"
#include "weft/creation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace weft::optim {

using namespace frontend;

namespace {
/// The learning rate of a group in an epoch, from what it is and from its base.
using Rate = std::function<double(double lr, double base, int64_t epoch)>;

/// The state of an optimiser, which its handle keeps to itself and its kind.
struct OptimizerAccess : Optimizer {
  static const std::shared_ptr<detail::OptimizerState> &of(const Optimizer &optimizer) {
    return optimizer.*&OptimizerAccess::state_;
  }
};

double wave(double share) { return (1 + std::cos(std::numbers::pi * share)) / 2; }
double quotient(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

void requireThat(bool holds, const char *schedule, const std::string &what, Loc loc) {
  if (!holds)
    fail("optim::" + std::string(schedule) + " takes " + what, loc);
}
} // namespace

struct detail::ScheduleState {
  explicit ScheduleState(Optimizer given, Loc loc) : optimizer(std::move(given)) {
    const auto &owner = OptimizerAccess::of(optimizer);
    // The first schedule of an optimiser notes the rates that the others start from, too.
    if (owner->initialLr.empty())
      for (size_t i = 0; i < optimizer.group_count(); ++i)
        owner->initialLr.push_back(optimizer.lr(i, loc));
    base = owner->initialLr;
    for (size_t i = base.size(); i < optimizer.group_count(); ++i)
      base.push_back(optimizer.lr(i, loc));
    last = base;
  }

  /// Sets the rates of all groups by a rule, and what else depends on the epoch.
  void apply(const Rate &rate, Loc loc) {
    for (size_t i = 0; i < base.size(); ++i) {
      last[i] = rate(optimizer.lr(i, loc), base[i], epoch);
      optimizer.set_lr(last[i], i, loc);
    }
    if (also)
      also(epoch, loc);
  }
  void step(Loc loc) {
    if (!parts.empty())
      return stepParts(loc);
    ++epoch;
    apply(next, loc);
  }
  void restart(Loc loc) {
    epoch = 0;
    apply(again, loc);
  }
  void stepParts(Loc loc) {
    ++epoch;
    if (isChained) {
      for (const auto &part : parts)
        part->step(loc);
      last = parts.back()->last;
      return;
    }
    const auto at = static_cast<size_t>(std::upper_bound(milestones.begin(), milestones.end(), epoch) -
                                        milestones.begin());
    ScheduleState &part = *parts[at];
    if (at > 0 && milestones[at - 1] == epoch)
      part.restart(loc);
    else
      part.step(loc);
    last = part.last;
  }

  Optimizer optimizer;
  std::vector<double> base, last;
  int64_t epoch = 0;
  Rate next;                              ///< in every epoch but the first
  Rate again;                             ///< in epoch 0 of a schedule that follows another one
  std::function<void(int64_t, Loc)> also; ///< what else changes
  std::vector<std::shared_ptr<ScheduleState>> parts;
  bool isChained = false;          ///< all parts step together; else one after the other
  std::vector<int64_t> milestones; ///< where the next part begins
};

using detail::ScheduleState;

namespace {
/// The state of a schedule, which its handle keeps to itself and its kind.
struct ScheduleAccess : LRScheduler {
  static const std::shared_ptr<ScheduleState> &of(const LRScheduler &scheduler) {
    return scheduler.*&ScheduleAccess::state_;
  }
};
} // namespace

/// A schedule whose rate in epoch 0 is `first`, both when it is made and when it follows another one.
static std::shared_ptr<ScheduleState> schedule(Optimizer optimizer, const Rate &first, const Rate &again,
                                               Rate next, Loc loc) {
  refuseInTrace("a learning-rate schedule", loc);
  auto state = std::make_shared<ScheduleState>(std::move(optimizer), loc);
  state->next = std::move(next);
  state->again = again;
  state->apply(first, loc);
  return state;
}

static double unchanged(double lr, double, int64_t) { return lr; }
static double theBase(double, double base, int64_t) { return base; }

//===----------------------------------------------------------------------===//
// What schedules share
//===----------------------------------------------------------------------===//

void LRScheduler::step(Loc loc) {
  refuseInTrace("LRScheduler::step", loc);
  state_->step(loc);
}
int64_t LRScheduler::last_epoch() const { return state_->epoch; }
double LRScheduler::get_last_lr(size_t group, Loc loc) const {
  if (group >= state_->last.size())
    fail("get_last_lr: there are " + std::to_string(state_->last.size()) + " groups, and group " +
             std::to_string(group) + " was asked for",
         loc);
  return state_->last[group];
}

/// The names of a schedule's numbers, those of its parts with their number before.
template <typename Visit>
static void forEachNumber(ScheduleState &state, const std::string &prefix, Visit visit) {
  visit(prefix + "last_epoch", nullptr, &state.epoch);
  for (size_t i = 0; i < state.base.size(); ++i) {
    visit(prefix + "base_lr." + std::to_string(i), &state.base[i], nullptr);
    visit(prefix + "lr." + std::to_string(i), &state.last[i], nullptr);
  }
  for (size_t i = 0; i < state.parts.size(); ++i)
    forEachNumber(*state.parts[i], prefix + "part" + std::to_string(i) + ".", visit);
}

StateDict LRScheduler::state_dict() const {
  StateDict result;
  forEachNumber(*state_, "", [&](const std::string &name, const double *real, const int64_t *whole) {
    result.emplace_back(name, real ? Tensor::from(real, Shape{}, onHost(DType::f64))
                                   : Tensor::from(whole, Shape{}, onHost(DType::i64)));
  });
  return result;
}

std::vector<std::string> LRScheduler::check_state_dict(const StateDict &state) const {
  std::map<std::string, Tensor> given(state.begin(), state.end());
  std::vector<std::string> wrong;
  forEachNumber(*state_, "", [&](const std::string &name, const double *, const int64_t *) {
    auto found = given.find(name);
    if (found == given.end()) {
      wrong.push_back("missing entry " + name);
    } else {
      if (found->second.numel() != 1)
        wrong.push_back("entry " + name + " has shape " + shapeText(found->second.sizes()) + " and not []");
      given.erase(found);
    }
  });
  for (const auto &[name, tensor] : given)
    wrong.push_back("unexpected entry " + name);
  return wrong;
}

void LRScheduler::load_state_dict(const StateDict &state, Loc loc) {
  std::string text;
  for (const std::string &complaint : check_state_dict(state))
    text += "\n  " + complaint;
  if (!text.empty())
    fail("LRScheduler::load_state_dict:" + text, loc);
  std::map<std::string, Tensor> given(state.begin(), state.end());
  forEachNumber(*state_, "", [&](const std::string &name, double *real, int64_t *whole) {
    if (real)
      *real = given.at(name).item<double>(loc);
    else
      *whole = given.at(name).item<int64_t>(loc);
  });
}

//===----------------------------------------------------------------------===//
// The schedules
//===----------------------------------------------------------------------===//

using Factor = std::function<double(int64_t)>;

LambdaLR::LambdaLR(Optimizer optimizer, Factor factor, Loc loc) : LRScheduler(nullptr) {
  Rate rate = [factor = std::move(factor)](double, double base, int64_t epoch) {
    return base * factor(epoch);
  };
  state_ = schedule(std::move(optimizer), rate, rate, rate, loc);
}
MultiplicativeLR::MultiplicativeLR(Optimizer optimizer, Factor factor, Loc loc) : LRScheduler(nullptr) {
  Rate rate = [factor = std::move(factor)](double lr, double, int64_t epoch) { return lr * factor(epoch); };
  state_ = schedule(std::move(optimizer), unchanged, rate, rate, loc);
}
StepLR::StepLR(Optimizer optimizer, int64_t step_size, double gamma, Loc loc) : LRScheduler(nullptr) {
  requireThat(step_size >= 1, "StepLR", "a step_size of at least 1, found " + std::to_string(step_size), loc);
  state_ = schedule(
      std::move(optimizer), unchanged, theBase,
      [=](double lr, double, int64_t epoch) { return epoch % step_size == 0 ? lr * gamma : lr; }, loc);
}
MultiStepLR::MultiStepLR(Optimizer optimizer, std::vector<int64_t> milestones, double gamma, Loc loc)
    : LRScheduler(nullptr) {
  state_ = schedule(
      std::move(optimizer), unchanged, theBase,
      [=](double lr, double, int64_t epoch) {
        return lr * std::pow(gamma, std::count(milestones.begin(), milestones.end(), epoch));
      },
      loc);
}
ConstantLR::ConstantLR(Optimizer optimizer, double factor, int64_t total_iters, Loc loc)
    : LRScheduler(nullptr) {
  requireThat(factor >= 0 && factor <= 1, "ConstantLR", "a factor in [0, 1], found " + std::to_string(factor),
              loc);
  state_ = schedule(
      std::move(optimizer), [=](double lr, double, int64_t) { return lr * factor; },
      [=](double, double base, int64_t) { return total_iters > 0 ? base * factor : base; },
      [=](double lr, double, int64_t epoch) { return epoch == total_iters ? lr / factor : lr; }, loc);
}
LinearLR::LinearLR(Optimizer optimizer, double start_factor, double end_factor, int64_t total_iters, Loc loc)
    : LRScheduler(nullptr) {
  requireThat(start_factor > 0 && start_factor <= 1 && end_factor >= 0 && end_factor <= 1, "LinearLR",
              "a start_factor in (0, 1] and an end_factor in [0, 1], found " + std::to_string(start_factor) +
                  " and " + std::to_string(end_factor),
              loc);
  auto at = [=](int64_t epoch) { // times total_iters
    return start_factor * static_cast<double>(total_iters) +
           (end_factor - start_factor) * static_cast<double>(epoch);
  };
  state_ = schedule(
      std::move(optimizer), [=](double lr, double, int64_t) { return lr * start_factor; },
      [=](double, double base, int64_t) { return base * start_factor; },
      [=](double lr, double, int64_t epoch) {
        return epoch > total_iters ? lr : lr * at(epoch) / at(epoch - 1);
      },
      loc);
}
ExponentialLR::ExponentialLR(Optimizer optimizer, double gamma, Loc loc) : LRScheduler(nullptr) {
  state_ = schedule(
      std::move(optimizer), unchanged, theBase, [=](double lr, double, int64_t) { return lr * gamma; }, loc);
}
PolynomialLR::PolynomialLR(Optimizer optimizer, int64_t total_iters, double power, Loc loc)
    : LRScheduler(nullptr) {
  requireThat(total_iters >= 1, "PolynomialLR",
              "total_iters of at least 1, found " + std::to_string(total_iters), loc);
  state_ = schedule(
      std::move(optimizer), unchanged, theBase,
      [=](double lr, double, int64_t epoch) {
        return epoch > total_iters
                   ? lr
                   : lr * std::pow(quotient(total_iters - epoch, total_iters - epoch + 1), power);
      },
      loc);
}
CosineAnnealingLR::CosineAnnealingLR(Optimizer optimizer, int64_t T_max, double eta_min, Loc loc)
    : LRScheduler(nullptr) {
  requireThat(T_max >= 1, "CosineAnnealingLR", "T_max of at least 1, found " + std::to_string(T_max), loc);
  state_ = schedule(
      std::move(optimizer), unchanged, theBase,
      [=](double lr, double base, int64_t epoch) {
        // After the lowest point the quotient would be 0 / 0.
        if ((epoch - 1 - T_max) % (2 * T_max) == 0)
          return lr + (base - eta_min) * (1 - wave(quotient(1, T_max)));
        return wave(quotient(epoch, T_max)) / wave(quotient(epoch - 1, T_max)) * (lr - eta_min) + eta_min;
      },
      loc);
}
CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min, Loc loc)
    : LRScheduler(nullptr) {
  requireThat(T_0 >= 1 && T_mult >= 1, "CosineAnnealingWarmRestarts",
              "T_0 and T_mult of at least 1, found " + std::to_string(T_0) + " and " + std::to_string(T_mult),
              loc);
  Rate rate = [=](double, double base, int64_t epoch) {
    int64_t length = T_0;
    while (epoch >= length) {
      epoch -= length;
      length *= T_mult;
    }
    return eta_min + (base - eta_min) * wave(quotient(epoch, length));
  };
  state_ = schedule(std::move(optimizer), rate, rate, rate, loc);
}

//===----------------------------------------------------------------------===//
// One cycle
//===----------------------------------------------------------------------===//

namespace {
/// A stretch of a cycle: where it ends, and the first and last numbers in it, of the rate and of the
/// momentum.
struct Phase {
  double end, lrFrom, lrTo, momentumFrom, momentumTo;
};
struct Cycle {
  std::vector<Phase> phases;
  bool isLinear;

  /// `number` of a phase: from and to.
  double at(int64_t step, double Phase::*from, double Phase::*to) const {
    double begin = 0;
    for (const Phase &phase : phases) {
      if (static_cast<double>(step) <= phase.end || &phase == &phases.back()) {
        // The rate that is set after the last step stays the last one.
        const double share = std::min(1.0, (static_cast<double>(step) - begin) / (phase.end - begin));
        const double low = phase.*to, high = phase.*from;
        return isLinear ? (low - high) * share + high : low + (high - low) * wave(share);
      }
      begin = phase.end;
    }
    return 0;
  }
};
} // namespace

/// The number that is an optimiser's momentum.
static std::string momentumOf(const Optimizer &optimizer, const char *schedule, Loc loc) {
  for (const char *name : {"momentum", "beta1"})
    for (const detail::Hyperparameter &number : OptimizerAccess::of(optimizer)->groups[0].numbers)
      if (std::string_view(number.name) == name)
        return name;
  fail("optim::" + std::string(schedule) +
           ": optimizer must support momentum or beta1 with `cycle_momentum` option enabled, and '" +
           OptimizerAccess::of(optimizer)->kind + "' has neither: set cycle_momentum to false",
       loc);
}

/// What changes the momentum beside a rate, from now on.
static std::function<void(int64_t, Loc)> cycledMomentum(Optimizer optimizer, const char *schedule,
                                                        std::function<double(int64_t)> at, Loc loc) {
  const std::string number = momentumOf(optimizer, schedule, loc);
  optimizer.set_option(number, at(0), loc);
  return [=](int64_t epoch, Loc here) mutable { optimizer.set_option(number, at(epoch), here); };
}

OneCycleLR::OneCycleLR(Optimizer optimizer, double max_lr, int64_t total_steps, OneCycleOptions options,
                       Loc loc)
    : LRScheduler(nullptr) {
  requireThat(total_steps >= 1, "OneCycleLR",
              "total_steps of at least 1, found " + std::to_string(total_steps), loc);
  requireThat(options.pct_start >= 0 && options.pct_start <= 1, "OneCycleLR",
              "pct_start in [0, 1], found " + std::to_string(options.pct_start), loc);
  const double first = max_lr / options.div_factor, last = first / options.final_div_factor;
  const double high = options.max_momentum, low = options.base_momentum;
  const double rise = options.pct_start * static_cast<double>(total_steps),
               end = static_cast<double>(total_steps - 1);
  Cycle cycle{{{rise - 1, first, max_lr, high, low}}, options.is_linear};
  if (options.three_phase) {
    cycle.phases.push_back({2 * rise - 2, max_lr, first, low, high});
    cycle.phases.push_back({end, first, last, high, high});
  } else {
    cycle.phases.push_back({end, max_lr, last, low, high});
  }
  Rate rate = [=](double, double, int64_t epoch) {
    if (epoch > total_steps)
      fail("OneCycleLR: step " + std::to_string(epoch) + " is beyond the total_steps of " +
               std::to_string(total_steps),
           loc);
    return cycle.at(epoch, &Phase::lrFrom, &Phase::lrTo);
  };
  std::function<void(int64_t, Loc)> also;
  if (options.cycle_momentum)
    also = cycledMomentum(
        optimizer, "OneCycleLR",
        [=](int64_t epoch) { return cycle.at(epoch, &Phase::momentumFrom, &Phase::momentumTo); }, loc);
  state_ = schedule(optimizer, rate, rate, rate, loc);
  state_->also = std::move(also);
}

//===----------------------------------------------------------------------===//
// Many cycles
//===----------------------------------------------------------------------===//

CyclicLR::CyclicLR(Optimizer optimizer, double base_lr, double max_lr, CyclicOptions options, Loc loc)
    : LRScheduler(nullptr) {
  const int64_t up = options.step_size_up, down = options.step_size_down.value_or(up);
  requireThat(up >= 1 && down >= 1, "CyclicLR",
              "step_size_up and step_size_down of at least 1, found " + std::to_string(up) + " and " +
                  std::to_string(down),
              loc);
  const std::string &mode = options.mode;
  requireThat(options.scale_fn || mode == "triangular" || mode == "triangular2" || mode == "exp_range",
              "CyclicLR",
              "a mode of triangular, triangular2 or exp_range, or a scale_fn, found '" + mode + "'", loc);
  // Between 0 and 1, or what the scale makes of that.
  auto height = [=](int64_t epoch) {
    const double total = static_cast<double>(up + down), turns = static_cast<double>(epoch) / total;
    const double cycle = std::floor(1 + turns), at = 1 + turns - cycle, top = static_cast<double>(up) / total;
    const double share = at <= top ? at / top : (at - 1) / (top - 1);
    const double scale = options.scale_fn        ? options.scale_fn(cycle)
                         : mode == "triangular2" ? std::exp2(1 - cycle)
                         : mode == "exp_range"   ? std::pow(options.gamma, static_cast<double>(epoch))
                                                 : 1;
    return share * scale;
  };
  Rate rate = [=](double, double, int64_t epoch) { return base_lr + (max_lr - base_lr) * height(epoch); };
  std::function<void(int64_t, Loc)> also;
  if (options.cycle_momentum) {
    const double high = options.max_momentum, span = high - options.base_momentum;
    also = cycledMomentum(
        optimizer, "CyclicLR", [=](int64_t epoch) { return high - span * height(epoch); }, loc);
  }
  state_ = schedule(optimizer, rate, rate, rate, loc);
  state_->also = std::move(also);
}

//===----------------------------------------------------------------------===//
// Several schedules, and one that looks at results
//===----------------------------------------------------------------------===//

/// A schedule of schedules, which are all of one optimiser.
static std::shared_ptr<ScheduleState> stateOfParts(const Optimizer &optimizer,
                                                   const std::vector<LRScheduler> &schedulers,
                                                   const char *name, Loc loc) {
  auto state = std::make_shared<ScheduleState>(optimizer, loc);
  for (const LRScheduler &scheduler : schedulers) {
    const auto &part = ScheduleAccess::of(scheduler);
    requireThat(OptimizerAccess::of(part->optimizer) == OptimizerAccess::of(optimizer), name,
                "schedulers of the optimiser that it is made for", loc);
    state->parts.push_back(part);
  }
  return state;
}

ChainedScheduler::ChainedScheduler(std::vector<LRScheduler> schedulers, Loc loc) : LRScheduler(nullptr) {
  requireThat(!schedulers.empty(), "ChainedScheduler", "at least one scheduler to be chained", loc);
  std::shared_ptr<ScheduleState> state =
      stateOfParts(ScheduleAccess::of(schedulers[0])->optimizer, schedulers, "ChainedScheduler", loc);
  state->isChained = true;
  state->last = state->parts.back()->last;
  state_ = std::move(state);
}

SequentialLR::SequentialLR(Optimizer optimizer, std::vector<LRScheduler> schedulers,
                           std::vector<int64_t> milestones, Loc loc)
    : LRScheduler(nullptr) {
  requireThat(!schedulers.empty() && milestones.size() + 1 == schedulers.size() &&
                  std::is_sorted(milestones.begin(), milestones.end()),
              "SequentialLR",
              "schedulers and one milestone less, in ascending order; found " +
                  std::to_string(schedulers.size()) + " and " + std::to_string(milestones.size()),
              loc);
  std::shared_ptr<ScheduleState> state = stateOfParts(optimizer, schedulers, "SequentialLR", loc);
  state->milestones = std::move(milestones);
  // Those that were made have set the rate; the first one does so alone.
  state->parts[0]->restart(loc);
  state->last = state->parts[0]->last;
  state_ = std::move(state);
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer optimizer, PlateauOptions options, Loc loc)
    : optimizer_(std::move(optimizer)), options_(options), best_(options.is_max ? -INFINITY : INFINITY) {
  requireThat(options.factor > 0 && options.factor < 1, "ReduceLROnPlateau",
              "a factor in (0, 1), found " + std::to_string(options.factor), loc);
}

void ReduceLROnPlateau::step(double metric, Loc loc) {
  refuseInTrace("ReduceLROnPlateau::step", loc);
  const double margin = options_.threshold, sign = options_.is_max ? 1 : -1;
  const double bar = options_.is_relative ? best_ * (1 + sign * margin) : best_ + sign * margin;
  if (options_.is_max ? metric > bar : metric < bar) {
    best_ = metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ <= options_.patience)
    return;
  for (size_t i = 0; i < optimizer_.group_count(); ++i) {
    const double lr = optimizer_.lr(i, loc), lower = std::max(lr * options_.factor, options_.min_lr);
    if (lr - lower > options_.eps)
      optimizer_.set_lr(lower, i, loc);
  }
  cooling_ = options_.cooldown;
  bad_ = 0;
}

} // namespace weft::optim
