//===- MatrixPlan.cpp - Launches of matrix routines in plans ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/MatrixPlan.h"

#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"

namespace weft::runtime {

MatrixShape matrix_shape(const fb::MatrixLaunch &launch) {
  return {static_cast<MatrixKind>(launch.kind()),
          static_cast<DType>(launch.dtype()),
          launch.batch(),
          launch.rows(),
          launch.columns(),
          launch.sides(),
          launch.full(),
          launch.upper(),
          launch.unit()};
}

std::string matrix_problem(const fb::MatrixLaunch &launch, const fb::Plan &plan) {
  if (launch.kind() >= matrixKinds)
    return "asks for the unknown routine " + number(static_cast<int>(launch.kind()));
  const MatrixShape shape = matrix_shape(launch);
  if (shape.dtype != DType::f32 && shape.dtype != DType::f64)
    return "is of matrices of element type number " + number(static_cast<int>(launch.dtype()));
  for (const int64_t size : {shape.rows, shape.columns, shape.sides})
    if (size < 0 || size > mostMatrixRows)
      return "has matrices of " + number(shape.rows) + " rows, " + number(shape.columns) + " columns and " +
             number(shape.sides) + " right sides, which is not possible";
  const bool isSquare = shape.kind == MatrixKind::cholesky || is_eigen(shape.kind) ||
                        shape.kind == MatrixKind::triangular_solve;
  if (isSquare && shape.rows != shape.columns)
    return "needs square matrices, found " + number(shape.rows) + " rows and " + number(shape.columns) +
           " columns";
  const std::vector<MatrixPart> parts = MatrixRoutine::parts_of(shape);
  if (length(launch.buffers()) != parts.size())
    return "has " + number(length(launch.buffers())) + " buffers, expected " + number(parts.size());
  for (uint32_t i = 0; i < parts.size(); ++i) {
    const uint32_t index = launch.buffers()->Get(i);
    if (index >= length(plan.buffers()))
      return std::string("has ") + parts[i].name + " in buffer " + number(index) + " of " +
             number(length(plan.buffers()));
    const uint64_t found = plan.buffers()->Get(index)->bytes();
    uint64_t bytes = 0;
    if (shape.batch < 0 ||
        __builtin_mul_overflow(static_cast<uint64_t>(shape.batch),
                               static_cast<uint64_t>(parts[i].elements) * itemsize(parts[i].dtype), &bytes) ||
        bytes != found)
      return std::string("has ") + parts[i].name + " of " + number(found) +
             " bytes, which are not those of " + number(shape.batch) + " times " + number(parts[i].elements) +
             " elements";
    for (uint32_t j = 0; j < i; ++j)
      if ((parts[i].written || parts[j].written) &&
          share_bytes(plan, *plan.buffers()->Get(index), *plan.buffers()->Get(launch.buffers()->Get(j))))
        return std::string("has ") + parts[j].name + " and " + parts[i].name +
               " in the same memory, and writes it";
  }
  return "";
}

} // namespace weft::runtime
