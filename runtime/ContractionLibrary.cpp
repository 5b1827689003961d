//===- ContractionLibrary.cpp - Matrix products of oneDNN ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN 2.6 stops the process at an extent of 0 and reads memory out of bounds at some strides of 0, so
// only what is known to be good gets there. Its relu turns NaN into 0, so that is a pass of our own. A
// residual is a binary post-operation: its `sum` would begin with the residual, and round otherwise.
//
//===----------------------------------------------------------------------===//

#include "runtime/Contraction.h"

#include "runtime/Executor.h"
#include "runtime/Image.h"

#include <dnnl.hpp>

#include <algorithm>
#include <limits>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace weft::runtime {
namespace {

dnnl::engine &engine() {
  static auto *const instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *instance;
}

// A CPU stream of oneDNN holds no state of its calls, so all threads share one.
dnnl::stream &stream() {
  static auto *const instance = new dnnl::stream(engine());
  return *instance;
}

// Row-major or column-major with room for rows; an extent of 1 fits any stride.
bool plain(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  const bool row_major = (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns);
  const bool column_major = (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return row_major || column_major;
}

// The stride of a dimension of extent 1 means nothing, but oneDNN looks at it.
dnnl::memory::dims strides_of(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  if (columns == 1 && rows == 1)
    return {1, 1};
  if (columns == 1)
    return row_stride == 1 ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{row_stride, 1};
  if (rows == 1)
    return column_stride == 1 ? dnnl::memory::dims{columns, 1} : dnnl::memory::dims{1, column_stride};
  return {row_stride, column_stride};
}

class LibraryContraction final : public Contraction {
public:
  LibraryContraction(const dnnl::matmul::primitive_desc &description, const ContractionShape &shape,
                     int threads, bool adds_residual)
      : shape_(shape), description_(description), primitive_(description), threads_(threads),
        has_bias_(description.bias_desc().get_size() != 0), adds_residual_(adds_residual),
        a_(description.src_desc()), b_(description.weights_desc()), c_(description.dst_desc()),
        bias_(description.bias_desc()), scratch_(description.scratchpad_desc()) {}

  size_t scratch_bytes(int width) const override { return scratch_.get_size(); }
  size_t workspace_bytes() const override { return scratch_.get_size(); }
  bool needs_team() const override { return threads_ > 1; }
  std::string implementation() const override {
    return "onednn:" + std::string(description_.impl_info_str()) + ":" + std::to_string(threads_);
  }

  Status run(const void *a, const void *b, void *c, const void *bias, const void *residual, void *scratch,
             bool serial) const override {
    // The primitive decides how work is divided; a serial run of it does the same parts one after another.
    const OpenMPWidthScope scope(threads_);
    std::unique_lock<std::mutex> team;
    if (threads_ > 1)
      team = std::unique_lock(team_mutex());
    const auto memory = [](const dnnl::memory::desc &description, const void *data) {
      return dnnl::memory(description, engine(), const_cast<void *>(data));
    };
    try {
      std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_SRC, memory(a_, a)},
                                                         {DNNL_ARG_WEIGHTS, memory(b_, b)},
                                                         {DNNL_ARG_DST, memory(c_, c)},
                                                         {DNNL_ARG_SCRATCHPAD, memory(scratch_, scratch)}};
      if (has_bias_)
        arguments.emplace(DNNL_ARG_BIAS, memory(bias_, bias));
      if (adds_residual_)
        arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, memory(c_, residual));
      primitive_.execute(stream(), arguments);
    } catch (const dnnl::error &error) {
      return Status::error("oneDNN refused a contraction: " + std::string(error.what()));
    }
    if (team)
      team.unlock();
    if (shape_.residual && !adds_residual_)
      by_rows(serial, [&](int64_t at) { add(c, residual, at); });
    if (shape_.relu)
      by_rows(serial, [&](int64_t at) { relu(c, at); });
    return {};
  }

private:
  /// Calls `row` with the position of each row of the result.
  template <typename Row> void by_rows(bool serial, Row row) const {
    const auto body = [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i)
        row(i / shape_.m * shape_.c_strides[0] + i % shape_.m * shape_.c_strides[1]);
    };
    const int64_t rows = shape_.batch * shape_.m;
    if (serial || threads_ == 1)
      body(0, rows, 0);
    else
      executor().parallel_for(rows, std::max<int64_t>(1, 16384 / shape_.n), body);
  }

  // Of f32 only: what a half type's sum rounds to is no sum of halves, so that nobody asks for it.
  void add(void *c, const void *residual, int64_t at) const {
    float *values = static_cast<float *>(c) + at;
    const float *more = static_cast<const float *>(residual) + at;
    for (int64_t j = 0; j < shape_.n; ++j)
      values[j] += more[j];
  }

  void relu(void *c, int64_t at) const {
    if (shape_.dtype == DType::f32) {
      float *values = static_cast<float *>(c) + at;
      for (int64_t j = 0; j < shape_.n; ++j)
        values[j] = values[j] < 0 ? 0 : values[j];
    } else {
      // bf16: negative, and at most infinity in magnitude.
      uint16_t *values = static_cast<uint16_t *>(c) + at;
      for (int64_t j = 0; j < shape_.n; ++j)
        values[j] = values[j] > 0x8000 && values[j] <= 0xff80 ? 0 : values[j];
    }
  }

  const ContractionShape shape_;
  dnnl::matmul::primitive_desc description_;
  dnnl::matmul primitive_;
  int threads_;
  bool has_bias_, adds_residual_;
  dnnl::memory::desc a_, b_, c_, bias_, scratch_;
};

/// What oneDNN would run, or why it has nothing fast.
struct Described {
  dnnl::matmul::primitive_desc description;
  bool adds_residual = false;
  std::string refusal;
};

Described describe(const ContractionShape &s, int threads) {
  const auto refuse = [](std::string why) { return Described{{}, false, std::move(why)}; };
  if (s.dtype != DType::f32 && s.dtype != DType::bf16)
    return refuse("element type " + std::string(name(s.dtype)));
  if (s.dtype == DType::bf16 && cpu_level() != CpuLevel::v4)
    return refuse("bf16 needs AVX-512");
  if (s.dtype == DType::bf16 && s.residual)
    return refuse("a residual of bf16");
  if (s.batch < 1 || s.m < 1 || s.n < 1 || s.k < 1)
    return refuse("an extent of 0");
  // oneDNN counts in 32 bits: larger extents end the process with a division by zero (seen in 2.6).
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (int64_t size : {s.batch, s.m, s.n, s.k, s.a_strides[1], s.a_strides[2], s.b_strides[1], s.b_strides[2],
                       s.c_strides[1], s.c_strides[2]})
    if (size > most)
      return refuse("an extent or a stride of 2^31 or more");
  if (!plain(s.m, s.k, s.a_strides[1], s.a_strides[2]) || !plain(s.k, s.n, s.b_strides[1], s.b_strides[2]) ||
      !plain(s.m, s.n, s.c_strides[1], s.c_strides[2]) || (s.n > 1 && s.c_strides[2] != 1))
    return refuse("strides");
  const bool batched = s.batch > 1;
  if (batched && (s.a_strides[0] < s.m * s.k || s.b_strides[0] < s.k * s.n || s.c_strides[0] < s.m * s.n))
    return refuse("batch strides");
  using memory = dnnl::memory;
  const auto type = s.dtype == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
  const auto matrix = [&](int64_t rows, int64_t columns, const std::array<int64_t, 3> &strides) {
    memory::dims dims = {rows, columns}, steps = strides_of(rows, columns, strides[1], strides[2]);
    if (batched) {
      dims.insert(dims.begin(), s.batch);
      steps.insert(steps.begin(), strides[0]);
    }
    return memory::desc(dims, type, steps);
  };
  const OpenMPWidthScope scope(threads);
  try {
    const memory::desc a = matrix(s.m, s.k, s.a_strides), b = matrix(s.k, s.n, s.b_strides),
                       c = matrix(s.m, s.n, s.c_strides);
    memory::desc bias;
    if (s.bias)
      bias = batched ? memory::desc({1, 1, s.n}, type, memory::format_tag::abc)
                     : memory::desc({1, s.n}, type, memory::format_tag::ab);
    const auto make = [&](bool residual) {
      dnnl::primitive_attr attributes;
      attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      if (residual) {
        dnnl::post_ops after;
        after.append_binary(dnnl::algorithm::binary_add, c);
        attributes.set_post_ops(after);
      }
      const dnnl::matmul::desc operation =
          s.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
      return dnnl::matmul::primitive_desc(operation, attributes, engine(), /*allow_empty=*/true);
    };
    Described plain{make(false), false, {}};
    if (!plain.description.get(/*allow_empty=*/true))
      return refuse("it said so");
    const std::string_view implementation = plain.description.impl_info_str();
    if (implementation.starts_with("ref"))
      return refuse("only the reference one");
    if (!s.residual)
      return plain;
    // Another implementation would add the products in another order than without the residual.
    Described whole{make(true), true, {}};
    if (whole.description.get(/*allow_empty=*/true) && whole.description.impl_info_str() == implementation)
      return whole;
    return plain;
  } catch (const dnnl::error &error) {
    return refuse(error.what());
  }
}

} // namespace

Expected<std::shared_ptr<const Contraction>> make_library_contraction(const ContractionShape &shape,
                                                                      int threads) {
  const Described found = describe(shape, threads);
  if (!found.refusal.empty())
    return Status::error("oneDNN has no fast implementation of this contraction: " + found.refusal);
  const OpenMPWidthScope scope(threads);
  try {
    return std::shared_ptr<const Contraction>(
        std::make_shared<LibraryContraction>(found.description, shape, threads, found.adds_residual));
  } catch (const dnnl::error &error) {
    return Status::error("oneDNN has no fast implementation of this contraction: " +
                         std::string(error.what()));
  }
}

ContractionSupport ask_library_contraction(const ContractionShape &shape, int threads) {
  const Described found = describe(shape, threads);
  if (!found.refusal.empty())
    return {false, found.refusal, false, 0};
  return {true, {}, found.adds_residual, found.description.scratchpad_desc().get_size()};
}

std::string Contraction::library() {
  const dnnl_version_t &version = *dnnl_version();
  return "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

} // namespace weft::runtime
