//===- Lapack.cpp - The library of factorizations -------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/linalg/Lapack.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <semaphore>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::runtime {

namespace {

// Where Debian and Ubuntu have the build for OpenMP.
#if defined(__aarch64__)
constexpr const char *knownFile = "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0";
#else
constexpr const char *knownFile = "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0";
#endif

constexpr const char *remedy =
    "install libopenblas0-openmp, or name an OpenBLAS that is built with USE_OPENMP=1 in WEFT_LAPACK; until "
    "then large matrices are factorized slowly";

/// How the library is opened. A host program may have a BLAS of its own in the global scope, with the same
/// names, which OpenBLAS's calls of itself would find first. Sanitizers, of Weft or of the program, end the
/// process for the flag against that.
int open_mode() {
  for (const char *runtime : {"__asan_init", "__tsan_init", "__msan_init"})
    if (::dlsym(RTLD_DEFAULT, runtime))
      return RTLD_NOW | RTLD_LOCAL;
  return RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
}

template <typename Function> bool look_up(void *library, const std::string &name, Function &function) {
  function = reinterpret_cast<Function>(::dlsym(library, name.c_str()));
  return function != nullptr;
}

/// Fills the table of the functions whose names begin with this letter. Whether the library has all.
template <typename T> bool fill(void *library, char letter, LapackTable<T> &table) {
  const auto name = [&](const char *function) { return letter + std::string(function) + "_"; };
  return look_up(library, name("potrf"), table.potrf) && look_up(library, name("getrf"), table.getrf) &&
         look_up(library, name("geqrf"), table.geqrf) && look_up(library, name("orgqr"), table.orgqr) &&
         look_up(library, name("syevd"), table.syevd) && look_up(library, name("gesdd"), table.gesdd) &&
         look_up(library, name("trsm"), table.trsm);
}

// OpenBLAS has 50 working areas at least, of which some are its own.
constexpr int mostCallers = 32;

/// Whether the address space has room for a working area of each caller, and for those that OpenBLAS makes
/// for each processor when it is opened. It waits for ever if it gets none.
bool has_room_for_areas() {
  constexpr size_t area = size_t(128) << 20;
  const size_t bytes = area * static_cast<size_t>(mostCallers + ::sysconf(_SC_NPROCESSORS_ONLN));
  void *probe =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return probe != MAP_FAILED && ::munmap(probe, bytes) == 0;
}

std::counting_semaphore<> &permits() {
  static auto *const instance =
      new std::counting_semaphore<>(mostCallers); // queues may run when the process ends
  return *instance;
}

} // namespace

std::string Lapack::text() const {
  return ready ? version + " in '" + file + "'" : "no LAPACK (" + problem + ")";
}

Lapack load_lapack(const std::string &choice) {
  Lapack found;
  if (choice == "none") {
    found.problem = "WEFT_LAPACK is none";
    return found;
  }
  found.file = choice.empty() ? knownFile : choice;
  if (!has_room_for_areas()) {
    found.problem = "OpenBLAS needs some GiB of address space, and would not return without: raise the limit "
                    "(ulimit -v); until then large matrices are factorized slowly";
    return found;
  }
  void *library = ::dlopen(found.file.c_str(), open_mode());
  if (!library) {
    const char *said = ::dlerror();
    found.problem = std::string(said ? said : "the loader gives no reason") + ": " + remedy;
    return found;
  }
  constexpr int openmp = 2;
  int (*parallel)() = nullptr;
  char *(*config)() = nullptr;
  if (!look_up(library, "openblas_get_parallel", parallel) ||
      !look_up(library, "openblas_get_config", config) || !fill(library, 's', found.f32) ||
      !fill(library, 'd', found.f64))
    found.problem = "'" + found.file + "' is no OpenBLAS with LAPACK: " + remedy;
  else if (parallel() != openmp || !look_up(library, "omp_get_max_threads", found.omp_get_max_threads) ||
           !look_up(library, "omp_set_num_threads", found.omp_set_num_threads))
    found.problem = "'" + found.file + "' is not built for OpenMP: " + remedy;
  if (found.problem.empty()) {
    found.ready = true;
    found.version = config();
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH": the words behind the number say how it was built.
    if (const size_t end = found.version.find(' ', found.version.find(' ') + 1); end != std::string::npos)
      found.version.resize(end);
  } else {
    ::dlclose(library);
  }
  return found;
}

const Lapack &lapack() {
  static const Lapack *const instance = [] {
    const char *choice = std::getenv("WEFT_LAPACK");
    auto *made = new Lapack(load_lapack(choice ? choice : ""));
    if (!made->ready && choice && *choice && std::string(choice) != "none")
      std::fprintf(stderr,
                   "weft: WEFT_LAPACK is '%s', expected the file of an OpenBLAS for OpenMP, or none; "
                   "computing without it (%s)\n",
                   choice, made->problem.c_str());
    return made;
  }();
  return *instance;
}

LapackPermit::LapackPermit(const Lapack &library) : library_(library) {
  permits().acquire();
  before_ = library.omp_get_max_threads();
  if (before_ != 1)
    library.omp_set_num_threads(1);
}

LapackPermit::~LapackPermit() {
  if (before_ != 1)
    library_.omp_set_num_threads(before_);
  permits().release();
}

} // namespace weft::runtime
