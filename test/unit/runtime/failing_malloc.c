/*===- failing_malloc.c - Memory that ends, for tests ------------------------===*\
|*
|* Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* Part of a program, or preloaded, it stands in front of the C library for all of the process: from the n-th
|* request on no memory, no mapping and no thread can be had, until it is told otherwise.
|*
\*===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

typedef int create_thread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static atomic_long first_refused = -1, requests;
static create_thread *next_create;

__attribute__((constructor)) static void find_next(void) {
  next_create = (create_thread *)dlsym(RTLD_NEXT, "pthread_create");
}

/* Refuses the request number `first`, counted from 0, and all after it; -1 refuses none. */
void weft_test_refuse_from(long first) {
  atomic_store(&requests, 0);
  atomic_store(&first_refused, first);
}

/* Requests since then. */
long weft_test_requests(void) { return atomic_load(&requests); }

static int refused(void) {
  const long first = atomic_load(&first_refused);
  return first >= 0 && atomic_fetch_add(&requests, 1) >= first;
}

static void *none(void) {
  errno = ENOMEM;
  return NULL;
}

void *malloc(size_t bytes) { return refused() ? none() : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return refused() ? none() : __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return refused() ? none() : __libc_realloc(old, bytes); }
void *memalign(size_t alignment, size_t bytes) {
  return refused() ? none() : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (refused()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
  return refused() ? EAGAIN : next_create(thread, attributes, body, argument);
}
