//===- lr_scheduler.hpp - Learning rates that change with steps --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules of torch.optim.lr_scheduler: objects that set the learning rates of an optimiser's groups, at
// first where they are made and then in each `step()`, after the optimiser's. Learning rates are run-time
// scalars, so nothing is compiled again. A step in a compiled function is an error (WEFT-C001). lr.hpp has
// schedules as plain functions.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LR_SCHEDULER_HPP
#define WEFT_LR_SCHEDULER_HPP

#include "weft/optim.hpp"

#include <functional>
#include <optional>
#include <string>

namespace weft::optim {

namespace detail {
struct ScheduleState;
}

// Inline, so that a schedule is optim::StepLR and optim::lr_scheduler::StepLR.
inline namespace lr_scheduler {

/// A shared handle on a schedule. The base of each group is the learning rate that it had when its
/// optimiser's first schedule was made.
class WEFT_API LRScheduler {
public:
  /// The learning rates of the next epoch, whatever that is to the program.
  void step(Loc loc = Loc::current());
  /// How many steps there were.
  int64_t last_epoch() const;
  /// The learning rate that the last step gave a group.
  double get_last_lr(size_t group = 0, Loc loc = Loc::current()) const;
  /// \name State, for checkpoints: "last_epoch", and "base_lr" and "lr" of each group
  /// @{
  StateDict state_dict() const;
  void load_state_dict(const StateDict &state, Loc loc = Loc::current());
  std::vector<std::string> check_state_dict(const StateDict &state) const;
  /// @}

protected:
  explicit LRScheduler(std::shared_ptr<detail::ScheduleState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::ScheduleState> state_;
};

/// The base times a function of the epoch.
class WEFT_API LambdaLR : public LRScheduler {
public:
  LambdaLR(Optimizer optimizer, std::function<double(int64_t)> factor, Loc loc = Loc::current());
};
/// Multiplied by a function of the epoch, from epoch 1 on.
class WEFT_API MultiplicativeLR : public LRScheduler {
public:
  MultiplicativeLR(Optimizer optimizer, std::function<double(int64_t)> factor, Loc loc = Loc::current());
};
/// Multiplied by `gamma` every `step_size` epochs, which is at least 1.
class WEFT_API StepLR : public LRScheduler {
public:
  StepLR(Optimizer optimizer, int64_t step_size, double gamma = 0.1, Loc loc = Loc::current());
};
/// Multiplied by `gamma` in each of these epochs.
class WEFT_API MultiStepLR : public LRScheduler {
public:
  MultiStepLR(Optimizer optimizer, std::vector<int64_t> milestones, double gamma = 0.1,
              Loc loc = Loc::current());
};
/// Times `factor`, in [0, 1], before epoch `total_iters`.
class WEFT_API ConstantLR : public LRScheduler {
public:
  explicit ConstantLR(Optimizer optimizer, double factor = 1.0 / 3, int64_t total_iters = 5,
                      Loc loc = Loc::current());
};
/// Times a factor that goes from `start_factor`, in (0, 1], to `end_factor`, in [0, 1], in `total_iters`
/// epochs.
class WEFT_API LinearLR : public LRScheduler {
public:
  explicit LinearLR(Optimizer optimizer, double start_factor = 1.0 / 3, double end_factor = 1,
                    int64_t total_iters = 5, Loc loc = Loc::current());
};
/// Multiplied by `gamma` in every epoch.
class WEFT_API ExponentialLR : public LRScheduler {
public:
  ExponentialLR(Optimizer optimizer, double gamma, Loc loc = Loc::current());
};
/// The base times (1 - epoch / total_iters)^power, and 0 from there on.
class WEFT_API PolynomialLR : public LRScheduler {
public:
  explicit PolynomialLR(Optimizer optimizer, int64_t total_iters = 5, double power = 1,
                        Loc loc = Loc::current());
};
/// Half a cosine from the base to `eta_min` in `T_max` epochs, and back (Loshchilov and Hutter, 2017).
class WEFT_API CosineAnnealingLR : public LRScheduler {
public:
  CosineAnnealingLR(Optimizer optimizer, int64_t T_max, double eta_min = 0, Loc loc = Loc::current());
};
/// The same, which begins anew after T_0 epochs, and then after T_mult times as many as the last time.
class WEFT_API CosineAnnealingWarmRestarts : public LRScheduler {
public:
  CosineAnnealingWarmRestarts(Optimizer optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0,
                              Loc loc = Loc::current());
};

struct OneCycleOptions {
  double pct_start = 0.3;     ///< the share of the steps in which the rate rises
  bool is_linear = false;     ///< lines instead of halves of a cosine
  bool cycle_momentum = true; ///< whether momentum, or beta1, falls where the rate rises
  double base_momentum = 0.85, max_momentum = 0.95;
  double div_factor = 25;        ///< max_lr divided by the first rate
  double final_div_factor = 1e4; ///< the first rate divided by the last
  bool three_phase = false; ///< whether it falls to the first rate as long as it rose, and then to the last
};
/// A rise to `max_lr` and a fall to nearly nothing in `total_steps` steps (Smith and Topin, 2018); a step
/// beyond is an error.
class WEFT_API OneCycleLR : public LRScheduler {
public:
  OneCycleLR(Optimizer optimizer, double max_lr, int64_t total_steps, OneCycleOptions options = {},
             Loc loc = Loc::current());
};

struct CyclicOptions {
  int64_t step_size_up = 2000;                ///< steps of a rise
  std::optional<int64_t> step_size_down = {}; ///< steps of a fall; left out: as many
  /// "triangular": all cycles are alike; "triangular2": each is half as high as the one before; "exp_range":
  /// times gamma^step.
  std::string mode = "triangular";
  double gamma = 1;
  std::function<double(double)> scale_fn = {}; ///< of the number of the cycle, from 1 on; instead of a mode
  bool cycle_momentum = true;                  ///< whether momentum, or beta1, falls where the rate rises
  double base_momentum = 0.8, max_momentum = 0.9;
};
/// Rises from `base_lr` to `max_lr` and falls, over and over (Smith, 2017). Every step is one of training.
class WEFT_API CyclicLR : public LRScheduler {
public:
  CyclicLR(Optimizer optimizer, double base_lr, double max_lr, CyclicOptions options = {},
           Loc loc = Loc::current());
};

/// All of these schedules, which are of one optimiser, step together.
class WEFT_API ChainedScheduler : public LRScheduler {
public:
  explicit ChainedScheduler(std::vector<LRScheduler> schedulers, Loc loc = Loc::current());
};

/// One schedule after the other: each of `milestones` is the epoch in which the next one begins.
class WEFT_API SequentialLR : public LRScheduler {
public:
  SequentialLR(Optimizer optimizer, std::vector<LRScheduler> schedulers, std::vector<int64_t> milestones,
               Loc loc = Loc::current());
};

struct PlateauOptions {
  bool is_max = false; ///< whether larger is better
  double factor = 0.1;
  int64_t patience = 10;   ///< how many epochs without an improvement are forgiven
  double threshold = 1e-4; ///< an improvement is larger than this share of the best, or than this
  bool is_relative = true;
  int64_t cooldown = 0; ///< epochs after a change that do not count
  double min_lr = 0, eps = 1e-8;
};
/// Times `factor` where a measure does not improve any more.
class WEFT_API ReduceLROnPlateau {
public:
  explicit ReduceLROnPlateau(Optimizer optimizer, PlateauOptions options = {}, Loc loc = Loc::current());
  void step(double metric, Loc loc = Loc::current());
  double get_last_lr(size_t group = 0, Loc loc = Loc::current()) const { return optimizer_.lr(group, loc); }

private:
  Optimizer optimizer_;
  PlateauOptions options_;
  double best_;
  int64_t bad_ = 0, cooling_ = 0;
};

} // namespace lr_scheduler

} // namespace weft::optim

#endif // WEFT_LR_SCHEDULER_HPP
