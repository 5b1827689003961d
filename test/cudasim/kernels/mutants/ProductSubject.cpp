//===- ProductSubject.cpp - A contraction whose kernel is changed ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ProductSubject.h"

#include "codegen/cuda/contractions/PrintContraction.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace weft::cudasim {

using codegen::CudaContraction;
using codegen::Extent;

namespace {

/// Elements that three dimensions with these strides reach.
size_t reach(const std::array<int64_t, 3> &lengths, const std::array<Extent, 3> &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < 3; ++i)
    last += (lengths[i] - 1) * strides[i].value;
  return static_cast<size_t>(last + 1);
}

int64_t place(const std::array<Extent, 3> &strides, int64_t batch, int64_t row, int64_t column) {
  return batch * strides[0].value + row * strides[1].value + column * strides[2].value;
}

/// Integers wrap.
std::vector<std::byte> bytesOf(DType dtype, const std::vector<float> &values) {
  const size_t size = itemsize(dtype);
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto half = static_cast<_Float16>(values[i]);
    const auto integer = static_cast<int64_t>(values[i]);
    const void *const from = dtype == DType::f32   ? static_cast<const void *>(&values[i])
                             : dtype == DType::f16 ? static_cast<const void *>(&half)
                                                   : &integer;
    std::memcpy(bytes.data() + i * size, from, size);
  }
  return bytes;
}

float withRelu(DType dtype, float sum) {
  return (dtype == DType::i8 ? static_cast<float>(static_cast<int8_t>(static_cast<int>(sum))) : sum) < 0
             ? 0
             : sum;
}

} // namespace

ProductSubject::Call ProductSubject::makeCall(const CudaContraction &c) {
  const int64_t batch = c.batch.value, m = c.m.value, n = c.n.value, k = c.k.value;
  Call call;
  std::mt19937 random(1);
  auto whole = [&](size_t count) {
    std::vector<float> values(count);
    for (float &each : values)
      each = static_cast<float>(static_cast<int>(random() % 7) - 3);
    return values;
  };
  auto a = whole(reach({batch, m, k}, c.aStrides)), b = whole(reach({batch, k, n}, c.bStrides));
  // The products of row 1 and column 1 round to -0, to which nobody may add a zero.
  for (int64_t p = 0; p < k && c.dtype == DType::f32; ++p) {
    a[static_cast<size_t>(place(c.aStrides, 0, 1, p))] = -0x1p-100f;
    b[static_cast<size_t>(place(c.bStrides, 0, p, 1))] = 0x1p-100f;
  }
  const auto bias = whole(static_cast<size_t>(n)), residual = whole(reach({batch, m, n}, c.cStrides));
  call.expected.assign(residual.size() * itemsize(c.dtype), std::byte(0xFF));
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        const auto at = static_cast<size_t>(place(c.cStrides, i, row, column));
        float sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum = std::fma(a[static_cast<size_t>(place(c.aStrides, i, row, p))],
                         b[static_cast<size_t>(place(c.bStrides, i, p, column))], sum);
        if (c.bias)
          sum += bias[static_cast<size_t>(column)];
        if (c.residual)
          sum += residual[at];
        const auto bytes = bytesOf(c.dtype, {c.relu ? withRelu(c.dtype, sum) : sum});
        std::copy(bytes.begin(), bytes.end(),
                  call.expected.begin() + static_cast<ptrdiff_t>(at * itemsize(c.dtype)));
      }
  call.operands = {bytesOf(c.dtype, a), bytesOf(c.dtype, b)};
  if (c.bias)
    call.operands.push_back(bytesOf(c.dtype, bias));
  if (c.residual)
    call.operands.push_back(bytesOf(c.dtype, residual));
  call.operands.push_back(call.expected);
  for (const Extent *extent : c.sizes())
    if (extent->isParameter)
      call.sizes.push_back(extent->value);
  return call;
}

Expected<std::unique_ptr<Subject>> ProductSubject::make(const std::vector<CudaContraction> &contractions,
                                                        const ChangeSchedule &change) {
  const ir::TargetDescription device = *ir::findDescription("cuda:sm_90");
  const CudaContraction &first = contractions.front();
  auto schedule = codegen::chooseContractionSchedule(first, device);
  if (!schedule)
    return schedule.status();
  if (change)
    change(*schedule);
  auto text = codegen::printContraction(first, *schedule, device);
  if (!text)
    return text.status();
  auto made = std::make_unique<ProductSubject>();
  for (const CudaContraction &each : contractions) {
    auto blocks = codegen::contractionBlocks(*schedule, each.batch.value, each.m.value, each.n.value);
    if (!blocks)
      return blocks.status();
    made->calls.push_back(makeCall(each));
    made->calls.back().blocks = *blocks;
  }
  made->kernel.symbol = symbol;
  made->kernel.text = *text;
  for (size_t i = 0; i < made->calls.front().operands.size(); ++i)
    made->kernel.slots.push_back(static_cast<int64_t>(i));
  made->kernel.sizeCount = static_cast<uint32_t>(made->calls.front().sizes.size());
  made->kernel.threads = static_cast<uint32_t>(schedule->threads());
  made->kernel.dynamicShared = static_cast<uint32_t>(schedule->sharedBytes(first.dtype));
  return std::unique_ptr<Subject>(std::move(made));
}

Status ProductSubject::run(const std::string &, std::shared_ptr<Module> module) {
  kernel.module = std::move(module);
  for (const Call &call : calls)
    if (Status status = runCall(call); !status)
      return status;
  return {};
}

Status ProductSubject::runCall(const Call &described) {
  // Memory of the host whose addresses are as aligned as those of a device.
  std::vector<std::vector<std::byte>> memory;
  KernelCall call;
  for (const std::vector<std::byte> &bytes : described.operands) {
    std::vector<std::byte> &each = memory.emplace_back(bytes.size() + Memory::granule);
    std::byte *data =
        each.data() + (Memory::granule - reinterpret_cast<uintptr_t>(each.data())) % Memory::granule;
    std::memcpy(data, bytes.data(), bytes.size());
    call.operands.push_back({data, bytes.size(), &bytes == &described.operands.back()});
  }
  call.sizes = described.sizes;
  call.tasks = described.blocks;
  RunStyle style;
  style.race = true;
  style.seed = 3;
  style.budget = budget;
  LaunchNotes notes;
  Status status = runKernel(kernel, call, style, notes);
  mostSteps = std::max(mostSteps, notes.steps);
  if (!status)
    return status;
  const std::vector<std::byte> &expected = described.expected;
  const auto differs =
      std::mismatch(expected.begin(), expected.end(), call.operands.back().data).first - expected.begin();
  return static_cast<size_t>(differs) == expected.size()
             ? Status()
             : Status::error("wrong: byte " + std::to_string(differs) + " of the product");
}

} // namespace weft::cudasim
