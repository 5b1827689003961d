//===- ConvertParameters.cpp - Parameters as one vector ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/convert_parameters.hpp"

#include "frontend/ops/Ops.h"
#include "weft/joining.hpp"

namespace weft::nn::utils {

using namespace frontend;

Tensor parameters_to_vector(const std::vector<Tensor> &parameters, Loc loc) {
  if (parameters.empty())
    fail("parameters_to_vector: there are no parameters", loc);
  std::vector<Tensor> flat;
  for (const Tensor &parameter : parameters)
    flat.push_back(parameter.flatten(0, -1, loc));
  return cat(flat, 0, loc);
}

void vector_to_parameters(const Tensor &vector, const std::vector<Tensor> &parameters, Loc loc) {
  int64_t count = 0;
  for (const Tensor &parameter : parameters)
    count += parameter.numel(loc);
  if (vector.sizes(loc) != Shape{count})
    fail("vector_to_parameters needs a vector of the parameters' " + std::to_string(count) +
             " elements, found shape " + shapeText(vector.sizes(loc)),
         loc, {use(vector, loc)});
  NoGradGuard guard;
  int64_t at = 0;
  for (Tensor parameter : parameters) {
    const int64_t size = parameter.numel(loc);
    parameter.copy_(vector.narrow(0, at, size, loc).reshape(parameter.sizes(loc), loc), loc);
    at += size;
  }
}

} // namespace weft::nn::utils
