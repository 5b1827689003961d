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
#include "runtime/queue/Queue.h"
#include "runtime/support/DeviceName.h"
#include "runtime/support/JsonText.h"
#include "test/gpu/CallTimes.h"
#include "test/gpu/Fixtures.h"
#include "test/gpu/RecordedCase.h"
#include "test/unit/codegen/Elements.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

using namespace weft;
using namespace weft::runtime;

namespace {

using weft::testing::CallTimer;
using weft::testing::CallTimes;
using weft::testing::Elements;
using weft::testing::RecordedCase;
using Bytes = std::vector<std::byte>;
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

/// How far elements differ, as shares of the largest element.
struct Difference {
  double largest = 0;
  double root_mean_square = 0;
};

/// Infinite if NaN or infinities differ, or integers.
Difference difference(DType dtype, const Bytes &found, const Bytes &expected) {
  if (bound_of(dtype) == 0)
    return found == expected ? Difference() : Difference{INFINITY, INFINITY};
  Elements ours(dtype, 0), theirs(dtype, 0);
  ours.bytes = found;
  theirs.bytes = expected;
  double largest = 0, off = 0, squares = 0;
  const auto count = static_cast<int64_t>(theirs.count());
  for (int64_t i = 0; i < count; ++i) {
    const double a = ours.real(i), b = theirs.real(i);
    if (std::isnan(a) && std::isnan(b))
      continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b)
        return {INFINITY, INFINITY};
      continue;
    }
    largest = std::max(largest, std::abs(b));
    off = std::max(off, std::abs(a - b));
    squares += (a - b) * (a - b);
  }
  if (off == 0)
    return {};
  largest = std::max(largest, 1e-30);
  return {off / largest, std::sqrt(squares / static_cast<double>(count)) / largest};
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

  /// What a call costs, and the graph that it launches, if the driver alone launches it. Arguments that the
  /// function updates are the same buffers in each call, as in a training step.
  struct Times {
    CallTimes call;
    std::optional<CallTimes> graph;
  };
  Expected<Times> time(const std::vector<Bytes> &values, Device &device, const CallTimer &timer) const {
    const auto given = arguments(values);
    if (!given)
      return given.status();
    Queue &queue = Queue::current();
    queue.enter();
    const Expected<DeviceStream *> stream = queue.stream(device);
    queue.leave();
    if (!stream)
      return stream.status();
    std::vector<std::shared_ptr<Buffer>> results(executable->signature().results.size());
    CallTimer::forget_graph();
    const Expected<CallTimes> times = timer.time(
        static_cast<CUstream>((*stream)->native()), [&] { return executable->run(*given, results); },
        [&] { return queue.synchronize(); });
    if (!times)
      return times.status();
    // The graph has the addresses of the last call, whose memory is still there.
    const Expected<std::optional<CallTimes>> graph = timer.last_graph();
    if (!graph)
      return graph.status();
    return Times{*times, *graph};
  }
};

struct Report {
  bool good = true;
  std::string text;
};

/// The same values, with each real number moved up or down by one unit in the last place.
Bytes moved(DType dtype, Bytes value, std::mt19937_64 &engine) {
  if (!is_floating_point(dtype))
    return value;
  const size_t item = itemsize(dtype);
  for (size_t at = 0; at + item <= value.size(); at += item) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value[at], item);
    const uint64_t magnitude = bits & ((uint64_t(1) << (8 * item - 1)) - 1);
    // The bits of a larger magnitude are those of a larger integer.
    bits += magnitude == 0 || engine() % 2 ? 1 : -1;
    std::memcpy(&value[at], &bits, item);
  }
  return value;
}

/// How far the results of the device are from those of the host, as a share of the largest element.
struct Differences {
  double worst = 0;       ///< of all results
  double sensitivity = 0; ///< how far rounding of the arguments moves the host's results
  bool within = true;     ///< what each result may be off by
};

/// A program may amplify rounding, as an optimizer's first step g / (|g| + eps) does where g is tiny. So a
/// result may be off by its dtype's bound and by 8 times what one unit in the last place of the arguments
/// changes on the host. That holds for the largest difference and for the root of the mean square, because
/// few elements are amplified so much.
Expected<Differences> compare(const Runner &host, const std::vector<Bytes> &values,
                              const std::vector<Bytes> &found, std::mt19937_64 &engine) {
  constexpr double allowance = 8;
  const Signature &signature = host.executable->signature();
  const auto expected = host.call(values);
  if (!expected)
    return expected.status().context("on the host: ");
  std::vector<Bytes> near;
  for (size_t i = 0; i < values.size(); ++i)
    near.push_back(moved(signature.arguments[i].type.dtype, values[i], engine));
  const auto rounded = host.call(near);
  if (!rounded)
    return rounded.status().context("on the host: ");
  Differences made;
  for (size_t i = 0; i < expected->size(); ++i) {
    const DType dtype = signature.results[i].type.dtype;
    const Difference off = difference(dtype, found[i], (*expected)[i]);
    Difference own = difference(dtype, (*rounded)[i], (*expected)[i]);
    if (!std::isfinite(own.largest)) // of integers, or another NaN: no number says how far it may be off
      own = {};
    made.worst = std::max(made.worst, off.largest);
    made.sensitivity = std::max(made.sensitivity, own.largest);
    made.within &= off.largest <= bound_of(dtype) + allowance * own.largest &&
                   off.root_mean_square <= bound_of(dtype) + allowance * own.root_mean_square;
  }
  return made;
}

/// The members of a function's report that say what a call costs.
Expected<std::string> times_text(const Runner &gpu, const std::vector<Bytes> &values, Device &device,
                                 const CallTimer &timer, double copy_rate) {
  const Signature &signature = gpu.executable->signature();
  const Expected<Runner::Times> times = gpu.time(values, device, timer);
  if (!times)
    return times.status();
  const size_t launches = gpu.executable->launch_count();
  const Expected<CallTimes> empty = timer.empty_graph(launches);
  if (!empty)
    return empty.status();
  uint64_t bytes = 0;
  for (const ArgumentInfo &argument : signature.arguments)
    bytes += argument.type.bytes;
  for (const ResultInfo &result : signature.results)
    bytes += result.type.bytes;
  const auto members = [](const char *of, const CallTimes &found) {
    char text[160];
    std::snprintf(text, sizeof text, ", \"%shost_us_per_call\": %.2f, \"%sdevice_us_per_call\": %.2f", of,
                  found.host, of, found.device);
    return std::string(text);
  };
  char line[160];
  std::snprintf(line, sizeof line, "\"us_per_call\": %.2f, \"share_of_copy\": %.3f", times->call.wall,
                static_cast<double>(bytes) / (times->call.device * 1e-6) / copy_rate);
  return line + members("", times->call) +
         (times->graph ? members("bare_graph_", *times->graph) : std::string()) +
         members("empty_graph_", *empty);
}

/// Compares a function on the device and on the host.
Status check(const std::shared_ptr<const Package> &package, const std::string &function,
             const std::string &name, Device &device, const CallTimer &timer, double copy_rate,
             Report &report) {
  Runner host, gpu;
  for (const auto &[runner, where] : {std::pair(&host, std::string("cpu")), std::pair(&gpu, name)}) {
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
  const auto launches = gpu.call(values);
  if (!launches)
    return launches.status();
  const Expected<Differences> differences = compare(host, values, *launches, engine);
  if (!differences)
    return differences.status();
  bool equal = true;
  for (int call = 0; call < 4; ++call) { // of which the last ones are graphs
    const auto again = gpu.call(values);
    if (!again)
      return again.status();
    equal &= *again == *launches;
  }
  const Expected<std::string> times = times_text(gpu, values, device, timer, copy_rate);
  if (!times)
    return times.status();
  char line[256];
  std::snprintf(line, sizeof line,
                "\"difference\": %.3g, \"sensitivity\": %.3g, \"within\": %s, \"graphs_equal\": %s, "
                "\"launches\": %zu, ",
                std::isfinite(differences->worst) ? differences->worst : 1e300, differences->sensitivity,
                differences->within ? "true" : "false", equal ? "true" : "false",
                gpu.executable->launch_count());
  report.text = line + *times;
  report.good = differences->within && equal;
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

/// Bytes that a copy within the device reads and writes in a second, by the device's events.
Expected<double> copy_rate_of(Device &device, const CallTimer &timer, size_t bytes) {
  Expected<std::shared_ptr<Buffer>> from = Buffer::allocate(bytes, 0, device),
                                    to = Buffer::allocate(bytes, 0, device);
  if (!from || !to)
    return from ? to.status() : from.status();
  const Expected<CallTimes> times = timer.copy((*to)->data(), (*from)->data(), bytes);
  if (!times)
    return times.status();
  return 2.0 * static_cast<double>(bytes) / (times->device * 1e-6);
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
  const auto timer = CallTimer::make(ordinal);
  if (!timer)
    return fail(timer.status());
  const Expected<double> rate = copy_rate_of(**device, **timer, copied);
  if (!rate)
    return fail(rate.status());
  const Expected<CallTimes> launch = (*timer)->empty_launch();
  if (!launch)
    return fail(launch.status());
  std::printf("{\"device\": %s, \"capability\": %d, \"driver\": %s, \"copy_gb_per_s\": %.1f, "
              "\"empty_launch_host_us\": %.2f, \"empty_launch_device_us\": %.2f, \"functions\": [",
              json_string(properties->name).c_str(), properties->capability,
              json_string(cuda_version_text(driver().version)).c_str(), *rate / 1e9, launch->host,
              launch->device);
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
                                       : check(*package, function, name, **device, **timer, *rate, report);
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
