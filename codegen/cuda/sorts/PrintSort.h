//===- PrintSort.h - Sorts as CUDA C++ --------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_SORTS_PRINTSORT_H
#define WEFT_CODEGEN_CUDA_SORTS_PRINTSORT_H

#include "ir/BlockSort.h"
#include "weft/dtype.hpp"

#include <string>

namespace weft::codegen {

/// A sort as its kernel knows it. The rows are a parameter.
struct CudaSort {
  DType dtype = DType::f32;
  int64_t count = 0; ///< elements that are kept of each row
  bool descending = false;
  ir::BlockSort block; ///< its schedule
  /// "1024 of f32, 1024 kept, 1 row of a block, teams of 256 threads with 4 elements, 4 staged"
  std::string str() const;
};

/// The text of the kernel `weft_kernel`. Its parameters are source, values, indices and the rows. A launch
/// has a block for each `block.rows` rows, and no dynamic shared memory.
std::string printSort(const CudaSort &sort);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_SORTS_PRINTSORT_H
