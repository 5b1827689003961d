//===- KernelCache.cpp - Objects of kernels, in memory and on disk ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/kernel/KernelCache.h"

#include "runtime/package/Kernel.h"
#include "runtime/support/TemporaryFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace weft::codegen {

namespace {

constexpr const char *suffix = ".wko";
constexpr const char *temporaryPrefix = ".tmp-";

/// An entry is this header and then the object's bytes. It is little-endian, as all targets are.
struct EntryHeader {
  char magic[8];
  uint32_t format;
  uint32_t kernelAbi;
  uint8_t key[32];
  uint64_t bytes;
  uint64_t checksum; ///< of the header with 0 in this field, and the bytes
};
constexpr char entryMagic[8] = {'W', 'E', 'F', 'T', 'K', 'O', 'B', 'J'};
constexpr uint32_t entryFormat = 1;

uint64_t checksumOf(EntryHeader header, const char *bytes) {
  header.checksum = 0;
  auto view = [](const void *at, size_t size) {
    return llvm::ArrayRef<uint8_t>(static_cast<const uint8_t *>(at), size);
  };
  uint64_t parts[2] = {llvm::xxh3_64bits(view(&header, sizeof header)),
                       llvm::xxh3_64bits(view(bytes, header.bytes))};
  return llvm::xxh3_64bits(view(parts, sizeof parts));
}

class File {
public:
  explicit File(int fd) : fd(fd) {}
  ~File() {
    if (fd >= 0)
      ::close(fd);
  }
  File(const File &) = delete;
  int fd;
};

/// Makes the directory `path` and its parents; returns 0 or an errno.
int makeDirectories(const std::string &path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      int error = errno;
      struct stat info;
      if (::stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
        return error;
    }
    if (at == std::string::npos)
      return 0;
  }
}

/// No kernel's object is larger, so a larger file is no entry.
constexpr off_t maxEntryBytes = off_t(1) << 30;

/// Reads a regular file that is not too large for an entry; returns 0 or an errno.
int readAll(int fd, std::vector<char> &bytes) {
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return errno;
  if (!S_ISREG(info.st_mode))
    return EINVAL;
  if (info.st_size > maxEntryBytes)
    return EFBIG;
  bytes.resize(info.st_size);
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return errno;
    if (got == 0)
      break;
    have += got;
  }
  bytes.resize(have);
  return 0;
}

/// Made when the library is loaded, because making a Status allocates memory and copying one does not.
const Status noMemory = Status::error("out of memory", "WEFT-M001");
const Status unknownError = Status::error("unknown error");
Status outOfMemory() noexcept { return noMemory; }

/// The current exception as a status. An exception that left a thread of a team would end the process.
Status statusOfException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  } catch (const std::exception &error) {
    try {
      return Status::error(std::string("the kernel compiler failed: ") + error.what());
    } catch (...) {
      return outOfMemory();
    }
  } catch (...) {
    return unknownError;
  }
}

/// Threads that are joined at the end of the scope, also after an exception.
class Team {
public:
  Team() = default;
  Team(const Team &) = delete;
  ~Team() {
    for (std::thread &thread : threads)
      thread.join();
  }
  /// Returns false if the system has no thread or memory for one more; the others then do its work.
  template <typename Work> bool add(Work &work) noexcept {
    try {
      threads.reserve(threads.size() + 1);
      threads.emplace_back([&work] { work(); });
      return true;
    } catch (...) {
      return false;
    }
  }

private:
  std::vector<std::thread> threads;
};

} // namespace

struct KernelCache::Slot {
  bool done = false;
  KernelObject object; ///< null when done: compilation failed with `status`
  Status status;
  uint64_t used = 0;
  std::condition_variable ready;
};

KernelCache::Options KernelCache::Options::fromEnvironment() {
  Options options;
  auto get = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string megabytes = get("WEFT_CACHE_MAX_MB"); !megabytes.empty()) {
    uint64_t value;
    if (llvm::StringRef(megabytes).getAsInteger(10, value) || value > (uint64_t(1) << 40))
      std::fprintf(stderr, "weft: WEFT_CACHE_MAX_MB is '%s', expected a number of megabytes; using 512\n",
                   megabytes.c_str());
    else
      options.maxBytes = value << 20;
  }
  const std::string kept = get("WEFT_CACHE");
  if (kept == "0")
    return options;
  if (!kept.empty() && kept != "1")
    std::fprintf(stderr, "weft: WEFT_CACHE is '%s', expected 0 or 1; kernels are kept on disk\n",
                 kept.c_str());
  options.directory = get("WEFT_CACHE_DIR");
  if (options.directory.empty() && !get("XDG_CACHE_HOME").empty())
    options.directory = get("XDG_CACHE_HOME") + "/weft";
  if (options.directory.empty() && !get("HOME").empty())
    options.directory = get("HOME") + "/.cache/weft";
  return options;
}

KernelCache::KernelCache(Options o) : options(std::move(o)) {
  while (options.directory.size() > 1 && options.directory.back() == '/')
    options.directory.pop_back();
}

KernelCache &KernelCache::global() {
  // Never destroyed: a thread may still compile when the process ends.
  static KernelCache *cache = new KernelCache(Options::fromEnvironment());
  return *cache;
}

KernelCache::Hash KernelCache::hashOf(llvm::StringRef text, const KernelCompiler &compiler) {
  llvm::BLAKE3 hasher;
  auto add = [&](llvm::StringRef part) {
    uint64_t size = part.size();
    hasher.update(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(&size), sizeof size));
    hasher.update(part);
  };
  add(compiler.identity());
  add(compiler.target());
  add(text);
  Hash hash;
  hasher.final(hash);
  return hash;
}

std::string KernelCache::keyOf(llvm::StringRef text, const KernelCompiler &compiler) {
  Hash hash = hashOf(text, compiler);
  return llvm::toHex(llvm::ArrayRef<uint8_t>(hash).take_front(16), /*LowerCase=*/true);
}

KernelCache::Request KernelCache::request(std::string text, std::string name,
                                          const KernelCompiler &compiler) {
  Request request;
  request.compiler = &compiler;
  request.name = std::move(name);
  request.text = std::move(text);
  request.hash = hashOf(request.text, compiler);
  request.key = llvm::toHex(llvm::ArrayRef<uint8_t>(request.hash).take_front(16), /*LowerCase=*/true);
  return request;
}

std::string KernelCache::pathOf(const Request &request) const {
  return options.directory + "/" + request.key + suffix;
}

Expected<KernelObject> KernelCache::get(mlir::ModuleOp kernel, const KernelCompiler &compiler,
                                        CompileStats *stats) {
  Expected<KernelText> named = namedKernelText(kernel);
  if (!named)
    return named.status();
  return get(std::move(named->text), std::move(named->name), compiler, stats);
}

Expected<KernelObject> KernelCache::get(std::string text, std::string name, const KernelCompiler &compiler,
                                        CompileStats *stats) {
  return serve(request(std::move(text), std::move(name), compiler), stats);
}

Expected<KernelObject> KernelCache::serve(const Request &request, CompileStats *stats) {
  std::shared_ptr<Slot> slot;
  {
    std::unique_lock<std::mutex> lock(mutex);
    std::shared_ptr<Slot> &entry = slots[request.key];
    if (entry) {
      std::shared_ptr<Slot> found = entry; // the map may change while we wait
      ++(found->done ? counts.memoryHits : counts.waited);
      found->ready.wait(lock, [&] { return found->done; });
      found->used = ++clock;
      if (!found->object)
        return found->status;
      return found->object;
    }
    slot = entry = std::make_shared<Slot>();
  }
  // Whatever happens here, threads that wait for the slot must be woken.
  Expected<KernelObject> made = makeOrFail(request, stats);
  std::lock_guard<std::mutex> lock(mutex);
  slot->used = ++clock;
  if (made) {
    slot->object = *made;
  } else {
    // Threads that wait get the error. Later threads try again.
    try {
      slot->status = made.status();
    } catch (...) {
      slot->status = outOfMemory();
    }
    slots.erase(request.key);
  }
  slot->done = true;
  slot->ready.notify_all();
  try {
    evictMemory();
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch): the next kernel tries again
  }
  return made;
}

Expected<KernelObject> KernelCache::makeOrFail(const Request &request, CompileStats *stats) {
  try {
    return make(request, stats);
  } catch (...) {
    return statusOfException();
  }
}

Expected<KernelObject> KernelCache::make(const Request &request, CompileStats *stats) {
  if (KernelObject object = readEntry(request)) {
    std::lock_guard<std::mutex> lock(mutex);
    ++counts.diskHits;
    return object;
  }
  auto compiled = request.compiler->compile(request.text, request.name, stats);
  if (!compiled)
    return compiled.status();
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++counts.compiled;
  }
  writeEntry(request, *compiled);
  return KernelObject(std::make_shared<const std::vector<char>>(std::move(*compiled)));
}

KernelObject KernelCache::readEntry(const Request &request) {
  if (options.directory.empty())
    return nullptr;
  std::string path = pathOf(request);
  // Without O_NONBLOCK, opening a pipe without a writer would wait for ever.
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0)
    return nullptr;
  std::vector<char> bytes;
  int error = readAll(file.fd, bytes);
  if (error && error != EFBIG)
    return nullptr; // the entry may be good; if it is no regular file, it will be replaced
  EntryHeader header;
  bool good = !error && bytes.size() >= sizeof header;
  if (good) {
    std::memcpy(&header, bytes.data(), sizeof header);
    good = std::memcmp(header.magic, entryMagic, sizeof entryMagic) == 0 && header.format == entryFormat &&
           header.kernelAbi == runtime::kernelAbi &&
           std::memcmp(header.key, request.hash.data(), sizeof header.key) == 0 &&
           header.bytes == bytes.size() - sizeof header &&
           header.checksum == checksumOf(header, bytes.data() + sizeof header);
  }
  if (!good) {
    ::unlink(path.c_str());
    std::lock_guard<std::mutex> lock(mutex);
    ++counts.damaged;
    return nullptr;
  }
  // The time of last use, to the day.
  struct stat info;
  if (::fstat(file.fd, &info) == 0 && std::time(nullptr) - info.st_mtime > 24 * 60 * 60)
    ::futimens(file.fd, nullptr);
  return std::make_shared<const std::vector<char>>(bytes.begin() + sizeof header, bytes.end());
}

void KernelCache::giveUpDisk(const std::string &what, int error) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!problem.empty())
    return;
  problem = what + ": " + std::strerror(error);
  std::fprintf(stderr,
               "weft: the kernel cache is not written (%s); new kernels are kept in memory only. Set "
               "WEFT_CACHE_DIR to a writable directory, or WEFT_CACHE=0.\n",
               problem.c_str());
}

void KernelCache::writeEntry(const Request &request, const std::vector<char> &object) {
  if (options.directory.empty() || !diskProblem().empty())
    return;
  if (int error = makeDirectories(options.directory))
    return giveUpDisk("making '" + options.directory + "'", error);
  EntryHeader header = {};
  std::memcpy(header.magic, entryMagic, sizeof entryMagic);
  header.format = entryFormat;
  header.kernelAbi = runtime::kernelAbi;
  std::memcpy(header.key, request.hash.data(), sizeof header.key);
  header.bytes = object.size();
  header.checksum = checksumOf(header, object.data());

  runtime::TemporaryFile file;
  int error = file.create(options.directory + "/" + temporaryPrefix, 0600);
  if (!error)
    error = file.write(&header, sizeof header);
  if (!error)
    error = file.write(object.data(), object.size());
  if (!error)
    error = file.rename_to(pathOf(request));
  if (error)
    return giveUpDisk("writing into '" + options.directory + "'", error);
  {
    std::lock_guard<std::mutex> lock(diskMutex);
    bytesOnDisk += sizeof header + object.size();
    if (diskMeasured && bytesOnDisk <= options.maxBytes)
      return;
  }
  evictDisk();
}

void KernelCache::evictDisk() {
  std::lock_guard<std::mutex> lock(diskMutex);
  struct Found {
    std::string path;
    uint64_t bytes;
    struct timespec used;
  };
  std::vector<Found> found;
  uint64_t total = 0;
  runtime::remove_abandoned(options.directory, temporaryPrefix);
  DIR *directory = ::opendir(options.directory.c_str());
  if (!directory)
    return;
  while (struct dirent *entry = ::readdir(directory)) {
    llvm::StringRef name = entry->d_name;
    std::string path = options.directory + "/" + name.str();
    struct stat info;
    if (!name.ends_with(suffix) || ::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
      continue;
    total += info.st_size;
    found.push_back({std::move(path), static_cast<uint64_t>(info.st_size), info.st_mtim});
  }
  ::closedir(directory);
  diskMeasured = true;
  if (total > options.maxBytes) {
    std::sort(found.begin(), found.end(), [](const Found &a, const Found &b) {
      return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) <
             std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
    });
    uint64_t evicted = 0;
    for (const Found &entry : found) {
      if (total <= options.maxBytes / 5 * 4)
        break;
      if (::unlink(entry.path.c_str()) != 0)
        continue;
      total -= entry.bytes;
      ++evicted;
    }
    std::lock_guard<std::mutex> counting(mutex);
    counts.evicted += evicted;
  }
  bytesOnDisk = total;
}

KernelCache::DiskState KernelCache::inspect(const Options &options) {
  DiskState state;
  if (options.directory.empty())
    return state;
  if (int error = makeDirectories(options.directory)) {
    state.problem = "making '" + options.directory + "': " + std::strerror(error);
    return state;
  }
  if (DIR *directory = ::opendir(options.directory.c_str())) {
    while (struct dirent *entry = ::readdir(directory)) {
      struct stat info;
      if (!llvm::StringRef(entry->d_name).ends_with(suffix) ||
          ::lstat((options.directory + "/" + entry->d_name).c_str(), &info) != 0)
        continue;
      ++state.entries;
      state.bytes += static_cast<uint64_t>(info.st_size);
    }
    ::closedir(directory);
  }
  // A writable directory can still be full, so write a page of bytes.
  runtime::TemporaryFile file;
  const std::vector<char> bytes(4096);
  int error = file.create(options.directory + "/" + temporaryPrefix, 0600);
  if (!error)
    error = file.write(bytes.data(), bytes.size());
  if (error)
    state.problem = "writing into '" + options.directory + "': " + std::strerror(error);
  return state;
}

/// Called with `mutex` held.
void KernelCache::evictMemory() {
  if (slots.size() <= options.maxEntries)
    return;
  std::vector<std::pair<uint64_t, std::string>> finished;
  for (const auto &[key, slot] : slots)
    if (slot->done)
      finished.emplace_back(slot->used, key);
  std::sort(finished.begin(), finished.end());
  for (const auto &[used, key] : finished) {
    if (slots.size() <= options.maxEntries / 4 * 3)
      break;
    slots.erase(key);
  }
}

KernelCache::Counters KernelCache::counters() const {
  std::lock_guard<std::mutex> lock(mutex);
  return counts;
}

std::string KernelCache::diskProblem() const {
  std::lock_guard<std::mutex> lock(mutex);
  return problem;
}

Expected<std::vector<KernelObject>> KernelCache::compile(llvm::ArrayRef<KernelText> kernels,
                                                         const KernelCompiler &compiler, unsigned threads) {
  return compile(kernels, compiler, {}, compiler, threads);
}

Expected<std::vector<KernelObject>> KernelCache::compile(llvm::ArrayRef<KernelText> kernels,
                                                         const KernelCompiler &compiler,
                                                         llvm::ArrayRef<KernelText> others,
                                                         const KernelCompiler &ofOthers, unsigned threads) {
  std::vector<Request> all;
  for (const KernelText &kernel : kernels)
    all.push_back(request(kernel.text, kernel.name, compiler));
  for (const KernelText &other : others)
    all.push_back(request(other.text, other.name, ofOthers));
  auto objects = compileRequests(std::move(all), threads);
  if (objects)
    objects->resize(kernels.size());
  return objects;
}

Expected<std::vector<KernelObject>> KernelCache::compileRequests(std::vector<Request> all, unsigned threads) {
  std::vector<Request> requests;
  std::vector<size_t> firstOf; // for each kernel, the request that is compiled for it
  std::map<std::string, size_t> known;
  for (Request &wanted : all) {
    auto [entry, fresh] = known.try_emplace(wanted.key, requests.size());
    firstOf.push_back(entry->second);
    if (fresh)
      requests.push_back(std::move(wanted));
  }
  // Long texts take longest, so that no thread begins one when the others end.
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(requests[b].text.size(), a) < std::pair(requests[a].text.size(), b);
  });
  std::vector<KernelObject> objects(requests.size());
  std::vector<Status> statuses(requests.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  auto work = [&]() noexcept {
    for (size_t turn = next++; turn < requests.size() && !failed; turn = next++) {
      const size_t i = order[turn];
      try {
        Expected<KernelObject> object = serve(requests[i], nullptr);
        if (object)
          objects[i] = std::move(*object);
        else
          failed = true, statuses[i] = object.status();
      } catch (...) {
        failed = true, statuses[i] = statusOfException();
      }
    }
  };
  {
    Team team;
    size_t helpers = std::min<size_t>(std::max(threads, 1u), requests.size());
    for (size_t i = 1; i < helpers; ++i)
      if (!team.add(work))
        break;
    work();
  }
  for (const Status &status : statuses)
    if (!status)
      return status;
  std::vector<KernelObject> result;
  for (size_t i : firstOf)
    result.push_back(objects[i]);
  return result;
}

} // namespace weft::codegen
