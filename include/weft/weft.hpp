//===- weft.hpp - Everything ------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_WEFT_HPP
#define WEFT_WEFT_HPP

#include "weft/activations.hpp"
#include "weft/attention.hpp"
#include "weft/autograd.hpp"
#include "weft/checkpoint.hpp"
#include "weft/clip.hpp"
#include "weft/compile.hpp"
#include "weft/convolution.hpp"
#include "weft/creation.hpp"
#include "weft/cuda.hpp"
#include "weft/data.hpp"
#include "weft/device.hpp"
#include "weft/dim.hpp"
#include "weft/distances.hpp"
#include "weft/dtype.hpp"
#include "weft/functional.hpp"
#include "weft/gather_scatter.hpp"
#include "weft/init.hpp"
#include "weft/io.hpp"
#include "weft/joining.hpp"
#include "weft/layers.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/losses.hpp"
#include "weft/lr.hpp"
#include "weft/margin_losses.hpp"
#include "weft/math.hpp"
#include "weft/memory.hpp"
#include "weft/metric.hpp"
#include "weft/module.hpp"
#include "weft/nn.hpp"
#include "weft/normalization.hpp"
#include "weft/nvtx.hpp"
#include "weft/operators.hpp"
#include "weft/optim.hpp"
#include "weft/pooling.hpp"
#include "weft/profile.hpp"
#include "weft/random.hpp"
#include "weft/raw_kernel.hpp"
#include "weft/reduce.hpp"
#include "weft/report.hpp"
#include "weft/shapes.hpp"
#include "weft/spatial_layers.hpp"
#include "weft/statistics.hpp"
#include "weft/status.hpp"
#include "weft/stream.hpp"
#include "weft/tensor.hpp"
#include "weft/tensor_index.hpp"
#include "weft/tensor_options.hpp"
#include "weft/tree.hpp"

#endif // WEFT_WEFT_HPP
