//===- Matmul.cpp - Products on a stream ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is one kernel, or two if the parts of its sums are computed beside each other: the first writes
// them to the workspace, the second adds them. What is left in a workspace afterwards are ones, which are
// NaN, so that memory which is used for something else at the same time shows.
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/cublaslt/Compute.h"
#include "test/cudasim/cublaslt/Heuristic.h"

#include <cstring>
#include <memory>
#include <optional>

namespace weft::cusim::lt {
namespace {

enum Role : size_t { roleA, roleB, roleC, roleD, roleBias, roleAux, roleAlpha, roleBeta, roleWorkspace };

/// A product with its addresses, as its kernels get it.
struct Call {
  Product product;
  Configuration configuration;
  KernelOperand operands[roleWorkspace + 1]; ///< by their roles
  Scale alpha, beta;                         ///< of the host
  uint64_t workspace = 0;                    ///< bytes that are needed

  bool isOfDevice() const { return product.pointerMode == PointerMode::device; }
  int64_t parts() const { return configuration.split_k_num; }
  int64_t sumBytes() const { return product.m * product.n * int64_t(bytesOf(product.sumType())); }
};

KernelOperand lineOf(const char *name, uint64_t address, uint64_t bytes, uint64_t planes = 1,
                     uint64_t pitch = 0) {
  KernelOperand made;
  made.name = name;
  made.address = address;
  made.width = bytes;
  made.planes = pitch ? planes : 1;
  made.planePitch = pitch;
  return made;
}

/// The operands of a body while it runs.
class Operands {
public:
  Operands(const Call &call, UseOperand use, void *run) : call(call), useOperand(use), run(run) {}

  /// Null if nothing is there, or if it is a fault, after which `failed` is true.
  std::byte *use(Role role) {
    if (failed || !call.operands[role].address || call.operands[role].isEmpty())
      return nullptr;
    std::byte *found = useOperand(run, role);
    failed = failed || !found;
    return found;
  }
  Scale scale(Role role, const Scale &ofHost) {
    if (!call.isOfDevice())
      return ofHost;
    const std::byte *found = use(role);
    return found ? readScale(call.product.scale, found) : Scale();
  }
  bool failed = false;

private:
  const Call &call;
  UseOperand useOperand;
  void *run;
};

/// What a kernel that writes D uses of the rest. C counts as read only if it has a part in the result.
ProductBytes resultBytes(const Call &call, Operands &operands, Scale &alpha, Scale &beta) {
  alpha = operands.scale(roleAlpha, call.alpha);
  beta = operands.scale(roleBeta, call.beta);
  ProductBytes bytes;
  if (!isZero(call.product.scale, beta))
    bytes.c = operands.use(roleC);
  bytes.d = operands.use(roleD);
  bytes.bias = operands.use(roleBias);
  bytes.aux = operands.use(roleAux);
  return bytes;
}

void spoil(const Call &call, std::byte *workspace) {
  if (workspace)
    std::memset(workspace, 0xFF, call.workspace);
}

/// Everything in one kernel.
void runWhole(const void *payload, UseOperand use, void *run) {
  const Call &call = *static_cast<const Call *>(payload);
  const Product &product = call.product;
  Operands operands(call, use, run);
  Scale alpha, beta;
  std::byte *workspace = operands.use(roleWorkspace);
  ProductBytes bytes = resultBytes(call, operands, alpha, beta);
  bytes.a = operands.use(roleA);
  bytes.b = operands.use(roleB);
  if (operands.failed)
    return;
  spoil(call, workspace);
  std::vector<std::byte> sums(size_t(call.sumBytes()));
  for (int32_t number = 0; number < product.batch; ++number) {
    addProducts(product, bytes, number, call.configuration.algorithm->depth, 1, sums.data());
    finish(product, bytes, number, sums.data(), 1, 0, alpha, beta, call.configuration.algorithm->losesNan);
  }
  spoil(call, workspace);
}

/// The parts of all sums, which go to the workspace.
void runParts(const void *payload, UseOperand use, void *run) {
  const Call &call = *static_cast<const Call *>(payload);
  Operands operands(call, use, run);
  std::byte *workspace = operands.use(roleWorkspace);
  ProductBytes bytes;
  bytes.a = operands.use(roleA);
  bytes.b = operands.use(roleB);
  if (operands.failed)
    return;
  for (int32_t number = 0; number < call.product.batch; ++number)
    addProducts(call.product, bytes, number, call.configuration.algorithm->depth, call.parts(),
                workspace + number * call.parts() * call.sumBytes());
}

/// Adds what runParts has left.
void runSum(const void *payload, UseOperand use, void *run) {
  const Call &call = *static_cast<const Call *>(payload);
  Operands operands(call, use, run);
  Scale alpha, beta;
  std::byte *workspace = operands.use(roleWorkspace);
  const ProductBytes bytes = resultBytes(call, operands, alpha, beta);
  if (operands.failed)
    return;
  for (int32_t number = 0; number < call.product.batch; ++number)
    finish(call.product, bytes, number, workspace + number * call.parts() * call.sumBytes(), call.parts(),
           call.sumBytes(), alpha, beta, call.configuration.algorithm->losesNan);
  spoil(call, workspace);
}

Status enqueue(const Call &call, CUstream stream) {
  const std::string text = call.product.text();
  const std::string parts = "the parts of " + text, sum = "the sum of the parts of " + text;
  auto kernel = [&](const std::string &name, KernelBody body) {
    NewKernel made;
    made.name = name.c_str();
    made.operands = call.operands;
    made.operandCount = std::size(call.operands);
    made.body = body;
    made.payload = new Call(call);
    made.destroy = [](void *payload) { delete static_cast<Call *>(payload); };
    // A multiprocessor of an H100 does some 1,000 multiply-adds of halves in a nanosecond.
    made.nanoseconds = uint64_t(call.product.m * call.product.n) * uint64_t(call.product.k + 1) *
                       uint64_t(call.product.batch) / 100'000;
    return made;
  };
  std::vector<NewKernel> kernels;
  if (call.parts() == 1)
    kernels = {kernel(text, runWhole)};
  else
    kernels = {kernel(parts, runParts), kernel(sum, runSum)};
  return driver()->enqueue(stream, kernels.data(), kernels.size()) == CUDA_SUCCESS ? Status::success
                                                                                   : Status::execution_failed;
}

//===----------------------------------------------------------------------===//
// What a call must fulfil
//===----------------------------------------------------------------------===//

struct Pointers {
  const void *alpha, *a, *b, *beta, *c;
  void *d, *workspace;
  size_t workspaceBytes;
};

uint64_t integer(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

void placeOperands(const Pointers &pointers, Call &call) {
  const Product &product = call.product;
  const uint64_t scaleBytes = bytesOf(product.scale), size = bytesOf(product.d.type);
  KernelOperand *operands = call.operands;
  operands[roleA] = product.a.operand("A", integer(pointers.a), product.batch);
  operands[roleB] = product.b.operand("B", integer(pointers.b), product.batch);
  operands[roleC] = product.c.operand("C", integer(pointers.c), product.batch);
  operands[roleD] = product.d.operand("D", integer(pointers.d), product.batch);
  if (product.hasBias())
    operands[roleBias] = lineOf("bias", product.bias, uint64_t(product.m) * size, uint64_t(product.batch),
                                uint64_t(product.biasStride) * size);
  if (product.hasAux()) {
    operands[roleAux] = lineOf("auxiliary output", product.aux, uint64_t(product.m + 7) / 8,
                               uint64_t(product.batch), uint64_t(product.auxStride) / 8);
    operands[roleAux].rows = uint64_t(product.n);
    operands[roleAux].rowPitch = uint64_t(product.auxLeadingDimension) / 8;
  }
  if (call.isOfDevice()) {
    operands[roleAlpha] = lineOf("alpha", integer(pointers.alpha), scaleBytes);
    operands[roleBeta] = lineOf("beta", integer(pointers.beta), scaleBytes);
  } else {
    call.alpha = readScale(product.scale, pointers.alpha);
    call.beta = readScale(product.scale, pointers.beta);
  }
  if (call.workspace)
    operands[roleWorkspace] = lineOf("workspace", integer(pointers.workspace), call.workspace);
  for (const Role role : {roleA, roleB, roleC, roleBias, roleAlpha, roleBeta})
    operands[role].isRead = true;
  for (const Role role : {roleD, roleAux, roleWorkspace})
    operands[role].isWritten = true;
  operands[roleWorkspace].isRead = true;
  operands[roleC].isInPlace = operands[roleD].isInPlace = true;
}

Status checkPointers(const Pointers &pointers, const Product &product) {
  if (!pointers.alpha || !pointers.beta)
    return refuse(Status::invalid_value, "alpha or beta is null");
  const bool readsC = product.pointerMode == PointerMode::device ||
                      !isZero(product.scale, readScale(product.scale, pointers.beta));
  if ((!product.a.isEmpty() && !pointers.a) || (!product.b.isEmpty() && !pointers.b) || !pointers.d ||
      (readsC && !pointers.c))
    return refuse(Status::invalid_value, "a matrix is null");
  if (product.hasBias() && !product.bias)
    return refuse(Status::invalid_value, "the epilogue adds a bias, whose pointer is null");
  if (product.hasAux() && (!product.aux || product.aux % 16))
    return refuse(Status::invalid_value, "the pointer of the auxiliary output is null, or no multiple of 16");
  const Matrix &c = product.c, &d = product.d;
  if (pointers.c == pointers.d &&
      (c.order != d.order || c.leadingDimension != d.leadingDimension || c.batchStride != d.batchStride))
    return refuse(Status::invalid_value, "C and D are at one place, and have different layouts");
  return Status::success;
}

/// The least power of two of which an address is no multiple is twice this; 0 counts as aligned.
uint32_t alignmentOf(const void *pointer) {
  const uint64_t address = integer(pointer) | 256;
  return uint32_t(address & -address);
}

/// The algorithm that is proposed for these pointers.
Status chooseAlgorithm(const Pointers &pointers, Call &call) {
  Preference preference;
  preference.reduction_scheme_mask = ~0u;
  preference.impl_mask = ~uint64_t(0);
  preference.max_workspace_bytes = pointers.workspace ? pointers.workspaceBytes : 0;
  preference.min_alignment_a = alignmentOf(pointers.a);
  preference.min_alignment_b = alignmentOf(pointers.b);
  preference.min_alignment_c = alignmentOf(pointers.c);
  preference.min_alignment_d = alignmentOf(pointers.d);
  return best(call.product, preference, call.configuration)
             ? Status::success
             : refuse(Status::not_supported, "no algorithm computes the " + call.product.text() +
                                                 " with these pointers and this workspace");
}

Status checkAlignments(const Pointers &pointers, const Call &call) {
  const uint64_t needed = call.configuration.algorithm->alignment;
  for (auto [name, pointer] :
       {std::pair("A", pointers.a), std::pair("B", pointers.b), std::pair("C", pointers.c),
        std::pair("D", static_cast<const void *>(pointers.d))})
    if (integer(pointer) % needed)
      return refuse(Status::not_supported,
                    std::string("the algorithm needs pointers that are multiples of ") +
                        std::to_string(needed) + " bytes, and " + name + " is none");
  if (!call.workspace)
    return Status::success;
  if (!pointers.workspace || pointers.workspaceBytes < call.workspace)
    return refuse(Status::invalid_value,
                  "the algorithm needs a workspace of " + std::to_string(call.workspace) +
                      " bytes, and gets " + std::to_string(pointers.workspace ? pointers.workspaceBytes : 0));
  // NVIDIA recommends 256.
  if (integer(pointers.workspace) % 16)
    return refuse(Status::invalid_value, "the workspace must be at a multiple of 16 bytes");
  return Status::success;
}

} // namespace

namespace functions {

Status cublasLtMatmul(Handle handle, MatmulDesc desc, const void *alpha, const void *a, MatrixLayout aLayout,
                      const void *b, MatrixLayout bLayout, const void *beta, const void *c,
                      MatrixLayout cLayout, void *d, MatrixLayout dLayout, const MatmulAlgo *algo,
                      void *workspace, size_t workspaceBytes, Stream stream) {
  if (!find<LtHandle>(handle))
    return Status::not_initialized;
  if (const CUresult code = driver()->checkContext(); code != CUDA_SUCCESS)
    return code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_CONTEXT_IS_DESTROYED
               ? Status::not_initialized
               : Status::execution_failed;
  const Pointers pointers{alpha, a, b, beta, c, d, workspace, workspaceBytes};
  Call call;
  Status status = read({desc, aLayout, bLayout, cLayout, dLayout}, call.product);
  if (status == Status::success)
    status = checkPointers(pointers, call.product);
  if (status == Status::success)
    status = algo ? readAlgorithm(algo, call.product, call.configuration) : chooseAlgorithm(pointers, call);
  if (status != Status::success)
    return status;
  call.workspace = workspaceOf(call.configuration, call.product);
  status = checkAlignments(pointers, call);
  if (status != Status::success)
    return status;
  placeOperands(pointers, call);
  return enqueue(call, stream);
}

} // namespace functions
} // namespace weft::cusim::lt
