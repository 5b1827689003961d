//===- Nvrtc.cpp - The compiler of CUDA C++, loaded at first use ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Nvrtc.h"

#include "runtime/cuda/Libraries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#if WEFT_CUDA
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <nvrtc.h>
#endif

namespace weft::codegen {

Expected<std::vector<std::string>> findCudaTools(const std::string &name) {
  std::vector<std::string> folders = runtime::cuda_folders(), found;
  for (const std::string &folder : llvm::reverse(folders))
    for (const char *part : {"/bin/", "/"}) {
      std::string file = folder;
      file += part;
      file += name;
      if (llvm::sys::fs::can_execute(file))
        found.push_back(std::move(file));
    }
  if (runtime::only_cuda_folder().empty())
    if (auto inPath = llvm::sys::findProgramByName(name); inPath && !llvm::is_contained(found, *inPath))
      found.push_back(*inPath);
  if (!found.empty())
    return found;
  const std::string where = "'" + name + "' was not found in " + llvm::join(folders, ", ");
  if (!runtime::only_cuda_folder().empty())
    return Status::error(
        where + ", where WEFT_CUDA_PATH says that all of CUDA is: put it there, or unset WEFT_CUDA_PATH");
  return Status::error(where +
                       " or PATH: install a CUDA toolkit, or run scripts/install-deps, which brings it");
}

namespace {
std::atomic<const Nvrtc *> usedInstead{nullptr};
} // namespace

void Nvrtc::use(const Nvrtc &instead) { usedInstead = &instead; }

#if WEFT_CUDA

namespace {

// Through a second macro, so that a name that the header replaces by another one, as nvrtcX by nvrtcX_v2, is
// the name in the library.
#define WEFT_NAME_OF(function) WEFT_QUOTE(function)
#define WEFT_QUOTE(function) #function

// clang-format off
#define WEFT_NVRTC_FUNCTIONS(X)                                                                              \
  X(nvrtcVersion) X(nvrtcGetErrorString) X(nvrtcCreateProgram) X(nvrtcDestroyProgram)                        \
  X(nvrtcCompileProgram) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcGetCUBINSize)                \
  X(nvrtcGetCUBIN) X(nvrtcGetPTXSize) X(nvrtcGetPTX)
// clang-format on

struct NvrtcTable {
#define WEFT_FIELD(function) decltype(&::function) function = nullptr;
  WEFT_NVRTC_FUNCTIONS(WEFT_FIELD)
#undef WEFT_FIELD

  /// Fills the table; the name of a function that the library lacks, or an empty text.
  std::string fill(void *library) {
#define WEFT_LOOK_UP(function)                                                                               \
  function = reinterpret_cast<decltype(function)>(::dlsym(library, WEFT_NAME_OF(function)));                 \
  if (!function)                                                                                             \
    return WEFT_NAME_OF(function);
    WEFT_NVRTC_FUNCTIONS(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
    return "";
  }
};

class LoadedNvrtc : public Nvrtc {
public:
  static Expected<const Nvrtc *> load();

  std::string version() const override { return std::to_string(major) + "." + std::to_string(minor); }
  std::string build() const override { return buildId; }
  std::string path() const override { return file; }
  Expected<CudaBinary> compile(const std::string &text, const std::string &name,
                               llvm::ArrayRef<std::string> options, std::string *log) const override;

private:
  NvrtcTable table;
  std::string file, buildId;
  int major = 0, minor = 0;
};

/// The build identifier of a shared object, from its note in memory; empty if it has none.
std::string buildIdOf(void *library) {
  link_map *map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void *>(&map)) != 0)
    return "";
  struct Search {
    ElfW(Addr) base;
    std::string found;
  } search{map->l_addr, ""};
  ::dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        if (object->dlpi_addr != search.base)
          return 0;
        for (const ElfW(Phdr) & part : llvm::ArrayRef(object->dlpi_phdr, object->dlpi_phnum)) {
          if (part.p_type != PT_NOTE)
            continue;
          llvm::StringRef notes(reinterpret_cast<const char *>(object->dlpi_addr + part.p_vaddr),
                                part.p_memsz);
          while (notes.size() >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            std::memcpy(&note, notes.data(), sizeof note);
            const size_t name = llvm::alignTo(note.n_namesz, 4), bytes = llvm::alignTo(note.n_descsz, 4);
            if (notes.size() - sizeof note < name + bytes)
              break;
            if (note.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof note, 4) == llvm::StringRef("GNU", 4))
              search.found = llvm::toHex(notes.substr(sizeof note + name, note.n_descsz), /*LowerCase=*/true);
            notes = notes.drop_front(sizeof note + name + bytes);
          }
        }
        return 1;
      },
      &search);
  return search.found;
}

/// NVRTC opens its library of built-in functions by its name, and the wheel has no run path. So open that
/// library first, where it lies beside.
void openBuiltins(const std::string &file) {
  std::error_code error;
  const llvm::StringRef folder = llvm::sys::path::parent_path(file);
  for (llvm::sys::fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const llvm::StringRef name = llvm::sys::path::filename(entry->path());
    if (name.starts_with("libnvrtc-builtins.so.") && !name.contains(".alt."))
      ::dlopen(entry->path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

/// For a kernel, NVRTC allocates 10 MiB or more, and frees them. The allocator would give them back to the
/// system, which brings them again page by page, for the next one: a tenth of the time of a compilation. In
/// glibc a freed block that was mapped raises the sizes from which it gives memory back, to the block's and
/// to twice that; it does not if the program has set them.
void keepFreedMemory() {
  constexpr size_t bytes = size_t(24) << 20; // which nobody touches
  void *volatile block = std::malloc(bytes);
  std::free(block);
}

Expected<const Nvrtc *> LoadedNvrtc::load() {
  // The version is that of the header that Weft was built with.
  const runtime::OpenedCudaLibrary library =
      runtime::open_cuda_library(runtime::CudaLibrary::nvrtc, CUDA_VERSION / 1000, openBuiltins);
  if (!library.handle)
    return Status::error("CUDA kernels are compiled by NVRTC, and " + library.problem);
  auto made = std::make_unique<LoadedNvrtc>();
  made->file = library.file;
  if (const std::string missing = made->table.fill(library.handle); !missing.empty())
    return Status::error("'" + made->file + "' has no function " + missing + ": it is no NVRTC of version " +
                         std::to_string(CUDA_VERSION / 1000) + "; install that version");
  if (made->table.nvrtcVersion(&made->major, &made->minor) != NVRTC_SUCCESS)
    return Status::error("'" + made->file + "' does not say its version: reinstall it");
  made->buildId = buildIdOf(library.handle);
  keepFreedMemory();
  return made.release(); // for the rest of the process
}

Expected<CudaBinary> LoadedNvrtc::compile(const std::string &text, const std::string &name,
                                          llvm::ArrayRef<std::string> options, std::string *log) const {
  std::vector<const char *> arguments;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  nvrtcProgram program = nullptr;
  // Machine code and PTX have the path of the file in them, and are to depend on the text alone: a relative
  // name gets the current folder in front.
  nvrtcResult result = table.nvrtcCreateProgram(&program, text.c_str(), fileName, 0, nullptr, nullptr);
  struct Guard {
    const NvrtcTable &table;
    nvrtcProgram &program;
    ~Guard() {
      if (program)
        table.nvrtcDestroyProgram(&program);
    }
  } guard{table, program};
  if (result == NVRTC_SUCCESS)
    result = table.nvrtcCompileProgram(program, static_cast<int>(arguments.size()), arguments.data());
  CudaBinary made;
  // Each text is asked for its size, which counts the zero at the end of PTX and log.
  auto read = [&](auto size, auto get, std::string &into, bool isText) {
    size_t bytes = 0;
    nvrtcResult code = size(program, &bytes);
    if (code != NVRTC_SUCCESS)
      return code;
    into.resize(bytes);
    code = bytes ? get(program, into.data()) : NVRTC_SUCCESS;
    while (isText && !into.empty() && into.back() == '\0')
      into.pop_back();
    return code;
  };
  if (program)
    read(table.nvrtcGetProgramLogSize, table.nvrtcGetProgramLog, made.log, /*isText=*/true);
  if (log)
    *log = made.log;
  if (result == NVRTC_SUCCESS)
    result = read(table.nvrtcGetCUBINSize, table.nvrtcGetCUBIN, made.cubin, /*isText=*/false);
  if (result == NVRTC_SUCCESS)
    result = read(table.nvrtcGetPTXSize, table.nvrtcGetPTX, made.ptx, /*isText=*/true);
  if (result != NVRTC_SUCCESS)
    return Status::error("NVRTC " + version() + " does not compile kernel '" + name + "': " +
                         table.nvrtcGetErrorString(result) + (made.log.empty() ? "" : "\n" + made.log));
  return made;
}

} // namespace

Expected<const Nvrtc *> Nvrtc::get() {
  if (const Nvrtc *instead = usedInstead)
    return instead;
  // A library that was not found is searched for again, since it may be installed meanwhile.
  static std::mutex mutex;
  static const Nvrtc *loaded = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (loaded)
    return loaded;
  Expected<const Nvrtc *> made = LoadedNvrtc::load();
  if (made)
    loaded = *made;
  return made;
}

#else

Expected<const Nvrtc *> Nvrtc::get() {
  if (const Nvrtc *instead = usedInstead)
    return instead;
  return Status::error("this Weft is built without CUDA (-DWEFT_CUDA=OFF), so it compiles no kernels for it: "
                       "configure it with -DWEFT_CUDA=ON");
}

#endif

} // namespace weft::codegen
