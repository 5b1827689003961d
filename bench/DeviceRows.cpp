//===- DeviceRows.cpp - Rows on a device that queues its work -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU is timed by its own events, because a call returns long before its work has ended. peer_device.py has
// the same rows, sizes and names, and measures in the same way.
//
//===----------------------------------------------------------------------===//

#include "DeviceRows.h"
#include "Steps.h"
#include "Timing.h"

#include <weft/models.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <regex>
#include <stdexcept>

namespace weft::bench {
namespace {

/// Some calls, of which the first compile and the next make the graph.
constexpr int warmCalls = 6;

struct DeviceTimes {
  double first = 0;  ///< seconds of the first call, in which kernels are compiled
  double device = 0; ///< microseconds a call of calls that follow each other, by the device's events
  double wait = 0;   ///< microseconds until the host has seen the end of a single call
  double host = 0;   ///< microseconds until a call returns, while the device is busy
};

/// Times `call`, which issues work and returns a tensor of it.
DeviceTimes timed(const std::string &device, const std::function<Tensor()> &call, double budgetMs) {
  DeviceTimes times;
  const Stream stream = Stream::current(device);
  const double before = milliseconds_now();
  call();
  stream.synchronize();
  times.first = (milliseconds_now() - before) / 1e3;
  for (int i = 1; i < warmCalls; ++i)
    call();
  stream.synchronize();
  const double begin = milliseconds_now();
  call();
  stream.synchronize();
  const double once = std::max(milliseconds_now() - begin, 1e-2);
  const int inner = std::clamp(static_cast<int>(10 / once), 1, 200);
  const int rounds = std::clamp(static_cast<int>(budgetMs / (once * inner)), 5, 40);
  std::vector<double> busy, waits, hosts;
  for (int round = 0; round < rounds; ++round) {
    Event from(true), to(true);
    from.record(stream);
    const double issued = milliseconds_now();
    for (int i = 0; i < inner; ++i)
      call();
    hosts.push_back((milliseconds_now() - issued) * 1e3 / inner);
    to.record(stream);
    stream.synchronize();
    busy.push_back(from.elapsed_time(to) * 1e3 / inner);
    const double single = milliseconds_now();
    call();
    stream.synchronize();
    waits.push_back((milliseconds_now() - single) * 1e3);
  }
  times.device = median(std::move(busy));
  times.wait = median(std::move(waits));
  times.host = median(std::move(hosts));
  return times;
}

/// What a row needs to be timed: its call, and what is checked afterwards.
struct Work {
  std::function<Tensor()> call;
  int64_t bytes = 0; ///< of inputs and outputs; 0 where the row is not about memory
  int64_t flops = 0; ///< of products
  std::function<void()> check = {};
};

struct DeviceRow {
  std::string name;
  std::function<Work(const std::string &device)> make;
};

constexpr int64_t many = int64_t(1) << 26;

Tensor normal(const std::string &device, Shape shape, DType dtype = f32) {
  return randn(std::move(shape), {.device = device}).to(dtype);
}

template <typename Body, typename... Tensors>
Work compiled(const std::string &name, int64_t bytes, Body body, Tensors... inputs) {
  const auto function = compile(body, {.name = name});
  return {[=] { return function(inputs...); }, bytes};
}

Work softmax_row(const std::string &device, int64_t rows, int64_t columns) {
  return compiled(
      "softmax", 8 * rows * columns, [](Tensor x) { return softmax(x, 1); }, normal(device, {rows, columns}));
}

Work column_sum_row(const std::string &device, int64_t rows) {
  return compiled(
      "column_sum", 4 * rows * 1024, [](Tensor x) { return (x * x).sum(0); }, normal(device, {rows, 1024}));
}

Tensor norm_of(const Tensor &x, const Tensor &weight, const Tensor &bias) {
  return nn::functional::layer_norm(x, {x.size(1)}, weight, bias);
}

Work layer_norm_row(const std::string &device, int64_t rows, int64_t columns) {
  return compiled("layer_norm", 8 * rows * columns, norm_of, normal(device, {rows, columns}),
                  normal(device, {columns}), normal(device, {columns}));
}

Work product_row(const std::string &device, int64_t size, DType dtype) {
  Work work = compiled(
      "product", 0, [](Tensor a, Tensor b) { return a.matmul(b); }, normal(device, {size, size}, dtype),
      normal(device, {size, size}, dtype));
  work.flops = 2 * size * size * size;
  return work;
}

Work attention_row(const std::string &device) {
  const Shape shape = {4, 16, 2048, 64};
  Work work = compiled(
      "attention", 0,
      [](Tensor q, Tensor k, Tensor v) { return scaled_dot_product_attention(q, k, v, {.causal = true}); },
      normal(device, shape, f16), normal(device, shape, f16), normal(device, shape, f16));
  work.flops = 4 * int64_t(4) * 16 * 2048 * 2048 * 64 / 2;
  return work;
}

/// A training step. Its loss must have fallen at the end.
Work training(const std::string &name, std::function<Tensor(Tensor, Tensor)> body, const Tensor &x,
              const Tensor &y) {
  const auto step = compile(std::move(body), {.name = name});
  const auto first = std::make_shared<Tensor>();
  const auto call = [=] {
    Tensor loss = step(x, y);
    if (!first->defined())
      *first = loss;
    return loss;
  };
  return {call, 0, 0, [=] {
            const double before = first->item<float>(), after = call().item<float>();
            if (!(after < before))
              throw std::runtime_error("the loss did not fall: " + number(before) + " before, " +
                                       number(after) + " after");
          }};
}

Tensor whole(const std::string &device, Shape shape, int64_t limit) {
  return randint(0, limit, std::move(shape), {.dtype = i64, .device = device});
}

/// A step of Steps.h.
Work step_row(const std::string &name) {
  const Step step = make_step(name);
  return training(name, step.body, step.x, step.y);
}

/// A larger one than that of `gpt_step`: 32 texts of 256 words, 6 layers of width 384.
Work large_gpt_row(const std::string &device) {
  constexpr int64_t length = 256, words = 65;
  models::Gpt model({.block_size = length, .vocab_size = words, .n_layer = 6, .n_head = 6, .n_embd = 384});
  optim::AdamW optimizer(model.parameters(), {.lr = 1e-3});
  return training(
      "gpt_step_6x384",
      [=](Tensor text, Tensor next) mutable {
        Tensor loss = model.loss(text, next);
        loss.backward();
        optimizer.step();
        optimizer.zero_grad();
        return loss;
      },
      whole(device, {32, length}, words), whole(device, {32, length}, words));
}

const std::vector<DeviceRow> &device_rows() {
  using D = const std::string &;
  static const std::vector<DeviceRow> list = {
      {"copy",
       [](D d) { return compiled("copy", 8 * many, [](Tensor x) { return x.clone(); }, normal(d, {many})); }},
      {"mul_add",
       [](D d) {
         return compiled(
             "mul_add", 12 * many, [](Tensor x, Tensor y) { return x * 2 + y * y - x; }, normal(d, {many}),
             normal(d, {many}));
       }},
      {"gelu_sigmoid",
       [](D d) {
         return compiled(
             "gelu_sigmoid", 16 * many,
             [](Tensor x, Tensor y, Tensor z) { return gelu(x * y + z, "tanh") * sigmoid(z); },
             normal(d, {many}), normal(d, {many}), normal(d, {many}));
       }},
      {"bias_relu",
       [](D d) {
         return compiled(
             "bias_relu", 8 * many,
             [](Tensor x, Tensor row, Tensor column) { return relu((x + row) * column); },
             normal(d, {8192, 8192}), normal(d, {8192}), normal(d, {8192, 1}));
       }},
      {"transpose_add",
       [](D d) {
         return compiled(
             "transpose_add", 12 * many, [](Tensor x, Tensor y) { return x.t() + y; },
             normal(d, {8192, 8192}), normal(d, {8192, 8192}));
       }},
      {"softmax_1024", [](D d) { return softmax_row(d, 65536, 1024); }},
      {"softmax_8192", [](D d) { return softmax_row(d, 8192, 8192); }},
      {"softmax_16384", [](D d) { return softmax_row(d, 4096, 16384); }},
      {"softmax_32768", [](D d) { return softmax_row(d, 2048, 32768); }},
      {"softmax_131072", [](D d) { return softmax_row(d, 512, 131072); }},
      {"layer_norm", [](D d) { return layer_norm_row(d, 65536, 1024); }},
      {"layer_norm_8192", [](D d) { return layer_norm_row(d, 8192, 8192); }},
      {"layer_norm_32768", [](D d) { return layer_norm_row(d, 2048, 32768); }},
      {"residual_norm_gelu",
       [](D d) {
         return compiled(
             "residual_norm_gelu", 12 * many,
             [](Tensor x, Tensor r, Tensor w, Tensor b) { return gelu(norm_of(x + r, w, b), "tanh"); },
             normal(d, {65536, 1024}), normal(d, {65536, 1024}), normal(d, {1024}), normal(d, {1024}));
       }},
      {"column_sum", [](D d) { return column_sum_row(d, 65536); }},
      {"column_sum_small", [](D d) { return column_sum_row(d, 8192); }},
      {"full_sum",
       [](D d) {
         return compiled("full_sum", 4 * many, [](Tensor x) { return (x * x).sum(); }, normal(d, {many}));
       }},
      {"small_call",
       [](D d) {
         return compiled(
             "small_call", 96, [](Tensor x, Tensor y) { return x * 2 + y * y - x; }, normal(d, {8}),
             normal(d, {8}));
       }},
      {"product_f32", [](D d) { return product_row(d, 4096, f32); }},
      {"product_bf16", [](D d) { return product_row(d, 8192, bf16); }},
      {"attention_f16", attention_row},
      {"mlp_step", [](D) { return step_row("mlp_step"); }},
      {"deep_step", [](D) { return step_row("deep_step"); }},
      {"lstm_step", [](D) { return step_row("lstm_step"); }},
      {"lstm_layers_step", [](D) { return step_row("lstm_layers_step"); }},
      {"gpt_step", [](D) { return step_row("gpt_step"); }},
      {"gpt_long_step", [](D) { return step_row("gpt_long_step"); }},
      {"resnet_step", [](D) { return step_row("resnet_step"); }},
      {"gpt_step_6x384", large_gpt_row},
  };
  return list;
}

/// The row's times, as JSON; throws what its call throws.
std::string measured(const DeviceRow &row, const std::string &device, bool profiled) {
  manual_seed(0);
  const Work work = row.make(device);
  const DeviceTimes times =
      timed(device, work.call, row.name.find("_step") != std::string::npos ? 1000 : 250);
  if (work.check)
    work.check();
  if (profiled)
    // What runs one by one for the first time is loaded by the driver: the second profile is that of the
    // work.
    for (int i = 0; i < 2; ++i)
      if (const Profile found = profile(work.call); i == 1)
        std::fprintf(stderr, "%s\n%s\n", row.name.c_str(), found.table().c_str());
  std::string text = "{\"device\": " + number(times.device) + ", \"wait\": " + number(times.wait) +
                     ", \"host\": " + number(times.host) + ", \"first_call_seconds\": " + number(times.first);
  if (work.bytes > 1000)
    text += ", \"gigabytes_a_second\": " +
            number(std::round(static_cast<double>(work.bytes) / times.device / 1e3));
  if (work.flops)
    text += ", \"teraflops\": " + number(static_cast<double>(work.flops) / times.device / 1e6);
  return text + "}";
}

} // namespace

bool run_device_rows(const std::string &device, const std::string &pattern, bool profiled) {
  const std::string name = cuda::get_device_name(device);
  set_default_device(device);
  const std::regex wanted(pattern);
  bool good = true;
  std::string text;
  for (const DeviceRow &row : device_rows()) {
    if (!std::regex_search(row.name, wanted))
      continue;
    std::string found;
    try {
      found = measured(row, device, profiled);
    } catch (const std::exception &error) {
      good = false;
      found = "{\"failed\": " + quoted(error.what()) + "}";
    }
    std::fprintf(stderr, "%s %s\n", row.name.c_str(), found.c_str());
    text += (text.empty() ? "\n  " : ",\n  ") + quoted(row.name) + ": {\"weft\": " + found + "}";
  }
  std::printf("{\n \"device\": %s,\n \"rows\": {%s\n }\n}\n", quoted(name).c_str(), text.c_str());
  return good;
}

} // namespace weft::bench
