//===- ops_protocol.h - Requests of test_ops.py -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The protocol of one function call with its arguments. It consists of lines of words; the bytes of a tensor
// follow its line:
//
//   call NAME
//   record FILE                                 writes the call as a program in the IR, too; may be left out
//   tensor DTYPE REQUIRES_GRAD RANK SIZE...     then the bytes; numbered from 0
//   t INDEX | i NUMBER | f NUMBER | b 0|1 | is N NUMBER... | s WORD | ts N INDEX... | none     the arguments
//   cotangent DTYPE RANK SIZE...                then the bytes; one per result, or none at all
//   run
//
// The answer is `ok N` and N results, each `DTYPE RANK SIZE...` and bytes, then `grads N` and N gradients in
// the same form, or `none`, one for each tensor that requires one; or `error BYTES` and the message.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_PARITY_OPSPROTOCOL_H
#define WEFT_TEST_PARITY_OPSPROTOCOL_H

#include <weft/weft.hpp>

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace parity {

using weft::Tensor;
using Tensors = std::vector<Tensor>;

/// The arguments of a call, in order. If one is read as another type than it has, test_ops.py is wrong, and
/// the call ends with a message that names both types.
class Args {
public:
  using Value =
      std::variant<std::monostate, Tensor, int64_t, double, bool, std::vector<int64_t>, std::string, Tensors>;
  std::vector<Value> values;

  size_t size() const { return values.size(); }
  bool has(size_t i) const { return i < values.size() && values[i].index() != 0; }
  Tensor tensor(size_t i) const { return get<Tensor>(i, "a tensor"); }
  /// The tensor, or an undefined one if the argument is missing.
  Tensor tensorOrNone(size_t i) const { return has(i) ? tensor(i) : Tensor(); }
  int64_t whole(size_t i) const { return get<int64_t>(i, "an integer"); }
  int64_t whole(size_t i, int64_t otherwise) const { return has(i) ? whole(i) : otherwise; }
  double real(size_t i) const;
  double real(size_t i, double otherwise) const { return has(i) ? real(i) : otherwise; }
  bool flag(size_t i, bool otherwise = false) const { return has(i) ? get<bool>(i, "a bool") : otherwise; }
  std::string word(size_t i) const { return get<std::string>(i, "a word"); }
  std::string word(size_t i, const std::string &otherwise) const { return has(i) ? word(i) : otherwise; }
  Tensors tensors(size_t i) const { return get<Tensors>(i, "tensors"); }
  /// Integers; one integer counts as a list of one.
  std::vector<int64_t> list(size_t i) const;
  std::vector<int64_t> list(size_t i, std::vector<int64_t> otherwise) const {
    return has(i) ? list(i) : otherwise;
  }
  weft::DType dtype(size_t i) const;
  /// An operand of an operator: a tensor or a number.
  weft::Arg operand(size_t i) const;

private:
  template <typename T> const T &get(size_t i, const char *what) const {
    if (i < values.size())
      if (const T *value = std::get_if<T>(&values[i]))
        return *value;
    throw weft::Error("argument " + std::to_string(i) + " is not " + what);
  }
};

using Function = std::function<Tensors(const Args &)>;
using Table = std::map<std::string, Function>;

/// \name The functions that can be called, by PyTorch's names; each family has a file
/// @{
void addElementwise(Table &table);
void addShapes(Table &table);
void addReductions(Table &table);
void addNetworks(Table &table);
void addWindows(Table &table);
void addSelection(Table &table);
void addMore(Table &table);
void addExtra(Table &table);
void addFft(Table &table);
void addLinalg(Table &table);
void addRecurrent(Table &table);
/// @}

} // namespace parity

#endif // WEFT_TEST_PARITY_OPSPROTOCOL_H
