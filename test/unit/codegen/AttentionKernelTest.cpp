//===- AttentionKernelTest.cpp - Attention on GPUs ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of attention, compiled by NVRTC, on the engine that runs PTX (docs/cudasim.md), in race mode and in
// two orders of blocks and warps, which give equal bytes. Results are compared with those of plain loops in
// double precision, within bounds that follow from the roundings of each step.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/attention/PrintAttention.h"
#include "test/cudasim/engine/Engine.h"
#include "test/unit/TestLevel.h"
#include "test/unit/codegen/Elements.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <map>

namespace weft::testing {
namespace {

using codegen::AttentionOperand;
using codegen::AttentionSchedule;
using codegen::CudaAttention;

constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// An attention and its operands
//===----------------------------------------------------------------------===//

/// How the dimensions of an operand lie in memory.
enum class Layout { rows, interleaved, columns, spread };

struct Case {
  std::vector<int64_t> batch = {1};
  int64_t rows = 1, keys = 1, features = 1, values = 1;
  bool causal = false, backward = false;
  std::optional<DType> mask;
  bool maskRepeats = false; ///< one mask for all batch indices
  Layout layout = Layout::rows;
};

/// The view of a [batch.., rows, columns] tensor.
ir::AttentionView viewOf(const Case &c, Layout layout, int64_t rows, int64_t columns) {
  const size_t rank = c.batch.size() + 2;
  std::vector<int64_t> shape(c.batch), order;
  shape.insert(shape.end(), {rows, columns});
  for (size_t i = 0; i < rank; ++i)
    order.push_back(static_cast<int64_t>(i));
  if (layout == Layout::interleaved && rank > 3) // [batch, rows, heads, columns]
    std::swap(order[rank - 3], order[rank - 2]);
  if (layout == Layout::columns)
    std::swap(order[rank - 2], order[rank - 1]);
  if (layout == Layout::spread)
    shape.back() += 3;
  ir::AttentionView view = ir::orderedView(shape, order);
  view.offset = layout == Layout::spread ? 5 : layout == Layout::interleaved ? 8 : 0;
  return view;
}

CudaAttention makeAttention(DType dtype, const Case &c) {
  llvm::SmallVector<int64_t> shape(c.batch.begin(), c.batch.end());
  shape.append({c.rows, c.keys, c.features, c.values});
  CudaAttention a{ir::AttentionExtents(shape)};
  a.dtype = dtype;
  a.mask = c.mask;
  a.causal = c.causal;
  a.backward = c.backward;
  a.scale = 1 / std::sqrt(double(c.features));
  auto add = [&](const char *name, int64_t rows, int64_t columns, bool isWritten) {
    const Layout layout = std::string_view(name) == "lse" ? Layout::rows : c.layout;
    const DType type = std::string_view(name) == "lse" ? f32 : dtype;
    a.operands.push_back({name, type, viewOf(c, layout, rows, columns), rows, columns, isWritten});
  };
  add("q", c.rows, c.features, false);
  add("k", c.keys, c.features, false);
  add("v", c.keys, c.values, false);
  add("out", c.rows, c.values, !c.backward);
  add("lse", c.rows, 1, !c.backward);
  if (c.backward) {
    add("grad", c.rows, c.values, false);
    add("dq", c.rows, c.features, true);
    add("dk", c.keys, c.features, true);
    add("dv", c.keys, c.values, true);
  }
  if (c.mask) {
    add("mask", c.rows, c.keys, false);
    a.operands.back().dtype = *c.mask;
    if (c.maskRepeats)
      for (size_t d = 0; d < c.batch.size(); ++d)
        a.operands.back().view.strides[d] = 0;
  }
  return a;
}

/// The elements of memory that a view reaches.
size_t reach(const CudaAttention &a, const AttentionOperand &operand) {
  int64_t last = operand.view.offset;
  std::vector<int64_t> shape(a.extents.batch.begin(), a.extents.batch.end());
  shape.insert(shape.end(), {operand.rows, operand.columns});
  for (size_t d = 0; d < shape.size(); ++d)
    last += (shape[d] - 1) * operand.view.strides[d];
  return static_cast<size_t>(last + 1);
}

using Tensors = std::map<std::string, Elements>;

int64_t placeOf(const CudaAttention &a, const AttentionOperand &operand, int64_t matrix, int64_t row,
                int64_t column) {
  int64_t at = operand.view.offset;
  const size_t rank = a.extents.batch.size();
  for (size_t d = rank; d-- > 0; matrix /= a.extents.batch[d])
    at += matrix % a.extents.batch[d] * operand.view.strides[d];
  return at + row * operand.view.strides[rank] + column * operand.view.strides[rank + 1];
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

/// A number, and how far from it a kernel may be.
struct Bounded {
  double value = 0, error = 0;
};
using Matrix = std::vector<std::vector<Bounded>>;

Matrix matrixOf(int64_t rows, int64_t columns) {
  return Matrix(size_t(rows), std::vector<Bounded>(size_t(columns)));
}

/// What plain loops compute for one batch index.
class Reference {
public:
  Reference(const CudaAttention &a, const AttentionSchedule &s, const Tensors &tensors, int64_t matrix)
      : a(a), e(a.extents), tensors(tensors), matrix(matrix), unit(a.dtype == f32   ? 0x1p-24
                                                                   : a.dtype == f16 ? 0x1p-11
                                                                                    : 0x1p-8),
        rounding(s.matrixUnits ? unit : 0x1p-24) {
    scores = matrixOf(e.rows, e.keys);
    for (int64_t i = 0; i < e.rows; ++i)
      for (int64_t j = 0; j < e.keys; ++j)
        scores[size_t(i)][size_t(j)] = score(i, j);
  }

  double read(const char *name, int64_t row, int64_t column) const {
    const AttentionOperand &operand = *a.find(name);
    const int64_t at = placeOf(a, operand, matrix, row, column);
    return operand.dtype == DType::i1 ? double(tensors.at(name).bytes[size_t(at)] != std::byte(0))
                                      : tensors.at(name).real(at);
  }

  std::map<std::string, Matrix> results() const { return a.backward ? backward() : forward(); }

private:
  Bounded score(int64_t i, int64_t j) const {
    if (a.causal && j > i)
      return {-infinity, 0};
    double sum = 0, magnitude = 0;
    for (int64_t f = 0; f < e.features; ++f) {
      const double term = read("q", i, f) * read("k", j, f);
      sum += term;
      magnitude += std::abs(term);
    }
    const auto scale = double(float(a.scale));
    sum *= scale;
    magnitude *= std::abs(scale);
    if (a.mask == DType::i1)
      return read("mask", i, j) != 0 ? Bounded{sum, error(magnitude)} : Bounded{-infinity, 0};
    if (!a.mask)
      return {sum, error(magnitude)};
    const double mask = read("mask", i, j);
    return {sum + mask, error(magnitude + (std::isinf(mask) ? 0 : std::abs(mask)))};
  }
  double error(double magnitude) const { return double(e.features + 4) * 0x1p-24 * magnitude; }

  /// The error of a result that is `value`, after it is rounded to its type.
  double rounded(double value, double error) const {
    // A half that is subnormal has a unit of 2^-24.
    return error + unit * std::abs(value) * 1.01 + (a.dtype == f16 ? 0x1p-24 : 0x1p-126);
  }

  std::map<std::string, Matrix> forward() const {
    Matrix out = matrixOf(e.rows, e.values), lse = matrixOf(e.rows, 1);
    for (int64_t i = 0; i < e.rows; ++i) {
      double highest = -infinity, worst = 0, total = 0;
      for (const Bounded &s : scores[size_t(i)]) {
        highest = std::max(highest, s.value);
        if (s.value > -infinity)
          worst = std::max(worst, s.error + 0x1p-24 * std::abs(s.value));
      }
      if (highest == -infinity) {
        lse[size_t(i)][0] = {-infinity, 0};
        continue;
      }
      for (const Bounded &s : scores[size_t(i)])
        total += std::exp(s.value - highest);
      // Of each exponential, of the sum, and of the factors by which earlier tiles are shifted.
      const double relative = 2 * worst + double(e.keys + 64) * 0x1p-23;
      lse[size_t(i)][0] = {highest + std::log(total), relative + 0x1p-22 * std::abs(highest) + 0x1p-20};
      for (int64_t c = 0; c < e.values; ++c) {
        double sum = 0, magnitude = 0;
        for (int64_t j = 0; j < e.keys; ++j) {
          const double p = std::exp(scores[size_t(i)][size_t(j)].value - highest) / total;
          sum += p * read("v", j, c);
          magnitude += p * std::abs(read("v", j, c));
        }
        // A probability of f16 is at most 2^-25 from its own, which may be much of it.
        const double tiny = a.dtype == f16 ? 0x1p-25 * double(e.keys) * 8 : 0;
        out[size_t(i)][size_t(c)] = {sum, rounded(sum, magnitude * 2 * (relative + rounding) + tiny)};
      }
    }
    return {{"out", out}, {"lse", lse}};
  }

  std::map<std::string, Matrix> backward() const {
    Matrix p = matrixOf(e.rows, e.keys), ds = p;
    for (int64_t i = 0; i < e.rows; ++i) {
      double inner = 0, innerMagnitude = 0;
      for (int64_t c = 0; c < e.values; ++c) {
        inner += read("out", i, c) * read("grad", i, c);
        innerMagnitude += std::abs(read("out", i, c) * read("grad", i, c));
      }
      const double lse = read("lse", i, 0);
      for (int64_t j = 0; j < e.keys; ++j) {
        const Bounded &s = scores[size_t(i)][size_t(j)];
        if (s.value == -infinity || lse == -infinity)
          continue;
        double slope = 0, magnitude = 0;
        for (int64_t c = 0; c < e.values; ++c) {
          slope += read("grad", i, c) * read("v", j, c);
          magnitude += std::abs(read("grad", i, c) * read("v", j, c));
        }
        const double probability = std::exp(s.value - lse);
        const double relative =
            2 * (s.error + 0x1p-24 * (std::abs(s.value) + std::abs(lse))) + 0x1p-20 + rounding;
        p[size_t(i)][size_t(j)] = {probability, probability * relative + (a.dtype == f16 ? 0x1p-25 : 0)};
        const double difference = slope - inner,
                     error = double(e.values + 4) * 0x1p-23 * (magnitude + innerMagnitude);
        ds[size_t(i)][size_t(j)] = {probability * difference,
                                    probability * (2 * relative * std::abs(difference) + error) +
                                        rounding * std::abs(probability * difference) +
                                        (a.dtype == f16 ? 0x1p-25 : 0)};
      }
    }
    const auto scale = double(float(a.scale));
    auto product = [&](const Matrix &left, bool transposed, const char *name, double factor, int64_t rows,
                       int64_t columns) {
      Matrix result = matrixOf(rows, columns);
      const int64_t depth = transposed ? e.rows : e.keys;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          double sum = 0, error = 0;
          for (int64_t d = 0; d < depth; ++d) {
            const Bounded &x = transposed ? left[size_t(d)][size_t(r)] : left[size_t(r)][size_t(d)];
            const double y = read(name, d, c);
            sum += x.value * y;
            error += (x.error + double(depth + 4) * 0x1p-24 * std::abs(x.value)) * std::abs(y);
          }
          result[size_t(r)][size_t(c)] = {sum * factor, rounded(sum * factor, error * std::abs(factor))};
        }
      return result;
    };
    return {{"dq", product(ds, false, "k", scale, e.rows, e.features)},
            {"dk", product(ds, true, "q", scale, e.keys, e.features)},
            {"dv", product(p, true, "grad", 1, e.keys, e.values)}};
  }

  const CudaAttention &a;
  const ir::AttentionExtents &e;
  const Tensors &tensors;
  int64_t matrix;
  double unit, rounding; ///< of a result; of what is an operand of the second products
  Matrix scores;
};

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

struct Compiled {
  AttentionSchedule schedule;
  codegen::CudaKernel kernel;
  std::string text;
};

std::optional<Compiled> compileFor(const CudaAttention &a, const ir::TargetDescription &target,
                                   const AttentionSchedule *chosen = nullptr) {
  Compiled made;
  Expected<AttentionSchedule> schedule =
      chosen ? Expected<AttentionSchedule>(*chosen) : codegen::chooseAttentionSchedule(a, target);
  if (!schedule) {
    ADD_FAILURE() << schedule.status().message();
    return {};
  }
  made.schedule = *schedule;
  auto text = codegen::printAttention(a, made.schedule, target);
  auto compiler = codegen::CudaTextCompiler::make(target.name);
  if (!text || !compiler) {
    ADD_FAILURE() << (text ? compiler.status() : text.status()).message();
    return {};
  }
  made.text = *text;
  auto object = compiler->compile(*text, "attention", nullptr);
  if (!object) {
    ADD_FAILURE() << object.status().message() << "\n" << *text;
    return {};
  }
  made.kernel = *codegen::CudaKernel::deserialize(*object);
  EXPECT_EQ(made.kernel.threads, made.schedule.threads());
  return made;
}

/// Runs the kernel; what it writes is then in the tensors. False after a failure.
bool launch(const CudaAttention &a, const Compiled &made, Tensors &tensors) {
  auto parsed = cudasim::Module::parse(made.kernel.ptx);
  if (!parsed) {
    ADD_FAILURE() << parsed.error.str() << "\n" << made.text;
    return false;
  }
  Tensors first;
  for (cudasim::Order order : {cudasim::Order::forward, cudasim::Order::shuffled}) {
    cudasim::Memory memory;
    EXPECT_TRUE(parsed.module->load(memory));
    std::vector<uint64_t> parameters;
    for (const AttentionOperand &operand : a.operands) {
      const Elements &elements = tensors.at(operand.name);
      const uint64_t address = memory.allocate(elements.bytes.size());
      std::byte *at = memory.host(address, elements.bytes.size());
      if (operand.isWritten)
        std::memset(at, 0xFF, elements.bytes.size());
      else
        std::memcpy(at, elements.bytes.data(), elements.bytes.size());
      parameters.push_back(address);
    }
    cudasim::LaunchOptions options;
    options.grid = {uint32_t(codegen::attentionBlocks(made.schedule, a))};
    options.block = {uint32_t(made.schedule.threads())};
    options.dynamicShared = uint32_t(made.schedule.sharedBytes(a));
    options.order = order;
    options.seed = 11;
    options.race = true;
    auto ran =
        cudasim::launch(*parsed.module, "weft_kernel", memory, options, std::as_bytes(std::span(parameters)));
    if (!ran.ok()) {
      ADD_FAILURE() << ran.fault->str() << "\n" << made.schedule.str() << "\n" << made.text;
      return false;
    }
    for (size_t i = 0; i < a.operands.size(); ++i) {
      Elements &elements = tensors.at(a.operands[i].name);
      const std::byte *at = memory.host(parameters[i], elements.bytes.size());
      if (!a.operands[i].isWritten)
        EXPECT_EQ(std::memcmp(at, elements.bytes.data(), elements.bytes.size()), 0)
            << a.operands[i].name << " was written";
      std::memcpy(elements.bytes.data(), at, elements.bytes.size());
    }
    if (first.empty())
      first = tensors;
    for (const auto &[name, elements] : first)
      EXPECT_EQ(elements.bytes, tensors.at(name).bytes)
          << name << ": the order of blocks and warps must not matter\n"
          << made.schedule.str();
  }
  return true;
}

Tensors randomTensors(const CudaAttention &a, std::mt19937 &random) {
  Tensors tensors;
  for (const AttentionOperand &operand : a.operands) {
    const auto count = static_cast<int64_t>(reach(a, operand));
    Elements made = operand.dtype == DType::i1 ? Elements(DType::i1, size_t(count))
                                               : randomElements(operand.dtype, count, Values::random, random);
    if (operand.dtype == DType::i1)
      for (std::byte &byte : made.bytes)
        byte = std::byte(random() % 4 != 0);
    tensors.emplace(operand.name, std::move(made));
  }
  return tensors;
}

/// Gives a derivative the results of the forward function, as the reference has them.
void fillForward(const CudaAttention &a, const AttentionSchedule &s, Tensors &tensors) {
  CudaAttention forward = a;
  forward.backward = false;
  for (int64_t matrix = 0; matrix < a.extents.batchCount(); ++matrix)
    for (const auto &[name, result] : Reference(forward, s, tensors, matrix).results())
      for (size_t row = 0; row < result.size(); ++row)
        for (size_t column = 0; column < result[row].size(); ++column)
          tensors.at(name).putReal(placeOf(a, *a.find(name), matrix, int64_t(row), int64_t(column)),
                                   result[row][column].value);
}

/// Whether all results are within their bounds, and nothing was written between their elements.
bool check(const CudaAttention &a, const Compiled &made, const Tensors &tensors) {
  std::map<std::string, std::vector<bool>> written;
  int wrong = 0;
  for (int64_t matrix = 0; matrix < a.extents.batchCount(); ++matrix)
    for (const auto &[name, result] : Reference(a, made.schedule, tensors, matrix).results()) {
      written[name].resize(tensors.at(name).count());
      for (size_t row = 0; row < result.size(); ++row)
        for (size_t column = 0; column < result[row].size(); ++column) {
          const int64_t at = placeOf(a, *a.find(name), matrix, int64_t(row), int64_t(column));
          written[name][size_t(at)] = true;
          const auto [value, error] = result[row][column];
          const double found = tensors.at(name).real(at);
          const bool fits = std::isinf(value) ? found == value : std::abs(found - value) <= error;
          if (!fits && ++wrong <= 3)
            ADD_FAILURE() << name << " of matrix " << matrix << ", row " << row << ", column " << column
                          << ": " << found << " instead of " << value << " within " << error;
        }
    }
  for (const auto &[name, elements] : written)
    for (size_t at = 0; at < elements.size(); ++at)
      for (size_t l = 0, size = itemsize(tensors.at(name).dtype); !elements[at] && l < size; ++l)
        EXPECT_EQ(tensors.at(name).bytes[at * size + l], std::byte(0xFF))
            << "a gap of " << name << " at " << at;
  if (wrong)
    ADD_FAILURE() << made.schedule.str() << "\n" << made.text;
  return !wrong;
}

void computesRight(DType dtype, const Case &c, const char *target, std::mt19937 &random) {
  const CudaAttention a = makeAttention(dtype, c);
  const auto made = compileFor(a, *ir::findDescription(target));
  if (!made)
    return;
  Tensors tensors = randomTensors(a, random);
  if (c.backward)
    fillForward(a, made->schedule, tensors);
  if (launch(a, *made, tensors))
    check(a, *made, tensors);
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

class AttentionKernels : public ::testing::TestWithParam<DType> {
protected:
  void SetUp() override {
    if (!codegen::Nvrtc::get())
      GTEST_SKIP() << codegen::Nvrtc::get().status().message();
  }
  std::mt19937 random{static_cast<unsigned>(GetParam())};
};

const char *const targets[] = {"sm_90", "sm_80", "sm_100", "sm_75"};

Case randomCase(DType dtype, std::mt19937 &random) {
  const int64_t lengths[] = {1, 7, 16, 33, 64, 100, 130}, columns[] = {1, 3, 8, 16, 24, 40, 64};
  Case c;
  c.batch = random() % 2 ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{int64_t(1 + random() % 2)};
  c.rows = lengths[random() % 7];
  c.keys = random() % 2 ? c.rows : lengths[random() % 7];
  c.features = columns[random() % 7];
  c.values = random() % 2 ? c.features : columns[random() % 7];
  c.causal = random() % 3 == 0;
  c.backward = random() % 2;
  const std::optional<DType> masks[] = {std::nullopt, std::nullopt, DType::i1, f32, dtype};
  c.mask = masks[random() % 5];
  c.maskRepeats = random() % 2;
  c.layout = Layout(random() % 4);
  return c;
}

std::string textOf(const Case &c) {
  std::string text = std::to_string(c.rows) + " x " + std::to_string(c.keys) + ", " +
                     std::to_string(c.features) + " and " + std::to_string(c.values) + " columns, layout " +
                     std::to_string(int(c.layout));
  return text + (c.causal ? ", causal" : "") + (c.backward ? ", backward" : "") +
         (c.mask ? ", mask of " + std::string(name(*c.mask)) : "");
}

TEST_P(AttentionKernels, AnyShapeMaskAndLayout) {
  const int count = testLevel() == "quick" ? 12 : 32;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const Case c = randomCase(GetParam(), random);
    SCOPED_TRACE(std::string(targets[i % 4]) + ", number " + std::to_string(i) + ", " + textOf(c));
    computesRight(GetParam(), c, targets[i % 4], random);
  }
}

/// Scores of NaN and of infinity, keys that nobody sees, and rows that see nothing.
TEST_P(AttentionKernels, WhatIsNoNumberStaysInItsRows) {
  Case c;
  c.rows = c.keys = 40;
  c.features = c.values = 16;
  c.mask = DType::i1;
  const CudaAttention a = makeAttention(GetParam(), c);
  const auto made = compileFor(a, *ir::findDescription("sm_90"));
  ASSERT_TRUE(made);
  Tensors tensors = randomTensors(a, random);
  auto put = [&](const char *name, int64_t row, int64_t column, double value) {
    tensors.at(name).putReal(placeOf(a, *a.find(name), 0, row, column), value);
  };
  std::memset(tensors.at("mask").bytes.data(), 1, tensors.at("mask").bytes.size());
  std::memset(tensors.at("mask").bytes.data() + 3 * 40, 0, 40); // row 3 sees nothing
  put("q", 5, 2, std::nan(""));
  put("q", 7, 0, infinity);
  put("v", 9, 4, infinity);
  ASSERT_TRUE(launch(a, *made, tensors));
  for (int64_t row = 0; row < 40; ++row)
    for (int64_t column = 0; column < 16; ++column) {
      const double found = tensors.at("out").real(row * 16 + column);
      SCOPED_TRACE("row " + std::to_string(row) + ", column " + std::to_string(column));
      if (row == 5 || row == 7 || (row == 3 && column == 4)) // in row 3, infinity is multiplied by 0
        EXPECT_TRUE(std::isnan(found)) << found;
      else if (row == 3)
        EXPECT_EQ(found, 0);
      else if (column == 4)
        EXPECT_EQ(found, infinity);
      else
        EXPECT_TRUE(std::isfinite(found)) << found;
    }
  EXPECT_EQ(tensors.at("lse").real(3), -infinity);
  EXPECT_TRUE(std::isnan(tensors.at("lse").real(5)));
}

/// Small and large tiles; the same text for f16 and bf16 but for conversions.
TEST_P(AttentionKernels, NoSpillsForThreeTargets) {
  if (GetParam() == f16 && testLevel() == "quick")
    GTEST_SKIP() << "as bf16";
  for (const char *target : {"sm_80", "sm_90", "sm_100"})
    for (bool backward : {false, true})
      for (auto [columns, rows] :
           {std::pair(32, 4096), std::pair(64, 4096), std::pair(128, 40), std::pair(256, 4096)}) {
        Case c;
        c.batch = {8, 16};
        c.rows = c.keys = rows;
        c.features = c.values = columns;
        c.backward = backward;
        c.causal = columns == 64;
        c.layout = Layout::interleaved;
        const CudaAttention a = makeAttention(GetParam(), c);
        const ir::TargetDescription device = *ir::findDescription(target);
        const auto made = compileFor(a, device);
        ASSERT_TRUE(made);
        const codegen::CudaResources &used = made->kernel.resources;
        EXPECT_EQ(used.spillStoreBytes, 0u) << target << ": " << made->schedule.str();
        EXPECT_EQ(used.sharedBytes, 0u) << "all shared memory is what the launch asks for";
        EXPECT_GE(ir::residentBlocks(device, made->schedule.threads(), used.registers,
                                     made->schedule.sharedBytes(a)),
                  made->schedule.resident);
      }
}

/// Offsets beyond 2^31 elements, of which only the first and the last tile are in memory.
TEST_P(AttentionKernels, LargeStridesHave64Bits) {
  Case c;
  c.rows = c.keys = 3;
  c.features = c.values = 8;
  CudaAttention a = makeAttention(GetParam(), c);
  for (AttentionOperand &operand : a.operands)
    if (operand.name == "k")
      operand.view.strides[1] = int64_t(1) << 31;
  const ir::TargetDescription device = *ir::findDescription("sm_90");
  auto schedule = codegen::chooseAttentionSchedule(a, device);
  ASSERT_TRUE(schedule) << schedule.status().message();
  EXPECT_TRUE(schedule->wideIndex);
  auto text = codegen::printAttention(a, *schedule, device);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("typedef long long index;"), std::string::npos);
  EXPECT_NE(text->find("k_row = 2147483648"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, AttentionKernels, ::testing::Values(f32, f16, bf16),
                         [](const auto &info) { return std::string(name(info.param)); });

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Every attention that the passes make a launch has a kernel on every device.
TEST(AttentionSchedules, EverySizeHasOne) {
  for (const char *target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"})
    for (DType dtype : {f32, f16, bf16})
      for (int64_t features : {1, 8, 31, 64, 100, 128, 200, 255, 256})
        for (int64_t values : {1, 16, 64, 160, 256})
          for (int64_t rows : {int64_t(1), int64_t(17), int64_t(1024), int64_t(1) << 30})
            for (bool backward : {false, true}) {
              Case c;
              c.rows = rows;
              c.keys = rows == 17 ? 3 : rows;
              c.features = features;
              c.values = values;
              c.backward = backward;
              c.mask = features == 31 ? std::optional(DType::i1) : std::nullopt;
              const CudaAttention a = makeAttention(dtype, c);
              auto schedule = codegen::chooseAttentionSchedule(a, *ir::findDescription(target));
              ASSERT_TRUE(schedule) << target << ", " << textOf(c) << ": " << schedule.status().message();
            }
}

/// One number at a time.
TEST(AttentionSchedules, WrongNumbersAreRefused) {
  Case c;
  c.rows = c.keys = 200;
  c.features = c.values = 64;
  c.layout = Layout::interleaved;
  const ir::TargetDescription device = *ir::findDescription("sm_90");
  const CudaAttention a = makeAttention(f16, c);
  const AttentionSchedule right = *codegen::chooseAttentionSchedule(a, device);
  ASSERT_TRUE(right.matrixUnits);
  auto refused = [&](const char *words, auto change, const char *target = "sm_90") {
    AttentionSchedule s = right;
    change(s);
    const Status status = codegen::verifyAttentionSchedule(s, a, *ir::findDescription(target));
    EXPECT_FALSE(status.ok()) << s.str();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    EXPECT_FALSE(codegen::printAttention(a, s, *ir::findDescription(target)));
  };
  refused("from 1 to 1024 threads", [](AttentionSchedule &s) { s.warps = 0; });
  refused("from 1 to 1024 threads", [](AttentionSchedule &s) { s.warps = 33; });
  refused("a tile is too small", [](AttentionSchedule &s) { s.rowsOfThread = 0; });
  refused("a tile is too small", [](AttentionSchedule &s) { s.others = 2048; });
  refused("1 or 2 stages", [](AttentionSchedule &s) { s.stages = 3; });
  refused("another number of accesses", [](AttentionSchedule &s) { s.accesses.pop_back(); });
  refused("multiplies no matrices", [](AttentionSchedule &) {}, "sm_75");
  refused("a thread has two rows", [](AttentionSchedule &s) { s.rowsOfThread = 4; });
  refused("whole in the threads of a warp", [](AttentionSchedule &s) { s.others = 24; });
  refused("1, 2, 4, 8 or 16 bytes", [](AttentionSchedule &s) { s.accesses[0].vector = 16; });
  refused("1, 2, 4, 8 or 16 bytes", [](AttentionSchedule &s) { s.accesses[0].vector = 3; });
  refused("cp.async copies", [](AttentionSchedule &s) { s.accesses[0].vector = 1; });
  refused("cp.async copies", [](AttentionSchedule &s) { s.accesses[3].async = true; });
  refused("a vector lies along the columns", [](AttentionSchedule &s) { s.accesses[1].down = true; });
  refused("not so many columns", [](AttentionSchedule &s) { s.accesses[3].vector = 4; });
  refused("bytes of shared memory", [](AttentionSchedule &s) {
    s.warps = 32;
    s.others = 512;
  });
  refused("no room beside each other", [](AttentionSchedule &s) { s.resident = 20; });
  refused("registers", [](AttentionSchedule &s) {
    s.others = 512;
    s.stages = 1;
    s.resident = 1;
  });
  Case odd = c;
  odd.layout = Layout::spread;
  const CudaAttention spread = makeAttention(f16, odd);
  AttentionSchedule s = *codegen::chooseAttentionSchedule(spread, device);
  s.accesses[0].vector = 8;
  EXPECT_NE(codegen::verifyAttentionSchedule(s, spread, device).message().find("strides or alignment"),
            std::string::npos);
}

TEST(AttentionSchedules, WhatNoKernelComputesIsRefused) {
  const ir::TargetDescription device = *ir::findDescription("sm_90");
  Case c;
  c.rows = c.keys = 16;
  c.features = c.values = 257;
  EXPECT_NE(
      codegen::chooseAttentionSchedule(makeAttention(f32, c), device).status().message().find("257 features"),
      std::string::npos);
  c.features = c.values = 16;
  EXPECT_NE(codegen::chooseAttentionSchedule(makeAttention(f64, c), device).status().message().find("f64"),
            std::string::npos);
  EXPECT_NE(codegen::chooseAttentionSchedule(makeAttention(f32, c), *ir::findDescription("cpu"))
                .status()
                .message()
                .find("CUDA devices"),
            std::string::npos);
  CudaAttention infinite = makeAttention(f32, c);
  infinite.scale = infinity;
  EXPECT_NE(codegen::chooseAttentionSchedule(infinite, device).status().message().find("not finite"),
            std::string::npos);
}

} // namespace
} // namespace weft::testing
