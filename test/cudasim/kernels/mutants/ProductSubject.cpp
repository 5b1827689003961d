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
#include <limits>
#include <optional>
#include <random>

namespace weft::cudasim {

using codegen::CudaContraction;
using codegen::Extent;

namespace {

/// Where the elements of the operands and the result of a contraction are. With zeros between the elements of
/// images, each remainder is a batch.
class Places {
public:
  explicit Places(const CudaContraction &c) : c(c), remainders(c.windows ? c.windows->remainders() : 1) {}

  /// The steps of a sum.
  int64_t steps(int64_t batch) const {
    int64_t count = c.k.value;
    if (c.windows && c.windows->hasZeros())
      forParts(batch,
               [&](const auto &dim, const auto &part, int64_t) { count = count / dim.window * part.count; });
    return count;
  }
  /// Whether the remainder has so many places.
  bool isPlace(int64_t batch, int64_t column) const {
    bool isInside = true;
    forParts(batch, [&](const auto &dim, const auto &, int64_t remainder) {
      const int64_t place = column % dim.places * static_cast<int64_t>(dim.parts.size()) + remainder;
      isInside = isInside && place < dim.allPlaces;
      column /= dim.places;
    });
    return isInside;
  }
  int64_t a(int64_t batch, int64_t row, int64_t p) const {
    int64_t k = c.windows ? counted(c.windows->steps, p) : p * c.aStrides[2].value;
    if (c.windows)
      k += c.windows->offsetA;
    if (c.windows && c.windows->hasZeros()) {
      k = c.windows->offsetA;
      forParts(batch, [&](const auto &dim, const auto &part, int64_t) {
        k += (part.first + p % part.count * dim.step) * dim.weights;
        p /= part.count;
      });
      k += p * c.windows->channelWeights;
    }
    return batch / remainders * c.aStrides[0].value + row * c.aStrides[1].value + k;
  }
  /// None outside of an image.
  std::optional<int64_t> b(int64_t batch, int64_t p, int64_t column) const {
    if (!c.windows)
      return batch * c.bStrides[0].value + p * c.bStrides[1].value + column * c.bStrides[2].value;
    const codegen::CudaWindows &w = *c.windows;
    if (w.hasZeros())
      return elementOfPart(batch, p, column);
    int64_t at = batch * c.bStrides[0].value;
    for (auto dim = w.dims.rbegin(); dim != w.dims.rend(); ++dim) {
      const int64_t e = column % dim->places * dim->stride + p % dim->window * dim->dilation - dim->low;
      if (e < 0 || e >= dim->extent)
        return std::nullopt;
      at += e * dim->elements;
      column /= dim->places;
      p /= dim->window;
    }
    return at + column * w.imageStride + p * w.channelStride;
  }
  int64_t result(int64_t batch, int64_t row, int64_t column) const {
    int64_t n = c.windows ? counted(c.windows->columns, column) : column * c.cStrides[2].value;
    forParts(batch, [&](const auto &dim, const auto &, int64_t remainder) { n += remainder * dim.result; });
    return batch / remainders * c.cStrides[0].value + row * c.cStrides[1].value + n;
  }
  /// Elements that each of them reaches.
  size_t countA() const {
    int64_t last = 0;
    for (int64_t batch = c.batch.value - remainders; batch < c.batch.value; ++batch)
      for (int64_t p = 0; p < steps(batch); ++p)
        last = std::max(last, a(batch, c.m.value - 1, p));
    return static_cast<size_t>(last + 1);
  }
  size_t countB() const {
    if (!c.windows)
      return static_cast<size_t>(*b(c.batch.value - 1, c.k.value - 1, c.n.value - 1) + 1);
    const codegen::CudaWindows &w = *c.windows;
    int64_t last = (c.batch.value / remainders - 1) * c.bStrides[0].value +
                   (c.n.value / w.placeCount() - 1) * w.imageStride +
                   (c.k.value / w.windowSize() - 1) * w.channelStride;
    for (const codegen::CudaWindows::Dim &dim : w.dims)
      last += (dim.extent - 1) * dim.elements;
    return static_cast<size_t>(last + 1);
  }
  size_t countC() const {
    int64_t last = 0;
    for (int64_t batch = c.batch.value - remainders; batch < c.batch.value; ++batch)
      for (int64_t column = 0; column < c.n.value; ++column)
        if (isPlace(batch, column))
          last = std::max(last, result(batch, c.m.value - 1, column));
    return static_cast<size_t>(last + 1);
  }

private:
  /// Calls `body(dimension, part, remainder)` for what a batch is of, the last dimension first.
  template <typename Body> void forParts(int64_t batch, const Body &body) const {
    if (!c.windows || !c.windows->hasZeros())
      return;
    int64_t rest = batch % remainders;
    for (auto dim = c.windows->dims.rbegin(); dim != c.windows->dims.rend(); ++dim) {
      const auto count = static_cast<int64_t>(dim->parts.size());
      body(*dim, dim->parts[static_cast<size_t>(rest % count)], rest % count);
      rest /= count;
    }
  }
  std::optional<int64_t> elementOfPart(int64_t batch, int64_t p, int64_t column) const {
    int64_t at = batch / remainders * c.bStrides[0].value;
    bool isInside = true;
    forParts(batch, [&](const auto &dim, const auto &part, int64_t) {
      const int64_t e = column % dim.places * dim.stride + part.begin + p % part.count * dim.dilation;
      isInside = isInside && e >= 0 && e < dim.extent;
      at += e * dim.elements;
      column /= dim.places;
      p /= part.count;
    });
    at += column * c.windows->imageStride + p * c.windows->channelStride;
    return isInside ? std::optional(at) : std::nullopt;
  }
  static int64_t counted(const std::vector<codegen::CountedDim> &dims, int64_t index) {
    int64_t at = 0;
    for (size_t i = dims.size(); i-- > 0;) {
      at += (i ? index % dims[i].extent : index) * dims[i].stride;
      index /= dims[i].extent;
    }
    return at;
  }
  const CudaContraction &c;
  const int64_t remainders; ///< of each group
};

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

/// What the epilogue makes of a sum, of whole numbers.
static float afterSteps(const CudaContraction &c, float sum, int64_t column, size_t at, int64_t output,
                        const std::vector<std::vector<float>> &beside) {
  if (!c.windows) {
    size_t next = 0;
    if (c.bias)
      sum += beside[next++][static_cast<size_t>(column)];
    if (c.residual)
      sum += beside[next][at];
    return c.relu ? withRelu(c.dtype, sum) : sum;
  }
  size_t next = 0;
  for (const ir::ConvolutionStep step : c.windows->epilogue) {
    if (step == ir::ConvolutionStep::relu) {
      sum = sum > 0 ? sum : 0;
      continue;
    }
    const std::vector<float> &numbers = beside[next++];
    const float by = numbers[step == ir::ConvolutionStep::residual ? at : static_cast<size_t>(output)];
    sum = step == ir::ConvolutionStep::mul   ? sum * by
          : step == ir::ConvolutionStep::sub ? sum - by
                                             : sum + by;
  }
  return sum;
}

ProductSubject::Call ProductSubject::makeCall(const CudaContraction &c) {
  const int64_t batch = c.batch.value, m = c.m.value, n = c.n.value;
  const int64_t matrices = c.windows ? c.windows->remainders() : 1; // of a group
  const Places places(c);
  Call call;
  std::mt19937 random(1);
  auto whole = [&](size_t count) {
    std::vector<float> values(count);
    for (float &each : values)
      each = static_cast<float>(static_cast<int>(random() % 7) - 3);
    return values;
  };
  auto a = whole(places.countA()), b = whole(places.countB());
  // The products of row 1 and column 1, or of the first image, round to -0, to which nobody may add a zero.
  const int64_t first = c.windows ? 0 : 1, last = c.windows ? c.windows->placeCount() : 2;
  for (int64_t p = 0; p < places.steps(0) && c.dtype == DType::f32; ++p) {
    a[static_cast<size_t>(places.a(0, 1, p))] = -0x1p-100f;
    for (int64_t column = first; column < last; ++column)
      if (const std::optional<int64_t> element = places.b(0, p, column))
        b[static_cast<size_t>(*element)] = 0x1p-100f;
  }
  const bool hasZeros = c.windows && c.windows->hasZeros();
  // Weights meet elements alone: infinite ones, of the first group, make no NaN at the edges of images, and
  // the infinite element of the last group makes none with rows behind the last. Nothing is 0, so that there
  // are none elsewhere.
  if (hasZeros) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::replace(a.begin(), a.end(), 0.0f, 1.0f);
    std::replace(b.begin(), b.end(), 0.0f, 2.0f);
    b.back() = infinity;
    for (int64_t i = 0; i < matrices; ++i) {
      a[static_cast<size_t>(places.a(i, 0, 0))] = infinity;
      a[static_cast<size_t>(places.a(i, m - 1, places.steps(i) - 1))] = infinity;
    }
  }
  std::vector<std::vector<float>> beside;
  if (c.bias)
    beside.push_back(whole(static_cast<size_t>(n)));
  if (c.residual)
    beside.push_back(whole(places.countC()));
  for (const ir::ConvolutionStep step : c.windows ? c.windows->epilogue : std::vector<ir::ConvolutionStep>())
    if (step != ir::ConvolutionStep::relu)
      beside.push_back(
          whole(step == ir::ConvolutionStep::residual ? places.countC() : static_cast<size_t>(batch * m)));
  call.expected.assign(places.countC() * itemsize(c.dtype), std::byte(0xFF));
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        if (!places.isPlace(i, column))
          continue;
        const auto at = static_cast<size_t>(places.result(i, row, column));
        float sum = 0;
        for (int64_t p = 0; p < places.steps(i); ++p) {
          const std::optional<int64_t> element = places.b(i, p, column);
          if (element || !hasZeros)
            sum = std::fma(a[static_cast<size_t>(places.a(i, row, p))],
                           element ? b[static_cast<size_t>(*element)] : 0.0f, sum);
        }
        const auto bytes = bytesOf(c.dtype, {afterSteps(c, sum, column, at, i / matrices * m + row, beside)});
        std::copy(bytes.begin(), bytes.end(),
                  call.expected.begin() + static_cast<ptrdiff_t>(at * itemsize(c.dtype)));
      }
  call.operands = {bytesOf(c.dtype, a), bytesOf(c.dtype, b)};
  for (const std::vector<float> &each : beside)
    call.operands.push_back(bytesOf(c.dtype, each));
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
