//===- Calibration.h - What the calibration programs share -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CALIBRATION_H
#define WEFT_TEST_CUDASIM_CALIBRATION_H

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

/// Ends the program with the call's text where a call fails that has to work for the rest to mean anything.
#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    if (int code = static_cast<int>(call)) {                                                                 \
      std::fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, code);                          \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (false)

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Microseconds that one run takes on the device: the median of `outer` measurements, each of `inner` runs
/// between two events. `run` gets the number of the run, so that operands can rotate.
inline double timeOnDevice(cudaStream_t stream, const std::function<void(int)> &run, int inner, int outer) {
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  for (int i = 0; i < 3; ++i)
    run(i);
  std::vector<double> values;
  for (int i = 0; i < outer; ++i) {
    CHECK(cudaEventRecord(from, stream));
    for (int j = 0; j < inner; ++j)
      run(j);
    CHECK(cudaEventRecord(to, stream));
    CHECK(cudaEventSynchronize(to));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    values.push_back(ms * 1e3 / inner);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventDestroy(from));
  CHECK(cudaEventDestroy(to));
  return median(values);
}

/// Writes one JSON object of objects, lists and values to standard output, a line an entry.
class Json {
public:
  Json() { std::printf("{"); }
  ~Json() { std::printf("\n}\n"); }
  void open(const char *name, char bracket = '{') {
    separate();
    if (name)
      std::printf("\"%s\": ", name);
    std::printf("%c", bracket);
    first_ = true;
    ++depth_;
  }
  void close(char bracket = '}') {
    --depth_;
    std::printf("\n%*s%c", 2 * depth_, "", bracket);
    first_ = false;
  }
  /// `format` makes the value as JSON text.
  __attribute__((format(printf, 3, 4))) void value(const char *name, const char *format, ...) {
    separate();
    if (name)
      std::printf("\"%s\": ", name);
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
  }

private:
  void separate() {
    std::printf("%s\n%*s", first_ ? "" : ",", 2 * depth_, "");
    first_ = false;
  }
  bool first_ = true;
  int depth_ = 1;
};

#endif // WEFT_TEST_CUDASIM_CALIBRATION_H
