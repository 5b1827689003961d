//===- GpuCheck.cpp - Packages on a GPU, beside the host ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs each function of each package of a folder on a CUDA device and on the host, with the same arguments,
// and writes one JSON: how far results differ, whether calls as launches and as graphs have the same bits,
// how long a call takes, and what that is of a copy's bandwidth. A package with a file of recorded arguments
// and results beside it (RecordedCase.h) is compared with these. It needs a driver, the runtime and the
// packages, and neither a compiler nor NVRTC: scripts/gpu-check packs all of them.
//
//   weft-gpu-check FOLDER [DEVICE]              DEVICE is cuda:0 if it is left out
//   weft-gpu-check --fixtures [DEVICE [LIKE]]   writes what the device answers (Fixtures.h)
//
// It exits with 1 if something differs or fails.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/device/Devices.h"
#include "runtime/execution/NamedDevices.h"
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/memory/Layout.h"
#include "runtime/package/Package.h"
#include "runtime/queue/Buffer.h"
#include "runtime/support/DeviceName.h"
#include "runtime/support/JsonText.h"
#include "test/gpu/Fixtures.h"
#include "test/gpu/RecordedCase.h"
#include "test/unit/codegen/Elements.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

using namespace weft;
using namespace weft::runtime;

namespace {

using weft::testing::Elements;
using weft::testing::RecordedCase;
using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What a dtype can be off by in a reduction, as a share of the largest element.
double bound_of(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return 1e-2;
  case DType::bf16:
    return 5e-2;
  case DType::f32:
    return 1e-4;
  case DType::f64:
    return 1e-10;
  default:
    return 0;
  }
}

/// The largest difference as a share of the largest element; infinite if NaN or infinities differ, or
/// integers.
double difference(DType dtype, const Bytes &found, const Bytes &expected) {
  if (bound_of(dtype) == 0)
    return found == expected ? 0 : INFINITY;
  Elements ours(dtype, 0), theirs(dtype, 0);
  ours.bytes = found;
  theirs.bytes = expected;
  double largest = 0, off = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(theirs.count()); ++i) {
    const double a = ours.real(i), b = theirs.real(i);
    if (std::isnan(a) && std::isnan(b))
      continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b)
        return INFINITY;
      continue;
    }
    largest = std::max(largest, std::abs(b));
    off = std::max(off, std::abs(a - b));
  }
  return off == 0 ? 0 : off / std::max(largest, 1e-30);
}

/// Numbers from -1 to 1, or 0 and 1 as integers, which are indices too.
Bytes random_value(const TensorInfo &type, std::mt19937_64 &engine) {
  Elements made(type.dtype, type.bytes / itemsize(type.dtype));
  std::uniform_real_distribution<double> real(-1, 1);
  for (size_t i = 0; i < made.count(); ++i)
    if (is_floating_point(type.dtype))
      made.putReal(static_cast<int64_t>(i), real(engine));
    else
      made.bytes[i * itemsize(type.dtype)] = std::byte(real(engine) > 0);
  return made.bytes;
}

/// A function on one device.
struct Runner {
  std::shared_ptr<Executable> executable;

  Expected<std::vector<std::shared_ptr<Buffer>>> arguments(const std::vector<Bytes> &values) const {
    std::vector<std::shared_ptr<Buffer>> made;
    for (size_t i = 0; i < values.size(); ++i) {
      Expected<std::shared_ptr<Buffer>> buffer =
          Buffer::allocate(values[i].size(), 0, executable->argument_device(i));
      if (!buffer)
        return buffer.status();
      if (Status status = (*buffer)->write(0, values[i]); !status)
        return status;
      made.push_back(*std::move(buffer));
    }
    return made;
  }

  /// One call with fresh arguments: the bytes of all results.
  Expected<std::vector<Bytes>> call(const std::vector<Bytes> &values) const {
    const auto given = arguments(values);
    if (!given)
      return given.status();
    std::vector<std::shared_ptr<Buffer>> results(executable->signature().results.size());
    if (Status status = executable->run(*given, results); !status)
      return status;
    std::vector<Bytes> found;
    for (const std::shared_ptr<Buffer> &result : results) {
      if (Status status = result->wait(true); !status)
        return status;
      Bytes &bytes = found.emplace_back(result->bytes());
      if (Status status = result->read(0, bytes); !status)
        return status;
    }
    return found;
  }

  /// Seconds of a call in a loop that waits at its end.
  Expected<double> time(const std::vector<Bytes> &values, int calls) const {
    const auto given = arguments(values);
    if (!given)
      return given.status();
    std::vector<std::shared_ptr<Buffer>> results(executable->signature().results.size());
    Clock::time_point begin;
    for (int i = -5; i < calls; ++i) { // the first ones make the graph
      if (i == 0)
        begin = Clock::now();
      if (Status status = executable->run(*given, results); !status)
        return status;
      if (i == -1 || i + 1 == calls)
        for (const std::shared_ptr<Buffer> &result : results)
          if (Status status = result->wait(true); !status)
            return status;
    }
    return seconds_since(begin) / calls;
  }
};

struct Report {
  bool good = true;
  std::string text;
};

/// Compares a function on the device and on the host.
Status check(const std::shared_ptr<const Package> &package, const std::string &function,
             const std::string &device, double copy_rate, Report &report) {
  Runner host, gpu;
  for (const auto &[runner, where] : {std::pair(&host, std::string("cpu")), std::pair(&gpu, device)}) {
    const Expected<DeviceMap> map = open_named_devices(*package, function, where);
    if (!map)
      return map.status();
    Expected<std::shared_ptr<Executable>> loaded = Executable::load(package, function, nullptr, *map);
    if (!loaded)
      return loaded.status();
    runner->executable = *std::move(loaded);
  }
  const Signature &signature = gpu.executable->signature();
  if (!signature.symbols.empty())
    return Status::error("has sizes that a call chooses");
  std::mt19937_64 engine(1);
  std::vector<Bytes> values;
  for (const ArgumentInfo &argument : signature.arguments)
    values.push_back(random_value(argument.type, engine));
  const auto expected = host.call(values);
  if (!expected)
    return expected.status().context("on the host: ");
  const auto launches = gpu.call(values);
  if (!launches)
    return launches.status();
  double worst = 0;
  bool within = true, equal = true;
  for (size_t i = 0; i < expected->size(); ++i) {
    const DType dtype = signature.results[i].type.dtype;
    const double off = difference(dtype, (*launches)[i], (*expected)[i]);
    worst = std::max(worst, off);
    within &= off <= bound_of(dtype);
  }
  for (int call = 0; call < 4; ++call) { // of which the last ones are graphs
    const auto again = gpu.call(values);
    if (!again)
      return again.status();
    equal &= *again == *launches;
  }
  const Expected<double> seconds = gpu.time(values, 50);
  if (!seconds)
    return seconds.status();
  uint64_t bytes = 0;
  for (const ArgumentInfo &argument : signature.arguments)
    bytes += argument.type.bytes;
  for (const ResultInfo &result : signature.results)
    bytes += result.type.bytes;
  char line[256];
  std::snprintf(line, sizeof line,
                "\"difference\": %.3g, \"within\": %s, \"graphs_equal\": %s, \"launches\": %zu, "
                "\"us_per_call\": %.2f, \"share_of_copy\": %.3f",
                std::isfinite(worst) ? worst : 1e300, within ? "true" : "false", equal ? "true" : "false",
                gpu.executable->launch_count(), *seconds * 1e6,
                copy_rate > 0 ? static_cast<double>(bytes) / *seconds / copy_rate : 0);
  report.text = line;
  report.good = within && equal;
  return {};
}

/// The elements in the argument's memory, which may have strides.
Bytes in_memory(const TensorInfo &type, const Bytes &packed) {
  if (type.strides.empty())
    return packed;
  Bytes memory(type.bytes);
  scatter(type.shape, type.strides, itemsize(type.dtype), packed.data(), memory.data());
  return memory;
}

/// The first element of a result that is off by more than it may be; empty if there is none.
std::string mismatch(const RecordedCase::Result &expected, const Bytes &found) {
  if (found.size() != expected.bytes.size())
    return "has " + std::to_string(found.size()) + " bytes, expected " +
           std::to_string(expected.bytes.size());
  Elements ours(expected.dtype, 0), theirs(expected.dtype, 0);
  ours.bytes = found;
  theirs.bytes = expected.bytes;
  const size_t item = itemsize(expected.dtype);
  for (size_t i = 0; i < expected.error.size(); ++i) {
    if (!(expected.error[i] < INFINITY))
      continue;
    bool inside = std::memcmp(&found[i * item], &expected.bytes[i * item], item) == 0;
    if (!inside && is_floating_point(expected.dtype)) {
      const double a = ours.real(static_cast<int64_t>(i)), b = theirs.real(static_cast<int64_t>(i));
      inside = std::isnan(b) ? std::isnan(a) : a == b || std::abs(a - b) <= expected.error[i];
    }
    if (!inside)
      return "element " + std::to_string(i) + " is off by more than " + std::to_string(expected.error[i]);
  }
  return "";
}

/// Calls a function on the device with recorded arguments: two calls as launches, and three as a graph.
Status check_recorded(const std::shared_ptr<const Package> &package, const RecordedCase &recorded,
                      const std::string &device, Report &report) {
  const std::vector<std::string> functions = package_functions(*package);
  if (functions.size() != 1)
    return Status::error("has " + std::to_string(functions.size()) + " functions, and one is recorded");
  const Expected<DeviceMap> map = open_named_devices(*package, functions[0], device);
  if (!map)
    return map.status();
  Runner gpu;
  Expected<std::shared_ptr<Executable>> loaded = Executable::load(package, functions[0], nullptr, *map);
  if (!loaded)
    return loaded.status();
  gpu.executable = *std::move(loaded);
  const Signature &signature = gpu.executable->signature();
  std::vector<Bytes> values;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const ArgumentInfo &argument = signature.arguments[i];
    const int64_t state = argument.name.ends_with(".key") ? recorded.key : recorded.counter;
    values.push_back(i < recorded.arguments.size() ? in_memory(argument.type, recorded.arguments[i])
                                                   : Bytes(argument.type.bytes));
    if (i >= recorded.arguments.size()) // the generator's
      std::memcpy(values.back().data(), &state, std::min(values.back().size(), sizeof state));
  }
  std::vector<Bytes> first;
  bool equal = true;
  std::string wrong;
  for (int call = 0; call < 5; ++call) {
    auto found = gpu.call(values);
    if (!found)
      return found.status();
    for (size_t i = 0; call == 0 && i < recorded.results.size() && wrong.empty(); ++i)
      if (const std::string text = mismatch(recorded.results[i], (*found)[i]); !text.empty())
        wrong = "result " + std::to_string(i) + ": " + text;
    for (size_t i = 0; call > 0 && i < recorded.results.size(); ++i)
      equal &= recorded.results[i].varies || (*found)[i] == first[i];
    if (call == 0)
      first = *std::move(found);
  }
  report.good = wrong.empty() && equal;
  report.text = std::string("\"recorded\": true, \"graphs_equal\": ") + (equal ? "true" : "false") +
                (wrong.empty() ? "" : ", \"wrong\": " + json_string(wrong));
  return {};
}

/// Bytes that a copy within the device reads and writes in a second.
Expected<double> copy_rate_of(Device &device, size_t bytes) {
  Expected<std::shared_ptr<Buffer>> from = Buffer::allocate(bytes, 0, device),
                                    to = Buffer::allocate(bytes, 0, device);
  if (!from || !to)
    return from ? to.status() : from.status();
  constexpr int copies = 10;
  Clock::time_point begin;
  for (int i = -1; i < copies; ++i) {
    if (i == 0)
      begin = Clock::now();
    if (Status status =
            device.copy_now((*to)->data(), (*from)->data(), bytes, CopyDirection::device_to_device);
        !status)
      return status;
  }
  return 2.0 * static_cast<double>(bytes) * copies / seconds_since(begin);
}

int fail(const Status &status) {
  std::fprintf(stderr, "weft-gpu-check: %s\n", status.message().c_str());
  return 1;
}

int run(const std::filesystem::path &folder, const std::string &name) {
  const Expected<DeviceName> parsed = parse_device_name(name);
  if (!parsed || !parsed->cuda)
    return fail(Status::error("'" + name + "' is no CUDA device: name one as cuda:0"));
  const int ordinal = parsed->index.value_or(0);
  const Expected<CudaProperties> properties = cuda_properties(ordinal);
  const Expected<Device *> device = cuda_device(ordinal);
  if (!properties || !device)
    return fail(properties ? device.status() : properties.status());
  const size_t copied = std::min<uint64_t>(uint64_t(256) << 20, properties->memory_bytes / 64);
  const Expected<double> rate = copy_rate_of(**device, copied);
  if (!rate)
    return fail(rate.status());
  std::printf(
      "{\"device\": %s, \"capability\": %d, \"driver\": %s, \"copy_gb_per_s\": %.1f, \"functions\": [",
      json_string(properties->name).c_str(), properties->capability,
      json_string(cuda_version_text(driver().version)).c_str(), *rate / 1e9);
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".weft")
      files.push_back(entry.path());
  std::ranges::sort(files);
  int passed = 0, failed = 0;
  for (const std::filesystem::path &file : files) {
    const auto package = Package::open(file.string());
    if (!package)
      return fail(package.status());
    for (const std::string &function : package_functions(**package)) {
      Report report;
      RecordedCase recorded;
      const std::string beside = std::filesystem::path(file).replace_extension(".case").string();
      const bool has_case = std::filesystem::exists(beside);
      const Status status = has_case && !recorded.read(beside)
                                ? Status::error("'" + beside + "' is no recorded case")
                            : has_case ? check_recorded(*package, recorded, name, report)
                                       : check(*package, function, name, *rate, report);
      const bool good = status.ok() && report.good;
      std::printf(
          "%s\n  {\"package\": %s, \"function\": %s, \"passed\": %s, %s}", passed + failed ? "," : "",
          json_string(file.stem().string()).c_str(), json_string(function).c_str(), good ? "true" : "false",
          status.ok() ? report.text.c_str() : ("\"error\": " + json_string(status.message())).c_str());
      std::fflush(stdout);
      ++(good ? passed : failed);
    }
  }
  std::printf("\n], \"passed\": %d, \"failed\": %d}\n", passed, failed);
  return failed || !passed ? 1 : 0;
}

} // namespace

int main(int count, char **arguments) {
  const std::string first = count > 1 ? arguments[1] : "", name = count > 2 ? arguments[2] : "cuda:0";
  const bool fixtures = first == "--fixtures", fault = first.starts_with("--fault=");
  if (count < 2 || count > (fixtures ? 4 : 3)) {
    std::fprintf(stderr,
                 "usage: weft-gpu-check FOLDER [DEVICE]\n       weft-gpu-check --fixtures [DEVICE [LIKE]]\n");
    return 2;
  }
  try {
    if (!fixtures && !fault)
      return run(first, name);
    const Expected<DeviceName> parsed = parse_device_name(name);
    if (!parsed || !parsed->cuda)
      return fail(Status::error("'" + name + "' is no CUDA device: name one as cuda:0"));
    const Driver &found = driver();
    if (found.state != DriverState::ready)
      return fail(Status::error(found.text()));
    const int ordinal = parsed->index.value_or(0);
    if (fault)
      return weft::testing::cause_fault(ordinal, std::stoul(first.substr(first.find('=') + 1)));
    const Status status = weft::testing::write_fixtures(
        ordinal, count > 3 ? arguments[3] : "", std::filesystem::read_symlink("/proc/self/exe").string());
    return status.ok() ? 0 : fail(status);
  } catch (const std::exception &error) {
    return fail(Status::error(error.what()));
  }
}
