//===- ProductValuesTest.cpp - What products of the substitute are --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareProducts.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace weft::cusim;
using lt::ComputeType;
using lt::DataType;
using lt::Order;
using lt::Status;

namespace {

/// Computes a case by each algorithm that is proposed, and compares with loops.
void check(SoftwareProducts &library, const ProductCase &what, double tolerance = 0) {
  TestProduct product = library.make(what);
  const std::vector<double> expected = SoftwareProducts::expected(product);
  for (const lt::HeuristicResult &one : library.propose(product)) {
    EXPECT_EQ(library.multiply(product, &one.algo, nullptr), Status::success);
    EXPECT_EQ(library.driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    const std::vector<double> got = library.read(product.d);
    size_t wrong = 0;
    for (size_t k = 0; k < got.size(); ++k)
      wrong += !(std::abs(got[k] - expected[k]) <= tolerance * std::abs(expected[k]));
    EXPECT_EQ(wrong, 0u) << "of " << got.size() << ", " << what.m << "x" << what.n << "x" << what.k;
  }
  library.destroy(product);
}

void onDevice(const std::function<void(SoftwareProducts &)> &body, const Environment &environment = {}) {
  run(environment, [&](SoftwareDriver &driver) {
    driver.start();
    SoftwareProducts library(driver);
    body(library);
    EXPECT_EQ(driver.cuMemFree(library.workspace), CUDA_SUCCESS);
    EXPECT_EQ(library.cublasLtDestroy(library.handle), Status::success);
    EXPECT_STREQ(driver.report(), "");
  });
}

TEST(Products, HaveTheValuesOfLoopsForAllOrdersAndTranspositions) {
  onDevice([](SoftwareProducts &library) {
    for (int bits = 0; bits < 32; ++bits) {
      ProductCase what;
      what.m = 13, what.n = 37, what.k = 50, what.padding = 3;
      what.transposeA = bits & 1, what.transposeB = bits & 2;
      what.orderA = bits & 4 ? Order::row : Order::column;
      what.orderB = bits & 8 ? Order::row : Order::column;
      what.orderD = bits & 16 ? Order::row : Order::column;
      check(library, what);
    }
  });
}

TEST(Products, HaveTheValuesOfLoopsForAllTypes) {
  onDevice([](SoftwareProducts &library) {
    using enum DataType;
    struct Types {
      ComputeType compute;
      DataType scale, in, out;
      double tolerance;
    };
    for (const Types &types : {Types{ComputeType::f32_pedantic, f32, f32, f32, 0},
                               {ComputeType::f32_fast_tf32, f32, f32, f32, 0},
                               {ComputeType::f32, f32, f16, f16, 0x1p-11},
                               {ComputeType::f32, f32, f16, f32, 0},
                               {ComputeType::f32, f32, bf16, bf16, 0x1p-8},
                               {ComputeType::f32, f32, bf16, f32, 0},
                               {ComputeType::f64, f64, f64, f64, 0},
                               {ComputeType::i32, i32, i8, i32, 0}}) {
      ProductCase what;
      what.compute = types.compute, what.scale = types.scale, what.in = types.in, what.out = types.out;
      what.m = 16, what.n = 24, what.k = 96, what.transposeA = true, what.batch = 3;
      what.alpha = 2, what.beta = 3;
      check(library, what, types.tolerance);
    }
  });
}

TEST(Products, ScaleByNumbersOfTheHostOrOfTheDevice) {
  onDevice([](SoftwareProducts &library) {
    for (const lt::PointerMode mode : {lt::PointerMode::host, lt::PointerMode::device})
      for (const auto &[alpha, beta] : {std::pair(0.5, 0.0), std::pair(2.0, -1.5), std::pair(0.0, 1.0)}) {
        ProductCase what;
        what.m = what.n = 9, what.k = 20, what.padding = 1, what.batch = 2;
        what.alpha = alpha, what.beta = beta, what.pointerMode = mode;
        check(library, what);
        what.k = 0; // an empty sum
        check(library, what);
      }
  });
}

TEST(Products, HaveEpilogues) {
  onDevice([](SoftwareProducts &library) {
    using enum lt::Epilogue;
    for (const lt::Epilogue epilogue : {relu, bias, relu_bias, relu_aux, relu_aux_bias})
      for (const DataType type : {DataType::f32, DataType::f16}) {
        ProductCase what;
        what.in = what.out = type;
        what.m = 40, what.n = 24, what.k = 64, what.epilogue = epilogue;
        what.batch = epilogue == relu_bias ? 2 : 1;
        check(library, what, type == DataType::f16 ? 0x1p-11 : 0);
      }
    // Of f64 a device has a bias alone (test/cudasim/calibration/h100/fixtures.json).
    ProductCase wide;
    wide.compute = ComputeType::f64, wide.scale = wide.in = wide.out = DataType::f64;
    wide.m = 40, wide.n = 24, wide.k = 64, wide.epilogue = bias;
    check(library, wide);
  });
}

TEST(Products, KeepTheBitsOfRelu) {
  onDevice([](SoftwareProducts &library) {
    ProductCase what;
    what.m = 13, what.n = 5, what.k = 7, what.epilogue = lt::Epilogue::relu_aux;
    TestProduct product = library.make(what);
    EXPECT_EQ(library.multiply(product, nullptr, nullptr), Status::success);
    std::vector<unsigned char> bits(size_t(product.auxLeadingDimension * what.n / 8));
    EXPECT_EQ(library.driver.cuMemcpyDtoHAsync(bits.data(), product.aux, bits.size(), nullptr), CUDA_SUCCESS);
    const std::vector<double> expected = SoftwareProducts::expected(product);
    for (int64_t column = 0; column < what.n; ++column)
      for (int64_t row = 0; row < what.m; ++row) {
        const int64_t bit = row + column * product.auxLeadingDimension;
        EXPECT_EQ(bits[size_t(bit / 8)] >> bit % 8 & 1, expected[product.d.index(0, row, column)] > 0);
      }
    library.destroy(product);
  });
}

/// The bits of a product with numbers that have many digits, by algorithm number and parts.
std::map<std::pair<int, int>, std::vector<uint32_t>> bitsByAlgorithm(SoftwareProducts &library,
                                                                     ComputeType compute) {
  ProductCase what;
  what.compute = compute;
  what.m = what.n = 8, what.k = 512;
  TestProduct product = library.make(what);
  std::vector<float> numbers(size_t(what.m * what.k));
  for (size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = float(std::sin(double(k)));
  for (const CUdeviceptr address : {product.a.address, product.b.address})
    library.driver.cuMemcpyHtoDAsync(address, numbers.data(), numbers.size() * 4, nullptr);
  std::map<std::pair<int, int>, std::vector<uint32_t>> found;
  for (const lt::HeuristicResult &one : library.propose(product)) {
    int32_t id = 0, parts = 0;
    using Attribute = lt::AlgoConfigAttribute;
    library.cublasLtMatmulAlgoConfigGetAttribute(&one.algo, Attribute::id, &id, sizeof id, nullptr);
    library.cublasLtMatmulAlgoConfigGetAttribute(&one.algo, Attribute::split_k_num, &parts, sizeof parts,
                                                 nullptr);
    EXPECT_EQ(library.multiply(product, &one.algo, nullptr), Status::success);
    std::vector<uint32_t> bits(size_t(what.m * what.n));
    library.driver.cuMemcpyDtoHAsync(bits.data(), product.d.address, bits.size() * 4, nullptr);
    auto [at, isNew] = found.emplace(std::pair(id, parts), bits);
    EXPECT_TRUE(isNew || at->second == bits) << "a tile changes no bit";
  }
  library.destroy(product);
  return found;
}

TEST(Products, OfEachAlgorithmHaveBitsOfTheirOwn) {
  onDevice([](SoftwareProducts &library) {
    const auto found = bitsByAlgorithm(library, ComputeType::f32);
    std::set<std::vector<uint32_t>> different;
    for (const auto &[key, bits] : found)
      different.insert(bits);
    EXPECT_GE(found.size(), 8u);
    EXPECT_EQ(different.size(), found.size());
  });
}

TEST(Products, RoundToTf32IfTheyAreAskedTo) {
  auto check = [&](ComputeType compute, const Environment &environment, bool isTf32) {
    onDevice(
        [&](SoftwareProducts &library) {
          const auto found = bitsByAlgorithm(library, compute);
          EXPECT_EQ(found.contains({21, 1}), isTf32) << "an algorithm of tf32";
          EXPECT_EQ(found.contains({55, 1}), true);
        },
        environment);
  };
  check(ComputeType::f32, {}, false);
  check(ComputeType::f32_fast_tf32, {}, true);
  check(ComputeType::f32, {{"NVIDIA_TF32_OVERRIDE", "1"}}, true);
  check(ComputeType::f32_pedantic, {{"NVIDIA_TF32_OVERRIDE", "1"}}, false);
  check(ComputeType::f32_fast_tf32, {{"NVIDIA_TF32_OVERRIDE", "0"}}, false);
}

/// Whether relu keeps the NaN of C for an algorithm.
bool keepsNan(SoftwareProducts &library, TestProduct &product, const lt::MatmulAlgo &algo) {
  EXPECT_EQ(library.multiply(product, &algo, nullptr), Status::success);
  EXPECT_EQ(library.driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  return std::isnan(library.read(product.d)[0]);
}

TEST(Products, OfSomeAlgorithmsLoseTheNanOfRelu) {
  onDevice([](SoftwareProducts &library) {
    for (const lt::Epilogue epilogue : {lt::Epilogue::relu, lt::Epilogue::relu_aux}) {
      ProductCase what;
      what.in = what.out = DataType::f16;
      what.m = what.n = what.k = 64, what.beta = 1, what.epilogue = epilogue;
      TestProduct product = library.make(what);
      const uint16_t nan = 0x7E00;
      library.driver.cuMemcpyHtoDAsync(product.c.address, &nan, sizeof nan, nullptr);
      size_t kept = 0, lost = 0;
      for (const lt::HeuristicResult &one : library.propose(product))
        keepsNan(library, product, one.algo) ? ++kept : ++lost;
      EXPECT_GT(kept, 0u);
      EXPECT_EQ(lost > 0, epilogue == lt::Epilogue::relu);
      library.destroy(product);
    }
  });
}

TEST(Products, AreFastEnoughForTests) {
  onDevice([](SoftwareProducts &library) {
    ProductCase what;
    what.m = what.n = what.k = 512;
    TestProduct product = library.make(what);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(library.multiply(product, nullptr, nullptr), Status::success);
    EXPECT_EQ(library.driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 5) << "it takes some 10 ms";
    library.destroy(product);
  });
}

} // namespace
