//===- Tensor.cpp - Facts, gradients, reading and writing -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/tensor.hpp"

#include "frontend/graph/Devices.h"
#include "frontend/graph/History.h"
#include "frontend/graph/Layout.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "frontend/graph/Undo.h"
#include "frontend/graph/View.h"
#include "frontend/lazy/Lazy.h"
#include "frontend/lazy/Pending.h"
#include "frontend/ops/HostConvert.h"
#include "frontend/ops/Ops.h"
#include "frontend/ops/Promotion.h"
#include "frontend/ops/State.h"

#include <algorithm>

namespace weft {

using namespace frontend;

//===----------------------------------------------------------------------===//
// Creation from host data
//===----------------------------------------------------------------------===//

Tensor Tensor::from_bytes(const void *data, size_t bytes, DType dtype, Shape shape, TensorOptions options,
                          Loc loc) {
  int64_t count = checkedCount(shape, loc);
  size_t needed = static_cast<size_t>(count) * itemsize(dtype);
  if (bytes != SIZE_MAX && bytes != needed)
    fail("the data has " + std::to_string(bytes / itemsize(dtype)) + " elements, but the shape " +
             shapeText(shape) + " needs " + std::to_string(count),
         loc);
  if (!data && needed)
    fail("the data pointer is null", loc);
  GraphLock lock(graphMutex());
  auto buffer = allocateTensor(Device(), needed, loc);
  fillBuffer(*buffer, data, needed, loc);
  noteHostBytes(needed);
  Tensor tensor;
  {
    SuspendTrace suspend;
    tensor = wrap(leaf(Spec{dtype, std::move(shape), {}}, std::move(buffer), loc), loc);
  }
  // In a trace, the data is an input of every call, and each call makes a new tensor from it.
  if (Trace::current())
    tensor = wrap(use(tensor, loc), loc);
  if (options.dtype && *options.dtype != dtype)
    tensor = tensor.to(*options.dtype, loc);
  if (!options.device.is_cpu())
    tensor = tensor.to(options.device, loc);
  if (options.requires_grad)
    tensor.requires_grad_(true, loc);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

/// The type. The reference is valid as long as the slot.
/// The caller holds the graph's lock: without it, this may be the type that another thread sees.
static const Spec &specOf(const Tensor &tensor, Loc loc) {
  const auto &slot = Access::slot(tensor);
  if (!slot)
    failUndefined(loc);
  return slot->spec();
}

const Shape &Tensor::sizes(Loc loc) const {
  GraphLock lock(graphMutex());
  return specOf(*this, loc).shape;
}
int64_t Tensor::size(int64_t dim, Loc loc) const {
  GraphLock lock(graphMutex());
  const Shape &shape = specOf(*this, loc).shape;
  auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0)
    fail("Dimension specified as " + std::to_string(dim) + " but tensor has no dimensions", loc);
  return numberOr(shape[static_cast<size_t>(wrapDim(dim, rank, loc))], "the size of this dimension", loc);
}
int64_t Tensor::numel(Loc loc) const {
  GraphLock lock(graphMutex());
  return numberOr(specOf(*this, loc).count(), "the number of elements of this tensor", loc);
}
DType Tensor::dtype(Loc loc) const {
  GraphLock lock(graphMutex());
  return specOf(*this, loc).dtype;
}
Device Tensor::device(Loc loc) const {
  GraphLock lock(graphMutex());
  return specOf(*this, loc).device;
}
std::vector<int64_t> Tensor::strides(Loc loc) const {
  GraphLock lock(graphMutex());
  specOf(*this, loc);
  return stridesOf(*slot_);
}
bool Tensor::is_contiguous(Loc loc) const {
  GraphLock lock(graphMutex());
  const Shape &shape = sizes(loc);
  std::vector<int64_t> found = strides(loc), wanted = rowMajor(shape);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && found[i] != wanted[i])
      return numel(loc) == 0;
  return true;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

bool Tensor::requires_grad(Loc loc) const {
  GraphLock lock(graphMutex());
  specOf(*this, loc);
  return slot_->needsGrad();
}

bool Tensor::is_leaf(Loc loc) const {
  GraphLock lock(graphMutex());
  const Ref value = use(*this, loc);
  const GradAccumulator *accumulator = value.node->accumulator(value.result);
  return !value.node->requiresGrad && !(accumulator && !accumulator->isLeaf());
}

Tensor &Tensor::requires_grad_(bool value, Loc loc) {
  GraphLock lock(graphMutex());
  if (!weft::is_floating_point(specOf(*this, loc).dtype) && value)
    fail("only Tensors of floating point dtype can require gradients, found " + std::string(name(dtype(loc))),
         loc);
  if (!is_leaf(loc)) {
    if (value)
      return *this; // it requires a gradient already
    fail("you can only change requires_grad flags of leaf variables: this tensor is the result of an "
         "operation; use detach() first",
         loc, {slot_->value()});
  }
  if (value == slot_->requiresGrad)
    return *this;
  // What is older than the trace has a flag for each side. A call could not set that of a view.
  if (Trace *trace = Trace::current(); slot_->trace != TraceMark(trace)) {
    if (slot_->view())
      refuseInTrace("requires_grad_() of a view that is older than the call", loc);
    if (trace)
      trace->touch(slot_);
  }
  slot_->requiresGrad = value;
  if (slot_->view()) {
    slot_->setValue({}); // computed again, as a leaf or as none
    return *this;
  }
  Ref current = slot_->value();
  // Gradients are collected by node. If another tensor holds the same node, or something was computed from it
  // earlier, the slot gets a new node, so that no gradient flows to it from there.
  constexpr long slotAndHere = 2;
  if (current.node.use_count() > slotAndHere || current.node->results.size() > 1) {
    NoGradGuard guard;
    current = current.node->kind == NodeKind::leaf ? leaf(current.spec(), current.buffer(), slot_->loc)
                                                   : sameValue(current, slot_->loc);
  } else if (!value) {
    current.node->accumulators.clear();
  }
  slot_->setValue(current);
  return *this;
}

Tensor Tensor::grad(Loc loc) const {
  GraphLock lock(graphMutex());
  specOf(*this, loc);
  if (Trace *trace = Trace::current())
    trace->seeGrad(slot_);
  slot_->unseenGrads = 0;
  if (!slot_->grad) {
    noteMissingGrad(slot_, loc);
    return {};
  }
  return Access::make(slot_->grad);
}

void Tensor::set_grad(const Tensor &gradient, Loc loc) {
  GraphLock lock(graphMutex());
  const Spec &own = specOf(*this, loc);
  if (gradient.defined()) {
    const Spec &given = specOf(gradient, loc);
    if (given.shape != own.shape)
      fail("a gradient has the shape of its tensor: expected " + shapeText(sizes(loc)) + ", found " +
               shapeText(gradient.sizes(loc)),
           loc);
    if (given.dtype != own.dtype)
      fail("assigned grad has data of a different type: expected " + std::string(name(own.dtype)) +
               ", found " + std::string(name(given.dtype)),
           loc);
    if (given.device != own.device)
      fail("assigned grad has data located on a different device: expected " + own.device.str() + ", found " +
               given.device.str(),
           loc);
  }
  if (Trace *trace = Trace::current())
    trace->dropGrad(slot_);
  slot_->unseenGrads = 0;
  slot_->grad = Access::slot(gradient);
}

Tensor Tensor::detach(Loc loc) const {
  GraphLock lock(graphMutex());
  const Spec &spec = specOf(*this, loc);
  use(*this, loc);
  return makeView(*this, {.kind = ViewStep::reshape, .from = spec.shape, .to = spec.shape}, strides(), loc,
                  /*detached=*/true);
}

void Tensor::set_data(const Tensor &values, Loc loc) {
  GraphLock lock(graphMutex());
  const Spec &own = specOf(*this, loc);
  if (slot_->requiresGrad && !weft::is_floating_point(values.dtype(loc)))
    fail("only Tensors of floating point dtype can require gradients, found " +
             std::string(name(values.dtype(loc))),
         loc, {use(values, loc)});
  if (Trace *trace = Trace::current())
    trace->seeGrad(slot_);
  if (slot_->grad && specOf(values, loc) != own)
    fail("set_data: the tensor has a gradient, and the values are " + specOf(values, loc).str() +
             " instead of " + own.str() + ": remove the gradient with set_grad({}) first",
         loc, {use(values, loc)});
  NoGradGuard guard;
  // A copy: what is written to `values` later is not written here.
  assign(slot_, sameValue(use(values, loc), loc));
}

//===----------------------------------------------------------------------===//
// Another shape in place
//===----------------------------------------------------------------------===//

Tensor &Tensor::become(const Tensor &view, const char *function, Loc loc) {
  GraphLock lock(graphMutex());
  const auto &made = Access::slot(view);
  if (slot_->requiresGrad)
    fail(std::string("a leaf Variable that requires grad is being used in an in-place operation: ") +
             function + " cannot give it another shape, make another tensor",
         loc);
  if (Trace *trace = Trace::current(); slot_->trace != TraceMark(trace))
    refuseInTrace(std::string(function) + " of a tensor from outside", loc);
  if (slot_->isShared())
    fail(std::string(function) + ": another thread compiles a function that reads this tensor", loc);
  if (made->storage() == slot_->storage())
    slot_->reshape(*made->view());
  else // the strides allow no view
    assign(slot_, use(view, loc));
  return *this;
}

// The shape, and no value, changes: whether the thread records gradients does not matter.
Tensor &Tensor::unsqueeze_(int64_t dim, Loc loc) {
  const GradMode recording(true);
  return become(unsqueeze(dim, loc), "unsqueeze_()", loc);
}
Tensor &Tensor::squeeze_(Loc loc) {
  const GradMode recording(true);
  return become(squeeze(loc), "squeeze_()", loc);
}
Tensor &Tensor::squeeze_(IntList dims, Loc loc) {
  const GradMode recording(true);
  return become(squeeze(std::move(dims), loc), "squeeze_()", loc);
}
Tensor &Tensor::t_(Loc loc) {
  const GradMode recording(true);
  return become(t(loc), "t_()", loc);
}
Tensor &Tensor::transpose_(int64_t a, int64_t b, Loc loc) {
  const GradMode recording(true);
  return become(transpose(a, b, loc), "transpose_()", loc);
}
Tensor &Tensor::resize_(IntList shape, Loc loc) {
  int64_t count = 1;
  for (const int64_t size : shape)
    count *= size;
  if (count != numel(loc))
    fail("resize_() of a tensor of " + std::to_string(numel(loc)) + " elements to the shape " +
             shapeText(shape) +
             ": a tensor keeps its number of elements; make another one, with empty() or narrow()",
         loc);
  const GradMode recording(true);
  return become(view(std::move(shape), loc), "resize_()", loc);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The value, which is computed, or will be by a queued call.
static Ref computed(const Tensor &tensor, Loc loc) {
  Ref value = use(tensor, loc);
  if (Trace::current())
    fail("a value cannot be read inside a compiled function, which runs as one list of launches (WEFT-C001): "
         "return the tensor and read it outside",
         loc, {value}, "WEFT-C001");
  if (value.node->lacksDevice)
    failWithoutDevice(value, loc);
  flush({value});
  return value;
}

/// The value, complete. The graph is not locked while this compiles and waits, so other threads can go on.
static Ref complete(const Tensor &tensor, UniqueGraphLock &lock, Loc loc) {
  const PausePermit permit;
  Ref value = computed(tensor, loc);
  if (const auto buffer = value.buffer(); buffer->tracked()) {
    value = {}; // release it, or a write by another thread would have to copy it
    lock.unlock();
    (void)buffer->wait(/*seen=*/false);
    lock.lock();
    value = computed(tensor, loc);
  }
  await(*value.buffer(), loc);
  return value;
}

namespace {
/// A value that is held, and its bytes in memory of the host.
struct Readable {
  Ref value;
  std::shared_ptr<runtime::Buffer> memory;
  const std::byte *bytes() const { return static_cast<const std::byte *>(memory->data()); }
};
} // namespace

static Readable readable(const Tensor &tensor, UniqueGraphLock &lock, Loc loc) {
  Ref value = complete(tensor, lock, loc);
  auto memory = inHostMemory(value.buffer(), loc);
  return {std::move(value), std::move(memory)};
}

size_t Tensor::elements(size_t bytes, Loc loc) const {
  UniqueGraphLock lock(graphMutex());
  auto count = static_cast<uint64_t>(complete(*this, lock, loc).spec().count());
  if (count > static_cast<uint64_t>(PTRDIFF_MAX) / bytes)
    fail("a copy of " + std::to_string(count) + " elements of " + std::to_string(bytes) +
             " bytes does not fit into memory",
         loc);
  return static_cast<size_t>(count);
}

void Tensor::read(void *data, size_t bytes, DType dtype, bool single, Loc loc) const {
  UniqueGraphLock lock(graphMutex());
  if (single && numel(loc) != 1)
    fail("a Tensor with " + std::to_string(numel(loc)) + " elements cannot be converted to Scalar", loc);
  const Readable own = readable(*this, lock, loc);
  convertElements(own.value.spec().dtype, own.bytes(), dtype, data, bytes / itemsize(dtype));
}

std::vector<std::byte> Tensor::to_bytes(Loc loc) const {
  UniqueGraphLock lock(graphMutex());
  const Readable own = readable(*this, lock, loc);
  return {own.bytes(), own.bytes() + own.value.spec().bytes()};
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void write(const Tensor &target, Ref value, Loc loc) {
  const auto &slot = Access::slot(target);
  checkWritable(slot, loc);
  if (!gradEnabled())
    value = slot->view() ? withoutHistory(value, loc) : keepHistory(use(target, loc), value, loc);
  assign(slot, std::move(value));
  flushIfLarge(loc);
}

Tensor &Tensor::copy_(const Tensor &source, MoveOptions options, Loc loc) {
  GraphLock lock(graphMutex());
  const Ref target = use(*this, loc), from = use(source, loc);
  // What is converted on the host cannot be made in pinned memory by the device.
  Ref value = options.non_blocking ? convertTo(from, target.spec().dtype, loc) : from;
  value = transferTo(value, target.spec().device, loc, options);
  value = convertTo(value, target.spec().dtype, loc);
  value = broadcastTo(value, target.spec().shape, loc);
  // The copy gets a node of its own if gradients are involved, so that the gradient with respect to it is not
  // that of its source. It also does so if the source is a view: views are not counted as holders of a node.
  if (value == from && (value.requiresGrad() || Access::slot(source)->view()))
    value = sameValue(value, loc);
  write(*this, std::move(value), loc);
  return *this;
}

Tensor &Tensor::zero_(Loc loc) {
  GraphLock lock(graphMutex());
  write(*this, constant(use(*this, loc).spec(), 0, loc), loc);
  return *this;
}

Tensor &Tensor::operator=(const Arg &value) && {
  if (!value.is_number)
    return copy_(value.tensor, value.loc);
  fillWith("an assignment", *this, value, BeyondHalf::infinity);
  return *this;
}

Tensor Tensor::clone(Loc loc) const {
  GraphLock lock(graphMutex());
  return wrap(sameValue(use(*this, loc), loc), loc);
}

Tensor Tensor::contiguous(Loc loc) const { return is_contiguous(loc) ? *this : clone(loc); }

Tensor &frontend::updateInPlace(Tensor &target, const Tensor &result, Loc loc) {
  GraphLock lock(graphMutex());
  Ref value = use(result, loc), before = use(target, loc);
  if (value.spec().shape != before.spec().shape)
    fail("output with shape " + shapeText(before.spec().shape) + " doesn't match the broadcast shape " +
             shapeText(value.spec().shape),
         loc, {before, value});
  DType from = value.spec().dtype, to = before.spec().dtype;
  if ((is_floating_point(from) && !is_floating_point(to)) || (from != DType::i1 && to == DType::i1))
    fail("result type " + std::string(name(from)) + " can't be cast to the desired output type " +
             std::string(name(to)),
         loc, {before});
  write(target, convertTo(value, to, loc), loc);
  return target;
}
Tensor &Tensor::operator+=(const Arg &other) { return add_(other); }
Tensor &Tensor::operator-=(const Arg &other) { return sub_(other); }
Tensor &Tensor::operator*=(const Arg &other) { return mul_(other); }
Tensor &Tensor::operator/=(const Arg &other) { return div_(other); }

} // namespace weft
