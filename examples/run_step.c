/*===- run_step.c - A saved training step goes on without the compiler -------===*\
|*
|* Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Loads step.weft, which save_step.cpp wrote, and trains it further. Links libweft-runtime and nothing else.
|*
\*===----------------------------------------------------------------------===*/
#include <weft/weft.h>

#include <stdio.h>
#include <stdlib.h>

static void check(weft_status status) {
  if (status != WEFT_OK) {
    fprintf(stderr, "run_step: %s\n", weft_last_error());
    exit(1);
  }
}

int main(int argc, char **argv) {
  weft_package *package;
  weft_executable *step;
  weft_tensor_info info = {.struct_size = sizeof info};
  float points[64][2], loss = 0, weight[2 * 32];
  int64_t labels[64];
  size_t count, i;

  check(weft_package_open(argc > 1 ? argv[1] : "step.weft", NULL, &package));
  check(weft_executable_load(package, "step", "cpu", &step));
  weft_package_close(package); /* the executable keeps what it needs */

  check(weft_executable_state_count(step, &count));
  printf("the step keeps");
  for (i = 0; i < count; ++i) {
    check(weft_executable_state(step, i, &info));
    printf(" %s", info.name);
  }
  printf("\n");

  for (i = 0; i < 64; ++i) {
    points[i][0] = (float)(i % 8) / 7;
    points[i][1] = (float)(i / 8) / 7; /* NOLINT(bugprone-integer-division) */
    labels[i] = points[i][0] * points[i][1] > 0.25f;
  }
  weft_buffer in[2] = {{.struct_size = sizeof(weft_buffer),
                        .data = points,
                        .dtype = WEFT_F32,
                        .rank = 2,
                        .shape = (int64_t[]){64, 2}},
                       {.struct_size = sizeof(weft_buffer),
                        .data = labels,
                        .dtype = WEFT_I64,
                        .rank = 1,
                        .shape = (int64_t[]){64}}};
  weft_buffer out[1] = {{.struct_size = sizeof(weft_buffer), .data = &loss, .dtype = WEFT_F32}};

  check(weft_executable_scalar_set(step, "adam.lr", 5e-3)); /* compiles nothing */
  for (i = 51; i <= 200; ++i) {
    check(weft_executable_run(step, NULL, in, 2, out, 1));
    if (i == 51 || i % 50 == 0) {
      check(weft_stream_synchronize(NULL));
      printf("step %zu: loss %.4f\n", i, loss);
    }
  }
  check(weft_executable_state_get(step, "fc1.weight", weight, sizeof weight));
  printf("fc1.weight begins with %.4f\n", weight[0]);
  weft_executable_destroy(step);
  return 0;
}
