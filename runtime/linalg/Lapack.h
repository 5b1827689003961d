//===- Lapack.h - The library of factorizations -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LAPACK is OpenBLAS's. It is not linked, and no header of it is needed: its functions are in a table that is
// filled by `dlopen` when the first matrix is computed that needs it. So one build of Weft runs with the
// library and without it, and a program without large matrices opens nothing.
//
// Only the build for OpenMP is taken, because it starts no thread when it is opened, none while OpenMP has
// one thread for the caller (LapackPermit), and locks what its callers share. The build for POSIX threads
// starts its own when it is opened, and the one without threads has no locks in Debian's package: two callers
// get one working area, and wrong results. So the files that are tried are those of the package
// libopenblas0-openmp of Debian and Ubuntu, not the name that the loader resolves, which stands for any
// build. WEFT_LAPACK names another file.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_LINALG_LAPACK_H
#define WEFT_RUNTIME_LINALG_LAPACK_H

#include "weft/export.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::runtime {

/// Functions for elements T. All matrices are column-major. The last arguments are the lengths of the
/// strings, which Fortran's compilers pass by value.
template <typename T> struct LapackTable {
  using Int = const int32_t *;
  void (*potrf)(const char *uplo, Int n, T *a, Int lda, int32_t *info, size_t) = nullptr;
  void (*getrf)(Int m, Int n, T *a, Int lda, int32_t *pivots, int32_t *info) = nullptr;
  void (*geqrf)(Int m, Int n, T *a, Int lda, T *tau, T *work, Int lwork, int32_t *info) = nullptr;
  void (*orgqr)(Int m, Int n, Int k, T *a, Int lda, const T *tau, T *work, Int lwork,
                int32_t *info) = nullptr;
  void (*syevd)(const char *jobz, const char *uplo, Int n, T *a, Int lda, T *values, T *work, Int lwork,
                int32_t *iwork, Int liwork, int32_t *info, size_t, size_t) = nullptr;
  void (*gesdd)(const char *jobz, Int m, Int n, T *a, Int lda, T *s, T *u, Int ldu, T *vt, Int ldvt, T *work,
                Int lwork, int32_t *iwork, int32_t *info, size_t) = nullptr;
  void (*trsm)(const char *side, const char *uplo, const char *transa, const char *diag, Int m, Int n,
               const T *alpha, const T *a, Int lda, T *b, Int ldb, size_t, size_t, size_t, size_t) = nullptr;
};

/// What the search for the library found.
struct Lapack {
  bool ready = false;  ///< whether both tables are filled
  std::string file;    ///< that was opened
  std::string version; ///< as OpenBLAS describes itself
  std::string problem; ///< why there is none: what was searched for, what the loader said, and what to do
  LapackTable<float> f32;
  LapackTable<double> f64;
  // Those of the OpenMP that the library calls. Another one may be in the process, too.
  int (*omp_get_max_threads)() = nullptr;
  void (*omp_set_num_threads)(int) = nullptr;

  template <typename T> const LapackTable<T> &table() const {
    if constexpr (sizeof(T) == sizeof(float))
      return f32;
    else
      return f64;
  }
  /// What there is, in a sentence.
  WEFT_RUNTIME_API std::string text() const;
};

/// Opens the file `choice`; the known ones if it is empty; none if it is "none".
WEFT_RUNTIME_API Lapack load_lapack(const std::string &choice);
/// The library of the process, which the first caller loads, by WEFT_LAPACK. It stays open.
WEFT_RUNTIME_API const Lapack &lapack();

/// While it exists, the thread may call functions of the library, which then compute on this thread alone.
/// OpenBLAS has a fixed number of working areas, and complains if more threads are in it, so callers wait
/// here.
class LapackPermit {
public:
  explicit LapackPermit(const Lapack &library);
  ~LapackPermit();
  LapackPermit(const LapackPermit &) = delete;
  LapackPermit &operator=(const LapackPermit &) = delete;

private:
  const Lapack &library_;
  int before_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LINALG_LAPACK_H
