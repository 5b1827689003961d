//===- Calls.cpp - Calls of executables in the C interface ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Executables.h"
#include "runtime/memory/Layout.h"
#include "runtime/memory/Overlap.h"
#include "runtime/support/DeviceName.h"
#include "runtime/support/PerThread.h"
#include "runtime/support/TensorText.h"

using namespace weft;
using namespace weft::capi;
using runtime::Buffer;
using runtime::gather, runtime::scatter, runtime::is_row_major, runtime::overlaps_itself,
    runtime::same_strides;

namespace {

struct LastNote {
  std::string text;
};

std::string list_of(std::span<const int64_t> numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

/// A value of a call that the caller has a buffer for, which messages name: "'step': input 0 'arg0'", or
/// "'step': input 0" if it has no name.
struct Place {
  const runtime::Signature &signature;
  const char *what;
  size_t number;
  const std::string &name;
  runtime::Device &device; ///< where the executable has it
  std::string value() const { return runtime::value_name(what, number, name); }
  std::string str() const { return "'" + signature.function + "': " + value(); }
};

/// Memory that the runtime allocated for an output, and the output's shape.
struct Owned {
  std::shared_ptr<Buffer> buffer;
  std::vector<int64_t> shape;
};

/// The caller's shape of a tensor of `rank` dimensions.
Expected<std::vector<int64_t>> shape_of(const weft_buffer &buffer, const runtime::TensorInfo &type,
                                        const Place &place) {
  // Nothing behind `shape` is read before the caller's rank is known to be right.
  if (buffer.rank != static_cast<int64_t>(type.shape.size()))
    return argument_error(place.str() + " must be of rank " + std::to_string(type.shape.size()) +
                          " and shape " + list_of(type.shape) + ", found rank " +
                          std::to_string(buffer.rank));
  if (buffer.rank > 0 && !buffer.shape)
    return argument_error(place.str() + " has rank " + std::to_string(buffer.rank) + " and no shape");
  return std::vector<int64_t>(buffer.shape, buffer.shape + buffer.rank);
}

/// Whether the caller's memory is that of the host. An error if it is neither that nor of the value's device.
Expected<bool> is_on_host(const weft_buffer &buffer, const Place &place) {
  const Expected<runtime::DeviceName> given =
      runtime::parse_device_name(buffer.device ? buffer.device : "cpu");
  if (!given)
    return given.status().context(place.str() + ": ");
  if (!given->cuda)
    return true;
  const std::string name = "cuda:" + std::to_string(given->index.value_or(0));
  if (name == place.device.name())
    return false;
  return argument_error(place.str() + " must be on '" + place.device.name() +
                        (place.device.is_host() ? "'" : "' or in memory of the host") + ", found '" + name +
                        "'");
}

/// Whether the caller's description is that of `type`.
Status check_description(const weft_buffer &buffer, const runtime::TensorInfo &type, const Place &place) {
  const auto differs = [&](const std::string &expected, const std::string &found) {
    return argument_error(place.str() + " must be " + expected + ", found " + found);
  };
  const auto dtype_name = [](int dtype) {
    return dtype >= 0 && dtype <= WEFT_F64 ? std::string(name(static_cast<DType>(dtype)))
                                           : "dtype " + std::to_string(dtype);
  };
  if (buffer.dtype != static_cast<weft_dtype>(type.dtype))
    return differs(std::string(name(type.dtype)), dtype_name(buffer.dtype));
  const Expected<std::vector<int64_t>> shape = shape_of(buffer, type, place);
  if (!shape)
    return shape.status();
  if (*shape != type.shape)
    return differs("of shape " + list_of(type.shape), list_of(*shape));
  if (!buffer.data && type.bytes > 0)
    return argument_error(place.str() + " has no data");
  const Expected<bool> on_host = is_on_host(buffer, place);
  if (!on_host)
    return on_host.status();
  if (buffer.strides && !*on_host) {
    const std::span<const int64_t> strides(buffer.strides, shape->size());
    if (type.strides.empty() ? !is_row_major(*shape, strides) : !same_strides(*shape, strides, type.strides))
      return differs(type.strides.empty() ? "row-major" : "of the strides " + list_of(type.strides),
                     "the strides " + list_of(strides) + ": memory of a GPU is passed as it is");
  } else if (buffer.strides) {
    const std::span<const int64_t> strides(buffer.strides, shape->size());
    if (!runtime::is_row_major(*shape, strides) &&
        !runtime::is_addressable(*shape, strides, itemsize(type.dtype), buffer.data))
      return argument_error(place.str() + " has the strides " + list_of(strides) +
                            ", which lead to addresses where the process has no memory: strides count "
                            "elements");
  }
  return {};
}

/// Adds a note about a copy. If memory runs out, the note is dropped, because the call may have run already.
template <typename Reason> void note_copy(const Place &place, size_t bytes, Reason reason) noexcept {
  try {
    runtime::PerThread<LastNote>::get().text +=
        "WEFT-D013: " + place.str() + " " + reason() + ": " + std::to_string(bytes) + " bytes were copied\n";
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch)
  }
}

std::shared_ptr<Buffer> owner_of(const weft_buffer &buffer) {
  return buffer.owner ? static_cast<Owned *>(buffer.owner)->buffer : nullptr;
}

/// The bytes of all elements in row-major memory.
size_t row_major_bytes(const runtime::TensorInfo &type) {
  size_t bytes = itemsize(type.dtype);
  for (int64_t extent : type.shape)
    bytes *= static_cast<size_t>(extent);
  return bytes;
}

/// A copy on a device.
Expected<std::shared_ptr<Buffer>> on_device(const Buffer &from, runtime::Device &device) {
  Expected<std::shared_ptr<Buffer>> copy = Buffer::allocate(from.bytes(), 0, device);
  if (!copy)
    return copy;
  if (Status status = (*copy)->write(0, {static_cast<const std::byte *>(from.data()), from.bytes()}); !status)
    return status;
  return copy;
}

/// The buffer of an input for a call: the caller's memory, or a copy of it.
Expected<std::shared_ptr<Buffer>> input_memory(const weft_buffer &buffer, const runtime::TensorInfo &type,
                                               const Place &place, runtime::Queue &queue) {
  if (Status status = check_description(buffer, type, place); !status)
    return status;
  const std::span<const int64_t> strides(buffer.strides, buffer.strides ? type.shape.size() : 0);
  const bool row_major = !buffer.strides || is_row_major(type.shape, strides);
  const bool wanted = type.strides.empty() ? row_major : same_strides(type.shape, strides, type.strides);
  const size_t alignment = itemsize(type.dtype);
  const bool aligned = reinterpret_cast<uintptr_t>(buffer.data) % alignment == 0;
  const bool there = place.device.is_host() || !*is_on_host(buffer, place);
  const std::shared_ptr<Buffer> owner = owner_of(buffer);
  if (there && ((wanted && aligned) || !place.device.is_host())) {
    // Memory from the runtime may still be being written; its own buffer tracks that.
    if (owner && owner->data() == buffer.data && owner->bytes() == type.bytes)
      return owner;
    return Buffer::wrap(buffer.data, type.bytes, {}, place.device);
  }
  if (!wanted && !type.strides.empty() && overlaps_itself(type.shape, type.strides))
    return argument_error(
        place.str() + " is compiled for the strides " + list_of(type.strides) +
        ", which repeat elements, and other memory cannot be copied to them: give these strides");
  Expected<std::shared_ptr<Buffer>> copy =
      there ? Buffer::allocate(type.bytes) : Buffer::allocate_pinned(type.bytes, place.device);
  if (!copy)
    return copy;
  if (owner)
    if (Status status = owner->wait(); !status)
      return status;
  std::vector<std::byte> packed;
  if (!wanted && !type.strides.empty() && !row_major)
    packed.resize(row_major_bytes(type));
  // Copy after the earlier work of the stream, which may write the memory.
  queue.enter();
  const auto *from = static_cast<const std::byte *>(buffer.data);
  auto *to = static_cast<std::byte *>((*copy)->data());
  if (wanted)
    std::memcpy(to, from, type.bytes);
  else if (type.strides.empty())
    gather(type.shape, strides, alignment, from, to);
  else {
    if (!row_major) {
      gather(type.shape, strides, alignment, from, packed.data());
      from = packed.data();
    }
    scatter(type.shape, type.strides, alignment, from, to);
  }
  queue.leave();
  Expected<std::shared_ptr<Buffer>> passed = there ? std::move(copy) : on_device(**copy, place.device);
  if (!passed)
    return passed;
  note_copy(place, type.bytes, [&]() -> std::string {
    if (!there)
      return "is in memory of the host and is taken on '" + place.device.name() + "'";
    if (wanted)
      return "begins at an address that is no multiple of its element size";
    const std::string found = row_major ? "is row-major" : "has the strides " + list_of(strides);
    return type.strides.empty()
               ? found + " and is not row-major"
               : found + ", and the function was compiled for the strides " + list_of(type.strides);
  });
  return passed;
}

/// Copies a result to the caller's memory, as work of the queue.
struct Scattering {
  std::shared_ptr<Buffer> from;
  std::byte *to;
  const runtime::TensorInfo *type;
  std::vector<int64_t> strides;                    ///< empty: row-major
  std::shared_ptr<runtime::Executable> executable; ///< whose type it is
  uint64_t sequence;

  void operator()() const {
    if (from->blocking(sequence))
      return; // the call failed: there is nothing to copy
    std::vector<std::byte> copy(from->device().is_host() ? 0 : type->bytes);
    from->read(0, copy).throw_if_failed();
    const auto *values = copy.empty() ? static_cast<const std::byte *>(from->data()) : copy.data();
    if (strides.empty())
      std::memcpy(to, values, type->bytes);
    else
      scatter(type->shape, strides, itemsize(type->dtype), values, to);
  }
};

/// The element `i` of the caller's array, whose elements have the size in their field `struct_size`.
template <typename Buffers> Buffers *at(Buffers *buffers, size_t i) {
  using Byte = std::conditional_t<std::is_const_v<Buffers>, const std::byte, std::byte>;
  return reinterpret_cast<Buffers *>(reinterpret_cast<Byte *>(buffers) + i * buffers->struct_size);
}

Status check_array(const weft_buffer *buffers, size_t count, size_t expected, const char *what,
                   const runtime::Signature &signature) {
  if (count != expected)
    return argument_error("'" + signature.function + "' has " + std::to_string(expected) + " " + what +
                          ", found " + std::to_string(count));
  if (count == 0)
    return {};
  if (Status status = require(buffers, what); !status)
    return status;
  if (const auto first = read_struct(buffers, what); !first)
    return first.status();
  for (size_t i = 1; i < count; ++i)
    if (at(buffers, i)->struct_size != buffers->struct_size)
      return argument_error("the struct_size of " + std::string(what) + "[" + std::to_string(i) + "] is " +
                            std::to_string(at(buffers, i)->struct_size) + ", that of the first is " +
                            std::to_string(buffers->struct_size));
  return {};
}

/// A piece of memory that the caller passed to a call.
struct Passed {
  runtime::StridedMemory memory;
  runtime::ByteRange bytes;
  bool written;
  Place place;

  Passed(const weft_buffer &buffer, const runtime::TensorInfo &type, bool written, const Place &place)
      : memory{buffer.data,
               type.shape,
               {buffer.strides, buffer.strides ? type.shape.size() : 0},
               itemsize(type.dtype)},
        bytes(runtime::bytesOf(memory)), written(written), place(place) {}
};

/// Memory that is written must share no byte with any other memory that the caller passed. (Inputs that are
/// copied first could be exempt, but which ones are depends on strides and addresses.)
Status check_sharing(const std::vector<Passed> &passed) {
  std::vector<const Passed *> sorted;
  for (const Passed &one : passed)
    sorted.push_back(&one);
  std::ranges::sort(sorted, {}, [](const Passed *one) { return std::pair(one->bytes.low, one); });
  for (size_t i = 0; i < sorted.size(); ++i)
    for (size_t j = i + 1; j < sorted.size() && sorted[j]->bytes.low < sorted[i]->bytes.high; ++j) {
      const Passed *written = sorted[i], *other = sorted[j];
      if (!written->written)
        std::swap(written, other);
      if (written->written && !areDisjoint(written->memory, other->memory))
        return argument_error(written->place.str() + " shares memory with " + other->place.value() +
                              ": an output needs memory of its own");
    }
  return {};
}

/// The executable for the sizes of the inputs.
Expected<std::shared_ptr<runtime::Executable>> instance_for(const runtime::StatefulExecutable &executable,
                                                            const weft_buffer *inputs, size_t count) {
  const runtime::Signature &signature = executable.signature();
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < count && !signature.symbols.empty(); ++i) {
    const runtime::ArgumentInfo &argument = signature.arguments[executable.inputs()[i]];
    const Expected<weft_buffer> buffer = read_struct(at(inputs, i), "inputs");
    if (!buffer)
      return buffer.status();
    Expected<std::vector<int64_t>> shape =
        shape_of(*buffer, argument.type, {signature, "input", i, argument.name, runtime::host_device()});
    if (!shape)
      return shape.status();
    shapes.push_back(*std::move(shape));
  }
  Expected<std::shared_ptr<runtime::Executable>> instance = executable.at(shapes);
  if (!instance && instance.status().code().empty())
    return instance.status().with([](FailureInfo &info) { info.code = argumentCode; });
  return instance;
}

/// The memory of a call's inputs.
Expected<std::vector<std::shared_ptr<Buffer>>>
take_inputs(const runtime::StatefulExecutable &executable, const runtime::Signature &signature,
            const weft_buffer *inputs, size_t count, runtime::Queue &queue, std::vector<Passed> &passed) {
  std::vector<std::shared_ptr<Buffer>> arguments(count);
  for (size_t i = 0; i < count; ++i) {
    const runtime::ArgumentInfo &argument = signature.arguments[executable.inputs()[i]];
    const Place place{signature, "input", i, argument.name,
                      executable.executable().argument_device(executable.inputs()[i])};
    const weft_buffer input = *read_struct(at(inputs, i), "inputs");
    Expected<std::shared_ptr<Buffer>> taken = input_memory(input, argument.type, place, queue);
    if (!taken)
      return taken.status();
    arguments[i] = *std::move(taken);
    passed.emplace_back(input, argument.type, /*written=*/false, place);
  }
  return arguments;
}

/// The outputs of a call, from the caller's description of them to their return.
class Outputs {
public:
  Outputs(const runtime::StatefulExecutable &executable, std::shared_ptr<runtime::Executable> instance,
          weft_buffer *outputs, size_t count)
      : memory(count), results(count), executable_(executable), instance_(std::move(instance)),
        outputs_(outputs), count_(count), given_(count), scattered_(count), owned_(count), strides_(count) {}

  /// Reads the caller's descriptions, and finds the memory that the call can write itself.
  Status take(std::vector<Passed> &passed) {
    for (size_t i = 0; i < count_; ++i) {
      const weft_buffer &given = given_[i] = *read_struct(at(outputs_, i), "outputs");
      if (!given.data)
        continue;
      const runtime::TensorInfo &type = info(i).type;
      if (Status status = check_description(given, type, place(i)); !status)
        return status;
      const std::span<const int64_t> strides(given.strides, given.strides ? type.shape.size() : 0);
      const bool aligned = reinterpret_cast<uintptr_t>(given.data) % itemsize(type.dtype) == 0;
      const bool there = place(i).device.is_host() || !*is_on_host(given, place(i));
      scattered_[i] = !there || (place(i).device.is_host() &&
                                 (!aligned || (given.strides && !is_row_major(type.shape, strides))));
      if (scattered_[i] && given.strides && overlaps_itself(type.shape, strides))
        return argument_error(place(i).str() + " has the strides " + list_of(strides) +
                              ", with which elements overlap: an output needs one place for each");
      passed.emplace_back(given, type, /*written=*/true, place(i));
      if (scattered_[i])
        continue;
      const std::shared_ptr<Buffer> owner = owner_of(given);
      const bool own = owner && owner->data() == given.data && owner->bytes() == type.bytes;
      memory[i] = own ? owner : Buffer::wrap(given.data, type.bytes, {}, place(i).device);
    }
    return {};
  }

  /// Allocates everything that returning outputs needs, before the call runs, so that a call that fails has
  /// changed nothing.
  void prepare_return() {
    for (size_t i = 0; i < count_; ++i)
      if (!given_[i].data)
        owned_[i] = std::make_unique<Owned>(Owned{nullptr, info(i).type.shape});
      else if (scattered_[i] && given_[i].strides)
        strides_[i].assign(given_[i].strides, given_[i].strides + given_[i].rank);
  }

  /// Brings the results of the call to the caller. `later` says whether work of the queue does some of it.
  Status give(runtime::Queue &queue, bool &later) {
    for (size_t i = 0; i < count_; ++i)
      if (scattered_[i])
        later |= scatter(i, queue);
      else if (!given_[i].data)
        if (Status status = give_owned(i); !status)
          return status;
    return {};
  }

  std::vector<std::shared_ptr<Buffer>> memory;  ///< the caller's, null where it is not given or not suitable
  std::vector<std::shared_ptr<Buffer>> results; ///< of the call

private:
  const runtime::ResultInfo &info(size_t i) const {
    return instance_->signature().results[executable_.outputs()[i]];
  }
  Place place(size_t i) const {
    return {instance_->signature(), "output", i, info(i).name,
            instance_->result_device(executable_.outputs()[i])};
  }

  /// Copies a result to memory that the call could not write. Returns whether the queue has yet to do it.
  bool scatter(size_t i, runtime::Queue &queue) {
    const runtime::TensorInfo &type = info(i).type;
    note_copy(place(i), type.bytes, [&]() -> std::string {
      if (!place(i).device.is_host())
        return "is in memory of the host and is made on '" + place(i).device.name() + "'";
      return given_[i].strides ? "has the strides " + list_of(strides_[i]) + " and is not row-major"
                               : "begins at an address that is no multiple of its element size";
    });
    Scattering work{results[i], static_cast<std::byte *>(given_[i].data),
                    &type,      std::move(strides_[i]),
                    instance_,  runtime::next_sequence()};
    try {
      queue.submit(work);
      return true;
    } catch (...) {
      // The call has run, so its output must arrive: do the work on this thread. Not for an external queue,
      // which may be waiting for this thread.
      if (queue.is_external())
        throw;
      queue.enter();
      const runtime::LeaveScope leave(queue);
      work();
      return false;
    }
  }

  /// Returns a result in memory of the runtime.
  Status give_owned(size_t i) {
    Owned &owned = *owned_[i];
    weft_buffer filled = given_[i];
    filled.data = results[i]->data();
    filled.device = results[i]->device().name().c_str(); // which exists as long as the process
    filled.dtype = static_cast<weft_dtype>(info(i).type.dtype);
    filled.rank = static_cast<int32_t>(info(i).type.shape.size());
    filled.strides = nullptr;
    filled.shape = owned.shape.data();
    filled.owner = &owned;
    owned.buffer = results[i];
    if (Status status = write_struct(at(outputs_, i), filled, "outputs"); !status)
      return status;
    owned_[i].release(); // NOLINT(bugprone-unused-return-value): the caller owns it now
    return {};
  }

  const runtime::StatefulExecutable &executable_;
  const std::shared_ptr<runtime::Executable> instance_;
  weft_buffer *const outputs_;
  const size_t count_;
  std::vector<weft_buffer> given_;
  std::vector<bool> scattered_; ///< whether the call writes other memory, which is then copied
  std::vector<std::unique_ptr<Owned>> owned_;
  std::vector<std::vector<int64_t>> strides_; ///< of those that are scattered
};

Status run(weft_executable &handle, weft_stream *stream, const weft_buffer *inputs, size_t input_count,
           weft_buffer *outputs, size_t output_count) {
  runtime::StatefulExecutable &executable = *handle.executable;
  const runtime::Signature &declared = executable.signature();
  runtime::Queue &queue = queue_of(stream);
  runtime::PerThread<LastNote>::get().text.clear();
  if (Status status = check_array(inputs, input_count, executable.inputs().size(), "inputs", declared);
      !status)
    return status;
  if (Status status = check_array(outputs, output_count, executable.outputs().size(), "outputs", declared);
      !status)
    return status;
  const Expected<std::shared_ptr<runtime::Executable>> instance =
      instance_for(executable, inputs, input_count);
  if (!instance)
    return instance.status();
  std::vector<Passed> passed;
  passed.reserve(input_count + output_count);
  const Expected<std::vector<std::shared_ptr<Buffer>>> arguments =
      take_inputs(executable, (*instance)->signature(), inputs, input_count, queue, passed);
  if (!arguments)
    return arguments.status();
  Outputs returned(executable, *instance, outputs, output_count);
  if (Status status = returned.take(passed); !status)
    return status;
  if (Status status = check_sharing(passed); !status)
    return status;
  returned.prepare_return();
  runtime::RunOptions options;
  options.queue = &queue;
  if (Status status = executable.run(**instance, *arguments, returned.memory, returned.results, options);
      !status)
    return status;
  bool later = false;
  if (Status status = returned.give(queue, later); !status)
    return status;
  // With WEFT_CPU_QUEUE=inline the work is complete when this returns.
  static const Expected<runtime::QueueMode> mode = runtime::queue_mode_from_environment();
  if (later && mode && *mode == runtime::QueueMode::inlined) {
    queue.enter();
    queue.leave();
  }
  return {};
}

} // namespace

void weft_buffer_release(weft_buffer *buffer) {
  if (!buffer || !buffer->owner)
    return;
  delete static_cast<Owned *>(buffer->owner);
  buffer->owner = nullptr;
  buffer->data = nullptr;
}

weft_status weft_buffer_wait(const weft_buffer *buffer) {
  return guarded([&]() -> Status {
    if (Status status = require(buffer, "buffer"); !status)
      return status;
    if (!buffer->owner)
      return argument_error("the buffer was not allocated by the runtime: synchronise its stream instead");
    return owner_of(*buffer)->wait();
  });
}

weft_status weft_executable_run(weft_executable *executable, weft_stream *stream, const weft_buffer *inputs,
                                size_t input_count, weft_buffer *outputs, size_t output_count) {
  return guarded([&]() -> Status {
    if (Status status = require(executable, "executable"); !status)
      return status;
    return run(*executable, stream, inputs, input_count, outputs, output_count);
  });
}

const char *weft_executable_note(void) {
  try {
    return runtime::PerThread<LastNote>::get().text.c_str();
  } catch (const std::bad_alloc &) {
    return ""; // this thread has no note
  }
}
