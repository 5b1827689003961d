//===- tensor.hpp - Tensors ----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Tensor is a handle on a value slot: `=` makes the handle refer to another slot; `copy_`, `+=`, index
// assignment and optimisers write the slot. view, slices, t, detach and their like are handles that share the
// elements of another: a write through one is visible through all. Operations are recorded and run when a
// value is read, when an optimiser steps, or before a compiled function is called. Shapes, dtypes and devices
// are checked at once, and errors name the source line of the operation and of its operands.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TENSOR_HPP
#define WEFT_TENSOR_HPP

#include "weft/export.hpp"
#include "weft/status.hpp"
#include "weft/tensor_members.hpp"
#include "weft/tensor_options.hpp"

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

class Arg;
class Size;
class TensorData;
struct ValuesIndices;
namespace frontend {
struct GradHooks;
struct Slot;
struct Access;
} // namespace frontend
namespace indexing {
class TensorIndex;
}

namespace detail {
/// How many copies of modules are being made, in all threads (`nn::clone`).
extern WEFT_API std::atomic<int> clonesUnderWay;
/// Counts a handle that this thread made, or dropped, while it copies a module.
WEFT_API void countHandle(const frontend::Slot *slot, int change) noexcept;

/// The slot of a handle. While a module is copied, handles are counted: only this tells those of the copy
/// from those of other threads.
class SlotPointer : public std::shared_ptr<frontend::Slot> {
public:
  SlotPointer() = default;
  explicit SlotPointer(std::shared_ptr<frontend::Slot> slot) noexcept : shared_ptr(std::move(slot)) {
    count(1);
  }
  SlotPointer(const SlotPointer &other) noexcept : shared_ptr(other) { count(1); }
  SlotPointer(SlotPointer &&other) noexcept = default;
  ~SlotPointer() { count(-1); }
  SlotPointer &operator=(SlotPointer other) noexcept {
    swap(other);
    return *this;
  }

private:
  void count(int change) const noexcept {
    if (clonesUnderWay.load(std::memory_order_relaxed) > 0 && *this) [[unlikely]]
      countHandle(get(), change);
  }
};
} // namespace detail

/// A hook that was registered. Dropping it leaves the hook where it is.
class WEFT_API RemovableHandle {
public:
  RemovableHandle() = default;
  RemovableHandle(std::weak_ptr<frontend::GradHooks> hooks, uint64_t number)
      : hooks_(std::move(hooks)), number_(number) {}
  /// The hook is not called any more. Does nothing if it was removed before, or if its tensor is gone.
  void remove();

private:
  std::weak_ptr<frontend::GradHooks> hooks_;
  uint64_t number_ = 0;
};

/// An array of elements of one dtype on one device, or a handle on none. Copies of a Tensor are handles on
/// the same slot.
class WEFT_API Tensor : public TensorMembers {
public:
  /// An undefined tensor: `defined()` is false and every other use is an error.
  Tensor() = default;
  Tensor(const Tensor &) = default;
  Tensor(Tensor &&) = default;
  ~Tensor() = default;
  Tensor &operator=(const Tensor &) & = default;
  Tensor &operator=(Tensor &&) & = default;
  /// `x[0] = y`: assigning to an unnamed handle could have no effect, so it writes the elements instead.
  Tensor &operator=(const Arg &value) &&;

  /// \name Creation from host data, which is copied
  /// @{
  /// The elements of a vector in row-major order; throws Error if their number is not that of the shape. The
  /// dtype is that of T unless `options` has one.
  template <typename T>
  static Tensor from(const std::vector<T> &data, IntList shape, TensorOptions options = {},
                     Loc loc = Loc::current()) {
    if constexpr (std::is_same_v<T, bool>) { // whose elements are bits
      std::vector<uint8_t> bytes(data.begin(), data.end());
      return from_bytes(bytes.data(), bytes.size(), DType::i1, std::move(shape), options, loc);
    } else {
      return from_bytes(data.data(), data.size() * sizeof(T), dtype_of<T>::value_, std::move(shape), options,
                        loc);
    }
  }
  /// The same from memory that holds all elements of the shape, which is not checked.
  template <typename T>
  static Tensor from(const T *data, IntList shape, TensorOptions options = {}, Loc loc = Loc::current()) {
    return from_bytes(data, SIZE_MAX, dtype_of<T>::value_, std::move(shape), options, loc);
  }
  /// Numbers in braces, `Tensor::from({1., 2., 3., 4.}, {2, 2})`, with the dtype that `tensor({...})` gives.
  static Tensor from(const TensorData &data, IntList shape, TensorOptions options = {},
                     Loc loc = Loc::current());
  /// `bytes` is checked against the shape; SIZE_MAX skips the check.
  static Tensor from_bytes(const void *data, size_t bytes, DType dtype, Shape shape,
                           TensorOptions options = {}, Loc loc = Loc::current());
  /// @}

  /// \name Facts
  /// @{
  /// Whether this is a handle on a tensor.
  bool defined() const { return slot_ != nullptr; }
  /// A tensor is no condition: this makes it a compile-time error that says what to write instead.
  template <std::same_as<bool> Bool> explicit operator Bool() const {
    static_assert(sizeof(Bool) == 0,
                  "a Tensor is no condition. Of its values: write where(condition, a, b), which compiled "
                  "functions take too, or if (t.item<bool>()), which waits for the value; && is "
                  "logical_and(a, b). Whether there is a tensor: t.defined()");
    return false;
  }
  /// The size of each dimension; empty for a 0-dimensional tensor.
  /// The reference is valid as long as a handle on this tensor, and what it refers to never changes, whatever
  /// other threads do: when the tensor gets another shape, `sizes()` refers to that.
  const Shape &sizes(Loc loc = Loc::current()) const;
  /// The size of dimension `dim`; negative numbers count from the end.
  int64_t size(int64_t dim, Loc loc = Loc::current()) const;
  /// The size of a dimension as a number or, in a function compiled with a Dim, an expression; see
  /// weft/dim.hpp. There `size` and `numel` throw, and `sizes()` is a shape to pass on.
  Size sym_size(int64_t dim, Loc loc = Loc::current()) const;
  /// The number of dimensions.
  int64_t dim(Loc loc = Loc::current()) const { return static_cast<int64_t>(sizes(loc).size()); }
  /// The number of elements.
  int64_t numel(Loc loc = Loc::current()) const;
  DType dtype(Loc loc = Loc::current()) const;
  Device device(Loc loc = Loc::current()) const;
  bool is_floating_point(Loc loc = Loc::current()) const { return weft::is_floating_point(dtype(loc)); }
  /// The bytes of one element, and of all.
  int64_t element_size(Loc loc = Loc::current()) const { return static_cast<int64_t>(itemsize(dtype(loc))); }
  int64_t nbytes(Loc loc = Loc::current()) const { return numel(loc) * element_size(loc); }
  /// The distance in elements of storage between neighbours of each dimension.
  std::vector<int64_t> strides(Loc loc = Loc::current()) const;
  /// Whether the elements lie in row-major order without gaps.
  bool is_contiguous(Loc loc = Loc::current()) const;
  /// @}

  /// \name Gradients
  /// @{
  /// Whether gradients with respect to this tensor, or through it, are recorded.
  bool requires_grad(Loc loc = Loc::current()) const;
  /// Makes this tensor a leaf, in whose `.grad()` gradients are accumulated, or no longer one. Throws Error
  /// for a dtype that is not floating-point, and for `false` if the tensor is the result of an operation.
  Tensor &requires_grad_(bool value = true, Loc loc = Loc::current());
  /// Whether this is no result of an operation through which gradients flow.
  bool is_leaf(Loc loc = Loc::current()) const;
  /// Adds the gradients of this tensor, which has one element, to `.grad()` of the leaves that it was
  /// computed from, by reverse-mode differentiation. Throws Error for another number of elements, and if no
  /// leaf requires a gradient.
  void backward(Loc loc = Loc::current()) const;
  /// The same for a tensor of any shape, whose elements are weighted by `gradient`, a tensor of the same
  /// shape.
  void backward(const Tensor &gradient, Loc loc = Loc::current()) const;
  /// The same with the options of PyTorch: an undefined `gradient` is 1 for a tensor of one element. With
  /// `create_graph` gradients flow through the gradients. A graph lives as long as its results, whatever
  /// `retain_graph` says.
  void backward(const Tensor &gradient, std::optional<bool> retain_graph, bool create_graph = false,
                Loc loc = Loc::current()) const;
  /// `hook` is called with the gradient of this tensor each time it is computed, before it is added to
  /// `.grad()` or flows on; if it returns a tensor, that takes the gradient's place. In a compiled function,
  /// and of a tensor whose gradient one computes, it is called while the function is traced: what it records
  /// is part of the function. Throws Error if this tensor requires no gradient (WEFT-G005: if it was used
  /// before, and a gradient flows that way).
  template <typename Hook> RemovableHandle register_hook(Hook hook, Loc loc = Loc::current()) {
    if constexpr (std::is_void_v<std::invoke_result_t<Hook &, const Tensor &>>)
      return add_hook(
          [hook = std::move(hook)](const Tensor &gradient) mutable {
            hook(gradient);
            return Tensor();
          },
          loc);
    else
      return add_hook(std::move(hook), loc);
  }
  /// Makes `backward` add the gradient of this tensor to its `.grad()` although it is no leaf. Does nothing
  /// for a leaf; throws Error if this tensor requires no gradient.
  Tensor &retain_grad(Loc loc = Loc::current());
  /// Whether this tensor is no leaf and retains its gradient.
  bool retains_grad(Loc loc = Loc::current()) const;
  /// The accumulated gradient; an undefined tensor if there is none.
  Tensor grad(Loc loc = Loc::current()) const;
  /// Replaces the gradient; an undefined tensor removes it. Throws Error if shape, dtype or device are not
  /// those of this tensor.
  void set_grad(const Tensor &gradient, Loc loc = Loc::current());
  /// A view through which no gradient flows.
  Tensor detach(Loc loc = Loc::current()) const;
  /// `detach()` by its other name: writes to it change this tensor, and no gradient notices.
  Tensor data(Loc loc = Loc::current()) const { return detach(loc); }
  /// Gives this tensor the values of another one, in its shape, which may be another, and its dtype; no
  /// gradient notices. Throws Error if this tensor has a gradient of another type.
  void set_data(const Tensor &values, Loc loc = Loc::current());
  /// @}

  /// \name Reading values; waits for what is needed
  /// @{
  /// The only element, converted to T; throws Error if the tensor has another number of elements, and in a
  /// compiled function (WEFT-C001).
  template <typename T> T item(Loc loc = Loc::current()) const {
    T value;
    read(&value, sizeof(T), dtype_of<T>::value_, true, loc);
    return value;
  }
  /// Without a type: a compile-time error that says so.
  template <typename... None>
    requires(sizeof...(None) == 0)
  auto item(None...) const {
    static_assert(sizeof...(None) != 0, "the type of the number is missing: write t.item<float>()");
    return 0.0;
  }
  /// All elements in row-major order, converted to T; throws Error in a compiled function (WEFT-C001).
  template <typename T> std::vector<T> to_vector(Loc loc = Loc::current()) const {
    // Compute the value before the vector is made, so that a value which does not fit in memory has its own
    // error.
    size_t count = elements(sizeof(T), loc);
    std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> values;
    try {
      values.resize(count);
    } catch (const std::bad_alloc &) {
      throw Error("no memory for a copy of " + std::to_string(count) + " elements of " +
                      std::to_string(sizeof(T)) + " bytes on the host (WEFT-M001)",
                  "WEFT-M001");
    }
    read(values.data(), values.size() * sizeof(T), dtype_of<T>::value_, false, loc);
    if constexpr (std::is_same_v<T, bool>) // the elements of a vector of bool are bits
      return {values.begin(), values.end()};
    else
      return values;
  }
  template <typename... None>
    requires(sizeof...(None) == 0)
  auto to_vector(None...) const {
    static_assert(sizeof...(None) != 0, "the type of the elements is missing: write t.to_vector<float>()");
    return std::vector<double>();
  }
  /// The bytes as they lie in memory.
  std::vector<std::byte> to_bytes(Loc loc = Loc::current()) const;
  /// @}

  /// \name Placement and element type
  /// @{
  /// A copy on that device, or with that dtype; this tensor itself if it is there, or has it, already. Reals
  /// round to nearest even in a narrower type; to an integer they round toward zero, saturate, and NaN gives
  /// 0.
  Tensor to(Device device, Loc loc = Loc::current()) const { return to(device, MoveOptions(), loc); }
  Tensor to(Device device, MoveOptions options, Loc loc = Loc::current()) const;
  Tensor to(const char *device, Loc loc = Loc::current()) const { return to(Device(device, loc), loc); }
  Tensor to(const char *device, MoveOptions options, Loc loc = Loc::current()) const {
    return to(Device(device, loc), options, loc);
  }
  /// To the CUDA device of this number.
  Tensor to(int index, Loc loc = Loc::current()) const { return to(Device(index, loc), loc); }
  Tensor to(DType dtype, Loc loc = Loc::current()) const;
  Tensor to(Device device, DType dtype, Loc loc = Loc::current()) const {
    return to(device, loc).to(dtype, loc);
  }
  /// With the dtype of another tensor, and on its device.
  Tensor type_as(const Tensor &other, Loc loc = Loc::current()) const {
    return to(other.device(loc), other.dtype(loc), loc);
  }
  Tensor half(Loc loc = Loc::current()) const { return to(DType::f16, loc); }
  Tensor bfloat16(Loc loc = Loc::current()) const { return to(DType::bf16, loc); }
  Tensor cpu(Loc loc = Loc::current()) const { return to(Device(), loc); }
  /// To a CUDA device, the current one of this thread if no number is given.
  Tensor cuda(std::optional<int> index = {}, Loc loc = Loc::current()) const {
    return to(Device(DeviceType::cuda, index, loc), loc);
  }
  /// A copy of a tensor of the host in pinned memory, from which CUDA devices copy without waiting for the
  /// host; this tensor itself if it is there already. Error for a tensor of another device, and WEFT-E001
  /// where there is no CUDA device.
  Tensor pin_memory(Loc loc = Loc::current()) const;
  /// Whether the value is in pinned memory, after pin_memory() or as a result of a copy from a CUDA device
  /// with `non_blocking`. Computes the value.
  bool is_pinned(Loc loc = Loc::current()) const;
  /// @}

  /// \name New tensors, with the dtype and on the device of this one unless others are given
  /// @{
  Tensor new_zeros(IntList shape, std::optional<DType> dtype = {}, std::optional<Device> device = {},
                   Loc loc = Loc::current()) const;
  Tensor new_ones(IntList shape, std::optional<DType> dtype = {}, std::optional<Device> device = {},
                  Loc loc = Loc::current()) const;
  Tensor new_empty(IntList shape, std::optional<DType> dtype = {}, std::optional<Device> device = {},
                   Loc loc = Loc::current()) const;
  Tensor new_full(IntList shape, const Arg &value, std::optional<DType> dtype = {},
                  std::optional<Device> device = {}, Loc loc = Loc::current()) const;
  /// @}

  /// \name Writing the slot
  /// @{
  /// Overwrites the value with that of `source`, broadcast, converted and moved as needed.
  Tensor &copy_(const Tensor &source, Loc loc = Loc::current()) { return copy_(source, MoveOptions(), loc); }
  Tensor &copy_(const Tensor &source, MoveOptions options, Loc loc = Loc::current());
  /// Sets all elements to 0.
  Tensor &zero_(Loc loc = Loc::current());
  /// Draws all elements anew: uniform in [from, to), normal, or 1 with probability `p` and else 0.
  Tensor &uniform_(double from = 0, double to = 1, Loc loc = Loc::current());
  Tensor &normal_(double mean = 0, double std = 1, Loc loc = Loc::current());
  Tensor &bernoulli_(double p = 0.5, Loc loc = Loc::current());
  /// The operand broadcasts to this shape, and the result is converted to this dtype. Throws Error if the
  /// operand has more elements, or if the conversion would lose the fraction of reals.
  Tensor &operator+=(const Arg &other);
  Tensor &operator-=(const Arg &other);
  Tensor &operator*=(const Arg &other);
  Tensor &operator/=(const Arg &other);
  /// @}

  /// \name Shape: handles that share the elements, as in PyTorch
  /// @{
  /// The same elements in another shape; one size may be -1. A view where the strides allow it, else a copy.
  Tensor reshape(IntList shape, Loc loc = Loc::current()) const;
  /// A view; an error where the strides do not allow it.
  Tensor view(IntList shape, Loc loc = Loc::current()) const;
  /// The dimensions from `start` to `end`, both included, as one.
  Tensor flatten(int64_t start = 0, int64_t end = -1, Loc loc = Loc::current()) const;
  /// A matrix transposed; a tensor of fewer dimensions unchanged. Throws Error for more than two dimensions.
  Tensor t(Loc loc = Loc::current()) const;
  /// The last two dimensions exchanged.
  Tensor mT(Loc loc = Loc::current()) const;
  /// All dimensions in the opposite order.
  Tensor T(Loc loc = Loc::current()) const;
  /// Two dimensions exchanged.
  Tensor transpose(int64_t a, int64_t b, Loc loc = Loc::current()) const;
  /// Dimension i of the result is dimension `dims[i]`; throws Error unless each is named once.
  Tensor permute(IntList dims, Loc loc = Loc::current()) const;
  /// `transpose` by its other name.
  Tensor swapaxes(int64_t a, int64_t b, Loc loc = Loc::current()) const { return transpose(a, b, loc); }
  /// Dimensions `from` at the places `to`; the others keep their order.
  Tensor movedim(IntList from, IntList to, Loc loc = Loc::current()) const;
  Tensor moveaxis(IntList from, IntList to, Loc loc = Loc::current()) const {
    return movedim(std::move(from), std::move(to), loc);
  }
  /// All dimensions as one.
  Tensor ravel(Loc loc = Loc::current()) const { return flatten(0, -1, loc); }
  /// The elements whose positions in two dimensions differ by `offset`, as a new last dimension.
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1, Loc loc = Loc::current()) const;
  /// One dimension as several; one size may be -1.
  Tensor unflatten(int64_t dim, IntList sizes, Loc loc = Loc::current()) const;
  /// With a new dimension of size 1 at `dim`, from 0 to `dim()`.
  Tensor unsqueeze(int64_t dim, Loc loc = Loc::current()) const;
  /// Without the dimensions of size 1; of the given ones, those.
  Tensor squeeze(Loc loc = Loc::current()) const;
  Tensor squeeze(IntList dims, Loc loc = Loc::current()) const;
  /// \name The same for this tensor itself
  /// It gets another shape and keeps its elements, which it shares with its views. Throws Error for a leaf
  /// that requires a gradient, and in a compiled function for a tensor from outside (WEFT-C001).
  /// @{
  Tensor &unsqueeze_(int64_t dim, Loc loc = Loc::current());
  Tensor &squeeze_(Loc loc = Loc::current());
  Tensor &squeeze_(IntList dims, Loc loc = Loc::current());
  Tensor &t_(Loc loc = Loc::current());
  Tensor &transpose_(int64_t a, int64_t b, Loc loc = Loc::current());
  Tensor &swapaxes_(int64_t a, int64_t b, Loc loc = Loc::current()) { return transpose_(a, b, loc); }
  /// Another shape with as many elements. Throws Error for another number of elements: a tensor does not
  /// grow or shrink.
  Tensor &resize_(IntList shape, Loc loc = Loc::current());
  /// @}
  /// Sizes of 1 stretch and dimensions are added in front; -1 keeps a size. Writing to what overlaps is an
  /// error.
  Tensor expand(IntList shape, Loc loc = Loc::current()) const;
  /// In the shape of another tensor.
  Tensor expand_as(const Tensor &other, Loc loc = Loc::current()) const {
    return expand(other.sizes(loc), loc);
  }
  Tensor view_as(const Tensor &other, Loc loc = Loc::current()) const { return view(other.sizes(loc), loc); }
  Tensor reshape_as(const Tensor &other, Loc loc = Loc::current()) const {
    return reshape(other.sizes(loc), loc);
  }
  /// Elements start, start + step, ... below `end` of one dimension; bounds clamp and count from the end as
  /// in Python.
  Tensor slice(int64_t dim, int64_t start, int64_t end = INT64_MAX, int64_t step = 1,
               Loc loc = Loc::current()) const;
  /// `length` elements from `start` on.
  Tensor narrow(int64_t dim, int64_t start, int64_t length, Loc loc = Loc::current()) const;
  /// \name The same with bounds that each call of a compiled function chooses (weft/dim.hpp). Along a dynamic
  /// dimension the step is 1; an error where a bound is not certain to lie in the dimension
  /// @{
  Tensor slice(int64_t dim, const Size &start, const Size &end, int64_t step = 1,
               Loc loc = Loc::current()) const;
  Tensor slice(int64_t dim, const Size &start, Loc loc = Loc::current()) const;
  Tensor narrow(int64_t dim, const Size &start, const Size &length, Loc loc = Loc::current()) const;
  /// @}
  /// The slice with this index of one dimension, without the dimension. Negative indices count from the end;
  /// one out of range is an error.
  Tensor select(int64_t dim, int64_t index, Loc loc = Loc::current()) const;
  /// select(0, index).
  Tensor operator[](const Position &index) const;
  template <std::same_as<Tensor> Index> Tensor operator[](const Index &) const {
    static_assert(sizeof(Index) == 0,
                  "an index that is a tensor: write x.index({i}) to read the elements (rows) "
                  "that it names, x.index_put_({i}, value) to write them, and "
                  "x.index_put_({mask}, number) where it is a mask");
    return *this;
  }
  /// x.index({Slice(1, 5), None, -1, Ellipsis, tensor}) as in libtorch (`weft/tensor_index.hpp`): a view, or
  /// a copy where an index is a tensor. Index tensors broadcast and may be negative; their dimensions come
  /// first where they are not neighbours. One without dimensions selects, as an integer does. One of bools or
  /// bytes is a mask, and adds a dimension of size 1 or 0 if it has none.
  Tensor index(std::initializer_list<indexing::TensorIndex> indices, Loc loc = Loc::current()) const;
  /// Writes `value`, broadcast, to the elements that index() names; of several writes to one element the last
  /// stays. With a boolean mask the value must be a number, or the same for every row that the mask selects.
  Tensor &index_put_(std::initializer_list<indexing::TensorIndex> indices, const Arg &value);
  /// A copy with elements of its own; gradients flow through it.
  Tensor clone(Loc loc = Loc::current()) const;
  /// Itself where it is contiguous, else a copy.
  Tensor contiguous(Loc loc = Loc::current()) const;
  /// @}

  /// \name Reductions over `dims` (all if empty); `reduce.hpp` gives dtypes and results for no elements
  /// @{
  Tensor sum(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor mean(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor amax(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor amin(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor prod(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  /// Whether one element (every element) is true; an i1 tensor, or, of a ui8 tensor, a ui8 one.
  Tensor any(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor all(IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  /// The index of the largest (smallest) along a dimension, or in row-major order without one: the first of
  /// equals; a NaN comes before all numbers.
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  /// The largest (smallest) element; equal ones share its gradient.
  Tensor max(Loc loc = Loc::current()) const { return amax({}, false, loc); }
  Tensor min(Loc loc = Loc::current()) const { return amin({}, false, loc); }
  /// The largest (smallest) along a dimension and where they are; the gradient goes to that place.
  ValuesIndices max(int64_t dim, bool keepdim = false, Loc loc = Loc::current()) const;
  ValuesIndices min(int64_t dim, bool keepdim = false, Loc loc = Loc::current()) const;
  /// m2 / (n - correction); the standard deviation is its root, whose gradient at 0 is 0.
  Tensor var(IntList dims = {}, double correction = 1, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor std(IntList dims = {}, double correction = 1, bool keepdim = false, Loc loc = Loc::current()) const;
  /// (sum of |a|^p)^(1/p); p = infinity (-infinity): the largest (smallest) |a|; p = 0: how many are not 0.
  /// The gradient at the zero vector is 0.
  Tensor norm(double p = 2, IntList dims = {}, bool keepdim = false, Loc loc = Loc::current()) const;
  /// log(sum(exp(a))), without overflow.
  Tensor logsumexp(IntList dims, bool keepdim = false, Loc loc = Loc::current()) const;
  /// How many elements are not 0, as i64.
  Tensor count_nonzero(IntList dims = {}, Loc loc = Loc::current()) const;
  /// Running sums and products along a dimension; of bool and integers i64.
  Tensor cumsum(int64_t dim, Loc loc = Loc::current()) const;
  Tensor cumprod(int64_t dim, Loc loc = Loc::current()) const;
  /// @}

  /// \name In a dtype, which is the last argument: elements are converted to it before
  /// `x.sum(f64)`, `x.sum(0, f64)`, `x.sum({0}, true, f64)`, `x.cumsum(0, f64)`, `x.softmax(-1, f32)`.
  /// @{
  using TensorMembers::nanmean;
  using TensorMembers::nansum;
#define WEFT_REDUCTION_IN(name)                                                                              \
  template <std::same_as<DType> T>                                                                           \
  Tensor name(IntList dims, bool keepdim, T dtype, Loc loc = Loc::current()) const {                         \
    return to(dtype, loc).name(std::move(dims), keepdim, loc).to(dtype, loc);                                \
  }                                                                                                          \
  template <std::same_as<DType> T> Tensor name(IntList dims, T dtype, Loc loc = Loc::current()) const {      \
    return name(std::move(dims), false, dtype, loc);                                                         \
  }                                                                                                          \
  template <std::same_as<DType> T> Tensor name(T dtype, Loc loc = Loc::current()) const {                    \
    return name(IntList(), false, dtype, loc);                                                               \
  }
  WEFT_REDUCTION_IN(sum)
  WEFT_REDUCTION_IN(mean)
  WEFT_REDUCTION_IN(prod)
  WEFT_REDUCTION_IN(nansum)
  WEFT_REDUCTION_IN(nanmean)
#undef WEFT_REDUCTION_IN
#define WEFT_ALONG_IN(name)                                                                                  \
  template <std::same_as<DType> T> Tensor name(int64_t dim, T dtype, Loc loc = Loc::current()) const {       \
    return to(dtype, loc).name(dim, loc).to(dtype, loc);                                                     \
  }
  WEFT_ALONG_IN(cumsum)
  WEFT_ALONG_IN(cumprod)
#undef WEFT_ALONG_IN
  /// A dtype that is not floating-point is an error.
  Tensor softmax(int64_t dim, DType dtype, Loc loc = Loc::current()) const;
  Tensor log_softmax(int64_t dim, DType dtype, Loc loc = Loc::current()) const;
  /// @}

  /// \name Elementwise, as the free functions of the same names
  /// @{
  Tensor exp(Loc loc = Loc::current()) const;
  Tensor log(Loc loc = Loc::current()) const;
  Tensor sqrt(Loc loc = Loc::current()) const;
  Tensor tanh(Loc loc = Loc::current()) const;
  Tensor sigmoid(Loc loc = Loc::current()) const;
  Tensor relu(Loc loc = Loc::current()) const;
  Tensor abs(Loc loc = Loc::current()) const;
  Tensor matmul(const Tensor &other, Loc loc = Loc::current()) const;
  Tensor mm(const Tensor &other, Loc loc = Loc::current()) const;
  Tensor bmm(const Tensor &other, Loc loc = Loc::current()) const;
  Tensor mv(const Tensor &vector, Loc loc = Loc::current()) const;
  Tensor dot(const Tensor &other, Loc loc = Loc::current()) const;
  Tensor outer(const Tensor &other, Loc loc = Loc::current()) const;
  Tensor addmm(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
               Loc loc = Loc::current()) const;
  Tensor baddbmm(const Tensor &a, const Tensor &b, double beta = 1, double alpha = 1,
                 Loc loc = Loc::current()) const;
  /// exp(a) / sum(exp(a)) along a dimension, and its logarithm.
  Tensor softmax(int64_t dim, Loc loc = Loc::current()) const;
  Tensor log_softmax(int64_t dim, Loc loc = Loc::current()) const;
  /// @}

  /// \name Joining, cutting and indexing, as the free functions of the same names (joining.hpp,
  /// gather_scatter.hpp)
  /// @{
  Tensor gather(int64_t dim, const Tensor &index, Loc loc = Loc::current()) const;
  Tensor index_select(int64_t dim, const Tensor &index, Loc loc = Loc::current()) const;
  Tensor take(const Tensor &index, Loc loc = Loc::current()) const;
  Tensor scatter(int64_t dim, const Tensor &index, const Arg &source, Loc loc = Loc::current()) const;
  Tensor scatter_add(int64_t dim, const Tensor &index, const Tensor &source, Loc loc = Loc::current()) const;
  Tensor index_add(int64_t dim, const Tensor &index, const Tensor &source, double alpha = 1,
                   Loc loc = Loc::current()) const;
  Tensor index_copy(int64_t dim, const Tensor &index, const Tensor &source, Loc loc = Loc::current()) const;
  Tensor index_put(const std::vector<Tensor> &indices, const Tensor &values, bool accumulate = false,
                   Loc loc = Loc::current()) const;
  Tensor masked_fill(const Tensor &mask, const Arg &value, Loc loc = Loc::current()) const;
  Tensor &scatter_(int64_t dim, const Tensor &index, const Arg &source, Loc loc = Loc::current());
  Tensor &scatter_add_(int64_t dim, const Tensor &index, const Tensor &source, Loc loc = Loc::current());
  Tensor &index_add_(int64_t dim, const Tensor &index, const Tensor &source, double alpha = 1,
                     Loc loc = Loc::current());
  Tensor &index_copy_(int64_t dim, const Tensor &index, const Tensor &source, Loc loc = Loc::current());
  Tensor &masked_fill_(const Tensor &mask, const Arg &value, Loc loc = Loc::current());
  std::vector<Tensor> split(int64_t size, int64_t dim = 0, Loc loc = Loc::current()) const;
  std::vector<Tensor> split(const std::vector<int64_t> &sizes, int64_t dim = 0,
                            Loc loc = Loc::current()) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0, Loc loc = Loc::current()) const;
  std::vector<Tensor> unbind(int64_t dim = 0, Loc loc = Loc::current()) const;
  /// As `tile`, but `repeats` has at least as many entries as this tensor has dimensions.
  Tensor repeat(IntList repeats, Loc loc = Loc::current()) const;
  Tensor tile(IntList dims, Loc loc = Loc::current()) const;
  Tensor repeat_interleave(int64_t repeats, std::optional<int64_t> dim = {}, Loc loc = Loc::current()) const;
  Tensor flip(IntList dims, Loc loc = Loc::current()) const;
  Tensor roll(IntList shifts, IntList dims = {}, Loc loc = Loc::current()) const;
  Tensor tril(int64_t diagonal = 0, Loc loc = Loc::current()) const;
  Tensor triu(int64_t diagonal = 0, Loc loc = Loc::current()) const;
  /// @}

  /// \name Order and selections, as the free functions of the same names (sorting.hpp, selection.hpp)
  /// @{
  ValuesIndices sort(int64_t dim = -1, bool descending = false, bool stable = false,
                     Loc loc = Loc::current()) const;
  Tensor argsort(int64_t dim = -1, bool descending = false, bool stable = false,
                 Loc loc = Loc::current()) const;
  ValuesIndices topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true,
                     Loc loc = Loc::current()) const;
  ValuesIndices kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false, Loc loc = Loc::current()) const;
  Tensor median(Loc loc = Loc::current()) const;
  ValuesIndices median(int64_t dim, bool keepdim = false, Loc loc = Loc::current()) const;
  ValuesIndices mode(int64_t dim = -1, bool keepdim = false, Loc loc = Loc::current()) const;
  ValuesIndices cummax(int64_t dim, Loc loc = Loc::current()) const;
  ValuesIndices cummin(int64_t dim, Loc loc = Loc::current()) const;
  Tensor logcumsumexp(int64_t dim, Loc loc = Loc::current()) const;
  Tensor nonzero(Loc loc = Loc::current()) const;
  Tensor masked_select(const Tensor &mask, Loc loc = Loc::current()) const;
  Tensor masked_scatter(const Tensor &mask, const Tensor &source, Loc loc = Loc::current()) const;
  /// @}

  /// \name Elementwise members of PyTorch, as the free functions of the same names (operators.hpp, math.hpp)
  /// @{
#define WEFT_MEMBER(name) Tensor name(Loc loc = Loc::current()) const;
  WEFT_MEMBER(neg)
  WEFT_MEMBER(sign)
  WEFT_MEMBER(ceil)
  WEFT_MEMBER(floor)
  WEFT_MEMBER(round)
  WEFT_MEMBER(trunc)
  WEFT_MEMBER(square)
  WEFT_MEMBER(reciprocal)
  WEFT_MEMBER(rsqrt)
  WEFT_MEMBER(expm1)
  WEFT_MEMBER(exp2)
  WEFT_MEMBER(log1p)
  WEFT_MEMBER(log2)
  WEFT_MEMBER(log10)
  WEFT_MEMBER(sin)
  WEFT_MEMBER(cos)
  WEFT_MEMBER(tan)
  WEFT_MEMBER(asin)
  WEFT_MEMBER(acos)
  WEFT_MEMBER(atan)
  WEFT_MEMBER(sinh)
  WEFT_MEMBER(cosh)
  WEFT_MEMBER(asinh)
  WEFT_MEMBER(acosh)
  WEFT_MEMBER(atanh)
  WEFT_MEMBER(erf)
  WEFT_MEMBER(erfc)
  WEFT_MEMBER(erfinv)
  WEFT_MEMBER(lgamma)
  WEFT_MEMBER(digamma)
  WEFT_MEMBER(isnan)
  WEFT_MEMBER(isinf)
  WEFT_MEMBER(isfinite)
  WEFT_MEMBER(signbit)
  WEFT_MEMBER(logical_not)
  WEFT_MEMBER(bitwise_not)
#undef WEFT_MEMBER
#define WEFT_MEMBER(name) Tensor name(const Arg &other) const;
  WEFT_MEMBER(add)
  WEFT_MEMBER(sub)
  WEFT_MEMBER(mul)
  WEFT_MEMBER(div)
  WEFT_MEMBER(floor_divide)
  WEFT_MEMBER(remainder)
  WEFT_MEMBER(fmod)
  WEFT_MEMBER(pow)
  WEFT_MEMBER(atan2)
  WEFT_MEMBER(copysign)
  WEFT_MEMBER(maximum)
  WEFT_MEMBER(minimum)
  WEFT_MEMBER(fmax)
  WEFT_MEMBER(fmin)
  WEFT_MEMBER(eq)
  WEFT_MEMBER(ne)
  WEFT_MEMBER(lt)
  WEFT_MEMBER(le)
  WEFT_MEMBER(gt)
  WEFT_MEMBER(ge)
  WEFT_MEMBER(logical_and)
  WEFT_MEMBER(logical_or)
  WEFT_MEMBER(logical_xor)
  WEFT_MEMBER(bitwise_and)
  WEFT_MEMBER(bitwise_or)
  WEFT_MEMBER(bitwise_xor)
  WEFT_MEMBER(clamp_min)
  WEFT_MEMBER(clamp_max)
#undef WEFT_MEMBER
  Tensor add(const Arg &other, double alpha) const;
  Tensor sub(const Arg &other, double alpha) const;
  Tensor div(const Arg &other, const std::string &rounding_mode) const;
  Tensor clamp(const Arg &min, const Arg &max) const;
  Tensor clip(const Arg &min, const Arg &max) const;
  Tensor lerp(const Tensor &end, const Arg &weight) const;
  Tensor nan_to_num(double nan = 0, std::optional<double> posinf = {}, std::optional<double> neginf = {},
                    Loc loc = Loc::current()) const;
  /// @}

  /// \name The same in place: they write the slot, keep its dtype and shape, and return this tensor
  /// @{
#define WEFT_MEMBER(name) Tensor &name(Loc loc = Loc::current());
  WEFT_MEMBER(abs_)
  WEFT_MEMBER(neg_)
  WEFT_MEMBER(ceil_)
  WEFT_MEMBER(floor_)
  WEFT_MEMBER(round_)
  WEFT_MEMBER(trunc_)
  WEFT_MEMBER(square_)
  WEFT_MEMBER(sqrt_)
  WEFT_MEMBER(rsqrt_)
  WEFT_MEMBER(reciprocal_)
  WEFT_MEMBER(exp_)
  WEFT_MEMBER(expm1_)
  WEFT_MEMBER(log_)
  WEFT_MEMBER(log1p_)
  WEFT_MEMBER(sin_)
  WEFT_MEMBER(cos_)
  WEFT_MEMBER(tanh_)
  WEFT_MEMBER(sigmoid_)
  WEFT_MEMBER(relu_)
  WEFT_MEMBER(erf_)
#undef WEFT_MEMBER
#define WEFT_MEMBER(name) Tensor &name(const Arg &other);
  WEFT_MEMBER(add_)
  WEFT_MEMBER(sub_)
  WEFT_MEMBER(mul_)
  WEFT_MEMBER(div_)
  WEFT_MEMBER(floor_divide_)
  WEFT_MEMBER(remainder_)
  WEFT_MEMBER(fmod_)
  WEFT_MEMBER(pow_)
  WEFT_MEMBER(clamp_min_)
  WEFT_MEMBER(clamp_max_)
  WEFT_MEMBER(fill_)
#undef WEFT_MEMBER
  /// This tensor + (-) alpha times `other`, with one rounding.
  Tensor &add_(const Arg &other, double alpha);
  Tensor &sub_(const Arg &other, double alpha);
  Tensor &clamp_(const Arg &min, const Arg &max);
  Tensor &lerp_(const Tensor &end, const Arg &weight);
  Tensor &addcmul_(const Tensor &a, const Tensor &b, double value = 1, Loc loc = Loc::current());
  Tensor &addcdiv_(const Tensor &a, const Tensor &b, double value = 1, Loc loc = Loc::current());
  /// @}

private:
  friend struct frontend::Access;
  /// The number of elements of the computed value. Elements of `bytes` bytes each must be addressable.
  size_t elements(size_t bytes, Loc loc) const;
  void read(void *data, size_t bytes, DType dtype, bool single, Loc loc) const;
  RemovableHandle add_hook(std::function<Tensor(const Tensor &)> hook, Loc loc);
  /// Gives this tensor the shape of `view`, a view of itself.
  Tensor &become(const Tensor &view, const char *function, Loc loc);
  detail::SlotPointer slot_;
};

/// The result of a selection along a dimension: the selected elements, and their i64 positions.
struct ValuesIndices {
  Tensor values, indices;
};

/// An operand of an operator: a tensor, or a number that takes the tensor's dtype. It remembers the source
/// line, since an operator cannot have a default argument.
class Arg {
public:
  Arg(const Tensor &tensor, Loc loc = Loc::current()) : tensor(tensor), loc(loc) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Arg(T number, Loc loc = Loc::current())
      : is_number(true), is_bool(std::is_same_v<T, bool>), is_real(std::is_floating_point_v<T>),
        real(static_cast<double>(number)), loc(loc) {
    if constexpr (!std::is_floating_point_v<T>)
      whole = static_cast<int64_t>(number);
  }

  Tensor tensor;
  bool is_number = false, is_bool = false, is_real = false;
  double real = 0;   ///< any number, rounded
  int64_t whole = 0; ///< an integer, exactly
  /// A tensor that counts as a number in promotion: only the kind of its dtype matters.
  bool is_scalar = false;
  Loc loc;
};

/// Prints values as PyTorch does: 4 digits, summarised above 1,000 elements. In a compiled function the value
/// is printed at every call, when it is computed, in the order of the program; a graph of a CUDA device is
/// cut there (WEFT-C002).
WEFT_API void print(const Tensor &tensor, Loc loc = Loc::current());
/// The same after "label: ".
WEFT_API void print(const std::string &label, const Tensor &tensor, Loc loc = Loc::current());
/// Throws Error with the message and the first false position, unless every element of the condition, an i1
/// tensor of any shape, is true. In a compiled function every call checks it, and a call that fails changes
/// nothing.
WEFT_API void assert_true(const Tensor &condition, const std::string &message, Loc loc = Loc::current());
/// What `print` prints, as a text. Reads the values.
WEFT_API std::string to_string(const Tensor &tensor, Loc loc = Loc::current());
/// A tensor that `<<` prints. It remembers the source line, since an operator cannot have a default argument.
struct Printed {
  Printed(const Tensor &tensor, Loc loc = Loc::current()) : tensor(tensor), loc(loc) {}
  const Tensor &tensor;
  Loc loc;
};
/// The text of `to_string`; "undefined" of an undefined tensor.
WEFT_API std::ostream &operator<<(std::ostream &out, const Printed &printed);
WEFT_API std::ostream &operator<<(std::ostream &out, DType dtype);
WEFT_API std::ostream &operator<<(std::ostream &out, const Device &device);

/// Computes everything that is pending, waits for it, and throws the first failure that was not reported yet.
WEFT_API void synchronize();

} // namespace weft

#endif // WEFT_TENSOR_HPP
