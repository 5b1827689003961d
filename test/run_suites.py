#!/usr/bin/env python3
"""Runs the test suites of a build and adds up what they report.

Called by scripts/test, which installs and builds first. Every suite is a row of SUITES: its name, the levels
that it belongs to, and a function that runs it. A suite that crashes, hangs, or has no tests has failed. The
last line is "N passed, N failed".
"""

import argparse
import concurrent.futures
import functools
import glob
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
RELEASE = os.path.join(BUILD, "release")
LOGS = os.path.join(BUILD, "logs")
NO_NVRTC = 77  # the exit code of programs that need it
CLOSING_LINE = re.compile(r"^(\d+) passed, (\d+) failed\s*$", re.MULTILINE)
FUZZ_SECONDS = {"ci": 40, "full": 300}
# A hang must not hold up CI until someone looks.
HOUR = 3600
# What say() keeps for a thread of side_by_side().
BESIDE = threading.local()


def say(text=""):
    """Prints a line; of a part that runs beside others, once it has ended."""
    lines = getattr(BESIDE, "lines", None)
    if lines is None:
        print(text, flush=True)
    else:
        lines.append(text)


def side_by_side(tasks):
    """Runs functions beside each other, one a processor, and adds up their counts. What one says stays together."""
    def one(task):
        BESIDE.lines = []
        try:
            return task()
        finally:
            print("\n".join(BESIDE.lines), flush=True)
            BESIDE.lines = None

    counts = Counts()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for part in pool.map(one, tasks):
            counts += part
    return counts


class Counts:
    """What a suite, or a part of it, came to."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def failure(text):
    say("    FAILED: " + text)
    return Counts(failed=1)


class Outcome:
    def __init__(self, code, output, seconds, log):
        self.code, self.output, self.seconds, self.log = code, output, seconds, log

    def why(self):
        """How the process ended, in words."""
        if self.code is None:
            return "took too long and was stopped"
        if self.code < 0:
            return f"died of {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"

    def tail(self, lines=40):
        return "\n".join("    | " + line for line in self.output.rstrip().splitlines()[-lines:])


def run(name, command, timeout=HOUR, environment=None, cwd=ROOT, quiet=False):
    """Runs a command with its output in a log file; a line now and then shows that it still runs."""
    os.makedirs(LOGS, exist_ok=True)
    log = os.path.join(LOGS, re.sub(r"[^A-Za-z0-9.-]+", "-", name) + ".log")
    started = time.monotonic()
    done = threading.Event()

    def tick():
        while not done.wait(30):
            print(f"    {name}: running for {time.monotonic() - started:.0f} s", flush=True)

    if not quiet:
        threading.Thread(target=tick, daemon=True).start()
    try:
        with open(log, "wb") as file:
            # A session of its own, so that a test which hangs is stopped with all of its children.
            process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
                                       start_new_session=True)
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
    finally:
        done.set()
    with open(log, encoding="utf-8", errors="replace") as file:
        output = file.read()
    return Outcome(code, output, time.monotonic() - started, log)


def closing_line(name, command, **options):
    """Runs a program whose last line is "N passed, N failed" and believes it, unless the exit code disagrees."""
    outcome = run(name, command, **options)
    found = CLOSING_LINE.findall(outcome.output)
    if not found:
        say(outcome.tail())
        return failure(f"{name} {outcome.why()} without a line 'N passed, N failed' ({outcome.log})")
    counts = Counts(int(found[-1][0]), int(found[-1][1]))
    if counts.failed:
        say(outcome.tail())
    elif outcome.code != 0:
        say(outcome.tail())
        counts += failure(f"{name} {outcome.why()} ({outcome.log})")
    elif counts.passed == 0:
        counts += failure(f"{name} ran no tests ({outcome.log})")
    say(f"    {name}: {counts} ({outcome.seconds:.1f} s)")
    return counts


def gtest(binary, label="", environment=None, shard=None, **options):
    """Runs a GoogleTest binary, or a shard (number, of how many) of it, and counts from its report; without a report
    it has crashed."""
    name = label + os.path.basename(binary)
    environment = dict(environment or {})
    if shard:
        name += f"-{shard[0] + 1}of{shard[1]}"
        environment.update(GTEST_SHARD_INDEX=str(shard[0]), GTEST_TOTAL_SHARDS=str(shard[1]))
    report = os.path.join(LOGS, name + ".json")
    os.makedirs(LOGS, exist_ok=True)
    if os.path.exists(report):
        os.remove(report)
    outcome = run(name, [binary, "--gtest_output=json:" + report, "--gtest_color=no"], environment=environment,
                  **options)
    counts = Counts()
    try:
        with open(report, encoding="utf-8") as file:
            suites = json.load(file)["testsuites"]
        for suite in suites:
            for case in suite["testsuite"]:
                if case.get("failures"):
                    counts.failed += 1
                    say(f"    FAILED: {name}: {suite['name']}.{case['name']}")
                    say("\n".join("    | " + line for failed in case["failures"]
                                  for line in failed["failure"].splitlines()[:30]))
                elif case.get("result") == "COMPLETED":
                    counts.passed += 1
                else:
                    counts.skipped += 1
        if outcome.code != 0 and not counts.failed:
            say(outcome.tail())
            counts += failure(f"{name} {outcome.why()} after its tests ({outcome.log})")
    except (OSError, ValueError, KeyError) as error:
        counts = Counts(passed=len(re.findall(r"^\[       OK \]", outcome.output, re.MULTILINE)))
        started = re.findall(r"^\[ RUN      \] (\S+)", outcome.output, re.MULTILINE)
        say(outcome.tail())
        where = f" in {started[-1]}" if started else ""
        counts += failure(f"{name} {outcome.why()}{where}, and left no report ({error}; {outcome.log})")
    say(f"    {name}: {counts} ({outcome.seconds:.1f} s)")
    return counts


# The GoogleTest programs that link nothing of the compiler.
WITHOUT_COMPILER = ("weft-io-tests", "weft-runtime-tests")


def unit_binaries(build):
    """The GoogleTest programs of a build. The random programs are a suite of their own."""
    return [path for path in sorted(glob.glob(os.path.join(build, "bin", "weft-*-tests")))
            if os.path.basename(path) != "weft-random-tests"]


def unit(level, build=RELEASE, label="", environment=None, runtime_environment=None, left_out=()):
    """All GoogleTest programs of a build, each in as many shards as there are processors. Those without the compiler may
    have an environment of their own. Tests may be left out, by their names or patterns of them."""
    runs = []
    # What follows a minus is left out of what stands before it.
    left_out = "-" + ":".join(left_out) if left_out else ""
    all_but = {"GTEST_FILTER": "*" + left_out} if left_out else {}
    for binary in unit_binaries(build):
        in_environment = environment or {}
        if runtime_environment and os.path.basename(binary) in WITHOUT_COMPILER:
            in_environment = runtime_environment
        runs.append((binary, label, {**in_environment, **all_but}))
        # The contract holds whether calls run on their caller or on a queue.
        if os.path.basename(binary) == "weft-frontend-tests" and level != "quick":
            runs.append((binary, label + "async-",
                         {**in_environment, "WEFT_CPU_QUEUE": "async", "GTEST_FILTER": "Contract*" + left_out}))
        # Programs on GPUs run in two orders of what nothing orders, with and without a library of products.
        if os.path.basename(binary) == "weft-cuda-tests" and level != "quick":
            for name, variables in (("race-", {"CUSIM_RACE": "1", "CUSIM_ORDER": "7"}), ("own-", {"WEFT_TEST_CUBLASLT": "0"})):
                runs.append((binary, label + name, {**in_environment, **all_but, **variables}))
    if not runs:
        return failure(f"no weft-*-tests in {build}/bin: nothing was built")
    found = [Counts() for _ in runs]
    adding = threading.Lock()
    shards = os.cpu_count() or 1
    # Every value of every elementary function takes longer than anything else.
    timeout = 6 * HOUR if level == "full" else HOUR

    def part(number, shard):
        binary, name, variables = runs[number]
        counts = gtest(binary, name, environment=variables, shard=(shard, shards), timeout=timeout)
        with adding:
            found[number] += counts
        return counts

    counts = side_by_side([functools.partial(part, number, shard)
                           for number in range(len(runs)) for shard in range(shards)])
    for (binary, name, _), of_one in zip(runs, found):
        if of_one.passed + of_one.failed == 0:
            counts += failure(f"{name}{os.path.basename(binary)} ran no tests (the logs are in {LOGS})")
    return counts


def lit(level, build=RELEASE, label="", environment=None, folders=("",)):
    """The lit tests of a build, or of some folders of test/."""
    report = os.path.join(LOGS, label + "lit.json")
    os.makedirs(LOGS, exist_ok=True)
    if os.path.exists(report):
        os.remove(report)
    # The package can be called neither with -m nor, in every version, as lit.main.
    outcome = run(label + "lit", [sys.executable, "-c", "from lit.main import main; main()", "-s", "--no-progress-bar", "--output", report,
                                  *(os.path.join(build, "test", folder) for folder in folders)], environment=environment)
    counts = Counts()
    try:
        with open(report, encoding="utf-8") as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError, KeyError) as error:
        say(outcome.tail())
        return failure(f"lit {outcome.why()} and left no report ({error}; {outcome.log})")
    for test in tests:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            counts.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            counts.skipped += 1
        else:
            counts.failed += 1
            say(f"    FAILED: {test['code']} {test['name']}")
            say("\n".join("    | " + line for line in test.get("output", "").rstrip().splitlines()[-30:]))
    if not counts.passed and not counts.failed:
        counts += failure(f"lit found no tests in {build}/test ({outcome.log})")
    elif outcome.code != 0 and not counts.failed:
        say(outcome.tail())
        counts += failure(f"lit {outcome.why()} ({outcome.log})")
    say(f"    {label}lit: {counts} ({outcome.seconds:.1f} s)")
    return counts


def ctest(label, build=RELEASE, environment=None, selection=()):
    """Runs what CMake's add_test knows under a selection, and counts from the JUnit report."""
    report = os.path.join(LOGS, f"ctest-{label}.xml")
    os.makedirs(LOGS, exist_ok=True)
    if os.path.exists(report):
        os.remove(report)
    outcome = run("ctest-" + label, ["ctest", "--test-dir", build, "--output-on-failure", "--timeout", "600",
                                     "--output-junit", report, *selection], environment=environment)
    counts = Counts()
    try:
        cases = ElementTree.parse(report).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        say(outcome.tail())
        return failure(f"ctest {outcome.why()} and left no report ({error}; {outcome.log})")
    for case in cases:
        skipped = case.find("skipped")
        why = skipped.get("message", "") if skipped is not None else ""
        if case.get("status") == "run":
            counts.passed += 1
        # A program that is missing is reported like one that chose to skip; the message tells them apart.
        elif case.get("status") == "disabled" or (case.get("status") == "notrun" and why.startswith("SKIP_")):
            counts.skipped += 1
        else:
            counts.failed += 1
            say(f"    FAILED: {case.get('name')}" + (f": {why}" if why else ""))
    if counts.failed:
        say(outcome.tail(60))
    elif outcome.code != 0:
        say(outcome.tail(60))
        counts += failure(f"ctest {outcome.why()} ({outcome.log})")
    elif not counts.passed:
        counts += failure(f"ctest found no tests under {' '.join(selection)} ({outcome.log})")
    say(f"    {label}: {counts} ({outcome.seconds:.1f} s)")
    return counts


def house(level):
    def check(script):
        path = os.path.join(ROOT, "test", "house", script + ".py")
        return closing_line("house-" + script, [sys.executable, path], timeout=600)

    # Further checks are tests of CMake with this label.
    scripts = ("formatting", "runner", "benchmark", "include_graph", "text_rules", "symbols", "generated", "reasons",
               "environment", "semantics", "messages", "contract", "standard_error", "names", "function_length",
               "without_cuda")
    return side_by_side([functools.partial(check, script) for script in scripts] +
                        [functools.partial(ctest, "house", selection=["-L", "^house$"])])


def examples(level):
    if not glob.glob(os.path.join(ROOT, "examples", "**", "*.cpp"), recursive=True):
        say("    this tree has no examples")
        return Counts(skipped=1)
    return ctest("examples", selection=["-L", "^example$"])


def static(level):
    """The libraries as archives, LLVM's too: the programs that a newcomer copies link and run."""
    if not build("release", "static", "-DWEFT_STATIC=ON"):
        return failure("the build with static libraries")
    folder = os.path.join(BUILD, "static")
    counts = ctest("static", build=folder, selection=["-R", "^example-(lazy_tensors|scaled)$"])
    for name in ("weft", "weft-opt", "lazy_tensors"):
        sections = subprocess.run(["readelf", "-dW", os.path.join(folder, "bin", name)], check=False,
                                  capture_output=True, text=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", sections)
        shared = [library for library in needed if re.match("lib(LLVM|MLIR|weft)", library)]
        if shared or not needed:
            counts += failure(f"{name} of the static build needs {', '.join(shared) or 'nothing that could be read'}")
        else:
            counts += Counts(passed=1)
    return counts


def without_cuda(level):
    """The whole build with -DWEFT_CUDA=OFF, of which the part `house` compiles what differs, and its tests."""
    if not build("release", "without-cuda", "-DWEFT_CUDA=OFF"):
        return failure("the build without CUDA")
    folder = os.path.join(BUILD, "without-cuda")
    doctor = run("without-cuda-doctor", [os.path.join(folder, "bin", "weft"), "doctor"], timeout=60, quiet=True)
    counts = Counts(passed=1)
    if doctor.code != 0 or "is built without CUDA" not in doctor.output:
        say(doctor.tail())
        counts = failure(f"weft doctor of the build without CUDA {doctor.why()} ({doctor.log})")
    counts += unit("quick", folder, "without-cuda-", {"WEFT_TEST_LEVEL": "quick"})
    return counts


def docs(level):
    path = os.path.join(ROOT, "test", "house", "docs.py")
    return closing_line("docs", [sys.executable, path, "--build", RELEASE])


def install(level):
    path = os.path.join(ROOT, "test", "house", "install_test.sh")
    return closing_line("install", ["bash", path, RELEASE])


def random(level):
    program = os.path.join(RELEASE, "bin", "weft-random-tests")
    if not os.path.exists(program):
        return failure(f"no weft-random-tests in {RELEASE}/bin: it was not built")
    save = "--save-failures=" + os.path.join(BUILD, "random-failures")
    count = {"quick": 50, "default": 500, "ci": 2000, "full": 20000}[level]
    counts = closing_line("random-fixed", [program, f"--count={count}", "--seed=1", save], timeout=2 * HOUR)
    if level in ("ci", "full"):
        # Every pass by itself: slower, and what fails says which pass did it.
        counts += closing_line("random-passes", [program, "--count=200", "--seed=1000001", "--passes", save])
        fresh(program, save)
    counts += interface_programs(level)
    return counts


def cuda(level):
    """Kernels for GPUs, made by NVRTC, on the engine of docs/cudasim.md beside the CPU: random programs, and those of our
    own tests, examples and benchmark; and what can be said of their speed. Their single kernels are a GoogleTest program,
    of the suite `unit`."""
    program = os.path.join(RELEASE, "bin", "weft-cuda-kernels")
    if not os.path.exists(program):
        return failure(f"no weft-cuda-kernels in {RELEASE}/bin: it was not built")
    if run("cuda-nvrtc", [program, "--count=0"]).code == NO_NVRTC:
        with open(os.path.join(RELEASE, "CMakeCache.txt"), encoding="utf-8") as file:
            if "WEFT_CUDA:BOOL=ON" in file.read():
                return failure("this build has CUDA, and NVRTC cannot be loaded: run scripts/install-deps, look at weft "
                               "doctor, or test with --no-cuda")
        say("    cuda: skipped, in a build without CUDA")
        return Counts(skipped=1)
    shards = os.cpu_count() or 1
    count = max({"quick": 40, "default": 200, "ci": 2000, "full": 2000}[level] // shards, 1)

    def part(shard):
        return closing_line(f"cuda-random-{shard}", [program, f"--count={count}", f"--seed={1 + shard * count}", "--threads=1"],
                            timeout=2 * HOUR)

    def other(target):
        """A tenth of the programs, with other seeds."""
        number = max(count * shards // 10, 1)
        return closing_line(f"cuda-random-{target}", [program, f"--count={number}", "--seed=500001", "--threads=1",
                                                      f"--target=cuda:{target}"], timeout=2 * HOUR)

    mutator = os.path.join(RELEASE, "bin", "weft-cuda-mutants")
    skeletons = subprocess.run([mutator, "--list"], check=False, capture_output=True, text=True).stdout.splitlines()
    if not skeletons:
        return failure(f"{mutator} --list names no skeleton")

    def mutants(skeleton):
        """Kernels with one mistake each, all of which have to be found; some of them, and all from --ci on, when the lists
        of those that no input shows are compared, too."""
        every = {"quick": 8, "default": 4}.get(level, 1)
        return closing_line(f"cuda-mutants-{skeleton}", [mutator, f"--only={skeleton}", f"--every={every}"], quiet=True)

    counts = side_by_side([functools.partial(part, shard) for shard in range(shards)] +
                          [functools.partial(mutants, skeleton) for skeleton in skeletons])
    if level in ("ci", "full"):
        counts += side_by_side([functools.partial(other, target) for target in ("sm_80", "sm_100")])
        halves = os.path.join(ROOT, "test", "cudasim", "kernels", "halves.py")
        counts += closing_line("cuda-halves", [sys.executable, halves, "--build", RELEASE, "--part", level],
                               timeout=HOUR)
    speed = os.path.join(ROOT, "test", "cudasim", "kernels", "static_speed.py")
    counts += closing_line("cuda-speed", [sys.executable, speed, "--build", RELEASE, "--part",
                                          "ci" if level in ("ci", "full") else "quick"], timeout=HOUR)
    if level in ("ci", "full"):
        driver = os.path.join(ROOT, "test", "cudasim", "kernels", "programs.py")
        counts += closing_line("cuda-programs", [sys.executable, driver, "--build", RELEASE, "--part", level],
                               timeout=4 * HOUR)
    return counts


def interface_programs(level):
    """Programs as a user writes them, lazy, computed at every step and compiled, whether calls run on their caller or on
    a queue."""
    program = os.path.join(RELEASE, "bin", "weft-interface-programs")
    if not os.path.exists(program):
        return failure(f"no weft-interface-programs in {RELEASE}/bin: it was not built")
    count = {"quick": 20, "default": 100, "ci": 300, "full": 5000}[level]
    counts = Counts()
    for mode in ("auto", "async"):
        counts += closing_line(f"interface-programs-{mode}", [program, f"--count={count}", "--seed=1"],
                               environment={"WEFT_CPU_QUEUE": mode}, timeout=2 * HOUR)
    return counts


def mutated(level):
    """Programs with faults through parser, passes, kernels and runtime: refused with a message, or run."""
    program = os.path.join(RELEASE, "bin", "weft-mutate")
    if not os.path.exists(program):
        return failure(f"no weft-mutate in {RELEASE}/bin: it was not built")
    count = {"quick": 100, "default": 300, "ci": 1000, "full": 20000}[level]
    command = [program, "--corpus=" + os.path.join(ROOT, "test"), "--seed=1",
               "--save-failures=" + os.path.join(BUILD, "mutate-failures")]
    counts = closing_line("mutated", [*command, f"--count={count}"])
    # One field of a program's schedule at a time: refused, or the same bits as before.
    edits = {"quick": 50, "default": 150, "ci": 500, "full": 10000}[level]
    counts += closing_line("mutated-schedules", [*command, "--schedules", f"--count={edits}"])
    # One field of the plan of a package at a time.
    plans = os.path.join(RELEASE, "bin", "weft-mutate-plans")
    if not os.path.exists(plans):
        return failure(f"no weft-mutate-plans in {RELEASE}/bin: it was not built")
    counts += closing_line("mutated-plans", [plans, "--corpus=" + os.path.join(ROOT, "test", "tools", "Inputs"),
                                             f"--count={edits}", "--seed=1"])
    return counts


def fresh(program, save):
    """Fresh seeds look for what nobody has found yet. A find is saved, shrunk and printed, but a change is not held up
    by a fault that it did not bring: nothing is counted."""
    seed = secrets.randbelow(2**31)
    command = [program, "--count=200", f"--seed={seed}", save]
    outcome = run("random-fresh", command)
    if outcome.code != 0:
        say(outcome.tail(200))
        say(f"    NOT COUNTED: a fresh random program failed (the run {outcome.why()}); again: {' '.join(command)}")
    else:
        say(f"    random-fresh: 200 programs from seed {seed} agree ({outcome.seconds:.1f} s)")


def parity(level):
    folder = os.path.join(ROOT, "test", "parity")
    driver = os.path.join(folder, "run.py")
    if not glob.glob(os.path.join(folder, "test_*.py")):
        say("    this tree has no test/parity/test_*.py")
        return Counts(skipped=1)
    return closing_line("parity", [sys.executable, driver, "--build", RELEASE], timeout=2 * HOUR)


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
               for path in glob.glob(os.path.join(folder, part, "**", "*.cpp.o"), recursive=True)]
    if not objects:
        return failure(f"no object files of the libraries in {folder}")
    listed = subprocess.run(["nm", "-A", "--undefined-only", *objects], check=False, capture_output=True, text=True).stdout
    with_symbol = {line.split(":")[0] for line in listed.splitlines() if line.split()[-1].startswith(symbol)}
    counts = Counts()
    for path in sorted(set(objects) - with_symbol):
        counts += failure(f"{path} calls no {symbol}*: it was compiled without the sanitizer")
    return counts if counts.failed else Counts(passed=1)


def build(preset, folder, *arguments):
    """Builds a further preset. True if it worked; what went wrong is printed."""
    outcome = run("build-" + folder, [os.path.join(ROOT, "scripts", "build"), preset, folder, *arguments],
                  timeout=3 * HOUR)
    if outcome.code != 0:
        say(outcome.tail())
        return False
    say(f"    build/{folder} built ({outcome.seconds:.1f} s)")
    return True


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
        found = os.path.join(BUILD, "fuzz", name)
        shutil.rmtree(found, ignore_errors=True)
        os.makedirs(found)
        seeds = os.path.join(ROOT, "test", "fuzz", "corpus", name.removeprefix("weft-fuzz-"))
        command = [program, f"-max_total_time={seconds}", "-max_len=10000", "-timeout=20", "-rss_limit_mb=2048",
                   f"-artifact_prefix={found}/", found] + ([seeds] if os.path.isdir(seeds) else [])
        return name, found, run(name, command, timeout=seconds + 300, environment=SANITIZER_ENVIRONMENT, quiet=True)

    counts = Counts()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, found, outcome in pool.map(one, programs):
            if outcome.code != 0:
                say(outcome.tail(60))
                counts += failure(f"{name} {outcome.why()}; the input that did it is in {found}")
            else:
                inputs = re.findall(r"^Done (\d+) runs", outcome.output, re.MULTILINE)
                say(f"    {name}: {inputs[-1] if inputs else 'no'} inputs in {outcome.seconds:.0f} s, nothing found")
                counts += Counts(passed=1) if inputs else failure(f"{name} ran no inputs ({outcome.log})")
    return counts


def sanitizers(level):
    """What test/SanitizerSubset.cmake names, and the fuzzers."""
    if not build("asan-subset", "asan-subset"):
        return failure("the build under AddressSanitizer")
    folder = os.path.join(BUILD, "asan-subset")
    counts = planted_faults(folder, ADDRESS_FAULTS, SANITIZER_ENVIRONMENT)
    counts += instrumented(folder, "__asan_")
    # "quick": the queue and many threads are what ThreadSanitizer is there for.
    counts += unit("quick", folder, "asan-", COMPILER_SANITIZER_ENVIRONMENT, SANITIZER_ENVIRONMENT,
                   THOUSANDS_OF_STEPS + WORK_OF_MANY_THREADS)
    counts += lit(level, folder, "asan-", COMPILER_SANITIZER_ENVIRONMENT, ("ir", "passes"))
    # The parser of text has its fuzzer in the release build: LLVM, which it calls, has no sanitizer.
    counts += fuzz((folder, RELEASE), FUZZ_SECONDS.get(level, 20))
    return counts


def asan_full(level):
    if not build("asan", "asan-full"):
        return failure("the whole build under AddressSanitizer")
    folder = os.path.join(BUILD, "asan-full")
    counts = planted_faults(folder, ADDRESS_FAULTS, SANITIZER_ENVIRONMENT)
    counts += instrumented(folder, "__asan_")
    counts += unit(level, folder, "asan-full-", COMPILER_SANITIZER_ENVIRONMENT, SANITIZER_ENVIRONMENT)
    counts += lit(level, folder, "asan-full-", COMPILER_SANITIZER_ENVIRONMENT)
    return counts


def tsan(level):
    """What test/SanitizerSubset.cmake names: whatever has threads."""
    if not build("tsan-subset", "tsan-subset"):
        return failure("the build under ThreadSanitizer")
    folder = os.path.join(BUILD, "tsan-subset")
    counts = planted_faults(folder, THREAD_FAULTS, THREAD_SANITIZER_ENVIRONMENT)
    counts += instrumented(folder, "__tsan_")
    counts += unit(level, folder, "tsan-", THREAD_SANITIZER_ENVIRONMENT, left_out=THOUSANDS_OF_STEPS + WORK_OF_ONE_THREAD)
    return counts


def lint(level):
    return closing_line("lint", [os.path.join(ROOT, "scripts", "lint"), "--all"], timeout=3 * HOUR)


def debian(level):
    """Both commands of the README and the benchmark in systems that have nothing installed. Each of these also runs
    packages that were made here, and this one runs theirs."""
    missing = "debootstrap" if not shutil.which("debootstrap") else "root" if os.geteuid() != 0 else None
    if missing:
        say(f"    debian: skipped, for want of {missing}")
        return Counts(skipped=2)
    script, bare = os.path.join(ROOT, "test", "packages.py"), os.path.join(ROOT, "scripts", "bare-debian")
    ours = os.path.join(ROOT, "build", "packages")
    counts = closing_line("packages", [sys.executable, script, "make", ours])
    for suite in ("bookworm", "trixie"):
        folder = os.path.join(ROOT, "build", "debian-" + suite)
        commands = ["scripts/demo", "scripts/test", "scripts/bench --rows mul_add",
                    ".venv/bin/python test/packages.py make /packages", f".venv/bin/python test/packages.py run {ours}"]
        outcome = run("debian-" + suite, [bare, suite, "--folder", folder, "--bind", ours, *commands], timeout=3 * HOUR)
        found = CLOSING_LINE.findall(outcome.output)
        if outcome.code != 0 or len(found) < 3:
            say(outcome.tail())
            counts += failure(f"bare-debian {suite} {outcome.why()} ({outcome.log})")
        else:
            for passed, failed in found[-3:]:  # of the tests, and of the packages that were made and run
                counts += Counts(int(passed), int(failed))
            counts += closing_line("packages-" + suite, [sys.executable, script, "run", os.path.join(folder, "packages")])
        shutil.rmtree(folder, ignore_errors=True)
    return counts


# In their order, except that those of ONE_PROCESS_EACH run beside each other.
SUITES = [
    ("house", ("quick", "default", "ci", "full"), house),
    ("lit", ("quick", "default", "ci", "full"), lit),
    ("unit", ("quick", "default", "ci", "full"), unit),
    ("examples", ("default", "ci", "full"), examples),
    ("docs", ("default", "ci", "full"), docs),
    ("install", ("default", "ci", "full"), install),
    ("random", ("quick", "default", "ci", "full"), random),
    ("mutated", ("quick", "default", "ci", "full"), mutated),
    ("cuda", ("quick", "default", "ci", "full"), cuda),
    ("parity", ("parity", "ci", "full"), parity),
    ("sanitizers", ("ci", "full"), sanitizers),
    ("static", ("full",), static),
    ("without-cuda", ("full",), without_cuda),
    ("tsan", ("ci", "full"), tsan),
    ("asan-full", ("full",), asan_full),
    ("lint", ("full",), lint),
    ("debian", ("full",), debian),
]
# Suites that leave a processor idle when they run alone, those first that take longest. They neither build nor change
# anything that another one uses.
ONE_PROCESS_EACH = ("parity", "random", "install", "mutated", "docs", "examples")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", choices=["quick", "default", "ci", "full", "parity"], default="default")
    parser.add_argument("--only", help="parts to run, separated by commas, whatever the level")
    arguments = parser.parse_args()
    names = [name for name, _, _ in SUITES]
    wanted = arguments.only.split(",") if arguments.only else [
        name for name, levels, _ in SUITES if arguments.level in levels]
    for name in wanted:
        if name not in names:
            say(f"there is no part '{name}'; there are {', '.join(names)}")
            say("0 passed, 1 failed")
            return 1
    level = "default" if arguments.level == "parity" else arguments.level
    # Tests look at these to decide how much to do.
    os.environ["WEFT_TEST_LEVEL"] = level
    os.environ.setdefault("CTEST_PARALLEL_LEVEL", "1")
    # Threads that wait for each other let the programs beside them run.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

    total, table = Counts(), []
    suites = {name: suite for name, _, suite in SUITES}

    def run_suite(name):
        say(f"==> {name}")
        started = time.monotonic()
        counts = suites[name](level)
        table.append((name, counts, time.monotonic() - started))
        return counts

    beside = [name for name in ONE_PROCESS_EACH if name in wanted]
    for name in suites:
        if name in beside:
            total += side_by_side([functools.partial(run_suite, each) for each in beside])
            beside = []
        elif name in wanted and name not in ONE_PROCESS_EACH:
            total += run_suite(name)
    say("==> Summary")
    for name, counts, seconds in table:
        say(f"    {name:<12} {seconds:8.1f} s   {counts}")
    say(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
