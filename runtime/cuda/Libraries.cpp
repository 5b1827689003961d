//===- Libraries.cpp - Where CUDA's libraries are searched for ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/Libraries.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <system_error>

namespace weft::runtime {

namespace {

struct Names {
  CudaLibrary library;
  const char *file;  // without the version
  const char *wheel; // of Python, which has it
};
constexpr Names names[] = {{CudaLibrary::nvrtc, "libnvrtc.so.", "nvidia-cuda-nvrtc"},
                           {CudaLibrary::cublaslt, "libcublasLt.so.", "nvidia-cublas"}};

const Names &names_of(CudaLibrary library) {
  return *std::find_if(std::begin(names), std::end(names),
                       [&](const Names &entry) { return entry.library == library; });
}

std::string text_of(const char *value) { return value ? value : ""; }

bool exists(const std::string &path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// What is in a folder, in order; nothing if it cannot be read.
std::vector<std::string> entries_of(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    found.push_back(entry->path().string());
  std::sort(found.begin(), found.end());
  return found;
}

/// The files of a library in CUDA's folders, in the order in which they are tried.
std::vector<std::string> files_of(const std::string &name, int major,
                                  const std::vector<std::string> &folders) {
  std::vector<std::string> with_all, with_some;
  for (const std::string &folder : folders)
    for (const char *part : {"/lib64/", "/lib/", "/"}) {
      if (!exists(folder + part + name))
        continue;
      const bool all = std::all_of(std::begin(names), std::end(names), [&](const Names &entry) {
        return exists(folder + part + cuda_library_name(entry.library, major));
      });
      (all ? with_all : with_some).push_back(folder + part + name);
    }
  with_all.insert(with_all.end(), with_some.begin(), with_some.end());
  return with_all;
}

/// The file of a library that the loader found by its bare name.
std::string file_of(void *handle, const std::string &otherwise) {
  link_map *map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name ? map->l_name : otherwise;
}

} // namespace

std::string only_cuda_folder() { return text_of(std::getenv("WEFT_CUDA_PATH")); }

std::vector<std::string> cuda_folders() {
  if (const std::string only = only_cuda_folder(); !only.empty())
    return {only};
  std::vector<std::string> folders{"/usr/local/cuda"};
  // Wheels are at lib/python3.11/site-packages/nvidia/cu13 of a Python environment.
  for (const char *environment : {std::getenv("VIRTUAL_ENV"), std::getenv("CONDA_PREFIX")})
    if (const std::string root = text_of(environment); !root.empty())
      for (const std::string &python : entries_of(root + "/lib"))
        for (std::string &package : entries_of(python + "/site-packages/nvidia"))
          folders.push_back(std::move(package));
#ifdef WEFT_CUDA_FOLDER
  folders.emplace_back(WEFT_CUDA_FOLDER);
#endif
  return folders;
}

std::string cuda_library_name(CudaLibrary library, int major) {
  return names_of(library).file + std::to_string(major);
}

OpenedCudaLibrary open_cuda_library(CudaLibrary library, int major,
                                    const std::function<void(const std::string &)> &prepare) {
  const std::string name = cuda_library_name(library, major);
  OpenedCudaLibrary opened;
  std::string searched, reason;
  auto open = [&](const std::string &file) {
    if (prepare)
      prepare(file);
    opened.handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened.handle) {
      opened.file = file_of(opened.handle, file);
    } else {
      const char *message = ::dlerror();
      const std::string said = message ? message : "the loader gives no reason";
      // That the loader's path has no such file is no problem of a file.
      if (file != name || !said.starts_with(name + ": cannot open shared object file"))
        reason = said;
    }
    return opened.handle != nullptr;
  };
  if (only_cuda_folder().empty()) {
    if (open(name))
      return opened;
    searched = "the loader's path";
  }
  const std::vector<std::string> folders = cuda_folders();
  for (const std::string &file : files_of(name, major, folders))
    if (open(file))
      return opened;
  for (const std::string &folder : folders)
    searched += (searched.empty() ? "" : ", ") + folder;
  opened.problem = name + " was not found in " + searched + (reason.empty() ? "" : " (" + reason + ")") +
                   ": install a CUDA toolkit or the wheel " + names_of(library).wheel + " of version " +
                   std::to_string(major) + ", or name the folder that has it in WEFT_CUDA_PATH";
  return opened;
}

} // namespace weft::runtime
