//===- CublasLtHeader.cpp - What Weft declares of cuBLASLt, and its header ===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled where cublasLt.h is found, and never run: each constant, type and function of CublasLtTable.h is
// that of the header.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/CublasLtTable.h"

#include <cstddef>
#include <cublasLt.h>
#include <cuda.h>
#include <type_traits>

namespace weft::runtime::cublaslt {

static_assert(CUBLAS_VER_MAJOR == CUDA_VERSION / 1000, "cublasLt.h and cuda.h are of different versions");

/// The header's type for a type of ours; other types are the same in both.
template <typename T> struct Original {
  using Type = T;
};
template <typename T> struct Original<const T> {
  using Type = const typename Original<T>::Type;
};
template <typename T> struct Original<T *> {
  using Type = typename Original<T>::Type *;
};
template <typename Result, typename... Parameters> struct Original<Result(Parameters...)> {
  using Type = typename Original<Result>::Type(typename Original<Parameters>::Type...);
};
#define WEFT_ORIGINAL(ours, original)                                                                        \
  template <> struct Original<ours> {                                                                        \
    using Type = original;                                                                                   \
  };
WEFT_ORIGINAL(Status, cublasStatus_t)
WEFT_ORIGINAL(DataType, cudaDataType_t)
WEFT_ORIGINAL(ComputeType, cublasComputeType_t)
WEFT_ORIGINAL(Operation, cublasOperation_t)
WEFT_ORIGINAL(Order, cublasLtOrder_t)
WEFT_ORIGINAL(PointerMode, cublasLtPointerMode_t)
WEFT_ORIGINAL(Epilogue, cublasLtEpilogue_t)
WEFT_ORIGINAL(ReductionScheme, cublasLtReductionScheme_t)
WEFT_ORIGINAL(MatmulDescAttribute, cublasLtMatmulDescAttributes_t)
WEFT_ORIGINAL(MatrixLayoutAttribute, cublasLtMatrixLayoutAttribute_t)
WEFT_ORIGINAL(MatmulPreferenceAttribute, cublasLtMatmulPreferenceAttributes_t)
WEFT_ORIGINAL(AlgoCapAttribute, cublasLtMatmulAlgoCapAttributes_t)
WEFT_ORIGINAL(AlgoConfigAttribute, cublasLtMatmulAlgoConfigAttributes_t)
WEFT_ORIGINAL(HandleObject, cublasLtContext)
WEFT_ORIGINAL(MatmulDescObject, cublasLtMatmulDescOpaque_t)
WEFT_ORIGINAL(MatrixLayoutObject, cublasLtMatrixLayoutOpaque_t)
WEFT_ORIGINAL(MatmulPreferenceObject, cublasLtMatmulPreferenceOpaque_t)
WEFT_ORIGINAL(MatmulAlgo, cublasLtMatmulAlgo_t)
WEFT_ORIGINAL(HeuristicResult, cublasLtMatmulHeuristicResult_t)

// Constants: their values, and that they are of the enumeration that functions take. Flags are macros there.
#define WEFT_SAME_VALUE(ours, original)                                                                      \
  static_assert(static_cast<uint64_t>(ours) == static_cast<uint64_t>(original), #original);
#define WEFT_SAME_CONSTANT(type, name, original)                                                             \
  WEFT_SAME_VALUE(type::name, original)                                                                      \
  static_assert(std::is_same_v<Original<type>::Type, decltype(original)>, #original);
#define WEFT_SAME_STATUS(name, original, value) WEFT_SAME_CONSTANT(Status, name, original)
#define WEFT_SAME_DATA_TYPE(name, original, value) WEFT_SAME_CONSTANT(DataType, name, original)
#define WEFT_SAME_COMPUTE_TYPE(name, original, value) WEFT_SAME_CONSTANT(ComputeType, name, original)
#define WEFT_SAME_OPERATION(name, original, value) WEFT_SAME_CONSTANT(Operation, name, original)
#define WEFT_SAME_ORDER(name, original, value) WEFT_SAME_CONSTANT(Order, name, original)
#define WEFT_SAME_POINTER_MODE(name, original, value) WEFT_SAME_CONSTANT(PointerMode, name, original)
#define WEFT_SAME_EPILOGUE(name, original, value) WEFT_SAME_CONSTANT(Epilogue, name, original)
#define WEFT_SAME_REDUCTION(name, original, value) WEFT_SAME_CONSTANT(ReductionScheme, name, original)
#define WEFT_SAME_FLAG(name, original, value) WEFT_SAME_VALUE(NumericalImplFlag::name, original)
#define WEFT_SAME_DESC(name, original, value, type) WEFT_SAME_CONSTANT(MatmulDescAttribute, name, original)
#define WEFT_SAME_LAYOUT(name, original, value, type)                                                        \
  WEFT_SAME_CONSTANT(MatrixLayoutAttribute, name, original)
#define WEFT_SAME_PREFERENCE(name, original, value, type)                                                    \
  WEFT_SAME_CONSTANT(MatmulPreferenceAttribute, name, original)
#define WEFT_SAME_CAP(name, original, value, type) WEFT_SAME_CONSTANT(AlgoCapAttribute, name, original)
#define WEFT_SAME_CONFIG(name, original, value, type) WEFT_SAME_CONSTANT(AlgoConfigAttribute, name, original)
WEFT_CUBLASLT_STATUS(WEFT_SAME_STATUS)
WEFT_CUBLASLT_DATA_TYPE(WEFT_SAME_DATA_TYPE)
WEFT_CUBLASLT_COMPUTE_TYPE(WEFT_SAME_COMPUTE_TYPE)
WEFT_CUBLASLT_OPERATION(WEFT_SAME_OPERATION)
WEFT_CUBLASLT_ORDER(WEFT_SAME_ORDER)
WEFT_CUBLASLT_POINTER_MODE(WEFT_SAME_POINTER_MODE)
WEFT_CUBLASLT_EPILOGUE(WEFT_SAME_EPILOGUE)
WEFT_CUBLASLT_REDUCTION_SCHEME(WEFT_SAME_REDUCTION)
WEFT_CUBLASLT_NUMERICAL_IMPL_FLAG(WEFT_SAME_FLAG)
WEFT_CUBLASLT_MATMUL_DESC_ATTRIBUTE(WEFT_SAME_DESC)
WEFT_CUBLASLT_MATRIX_LAYOUT_ATTRIBUTE(WEFT_SAME_LAYOUT)
WEFT_CUBLASLT_MATMUL_PREFERENCE_ATTRIBUTE(WEFT_SAME_PREFERENCE)
WEFT_CUBLASLT_ALGO_CAP_ATTRIBUTE(WEFT_SAME_CAP)
WEFT_CUBLASLT_ALGO_CONFIG_ATTRIBUTE(WEFT_SAME_CONFIG)

// Types that have a size: enumerations, which functions take by value, and structures.
#define WEFT_SAME_SIZE(type)                                                                                 \
  static_assert(sizeof(type) == sizeof(Original<type>::Type) &&                                              \
                    alignof(type) == alignof(Original<type>::Type),                                          \
                #type);
WEFT_SAME_SIZE(Status)
WEFT_SAME_SIZE(DataType)
WEFT_SAME_SIZE(ComputeType)
WEFT_SAME_SIZE(MatmulDescAttribute)
WEFT_SAME_SIZE(MatrixLayoutAttribute)
WEFT_SAME_SIZE(MatmulPreferenceAttribute)
WEFT_SAME_SIZE(AlgoCapAttribute)
WEFT_SAME_SIZE(AlgoConfigAttribute)
WEFT_SAME_SIZE(MatmulAlgo)
WEFT_SAME_SIZE(HeuristicResult)
#define WEFT_SAME_FIELD(name, original)                                                                      \
  static_assert(offsetof(HeuristicResult, name) == offsetof(cublasLtMatmulHeuristicResult_t, original),      \
                #original);
WEFT_SAME_FIELD(algo, algo)
WEFT_SAME_FIELD(workspace_size, workspaceSize)
WEFT_SAME_FIELD(state, state)
WEFT_SAME_FIELD(waves_count, wavesCount)
WEFT_SAME_FIELD(reserved, reserved)

#define WEFT_SAME_FUNCTION(function, result, parameters)                                                     \
  static_assert(std::is_same_v<Original<result parameters>::Type, decltype(::function)>, #function);
WEFT_CUBLASLT_FUNCTIONS(WEFT_SAME_FUNCTION)

} // namespace weft::runtime::cublaslt
