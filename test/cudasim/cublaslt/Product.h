//===- Product.h - A product that its descriptions describe ----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CUBLASLT_PRODUCT_H
#define WEFT_TEST_CUDASIM_CUBLASLT_PRODUCT_H

#include "test/cudasim/cublaslt/Library.h"

namespace weft::cusim::lt {

uint64_t bytesOf(DataType type);
const char *nameOf(DataType type);

/// A matrix, or one for each product of a batch. Element (r, c) is at r * rowStride + c * columnStride.
struct Matrix {
  DataType type{};
  int64_t rows = 0, columns = 0, leadingDimension = 0, batchStride = 0;
  Order order{};

  int64_t rowStride() const { return order == Order::column ? 1 : leadingDimension; }
  int64_t columnStride() const { return order == Order::column ? leadingDimension : 1; }
  bool isEmpty() const { return !rows || !columns; }
  /// The bytes that it has in memory.
  KernelOperand operand(const char *name, uint64_t address, int32_t batch) const;
};

/// D = epilogue(alpha * op(A) * op(B) + beta * C), as often as `batch` says.
struct Product {
  ComputeType compute{};
  DataType scale{};
  int64_t m = 0, n = 0, k = 0;
  int32_t batch = 1;
  Matrix a, b, c, d;
  bool transposeA = false, transposeB = false;
  PointerMode pointerMode{};
  Epilogue epilogue = Epilogue::none;
  uint64_t bias = 0, aux = 0; ///< addresses
  int64_t biasStride = 0, auxLeadingDimension = 0, auxStride = 0;

  bool hasBias() const { return uint32_t(epilogue) & uint32_t(Epilogue::bias); }
  bool hasRelu() const { return uint32_t(epilogue) & uint32_t(Epilogue::relu); }
  bool hasAux() const { return epilogue == Epilogue::relu_aux || epilogue == Epilogue::relu_aux_bias; }
  /// What a sum has.
  DataType sumType() const { return scale; }
  bool roundsToTf32() const { return compute == ComputeType::f32_fast_tf32; }
  /// "product 128x512x784 of f16"
  std::string text() const;
};

/// The types of a product, as an algorithm is made for them.
struct ProductTypes {
  ComputeType compute{};
  DataType scale{}, a{}, b{}, c{}, d{};
};
/// Whether cuBLASLt computes with these types, as far as the substitute knows.
bool isSupported(const ProductTypes &types);
/// What NVIDIA_TF32_OVERRIDE makes of a compute type for inputs of f32: 1 rounds them to tf32, 0 never does.
ComputeType effective(ComputeType compute, DataType input);

/// What a call describes: handles of the description and of the layouts.
struct ProductHandles {
  MatmulDesc description{};
  MatrixLayout a{}, b{}, c{}, d{};
};
/// Reads and checks them.
Status read(const ProductHandles &handles, Product &product);
inline ProductTypes typesOf(const Product &product) {
  return {product.compute, product.scale, product.a.type, product.b.type, product.c.type, product.d.type};
}

} // namespace weft::cusim::lt

#endif // WEFT_TEST_CUDASIM_CUBLASLT_PRODUCT_H
