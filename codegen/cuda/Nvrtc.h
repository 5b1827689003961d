//===- Nvrtc.h - The compiler of CUDA C++, loaded at first use -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVRTC is not linked. Its functions are in a table that is filled by `dlopen` at first use, so one build of
// Weft runs with the library and without it. NVRTC needs no GPU and no driver. Where it is searched for is in
// runtime/cuda/Libraries.h.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_CUDA_NVRTC_H
#define WEFT_CODEGEN_CUDA_NVRTC_H

#include "weft/status.hpp"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <utility>
#include <vector>

namespace weft::codegen {

/// What NVRTC makes of a text.
struct CudaBinary {
  std::string cubin, ptx;
  std::string log; ///< warnings, and what ptxas reports
};

class Nvrtc {
public:
  virtual ~Nvrtc() = default;
  /// The library, loaded by the first caller. An error if there is none, or a Weft built without CUDA.
  static Expected<const Nvrtc *> get();
  /// From now on get() gives `instead`, which stays for the rest of the process. Its build() must tell its
  /// code from the library's, because kernels are cached by it.
  static void use(const Nvrtc &instead);

  /// "13.0"
  virtual std::string version() const = 0;
  /// What tells this library from others of its version: the identifier that the linker gave it, in
  /// hexadecimal. nvrtcVersion() has no patch release, and patch releases generate other code. Empty if the
  /// library has none.
  virtual std::string build() const = 0;
  /// The file that was loaded.
  virtual std::string path() const = 0;
  /// Compiles CUDA C++. An error has the compiler's messages, which are also in `log`, if it is given, by
  /// themselves. Several threads may compile at once.
  virtual Expected<CudaBinary> compile(const std::string &text, const std::string &name,
                                       llvm::ArrayRef<std::string> options,
                                       std::string *log = nullptr) const = 0;
  /// The file of a text, as messages and machine code name it.
  static constexpr const char *fileName = "/weft/kernel.cu";
};

/// The files that a tool of the CUDA toolkit, as "nvdisasm", has in CUDA's folders and in PATH; those of
/// Weft's own folder come first, because they are of NVRTC's version. An error if there are none, which says
/// how to get one.
Expected<std::vector<std::string>> findCudaTools(const std::string &name);

} // namespace weft::codegen

#endif // WEFT_CODEGEN_CUDA_NVRTC_H
