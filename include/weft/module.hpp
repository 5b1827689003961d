//===- module.hpp - Trees of parameters and buffers ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MODULE_HPP
#define WEFT_MODULE_HPP

#include "weft/tensor.hpp"

#include <functional>
#include <utility>

namespace weft {

/// Names and tensors, in order of registration.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

namespace nn {

namespace detail {
struct ModuleState;
class Parametrizations;
/// What a copy of this tensor or state refers to: the same one, or, while `clone` copies a module, its
/// counterpart in the clone.
WEFT_API Tensor cloned(const Tensor &tensor);
WEFT_API std::shared_ptr<ModuleState> cloned(const std::shared_ptr<ModuleState> &state);

/// While it exists, modules that are copied on its thread are copied deeply.
class WEFT_API CloneScope {
public:
  CloneScope(const std::shared_ptr<ModuleState> &original, Loc loc);
  ~CloneScope();
  CloneScope(const CloneScope &) = delete;
  CloneScope &operator=(const CloneScope &) = delete;
  /// Throws Error if the copy holds a tensor of the original.
  void check(Loc loc) const;
  /// The counterpart of this state in the clone; null if nothing is being cloned, or if the state is no part
  /// of it.
  static std::shared_ptr<ModuleState> twinOf(const ModuleState *state);
  /// Notes a handle that this thread made or dropped.
  static void countHandle(const frontend::Slot *slot, int change) noexcept;

private:
  struct Impl;
  void leave() noexcept;
  std::unique_ptr<Impl> impl_;
  friend Tensor cloned(const Tensor &);
  friend std::shared_ptr<ModuleState> cloned(const std::shared_ptr<ModuleState> &);
};
} // namespace detail

/// A tensor that is a member of a module: `nn::Parameter scale = register_parameter("scale", ones({3}));`. It
/// is a Tensor with two differences: `clone` gives the copy of the module a tensor of its own, and assigning
/// to the member changes the parameter that the module has registered:
///   wte.weight = head.weight;               // ties them: one tensor under two names
///   head.weight = nn::Parameter(zeros(..)); // another tensor under the same name
/// Moving a parameter ties it as well, and leaves it unchanged. Do both before anything else holds the
/// tensor: an optimiser, a compiled function, a list of parameters, a copy of the module. For a variable that
/// may become another tensor, write `Tensor w = head.weight`.
class WEFT_API Parameter : public Tensor {
public:
  Parameter() = default;
  Parameter(const Tensor &tensor) : Tensor(tensor) {}
  Parameter(const Parameter &other);
  // A move leaves its source unchanged, an assignment may throw, and assign() handles self-assignment.
  // NOLINTBEGIN(*-move-constructor*,*-self-assignment)
  /// Leaves `other` unchanged, because a parameter that a module has registered must never become undefined.
  Parameter(Parameter &&other) noexcept
      : Tensor(static_cast<const Tensor &>(other)), module_(other.module_), entry_(other.entry_),
        own_(other.own_) {}
  /// Throws Error in a compiled function, if `other` is undefined or registered with another shape, and if
  /// this is a module's own member and something else holds its tensor.
  Parameter &operator=(const Parameter &other) { return assign(other, /*moved=*/false); }
  Parameter &operator=(Parameter &&other) { return assign(other, /*moved=*/true); }
  // NOLINTEND(*-move-constructor*,*-self-assignment)
  /// Throws Error if this is a module's own member, because a tensor is no parameter.
  template <std::same_as<Tensor> T> Parameter &operator=(const T &tensor) {
    assign(tensor);
    return *this;
  }

private:
  friend class Module;
  static constexpr size_t absent = SIZE_MAX;
  void assign(const Tensor &tensor);
  Parameter &assign(const Parameter &other, bool moved);
  /// Makes this handle, and the module's registered parameter, refer to another tensor.
  void tie(const Parameter &other);
  /// Whether nothing but this handle and the module holds the tensor.
  bool isSole() const;
  /// Whether this is the member that the module computes with, and not a variable of the program.
  bool isMember() const;
  void refuseWhereAbsent() const;
  std::weak_ptr<detail::ModuleState> module_; ///< the module in which it is registered
  size_t entry_ = 0; ///< its number there, or `absent` if the module was made without it
  bool own_ = false; ///< it is the member of the module's object, and no copy
};

/// The names that `load_state_dict` without `strict` skipped.
struct IncompatibleKeys {
  std::vector<std::string> missing, unexpected;
};

/// A deep copy: parameters and buffers of its own, with the same values, modes and flags, and no gradients.
/// Throws Error if a registered member of the module is a plain Tensor: declare it nn::Parameter.
template <typename M> M clone(const M &module, Loc loc = Loc::current());

/// A shared handle on parameters, buffers and child modules: copies of a module share them, `clone` makes new
/// ones. A network is a struct that derives from it and has its parts as members.
class WEFT_API Module {
public:
  Module();
  Module(const Module &other) : Module(other, other.isHandle_) {}
  /// A handle on any module: it shares the state and has none of the members.
  template <typename M>
    requires(std::derived_from<M, Module> && !std::same_as<M, Module>)
  Module(const M &other) : Module(other, /*isHandle=*/true) {}
  // NOLINTBEGIN(*-move-constructor*,*-self-assignment): as of a parameter
  /// Leaves `other` unchanged.
  Module(Module &&other) noexcept : state_(other.state_), isHandle_(other.isHandle_) {}
  /// Throws Error if this is registered as a part of another module, which would keep the old part; except
  /// while that module is assigned as a whole.
  Module &operator=(const Module &other) {
    return assign(other, /*copiesElements=*/!isHandle_ && !other.isHandle_);
  }
  Module &operator=(Module &&other) { return assign(other, /*copiesElements=*/false); }
  // NOLINTEND(*-move-constructor*,*-self-assignment)
  template <typename M>
    requires(std::derived_from<M, Module> && !std::same_as<M, Module>)
  Module &operator=(const M &other) {
    return assign(other, /*copiesElements=*/false);
  }

  /// \name Registration: names are unique in a module and hold no dot
  /// @{
  /// Adds a part; returns it, so that members can be initialised in one line.
  template <typename M> M register_module(const std::string &name, M module, Loc loc = Loc::current()) {
    add_child(name, module, loc);
    return module;
  }
  /// Adds a tensor that is trained: a leaf that requires a gradient. Throws Error for a name that is taken,
  /// is empty or holds a dot.
  Parameter register_parameter(const std::string &name, Tensor value, Loc loc = Loc::current());
  /// Adds a tensor that is state and is not trained.
  Parameter register_buffer(const std::string &name, Tensor value, Loc loc = Loc::current());
  /// @}

  /// \name Parts; names are paths such as "fc1.weight", and a tensor under two names is listed once
  /// @{
  std::vector<Tensor> parameters() const;
  StateDict named_parameters() const;
  std::vector<Tensor> buffers() const;
  StateDict named_buffers() const;
  std::vector<Module> children() const;
  std::vector<std::pair<std::string, Module>> named_children() const;
  /// This module, under the empty name, and every module below it, parents first.
  std::vector<Module> modules() const;
  std::vector<std::pair<std::string, Module>> named_modules() const;
  /// Throws Error if there is no parameter with this path.
  Tensor get_parameter(const std::string &path, Loc loc = Loc::current()) const;
  /// "Linear"; "Module" for a user's type that gives no name.
  const std::string &type_name() const;
  /// @}

  /// \name State
  /// @{
  /// Parameters and buffers under all of their names.
  StateDict state_dict() const;
  /// Copies values by name into the existing tensors. Missing, unexpected and misshapen entries are one error
  /// that lists them all, and then nothing is changed; without `strict` only misshapen ones are.
  IncompatibleKeys load_state_dict(const StateDict &state, bool strict = true, Loc loc = Loc::current());
  /// The complaints that `load_state_dict` would have; empty if it would succeed. Changes nothing.
  std::vector<std::string> check_state_dict(const StateDict &state) const;
  /// @}

  /// \name Placement and element type: the tensors stay the same objects, and gradients come along
  /// @{
  void to(Device device, Loc loc = Loc::current());
  void to(const char *device, Loc loc = Loc::current()) { to(Device(device, loc), loc); }
  void to(Device device, DType dtype, Loc loc = Loc::current());
  void cpu(Loc loc = Loc::current()) { to(Device(), loc); }
  /// To the current CUDA device, or to that of this number.
  void cuda(std::optional<int> index = {}, Loc loc = Loc::current()) {
    to(Device(DeviceType::cuda, index), loc);
  }
  /// Converts floating-point parameters and buffers.
  void to(DType dtype, Loc loc = Loc::current());
  void half() { to(DType::f16); }
  void bfloat16() { to(DType::bf16); }
  void float_() { to(DType::f32); }
  void double_() { to(DType::f64); }
  /// @}

  /// \name Modes
  /// @{
  void train(bool mode = true);
  void eval() { train(false); }
  /// Inside a compiled function the answer becomes part of the signature.
  bool is_training() const;
  /// Whether gradients are collected in the parameters.
  void requires_grad_(bool value = true);
  /// Sets every gradient to none; with false those that exist to zeros.
  void zero_grad(bool set_to_none = true);
  /// Calls `fn` with every module below this one, children first, and then with this one.
  void apply(const std::function<void(Module &)> &fn);
  /// @}

protected:
  /// A module that prints as `type_name(details)`.
  explicit Module(std::string type_name, std::string details = {});
  /// A member for a parameter that this module is made without. Assigning a parameter to it is an error,
  /// because that one would not be trained.
  Parameter absent_parameter();

private:
  template <typename M> friend M clone(const M &module, Loc loc);
  friend WEFT_API std::string to_string(const Module &module);
  friend class detail::Parametrizations;
  explicit Module(std::shared_ptr<detail::ModuleState> state) : state_(std::move(state)), isHandle_(true) {}
  Module(const Module &other, bool isHandle);
  /// `copiesElements`: C++ goes on to copy the elements of containers that are members.
  Module &assign(const Module &other, bool copiesElements);
  void add_child(const std::string &name, const Module &child, Loc loc);
  Parameter add_tensor(const std::string &name, const Tensor &value, bool parameter);
  std::shared_ptr<detail::ModuleState> state_;
  bool isHandle_ = false; ///< it is a handle only, without the members of the module's type
};

template <typename M> M clone(const M &module, Loc loc) {
  detail::CloneScope scope(module.state_, loc);
  M copy(module);
  scope.check(loc);
  return copy;
}

/// The tree of parts as PyTorch prints it, and the numbers of parameters and bytes.
WEFT_API std::string to_string(const Module &module);
/// Writes that text to standard output.
WEFT_API void print(const Module &module);

} // namespace nn
} // namespace weft

#endif // WEFT_MODULE_HPP
