//===- Algorithm.cpp - What computes products ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/cublaslt/Algorithm.h"

#include "test/cudasim/cublaslt/Attributes.h"

#include <algorithm>

namespace weft::cusim::lt {
namespace {

template <class... Flags> constexpr uint64_t flags(Flags... all) { return (uint64_t(all) | ...); }
using enum NumericalImplFlag;
constexpr uint64_t single = flags(fma, accumulator_f32, input_f32);
constexpr uint64_t tensor = flags(hmma, accumulator_f32, input_tf32);
constexpr uint64_t half = flags(hmma, accumulator_f32, input_f16);
constexpr uint64_t brain = flags(hmma, accumulator_f32, input_bf16);
constexpr uint64_t wide = flags(fma, accumulator_f64, input_f64);
constexpr uint64_t wideMatrix = flags(dmma, accumulator_f64, input_f64);
constexpr uint64_t bytes = flags(fma, accumulator_i32, input_i8);
constexpr uint64_t bytesMatrix = flags(imma, accumulator_i32, input_i8);

bool takesF32(const ProductTypes &types) { return types.a == DataType::f32; }
bool takesTf32(const ProductTypes &types) { return types.compute == ComputeType::f32_fast_tf32; }
bool takesF16(const ProductTypes &types) { return types.a == DataType::f16; }
bool takesBf16(const ProductTypes &types) { return types.a == DataType::bf16; }
bool takesF64(const ProductTypes &types) { return types.a == DataType::f64; }
bool takesI8(const ProductTypes &types) { return types.a == DataType::i8; }

/// The numbers are those of test/cudasim/calibration/h100/matmul.json; those of i8 were not asked. So are the
/// alignments, by which algorithms remain for an operand that begins 2, 4 or 8 bytes off, and the bytes of
/// workspace without parts.
constexpr Algorithm algorithms[] = {
    {21, takesTf32, tensor, 16, 32, true, false, 0},   {43, takesTf32, tensor, 16, 64, false, true, 131},
    {23, takesTf32, tensor, 4, 16, true, false, 0},    {20, takesF32, single, 4, 8, true, false, 0},
    {55, takesF32, single, 4, 16, true, false, 0},     {66, takesF16, half, 16, 64, false, false, 4},
    {23, takesF16, half, 4, 32, true, true, 0},        {24, takesF16, half, 2, 16, true, true, 0},
    {66, takesBf16, brain, 16, 64, false, false, 4},   {23, takesBf16, brain, 4, 32, true, true, 0},
    {24, takesBf16, brain, 2, 16, true, true, 0},      {35, takesF64, wideMatrix, 16, 16, true, false, 0},
    {36, takesF64, wideMatrix, 8, 8, true, false, 0},  {22, takesF64, wide, 8, 4, true, false, 0},
    {70, takesI8, bytesMatrix, 4, 64, true, false, 0}, {71, takesI8, bytes, 4, 4, false, false, 0},
};

constexpr uint64_t mark = 0x3133'5453'4155'4C42; // in the first word

constexpr uint64_t packTypes(const ProductTypes &types) {
  return uint64_t(types.compute) | uint64_t(types.scale) << 8 | uint64_t(types.a) << 16 |
         uint64_t(types.b) << 24 | uint64_t(types.c) << 32 | uint64_t(types.d) << 40;
}

ProductTypes unpackTypes(uint64_t word) {
  auto type = [&](int shift) { return DataType(word >> shift & 0xFF); };
  return {ComputeType(word & 0xFF), type(8), type(16), type(24), type(32), type(40)};
}

const Algorithm *find(int id, const ProductTypes &types) {
  for (const Algorithm *one : algorithmsFor(types))
    if (one->id == id)
      return one;
  return nullptr;
}

const Tile *tileOf(uint32_t id) {
  auto found = std::find_if(tiles().begin(), tiles().end(), [&](const Tile &one) { return one.id == id; });
  return found == tiles().end() ? nullptr : &*found;
}

uint64_t capabilityOfDevice() {
  uint64_t cores = 0, capability = 0;
  driver()->device(&cores, &capability);
  return capability;
}

/// NVIDIA documents that these instructions take A transposed and B not, and m and k that are multiples of 4.
bool suitsImma(const Product &product) {
  return product.transposeA && !product.transposeB && product.m % 4 == 0 && product.k % 4 == 0 &&
         product.a.order == Order::column && product.b.order == Order::column &&
         product.c.order == Order::column && product.d.order == Order::column;
}

/// What an algorithm can do.
struct Capabilities {
#define CUSIM_FIELD(name, original, number, type) type name{};
  WEFT_CUBLASLT_ALGO_CAP_ATTRIBUTE(CUSIM_FIELD)
#undef CUSIM_FIELD
};

Capabilities capabilitiesOf(const Configuration &configuration) {
  const Algorithm &algorithm = *configuration.algorithm;
  Capabilities made;
  made.split_k_support = algorithm.splits;
  made.reduction_scheme_mask = algorithm.splits ? uint32_t(ReductionScheme::compute_type) : 0;
  made.strided_batch_support = 1;
  made.epilogue_mask = uint32_t(Epilogue::none);
  if (configuration.types.scale == DataType::f32)
    made.epilogue_mask |= uint32_t(Epilogue::relu_aux_bias);
  made.numerical_impl_flags = algorithm.implementation;
  made.min_alignment_a = made.min_alignment_b = uint32_t(algorithm.alignment);
  made.min_alignment_c = made.min_alignment_d = uint32_t(algorithm.alignment);
  return made;
}

} // namespace

const std::vector<Tile> &tiles() {
  static const std::vector<Tile> all = {
      {11, 32, 32}, {15, 64, 64}, {17, 64, 128}, {18, 128, 64}, {20, 128, 128}};
  return all;
}

std::vector<const Algorithm *> algorithmsFor(const ProductTypes &types) {
  std::vector<const Algorithm *> found;
  if (isSupported(types))
    for (const Algorithm &one : algorithms)
      if (one.takes(types))
        found.push_back(&one);
  return found;
}

MatmulAlgo encode(const Configuration &from) {
  MatmulAlgo made{};
  made.words[0] = mark;
  made.words[1] = packTypes(from.types) | from.computeCapability << 48;
  made.words[2] = uint64_t(uint32_t(from.id)) | uint64_t(from.tile_id) << 32;
  made.words[3] = uint64_t(uint32_t(from.split_k_num)) | uint64_t(from.reduction_scheme) << 32;
  made.words[4] = uint64_t(from.cta_swizzling) | uint64_t(from.custom_option) << 32;
  made.words[5] =
      uint64_t(from.stages_id) | uint64_t(from.inner_shape_id) << 32 | uint64_t(from.cluster_shape_id) << 48;
  return made;
}

bool decode(const MatmulAlgo *algo, Configuration &made) {
  made.types = algo ? unpackTypes(algo->words[1]) : ProductTypes();
  if (algo && algo->words[0] == mark)
    made.algorithm = find(int32_t(algo->words[2]), made.types);
  if (!made.algorithm) {
    refuse(Status::invalid_value, "the algorithm is none that this library made");
    return false;
  }
  made.computeCapability = algo->words[1] >> 48;
  made.id = int32_t(algo->words[2]);
  made.tile_id = uint32_t(algo->words[2] >> 32);
  made.split_k_num = int32_t(algo->words[3]);
  made.reduction_scheme = uint32_t(algo->words[3] >> 32);
  made.cta_swizzling = uint32_t(algo->words[4]);
  made.custom_option = uint32_t(algo->words[4] >> 32);
  made.stages_id = uint32_t(algo->words[5]);
  made.inner_shape_id = uint16_t(algo->words[5] >> 32);
  made.cluster_shape_id = uint16_t(algo->words[5] >> 48);
  return true;
}

uint64_t workspaceOf(const Configuration &configuration, const Product &product) {
  if (configuration.split_k_num <= 1)
    return configuration.algorithm->workspace;
  return uint64_t(configuration.split_k_num) * uint64_t(product.batch) * uint64_t(product.m) *
         uint64_t(product.n) * bytesOf(product.sumType());
}

std::string problemOf(const Configuration &configuration, const Product &product) {
  const Algorithm &algorithm = *configuration.algorithm;
  if (packTypes(configuration.types) != packTypes(typesOf(product)))
    return "the algorithm is for other types";
  if (!tileOf(configuration.tile_id))
    return "there is no tile " + std::to_string(configuration.tile_id);
  const bool splits = configuration.split_k_num > 1;
  if (configuration.split_k_num < 1 || (splits && !algorithm.splits))
    return "the algorithm does not compute " + std::to_string(configuration.split_k_num) +
           " parts of a sum beside each other";
  if (configuration.reduction_scheme !=
      uint32_t(splits ? ReductionScheme::compute_type : ReductionScheme::none))
    return "the algorithm does not know this reduction scheme";
  if (algorithm.implementation == bytesMatrix && !suitsImma(product))
    return "imma takes A transposed, B not, all in column order, and m and k that are multiples of 4";
  for (const Matrix *one : {&product.a, &product.b, &product.c, &product.d}) {
    const uint64_t size = bytesOf(one->type);
    if (uint64_t(one->leadingDimension) * size % algorithm.alignment ||
        (product.batch > 1 && uint64_t(one->batchStride) * size % algorithm.alignment))
      return "leading dimensions and strides must be multiples of " + std::to_string(algorithm.alignment) +
             " bytes";
  }
  return "";
}

float wavesOf(const Configuration &configuration, const Product &product, uint64_t cores) {
  const Tile &tile = *tileOf(configuration.tile_id);
  auto divided = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  return float(divided(product.m, tile.rows) * divided(product.n, tile.columns) * product.batch *
               configuration.split_k_num) /
         float(cores);
}

namespace functions {

Status cublasLtMatmulAlgoGetIds(Handle handle, ComputeType compute, DataType scale, DataType a, DataType b,
                                DataType c, DataType d, int most, int *ids, int *count) {
  if (!lt::find<LtHandle>(handle))
    return Status::not_initialized;
  if (most < 1 || !ids || !count)
    return refuse(Status::invalid_value, "there is no place for a number");
  *count = 0;
  for (const Algorithm *one : algorithmsFor({effective(compute, a), scale, a, b, c, d}))
    if (*count < most)
      ids[(*count)++] = one->id;
  return *count ? Status::success : refuse(Status::not_supported, "there are no products of these types");
}

Status cublasLtMatmulAlgoInit(Handle handle, ComputeType compute, DataType scale, DataType a, DataType b,
                              DataType c, DataType d, int id, MatmulAlgo *made) {
  if (!lt::find<LtHandle>(handle))
    return Status::not_initialized;
  Configuration configuration;
  configuration.types = {effective(compute, a), scale, a, b, c, d};
  configuration.algorithm = find(id, configuration.types);
  if (!made || !configuration.algorithm)
    return refuse(Status::invalid_value, "there is no algorithm " + std::to_string(id) + " for these types");
  if (driver()->checkContext() != CUDA_SUCCESS)
    return Status::not_initialized;
  configuration.computeCapability = capabilityOfDevice();
  configuration.id = id;
  configuration.tile_id = tiles().front().id;
  configuration.split_k_num = 1;
  *made = encode(configuration);
  return Status::success;
}

Status cublasLtMatmulAlgoCapGetAttribute(const MatmulAlgo *algo, AlgoCapAttribute attribute, void *value,
                                         size_t bytes, size_t *written) {
  Configuration configuration;
  if (!decode(algo, configuration))
    return Status::invalid_value;
  const Capabilities capabilities = capabilitiesOf(configuration);
  switch (attribute) {
#define CUSIM_GET(name, original, number, type)                                                              \
  case AlgoCapAttribute::name:                                                                               \
    return getAttribute(capabilities.name, value, bytes, written);
    WEFT_CUBLASLT_ALGO_CAP_ATTRIBUTE(CUSIM_GET)
#undef CUSIM_GET
  }
  return refuseAttribute(int(attribute));
}

Status cublasLtMatmulAlgoConfigGetAttribute(const MatmulAlgo *algo, AlgoConfigAttribute attribute,
                                            void *value, size_t bytes, size_t *written) {
  Configuration configuration;
  if (!decode(algo, configuration))
    return Status::invalid_value;
  switch (attribute) {
#define CUSIM_GET(name, original, number, type)                                                              \
  case AlgoConfigAttribute::name:                                                                            \
    return getAttribute(configuration.name, value, bytes, written);
    WEFT_CUBLASLT_ALGO_CONFIG_ATTRIBUTE(CUSIM_GET)
#undef CUSIM_GET
  }
  return refuseAttribute(int(attribute));
}

Status cublasLtMatmulAlgoConfigSetAttribute(MatmulAlgo *algo, AlgoConfigAttribute attribute,
                                            const void *value, size_t bytes) {
  Configuration configuration;
  if (!decode(algo, configuration))
    return Status::invalid_value;
  if (attribute == AlgoConfigAttribute::id)
    return refuse(Status::invalid_value, "the number of an algorithm cannot be set");
  Status status = Status::invalid_value;
  switch (attribute) {
#define CUSIM_SET(name, original, number, type)                                                              \
  case AlgoConfigAttribute::name:                                                                            \
    status = setAttribute(configuration.name, value, bytes);                                                 \
    break;
    WEFT_CUBLASLT_ALGO_CONFIG_ATTRIBUTE(CUSIM_SET)
#undef CUSIM_SET
  default:
    return refuseAttribute(int(attribute));
  }
  if (status == Status::success)
    *algo = encode(configuration);
  return status;
}

} // namespace functions
} // namespace weft::cusim::lt
