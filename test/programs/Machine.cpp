//===- Machine.cpp - Runs programs of the interface -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include "Functions.h"
#include "Networks.h"

#include "weft/weft.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

namespace weft::programs {

namespace {
/// What the machine knows of a variable beside its tensor: which variables are one tensor, views of one, or
/// the gradient of one.
struct Identity {
  int tensor = 0, base = 0, gradientOf = 0;
  bool leaf = false;
};

class Machine {
public:
  Machine(const Program &program, Mode mode, Defect defect, bool records = false)
      : program_(program), mode_(mode), defect_(mode == Mode::lazy ? defect : Defect::none),
        records_(records), networks_(program) {}

  std::optional<Outcome> run();

private:
  void runAll(const std::vector<Instruction> &list);
  void runLast(const std::function<void()> &action);
  void runProgram();
  void runLoop();
  void execute(const Instruction &in);
  void compute(const Instruction &in);
  void write(const Instruction &in);
  void differentiate(const Instruction &in);
  void set(int d, Tensor value, Identity identity = {});
  void show(const Tensor &tensor, int variable = -1);
  void note(std::string error);
  std::string state() const;
  bool isHeld(int tensor) const;
  Tensor data(int64_t i) const;
  void useNetworks(const Instruction &in);
  void forget();
  std::optional<Outcome> runCompiled();

  const Program &program_;
  const Mode mode_;
  const Defect defect_;
  const bool records_;
  Networks networks_;
  std::array<Tensor, variables> t_;
  std::array<Identity, variables> identity_;
  std::map<int, int> gradients_; ///< of the tensor: the identity of its gradient
  int lastIdentity_ = 0;
  std::vector<Tensor> kept_;
  std::unique_ptr<NoGradGuard> guard_;
  bool wasRead_ = false; ///< something, since the last backward()
  std::vector<Tensor> inputs_, shown_;
  std::string shownNow_; ///< by the instruction under way
  Outcome outcome_;
};

/// The bits of each element as a hexadecimal number, so that -0 differs from 0.
std::vector<uint64_t> bitsOf(const Tensor &tensor) {
  const std::vector<std::byte> bytes = tensor.to_bytes();
  const size_t width = itemsize(tensor.dtype());
  std::vector<uint64_t> bits(bytes.size() / width);
  for (size_t i = 0; i < bits.size(); ++i)
    std::memcpy(&bits[i], &bytes[i * width], width);
  return bits;
}

bool isNan(DType dtype, uint64_t bits) {
  switch (dtype) {
  case DType::f16:
    return (bits & 0x7fff) > 0x7c00;
  case DType::bf16:
    return (bits & 0x7fff) > 0x7f80;
  case DType::f32:
    return (bits & 0x7fffffff) > 0x7f800000;
  case DType::f64:
    return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  default:
    return false;
  }
}

std::string hex(DType dtype, uint64_t bits) {
  char number[24];
  std::snprintf(number, sizeof number, " %0*llx", static_cast<int>(2 * itemsize(dtype)),
                static_cast<unsigned long long>(bits));
  return number;
}

/// One NaN is like another.
std::string textOf(const Tensor &tensor) {
  const DType dtype = tensor.dtype();
  std::string text = "[" + std::string(dtype == f32 ? "" : name(dtype)) + " ";
  for (int64_t n : tensor.sizes())
    text += std::to_string(n) + " ";
  text += "]";
  for (uint64_t bits : bitsOf(tensor)) {
    if (dtype == f32 && !isNan(dtype, bits)) {
      float value;
      std::memcpy(&value, &bits, sizeof value);
      char number[24];
      std::snprintf(number, sizeof number, " %g:", static_cast<double>(value));
      text += number;
    }
    text += isNan(dtype, bits) ? " nan" : hex(dtype, bits);
  }
  return text;
}

/// "f32[4,4]", with `g` where it requires a gradient.
std::string typeOf(const Tensor &tensor) {
  std::string text(name(tensor.dtype()));
  text += "[";
  for (int64_t n : tensor.sizes())
    text += (text.back() == '[' ? "" : ",") + std::to_string(n);
  return text + "]" + (tensor.requires_grad() ? "g" : "");
}

/// The type and, as hexadecimal numbers, the bits of the elements.
std::string describe(const Tensor &tensor) {
  std::string text = typeOf(tensor);
  for (uint64_t bits : bitsOf(tensor))
    text += hex(tensor.dtype(), bits);
  return text;
}

Tensor Machine::data(int64_t i) const {
  if (mode_ == Mode::compiled)
    return inputs_[static_cast<size_t>(i)].clone();
  return Tensor::from(dataOf(i), {size, size});
}

/// The data in a dtype: integers are eight times as large, bools say what is positive.
static Tensor typed(const Tensor &data, const Instruction &in) {
  const DType dtype = *parse_dtype(dtypes[in.type]);
  return dtype == i1 ? data > 0 : is_floating_point(dtype) ? data.to(dtype) : (data * 8).to(dtype);
}

bool Machine::isHeld(int tensor) const {
  return std::any_of(identity_.begin(), identity_.end(),
                     [&](const Identity &identity) { return identity.tensor == tensor; });
}

void Machine::set(int d, Tensor value, Identity identity) {
  if (!identity.tensor)
    identity.tensor = ++lastIdentity_;
  if (!identity.base)
    identity.base = identity.tensor;
  const auto at = static_cast<size_t>(d);
  t_[at] = std::move(value);
  identity_[at] = t_[at].defined() ? identity : Identity();
}

void Machine::show(const Tensor &tensor, int variable) {
  if (!tensor.defined()) {
    outcome_.lines.emplace_back("none");
    shownNow_ = "none";
    return;
  }
  if (mode_ == Mode::compiled) {
    shown_.push_back(tensor.detach().clone());
    outcome_.lines.emplace_back();
    return;
  }
  const Identity identity = variable < 0 ? Identity() : identity_[static_cast<size_t>(variable)];
  const bool isLost =
      defect_ == Defect::lostGradient && wasRead_ && identity.gradientOf && !isHeld(identity.gradientOf);
  outcome_.lines.push_back(textOf(isLost ? zeros(tensor.sizes()) : tensor));
  if (records_)
    shownNow_ = describe(tensor);
  wasRead_ = true;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void Machine::compute(const Instruction &in) {
  const Tensor &a = t_[static_cast<size_t>(in.a)], &b = t_[static_cast<size_t>(in.b)];
  const Identity from = identity_[static_cast<size_t>(in.a)];
  const Identity view{.base = from.base};
  switch (in.op) {
  case Op::make:
    return set(in.d, data(in.i));
  case Op::fill:
    return set(in.d, full({size, size}, in.number));
  case Op::row:
    return set(in.d, a[in.i], view);
  case Op::transpose:
    return set(in.d, a.t(), view);
  case Op::part:
    return set(in.d, a.narrow(0, in.i, 2), view);
  case Op::detach:
    return set(in.d, a.detach(), view);
  case Op::alias:
    return set(in.d, a, from);
  case Op::clone:
    return set(in.d, a.clone());
  case Op::unary:
    return set(in.d, in.i == 0 ? tanh(a) : in.i == 1 ? sin(a) : in.i == 2 ? exp(a) : abs(a));
  case Op::scale:
    return set(in.d, a * in.number);
  case Op::add:
    return set(in.d, a + b);
  case Op::mul:
    return set(in.d, a * b);
  case Op::matmul:
    return set(in.d, matmul(a, b));
  case Op::sum:
    return set(in.d, a.sum());
  case Op::pick:
    return set(in.d, a.index_select(0, Tensor::from(std::vector<int64_t>{in.i % a.size(0)}, {1})));
  case Op::typed:
    return set(in.d, typed(data(in.i), in));
  default:
    return set(in.d, programs::compute(in, a, b, in.op == Op::select ? t_[static_cast<size_t>(in.c)] : a));
  }
}

void Machine::write(const Instruction &in) {
  Tensor &a = t_[static_cast<size_t>(in.a)];
  const Tensor &b = t_[static_cast<size_t>(in.b)];
  if (defect_ == Defect::staleView && in.op == Op::addInPlace) {
    a = a + b;
    return;
  }
  switch (in.op) {
  case Op::addInPlace:
    a += b;
    return;
  case Op::scaleInPlace:
    a *= in.number;
    return;
  case Op::fillInPlace:
    a.fill_(in.number);
    return;
  case Op::copyInPlace:
    a.copy_(b);
    return;
  case Op::writeRow:
    a[in.i] = in.number;
    return;
  default:
    programs::write(in, a, b);
  }
}

void Machine::useNetworks(const Instruction &in) {
  Tensor value = networks_.execute(in, t_[static_cast<size_t>(in.a)]);
  if (in.op == Op::parameter) {
    // The same tensor whenever it is asked for.
    const int identity = -1 - networks_.numberOf(in);
    return set(in.d, value, {.tensor = identity, .leaf = value.requires_grad()});
  }
  if (value.defined())
    set(in.d, value);
}

void Machine::differentiate(const Instruction &in) {
  Tensor &a = t_[static_cast<size_t>(in.a)];
  Identity &identity = identity_[static_cast<size_t>(in.a)];
  switch (in.op) {
  case Op::leaf:
    a.requires_grad_(in.i != 0);
    for (Identity &other : identity_)
      if (other.tensor == identity.tensor)
        other.leaf = in.i != 0;
    return;
  case Op::backward:
    (a * a.detach()).sum().backward();
    wasRead_ = false;
    return;
  case Op::gradient: {
    const Tensor gradient = a.grad();
    int &own = gradients_[identity.tensor];
    if (!own)
      own = ++lastIdentity_;
    return set(in.d, gradient, {.tensor = own, .gradientOf = identity.tensor});
  }
  case Op::gradOf:
    return set(in.d, grad(t_[static_cast<size_t>(in.b)].sum(), {a})[0]);
  default: // clearGrad
    a.set_grad({});
    gradients_.erase(identity.tensor);
  }
}

void Machine::execute(const Instruction &in) {
  switch (in.op) {
  case Op::drop:
    return set(in.a, {});
  case Op::keep:
    kept_.push_back(t_[static_cast<size_t>(in.a)]);
    return;
  case Op::read:
    return show(t_[static_cast<size_t>(in.a)], in.a);
  case Op::fail: {
    const Tensor index = Tensor::from(std::vector<int64_t>{size}, {1});
    return show(t_[static_cast<size_t>(in.a)].index_select(0, index));
  }
  case Op::noGrad:
    guard_.reset();
    if (in.i && defect_ != Defect::leakingGuard)
      guard_ = std::make_unique<NoGradGuard>();
    return;
  case Op::addInPlace:
  case Op::scaleInPlace:
  case Op::fillInPlace:
  case Op::copyInPlace:
  case Op::writeRow:
  case Op::binaryInPlace:
  case Op::numberInPlace:
  case Op::maskedFill:
    return write(in);
  case Op::leaf:
  case Op::backward:
  case Op::gradient:
  case Op::gradOf:
  case Op::clearGrad:
    return differentiate(in);
  case Op::call:
  case Op::parameter:
  case Op::train:
  case Op::freeze:
  case Op::clip:
  case Op::step:
  case Op::zeroGrad:
    return useNetworks(in);
  default:
    return compute(in);
  }
}

void Machine::runAll(const std::vector<Instruction> &list) {
  for (const Instruction &in : list) {
    std::string error;
    try {
      execute(in);
    } catch (const Error &thrown) {
      outcome_.lines.emplace_back("error");
      outcome_.refused.insert(&in);
      error = thrown.what();
    }
    if (mode_ == Mode::eager)
      synchronize();
    note(std::move(error));
  }
}

/// Something that is shown at the end, whether or not it can be.
void Machine::runLast(const std::function<void()> &action) {
  std::string error;
  try {
    action();
  } catch (const Error &thrown) {
    outcome_.lines.emplace_back("error");
    error = thrown.what();
  }
  note(std::move(error));
}

void Machine::note(std::string error) {
  if (!records_)
    return;
  Step step{std::exchange(shownNow_, ""), error.substr(0, error.find('\n')), ""};
  // Asking for a type makes the value of a view: half of the programs are not asked.
  if (program_.seed % 2)
    for (const Tensor &tensor : t_)
      step.variables +=
          (tensor.defined() ? typeOf(tensor) + (tensor.grad().defined() ? "d" : "") : "-") + " ";
  outcome_.steps.push_back(std::move(step));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// What an iteration finds: where two find the same, they record the same. Empty where the graph of gradients
/// grows from one iteration to the next.
std::string Machine::state() const {
  std::map<int, int> numbers; // identities in the order in which they are met
  const auto number = [&](int identity) {
    return std::to_string(numbers.try_emplace(identity, static_cast<int>(numbers.size())).first->second);
  };
  std::string text = (guard_ ? "off" : "on") + networks_.signature();
  for (size_t v = 0; v < t_.size(); ++v) {
    const Tensor &tensor = t_[v];
    if (!tensor.defined()) {
      text += " -";
      continue;
    }
    const Identity &identity = identity_[v];
    if (tensor.requires_grad() && !identity.leaf)
      return "";
    text += " " + number(identity.tensor) + "/" + number(identity.base) + "/" + number(identity.gradientOf) +
            (tensor.requires_grad() ? "g" : "") + (tensor.grad().defined() ? "d" : "") +
            std::string(name(tensor.dtype()));
    for (int64_t n : tensor.sizes())
      text += "x" + std::to_string(n);
    for (int64_t n : tensor.strides())
      text += ":" + std::to_string(n);
  }
  return text;
}

void Machine::runLoop() {
  std::vector<std::string> states;
  std::vector<uint64_t> compiles;
  for (int64_t i = 0; i < program_.iterations; ++i) {
    if (mode_ == Mode::lazy) {
      states.push_back(state());
      compiles.push_back(compile_count());
    }
    runAll(program_.body);
    if (defect_ == Defect::compilesForEver) {
      static int64_t fresh = 0;
      (full({++fresh}, 2) * 3).to_vector<float>();
    }
  }
  if (states.empty() || states.back().empty())
    return;
  size_t first = states.size();
  while (first > 0 && states[first - 1] == states.back())
    --first;
  if (first + 2 >= states.size())
    return;
  outcome_.hasSteadyLoop = true;
  outcome_.lateCompiles = compile_count() - compiles[first + 2];
}

void Machine::runProgram() {
  runAll(program_.before);
  runLoop();
  runAll(program_.after);
  guard_.reset();
  // In the end, everything that is still there, the last first.
  for (size_t v = t_.size(); v-- > 0;) {
    runLast([&] { show(t_[v], static_cast<int>(v)); });
    if (!t_[v].defined())
      continue;
    runLast([&] { show(t_[v].grad()); });
    outcome_.lines.emplace_back(t_[v].requires_grad() ? "requires a gradient" : "requires none");
  }
  for (const Tensor &tensor : kept_)
    runLast([&] { show(tensor); });
  // A compiled function may not leave them without.
  networks_.requireGradients();
}

/// What a call of the program leaves behind; modules and optimisers stay.
void Machine::forget() {
  guard_.reset();
  t_ = {};
  identity_ = {};
  gradients_.clear();
  kept_.clear();
}

std::optional<Outcome> Machine::run() {
  if (mode_ == Mode::compiled)
    return runCompiled();
  for (int64_t call = 0; call < program_.calls; ++call) {
    runProgram();
    forget();
  }
  for (const Tensor &tensor : networks_.state()) {
    runLast([&] { show(tensor); });
    runLast([&] { show(tensor.grad()); });
  }
  return std::move(outcome_);
}

std::optional<Outcome> Machine::runCompiled() {
  for (int64_t i = 0; i < size; ++i)
    inputs_.push_back(Tensor::from(dataOf(i), {size, size}));
  const std::vector<Tensor> given = inputs_;
  std::vector<std::string> lines;
  try {
    auto function = compile([&](std::vector<Tensor> inputs) {
      inputs_ = std::move(inputs);
      runProgram();
      // What was made in the trace ends with it.
      forget();
      return std::exchange(shown_, {});
    });
    for (int64_t call = 0; call < program_.calls; ++call)
      for (const Tensor &result : function(std::vector<Tensor>(given)))
        lines.push_back(textOf(result));
  } catch (const Error &) {
    return std::nullopt;
  }
  if (std::find(outcome_.lines.begin(), outcome_.lines.end(), "error") != outcome_.lines.end())
    return std::nullopt;
  for (const Tensor &tensor : networks_.state())
    for (const Tensor &value : {tensor, tensor.grad()})
      if (value.defined())
        lines.push_back(textOf(value));
  outcome_.lines = std::move(lines);
  return std::move(outcome_);
}
} // namespace

std::optional<Outcome> run(const Program &program, Mode mode, Defect defect) {
  return Machine(program, mode, defect).run();
}

Outcome record(const Program &program) {
  return *Machine(program, Mode::lazy, Defect::none, /*records=*/true).run();
}

/// Where two outcomes differ first.
static std::string difference(const Outcome &expected, const Outcome &found, const char *what) {
  const size_t count = std::max(expected.lines.size(), found.lines.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string a = i < expected.lines.size() ? expected.lines[i] : "nothing",
                      b = i < found.lines.size() ? found.lines[i] : "nothing";
    if (a != b)
      return "what is shown " + std::to_string(i + 1) + "th\n  computed at every step: " + a + "\n  " + what +
             ": " + b + "\n";
  }
  return "";
}

/// The program without these instructions.
static Program without(const Program &program, const std::set<const Instruction *> &left) {
  Program less = program;
  for (auto part : {&Program::before, &Program::body, &Program::after}) {
    (less.*part).clear();
    for (const Instruction &in : program.*part)
      if (!left.contains(&in))
        (less.*part).push_back(in);
  }
  return less;
}

std::string check(const Program &program, Statistics &statistics, Defect defect) {
  const Outcome eager = *run(program, Mode::eager), lazy = *run(program, Mode::lazy, defect);
  statistics.shown += eager.lines.size();
  statistics.steady += lazy.hasSteadyLoop;
  if (std::string text = difference(eager, lazy, "computed when it is read"); !text.empty())
    return text;
  if (lazy.lateCompiles > 0)
    return "a steady loop compiled " + std::to_string(lazy.lateCompiles) +
           " programs after its second iteration\n";
  // A compiled function is the program without what was refused, and did nothing.
  const Program accepted = without(program, eager.refused);
  const Outcome expected = *run(accepted, Mode::eager);
  const std::optional<Outcome> compiled =
      expected.refused.empty() ? run(accepted, Mode::compiled) : std::nullopt;
  if (!compiled)
    return "";
  ++statistics.compiled;
  // It returns values only, and not what is none.
  Outcome values;
  std::copy_if(expected.lines.begin(), expected.lines.end(), std::back_inserter(values.lines),
               [](const std::string &line) { return line.starts_with("["); });
  return difference(values, *compiled, "compiled");
}

Program shrink(Program program, Defect defect) {
  Statistics ignored;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (int64_t Program::*times : {&Program::calls, &Program::iterations}) {
      Program less = program;
      less.*times = 1;
      if (program.*times == 1 || check(less, ignored, defect).empty())
        continue;
      program = std::move(less);
      smaller = true;
    }
    for (auto part : {&Program::before, &Program::body, &Program::after})
      for (size_t i = (program.*part).size(); i-- > 0;) {
        Program less = program;
        (less.*part).erase((less.*part).begin() + static_cast<std::ptrdiff_t>(i));
        if (check(less, ignored, defect).empty())
          continue;
        program = std::move(less);
        smaller = true;
      }
  }
  return program;
}

} // namespace weft::programs
