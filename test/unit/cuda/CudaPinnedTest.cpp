//===- CudaPinnedTest.cpp - Pinned memory and copies that do not wait ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/frontend/DeviceTraining.h"

#include <functional>

using namespace weft;

namespace {
using weft::testing::numbers;

/// How often a stream has to be asked until a call on it is done: the software driver goes on by one piece of
/// work each time.
int questions(const Stream &stream, const std::function<Tensor()> &call, Tensor &result) {
  {
    const StreamGuard guard(stream);
    result = call();
  }
  int count = 1;
  while (!stream.query())
    ++count;
  return count;
}

/// The software driver runs nothing before something waits for it, unless it is told to.
bool isLate() {
  const char *const eager = std::getenv("CUSIM_EAGER"), *const blocking = std::getenv("WEFT_LAUNCH_BLOCKING");
  return !(eager && *eager == '1') && !(blocking && *blocking == '1');
}

} // namespace

TEST(CudaPinned, CopiesToTheHostDoNotWait) {
  auto triple = compile([](Tensor x) { return (x * 3).to("cpu", {.non_blocking = true}); });
  auto waits = compile([](Tensor x) { return (x * 3).cpu(); });
  Tensor x = numbers(256).to("cuda:0") * 1;
  x.to_vector<float>();
  EXPECT_FALSE(waits(x).is_pinned());
  const Stream stream("cuda:0");
  for (int i = 1; i <= 4; ++i) { // as launches, and as a graph
    Tensor argument = x * full({}, i, {.device = "cuda:0"}), late, result;
    argument.to_vector<float>();
    const int of_late = questions(
                  stream, [&] { return triple(argument); }, late),
              of_others = questions(stream, [&] { return waits(argument); }, result);
    if (isLate())
      EXPECT_GT(of_late, of_others);
    EXPECT_TRUE(late.is_pinned());
    // A read waits.
    late = triple(argument);
    EXPECT_EQ(bitsOf({late, result}), bitsOf({numbers(256) * i * 3, numbers(256) * i * 3}));
  }
  // The same of a lazy program, and of what is written.
  Tensor lazy = (x * 5).to("cpu", {.non_blocking = true}), target = zeros({256}),
         halves = zeros({256}, {.dtype = f16});
  target.copy_(x * 7, {.non_blocking = true});
  halves.copy_(x * 7, {.non_blocking = true});
  EXPECT_TRUE(lazy.is_pinned());
  EXPECT_TRUE(target.is_pinned());
  EXPECT_TRUE(halves.is_pinned());
  EXPECT_EQ(bitsOf({lazy, target, halves}),
            bitsOf({numbers(256) * 5, numbers(256) * 7, (numbers(256) * 7).to(f16)}));
}

TEST(CudaPinned, TensorsOfTheHostArePinned) {
  Tensor plain = numbers(300) * 1, pinned = plain.pin_memory();
  EXPECT_FALSE(plain.is_pinned());
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_EQ(bitsOf({pinned}), bitsOf({plain}));
  Tensor same = pinned.pin_memory();
  same.fill_(2);
  EXPECT_EQ(floats(pinned), Floats(300, 2)) << "it is there already, so it is the same tensor";
  EXPECT_TRUE(plain.reshape({30, 10}).t().pin_memory().is_pinned());
  EXPECT_EQ(bitsOf({plain.reshape({30, 10}).t().pin_memory()}),
            bitsOf({plain.reshape({30, 10}).t().contiguous()}));
  EXPECT_FALSE(plain.to("cuda:0").is_pinned());
  EXPECT_ERROR((void)plain.to("cuda:0").pin_memory(),
               "cannot pin a tensor on 'cuda:0': only tensors of the host can be pinned");
  auto pins = compile([](Tensor x) { return x.pin_memory(); });
  EXPECT_ERROR(pins(plain), "pin_memory()");
  Tensor leaf = numbers(4).requires_grad_();
  (leaf.pin_memory().to("cuda:0") * 3).sum().backward();
  EXPECT_EQ(floats(leaf.grad()), Floats(4, 3));
}

// The device reads pinned memory when it comes to it: what the host does with it afterwards waits.
TEST(CudaPinned, MemoryIsNotWrittenBeforeItIsCopied) {
  auto upload = compile([](Tensor x) { return x.to("cuda:0") * 2; });
  Tensor pinned = (numbers(256) * 1).pin_memory();
  auto bump = compile([&] { pinned += 1; });
  for (int i = 0; i < 4; ++i) {
    Tensor there = upload(pinned);
    bump();
    EXPECT_EQ(bitsOf({there}), bitsOf({(numbers(256) + i) * 2})) << i;
    pinned = (numbers(256) + (i + 1)).pin_memory();
  }
  // Memory that is dropped while the device still reads it is not handed out again.
  for (int i = 0; i < 4; ++i) {
    Tensor there = upload((numbers(256) * i).pin_memory());
    Tensor other = (numbers(256) * -1).pin_memory();
    EXPECT_EQ(bitsOf({there}), bitsOf({numbers(256) * i * 2})) << i;
  }
}

TEST(CudaPinned, LoadersGatherInPinnedMemory) {
  const data::TensorDataset set(numbers(40).reshape({10, 4}), arange(10));
  for (const int workers : {0, 2})
    for (const Device on : {Device("cpu"), Device("cuda:0")}) {
      data::DataLoader loader(set,
                              {.batch_size = 4, .device = on, .num_workers = workers, .pin_memory = true});
      int64_t row = 0;
      for (auto &[images, labels] : loader) {
        EXPECT_EQ(images.device(), on);
        EXPECT_EQ(images.is_pinned(), on.is_cpu());
        EXPECT_EQ(bitsOf({images}),
                  bitsOf({numbers(40).reshape({10, 4}).slice(0, row, row + images.size(0))}));
        row += images.size(0);
      }
      EXPECT_EQ(row, 10);
    }
}
