//===- Product.cpp - A product that its descriptions describe ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/cublaslt/Product.h"

#include <cstdlib>
#include <string_view>

namespace weft::cusim::lt {
namespace {

bool isKnown(Epilogue epilogue) {
  switch (epilogue) {
#define CUSIM_CASE(name, original, value) case Epilogue::name:
    WEFT_CUBLASLT_EPILOGUE(CUSIM_CASE)
#undef CUSIM_CASE
    return true;
  }
  return false;
}

bool readLayout(MatrixLayout handle, Matrix &matrix, int32_t &batch) {
  const Layout *layout = find<Layout>(handle);
  if (!layout)
    return false;
  matrix.type = DataType(layout->type);
  matrix.rows = int64_t(layout->rows);
  matrix.columns = int64_t(layout->columns);
  matrix.leadingDimension = layout->leading_dimension;
  matrix.batchStride = layout->strided_batch_offset;
  matrix.order = Order(layout->order);
  batch = layout->batch_count;
  return true;
}

/// Why a layout is none; empty if it is one.
std::string problemOf(const Matrix &matrix) {
  if (matrix.order != Order::column && matrix.order != Order::row)
    return "the order " + std::to_string(int(matrix.order)) + " is not known";
  const int64_t least = matrix.order == Order::column ? matrix.rows : matrix.columns;
  if (matrix.leadingDimension < least)
    return "the leading dimension " + std::to_string(matrix.leadingDimension) + " is less than " +
           std::to_string(least);
  return "";
}

std::string sizes(int64_t rows, int64_t columns) {
  return std::to_string(rows) + "x" + std::to_string(columns);
}

Status readDescription(MatmulDesc handle, Product &product) {
  const Description *description = find<Description>(handle);
  if (!description)
    return Status::invalid_value;
  product.compute = ComputeType(description->compute_type);
  product.scale = DataType(description->scale_type);
  product.pointerMode = PointerMode(description->pointer_mode);
  product.epilogue = Epilogue(description->epilogue);
  product.bias = reinterpret_cast<uint64_t>(description->bias_pointer);
  product.biasStride = description->bias_batch_stride;
  product.aux = reinterpret_cast<uint64_t>(description->epilogue_aux_pointer);
  product.auxLeadingDimension = description->epilogue_aux_leading_dimension;
  product.auxStride = description->epilogue_aux_batch_stride;
  for (auto [from, to] : {std::pair(description->trans_a, &product.transposeA),
                          std::pair(description->trans_b, &product.transposeB)}) {
    if (Operation(from) != Operation::none && Operation(from) != Operation::transpose)
      return refuse(Status::not_supported, "the operation " + std::to_string(from) + " is not known");
    *to = Operation(from) == Operation::transpose;
  }
  if (product.pointerMode != PointerMode::host && product.pointerMode != PointerMode::device)
    return refuse(Status::not_supported, "the pointer mode is neither host nor device");
  if (!isKnown(product.epilogue))
    return refuse(Status::not_supported,
                  "the epilogue " + std::to_string(description->epilogue) + " is not known");
  // An H100 said so (test/cudasim/calibration).
  if (product.bias && !product.hasBias())
    return refuse(Status::invalid_value, "the epilogue does not use the bias pointer, which is set");
  return Status::success;
}

/// Shapes that fit each other.
Status checkShapes(const Product &product) {
  const int64_t innerB = product.transposeB ? product.b.columns : product.b.rows;
  if (product.k != innerB || product.d.rows != product.m || product.d.columns != product.n ||
      product.c.rows != product.m || product.c.columns != product.n)
    return refuse(Status::invalid_value, "the shapes do not fit: op(A) has " + sizes(product.m, product.k) +
                                             ", op(B) " + sizes(innerB, product.n) + ", C " +
                                             sizes(product.c.rows, product.c.columns) + " and D " +
                                             sizes(product.d.rows, product.d.columns));
  if (product.d.isEmpty())
    return refuse(Status::not_supported, "D has no elements");
  for (const Matrix *one : {&product.a, &product.b, &product.c, &product.d})
    if (const std::string problem = problemOf(*one); !problem.empty())
      return refuse(Status::not_supported, problem);
  if (product.batch > 1 && !product.d.batchStride)
    return refuse(Status::not_supported, "all products of the batch would write to one D");
  return Status::success;
}

/// What is documented of epilogues, and of the bits that relu keeps.
Status checkEpilogue(const Product &product, int32_t biasType) {
  if (product.epilogue == Epilogue::none)
    return Status::success;
  // A bias is the only epilogue of f64 that a device was asked for, and it has it.
  if (product.scale == DataType::i32 ||
      (product.scale == DataType::f64 && product.epilogue != Epilogue::bias))
    return refuse(Status::not_supported, "products of f64 have no epilogue but a bias, those of i32 none");
  if (product.d.order != Order::column && (product.hasBias() || product.hasAux()))
    return refuse(Status::not_supported, "bias and auxiliary output of a D in row order were not asked of a "
                                         "real device: describe the transposed product in column order");
  if (product.hasBias() && biasType >= 0 && DataType(biasType) != product.d.type)
    return refuse(Status::not_supported, "the bias must have the type of D");
  if (product.hasAux() && (product.auxLeadingDimension % 128 || product.auxLeadingDimension < product.m ||
                           product.auxStride % 128))
    return refuse(Status::not_supported,
                  "leading dimension and stride of the auxiliary output must be multiples of 128, and the "
                  "first not less than the rows of D");
  return Status::success;
}

/// Those of products of i8: NVIDIA documents that pointers and leading dimensions must be multiples of 4.
Status checkIntegers(const Product &product) {
  if (product.scale != DataType::i32)
    return Status::success;
  for (const Matrix *one : {&product.a, &product.b, &product.c, &product.d})
    if (one->leadingDimension % 4 || (product.batch > 1 && one->batchStride % 4))
      return refuse(Status::not_supported, "leading dimensions and strides of i8 must be multiples of 4");
  return Status::success;
}

} // namespace

uint64_t bytesOf(DataType type) {
  switch (type) {
  case DataType::f64:
    return 8;
  case DataType::f32:
  case DataType::i32:
    return 4;
  case DataType::f16:
  case DataType::bf16:
    return 2;
  case DataType::i8:
    return 1;
  }
  return 0;
}

const char *nameOf(DataType type) {
  switch (type) {
#define CUSIM_NAME(name, original, value)                                                                    \
  case DataType::name:                                                                                       \
    return #name;
    WEFT_CUBLASLT_DATA_TYPE(CUSIM_NAME)
#undef CUSIM_NAME
  }
  return "unknown type";
}

KernelOperand Matrix::operand(const char *name, uint64_t address, int32_t batch) const {
  const uint64_t size = bytesOf(type);
  KernelOperand made;
  made.name = name;
  made.address = address;
  made.width = uint64_t(order == Order::column ? rows : columns) * size;
  made.rows = uint64_t(order == Order::column ? columns : rows);
  made.rowPitch = uint64_t(leadingDimension) * size;
  made.planes = uint64_t(batchStride ? batch : 1);
  made.planePitch = uint64_t(batchStride) * size;
  return made;
}

std::string Product::text() const {
  return "product " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
         (batch > 1 ? " (batch of " + std::to_string(batch) + ")" : "") + " of " + nameOf(a.type);
}

bool isSupported(const ProductTypes &types) {
  if (types.a != types.b || types.c != types.d)
    return false;
  const bool isHalf = types.a == DataType::f16 || types.a == DataType::bf16;
  switch (types.compute) {
  case ComputeType::f32:
  case ComputeType::f32_pedantic:
    return types.scale == DataType::f32 && ((types.a == DataType::f32 && types.d == DataType::f32) ||
                                            (isHalf && (types.d == types.a || types.d == DataType::f32)));
  case ComputeType::f32_fast_tf32:
    return types.scale == DataType::f32 && types.a == DataType::f32 && types.d == DataType::f32;
  case ComputeType::f64:
  case ComputeType::f64_pedantic:
    return types.scale == DataType::f64 && types.a == DataType::f64 && types.d == DataType::f64;
  case ComputeType::i32:
  case ComputeType::i32_pedantic:
    return types.scale == DataType::i32 && types.a == DataType::i8 && types.d == DataType::i32;
  }
  return false;
}

ComputeType effective(ComputeType compute, DataType input) {
  const char *value = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (!value || input != DataType::f32 ||
      (compute != ComputeType::f32 && compute != ComputeType::f32_fast_tf32))
    return compute;
  return value == std::string_view("1")   ? ComputeType::f32_fast_tf32
         : value == std::string_view("0") ? ComputeType::f32
                                          : compute;
}

Status read(const ProductHandles &handles, Product &product) {
  if (const Status status = readDescription(handles.description, product); status != Status::success)
    return status;
  int32_t batchOfA = 0, batchOfB = 0, batchOfC = 0;
  if (!readLayout(handles.a, product.a, batchOfA) || !readLayout(handles.b, product.b, batchOfB) ||
      !readLayout(handles.c, product.c, batchOfC) || !readLayout(handles.d, product.d, product.batch))
    return Status::invalid_value;
  if (batchOfA != product.batch || batchOfB != product.batch || batchOfC != product.batch ||
      product.batch < 1)
    return refuse(Status::invalid_value, "the layouts have different numbers of products, or none");
  product.compute = effective(product.compute, product.a.type);
  if (!isSupported(typesOf(product)))
    return refuse(Status::not_supported, std::string("there is no product of ") + nameOf(product.a.type) +
                                             " and " + nameOf(product.b.type) + " to " +
                                             nameOf(product.d.type) + " with this compute and scale type");
  product.m = product.transposeA ? product.a.columns : product.a.rows;
  product.k = product.transposeA ? product.a.rows : product.a.columns;
  product.n = product.transposeB ? product.b.rows : product.b.columns;
  Status status = checkShapes(product);
  if (status == Status::success)
    status = checkEpilogue(product, find<Description>(handles.description)->bias_data_type);
  return status == Status::success ? checkIntegers(product) : status;
}

} // namespace weft::cusim::lt
