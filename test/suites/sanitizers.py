"""Builds under sanitizers, and fuzzers."""

import functools
import glob
import os
import re
import shutil
import subprocess

from suites import base
from suites.base import Counts, failure, run, say, side_by_side
from suites.programs import unit, lit
from suites.builds import build

FUZZ_SECONDS = {"ci": 15, "full": 300}
# Under a sanitizer tests take many times as long, and what it finds does not need every value.
INSTRUMENTED = {"WEFT_TEST_LEVEL": "quick"}
SANITIZER_ENVIRONMENT = {
    **INSTRUMENTED,
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-19",
}
# Containers and arenas cross the border between our code and LLVM, which is not instrumented: it takes memory of an
# arena that we poisoned without a word.
COMPILER_SANITIZER_ENVIRONMENT = {
    **SANITIZER_ENVIRONMENT,
    "ASAN_OPTIONS": SANITIZER_ENVIRONMENT["ASAN_OPTIONS"] + ":detect_container_overflow=0:allow_user_poisoning=0"}


# Interceptors that LLVM calls say nothing of what it does between the calls.
THREAD_SANITIZER_ENVIRONMENT = {
    **INSTRUMENTED,
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1"
                    ":external_symbolizer_path=/usr/bin/llvm-symbolizer-19",
}
# What a sanitizer's subset leaves out: thousands of equal steps, which take minutes, and find what one step does.
THOUSANDS_OF_STEPS = ("ContractLazy.TenThousandUncompiledStepsRunInFlatMemory",
                      "ContractLazy.NoMoreThan4096OperationsAreEverPending",
                      "ContractLoops.NoReadAtAll", "ContractViews.LongChainsOfViewsStayShort")
WORK_OF_MANY_THREADS = ("ContractThreads.UpdatesInPlaceByManyThreadsAreNotLost",)
# The same for threads: long work of one, which others do on several, and results in many cases, where one is enough.
WORK_OF_ONE_THREAD = ("ContractLazy.DestructionOfALongGraphIsIterative",
                      "Contraction.EveryTypeAndManyShapesByOurOwnKernel",
                      "Contraction.BitsDoNotDependOnHowOperandsLie", "Attention.AgreesWithDoubles")
# The faults of test/sanitizers/PlantedFault.cpp, and what they are called by who finds them.
ADDRESS_FAULTS = {
    "heap-buffer-overflow": "AddressSanitizer: heap-buffer-overflow",
    "heap-use-after-free": "AddressSanitizer: heap-use-after-free",
    "leak": "LeakSanitizer: detected memory leaks",
    "signed-integer-overflow": "runtime error: signed integer overflow",
}
THREAD_FAULTS = {"data-race": "ThreadSanitizer: data race"}


def planted_faults(folder, faults, environment):
    """A build under a sanitizer must find the faults that were planted for it, or its silence means nothing."""
    program = os.path.join(folder, "bin", "weft-planted-fault")
    if not os.path.exists(program):
        return failure(f"no weft-planted-fault in {folder}/bin: it was not built")
    counts = Counts()
    for fault, words in faults.items():
        outcome = run("planted-" + fault, [program, fault], timeout=60, environment=environment, quiet=True)
        if outcome.code in (0, None) or words not in outcome.output:
            say(outcome.tail())
            counts += failure(f"the build in {folder} does not find the planted {fault}: weft-planted-fault "
                              f"{outcome.why()}, and '{words}' should be in its output ({outcome.log})")
        else:
            counts += Counts(passed=1)
    return counts


def instrumented(folder, symbol):
    """Every object file of our libraries calls the sanitizer."""
    objects = [path for part in ("runtime", "ir", "passes", "codegen", "frontend")
               for path in glob.glob(os.path.join(folder, part, "**", "*.c[px][px].o"), recursive=True)]
    if not objects:
        return failure(f"no object files of the libraries in {folder}")
    listed = subprocess.run(["nm", "-A", "--undefined-only", *objects], check=False, capture_output=True, text=True).stdout
    with_symbol = {line.split(":")[0] for line in listed.splitlines() if line.split()[-1].startswith(symbol)}
    counts = Counts()
    for path in sorted(set(objects) - with_symbol):
        counts += failure(f"{path} calls no {symbol}*: it was compiled without the sanitizer")
    return counts if counts.failed else Counts(passed=1)


def fuzz(folders, seconds):
    """Each fuzzer of some builds for a bounded time, from the seeds in the tree. What it finds stays in build/fuzz."""
    programs = []
    for folder in folders:
        found = sorted(glob.glob(os.path.join(folder, "bin", "weft-fuzz-*")))
        if not found:
            return failure(f"no weft-fuzz-* in {folder}/bin")
        programs += found

    def one(program):
        name = os.path.basename(program)
        found = os.path.join(base.BUILD, "fuzz", name)
        shutil.rmtree(found, ignore_errors=True)
        os.makedirs(found)
        seeds = os.path.join(base.ROOT, "test", "fuzz", "corpus", name.removeprefix("weft-fuzz-"))
        command = [program, f"-max_total_time={seconds}", "-max_len=10000", "-timeout=20", "-rss_limit_mb=2048",
                   f"-artifact_prefix={found}/", found] + ([seeds] if os.path.isdir(seeds) else [])
        outcome = run(name, command, timeout=seconds + 300, environment=SANITIZER_ENVIRONMENT, quiet=True)
        if outcome.code != 0:
            say(outcome.tail(60))
            return failure(f"{name} {outcome.why()}; the input that did it is in {found}")
        inputs = re.findall(r"^Done (\d+) runs", outcome.output, re.MULTILINE)
        say(f"    {name}: {inputs[-1] if inputs else 'no'} inputs in {outcome.seconds:.0f} s, nothing found")
        return Counts(passed=1) if inputs else failure(f"{name} ran no inputs ({outcome.log})")

    return side_by_side([functools.partial(one, program) for program in programs])


def sanitizers(level):
    """What test/SanitizerSubset.cmake names, and the fuzzers."""
    if not build("asan-subset", "asan-subset"):
        return failure("the build under AddressSanitizer")
    folder = os.path.join(base.BUILD, "asan-subset")
    counts = planted_faults(folder, ADDRESS_FAULTS, SANITIZER_ENVIRONMENT)
    counts += instrumented(folder, "__asan_")
    # "quick": the queue and many threads are what ThreadSanitizer is there for.
    counts += unit("quick", folder, "asan-", COMPILER_SANITIZER_ENVIRONMENT, SANITIZER_ENVIRONMENT,
                   THOUSANDS_OF_STEPS + WORK_OF_MANY_THREADS)
    counts += lit(level, folder, "asan-", COMPILER_SANITIZER_ENVIRONMENT, ("ir", "passes"))
    # The parser of text has its fuzzer in the release build: LLVM, which it calls, has no sanitizer.
    counts += fuzz((folder, base.RELEASE), FUZZ_SECONDS.get(level, 20))
    return counts


def asan_full(level):
    if not build("asan", "asan-full"):
        return failure("the whole build under AddressSanitizer")
    folder = os.path.join(base.BUILD, "asan-full")
    counts = planted_faults(folder, ADDRESS_FAULTS, SANITIZER_ENVIRONMENT)
    counts += instrumented(folder, "__asan_")
    counts += unit(level, folder, "asan-full-", COMPILER_SANITIZER_ENVIRONMENT, SANITIZER_ENVIRONMENT)
    counts += lit(level, folder, "asan-full-", COMPILER_SANITIZER_ENVIRONMENT)
    return counts


def tsan(level):
    """What test/SanitizerSubset.cmake names: whatever has threads."""
    if not build("tsan-subset", "tsan-subset"):
        return failure("the build under ThreadSanitizer")
    folder = os.path.join(base.BUILD, "tsan-subset")
    counts = planted_faults(folder, THREAD_FAULTS, THREAD_SANITIZER_ENVIRONMENT)
    counts += instrumented(folder, "__tsan_")
    counts += unit(level, folder, "tsan-", THREAD_SANITIZER_ENVIRONMENT, left_out=THOUSANDS_OF_STEPS + WORK_OF_ONE_THREAD)
    return counts
