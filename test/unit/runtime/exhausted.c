/*===- exhausted.c - The C interface while memory ends ------------------------===*\
|*
|* Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* For every n: a process that has done nothing yet goes through the interface, and from its n-th request on
|* there is no memory. Every call succeeds or says that there is none; then memory comes back, and everything
|* works. failing_malloc.c is what refuses memory. Usage: PACKAGE STEP, which of every STEP requests is the
n-th.
|*
\*===----------------------------------------------------------------------===*/
#include "weft/weft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void weft_test_refuse_from(long first);
extern long weft_test_requests(void);

enum { elements = 16, most_requests = 100000 };

static int wrong_line = 0; /* the first check that failed */
#define CHECK(holds)                                                                                         \
  do {                                                                                                       \
    if (!(holds) && !wrong_line)                                                                             \
      wrong_line = __LINE__;                                                                                 \
  } while (0)

/* Whether a call succeeded. If not, it must be for want of memory, and say so. */
static int good(weft_status status, int line) {
  if (status == WEFT_OK)
    return 1;
  if ((status != WEFT_ERROR_MEMORY || !*weft_last_error() ||
       strcmp(weft_last_error_code(), "WEFT-M001") != 0) &&
      !wrong_line)
    wrong_line = line;
  return 0;
}
#define GOOD(call) good(call, __LINE__)

static void post_now(void *user, void (*run)(void *work), void *work) {
  (void)user;
  run(work);
  run(work); /* again, which does nothing */
}

/* Whether the state is one that a whole number of calls leaves: 2 at first, then x or x transposed. */
static int is_whole(const float *w, const float *x) {
  int first = 1, plain = 1, transposed = 1, i;
  for (i = 0; i < elements; ++i) {
    first &= w[i] == (i % 5 == 0 ? 2 : 0);
    plain &= w[i] == x[i];
    transposed &= w[i] == x[i % 4 * 4 + i / 4];
  }
  return first | plain | transposed;
}

/* y = x * w, then w = x: returns whether all calls succeeded. */
static int use(const char *path) {
  static const int64_t shape[2] = {4, 4}, strides[2] = {1, 4};
  float x[elements], y[elements], w[elements];
  weft_package *package = NULL;
  weft_executable *step = NULL;
  weft_stream *stream = NULL, *external = NULL;
  weft_event *event = NULL;
  char *text = NULL;
  size_t count = 0;
  int all = 1, i;
  weft_memory_info memory = {.struct_size = sizeof memory};
  weft_tensor_info info = {.struct_size = sizeof info};
  weft_buffer in = {.struct_size = sizeof in, .data = x, .dtype = WEFT_F32, .rank = 2, .shape = shape};
  weft_buffer out = {.struct_size = sizeof out}, placed = in, mixed = in;
  placed.data = y;
  placed.strides = strides;
  mixed.strides = strides;
  for (i = 0; i < elements; ++i)
    x[i] = (float)i;
  memset(y, 0, sizeof y);

  all &= GOOD(weft_package_open(path, NULL, &package));
  if (package) {
    all &= GOOD(weft_package_function_count(package, &count));
    all &= GOOD(weft_package_argument(package, "step", 0, &info));
    all &= GOOD(weft_executable_load(package, "step", NULL, &step));
  }
  all &= GOOD(weft_stream_create("cpu", &stream));
  all &= GOOD(weft_stream_create_external(post_now, NULL, &external));
  all &= GOOD(weft_event_create(0, &event));
  if (step && stream && external && event) {
    const int first = GOOD(weft_executable_run(step, stream, &in, 1, &out, 1));
    all &= first;
    all &= GOOD(weft_event_record(event, stream));
    all &= GOOD(weft_event_synchronize(event));
    const int done = GOOD(weft_stream_synchronize(stream));
    all &= done;
    if (first && done) {
      all &= GOOD(weft_buffer_wait(&out));
      CHECK(((float *)out.data)[5] == 2 * x[5]);
    }
    weft_buffer_release(&out);
    /* By way of copies, and of somebody else's executor, which runs everything at once. */
    all &= GOOD(weft_executable_run(step, external, &mixed, 1, &placed, 1));
    all &= GOOD(weft_executable_run(step, stream, &mixed, 1, &placed, 1));
    all &= GOOD(weft_executable_run(step, NULL, &in, 1, &placed, 1));
    (void)weft_executable_note();
    all &= GOOD(weft_stream_synchronize(external));
    all &= GOOD(weft_synchronize());
    if (GOOD(weft_executable_state_get(step, "fc.weight", w, sizeof w))) {
      CHECK(is_whole(w, x));
      CHECK(!all || memcmp(w, x, sizeof w) == 0);
    } else {
      all = 0;
    }
    all &= GOOD(weft_executable_scalar_set(step, "adam.lr", 0.25));
    all &= GOOD(weft_executable_state_set(step, "fc.weight", x, sizeof x));
  }
  all &= GOOD(weft_memory_get(&memory));
  all &= GOOD(weft_memory_stats_json(&text));
  weft_text_free(text);
  all &= GOOD(weft_memory_empty_cache());
  all &= GOOD(weft_trim());
  /* An argument that is wrong is told as such, or there is no memory for that either. */
  (void)weft_executable_load(package, "nothing", NULL, &step);
  weft_event_destroy(event);
  weft_stream_destroy(external);
  weft_stream_destroy(stream);
  weft_executable_destroy(step);
  weft_package_close(package);
  return all;
}

/* 0: there was always memory; 1: something is wrong; 2: memory ended, and all is well. */
static int child(const char *path, long first) {
  alarm(60);
  weft_test_refuse_from(first);
  const int all = use(path);
  const int ended = weft_test_requests() > first;
  weft_test_refuse_from(-1);
  CHECK(all || ended);
  CHECK(use(path));
  weft_memory_info memory = {.struct_size = sizeof memory};
  CHECK(weft_trim() == WEFT_OK && weft_memory_get(&memory) == WEFT_OK && memory.allocated == 0);
  if (wrong_line)
    fprintf(stderr, "%s:%d, without memory from request %ld on: %s\n", __FILE__, wrong_line, first,
            weft_last_error());
  return wrong_line ? 1 : ended ? 2 : 0;
}

int main(int argc, char **argv) {
  const long step = argc == 3 ? atol(argv[2]) : 0;
  long first, wrong = 0;
  if (step < 1)
    return 2;
  for (first = 0; first < most_requests; first += step) {
    int status = 0;
    const pid_t process = fork();
    if (process == 0)
      _exit(child(argv[1], first));
    if (process < 0 || waitpid(process, &status, 0) != process)
      return 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      break;
    if (WIFSIGNALED(status))
      fprintf(stderr, "without memory from request %ld on: signal %d\n", first, WTERMSIG(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
      ++wrong;
  }
  printf("%ld requests, %ld of them end the process or leave it wrong\n", first, wrong);
  return wrong || first == 0 || first >= most_requests;
}
