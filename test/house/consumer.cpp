//===- consumer.cpp - What users write, for every compiler that they have ---===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls that overload resolution decides, which is where compilers differ. It is compiled against what is
// installed, and with REFUSED_n one line is added that has to be an error with a message for people.
//
//===----------------------------------------------------------------------===//
#include <weft/weft.hpp>

#include <iostream>
#include <sstream>

using namespace weft;

static bool isEverywhere(const Tensor &flags) { return flags.all().item<bool>(); }

int main() {
  Tensor a = ones({2}), b = a;
  Scalar two(2);
  nn::Parameter p(a);
  bool right = isEverywhere(a == 1) && isEverywhere(a != 0) && isEverywhere(1 == a) && isEverywhere(0 != a) &&
               isEverywhere(a == b) && !isEverywhere(a != b) && isEverywhere(p == p) &&
               isEverywhere(p == 1) && isEverywhere(0.5 != p) && isEverywhere(a != two) &&
               isEverywhere(two != a) && isEverywhere(a == true) && isEverywhere(size_t(1) == a) &&
               isEverywhere((a + 1) == (b * 2)) && isEverywhere(!(a == 2)) && isEverywhere(!(a < b)) &&
               isEverywhere(a < 2) && isEverywhere(0 < a) && isEverywhere(0U <= a) && isEverywhere(a >= 1.F);
  right = right && a.dtype() == f32 && a.device() == Device() && a.sym_size(0) == 2 && a.sizes() == Shape{2};

  const Dim d("n", 0, 2);
  const Size n = a.sym_size(0), one = n - 1;
  const size_t z = 1;
  for (const Tensor &part : {a.slice(0, 1),
                             a.slice(0, z),
                             a.slice(0, one),
                             a.slice(0, 0, 1),
                             a.slice(0, 0, z),
                             a.slice(0, one, n),
                             a.slice(0, 0, one, 1),
                             a.narrow(0, 0, 1),
                             a.narrow(0, z, 1),
                             a.narrow(0, one, 1),
                             a.narrow(0, 0, one),
                             arange(1),
                             arange(z),
                             arange(one),
                             arange(one, f32),
                             arange(1, 2),
                             arange(1, n),
                             arange(one, n, {.dtype = f32}),
                             arange(0., 1.),
                             arange(0, 2, 2),
                             arange(1, {.dtype = f32}),
                             arange(1U),
                             arange(1, 2U)})
    right = right && part.sizes() == Shape{1};

  std::ostringstream text;
  text << a << p << f32 << a.device() << 3 << (a + b);
  std::ostringstream() << a;
  const Metadata metadata = {{"step", "3"}};
  right = right && metadata.at("step") == "3" && metadata.at(0).second == "3" && metadata.contains("step");
#if defined(REFUSED_1)
  if (a > b) // "a Tensor is no condition"
    return 1;
#elif defined(REFUSED_2)
  float x = a.item(); // "the type of the number is missing"
#elif defined(REFUSED_3)
  auto x = a.to_vector(); // "the type of the elements is missing"
#elif defined(REFUSED_4)
  while (a && b) // "a Tensor is no condition"
    ;
#elif defined(REFUSED_5)
  compile([](Tensor &x) { x += 1; }); // "is no reference that can be rebound"
#elif defined(REFUSED_6)
  compile([](auto x) { return x; }); // "whose parameter types are spelled out"
#endif
  return right ? 0 : 1;
}
