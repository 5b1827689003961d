//===- StatefulExecutable.h - A compiled function with its state -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An Executable is given everything at each call. This one keeps what a package keeps: arguments with the
// role state, scalar or random are its own, filled from the package when it is loaded, read and set by name,
// and updated by the calls that write them. What is left are the inputs and outputs of the program. Each lies
// on the device that the plan names for it, and so does state, which is copied in and out.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_STATEFULEXECUTABLE_H
#define WEFT_RUNTIME_EXECUTION_STATEFULEXECUTABLE_H

#include "runtime/execution/Executable.h"
#include "runtime/execution/NamedDevices.h"

#include <map>
#include <mutex>

namespace weft::runtime {

/// The functions that a package has plans for, sorted.
WEFT_RUNTIME_API std::vector<std::string> package_functions(const Package &package);

class WEFT_RUNTIME_API StatefulExecutable {
public:
  /// A named piece of what the executable keeps.
  struct Entry {
    size_t argument;      ///< its number in the signature
    bool written = false; ///< a call updates it
  };

  /// With the values that the package keeps, on the devices of `device_map` (NamedDevices.h). Every value
  /// must be an argument of the function, of its type; an argument without a value has none until it is set.
  /// Errors of family L name what does not fit; a function or target that is missing is WEFT-L007, with those
  /// that there are.
  static Expected<std::shared_ptr<StatefulExecutable>>
  load(std::shared_ptr<const Package> package, std::string_view function, std::string_view device_map = {});
  static Expected<std::shared_ptr<StatefulExecutable>> make(std::shared_ptr<Executable> executable,
                                                            const Package &package);

  const Signature &signature() const { return executable_->signature(); }
  const Executable &executable() const { return *executable_; }
  /// Numbers of the arguments that a call is given, and of the results that it gives.
  const std::vector<size_t> &inputs() const { return inputs_; }
  const std::vector<size_t> &outputs() const { return outputs_; }
  /// The executable for inputs of these shapes, one an input: `executable()` itself where no size is chosen
  /// by calls. WEFT-S001 where a size is out of its range; what does not fit otherwise is named.
  Expected<std::shared_ptr<Executable>> at(std::span<const std::vector<int64_t>> input_shapes) const;
  /// By name, in order.
  const std::map<std::string, Entry, std::less<>> &state() const { return state_; }

  /// `memory` is empty or has, for each output, where to put it, or null. `results` gets one buffer an
  /// output. May be called from several threads; calls that write state run one after the other.
  Status run(std::span<const std::shared_ptr<Buffer>> inputs, std::span<const std::shared_ptr<Buffer>> memory,
             std::span<std::shared_ptr<Buffer>> results, const RunOptions &options = {}) {
    return run(*executable_, inputs, memory, results, options);
  }
  /// The same on what `at` gave for the inputs' shapes.
  Status run(Executable &instance, std::span<const std::shared_ptr<Buffer>> inputs,
             std::span<const std::shared_ptr<Buffer>> memory, std::span<std::shared_ptr<Buffer>> results,
             const RunOptions &options = {});

  /// Copies a value out, after the calls issued so far. An unknown name is an error that lists the nearest.
  Status get_state(std::string_view name, std::span<std::byte> bytes);
  /// Calls issued so far keep the old value.
  Status set_state(std::string_view name, std::span<const std::byte> bytes);
  /// Sets a 0-dimensional value of any dtype from a number; what the dtype cannot hold is an error.
  Status set_scalar(std::string_view name, double value);

private:
  explicit StatefulExecutable(std::shared_ptr<Executable> executable) : executable_(std::move(executable)) {}
  Expected<const Entry *> find(std::string_view name) const;

  std::shared_ptr<Executable> executable_;
  std::vector<size_t> inputs_, outputs_;
  std::map<std::string, Entry, std::less<>> state_;
  bool writes_state_ = false;
  std::mutex mutex_;                          ///< guards what follows
  std::vector<std::shared_ptr<Buffer>> held_; ///< by argument number; null for inputs
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_STATEFULEXECUTABLE_H
