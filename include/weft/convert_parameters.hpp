//===- convert_parameters.hpp - Parameters as one vector --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CONVERT_PARAMETERS_HPP
#define WEFT_CONVERT_PARAMETERS_HPP

#include "weft/tensor.hpp"

namespace weft::nn::utils {

/// The elements of all parameters, in order, as one vector, through which gradients flow. Throws Error for no
/// parameters, and for those on several devices.
WEFT_API Tensor parameters_to_vector(const std::vector<Tensor> &parameters, Loc loc = Loc::current());
/// Gives the parameters the elements of a vector, in order; no gradient notices. Throws Error unless it has
/// as many elements as they have.
WEFT_API void vector_to_parameters(const Tensor &vector, const std::vector<Tensor> &parameters,
                                   Loc loc = Loc::current());

} // namespace weft::nn::utils

#endif // WEFT_CONVERT_PARAMETERS_HPP
