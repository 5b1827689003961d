//===- ops_server.cpp - Calls Weft's functions for test_ops.py ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace weft;
using namespace parity;

double Args::real(size_t i) const {
  if (i < values.size())
    if (const auto *whole = std::get_if<int64_t>(&values[i]))
      return static_cast<double>(*whole);
  return get<double>(i, "a number");
}

std::vector<int64_t> Args::list(size_t i) const {
  if (i < values.size())
    if (const auto *whole = std::get_if<int64_t>(&values[i]))
      return {*whole};
  return get<std::vector<int64_t>>(i, "integers");
}

DType Args::dtype(size_t i) const {
  auto found = parse_dtype(word(i));
  if (!found)
    throw Error("'" + word(i) + "' is no dtype");
  return *found;
}

Arg Args::operand(size_t i) const {
  if (i < values.size()) {
    if (const auto *value = std::get_if<Tensor>(&values[i]))
      return Arg(*value);
    if (const auto *value = std::get_if<int64_t>(&values[i]))
      return Arg(*value);
    if (const auto *value = std::get_if<bool>(&values[i]))
      return Arg(*value);
  }
  return Arg(real(i));
}

namespace {

std::vector<int64_t> readSizes(std::istream &words) {
  size_t count = 0;
  words >> count;
  std::vector<int64_t> sizes(count);
  for (int64_t &size : sizes)
    words >> size;
  return sizes;
}

/// A tensor whose shape is on the line and whose bytes come next.
Tensor readTensor(std::istream &in, DType dtype, const Shape &shape) {
  size_t bytes = itemsize(dtype);
  for (int64_t size : shape)
    bytes *= static_cast<size_t>(size);
  std::string data(bytes, '\0');
  in.read(data.data(), static_cast<std::streamsize>(bytes));
  return Tensor::from_bytes(data.data(), bytes, dtype, shape, {.dtype = dtype, .device = creation_device()});
}

void writeTensor(std::ostream &out, const Tensor &tensor) {
  out << name(tensor.dtype()) << ' ' << tensor.dim();
  for (int64_t size : tensor.sizes())
    out << ' ' << size;
  out << '\n';
  auto bytes = tensor.to_bytes();
  out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

struct Request {
  std::string name;
  std::vector<Tensor> tensors, cotangents;
  std::vector<size_t> wanted; ///< the tensors that require a gradient
  bool second = false;        ///< asks for derivatives of the gradients, in their place
  std::string record;         ///< a file for the call as a program; empty: none
  Args args;
  std::vector<std::vector<size_t>> indices; ///< by argument: the tensors that it is made of
};

/// False at the end of the stream.
bool read(std::istream &in, Request &request) {
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "run")
      return true;
    if (word == "call") {
      words >> request.name;
    } else if (word == "tensor" || word == "cotangent") {
      std::string dtype;
      bool wanted = false;
      words >> dtype;
      if (word == "tensor")
        words >> wanted;
      Tensor tensor = readTensor(in, parse_dtype(dtype).value_or(f32), readSizes(words));
      if (wanted) {
        tensor.requires_grad_();
        request.wanted.push_back(request.tensors.size());
      }
      (word == "tensor" ? request.tensors : request.cotangents).push_back(tensor);
    } else if (word == "second") {
      request.second = true;
    } else if (word == "record") {
      std::getline(words >> std::ws, request.record);
    } else if (word == "t") {
      size_t index = 0;
      words >> index;
      request.indices.resize(request.args.values.size() + 1);
      request.indices.back() = {index};
      request.args.values.push_back(request.tensors.at(index));
    } else if (word == "ts") {
      Tensors list;
      request.indices.resize(request.args.values.size() + 1);
      for (int64_t index : readSizes(words)) {
        request.indices.back().push_back(static_cast<size_t>(index));
        list.push_back(request.tensors.at(static_cast<size_t>(index)));
      }
      request.args.values.push_back(list);
    } else if (word == "i") {
      int64_t number = 0;
      words >> number;
      request.args.values.push_back(number);
    } else if (word == "f") {
      std::string number; // stod reads inf and nan, >> does not
      words >> number;
      request.args.values.push_back(std::stod(number));
    } else if (word == "b") {
      bool flag = false;
      words >> flag;
      request.args.values.push_back(flag);
    } else if (word == "is") {
      request.args.values.push_back(readSizes(words));
    } else if (word == "s") {
      std::string text;
      words >> text;
      request.args.values.push_back(text);
    } else {
      request.args.values.push_back(std::monostate());
    }
  }
  return false;
}

/// The gradients of a sum of the gradients of `total`, each element times the cosine of its number; undefined
/// where there is none.
Tensors secondGradients(const Tensor &total, const Tensors &leaves) {
  Tensor sum;
  for (const Tensor &gradient : grad(total, leaves, {.create_graph = true, .allow_unused = true}))
    if (gradient.defined() && gradient.requires_grad()) {
      const Tensor weights =
          cos(arange(gradient.numel(), {.dtype = gradient.dtype()})).reshape(gradient.sizes());
      const Tensor part = (gradient * weights).sum();
      sum = sum.defined() ? sum + part : part;
    }
  return sum.defined() ? grad(sum, leaves, {.allow_unused = true}) : Tensors(leaves.size());
}

/// Writes the call as a program in the IR, whose arguments are the request's tensors by their numbers. Throws
/// Error if the function reads values while it is recorded.
void record(const Function &function, const Request &request) {
  std::vector<Tensor> given;
  for (const Tensor &tensor : request.tensors)
    given.push_back(tensor.detach());
  auto program = compile([&](std::vector<Tensor> tensors) {
    Args args = request.args;
    for (size_t i = 0; i < request.indices.size(); ++i) {
      Tensors list;
      for (const size_t index : request.indices[i])
        list.push_back(tensors.at(index));
      if (auto *one = std::get_if<Tensor>(&args.values[i]))
        *one = list.at(0);
      else if (std::holds_alternative<Tensors>(args.values[i]))
        args.values[i] = list;
    }
    return function(args);
  });
  (void)program(given);
  std::ofstream(request.record) << program.mlir();
}

std::string answer(const Table &table, const Request &request) {
  auto function = table.find(request.name);
  if (function == table.end())
    throw Error("there is no function '" + request.name + "'");
  if (!request.record.empty())
    record(function->second, request);
  Tensors results = function->second(request.args);
  Tensors leaves, seconds;
  std::ostringstream out;
  out << "ok " << results.size() << '\n';
  if (!request.cotangents.empty()) {
    Tensor total;
    for (size_t i = 0; i < results.size() && i < request.cotangents.size(); ++i)
      if (results[i].requires_grad()) {
        Tensor part = (results[i] * request.cotangents[i]).sum();
        total = total.defined() ? total + part : part;
      }
    if (total.defined() && !request.second)
      total.backward();
    if (total.defined() && request.second)
      for (size_t index : request.wanted)
        leaves.push_back(request.tensors[index]);
    if (!leaves.empty())
      seconds = secondGradients(total, leaves);
  }
  for (const Tensor &result : results)
    writeTensor(out, result);
  out << "grads " << request.wanted.size() << '\n';
  for (size_t i = 0; i < request.wanted.size(); ++i) {
    const Tensor gradient = !request.second      ? request.tensors[request.wanted[i]].grad()
                            : i < seconds.size() ? seconds[i]
                                                 : Tensor();
    if (gradient.defined())
      writeTensor(out, gradient);
    else
      out << "none\n";
  }
  return out.str();
}

} // namespace

int main(int argc, char **argv) {
  std::ios::sync_with_stdio(false);
  Table table;
  addElementwise(table);
  addShapes(table);
  addReductions(table);
  addNetworks(table);
  addWindows(table);
  addSelection(table);
  addMore(table);
  addExtra(table);
  addFft(table);
  addLinalg(table);
  addRecurrent(table);
  if (argc > 1 && std::string(argv[1]) == "--list") {
    for (const auto &[name, function] : table)
      std::cout << name << '\n';
    return 0;
  }
  if (const char *device = std::getenv("WEFT_TEST_DEVICE"))
    set_default_device(device); // that of all tensors here
  for (Request request; read(std::cin, request); request = {}) {
    std::string text;
    try {
      text = answer(table, request);
    } catch (const std::exception &error) {
      std::string message = error.what();
      text = "error " + std::to_string(message.size()) + "\n" + message;
    }
    std::cout << text << std::flush;
  }
  return 0;
}
