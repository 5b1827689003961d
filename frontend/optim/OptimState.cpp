//===- OptimState.cpp - The state of optimisers ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/optim/OptimState.h"

#include "frontend/graph/Devices.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/HostConvert.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/State.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_set>

namespace weft::optim::detail {

using namespace frontend;

std::shared_ptr<OptimizerState> OptimizerState::make(const char *kind) {
  auto state = std::make_shared<OptimizerState>();
  state->kind = kind;
  return state;
}

void OptimizerState::addGroup(std::shared_ptr<Rule> rule, std::vector<Tensor> parameters,
                              std::initializer_list<std::pair<const char *, double>> numbers, Loc loc) {
  for (const auto &[name, value] : numbers)
    checkNumber(name, value, loc);
  for (const auto &[name, value] : numbers)
    checkRule(*rule, name, value, loc);
  GraphLock lock(graphMutex());
  refuseInTrace("add_param_group", loc);
  if (parameters.empty())
    fail("optimizer got an empty parameter list: has the module its parts by register_module(), and its own "
         "parameters by register_parameter()? A member that is not registered is not among parameters()",
         loc);
  std::unordered_set<const Slot *> known;
  std::unordered_set<std::string> names;
  for (const Member &member : members) {
    known.insert(Access::slot(member.parameter).get());
    names.insert(member.name);
  }
  for (const Tensor &parameter : parameters) {
    if (!parameter.defined() || !is_floating_point(parameter.dtype()))
      fail("an optimiser updates floating-point tensors, found " +
               (parameter.defined() ? std::string(name(parameter.dtype())) : "an undefined tensor"),
           loc);
    // It is computed from other tensors, so it collects no gradient.
    if (Ref value = use(parameter, loc); value.node->requiresGrad && !value.node->leafSlot(value.result))
      fail("can't optimize a non-leaf Tensor: the parameter of shape " + shapeText(value.spec().shape) +
               " is the result of an operation; give the optimiser what it was computed from, or "
               ".detach().clone().requires_grad_()",
           loc, {value});
    if (const auto &slot = Access::slot(parameter); !known.insert(slot.get()).second)
      fail("some parameters appear in more than one parameter group, or twice in one: " + nameOf(*slot) +
               ", of shape " + shapeText(parameter.sizes()),
           loc);
  }
  size_t number = groups.size();
  Group group{std::move(rule), {}};
  for (auto [name, value] : numbers) {
    Tensor tensor = Tensor::from(&value, Shape{}, onHost(), loc);
    Access::slot(tensor)->name = kind + (number ? ".group" + std::to_string(number) : "") + "." + name;
    group.numbers.push_back({name, value, tensor});
  }
  groups.push_back(std::move(group));
  for (Tensor &parameter : parameters) {
    std::string name = Access::slot(parameter)->name;
    if (name.empty() || !names.insert(name).second)
      names.insert(name = "param" + std::to_string(members.size()));
    Access::slot(parameter)->optimized = true;
    Access::slot(parameter)->optimizer = self;
    ++changes;
    members.push_back({std::move(parameter), std::move(name), number, nullptr, {}});
  }
}

//===----------------------------------------------------------------------===//
// Making state
//===----------------------------------------------------------------------===//

/// State that a step makes, before it is state of the program. Another thread sees the members from before.
class OptimizerState::Draft final : public TraceDraft {
public:
  explicit Draft(OptimizerState &state)
      : state_(state.shared_from_this()), hidden_(state.members), changes_(state.changes) {}
  ~Draft() override {
    for (Replaced &replaced : replaced_)
      replaced.slot->close(replaced.hidden);
  }
  /// Called before something changes.
  void use() { isUsed_ = true; }
  bool isUsed() const { return isUsed_; }
  /// Gives a slot another value.
  void replace(const std::shared_ptr<Slot> &slot, Ref value) {
    isUsed_ = true;
    replaced_.push_back({slot, {}});
    SlotState &hidden = replaced_.back().hidden;
    try {
      hidden.grad = slot->grad;
      slot->open(hidden, std::move(value));
    } catch (...) {
      replaced_.pop_back();
      throw;
    }
    slot->exchange(hidden);
  }
  /// Notes that a count goes on with what another one has when this is published.
  void follow(const std::shared_ptr<Slot> &count, const std::shared_ptr<Slot> &before) {
    following_.emplace_back(count, before);
  }
  void exchange() noexcept override {
    std::swap(state_->members, hidden_);
    for (Replaced &replaced : replaced_)
      replaced.slot->exchange(replaced.hidden);
  }
  bool isOutdated() const override { return isUsed_ && changes_ != state_->changes; }
  void prepare() override {
    for (const auto &[count, before] : following_)
      count->setValue(before->value());
    for (const Replaced &replaced : replaced_)
      replaced.slot->cutViews(); // its type changes
  }
  void publish() noexcept override {
    if (!isUsed_) // the members of the other side are as they were, or newer
      return;
    exchange();
    ++state_->changes;
  }

private:
  struct Replaced {
    std::shared_ptr<Slot> slot;
    SlotState hidden;
  };
  const std::shared_ptr<OptimizerState> state_;
  std::vector<Member> hidden_; ///< the members of the other side
  std::vector<Replaced> replaced_;
  std::vector<std::pair<std::shared_ptr<Slot>, std::shared_ptr<Slot>>> following_;
  const uint64_t changes_; ///< when it was made
  bool isUsed_ = false;
};

std::shared_ptr<Counter> OptimizerState::makeCounter(int64_t value, Device device, Loc loc) {
  SuspendTrace suspend;
  auto counter = std::make_shared<Counter>();
  counter->steps = Tensor::from(&value, Shape{}, {.device = device}, loc);
  Access::slot(counter->steps)->name = kind + ".step";
  return counter;
}

/// Equal elements in memory. As constants they would make the program of the first step differ from that of
/// the next one.
static Tensor equalInMemory(const Spec &spec, double value, Loc loc) {
  if (!isThere(spec.device))
    return full(spec.shape, value, {.dtype = spec.dtype, .device = spec.device}, loc);
  auto buffer = allocateTensor(spec.device, spec.bytes(), loc);
  const auto fill = [&](std::byte *bytes) {
    const auto size = static_cast<size_t>(itemsize(spec.dtype));
    std::byte element[8] = {};
    convertElements(DType::f64, &value, spec.dtype, element, 1);
    for (size_t at = 0; value != 0 && at + size <= spec.bytes(); at += size)
      std::memcpy(bytes + at, element, size);
  };
  if (buffer->device().is_host()) {
    if (spec.bytes() > 0)
      std::memset(buffer->data(), 0, spec.bytes());
    fill(static_cast<std::byte *>(static_cast<void *>(buffer->data())));
  } else {
    std::vector<std::byte> bytes(spec.bytes());
    fill(bytes.data());
    fillBuffer(*buffer, bytes.data(), bytes.size(), loc);
  }
  return wrap(leaf(spec, std::move(buffer), loc), loc);
}

void OptimizerState::makePieces(Member &member) {
  SuspendTrace suspend;
  const auto &slot = Access::slot(member.parameter);
  const Spec spec = slot->spec();
  std::vector<Piece> pieces; // added all at once, or not at all if memory runs out
  for (const PieceKind &piece : groups[member.group].rule->piecesOf(spec.shape)) {
    Spec own = spec;
    own.shape = piece.shapeFor(spec.shape);
    own.dtype = piece.isNumber ? DType::f32 : spec.dtype;
    Tensor tensor = equalInMemory(own, groups[member.group].initialOf(piece), slot->loc);
    Access::slot(tensor)->name = kind + "." + member.name + "." + piece.name;
    pieces.push_back({piece, tensor});
  }
  member.pieces = std::move(pieces);
}

/// A value of another type than a count has. It makes every compiled function that uses the count compile
/// again, since the type is part of their guards.
static Ref retired(const Tensor &steps) {
  const auto &slot = Access::slot(steps);
  const Device device = steps.device();
  // Nothing reads it: where the device is not there, memory of the host is as good.
  auto buffer = allocateOn(isThere(device) ? device : Device(), 0, slot->loc);
  return leaf(Spec{DType::i64, {0}, device}, std::move(buffer), slot->loc);
}

void OptimizerState::splitCounter(const std::vector<Member *> &taking, const std::vector<Member *> &rest,
                                  Draft &draft, Loc loc) {
  Tensor old = taking[0]->counter->steps;
  const auto &slot = Access::slot(old);
  Ref before = slot->value();
  if (before.node->trace)
    fail("this is the second step of the optimiser in one compiled function, and other parameters have a "
         "gradient than at the first: compile the two steps as two functions",
         loc);
  SuspendTrace suspend;
  draft.use();
  for (const auto *part : {&taking, &rest}) {
    auto counter = std::make_shared<Counter>();
    counter->steps = wrap(before, slot->loc);
    Access::slot(counter->steps)->name = slot->name;
    draft.follow(Access::slot(counter->steps), slot);
    for (Member *member : *part)
      member->counter = counter;
  }
  draft.replace(slot, retired(old));
}

void OptimizerState::checkPlacement(const Member &member, Loc loc) const {
  const Spec &own = Access::slot(member.parameter)->spec();
  for (const Piece &piece : member.pieces) {
    const Spec &spec = Access::slot(piece.tensor)->spec();
    if (spec.device != own.device)
      fail("the state of the optimiser for '" + member.name + "' is on " + spec.device.str() +
               ", where the parameter was when it was made, and the parameter is on " + own.device.str() +
               " now (WEFT-O003)\n  to fix, move the optimiser too: optimizer.to(\"" + own.device.str() +
               "\")",
           loc, {}, "WEFT-O003");
    if (spec.dtype != own.dtype && !piece.kind.isNumber)
      fail("the state of the optimiser for '" + member.name + "' is " + std::string(name(spec.dtype)) +
               " and the parameter is " + std::string(name(own.dtype)) +
               " now (WEFT-O003)\n  to fix, convert the optimiser too: optimizer.to(weft::" +
               std::string(name(own.dtype)) + ")",
           loc, {}, "WEFT-O003");
  }
}

void OptimizerState::prepare(const std::vector<Member *> &stepping, Loc loc) {
  Trace *trace = Trace::current();
  // If all members step and have their state, where they are, nothing is made.
  const auto hasState = [](const Member *member) { return member->counter != nullptr; };
  if (stepping.size() == members.size() && std::all_of(stepping.begin(), stepping.end(), hasState)) {
    for (const Member *member : stepping)
      checkPlacement(*member, loc);
    return;
  }
  if (trace) {
    if (!trace->draftOf(this))
      trace->addDraft(this, std::make_unique<Draft>(*this));
    makeState(stepping, static_cast<Draft &>(*trace->draftOf(this)), loc);
    return;
  }
  Draft draft(*this);
  try {
    makeState(stepping, draft, loc);
  } catch (...) {
    draft.exchange();
    throw;
  }
  if (!draft.isUsed()) // and `stepping` are members of this side
    return;
  draft.exchange();
  draft.prepare();
  draft.publish();
}

void OptimizerState::splitCounters(const std::vector<Member *> &stepping, Draft &draft, Loc loc) {
  std::unordered_set<const Member *> steps(stepping.begin(), stepping.end());
  // For each count: the members that share it and step, and those that share it and do not.
  std::vector<std::pair<const Counter *, std::pair<std::vector<Member *>, std::vector<Member *>>>> shared;
  for (Member &member : members) {
    if (!member.counter)
      continue;
    auto it = std::find_if(shared.begin(), shared.end(),
                           [&](const auto &entry) { return entry.first == member.counter.get(); });
    if (it == shared.end())
      it = shared.insert(shared.end(), {member.counter.get(), {}});
    (steps.contains(&member) ? it->second.first : it->second.second).push_back(&member);
  }
  for (auto &[counter, parts] : shared)
    if (!parts.first.empty() && !parts.second.empty())
      splitCounter(parts.first, parts.second, draft, loc);
}

void OptimizerState::makeState(const std::vector<Member *> &stepping, Draft &draft, Loc loc) {
  splitCounters(stepping, draft, loc);
  std::map<size_t, std::shared_ptr<Counter>> fresh;
  std::map<size_t, Device> devices;
  for (Member *member : stepping) {
    Device device = member->parameter.device();
    auto [known, first] = devices.emplace(member->group, device);
    if (!first && known->second != device)
      fail("Expected all tensors to be on the same device, but found at least two devices, " +
               known->second.str() + " and " + device.str() + "! (WEFT-P001)\n  in parameter group " +
               std::to_string(member->group) + " of the optimiser: make one group for each device",
           loc, {}, "WEFT-P001");
    checkPlacement(*member, loc);
    if (!member->counter) {
      std::shared_ptr<Counter> &counter = fresh[member->group];
      if (!counter)
        counter = makeCounter(0, device, loc);
      draft.use();
      // A member with a count has its pieces.
      if (member->pieces.empty())
        makePieces(*member);
      member->counter = counter;
    } else if (member->pieces.empty() &&
               !groups[member->group].rule->piecesOf(member->parameter.sizes()).empty()) {
      draft.use();
      makePieces(*member);
    }
  }
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

std::vector<Ref> OpRule::record(const Member &member, const Tensor &gradient, const Group &group,
                                Loc loc) const {
  std::vector<Ref> operands{use(member.parameter, loc), use(gradient, loc)};
  for (const Piece &piece : member.pieces)
    operands.push_back(use(piece.tensor, loc));
  operands.push_back(use(member.counter->steps, loc));
  for (const Hyperparameter &number : group.numbers)
    operands.push_back(use(number.tensor, loc));
  auto node = frontend::record(op(), std::move(operands), attributes(), loc);
  std::vector<Ref> values;
  for (size_t i = 0; i <= member.pieces.size(); ++i)
    values.push_back({node, static_cast<uint32_t>(i)});
  return values;
}

std::vector<OptimizerState::Written> OptimizerState::record(Loc loc) {
  std::vector<Member *> stepping;
  std::vector<Tensor> gradients;
  for (Member &member : members)
    if (Tensor gradient = member.parameter.grad(); gradient.defined()) {
      stepping.push_back(&member);
      gradients.push_back(gradient);
    }
  if (stepping.empty())
    return {};
  prepare(stepping, loc);
  // All updates are recorded before the first write, so that an error changes nothing.
  std::vector<std::pair<Tensor, Ref>> updates;
  for (size_t i = 0; i < stepping.size(); ++i) {
    Member &member = *stepping[i];
    std::vector<Ref> values =
        groups[member.group].rule->record(member, gradients[i], groups[member.group], loc);
    updates.emplace_back(member.parameter, std::move(values[0]));
    for (size_t p = 0; p < member.pieces.size(); ++p)
      updates.emplace_back(member.pieces[p].tensor, std::move(values[p + 1]));
  }
  std::unordered_set<const Counter *> advanced;
  for (Member *member : stepping)
    if (advanced.insert(member->counter.get()).second) {
      const Tensor &steps = member->counter->steps;
      updates.emplace_back(steps, use(add({steps, loc}, {1, loc}), loc));
    }
  std::vector<Written> written;
  for (auto &[tensor, value] : updates) {
    const auto &slot = Access::slot(tensor);
    std::shared_ptr<Slot> storage = slot->storage();
    written.push_back({storage, storage->value()});
    assign(slot, std::move(value));
  }
  return written;
}

//===----------------------------------------------------------------------===//
// Saving and loading
//===----------------------------------------------------------------------===//

static std::string numberName(size_t group, const char *name) {
  return "group" + std::to_string(group) + "." + name;
}

StateDict OptimizerState::save() const {
  StateDict dict;
  for (const Member &member : members) {
    if (!member.counter)
      continue;
    dict.emplace_back(member.name + ".step", member.counter->steps);
    for (const Piece &piece : member.pieces)
      dict.emplace_back(member.name + "." + piece.kind.name, piece.tensor);
  }
  for (size_t i = 0; i < groups.size(); ++i)
    for (const Hyperparameter &number : groups[i].numbers)
      dict.emplace_back(numberName(i, number.name), number.tensor);
  return dict;
}

std::vector<std::string> OptimizerState::check(const StateDict &state) const {
  StateIndex index(state);
  std::unordered_set<std::string> expected;
  std::vector<std::string> complaints;
  auto complain = [&](std::string text) {
    if (!text.empty())
      complaints.push_back(std::move(text));
  };
  for (size_t i = 0; i < groups.size(); ++i)
    for (const Hyperparameter &number : groups[i].numbers) {
      std::string name = numberName(i, number.name);
      const Tensor *found = index.find(name);
      expected.insert(name);
      complain(!found ? "missing: " + name : shapeComplaint(name, {}, found->sizes()));
      if (!found || found->numel() != 1)
        continue;
      // The range of the number, and what the group's formula permits.
      const double value = found->item<double>();
      std::string problem = rangeProblem(number.name, value);
      if (problem.empty())
        problem = groups[i].rule->refusal(number.name, value);
      if (!problem.empty())
        complain("invalid: " + name + ": " + problem);
    }
  for (const Member &member : members) {
    std::vector<std::pair<std::string, Shape>> own{{member.name + ".step", {}}};
    for (const PieceKind &piece : groups[member.group].rule->piecesOf(member.parameter.sizes()))
      own.emplace_back(member.name + "." + piece.name, piece.shapeFor(member.parameter.sizes()));
    bool any = std::any_of(own.begin(), own.end(), [&](const auto &e) { return index.find(e.first); });
    for (const auto &[name, shape] : own) {
      expected.insert(name);
      const Tensor *found = index.find(name);
      if (any)
        complain(!found ? "missing: " + name : shapeComplaint(name, shape, found->sizes()));
    }
  }
  for (const auto &[name, tensor] : state)
    if (!expected.contains(name))
      complain("unexpected: " + name);
  return complaints;
}

void OptimizerState::load(const StateDict &state, Loc loc) {
  StateIndex index(state);
  for (size_t i = 0; i < groups.size(); ++i)
    for (Hyperparameter &number : groups[i].numbers) {
      const Tensor &value = *index.find(numberName(i, number.name));
      number.value = value.item<double>();
      overwrite(number.tensor, value, loc);
    }
  ++changes;
  // Members that shared a count and load equal ones go on sharing it, so that nothing compiles again.
  struct Sharers {
    std::shared_ptr<Counter> before; ///< null if they had none; then only members of one group share
    size_t group;
    std::map<int64_t, std::vector<Member *>> byValue;
  };
  std::vector<Sharers> sharers; // in the order of the members
  for (Member &member : members) {
    const Tensor *steps = index.find(member.name + ".step");
    if (!steps && !member.counter)
      continue;
    auto it = std::find_if(sharers.begin(), sharers.end(), [&](const Sharers &s) {
      return s.before == member.counter && (s.before || s.group == member.group);
    });
    if (it == sharers.end())
      it = sharers.insert(sharers.end(), {member.counter, member.group, {}});
    it->byValue[steps ? steps->item<int64_t>() : 0].push_back(&member);
    if (member.pieces.empty())
      makePieces(member);
    for (Piece &piece : member.pieces) {
      const Tensor *value = index.find(member.name + "." + piece.kind.name);
      overwrite(piece.tensor,
                value ? *value : full_like(piece.tensor, groups[member.group].initialOf(piece.kind)), loc);
    }
  }
  for (Sharers &sharing : sharers) {
    if (sharing.before && sharing.byValue.size() == 1) {
      int64_t value = sharing.byValue.begin()->first;
      overwrite(sharing.before->steps, Tensor::from(&value, Shape{}, onHost(), loc), loc);
      continue;
    }
    if (sharing.before)
      Access::slot(sharing.before->steps)->setValue(retired(sharing.before->steps));
    for (auto &[value, group] : sharing.byValue) {
      const Tensor &parameter = group[0]->parameter;
      auto counter = makeCounter(value, parameter.device(), Access::slot(parameter)->loc);
      for (Member *member : group)
        member->counter = counter;
    }
  }
}

} // namespace weft::optim::detail
