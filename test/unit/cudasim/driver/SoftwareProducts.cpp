//===- SoftwareProducts.cpp - Products on the software driver -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareProducts.h"

#include "test/cudasim/engine/Numeric.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace weft::cusim {
namespace {

using lt::DataType;

size_t bytesOf(DataType type) {
  return type == DataType::f64                             ? 8
         : type == DataType::f16 || type == DataType::bf16 ? 2
         : type == DataType::i8                            ? 1
                                                           : 4;
}

template <class T> void put(std::vector<std::byte> &to, size_t index, T value) {
  std::memcpy(to.data() + index * sizeof value, &value, sizeof value);
}
template <class T> T get(const std::vector<std::byte> &from, size_t index) {
  T value;
  std::memcpy(&value, from.data() + index * sizeof value, sizeof value);
  return value;
}

void encode(DataType type, double value, std::vector<std::byte> &to, size_t index) {
  using namespace cudasim;
  switch (type) {
  case DataType::f64:
    return put(to, index, value);
  case DataType::f32:
    return put(to, index, float(value));
  case DataType::i32:
    return put(to, index, int32_t(value));
  case DataType::i8:
    return put(to, index, int8_t(value));
  case DataType::f16:
    return put(to, index, uint16_t(cudasim::encode(cudasim::half, value, Rounding::nearest)));
  case DataType::bf16:
    return put(to, index, floatToBrain(float(value)));
  }
}

double decode(DataType type, const std::vector<std::byte> &from, size_t index) {
  switch (type) {
  case DataType::f64:
    return get<double>(from, index);
  case DataType::f32:
    return double(get<float>(from, index));
  case DataType::i32:
    return get<int32_t>(from, index);
  case DataType::i8:
    return get<int8_t>(from, index);
  case DataType::f16:
    return cudasim::decode(cudasim::half, get<uint16_t>(from, index));
  case DataType::bf16:
    return double(cudasim::brainToFloat(get<uint16_t>(from, index)));
  }
  return 0;
}

std::vector<std::byte> bytesOf(const TestMatrix &matrix) {
  std::vector<std::byte> bytes(matrix.values.size() * bytesOf(matrix.type));
  for (size_t k = 0; k < matrix.values.size(); ++k)
    encode(matrix.type, matrix.values[k], bytes, k);
  return bytes;
}

} // namespace

std::string productLibrary() { return libraryFolder() + "/libcublasLt.so.13"; }

SoftwareProducts::SoftwareProducts(SoftwareDriver &driver) : driver(driver) {
  void *library = ::dlopen(productLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(library) << ::dlerror();
#define WEFT_FILL(function, result, parameters)                                                              \
  function = reinterpret_cast<decltype(function)>(::dlsym(library, #function));                              \
  EXPECT_TRUE(function) << #function;
  WEFT_CUBLASLT_FUNCTIONS(WEFT_FILL)
#undef WEFT_FILL
  EXPECT_EQ(cublasLtCreate(&handle), lt::Status::success);
  workspace = driver.allocate(workspaceBytes);
}

TestMatrix SoftwareProducts::matrix(DataType type, lt::Order order, int64_t rows, int64_t columns,
                                    const ProductCase &what) {
  TestMatrix made;
  made.type = type;
  made.order = order;
  made.rows = rows;
  made.columns = columns;
  const bool isColumn = order == lt::Order::column;
  made.leadingDimension = (isColumn ? rows : columns) + what.padding;
  made.stride = made.leadingDimension * (isColumn ? columns : rows) + what.padding;
  // Without the padding behind the last line, so that a read of it is found.
  const int64_t count = made.stride * what.batch - what.padding * (columns && rows ? 2 : 1);
  for (int64_t k = 0; k < count; ++k) {
    random = random * 1664525u + 1013904223u;
    // Halves of small integers: products and small sums are exact in each type.
    made.values.push_back(type == DataType::i8 || type == DataType::i32
                              ? double(int(random >> 24) % 8 - 4)
                              : double(int(random >> 24) % 16 - 8) / 2);
  }
  const std::vector<std::byte> bytes = bytesOf(made);
  if (!bytes.empty()) {
    made.address = driver.allocate(bytes.size());
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(made.address, bytes.data(), bytes.size(), nullptr), CUDA_SUCCESS);
  }
  EXPECT_EQ(cublasLtMatrixLayoutCreate(&made.layout, type, uint64_t(rows), uint64_t(columns),
                                       made.leadingDimension),
            lt::Status::success);
  using Attribute = lt::MatrixLayoutAttribute;
  EXPECT_EQ(set(made.layout, Attribute::order, int32_t(order)), lt::Status::success);
  EXPECT_EQ(set(made.layout, Attribute::batch_count, what.batch), lt::Status::success);
  EXPECT_EQ(set(made.layout, Attribute::strided_batch_offset, made.stride), lt::Status::success);
  return made;
}

void SoftwareProducts::setAttributes(TestProduct &product) {
  using Attribute = lt::MatmulDescAttribute;
  const ProductCase &what = product.what;
  const lt::MatmulDesc desc = product.description;
  EXPECT_EQ(set(desc, Attribute::trans_a, int32_t(what.transposeA)), lt::Status::success);
  EXPECT_EQ(set(desc, Attribute::trans_b, int32_t(what.transposeB)), lt::Status::success);
  EXPECT_EQ(set(desc, Attribute::pointer_mode, int32_t(what.pointerMode)), lt::Status::success);
  EXPECT_EQ(set(desc, Attribute::epilogue, uint32_t(what.epilogue)), lt::Status::success);
  if (uint32_t(what.epilogue) & uint32_t(lt::Epilogue::bias)) {
    product.bias = matrix(what.out, lt::Order::column, what.m, 1, what);
    EXPECT_EQ(set(desc, Attribute::bias_pointer, reinterpret_cast<const void *>(product.bias.address)),
              lt::Status::success);
    EXPECT_EQ(set(desc, Attribute::bias_batch_stride, product.bias.stride), lt::Status::success);
  }
  if (uint32_t(what.epilogue) & 128) {
    product.auxLeadingDimension = (what.m + 127) / 128 * 128;
    product.aux = driver.allocate(size_t(product.auxLeadingDimension * what.n / 8));
    EXPECT_EQ(set(desc, Attribute::epilogue_aux_pointer, reinterpret_cast<void *>(product.aux)),
              lt::Status::success);
    EXPECT_EQ(set(desc, Attribute::epilogue_aux_leading_dimension, product.auxLeadingDimension),
              lt::Status::success);
  }
}

TestProduct SoftwareProducts::make(const ProductCase &what) {
  TestProduct made;
  made.what = what;
  EXPECT_EQ(cublasLtMatmulDescCreate(&made.description, what.compute, what.scale), lt::Status::success);
  made.a = what.transposeA ? matrix(what.in, what.orderA, what.k, what.m, what)
                           : matrix(what.in, what.orderA, what.m, what.k, what);
  made.b = what.transposeB ? matrix(what.in, what.orderB, what.n, what.k, what)
                           : matrix(what.in, what.orderB, what.k, what.n, what);
  made.c = matrix(what.out, what.orderD, what.m, what.n, what);
  made.d = matrix(what.out, what.orderD, what.m, what.n, what);
  setAttributes(made);
  if (what.pointerMode == lt::PointerMode::device) {
    std::vector<std::byte> bytes(2 * bytesOf(what.scale));
    encode(what.scale, what.alpha, bytes, 0);
    encode(what.scale, what.beta, bytes, 1);
    made.scales = driver.allocate(bytes.size());
    EXPECT_EQ(driver.cuMemcpyHtoDAsync(made.scales, bytes.data(), bytes.size(), nullptr), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  return made;
}

lt::Status SoftwareProducts::ask(const TestProduct &product, uint64_t mostWorkspace, int most,
                                 std::vector<lt::HeuristicResult> &results) {
  lt::MatmulPreference preference{};
  EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), lt::Status::success);
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference,
                                                 lt::MatmulPreferenceAttribute::max_workspace_bytes,
                                                 &mostWorkspace, sizeof mostWorkspace),
            lt::Status::success);
  int count = -1;
  results.resize(size_t(most));
  const lt::Status status = cublasLtMatmulAlgoGetHeuristic(
      handle, product.description, product.a.layout, product.b.layout, product.c.layout, product.d.layout,
      preference, most, results.data(), &count);
  results.resize(size_t(count));
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), lt::Status::success);
  return status;
}

std::vector<lt::HeuristicResult> SoftwareProducts::propose(const TestProduct &product, uint64_t mostWorkspace,
                                                           int most) {
  std::vector<lt::HeuristicResult> results;
  EXPECT_EQ(ask(product, mostWorkspace, most, results), lt::Status::success);
  return results;
}

lt::Status SoftwareProducts::multiply(const TestProduct &product, const lt::MatmulAlgo *algo,
                                      CUstream stream) {
  const ProductCase &what = product.what;
  std::vector<std::byte> scales(2 * bytesOf(what.scale));
  encode(what.scale, what.alpha, scales, 0);
  encode(what.scale, what.beta, scales, 1);
  auto at = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
  const void *alpha = product.scales ? at(product.scales) : scales.data();
  const void *beta =
      product.scales ? at(product.scales + bytesOf(what.scale)) : scales.data() + bytesOf(what.scale);
  return cublasLtMatmul(handle, product.description, alpha, at(product.a.address), product.a.layout,
                        at(product.b.address), product.b.layout, beta, at(product.c.address),
                        product.c.layout, at(product.d.address), product.d.layout, algo, at(workspace),
                        workspaceBytes, stream);
}

std::vector<double> SoftwareProducts::read(const TestMatrix &matrix) {
  std::vector<std::byte> bytes(matrix.values.size() * bytesOf(matrix.type));
  CUstream stream = driver.stream();
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(bytes.data(), matrix.address, bytes.size(), stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
  std::vector<double> values;
  for (size_t k = 0; k < matrix.values.size(); ++k)
    values.push_back(decode(matrix.type, bytes, k));
  return values;
}

std::vector<double> SoftwareProducts::expected(const TestProduct &product) {
  const ProductCase &what = product.what;
  std::vector<double> values = product.d.values;
  for (int32_t number = 0; number < what.batch; ++number)
    for (int64_t row = 0; row < what.m; ++row)
      for (int64_t column = 0; column < what.n; ++column) {
        double sum = 0;
        for (int64_t step = 0; step < what.k; ++step)
          sum += product.a.values[what.transposeA ? product.a.index(number, step, row)
                                                  : product.a.index(number, row, step)] *
                 product.b.values[what.transposeB ? product.b.index(number, column, step)
                                                  : product.b.index(number, step, column)];
        const size_t at = product.d.index(number, row, column);
        double value = what.alpha * sum + (what.beta != 0 ? what.beta * product.c.values[at] : 0);
        if (!product.bias.values.empty())
          value += product.bias.values[product.bias.index(number, row, 0)];
        if (uint32_t(what.epilogue) & uint32_t(lt::Epilogue::relu))
          value = value < 0 ? 0 : value;
        values[at] = value;
      }
  return values;
}

void SoftwareProducts::destroy(const TestProduct &product) {
  for (const TestMatrix *one : {&product.a, &product.b, &product.c, &product.d, &product.bias}) {
    EXPECT_EQ(driver.cuMemFree(one->address), CUDA_SUCCESS);
    if (one->layout) {
      EXPECT_EQ(cublasLtMatrixLayoutDestroy(one->layout), lt::Status::success);
    }
  }
  EXPECT_EQ(driver.cuMemFree(product.aux), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree(product.scales), CUDA_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescDestroy(product.description), lt::Status::success);
}

} // namespace weft::cusim
