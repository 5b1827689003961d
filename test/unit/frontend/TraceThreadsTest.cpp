//===- TraceThreadsTest.cpp - A trace beside other threads ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread traces a function that stops in the middle until another thread has done something. So each test
// shows that the other thread need not wait for the trace, and which values it reads meanwhile.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"
#include "Meeting.h"
#include "SmallTraining.h"

#include <atomic>
#include <thread>

using namespace weft;

//===----------------------------------------------------------------------===//
// No thread waits for a trace
//===----------------------------------------------------------------------===//

TEST(TraceThreads, OtherThreadsRecordReadAndCallMeanwhile) {
  const Tensor w = full({8}, 2.0);
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    Tensor y = x * w;
    meeting.wait();
    return y + w;
  });
  auto g = compile([&](Tensor x) { return x - w; });
  Floats found, read, called, computed;
  meeting.run([&] { found = f(full({8}, 3.0)).to_vector<float>(); },
              [&] {
                computed = (w * 3 + ones({8})).to_vector<float>();
                read = w.to_vector<float>();
                called = g(ones({8})).to_vector<float>(); // compiles, too
                synchronize();
              });
  EXPECT_EQ(found, Floats(8, 8));
  EXPECT_EQ(computed, Floats(8, 7));
  EXPECT_EQ(read, Floats(8, 2));
  EXPECT_EQ(called, Floats(8, -1));
  EXPECT_EQ(meeting.traces(), 1);
}

TEST(TraceThreads, NorForTheTraceOfAFunctionThatItCalls) {
  const Tensor w = full({8}, 2.0);
  Meeting meeting;
  auto inner = compile([&](Tensor x) {
    meeting.wait();
    return x * w;
  });
  auto outer = compile([&](Tensor x) { return inner(x) + 1; });
  Floats found, read;
  meeting.run([&] { found = outer(full({8}, 3.0)).to_vector<float>(); },
              [&] { read = (w + 1).to_vector<float>(); });
  EXPECT_EQ(found, Floats(8, 7));
  EXPECT_EQ(read, Floats(8, 3));
}

TEST(TraceThreads, NorForOneThatIsMadeForExplain) {
  const Tensor w = full({8}, 2.0);
  Meeting meeting;
  auto f = compile(
      [&](Tensor x) {
        meeting.wait();
        return x * w;
      },
      {spec({8})}, {.name = "explained"});
  std::string text;
  Floats read;
  meeting.run([&] { text = f.explain(); }, [&] { read = w.to_vector<float>(); });
  EXPECT_TRUE(mentions(text, "explained"));
  EXPECT_EQ(read, Floats(8, 2));
}

TEST(TraceThreads, TwoTraceAtOnce) {
  Tensor shared = full({8}, 2.0), own[2] = {zeros({8}), zeros({8})};
  std::atomic<bool> isTracing[2] = {false, false};
  Floats found[2];
  const auto call = [&](int number) {
    auto f = compile([&, number](Tensor x) {
      own[number] += x * shared;
      isTracing[number] = true;
      await(isTracing[1 - number]); // so that each is under way while the other is
      own[number] += shared;
      return own[number] * 2;
    });
    for (int i = 0; i < 3; ++i)
      found[number] = f(full({8}, number + 1.0)).to_vector<float>();
  };
  std::thread other([&] { call(1); });
  call(0);
  other.join();
  for (int number : {0, 1}) {
    const auto sum = static_cast<float>(3 * (2 * (number + 1) + 2));
    EXPECT_EQ(own[number].to_vector<float>(), Floats(8, sum));
    EXPECT_EQ(found[number], Floats(8, 2 * sum));
  }
  EXPECT_EQ(shared.to_vector<float>(), Floats(8, 2));
}

TEST(TraceThreads, AFunctionThatBothCallIsTracedOnce) {
  const Tensor w = full({8}, 2.0);
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    meeting.wait();
    return x * w;
  });
  Floats found, later;
  std::thread third; // it waits for the first thread, so the second must not wait for it
  meeting.run([&] { found = f(full({8}, 3.0)).to_vector<float>(); },
              [&] { third = std::thread([&] { later = f(full({8}, 4.0)).to_vector<float>(); }); });
  third.join();
  EXPECT_EQ(found, Floats(8, 6));
  EXPECT_EQ(later, Floats(8, 8));
  EXPECT_EQ(meeting.traces(), 1);
  EXPECT_EQ(f.variants().size(), 1u);
}

//===----------------------------------------------------------------------===//
// What other threads see of a trace
//===----------------------------------------------------------------------===//

TEST(TraceThreads, OthersSeeTheValueFromBefore) {
  Tensor state = full({8}, 5.0), part = state.slice(0, 0, 4);
  Meeting meeting;
  auto f = compile([&] {
    state += 1;
    part *= 10;
    meeting.wait();
    state += 1;
  });
  Floats read, readPart;
  meeting.run([&] { f(); },
              [&] {
                read = state.to_vector<float>();
                readPart = part.to_vector<float>();
              });
  EXPECT_EQ(read, Floats(8, 5));
  EXPECT_EQ(readPart, Floats(4, 5));
  EXPECT_EQ(state.to_vector<float>(), (Floats{61, 61, 61, 61, 7, 7, 7, 7}));
  EXPECT_EQ(part.to_vector<float>(), Floats(4, 61));
}

TEST(TraceThreads, OthersSeeNoGradientAndNoModeOfTheTrace) {
  nn::Linear layer(4, 4);
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    layer.eval();
    layer(x).sum().backward();
    EXPECT_TRUE(layer.weight.grad().defined());
    EXPECT_FALSE(layer.is_training());
    meeting.wait();
    EXPECT_TRUE(layer.weight.grad().defined());
    EXPECT_FALSE(layer.is_training());
  });
  bool hadGradient = true, wasTraining = false;
  meeting.run([&] { f(ones({2, 4})); },
              [&] {
                hadGradient = layer.weight.grad().defined();
                wasTraining = layer.is_training();
              });
  EXPECT_FALSE(hadGradient);
  EXPECT_TRUE(wasTraining);
  EXPECT_EQ(layer.weight.grad().to_vector<float>(), Floats(16, 2));
  EXPECT_FALSE(layer.is_training());
}

TEST(TraceThreads, AViewThatTheTraceMadeIsStillTheSameValueAfterwards) {
  Tensor w = full({8}, 3.0).requires_grad_();
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    Tensor part = w.slice(0, 0, 4), y = (part * part * x).sum();
    meeting.wait();
    return grad(y, {part})[0]; // of the value that `y` was computed from
  });
  Floats found, read;
  meeting.run([&] { found = f(ones({4})).to_vector<float>(); }, [&] { read = w.to_vector<float>(); });
  EXPECT_EQ(found, Floats(4, 6));
  EXPECT_EQ(read, Floats(8, 3));
}

TEST(TraceThreads, AViewIsCutOffByTheCallAndNotByTheTrace) {
  nn::Linear layer(2, 2);
  const auto fill = [&](double number) {
    const NoGradGuard guard;
    layer.weight.fill_(number);
  };
  fill(1);
  Tensor part = layer.weight.detach().slice(0, 0, 1);
  Meeting meeting;
  bool fails = true;
  auto f = compile([&](Tensor x) {
    Tensor y = part * x;
    layer.to(f64); // the views of the weights keep the old elements from here on
    y = y + part;
    meeting.wait();
    if (fails)
      throw std::runtime_error("after the types changed");
    return y + part;
  });
  Floats read;
  EXPECT_THROW(meeting.run([&] { f(full({1, 2}, 2.0)); }, [&] { read = part.to_vector<float>(); }),
               std::runtime_error);
  EXPECT_EQ(read, Floats(2, 1));
  EXPECT_EQ(layer.weight.dtype(), f32);
  fill(3);
  EXPECT_EQ(part.to_vector<float>(), Floats(2, 3)); // it is a view still
  fails = false;
  EXPECT_EQ(f(full({1, 2}, 2.0)).to_vector<float>(), Floats(2, 12));
  EXPECT_EQ(layer.weight.dtype(), f64);
  fill(5);
  EXPECT_EQ(part.to_vector<float>(), Floats(2, 3));
}

TEST(TraceThreads, AViewThatIsWrittenAfterItWasCutOffIsWrittenByTheCall) {
  nn::Linear layer(2, 2);
  {
    const NoGradGuard guard;
    layer.weight.fill_(1);
  }
  Tensor part = layer.weight.detach().slice(0, 0, 1);
  Meeting meeting;
  auto f = compile([&] {
    layer.to(f64);
    part += 1;
    meeting.wait();
    part *= 10;
  });
  Floats read;
  meeting.run([&] { f(); }, [&] { read = part.to_vector<float>(); });
  EXPECT_EQ(read, Floats(2, 1));
  EXPECT_EQ(part.to_vector<float>(), Floats(2, 20));
  EXPECT_EQ(layer.weight.to_vector<double>(), std::vector<double>(4, 1));
}

TEST(TraceThreads, ATensorOfTheTraceIsAnErrorOnAnotherThread) {
  Meeting meeting;
  Tensor leaked;
  auto f = compile([&](Tensor x) {
    leaked = x * 2;
    meeting.wait();
    return leaked + 1;
  });
  std::string message;
  Floats found;
  meeting.run([&] { found = f(ones({4})).to_vector<float>(); },
              [&] { message = errorOf([&] { leaked.to_vector<float>(); }); });
  EXPECT_TRUE(mentions(message, "was made while a function was being compiled"));
  EXPECT_TRUE(mentions(message, "TraceThreadsTest.cpp:"));
  EXPECT_EQ(found, Floats(4, 3));
  leaked = {};
}

//===----------------------------------------------------------------------===//
// What a trace sees of other threads
//===----------------------------------------------------------------------===//

TEST(TraceThreads, AWriteByAnotherThreadComesBeforeTheCall) {
  Tensor w = full({8}, 2.0), sum = zeros({8}), part = w.slice(0, 0, 2);
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    sum += x * w;
    meeting.wait();
    sum += w;
    return part * 1;
  });
  Floats found;
  meeting.run([&] { found = f(full({8}, 3.0)).to_vector<float>(); },
              [&] {
                w *= 10;
                EXPECT_EQ(w.to_vector<float>(), Floats(8, 20)); // it is computed, and its view is read
                EXPECT_EQ(part.to_vector<float>(), Floats(2, 20));
                sum += 1; // the call writes this tensor, too, and this operation is pending
              });
  EXPECT_EQ(sum.to_vector<float>(), Floats(8, 81));
  EXPECT_EQ(found, Floats(2, 20));
  EXPECT_EQ(meeting.traces(), 1); // a trace does not depend on values
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(TraceThreads, AnotherTypeMeansAnotherTrace) {
  nn::Linear layer(4, 4);
  {
    const NoGradGuard guard;
    layer.weight.fill_(1);
    layer.bias.fill_(0);
  }
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    Tensor y = layer(x.to(layer.weight.dtype()));
    meeting.wait();
    return y;
  });
  Tensor found;
  meeting.run([&] { found = f(ones({2, 4})); }, [&] { layer.to(f64); });
  EXPECT_EQ(found.dtype(), f64);
  EXPECT_EQ(found.to_vector<double>(), std::vector<double>(8, 4));
  EXPECT_EQ(meeting.traces(), 2);
  EXPECT_EQ(f.variants().size(), 1u);
}

TEST(TraceThreads, AnErrorOfAnOutdatedTraceIsNone) {
  nn::Linear layer(4, 4);
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    Tensor y = layer(x.to(layer.weight.dtype()));
    const DType before = y.dtype();
    meeting.wait();
    if (before == f32)
      throw std::runtime_error("the weights were f32");
    return y;
  });
  Tensor found;
  meeting.run([&] { found = f(ones({2, 4})); }, [&] { layer.to(f64); });
  EXPECT_EQ(found.dtype(), f64);
  EXPECT_EQ(meeting.traces(), 2);
}

TEST(TraceThreads, AnotherTypeOfAnArgumentMeansAnotherTrace) {
  Tensor x = ones({4});
  Meeting meeting;
  auto f = compile([&](Tensor a) {
    meeting.wait();
    return (a * a).sum();
  });
  Tensor found;
  meeting.run([&] { found = f(x); }, [&] { x.requires_grad_(); });
  found.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), Floats(4, 2));
  EXPECT_EQ(meeting.traces(), 2);
}

TEST(TraceThreads, AnotherModeMeansAnotherTraceIfItWasAskedFor) {
  nn::Linear layer(4, 4);
  for (const bool asks : {false, true}) {
    layer.train();
    Meeting meeting;
    auto f = compile([&](Tensor x) {
      const double factor = asks && layer.is_training() ? 2 : 1;
      Tensor y = x * factor;
      meeting.wait();
      return y;
    });
    Floats found;
    meeting.run([&] { found = f(ones({4})).to_vector<float>(); }, [&] { layer.eval(); });
    EXPECT_EQ(found, Floats(4, 1));
    EXPECT_EQ(meeting.traces(), asks ? 2 : 1);
  }
}

TEST(TraceThreads, AGradientThatComesOrGoesMeansAnotherTraceIfItWasAskedFor) {
  for (const bool asks : {false, true}) {
    Tensor w = full({4}, 2.0).requires_grad_();
    Meeting meeting;
    auto f = compile([&](Tensor x) {
      Tensor y = x * w.detach();
      const bool has = asks && w.grad().defined();
      meeting.wait();
      return has ? y * 10 : y;
    });
    Floats found;
    meeting.run([&] { found = f(ones({4})).to_vector<float>(); }, [&] { (w * w).sum().backward(); });
    EXPECT_EQ(found, Floats(4, asks ? 20 : 2));
    EXPECT_EQ(meeting.traces(), asks ? 2 : 1);
  }
}

TEST(TraceThreads, EachDrawsItsOwnRandomNumbers) {
  const auto both = [](bool atOnce) {
    manual_seed(7);
    Meeting meeting;
    auto f = compile([&](Tensor x) {
      Tensor y = rand({8});
      if (atOnce)
        meeting.wait();
      return x + y + rand({8});
    });
    Floats drawn, found;
    const auto draw = [&] { drawn = rand({8}).to_vector<float>(); };
    const auto call = [&] { found = f(zeros({8})).to_vector<float>(); };
    if (atOnce) {
      meeting.run(call, draw);
    } else { // the call comes after what was recorded during its trace
      draw();
      call();
    }
    return std::pair(drawn, found);
  };
  const auto expected = both(false), found = both(true);
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.second, expected.second);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(TraceThreads, AnExceptionUndoesTheTraceAndNothingElse) {
  Tensor w = full({4}, 2.0).requires_grad_(), state = zeros({4}), other = full({4}, 1.0);
  optim::Adam adam({w}, {.lr = 0.1});
  Meeting meeting;
  auto f = compile([&](Tensor x) {
    state += x;
    other += x;
    (w * x).sum().backward();
    adam.step();
    meeting.wait();
    throw std::runtime_error("after all of it");
    return x;
  });
  EXPECT_THROW(meeting.run([&] { f(ones({4})); },
                           [&] {
                             EXPECT_EQ(state.to_vector<float>(), Floats(4, 0));
                             EXPECT_FALSE(w.grad().defined());
                             other *= 7;
                           }),
               std::runtime_error);
  EXPECT_EQ(state.to_vector<float>(), Floats(4, 0));
  EXPECT_EQ(other.to_vector<float>(), Floats(4, 7)); // what the other thread wrote during the trace
  EXPECT_EQ(w.to_vector<float>(), Floats(4, 2));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(adam.state_dict().size(), 5u); // the numbers, and no state of a parameter
}

TEST(TraceThreads, StepsOfAnotherThreadStayWhenATraceIsDiscarded) {
  const auto run = [](bool beside) {
    SmallTraining training({2});
    training.step();
    training.backward(1);
    Meeting meeting;
    auto f = compile([&] {
      training.backward(1);
      training.adam.step();
      if (beside)
        meeting.wait();
    });
    meeting.call(f, beside, [&] { // the gradient is gone: traced again
      for (int i = 0; i < 5; ++i)
        training.step();
      training.parameters[0].to_vector<float>();
    });
    return training.parameters[0].to_vector<float>();
  };
  EXPECT_EQ(run(true), run(false));
}

//===----------------------------------------------------------------------===//
// Both at full speed
//===----------------------------------------------------------------------===//

TEST(TraceThreads, OneTracesManyFunctionsOverWhatTheOtherTrains) {
  Tensor w = full({8}, 1.0).requires_grad_(), count = zeros({8});
  optim::SGD sgd({w}, {.lr = 1});
  std::atomic<bool> isDone{false};
  int steps = 0;
  std::thread trains([&] {
    for (; !isDone || steps < 10; ++steps) {
      sgd.zero_grad();
      (w * 0.5).sum().backward(); // the step subtracts exactly 0.5
      sgd.step();
      const Floats seen = w.to_vector<float>();
      EXPECT_EQ(seen, Floats(8, 1 - 0.5f * static_cast<float>(steps + 1)));
    }
  });
  constexpr int functions = 12, calls = 2;
  for (int i = 0; i < functions; ++i) {
    auto f = compile([&](Tensor x) {
      Tensor y = x * w.detach();
      for (int k = 0; k < 20; ++k) {
        y = y + w * 0.0;
        count += 0.25;
      }
      for (int k = 0; k < i; ++k) // each is a program of its own
        y = y * 2;
      return y.sum();
    });
    for (int call = 0; call < calls; ++call) {
      const float found = f(ones({8})).item<float>();
      // The value of `w` after one of the steps, in each of the elements.
      const double value = found / 8 / static_cast<double>(1 << i);
      EXPECT_EQ(value * 2, static_cast<double>(static_cast<int64_t>(value * 2))) << found;
    }
  }
  isDone = true;
  trains.join();
  EXPECT_EQ(count.to_vector<float>(), Floats(8, 0.25f * 20 * functions * calls));
  EXPECT_EQ(w.to_vector<float>(), Floats(8, 1 - 0.5f * static_cast<float>(steps)));
}
