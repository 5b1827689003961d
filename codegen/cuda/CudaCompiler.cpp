//===- CudaCompiler.cpp - Kernel text to CUBIN and PTX --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCompiler.h"

#include "codegen/kernel/KernelIR.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

#include <chrono>
#include <cstring>

using namespace mlir;

namespace weft::codegen {

/// The printer's version: a hash of the files of this folder and of codegen/math, which decide which CUDA C++
/// a kernel text gives.
static constexpr const char *printerVersion = WEFT_PRINTER_HASH;

//===----------------------------------------------------------------------===//
// What a compilation gives
//===----------------------------------------------------------------------===//

Expected<CudaResources> parseResources(llvm::StringRef log) {
  CudaResources found;
  auto number = [&](const char *pattern, uint32_t &into) {
    llvm::SmallVector<llvm::StringRef> matches;
    return llvm::Regex(pattern).match(log, &matches) && !matches[1].getAsInteger(10, into);
  };
  // A kernel without shared memory has no such line.
  number("([0-9]+) bytes smem", found.sharedBytes);
  if (!number("Used ([0-9]+) registers", found.registers) ||
      !number("([0-9]+) bytes stack frame", found.stackBytes) ||
      !number("([0-9]+) bytes spill stores", found.spillStoreBytes) ||
      !number("([0-9]+) bytes spill loads", found.spillLoadBytes))
    return Status::error(
        "the log of NVRTC has no report of ptxas (registers, stack, spills); this Weft reads "
        "that of CUDA 13:\n" +
        log.str());
  return found;
}

namespace {
/// The start of a serialized kernel; CUBIN and PTX follow.
struct KernelHeader {
  char magic[8];
  CudaResources resources;
  uint32_t threads, flags;
  uint32_t dynamicShared;
  uint64_t cubinBytes, ptxBytes, divisorBytes;
};
constexpr uint32_t tableFlag = 1, checksFlag = 2, predicateFlag = 4;

/// Sizes as lines of numbers: what divides, then for each term its coefficient, how many symbols it has, and
/// the number of each, as 3 of n3.
std::string textOfDivisors(llvm::ArrayRef<ir::Size> divisors) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ir::Size &size : divisors) {
    const ir::DimExpr expr = size.expr();
    os << expr.divisor;
    for (const ir::DimTerm &term : expr.terms) {
      os << ' ' << term.coefficient << ' ' << term.symbols.size();
      for (llvm::StringRef symbol : term.symbols)
        os << ' ' << symbol.drop_front();
    }
    os << '\n';
  }
  return text;
}

/// The inverse; false if it is no such text.
bool readDivisors(llvm::StringRef text, std::vector<ir::Size> &divisors) {
  auto take = [](llvm::StringRef &line, int64_t &number) {
    line = line.ltrim(' ');
    return !line.consumeInteger(10, number);
  };
  while (!text.empty()) {
    llvm::StringRef line;
    std::tie(line, text) = text.split('\n');
    ir::DimExpr expr;
    if (!take(line, expr.divisor) || expr.divisor < 1)
      return false;
    while (!line.empty()) {
      ir::DimTerm term;
      int64_t count = 0, symbol = 0;
      if (!take(line, term.coefficient) || !take(line, count))
        return false;
      for (; count > 0; --count) {
        if (!take(line, symbol) || symbol < 0)
          return false;
        term.symbols.push_back("n" + std::to_string(symbol));
      }
      expr.terms.push_back(std::move(term));
    }
    divisors.push_back(ir::Size::of(std::move(expr)));
  }
  return true;
}
} // namespace

std::vector<char> CudaKernel::serialize() const {
  KernelHeader header = {};
  std::memcpy(header.magic, format, sizeof header.magic);
  header.resources = resources;
  header.threads = threads;
  header.dynamicShared = dynamicShared;
  header.flags =
      (usesTable ? tableFlag : 0) | (usesChecks ? checksFlag : 0) | (usesPredicate ? predicateFlag : 0);
  header.cubinBytes = cubin.size();
  header.ptxBytes = ptx.size();
  const std::string sizes = textOfDivisors(divisors);
  header.divisorBytes = sizes.size();
  const char *start = reinterpret_cast<const char *>(&header);
  std::vector<char> bytes(start, start + sizeof header);
  bytes.insert(bytes.end(), cubin.begin(), cubin.end());
  bytes.insert(bytes.end(), ptx.begin(), ptx.end());
  bytes.insert(bytes.end(), sizes.begin(), sizes.end());
  return bytes;
}

Expected<CudaKernel> CudaKernel::deserialize(llvm::ArrayRef<char> bytes) {
  KernelHeader header;
  CudaKernel kernel;
  const size_t rest = bytes.size() - sizeof header;
  if (bytes.size() >= sizeof header)
    std::memcpy(&header, bytes.data(), sizeof header);
  if (bytes.size() < sizeof header || std::memcmp(header.magic, format, sizeof header.magic) != 0 ||
      header.cubinBytes > rest || header.ptxBytes > rest - header.cubinBytes ||
      header.divisorBytes != rest - header.cubinBytes - header.ptxBytes ||
      !readDivisors({bytes.end() - header.divisorBytes, header.divisorBytes}, kernel.divisors))
    return Status::error("these " + std::to_string(bytes.size()) + " bytes are no compiled CUDA kernel");
  kernel.resources = header.resources;
  kernel.threads = header.threads;
  kernel.dynamicShared = header.dynamicShared;
  kernel.usesTable = header.flags & tableFlag;
  kernel.usesChecks = header.flags & checksFlag;
  kernel.usesPredicate = header.flags & predicateFlag;
  kernel.cubin.assign(bytes.data() + sizeof header, header.cubinBytes);
  kernel.ptx.assign(bytes.data() + sizeof header + header.cubinBytes, header.ptxBytes);
  return kernel;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

Expected<CudaText> kernelTextToCuda(llvm::StringRef text, llvm::StringRef name) {
  DialectRegistry registry;
  registerBlockKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += (diagnostics.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return Status::error("kernel '" + name.str() + "': its IR does not parse: " + diagnostics);
  Expected<CudaText> printed = printCuda(*module);
  if (!printed)
    return printed.status().context("kernel '" + name.str() + "': ");
  return printed;
}

std::vector<std::string> nvrtcOptions(llvm::StringRef target) {
  // What is contracted, the text says. ptxas reports registers and spills with -v. Kernels use none of what
  // --minimal leaves out (textures, the CUDA runtime's functions). Where there is a driver, NVRTC takes
  // machine code from the driver's cache, and then there is no report (seen with NVRTC 13.0 and driver 580):
  // --no-cache asks for a compilation. Kernels have a cache of their own.
  return {"--gpu-architecture=" + target.str(),
          "--std=c++17",
          "-fmad=false",
          "-lineinfo",
          "--minimal",
          "--no-cache",
          "--ptxas-options=-v"};
}

CudaTextCompiler::CudaTextCompiler(const Nvrtc &nvrtc, llvm::StringRef target)
    : nvrtc(&nvrtc), architecture(target), options(nvrtcOptions(target)) {}

Expected<CudaTextCompiler> CudaTextCompiler::make(llvm::StringRef target) {
  Expected<const Nvrtc *> nvrtc = Nvrtc::get();
  if (!nvrtc)
    return nvrtc.status();
  return CudaTextCompiler(**nvrtc, target);
}

Expected<CudaCompiler> CudaCompiler::make(llvm::StringRef target) {
  Expected<const Nvrtc *> nvrtc = Nvrtc::get();
  if (!nvrtc)
    return nvrtc.status();
  return CudaCompiler(**nvrtc, target);
}

std::string CudaTextCompiler::identity() const {
  return std::string("cuda text ") + CudaKernel::format + " " + printerVersion + ", nvrtc " +
         nvrtc->version() + " " + nvrtc->build() + ", " + llvm::join(options, " ");
}

std::string CudaCompiler::identity() const {
  return std::string("weft-cuda ") + CudaKernel::format + " " + printerVersion + ", nvrtc " +
         nvrtc->version() + " " + nvrtc->build() + ", " + llvm::join(options, " ");
}

Expected<CudaKernel> CudaTextCompiler::compileText(const std::string &text, const std::string &name) const {
  Expected<CudaBinary> binary = nvrtc->compile(text, name, options);
  if (!binary)
    return binary.status();
  Expected<CudaResources> resources = parseResources(binary->log);
  if (!resources)
    return resources.status().context("kernel '" + name + "': ");
  CudaKernel kernel;
  kernel.resources = *resources;
  kernel.cubin = std::move(binary->cubin);
  kernel.ptx = std::move(binary->ptx);
  return kernel;
}

/// Serializes a kernel, and tells what that took since `start`.
static std::vector<char> finish(const CudaKernel &kernel, std::chrono::steady_clock::time_point start,
                                CompileStats *stats) {
  std::vector<char> bytes = kernel.serialize();
  if (stats) {
    stats->generate = millisecondsSince(start);
    stats->objectBytes = bytes.size();
  }
  return bytes;
}

Expected<std::vector<char>> CudaTextCompiler::compile(llvm::StringRef text, llvm::StringRef name,
                                                      CompileStats *stats) const {
  const auto start = std::chrono::steady_clock::now();
  llvm::StringRef bounds = text.split("__launch_bounds__(").second;
  uint32_t threads = 0;
  if (bounds.consumeInteger(10, threads))
    return Status::error("kernel '" + name.str() + "' has no number of threads in __launch_bounds__");
  Expected<CudaKernel> kernel = compileText(text.str(), name.str());
  if (!kernel)
    return kernel.status();
  kernel->threads = threads;
  return finish(*kernel, start, stats);
}

Expected<std::vector<char>> CudaCompiler::compile(llvm::StringRef text, llvm::StringRef name,
                                                  CompileStats *stats) const {
  auto start = std::chrono::steady_clock::now();
  Expected<CudaText> printed = kernelTextToCuda(text, name);
  if (!printed)
    return printed.status();
  if (stats)
    stats->lower = millisecondsSince(start);
  start = std::chrono::steady_clock::now();
  Expected<CudaKernel> kernel = compileText(printed->text, name.str());
  if (!kernel)
    return kernel.status();
  kernel->threads = static_cast<uint32_t>(printed->threads);
  kernel->dynamicShared = static_cast<uint32_t>(printed->dynamicShared);
  kernel->usesTable = printed->usesTable;
  kernel->usesChecks = printed->usesChecks;
  kernel->usesPredicate = printed->usesPredicate;
  kernel->divisors.assign(printed->divisors.begin(), printed->divisors.end());
  return finish(*kernel, start, stats);
}

Expected<std::string> disassemble(const std::string &cubin) {
  Expected<std::vector<std::string>> tools = findCudaTools("nvdisasm");
  if (!tools)
    return tools.status();
  llvm::SmallString<128> input, output;
  int file;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("weft", "cubin", file, input))
    return Status::error("cannot make a temporary file for nvdisasm: " + error.message());
  llvm::FileRemover removeInput(input);
  {
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    os << cubin;
    os.close();
    if (os.has_error()) {
      const std::string why = os.error().message();
      os.clear_error();
      return Status::error("cannot write '" + input.str().str() + "': " + why);
    }
  }
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("weft", "sass", output))
    return Status::error("cannot make a temporary file for nvdisasm: " + error.message());
  llvm::FileRemover removeOutput(output);
  const std::optional<llvm::StringRef> redirects[] = {std::nullopt, output.str(), std::nullopt};
  // A tool of an older CUDA does not know the newer architectures.
  std::string failed;
  for (const std::string &tool : *tools) {
    std::string problem;
    const llvm::StringRef arguments[] = {tool, "--print-code", input};
    const int code = llvm::sys::ExecuteAndWait(tool, arguments, std::nullopt, redirects, 0, 0, &problem);
    auto text = llvm::MemoryBuffer::getFile(output);
    if (code == 0 && text)
      return (*text)->getBuffer().str();
    failed += (failed.empty() ? "'" : "; '") + tool + "' ended with code " + std::to_string(code) +
              (problem.empty() ? "" : ": " + problem);
  }
  return Status::error(failed);
}

} // namespace weft::codegen
