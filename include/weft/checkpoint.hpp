//===- checkpoint.hpp - Saving a run, and resuming it --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CHECKPOINT_HPP
#define WEFT_CHECKPOINT_HPP

#include "weft/io.hpp"

#include <concepts>

namespace weft {

/// What a checkpoint can hold: modules, optimisers, generators, loaders, and any type with these three
/// functions that is a handle, so that copies share their state.
template <typename T>
concept Stateful = requires(T object, const StateDict &state) {
  { object.state_dict() } -> std::convertible_to<StateDict>;
  { object.check_state_dict(state) } -> std::convertible_to<std::vector<std::string>>;
  object.load_state_dict(state);
};

/// An object under a name, which must not be empty or contain a dot.
struct CheckpointItem {
  template <Stateful T>
  CheckpointItem(std::string name, T object)
      : name(std::move(name)), get([object] { return object.state_dict(); }),
        check([object](const StateDict &state) { return object.check_state_dict(state); }),
        set([object](const StateDict &state) mutable { object.load_state_dict(state); }) {}
  std::string name;
  std::function<StateDict()> get;
  std::function<std::vector<std::string>(const StateDict &)> check;
  std::function<void(const StateDict &)> set;
};

/// Writes everything that a run needs to go on into one safetensors file:
///   save_checkpoint("run.safetensors", {{"model", model}, {"adam", adam}, {"rng", default_generator()},
///                                       {"loader", loader}}, {{"step", "1000"}});
/// Tensors are named "model.fc1.weight", "adam.fc1.weight.exp_avg", "rng.key", "loader.batch".
WEFT_API void save_checkpoint(const std::string &path, const std::vector<CheckpointItem> &items,
                              const Metadata &metadata = {}, Loc loc = Loc::current());

/// Reads such a file into objects of the same structure, and returns the metadata that it was saved with. The
/// values are written to the existing tensors, so nothing compiles again, and a resumed run gives the bits of
/// a run that never stopped. If entries of any object are missing, unexpected or misshapen, one Error lists
/// all of them, and nothing is changed.
WEFT_API Metadata load_checkpoint(const std::string &path, const std::vector<CheckpointItem> &items,
                                  Loc loc = Loc::current());

} // namespace weft

#endif // WEFT_CHECKPOINT_HPP
