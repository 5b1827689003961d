//===- KernelCache.h - Objects of kernels, in memory and on disk -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are cached by content: the key is a hash of the kernel's canonical text, the compiler's name and
// version, and the target. Entries on disk have the hash of their key and a checksum. An entry that is
// damaged or foreign is a miss and is removed. An entry that cannot be read for another reason is a miss and
// stays.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CODEGEN_KERNEL_KERNELCACHE_H
#define WEFT_CODEGEN_KERNEL_KERNELCACHE_H

#include "codegen/kernel/KernelCompiler.h"
#include "codegen/kernel/KernelIR.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

namespace weft::codegen {

using KernelObject = std::shared_ptr<const std::vector<char>>;

class KernelCache {
public:
  struct Options {
    std::string directory;                   ///< empty: memory only
    uint64_t maxBytes = uint64_t(512) << 20; ///< on disk; beyond it, LRU eviction down to 80 %
    size_t maxEntries = 4096;                ///< in memory
    /// Reads WEFT_CACHE (0: memory only), WEFT_CACHE_DIR (default $XDG_CACHE_HOME/weft, or ~/.cache/weft) and
    /// WEFT_CACHE_MAX_MB.
    static Options fromEnvironment();
  };

  struct Counters {
    uint64_t memoryHits = 0, diskHits = 0, compiled = 0;
    uint64_t waited = 0;  ///< another thread was compiling the same kernel
    uint64_t damaged = 0; ///< entries removed
    uint64_t evicted = 0;
  };

  explicit KernelCache(Options options);
  KernelCache(const KernelCache &) = delete;

  /// The process's cache, made from the environment at first use.
  static KernelCache &global();

  /// The kernel's object, compiled if it is in no cache.
  Expected<KernelObject> get(mlir::ModuleOp kernel, const KernelCompiler &compiler,
                             CompileStats *stats = nullptr);
  /// The same for a text that its compiler takes.
  Expected<KernelObject> get(std::string text, std::string name, const KernelCompiler &compiler,
                             CompileStats *stats = nullptr);

  /// The objects of many kernels, in their order; distinct ones are compiled in parallel.
  Expected<std::vector<KernelObject>> compile(llvm::ArrayRef<KernelText> kernels,
                                              const KernelCompiler &compiler, unsigned threads);

  /// The same, and beside them others by a compiler of their own, so that no thread waits at the end of
  /// either. The objects of the others are in the cache then.
  Expected<std::vector<KernelObject>> compile(llvm::ArrayRef<KernelText> kernels,
                                              const KernelCompiler &compiler,
                                              llvm::ArrayRef<KernelText> others,
                                              const KernelCompiler &ofOthers, unsigned threads);

  Counters counters() const;
  /// Why the disk cache cannot be written; empty if it can.
  std::string diskProblem() const;

  /// The contents of a cache's directory, and whether another entry could be written.
  struct DiskState {
    uint64_t entries = 0, bytes = 0;
    std::string problem; ///< why nothing can be written; empty if it can
  };
  /// Inspects the directory, and makes it if it does not exist. Writes a file and removes it again.
  static DiskState inspect(const Options &options);

  /// The key of a kernel: 32 hexadecimal digits.
  static std::string keyOf(llvm::StringRef canonicalText, const KernelCompiler &compiler);

private:
  using Hash = std::array<uint8_t, 32>;
  struct Slot;
  struct Request {
    std::string text, name, key;
    Hash hash;
    const KernelCompiler *compiler;
  };

  static Hash hashOf(llvm::StringRef canonicalText, const KernelCompiler &compiler);
  static Request request(std::string text, std::string name, const KernelCompiler &compiler);
  Expected<std::vector<KernelObject>> compileRequests(std::vector<Request> all, unsigned threads);
  Expected<KernelObject> serve(const Request &request, CompileStats *stats);
  /// make(), with exceptions turned into a status.
  Expected<KernelObject> makeOrFail(const Request &request, CompileStats *stats);
  Expected<KernelObject> make(const Request &request, CompileStats *stats);
  KernelObject readEntry(const Request &request);
  void writeEntry(const Request &request, const std::vector<char> &object);
  void evictDisk();
  void evictMemory();
  void giveUpDisk(const std::string &what, int error);
  std::string pathOf(const Request &request) const;

  Options options;
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<Slot>> slots;
  Counters counts;
  uint64_t clock = 0;
  std::string problem;
  uint64_t bytesOnDisk = 0;
  bool diskMeasured = false;
  std::mutex diskMutex; ///< held while entries are counted and evicted
};

} // namespace weft::codegen

#endif // WEFT_CODEGEN_KERNEL_KERNELCACHE_H
