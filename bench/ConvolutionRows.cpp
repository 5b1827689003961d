//===- ConvolutionRows.cpp - Single convolutions, both directions ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The convolutions of a residual network on images of 32 x 32, batch 32; peer_timing.py has the same shapes.
// A row of gradients computes those of operand and weights from a cotangent, without the convolution itself.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include <weft/weft.hpp>

#include <cmath>
#include <stdexcept>

namespace weft::bench {
namespace {

constexpr int64_t batch = 32;

struct Shape2d {
  int64_t channels, extent, outputs, window, stride, padding, groups;
};
constexpr Shape2d wide{64, 32, 64, 3, 1, 1, 1}, deep{256, 8, 256, 3, 1, 1, 1}, point{64, 32, 64, 1, 1, 0, 1},
    stem{3, 32, 64, 7, 2, 3, 1}, depthwise{64, 32, 64, 3, 1, 1, 64};

Tensor numbers(Shape shape, uint32_t state) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
  return Tensor::from(values, shape);
}

struct Problem {
  Shape2d s;
  int64_t places = (s.extent + 2 * s.padding - s.window) / s.stride + 1;
  Tensor x = numbers({batch, s.channels, s.extent, s.extent}, 1),
         w = numbers({s.outputs, s.channels / s.groups, s.window, s.window}, 2),
         g = numbers({batch, s.outputs, places, places}, 3);

  Tensor forward(const Tensor &a, const Tensor &b) const {
    return conv2d(a, b, {}, {.stride = s.stride, .padding = s.padding, .groups = s.groups});
  }

  /// An element of the result, in double precision.
  double element(int64_t n, int64_t o, int64_t row, int64_t column) const {
    const int64_t ofGroup = s.channels / s.groups, first = o / (s.outputs / s.groups) * ofGroup;
    double sum = 0;
    for (int64_t c = 0; c < ofGroup; ++c)
      for (int64_t i = 0; i < s.window; ++i)
        for (int64_t j = 0; j < s.window; ++j) {
          const int64_t y = row * s.stride + i - s.padding, z = column * s.stride + j - s.padding;
          if (y < 0 || y >= s.extent || z < 0 || z >= s.extent)
            continue;
          sum +=
              static_cast<double>(
                  values[static_cast<size_t>(((n * s.channels + first + c) * s.extent + y) * s.extent + z)]) *
              static_cast<double>(
                  weights[static_cast<size_t>(((o * ofGroup + c) * s.window + i) * s.window + j)]);
        }
    return sum;
  }

  std::vector<float> values = x.to_vector<float>(), weights = w.to_vector<float>();
};

void check(double found, double expected, double tolerance, const char *what) {
  if (!(std::abs(found - expected) <= tolerance))
    throw std::runtime_error(std::string(what) + " is " + std::to_string(found) +
                             ", but in double precision " + std::to_string(expected));
}

RowResult run(const Shape2d &shape, bool gradients) {
  const Problem p{shape};
  const auto forward = compile([&](Tensor x, Tensor w) { return p.forward(x, w); }, {.name = "convolution"});
  const auto back = compile(
      [&](Tensor x, Tensor w, Tensor g) {
        x = x.detach().requires_grad_();
        w = w.detach().requires_grad_();
        return grad((p.forward(x, w) * g).sum(), {x, w});
      },
      {.name = "gradients"});
  const std::vector<float> result = forward(p.x, p.w).to_vector<float>();
  for (int64_t i = 0; i < 64; ++i) {
    const int64_t n = i * 7 % batch, o = i * 5 % shape.outputs, row = i * 3 % p.places, column = i % p.places;
    check(result[static_cast<size_t>(((n * shape.outputs + o) * p.places + row) * p.places + column)],
          p.element(n, o, row, column), 1e-3, "an element of the convolution");
  }
  if (gradients) {
    // The sum of y g is linear in x and in w: both sums of a gradient times its variable are this sum.
    double sum = 0, ofX = 0, ofW = 0, size = 0;
    const std::vector<float> cotangent = p.g.to_vector<float>();
    for (size_t i = 0; i < result.size(); ++i) {
      sum += static_cast<double>(result[i]) * cotangent[i];
      size += std::abs(static_cast<double>(result[i]) * cotangent[i]);
    }
    const std::vector<Tensor> found = back(p.x, p.w, p.g);
    const std::vector<float> dx = found[0].to_vector<float>(), dw = found[1].to_vector<float>();
    for (size_t i = 0; i < dx.size(); ++i)
      ofX += static_cast<double>(dx[i]) * p.values[i];
    for (size_t i = 0; i < dw.size(); ++i)
      ofW += static_cast<double>(dw[i]) * p.weights[i];
    check(ofX, sum, 1e-5 * size, "the sum of the operand's gradient times the operand");
    check(ofW, sum, 1e-5 * size, "the sum of the weights' gradient times the weights");
  }
  RowResult row;
  row.samples = alternate({{"weft", [&] {
                              if (gradients)
                                back(p.x, p.w, p.g);
                              else
                                forward(p.x, p.w);
                              synchronize();
                            }}});
  const double flops = 2.0 * batch * static_cast<double>(shape.outputs * p.places * p.places) *
                       static_cast<double>(shape.channels / shape.groups * shape.window * shape.window);
  row.figures = {{"gflop_per_s", (gradients ? 2 : 1) * flops / row.samples[0].median() / 1e6}};
  return row;
}

} // namespace

RowResult run_conv_3x3() { return run(wide, false); }
RowResult run_conv_3x3_deep() { return run(deep, false); }
RowResult run_conv_1x1() { return run(point, false); }
RowResult run_conv_7x7() { return run(stem, false); }
RowResult run_conv_depthwise() { return run(depthwise, false); }
RowResult run_conv_3x3_gradients() { return run(wide, true); }
RowResult run_conv_3x3_deep_gradients() { return run(deep, true); }
RowResult run_conv_1x1_gradients() { return run(point, true); }
RowResult run_conv_7x7_gradients() { return run(stem, true); }
RowResult run_conv_depthwise_gradients() { return run(depthwise, true); }

} // namespace weft::bench
