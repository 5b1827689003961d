//===- SaveTest.cpp - A step saved by one interface and run by the other ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include "weft/weft.h"

#include <cstring>
#include <map>

using namespace weft;

namespace {

struct Net : TwoLayers {
  Net() : TwoLayers(6, 8, 3) {}
};

class Save : public ::testing::Test {
protected:
  std::string path = "/tmp/weft-save-" + std::to_string(::getpid()) + ".weft";
  ~Save() override { std::remove(path.c_str()); }
};

/// The step of a package that has no other function for callers.
class OnlyStep {
public:
  explicit OnlyStep(const std::string &path) {
    EXPECT_EQ(weft_package_open(path.c_str(), nullptr, &package_), WEFT_OK) << weft_last_error();
    size_t functions = 0;
    EXPECT_EQ(weft_package_function_count(package_, &functions), WEFT_OK);
    EXPECT_EQ(functions, 1U);
    EXPECT_EQ(weft_executable_load(package_, "step", "cpu", &loaded_), WEFT_OK) << weft_last_error();
  }
  ~OnlyStep() {
    weft_executable_destroy(loaded_);
    weft_package_close(package_);
  }
  OnlyStep(const OnlyStep &) = delete;
  OnlyStep &operator=(const OnlyStep &) = delete;

  /// Its result, for one argument.
  float loss(const weft_buffer &in) const {
    float found = 0;
    weft_buffer out = {sizeof(weft_buffer), &found, "cpu", WEFT_F32, 0, nullptr, nullptr, nullptr};
    EXPECT_EQ(weft_executable_run(loaded_, nullptr, &in, 1, &out, 1), WEFT_OK) << weft_last_error();
    EXPECT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
    return found;
  }

private:
  weft_package *package_ = nullptr;
  weft_executable *loaded_ = nullptr;
};

std::map<std::string, weft_tensor_info> stateOf(weft_executable *executable) {
  std::map<std::string, weft_tensor_info> state;
  size_t count = 0;
  EXPECT_EQ(weft_executable_state_count(executable, &count), WEFT_OK);
  for (size_t i = 0; i < count; ++i) {
    weft_tensor_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(weft_executable_state(executable, i, &info), WEFT_OK);
    state[info.name] = info;
  }
  return state;
}

} // namespace

// A loop in a step, with its derivative, is a loop in the package; its bodies are no functions for callers.
TEST_F(Save, LoopsGoAlong) {
  Tensor weight = full({4}, 0.5).requires_grad_();
  auto step = compile(
      [&](const Tensor &xs) {
        const auto [last, ys] = scan(
            [&](const Tensor &h, const Tensor &x) {
              Tensor next = tanh(h * weight + x);
              return std::pair(next, next);
            },
            zeros({4}), xs);
        Tensor loss = (ys * ys).sum();
        loss.backward();
        NoGradGuard guard;
        weight -= weight.grad() * 0.01;
        weight.set_grad({});
        return loss;
      },
      {.name = "step"});
  std::vector<float> values(48);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 7) / 4 - 1;
  const Tensor xs = Tensor::from(values, {12, 4});
  step(xs);
  step.save(path, {.targets = {"cpu"}});
  const OnlyStep loaded(path);
  const int64_t shape[] = {12, 4};
  weft_buffer in = {sizeof(weft_buffer), values.data(), "cpu", WEFT_F32, 2, shape, nullptr, nullptr};
  for (int i = 0; i < 3; ++i) {
    const float expected = step(xs).item<float>();
    EXPECT_EQ(loaded.loss(in), expected) << "step " << i;
  }
}

// Conditions and while loops are in the package as loops are.
TEST_F(Save, ConditionsGoAlong) {
  Tensor weight = full({4}, 0.5).requires_grad_();
  auto step = compile(
      [&](const Tensor &x) {
        const Tensor large = while_loop([](const Tensor &at) { return at.abs().sum() < 10; },
                                        [](const Tensor &at) { return at * 1.5; }, x);
        const Tensor y = cond(
            x.sum() > 0, [&](const Tensor &at) { return tanh(at * weight); },
            [&](const Tensor &at) { return at - weight; }, large);
        Tensor loss = (y * y).sum();
        loss.backward();
        NoGradGuard guard;
        weight -= weight.grad() * 0.01;
        weight.set_grad({});
        return loss;
      },
      {.name = "step"});
  std::vector<std::vector<float>> inputs = {{1, -2, 3, 0.5}, {-1, -2, 0.25, 1}, {20, 1, 1, 1}};
  step(Tensor::from(inputs[0], {4}));
  step.save(path, {.targets = {"cpu"}});
  const OnlyStep loaded(path);
  const int64_t shape[] = {4};
  for (std::vector<float> &values : inputs) {
    weft_buffer in = {sizeof(weft_buffer), values.data(), "cpu", WEFT_F32, 1, shape, nullptr, nullptr};
    const float expected = step(Tensor::from(values, {4})).item<float>();
    EXPECT_EQ(loaded.loss(in), expected);
  }
}

// Ten steps, a save, ten more in each: the same losses and weights, bit for bit, under a changed learning
// rate.
TEST_F(Save, TheRuntimeGoesOnWhereTheProgramWas) {
  manual_seed(3);
  Net net;
  optim::Adam adam(net.parameters(), {.lr = 1e-2});
  auto step = compile(
      [&](Tensor x, Tensor labels) {
        // Noise, so that the random state has to go along.
        Tensor loss = nn::cross_entropy(net(x + rand({5, 6}) * 0.1), labels);
        loss.backward();
        adam.step();
        adam.zero_grad();
        return loss;
      },
      {.name = "step"});
  std::vector<float> values(30);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 7) - 3;
  const std::vector<int64_t> targets = {0, 1, 2, 1, 0};
  Tensor x = Tensor::from(values, {5, 6}), labels = Tensor::from(targets, {5});
  for (int i = 0; i < 10; ++i)
    step(x, labels);
  step.save(path, {.targets = {"cpu:16", "cpu", "cpu:64"}}); // one of them is for this machine

  weft_package *package = nullptr;
  weft_executable *loaded = nullptr;
  ASSERT_EQ(weft_package_open(path.c_str(), nullptr, &package), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_executable_load(package, "step", "cpu", &loaded), WEFT_OK) << weft_last_error();
  const auto state = stateOf(loaded);
  for (const char *name : {"fc1.weight", "fc2.bias", "adam.fc1.weight.exp_avg", "adam.fc2.weight.exp_avg_sq",
                           "adam.step", "adam.lr", "rng.key", "rng.counter"})
    EXPECT_TRUE(state.contains(name)) << name;
  EXPECT_EQ(state.at("fc1.weight").written, 1);
  EXPECT_EQ(state.at("adam.lr").role, WEFT_ROLE_SCALAR);

  const int64_t xShape[] = {5, 6}, labelShape[] = {5};
  weft_buffer in[2] = {}, out[1] = {};
  in[0] = {sizeof(weft_buffer), values.data(), "cpu", WEFT_F32, 2, xShape, nullptr, nullptr};
  in[1] = {sizeof(weft_buffer),
           const_cast<int64_t *>(targets.data()),
           "cpu",
           WEFT_I64,
           1,
           labelShape,
           nullptr,
           nullptr};
  adam.set_lr(3e-3);
  ASSERT_EQ(weft_executable_scalar_set(loaded, "adam.lr", 3e-3), WEFT_OK) << weft_last_error();
  for (int i = 0; i < 10; ++i) {
    const float expected = step(x, labels).item<float>();
    float found = 0;
    out[0] = {sizeof(weft_buffer), &found, "cpu", WEFT_F32, 0, nullptr, nullptr, nullptr};
    ASSERT_EQ(weft_executable_run(loaded, nullptr, in, 2, out, 1), WEFT_OK) << weft_last_error();
    ASSERT_EQ(weft_stream_synchronize(nullptr), WEFT_OK);
    EXPECT_EQ(found, expected) << "step " << i;
  }
  std::vector<float> weight(48);
  ASSERT_EQ(weft_executable_state_get(loaded, "fc1.weight", weight.data(), weight.size() * 4), WEFT_OK);
  EXPECT_EQ(weight, net.fc1.state_dict()[0].second.to_vector<float>());
  // An index out of range is an error of that call, and nothing was written.
  const int64_t wrong[] = {0, 1, 99, 1, 0};
  in[1].data = const_cast<int64_t *>(wrong);
  weft_status status = weft_executable_run(loaded, nullptr, in, 2, out, 1);
  if (status == WEFT_OK)
    status = weft_stream_synchronize(nullptr);
  EXPECT_EQ(status, WEFT_ERROR);
  EXPECT_NE(std::string(weft_last_error()).find("99"), std::string::npos) << weft_last_error();
  EXPECT_NE(std::string(weft_last_error()).find("SaveTest.cpp"), std::string::npos) << weft_last_error();
  std::vector<float> after(48);
  ASSERT_EQ(weft_executable_state_get(loaded, "fc1.weight", after.data(), after.size() * 4), WEFT_OK)
      << weft_last_error();
  EXPECT_EQ(after, weight);
  weft_executable_destroy(loaded);
  weft_package_close(package);
}

TEST_F(Save, TargetsAreChecked) {
  auto f = compile([](Tensor x) { return x * 2; });
  EXPECT_ERROR(f.save(path), "has not run yet");
  f(ones({4}));
  EXPECT_ERROR(f.save(path, {.targets = {}}), "needs a target");
  EXPECT_ERROR(f.save(path, {.targets = {"gpu"}}), "cannot be saved for 'gpu', which is no target");
  EXPECT_ERROR(f.save(path, {.targets = {"cpu:0"}}), "which is no target: expected \"cpu\"");
  EXPECT_ERROR(f.save(path, {.targets = {"cpu", "cuda:sm_1"}}), "'cuda:sm_1', which is no target");
  EXPECT_ERROR(f.save(path, {.targets = {"cpu+host"}}), "'cpu+host', which is no target");
  EXPECT_ERROR(f.save(path, {.targets = {"cpu:16+cuda:0"}}), "'cpu:16+cuda:0', which is no target");
  EXPECT_ERROR(f.save(path, {.targets = {"cuda:0"}}),
               "'cuda:0', which is a device and no target: expected \"cpu\"");
  EXPECT_ERROR(f.save("/nowhere/at/all.weft"), "/nowhere/at/all.weft");
  try {
    f.save(path, {.targets = {"cuda"}});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), "WEFT-L013");
  }
}

TEST_F(Save, StateWithoutANameGetsOneAndEqualNamesStayApart) {
  nn::Linear first(2, 2), second(2, 2);
  Tensor nameless = ones({2});
  auto f = compile([&](Tensor x) { return second(first(x)) + nameless; }, {.name = "f"});
  f(ones({1, 2}));
  f.save(path);
  weft_package *package = nullptr;
  weft_executable *loaded = nullptr;
  ASSERT_EQ(weft_package_open(path.c_str(), nullptr, &package), WEFT_OK) << weft_last_error();
  ASSERT_EQ(weft_executable_load(package, "f", nullptr, &loaded), WEFT_OK) << weft_last_error();
  std::string names;
  for (const auto &[name, info] : stateOf(loaded))
    names += name + " ";
  EXPECT_EQ(names, "bias bias.2 state4 weight weight.2 ");
  weft_executable_destroy(loaded);
  weft_package_close(package);
}
