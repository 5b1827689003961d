//===- PlanFixture.h - Plans and packages for tests -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_RUNTIME_PLANFIXTURE_H
#define WEFT_TEST_UNIT_RUNTIME_PLANFIXTURE_H

#include "runtime/execution/Executable.h"
#include "runtime/package/Package.h"
#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/plan/plan_generated.h"

#include <gtest/gtest.h>

#include <cstring>

namespace weft::runtime::test {

inline std::unique_ptr<fb::TensorTypeT> tensor_type(DType dtype, std::vector<int64_t> shape) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->dtype = static_cast<uint8_t>(dtype);
  type->shape = std::move(shape);
  type->device = "cpu";
  return type;
}

/// A kernel for plans that are verified and never run.
inline void nothing(const KernelFrame *, int64_t, int64_t) {}

/// Builds a plan. Each member adds a piece and returns its number or a reference to it.
struct PlanBuilder {
  fb::PlanT plan;
  explicit PlanBuilder(std::string function = "f") {
    plan.function = std::move(function);
    plan.target = "cpu";
    plan.kernel_abi = kernelAbi;
    plan.image = "image.cpu";
  }
  /// A symbol that each call gives a value from `min` to `max`.
  void symbol(std::string name, int64_t min, int64_t max) {
    auto made = std::make_unique<fb::SymbolT>();
    made->name = std::move(name);
    made->min = min;
    made->max = max;
    plan.symbols.push_back(std::move(made));
  }
  /// `coefficient` times the first symbol, divided by `divisor` and rounded up.
  int64_t size(int64_t coefficient, int64_t divisor = 1) {
    auto term = std::make_unique<fb::SizeTermT>();
    term->coefficient = coefficient;
    term->symbols = {0};
    auto made = std::make_unique<fb::SizeExpressionT>();
    made->divisor = divisor;
    made->terms.push_back(std::move(term));
    plan.sizes.push_back(std::move(made));
    return firstExpression + static_cast<int64_t>(plan.sizes.size()) - 1;
  }
  uint32_t argument(std::string name, DType dtype, std::vector<int64_t> shape, bool donated = false) {
    auto argument = std::make_unique<fb::ArgumentT>();
    argument->name = std::move(name);
    argument->type = tensor_type(dtype, std::move(shape));
    argument->donated = donated;
    plan.arguments.push_back(std::move(argument));
    return static_cast<uint32_t>(plan.arguments.size() - 1);
  }
  uint32_t result(std::string name, DType dtype, std::vector<int64_t> shape, int tied_to = -1) {
    auto result = std::make_unique<fb::ResultT>();
    result->name = std::move(name);
    result->type = tensor_type(dtype, std::move(shape));
    result->tied_to = tied_to;
    plan.results.push_back(std::move(result));
    return static_cast<uint32_t>(plan.results.size() - 1);
  }
  uint32_t buffer(fb::Storage storage, uint32_t index, uint64_t offset, uint64_t bytes) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->storage = storage;
    buffer->index = index;
    buffer->offset = offset;
    buffer->bytes = bytes;
    plan.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(plan.buffers.size() - 1);
  }
  /// The buffer of an argument that is a number, in the block of scalars.
  uint32_t scalar(uint32_t argument) {
    auto place = std::make_unique<fb::ScalarPlaceT>();
    place->argument = argument;
    place->dtype = plan.arguments[argument]->type->dtype;
    const uint64_t bytes = itemsize(static_cast<DType>(place->dtype));
    place->offset = (plan.scalar_bytes + bytes - 1) / bytes * bytes;
    plan.scalar_bytes = place->offset + bytes;
    plan.scalars.push_back(std::move(place));
    return buffer(fb::Storage::scalar, static_cast<uint32_t>(plan.scalars.size() - 1), 0, bytes);
  }
  /// Says of a launch that it writes an argument, or prints.
  static fb::LaunchT &predicated(fb::LaunchT &launch) {
    launch.predicate = fb::Predicate::failure;
    return launch;
  }
  fb::LaunchT &launch(std::string name) {
    auto launch = std::make_unique<fb::LaunchT>();
    launch->name = std::move(name);
    launch->location = "step.cpp:7:3";
    plan.launches.push_back(std::move(launch));
    return *plan.launches.back();
  }
  fb::LaunchT &kernel(std::string symbol, std::vector<uint32_t> buffers, uint32_t first_result, int64_t tasks,
                      int64_t grain = 1) {
    fb::KernelLaunchT kernel;
    kernel.symbol = symbol;
    kernel.buffers = std::move(buffers);
    kernel.first_result = first_result;
    kernel.tasks = tasks;
    kernel.grain = grain;
    fb::LaunchT &result = launch(symbol);
    result.op.Set(std::move(kernel));
    return result;
  }
  /// A launch that fails if an element of the buffer is false.
  fb::LaunchT &require(uint32_t buffer, std::vector<int64_t> shape, std::string text = {}) {
    fb::HostLaunchT host;
    host.action = fb::HostAction::require;
    host.buffer = buffer;
    host.dtype = static_cast<uint8_t>(DType::i1);
    host.shape = std::move(shape);
    host.text = std::move(text);
    fb::LaunchT &result = launch("assert");
    result.op.Set(std::move(host));
    result.may_fail = true;
    set_failure_key();
    return result;
  }
  void set_failure_key() {
    plan.failure_key = std::make_unique<fb::FailureKeyT>();
    plan.failure_key->position_bits = 48;
    plan.failure_key->check_bits = 8;
  }
  /// A check of an index of dimension 0, which has `size` elements, of the last kernel, which may then fail.
  fb::CheckT &check(int64_t size, std::string file, uint32_t line, uint32_t column) {
    plan.launches.back()->may_fail = true;
    ++plan.launches.back()->check_count;
    set_failure_key();
    auto check = std::make_unique<fb::CheckT>();
    check->kind = fb::CheckKind::index;
    check->dimension = 0;
    check->size = size;
    check->location = file + ":" + std::to_string(line) + ":" + std::to_string(column);
    check->place = std::make_unique<fb::PlaceT>();
    check->place->file = std::move(file);
    check->place->line = line;
    check->place->column = column;
    plan.checks.push_back(std::move(check));
    return *plan.checks.back();
  }
  std::vector<std::byte> bytes() const {
    flatbuffers::FlatBufferBuilder builder;
    fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
    const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
    return {data, data + builder.GetSize()};
  }
  /// Whether the verifier accepts the plan with the kernels of an image.
  Status verdict(const Image *image, uint64_t constant_bytes = 0) const {
    const std::vector<std::byte> made = bytes();
    const Expected<const fb::Plan *> read = read_plan(made);
    return read ? verify_plan(**read, constant_bytes, image) : read.status();
  }
  /// The plan and its seal, for a package without an image. Of the body of a loop, `kind` is "body".
  void add_to(PackageWriter &writer, const std::string &function, const std::string &kind = "plan") const {
    const std::vector<std::byte> plan_bytes = bytes();
    const uint64_t seal = plan_seal(plan_bytes, 0);
    writer.add(kind + "." + function + ".cpu", plan_bytes);
    writer.add("seal." + function + ".cpu", std::as_bytes(std::span(&seal, 1)));
  }
  std::shared_ptr<const Package> package(std::span<const std::byte> constants = {}) const {
    PackageWriter writer;
    add_to(writer, plan.function);
    if (!constants.empty())
      writer.add("constants", constants);
    return Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
  }
};

/// The verifier's status for a plan with an image of these kernels.
inline Status verify_with(const PlanBuilder &builder, uint64_t constant_bytes,
                          std::initializer_list<std::pair<std::string, KernelFn>> kernels) {
  return builder.verdict(Image::from_functions(kernels).get(), constant_bytes);
}

template <typename T> std::shared_ptr<Buffer> buffer_of(const std::vector<T> &values) {
  std::shared_ptr<Buffer> buffer = Buffer::allocate(values.size() * sizeof(T)).value_or_throw();
  if (!values.empty())
    std::memcpy(buffer->data(), values.data(), buffer->bytes());
  return buffer;
}

template <typename T> std::vector<T> values_of(Buffer &buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), buffer.data(), buffer.bytes());
  return values;
}

/// Expects a failed status whose message contains `part`.
#define EXPECT_FAILS(status, part)                                                                           \
  do {                                                                                                       \
    const ::weft::Status &failed_status = (status);                                                          \
    EXPECT_FALSE(failed_status.ok());                                                                        \
    EXPECT_NE(failed_status.message().find(part), std::string::npos) << failed_status.message();             \
  } while (false)

} // namespace weft::runtime::test

#endif // WEFT_TEST_UNIT_RUNTIME_PLANFIXTURE_H
