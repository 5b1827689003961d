//===- Contraction.h - Matrix products ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// c[b,m,n] = sum over k of a[b,m,k] * b[b,k,n] (+ bias[n]) (+ residual[b,m,n]) (relu).
//
// oneDNN takes f32 and bf16 where it has more than a reference implementation, copying operands that lie
// otherwise than it takes them (PackedContraction.h); our own kernel (Gemm.h) takes everything else: f64,
// f16, integers, elements that repeat (strides of 0), empty dimensions, and products too small for a library
// call to pay. Which of the two it is depends on the plan, the shape and the processor only.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_GEMM_CONTRACTION_H
#define WEFT_RUNTIME_GEMM_CONTRACTION_H

#include "weft/dtype.hpp"
#include "weft/export.hpp"
#include "weft/status.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft::runtime {

struct ContractionShape {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::array<int64_t, 3> a_strides = {}; ///< batch, m, k, in elements
  std::array<int64_t, 3> b_strides = {}; ///< batch, k, n
  std::array<int64_t, 3> c_strides = {}; ///< batch, m, n
  bool bias = false;
  bool residual = false; ///< a tensor of the result's strides, which is not the result
  bool relu = false;
  auto operator<=>(const ContractionShape &) const = default;
};

/// Who can multiply here, by the names that plans have: a library, and the kernel of the runtime itself.
inline constexpr std::array<std::string_view, 2> contractionLibraries = {"onednn", "weft"};

/// What a plan says about who multiplies.
struct ContractionChoice {
  /// From how many operations on the library is asked; where no plan says so, what ir/devices/cpu.txt has.
  int64_t library_flops = 128000;
  int64_t workspace_bytes = int64_t(1) << 28; ///< a library that needs more is not used
  auto operator<=>(const ContractionChoice &) const = default;
};

/// What the library says about a contraction before it is made.
struct ContractionSupport {
  bool taken = false;
  std::string refusal;   ///< where it is not, why
  bool residual = false; ///< the implementation without a residual adds one too, where one is asked for
  size_t workspace_bytes = 0;
};

/// Whether contractions of this element type exist.
WEFT_RUNTIME_API bool contraction_supports(DType dtype);

/// A contraction ready to run. May run on several threads at once.
class WEFT_RUNTIME_API Contraction {
public:
  virtual ~Contraction();
  /// From a cache of the 1,024 last used.
  static Expected<std::shared_ptr<const Contraction>> get(const ContractionShape &shape,
                                                          const ContractionChoice &choice = {});
  /// Always our own kernel; for tests and measurements.
  static Expected<std::shared_ptr<const Contraction>> make_own(const ContractionShape &shape);
  /// Always oneDNN; an error where it has no fast implementation.
  static Expected<std::shared_ptr<const Contraction>> make_library(const ContractionShape &shape);
  static size_t cached();
  /// Asks oneDNN without making anything.
  static ContractionSupport ask_library(const ContractionShape &shape);
  /// "oneDNN 2.6.3": the library that make_library() asks.
  static std::string library();

  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  virtual size_t scratch_bytes(int width) const = 0;
  /// Bytes of that which a library asked for.
  virtual size_t workspace_bytes() const { return 0; }
  /// `serial`: on the calling thread alone. The result is the same.
  virtual Status run(const void *a, const void *b, void *c, const void *bias, const void *residual,
                     void *scratch, bool serial) const = 0;
  virtual std::string implementation() const = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CONTRACTION_H
