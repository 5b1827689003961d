//===- CudaRawKernelTest.cpp - Kernels that the user wrote ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/Registry.h"
#include "runtime/execution/StatefulExecutable.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/frontend/DeviceTraining.h"

using namespace weft;

namespace {
using weft::test::TemporaryFolder;
using weft::testing::numbers;

const RawKernel saxpy(R"(
extern "C" __global__ void saxpy(const float *x, float *y, float a, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += a * x[i];
}
)",
                      "saxpy");

/// y + a x, where each is rounded as the kernel may: sums of small whole numbers are exact.
Floats expected(const Floats &x, Floats y, float a) {
  for (size_t i = 0; i < y.size(); ++i)
    y[i] += a * x[i];
  return y;
}

Tensor whole(int64_t count) { return countTo(count).to("cuda:0"); }

/// The launch of a kernel over `n` elements.
RawLaunch over(int64_t n, int64_t threads = 64) {
  return {.grid = {(n + threads - 1) / threads}, .block = {threads}};
}

/// A kernel whose text is one line after its head.
RawKernel kernel(const std::string &parameters, const std::string &body) {
  return RawKernel("extern \"C\" __global__ void k(" + parameters + ") {\n" + body + "\n}\n", "k");
}

} // namespace

//===----------------------------------------------------------------------===//
// What a call computes
//===----------------------------------------------------------------------===//

TEST(CudaRawKernels, WriteNewTensors) {
  const RawKernel both = kernel("const float *x, float *twice, int *index, int n",
                                "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                "  if (i < n) { twice[i] = 2 * x[i]; index[i] = i; }");
  Tensor x = whole(100);
  const RawResults made = both(over(100), {x + 1, raw::out({100}), raw::out({4, 25}, i32), 100});
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(floats(made[0]), floats((countTo(100) + 1) * 2));
  EXPECT_EQ(made[1].sizes(), Shape({4, 25}));
  EXPECT_EQ(made[1].dtype(), i32);
  EXPECT_EQ(made[1].device(), Device("cuda:0"));
  EXPECT_EQ(floats(made[1].to(f32) * 3), floats((countTo(100) * 3).reshape({4, 25})));
  EXPECT_ERROR(Tensor(made), "has 2 results, and one is asked for");
}

TEST(CudaRawKernels, ChangeATensorAndItsViews) {
  Tensor y = whole(12) * 1, rows = y.reshape({3, 4}), before = y + 0;
  saxpy(over(12), {y, raw::in_out(y), 2.0f, int64_t(12)});
  EXPECT_EQ(floats(rows), floats(countTo(12) * 3)) << "the kernel reads the old value beside the new one";
  EXPECT_EQ(floats(before), floats(countTo(12)));
  // A view is written as by an operation in place.
  saxpy(over(4), {y.slice(0, 0, 4), raw::in_out(rows[1]), 1.0f, int64_t(4)});
  EXPECT_EQ(floats(y.slice(0, 4, 8)), Floats({12, 15 + 3, 18 + 6, 21 + 9}));
  EXPECT_EQ(floats(rows[2]), Floats({24, 27, 30, 33}));
}

TEST(CudaRawKernels, OperandsAreContiguousWhateverTheyAreViewsOf) {
  const RawKernel copy = kernel("const float *x, float *y", "  y[threadIdx.x] = x[threadIdx.x];");
  Tensor x = whole(24).reshape({4, 6}) * 1;
  const Tensor t = copy({.block = {24}}, {x.t(), raw::out({6, 4})});
  EXPECT_EQ(floats(t), floats(countTo(24).reshape({4, 6}).t().contiguous()));
  x.to_vector<float>();
  const Tensor column = copy({.block = {4}}, {x.select(1, 2), raw::out({4})});
  EXPECT_EQ(floats(column), Floats({2, 8, 14, 20}));
}

TEST(CudaRawKernels, HaveGridsAndBlocksOfThreeDimensionsAndSharedMemory) {
  const RawKernel place = kernel(
      "int *y", "  extern __shared__ int held[];\n"
                "  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
                "  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
                "  const int threads = blockDim.x * blockDim.y * blockDim.z;\n"
                "  held[thread] = block * threads + thread;\n"
                "  __syncthreads();\n"
                "  y[block * threads + thread] = held[threads - 1 - thread];");
  const Tensor y = place({.grid = {2, 3, 2}, .block = {4, 2, 3}, .shared_bytes = 24 * 4, .device = "cuda:0"},
                         {raw::out({12, 24}, i32)});
  EXPECT_EQ(floats(y.to(f32)), floats(flip(countTo(12 * 24).reshape({12, 24}), {1})));
}

TEST(CudaRawKernels, TakeNumbersOfTheBytesOfTheirTypes) {
  const RawKernel sum = kernel(
      "double *y, bool a, signed char b, short c, int d, long long e, float f, double g, unsigned char h, "
      "unsigned i, unsigned long long j",
      "  const double all[] = {double(a), double(b), double(c), double(d), double(e), f, g, double(h), "
      "double(i), double(j)};\n"
      "  for (int k = 0; k < 10; ++k) y[k] = all[k];");
  const Tensor y =
      sum({.device = "cuda:0"}, {raw::out({10}, f64), true, int8_t(-2), int16_t(-300), -70000,
                                 int64_t(1) << 40, 0.5f, 0.1, uint8_t(200), 4000000000u, uint64_t(1) << 63});
  EXPECT_EQ(y.to_vector<double>(),
            std::vector<double>({1, -2, -300, -70000, 0x1p40, 0.5, 0.1, 200, 4000000000., 0x1p63}));
}

TEST(CudaRawKernels, BeginWithZerosWhereTheyAreAskedFor) {
  const RawKernel count = kernel("const long long *x, int *y", "  atomicAdd(y + x[threadIdx.x], 1);");
  Tensor x = (arange(30) % 4).to("cuda:0");
  const Tensor histogram = count({.block = {30}}, {x, raw::zeroed({4}, i32)});
  EXPECT_EQ(histogram.to_vector<int32_t>(), std::vector<int32_t>({8, 8, 7, 7}));
}

TEST(CudaRawKernels, DoNotRunIfNothingNeedsThem) {
  const RawKernel never = kernel("float *y", "  y[0] = *(float *)nullptr;");
  never({.device = "cuda:0"}, {raw::out({1})});
  synchronize("cuda:0");
  EXPECT_EQ(floats(whole(2)), Floats({0, 1}));
}

/// A step that changes state by a raw kernel, for rows of any number.
struct AnyRows {
  Tensor total = zeros({3}, {.device = "cuda:0"});
  /// The rows doubled by a kernel, times one more than their number; `total` gets the sums of columns.
  Tensor operator()(Tensor x) {
    static const RawKernel scale =
        kernel("const float *x, float *y, float *sums, long long n, long long each",
               "  const long long i = blockIdx.x * (long long)blockDim.x + "
               "threadIdx.x;\n"
               "  if (i < n) y[i] = 2 * x[i] * each;\n"
               "  if (i < 3) for (long long j = i; j < n; j += 3) sums[i] += x[j];");
    const Size rows = x.sym_size(0), elements = rows * 3;
    const RawResults made = scale({.grid = {raw::blocks(elements, 32)}, .block = {32}},
                                  {x, raw::out(shape({rows, 3})), raw::in_out(total), elements, rows + 1});
    return made[0] + 1;
  }
};

TEST(CudaRawKernels, SizesThatACallChooses) {
  TemporaryFolder folder;
  const std::string path = folder / "rows.weft";
  const auto rowsOf = [](int64_t rows) { return countTo(rows * 3).reshape({rows, 3}); };
  Dim n("n", 0, 4096);
  AnyRows body;
  auto step = compile([&](Tensor x) { return body(x); }, {spec({n, 3}, f32, "cuda:0")}, {.name = "rows"});
  Floats sums(3);
  const auto add = [&](int64_t rows) {
    for (int64_t i = 0; i < rows * 3; ++i)
      sums[static_cast<size_t>(i % 3)] += static_cast<float>(i);
  };
  // Each size four times: as launches, and as a graph of its own. Without rows nothing is launched.
  for (int64_t rows : {1, 100, 0, 37})
    for (int call = 0; call < 4; ++call) {
      SCOPED_TRACE(rows);
      EXPECT_EQ(floats(step(rowsOf(rows).to("cuda:0"))),
                floats(rowsOf(rows) * static_cast<double>(2 * (rows + 1)) + 1));
      add(rows);
      EXPECT_EQ(floats(body.total), sums);
    }
  EXPECT_EQ(step.variants().size(), 1U);
  // A function for numbers computes the same.
  AnyRows fixed;
  auto known = compile([&](Tensor x) { return fixed(x); });
  EXPECT_EQ(bitsOf({known(rowsOf(37).to("cuda:0"))}), bitsOf({step(rowsOf(37).to("cuda:0"))}));
  EXPECT_EQ(floats(fixed.total), floats(rowsOf(37).sum(0)));
  // So does a package.
  step.save(path, {.targets = {"cuda:sm_90"}});
  const auto loaded =
      runtime::StatefulExecutable::load(runtime::Package::open(path).value_or_throw(), "rows", "cuda:0")
          .value_or_throw();
  const std::vector<int64_t> shapes[] = {{5, 3}};
  const auto instance = loaded->at(shapes).value_or_throw();
  const auto x =
      runtime::Buffer::allocate(5 * 3 * sizeof(float), 0, instance->argument_device(loaded->inputs()[0]))
          .value_or_throw();
  const Floats values = floats(rowsOf(5));
  x->write(0, std::as_bytes(std::span(values))).throw_if_failed();
  const std::shared_ptr<runtime::Buffer> inputs[] = {x};
  std::shared_ptr<runtime::Buffer> results[1];
  loaded->run(*instance, inputs, {}, results).throw_if_failed();
  results[0]->wait().throw_if_failed();
  Floats found(15);
  results[0]->read(0, std::as_writable_bytes(std::span(found))).throw_if_failed();
  EXPECT_EQ(found, floats(rowsOf(5) * 12.0 + 1));
}

// Two launches whose operands are the same differ in what they write, which is no part of the operands.
TEST(CudaRawKernels, OfOneTextDifferInTheirResultsAndNumbers) {
  const RawKernel fill = kernel("const float *x, float *y, int n, float value",
                                "  for (int i = 0; i < n; ++i) y[i] = value + x[0];");
  Tensor x = whole(1);
  for (int64_t n : {3, 5, 3})
    for (float value : {1.0f, 2.0f}) {
      const Tensor y = fill({}, {x, raw::out({n}), static_cast<int>(n), value});
      EXPECT_EQ(floats(y), Floats(static_cast<size_t>(n), value));
    }
}

//===----------------------------------------------------------------------===//
// Compiled functions and packages
//===----------------------------------------------------------------------===//

TEST(CudaRawKernels, AreLaunchesOfCompiledFunctionsAndTheirGraphs) {
  Tensor state = whole(300) * 1;
  auto step = compile([&](Tensor x) {
    Tensor doubled = x * 2;
    saxpy(over(300), {doubled, raw::in_out(state), 3.0f, int64_t(300)});
    return (state + 1).sum();
  });
  Tensor x = ones({300}, {.device = "cuda:0"});
  Floats host = floats(countTo(300));
  for (int call = 0; call < 5; ++call) { // from the third on, a graph
    const float sum = step(x).item<float>();
    host = expected(Floats(300, 2), host, 3);
    float all = 0;
    for (const float value : host)
      all += value + 1;
    EXPECT_EQ(sum, all) << call;
  }
  EXPECT_EQ(floats(state), host);
  const std::string text = step.explain({.full = true});
  EXPECT_TRUE(mentions(text, "raw kernel saxpy")) << text;
  // The state is an argument, which a failed call must not change: the kernel works beside it.
  EXPECT_TRUE(mentions(text, "WEFT-D015")) << text;
}

TEST(CudaRawKernels, ChangeATemporaryWithoutACopy) {
  auto step = compile([&](Tensor x) {
    Tensor y = x * 2;
    saxpy(over(64), {x, raw::in_out(y), 1.0f, int64_t(64)});
    return y + 1;
  });
  EXPECT_EQ(floats(step(whole(64))), floats(countTo(64) * 3 + 1));
  const std::string text = step.explain({.full = true});
  EXPECT_FALSE(mentions(text, "in-out tensor")) << text;
  EXPECT_FALSE(mentions(text, "a kernel of the user does not see")) << text;
}

// The plan of such a function is one of numbers for each size, the launch of the kernel with it.
TEST(CudaRawKernels, AreInFunctionsForAnySizeWhereTheirOwnAreFixed) {
  Dim n("n", 1, 64);
  auto sums = compile(
      [&](Tensor x) {
        Tensor y = x.sum(0);
        saxpy(over(4), {y, raw::in_out(y), 1.0f, int64_t(4)});
        return x + y;
      },
      {spec({n, 4}, f32, "cuda:0")});
  for (const int64_t rows : {3, 7, 3}) {
    const Tensor x = countTo(4 * rows).reshape({rows, 4});
    EXPECT_EQ(floats(sums(x.to("cuda:0"))), floats(x + x.sum(0) * 2)) << rows;
  }
}

TEST(CudaRawKernels, RunOnOtherDevicesToo) {
  Tensor y = whole(20).to("cuda:1") * 1;
  saxpy(over(20), {y * 2, raw::in_out(y), 2.0f, int64_t(20)});
  EXPECT_EQ(y.device(), Device("cuda:1"));
  EXPECT_EQ(floats(y), floats(countTo(20) * 5));
  const RawKernel fill = kernel("float *y", "  y[threadIdx.x] = 7;");
  const Tensor made = fill({.block = {3}, .device = Device("cuda:1")}, {raw::out({3})});
  EXPECT_EQ(made.device(), Device("cuda:1"));
  EXPECT_EQ(floats(made), Floats(3, 7));
}

TEST(CudaRawKernels, AFailedCallChangesNothingThatTheyWould) {
  Tensor state = whole(8) * 1, x = whole(8);
  auto step = compile([&](Tensor index) {
    Tensor read = x.index_select(0, index);
    saxpy(over(8), {x, raw::in_out(state), 1.0f, int64_t(8)});
    return read;
  });
  const auto at = [](std::vector<int64_t> index) { return Tensor::from(index, {2}).to("cuda:0"); };
  EXPECT_EQ(floats(step(at({1, 7}))), Floats({1, 7}));
  EXPECT_EQ(floats(state), floats(countTo(8) * 2));
  EXPECT_ERROR(step(at({1, 8})).to_vector<float>(), "index 8 is out of bounds");
  EXPECT_EQ(floats(state), floats(countTo(8) * 2));
  EXPECT_EQ(floats(step(at({0, 2}))), Floats({0, 2}));
  EXPECT_EQ(floats(state), floats(countTo(8) * 3));
}

TEST(CudaRawKernels, UpdateParametersWhileGradientsAreOff) {
  Tensor weight = whole(16).requires_grad_();
  auto step = compile([&] {
    Tensor loss = (weight * weight).sum();
    loss.backward();
    NoGradGuard guard;
    saxpy(over(16), {weight.grad(), raw::in_out(weight), -0.5f, int64_t(16)});
    weight.grad().mul_(0);
    return loss;
  });
  EXPECT_EQ(step().item<float>(), 15 * 16 * 31 / 6);
  EXPECT_EQ(floats(weight), Floats(16, 0));
  EXPECT_EQ(step().item<float>(), 0);
}

TEST(CudaRawKernels, AreInPackages) {
  TemporaryFolder folder;
  Tensor state = whole(50) * 1;
  auto step = compile(
      [&](Tensor x) {
        saxpy(over(50), {x, raw::in_out(state), 2.0f, int64_t(50)});
        return state * 1;
      },
      {.name = "step"});
  step(ones({50}, {.device = "cuda:0"})).to_vector<float>();
  step.save(folder / "step.weft", {.targets = {"cuda:sm_80", "cuda:sm_90"}});
  const auto loaded = runtime::StatefulExecutable::load(
                          runtime::Package::open(folder / "step.weft").value_or_throw(), "step", "cuda:0")
                          .value_or_throw();
  const std::vector<float> x(50, 1);
  runtime::Device &device = loaded->executable().argument_device(loaded->inputs()[0]);
  const auto input = runtime::Buffer::allocate(sizeof(float) * 50, 0, device).value_or_throw();
  input->write(0, std::as_bytes(std::span(x))).throw_if_failed();
  for (int call = 1; call <= 4; ++call) {
    std::shared_ptr<runtime::Buffer> results[1];
    loaded->run(std::span(&input, 1), {}, results).throw_if_failed();
    std::vector<float> found(50);
    results[0]->wait().throw_if_failed();
    results[0]->read(0, std::as_writable_bytes(std::span(found))).throw_if_failed();
    EXPECT_EQ(found, floats(countTo(50) + 2 + 2 * call)) << call;
  }
  // There is no code of it for the host.
  EXPECT_ERROR(step.save(folder / "host.weft", {.targets = {"cpu"}}), "WEFT-K004");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(CudaRawKernelErrors, ShowTheLineOfTheText) {
  const int begin = __LINE__ + 1;
  const RawKernel wrong("extern \"C\" __global__ void k(float *y) {\n  y[0] = z;\n  int unused;\n}", "k");
  Tensor y = wrong({.device = "cuda:0"}, {raw::out({1})});
  const std::string message = errorOf([&] { y.to_vector<float>(); });
  for (const std::string &part :
       {"CudaRawKernelTest.cpp:" + std::to_string(begin) + ":", std::string("WEFT-K001"),
        std::string("line 2 of the text: error: identifier \"z\" is undefined"), std::string("y[0] = z;"),
        "at " + std::string(__FILE__) + ":" + std::to_string(begin + 1)})
    EXPECT_TRUE(mentions(message, part)) << part << "\n" << message;
  EXPECT_FALSE(mentions(message, "unused")) << "a warning is no error\n" << message;
  EXPECT_FALSE(mentions(message, "/weft/kernel.cu")) << message;
  try {
    y.to_vector<float>();
    ADD_FAILURE() << "a value that cannot be computed was read";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), "WEFT-K001");
  }
}

TEST(CudaRawKernelErrors, ListTheKernelsThatThereAre) {
  const std::string text = "extern \"C\" __global__ void first(float *y) {}\n"
                           "extern \"C\" __global__ void second(float *y) {}\n";
  const auto call = [&](const std::string &code, const char *entry) {
    const Tensor y = RawKernel(code, entry)({.device = "cuda:0"}, {raw::out({1})});
    y.to_vector<float>();
  };
  EXPECT_ERROR(call(text, "third"), "has no kernel 'third' in its text (WEFT-K002)");
  EXPECT_ERROR(call(text, "third"), "'first'");
  EXPECT_ERROR(call("__global__ void k(float *y) {}", "k"), "declare it extern \"C\"");
  EXPECT_ERROR(call("__device__ float f() { return 1; }", "k"), "it has no kernel");
  EXPECT_ERROR(call(text, "no name"), "needs the name of a kernel, found 'no name'");
}

TEST(CudaRawKernelErrors, CompareParametersWithTheCode) {
  Tensor x = whole(4);
  const auto call = [&](std::vector<RawArgument> arguments) {
    Tensor y = whole(4) * 1;
    arguments.insert(arguments.begin() + 1, raw::in_out(y));
    saxpy(over(4), std::move(arguments));
    y.to_vector<float>();
  };
  EXPECT_ERROR(call({x, 2.0f}), "takes 4 parameters, of 8, 8, 4, 8 bytes, and is given 3 (WEFT-K003)");
  EXPECT_ERROR(call({x, 2.0, int64_t(4)}),
               "takes 4 bytes for parameter 2, counted from 0, and is given the number");
  EXPECT_ERROR(call({x, 2.0f, 4}), "takes 8 bytes for parameter 3");
  EXPECT_ERROR(call({x, x, int64_t(4)}), "the address of a tensor, of 8 bytes (WEFT-K003)");
  // What a struct needs is no number.
  const RawKernel structure(
      "struct Pair { long long a, b; };\nextern \"C\" __global__ void k(float *y, Pair p) {}", "k");
  const Tensor y = structure({.device = "cuda:0"}, {raw::out({1}), int64_t(1)});
  EXPECT_ERROR(y.to_vector<float>(), "takes 16 bytes for parameter 1");
}

TEST(CudaRawKernelErrors, LaunchesThatNoDeviceHas) {
  Tensor x = whole(4);
  const auto call = [&](const RawLaunch &launch, const char *bounds = "",
                        const char *body = "if (threadIdx.x == 0) y[0] = x[0];") {
    const RawKernel k(std::string("extern \"C\" __global__ void ") + bounds +
                          " k(const float *x, float *y) {" + body + "}",
                      "k");
    const Tensor y = k(launch, {x, raw::out({1})});
    y.to_vector<float>();
  };
  EXPECT_ERROR(call({.block = {1025}}),
               "needs a block of three numbers from 1 to [1024, 1024, 64], found [1025, 1, 1]");
  EXPECT_ERROR(call({.block = {64, 32}}), "needs blocks of up to 1024 threads, found 2048 (WEFT-K005)");
  EXPECT_ERROR(call({.grid = {1, 70000}}), "needs a grid of three numbers");
  EXPECT_ERROR(call({.grid = {0}}), "found [0, 1, 1] (WEFT-K005)");
  EXPECT_ERROR(call({.grid = {1, 1, 1, 1}}), "a grid of one to three numbers, found 4");
  EXPECT_ERROR(call({.shared_bytes = -1}), "bytes of shared memory, found -1 (WEFT-K005)");
  EXPECT_ERROR(call({.shared_bytes = 300 << 10}), "and one of sm_90 has 232448 (WEFT-K005)");
  EXPECT_ERROR(call({.block = {256}}, "__launch_bounds__(128)"),
               "in blocks of 256 threads, and its __launch_bounds__ allows 128 (WEFT-K005)");
  const char *const greedy =
      "float v[160];\n#pragma unroll\nfor (int i = 0; i < 160; ++i) v[i] = x[i * i];\n"
      "__syncthreads();\n#pragma unroll\nfor (int i = 0; i < 160; ++i) y[i] = v[i] * v[159 - i];";
  EXPECT_ERROR(call({.block = {1024}}, "", greedy), "declare __launch_bounds__(1024) (WEFT-K005)");
  call({.block = {256}, .shared_bytes = 200 << 10}); // more than is there without asking for it
}

TEST(CudaRawKernelErrors, OtherDevicesAndGridsOfACall) {
  Tensor x = countTo(4);
  EXPECT_ERROR(saxpy(over(4), {x, raw::in_out(x), 1.0f, int64_t(4)}),
               "'saxpy' is CUDA C++, for which the device cpu has no compiler (WEFT-K004)");
  EXPECT_ERROR(saxpy(over(4), {x, raw::out({4}), 1.0f, int64_t(4)}), "WEFT-K004");
  EXPECT_ERROR(saxpy(over(4), {whole(4), x, raw::out({4})}), "WEFT-P001");
  EXPECT_ERROR(raw::blocks(4, 0), "a block of a grid has one thread or more, found 0");
  Dim n("n", 1, 1 << 20);
  auto dynamic = compile(
      [&](Tensor y) {
        saxpy({.grid = {1, raw::blocks(y.sym_size(0), 2)}, .block = {64}},
              {y, raw::in_out(y), 1.0f, y.sym_size(0)});
        return y;
      },
      {spec({n}, f32, "cuda:0")});
  const std::string message = errorOf([&] { dynamic(whole(8)); });
  EXPECT_TRUE(mentions(message, "may be launched with ceildiv(n, 2) blocks in dimension 1 of its grid, up to "
                                "524288, and a grid has at most 65535"))
      << message;
  EXPECT_TRUE(mentions(message, "(WEFT-K005)")) << message;
}

TEST(CudaRawKernelErrors, GradientsDoNotFlowThroughThem) {
  Tensor x = whole(4).requires_grad_();
  const RawKernel copy = kernel("const float *x, float *y", "  y[threadIdx.x] = x[threadIdx.x];");
  const Tensor y = copy({.block = {4}}, {x, raw::out({4})});
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  const std::string message = errorOf([&] { x.grad().to_vector<float>(); });
  EXPECT_TRUE(mentions(message, "'k' has no derivative, but a gradient is required through it (WEFT-G001)"))
      << message;
  EXPECT_TRUE(mentions(message, ".detach()")) << message;
  const Tensor detached = copy({.block = {4}}, {x.detach(), raw::out({4})});
  EXPECT_FALSE(detached.requires_grad());
  EXPECT_EQ(floats(detached), floats(countTo(4)));
  EXPECT_ERROR(saxpy(over(4), {x, raw::in_out(x), 1.0f, int64_t(4)}), "a leaf Variable that requires grad");
}

TEST(CudaRawKernelErrors, WhatTheyWriteIsOneTensorEach) {
  Tensor x = whole(8) * 1;
  const RawKernel two = kernel("float *x, float *y", "");
  EXPECT_ERROR(two({}, {raw::in_out(x), raw::in_out(x.slice(0, 0, 4))}), "as raw::in_out twice");
  EXPECT_ERROR(two({}, {x, x}), "raw kernel 'k' writes nothing");
  EXPECT_ERROR(two({}, {raw::in_out(Tensor()), x}), "undefined");
}
