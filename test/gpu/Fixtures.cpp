//===- Fixtures.cpp - What a device answers -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/gpu/Fixtures.h"

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/DriverTable.h"
#include "runtime/cuda/device/Devices.h"
#include "runtime/device/Device.h"
#include "runtime/gemm/Contraction.h"
#include "runtime/support/JsonText.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

namespace weft::testing {
namespace {

using runtime::DriverTable;

const DriverTable &table() { return *runtime::driver().table; }

std::string name_of(CUresult code) {
  const char *name = nullptr;
  return table().cuGetErrorName(code, &name) == CUDA_SUCCESS && name ? name : std::to_string(code);
}

/// Whether a call went well; the first that does not is the error of the fixtures.
class Checked {
public:
  void operator()(CUresult code, const char *what) {
    if (code != CUDA_SUCCESS && status_.ok())
      status_ = Status::error(std::string(what) + ": " + name_of(code));
  }
  const Status &status() const { return status_; }

private:
  Status status_;
};

/// A kernel `k` with one address as its parameter.
std::string kernel_text(const std::string &body, const std::string &variables = "") {
  return ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n" + variables +
         ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .f32 %f<16>;\n.reg .b64 %q<16>;\n"
         ".reg .b64 %a;\nld.param.u64 %a, [p];\n" +
         body + "\nret;\n}\n";
}

struct Launch {
  std::array<unsigned, 3> grid = {1, 1, 1}, block = {32, 1, 1};
  unsigned shared = 0;
};

CUresult launch(CUfunction function, CUdeviceptr argument, const Launch &how, CUstream stream) {
  CUlaunchConfig config = {};
  config.gridDimX = how.grid[0], config.gridDimY = how.grid[1], config.gridDimZ = how.grid[2];
  config.blockDimX = how.block[0], config.blockDimY = how.block[1], config.blockDimZ = how.block[2];
  config.sharedMemBytes = how.shared;
  config.hStream = stream;
  void *parameters[] = {&argument};
  return table().cuLaunchKernelEx(&config, function, parameters, nullptr);
}

CUresult load(const std::string &text, CUfunction &function) {
  CUmodule module = nullptr;
  const CUresult code = table().cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr);
  return code == CUDA_SUCCESS ? table().cuModuleGetFunction(&function, module, "k") : code;
}

/// The primary context of a device, current on this thread.
Status enter(int ordinal) {
  Checked check;
  CUdevice device = 0;
  CUcontext context = nullptr;
  check(table().cuDeviceGet(&device, ordinal), "cuDeviceGet");
  check(table().cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(table().cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return check.status();
}

std::string attributes_of(int ordinal) {
  CUdevice device = 0;
  std::string text;
  if (table().cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
    return text;
  for (int number = 1; number < CU_DEVICE_ATTRIBUTE_MAX; ++number)
    if (int value = 0;
        table().cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(number), device) == CUDA_SUCCESS)
      text += (text.empty() ? "\"" : ", \"") + std::to_string(number) + "\": " + std::to_string(value);
  return text;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// An instruction reads %f1 and %f2, or the same words, %r3 and %r4, and its result is in %r2.
constexpr const char *ofOneFloat[] = {
    "ex2.approx.f32",   "ex2.approx.ftz.f32",   "rcp.approx.f32",  "rcp.approx.ftz.f32", "rcp.rn.f32",
    "rsqrt.approx.f32", "rsqrt.approx.ftz.f32", "sqrt.approx.f32", "sqrt.rn.f32",        "cvt.rni.f32.f32",
    "cvt.rmi.f32.f32",  "cvt.rpi.f32.f32",      "cvt.rzi.f32.f32", "cvt.sat.f32.f32"};
constexpr const char *toWords[] = {"cvt.rzi.s32.f32", "cvt.rzi.u32.f32", "cvt.rni.s32.f32"};
constexpr const char *ofTwoFloats[] = {"add.rn.f32",   "add.rn.ftz.f32", "mul.rn.f32", "div.rn.f32",
                                       "div.full.f32", "min.f32",        "max.f32",    "copysign.f32"};
constexpr const char *ofTwoPairs[] = {"add.rn.f16x2", "mul.rn.f16x2"};

/// Operands: the numbers where instructions differ, and words of a simple generator.
std::vector<uint32_t> words_of(const std::string &like) {
  std::ifstream file(like);
  const std::string json((std::istreambuf_iterator<char>(file)), {});
  std::vector<uint32_t> words;
  const std::string key = "\"inputs\": \"";
  if (size_t at = json.find(key); !like.empty() && at != std::string::npos) {
    const size_t end = json.find('"', at += key.size());
    for (; at + 8 <= end; at += 8)
      words.push_back(static_cast<uint32_t>(std::stoul(json.substr(at, 8), nullptr, 16)));
    return words;
  }
  for (const uint32_t word : {0x0u, 0x1u, 0x7fffffu, 0x800000u, 0x33800000u, 0x3effffffu, 0x3f000000u,
                              0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x40490fdbu, 0x7f7fffffu})
    for (const uint32_t sign : {0u, 0x80000000u})
      words.push_back(word | sign);
  uint32_t word = 1;
  for (const uint32_t special : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u})
    words.push_back(special);
  while (words.size() < 256)
    words.push_back(word = word * 1664525u + 1013904223u);
  return words;
}

/// What an instruction gives for each pair of words.
Expected<std::vector<uint32_t>> results_of(const std::string &instruction, const std::vector<uint32_t> &a,
                                           const std::vector<uint32_t> &b) {
  const auto count = static_cast<uint32_t>(a.size());
  const std::string text = kernel_text(
      "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r0, %r1, 32, %r0;\nsetp.ge.u32 %p0, %r0, " +
      std::to_string(count) +
      ";\n@%p0 ret;\ncvta.to.global.u64 %a, %a;\nmul.wide.u32 %q0, %r0, 8;\n"
      "add.u64 %q0, %a, %q0;\nld.global.v2.f32 {%f1, %f2}, [%q0];\nmov.b32 %r3, %f1;\nmov.b32 %r4, %f2;\n" +
      instruction + "\nmul.wide.u32 %q1, %r0, 4;\nadd.u64 %q1, %a, %q1;\nst.global.u32 [%q1+" +
      std::to_string(8 * count) + "], %r2;");
  std::vector<uint32_t> data, found(count);
  for (size_t i = 0; i < count; ++i)
    data.insert(data.end(), {a[i], b[i]});
  data.resize(data.size() + count);
  const size_t bytes = data.size() * sizeof(uint32_t);
  Checked check;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;
  check(load(text, function), instruction.c_str());
  check(table().cuMemAlloc(&memory, bytes), "cuMemAlloc");
  if (!check.status().ok())
    return check.status();
  check(table().cuMemcpyHtoDAsync(memory, data.data(), bytes, nullptr), "cuMemcpyHtoDAsync");
  check(launch(function, memory, {.grid = {(count + 31) / 32, 1, 1}}, nullptr), "cuLaunchKernelEx");
  check(table().cuMemcpyDtoHAsync(found.data(), memory + uint64_t(8) * count, found.size() * sizeof(uint32_t),
                                  nullptr),
        "cuMemcpyDtoHAsync");
  check(table().cuCtxSynchronize(), "cuCtxSynchronize");
  check(table().cuMemFree(memory), "cuMemFree");
  return check.status().ok() ? Expected<std::vector<uint32_t>>(std::move(found)) : check.status();
}

std::string hex(const std::vector<uint32_t> &words) {
  std::string text;
  char digits[16];
  for (const uint32_t word : words) {
    std::snprintf(digits, sizeof digits, "%08x", word);
    text += digits;
  }
  return text;
}

/// The JSON of a group of instructions.
Status write_group(const char *group, const std::vector<std::pair<std::string, std::string>> &instructions,
                   const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  std::printf(",\n  \"%s\": {", group);
  for (size_t i = 0; i < instructions.size(); ++i) {
    const auto &[name, text] = instructions[i];
    const auto results = results_of(text, a, b);
    if (!results)
      return results.status();
    std::printf("%s\n   \"%s\": \"%s\"", i ? "," : "", name.c_str(), hex(*results).c_str());
  }
  std::printf("}");
  return {};
}

Status write_vectors(const std::string &like) {
  const std::vector<uint32_t> inputs = words_of(like);
  if (inputs.size() < 24)
    return Status::error("'" + like + "' has no inputs of instructions");
  std::vector<std::pair<std::string, std::string>> one, two;
  for (const std::string name : ofOneFloat)
    one.emplace_back(name, name + " %f3, %f1;\nmov.b32 %r2, %f3;");
  for (const std::string name : toWords)
    one.emplace_back(name, name + " %r2, %f1;");
  for (const std::string name : ofTwoFloats)
    two.emplace_back(name, name + " %f3, %f1, %f2;\nmov.b32 %r2, %f3;");
  for (const std::string name : ofTwoPairs)
    two.emplace_back(name, name + " %r2, %r3, %r4;");
  std::vector<uint32_t> a, b;
  for (size_t i = 0; i < 24; ++i)
    for (size_t j = 0; j < 24; ++j) {
      a.push_back(inputs[i]);
      b.push_back(inputs[j]);
    }
  std::printf("\"vectors\": {\n  \"inputs\": \"%s\"", hex(inputs).c_str());
  if (Status status = write_group("of_one", one, inputs, inputs); !status)
    return status;
  if (Status status = write_group("of_two_of_the_first_24", two, a, b); !status)
    return status;
  std::printf("}");
  return {};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A product that cuBLASLt is asked for, with its name in test/cudasim/calibration/matmul.cu.
struct Product {
  const char *name;
  int64_t m, n, k, batch = 1;
  bool a_transposed = false, b_transposed = false;
  uint32_t a_alignment = 256; ///< bytes that divide the address of A
  int64_t gap = 0;            ///< elements between rows of A and of C
  bool bias = false;

  runtime::ContractionShape shape(DType dtype) const {
    runtime::ContractionShape made;
    made.dtype = dtype;
    made.batch = batch, made.m = m, made.n = n, made.k = k;
    const int64_t a_row = (a_transposed ? m : k) + gap, c_row = n + gap;
    made.a_strides = {(a_transposed ? k : m) * a_row, a_row, 1};
    if (a_transposed)
      std::swap(made.a_strides[1], made.a_strides[2]);
    made.b_strides = {k * n, n, 1};
    if (b_transposed)
      made.b_strides = {k * n, 1, k};
    made.c_strides = {m * c_row, c_row, 1};
    if (batch == 1)
      made.a_strides[0] = made.b_strides[0] = made.c_strides[0] = 0;
    made.bias = bias;
    return made;
  }
};

constexpr Product products[] = {
    {"128 x 512 x 784", 128, 512, 784},
    {"128 x 512 x 784, B transposed", 128, 512, 784, 1, false, true},
    {"17 x 19 x 23", 17, 19, 23},
    {"17 x 19 x 23, B transposed", 17, 19, 23, 1, false, true},
    {"512 x 512 x 512", 512, 512, 512},
    {"512 x 512 x 512, B transposed", 512, 512, 512, 1, false, true},
    {"128 x 256 x 512, B transposed", 128, 256, 512, 1, false, true},
    {"128 x 10 x 256, B transposed", 128, 10, 256, 1, false, true},
    {"128 x 784 x 512", 128, 784, 512},
    {"512 x 784 x 128, A transposed", 512, 784, 128, 1, true},
    {"2048 x 384 x 128, B transposed", 2048, 384, 128, 1, false, true},
    {"2048 x 128 x 512, B transposed", 2048, 128, 512, 1, false, true},
    {"128 x 128 x 32, batch 64, B transposed", 128, 128, 32, 64, false, true},
    {"128 x 32 x 128, batch 64", 128, 32, 128, 64},
    {"4096 x 4096 x 4096", 4096, 4096, 4096},
    {"1 x 4096 x 4096, B transposed", 1, 4096, 4096, 1, false, true},
    {"1000 x 1000 x 1000", 1000, 1000, 1000},
    {"512 x 512 x 512, A 8 bytes off", 512, 512, 512, 1, false, false, 8},
    // What no device has been asked yet.
    {"4096 x 1 x 4096", 4096, 1, 4096},
    {"512 x 512 x 1", 512, 512, 1},
    {"128 x 512 x 784, both transposed", 128, 512, 784, 1, true, true},
    {"128 x 512 x 784, rows with gaps of 8", 128, 512, 784, 1, false, false, 256, 8},
    {"127 x 511 x 783, rows with gaps of 1", 127, 511, 783, 1, false, false, 256, 1},
    {"128 x 128 x 32, batch 64, A transposed", 128, 128, 32, 64, true},
    {"128 x 512 x 784, bias", 128, 512, 784, 1, false, false, 256, 0, true},
    {"17 x 19 x 23, bias", 17, 19, 23, 1, false, false, 256, 0, true},
};

/// What the device's cuBLASLt is asked, and proposes.
Status write_products(int ordinal) {
  const Expected<runtime::Device *> device = runtime::cuda_device(ordinal);
  if (!device)
    return device.status();
  std::printf("\"answers\": [");
  bool first = true;
  for (const DType dtype : {f32, f64, f16, bf16})
    for (const Product &product : products) {
      const auto found = (*device)->contraction(product.shape(dtype), {"cublaslt", 0, int64_t(32) << 20},
                                                {product.a_alignment, 256, 256, 256});
      if (!found)
        return found.status();
      std::printf(
          "%s\n  {\"type\": \"%s\", \"product\": \"%s\", \"status\": %d, \"implementation\": %s, "
          "\"algorithms\": %zu}",
          first ? "" : ",", std::string(name(dtype)).c_str(), product.name, found->contraction ? 0 : 15,
          runtime::json_string(found->contraction ? found->contraction->implementation() : found->refusal)
              .c_str(),
          found->candidates ? found->candidates->algorithms.size() : 0);
      first = false;
    }
  std::printf("]");
  return {};
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

/// A launch that fails, or is refused, by its name in test/cudasim/calibration/driver.cu.
struct Fault {
  const char *name;
  std::string text;
  Launch how;
};

std::vector<Fault> faults() {
  const std::string touch = kernel_text(
      "mov.u32 %r0, %tid.x;\nmul.wide.u32 %q0, %r0, 4;\nadd.u64 %q0, %q0, %a;\nst.global.u32 [%q0], 1;");
  const std::string store = "st.global.u32 [%q0], 1;";
  return {{"none", touch, {}},
          {"write far outside of any allocation",
           kernel_text("mov.u64 %q0, 0x7f0000000000;\n" + store),
           {.block = {1, 1, 1}}},
          {"write near address 0", kernel_text("mov.u64 %q0, 16;\n" + store), {.block = {1, 1, 1}}},
          {"misaligned write", kernel_text("add.u64 %q0, %a, 2;\n" + store), {.block = {1, 1, 1}}},
          {"trap", kernel_text("trap;"), {.block = {1, 1, 1}}},
          {"block of 2048 threads", touch, {.block = {2048, 1, 1}}},
          {"block of 1024 x 2", touch, {.block = {1024, 2, 1}}},
          {"shared memory of 64 KiB without opting in", touch, {.shared = 65536}},
          {"shared memory of 1 MiB", touch, {.shared = 1 << 20}},
          {"grid y of 65536", touch, {.grid = {1, 65536, 1}, .block = {1, 1, 1}}},
          {"grid x of 0", touch, {.grid = {0, 1, 1}, .block = {1, 1, 1}}}};
}

/// What a device has before a fault.
struct Scene {
  CUdeviceptr buffer = 0;
  CUstream side = nullptr;
  CUevent event = nullptr;
  CUfunction touch = nullptr, faulty = nullptr;
  void *pinned = nullptr;
  CUgraphExec ready = nullptr;

  Status prepare(int ordinal, const Fault &fault) {
    if (Status status = enter(ordinal); !status)
      return status;
    Checked check;
    CUgraph graph = nullptr;
    check(table().cuMemAlloc(&buffer, 1 << 20), "cuMemAlloc");
    check(table().cuStreamCreateWithPriority(&side, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreateWithPriority");
    check(table().cuMemHostAlloc(&pinned, 1 << 20, 0), "cuMemHostAlloc");
    check(table().cuEventCreate(&event, 0), "cuEventCreate");
    check(load(faults()[0].text, touch), "cuModuleLoadDataEx");
    check(load(fault.text, faulty), "cuModuleLoadDataEx");
    check(table().cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
    check(launch(touch, buffer, {}, side), "cuLaunchKernelEx");
    check(table().cuStreamEndCapture(side, &graph), "cuStreamEndCapture");
    check(table().cuGraphInstantiate(&ready, graph, 0), "cuGraphInstantiate");
    return check.status();
  }
};

} // namespace

int cause_fault(int ordinal, size_t number) {
  const std::vector<Fault> all = faults();
  if (number >= all.size())
    return 2;
  Scene scene;
  if (Status status = scene.prepare(ordinal, all[number]); !status) {
    std::fprintf(stderr, "weft-gpu-check: %s\n", status.message().c_str());
    return 1;
  }
  // Printed as it comes: a call may end the process.
  std::printf("{\"fault\": \"%s\"", all[number].name);
  const auto add = [](const char *name, CUresult code) {
    std::printf(", \"%s\": \"%s\"", name, name_of(code).c_str());
    std::fflush(stdout);
  };
  const DriverTable &t = table();
  add("launch", launch(scene.faulty, scene.buffer, all[number].how, scene.side));
  (void)t.cuEventRecord(scene.event, scene.side);
  add("cuStreamSynchronize", t.cuStreamSynchronize(scene.side));
  add("again", t.cuStreamSynchronize(scene.side));
  add("cuEventQuery", t.cuEventQuery(scene.event));
  add("cuStreamQuery, legacy", t.cuStreamQuery(nullptr));
  add("cuCtxSynchronize", t.cuCtxSynchronize());
  add("next launch", launch(scene.touch, scene.buffer, {}, scene.side));
  CUdeviceptr memory = 0;
  add("cuMemAlloc", t.cuMemAlloc(&memory, 1 << 20));
  add("cuMemcpyDtoHAsync", t.cuMemcpyDtoHAsync(scene.pinned, scene.buffer, 64, scene.side));
  CUfunction loaded = nullptr;
  add("cuModuleLoadData", load(all[0].text, loaded));
  add("cuGraphLaunch", t.cuGraphLaunch(scene.ready, scene.side));
  size_t free = 0, total = 0;
  add("cuMemGetInfo", t.cuMemGetInfo(&free, &total));
  CUmemorytype type = {};
  add("cuPointerGetAttribute",
      t.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, scene.buffer));
  CUstream stream = nullptr;
  add("cuStreamCreate", t.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  add("cuMemFree", t.cuMemFree(scene.buffer));
  add("cuStreamDestroy", t.cuStreamDestroy(scene.side));
  std::printf("}\n");
  return 0;
}

Status write_fixtures(int ordinal, const std::string &like, const std::string &program) {
  const auto properties = runtime::cuda_properties(ordinal);
  if (!properties)
    return properties.status();
  std::printf("{\"device\": %s,\n\"capability\": %d,\n\"driver\": %d,\n\"memory_bytes\": %llu,\n"
              "\"attributes\": {%s},\n",
              runtime::json_string(properties->name).c_str(), properties->capability,
              runtime::driver().version, static_cast<unsigned long long>(properties->memory_bytes),
              attributes_of(ordinal).c_str());
  std::printf("\"calls_after_a_fault\": [\n");
  for (size_t i = 0; i < faults().size(); ++i) {
    std::fflush(stdout);
    const std::string command =
        "'" + program + "' --fault=" + std::to_string(i) + " cuda:" + std::to_string(ordinal);
    std::FILE *const pipe = ::popen(command.c_str(), "r");
    std::string line;
    char part[4096];
    while (pipe && std::fgets(part, sizeof part, pipe))
      line += part;
    if (!pipe || ::pclose(pipe) != 0 || !line.starts_with("{"))
      return Status::error(command + " failed");
    std::printf("%s%s", i ? "," : "", line.c_str());
  }
  std::printf("],\n");
  if (Status status = write_products(ordinal); !status)
    return status;
  std::printf(",\n");
  if (Status status = enter(ordinal); !status)
    return status;
  if (Status status = write_vectors(like); !status)
    return status;
  std::printf("}\n");
  return {};
}

} // namespace weft::testing
