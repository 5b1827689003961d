//===- indexing.cpp - Joins, windows and indices beside PyTorch -------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-parity-indexing FOLDER: runs every case below on inputs that are made by a formula and writes what it
// gives, and the gradients of a weighted sum of that. test_indexing.py does the same in PyTorch.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>
#include <functional>

using namespace weft;

namespace {

/// Multiples of 1/16 between -3 and 3, all exact in f32 and f16.
Tensor made(Shape shape, int64_t seed, DType dtype = f32) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>((i * 7919 + seed * 104729) % 97 - 48) / 16);
  return Tensor::from(values, shape).to(dtype);
}

Tensor ints(std::vector<int64_t> values, Shape shape) { return Tensor::from(values, shape); }

struct Case {
  const char *name;
  std::function<std::vector<Tensor>(Tensor x, Tensor u)> run;
};

const std::vector<Case> cases = {
    {"cat",
     [](Tensor x, Tensor u) { return std::vector{cat({x, u, x}, 0), cat({x, x * 2}, 1), cat({x, x}, -1)}; }},
    {"cat_promotes",
     [](Tensor x, Tensor) {
       return std::vector{cat({x.to(f16), ints({1, 2, 3}, {1, 3}).expand({5, 3})}, 1)};
     }},
    {"stack", [](Tensor x, Tensor) { return std::vector{stack({x, x + 1}, 0), stack({x, x * x}, -1)}; }},
    {"split", [](Tensor x, Tensor) { return split(x, 3, 1); }},
    {"split_sizes", [](Tensor x, Tensor) { return split(x, std::vector<int64_t>{1, 0, 4}, 0); }},
    {"chunk", [](Tensor x, Tensor) { return chunk(x, 3, 1); }},
    {"unbind", [](Tensor x, Tensor) { return unbind(x, 0); }},
    {"narrow", [](Tensor x, Tensor) { return std::vector{narrow(x, 1, 2, 4), narrow(x, 0, -3, 2)}; }},
    {"repeat",
     [](Tensor x, Tensor) { return std::vector{x.repeat({2, 3}), x.repeat({2, 1, 2}), tile(x, {2})}; }},
    {"repeat_interleave",
     [](Tensor x, Tensor) {
       return std::vector{repeat_interleave(x, 3, 0), repeat_interleave(x, 2, 1), repeat_interleave(x, 2)};
     }},
    {"flip", [](Tensor x, Tensor) { return std::vector{flip(x, {0}), flip(x, {1}), flip(x, {1, 0})}; }},
    {"roll",
     [](Tensor x, Tensor) {
       return std::vector{roll(x, {2}, {1}), roll(x, {-1, 3}, {0, 1}), roll(x, {4}), roll(x, {9}, {0})};
     }},
    {"pad",
     [](Tensor x, Tensor) {
       return std::vector{pad(x, {1, 2}), pad(x, {1, 2, 3, 0}, 0.5), pad(x, {-1, 2}),
                          pad(x, {-2, -1, -1, 1}, -2)};
     }},
    {"triangles",
     [](Tensor x, Tensor) { return std::vector{tril(x), triu(x), tril(x, 2), triu(x, -1), tril(x, -9)}; }},
    {"gather",
     [](Tensor x, Tensor) {
       return std::vector{gather(x, 1, ints({0, 6, 3, 3, 1, 2}, {3, 2})),
                          gather(x, 0, ints({4, 4, 0, 1}, {2, 2}))};
     }},
    {"index_select",
     [](Tensor x, Tensor) {
       return std::vector{index_select(x, 0, ints({4, 0, 0, 2}, {4})),
                          index_select(x, 1, ints({6, 6, 1}, {3}))};
     }},
    {"take", [](Tensor x, Tensor) { return std::vector{take(x, ints({0, 34, -1, -35, 7, 7}, {2, 3}))}; }},
    {"index",
     [](Tensor x, Tensor) {
       return std::vector{index(x, {ints({0, -1, 2}, {3})}),
                          index(x, {ints({0, 4}, {2, 1}), ints({-7, 6, 6}, {3})}),
                          index(x, {Tensor(), ints({1, -1}, {2})}),
                          index(x.unsqueeze(1), {ints({1, 1}, {2}), Tensor(), ints({3, -2}, {2})})};
     }},
    {"embedding",
     [](Tensor x, Tensor) {
       Tensor i = ints({0, 3, 3, 4, 2, 3}, {2, 3});
       return std::vector{embedding(i, x), embedding(i, x, 3), embedding(i, x, -1)};
     }},
    {"scatter",
     [](Tensor x, Tensor u) {
       return std::vector{scatter(x, 0, ints({0, 4, 2, 3, 1, 0}, {2, 3}), u.slice(1, 0, 3)),
                          scatter(x, 1, ints({6, 0}, {2, 1}), u.slice(1, 2, 3)),
                          scatter(x, 1, ints({5, 2}, {2, 1}), 1.25)};
     }},
    {"scatter_add",
     [](Tensor x, Tensor u) {
       Tensor rows = ints({1, 1}, {2, 1}).expand({2, 7});
       return std::vector{scatter_add(x, 0, ints({0, 4, 0, 0, 4, 4}, {2, 3}), u.slice(1, 0, 3)),
                          scatter_add(x, 0, rows, u)};
     }},
    {"scatter_reduce",
     [](Tensor x, Tensor u) {
       Tensor i = ints({0, 4, 0, 0, 4, 4}, {2, 3}), a = x.detach(), b = u.detach();
       return std::vector{scatter_reduce(a, 0, i, b, "prod"), scatter_reduce(a, 0, i, b, "amax"),
                          scatter_reduce(a, 0, i, b, "amin"),
                          scatter_reduce(x, 0, i, u.slice(1, 0, 3), "sum")};
     }},
    {"index_add",
     [](Tensor x, Tensor u) {
       return std::vector{index_add(x, 0, ints({3, 3}, {2}), u), index_add(x, 0, ints({1, 0}, {2}), u, 2.5)};
     }},
    {"index_copy", [](Tensor x, Tensor u) { return std::vector{index_copy(x, 0, ints({3, 0}, {2}), u)}; }},
    {"index_put",
     [](Tensor x, Tensor u) {
       return std::vector{
           index_put(x, {ints({3, -5}, {2})}, u), index_put(x, {ints({3, 3}, {2})}, u, true),
           index_put(x, {ints({0, -1}, {2}), ints({2, -7}, {2})}, u.select(0, 1).slice(0, 0, 2)),
           index_put(x, {Tensor(), ints({2, 4}, {2})}, u.slice(1, 0, 1).select(0, 0), true)};
     }},
    {"masked_fill",
     [](Tensor x, Tensor) { return std::vector{masked_fill(x, x > 0.5, -1), masked_fill(x, x < 0, 2)}; }},
    {"ranges",
     [](Tensor, Tensor) {
       return std::vector{arange(2, 11, 3),
                          arange(5, -5, -4),
                          arange(0.5, 3.0, 0.25),
                          linspace(-1, 2, 7),
                          linspace(3, 3, 1),
                          eye(3),
                          eye(2, 4),
                          one_hot(ints({0, 2, 1}, {3}), 4),
                          one_hot(ints({0, 2}, {1, 2}))};
     }},
    {"meshgrid",
     [](Tensor, Tensor) {
       auto a = meshgrid({arange(3), arange(2)}), b = meshgrid({arange(3), arange(2)}, "xy");
       return std::vector{a[0], a[1], b[0], b[1]};
     }},
};

} // namespace

int main(int argc, char **argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: weft-parity-indexing FOLDER\n"), 2;
  for (const Case &one : cases) {
    Tensor x = made({5, 7}, 1), u = made({2, 7}, 2);
    x.requires_grad_();
    u.requires_grad_();
    std::vector<Tensor> results = one.run(x, u);
    Tensor loss;
    int64_t number = 0;
    for (Tensor &result : results) {
      save_npy(std::string(argv[1]) + "/" + one.name + "." + std::to_string(number++) + ".npy", result);
      if (!result.requires_grad())
        continue;
      Tensor part = (result.to(f32) * made(result.sizes(), 3 + number)).sum();
      loss = loss.defined() ? loss + part : part;
    }
    if (!loss.defined())
      continue;
    loss.backward();
    for (auto &[name, leaf] : {std::pair{"x", x}, std::pair{"u", u}})
      if (leaf.grad().defined())
        save_npy(std::string(argv[1]) + "/" + one.name + ".grad_" + name + ".npy", leaf.grad());
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
