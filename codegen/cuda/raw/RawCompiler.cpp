//===- RawCompiler.cpp - The user's CUDA C++ to CUBIN and PTX -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/raw/RawCompiler.h"

#include "codegen/cuda/raw/PtxEntries.h"
#include "runtime/cuda/Libraries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>

namespace weft::codegen {

using llvm::StringRef;

/// NVRTC has no headers with it. Those of a toolkit, as cuda_fp16.h, are found where one is installed.
static std::vector<std::string> includeOptions() {
  for (const std::string &folder : runtime::cuda_folders())
    if (llvm::sys::fs::exists(folder + "/include/cuda_fp16.h"))
      return {"--include-path=" + folder + "/include"};
  return {};
}

CudaRawCompiler::CudaRawCompiler(const Nvrtc &nvrtc, StringRef target) : CudaTextCompiler(nvrtc, target) {
  options = {"--gpu-architecture=" + architecture, "--std=c++17", "-lineinfo", "--ptxas-options=-v"};
  llvm::append_range(options, includeOptions());
}

Expected<CudaRawCompiler> CudaRawCompiler::make(StringRef target) {
  Expected<const Nvrtc *> nvrtc = Nvrtc::get();
  if (!nvrtc)
    return nvrtc.status();
  return CudaRawCompiler(**nvrtc, target);
}

std::string CudaRawCompiler::textOf(StringRef entry, StringRef source) {
  return (entry + "\n" + source).str();
}

std::string CudaRawCompiler::identity() const {
  return std::string("raw 1 ") + CudaKernel::format + ", nvrtc " + nvrtc->version() + " " + nvrtc->build() +
         ", " + llvm::join(options, " ");
}

/// The errors of a log: each with its line in the text, the line itself and the place in it, as NVRTC gives
/// them. Warnings and counts are left out. If there is no line with "error", the whole log.
static std::string errorsOf(StringRef log) {
  std::string errors;
  const std::string file = std::string(Nvrtc::fileName) + "(";
  bool kept = false;
  for (StringRef line : llvm::split(log, '\n')) {
    if (line.contains("detected in the compilation of") || line.starts_with("Compilation terminated"))
      continue;
    // What follows a message, up to the next, belongs to it.
    const bool begins = line.starts_with(file) || line.starts_with("ptxas") || line.starts_with("Remark");
    if (begins)
      kept = line.contains("error");
    if (!kept || line.trim().empty())
      continue;
    errors += "\n  ";
    if (StringRef rest = line; rest.consume_front(file)) {
      auto [number, message] = rest.split("): ");
      errors += ("line " + number + " of the text: " + message).str();
    } else {
      errors += line;
    }
  }
  return errors.empty() ? "\n" + log.str() : errors;
}

/// The part of a log in which ptxas tells of an entry.
static StringRef resourcesOf(StringRef log, StringRef entry) {
  constexpr StringRef begin = "Compiling entry function '";
  const size_t at = log.find((begin + entry + "'").str());
  return at == StringRef::npos ? StringRef() : log.slice(at, log.find(begin, at + begin.size()));
}

/// What to say if there is no kernel of that name: those that there are.
static Status noSuchEntry(StringRef entry, llvm::ArrayRef<PtxEntry> entries) {
  std::string names;
  const PtxEntry *mangled = nullptr;
  for (const PtxEntry &each : entries) {
    names += (names.empty() ? "'" : ", '") + each.name + "'";
    // _Z5saxpyPKf: a name of C++ has its length before it.
    if (StringRef(each.name).starts_with("_Z") &&
        StringRef(each.name).contains((llvm::Twine(entry.size()) + entry).str()))
      mangled = &each;
  }
  return Status::error("has no kernel '" + entry.str() + "' in its text (WEFT-K002): " +
                           (mangled ? "it has '" + mangled->name +
                                          "', the name of C++ for it; declare it extern \"C\" __global__ void"
                            : names.empty() ? "it has no kernel, which is a function that is declared extern "
                                              "\"C\" __global__ void"
                                            : "it has " + names),
                       "WEFT-K002");
}

Expected<std::vector<char>> CudaRawCompiler::compile(StringRef text, StringRef name,
                                                     CompileStats *stats) const {
  const auto start = std::chrono::steady_clock::now();
  auto [entry, source] = text.split('\n');
  std::string log;
  Expected<CudaBinary> binary = nvrtc->compile(source.str(), name.str(), options, &log);
  if (!binary)
    return Status::error("does not compile for " + architecture + " (WEFT-K001):" +
                             (log.empty() ? "\n" + binary.status().message() : errorsOf(log)),
                         "WEFT-K001");
  Expected<std::vector<PtxEntry>> entries = readPtxEntries(binary->ptx);
  if (!entries)
    return entries.status();
  const auto found = llvm::find_if(*entries, [&](const PtxEntry &each) { return each.name == entry; });
  if (found == entries->end())
    return noSuchEntry(entry, *entries);
  Expected<CudaResources> resources = parseResources(resourcesOf(binary->log, entry));
  if (!resources)
    return resources.status();
  CudaKernel kernel;
  kernel.resources = *resources;
  kernel.threads = found->mostThreads;
  kernel.cubin = std::move(binary->cubin);
  kernel.ptx = std::move(binary->ptx);
  std::vector<char> bytes = kernel.serialize();
  if (stats) {
    stats->generate = millisecondsSince(start);
    stats->objectBytes = bytes.size();
  }
  return bytes;
}

} // namespace weft::codegen
