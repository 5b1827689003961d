//===- DevicesTest.cpp - Programs on several devices ------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole programs on the host and on devices whose memory the host cannot read, against the interpreter.
//
//===----------------------------------------------------------------------===//
#include "DeviceProgram.h"
#include <unistd.h>

using namespace mlir;

namespace weft::testing {
namespace {

using runtime::Buffer;
using runtime::Executable;

bool hostCanRead(const void *address) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const bool read = ::write(ends[1], address, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return read;
}

TEST(Devices, TheHostCannotReadMemoryOfTheSeparateDevice) {
  SeparateDevice &device = SeparateDevice::get(0);
  const std::vector<std::byte> bytes(4096, std::byte(7));
  auto buffer = Buffer::allocate(bytes.size(), 0, device).value_or_throw();
  ASSERT_TRUE(buffer->write(0, bytes).ok());
  EXPECT_FALSE(hostCanRead(buffer->data()));
  EXPECT_TRUE(hostCanRead(bytes.data()));
  std::vector<std::byte> found(100);
  ASSERT_TRUE(buffer->read(3996, found).ok());
  EXPECT_EQ(found[99], std::byte(7));
  EXPECT_EQ(buffer->read(3997, found).message(), "bytes [3997, +100) lie outside of a buffer of 4096");
  EXPECT_EQ(buffer->write(SIZE_MAX, found).code(), "");
  EXPECT_FALSE(buffer->write(SIZE_MAX, found).ok());
  EXPECT_GE(device.allocator().memory_allocated(), 4096u);
}

TEST(Devices, BytesPassBetweenTwoDevicesThroughTheHost) {
  SeparateDevice &one = SeparateDevice::get(0), &two = SeparateDevice::get(1);
  std::vector<std::byte> bytes((9u << 20) + 5), found(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 31 >> 4);
  auto from = Buffer::allocate(bytes.size(), 0, one).value_or_throw(),
       to = Buffer::allocate(bytes.size(), 0, two).value_or_throw();
  ASSERT_TRUE(from->write(0, bytes).ok());
  ASSERT_TRUE(runtime::copy_between(two, to->data(), one, from->data(), bytes.size()).ok());
  ASSERT_TRUE(to->read(0, found).ok());
  EXPECT_EQ(found, bytes);
  EXPECT_EQ(two.bytesIn, bytes.size());
  EXPECT_EQ(one.bytesOut, bytes.size());
}

TEST(Devices, MemoryIsKeptForTheStreamThatUsesIt) {
  constexpr size_t bytes = 12 << 20; // a segment of its own
  SeparateDevice &device = SeparateDevice::get(0);
  device.allocator().empty_cache();
  const std::vector<std::byte> from(bytes, std::byte{7});
  auto own = device.make_stream().value_or_throw(), other = device.make_stream().value_or_throw(),
       third = device.make_stream().value_or_throw();
  for (runtime::DeviceStream *user : {own.get(), other.get()}) {
    auto buffer = Buffer::allocate(bytes, 0, device, own->id()).value_or_throw();
    void *const data = buffer->data();
    device.delayUs = 50000;
    ASSERT_TRUE(user->copy(data, from.data(), bytes, runtime::CopyDirection::host_to_device).ok());
    const runtime::Point point = user->record().value_or_throw();
    buffer->note_point(user->id(), point);
    buffer.reset();
    // The stream that freed a block may use it again at once, unless another stream has used it.
    auto again = Buffer::allocate(bytes, 0, device, own->id()).value_or_throw();
    EXPECT_EQ(again->data() == data, user == own.get());
    again.reset();
    EXPECT_NE(Buffer::allocate(bytes, 0, device, third->id()).value_or_throw()->data(), data);
    ASSERT_FALSE(point.passed()) << "the test has to be quicker than the copy";
    // Without room for more, the allocator waits.
    device.allocator().empty_cache();
    device.allocator().set_limit(device.allocator().memory_reserved());
    const auto last = Buffer::allocate(bytes, 0, device, third->id());
    device.allocator().set_limit(UINT64_MAX);
    ASSERT_TRUE(last) << last.status().message();
    EXPECT_EQ((*last)->data(), data);
    EXPECT_TRUE(point.passed());
    std::vector<std::byte> found(bytes);
    ASSERT_TRUE((*last)->read(0, found).ok());
    EXPECT_EQ(found, from);
    EXPECT_TRUE(device.allocator().check().ok());
    device.delayUs = 0;
  }
}

TEST(Devices, MemoryOfSomeoneElseIsKeptForTheStreamThatUsesIt) {
  SeparateDevice &device = SeparateDevice::get(0);
  auto stream = device.make_stream().value_or_throw();
  const auto memory = Buffer::allocate(4096, 0, device).value_or_throw();
  std::vector<std::byte> host(4096);
  for (const bool writes : {false, true}) {
    bool released = false, passed = false;
    device.delayUs = 30000;
    runtime::Point point;
    auto wrapped = Buffer::wrap(
        memory->data(), 4096,
        [&](void *) {
          released = true;
          passed = point.passed();
        },
        device);
    ASSERT_TRUE(
        stream->copy(host.data(), wrapped->data(), 4096, runtime::CopyDirection::device_to_host).ok());
    point = stream->record().value_or_throw();
    if (writes)
      wrapped->note_ready(stream->id(), point);
    else
      wrapped->note_point(stream->id(), point);
    EXPECT_EQ(wrapped->points().size(), 1u);
    // To read a buffer that others read needs no wait.
    EXPECT_TRUE(wrapped->wait().ok());
    EXPECT_EQ(point.passed(), writes);
    auto part = Buffer::part(wrapped, 0, 16);
    wrapped.reset();
    EXPECT_FALSE(released);
    part.reset();
    EXPECT_TRUE(released);
    EXPECT_TRUE(passed) << "before the memory went back";
  }
  device.delayUs = 0;
}

// Whoever gives memory says until when it is written and read, and learns when it may use it again.
TEST(Devices, CallsAndWorkOfOthersWaitForEachOther) {
  DeviceProgram program(R"(
weft.func @main(%s: tensor<1000xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"}, %x: tensor<1000xf32, #gpu>) -> (tensor<1000xf32, #gpu> {weft.tied = 0}) {
  %1 = weft.add %s, %x : tensor<1000xf32, #gpu>
  weft.return %1 : tensor<1000xf32, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  SeparateDevice &device = program.device;
  using runtime::CopyDirection;
  for (runtime::QueueMode mode :
       {runtime::QueueMode::automatic, runtime::QueueMode::async, runtime::QueueMode::inlined}) {
    runtime::Queue queue;
    auto stream = device.make_stream().value_or_throw();
    const std::vector<float> one(1000, 1), two(1000, 2), nine(1000, 9);
    std::vector<float> before(1000), after(1000);
    const auto memory = Buffer::allocate(4000, 0, device).value_or_throw(),
               other = Buffer::allocate(4000, 0, device).value_or_throw();
    const auto s = Buffer::wrap(memory->data(), 4000, {}, device),
               x = Buffer::wrap(other->data(), 4000, {}, device);
    ASSERT_TRUE(s->write(0, std::as_bytes(std::span(one))).ok());
    device.delayUs = 20000;
    device.stalls = 0;
    // The stream of someone else writes x and reads s.
    ASSERT_TRUE(stream->copy(x->data(), two.data(), 4000, CopyDirection::host_to_device).ok());
    x->note_ready(stream->id(), stream->record().value_or_throw());
    ASSERT_TRUE(stream->copy(before.data(), s->data(), 4000, CopyDirection::device_to_host).ok());
    s->note_point(stream->id(), stream->record().value_or_throw());
    std::vector<std::shared_ptr<Buffer>> results(1);
    ASSERT_TRUE(executable->run(std::vector{s, x}, results, {&queue, mode}).ok());
    if (mode == runtime::QueueMode::automatic) {
      EXPECT_EQ(device.stalls, 0u) << "one stream waits for the other";
      EXPECT_FALSE(s->points().empty());
    }
    // After the call it reads s and writes x again.
    for (const auto &buffer : {s, x})
      for (const runtime::StreamPoint &use : buffer->points())
        ASSERT_TRUE(stream->wait_for(use.point).ok());
    ASSERT_TRUE(stream->copy(after.data(), s->data(), 4000, CopyDirection::device_to_host).ok());
    ASSERT_TRUE(stream->copy(x->data(), nine.data(), 4000, CopyDirection::host_to_device).ok());
    ASSERT_TRUE(stream->record().value_or_throw().wait().ok());
    device.delayUs = 0;
    EXPECT_TRUE(queue.synchronize().ok());
    EXPECT_EQ(before, one);
    EXPECT_EQ(after, std::vector<float>(1000, 3));
    std::vector<float> found(1000);
    ASSERT_TRUE(x->read(0, std::as_writable_bytes(std::span(found))).ok());
    EXPECT_EQ(found, nine);
  }
}

TEST(Devices, PinnedMemoryIsTheHostsAndComesFromTheDevice) {
  SeparateDevice &device = SeparateDevice::get(0), &next = SeparateDevice::get(1);
  device.pinned_allocator().empty_cache();
  ASSERT_EQ(device.pinnedBytes, 0u);
  {
    const auto pinned = Buffer::allocate_pinned(1000, device).value_or_throw();
    EXPECT_TRUE(pinned->device().is_host());
    EXPECT_EQ(device.pinnedBytes, 2u << 20);
    EXPECT_EQ(device.pinned_allocator().memory_allocated(), 1024u);
    std::memset(pinned->data(), 5, pinned->bytes());
    // It is kept for the copy, and then for the next.
    auto stream = device.make_stream().value_or_throw();
    const auto there = Buffer::allocate(1000, 0, device).value_or_throw();
    ASSERT_TRUE(
        stream->copy(there->data(), pinned->data(), 1000, runtime::CopyDirection::host_to_device).ok());
    pinned->note_point(stream->id(), stream->record().value_or_throw());
    EXPECT_TRUE(pinned->wait_unused().ok());
    std::vector<std::byte> found(1000);
    ASSERT_TRUE(there->read(0, found).ok());
    EXPECT_EQ(found, std::vector<std::byte>(1000, std::byte{5}));
  }
  EXPECT_EQ(device.pinned_allocator().memory_allocated(), 0u);
  EXPECT_EQ(device.pinnedBytes, 2u << 20);
  // Bytes between two devices go through it.
  const auto from = Buffer::allocate(1 << 20, 0, device).value_or_throw(),
             to = Buffer::allocate(1 << 20, 0, next).value_or_throw();
  device.pinned_allocator().reset_peak_stats();
  ASSERT_TRUE(runtime::copy_between(next, to->data(), device, from->data(), from->bytes()).ok());
  EXPECT_EQ(device.pinned_allocator().max_memory_allocated(), 1u << 20);
  // On the host all memory is as good.
  EXPECT_EQ(&runtime::host_device().pinned_allocator(), &runtime::CachingAllocator::get());
}

// Launches of the host and of a device, with copies in both directions. During the copies, the host computes
// in the same arena.
constexpr const char *mixed = R"(
weft.func @main(%a: tensor<24x24xf32, #gpu>, %h: tensor<24x24xf32, #cpu>) -> (tensor<24x24xf32, #cpu>, tensor<24x24xf32, #gpu>, tensor<24x24xf32, #cpu>) {
  %c = weft.constant dense<0.25> : tensor<24x24xf32, #gpu>
  %0 = weft.dot_general %h, %h, contract = [1] x [0] : tensor<24x24xf32, #cpu>, tensor<24x24xf32, #cpu>
  %1 = weft.transfer %0 to #gpu : tensor<24x24xf32, #cpu>
  %2 = weft.dot_general %a, %1, contract = [1] x [0] : tensor<24x24xf32, #gpu>, tensor<24x24xf32, #gpu>
  %3 = weft.tanh %2 : tensor<24x24xf32, #gpu>
  %4 = weft.mul %3, %c : tensor<24x24xf32, #gpu>
  %5 = weft.dot_general %4, %a, contract = [1] x [0] : tensor<24x24xf32, #gpu>, tensor<24x24xf32, #gpu>
  %6 = weft.transfer %5 to #cpu : tensor<24x24xf32, #gpu>
  %7 = weft.dot_general %0, %h, contract = [1] x [0] : tensor<24x24xf32, #cpu>, tensor<24x24xf32, #cpu>
  %8 = weft.exp %7 : tensor<24x24xf32, #cpu>
  %9 = weft.dot_general %8, %6, contract = [1] x [0] : tensor<24x24xf32, #cpu>, tensor<24x24xf32, #cpu>
  %10 = weft.add %9, %7 : tensor<24x24xf32, #cpu>
  weft.return %10, %5, %6 : tensor<24x24xf32, #cpu>, tensor<24x24xf32, #gpu>, tensor<24x24xf32, #cpu>
})";

TEST(Devices, AProgramOnTheHostAndADeviceComputesWhatTheInterpreterDoes) {
  DeviceProgram program(mixed);
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (int delay : {0, 300})
    for (runtime::QueueMode mode : modes)
      for (uint64_t seed : {1, 2, 3}) {
        program.device.delayUs = delay;
        program.expectAsOnTheHost(program.randomArguments(seed), mode);
      }
}

// The trips of a loop are launches of the device: with constants of the body, a loop in it, products, and a
// loop of the host beside it.
TEST(Devices, LoopsRunWhereTheirValuesAre) {
  DeviceProgram program(R"(
    weft.func @main(%h: tensor<3x4xf32, #gpu>, %x: tensor<6x3x4xf32, #gpu>, %w: tensor<4x4xf32, #gpu>, %c: tensor<4xf32, #cpu>)
        -> (tensor<3x4xf32, #gpu>, tensor<6x3x4xf32, #gpu>, tensor<4xf32, #cpu>) {
      %r:2 = weft.scan @outer(%h) over(%x) with(%w), length = 6 reverse : (tensor<3x4xf32, #gpu>, tensor<6x3x4xf32, #gpu>, tensor<4x4xf32, #gpu>) -> (tensor<3x4xf32, #gpu>, tensor<6x3x4xf32, #gpu>)
      %s = weft.scan @host(%c) over() with(), length = 5 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
      weft.return %r#0, %r#1, %s : tensor<3x4xf32, #gpu>, tensor<6x3x4xf32, #gpu>, tensor<4xf32, #cpu>
    }
    weft.func private @outer(%h: tensor<3x4xf32, #gpu>, %x: tensor<3x4xf32, #gpu>, %w: tensor<4x4xf32, #gpu>) -> (tensor<3x4xf32, #gpu>, tensor<3x4xf32, #gpu>) {
      %table = weft.constant dense<[[1.0, 0.5, 0.25, 2.0], [0.5, 1.5, 0.75, 1.0], [0.125, 1.0, 0.5, 0.25]]> : tensor<3x4xf32, #gpu>
      %m = weft.mul %x, %table : tensor<3x4xf32, #gpu>
      %p = weft.dot_general %h, %w, contract = [1] x [0] : tensor<3x4xf32, #gpu>, tensor<4x4xf32, #gpu>
      %a = weft.add %p, %m : tensor<3x4xf32, #gpu>
      %t = weft.tanh %a : tensor<3x4xf32, #gpu>
      %n = weft.scan @inner(%t) over() with(), length = 4 : (tensor<3x4xf32, #gpu>) -> tensor<3x4xf32, #gpu>
      weft.return %n, %t : tensor<3x4xf32, #gpu>, tensor<3x4xf32, #gpu>
    }
    weft.func private @inner(%h: tensor<3x4xf32, #gpu>) -> tensor<3x4xf32, #gpu> {
      %table = weft.constant dense<[[0.5, 0.75, 0.25, 0.5], [0.25, 0.5, 0.5, 0.75], [0.5, 0.25, 0.75, 0.5]]> : tensor<3x4xf32, #gpu>
      %n = weft.mul %h, %table : tensor<3x4xf32, #gpu>
      weft.return %n : tensor<3x4xf32, #gpu>
    }
    weft.func private @host(%h: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
      %n = weft.cos %h : tensor<4xf32, #cpu>
      weft.return %n : tensor<4xf32, #cpu>
    })");
  for (const runtime::QueueMode mode : modes)
    program.expectAsOnTheHost(program.randomArguments(11), mode);
  // Two fusions and a product in each of six trips, with four trips of one kernel, and the loop of the host.
  const auto loaded = program.load();
  EXPECT_EQ(loaded->launch_count(), 6 * (2 + 4) + 1U);
}

// A condition and a while loop of the host, in a program that has a device.
TEST(Devices, TheHostChoosesBranchesBesideADevice) {
  DeviceProgram program(R"(
    weft.func @main(%x: tensor<4xf32, #gpu>, %c: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #gpu>) {
      %zero = weft.constant dense<0.0> : tensor<f32, #cpu>
      %s = weft.sum %c, dims = [0] : tensor<4xf32, #cpu>
      %p = weft.gt %s, %zero : tensor<f32, #cpu>
      %b = weft.cond %p then @twice else @negative(%c) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
      %one = weft.constant dense<1.0> : tensor<4xf32, #cpu>
      %w = weft.while @small do @twice(%one) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
      %r = weft.add %b, %w : tensor<4xf32, #cpu>
      %there = weft.transfer %r to #gpu : tensor<4xf32, #cpu>
      %y = weft.mul %there, %x : tensor<4xf32, #gpu>
      weft.return %r, %y : tensor<4xf32, #cpu>, tensor<4xf32, #gpu>
    }
    weft.func private @twice(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
      %r = weft.add %x, %x : tensor<4xf32, #cpu>
      weft.return %r : tensor<4xf32, #cpu>
    }
    weft.func private @negative(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
      %r = weft.neg %x : tensor<4xf32, #cpu>
      weft.return %r : tensor<4xf32, #cpu>
    }
    weft.func private @small(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
      %s = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
      %l = weft.constant dense<100.0> : tensor<f32, #cpu>
      %r = weft.lt %s, %l : tensor<f32, #cpu>
      weft.return %r : tensor<i1, #cpu>
    })");
  for (const runtime::QueueMode mode : modes)
    for (const uint64_t seed : {1, 2, 3, 4})
      program.expectAsOnTheHost(program.randomArguments(seed), mode);
}

// The host waits for the predicates of a device: with a constant, a loop of known length, a while loop in the
// body, and an argument that the result replaces.
TEST(Devices, WhileLoopsRunWhereTheirValuesAre) {
  DeviceProgram program(R"(
    weft.func @main(%s: tensor<4xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"}, %x: tensor<4xf32, #gpu>, %w: tensor<4xf32, #gpu>, %c: tensor<4xf32, #cpu>)
        -> (tensor<4xf32, #gpu>, tensor<i64, #gpu>, tensor<4xf32, #gpu> {weft.tied = 0}, tensor<4xf32, #gpu>) {
      %zero = weft.constant dense<0> : tensor<i64, #gpu>
      %t = weft.tanh %x : tensor<4xf32, #gpu>
      %there = weft.transfer %c to #gpu : tensor<4xf32, #cpu>
      %r:2 = weft.while @small do @outer(%t, %zero) with(%w) : (tensor<4xf32, #gpu>, tensor<i64, #gpu>, tensor<4xf32, #gpu>) -> (tensor<4xf32, #gpu>, tensor<i64, #gpu>)
      %n = weft.while @few do @twice(%s) with(%zero) : (tensor<4xf32, #gpu>, tensor<i64, #gpu>) -> tensor<4xf32, #gpu>
      %m:2 = weft.while @small do @outer(%there, %r#1) with(%w) : (tensor<4xf32, #gpu>, tensor<i64, #gpu>, tensor<4xf32, #gpu>) -> (tensor<4xf32, #gpu>, tensor<i64, #gpu>)
      weft.return %r#0, %r#1, %n, %m#0 : tensor<4xf32, #gpu>, tensor<i64, #gpu>, tensor<4xf32, #gpu>, tensor<4xf32, #gpu>
    }
    weft.func private @small(%x: tensor<4xf32, #gpu>, %i: tensor<i64, #gpu>, %w: tensor<4xf32, #gpu>) -> tensor<i1, #gpu> {
      %l = weft.constant dense<5> : tensor<i64, #gpu>
      %r = weft.lt %i, %l : tensor<i64, #gpu>
      weft.return %r : tensor<i1, #gpu>
    }
    weft.func private @outer(%x: tensor<4xf32, #gpu>, %i: tensor<i64, #gpu>, %w: tensor<4xf32, #gpu>) -> (tensor<4xf32, #gpu>, tensor<i64, #gpu>) {
      %one = weft.constant dense<1> : tensor<i64, #gpu>
      %zero = weft.constant dense<0> : tensor<i64, #gpu>
      %table = weft.constant dense<[1.0, 0.5, 0.25, 2.0]> : tensor<4xf32, #gpu>
      %m = weft.mul %x, %table : tensor<4xf32, #gpu>
      %s = weft.scan @trip(%m) over() with(%w), length = 4 : (tensor<4xf32, #gpu>, tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
      %y:2 = weft.while @below do @inner(%s, %zero) with(%i) : (tensor<4xf32, #gpu>, tensor<i64, #gpu>, tensor<i64, #gpu>) -> (tensor<4xf32, #gpu>, tensor<i64, #gpu>)
      %n = weft.add %i, %one : tensor<i64, #gpu>
      weft.return %y#0, %n : tensor<4xf32, #gpu>, tensor<i64, #gpu>
    }
    weft.func private @trip(%h: tensor<4xf32, #gpu>, %w: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
      %n = weft.mul %h, %w : tensor<4xf32, #gpu>
      %r = weft.add %n, %w : tensor<4xf32, #gpu>
      weft.return %r : tensor<4xf32, #gpu>
    }
    weft.func private @below(%x: tensor<4xf32, #gpu>, %j: tensor<i64, #gpu>, %i: tensor<i64, #gpu>) -> tensor<i1, #gpu> {
      %r = weft.lt %j, %i : tensor<i64, #gpu>
      weft.return %r : tensor<i1, #gpu>
    }
    weft.func private @inner(%x: tensor<4xf32, #gpu>, %j: tensor<i64, #gpu>, %i: tensor<i64, #gpu>) -> (tensor<4xf32, #gpu>, tensor<i64, #gpu>) {
      %one = weft.constant dense<1> : tensor<i64, #gpu>
      %n = weft.add %j, %one : tensor<i64, #gpu>
      %y = weft.cos %x : tensor<4xf32, #gpu>
      weft.return %y, %n : tensor<4xf32, #gpu>, tensor<i64, #gpu>
    }
    weft.func private @few(%x: tensor<4xf32, #gpu>, %i: tensor<i64, #gpu>) -> tensor<i1, #gpu> {
      %l = weft.constant dense<100.0> : tensor<f32, #gpu>
      %a = weft.abs %x : tensor<4xf32, #gpu>
      %s = weft.sum %a, dims = [0] : tensor<4xf32, #gpu>
      %r = weft.lt %s, %l : tensor<f32, #gpu>
      weft.return %r : tensor<i1, #gpu>
    }
    weft.func private @twice(%x: tensor<4xf32, #gpu>, %i: tensor<i64, #gpu>) -> tensor<4xf32, #gpu> {
      %r = weft.add %x, %x : tensor<4xf32, #gpu>
      weft.return %r : tensor<4xf32, #gpu>
    })");
  for (const runtime::QueueMode mode : modes)
    for (const uint64_t seed : {11, 12})
      program.expectAsOnTheHost(program.randomArguments(seed), mode);
}

TEST(Devices, LoopsHaveRowsOfAnySize) {
  DeviceProgram program(R"(
#row = #weft.device<cuda:0, [n]>
weft.func @main(%h: tensor<?xf32, #row>, %x: tensor<5x?xf32, #row>) -> (tensor<?xf32, #row>, tensor<5x?xf32, #row>) attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  %r:2 = weft.scan @body(%h) over(%x) with(), length = 5 : (tensor<?xf32, #row>, tensor<5x?xf32, #row>) -> (tensor<?xf32, #row>, tensor<5x?xf32, #row>)
  weft.return %r#0, %r#1 : tensor<?xf32, #row>, tensor<5x?xf32, #row>
}
weft.func private @body(%h: tensor<?xf32, #row>, %x: tensor<?xf32, #row>) -> (tensor<?xf32, #row>, tensor<?xf32, #row>) attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  %m = weft.mul %h, %x : tensor<?xf32, #row>
  %n = weft.add %m, %x : tensor<?xf32, #row>
  weft.return %n, %m : tensor<?xf32, #row>, tensor<?xf32, #row>
})");
  auto whole = program.load();
  ASSERT_TRUE(whole);
  for (const int64_t n : {1, 7, 64}) {
    const std::vector<std::vector<int64_t>> shapes = {{n}, {5, n}};
    auto sizes = whole->bind(shapes);
    ASSERT_TRUE(sizes);
    program.expectAsOnTheHost(program.randomArguments(12, shapes), runtime::QueueMode::inlined, *sizes);
  }
}

TEST(Devices, CopiesAreThoseOfTheProgram) {
  DeviceProgram program(mixed);
  auto executable = program.load();
  ASSERT_TRUE(executable);
  const auto arguments = program.randomArguments(5);
  ASSERT_TRUE(program.run(*executable, arguments).ok());
  program.device.copiesIn = program.device.copiesOut = program.device.launches = 0;
  std::vector<std::shared_ptr<Buffer>> again(3);
  ASSERT_TRUE(executable->run(program.buffers, again).ok());
  for (const auto &result : again)
    ASSERT_TRUE(result->wait().ok());
  EXPECT_EQ(program.device.copiesIn, 1u);
  EXPECT_EQ(program.device.copiesOut, 1u);
  EXPECT_GE(program.device.launches, 3u);
}

// The device refuses a region that does not come at once, in order.
TEST(Devices, RegionsAreIssuedAtOnce) {
  DeviceProgram program(mixed), whole(R"(
weft.func @main(%a: tensor<24x24xf32, #gpu>) -> tensor<24x24xf32, #gpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<24x24xf32, #gpu>, tensor<24x24xf32, #gpu>
  %1 = weft.tanh %0 : tensor<24x24xf32, #gpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<24x24xf32, #gpu>, tensor<24x24xf32, #gpu>
  weft.return %2 : tensor<24x24xf32, #gpu>
})");
  for (runtime::QueueMode mode : modes) {
    program.device.regions = 0;
    whole.expectAsOnTheHost(whole.randomArguments(1), mode);
    EXPECT_EQ(program.device.regions, 1u);
    program.expectAsOnTheHost(program.randomArguments(1), mode);
  }
}

TEST(Devices, TheHostWaitsOnlyForWhatItReads) {
  DeviceProgram program(R"(
weft.func @main(%a: tensor<64x64xf32, #gpu>, %h: tensor<64x64xf32, #cpu>) -> (tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>) {
  %0 = weft.exp %a : tensor<64x64xf32, #gpu>
  %1 = weft.transfer %0 to #cpu : tensor<64x64xf32, #gpu>
  %2 = weft.dot_general %h, %h, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %3 = weft.tanh %2 : tensor<64x64xf32, #cpu>
  weft.return %1, %3 : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
})");
  ASSERT_TRUE(program.load());
  for (runtime::QueueMode mode : modes) {
    program.device.delayUs = 1000;
    program.device.waits = 0;
    program.expectAsOnTheHost(program.randomArguments(3), mode);
    EXPECT_EQ(program.device.waits, 1u) << "at the end of the call";
  }
}

// Numbers of the host, read on two devices and on the host itself.
TEST(Devices, ScalarsOfACallTravelAsOneBlock) {
  DeviceProgram program(R"(
weft.func @main(%a: tensor<64xf32, #gpu>, %b: tensor<64xf32, #next>, %h: tensor<64xf32, #cpu>,
    %r: tensor<f32, #cpu> {weft.role = "scalar", weft.name = "r"}, %n: tensor<i32, #cpu> {weft.role = "scalar", weft.name = "n"},
    %d: tensor<f64, #cpu> {weft.role = "scalar", weft.name = "d"}, %u: tensor<f32, #cpu> {weft.role = "scalar", weft.name = "u"})
    -> (tensor<64xf32, #gpu>, tensor<64xf32, #next>, tensor<64xf32, #cpu>, tensor<f64, #gpu>) {
  %0 = weft.mul %a, %r : tensor<64xf32, #gpu>, tensor<f32, #cpu>
  %1 = weft.add %0, %u : tensor<64xf32, #gpu>, tensor<f32, #cpu>
  %2 = weft.transfer %n to #gpu : tensor<i32, #cpu>
  %3 = weft.convert %2 to f64 : tensor<i32, #gpu>
  %4 = weft.transfer %d to #gpu : tensor<f64, #cpu>
  %5 = weft.mul %3, %4 : tensor<f64, #gpu>
  %6 = weft.sub %b, %u : tensor<64xf32, #next>, tensor<f32, #cpu>
  %7 = weft.convert %d to f32 : tensor<f64, #cpu>
  %b7 = weft.broadcast_in_dim %7, dims = [] : tensor<f32, #cpu> -> tensor<64xf32, #cpu>
  %8 = weft.add %h, %b7 : tensor<64xf32, #cpu>
  weft.return %1, %6, %8, %5 : tensor<64xf32, #gpu>, tensor<64xf32, #next>, tensor<64xf32, #cpu>, tensor<f64, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes)
    for (uint64_t seed : {1, 2}) {
      const auto arguments = program.randomArguments(seed);
      program.expectAsOnTheHost(arguments, mode);
      std::vector<std::shared_ptr<Buffer>> again(4);
      program.device.copiesIn = program.next.copiesIn = program.device.bytesIn = 0;
      ASSERT_TRUE(executable->run(program.buffers, again, {nullptr, mode}).ok());
      for (const auto &result : again)
        ASSERT_TRUE(result->wait().ok());
      EXPECT_EQ(program.device.copiesIn, 1u);
      EXPECT_EQ(program.device.bytesIn, 20u) << "r, n, d, u";
      EXPECT_EQ(program.next.copiesIn, 1u);
    }
}

TEST(Devices, EachDeviceHasMemoryForItsOwnTemporariesOnly) {
  // 1 MiB of temporaries on the device, hardly any on the host.
  DeviceProgram program(R"(
weft.func @main(%a: tensor<512x512xf32, #gpu>) -> tensor<f32, #cpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<512x512xf32, #gpu>, tensor<512x512xf32, #gpu>
  %1 = weft.sum %0, dims = [0, 1] : tensor<512x512xf32, #gpu>
  %2 = weft.transfer %1 to #cpu : tensor<f32, #gpu>
  %3 = weft.exp %2 : tensor<f32, #cpu>
  weft.return %3 : tensor<f32, #cpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  auto queue = std::make_unique<runtime::Queue>();
  program.buffers = {program.upload(program.randomArguments(1)[0], program.device)};
  program.results.resize(1);
  const uint64_t before = program.device.allocator().memory_allocated();
  ASSERT_TRUE(
      executable->run(program.buffers, program.results, {queue.get(), runtime::QueueMode::async}).ok());
  ASSERT_TRUE(program.results[0]->wait().ok());
  EXPECT_GE(program.device.allocator().memory_allocated() - before, 1u << 20);
  EXPECT_LT(queue->arena_bytes(), 1u << 16);
  queue->trim();
  EXPECT_EQ(program.device.allocator().memory_allocated(), before);
}

TEST(Devices, StateOnADeviceIsUpdatedWhereItIs) {
  DeviceProgram program(R"(
weft.func @main(%s: tensor<1000xf32, #gpu> {weft.donated, weft.role = "state", weft.name = "s"}, %x: tensor<1000xf32, #cpu>) -> (tensor<1000xf32, #gpu> {weft.tied = 0}) {
  %0 = weft.transfer %x to #gpu : tensor<1000xf32, #cpu>
  %1 = weft.add %s, %0 : tensor<1000xf32, #gpu>
  weft.return %1 : tensor<1000xf32, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes) {
    const auto arguments = program.randomArguments(3);
    ASSERT_TRUE(program.run(*executable, arguments, mode).ok());
    EXPECT_EQ(program.results[0], program.buffers[0]);
    const ir::Literal found = DeviceProgram::download(*program.buffers[0], DType::f32, {1000});
    for (int64_t i = 0; i < 1000; ++i)
      EXPECT_EQ(found.real[static_cast<size_t>(i)],
                static_cast<double>(static_cast<float>(arguments[0].real[static_cast<size_t>(i)]) +
                                    static_cast<float>(arguments[1].real[static_cast<size_t>(i)])));
  }
}

TEST(Devices, TheHostPrintsAndTestsACopyOfAValueOfADevice) {
  DeviceProgram program(R"(
weft.func @main(%x: tensor<3xf32, #gpu>) -> tensor<3xf32, #gpu> {
  %z = weft.constant dense<0.0> : tensor<3xf32, #gpu>
  %0 = weft.neg %x : tensor<3xf32, #gpu>
  weft.print %0 label = "negated" : tensor<3xf32, #gpu>
  %1 = weft.lt %0, %z : tensor<3xf32, #gpu>
  weft.assert %1, "all are negative" : tensor<3xi1, #gpu>
  weft.return %0 : tensor<3xf32, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  ir::Literal x(DType::f32, {3});
  for (int64_t i = 0; i < 3; ++i)
    x.setReal(i, static_cast<double>(i) + 1);
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(program.run(*executable, {x}).ok());
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(printed.starts_with("negated: tensor([-1")) << printed;
  x.setReal(1, -5);
  ::testing::internal::CaptureStdout();
  EXPECT_NE(program.run(*executable, {x}).message().find("all are negative"), std::string::npos);
  (void)::testing::internal::GetCapturedStdout();
}

TEST(Devices, AValueMovesFromOneDeviceToAnother) {
  DeviceProgram program(R"(
weft.func @main(%a: tensor<64x64xf32, #gpu>) -> (tensor<64x64xf32, #next>, tensor<64x64xf32, #gpu>) {
  %0 = weft.exp %a : tensor<64x64xf32, #gpu>
  %1 = weft.transfer %0 to #next : tensor<64x64xf32, #gpu>
  %2 = weft.dot_general %0, %a, contract = [1] x [0] : tensor<64x64xf32, #gpu>, tensor<64x64xf32, #gpu>
  %3 = weft.dot_general %2, %a, contract = [1] x [0] : tensor<64x64xf32, #gpu>, tensor<64x64xf32, #gpu>
  %4 = weft.dot_general %1, %1, contract = [1] x [0] : tensor<64x64xf32, #next>, tensor<64x64xf32, #next>
  %5 = weft.sqrt %4 : tensor<64x64xf32, #next>
  weft.return %5, %3 : tensor<64x64xf32, #next>, tensor<64x64xf32, #gpu>
})");
  auto executable = program.load();
  ASSERT_TRUE(executable);
  for (runtime::QueueMode mode : modes) {
    program.device.delayUs = 200;
    program.expectAsOnTheHost(program.randomArguments(4), mode);
  }
  EXPECT_EQ(program.next.copiesWithin, 2u) << "one a call, by the device that receives";
}

// The host's memory in the middle is written by one device and read by the other, and neither waits for the
// host.
TEST(Devices, AValueMovesFromOneDeviceToAnotherByWayOfTheHost) {
  DeviceProgram program(R"(
weft.func @main(%a: tensor<64x64xf32, #gpu>) -> tensor<4096xf32, #next> {
  %0 = weft.exp %a : tensor<64x64xf32, #gpu>
  %1 = weft.transfer %0 to #cpu : tensor<64x64xf32, #gpu>
  %2 = weft.reshape %1 : tensor<64x64xf32, #cpu> -> tensor<4096xf32, #cpu>
  %3 = weft.transfer %2 to #next : tensor<4096xf32, #cpu>
  %4 = weft.sqrt %3 : tensor<4096xf32, #next>
  weft.return %4 : tensor<4096xf32, #next>
})");
  ASSERT_TRUE(program.load());
  for (uint64_t seed : {1, 2})
    for (runtime::QueueMode mode : modes) {
      program.device.delayUs = 3000;
      program.expectAsOnTheHost(program.randomArguments(seed), mode);
    }
}

TEST(Devices, SizesMayBeChosenByACall) {
  DeviceProgram program(R"(
weft.func @main(%a: tensor<?x8xf32, #weft.device<cuda:0, [n]>>, %h: tensor<?x8xf32, #weft.device<cpu, [n]>>) -> tensor<?x8xf32, #weft.device<cpu, [n]>> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.transfer %h to #gpu : tensor<?x8xf32, #weft.device<cpu, [n]>>
  %1 = weft.tanh %0 : tensor<?x8xf32, #weft.device<cuda:0, [n]>>
  %2 = weft.dot_general %1, %a, contract = [0] x [0] : tensor<?x8xf32, #weft.device<cuda:0, [n]>>, tensor<?x8xf32, #weft.device<cuda:0, [n]>>
  %3 = weft.dot_general %a, %2, contract = [1] x [0] : tensor<?x8xf32, #weft.device<cuda:0, [n]>>, tensor<8x8xf32, #gpu>
  %4 = weft.transfer %3 to #cpu : tensor<?x8xf32, #weft.device<cuda:0, [n]>>
  %5 = weft.exp %4 : tensor<?x8xf32, #weft.device<cpu, [n]>>
  %6 = weft.add %5, %h : tensor<?x8xf32, #weft.device<cpu, [n]>>
  weft.return %6 : tensor<?x8xf32, #weft.device<cpu, [n]>>
})");
  auto whole = program.load();
  ASSERT_TRUE(whole);
  for (int64_t n : {1, 7, 64}) {
    const std::vector<std::vector<int64_t>> shapes = {{n, 8}, {n, 8}};
    auto sizes = whole->bind(shapes);
    ASSERT_TRUE(sizes);
    for (runtime::QueueMode mode : modes)
      program.expectAsOnTheHost(program.randomArguments(6, shapes), mode, *sizes);
  }
}

TEST(Devices, WhatAProgramNeedsAndIsNotThereIsNamed) {
  DeviceProgram program(mixed);
  const auto message = [&](const runtime::DeviceMap &map) {
    const auto loaded = Executable::load(program.package, "main", nullptr, map);
    EXPECT_FALSE(loaded);
    EXPECT_EQ(loaded.status().code(), "WEFT-L017");
    return loaded.status().message();
  };
  EXPECT_NE(message({}).find("'main' runs on 'cuda:0', which is mapped to no device"), std::string::npos);
  static SeparateDevice other("separate:0", "cuda");
  EXPECT_NE(
      message({{"cuda:0", &other}})
          .find("'main' has kernels in 'image.cpu', and 'separate:0', which 'cuda:0' is mapped to, runs "
                "code for 'cuda'"),
      std::string::npos);
  EXPECT_NE(message({{"cuda:0", &runtime::host_device()}})
                .find("keeps 'cpu' and 'cuda:0' apart, and both are mapped to 'cpu'"),
            std::string::npos);
  auto executable = program.load();
  ASSERT_TRUE(executable);
  std::vector<std::shared_ptr<Buffer>> arguments = {Buffer::allocate(24 * 24 * 4).value_or_throw(),
                                                    Buffer::allocate(24 * 24 * 4).value_or_throw()};
  std::vector<std::shared_ptr<Buffer>> results(3);
  EXPECT_NE(executable->run(arguments, results)
                .message()
                .find("argument 0 is taken on 'separate:0', found a buffer on 'cpu': copy it there first"),
            std::string::npos);
  arguments[0] = Buffer::allocate(24 * 24 * 4, 0, program.device).value_or_throw();
  const std::vector<std::shared_ptr<Buffer>> outputs = {nullptr, arguments[1], nullptr};
  EXPECT_NE(executable->run(arguments, results, {nullptr, std::nullopt, outputs})
                .message()
                .find("must be on 'separate:0', found memory on 'cpu'"),
            std::string::npos);
}

TEST(Devices, ADeviceWithoutMemoryFailsTheCallBeforeItsFirstLaunch) {
  DeviceProgram program(mixed);
  auto executable = program.load();
  ASSERT_TRUE(executable);
  const auto arguments = program.randomArguments(1);
  ASSERT_TRUE(program.run(*executable, arguments).ok());
  program.results.clear();
  program.device.launches = 0;
  runtime::Queue::get_default().trim();
  program.device.allocator().empty_cache();
  program.device.allocator().set_limit(program.device.allocator().memory_reserved());
  // The rest of the argument's segment is allocated.
  std::vector<std::shared_ptr<Buffer>> held;
  while (true) {
    auto more = Buffer::allocate(512, 0, program.device);
    if (!more)
      break;
    held.push_back(*more);
  }
  std::vector<std::shared_ptr<Buffer>> results(3);
  const Status status = executable->run(program.buffers, results, {nullptr, runtime::QueueMode::inlined});
  program.device.allocator().set_limit(UINT64_MAX);
  EXPECT_EQ(status.code(), "WEFT-M001") << status.message();
  EXPECT_TRUE(status.message().find("separate:0 out of memory. Tried to allocate") != std::string::npos)
      << status.message();
  EXPECT_EQ(program.device.launches, 0u);
}

} // namespace
} // namespace weft::testing
