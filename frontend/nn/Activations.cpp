//===- Activations.cpp - Activations as modules ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/activations.hpp"

#include "frontend/nn/LayerText.h"
#include "frontend/ops/Ops.h"
#include "weft/creation.hpp"

namespace weft::nn {

using namespace frontend;

GELU::GELU(std::string approximate, Loc loc)
    : Module("GELU", "approximate='" + approximate + "'"), approximate_(std::move(approximate)) {
  if (approximate_ != "none" && approximate_ != "tanh")
    frontend::fail("nn::GELU: approximate must be \"none\" or \"tanh\", found \"" + approximate_ + "\"", loc);
}

LeakyReLU::LeakyReLU(double negative_slope)
    : Module("LeakyReLU", "negative_slope=" + numberText(negative_slope)), slope_(negative_slope) {}
ELU::ELU(double alpha) : Module("ELU", "alpha=" + numberText(alpha)), alpha_(alpha) {}
Softmax::Softmax(int64_t dim) : Module("Softmax", "dim=" + std::to_string(dim)), dim_(dim) {}
LogSoftmax::LogSoftmax(int64_t dim) : Module("LogSoftmax", "dim=" + std::to_string(dim)), dim_(dim) {}
CELU::CELU(double alpha) : Module("CELU", "alpha=" + numberText(alpha)), alpha_(alpha) {}
Softplus::Softplus(double beta, double threshold)
    : Module("Softplus", "beta=" + numberText(beta) + ", threshold=" + numberText(threshold)), beta_(beta),
      threshold_(threshold) {}
Hardtanh::Hardtanh(double min, double max)
    : Module("Hardtanh", "min_val=" + numberText(min) + ", max_val=" + numberText(max)), min_(min),
      max_(max) {}
Hardshrink::Hardshrink(double lambda) : Module("Hardshrink", numberText(lambda)), lambda_(lambda) {}
Softshrink::Softshrink(double lambda) : Module("Softshrink", numberText(lambda)), lambda_(lambda) {}
Threshold::Threshold(double threshold, double value)
    : Module("Threshold", "threshold=" + numberText(threshold) + ", value=" + numberText(value)),
      threshold_(threshold), value_(value) {}
GLU::GLU(int64_t dim) : Module("GLU", "dim=" + std::to_string(dim)), dim_(dim) {}
Softmin::Softmin(int64_t dim) : Module("Softmin", "dim=" + std::to_string(dim)), dim_(dim) {}

PReLU::PReLU(int64_t num_parameters, double init, Loc loc)
    : Module("PReLU", "num_parameters=" + std::to_string(num_parameters)) {
  if (num_parameters < 1)
    fail("nn::PReLU needs at least one parameter, found num_parameters " + std::to_string(num_parameters),
         loc);
  weight = register_parameter("weight", full({num_parameters}, {init, loc}, {.dtype = DType::f32}, loc));
}

} // namespace weft::nn
