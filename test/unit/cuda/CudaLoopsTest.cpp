//===- CudaLoopsTest.cpp - Loops on a GPU ----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body is compiled once, and a call has its launches once for each trip. Beside each loop are the same
// trips on the host.
//
//===----------------------------------------------------------------------===//
#include "test/unit/Occurrences.h"
#include "test/unit/frontend/CloseTensors.h"

using namespace weft;

namespace {

using weft::test::occurrences;

Tensor someNumbers(Shape shape, int seed, const char *device, DType dtype = f32) {
  return weft::testing::someNumbers(std::move(shape), seed).to(dtype).to(device);
}

void expectNear(const Tensor &found, const Tensor &expected, double bound = 1e-5) {
  EXPECT_EQ(found.device(), Device("cuda:0"));
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LE((found.cpu() - expected).abs().max().item<double>(),
            bound * (1 + expected.abs().max().item<double>()));
}

/// A recurrent layer, with its loss and gradients.
struct Layer {
  int64_t length = 12, width = 4, inputs = 5;
  const char *device = "cuda:0";
  bool reverse = false;
  Tensor h0 = someNumbers({3, width}, 1, device), xs = someNumbers({length, 3, inputs}, 2, device),
         w = someNumbers({width, width}, 3, device), u = someNumbers({inputs, width}, 4, device);

  std::vector<Tensor> weights() const { return {w, u, h0, xs}; }
  std::pair<Tensor, Tensor> loop() const {
    return scan(
        [this](const Tensor &h, const Tensor &x) {
          Tensor next = tanh(matmul(x, u) + matmul(h, w));
          return std::pair(next, next * 2);
        },
        h0, xs, {.reverse = reverse});
  }
  void require() const {
    for (Tensor tensor : weights())
      tensor.requires_grad_();
  }
  /// The loss, and the gradients of all inputs.
  std::vector<Tensor> step() const {
    for (Tensor tensor : weights())
      tensor.set_grad({});
    const auto [last, ys] = loop();
    Tensor loss = (last * last).sum() + (ys * ys).sum();
    loss.backward();
    std::vector<Tensor> all = {loss.detach()};
    for (const Tensor &tensor : weights())
      all.push_back(tensor.grad());
    return all;
  }
};

} // namespace

// Rows of 5, 20 and 28 bytes begin at addresses for which wide accesses are no rule.
TEST(CudaLoops, ElementwiseTripsHaveTheBitsOfTheHost) {
  for (const DType dtype : {f32, f16, f64})
    for (const int64_t width : {1, 5, 7, 8, 64})
      for (const int64_t length : {4, 5, 21})
        for (const bool reverse : {false, true}) {
          const auto run = [&](const char *device) {
            const auto [last, ys] = scan(
                [](const Tensor &h, const Tensor &x) {
                  Tensor next = h * 0.5 + x;
                  return std::pair(next, std::tuple(next, h - x));
                },
                someNumbers({width}, 1, device, dtype), someNumbers({length, width}, 2, device, dtype),
                {.reverse = reverse});
            return bitsOf({last, std::get<0>(ys), std::get<1>(ys)});
          };
          EXPECT_EQ(run("cuda:0"), run("cpu")) << width << " " << length << " " << reverse;
        }
}

TEST(CudaLoops, ProductsAndGradientsAreNearTheHosts) {
  for (const auto &[length, width] : {std::pair(4, 4), {12, 4}, {13, 16}, {9, 5}})
    for (const bool reverse : {false, true}) {
      const Layer gpu{.length = length, .width = width, .reverse = reverse};
      const Layer host{.length = length, .width = width, .device = "cpu", .reverse = reverse};
      gpu.require();
      host.require();
      const std::vector<Tensor> expected = host.step();
      auto compiled = compile([&] { return gpu.step(); });
      // Launches at first, and a graph from the third call on.
      for (int call = 0; call < 4; ++call) {
        const std::vector<Tensor> found = compiled();
        for (size_t i = 0; i < found.size(); ++i) {
          SCOPED_TRACE(std::to_string(length) + " trips, value " + std::to_string(i));
          expectNear(found[i], expected[i], 3e-5);
        }
      }
    }
}

TEST(CudaLoops, TextAndKernelsDoNotGrowWithTheTrips) {
  std::vector<std::string> plans;
  for (const int64_t length : {10, 300}) {
    const Layer layer{.length = length};
    layer.require();
    auto step = compile([&] { return layer.step(); });
    step();
    plans.push_back(step.mlir("plan"));
    EXPECT_EQ(occurrences(plans.back(), "weft.scan @"), 2) << plans.back();
  }
  for (const char *what : {"\n", "weft.fusion", "weft.dot_general"})
    EXPECT_EQ(occurrences(plans[0], what), occurrences(plans[1], what)) << what;
}

TEST(CudaLoops, MayBeInEachOther) {
  const auto run = [](const char *device) {
    const Tensor w = someNumbers({3}, 6, device);
    const auto outer = scan(
        [&](const Tensor &h, const Tensor &rows) {
          const auto inner =
              scan([&](const Tensor &g, const Tensor &x) { return std::pair(g * w + x, std::tuple<>{}); }, h,
                   rows);
          return std::pair(inner.first * 0.5, inner.first);
        },
        zeros({3}).to(device), someNumbers({6, 5, 3}, 5, device));
    return bitsOf({outer.first, outer.second});
  };
  EXPECT_EQ(run("cuda:0"), run("cpu"));
}

TEST(CudaLoops, RowsMayHaveAnySize) {
  const Layer layer{.width = 4};
  Dim batch("batch", 1, 64);
  const auto run = [&](const Tensor &h0, const Tensor &xs) {
    Layer inner = layer;
    inner.h0 = h0;
    inner.xs = xs;
    return inner.loop().second;
  };
  auto dynamic = compile(run, {spec({batch, 4}, f32, "cuda:0"), spec({12, batch, 5}, f32, "cuda:0")});
  for (const int64_t rows : {3, 1, 17, 3}) {
    const Layer host{.device = "cpu",
                     .h0 = someNumbers({rows, 4}, 30, "cpu"),
                     .xs = someNumbers({12, rows, 5}, 31, "cpu")};
    expectNear(dynamic(host.h0.to("cuda:0"), host.xs.to("cuda:0")), host.loop().second);
  }
  EXPECT_TRUE(mentions(dynamic.explain({.full = true}), "loop of 12 trips")) << dynamic.explain();
}

// The loop's result replaces an argument, which a call that fails has to leave as it was.
TEST(CudaLoops, AFailedCallChangesNothing) {
  Tensor state = someNumbers({8}, 1, "cuda:0");
  const Floats before = floats(state);
  auto step = compile([&](const Tensor &indices) {
    Tensor picked = arange(8).to("cuda:0").index_select(0, indices);
    const Tensor next =
        scan([](const Tensor &h) { return std::pair(h * 0.5 + 1, std::tuple<>{}); }, state, 5).first;
    state.copy_(next);
    return picked;
  });
  const Tensor wrong = tensor({1, 9}, {2}).to(i64).to("cuda:0"),
               right = tensor({1, 7}, {2}).to(i64).to("cuda:0");
  for (int call = 0; call < 4; ++call) {
    EXPECT_ERROR((step(wrong), synchronize("cuda:0")), "9");
    EXPECT_EQ(floats(state), before);
  }
  step(right);
  Floats expected = before;
  for (float &value : expected)
    for (int trip = 0; trip < 5; ++trip)
      value = value * 0.5F + 1;
  EXPECT_EQ(floats(state), expected);
}

TEST(CudaLoops, MayReadByIndexInTheirTrips) {
  struct Reader {
    const char *device;
    Tensor table = someNumbers({7, 4}, 1, device), head = someNumbers({4, 7}, 3, device),
           tokens = (arange(36) * 5 % 7).reshape({12, 3}).to(device);
    Tensor loss(const Tensor &read) const {
      return scan(
                 [this](const std::pair<Tensor, Tensor> &before, const Tensor &row) {
                   const Tensor h = tanh(embedding(row, table) + before.first);
                   return std::pair(std::pair(h, before.second + nn::cross_entropy(matmul(h, head), row)),
                                    std::tuple<>());
                 },
                 std::pair(zeros({3, 4}, {.device = device}), zeros({}, {.device = device})), read)
          .first.second;
    }
    std::vector<Tensor> step(const Tensor &read) const {
      const Tensor made = loss(read);
      std::vector<Tensor> all = grad(made, {table, head});
      all.push_back(made.detach());
      return all;
    }
  };
  const Reader host{.device = "cpu"}, there{.device = "cuda:0"};
  for (Tensor tensor : {host.table, host.head, there.table, there.head})
    tensor.requires_grad_();
  auto step = compile([&](const Tensor &tokens) { return there.step(tokens); });
  const std::vector<Tensor> expected = host.step(host.tokens);
  for (const std::vector<Tensor> &found : {there.step(there.tokens), step(there.tokens)})
    for (size_t i = 0; i < expected.size(); ++i)
      expectNear(found[i], expected[i], 1e-4);
  EXPECT_EQ(occurrences(step.mlir("plan"), "weft.scan"), 2U);
  Tensor wrong = there.tokens.clone();
  wrong[7][1].fill_(9);
  EXPECT_ERROR((step(wrong), synchronize("cuda:0")),
               "index 9 is out of bounds for dimension 0 with size 7 (at position 22)");
  expectNear(step(there.tokens)[0], expected[0], 1e-4);
}

// Beside the same on the host, where nothing is moved.
TEST(CudaLoops, TakeWhatTheirBodiesMakeOfTheHost) {
  struct Program {
    const char *device;
    Tensor w = someNumbers({4, 3}, 1, "cpu"), factor = tensor(0.5), limit = tensor(30.0),
           rows = tensor({2, 0}, {.dtype = i64});
    Tensor xs = someNumbers({6, 3}, 2, device);

    Tensor moved(const Tensor &h, const Tensor &x) const {
      const Tensor base = w.detach().to(device)[1] + w.t()[1].slice(0, 0, 3).to(device);
      return h * (factor * 2) + x * base + (w[0] * factor).to(device) + arange(3).to(device);
    }
    Tensor loss() const {
      const auto trip = [this](const Tensor &h, const Tensor &x) {
        Tensor next = cond(
            h.sum() > limit, [this](const Tensor &at) { return at * factor; },
            [&](const Tensor &at) { return moved(at, x); }, h);
        return std::pair(next, next.index_select(0, rows));
      };
      const auto [last, picked] = scan(trip, xs[0], xs);
      const Tensor grown = while_loop(
          [this](const Tensor &at) { return at.sum() < limit; },
          [this](const Tensor &at) { return at + w.detach()[0].abs().to(device) + factor.detach(); },
          last.detach());
      return (last * last).sum() + picked.square().sum() + grown.sum();
    }
    std::vector<Tensor> step() const {
      const Tensor made = loss();
      std::vector<Tensor> all = grad(made, {w, factor, xs});
      all.push_back(made.detach());
      return all;
    }
    void require() const {
      for (Tensor tensor : {w, factor, xs})
        tensor.requires_grad_();
    }
  };
  const Program host{.device = "cpu"}, there{.device = "cuda:0"};
  host.require();
  there.require();
  auto step = compile([&] { return there.step(); });
  const std::vector<Tensor> expected = host.step();
  for (const std::vector<Tensor> &found : {there.step(), step(), step()})
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found[i].device(), i < 2 ? Device("cpu") : Device("cuda:0"));
      weft::testing::expectClose(found[i].cpu(), expected[i], 1e-4);
    }
  // An operand of the host that is no number is none of an operation on a GPU.
  EXPECT_ERROR(scan([&](const Tensor &h) { return std::pair(h + host.w[0], std::tuple<>()); }, there.xs, 5),
               "WEFT-P001");
}

/// Indices of the host, of which some are out of range if `last` is, and one of the device.
TEST(CudaLoops, MayBeIndexedWithSeveralIndicesOfTheHost) {
  struct Program {
    const char *device;
    Tensor rows = tensor({0, 2, -1}, {.dtype = i64}), columns = tensor({1}, {.dtype = i32}),
           last = tensor(int64_t{1});
    Tensor xs = someNumbers({5, 3, 4, 2}, 2, device);

    Tensor run() const {
      return scan(
                 [this](const Tensor &h, const Tensor &x) {
                   const Tensor picked = x.index({rows, columns});
                   const Tensor put =
                       h.index_put({rows, (columns + 1).to(device), last}, picked.select(1, 0), true);
                   return std::pair(put, put.index({last, indexing::Slice(), last}));
                 },
                 zeros({3, 4, 2}, {.device = device}), xs)
          .second;
    }
  };
  const Program host{.device = "cpu"};
  Program there{.device = "cuda:0"};
  expectNear(there.run(), host.run());
  auto step = compile([&] { return there.run(); });
  for (int call = 0; call < 4; ++call)
    expectNear(step(), host.run());
  EXPECT_EQ(occurrences(step.mlir("plan"), "weft.scan"), 1U);
  there.last.fill_(2);
  EXPECT_ERROR((step(), synchronize("cuda:0")), "index 2 is out of bounds");
}

// The memory of a call is that of the largest loop, in whatever order they come.
TEST(CudaLoops, ShareTheirTemporaries) {
  const auto bytesOf = [](const std::vector<int64_t> &widths, bool isWhile) {
    std::vector<Tensor> inputs;
    for (const int64_t width : widths)
      inputs.push_back(someNumbers({width, 256}, 1, "cuda:0"));
    auto run = compile([&] {
      Tensor sum = zeros({}, {.device = "cuda:0"});
      for (const Tensor &input : inputs) {
        const auto next = [](const Tensor &h) {
          const Tensor scaled = h / (h.square().sum(1, true) + 1);
          return matmul(scaled, scaled.t()).sum(1, true) + h;
        };
        const auto trip = [&](const Tensor &h) { return std::pair(next(h), std::tuple<>{}); };
        const auto goesOn = [](const Tensor &, const Tensor &trips) { return trips < 5; };
        const auto body = [&](const Tensor &h, const Tensor &trips) {
          return std::tuple(next(h), trips + 1);
        };
        const Tensor begin = input + sum * 0;
        const Tensor none = zeros({}, {.dtype = i64, .device = "cuda:0"});
        sum = sum + (isWhile ? std::get<0>(while_loop(goesOn, body, std::tuple(begin, none)))
                             : scan(trip, begin, 5).first)
                        .sum();
      }
      return sum;
    });
    const float first = run().item<float>();
    trim("cuda:0");
    synchronize();
    reset_peak_memory_stats("cuda:0");
    const auto before = memory_allocated("cuda:0");
    EXPECT_EQ(run().item<float>(), first);
    EXPECT_EQ(run().item<float>(), first);
    return static_cast<int64_t>(max_memory_allocated("cuda:0")) - static_cast<int64_t>(before);
  };
  for (const bool isWhile : {false, true}) {
    const int64_t one = bytesOf({256}, isWhile);
    EXPECT_GT(one, 256 * 256 * 4);
    EXPECT_LE(bytesOf({64, 128, 192, 256}, isWhile), one + (256 << 10)) << isWhile << " " << one;
    EXPECT_LE(bytesOf(std::vector<int64_t>(8, 256), isWhile), one + (256 << 10)) << isWhile << " " << one;
  }
}

// The host computes Fourier transforms, so the trips are launches of the function, between which it does.
TEST(CudaLoops, WithStepsOfTheHostAreUnrolled) {
  const Tensor h0 = someNumbers({8}, 1, "cuda:0"), xs = someNumbers({5, 8}, 2, "cuda:0");
  const auto last = [](const Tensor &h, const Tensor &rows) {
    return scan([](const Tensor &carry,
                   const Tensor &x) { return std::pair(fft::irfft(fft::rfft(carry + x) * 0.5, 8), carry); },
                h, rows)
        .first;
  };
  expectNear(compile(last)(h0, xs), last(h0.cpu(), xs.cpu()));
  const auto forever = [&] {
    return while_loop([](const Tensor &h) { return h.sum() < 100; },
                      [](const Tensor &h) { return fft::irfft(fft::rfft(h), 8) * 2; }, h0);
  };
  EXPECT_ERROR((void)forever().sum().item<float>(), "also computes on 'cpu' (WEFT-T010)");
}

TEST(CudaLoops, TooManyLaunchesAreRefused) {
  const Tensor h = zeros({4}).to("cuda:0");
  const auto loop = [&](int64_t length) {
    return compile([&, length] {
      return scan([](const Tensor &h) { return std::pair(h + 1, std::tuple<>{}); }, h, length).first;
    });
  };
  EXPECT_EQ(floats(loop(1000)()), Floats(4, 1000));
  EXPECT_ERROR(loop(1 << 20)(), "WEFT-T005");
  // Two loops together.
  auto both = compile([&] {
    const auto next = [](const Tensor &h) { return std::pair(h + 1, std::tuple<>{}); };
    return scan(next, scan(next, h, 40000).first * 2, 40000).first;
  });
  EXPECT_ERROR(both(), "80001 launches with the trips of its loops");
  // The launch of each trip adds many tensors from outside.
  std::vector<Tensor> captured;
  for (int i = 0; i < 80; ++i)
    captured.push_back(someNumbers({4}, i, "cuda:0"));
  auto many = compile([&] {
    const auto next = [&](const Tensor &h) {
      Tensor sum = h;
      for (const Tensor &each : captured)
        sum = sum + each;
      return std::pair(sum, std::tuple<>{});
    };
    return scan(next, h, 60000).first;
  });
  EXPECT_ERROR(
      many(),
      "operands of launches with the trips of its loops and its branches, and on cuda:0 it may have 4194304 "
      "(WEFT-T005)");
}
