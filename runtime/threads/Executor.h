//===- Executor.h - The pool of compute threads -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All computation of a process runs on one pool of threads: kernels, and the blocks of matrix products, each
// of which oneDNN computes on one thread. An embedder may replace the pool by an executor of its own.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_THREADS_EXECUTOR_H
#define WEFT_RUNTIME_THREADS_EXECUTOR_H

#include "weft/export.hpp"

#include <cstdint>
#include <memory>
#include <type_traits>

namespace weft::runtime {

/// Refers to a callable without owning it; it must outlive the call.
template <typename Signature> class function_ref;
template <typename Result, typename... Args> class function_ref<Result(Args...)> {
public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref>)
  function_ref(Callable &&callable)
      : object_(const_cast<void *>(static_cast<const void *>(&callable))),
        call_([](void *object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Callable> *>(object))(args...);
        }) {}
  Result operator()(Args... args) const { return call_(object_, args...); }

private:
  void *object_;
  Result (*call_)(void *, Args...);
};

/// Runs ranges of tasks on threads. `worker` is below width(), and differs between concurrent calls of the
/// body in one parallel_for. Any thread may run any range, so no result may depend on that.
class WEFT_RUNTIME_API Executor {
public:
  using Body = function_ref<void(int64_t begin, int64_t end, int worker)>;
  virtual ~Executor();
  /// Covers [0, tasks) with ranges whose bounds are multiples of `grain`, and returns when all have run. A
  /// single range runs on the calling thread, and so do all ranges of a call from inside a body.
  virtual void parallel_for(int64_t tasks, int64_t grain, Body body) = 0;
  virtual int width() const = 0;
};

/// The process's executor.
WEFT_RUNTIME_API Executor &executor();
/// Replaces it; null restores the default. Must not be called while anything runs. The caller keeps
/// ownership.
WEFT_RUNTIME_API void set_executor(Executor *executor);
/// A pool of `width` threads, including the caller's. A launch ends when its work is done, even if some
/// threads did not take part: beside other processes, a thread may wait for a processor longer than a step
/// takes.
WEFT_RUNTIME_API std::unique_ptr<Executor> make_thread_executor(int width);
/// WEFT_NUM_THREADS, or the number of processors that this process may run on: those of its affinity mask, at
/// most the quota of its control groups.
WEFT_RUNTIME_API int default_width();

/// While it exists, oneDNN makes and runs primitives only on the calling thread. For both, oneDNN gets the
/// number of threads from OpenMP, and would otherwise start a team of its own.
class WEFT_RUNTIME_API OneOpenMPThread {
public:
  OneOpenMPThread();
  ~OneOpenMPThread();
  OneOpenMPThread(const OneOpenMPThread &) = delete;
  OneOpenMPThread &operator=(const OneOpenMPThread &) = delete;

private:
  int before_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_THREADS_EXECUTOR_H
