/*===- c_program.c - The C interface from C11 --------------------------------===*\
|*
|* Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#include "weft/weft.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;
#define CHECK(holds)                                                                                         \
  do {                                                                                                       \
    if (!(holds)) {                                                                                          \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #holds, weft_last_error());                              \
      ++failures;                                                                                            \
    }                                                                                                        \
  } while (0)

/* Runs the step of CApiTest.cpp's package twice: y = x * w, then w = x. */
int main(int argc, char **argv) {
  weft_package_options options = {.struct_size = sizeof options, .verify = 1};
  weft_package *package = NULL;
  weft_executable *step = NULL;
  weft_stream *stream = NULL;
  float x[16], w[16], y[16] = {0};
  int64_t shape[2] = {4, 4};
  weft_buffer in[1] = {{.struct_size = sizeof(weft_buffer),
                        .data = x,
                        .device = "cpu",
                        .dtype = WEFT_F32,
                        .rank = 2,
                        .shape = shape}};
  weft_buffer out[1] = {
      {.struct_size = sizeof(weft_buffer), .data = y, .dtype = WEFT_F32, .rank = 2, .shape = shape}};
  int i;
  if (argc != 2)
    return 2;
  for (i = 0; i < 16; ++i)
    x[i] = (float)i;
  CHECK(weft_package_open("nowhere.weft", NULL, &package) == WEFT_ERROR_PACKAGE);
  CHECK(strcmp(weft_last_error_code(), "WEFT-L001") == 0);
  CHECK(weft_package_open(argv[1], &options, &package) == WEFT_OK);
  CHECK(weft_executable_load(package, "step", NULL, &step) == WEFT_OK);
  CHECK(weft_stream_create("cpu", &stream) == WEFT_OK);
  if (failures)
    return 1;
  for (i = 0; i < 2; ++i)
    CHECK(weft_executable_run(step, stream, in, 1, out, 1) == WEFT_OK);
  CHECK(weft_stream_synchronize(stream) == WEFT_OK);
  CHECK(y[0] == 0 * 0 + 1 * 4 + 2 * 8 + 3 * 12);
  CHECK(weft_executable_state_get(step, "fc.weight", w, sizeof w) == WEFT_OK);
  CHECK(memcmp(w, x, sizeof w) == 0);
  CHECK(weft_executable_scalar_set(step, "adam.lr", 0.125) == WEFT_OK);
  weft_stream_destroy(stream);
  weft_executable_destroy(step);
  weft_package_close(package);
  return failures ? 1 : 0;
}
