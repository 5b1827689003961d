//===- Extension.h - What the driver has for libraries ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A private interface of the software driver, by which a substitute for a library of NVIDIA works with it:
// the library's objects are counted as those of the driver are, its messages name the call, and its kernels
// are work on a stream (HostKernel.h). It is found in the driver that the process has loaded, by the name of
// the function that gives it; NVIDIA's driver has no such function.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_EXTENSION_H
#define WEFT_TEST_CUDASIM_DRIVER_EXTENSION_H

#include <cstddef>
#include <cstdint>
#include <cuda.h>

namespace weft::cusim {

/// Bytes that a kernel reads, writes or both: planes of rows. A pitch is that from one row or plane to the
/// next; that of a single one does not matter.
struct KernelOperand {
  const char *name = nullptr; ///< a constant text, as "A"
  uint64_t address = 0;
  uint64_t width = 0, rows = 1, planes = 1; ///< in bytes, rows and planes
  uint64_t rowPitch = 0, planePitch = 0;    ///< in bytes, with the sign of two's complement
  bool isRead = false, isWritten = false;
  bool isInPlace = false; ///< may be at the same place as another one for which this is true

  bool isEmpty() const { return !width || !rows || !planes; }
};

/// Gives the bytes of an operand on the host, at its address. Null if they are not all allocated, and then
/// the body has to return at once.
using UseOperand = std::byte *(*)(void *run, size_t operand);
/// What a kernel does. Operands that it does not ask for do not count as touched.
using KernelBody = void (*)(const void *payload, UseOperand use, void *run);

/// A kernel to be enqueued.
struct NewKernel {
  const char *name = nullptr;
  const KernelOperand *operands = nullptr;
  size_t operandCount = 0;
  KernelBody body = nullptr;
  void *payload = nullptr;
  void (*destroy)(void *payload) = nullptr;
  uint64_t nanoseconds = 0;
};

/// A call has to `begin` before it uses the rest.
struct Extension {
  /// Begins a call of a library on this thread; false, after a complaint, in a function that a stream runs.
  bool (*begin)(const char *function);
  /// Whether this thread has a context that works. CUDA_SUCCESS, or why not.
  CUresult (*checkContext)();
  /// Writes "cusim: FUNCTION (call N): WHY" to standard error.
  void (*complain)(const char *why);
  /// How the log shows a value: the name of an object, an address of a device, "host" or "null".
  size_t (*describe)(const void *value, char *text, size_t bytes);

  /// An object of the program, which is a leak until it is destroyed. `kind` is a constant text.
  void *(*make)(const char *kind, void *payload);
  /// The payload of a live object; null if the handle is none of this kind.
  void *(*payloadOf)(const void *object, const char *kind);
  void (*destroy)(void *object);

  /// Memory of the current context's device, for the library itself. 0 and the code if it is refused.
  CUresult (*allocate)(uint64_t *address, uint64_t bytes);
  CUresult (*free)(uint64_t address);
  /// The number of multiprocessors and the compute capability of the current context's device.
  void (*device)(uint64_t *cores, uint64_t *computeCapability);
  /// Enqueues kernels, each after the one before, or captures them. The payloads are destroyed when nothing
  /// needs them, also if the code is not CUDA_SUCCESS.
  CUresult (*enqueue)(CUstream stream, const NewKernel *kernels, size_t count);
};

} // namespace weft::cusim

/// Exported by the software driver alone.
extern "C" const weft::cusim::Extension *cusimExtension();

#endif // WEFT_TEST_CUDASIM_DRIVER_EXTENSION_H
