//===- Algorithm.h - What computes products --------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algorithms have numbers as those that an H100 proposed for the types. Each adds the elements of a sum in an
// order of its own, so that another choice shows in the bits.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CUBLASLT_ALGORITHM_H
#define WEFT_TEST_CUDASIM_CUBLASLT_ALGORITHM_H

#include "test/cudasim/cublaslt/Product.h"

#include <vector>

namespace weft::cusim::lt {

struct Algorithm {
  int id = 0;
  bool (*takes)(const ProductTypes &) = nullptr;
  uint64_t implementation = 0; ///< numerical flags
  uint64_t alignment = 1;      ///< of pointers, leading dimensions and strides, in bytes
  int64_t depth = 1;           ///< elements of a sum that are added from 0 on before they come to it
  bool splits = false;         ///< whether parts of a sum may be computed beside each other
  bool losesNan = false;       ///< relu without auxiliary output makes 0 of NaN
  uint64_t workspace = 0;      ///< bytes that it needs without parts
};

/// How an algorithm is used: what the words of a MatmulAlgo keep.
struct Configuration {
  const Algorithm *algorithm = nullptr;
  ProductTypes types;
  uint64_t computeCapability = 0;
#define CUSIM_FIELD(name, original, number, type) type name{};
  WEFT_CUBLASLT_ALGO_CONFIG_ATTRIBUTE(CUSIM_FIELD)
#undef CUSIM_FIELD
};

/// Tiles by their numbers in cuBLASLt: rows and columns of D.
struct Tile {
  uint32_t id;
  int64_t rows, columns;
};
const std::vector<Tile> &tiles();

/// The algorithms for these types.
std::vector<const Algorithm *> algorithmsFor(const ProductTypes &types);

MatmulAlgo encode(const Configuration &configuration);
/// False, after a complaint, if the words are none of an algorithm.
bool decode(const MatmulAlgo *algo, Configuration &configuration);

uint64_t workspaceOf(const Configuration &configuration, const Product &product);
/// Why the algorithm cannot compute the product, whatever the pointers are; empty if it can.
std::string problemOf(const Configuration &configuration, const Product &product);
/// How often the product fills the device.
float wavesOf(const Configuration &configuration, const Product &product, uint64_t cores);

} // namespace weft::cusim::lt

#endif // WEFT_TEST_CUDASIM_CUBLASLT_ALGORITHM_H
