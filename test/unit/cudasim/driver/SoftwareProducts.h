//===- SoftwareProducts.h - Products on the software driver -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The substitute for cuBLASLt as tests use it. A case says what a product is; making it gives descriptions,
// random operands in memory of the device, and the result by loops in double precision.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_CUDASIM_DRIVER_SOFTWAREPRODUCTS_H
#define WEFT_TEST_UNIT_CUDASIM_DRIVER_SOFTWAREPRODUCTS_H

#include "runtime/cuda/CublasLtTable.h"
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <vector>

namespace weft::cusim {

namespace lt = runtime::cublaslt;

/// What a product is.
struct ProductCase {
  lt::ComputeType compute = lt::ComputeType::f32;
  lt::DataType scale = lt::DataType::f32, in = lt::DataType::f32, out = lt::DataType::f32;
  int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  lt::Order orderA = lt::Order::column, orderB = lt::Order::column, orderD = lt::Order::column;
  int64_t padding = 0; ///< elements between the end of a line and the start of the next
  int32_t batch = 1;
  double alpha = 1, beta = 0;
  lt::PointerMode pointerMode = lt::PointerMode::host;
  lt::Epilogue epilogue = lt::Epilogue::none;
};

/// A matrix of a case: its bytes on the device and its elements.
struct TestMatrix {
  lt::DataType type{};
  lt::Order order{};
  int64_t rows = 0, columns = 0, leadingDimension = 0, stride = 0;
  CUdeviceptr address = 0;
  lt::MatrixLayout layout{};
  std::vector<double> values;

  size_t index(int32_t number, int64_t row, int64_t column) const {
    return size_t(number * stride + (order == lt::Order::column ? row + column * leadingDimension
                                                                : row * leadingDimension + column));
  }
};

struct TestProduct {
  ProductCase what;
  lt::MatmulDesc description{};
  TestMatrix a, b, c, d, bias;
  CUdeviceptr aux = 0, scales = 0;
  int64_t auxLeadingDimension = 0;
};

/// The library, with a handle, on a driver that was started.
struct SoftwareProducts : lt::Table {
  explicit SoftwareProducts(SoftwareDriver &driver);

  TestProduct make(const ProductCase &what);
  /// What the library proposes, with at most so many bytes of workspace.
  std::vector<lt::HeuristicResult> propose(const TestProduct &product, uint64_t mostWorkspace = 1 << 20,
                                           int most = 64);
  lt::Status ask(const TestProduct &product, uint64_t mostWorkspace, int most,
                 std::vector<lt::HeuristicResult> &results);
  /// Enqueues the product by an algorithm, or by the one that the library chooses.
  lt::Status multiply(const TestProduct &product, const lt::MatmulAlgo *algo, CUstream stream);
  /// What the device has of D.
  std::vector<double> read(const TestMatrix &matrix);
  /// D by loops in double precision, without the last rounding; what is no element is -1.
  static std::vector<double> expected(const TestProduct &product);
  /// Destroys descriptions and frees memory.
  void destroy(const TestProduct &product);

  template <class T> lt::Status set(lt::MatmulDesc description, lt::MatmulDescAttribute attribute, T value) {
    return cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value);
  }
  template <class T> lt::Status set(lt::MatrixLayout layout, lt::MatrixLayoutAttribute attribute, T value) {
    return cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value);
  }

  SoftwareDriver &driver;
  lt::Handle handle{};
  CUdeviceptr workspace = 0; ///< of `workspaceBytes` bytes
  static constexpr size_t workspaceBytes = 1 << 20;

private:
  TestMatrix matrix(lt::DataType type, lt::Order order, int64_t rows, int64_t columns,
                    const ProductCase &what);
  void setAttributes(TestProduct &product);
  uint32_t random = 1;
};

/// The file of the library.
std::string productLibrary();

} // namespace weft::cusim

#endif // WEFT_TEST_UNIT_CUDASIM_DRIVER_SOFTWAREPRODUCTS_H
