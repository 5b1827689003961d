//===- TemporaryFile.h - Files that are written beside their place -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is written whole or not at all: under a temporary name in the same folder, then renamed. A process
// that is killed meanwhile leaves the temporary file; the next one that writes there removes it. Plain C++,
// so that every library that writes files can include it.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_TEMPORARYFILE_H
#define WEFT_RUNTIME_TEMPORARYFILE_H

#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::runtime {

/// Whether nobody writes a temporary file any more: the process that made it is gone and has not written for
/// a minute, or nobody has for a day. A process of another container, whose number means nothing here, writes
/// more often than once a minute.
inline bool is_abandoned(pid_t maker, time_t written, time_t now) {
  constexpr time_t minute = 60, day = 24 * 60 * minute;
  if (now - written > day)
    return true;
  return now - written > minute && maker > 0 && ::kill(maker, 0) != 0 && errno == ESRCH;
}

/// Removes what was left in `folder` by writers that are gone: files whose names begin with `prefix`, then
/// have the number of the process that made them, and then nothing or what begins with `separator`.
inline void remove_abandoned(const std::string &folder, std::string_view prefix, char separator) {
  DIR *const directory = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!directory)
    return;
  const time_t now = std::time(nullptr);
  while (const struct dirent *entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix))
      continue;
    pid_t maker = 0;
    const char *const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, maker);
    struct stat info;
    if (error == std::errc() && (rest == end || *rest == separator) &&
        ::fstatat(::dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && is_abandoned(maker, info.st_mtime, now))
      ::unlinkat(::dirfd(directory), entry->d_name, 0);
  }
  ::closedir(directory);
}

/// The same for what writers of the file `path` left, which they call "PATH.tmp.PROCESS.NUMBER".
inline void remove_abandoned_beside(const std::string &path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  remove_abandoned(folder, path.substr(folder.size()) + ".tmp.", '.');
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEMPORARYFILE_H
