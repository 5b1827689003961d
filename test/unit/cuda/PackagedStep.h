//===- PackagedStep.h - A step of a package, on several devices -*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDA_PACKAGEDSTEP_H
#define WEFT_TEST_CUDA_PACKAGEDSTEP_H

#include "runtime/execution/StatefulExecutable.h"
#include "test/unit/frontend/Helpers.h"

namespace weft::testing {

/// Calls the function `step` of a package, which takes and returns one tensor of f32 of equal size, with the
/// same elements as often as there are results, and compares these: on the host and on each of two GPUs.
inline void expectOfPackage(const std::string &path, const Floats &elements,
                            const std::vector<Floats> &expected) {
  for (const char *map : {"cpu", "cuda", "cuda:1"}) {
    const auto loaded =
        runtime::StatefulExecutable::load(runtime::Package::open(path).value_or_throw(), "step", map)
            .value_or_throw();
    for (const Floats &each : expected) {
      runtime::Device &device = loaded->executable().argument_device(loaded->inputs()[0]);
      auto in = runtime::Buffer::allocate(sizeof(float) * elements.size(), 0, device).value_or_throw();
      in->write(0, std::as_bytes(std::span(elements))).throw_if_failed();
      std::shared_ptr<runtime::Buffer> results[1];
      loaded->run(std::span(&in, 1), {}, results).throw_if_failed();
      results[0]->wait().throw_if_failed();
      Floats found(elements.size());
      results[0]->read(0, std::as_writable_bytes(std::span(found))).throw_if_failed();
      EXPECT_EQ(found, each) << map;
    }
  }
}

} // namespace weft::testing

#endif // WEFT_TEST_CUDA_PACKAGEDSTEP_H
