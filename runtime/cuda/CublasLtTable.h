//===- CublasLtTable.h - The functions of cuBLASLt --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which functions, types and constants of cuBLASLt the runtime uses. They are declared here because
// cublasLt.h comes only with the library, which machines that build Weft need not have. A build that finds
// the header compares all of this with it (test/unit/runtime/CublasLtHeader.cpp). For this, each list of
// constants has the header's name of a constant beside the name here, and each attribute the type of its
// value, whose size the library checks.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_CUBLASLTTABLE_H
#define WEFT_RUNTIME_CUDA_CUBLASLTTABLE_H

#include <cstddef>
#include <cstdint>

struct CUstream_st; // what a CUstream of cuda.h points to

namespace weft::runtime::cublaslt {

#define WEFT_CUBLASLT_ENUMERATOR(name, original, value, ...) name = (value),

// clang-format off
// What a function returns.
#define WEFT_CUBLASLT_STATUS(X)                                                                              \
  X(success, CUBLAS_STATUS_SUCCESS, 0)                                                                       \
  X(not_initialized, CUBLAS_STATUS_NOT_INITIALIZED, 1)                                                       \
  X(alloc_failed, CUBLAS_STATUS_ALLOC_FAILED, 3)                                                             \
  X(invalid_value, CUBLAS_STATUS_INVALID_VALUE, 7)                                                           \
  X(arch_mismatch, CUBLAS_STATUS_ARCH_MISMATCH, 8)                                                           \
  X(mapping_error, CUBLAS_STATUS_MAPPING_ERROR, 11)                                                          \
  X(execution_failed, CUBLAS_STATUS_EXECUTION_FAILED, 13)                                                    \
  X(internal_error, CUBLAS_STATUS_INTERNAL_ERROR, 14)                                                        \
  X(not_supported, CUBLAS_STATUS_NOT_SUPPORTED, 15)                                                          \
  X(license_error, CUBLAS_STATUS_LICENSE_ERROR, 16)

// Element types of matrices, and of the scales alpha and beta.
#define WEFT_CUBLASLT_DATA_TYPE(X)                                                                           \
  X(f32, CUDA_R_32F, 0)                                                                                      \
  X(f64, CUDA_R_64F, 1)                                                                                      \
  X(f16, CUDA_R_16F, 2)                                                                                      \
  X(i8, CUDA_R_8I, 3)                                                                                        \
  X(i32, CUDA_R_32I, 10)                                                                                     \
  X(bf16, CUDA_R_16BF, 14)

// In what products are computed. A pedantic type neither rounds inputs to fewer bits nor emulates arithmetic.
#define WEFT_CUBLASLT_COMPUTE_TYPE(X)                                                                        \
  X(f32, CUBLAS_COMPUTE_32F, 68)                                                                             \
  X(f32_pedantic, CUBLAS_COMPUTE_32F_PEDANTIC, 69)                                                           \
  X(f32_fast_tf32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                                         \
  X(f64, CUBLAS_COMPUTE_64F, 70)                                                                             \
  X(f64_pedantic, CUBLAS_COMPUTE_64F_PEDANTIC, 71)                                                           \
  X(i32, CUBLAS_COMPUTE_32I, 72)                                                                             \
  X(i32_pedantic, CUBLAS_COMPUTE_32I_PEDANTIC, 73)

#define WEFT_CUBLASLT_OPERATION(X)                                                                           \
  X(none, CUBLAS_OP_N, 0)                                                                                    \
  X(transpose, CUBLAS_OP_T, 1)

#define WEFT_CUBLASLT_ORDER(X)                                                                               \
  X(column, CUBLASLT_ORDER_COL, 0)                                                                           \
  X(row, CUBLASLT_ORDER_ROW, 1)

// Where alpha and beta are.
#define WEFT_CUBLASLT_POINTER_MODE(X)                                                                        \
  X(host, CUBLASLT_POINTER_MODE_HOST, 0)                                                                     \
  X(device, CUBLASLT_POINTER_MODE_DEVICE, 1)

#define WEFT_CUBLASLT_EPILOGUE(X)                                                                            \
  X(none, CUBLASLT_EPILOGUE_DEFAULT, 1)                                                                      \
  X(relu, CUBLASLT_EPILOGUE_RELU, 2)                                                                         \
  X(bias, CUBLASLT_EPILOGUE_BIAS, 4)                                                                         \
  X(relu_bias, CUBLASLT_EPILOGUE_RELU_BIAS, 6)                                                               \
  X(relu_aux, CUBLASLT_EPILOGUE_RELU_AUX, 130)                                                               \
  X(relu_aux_bias, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, 134)

// How parts of a sum that are computed beside each other are added: bits of a mask.
#define WEFT_CUBLASLT_REDUCTION_SCHEME(X)                                                                    \
  X(none, CUBLASLT_REDUCTION_SCHEME_NONE, 0)                                                                 \
  X(in_place, CUBLASLT_REDUCTION_SCHEME_INPLACE, 1)                                                          \
  X(compute_type, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)                                                 \
  X(output_type, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 4)

// What an algorithm computes with: its instructions, its sums, and to what its inputs are rounded. Bits of a
// mask.
#define WEFT_CUBLASLT_NUMERICAL_IMPL_FLAG(X)                                                                 \
  X(fma, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 0x1)                                                             \
  X(hmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA, 0x2)                                                           \
  X(imma, CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA, 0x4)                                                           \
  X(dmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA, 0x8)                                                           \
  X(any_instruction, CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_TYPE_MASK, 0xff)                                       \
  X(accumulator_f16, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F, 0x100)                                   \
  X(accumulator_f32, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, 0x200)                                   \
  X(accumulator_f64, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F, 0x400)                                   \
  X(accumulator_i32, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I, 0x800)                                   \
  X(any_accumulator, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_TYPE_MASK, 0xff00)                            \
  X(input_f16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, 0x10000)                                             \
  X(input_bf16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF, 0x20000)                                           \
  X(input_tf32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, 0x40000)                                           \
  X(input_f32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, 0x80000)                                             \
  X(input_f64, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F, 0x100000)                                            \
  X(input_i8, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I, 0x200000)                                              \
  X(any_input, CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_INPUT_TYPE_MASK, 0xff0000)

#define WEFT_CUBLASLT_MATMUL_DESC_ATTRIBUTE(X)                                                               \
  X(compute_type, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 0, int32_t)                                             \
  X(scale_type, CUBLASLT_MATMUL_DESC_SCALE_TYPE, 1, int32_t)                                                 \
  X(pointer_mode, CUBLASLT_MATMUL_DESC_POINTER_MODE, 2, int32_t)                                             \
  X(trans_a, CUBLASLT_MATMUL_DESC_TRANSA, 3, int32_t)                                                        \
  X(trans_b, CUBLASLT_MATMUL_DESC_TRANSB, 4, int32_t)                                                        \
  X(epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE, 7, uint32_t)                                                    \
  X(bias_pointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, const void *)                                        \
  X(bias_batch_stride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 10, int64_t)                                  \
  X(epilogue_aux_pointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 11, void *)                             \
  X(epilogue_aux_leading_dimension, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 12, int64_t)                       \
  X(epilogue_aux_batch_stride, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 13, int64_t)                  \
  X(sm_count_target, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 15, int32_t)                                      \
  X(bias_data_type, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26, int32_t)

#define WEFT_CUBLASLT_MATRIX_LAYOUT_ATTRIBUTE(X)                                                             \
  X(type, CUBLASLT_MATRIX_LAYOUT_TYPE, 0, uint32_t)                                                          \
  X(order, CUBLASLT_MATRIX_LAYOUT_ORDER, 1, int32_t)                                                         \
  X(rows, CUBLASLT_MATRIX_LAYOUT_ROWS, 2, uint64_t)                                                          \
  X(columns, CUBLASLT_MATRIX_LAYOUT_COLS, 3, uint64_t)                                                       \
  X(leading_dimension, CUBLASLT_MATRIX_LAYOUT_LD, 4, int64_t)                                                \
  X(batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5, int32_t)                                             \
  X(strided_batch_offset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6, int64_t)

#define WEFT_CUBLASLT_MATMUL_PREFERENCE_ATTRIBUTE(X)                                                         \
  X(search_mode, CUBLASLT_MATMUL_PREF_SEARCH_MODE, 0, uint32_t)                                              \
  X(max_workspace_bytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1, uint64_t)                              \
  X(reduction_scheme_mask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3, uint32_t)                          \
  X(min_alignment_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5, uint32_t)                                \
  X(min_alignment_b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6, uint32_t)                                \
  X(min_alignment_c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7, uint32_t)                                \
  X(min_alignment_d, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8, uint32_t)                                \
  X(impl_mask, CUBLASLT_MATMUL_PREF_IMPL_MASK, 12, uint64_t)

// What an algorithm can do.
#define WEFT_CUBLASLT_ALGO_CAP_ATTRIBUTE(X)                                                                  \
  X(split_k_support, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, 0, int32_t)                                           \
  X(reduction_scheme_mask, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK, 1, uint32_t)                             \
  X(strided_batch_support, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, 3, int32_t)                              \
  X(epilogue_mask, CUBLASLT_ALGO_CAP_EPILOGUE_MASK, 12, uint32_t)                                            \
  X(numerical_impl_flags, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, 15, uint64_t)                              \
  X(min_alignment_a, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, 16, uint32_t)                                  \
  X(min_alignment_b, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, 17, uint32_t)                                  \
  X(min_alignment_c, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, 18, uint32_t)                                  \
  X(min_alignment_d, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, 19, uint32_t)

// What is chosen of it.
#define WEFT_CUBLASLT_ALGO_CONFIG_ATTRIBUTE(X)                                                               \
  X(id, CUBLASLT_ALGO_CONFIG_ID, 0, int32_t)                                                                 \
  X(tile_id, CUBLASLT_ALGO_CONFIG_TILE_ID, 1, uint32_t)                                                      \
  X(split_k_num, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2, int32_t)                                                \
  X(reduction_scheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 3, uint32_t)                                    \
  X(cta_swizzling, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4, uint32_t)                                          \
  X(custom_option, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 5, uint32_t)                                          \
  X(stages_id, CUBLASLT_ALGO_CONFIG_STAGES_ID, 6, uint32_t)                                                  \
  X(inner_shape_id, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 7, uint16_t)                                        \
  X(cluster_shape_id, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 8, uint16_t)
// clang-format on

enum class Status : int32_t { WEFT_CUBLASLT_STATUS(WEFT_CUBLASLT_ENUMERATOR) };
enum class DataType : int32_t { WEFT_CUBLASLT_DATA_TYPE(WEFT_CUBLASLT_ENUMERATOR) };
enum class ComputeType : int32_t { WEFT_CUBLASLT_COMPUTE_TYPE(WEFT_CUBLASLT_ENUMERATOR) };
enum class Operation : int32_t { WEFT_CUBLASLT_OPERATION(WEFT_CUBLASLT_ENUMERATOR) };
enum class Order : int32_t { WEFT_CUBLASLT_ORDER(WEFT_CUBLASLT_ENUMERATOR) };
enum class PointerMode : int32_t { WEFT_CUBLASLT_POINTER_MODE(WEFT_CUBLASLT_ENUMERATOR) };
enum class Epilogue : uint32_t { WEFT_CUBLASLT_EPILOGUE(WEFT_CUBLASLT_ENUMERATOR) };
enum class ReductionScheme : uint32_t { WEFT_CUBLASLT_REDUCTION_SCHEME(WEFT_CUBLASLT_ENUMERATOR) };
enum class NumericalImplFlag : uint64_t { WEFT_CUBLASLT_NUMERICAL_IMPL_FLAG(WEFT_CUBLASLT_ENUMERATOR) };
enum class MatmulDescAttribute : int32_t { WEFT_CUBLASLT_MATMUL_DESC_ATTRIBUTE(WEFT_CUBLASLT_ENUMERATOR) };
enum class MatrixLayoutAttribute : int32_t {
  WEFT_CUBLASLT_MATRIX_LAYOUT_ATTRIBUTE(WEFT_CUBLASLT_ENUMERATOR)
};
enum class MatmulPreferenceAttribute : int32_t {
  WEFT_CUBLASLT_MATMUL_PREFERENCE_ATTRIBUTE(WEFT_CUBLASLT_ENUMERATOR)
};
enum class AlgoCapAttribute : int32_t { WEFT_CUBLASLT_ALGO_CAP_ATTRIBUTE(WEFT_CUBLASLT_ENUMERATOR) };
enum class AlgoConfigAttribute : int32_t { WEFT_CUBLASLT_ALGO_CONFIG_ATTRIBUTE(WEFT_CUBLASLT_ENUMERATOR) };
#undef WEFT_CUBLASLT_ENUMERATOR

/// What the library makes and destroys, and nobody else looks into.
using Handle = struct HandleObject *;
using MatmulDesc = struct MatmulDescObject *;
using MatrixLayout = struct MatrixLayoutObject *;
using MatmulPreference = struct MatmulPreferenceObject *;
using Stream = CUstream_st *;

/// An algorithm and its configuration. The words may be kept in a file, for the same release of the library.
struct MatmulAlgo {
  uint64_t words[8];
};

/// An algorithm that the library proposes for a product.
struct HeuristicResult {
  MatmulAlgo algo;
  size_t workspace_size;
  Status state;      ///< the rest is set if this is `success`
  float waves_count; ///< how often the product fills the device
  int32_t reserved[4];
};

// Each function: its name, what it returns, and its parameters, as in cublasLt.h. Alpha and beta are of the
// scale type.
// clang-format off
#define WEFT_CUBLASLT_LIBRARY_FUNCTIONS(X)                                                                   \
  X(cublasLtGetVersion, size_t, ())                                                                          \
  X(cublasLtGetStatusName, const char *, (Status status))                                                    \
  X(cublasLtGetStatusString, const char *, (Status status))                                                  \
  X(cublasLtCreate, Status, (Handle * made))                                                                 \
  X(cublasLtDestroy, Status, (Handle handle))
#define WEFT_CUBLASLT_DESCRIPTOR_FUNCTIONS(X)                                                                \
  X(cublasLtMatmulDescCreate, Status, (MatmulDesc * made, ComputeType compute, DataType scale))              \
  X(cublasLtMatmulDescDestroy, Status, (MatmulDesc desc))                                                    \
  X(cublasLtMatmulDescSetAttribute, Status,                                                                  \
    (MatmulDesc desc, MatmulDescAttribute attribute, const void *value, size_t bytes))                       \
  X(cublasLtMatmulDescGetAttribute, Status,                                                                  \
    (MatmulDesc desc, MatmulDescAttribute attribute, void *value, size_t bytes, size_t *written))            \
  X(cublasLtMatrixLayoutCreate, Status,                                                                      \
    (MatrixLayout * made, DataType type, uint64_t rows, uint64_t columns, int64_t leading_dimension))        \
  X(cublasLtMatrixLayoutDestroy, Status, (MatrixLayout layout))                                              \
  X(cublasLtMatrixLayoutSetAttribute, Status,                                                                \
    (MatrixLayout layout, MatrixLayoutAttribute attribute, const void *value, size_t bytes))                 \
  X(cublasLtMatrixLayoutGetAttribute, Status,                                                                \
    (MatrixLayout layout, MatrixLayoutAttribute attribute, void *value, size_t bytes, size_t *written))      \
  X(cublasLtMatmulPreferenceCreate, Status, (MatmulPreference * made))                                       \
  X(cublasLtMatmulPreferenceDestroy, Status, (MatmulPreference preference))                                  \
  X(cublasLtMatmulPreferenceSetAttribute, Status,                                                            \
    (MatmulPreference preference, MatmulPreferenceAttribute attribute, const void *value, size_t bytes))     \
  X(cublasLtMatmulPreferenceGetAttribute, Status,                                                            \
    (MatmulPreference preference, MatmulPreferenceAttribute attribute, void *value, size_t bytes,            \
     size_t *written))
#define WEFT_CUBLASLT_ALGORITHM_FUNCTIONS(X)                                                                 \
  X(cublasLtMatmulAlgoGetHeuristic, Status,                                                                  \
    (Handle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d,         \
     MatmulPreference preference, int most, HeuristicResult *results, int *count))                           \
  X(cublasLtMatmulAlgoCheck, Status,                                                                         \
    (Handle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d,         \
     const MatmulAlgo *algo, HeuristicResult *result))                                                       \
  X(cublasLtMatmulAlgoGetIds, Status,                                                                        \
    (Handle handle, ComputeType compute, DataType scale, DataType a, DataType b, DataType c, DataType d,     \
     int most, int *ids, int *count))                                                                        \
  X(cublasLtMatmulAlgoInit, Status,                                                                          \
    (Handle handle, ComputeType compute, DataType scale, DataType a, DataType b, DataType c, DataType d,     \
     int id, MatmulAlgo *made))                                                                              \
  X(cublasLtMatmulAlgoCapGetAttribute, Status,                                                               \
    (const MatmulAlgo *algo, AlgoCapAttribute attribute, void *value, size_t bytes, size_t *written))        \
  X(cublasLtMatmulAlgoConfigGetAttribute, Status,                                                            \
    (const MatmulAlgo *algo, AlgoConfigAttribute attribute, void *value, size_t bytes, size_t *written))     \
  X(cublasLtMatmulAlgoConfigSetAttribute, Status,                                                            \
    (MatmulAlgo * algo, AlgoConfigAttribute attribute, const void *value, size_t bytes))
#define WEFT_CUBLASLT_MATMUL_FUNCTIONS(X)                                                                    \
  X(cublasLtMatmul, Status,                                                                                  \
    (Handle handle, MatmulDesc desc, const void *alpha, const void *a, MatrixLayout a_layout, const void *b, \
     MatrixLayout b_layout, const void *beta, const void *c, MatrixLayout c_layout, void *d,                 \
     MatrixLayout d_layout, const MatmulAlgo *algo, void *workspace, size_t workspace_bytes,                 \
     Stream stream))
#define WEFT_CUBLASLT_FUNCTIONS(X)                                                                           \
  WEFT_CUBLASLT_LIBRARY_FUNCTIONS(X)                                                                         \
  WEFT_CUBLASLT_DESCRIPTOR_FUNCTIONS(X)                                                                      \
  WEFT_CUBLASLT_ALGORITHM_FUNCTIONS(X)                                                                       \
  WEFT_CUBLASLT_MATMUL_FUNCTIONS(X)
// clang-format on

/// The functions of the library, null until they are looked up.
struct Table {
#define WEFT_CUBLASLT_FIELD(function, result, parameters) result(*function) parameters = nullptr;
  WEFT_CUBLASLT_FUNCTIONS(WEFT_CUBLASLT_FIELD)
#undef WEFT_CUBLASLT_FIELD
};

} // namespace weft::runtime::cublaslt

#endif // WEFT_RUNTIME_CUDA_CUBLASLTTABLE_H
