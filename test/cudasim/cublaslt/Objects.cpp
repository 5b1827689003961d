//===- Objects.cpp - Handles, descriptions and their attributes ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/cublaslt/Attributes.h"
#include "test/cudasim/cublaslt/Library.h"
#include "test/cudasim/driver/Settings.h"

namespace weft::cusim::lt {
namespace {

/// That of cuBLASLt whose answers are in test/cudasim/calibration.
constexpr size_t version = 130100;
/// The real library allocates memory of its own, too; how much is not documented.
constexpr uint64_t bytesOfHandle = 4096;

template <class T, class H> Status make(H *made, T value) {
  if (!made)
    return refuse(Status::invalid_value, "the place for the handle is null");
  *made = static_cast<H>(driver()->make(T::kind, new T(value)));
  return Status::success;
}

template <class T> Status destroy(void *handle) {
  T *object = find<T>(handle);
  if (!object)
    return Status::invalid_value;
  driver()->destroy(handle);
  delete object;
  return Status::success;
}

} // namespace

namespace functions {

size_t cublasLtGetVersion() {
  const uint64_t other = settings().cublasLtRelease;
  return other ? other : version;
}

const char *cublasLtGetStatusName(Status status) {
  switch (status) {
#define CUSIM_NAME(name, original, value)                                                                    \
  case Status::name:                                                                                         \
    return #original;
    WEFT_CUBLASLT_STATUS(CUSIM_NAME)
#undef CUSIM_NAME
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasLtGetStatusString(Status status) {
  switch (status) {
  case Status::success:
    return "success";
  case Status::not_initialized:
    return "the library was not initialized";
  case Status::alloc_failed:
    return "the resource allocation failed";
  case Status::invalid_value:
    return "an unsupported value or parameter was passed to the function";
  case Status::arch_mismatch:
    return "the requested functionality requires a feature that the device lacks";
  case Status::mapping_error:
    return "an access to GPU memory space failed";
  case Status::execution_failed:
    return "the function failed to launch on the GPU";
  case Status::internal_error:
    return "an internal operation failed";
  case Status::not_supported:
    return "the requested functionality is not supported";
  case Status::license_error:
    return "the requested functionality requires a license";
  }
  return "unknown status";
}

Status cublasLtCreate(Handle *made) {
  if (!made)
    return refuse(Status::invalid_value, "the place for the handle is null");
  if (driver()->checkContext() != CUDA_SUCCESS)
    return Status::not_initialized;
  LtHandle handle;
  const CUresult code = driver()->allocate(&handle.memory, bytesOfHandle);
  if (code != CUDA_SUCCESS)
    return code == CUDA_ERROR_OUT_OF_MEMORY ? refuse(Status::alloc_failed, "the device has no memory left")
                                            : Status::not_initialized;
  return make(made, handle);
}

Status cublasLtDestroy(Handle handle) {
  const LtHandle *found = find<LtHandle>(handle);
  if (!found)
    return Status::not_initialized;
  driver()->free(found->memory);
  return destroy<LtHandle>(handle);
}

Status cublasLtMatmulDescCreate(MatmulDesc *made, ComputeType compute, DataType scale) {
  Description description;
  description.compute_type = int32_t(compute);
  description.scale_type = int32_t(scale);
  description.epilogue = uint32_t(Epilogue::none);
  description.bias_data_type = -1; // that of D
  return make(made, description);
}
Status cublasLtMatmulDescDestroy(MatmulDesc handle) { return destroy<Description>(handle); }

Status cublasLtMatrixLayoutCreate(MatrixLayout *made, DataType type, uint64_t rows, uint64_t columns,
                                  int64_t leadingDimension) {
  Layout layout;
  layout.type = uint32_t(type);
  layout.rows = rows;
  layout.columns = columns;
  layout.leading_dimension = leadingDimension;
  layout.batch_count = 1;
  return make(made, layout);
}
Status cublasLtMatrixLayoutDestroy(MatrixLayout handle) { return destroy<Layout>(handle); }

Status cublasLtMatmulPreferenceCreate(MatmulPreference *made) {
  Preference preference;
  preference.reduction_scheme_mask = ~0u;
  preference.impl_mask = ~uint64_t(0);
  preference.min_alignment_a = preference.min_alignment_b = 256;
  preference.min_alignment_c = preference.min_alignment_d = 256;
  return make(made, preference);
}
Status cublasLtMatmulPreferenceDestroy(MatmulPreference handle) { return destroy<Preference>(handle); }

// Setting and getting attributes: a case for each.
#define CUSIM_SET(name, original, number, type)                                                              \
  case Attribute::name:                                                                                      \
    return setAttribute(object->name, value, bytes);
#define CUSIM_GET(name, original, number, type)                                                              \
  case Attribute::name:                                                                                      \
    return getAttribute(object->name, value, bytes, written);
#define CUSIM_ATTRIBUTES(Object, Handle, AttributeType, Prefix, LIST)                                        \
  Status Prefix##SetAttribute(Handle handle, AttributeType attribute, const void *value, size_t bytes) {     \
    using Attribute = AttributeType;                                                                         \
    Object *object = find<Object>(handle);                                                                   \
    if (!object)                                                                                             \
      return Status::invalid_value;                                                                          \
    switch (attribute) { LIST(CUSIM_SET) }                                                                   \
    return refuseAttribute(int(attribute));                                                                  \
  }                                                                                                          \
  Status Prefix##GetAttribute(Handle handle, AttributeType attribute, void *value, size_t bytes,             \
                              size_t *written) {                                                             \
    using Attribute = AttributeType;                                                                         \
    const Object *object = find<Object>(handle);                                                             \
    if (!object)                                                                                             \
      return Status::invalid_value;                                                                          \
    switch (attribute) { LIST(CUSIM_GET) }                                                                   \
    return refuseAttribute(int(attribute));                                                                  \
  }
CUSIM_ATTRIBUTES(Description, MatmulDesc, MatmulDescAttribute, cublasLtMatmulDesc,
                 WEFT_CUBLASLT_MATMUL_DESC_ATTRIBUTE)
CUSIM_ATTRIBUTES(Layout, MatrixLayout, MatrixLayoutAttribute, cublasLtMatrixLayout,
                 WEFT_CUBLASLT_MATRIX_LAYOUT_ATTRIBUTE)
CUSIM_ATTRIBUTES(Preference, MatmulPreference, MatmulPreferenceAttribute, cublasLtMatmulPreference,
                 WEFT_CUBLASLT_MATMUL_PREFERENCE_ATTRIBUTE)
#undef CUSIM_ATTRIBUTES
#undef CUSIM_GET
#undef CUSIM_SET

} // namespace functions
} // namespace weft::cusim::lt
