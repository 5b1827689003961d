//===- TemporaryFile.h - Files that are written and renamed -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is written whole or not at all: under a temporary name in the same folder, then renamed. A process
// that is killed in between leaves the temporary file; the next process that writes there removes it. Plain
// C++, so that every library that writes files can include it.
//
// The name has the number of the process that writes, when that process began, and a count of its files. The
// number alone is no identity: the first process of a container has the same one after every restart.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_SUPPORT_TEMPORARYFILE_H
#define WEFT_RUNTIME_SUPPORT_TEMPORARYFILE_H

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace weft::runtime {

/// The start time of this process, in clock ticks after the system's start; 0 if the system does not report
/// it. A child after fork() has a time of its own.
inline uint64_t process_start() {
  const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  char bytes[1024];
  const ssize_t count = ::read(file, bytes, sizeof bytes);
  ::close(file);
  const std::string_view text(bytes, count > 0 ? static_cast<size_t>(count) : 0);
  // Field 22. The second is the program's name in parentheses, which may hold spaces and parentheses.
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != text.npos; ++field)
    at = text.find(' ', at + 1);
  uint64_t start = 0;
  if (at != text.npos)
    std::from_chars(text.data() + at + 1, text.data() + text.size(), start);
  return start;
}

/// The process that writes a temporary file, according to the file's name.
struct TemporaryFileMaker {
  pid_t process = 0;
  uint64_t start = 0; ///< its process_start()

  bool is_gone() const {
    if (process == ::getpid())
      return start != process_start();
    return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
  }
};

/// Whether a temporary file is abandoned: its maker does not exist and the file was not written for an hour,
/// or it was not written for a day. The time is needed because a maker in another container cannot be found
/// by its number, and because a slow disk may delay writes for minutes.
inline bool is_abandoned(const TemporaryFileMaker &maker, time_t written, time_t now) {
  constexpr time_t hour = 3600, day = 24 * hour;
  if (now - written > day)
    return true;
  return now - written > hour && maker.is_gone();
}

/// The maker of a file with the name "PROCESS.START.COUNT", or "PROCESS.COUNT" without a start time; process
/// 0 for other names.
inline TemporaryFileMaker maker_of(std::string_view numbers, char separator) {
  uint64_t found[3] = {};
  int count = 0;
  for (const char *at = numbers.data(), *const end = at + numbers.size();; ++at) {
    const auto [rest, error] = std::from_chars(at, end, found[count]);
    if (error != std::errc())
      return {};
    ++count;
    at = rest;
    if (at == end)
      break;
    if (count == 3 || *at != separator)
      return {};
  }
  if (count < 2 || found[0] == 0 || found[0] > std::numeric_limits<int>::max())
    return {};
  return {static_cast<pid_t>(found[0]), count == 3 ? found[1] : 0};
}

/// Removes abandoned temporary files from `folder`: files with names that TemporaryFile makes with `prefix`.
inline void remove_abandoned(const std::string &folder, std::string_view prefix) {
  DIR *const directory = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!directory)
    return;
  const time_t now = std::time(nullptr);
  while (const struct dirent *entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix))
      continue;
    const TemporaryFileMaker maker = maker_of(name.substr(prefix.size()), prefix.back());
    if (maker.process == 0)
      continue;
    struct stat info;
    if (::fstatat(::dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && is_abandoned(maker, info.st_mtime, now))
      ::unlinkat(::dirfd(directory), entry->d_name, 0);
  }
  ::closedir(directory);
}

/// A new file, open for writing, which the destructor removes unless it was renamed to its final name.
/// Functions return 0 or an errno.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(TemporaryFile &&other) noexcept
      : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  ~TemporaryFile() { remove(); }

  /// Makes a file whose name is `prefix`, which ends with a separator, and "PROCESS.START.COUNT" with that
  /// separator between the numbers.
  int create(const std::string &prefix, mode_t mode) {
    static std::atomic<uint64_t> made{0};
    const char separator = prefix.back();
    const std::string maker =
        prefix + std::to_string(::getpid()) + separator + std::to_string(process_start()) + separator;
    // A name may still be taken, by a process of another container or if no start time is known.
    constexpr int attempts = 100;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      std::string name = maker + std::to_string(made++);
      const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (descriptor >= 0) {
        name_ = std::move(name);
        descriptor_ = descriptor;
        return 0;
      }
      if (errno != EEXIST)
        return errno;
    }
    return EEXIST;
  }
  /// Makes the file beside `path`, and removes abandoned temporary files for `path`.
  int create_beside(const std::string &path, mode_t mode) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    const std::string prefix = path + ".tmp.";
    remove_abandoned(folder, std::string_view(prefix).substr(folder.size()));
    return create(prefix, mode);
  }

  int write(const void *data, size_t bytes) {
    const char *at = static_cast<const char *>(data);
    while (bytes > 0) {
      const ssize_t done = ::write(descriptor_, at, std::min(bytes, size_t{1} << 30));
      if (done < 0 && errno == EINTR)
        continue;
      if (done <= 0)
        return done < 0 ? errno : EIO;
      at += done;
      bytes -= static_cast<size_t>(done);
    }
    return 0;
  }
  /// Flushes the file to the disk.
  int sync() {
    const bool synced = ::fsync(descriptor_) == 0 || errno == EINVAL; // a file system that cannot
    return synced ? 0 : errno;
  }
  /// Gives the file its final name. If that fails, the file is gone.
  int rename_to(const std::string &path) {
    const int closed = ::close(std::exchange(descriptor_, -1));
    const int error = closed != 0 || std::rename(name_.c_str(), path.c_str()) != 0 ? errno : 0;
    if (error)
      ::unlink(name_.c_str());
    return error;
  }
  void remove() {
    if (descriptor_ < 0)
      return;
    ::close(std::exchange(descriptor_, -1));
    ::unlink(name_.c_str());
  }

private:
  std::string name_;
  int descriptor_ = -1;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SUPPORT_TEMPORARYFILE_H
