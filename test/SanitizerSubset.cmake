# What `scripts/test --ci` builds and runs under a sanitizer (WEFT_SANITIZER_SUBSET); `--full` builds and runs everything.
#
# A sanitizer looks for memory and threads that are used wrongly, so the subset is what owns memory and what starts
# threads: every library, whole, and of the tests those that reach each of its owners once. Values are compared by the
# build without a sanitizer, in more cases.
if(WEFT_SANITIZE MATCHES "thread")
  # Threads meet in the runtime (executor, allocator, queue), in the kernel cache, and in the frontend.
  set(WEFT_SANITIZER_SUBSET_FOLDERS runtime codegen frontend)
  set(subset
    codegen/CacheTest          # kernels that are compiled beside each other
    codegen/KernelHarness
    frontend/ContractLoopsTest # updates by many threads
    frontend/ContractRunTest   # calls that run later, on the queue
    frontend/LoaderTest        # batches that are read ahead
    frontend/Memory            # requests that fail
    frontend/MemoryTest        # the allocator's figures while calls run
    frontend/StreamTest
    frontend/ThreadsTest
    # Traces beside each other and beside everything else.
    frontend/TraceStateTest frontend/TraceStressTest frontend/TraceThreadsTest)
else()
  set(WEFT_SANITIZER_SUBSET_FOLDERS io runtime ir passes codegen frontend)
  set(subset
    # Of the interpreter, what reads at places that are data.
    "ir/[^I].*" ir/InterpreterIndexingTest
    # Kernels, their images and their cache; not the values of elementary functions.
    codegen/CacheTest codegen/ImageTest codegen/KernelHarness
    # Each sentence of docs/contract.md: who owns what, and for how long.
    "frontend/Contract[A-Z][a-z]+Test"
    # What the contract leaves to others: files, data, dynamic sizes, threads.
    frontend/CheckpointTest frontend/DimTest frontend/LoaderTest frontend/Memory frontend/MemoryTest
    frontend/SaveTest frontend/StreamTest frontend/ThreadsTest frontend/TraceStateTest
    frontend/TraceStressTest frontend/TraceThreadsTest)
endif()
list(JOIN subset "|" subset)
set(WEFT_SANITIZER_SUBSET_FILES "^(${subset})\\.cpp$")
