//===- Contraction.h - Matrix products ---------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// c[b,m,n] = sum over k of a[b,m,k] * b[b,k,n] (+ bias[n]) (+ residual[b,m,n]) (relu).
//
// To this the products of further operands may be added, one after the other, each of which is rounded first
// (SummedContraction.h).
//
// oneDNN computes f32 and bf16 if it has more than a reference implementation. Operands with a layout that it
// does not support are copied first (PackedContraction.h). With AVX-512, kernels of our own take the place of
// most of oneDNN's of f32 (ChainedContraction.h). Our own kernel (Gemm.h) computes everything else:
// f64, f16, integers, repeated elements (strides of 0), empty dimensions, and products too small for a
// library call to pay. The choice depends on the plan, the shape and the processor only.
//
// Who multiplies, and with what, is selected once, when a plan is loaded, and does not know of calls
// (`ContractionSelection`). A contraction that was made of it is carried out where a call says
// (`ContractionPlace`). Our own kernel takes every selection's place: no contraction needs a library.
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
#include <vector>

namespace weft::runtime {

struct ContractionShape {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::array<int64_t, 3> a_strides = {}; ///< batch, m, k, in elements
  std::array<int64_t, 3> b_strides = {}; ///< batch, k, n
  std::array<int64_t, 3> c_strides = {}; ///< batch, m, n
  bool bias = false;
  bool residual = false; ///< add a tensor with the result's strides, which is not the result itself
  bool relu = false;
  int64_t more = 0; ///< further products, without bias and relu
  auto operator<=>(const ContractionShape &) const = default;
};

/// The implementations of products, by their names in plans: the library, and the runtime's own kernel.
inline constexpr std::array<std::string_view, 2> contractionLibraries = {"onednn", "weft"};

/// An algorithm of a GPU's library, as the words that the library gives and takes.
struct ContractionAlgorithm {
  std::array<uint64_t, 8> words = {};
  auto operator<=>(const ContractionAlgorithm &) const = default;
};

/// Algorithms that a GPU's library proposed for a contraction, best first.
struct ContractionCandidates {
  static constexpr size_t most = 8; ///< of a contraction
  uint64_t release = 0;             ///< of the library, as 131000 for 13.10.0
  uint32_t device = 0;              ///< the compute capability that it was asked for, as 90
  std::vector<ContractionAlgorithm> algorithms;
  auto operator<=>(const ContractionCandidates &) const = default;
};

/// What a plan determines about the choice of the implementation.
struct ContractionChoice {
  std::string library = {}; ///< one of contractionLibraries; empty: the library that is there
  /// From how many operations on the library is asked; where no plan says so, what ir/devices/cpu.txt has.
  int64_t library_flops = 128000;
  int64_t workspace_bytes = int64_t(1) << 28; ///< a library that needs more is not used
  ContractionCandidates candidates = {};      ///< of a GPU's library; none: it is asked
  auto operator<=>(const ContractionChoice &) const = default;
};

/// The library's answer about a contraction, before it is made.
struct ContractionSupport {
  bool taken = false;
  std::string refusal;   ///< the reason if it is not taken
  bool residual = false; ///< if a residual is asked for: the same implementation can add it
  size_t workspace_bytes = 0;
};

struct PreparedContraction;

/// Who computes a contraction, and with what. Making it runs nothing and takes no scratch.
struct ContractionSelection {
  std::string library;        ///< one of contractionLibraries
  std::string implementation; ///< "onednn:gemm:jit", "weft:x86-64-v4"
  std::string refusal;        ///< of "weft": why no library does; empty where the plan names it
  size_t workspace_bytes = 0; ///< what the library needs beside operands and result
  std::shared_ptr<const PreparedContraction> prepared; ///< the library's; null of "weft"
};

/// The operands of one call, which lie as the shape says.
struct ContractionCall {
  const void *a = nullptr, *b = nullptr;
  void *c = nullptr;
  const void *bias = nullptr, *residual = nullptr;
  void *scratch = nullptr;           ///< 64-byte aligned; as many bytes as Contraction::scratch_bytes() says
  const void *const *more = nullptr; ///< a and b of each further product
};

/// Where a call is carried out. Of the host it is the thread that calls, with the pool's beside it; what a
/// device has is ordered by its stream.
struct ContractionPlace {
  bool serial = false;    ///< on the calling thread alone; the result is the same
  void *stream = nullptr; ///< of a device, as its driver has it; null: the host
};

/// Whether contractions of this element type exist.
WEFT_RUNTIME_API bool contraction_supports(DType dtype);

/// A contraction ready to run. May run on several threads at once.
class WEFT_RUNTIME_API Contraction {
public:
  virtual ~Contraction();
  /// Who multiplies by the plan's choice, and our own kernel where that is not to be had.
  static Expected<ContractionSelection> select(const ContractionShape &shape,
                                               const ContractionChoice &choice = {});
  /// What was selected for this shape, ready to run.
  static Expected<std::shared_ptr<const Contraction>> make(const ContractionShape &shape,
                                                           const ContractionSelection &selection);
  /// Selected and made, from a cache of the 1,024 last used. Of a sum of products each is; only here is
  /// `shape.more` looked at.
  static Expected<std::shared_ptr<const Contraction>> get(const ContractionShape &shape,
                                                          const ContractionChoice &choice = {});
  /// Always our own kernel; for tests and measurements.
  static Expected<std::shared_ptr<const Contraction>> make_own(const ContractionShape &shape);
  /// Always oneDNN; an error where it has no fast implementation.
  static Expected<std::shared_ptr<const Contraction>> make_library(const ContractionShape &shape);
  static size_t cached();
  /// Asks oneDNN, and makes nothing.
  static ContractionSupport ask_library(const ContractionShape &shape);
  /// "oneDNN 2.6.3": the library that make_library() asks.
  static std::string library();

  /// Bytes of scratch that run() needs for a team of `width` threads, 64-byte aligned.
  virtual size_t scratch_bytes(int width) const = 0;
  /// Bytes of that which a library asked for.
  virtual size_t workspace_bytes() const { return 0; }
  /// Whether each element of the product is one chain of fused multiply-adds over k, started at zero, and
  /// there is no bias or relu.
  virtual bool is_one_chain() const { return false; }
  /// An error for a place that this implementation cannot be carried out in.
  virtual Status run(const ContractionCall &call, const ContractionPlace &place = {}) const = 0;
  virtual std::string implementation() const = 0;
};

/// What an implementation of the host says of a call for a device's stream.
Status refuse_stream(const ContractionPlace &place);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_GEMM_CONTRACTION_H
