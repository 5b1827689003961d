//===- CudaCApiTest.cpp - The C interface on a GPU ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/DriverTable.h"
#include "runtime/device/Registry.h"
#include "runtime/queue/Buffer.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/frontend/Helpers.h"
#include "weft/weft.h"

using namespace weft;

namespace {
using runtime::Buffer;
using weft::test::TemporaryFolder;
using Values = std::vector<float>;

/// scale(x) -> x * w + 1, and w = w + 1, for 4 x 32 numbers on cuda:0 and the state w, which is 2 at first.
struct CudaCApi : testing::Test {
  static constexpr int64_t shape[] = {4, 32};
  TemporaryFolder folder;
  const std::string path = folder / "scale.weft";
  weft_package *package = nullptr;
  weft_executable *scale = nullptr;
  runtime::Device &device = *runtime::open_device("cuda:0").value_or_throw();

  CudaCApi() {
    Tensor w = (ones({4, 32}) * 2).to("cuda:0");
    auto f = compile(
        [&](Tensor x) {
          Tensor y = x * w + 1;
          w += 1;
          return y;
        },
        {.name = "scale"});
    w += 0;
    f(ones({4, 32}, {.device = "cuda:0"})).to_vector<float>();
    w.fill_(2);
    w.to_vector<float>();
    f.save(path, {.targets = {"cpu", "cuda:sm_90"}});
    EXPECT_EQ(weft_package_open(path.c_str(), nullptr, &package), WEFT_OK) << weft_last_error();
  }
  ~CudaCApi() override {
    weft_executable_destroy(scale);
    weft_package_close(package);
  }
  void load(const char *devices) {
    ASSERT_EQ(weft_executable_load(package, "scale", devices, &scale), WEFT_OK) << weft_last_error();
  }
  weft_status run(const weft_buffer &in, weft_buffer &out, weft_stream *stream = nullptr) {
    return weft_executable_run(scale, stream, &in, 1, &out, 1);
  }
  static weft_buffer describe(void *data, const char *on) {
    return {sizeof(weft_buffer), data, on, WEFT_F32, 2, shape, nullptr, nullptr};
  }
  static weft_buffer nothing() {
    return {sizeof(weft_buffer), nullptr, nullptr, WEFT_BOOL, 0, nullptr, nullptr, nullptr};
  }
  std::shared_ptr<Buffer> uploaded(const Values &values) {
    auto buffer = Buffer::allocate(values.size() * 4, 0, device).value_or_throw();
    buffer->write(0, std::as_bytes(std::span(values))).throw_if_failed();
    return buffer;
  }
  /// What is at an address of the device, after the default stream's work.
  Values at(void *address) {
    EXPECT_EQ(weft_stream_synchronize(nullptr), WEFT_OK) << weft_last_error();
    Values values(128);
    Buffer::wrap(address, 512, {}, device)
        ->read(0, std::as_writable_bytes(std::span(values)))
        .throw_if_failed();
    return values;
  }
};

Values counted() {
  Values values(128);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  return values;
}

Values scaled(float by) {
  Values values = counted();
  for (float &value : values)
    value = value * by + 1;
  return values;
}

#define EXPECT_STATUS(call, status, text)                                                                    \
  EXPECT_EQ(call, status);                                                                                   \
  EXPECT_TRUE(mentions(weft_last_error(), text))

} // namespace

TEST_F(CudaCApi, InfosNameTheDevicesOfThisMachine) {
  int32_t count = 0;
  ASSERT_EQ(weft_device_count(WEFT_CUDA, &count), WEFT_OK);
  EXPECT_GE(count, 2);
  weft_tensor_info info = {};
  info.struct_size = sizeof info;
  load("cuda:1");
  ASSERT_EQ(weft_executable_input(scale, 0, &info), WEFT_OK);
  EXPECT_STREQ(info.device, "cuda:1");
  ASSERT_EQ(weft_executable_output(scale, 0, &info), WEFT_OK);
  EXPECT_STREQ(info.device, "cuda:1");
  ASSERT_EQ(weft_executable_state(scale, 0, &info), WEFT_OK);
  EXPECT_STREQ(info.device, "cuda:1");
  weft_executable_destroy(scale);
  load("cpu");
  ASSERT_EQ(weft_executable_input(scale, 0, &info), WEFT_OK);
  EXPECT_STREQ(info.device, "cpu");
}

TEST_F(CudaCApi, DevicePointersArePassedAsTheyAre) {
  load(nullptr); // the devices that the package names
  const auto x = uploaded(counted()), y = uploaded(Values(128));
  weft_buffer in = describe(x->data(), "cuda:0"), out = nothing();
  ASSERT_EQ(run(in, out), WEFT_OK) << weft_last_error();
  EXPECT_STREQ(weft_executable_note(), "");
  EXPECT_STREQ(out.device, "cuda:0");
  ASSERT_EQ(weft_buffer_wait(&out), WEFT_OK);
  EXPECT_EQ(at(out.data), scaled(2));
  weft_buffer given = describe(y->data(), "cuda");
  ASSERT_EQ(run(in, given), WEFT_OK) << weft_last_error();
  EXPECT_EQ(at(y->data()), scaled(3));
  // A result is an input again.
  weft_buffer again = nothing();
  ASSERT_EQ(run(out, again), WEFT_OK) << weft_last_error();
  EXPECT_EQ(at(again.data)[2], (2 * 2 + 1) * 4 + 1);
  weft_buffer_release(&out);
  weft_buffer_release(&again);
}

TEST_F(CudaCApi, MemoryOfTheHostIsCopied) {
  load("cuda:0");
  Values x = counted(), y(128), wide(256);
  weft_buffer in = describe(x.data(), nullptr), out = describe(y.data(), "cpu");
  ASSERT_EQ(run(in, out), WEFT_OK) << weft_last_error();
  EXPECT_TRUE(mentions(
      weft_executable_note(),
      "WEFT-D013: 'scale': input 0 'arg0' is in memory of the host and is taken on 'cuda:0': 512 bytes"));
  EXPECT_TRUE(mentions(weft_executable_note(), "is in memory of the host and is made on 'cuda:0'"));
  ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK) << weft_last_error();
  EXPECT_EQ(y, scaled(2));
  // With strides, on a stream, and to an address that is no multiple of an element.
  const int64_t strides[] = {64, 2};
  for (size_t i = 0; i < 128; ++i)
    wide[2 * i] = static_cast<float>(i);
  in = describe(wide.data(), "cpu");
  in.strides = strides;
  std::vector<std::byte> odd(513);
  out = describe(odd.data() + 1, "cpu");
  weft_stream *stream = nullptr;
  ASSERT_EQ(weft_stream_create("cuda:0", &stream), WEFT_OK) << weft_last_error();
  ASSERT_EQ(run(in, out, stream), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_stream_synchronize(stream), WEFT_OK) << weft_last_error();
  std::memcpy(y.data(), odd.data() + 1, 512);
  EXPECT_EQ(y, scaled(3));
  weft_stream_destroy(stream);
}

TEST_F(CudaCApi, AnEmbeddersExecutorRunsTheCopies) {
  load("cuda:0");
  Values x = counted(), y(128);
  weft_buffer in = describe(x.data(), "cpu"), out = describe(y.data(), "cpu");
  weft_stream *stream = nullptr;
  ASSERT_EQ(weft_stream_create_external([](void *, void (*work)(void *), void *data) { work(data); }, nullptr,
                                        &stream),
            WEFT_OK);
  ASSERT_EQ(run(in, out, stream), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_stream_synchronize(stream), WEFT_OK) << weft_last_error();
  EXPECT_EQ(y, scaled(2));
  weft_stream_destroy(stream);
}

TEST_F(CudaCApi, StateIsCopiedAndOfEachLoad) {
  load("cuda:0");
  weft_tensor_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(weft_executable_state(scale, 0, &info), WEFT_OK);
  Values state(128), wanted(128, 5.f);
  ASSERT_EQ(weft_executable_state_get(scale, info.name, state.data(), 512), WEFT_OK) << weft_last_error();
  EXPECT_EQ(state, Values(128, 2.f));
  ASSERT_EQ(weft_executable_state_set(scale, info.name, wanted.data(), 512), WEFT_OK) << weft_last_error();
  Values x = counted(), y(128);
  weft_buffer in = describe(x.data(), "cpu"), out = describe(y.data(), "cpu");
  ASSERT_EQ(run(in, out), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
  EXPECT_EQ(y, scaled(5));
  ASSERT_EQ(weft_executable_state_get(scale, info.name, state.data(), 512), WEFT_OK);
  EXPECT_EQ(state, Values(128, 6.f));
}

TEST_F(CudaCApi, WrongMemoryIsRefused) {
  load("cuda:0");
  const auto x = uploaded(counted());
  weft_buffer in = describe(x->data(), "cuda:1"), out = nothing();
  EXPECT_STATUS(run(in, out), WEFT_ERROR_ARGUMENT,
                "input 0 'arg0' must be on 'cuda:0' or in memory of the host, found 'cuda:1'");
  in = describe(x->data(), "gpu");
  EXPECT_STATUS(run(in, out), WEFT_ERROR_DEVICE, "Expected one of cpu, cuda");
  in = describe(x->data(), "cuda:0");
  const int64_t strides[] = {1, 4};
  in.strides = strides;
  EXPECT_STATUS(run(in, out), WEFT_ERROR_ARGUMENT, "must be row-major, found the strides [1, 4]");
  in = describe(static_cast<std::byte *>(x->data()) + 2, "cuda:0");
  EXPECT_STATUS(run(in, out), WEFT_ERROR, "begins at an address that is no multiple of");
  in = describe(x->data(), "cuda:0");
  out = describe(x->data(), "cuda:0");
  EXPECT_STATUS(run(in, out), WEFT_ERROR_ARGUMENT, "shares memory with");
  weft_stream *stream = nullptr;
  EXPECT_STATUS(weft_stream_create("cuda:9", &stream), WEFT_ERROR_DEVICE, "'cuda:9' is not there");
  weft_executable *none = nullptr;
  EXPECT_STATUS(weft_executable_load(package, "scale", "cuda:9", &none), WEFT_ERROR_DEVICE,
                "'cuda:9' is not there");
  EXPECT_STATUS(weft_executable_load(package, "scale", "cuda:3=cuda:0", &none), WEFT_ERROR_PACKAGE,
                "which is mapped to no device");
  EXPECT_STREQ(weft_last_error_code(), "WEFT-L017");
}

namespace {

/// Another part of the program, which uses the driver by itself.
struct Guest {
  const int ordinal;
  const runtime::DriverTable &driver = *runtime::driver().table;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  float *in = nullptr, *out = nullptr; ///< pinned

  explicit Guest(int ordinal) : ordinal(ordinal) {
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, ordinal), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    for (float **memory : {&in, &out}) {
      void *data = nullptr;
      EXPECT_EQ(driver.cuMemHostAlloc(&data, 512, 0), CUDA_SUCCESS);
      *memory = static_cast<float *>(data);
      std::fill_n(*memory, 128, -1.f);
    }
  }
  ~Guest() {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeHost(in), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeHost(out), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(ordinal), CUDA_SUCCESS);
  }
  Guest(const Guest &) = delete;
  Guest &operator=(const Guest &) = delete;
  Values received() const { return {out, out + 128}; }
};

} // namespace

// The software driver does nothing before something waits for it: that nothing had arrived shows that no
// thread waited for the guest's stream, and the values show the order.
TEST_F(CudaCApi, CallsAreOrderedOnAStreamOfTheCaller) {
  load("cuda:0");
  Guest guest(0);
  const auto x = uploaded(Values(128)), y = uploaded(Values(128));
  weft_buffer in = describe(x->data(), "cuda:0"), out = describe(y->data(), "cuda:0");
  weft_stream *stream = nullptr;
  ASSERT_EQ(weft_stream_create_native("cuda:0", guest.stream, &stream), WEFT_OK) << weft_last_error();
  const bool eager = std::getenv("CUSIM_EAGER") != nullptr;
  for (int call = 0; call < 5; ++call) { // as launches, and as a graph
    SCOPED_TRACE(call);
    const Values before = guest.received(), values = counted();
    std::copy(values.begin(), values.end(), guest.in);
    ASSERT_EQ(
        guest.driver.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(x->data()), guest.in, 512, guest.stream),
        CUDA_SUCCESS);
    ASSERT_EQ(run(in, out, stream), WEFT_OK) << weft_last_error();
    ASSERT_EQ(guest.driver.cuMemcpyDtoHAsync(guest.out, reinterpret_cast<CUdeviceptr>(y->data()), 512,
                                             guest.stream),
              CUDA_SUCCESS);
    if (!eager)
      EXPECT_EQ(guest.received(), before);
    ASSERT_EQ(guest.driver.cuStreamSynchronize(guest.stream), CUDA_SUCCESS);
    EXPECT_EQ(guest.received(), scaled(2.f + static_cast<float>(call)));
  }
  weft_stream_destroy(stream);
  EXPECT_EQ(guest.driver.cuStreamQuery(guest.stream), CUDA_SUCCESS) << "the stream is the caller's";
}

// The host waits for each predicate on that stream, in order with what its owner puts there.
TEST_F(CudaCApi, AWhileLoopRunsOnAStreamOfTheCaller) {
  const auto grow = compile(
      [](Tensor x) {
        return while_loop([](const Tensor &at) { return at.sum() < 1e5; },
                          [](const Tensor &at) { return at * 2; }, x);
      },
      {.name = "grow"});
  grow(ones({4, 32}, {.device = "cuda:0"})).to_vector<float>();
  const std::string grown = folder / "grow.weft";
  grow.save(grown, {.targets = {"cpu", "cuda:sm_90"}});
  weft_package_close(std::exchange(package, nullptr));
  ASSERT_EQ(weft_package_open(grown.c_str(), nullptr, &package), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_executable_load(package, "grow", "cuda:0", &scale), WEFT_OK) << weft_last_error();
  Guest guest(0);
  const auto x = uploaded(Values(128)), y = uploaded(Values(128));
  weft_buffer in = describe(x->data(), "cuda:0"), out = describe(y->data(), "cuda:0");
  weft_stream *stream = nullptr;
  ASSERT_EQ(weft_stream_create_native("cuda:0", guest.stream, &stream), WEFT_OK) << weft_last_error();
  for (int call = 0; call < 5; ++call) {
    SCOPED_TRACE(call);
    Values values = counted();
    for (float &value : values)
      value *= static_cast<float>(call + 1);
    std::copy(values.begin(), values.end(), guest.in);
    ASSERT_EQ(
        guest.driver.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(x->data()), guest.in, 512, guest.stream),
        CUDA_SUCCESS);
    ASSERT_EQ(run(in, out, stream), WEFT_OK) << weft_last_error();
    ASSERT_EQ(guest.driver.cuMemcpyDtoHAsync(guest.out, reinterpret_cast<CUdeviceptr>(y->data()), 512,
                                             guest.stream),
              CUDA_SUCCESS);
    ASSERT_EQ(guest.driver.cuStreamSynchronize(guest.stream), CUDA_SUCCESS);
    for (float sum = 8128.f * static_cast<float>(call + 1); sum < 1e5f; sum *= 2)
      for (float &value : values)
        value *= 2;
    EXPECT_EQ(guest.received(), values);
  }
  weft_stream_destroy(stream);
}

// What a call used may live on, and still knows the stream that it was on.
TEST_F(CudaCApi, AStreamOfTheCallerEndsBeforeTheBuffersOfItsCalls) {
  load("cuda:0");
  weft_buffer out = nothing();
  const auto x = uploaded(counted());
  {
    Guest guest(0);
    weft_stream *stream = nullptr;
    ASSERT_EQ(weft_stream_create_native("cuda:0", guest.stream, &stream), WEFT_OK) << weft_last_error();
    weft_buffer in = describe(x->data(), "cuda:0");
    ASSERT_EQ(run(in, out, stream), WEFT_OK) << weft_last_error();
    weft_stream_destroy(stream);
  }
  ASSERT_EQ(weft_buffer_wait(&out), WEFT_OK) << weft_last_error();
  EXPECT_EQ(at(out.data), scaled(2));
  weft_buffer_release(&out);
  weft_trim();
}

// A call on a stream of the caller's that needs what Weft's own stream has still to write.
TEST_F(CudaCApi, AStreamOfTheCallerWaitsForOthersWithoutTheHost) {
  load("cuda:0");
  Guest guest(0);
  const auto x = uploaded(counted()), z = uploaded(Values(128));
  weft_buffer in = describe(x->data(), "cuda:0"), middle = nothing(), out = describe(z->data(), "cuda:0");
  weft_stream *own = nullptr, *native = nullptr;
  ASSERT_EQ(weft_stream_create_with_priority("cuda:0", -1, &own), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_stream_create_native("cuda:0", guest.stream, &native), WEFT_OK) << weft_last_error();
  const bool eager = std::getenv("CUSIM_EAGER") != nullptr;
  for (int call = 0; call < 4; ++call) {
    SCOPED_TRACE(call);
    const Values before = guest.received();
    ASSERT_EQ(run(in, middle, own), WEFT_OK) << weft_last_error();
    ASSERT_EQ(run(middle, out, native), WEFT_OK) << weft_last_error();
    ASSERT_EQ(guest.driver.cuMemcpyDtoHAsync(guest.out, reinterpret_cast<CUdeviceptr>(z->data()), 512,
                                             guest.stream),
              CUDA_SUCCESS);
    if (!eager)
      EXPECT_EQ(guest.received(), before);
    ASSERT_EQ(guest.driver.cuStreamSynchronize(guest.stream), CUDA_SUCCESS);
    Values expected = scaled(2.f + 2 * static_cast<float>(call));
    for (float &value : expected)
      value = value * (3.f + 2 * static_cast<float>(call)) + 1;
    EXPECT_EQ(guest.received(), expected);
    weft_buffer_release(&middle);
  }
  // What the caller puts on its stream, Weft's own stream can wait for, too.
  const Values values(128, 7.f);
  std::copy(values.begin(), values.end(), guest.in);
  ASSERT_EQ(
      guest.driver.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(x->data()), guest.in, 512, guest.stream),
      CUDA_SUCCESS);
  ASSERT_EQ(weft_stream_wait_stream(own, native), WEFT_OK) << weft_last_error();
  ASSERT_EQ(run(in, middle, own), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_buffer_wait(&middle), WEFT_OK) << weft_last_error();
  EXPECT_EQ(at(middle.data), Values(128, 7 * 10.f + 1));
  weft_buffer_release(&middle);
  weft_stream_destroy(own);
  weft_stream_destroy(native);
  EXPECT_STATUS(weft_stream_create_with_priority("cuda:0", 2, &own), WEFT_ERROR_ARGUMENT,
                "the argument 'priority' is 2: it must be 0 or less");
}

TEST_F(CudaCApi, StreamsThatCannotBeUsedAreRefused) {
  Guest guest(0), other(1);
  weft_stream *stream = nullptr;
  EXPECT_STATUS(weft_stream_create_native("cuda:0", nullptr, &stream), WEFT_ERROR_ARGUMENT,
                "'native' is NULL");
  EXPECT_ERROR(Stream::external("cuda:0", static_cast<void *>(nullptr)), "0 is no stream of your own");
  EXPECT_STATUS(weft_stream_create_native("cpu", guest.stream, &stream), WEFT_ERROR_DEVICE,
                "'cpu' has no streams of a driver");
  EXPECT_STATUS(weft_stream_create_native("cuda:0", other.stream, &stream), WEFT_ERROR_DEVICE,
                "a stream that was given to Weft cannot be used");
  EXPECT_STATUS(weft_stream_create_native("cuda:9", guest.stream, &stream), WEFT_ERROR_DEVICE,
                "'cuda:9' is not there");
  EXPECT_EQ(stream, nullptr);
}

TEST_F(CudaCApi, TensorsAreComputedOnAStreamOfTheProgram) {
  Guest guest(0);
  {
    const Stream stream = Stream::external("cuda:0", guest.stream);
    EXPECT_EQ(stream.native_handle(), guest.stream);
    EXPECT_EQ(stream.device(), Device("cuda:0"));
    Tensor y;
    {
      const StreamGuard guard(stream);
      EXPECT_EQ(Stream::current("cuda:0"), stream);
      y = ones({4}, {.device = "cuda:0"}) * 3;
    }
    EXPECT_EQ((y + 1).to_vector<float>(), Values(4, 4.f));
    stream.synchronize();
    EXPECT_TRUE(stream.query());
  }
  const Stream own("cuda:0");
  EXPECT_NE(own.native_handle(), guest.stream);
  EXPECT_NE(own.native_handle(), nullptr);
  EXPECT_EQ(guest.driver.cuStreamQuery(static_cast<CUstream>(own.native_handle())), CUDA_SUCCESS);
}
