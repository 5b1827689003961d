//===- Parametrize.cpp - Weights that are computed from parameters ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer computes with its member, which refers to a slot. The slot of a parametrized tensor has no value:
// a call computes the tensor, and calls a copy of the layer in which the member refers to what was computed.
// So a layer needs to know nothing of it, and two threads may call one layer.
//
//===----------------------------------------------------------------------===//
#include "weft/parametrize.hpp"

#include "frontend/graph/Trace.h"
#include "frontend/nn/ModuleState.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"
#include "weft/compositions.hpp"
#include "weft/distances.hpp"
#include "weft/joining.hpp"
#include "weft/linalg.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/math.hpp"
#include "weft/other_names.hpp"
#include "weft/random.hpp"
#include "weft/reduce.hpp"

#include <algorithm>
#include <limits>
#include <ranges>

namespace weft::nn {

using namespace frontend;

namespace detail {

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

ParametrizedTensor::ParametrizedTensor(const ParametrizedTensor &other)
    : name(other.name), tensor(other.tensor), originals(other.originals) {
  for (const auto &mapping : other.mappings)
    mappings.push_back(mapping->copy());
}

static Tensor valueOf(const ParametrizedTensor &tensor) {
  std::vector<Tensor> values(tensor.originals.begin(), tensor.originals.end());
  for (const auto &mapping : tensor.mappings)
    values = {mapping->forward(values)};
  return values[0];
}

static const Substitution *&currentSubstitution() {
  thread_local const Substitution *current = nullptr;
  return current;
}

Substitution::Substitution(const Parametrizations &parametrizations, Loc) : previous_(currentSubstitution()) {
  parametrizations.guard();
  for (const ParametrizedTensor &each : parametrizations.tensors_)
    pairs_.emplace_back(each.tensor, valueOf(each));
  currentSubstitution() = this;
}

Substitution::~Substitution() { currentSubstitution() = previous_; }

const Tensor *Substitution::of(const Tensor &tensor) {
  for (const Substitution *each = currentSubstitution(); each; each = each->previous_)
    for (const auto &[from, to] : each->pairs_)
      if (Access::slot(from) == Access::slot(tensor))
        return &to;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {

/// "parametrizations" of a module, or the list of one tensor's.
struct Part : Module {
  explicit Part(const char *type) : Module(type) {}
};

/// The entry of a tensor that is registered in this module itself.
ModuleState::Entry &entryOf(ModuleState &state, const std::string &name, Loc loc) {
  std::string known;
  for (ModuleState::Entry &entry : state.tensors) {
    if (entry.name == name)
      return entry;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  fail("the module " + state.type + " has no parameter or buffer '" + name +
           "' of its own to parametrize; it has: " + (known.empty() ? "none" : known),
       loc);
}

/// Throws Error if the network has the tensor under the name of another module too, which does not compute
/// it.
void refuseTied(const ModuleState &state, const ModuleState::Entry &entry, Loc loc) {
  std::vector<const ModuleState *> above{&state};
  std::vector<std::shared_ptr<ModuleState>> alive;
  for (size_t i = 0; i < above.size(); ++i)
    for (const auto &parent : above[i]->parents)
      if (auto found = parent.lock(); found && std::ranges::find(above, found.get()) == above.end()) {
        above.push_back(found.get());
        alive.push_back(std::move(found));
      }
  for (const ModuleState *each : above | std::views::reverse) // with the whole path, if there is one
    visit(*each, "", [&](const std::string &path, const ModuleState::Entry &other) {
      if (&other != &entry && Access::slot(other.tensor) == Access::slot(entry.tensor))
        fail(
            frontend::nameOf(*Access::slot(entry.tensor)) + " is tied to '" + path +
                "', which has no value when it is parametrized (WEFT-G007): leave the two untied, and call a "
                "function in place of the other layer, as in embedding(ids, layer.computed(\"" +
                entry.name + "\"))",
            loc, {}, "WEFT-G007");
    });
}

/// Throws Error if a parametrization makes another type of tensor.
void checkSame(const Tensor &before, const Tensor &after, const std::string &name, Loc loc) {
  if (before.sizes(loc) != after.sizes(loc))
    fail("Registering a parametrization may not change the shape of the tensor: '" + name + "' has shape " +
             shapeText(before.sizes(loc)) + ", and the parametrization makes " + shapeText(after.sizes(loc)),
         loc);
  if (before.dtype(loc) != after.dtype(loc))
    fail("Registering a parametrization may not change the dtype of the tensor: '" + name + "' is " +
             std::string(weft::name(before.dtype(loc))) + ", and the parametrization makes " +
             std::string(weft::name(after.dtype(loc))),
         loc);
}

template <typename List> auto findTensor(List &tensors, const std::string &name) {
  return std::ranges::find_if(tensors, [&](const ParametrizedTensor &each) { return each.name == name; });
}

/// The registered part of this name.
Module partOf(const Module &module, const std::string &name) {
  for (auto &[child, part] : module.named_children())
    if (child == name)
      return part;
  return Part("ModuleDict");
}

} // namespace

Parametrizations &Parametrizations::of(const Module &module) {
  GraphLock lock(graphMutex());
  auto &list = module.state_->parametrizations;
  if (!list)
    list = std::make_shared<Parametrizations>();
  return *list;
}

void Parametrizations::guard() const {
  GraphLock lock(graphMutex());
  if (Trace *trace = Trace::current())
    trace->guard(unchanged_, "a parametrization of a module was registered or removed");
}

void Parametrizations::change() {
  GraphLock lock(graphMutex());
  *unchanged_ = false;
  unchanged_ = std::make_shared<bool>(true);
}

bool Parametrizations::empty() const {
  guard();
  return tensors_.empty();
}

bool Parametrizations::has(const std::string &name) const {
  guard();
  return findTensor(tensors_, name) != tensors_.end();
}

Tensor Parametrizations::value(const std::string &name, Loc loc) const {
  guard();
  const auto found = findTensor(tensors_, name);
  if (found == tensors_.end())
    fail("the module has no parametrization of '" + name + "'", loc);
  return valueOf(*found);
}

void Parametrizations::add(Module &module, const std::string &name, std::unique_ptr<Mapping> mapping,
                           Loc loc) {
  refuseInTrace("register_parametrization", loc);
  ModuleState &state = *module.state_;
  if (const auto found = findTensor(tensors_, name); found != tensors_.end()) {
    const NoGradGuard guard;
    const Tensor before = valueOf(*found);
    checkSame(before, mapping->forward({before}), name, loc);
    Module list = partOf(partOf(module, "parametrizations"), name);
    mapping->registeredIn(list, std::to_string(found->mappings.size()), loc).train(module.is_training());
    found->mappings.push_back(std::move(mapping));
    change();
    return;
  }
  ModuleState::Entry &entry = entryOf(state, name, loc);
  refuseTied(state, entry, loc);
  const Tensor weight = entry.tensor.detach(loc).clone(loc);
  const bool isParameter = entry.parameter, isTrained = entry.tensor.requires_grad(loc);
  std::vector<Tensor> starts;
  {
    const NoGradGuard guard;
    starts = mapping->inverse(weight);
    checkSame(weight, mapping->forward(starts), name, loc);
  }
  ParametrizedTensor made;
  made.name = name;
  made.tensor = Parameter(entry.tensor);
  Part list("ParametrizationList");
  for (size_t i = 0; i < starts.size(); ++i) {
    const std::string original = starts.size() == 1 ? "original" : "original" + std::to_string(i);
    const Tensor start = starts[i].detach(loc).clone(loc);
    made.originals.push_back(isParameter ? list.register_parameter(original, start, loc)
                                         : list.register_buffer(original, start, loc));
    made.originals.back().requires_grad_(isTrained, loc);
  }
  Module part = mapping->registeredIn(list, "0", loc);
  made.mappings.push_back(std::move(mapping));
  Module all = partOf(module, "parametrizations");
  const bool isFirst = tensors_.empty();
  all.register_module(name, list, loc);
  if (isFirst)
    module.register_module("parametrizations", all, loc);
  all.train(module.is_training());
  {
    GraphLock lock(graphMutex());
    Tensor given = entry.tensor;
    given.requires_grad_(false, loc);
    given.set_grad({}, loc);
    const auto &slot = Access::slot(given);
    slot->setValue(leaf(slot->spec(), nullptr, loc)); // no memory
    slot->isParametrized = true;
  }
  entry.isComputed = true;
  tensors_.push_back(std::move(made));
  change();
}

void Parametrizations::remove(Module &module, const std::string &name, bool leave_parametrized, Loc loc) {
  refuseInTrace("remove_parametrizations", loc);
  const auto found = findTensor(tensors_, name);
  if (found == tensors_.end())
    fail("the module has no parametrization of '" + name + "'", loc);
  if (!leave_parametrized && found->originals.size() > 1)
    fail("Cannot leave unparametrized (leave_parametrized=false) a tensor that is parametrized in terms of a "
         "sequence of tensors: '" +
             name + "' has " + std::to_string(found->originals.size()) + " originals",
         loc);
  const NoGradGuard guard;
  const bool isTrained = std::ranges::any_of(
      found->originals, [&](const Parameter &original) { return original.requires_grad(loc); });
  const Tensor value =
      (leave_parametrized ? valueOf(*found) : Tensor(found->originals[0])).detach(loc).clone(loc);
  ModuleState::Entry &entry = entryOf(*module.state_, name, loc);
  {
    GraphLock lock(graphMutex());
    const auto &slot = Access::slot(entry.tensor);
    slot->isParametrized = false;
    slot->setValue(use(value, loc));
  }
  entry.isComputed = false;
  entry.tensor.requires_grad_(isTrained, loc);
  const auto drop = [](ModuleState &state, const std::string &child) {
    std::erase_if(state.children, [&](const auto &each) { return each.first == child; });
  };
  drop(*partOf(module, "parametrizations").state_, name);
  tensors_.erase(found);
  change();
  if (tensors_.empty())
    drop(*module.state_, "parametrizations");
}

Tensor tensorToParametrize(const Module &module, const std::string &name, Loc loc) {
  for (const auto &[known, tensor] : module.state_dict())
    if (known == name)
      return tensor;
  fail("the module " + module.type_name() + " has no parameter or buffer '" + name + "' to parametrize", loc);
}

int64_t dimOfOutputs(const Module &module) { return module.type_name().starts_with("ConvTranspose") ? 1 : 0; }

//===----------------------------------------------------------------------===//
// Weight norm, spectral norm
//===----------------------------------------------------------------------===//

/// The dimension counted from the front.
static int64_t dimOf(const Tensor &weight, int64_t dim, Loc loc) {
  return wrapDim(dim, weight.dim(loc), loc);
}

// -1 is not the last dimension, but the whole tensor: so it is in PyTorch.
WeightNorm::WeightNorm(std::optional<int64_t> dim, Loc loc)
    : Module("_WeightNorm"), dim_(dim == -1 ? std::nullopt : dim), loc_(loc) {}

Tensor WeightNorm::norm(const Tensor &v) const {
  std::vector<int64_t> dims;
  const int64_t kept = dim_ ? dimOf(v, *dim_, loc_) : -1;
  for (int64_t i = 0; i < v.dim(loc_); ++i)
    if (i != kept)
      dims.push_back(i);
  return dims.empty() ? v.abs(loc_) : linalg::vector_norm(v, 2, dims, /*keepdim=*/kept >= 0, loc_);
}

Tensor WeightNorm::operator()(const Tensor &g, const Tensor &v) const { return v * (g / norm(v)); }

std::pair<Tensor, Tensor> WeightNorm::right_inverse(const Tensor &weight) const {
  return {norm(weight), weight};
}

SpectralNorm::SpectralNorm(const Tensor &weight, int64_t iterations, int64_t dim, double eps, Loc loc)
    : Module("_SpectralNorm"), iterations_(iterations), dim_(dimOf(weight, dim, loc)), eps_(eps), loc_(loc) {
  if (iterations < 1)
    fail("Expected n_power_iterations to be positive, but got n_power_iterations=" +
             std::to_string(iterations),
         loc);
  if (weight.dim(loc) == 1)
    return;
  const NoGradGuard guard;
  const Tensor m = matrix(weight);
  const auto start = [&](const char *name, int64_t size) {
    const TensorOptions options{.dtype = m.dtype(loc), .device = m.device(loc)};
    return register_buffer(name, normalize(randn({size}, options, loc), 2, {0}, eps_, loc), loc);
  };
  u_ = start("_u", m.size(0, loc));
  v_ = start("_v", m.size(1, loc));
  constexpr int64_t untilUseful = 15;
  iterate(m, untilUseful);
}

Tensor SpectralNorm::matrix(const Tensor &weight) const {
  return (dim_ == 0 ? weight : weight.movedim(dim_, 0, loc_)).flatten(1, -1, loc_);
}

void SpectralNorm::iterate(const Tensor &matrix, int64_t times) const {
  const NoGradGuard guard;
  Tensor u = u_, v = v_;
  for (int64_t i = 0; i < times; ++i) {
    u.copy_(normalize(mv(matrix, v, loc_), 2, {0}, eps_, loc_), loc_);
    v.copy_(normalize(mv(matrix.t(loc_), u, loc_), 2, {0}, eps_, loc_), loc_);
  }
}

Tensor SpectralNorm::operator()(const Tensor &weight) const {
  if (weight.dim(loc_) == 1)
    return normalize(weight, 2, {0}, eps_, loc_);
  const Tensor m = matrix(weight);
  if (is_training())
    iterate(m, iterations_);
  return weight / dot(u_, mv(m, v_, loc_), loc_);
}

//===----------------------------------------------------------------------===//
// Orthogonal matrices
//===----------------------------------------------------------------------===//

/// With columns first: at least as many rows as columns.
static Tensor tall(const Tensor &x, Loc loc) {
  return x.size(-2, loc) < x.size(-1, loc) ? x.transpose(-2, -1, loc) : x;
}

/// The orthogonal factor of a matrix whose other factor has a positive diagonal.
static Tensor orthogonalFactor(const Tensor &x, Loc loc) {
  const auto [q, r] = linalg::qr(x, "complete", loc);
  const Tensor signs = r.diagonal(0, -2, -1, loc).sign(loc);
  return q * where(weft::eq({signs, loc}, {0, loc}), {1, loc}, {signs, loc}, loc).unsqueeze(-2, loc);
}

static bool isOrthogonal(const Tensor &q, Loc loc) {
  const int64_t n = q.size(-1, loc);
  const double eps = q.dtype(loc) == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                : std::numeric_limits<float>::epsilon();
  const Tensor off = matmul(q.transpose(-2, -1, loc), q, loc) -
                     eye(n, {}, {.dtype = q.dtype(loc), .device = q.device(loc)}, loc);
  return off.abs(loc).max(loc).item<double>(loc) <= 10 * static_cast<double>(n) * eps;
}

Orthogonal::Orthogonal(const Tensor &weight, std::string map, bool trivializes, Loc loc)
    : Module("_Orthogonal"), map_(std::move(map)), loc_(loc) {
  if (weight.dim(loc) < 2)
    fail("Expected a matrix or batch of matrices. Got a tensor of " + std::to_string(weight.dim(loc)) +
             " dimensions.",
         loc);
  if (map_.empty())
    map_ = weight.size(-2, loc) == weight.size(-1, loc) ? "matrix_exp" : "householder";
  if (map_ != "matrix_exp" && map_ != "cayley" && map_ != "householder")
    fail("orthogonal_map has to be one of \"matrix_exp\", \"cayley\", \"householder\". Got: " + map_, loc);
  if (!trivializes && map_ == "householder")
    fail(
        "orthogonal() with \"householder\" begins at the weight only with use_trivialization, which keeps it "
        "as a matrix of its own: leave that on, or take \"matrix_exp\" or \"cayley\"",
        loc);
  if (!trivializes)
    return;
  const NoGradGuard guard;
  const Tensor q = tall(weight.detach(loc), loc);
  const int64_t n = q.size(-2, loc), k = q.size(-1, loc);
  if (n == k) {
    base_ = register_buffer("base", isOrthogonal(q, loc) ? q.clone(loc) : orthogonalFactor(q, loc), loc);
    return;
  }
  Shape rest = q.sizes(loc);
  rest.back() = n - k;
  const Tensor others = randn(rest, {.dtype = q.dtype(loc), .device = q.device(loc)}, loc);
  base_ = register_buffer("base", orthogonalFactor(cat({q, others}, -1, loc), loc), loc);
}

Tensor Orthogonal::right_inverse(const Tensor &weight) const {
  if (!base_.defined())
    return weight;
  const Tensor zero = zeros_like(weight, loc_);
  return zero - eye(weight.size(-2, loc_), weight.size(-1, loc_),
                    {.dtype = weight.dtype(loc_), .device = weight.device(loc_)}, loc_);
}

Tensor Orthogonal::operator()(const Tensor &given) const {
  const bool turned = given.size(-2, loc_) < given.size(-1, loc_);
  Tensor x = tall(given, loc_), q;
  const int64_t n = x.size(-2, loc_), k = x.size(-1, loc_);
  const TensorOptions options{.dtype = x.dtype(loc_), .device = x.device(loc_)};
  if (map_ == "householder") {
    const Tensor a = x.tril(-1, loc_);
    const Tensor tau = 2 / (1 + (a * a).sum({-2}, false, loc_));
    const Tensor signs = x.detach(loc_).diagonal(0, -2, -1, loc_).trunc(loc_).unsqueeze(-2, loc_);
    q = linalg::householder_product(a, tau, loc_) * signs;
  } else {
    x = x.tril(0, loc_);
    if (n != k) {
      Shape rest = x.sizes(loc_);
      rest.back() = n - k;
      x = cat({x, zeros(rest, options, loc_)}, -1, loc_);
    }
    const Tensor a = x - x.transpose(-2, -1, loc_);
    const Tensor id = eye(n, {}, options, loc_);
    q = map_ == "cayley" ? linalg::solve(id - a * 0.5, id + a * 0.5, true, loc_) : matrix_exp(a, loc_);
    if (n != k)
      q = q.narrow(-1, 0, k, loc_);
  }
  if (base_.defined())
    q = matmul(base_, q, loc_);
  return turned ? q.transpose(-2, -1, loc_) : q;
}

} // namespace detail
} // namespace weft::nn
