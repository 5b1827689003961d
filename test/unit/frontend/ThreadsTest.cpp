//===- ThreadsTest.cpp - The interface from several threads -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two threads at a time, each with its own tensors, and with a tensor and a compiled function that they
// share. The suite runs these under ThreadSanitizer too.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <atomic>
#include <thread>

using namespace weft;

/// Runs `body(0)` and `body(1)` at the same time.
template <typename Body> static void twice(Body body) {
  std::atomic<int> waiting{2};
  const auto run = [&](int number) {
    --waiting;
    while (waiting > 0) // so that both begin together
      std::this_thread::yield();
    body(number);
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST(Threads, ComputeEachTheirOwn) {
  Floats found[2];
  twice([&](int number) {
    Tensor x = full({64}, number + 1.0);
    for (int i = 0; i < 20; ++i) {
      x = x * 0.5 + number;
      if (i % 5 == 0)
        x.sum().item<float>();
    }
    found[number] = x.to_vector<float>();
  });
  for (int number : {0, 1}) {
    auto expected = static_cast<float>(number + 1);
    for (int i = 0; i < 20; ++i)
      expected = expected * 0.5f + static_cast<float>(number);
    EXPECT_EQ(found[number], Floats(64, expected));
  }
}

TEST(Threads, CallOneCompiledFunction) {
  Tensor w = full({16}, 3.0);
  auto f = compile([&](Tensor x) { return w * x; });
  Floats found[2];
  twice([&](int number) {
    for (int i = 0; i < 20; ++i)
      // Two shapes, so that one thread may compile while the other calls.
      found[number] = f(full({number + 1, 16}, static_cast<double>(i))).to_vector<float>();
  });
  EXPECT_EQ(found[0], Floats(16, 57));
  EXPECT_EQ(found[1], Floats(32, 57));
  EXPECT_EQ(f.variants().size(), 2u);
}

TEST(Threads, TrainEachTheirOwn) {
  Floats found[2];
  twice([&](int number) {
    Tensor w = ones({8}).requires_grad_();
    optim::SGD sgd({w}, {.lr = 0.5});
    for (int i = 0; i < 10; ++i) {
      (w * full({8}, number + 1.0)).sum().backward();
      sgd.step();
      sgd.zero_grad();
    }
    found[number] = w.to_vector<float>();
  });
  EXPECT_EQ(found[0], Floats(8, -4));
  EXPECT_EQ(found[1], Floats(8, -9));
}

TEST(Threads, ReadWhatOneOfThemWrote) {
  Tensor shared = zeros({1 << 12});
  auto add = compile([&] { shared += 1; });
  add();
  twice([&](int number) {
    for (int i = 0; i < 20; ++i)
      if (number == 0) {
        add();
      } else {
        const Floats seen = shared.to_vector<float>();
        EXPECT_EQ(seen.front(), seen.back()) << "half of a write";
      }
  });
  EXPECT_EQ(shared.to_vector<float>(), Floats(1 << 12, 21));
}

TEST(Threads, ExplainWhileTheOtherCalls) {
  auto f = compile([](Tensor x) { return (x * 2).sum(); }, {.name = "summed"});
  f(ones({8}));
  twice([&](int number) {
    for (int i = 0; i < 10; ++i)
      if (number == 0)
        EXPECT_EQ(f(ones({8})).item<float>(), 16);
      else
        EXPECT_NE(f.explain().find("summed"), std::string::npos);
    memory_stats();
  });
}

TEST(Threads, FailEachWithTheirOwnError) {
  std::string found[2];
  twice([&](int number) {
    for (int i = 0; i < 5; ++i) {
      Tensor rows = arange(4).to(f32).index_select(0, Tensor::from(std::vector<int64_t>{number + 7}, {1}));
      found[number] = errorOf([&] { rows.to_vector<float>(); });
    }
  });
  for (int number : {0, 1})
    EXPECT_NE(found[number].find("index " + std::to_string(number + 7) + " is out of bounds"),
              std::string::npos)
        << found[number];
}

/// A chain of `length` operations, whose compilation takes a while.
static Tensor longChain(Tensor x, int length) {
  for (int i = 0; i < length; ++i)
    x = i % 8 == 7 ? cumsum(x, 0) * 0.5 : sin(x) + static_cast<double>(i);
  return x;
}

TEST(Threads, OneRecordsAndRunsWhileTheOtherCompiles) {
  std::atomic<bool> isRecorded{false}, isDone{false};
  const auto readsMeanwhile = [&](const auto &compiles) {
    isRecorded = isDone = false;
    std::thread other([&] {
      compiles();
      isDone = true;
    });
    while (!isRecorded)
      std::this_thread::yield();
    int reads = 0;
    Tensor x = ones({16});
    while (!isDone) {
      x = x * 0.5 + 1;
      const float value = x.sum().item<float>(); // it records, compiles at first, and waits
      reads += !isDone;
      EXPECT_GE(value, 16);
    }
    other.join();
    return reads;
  };
  // All of a call but its trace.
  auto f = compile([&](Tensor x) {
    Tensor y = longChain(x, 400);
    isRecorded = true;
    return y;
  });
  EXPECT_GT(readsMeanwhile([&] { f(ones({32})).sum().item<float>(); }), 0);
  // A lazy program.
  EXPECT_GT(readsMeanwhile([&] {
              Tensor y = longChain(ones({48}), 400);
              isRecorded = true;
              y.to_vector<float>();
            }),
            0);
}

TEST(Threads, CompileAFunctionOnceThatBothCall) {
  auto f = compile([](Tensor x) { return longChain(x, 100); });
  Floats found[2];
  const Tensor x[2] = {ones({24}), ones({24})};
  x[0].to_vector<float>();
  x[1].to_vector<float>();
  const uint64_t before = compile_count();
  twice([&](int number) { found[number] = f(x[number]).to_vector<float>(); });
  EXPECT_EQ(f.variants().size(), 1u);
  EXPECT_EQ(compile_count() - before, 1u);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], longChain(ones({24}), 100).to_vector<float>());
}

// Another thread may change an argument while a function is compiled for it.
TEST(Threads, OneChangesWhatTheOtherCompilesFor) {
  Tensor w = ones({8});
  std::atomic<bool> isRecorded{false};
  auto f = compile([&](Tensor x) {
    Tensor y = longChain(x, 200) * w;
    isRecorded = true;
    return y;
  });
  Floats found;
  std::thread other([&] { found = f(ones({8})).to_vector<float>(); });
  while (!isRecorded)
    std::this_thread::yield();
  w.requires_grad_();
  {
    const NoGradGuard guard;
    w *= 2;
  }
  other.join();
  // The call came before the change, or after it.
  const Tensor chain = longChain(ones({8}), 200);
  const Floats before = chain.to_vector<float>(), after = (chain * 2).to_vector<float>();
  EXPECT_TRUE(found == before || found == after);
  EXPECT_NE(before, after);
  EXPECT_EQ(f(ones({8})).to_vector<float>(), after);
}
