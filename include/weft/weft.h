/*===- weft.h - The C interface: packages without the compiler --------------===*\
|*
|* Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What an embedder needs to load a package that `step.save("step.weft")` or `weft compile` wrote, and to
|* run it: link libweft-runtime, which holds no compiler. This header is C11 and C++, and the manual.
|*
|*   weft_package *package;
|*   weft_executable *step;
|*   if (weft_package_open("step.weft", NULL, &package)) die(weft_last_error());
|*   if (weft_executable_load(package, "step", "cpu", &step)) die(weft_last_error());
|*   weft_buffer in[1] = {{.struct_size = sizeof(weft_buffer), .data = images, .dtype = WEFT_U8,
|*                         .rank = 3, .shape = (int64_t[]){128, 28, 28}}};
|*   weft_buffer out[1] = {{.struct_size = sizeof(weft_buffer)}};   // data NULL: the runtime allocates
|*   if (weft_executable_run(step, NULL, in, 1, out, 1)) die(weft_last_error());
|*   if (weft_stream_synchronize(NULL)) die(weft_last_error());
|*   use(out[0].data);
|*   weft_buffer_release(&out[0]);
|*
|* The rules that hold for every function here:
|*
|* Errors.   A function that can fail returns a weft_status: WEFT_OK is 0, so `if (call) trouble`. The
|*           text and the stable code of the last failure on this thread are in weft_last_error() and
|*           weft_last_error_code(). Nothing throws, aborts or exits. A failed call has changed
|*           nothing, but that one of weft_executable_run() that fails while it runs leaves any values in
|*           the memory that it was given for outputs.
|* Handles.  Opaque. Every handle that a function makes through its last parameter is given back with
|*           the function that its comment names; giving NULL back does nothing. A handle that depends
|*           on another keeps what it needs alive: a package may be closed while its executables live.
|* Structs.  Begin with struct_size, which the caller sets to sizeof the struct: later versions append
|*           fields, and a program that was compiled against an older header goes on to work. Set the
|*           rest to zero: zero is the default of every field.
|* Strings.  UTF-8, ended by a zero byte. A `const char *` that comes back belongs to the handle that
|*           was asked and lives as long as it; a `char *` belongs to the caller, who gives it to
|*           weft_text_free().
|* Threads.  Every function may be called from any thread. Calls of one executable from several threads
|*           are ordered where they share state, and may overlap where they do not.
|* Time.     weft_executable_run() may return before the work is done, as on a GPU. Memory that was
|*           passed to it must stay valid, and must not be written, until the stream has been
|*           synchronised or an event that was recorded after the call has passed. A failure of such a
|*           call is reported by the next call that uses the same state or result, or by
|*           weft_stream_synchronize(), whichever comes first; the state is then what it was before the
|*           call that failed.
|*
\*===----------------------------------------------------------------------===*/
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WEFT_C_API
#else
#define WEFT_C_API __attribute__((visibility("default")))
#endif

/* Names are those of C: lower case, with a prefix.
 * NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

/*===-- Status and version --------------------------------------------------===*/

/** What a function returns; the kind of trouble, for programs. People read weft_last_error(). */
typedef enum weft_status {
  WEFT_OK = 0,
  WEFT_ERROR = 1,          /**< the call failed, for instance an index out of range in the data */
  WEFT_ERROR_ARGUMENT = 2, /**< an argument of this function is wrong: NULL, a shape, a name */
  WEFT_ERROR_PACKAGE = 3,  /**< family L: the file is missing, damaged, or not for this processor */
  WEFT_ERROR_MEMORY = 4,   /**< family M: out of memory, or a limit that cannot be set */
  WEFT_ERROR_DEVICE = 5    /**< family E: a device that is not there */
} weft_status;

/** The text of the last failure on this thread: what, where, and what to do. Never NULL; empty if there was
   none. Valid until the next failure on this thread. */
WEFT_C_API const char *weft_last_error(void);

/** Its stable code, such as "WEFT-L005"; empty where it has none. */
WEFT_C_API const char *weft_last_error_code(void);

/** Which check of values a call failed. */
typedef enum weft_failed_check {
  WEFT_CHECK_NONE = 0,      /**< the failure is not that of a check */
  WEFT_CHECK_INDEX = 1,     /**< `value` is no index of a dimension */
  WEFT_CHECK_CONDITION = 2, /**< an assertion is false at `position` */
  WEFT_CHECK_OTHER = 3
} weft_failed_check;

/** The failure that weft_last_error() describes, as data. Texts are never NULL; they are empty if nothing is
   known. */
typedef struct weft_failure {
  size_t struct_size;
  weft_failed_check check;
  int32_t dimension; /**< an index: of which dimension; -1 for none */
  int64_t position;  /**< the first element that failed, in row-major order; -1 for none */
  int64_t value;     /**< what was found there; see value_known */
  int64_t size;      /**< an index: from 0 on and below this one was expected */
  const char *file;  /**< the source line of the operation in the program that was compiled */
  uint32_t line;     /**< 0: not known */
  uint32_t column;
  const char *function; /**< the function that was called */
  uint64_t call;        /**< which call of it, from 1 on; 0: not counted */
  int32_t value_known;  /**< 0: a device had no room to keep the value, and `value` is 0 */
} weft_failure;

/** Describes the last failure on this thread; the texts are valid until the next. If there was none, or no
   memory to keep it, every field is empty. The call leaves weft_last_error() as it is, unless it fails
   itself: if `failure` is NULL or its struct_size is wrong. */
WEFT_C_API weft_status weft_last_failure(weft_failure *failure);

/** The version as text, "0.1.0". */
WEFT_C_API const char *weft_version(void);

/** major * 1000000 + minor * 1000 + patch. */
WEFT_C_API int32_t weft_version_number(void);

/** Frees text that belongs to the caller. */
WEFT_C_API void weft_text_free(char *text);

/*===-- Devices -------------------------------------------------------------===*/

typedef enum weft_device_type {
  WEFT_CPU = 0,
  WEFT_CUDA = 1,
  /* No devices: with these the type holds every 32-bit number, so that a wrong one can be refused. */
  WEFT_DEVICE_TYPE_LEAST_ = INT32_MIN,
  WEFT_DEVICE_TYPE_MOST_ = INT32_MAX
} weft_device_type;

/** A device as its text names it. "cuda" has no index and does not equal "cuda:0". */
typedef struct weft_device {
  size_t struct_size;
  weft_device_type type;
  int32_t index; /**< -1 for none, which it always is for the CPU */
} weft_device;

/** Reads "cpu", "cuda" or "cuda:N". The error begins with PyTorch's words for the same mistake. */
WEFT_C_API weft_status weft_device_parse(const char *text, weft_device *device);

/** How many devices of a type this process can run on: 1 for the CPU, and for CUDA as many as the driver
   sees, which is opened for it; 0 without a driver. */
WEFT_C_API weft_status weft_device_count(weft_device_type type, int32_t *count);

/*===-- Tensors -------------------------------------------------------------===*/

/** Element types. The numbers are those of the package format and never change. */
typedef enum weft_dtype {
  WEFT_BOOL = 0, /**< a byte that is 0 or 1 */
  WEFT_I8 = 1,
  WEFT_I16 = 2,
  WEFT_I32 = 3,
  WEFT_I64 = 4,
  WEFT_U8 = 5,
  WEFT_F16 = 6,
  WEFT_BF16 = 7,
  WEFT_F32 = 8,
  WEFT_F64 = 9,
  /* No dtypes, as above. */
  WEFT_DTYPE_LEAST_ = INT32_MIN,
  WEFT_DTYPE_MOST_ = INT32_MAX
} weft_dtype;

/** What an argument is to its function. Only WEFT_ROLE_ARGUMENT is passed to weft_executable_run(); the rest
   is state, which the executable keeps. */
typedef enum weft_role {
  WEFT_ROLE_ARGUMENT = 0,
  WEFT_ROLE_STATE = 1,  /**< a parameter, a buffer, optimiser state */
  WEFT_ROLE_SCALAR = 2, /**< a number such as a learning rate */
  WEFT_ROLE_RANDOM = 3  /**< a random generator */
} weft_role;

/** What is known of an argument, a result, or a piece of state. */
typedef struct weft_tensor_info {
  size_t struct_size;
  const char *name;   /**< "arg0", "fc1.weight", "adam.fc1.weight.exp_avg", "rng.counter" */
  const char *device; /**< of a package: as the package names it; of an executable: the device of this machine
                           that the value is on */
  weft_dtype dtype;
  weft_role role;
  int32_t rank;
  const int64_t *shape;   /**< `rank` extents; -1 for one that each call chooses, within a range */
  size_t bytes;           /**< 0 where a call chooses */
  int32_t donated;        /**< an argument: 1 if a call may write its memory */
  int32_t written;        /**< a piece of state: 1 if a call updates it */
  int32_t tied_to;        /**< a result: the argument whose memory it is, or -1 */
  const int64_t *strides; /**< an argument: those that it is read through without a copy, `rank` of them, in
                              elements; NULL means row-major. `bytes` then count from the first element to the
                              last */
} weft_tensor_info;

/** Memory with a shape. The caller describes its own; as an output with data NULL it is filled by the
 * runtime. Memory of a GPU is that of the device's primary context, its address (a CUdeviceptr) in `data`. */
typedef struct weft_buffer {
  size_t struct_size;
  void *data;         /**< the first element; an output: NULL where the runtime shall allocate */
  const char *device; /**< "cpu", which NULL means too, or the device of the value's weft_tensor_info. Memory
                         of the host for a value on a GPU is copied, with the note WEFT-D013: an input before
                           weft_executable_run() returns, an output in the stream's order */
  weft_dtype dtype;
  int32_t rank;
  const int64_t
      *shape; /**< `rank` extents; of an output that the runtime allocated they live until its release */
  const int64_t *strides; /**< in elements; NULL means row-major. An input with other strides than those of
                              its weft_tensor_info, most often row-major, is copied, and an output that is not
                              row-major is scattered, each with the note WEFT-D013, which
                              weft_executable_note() tells. A stride of 0 repeats (inputs only). Memory of a
                              GPU must have the strides of the weft_tensor_info */
  void *owner; /**< set by the runtime where it allocated: give it back with weft_buffer_release() */
} weft_buffer;

/** Gives back what the runtime allocated for an output, on whichever device, and sets data and owner to NULL.
   Without an owner nothing happens. The memory of a call that still runs is freed when the call is done. */
WEFT_C_API void weft_buffer_release(weft_buffer *buffer);

/** Waits until an output that the runtime allocated has its value; the error of the call that should have
   made it, if that failed. For other memory synchronise the stream. */
WEFT_C_API weft_status weft_buffer_wait(const weft_buffer *buffer);

/*===-- Packages ------------------------------------------------------------===*/

/** A file that was opened. */
typedef struct weft_package weft_package;

/** How a package is opened; NULL means the defaults. */
typedef struct weft_package_options {
  size_t struct_size;
  int32_t verify; /**< 1: check every section now, and not when it is first used */
} weft_package_options;

/** Opens a file, which is mapped and not read as a whole. Header and table are checked; every field that does
   not fit is named (WEFT-L001 to L006). Give the handle back with weft_package_close(). */
WEFT_C_API weft_status weft_package_open(const char *path, const weft_package_options *options,
                                         weft_package **package);

/** The same from memory, which is copied. */
WEFT_C_API weft_status weft_package_open_memory(const void *data, size_t bytes,
                                                const weft_package_options *options, weft_package **package);
WEFT_C_API void weft_package_close(weft_package *package);

/** The functions that the package has, sorted by name. */
WEFT_C_API weft_status weft_package_function_count(const weft_package *package, size_t *count);
WEFT_C_API weft_status weft_package_function_name(const weft_package *package, size_t index,
                                                  const char **name);

/** What a function takes and gives, without loading its kernels: all arguments (see `role`) and all results,
   those that are tied to state among them. The texts and shapes in `info` live as long as the package. */
WEFT_C_API weft_status weft_package_argument_count(const weft_package *package, const char *function,
                                                   size_t *count);
WEFT_C_API weft_status weft_package_argument(const weft_package *package, const char *function, size_t index,
                                             weft_tensor_info *info);
WEFT_C_API weft_status weft_package_result_count(const weft_package *package, const char *function,
                                                 size_t *count);
WEFT_C_API weft_status weft_package_result(const weft_package *package, const char *function, size_t index,
                                           weft_tensor_info *info);

/*===-- Streams and events --------------------------------------------------===*/

/** An ordered queue of work. NULL is the process's own, wherever a stream is asked for. */
typedef struct weft_stream weft_stream;

/** A moment in a stream. */
typedef struct weft_event weft_event;

/** One of 32 streams, handed out round robin: the 33rd is the first again. Streams are unordered among each
   other, but calls that share state are ordered. Each stream has memory for temporaries of its own, which
   weft_trim() gives back. A call that runs on a GPU uses a stream of the driver's there, one for each of
   these, whose order with a CUstream of the caller's own is not known: see weft_stream_create_native().
   `device` must be there: otherwise WEFT-E001. Give the handle back with weft_stream_destroy(). */
WEFT_C_API weft_status weft_stream_create(const char *device, weft_stream **stream);

/** The same with a priority, as CUDA has them: 0 is that of weft_stream_create(), work of streams with
   smaller numbers comes first where the device has a choice, numbers below the device's range count as its
   end, and more than 0 is WEFT_ERROR_ARGUMENT. Each priority has 32 streams of its own, down to -3. */
WEFT_C_API weft_status weft_stream_create_with_priority(const char *device, int32_t priority,
                                                        weft_stream **stream);

/** A stream on the embedder's own executor. For every piece of work that the runtime puts on the stream,
   `post` is called once; it must arrange that `run(work)` is called exactly once, later or now, on any
   thread, in the order of the posts; a second call for the same work does nothing. What the embedder runs
   there between two posts is then ordered with the runtime's work, and no thread waits. `post` must not
   call into this interface. */
WEFT_C_API weft_status weft_stream_create_external(void (*post)(void *user, void (*run)(void *work),
                                                                void *work),
                                                   void *user, weft_stream **stream);

/** A stream of the caller's own on a GPU: `native` is a CUstream of the primary context of `device`
   ("cuda:0"). Calls are issued to it by the thread that makes them, behind what is on it and before what is
   put there afterwards, and no thread waits: a call reads what was copied there before it, and a copy that is
   put there after it reads its result. The CUstream must exist until weft_stream_destroy(), which waits for
   the calls. WEFT-E006 if it is of another context, WEFT-E001 if the device is not there or is "cpu". */
WEFT_C_API weft_status weft_stream_create_native(const char *device, void *native, weft_stream **stream);

/** For an external stream: waits until what was posted has run. */
WEFT_C_API void weft_stream_destroy(weft_stream *stream);

/** Waits for everything on the stream; returns the first failure that was not reported yet. */
WEFT_C_API weft_status weft_stream_synchronize(weft_stream *stream);

/** *idle is 1 if nothing is left to run. */
WEFT_C_API weft_status weft_stream_query(weft_stream *stream, int32_t *idle);

/** Later work on `stream` runs after the present work of `other`. */
WEFT_C_API weft_status weft_stream_wait_stream(weft_stream *stream, weft_stream *other);

/** Later work on `stream` runs after the event. An event that was never recorded delays nothing. */
WEFT_C_API weft_status weft_stream_wait_event(weft_stream *stream, weft_event *event);

/** Waits for every stream of the process; returns the first failure that was not reported yet. */
WEFT_C_API weft_status weft_synchronize(void);

/** `timing` 1: the event can be measured with. Give the handle back with weft_event_destroy(). */
WEFT_C_API weft_status weft_event_create(int32_t timing, weft_event **event);
WEFT_C_API void weft_event_destroy(weft_event *event);

/** Marks this point of the stream; recorded again, the event means the newer point. */
WEFT_C_API weft_status weft_event_record(weft_event *event, weft_stream *stream);

/** Blocks the calling thread until the point has passed. */
WEFT_C_API weft_status weft_event_synchronize(weft_event *event);

/** *passed is 1 if the point has passed, or the event was never recorded. */
WEFT_C_API weft_status weft_event_query(weft_event *event, int32_t *passed);

/** Milliseconds between two events that were made with timing, were recorded and have passed. */
WEFT_C_API weft_status weft_event_elapsed_ms(weft_event *start, weft_event *end, double *milliseconds);

/*===-- Executables ---------------------------------------------------------===*/

/** A function that is ready to run, with its state. */
typedef struct weft_executable weft_executable;

/** Loads a function. `devices` says which devices of this machine stand for those that the package names:
   "cpu", the host for all; "cuda:0", this one for all; or a list "cuda:0=cuda:1,cuda:1=cuda:0", the package's
   name first. NULL or "": each stands for the device of its name, if all of them are there and run a plan of
   the package, and otherwise the function runs on the host; so a package for several targets runs on a
   machine with a GPU and on one without. The state has the values that the package keeps, and lies on the
   devices of the plan. WEFT-L007 where the package has no such function or no plan for the device, WEFT-L010
   where the processor is too old, WEFT-L017 where a device of the plan is not named, WEFT-E001 where one is
   not there, WEFT-E004 where the text does not parse. Each load makes state of its own. Give the handle back
   with weft_executable_destroy(). */
WEFT_C_API weft_status weft_executable_load(weft_package *package, const char *function, const char *devices,
                                            weft_executable **executable);
WEFT_C_API void weft_executable_destroy(weft_executable *executable);

/** What weft_executable_run() takes and gives, in its order: the arguments with the role WEFT_ROLE_ARGUMENT,
   and the results that are not state. */
WEFT_C_API weft_status weft_executable_input_count(const weft_executable *executable, size_t *count);
WEFT_C_API weft_status weft_executable_input(const weft_executable *executable, size_t index,
                                             weft_tensor_info *info);
WEFT_C_API weft_status weft_executable_output_count(const weft_executable *executable, size_t *count);
WEFT_C_API weft_status weft_executable_output(const weft_executable *executable, size_t index,
                                              weft_tensor_info *info);

/** Runs the function on a stream. Each input must have the dtype, shape and device of its info, or be in
   memory of the host; what differs is named with what was expected. Where the info has -1, the inputs of this
   call say how large, and outputs have the sizes that follow: one that is outside of its range is WEFT-S001,
   one that does not agree with the others is an error that names both. An output with data is written to that
   memory, which must have the output's shape and share no byte with an input or another output; one without
   gets memory of the runtime's and its dtype, rank and shape. The step is done as a whole or not at all:
   memory is secured before the first kernel runs (WEFT-M001), and state and donated inputs are written only
   when no check can fail any more. This does not hold for the memory of outputs: after a call that failed
   while it ran, it holds any values. */
WEFT_C_API weft_status weft_executable_run(weft_executable *executable, weft_stream *stream,
                                           const weft_buffer *inputs, size_t input_count,
                                           weft_buffer *outputs, size_t output_count);

/** Copies that the last run on this thread had to make, one a line with the code WEFT-D013, the bytes and the
    reason; empty if there were none. Valid until the next run on this thread. */
WEFT_C_API const char *weft_executable_note(void);

/** The state, sorted by name. */
WEFT_C_API weft_status weft_executable_state_count(const weft_executable *executable, size_t *count);
WEFT_C_API weft_status weft_executable_state(const weft_executable *executable, size_t index,
                                             weft_tensor_info *info);

/** Copies a piece of state out, after the calls issued so far. `bytes` is its size, as its info says. */
WEFT_C_API weft_status weft_executable_state_get(weft_executable *executable, const char *name, void *data,
                                                 size_t bytes);

/** Copies a piece of state in. Calls issued so far still see the old value. */
WEFT_C_API weft_status weft_executable_state_set(weft_executable *executable, const char *name,
                                                 const void *data, size_t bytes);

/** Sets a 0-dimensional piece of state, such as "adam.lr", from a number, converted to its dtype. Nothing is
   compiled or loaded anew: the next call reads it. */
WEFT_C_API weft_status weft_executable_scalar_set(weft_executable *executable, const char *name,
                                                  double value);

/*===-- Memory --------------------------------------------------------------===*/

/** Bytes of memory of the host, as PyTorch counts them: allocated is live, reserved is live and cached. */
typedef struct weft_memory_info {
  size_t struct_size;
  uint64_t allocated, max_allocated, reserved, max_reserved;
  uint64_t limit;  /**< what may be reserved */
  uint64_t arenas; /**< of the allocated bytes, those of temporaries of streams */
} weft_memory_info;

WEFT_C_API weft_status weft_memory_get(weft_memory_info *info);

/** Sets the peaks to the present values. */
WEFT_C_API weft_status weft_memory_reset_peaks(void);

/** All statistics as JSON, with PyTorch's keys. Free the text with weft_text_free(). */
WEFT_C_API weft_status weft_memory_stats_json(char **text);

/** Every segment with its blocks, sizes and source lines as JSON. Free the text with weft_text_free(). */
WEFT_C_API weft_status weft_memory_snapshot_json(char **text);

/** Bytes that the runtime may reserve from the system. What is beyond fails with WEFT-M001, and everything
   stays usable. */
WEFT_C_API weft_status weft_memory_set_limit(uint64_t bytes);

/** Gives cached memory back to the system; weft_trim() also gives the temporaries of all streams back, after
   what runs on them. */
WEFT_C_API weft_status weft_memory_empty_cache(void);
WEFT_C_API weft_status weft_trim(void);

/** Where the runtime gets memory from, instead of the system. */
typedef struct weft_allocator {
  size_t struct_size;
  void *user;
  void *(*allocate)(void *user, size_t bytes, size_t alignment); /**< NULL where there is none */
  void (*free)(void *user, void *data, size_t bytes);
} weft_allocator;

/** Sets it, for the whole process; NULL brings the system back. The runtime asks for segments of 2 MiB and
   more and divides them itself. Only before the first memory was reserved, and again once none is: otherwise
   an error. Its functions may run inside any call that allocates, waits or frees, on any thread, and must not
   call this interface. */
WEFT_C_API weft_status weft_set_allocator(const weft_allocator *allocator);

/*===-- Threads -------------------------------------------------------------===*/

/** Runs the tasks of kernels on the embedder's threads, instead of a pool of the runtime's. */
typedef struct weft_executor {
  size_t struct_size;
  void *user;
  int32_t width; /**< how many threads may run tasks at the same time: workers are 0 to width - 1 */
  /** Calls run(work, begin, end, worker) for ranges that cover [0, tasks) and whose bounds are multiples of
     `grain` (or the end), and returns when all have returned. No two calls at the same time may share a
     worker. */
  void (*parallel_for)(void *user, int64_t tasks, int64_t grain,
                       void (*run)(void *work, int64_t begin, int64_t end, int32_t worker), void *work);
} weft_executor;

/** Sets it, for the whole process, while nothing runs; NULL brings the default back. */
WEFT_C_API weft_status weft_set_executor(const weft_executor *executor);

/*===-- Profiler ------------------------------------------------------------===*/

/** Collects launches, calls and waits of every executable between start and stop; clear forgets them. */
WEFT_C_API weft_status weft_profiler_start(void);
WEFT_C_API weft_status weft_profiler_stop(void);
WEFT_C_API weft_status weft_profiler_clear(void);

/** Launches by total time, with calls, mean, GB/s, GFLOP/s and source line, then the wall clock and its idle
 * time. Free the text with weft_text_free(). */
WEFT_C_API weft_status weft_profiler_table(char **text);

/** The trace event format of chrome://tracing and Perfetto. Free the text with weft_text_free(). */
WEFT_C_API weft_status weft_profiler_chrome_trace(char **text);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif /* WEFT_WEFT_H */
