//===- elementwise.cpp - Elementwise functions beside PyTorch ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft-parity-elementwise FOLDER: reads FOLDER/cases.txt, whose lines are
//
//   <function> <dtype> <operands> <name>
//
// where operands are .npy files joined by commas; converts them to the dtype, calls the function, and writes
// <name>.npy: the result, halves as f32. With a "grad" dtype (f32 or f64 with a plus sign before it) also
// <name>.0.npy, .. : the gradients of the sum of the result times the weights of the file "weights.npy". An
// error is written to <name>.error. Then promotions.txt: the dtype of every function of every pair of dtypes.
// test_elementwise.py does the same in PyTorch.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

using namespace weft;

namespace {

using Operands = std::vector<Tensor>;
using Function = std::function<Tensor(const Operands &)>;

#define UNARY(name) {#name, [](const Operands &x) { return weft::name(x[0]); }},
#define BINARY(name) {#name, [](const Operands &x) { return weft::name(x[0], x[1]); }},
#define CALL(name, ...) {name, [](const Operands &x) { return __VA_ARGS__; }},
/// The member of this name, on a copy.
#define IN_PLACE(name, ...)                                                                                  \
  {#name, [](const Operands &x) { return inPlace(x[0], [&](Tensor &y) { y.name(__VA_ARGS__); }); }},

Tensor inPlace(const Tensor &x, const std::function<void(Tensor &)> &update) {
  Tensor y = zeros_like(x);
  y.copy_(x);
  update(y);
  return y;
}

// clang-format off
const std::map<std::string, Function> functions = {
    UNARY(neg) UNARY(abs) UNARY(sign) UNARY(ceil) UNARY(floor) UNARY(round) UNARY(trunc) UNARY(sqrt)
    UNARY(rsqrt) UNARY(reciprocal) UNARY(exp) UNARY(expm1) UNARY(exp2) UNARY(log) UNARY(log1p) UNARY(log2)
    UNARY(log10) UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos) UNARY(atan) UNARY(sinh) UNARY(cosh)
    UNARY(tanh) UNARY(asinh) UNARY(acosh) UNARY(atanh) UNARY(erf) UNARY(sigmoid) UNARY(square) UNARY(isnan)
    UNARY(isinf) UNARY(isfinite) UNARY(signbit) UNARY(nan_to_num) UNARY(logical_not) UNARY(bitwise_not)
    UNARY(relu) UNARY(gelu) UNARY(silu) UNARY(softplus) UNARY(leaky_relu) UNARY(elu) UNARY(celu)
    UNARY(hardtanh) UNARY(relu6) UNARY(hardswish) UNARY(hardsigmoid) UNARY(softshrink)
    BINARY(add) BINARY(sub) BINARY(mul) BINARY(div) BINARY(floor_divide) BINARY(remainder) BINARY(fmod)
    BINARY(pow) BINARY(atan2) BINARY(copysign) BINARY(maximum) BINARY(minimum) BINARY(fmax) BINARY(fmin)
    BINARY(eq) BINARY(ne) BINARY(lt) BINARY(le) BINARY(gt) BINARY(ge) BINARY(logical_and) BINARY(logical_or)
    BINARY(logical_xor) BINARY(bitwise_and) BINARY(bitwise_or) BINARY(bitwise_xor) BINARY(clamp_min)
    BINARY(clamp_max)
    CALL("gelu_tanh", gelu(x[0], "tanh"))
    CALL("softplus_2_3", softplus(x[0], 2, 3))
    CALL("leaky_relu_half", leaky_relu(x[0], 0.5))
    CALL("elu_2", elu(x[0], 2))
    CALL("celu_2", celu(x[0], 2))
    CALL("hardtanh_0_2", hardtanh(x[0], 0, 2))
    CALL("softshrink_1", softshrink(x[0], 1))
    CALL("threshold_1_7", threshold(x[0], 1, 7))
    CALL("nan_to_num_1_2_3", nan_to_num(x[0], 1, 2, -3))
    CALL("clamp_numbers", clamp(x[0], -1, 2))
    CALL("clamp_crossed", clamp(x[0], 2, -1))
    CALL("clamp_min_number", clamp_min(x[0], 1))
    CALL("clamp_max_number", clamp_max(x[0], 1))
    CALL("clamp_tensors", clamp(x[0], x[1], x[2]))
    CALL("div_trunc", div(x[0], x[1], "trunc"))
    CALL("div_floor", div(x[0], x[1], "floor"))
    CALL("add_alpha", add(x[0], x[1], 3))
    CALL("sub_alpha", sub(x[0], x[1], 3))
    CALL("addcmul", addcmul(x[0], x[1], x[2]))
    CALL("addcmul_half", addcmul(x[0], x[1], x[2], 0.5))
    CALL("addcdiv", addcdiv(x[0], x[1], x[2]))
    CALL("addcdiv_half", addcdiv(x[0], x[1], x[2], 0.5))
    CALL("lerp_quarter", lerp(x[0], x[1], 0.25))
    CALL("lerp_most", lerp(x[0], x[1], 0.75))
    CALL("lerp", lerp(x[0], x[1], x[2]))
    CALL("pow_0", pow(x[0], 0)) CALL("pow_1", pow(x[0], 1)) CALL("pow_2", pow(x[0], 2))
    CALL("pow_2.0", pow(x[0], 2.0)) CALL("pow_3", pow(x[0], 3)) CALL("pow_0.5", pow(x[0], 0.5))
    CALL("pow_-0.5", pow(x[0], -0.5)) CALL("pow_-1", pow(x[0], -1)) CALL("pow_-2", pow(x[0], -2))
    CALL("pow_2.5", pow(x[0], 2.5)) CALL("pow_7", pow(x[0], 7)) CALL("2_pow", pow(2, x[0]))
    CALL("1_remainder", 1 % x[0]) CALL("remainder_2", x[0] % 2) CALL("and_or_xor", (x[0] & 6) | (x[0] ^ 3))
    IN_PLACE(abs_) IN_PLACE(neg_) IN_PLACE(ceil_) IN_PLACE(floor_) IN_PLACE(round_) IN_PLACE(trunc_)
    IN_PLACE(square_) IN_PLACE(sqrt_) IN_PLACE(rsqrt_) IN_PLACE(reciprocal_) IN_PLACE(exp_) IN_PLACE(expm1_)
    IN_PLACE(log_) IN_PLACE(log1p_) IN_PLACE(sin_) IN_PLACE(cos_) IN_PLACE(tanh_) IN_PLACE(sigmoid_)
    IN_PLACE(relu_) IN_PLACE(erf_) IN_PLACE(add_, x[1]) IN_PLACE(sub_, x[1]) IN_PLACE(mul_, x[1])
    IN_PLACE(div_, x[1]) IN_PLACE(floor_divide_, x[1]) IN_PLACE(remainder_, x[1]) IN_PLACE(fmod_, x[1])
    IN_PLACE(pow_, x[1]) IN_PLACE(clamp_min_, x[1]) IN_PLACE(clamp_max_, x[1]) IN_PLACE(fill_, 3)
    IN_PLACE(clamp_, -1, 2) IN_PLACE(lerp_, x[1], x[2]) IN_PLACE(addcmul_, x[1], x[2], 0.5)
    IN_PLACE(addcdiv_, x[1], x[2], 0.5)
};
// clang-format on

const std::map<std::string, DType> dtypes = {{"i1", i1},   {"i8", i8},          {"i16", i16}, {"i32", i32},
                                             {"i64", i64}, {"ui8", DType::ui8}, {"f16", f16}, {"bf16", bf16},
                                             {"f32", f32}, {"f64", f64}};

/// What a file of numpy can hold.
Tensor storable(const Tensor &x) { return x.dtype() == f16 || x.dtype() == bf16 ? x.to(f32) : x; }

void runCase(const std::string &folder, const std::string &function, std::string dtype,
             const std::string &files, const std::string &name) {
  std::string path = folder + "/" + name;
  try {
    bool gradients = dtype[0] == '+';
    DType type = dtypes.at(gradients ? dtype.substr(1) : dtype);
    Operands operands;
    std::istringstream list(files);
    for (std::string file; std::getline(list, file, ',');) {
      operands.push_back(load_npy(std::filesystem::path(folder) / file).to(type));
      if (gradients)
        operands.back().requires_grad_();
    }
    Tensor y = functions.at(function)(operands);
    save_npy(path + ".npy", storable(y));
    if (!gradients)
      return;
    (y * load_npy(folder + "/weights.npy").to(type).slice(0, 0, y.numel())).sum().backward();
    for (size_t i = 0; i < operands.size(); ++i)
      save_npy(path + "." + std::to_string(i) + ".npy",
               operands[i].grad().defined() ? operands[i].grad() : zeros_like(operands[i]));
  } catch (const Error &error) {
    std::ofstream(path + ".error") << error.what() << "\n";
  }
}

void promotions(const std::string &folder) {
  std::ofstream out(folder + "/promotions.txt");
  const std::map<std::string, std::function<Tensor(const Arg &, const Arg &)>> two = {
      {"add", [](const Arg &a, const Arg &b) { return add(a, b); }},
      {"sub", [](const Arg &a, const Arg &b) { return sub(a, b); }},
      {"mul", [](const Arg &a, const Arg &b) { return mul(a, b); }},
      {"div", [](const Arg &a, const Arg &b) { return div(a, b); }},
      {"floor_divide", [](const Arg &a, const Arg &b) { return floor_divide(a, b); }},
      {"remainder", [](const Arg &a, const Arg &b) { return remainder(a, b); }},
      {"pow", [](const Arg &a, const Arg &b) { return pow(a, b); }},
      {"atan2", [](const Arg &a, const Arg &b) { return atan2(a, b); }},
      {"maximum", [](const Arg &a, const Arg &b) { return maximum(a, b); }},
      {"eq", [](const Arg &a, const Arg &b) { return eq(a, b); }},
      {"bitwise_and", [](const Arg &a, const Arg &b) { return bitwise_and(a, b); }},
      {"logical_xor", [](const Arg &a, const Arg &b) { return logical_xor(a, b); }}};
  auto write = [&](const std::string &op, const std::string &left, const std::string &right, const Arg &a,
                   const Arg &b) {
    std::string result;
    try {
      result = name(two.at(op)(a, b).dtype());
    } catch (const Error &) {
      result = "error";
    }
    out << op << ' ' << left << ' ' << right << ' ' << result << '\n';
  };
  for (const auto &[op, function] : two)
    for (const auto &[leftName, left] : dtypes) {
      Tensor a = ones({2}, {.dtype = left});
      for (const auto &[rightName, right] : dtypes) {
        Tensor b = ones({2}, {.dtype = right}), single = ones({}, {.dtype = right});
        write(op, leftName, rightName, a, b);
        write(op, leftName, rightName + "()", a, single);
        write(op, rightName + "()", leftName, single, a);
      }
      write(op, leftName, "True", a, true);
      write(op, leftName, "2", a, 2);
      write(op, leftName, "2.5", a, 2.5);
    }
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: weft-parity-elementwise FOLDER\n"), 2;
  std::string folder = argv[1];
  std::ifstream cases(folder + "/cases.txt");
  for (std::string function, dtype, files, name; cases >> function >> dtype >> files >> name;)
    runCase(folder, function, dtype, files, name);
  promotions(folder);
} catch (const std::exception &error) {
  std::fprintf(stderr, "weft-parity-elementwise: %s\n", error.what());
  return 1;
}
