//===- Doctor.cpp - weft devices, doctor ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include "codegen/Compile.h"
#include "codegen/Report.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/kernel/KernelCache.h"
#include "ir/Parse.h"
#include "ir/TargetDescription.h"
#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/device/Devices.h"
#include "runtime/device/Registry.h"
#include "runtime/execution/Executable.h"
#include "runtime/gemm/Contraction.h"
#include "runtime/linalg/Lapack.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/plan/Image.h"
#include "runtime/threads/Executor.h"
#include "weft/weft.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/statvfs.h>
#include <unistd.h>

extern char **environ;

namespace weft::tool {

/// The variables of docs/debugging.md that libraries, scripts and tests read; a house test compares the two.
static constexpr const char *knownVariables[] = {"WEFT_ALLOC_CONF",
                                                 "WEFT_CACHE",
                                                 "WEFT_CACHE_DIR",
                                                 "WEFT_CACHE_MAX_MB",
                                                 "WEFT_CHECK_CAPTURES",
                                                 "WEFT_CPU_QUEUE",
                                                 "WEFT_CUDA_GRAPHS",
                                                 "WEFT_CUDA_LOOPS",
                                                 "WEFT_CUDA_PATH",
                                                 "WEFT_DATA_DIR",
                                                 "WEFT_DEVICE",
                                                 "WEFT_EXPLAIN",
                                                 "WEFT_JOBS",
                                                 "WEFT_LAPACK",
                                                 "WEFT_LLVM_PREFIX",
                                                 "WEFT_LAUNCH_BLOCKING",
                                                 "WEFT_NO_MEMORY_CACHING",
                                                 "WEFT_NUM_THREADS",
                                                 "WEFT_PARITY_SAMPLES",
                                                 "WEFT_TEST_DEVICE",
                                                 "WEFT_TEST_LEVEL",
                                                 "WEFT_TRACE_DIR"};

static std::string sizeText(uint64_t bytes) { return codegen::bytesText(static_cast<int64_t>(bytes)); }

/// "AMD EPYC 7763"; empty if the system does not report it.
static std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

static uint64_t machineMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

static std::string targetsOf(bool cpus) {
  std::string list;
  for (const ir::TargetDescription &target : ir::descriptions())
    if (target.isCpu() == cpus)
      list += (list.empty() ? "" : ", ") + target.fullName();
  return list;
}

/// "NVIDIA H100, sm_90, 79.6 GiB", or why the driver does not say.
static std::string gpuText(int ordinal) {
  const auto found = runtime::cuda_properties(ordinal);
  return found ? found->name + ", sm_" + std::to_string(found->capability) + ", " +
                     sizeText(found->memory_bytes)
               : found.status().message();
}

//===----------------------------------------------------------------------===//
// devices
//===----------------------------------------------------------------------===//

int devicesCommand(int argc, char **argv) {
  const char *help = R"(usage: weft devices

Lists what programs can run on here, and the targets that they can be compiled and planned for.

example: weft devices
)";
  Arguments arguments;
  if (auto code = beginCommand("devices", help, argc, argv, {}, arguments, 0))
    return *code;
  std::printf("cpu   %s, %s, %d threads, %s\n", processorName().c_str(),
              std::string(runtime::name(runtime::cpu_level())).c_str(), runtime::executor().width(),
              sizeText(machineMemory()).c_str());
  const runtime::Driver &driver = runtime::driver();
  if (!driver.table)
    std::printf("cuda  none: %s\n", driver.text().c_str());
  for (int i = 0; driver.table && i < driver.devices; ++i)
    std::printf("cuda:%d  %s\n", i, gpuText(i).c_str());
  std::printf(
      "targets of the host: %s, and these with a number of cores, as cpu:16\ntargets with a GPU: %s\n",
      targetsOf(true).c_str(), targetsOf(false).c_str());
  return 0;
}

//===----------------------------------------------------------------------===//
// doctor
//===----------------------------------------------------------------------===//

namespace {

/// Prints one line for each finding, and counts problems.
class Report {
public:
  void good(const char *what, const std::string &found) { line("ok", what, found); }
  void note(const char *what, const std::string &found) { line("note", what, found); }
  void problem(const char *what, const std::string &found, const std::string &remedy) {
    line("PROBLEM", what, found);
    std::printf("%22sto fix: %s\n", "", remedy.c_str());
    ++problems;
  }
  int problems = 0;

private:
  static void line(const char *mark, const char *what, const std::string &found) {
    std::printf("%-8s %-12s %s\n", mark, what, found.c_str());
  }
};

} // namespace

/// Compiles and runs a program on a device, and returns the time in milliseconds.
static Expected<double> tryProgram(runtime::Device &device) {
  constexpr const char *text = "#cpu = #weft.device<cpu>\n"
                               "weft.func @probe(%x: tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {\n"
                               "  %0 = weft.add %x, %x : tensor<8xf32, #cpu>\n"
                               "  %1 = weft.exp %0 : tensor<8xf32, #cpu>\n"
                               "  weft.return %1 : tensor<8xf32, #cpu>\n"
                               "}\n";
  const auto start = std::chrono::steady_clock::now();
  Program program;
  auto parsed = ir::parseModule(program.context, text, "probe.mlir");
  if (!parsed)
    return parsed.status();
  ir::CompilerOptions options;
  runtime::DeviceMap devices;
  if (!device.is_host()) {
    options.target = "cpu+" + std::string(device.code());
    options.devices = "cuda:0";
    devices.emplace(options.devices, &device);
  }
  auto compiled = codegen::compileModule(**parsed, options);
  if (!compiled)
    return compiled.status();
  auto package = runtime::Package::from_memory(std::move(compiled->package));
  if (!package)
    return package.status();
  auto executable = runtime::Executable::load(*package, "probe", nullptr, devices);
  if (!executable)
    return executable.status();
  constexpr size_t count = 8;
  std::array<float, count> values = {};
  auto argument = runtime::Buffer::allocate(sizeof values, 0, device);
  if (!argument)
    return argument.status();
  if (Status status = (*argument)->write(0, std::as_bytes(std::span(values))); !status)
    return status;
  std::shared_ptr<runtime::Buffer> arguments[] = {*argument}, results[1];
  if (Status status = (*executable)->run(arguments, results); !status)
    return status;
  if (Status status = results[0]->wait(); !status)
    return status;
  if (Status status = results[0]->read(0, std::as_writable_bytes(std::span(values))); !status)
    return status;
  for (const float value : values)
    if (value != 1)
      return Status::error("exp(0 + 0) came out as " + std::to_string(value));
  return codegen::millisecondsSince(start);
}

static void checkProgram(Report &report, runtime::Device &device) {
  char time[32];
  const auto milliseconds = tryProgram(device);
  const std::string where = device.is_host() ? "" : " on " + device.name();
  if (!milliseconds)
    return report.problem("a program", "failed" + where + ": " + milliseconds.status().message(),
                          "see the message; the lines above may say why");
  std::snprintf(time, sizeof time, "%.0f ms", *milliseconds);
  report.good("a program", "was compiled and run" + where + " in " + time);
}

/// The driver, each of its devices, and the libraries that compile and compute for them. Returns a device on
/// which a program can be tried, or null.
static runtime::Device *checkCuda(Report &report) {
  const runtime::Driver &driver = runtime::driver();
  if (driver.table)
    report.good("driver", driver.text());
  else
    report.note("driver", driver.text());
  runtime::Device *first = nullptr;
  for (int i = 0; driver.table && i < driver.devices; ++i) {
    const std::string name = "cuda:" + std::to_string(i);
    const auto device = runtime::open_device(name);
    if (device) {
      report.good(name.c_str(), gpuText(i));
      const std::string refusal = (*device)->refuses_loops();
      if (refusal.empty())
        report.good("loops", "graphs of " + name + " decide on while loops and conditions");
      else
        report.note("loops", "the host decides on while loops and conditions on " + name + ": " + refusal);
    } else
      report.problem(name.c_str(), device.status().message(),
                     "check what nvidia-smi shows, or use the device cpu");
    if (device && !first)
      first = *device;
  }
  const auto nvrtc = codegen::Nvrtc::get();
  if (nvrtc)
    report.good("nvrtc", "version " + (*nvrtc)->version() + " in '" + (*nvrtc)->path() +
                             "': `weft kernels` shows code for CUDA devices");
  else
    report.note("nvrtc", nvrtc.status().message());
  if (const runtime::CublasLt cublasLt = runtime::cublas_lt(); cublasLt.table)
    report.good("cublaslt", cublasLt.text());
  else
    report.note("cublaslt", cublasLt.text());
  return nvrtc ? first : nullptr;
}

static void checkCache(Report &report) {
  const auto options = codegen::KernelCache::Options::fromEnvironment();
  if (options.directory.empty())
    return report.note("cache", "no kernels are kept on disk: WEFT_CACHE=0, or no HOME");
  const auto state = codegen::KernelCache::inspect(options);
  std::string found = "'" + options.directory + "' has " + std::to_string(state.entries) + " kernels, " +
                      sizeText(state.bytes) + " of " + sizeText(options.maxBytes);
  struct statvfs disk;
  if (::statvfs(options.directory.c_str(), &disk) == 0)
    found += "; " + sizeText(static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize) + " of the disk are free";
  if (state.problem.empty())
    return report.good("cache", found);
  report.problem("cache", "kernels are compiled anew in every process: " + state.problem,
                 "set WEFT_CACHE_DIR to a folder that can be written, or WEFT_CACHE=0");
}

static void checkEnvironment(Report &report) {
  std::string list;
  for (char **entry = environ; *entry; ++entry) {
    llvm::StringRef name = llvm::StringRef(*entry).split('=').first;
    if (!name.starts_with("WEFT_"))
      continue;
    if (llvm::is_contained(knownVariables, name)) {
      list += (list.empty() ? "" : " ") + std::string(*entry);
      continue;
    }
    const char *nearest = *llvm::min_element(knownVariables, [&](const char *a, const char *b) {
      return name.edit_distance(a) < name.edit_distance(b);
    });
    report.note("environment", "nothing of Weft reads " + name.str() +
                                   "; the nearest variable that there is is " + std::string(nearest));
  }
  report.good("environment", list.empty() ? "no variable of Weft is set" : list);
}

int versionCommand() {
  const auto text = [](int version) { return version ? runtime::cuda_version_text(version) : "none"; };
  const auto nvrtc = codegen::Nvrtc::get();
  const runtime::CublasLt products = runtime::cublas_lt();
  std::printf("weft %s\nllvm %s\n%s\nbuilt with cuda %s\ncuda driver %s\nnvrtc %s\ncublaslt %s\n",
              weft_version(), LLVM_VERSION_STRING, runtime::Contraction::library().c_str(),
              text(runtime::cuda_build_version()).c_str(), text(runtime::driver().version).c_str(),
              nvrtc ? (*nvrtc)->version().c_str() : "none",
              products.version ? std::to_string(products.version).c_str() : "none");
  return 0;
}

int doctorCommand(int argc, char **argv) {
  const char *help = R"(usage: weft doctor

Says what Weft finds on this machine: processor, threads, memory, libraries, the folder of compiled kernels and its
state, CUDA, the environment; then compiles a program and runs it, also on a GPU if there is one. The exit code is 1 if
there is a problem.

example: weft doctor
)";
  Arguments arguments;
  if (auto code = beginCommand("doctor", help, argc, argv, {}, arguments, 0))
    return *code;
  Report report;
  const runtime::CpuLevel level = runtime::cpu_level();
  const std::string processor = processorName() + ", " + std::string(runtime::name(level));
  if (level == runtime::CpuLevel::baseline)
    report.problem("processor", processor + " (WEFT-L010)", "use a processor with AVX2 at least");
  else
    report.good("processor", processor + (level == runtime::CpuLevel::v4 ? " (AVX-512)" : " (AVX2)"));
  report.good("threads", std::to_string(runtime::executor().width()) + " on " +
                             std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " processors");
  // A wrong WEFT_ALLOC_CONF is reported by the first allocation.
  if (auto probe = runtime::Buffer::allocate(64); !probe)
    report.problem("memory", probe.status().message(), "correct WEFT_ALLOC_CONF, or unset it");
  else
    report.good("memory", sizeText(machineMemory()) + ", of which Weft takes at most " +
                              sizeText(std::min(machineMemory(), runtime::CachingAllocator::get().limit())));
  report.good("libraries", runtime::Contraction::library() + ", LLVM " LLVM_VERSION_STRING);
  if (const runtime::Lapack &library = runtime::lapack(); library.ready)
    report.good("lapack", library.text());
  else
    report.note("lapack", library.text());
  checkCache(report);
  runtime::Device *gpu = checkCuda(report);
  checkEnvironment(report);
  checkProgram(report, runtime::host_device());
  if (gpu)
    checkProgram(report, *gpu);
  std::printf("%d problem%s\n", report.problems, report.problems == 1 ? "" : "s");
  return report.problems ? 1 : 0;
}

} // namespace weft::tool
