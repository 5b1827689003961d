//===- PerThread.h - Objects per thread -------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread_local variable with a destructor ends the process if the C library has no memory to register the
// destructor. Here that is an exception.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_PERTHREAD_H
#define WEFT_RUNTIME_SUPPORT_PERTHREAD_H

#include <memory>
#include <new>
#include <pthread.h>

namespace weft::runtime {

/// The T of the calling thread. There is one per type, so each use needs a type of its own.
template <typename T> class PerThread {
public:
  /// Makes it at the first call of a thread; throws std::bad_alloc if memory runs out.
  static T &get() {
    if (!mine_)
      make();
    return *mine_;
  }

private:
  static void make() {
    static const pthread_key_t key = [] {
      pthread_key_t made;
      if (::pthread_key_create(&made, destroy) != 0)
        throw std::bad_alloc();
      return made;
    }();
    auto made = std::make_unique<T>();
    if (::pthread_setspecific(key, made.get()) != 0)
      throw std::bad_alloc();
    mine_ = made.release();
  }
  static void destroy(void *held) {
    mine_ = nullptr;
    delete static_cast<T *>(held);
  }
  static inline thread_local T *mine_ = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_PERTHREAD_H
