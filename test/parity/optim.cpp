//===- optim.cpp - Weft's side of the comparison of optimisers -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-parity-optim FOLDER: reads the start values of three parameters and 100 gradients for each, which
// test_optim.py drew, and takes 100 steps with every optimiser and option, compiled. Parameter c has no
// gradient in every third step. Writes what is left of the parameters, gradients that were clipped, and large
// samples of initial values.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cmath>
#include <cstdio>
#include <map>

using namespace weft;

namespace {
using Named = std::map<std::string, Tensor>;

/// 100 steps from the start values; the results get names that begin with `name`.
template <typename Make> void train(const Named &in, const std::string &name, Make make, StateDict &out) {
  for (DType dtype : {f32, f64}) {
    std::vector<Tensor> parameters;
    for (const char *part : {"a", "b", "c"})
      parameters.push_back(to_host(in.at(std::string("start.") + part).to(dtype)).requires_grad_());
    auto optimizer = make(parameters);
    // The gradient of the sum of p times g is g.
    auto step = compile([&](Tensor a, Tensor b) {
      ((parameters[0] * a).sum() + (parameters[1] * b).sum()).backward();
      optimizer.step();
      optimizer.zero_grad();
    });
    auto whole = compile([&](Tensor a, Tensor b, Tensor c) {
      ((parameters[0] * a).sum() + (parameters[1] * b).sum() + (parameters[2] * c).sum()).backward();
      optimizer.step();
      optimizer.zero_grad();
    });
    auto gradient = [&](const char *part, int64_t i) {
      return in.at(std::string("gradients.") + part).select(0, i).to(dtype);
    };
    for (int64_t i = 0; i < 100; ++i) {
      if (i == 50)
        optimizer.set_lr(optimizer.lr() / 2);
      if (i % 3 == 2)
        step(gradient("a", i), gradient("b", i));
      else
        whole(gradient("a", i), gradient("b", i), gradient("c", i));
    }
    for (int k = 0; k < 3; ++k)
      out.emplace_back(name + (dtype == f32 ? ".f32." : ".f64.") + "abc"[k],
                       parameters[static_cast<size_t>(k)].detach());
  }
}

void optimisers(const Named &in, StateDict &out) {
  std::map<std::string, optim::SGDOptions> sgd{
      {"sgd", {.lr = 0.1}},
      {"sgd_momentum", {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01}},
      {"sgd_dampening", {.lr = 0.1, .momentum = 0.9, .dampening = 0.4}},
      {"sgd_nesterov", {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true}},
      {"sgd_maximize", {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.01, .maximize = true}}};
  for (auto &[name, options] : sgd)
    train(in, name, [&](auto &p) { return optim::SGD(p, options); }, out);
  std::map<std::string, optim::AdamOptions> adam{
      {"", {.lr = 0.1}},
      {"_decay", {.lr = 0.1, .weight_decay = 0.1}},
      {"_amsgrad", {.lr = 0.1, .betas = {0.8, 0.7}, .eps = 1e-4, .amsgrad = true}},
      {"_maximize", {.lr = 0.1, .weight_decay = 0.1, .maximize = true}}};
  for (auto &[name, options] : adam) {
    train(in, "adam" + name, [&](auto &p) { return optim::Adam(p, options); }, out);
    const optim::AdamWOptions decoupled{options.lr,           options.betas,   options.eps,
                                        options.weight_decay, options.amsgrad, options.maximize};
    train(in, "adamw" + name, [&](auto &p) { return optim::AdamW(p, decoupled); }, out);
  }
  train(
      in, "groups",
      [&](auto &p) {
        optim::Adam adam({p[0]}, {.lr = 0.1});
        adam.add_param_group({p[1], p[2]}, {.lr = 0.1, .betas = {0.5, 0.999}, .weight_decay = 0.1});
        return adam;
      },
      out);
}

/// Those that are formulas of tensors.
void otherOptimisers(const Named &in, StateDict &out) {
  using namespace optim;
  auto run = [&]<typename Kind, typename Options>(const char *name, Options options) {
    train(in, name, [&](auto &p) { return Kind(p, options); }, out);
  };
#define WEFT_RUN(Kind, name, ...) run.template operator()<Kind>(name, Kind##Options{.lr = 0.1, __VA_ARGS__})
  WEFT_RUN(RMSprop, "rmsprop", );
  WEFT_RUN(RMSprop, "rmsprop_momentum", .alpha = 0.8, .weight_decay = 0.1, .momentum = 0.9);
  WEFT_RUN(RMSprop, "rmsprop_centered", .eps = 1e-4, .centered = true);
  WEFT_RUN(RMSprop, "rmsprop_both", .eps = 1e-4, .momentum = 0.5, .centered = true, .maximize = true);
  WEFT_RUN(Adagrad, "adagrad", );
  WEFT_RUN(Adagrad, "adagrad_options", .lr_decay = 0.1, .weight_decay = 0.1, .initial_accumulator_value = 0.5,
           .maximize = true);
  WEFT_RUN(Adadelta, "adadelta", );
  WEFT_RUN(Adadelta, "adadelta_options", .rho = 0.7, .eps = 1e-3, .weight_decay = 0.1, .maximize = true);
  WEFT_RUN(Adamax, "adamax", );
  WEFT_RUN(Adamax, "adamax_options", .betas = {0.8, 0.7}, .eps = 1e-3, .weight_decay = 0.1, .maximize = true);
  WEFT_RUN(NAdam, "nadam", );
  WEFT_RUN(NAdam, "nadam_options", .betas = {0.8, 0.7}, .weight_decay = 0.1, .momentum_decay = 0.1,
           .maximize = true);
  WEFT_RUN(NAdam, "nadam_decoupled", .weight_decay = 0.1, .decoupled_weight_decay = true);
  WEFT_RUN(RAdam, "radam", );
  WEFT_RUN(RAdam, "radam_options", .betas = {0.8, 0.95}, .weight_decay = 0.1, .maximize = true);
  WEFT_RUN(RAdam, "radam_decoupled", .weight_decay = 0.1, .decoupled_weight_decay = true);
  WEFT_RUN(ASGD, "asgd", );
  WEFT_RUN(ASGD, "asgd_options", .lambd = 0.1, .alpha = 0.5, .t0 = 20, .weight_decay = 0.1, .maximize = true);
  WEFT_RUN(Adafactor, "adafactor", );
  WEFT_RUN(Adafactor, "adafactor_options", .beta2_decay = -0.5, .eps1 = 1e-4, .eps2 = 1e-2, .d = 1.5,
           .weight_decay = 0.1, .maximize = true);
  WEFT_RUN(Rprop, "rprop", );
  WEFT_RUN(Rprop, "rprop_options", .eta_minus = 0.3, .eta_plus = 1.5, .step_size_min = 0.01,
           .step_size_max = 0.3, .maximize = true);
#undef WEFT_RUN
}

/// A wide and a tall matrix.
void muon(const Named &in, const std::string &name, optim::MuonOptions options, StateDict &out) {
  const Tensor start = in.at("start.a").to(f32), gradients = in.at("gradients.a").to(f32);
  std::vector<Tensor> parameters{start.clone().requires_grad_(), start.t().contiguous().requires_grad_()};
  options.lr = 0.02;
  optim::Muon optimizer(parameters, options);
  auto step = compile([&](Tensor g) {
    ((parameters[0] * g).sum() + (parameters[1] * g.t()).sum()).backward();
    optimizer.step();
    optimizer.zero_grad();
  });
  for (int64_t i = 0; i < 100; ++i)
    step(gradients.select(0, i));
  for (size_t k = 0; k < 2; ++k)
    out.emplace_back(name + "." + std::to_string(k), parameters[k].detach());
}

/// The state is saved and loaded into a new optimiser after ten steps.
void lbfgs(const Named &in, const std::string &name, const optim::LBFGSOptions &options, StateDict &out) {
  std::vector<Tensor> parameters, weights;
  for (const char *part : {"a", "b"}) {
    parameters.push_back(in.at(std::string("start.") + part).clone().requires_grad_());
    const int64_t count = parameters.back().numel();
    weights.push_back(pow(10, arange(count, {.dtype = f64}) * 3 / count).reshape(parameters.back().sizes()));
  }
  optim::LBFGS optimizer(parameters, options);
  const auto closure = [&] {
    optimizer.zero_grad();
    Tensor loss = 0.1 * (parameters[0].sum() - parameters[1].sum()).square();
    for (size_t k = 0; k < 2; ++k) {
      const Tensor off = parameters[k] - 0.5;
      loss = loss + (off.square() * weights[k]).sum() / 2 + pow(off, 4).sum() / 4;
    }
    loss.backward();
    return loss;
  };
  std::vector<double> losses;
  const auto note = [&](const char *when) {
    for (size_t k = 0; k < 2; ++k)
      out.emplace_back(name + when + "ab"[k], parameters[k].detach().clone());
  };
  for (int i = 0; i < 100; ++i) {
    losses.push_back(optimizer.step(closure).item<double>());
    if (i == 2)
      note(".early.");
    if (i == 10) {
      optim::LBFGS resumed(parameters, options);
      resumed.load_state_dict(optimizer.state_dict());
      optimizer = resumed;
    }
  }
  note(".late.");
  out.emplace_back(name + ".losses", Tensor::from(losses, {100}));
}

/// The averages of a layer that takes 20 steps, with one batch_norm, whose statistics are buffers.
void averages(const Named &in, StateDict &out) {
  const std::vector<std::pair<std::string, optim::AveragingOptions>> all{
      {"mean", {}},
      {"mean_buffers", {.use_buffers = true}},
      {"exponential", {.decay = 0.9}},
      {"function",
       {.avg_fn = [](const Tensor &a, const Tensor &v, const Tensor &n) { return a + (v - a) / (n + 2); }}}};
  for (const auto &[name, options] : all) {
    nn::Sequential model(nn::Linear(7, 5, false), nn::BatchNorm1d(5));
    model.to(f64);
    Tensor weight = model.get_parameter("0.weight");
    NoGradGuard guard;
    weight.copy_(in.at("start.a"));
    optim::AveragedModel average(model, options);
    auto step = compile([&](Tensor change) {
      NoGradGuard inside;
      weight += change * 0.1;
      model(change);
      average.update_parameters(model);
    });
    for (int64_t i = 0; i < 20; ++i)
      step(in.at("gradients.a").select(0, i));
    for (const auto &[key, tensor] : average.state_dict())
      out.emplace_back("average." + name + "." + key, tensor);
  }
}

void clipping(const Named &in, StateDict &out) {
  std::map<std::string, double> types{{"1", 1}, {"2", 2}, {"3", 3}, {"inf", INFINITY}};
  for (auto &[name, type] : types)
    for (double most : {0.5, 1e6}) {
      std::vector<Tensor> parameters;
      for (const char *part : {"a", "b", "c"}) {
        parameters.push_back(zeros_like(in.at(std::string("start.") + part)).requires_grad_());
        parameters.back().set_grad(to_host(in.at(std::string("gradients.") + part).select(0, 0)));
      }
      std::string prefix = "clip" + name + (most < 1 ? ".tight" : ".loose");
      out.emplace_back(prefix + ".norm", nn::utils::clip_grad_norm_(parameters, most, type));
      out.emplace_back(prefix + ".a", parameters[0].grad());
      // The same in two steps.
      for (size_t i = 0; i < 3; ++i)
        parameters[i].set_grad(to_host(in.at(std::string("gradients.") + "abc"[i]).select(0, 0)));
      std::vector<Tensor> gradients;
      for (const Tensor &parameter : parameters)
        gradients.push_back(parameter.grad());
      Tensor norm = nn::utils::get_total_norm(gradients, type);
      nn::utils::clip_grads_with_norm_(parameters, most, norm);
      out.emplace_back(prefix + ".norm2", norm);
      out.emplace_back(prefix + ".a2", parameters[0].grad());
    }
}

/// The learning rates of 30 epochs, with a state that is saved and loaded after the tenth.
void schedules(StateDict &out) {
  using namespace optim;
  auto run = [&](const std::string &name, auto make) {
    std::vector<double> rates, momenta;
    SGD sgd({zeros({1}).requires_grad_()}, {.lr = 0.4, .momentum = 0.9});
    auto scheduler = make(sgd);
    for (int i = 0; i < 30; ++i) {
      rates.push_back(sgd.lr());
      momenta.push_back(sgd.option("momentum"));
      if (i == 10)
        scheduler.load_state_dict(scheduler.state_dict());
      scheduler.step();
    }
    out.emplace_back("lr." + name, Tensor::from(rates, {30}));
    out.emplace_back("momentum." + name, Tensor::from(momenta, {30}));
  };
  run("LambdaLR",
      [](auto &o) { return LambdaLR(o, [](int64_t i) { return 1 / (1.0 + static_cast<double>(i)); }); });
  run("MultiplicativeLR",
      [](auto &o) { return MultiplicativeLR(o, [](int64_t i) { return i % 2 ? 0.9 : 1.05; }); });
  run("StepLR", [](auto &o) { return StepLR(o, 7, 0.3); });
  run("MultiStepLR", [](auto &o) { return MultiStepLR(o, {3, 3, 12}, 0.5); });
  run("ConstantLR", [](auto &o) { return ConstantLR(o, 0.5, 8); });
  run("LinearLR", [](auto &o) { return LinearLR(o, 0.25, 0.75, 11); });
  run("CyclicLR", [](auto &o) { return CyclicLR(o, 0.1, 0.5, {.step_size_up = 4}); });
  run("CyclicLR.halves", [](auto &o) {
    return CyclicLR(o, 0.1, 0.5, {.step_size_up = 3, .step_size_down = 5, .mode = "triangular2"});
  });
  run("CyclicLR.range", [](auto &o) {
    return CyclicLR(o, 0.1, 0.5,
                    {.step_size_up = 6, .mode = "exp_range", .gamma = 0.95, .cycle_momentum = false});
  });
  run("CyclicLR.scale", [](auto &o) {
    return CyclicLR(o, 0.1, 0.5,
                    {.step_size_up = 5, .scale_fn = [](double cycle) { return 1 / (5 * cycle); }});
  });
  run("ChainedScheduler", [](auto &o) {
    LinearLR warmup(o, 0.2, 1, 6);
    return ChainedScheduler({warmup, ExponentialLR(o, 0.95), StepLR(o, 8, 0.5)});
  });
  run("ExponentialLR", [](auto &o) { return ExponentialLR(o, 0.9); });
  run("PolynomialLR", [](auto &o) { return PolynomialLR(o, 20, 2); });
  run("CosineAnnealingLR", [](auto &o) { return CosineAnnealingLR(o, 9, 0.01); });
  run("CosineAnnealingWarmRestarts", [](auto &o) { return CosineAnnealingWarmRestarts(o, 4, 2, 0.01); });
  run("OneCycleLR", [](auto &o) { return OneCycleLR(o, 1, 40); });
  run("OneCycleLR.three", [](auto &o) {
    return OneCycleLR(o, 1, 30,
                      {.pct_start = 0.4, .is_linear = true, .cycle_momentum = false, .three_phase = true});
  });
  run("SequentialLR", [](auto &o) {
    LinearLR warmup(o, 0.1, 1, 5);
    return SequentialLR(o, {warmup, CosineAnnealingLR(o, 20), ExponentialLR(o, 0.5)}, {5, 25});
  });
  // Two that act together.
  SGD sgd({zeros({1}).requires_grad_()}, {.lr = 0.4});
  LinearLR warmup(sgd, 0.2, 1, 6);
  ExponentialLR decay(sgd, 0.95);
  std::vector<double> rates;
  for (int i = 0; i < 30; ++i) {
    rates.push_back(sgd.lr());
    warmup.step();
    decay.step();
  }
  out.emplace_back("lr.together", Tensor::from(rates, {30}));
  // A measure that improves, stops, and improves a little.
  for (bool isMax : {false, true}) {
    SGD other({zeros({1}).requires_grad_()}, {.lr = 0.4});
    ReduceLROnPlateau plateau(other, {.is_max = isMax,
                                      .factor = 0.5,
                                      .patience = 2,
                                      .threshold = 0.01,
                                      .is_relative = !isMax,
                                      .cooldown = 1});
    rates.clear();
    for (int i = 0; i < 30; ++i) {
      double metric = i < 8 ? 10 - i : 2.5 + 0.001 * (i % 3);
      plateau.step(isMax ? -metric : metric);
      rates.push_back(other.lr());
    }
    out.emplace_back(isMax ? "lr.plateau_max" : "lr.plateau_min", Tensor::from(rates, {30}));
  }
}

void initialValues(StateDict &out) {
  manual_seed(0);
  auto blank = [] { return empty({200, 100, 5}); };
  out.emplace_back("init.xavier_uniform_", nn::init::xavier_uniform_(blank(), 1.5));
  out.emplace_back("init.xavier_normal_", nn::init::xavier_normal_(blank(), 1.5));
  out.emplace_back("init.kaiming_uniform_", nn::init::kaiming_uniform_(blank(), 0.3));
  out.emplace_back("init.kaiming_normal_",
                   nn::init::kaiming_normal_(blank(), 0, nn::init::FanMode::fan_out, "relu"));
  out.emplace_back("init.trunc_normal_", nn::init::trunc_normal_(blank(), 0.5, 2, -1, 3));
  out.emplace_back("init.orthogonal_", nn::init::orthogonal_(blank(), 1.5));
  out.emplace_back("dirac", nn::init::dirac_(empty({6, 2, 3, 4}), 2));
  nn::Linear linear(500, 200);
  out.emplace_back("init.linear_weight", linear.weight.detach());
  out.emplace_back("init.linear_bias", nn::Linear(400, 100000).bias.detach());
}
} // namespace

int main(int argc, char **argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: weft-parity-optim FOLDER\n"), 2;
  std::string folder = argv[1];
  Named in;
  for (auto &[name, tensor] : load_npz(folder + "/in.npz"))
    in[name] = tensor;
  StateDict out;
  optimisers(in, out);
  otherOptimisers(in, out);
  muon(in, "muon", {}, out);
  muon(in, "muon_options",
       {.weight_decay = 0.01,
        .momentum = 0.8,
        .nesterov = false,
        .ns_steps = 3,
        .adjust_lr_fn = "match_rms_adamw"},
       out);
  lbfgs(in, "lbfgs", {.lr = 0.2, .max_iter = 3}, out);
  lbfgs(in, "lbfgs_wolfe", {.max_iter = 4, .history_size = 5, .line_search_fn = "strong_wolfe"}, out);
  averages(in, out);
  clipping(in, out);
  schedules(out);
  initialValues(out);
  save_npz(folder + "/out.npz", out);
} catch (const Error &error) {
  std::fprintf(stderr, "weft-parity-optim: %s\n", error.what());
  return 1;
}
