//===- Losses.cpp -------------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/ops/Losses.h"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Term.h"
#include "weft/math.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

namespace weft::frontend {

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

static std::string keyword(nn::Reduction reduction, const char *function, Loc loc) {
  if (reduction == nn::Reduction::batchmean)
    fail(std::string(function) + " has no reduction 'batchmean': take none, mean or sum", loc);
  return reduction == nn::Reduction::none ? "none" : reduction == nn::Reduction::mean ? "mean" : "sum";
}

Tensor reduced(const Tensor &loss, nn::Reduction reduction, const char *function, Loc loc) {
  std::string how = keyword(reduction, function, loc);
  return how == "none" ? loss : how == "mean" ? loss.mean({}, false, loc) : loss.sum({}, false, loc);
}

void warnOfBroadcast(const Tensor &input, const Tensor &target, Loc loc) {
  if (input.sizes(loc) != target.sizes(loc))
    std::fprintf(
        stderr,
        "weft: Using a target size (%s) that is different to the input size (%s): the smaller is broadcast "
        "(WEFT-G010), at %s\n",
        shapeText(target.sizes(loc)).c_str(), shapeText(input.sizes(loc)).c_str(), str(loc).c_str());
}

} // namespace weft::frontend

namespace weft::nn {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

namespace {

/// Input and target of any rank, reshaped to [rows, classes] and [rows].
struct ClassRows {
  Tensor input, target;
  Shape rows; ///< the shape of the losses without a reduction
};

ClassRows asRows(const Tensor &input, const Tensor &target, const char *function, Loc loc) {
  Shape shape = input.sizes(loc);
  if (shape.empty())
    fail(std::string(function) + " needs an input with a dimension of classes, found a 0-dimensional tensor",
         loc);
  size_t classDim = shape.size() == 1 ? 0 : 1;
  ClassRows result;
  result.rows = shape;
  result.rows.erase(result.rows.begin() + static_cast<int64_t>(classDim));
  const bool areProbabilities = target.sizes(loc) == shape && std::string_view(function) == "cross_entropy";
  if (target.sizes(loc) != result.rows)
    fail(std::string(function) + " needs a target of shape " + shapeText(result.rows) +
             ", that of the input without its classes, found " + shapeText(target.sizes(loc)) +
             " for an input of shape " + shapeText(shape) +
             (areProbabilities ? ". If the target holds probabilities of the classes, they need a "
                                 "floating-point dtype: write target.to(weft::" +
                                     std::string(name(input.dtype(loc))) + ")"
                               : ""),
         loc);
  if (is_floating_point(target.dtype(loc)) || target.dtype(loc) == DType::i1)
    fail(std::string(function) + " needs class numbers as targets, an integer tensor, found " +
             std::string(name(target.dtype(loc))) + ": write target.to(weft::i64)",
         loc);
  result.input = input;
  if (shape.size() > 2) {
    std::vector<int64_t> perm{0};
    for (size_t i = 2; i < shape.size(); ++i)
      perm.push_back(static_cast<int64_t>(i));
    perm.push_back(1);
    result.input = input.permute(perm, loc);
  }
  int64_t count = use(target, loc).spec().count();
  result.input = result.input.reshape({count, shape[classDim]}, loc);
  result.target = target.to(DType::i64, loc).reshape({count}, loc);
  return result;
}

void checkWeight(const Tensor &weight, int64_t classes, const char *function, Loc loc) {
  if (weight.defined() && weight.sizes(loc) != Shape{classes})
    fail(std::string(function) + ": weight tensor should be defined either for all " + sizeText(classes) +
             " classes or no classes but got weight tensor of shape: " + shapeText(weight.sizes(loc)),
         loc);
}

} // namespace

/// For targets that are probabilities. The mean is over rows.
static Tensor softCrossEntropy(const Tensor &logits, Tensor target, const CrossEntropyOptions &options,
                               Loc loc) {
  if (target.dtype(loc) != logits.dtype(loc))
    fail("cross_entropy needs probabilities of the logits' dtype, " + std::string(name(logits.dtype(loc))) +
             ", found " + std::string(name(target.dtype(loc))),
         loc);
  int64_t classDim = logits.dim(loc) == 1 ? 0 : 1, classes = logits.size(classDim, loc);
  checkWeight(options.weight, classes, "cross_entropy", loc);
  double s = options.label_smoothing;
  if (s > 0)
    target = add({mul({target, loc}, {1 - s, loc}), loc}, {s / static_cast<double>(classes), loc});
  if (options.weight.defined()) {
    Shape along(logits.sizes(loc).size(), 1);
    along[static_cast<size_t>(classDim)] = classes;
    target = mul({target, loc}, {options.weight.reshape(along, loc), loc});
  }
  Tensor loss =
      neg({mul({target, loc}, {logits.log_softmax(classDim, loc), loc}).sum({classDim}, false, loc), loc});
  return reduced(loss, options.reduction, "cross_entropy", loc);
}

Tensor cross_entropy(const Tensor &logits, const Tensor &target, CrossEntropyOptions options, Loc loc) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    fail("label_smoothing must be between 0.0 and 1.0. Got: " + std::to_string(options.label_smoothing), loc);
  GraphLock lock(graphMutex());
  if (is_floating_point(target.dtype(loc)) && target.sizes(loc) == logits.sizes(loc) && logits.dim(loc) > 0)
    return softCrossEntropy(logits, target, options, loc);
  ClassRows rows = asRows(logits, target, "cross_entropy", loc);
  checkWeight(options.weight, rows.input.size(1, loc), "cross_entropy", loc);
  std::vector<Ref> operands{use(rows.input, loc), use(rows.target, loc)};
  if (options.weight.defined())
    operands.push_back(use(options.weight, loc));
  Tensor loss = wrap(record1("cross_entropy", operands,
                             {{"reduction", keyword(options.reduction, "cross_entropy", loc)},
                              {"ignore_index", options.ignore_index},
                              {"label_smoothing", options.label_smoothing}},
                             loc),
                     loc);
  return options.reduction == Reduction::none ? loss.reshape(rows.rows, loc) : loss;
}

Tensor nll_loss(const Tensor &input, const Tensor &target, NllLossOptions options, Loc loc) {
  std::string how = keyword(options.reduction, "nll_loss", loc);
  ClassRows rows = asRows(input, target, "nll_loss", loc);
  checkWeight(options.weight, rows.input.size(1, loc), "nll_loss", loc);
  Tensor counted = ne({rows.target, loc}, {options.ignore_index, loc});
  Tensor index = where(counted, {rows.target, loc}, {0, loc}, loc);
  Tensor picked = rows.input.gather(1, index.unsqueeze(1, loc), loc).squeeze(1, loc);
  Tensor weight =
      options.weight.defined() ? options.weight.index_select(0, index, loc) : ones_like(picked, loc);
  weight = where(counted, {weight, loc}, {0, loc}, loc);
  // An ignored row has no influence, even if it holds NaN.
  Tensor loss = where(counted, {neg({mul({picked, loc}, {weight, loc}), loc}), loc}, {0, loc}, loc);
  if (how == "none")
    return loss.reshape(rows.rows, loc);
  Tensor total = loss.sum({}, false, loc);
  return how == "sum" ? total : div({total, loc}, {weight.sum({}, false, loc), loc});
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

Tensor mse_loss(const Tensor &input, const Tensor &target, Reduction reduction, Loc loc) {
  warnOfBroadcast(input, target, loc);
  Tensor difference = sub({input, loc}, {target, loc});
  return reduced(mul({difference, loc}, {difference, loc}), reduction, "mse_loss", loc);
}

Tensor l1_loss(const Tensor &input, const Tensor &target, Reduction reduction, Loc loc) {
  warnOfBroadcast(input, target, loc);
  return reduced(sub({input, loc}, {target, loc}).abs(loc), reduction, "l1_loss", loc);
}

/// d * d where it is used; elsewhere 0, so that no derivative of an infinite d is 0 times infinity.
static Tensor squareWhere(const Tensor &isUsed, const Tensor &d, Loc loc) {
  const Tensor used = where(isUsed, {d, loc}, {0.0, loc}, loc);
  return mul({used, loc}, {used, loc});
}

Tensor smooth_l1_loss(const Tensor &input, const Tensor &target, Reduction reduction, double beta, Loc loc) {
  if (!(beta >= 0))
    fail("smooth_l1_loss does not support negative values for beta, found " + std::to_string(beta), loc);
  if (beta == 0)
    return l1_loss(input, target, reduction, loc);
  warnOfBroadcast(input, target, loc);
  Tensor d = sub({input, loc}, {target, loc}), size = d.abs(loc), isInside = lt({size, loc}, {beta, loc});
  Tensor inside = mul({squareWhere(isInside, d, loc), loc}, {0.5 / beta, loc});
  Tensor loss = where(isInside, {inside, loc}, {sub({size, loc}, {0.5 * beta, loc}), loc}, loc);
  return reduced(loss, reduction, "smooth_l1_loss", loc);
}

Tensor huber_loss(const Tensor &input, const Tensor &target, Reduction reduction, double delta, Loc loc) {
  if (!(delta > 0))
    fail("huber_loss does not support non-positive values for delta, found " + std::to_string(delta), loc);
  warnOfBroadcast(input, target, loc);
  Tensor d = sub({input, loc}, {target, loc}), size = d.abs(loc), isInside = lt({size, loc}, {delta, loc});
  Tensor inside = mul({squareWhere(isInside, d, loc), loc}, {0.5, loc});
  Tensor outside = mul({sub({size, loc}, {0.5 * delta, loc}), loc}, {delta, loc});
  return reduced(where(isInside, {inside, loc}, {outside, loc}, loc), reduction, "huber_loss", loc);
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

Tensor binary_cross_entropy_with_logits(const Tensor &input, const Tensor &target,
                                        BceWithLogitsOptions options, Loc loc) {
  if (input.sizes(loc) != target.sizes(loc))
    fail("Target size (" + shapeText(target.sizes(loc)) + ") must be the same as input size (" +
             shapeText(input.sizes(loc)) + ")",
         loc);
  Tensor negative = neg({logsigmoid(input, loc), loc});
  if (options.pos_weight.defined()) {
    Tensor factor = mul({sub({options.pos_weight, loc}, {1, loc}), loc}, {target, loc});
    negative = mul({negative, loc}, {add({factor, loc}, {1, loc}), loc});
  }
  Tensor loss = add({mul({sub({1, loc}, {target, loc}), loc}, {input, loc}), loc}, {negative, loc});
  if (options.weight.defined())
    loss = mul({loss, loc}, {options.weight, loc});
  return reduced(loss, options.reduction, "binary_cross_entropy_with_logits", loc);
}

/// The losses for probabilities p and targets t. As in PyTorch logarithms end at -100, so that a probability
/// of 0 or 1 has a finite loss, and the derivative is (p - t) / max(p (1 - p), 1e-12).
static Term lossOfProbabilities(const Term &p, const Term &t) {
  const Loc loc = p.loc;
  const auto logsOf = [&](const Term &hit, const Term &miss, const auto &ended) {
    return -(t * ended(log(hit)) + (-t + int64_t(1)) * ended(Term{log1p((-miss).tensor, loc), loc}));
  };
  const auto ended = [&](const Term &log) { return Term{clamp_min(log.tensor, {-100, loc}), loc}; };
  if (!p.tensor.requires_grad(loc))
    return logsOf(p, p, ended);
  constexpr double least = 1e-12;
  const Term at{p.tensor.detach(loc), loc}, others = -at + int64_t(1), isEdge = at * others <= least;
  const Term safe = select(isEdge, {0.5, loc}, p);
  const Term inside = logsOf(safe, safe, [](const Term &log) { return log; });
  // At the edges the loss is its expansion to the second order: p - at is 0, and has the derivative 1.
  const Term step = p - at, constant{t.tensor.detach(loc), loc};
  const Term root = (at + least) * (others + least);
  const Term bend = (at * at - at * constant * 2.0 + constant) / (root * root) * 0.5;
  const Term edge = logsOf(at, at, ended) + step * ((at - t) / least) + step * step * bend;
  return select(isEdge, edge, inside);
}

Tensor binary_cross_entropy(const Tensor &input, const Tensor &target, const Tensor &weight,
                            Reduction reduction, Loc loc) {
  if (input.sizes(loc) != target.sizes(loc))
    fail("Using a target size (" + shapeText(target.sizes(loc)) + ") that is different to the input size (" +
             shapeText(input.sizes(loc)) + ") is deprecated. " + "Please ensure they have the same size.",
         loc);
  const DType dtype = promote(input.dtype(loc), target.dtype(loc));
  Tensor loss = lossOfProbabilities({widened(input, loc), loc}, {widened(target, loc), loc}).tensor;
  if (is_floating_point(dtype))
    loss = loss.to(dtype, loc);
  if (weight.defined())
    loss = mul({loss, loc}, {weight, loc});
  return reduced(loss, reduction, "binary_cross_entropy", loc);
}

Tensor poisson_nll_loss(const Tensor &input, const Tensor &target, PoissonNllOptions options, Loc loc) {
  Tensor loss;
  if (options.log_input)
    loss = sub({input.exp(loc), loc}, {mul({target, loc}, {input, loc}), loc});
  else
    loss =
        sub({input, loc}, {mul({target, loc}, {add({input, loc}, {options.eps, loc}).log(loc), loc}), loc});
  if (options.full) {
    // Stirling's approximation of log(target!), which is 0 for targets up to 1.
    Tensor large = gt({target, loc}, {1, loc});
    Tensor safe = where(large, {target, loc}, {1, loc}, loc), log = safe.log(loc);
    Tensor stirling = sub({mul({safe, loc}, {log, loc}), loc}, {safe, loc});
    Tensor root = mul({add({log, loc}, {std::log(2 * std::numbers::pi), loc}), loc}, {0.5, loc});
    stirling = add({stirling, loc}, {root, loc});
    loss = add({loss, loc}, {where(large, {stirling, loc}, {0, loc}, loc), loc});
  }
  return reduced(loss, options.reduction, "poisson_nll_loss", loc);
}

Tensor gaussian_nll_loss(const Tensor &input, const Tensor &target, const Tensor &variance,
                         GaussianNllOptions options, Loc loc) {
  Shape shape = input.sizes(loc), given = variance.sizes(loc);
  Tensor var = variance;
  if (given != shape) {
    Shape withoutLast(shape.begin(), shape.empty() ? shape.begin() : shape.end() - 1);
    bool oneEach = given.size() == shape.size() && !given.empty() && given.back() == 1 &&
                   std::equal(given.begin(), given.end() - 1, shape.begin());
    if (!shape.empty() && given == withoutLast)
      var = var.unsqueeze(-1, loc);
    else if (!oneEach && !given.empty())
      fail("gaussian_nll_loss: var is of incorrect size " + shapeText(given) + " for an input of size " +
               shapeText(shape),
           loc);
  }
  // Below `eps` the variance counts as `eps`, and gets the gradient of that place.
  Tensor lift;
  {
    NoGradGuard guard;
    lift = sub({clamp_min(var, {options.eps, loc}), loc}, {var, loc});
  }
  var = add({var, loc}, {lift, loc});
  Tensor d = sub({input, loc}, {target, loc});
  Tensor loss = add({var.log(loc), loc}, {div({mul({d, loc}, {d, loc}), loc}, {var, loc}), loc});
  loss = mul({loss, loc}, {0.5, loc});
  if (options.full)
    loss = add({loss, loc}, {0.5 * std::log(2 * std::numbers::pi), loc});
  return reduced(loss, options.reduction, "gaussian_nll_loss", loc);
}

Tensor kl_div(const Tensor &input, const Tensor &target, Reduction reduction, bool log_target, Loc loc) {
  if (!is_floating_point(input.dtype(loc)) || !is_floating_point(target.dtype(loc)))
    fail("kl_div: Integral inputs not supported. Found " + std::string(name(input.dtype(loc))) + " and " +
             std::string(name(target.dtype(loc))) + ": convert them with .to(weft::f32)",
         loc, {use(input, loc), use(target, loc)});
  warnOfBroadcast(input, target, loc);
  Tensor loss;
  if (log_target) {
    loss = mul({target.exp(loc), loc}, {sub({target, loc}, {input, loc}), loc});
  } else {
    Tensor isZero = eq({target, loc}, {0, loc});
    Tensor entropy = mul({target, loc}, {where(isZero, {1, loc}, {target, loc}, loc).log(loc), loc});
    loss = sub({where(isZero, {0, loc}, {entropy, loc}, loc), loc}, {mul({target, loc}, {input, loc}), loc});
  }
  if (reduction != Reduction::batchmean)
    return reduced(loss, reduction, "kl_div", loc);
  if (loss.dim(loc) == 0)
    fail("kl_div with 'batchmean' needs a first dimension to divide by, found a 0-dimensional tensor", loc);
  return div({loss.sum({}, false, loc), loc}, {static_cast<double>(loss.size(0, loc)), loc});
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// If the options have this tensor, makes it a buffer of the module, so that it moves with the module.
static void toBuffer(Module &module, const char *name, Tensor &option, Parameter &buffer) {
  if (Tensor given = std::exchange(option, {}); given.defined())
    buffer = module.register_buffer(name, given);
}

CrossEntropyLoss::CrossEntropyLoss(CrossEntropyOptions options)
    : Module("CrossEntropyLoss"), options_(std::move(options)) {
  toBuffer(*this, "weight", options_.weight, weight);
}
Tensor CrossEntropyLoss::operator()(const Tensor &logits, const Tensor &target, Loc loc) const {
  CrossEntropyOptions options = options_;
  options.weight = weight;
  return cross_entropy(logits, target, options, loc);
}

NLLLoss::NLLLoss(NllLossOptions options) : Module("NLLLoss"), options_(std::move(options)) {
  toBuffer(*this, "weight", options_.weight, weight);
}
Tensor NLLLoss::operator()(const Tensor &input, const Tensor &target, Loc loc) const {
  NllLossOptions options = options_;
  options.weight = weight;
  return nll_loss(input, target, options, loc);
}

BCEWithLogitsLoss::BCEWithLogitsLoss(BceWithLogitsOptions options)
    : Module("BCEWithLogitsLoss"), options_(std::move(options)) {
  toBuffer(*this, "weight", options_.weight, weight);
  toBuffer(*this, "pos_weight", options_.pos_weight, pos_weight);
}
Tensor BCEWithLogitsLoss::operator()(const Tensor &input, const Tensor &target, Loc loc) const {
  BceWithLogitsOptions options = options_;
  options.weight = weight;
  options.pos_weight = pos_weight;
  return binary_cross_entropy_with_logits(input, target, options, loc);
}

BCELoss::BCELoss(Tensor given, Reduction reduction) : Module("BCELoss"), reduction_(reduction) {
  toBuffer(*this, "weight", given, weight);
}

} // namespace weft::nn
