//===- matmul.cu - What cuBLASLt answers and computes -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which descriptions cuBLASLt has an algorithm for, how fast the first one is, and whether an epilogue rounds
// as the product followed by single operations does. Products are row-major, C[m][n] = A[m][k] B[k][n],
// expressed as the column-major product of the transposes, which is how a library for columns sees them.
//
//===----------------------------------------------------------------------===//
#include "Calibration.h"

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

struct Kind {
  const char *name;
  cudaDataType_t data;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  size_t bytes;
};
static const Kind kinds[] = {
    {"f32", CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 4},
    {"f32, tf32 allowed", CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 4},
    {"f16", CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2},
    {"bf16", CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2},
    {"f64", CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 8},
};

static cublasLtHandle_t handle;
static cudaStream_t stream;
static void *a, *b, *c, *bias, *aux, *workspace;
constexpr size_t workspaceBytes = 32 << 20;

__global__ void fill(void *p, size_t count, int kind, unsigned seed, bool whole) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + seed;
    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
    float x = (static_cast<float>(h >> 8) / (1 << 24) - 0.5f) * 2;
    if (whole)
      x = static_cast<float>(static_cast<int>(h >> 8) % 4);
    if (kind == 0)
      static_cast<float *>(p)[i] = x;
    else if (kind == 1)
      static_cast<__half *>(p)[i] = __float2half(x);
    else if (kind == 2)
      static_cast<__nv_bfloat16 *>(p)[i] = __float2bfloat16(x);
    else
      static_cast<double *>(p)[i] = x;
  }
}
static int fillKind(const Kind &kind) {
  return kind.data == CUDA_R_32F ? 0 : kind.data == CUDA_R_16F ? 1 : kind.data == CUDA_R_16BF ? 2 : 3;
}

struct Product {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false; ///< A is stored as [k][m], B as [n][k]
  int64_t batch = 1;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  size_t offset = 0; ///< bytes that A begins beyond an aligned address
};

struct Plan {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulHeuristicResult_t results[8];
  int count = 0;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
};

static Plan plan(const Kind &kind, const Product &p) {
  Plan plan;
  CHECK(cublasLtMatmulDescCreate(&plan.description, kind.compute, kind.scale));
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    CHECK(cublasLtMatmulDescSetAttribute(plan.description, attribute, &value, sizeof value));
  };
  // Column-major C^T[n][m] = B^T A^T: the first operand is B.
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
  if (p.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    // A pointer that the epilogue does not use is an invalid value.
    if (p.epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB))
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (p.epilogue & 128) { // an auxiliary output
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<int64_t>((p.n + 127) / 128 * 128));
    }
  }
  auto layout = [&](cublasLtMatrixLayout_t *l, int64_t rows, int64_t columns) {
    CHECK(cublasLtMatrixLayoutCreate(l, kind.data, rows, columns, rows));
    int32_t batch = static_cast<int32_t>(p.batch);
    int64_t stride = rows * columns;
    CHECK(cublasLtMatrixLayoutSetAttribute(*l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    CHECK(cublasLtMatrixLayoutSetAttribute(*l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                           sizeof stride));
  };
  p.transposeB ? layout(&plan.first, p.k, p.n) : layout(&plan.first, p.n, p.k);
  p.transposeA ? layout(&plan.second, p.m, p.k) : layout(&plan.second, p.k, p.m);
  layout(&plan.result, p.n, p.m);
  cublasLtMatmulPreference_t preference;
  CHECK(cublasLtMatmulPreferenceCreate(&preference));
  size_t most = workspaceBytes;
  CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                             sizeof most));
  if (p.offset) {
    auto alignment = static_cast<uint32_t>(p.offset & -p.offset);
    for (auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES})
      CHECK(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment, sizeof alignment));
  }
  plan.status = cublasLtMatmulAlgoGetHeuristic(handle, plan.description, plan.first, plan.second, plan.result,
                                               plan.result, preference, 8, plan.results, &plan.count);
  cublasLtMatmulPreferenceDestroy(preference);
  return plan;
}

static cublasStatus_t run(const Kind &kind, const Product &p, const Plan &plan, int algorithm, void *out) {
  double one64 = 1, zero64 = 0;
  float one = 1, zero = 0;
  bool wide = kind.scale == CUDA_R_64F;
  return cublasLtMatmul(handle, plan.description, wide ? (void *)&one64 : &one, b, plan.first,
                        static_cast<char *>(a) + p.offset, plan.second, wide ? (void *)&zero64 : &zero, out,
                        plan.result, out, plan.result, &plan.results[algorithm].algo, workspace,
                        plan.results[algorithm].workspaceSize, stream);
}

/// Of one product, on the device; -1 where the algorithm refuses it.
static double microseconds(const Kind &kind, const Product &p, const Plan &plan, int algorithm) {
  if (run(kind, p, plan, algorithm, c) != CUBLAS_STATUS_SUCCESS)
    return -1;
  return timeOnDevice(stream, [&](int) { run(kind, p, plan, algorithm, c); }, 5, 9);
}

static std::string nameOf(const Product &p) {
  std::string text = std::to_string(p.m) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k);
  if (p.batch > 1)
    text += ", batch " + std::to_string(p.batch);
  text += p.transposeA ? ", A transposed" : "";
  text += p.transposeB ? ", B transposed" : "";
  if (p.offset)
    text += ", A " + std::to_string(p.offset) + " bytes off";
  return text;
}

static void prepare(const Kind &kind, const Product &p, bool whole = false) {
  auto count = [&](int64_t x, int64_t y) { return static_cast<size_t>(p.batch * x * y); };
  fill<<<528, 256, 0, stream>>>(static_cast<char *>(a) + p.offset, count(p.m, p.k), fillKind(kind), 1, whole);
  fill<<<528, 256, 0, stream>>>(b, count(p.k, p.n), fillKind(kind), 2, whole);
  fill<<<528, 256, 0, stream>>>(bias, static_cast<size_t>(p.n), fillKind(kind), 3, whole);
  CHECK(cudaStreamSynchronize(stream));
}

static void answers(Json &json) {
  json.open("answers", '[');
  const Product products[] = {
      {128, 512, 784, false, true},
      {128, 256, 512, false, true},
      {128, 10, 256, false, true},
      {128, 784, 512},
      {512, 784, 128, true, false},
      {2048, 384, 128, false, true},
      {2048, 128, 512, false, true},
      {128, 128, 32, false, true, 64},
      {128, 32, 128, false, false, 64},
      {4096, 4096, 4096},
      {8192, 8192, 8192},
      {1, 4096, 4096, false, true},
      {17, 19, 23},
      {16, 16, 0},
      {1000, 1000, 1000},
      {512, 512, 512, false, false, 1, CUBLASLT_EPILOGUE_DEFAULT, 4},
      {512, 512, 512, false, false, 1, CUBLASLT_EPILOGUE_DEFAULT, 8},
  };
  for (const Kind &kind : kinds)
    for (const Product &p : products) {
      if (kind.bytes == 8 && p.m > 4096)
        continue;
      if (p.offset % kind.bytes)
        continue;
      prepare(kind, p);
      Plan made = plan(kind, p);
      json.open(nullptr);
      json.value("type", "\"%s\"", kind.name);
      json.value("product", "\"%s\"", nameOf(p).c_str());
      json.value("status", "%d", made.status);
      json.open("algorithms", '[');
      for (int i = 0; i < made.count; ++i) {
        int id = 0, tile = 0, stages = 0, split = 0;
        size_t written;
        auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, int &value) {
          cublasLtMatmulAlgoConfigGetAttribute(&made.results[i].algo, attribute, &value, sizeof value,
                                               &written);
        };
        get(CUBLASLT_ALGO_CONFIG_ID, id), get(CUBLASLT_ALGO_CONFIG_TILE_ID, tile);
        get(CUBLASLT_ALGO_CONFIG_STAGES_ID, stages), get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split);
        double time = i < 3 && p.k > 0 ? microseconds(kind, p, made, i) : 0;
        json.value(nullptr,
                   "{\"id\": %d, \"tile\": %d, \"stages\": %d, \"split_k\": %d, \"workspace\": %zu, "
                   "\"waves\": %.3f, "
                   "\"microseconds\": %.2f, \"teraflops\": %.2f}",
                   id, tile, stages, split, made.results[i].workspaceSize, made.results[i].wavesCount, time,
                   time > 0 ? 2e-6 * static_cast<double>(p.batch * p.m * p.n * p.k) / time : 0);
      }
      json.close(']');
      json.close();
    }
  json.close(']');
}

static std::vector<char> result(size_t bytes) {
  CHECK(cudaStreamSynchronize(stream));
  std::vector<char> host(bytes);
  CHECK(cudaMemcpy(host.data(), c, bytes, cudaMemcpyDeviceToHost));
  return host;
}

static float element(const Kind &kind, const std::vector<char> &bytes, size_t i) {
  if (kind.data == CUDA_R_32F) {
    float x;
    std::memcpy(&x, &bytes[i * 4], 4);
    return x;
  }
  uint16_t half;
  std::memcpy(&half, &bytes[i * 2], 2);
  if (kind.data == CUDA_R_16BF) {
    uint32_t word = uint32_t(half) << 16;
    float x;
    std::memcpy(&x, &word, 4);
    return x;
  }
  __half_raw raw;
  raw.x = half;
  return __half2float(__half(raw));
}
static float rounded(const Kind &kind, float x) {
  if (kind.data == CUDA_R_16F)
    return __half2float(__float2half(x));
  if (kind.data == CUDA_R_16BF)
    return __bfloat162float(__float2bfloat16(x));
  return x;
}

/// Whether product and epilogue in one call give the bits of the plain product with the operations after it.
static void epilogues(Json &json) {
  json.open("epilogues", '[');
  struct Case {
    const char *name;
    cublasLtEpilogue_t epilogue;
    bool bias, relu;
  };
  const Case cases[] = {{"bias", CUBLASLT_EPILOGUE_BIAS, true, false},
                        {"relu", CUBLASLT_EPILOGUE_RELU, false, true},
                        {"relu of bias", CUBLASLT_EPILOGUE_RELU_BIAS, true, true},
                        {"gelu", CUBLASLT_EPILOGUE_GELU, false, false},
                        {"gelu of bias", CUBLASLT_EPILOGUE_GELU_BIAS, true, false},
                        {"relu of bias, mask kept", CUBLASLT_EPILOGUE_RELU_AUX_BIAS, true, true},
                        {"bias gradient of the first operand", CUBLASLT_EPILOGUE_BGRADA, false, false},
                        {"bias gradient of the second operand", CUBLASLT_EPILOGUE_BGRADB, false, false}};
  const Product shapes[] = {{128, 512, 784, false, true},
                            {128, 10, 256, false, true},
                            {2048, 384, 128, false, true},
                            {512, 784, 128, true, false}};
  for (const Kind &kind : kinds) {
    if (kind.bytes == 8)
      continue;
    for (Product p : shapes) {
      prepare(kind, p);
      // One NaN and one infinity in A, for two whole rows of the result.
      float special[] = {NAN, INFINITY};
      for (int i = 0; i < 2; ++i) {
        char bytes[4];
        __half h = __float2half(special[i]);
        __nv_bfloat16 bf = __float2bfloat16(special[i]);
        kind.bytes == 4 ? std::memcpy(bytes, &special[i], 4)
                        : std::memcpy(bytes, kind.data == CUDA_R_16F ? (void *)&h : (void *)&bf, 2);
        size_t at = p.transposeA ? static_cast<size_t>(3 + 4 * i) : static_cast<size_t>((3 + 4 * i) * p.k);
        CHECK(
            cudaMemcpy(static_cast<char *>(a) + at * kind.bytes, bytes, kind.bytes, cudaMemcpyHostToDevice));
      }
      auto count = static_cast<size_t>(p.m * p.n);
      p.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
      Plan plain = plan(kind, p);
      if (!plain.count)
        continue;
      CHECK(run(kind, p, plain, 0, c));
      std::vector<char> product = result(count * kind.bytes);
      std::vector<char> addend(static_cast<size_t>(p.n) * kind.bytes);
      CHECK(cudaMemcpy(addend.data(), bias, addend.size(), cudaMemcpyDeviceToHost));
      for (const Case &test : cases) {
        p.epilogue = test.epilogue;
        Plan made = plan(kind, p);
        if (!made.count) {
          json.value(nullptr, "{\"type\": \"%s\", \"product\": \"%s\", \"epilogue\": \"%s\", \"status\": %d}",
                     kind.name, nameOf(p).c_str(), test.name, made.status);
          continue;
        }
        CHECK(cudaMemset(c, 0xff, count * kind.bytes));
        cublasStatus_t status = run(kind, p, made, 0, c);
        std::vector<char> fused = result(count * kind.bytes);
        // The same algorithm without the epilogue, where it can be asked for.
        Plan same = plain;
        same.results[0] = made.results[0];
        cublasStatus_t sameStatus = run(kind, p, same, 0, c);
        std::vector<char> base = sameStatus == CUBLAS_STATUS_SUCCESS ? result(count * kind.bytes) : product;
        bool gelu = test.epilogue == CUBLASLT_EPILOGUE_GELU || test.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
        if (status != CUBLAS_STATUS_SUCCESS ||
            gelu) { // of gelu there is no operation that it could be equal to
          json.value(nullptr, "{\"type\": \"%s\", \"product\": \"%s\", \"epilogue\": \"%s\", \"status\": %d}",
                     kind.name, nameOf(p).c_str(), test.name, status);
          continue;
        }
        size_t differs = 0, differsFromSame = 0, nanLost = 0, nans = 0;
        double worst = 0;
        for (size_t i = 0; i < count; ++i) {
          auto after = [&](float x) {
            if (test.bias)
              x = rounded(kind, x + element(kind, addend, i % static_cast<size_t>(p.n)));
            if (test.relu)
              x = x < 0 ? 0 : x;
            return x;
          };
          float got = element(kind, fused, i), wanted = after(element(kind, product, i)),
                close = after(element(kind, base, i));
          nans += std::isnan(wanted);
          nanLost += std::isnan(wanted) && !std::isnan(got);
          if (std::isnan(wanted) || std::isnan(got))
            continue;
          differs += got != wanted;
          differsFromSame += got != close;
          if (std::isfinite(wanted))
            worst = std::max(worst, std::fabs(double(got) - wanted) / (std::fabs(wanted) + 1e-3));
        }
        json.value(
            nullptr,
            "{\"type\": \"%s\", \"product\": \"%s\", \"epilogue\": \"%s\", \"status\": %d, \"elements\": "
            "%zu, "
            "\"differ\": %zu, \"differ_from_same_algorithm\": %zu, \"same_algorithm\": %d, \"nan\": %zu, "
            "\"nan_lost\": %zu, \"largest_relative\": %.3g}",
            kind.name, nameOf(p).c_str(), test.name, status, count, differs, differsFromSame, sameStatus,
            nans, nanLost, worst);
      }
    }
  }
  json.close(']');
}

/// Whether equal calls give equal bits, and whether a batch gives those of its parts.
static void repeated(Json &json) {
  json.open("repeated", '[');
  for (const Kind &kind : kinds)
    for (const Product &p : {Product{128, 512, 784, false, true}, Product{512, 784, 128, true, false},
                             Product{64, 64, 65536}, Product{128, 32, 128, false, false, 64}}) {
      prepare(kind, p);
      Plan made = plan(kind, p);
      auto bytes = static_cast<size_t>(p.batch * p.m * p.n) * kind.bytes;
      for (int i = 0; i < std::min(made.count, 3); ++i) {
        size_t different = 0;
        CHECK(run(kind, p, made, i, c));
        std::vector<char> first = result(bytes);
        for (int j = 0; j < 20; ++j) {
          CHECK(run(kind, p, made, i, c));
          different += result(bytes) != first;
        }
        json.value(nullptr,
                   "{\"type\": \"%s\", \"product\": \"%s\", \"algorithm\": %d, \"different_of_20\": %zu}",
                   kind.name, nameOf(p).c_str(), i, different);
      }
    }
  json.close(']');
}

/// Nodes that a captured call makes, and its replay with other contents of the same memory.
static void captured(Json &json) {
  json.open("captured", '[');
  for (const Kind &kind : kinds)
    for (const Product &p : {Product{128, 512, 784, false, true}, Product{64, 64, 65536},
                             Product{128, 32, 128, false, false, 64}}) {
      prepare(kind, p);
      Plan made = plan(kind, p);
      if (!made.count)
        continue;
      CHECK(run(kind, p, made, 0, c));
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
      cublasStatus_t status = run(kind, p, made, 0, c);
      cudaGraph_t graph = nullptr;
      cudaError_t end = cudaStreamEndCapture(stream, &graph);
      size_t nodes = 0;
      std::string types;
      if (graph) {
        CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
        std::vector<cudaGraphNode_t> list(nodes);
        CHECK(cudaGraphGetNodes(graph, list.data(), &nodes));
        for (cudaGraphNode_t node : list) {
          cudaGraphNodeType type;
          CHECK(cudaGraphNodeGetType(node, &type));
          types += (types.empty() ? "" : ", ") + std::to_string(type);
        }
      }
      auto bytes = static_cast<size_t>(p.batch * p.m * p.n) * kind.bytes;
      fill<<<528, 256, 0, stream>>>(b, static_cast<size_t>(p.batch * p.k * p.n), fillKind(kind), 77, false);
      CHECK(run(kind, p, made, 0, c));
      std::vector<char> wanted = result(bytes);
      CHECK(cudaMemset(c, 0xff, bytes));
      cudaGraphExec_t exec;
      CHECK(cudaGraphInstantiate(&exec, graph, 0));
      CHECK(cudaGraphLaunch(exec, stream));
      bool equal = result(bytes) == wanted;
      json.value(nullptr,
                 "{\"type\": \"%s\", \"product\": \"%s\", \"call\": %d, \"end\": %d, \"nodes\": %zu, "
                 "\"types\": [%s], "
                 "\"replay_is_equal\": %s}",
                 kind.name, nameOf(p).c_str(), status, end, nodes, types.c_str(), equal ? "true" : "false");
    }
  json.close(']');
}

int main() {
  CHECK(cublasLtCreate(&handle));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  constexpr size_t bytes = size_t(512) << 20;
  for (void **p : {&a, &b, &c, &aux})
    CHECK(cudaMalloc(p, bytes));
  CHECK(cudaMalloc(&bias, 1 << 20));
  CHECK(cudaMalloc(&workspace, workspaceBytes));
  Json json;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  json.value("device", "\"%s\"", properties.name);
  json.value("version", "%zu", cublasLtGetVersion());
  answers(json);
  epilogues(json);
  repeated(json);
  captured(json);
  return 0;
}
