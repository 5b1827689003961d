//===- StatefulExecutable.cpp - A compiled function with its state --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/StatefulExecutable.h"

#include "runtime/support/ArgumentError.h"

#include "runtime/plan/State.h"
#include "runtime/support/TensorText.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

namespace weft::runtime {
namespace {

std::string shape_text(DType dtype, std::span<const int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + std::string(name(dtype)) + ">";
}

/// The nearest bfloat16, or half with `half`, of a number; ties to even.
uint16_t narrow(float value, bool half) {
  if (half)
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// The number as one element, or an error where the type cannot hold it.
Expected<std::array<std::byte, 8>> element_of(DType dtype, double value) {
  std::array<std::byte, 8> bytes = {};
  const auto put = [&](auto element) {
    std::memcpy(bytes.data(), &element, sizeof element);
    return Expected<std::array<std::byte, 8>>(bytes);
  };
  const auto whole = [&](auto least) -> Expected<std::array<std::byte, 8>> {
    using Integer = decltype(least);
    // The bounds as doubles: the lower one is exact, the upper one is a power of two.
    const double low = static_cast<double>(std::numeric_limits<Integer>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
    if (!(value >= low && value < high) || std::floor(value) != value)
      return argument_error("the number " + std::to_string(value) + " is no " + std::string(name(dtype)));
    return put(static_cast<Integer>(value));
  };
  switch (dtype) {
  case DType::i1:
    return put(static_cast<uint8_t>(value != 0));
  case DType::i8:
    return whole(int8_t());
  case DType::i16:
    return whole(int16_t());
  case DType::i32:
    return whole(int32_t());
  case DType::i64:
    return whole(int64_t());
  case DType::ui8:
    return whole(uint8_t());
  case DType::f16:
    return put(narrow(static_cast<float>(value), true));
  case DType::bf16:
    return put(narrow(static_cast<float>(value), false));
  case DType::f32:
    return put(static_cast<float>(value));
  case DType::f64:
    return put(value);
  }
  return Status::error("unknown dtype");
}

} // namespace

std::vector<std::string> package_functions(const Package &package) {
  std::set<std::string> found;
  for (const std::string &section : package.names()) {
    const size_t dot = section.rfind('.');
    if (section.starts_with("plan.") && dot > 5)
      found.insert(section.substr(5, dot - 5));
  }
  return {found.begin(), found.end()};
}

Expected<std::shared_ptr<StatefulExecutable>> StatefulExecutable::load(std::shared_ptr<const Package> package,
                                                                       std::string_view function,
                                                                       std::string_view device_map) {
  if (const Expected<NamedDevices> named = parse_named_devices(device_map); !named)
    return named.status();
  const std::vector<std::string> functions = package_functions(*package);
  if (!std::ranges::binary_search(functions, function)) {
    std::string list;
    for (const std::string &name : functions)
      list += (list.empty() ? "'" : ", '") + name + "'";
    return Status::error("package '" + package->source() + "' has no function '" + std::string(function) +
                             "'; it has " + (list.empty() ? "none" : list),
                         "WEFT-L007");
  }
  const Expected<DeviceMap> devices = open_named_devices(*package, function, device_map);
  if (!devices)
    return devices.status();
  Expected<std::shared_ptr<Executable>> executable = Executable::load(package, function, nullptr, *devices);
  if (!executable)
    return executable.status();
  return make(*executable, *package);
}

Expected<std::shared_ptr<StatefulExecutable>> StatefulExecutable::make(std::shared_ptr<Executable> executable,
                                                                       const Package &package) {
  std::shared_ptr<StatefulExecutable> made(new StatefulExecutable(std::move(executable)));
  const Signature &signature = made->signature();
  const auto wrong = [&](const std::string &what) {
    return Status::error("package '" + package.source() + "', function '" + signature.function + "': " + what,
                         "WEFT-L012");
  };
  made->held_.resize(signature.arguments.size());
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const ArgumentInfo &argument = signature.arguments[i];
    if (argument.role == ArgumentRole::argument) {
      made->inputs_.push_back(i);
      continue;
    }
    if (std::find(argument.type.shape.begin(), argument.type.shape.end(), -1) != argument.type.shape.end())
      return wrong("the state '" + argument.name +
                   "' has a size that each call chooses: pass it as an argument");
    if (argument.name.empty())
      return wrong("argument " + std::to_string(i) + " is state and has no name");
    if (!made->state_.try_emplace(argument.name, Entry{i, false}).second)
      return wrong("two arguments have the name '" + argument.name + "'");
  }
  for (size_t i = 0; i < signature.results.size(); ++i) {
    const int tied = signature.results[i].tied_to;
    const bool own =
        tied >= 0 && signature.arguments[static_cast<size_t>(tied)].role != ArgumentRole::argument;
    if (!own) {
      made->outputs_.push_back(i);
      continue;
    }
    made->state_.find(signature.arguments[static_cast<size_t>(tied)].name)->second.written = true;
    made->writes_state_ = true;
  }
  Expected<std::vector<StateValue>> values = read_state(package, signature.function);
  if (!values)
    return values.status();
  for (const StateValue &value : *values) {
    const auto entry = made->state_.find(value.name);
    if (entry == made->state_.end())
      return wrong("it keeps a value of '" + value.name + "', which is no state of the function");
    const TensorInfo &type = signature.arguments[entry->second.argument].type;
    if (value.dtype != type.dtype || value.shape != type.shape)
      return wrong("the kept value of '" + value.name + "' is " + shape_text(value.dtype, value.shape) +
                   ", the function takes " + shape_text(type.dtype, type.shape));
    if (Status status = made->set_state(value.name, value.bytes); !status)
      return status;
  }
  return made;
}

Expected<const StatefulExecutable::Entry *> StatefulExecutable::find(std::string_view name) const {
  const auto found = state_.find(name);
  if (found != state_.end())
    return &found->second;
  std::string list;
  size_t shown = 0;
  for (const auto &[known, entry] : state_)
    if (++shown <= 20)
      list += (list.empty() ? "'" : ", '") + known + "'";
  return argument_error("'" + signature().function + "' has no state '" + std::string(name) + "'; it has " +
                        (list.empty() ? "none" : list) +
                        (shown > 20 ? " and " + std::to_string(shown - 20) + " more" : ""));
}

Expected<std::shared_ptr<Executable>>
StatefulExecutable::at(std::span<const std::vector<int64_t>> input_shapes) const {
  const Signature &signature = this->signature();
  if (signature.symbols.empty())
    return executable_;
  if (input_shapes.size() != inputs_.size())
    return Status::error("'" + signature.function + "' takes " + std::to_string(inputs_.size()) +
                         " inputs, found the shapes of " + std::to_string(input_shapes.size()));
  std::vector<std::vector<int64_t>> shapes;
  for (const ArgumentInfo &argument : signature.arguments)
    shapes.push_back(argument.type.shape);
  for (size_t i = 0; i < inputs_.size(); ++i)
    shapes[inputs_[i]] = input_shapes[i];
  const Expected<std::vector<int64_t>> sizes = executable_->bind(shapes);
  if (!sizes)
    return sizes.status();
  return executable_->at(*sizes);
}

Status StatefulExecutable::run(Executable &instance, std::span<const std::shared_ptr<Buffer>> inputs,
                               std::span<const std::shared_ptr<Buffer>> memory,
                               std::span<std::shared_ptr<Buffer>> results, const RunOptions &options) {
  const Signature &signature = this->signature();
  if (inputs.size() != inputs_.size() || results.size() != outputs_.size() ||
      (!memory.empty() && memory.size() != outputs_.size()))
    return argument_error("'" + signature.function + "' takes " + std::to_string(inputs_.size()) +
                          " inputs and gives " + std::to_string(outputs_.size()) + " outputs, found " +
                          std::to_string(inputs.size()) + " and " + std::to_string(results.size()));
  std::vector<std::shared_ptr<Buffer>> all_results(signature.results.size()), places;
  if (!memory.empty()) {
    places.resize(signature.results.size());
    for (size_t i = 0; i < outputs_.size(); ++i)
      places[outputs_[i]] = memory[i];
  }
  RunOptions all = options;
  all.outputs = places;
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Buffer>> arguments = held_;
  // Without state to write, calls may overlap; with it, the next call must not be issued before this one is.
  if (!writes_state_)
    lock.unlock();
  for (size_t i = 0; i < inputs_.size(); ++i)
    arguments[inputs_[i]] = inputs[i];
  for (const auto &[name, entry] : state_)
    if (!arguments[entry.argument])
      return Status::error("'" + signature.function + "': the state '" + name +
                               "' has no value: the package keeps none, so set it first",
                           "WEFT-L014");
  if (Status status = instance.run(arguments, all_results, all); !status)
    return status;
  for (size_t i = 0; i < outputs_.size(); ++i)
    results[i] = std::move(all_results[outputs_[i]]);
  return {};
}

Status StatefulExecutable::get_state(std::string_view name, std::span<std::byte> bytes) {
  const Expected<const Entry *> entry = find(name);
  if (!entry)
    return entry.status();
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Buffer> buffer = held_[(*entry)->argument];
  if (!buffer)
    return Status::error("the state '" + std::string(name) + "' has no value yet: set it first", "WEFT-L014");
  if (bytes.size() != buffer->bytes())
    return argument_error("the state '" + std::string(name) + "' has " + std::to_string(buffer->bytes()) +
                          " bytes, found room for " + std::to_string(bytes.size()));
  if (Status status = buffer->wait(); !status)
    return status;
  return buffer->read(0, bytes);
}

Status StatefulExecutable::set_state(std::string_view name, std::span<const std::byte> bytes) {
  const Expected<const Entry *> entry = find(name);
  if (!entry)
    return entry.status();
  const ArgumentInfo &argument = signature().arguments[(*entry)->argument];
  if (bytes.size() != argument.type.bytes)
    return argument_error(
        "the state '" + std::string(name) + "' is " + shape_text(argument.type.dtype, argument.type.shape) +
        " with " + std::to_string(argument.type.bytes) + " bytes, found " + std::to_string(bytes.size()));
  Device &device = executable_->argument_device((*entry)->argument);
  const uint32_t label = device.allocator().intern_label(
      {"state '" + shortened(argument.name) + "' of '" + shortened(signature().function) + "'"});
  Expected<std::shared_ptr<Buffer>> buffer = Buffer::allocate(bytes.size(), label, device);
  if (!buffer)
    return buffer.status();
  if (Status status = (*buffer)->write(0, bytes); !status)
    return status;
  const std::lock_guard lock(mutex_);
  held_[(*entry)->argument] = *std::move(buffer);
  return {};
}

Status StatefulExecutable::set_scalar(std::string_view name, double value) {
  const Expected<const Entry *> entry = find(name);
  if (!entry)
    return entry.status();
  const TensorInfo &type = signature().arguments[(*entry)->argument].type;
  if (!type.shape.empty())
    return argument_error("the state '" + std::string(name) + "' is " + shape_text(type.dtype, type.shape) +
                          " and no single number: set it as a tensor");
  const Expected<std::array<std::byte, 8>> element = element_of(type.dtype, value);
  if (!element)
    return element.status().context("setting '" + std::string(name) + "': ");
  return set_state(name, std::span(*element).first(type.bytes));
}

} // namespace weft::runtime
